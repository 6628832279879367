/* SPDX-License-Identifier: Apache-2.0
 * Typed access to the fields of a mapping. A table names the fields, how each is read and where it goes; whatever is not
 * in the table is an error that names the nearest field. */
#ifndef RECLOSER_SPEC_FIELDS_H
#define RECLOSER_SPEC_FIELDS_H

#include "spec/yaml_tree.h"

struct field;
/* Reads `value` into `target`, which is the struct plus the field's offset. */
typedef recloser_status field_reader(const struct reader *reader, const struct field *field, const struct node *value,
									 void *target);
struct field {
	const char *name;
	field_reader *read;
	size_t offset;
	const char *const *words; /* of field_word, NULL at the end; a word's index is the value of the enum */
};

/* Read every member of `map` by the table. `of` says whose fields they are: "a column". */
recloser_status fields_read(const struct reader *reader, const struct node *map, const char *of, const struct field *fields,
							size_t count, void *into) RC_CHECKED;
/* Refuse anything but a mapping. */
recloser_status field_need_map(const struct reader *reader, const struct node *value, const char *of) RC_CHECKED;

field_reader field_text;   /* const char *; never blank */
field_reader field_any;    /* const char *; may be "" when it is quoted */
field_reader field_texts;  /* struct strings: one text or a list; replaces what was there; entries may be "" */
field_reader field_names;  /* the same without "" and without doubles */
field_reader field_flag;   /* bool: true or false */
field_reader field_word;   /* an enum: one of `words` */
field_reader field_number; /* int, from 1 */

/* A text that something was written for: refuses lists, mappings and nothing at all. */
recloser_status text_value(const struct reader *reader, const char *name, const struct node *value,
						   const char **out) RC_CHECKED;
/* Refuse `value`, which is none of `words`. */
recloser_status refuse_word(const struct reader *reader, const char *name, const struct node *value,
							const char *const *words) RC_CHECKED;
/* The index of a word, or -1. */
int word_index(const char *const *words, const char *word);
/* A whole number without sign of at most nine digits, or -1. */
int whole_number(const char *text);

#endif
