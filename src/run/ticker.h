/* SPDX-License-Identifier: Apache-2.0
 * What a call tells of its progress: at once when a phase begins or a partition is done, and a few times a second while one
 * statement of the engine runs for long. The caller's function is never called by two threads at a time. */
#ifndef RECLOSER_RUN_TICKER_H
#define RECLOSER_RUN_TICKER_H

#include "base/arena.h"
#include "engine/engine.h"
#include "source/source.h"

struct ticker;

/* NULL when nobody wants to be told; every function here takes that. Ends with the arena. */
struct ticker *ticker_start(struct arena *arena, const recloser_common *common);
/* Ask this connection, which was made on this arena, how far the one watched source is read where the source can't tell; it is
 * left alone before it goes. */
void ticker_watch_engine(struct ticker *ticker, struct arena *arena, struct engine *engine);
/* Add a source whose rows and bytes belong to the phase, until the next phase begins. It must outlive the phase. */
void ticker_watch_source(struct ticker *ticker, const struct source *source);
/* A phase, or a step of it. `what.done` and the bytes are filled in from what is watched where they are 0. */
void ticker_tell(struct ticker *ticker, const recloser_progress *what);

#endif
