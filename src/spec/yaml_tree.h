/* SPDX-License-Identifier: Apache-2.0
 * A YAML document as a tree in which every scalar is the text that was written. `NO`, `01`, `1e5` and `2020-01-01` are
 * themselves: what a value means is decided by the field that holds it, never by YAML.
 *
 * Anchors, aliases and tags are refused. A spec has no use for them, and in practice they are a value such as `*.csv`
 * that lacks its quotes, which is what the message says. */
#ifndef RECLOSER_SPEC_YAML_TREE_H
#define RECLOSER_SPEC_YAML_TREE_H

#include "spec/spec.h"

enum { SPEC_MAX_BYTES = 1 << 20, YAML_MAX_DEPTH = 16, YAML_MAX_MEMBERS = 10000 };

/* The document that is being read; everything made from it hangs on `arena`, and failures are told to `error`. */
struct reader {
	struct arena *arena;
	const char *path;
	const char *bytes;
	size_t count;
	recloser_error *error;
};

enum node_kind { NODE_TEXT, NODE_LIST, NODE_MAP };

struct node;
/* An entry of a list (`name` is NULL) or of a mapping; `mark` is where its name stands, or the entry itself. */
struct member {
	const char *name;
	struct mark mark;
	const struct node *value;
};

struct node {
	enum node_kind kind;
	struct mark mark;
	const char *text; /* of NODE_TEXT */
	bool plain;       /* written without quotes; a plain "" means that nothing was written */
	struct member *members;
	size_t count;
};

/* Fails with RECLOSER_USAGE. An empty document gives a mapping without members. */
recloser_status yaml_tree_read(const struct reader *reader, const struct node **out) RC_CHECKED;

/* The value of a mapping's member, or NULL. */
const struct node *node_get(const struct node *map, const char *name);

/* Report RECLOSER_USAGE at a place: "queue.yaml:12:3: the line as written". error_hint may follow. */
recloser_status fault_at(const struct reader *reader, struct mark mark, const char *code, const char *format, ...)
	RC_PRINTF(4, 5);

#endif
