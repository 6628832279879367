/* SPDX-License-Identifier: Apache-2.0
 * What the parts of doctor share: each looks at one side of a dataset and says what it finds. */
#ifndef RECLOSER_HISTORY_DOCTOR_H
#define RECLOSER_HISTORY_DOCTOR_H

#include "history/history.h"

enum finding { FINDING_FACT, FINDING_ADVICE, FINDING_FAULT };

/* One live version, the newest of its partition. */
struct live_part {
	const char *partition;
	struct record *record;
};

/* Rows of one code that have another one in the next publication. */
struct respelling {
	const char *column, *from, *to;
	const char *older, *newer;   /* labels of the publications */
	size_t pair;                 /* which step of the line */
	bool fresh, gone;            /* `to` was not there before, `from` is there no more */
	int64_t rows, of_to, of_from; /* rows that went from one to the other, and all rows of each where it is fresh or gone */
	bool told;
};

struct doctor {
	struct history *h;
	bool quick;
	struct live_part *parts;
	size_t part_count;
	struct line *lines;
	size_t line_count;
	struct respelling *respelled; /* of one line, until they are told */
	size_t respelled_count;
	json_t *findings;
	uint64_t advice, faults;
};

/* `area`: a word for programs, the same for all findings of one kind. `hint` may be NULL. */
void doctor_say(struct doctor *doctor, const char *area, enum finding finding, const char *hint, const char *format, ...)
	RC_PRINTF(5, 6);

recloser_status doctor_grain(struct doctor *doctor, recloser_error *error) RC_CHECKED; /* doctor_grain.c */
recloser_status doctor_order(struct doctor *doctor,
							 recloser_error *error) RC_CHECKED; /* doctor_order.c: leftovers, foreign files, archive */
recloser_status doctor_series(struct doctor *doctor,
							  recloser_error *error) RC_CHECKED; /* doctor_series.c: gaps, columns, values, keys */

recloser_status doctor_twice(struct doctor *doctor, recloser_error *error) RC_CHECKED; /* doctor_twice.c: a key in two partitions */

/* Two publications that follow each other. */
struct pair {
	const char *older, *newer; /* labels */
	const struct record *older_record, *newer_record;
	const char *older_file, *newer_file; /* NULL: not to be had, or nothing is read */
	size_t number;                       /* in its line */
};
recloser_status doctor_values(struct doctor *doctor, const struct pair *pair,
							  recloser_error *error) RC_CHECKED; /* doctor_values.c */
/* Once a line's pairs are looked at: the respellings, of which a code that stood for another one only for a while is one. */
void doctor_tell_respelled(struct doctor *doctor); /* doctor_respelled.c */

#endif
