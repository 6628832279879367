/* SPDX-License-Identifier: Apache-2.0
 * Times of records and run ids. UTC only; nothing here ever reaches the bytes of a partition. */
#ifndef RECLOSER_BASE_CLOCK_H
#define RECLOSER_BASE_CLOCK_H

#include <stdint.h>

#include "base/arena.h"

/* Microseconds since 1970 in UTC. RECLOSER_TEST_NOW in the environment ("2026-08-02T04:12:00Z") replaces the clock in tests. */
int64_t clock_now_us(void);
double clock_monotonic(void); /* seconds, for durations */
/* "2025-08-02T04:12:00.123456Z" and back; -1 when it is not such a text. */
const char *clock_text(struct arena *arena, int64_t us);
int64_t clock_parse(const char *text);
/* "20250802T0412Z-3f2a9c": the time and random digits. */
const char *clock_run_id(struct arena *arena);

#endif
