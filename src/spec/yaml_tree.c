/* SPDX-License-Identifier: Apache-2.0
 * The tree is built from libyaml's events, which carry marks and untyped text; its document loader would resolve
 * aliases and drop duplicate keys. The parser lives on an arena of its own so that its memory goes with the last event. */
#include "spec/yaml_tree.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct events {
	const struct reader *reader;
	yaml_parser_t parser;
	yaml_event_t event;
	int names; /* above 0: below `columns` or `from`, where values are names that a publisher chose */
};

static void release(void *pointer)
{
	struct events *events = pointer;
	yaml_event_delete(&events->event);
	yaml_parser_delete(&events->parser);
}

static struct mark mark_of(yaml_mark_t mark)
{
	return (struct mark){(int)mark.line + 1, (int)mark.column + 1};
}

/* The start of line `line` (from 1), or NULL when the text has fewer. */
static const char *line_start(const struct reader *reader, int line)
{
	const char *at = reader->bytes, *end = at + reader->count;
	for (int n = 1; n < line; n++) {
		at = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
		if (!at)
			return NULL;
		at++;
	}
	return at;
}

static size_t line_length(const struct reader *reader, const char *start)
{
	size_t left = (size_t)(reader->bytes + reader->count - start);
	const char *end = left ? memchr(start, '\n', left) : NULL;
	size_t length = end ? (size_t)(end - start) : left;
	return length && start[length - 1] == '\r' ? length - 1 : length;
}

recloser_status fault_at(const struct reader *reader, struct mark mark, const char *code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const char *what = arena_vprintf(reader->arena, format, args);
	va_end(args);
	error_set(reader->error, RECLOSER_USAGE, code, "%s", what);
	const char *start = line_start(reader, mark.line);
	size_t length = start ? line_length(reader, start) : 0;
	while (length && (*start == ' ' || *start == '\t'))
		start++, length--;
	if (length > 160) { /* cut, but never inside a character */
		length = 160;
		while (length && ((unsigned char)start[length] & 0xC0) == 0x80)
			length--;
	}
	error_where(reader->error, "%s:%d:%d%s%.*s", reader->path, mark.line, mark.column, length ? ": " : "", (int)length,
				length ? start : "");
	return RECLOSER_USAGE;
}

/* What libyaml stumbled over, said in terms of what was probably meant. */
static recloser_status syntax_fault(const struct events *events)
{
	const struct reader *reader = events->reader;
	const yaml_parser_t *parser = &events->parser;
	const char *problem = parser->problem ? parser->problem : "the text ends too early";
	const char *context = parser->context ? parser->context : "";
	struct mark at = mark_of(parser->problem_mark), from = mark_of(parser->context_mark);
	const char *start = line_start(reader, at.line);
	/* Marks count characters; a tab that matters stands among the blanks at the start, where both counts agree. */
	bool tab = start && (size_t)at.column <= line_length(reader, start) && start[at.column - 1] == '\t';
	if (tab || strstr(problem, "tab character")) {
		fault_at(reader, at, "spec.yaml", "a tab stands where YAML wants blanks");
		return error_hint(reader->error, "indent with blanks; if the tab belongs to a value, put the value in quotes");
	}
	if (strstr(context, "flow mapping") || strstr(context, "flow sequence")) {
		char open = strstr(context, "mapping") ? '{' : '[';
		const char *line = line_start(reader, from.line);
		size_t length = line ? line_length(reader, line) : 0;
		bool comment = false;
		for (size_t i = 1; i < length; i++)
			comment |= line[i] == '#' && (line[i - 1] == ' ' || line[i - 1] == '\t');
		fault_at(reader, at.line == from.line ? at : from, "spec.yaml", "the %c that opens in column %d is not closed%s",
				 open, from.column, comment ? ": a # after a blank begins a comment and hides the rest of the line" : "");
		return error_hint(reader->error,
						  "put the value in quotes when it holds # , : [ ] { or }, as in {from: \"Project #\"}");
	}
	if (strstr(context, "quoted scalar")) {
		fault_at(reader, from, "spec.yaml", "the quote that opens here is not closed");
		return error_hint(reader->error, "put the value in quotes of the other kind, as in quote: \"'\"");
	}
	if (strstr(context, "alias") || strstr(context, "anchor") || strstr(context, "tag") ||
		strstr(problem, "cannot start any token")) {
		struct mark mark = *context ? from : at;
		fault_at(reader, mark, "spec.yaml", "this value begins with a character that has a meaning in YAML");
		return error_hint(reader->error, "put the value in quotes, as in files: \"*.csv\"");
	}
	fault_at(reader, at, "spec.yaml", "this is not YAML: %s", problem);
	return error_hint(reader->error, "put the value in quotes when it holds one of , : # [ ] { } * & ! %% @ ` ' \"");
}

static recloser_status next_event(struct events *events)
{
	yaml_event_delete(&events->event);
	if (yaml_parser_parse(&events->parser, &events->event))
		return RECLOSER_OK;
	if (events->parser.error == YAML_MEMORY_ERROR)
		arena_out_of_memory(events->reader->arena);
	if (events->parser.error == YAML_READER_ERROR) {
		error_set(events->reader->error, RECLOSER_USAGE, "spec.encoding",
				  "the spec holds a character that YAML forbids (%s)", events->parser.problem);
		error_where(events->reader->error, "%s, byte %zu", events->reader->path, events->parser.problem_offset);
		return RECLOSER_USAGE;
	}
	return syntax_fault(events);
}

static recloser_status refuse_sign(const struct events *events, const char *sign, const char *name)
{
	fault_at(events->reader, mark_of(events->event.start_mark), "spec.yaml",
			 "a value that begins with %s is %s in YAML, which a spec has not", sign, name);
	return error_hint(events->reader->error, "put the value in quotes, as in files: \"*.csv\"");
}

static recloser_status refuse_properties(const struct events *events, const yaml_char_t *anchor, const yaml_char_t *tag)
{
	if (anchor)
		return refuse_sign(events, "&", "an anchor");
	if (tag)
		return refuse_sign(events, "!", "a tag");
	return RECLOSER_OK;
}

/* `from: Project #` is the name `Project` and an empty comment, and a column of that name may well be there. Below `columns` and
 * `from` a comment keeps two blanks away from the value, or it is taken for a part of it that lacks its quotes. */
static recloser_status refuse_hidden(const struct events *events, const struct node *node)
{
	const struct reader *reader = events->reader;
	yaml_mark_t end = events->event.end_mark;
	const char *line = line_start(reader, (int)end.line + 1);
	if (!line)
		return RECLOSER_OK;
	const char *stop = line + line_length(reader, line), *at = line;
	for (size_t i = 0; i < end.column && at < stop; i++) /* marks count characters */
		for (at++; at < stop && ((unsigned char)*at & 0xC0) == 0x80;)
			at++;
	const char *behind = at;
	while (at < stop && (*at == ' ' || *at == '\t'))
		at++;
	if (at == behind || at == stop || *at != '#')
		return RECLOSER_OK;
	if (memchr(at, '}', (size_t)(stop - at)) || memchr(at, ']', (size_t)(stop - at)))
		return RECLOSER_OK; /* of { or [, which is not closed then and is said to be (syntax_fault) */
	while (stop > at && (stop[-1] == ' ' || stop[-1] == '\t'))
		stop--;
	if (at - behind > 1 && stop - at > 1)
		return RECLOSER_OK;
	fault_at(reader, node->mark, "spec.yaml", "a # after a blank begins a comment, and the value would be \"%s\"", node->text);
	return error_hint(reader->error, "put the value in quotes: \"%.*s\"; before a comment leave two blanks", (int)(stop - behind + (long)strlen(node->text)),
					  behind - strlen(node->text));
}

static recloser_status read_text(struct events *events, struct node *node)
{
	const yaml_event_t *event = &events->event;
	RC_TRY(refuse_properties(events, event->data.scalar.anchor, event->data.scalar.tag));
	yaml_scalar_style_t style = event->data.scalar.style;
	const char *text = (const char *)event->data.scalar.value;
	if (strlen(text) != event->data.scalar.length)
		return fault_at(events->reader, node->mark, "spec.value", "a value holds a NUL character");
	bool quoted = style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
	if (quoted && event->end_mark.line != event->start_mark.line) {
		/* A lone quote (quote: ') runs on to the next one in the file, and the damage would show far from here. */
		fault_at(events->reader, node->mark, "spec.yaml", "the quote that opens here is closed on line %d only",
				 (int)event->end_mark.line + 1);
		return error_hint(events->reader->error,
						  "put the value in quotes of the other kind, as in quote: \"'\"; for a long text use | or >");
	}
	node->text = arena_strndup(events->reader->arena, text, event->data.scalar.length);
	node->plain = style == YAML_PLAIN_SCALAR_STYLE;
	bool one_line = event->end_mark.line == event->start_mark.line && event->data.scalar.length > 0;
	return node->plain && one_line && events->names > 0 ? refuse_hidden(events, node) : RECLOSER_OK;
}

/* A new member at the end; the array doubles at powers of two, so that the count tells the capacity. */
static struct member *add_member(struct arena *arena, struct node *node)
{
	size_t count = node->count;
	if ((count & (count - 1)) == 0)
		node->members =
			arena_grow(arena, node->members, count * sizeof *node->members, (count ? count * 2 : 1) * sizeof *node->members);
	struct member *member = &node->members[node->count++];
	memset(member, 0, sizeof *member);
	return member;
}

static recloser_status read_node(struct events *events, int depth, const struct node **out);

static recloser_status read_list(struct events *events, int depth, struct node *node)
{
	RC_TRY(refuse_properties(events, events->event.data.sequence_start.anchor, events->event.data.sequence_start.tag));
	for (;;) {
		RC_TRY(next_event(events));
		if (events->event.type == YAML_SEQUENCE_END_EVENT)
			return RECLOSER_OK;
		if (node->count == YAML_MAX_MEMBERS)
			return fault_at(events->reader, node->mark, "spec.size", "a list has more than %d entries", YAML_MAX_MEMBERS);
		const struct node *value;
		RC_TRY(read_node(events, depth + 1, &value));
		*add_member(events->reader->arena, node) = (struct member){NULL, value->mark, value};
	}
}

static recloser_status refuse_double(const struct reader *reader, const struct node *node, const char *name,
									 struct mark mark)
{
	for (size_t i = 0; i < node->count; i++) {
		if (strcmp(node->members[i].name, name) != 0)
			continue;
		fault_at(reader, mark, "spec.duplicate_field", "\"%s\" is given twice", name);
		return error_hint(reader->error, "the first one is on line %d", node->members[i].mark.line);
	}
	return RECLOSER_OK;
}

static recloser_status read_map(struct events *events, int depth, struct node *node)
{
	const struct reader *reader = events->reader;
	RC_TRY(refuse_properties(events, events->event.data.mapping_start.anchor, events->event.data.mapping_start.tag));
	for (;;) {
		RC_TRY(next_event(events));
		if (events->event.type == YAML_MAPPING_END_EVENT)
			return RECLOSER_OK;
		struct mark mark = mark_of(events->event.start_mark);
		const struct node *name, *value;
		RC_TRY(read_node(events, depth + 1, &name));
		if (name->kind != NODE_TEXT) {
			fault_at(reader, mark, "spec.yaml", "the name of a field must be a text");
			return error_hint(reader->error, "put the value in quotes if it begins with [ or {");
		}
		if (node->count == YAML_MAX_MEMBERS)
			return fault_at(reader, node->mark, "spec.size", "a mapping has more than %d fields", YAML_MAX_MEMBERS);
		RC_TRY(refuse_double(reader, node, name->text, mark));
		RC_TRY(next_event(events));
		bool names = strcmp(name->text, "columns") == 0 || strcmp(name->text, "from") == 0;
		events->names += names;
		RC_TRY(read_node(events, depth + 1, &value));
		events->names -= names;
		*add_member(reader->arena, node) = (struct member){name->text, mark, value};
	}
}

/* The node that begins with the current event. */
static recloser_status read_node(struct events *events, int depth, const struct node **out)
{
	struct node *node = arena_alloc(events->reader->arena, sizeof *node);
	node->mark = mark_of(events->event.start_mark);
	*out = node;
	if (depth > YAML_MAX_DEPTH)
		return fault_at(events->reader, node->mark, "spec.size", "values lie more than %d levels deep", YAML_MAX_DEPTH);
	switch (events->event.type) {
	case YAML_SCALAR_EVENT:
		return read_text(events, node);
	case YAML_SEQUENCE_START_EVENT:
		node->kind = NODE_LIST;
		return read_list(events, depth, node);
	case YAML_MAPPING_START_EVENT:
		node->kind = NODE_MAP;
		return read_map(events, depth, node);
	default:
		return refuse_sign(events, "*", "an alias");
	}
}

static recloser_status read_document(struct events *events, const struct node **out)
{
	RC_TRY(next_event(events)); /* the stream begins */
	RC_TRY(next_event(events));
	if (events->event.type == YAML_STREAM_END_EVENT) {
		struct node *empty = arena_alloc(events->reader->arena, sizeof *empty);
		empty->kind = NODE_MAP;
		empty->mark = (struct mark){1, 1};
		*out = empty;
		return RECLOSER_OK;
	}
	RC_TRY(next_event(events));
	RC_TRY(read_node(events, 0, out));
	RC_TRY(next_event(events)); /* the document ends */
	RC_TRY(next_event(events));
	if (events->event.type != YAML_STREAM_END_EVENT)
		return fault_at(events->reader, mark_of(events->event.start_mark), "spec.yaml",
						"a spec is one YAML document; a second one begins here");
	return RECLOSER_OK;
}

recloser_status yaml_tree_read(const struct reader *reader, const struct node **out)
{
	size_t fault = text_utf8_fault(reader->bytes, reader->count);
	if (fault != SIZE_MAX) {
		error_set(reader->error, RECLOSER_USAGE, "spec.encoding", "the spec is not UTF-8: byte 0x%02X at offset %zu",
				  (unsigned char)reader->bytes[fault], fault);
		error_where(reader->error, "%s", reader->path);
		return error_hint(reader->error, "save the file as UTF-8");
	}
	struct arena *arena = arena_new(reader->arena);
	struct events *events = arena_alloc(arena, sizeof *events);
	events->reader = reader;
	if (!yaml_parser_initialize(&events->parser))
		arena_out_of_memory(arena);
	arena_defer(arena, release, events);
	yaml_parser_set_encoding(&events->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&events->parser, (const unsigned char *)reader->bytes, reader->count);
	recloser_status status = read_document(events, out);
	arena_free(arena);
	return status;
}

const struct node *node_get(const struct node *map, const char *name)
{
	if (!map || map->kind != NODE_MAP)
		return NULL;
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->members[i].name, name) == 0)
			return map->members[i].value;
	return NULL;
}
