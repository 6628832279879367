/* SPDX-License-Identifier: Apache-2.0
 * What an expression of a spec may be: a function of one row and nothing else.
 *
 * The engine parses it and hands out its tree; this file walks the tree against a list of what is allowed, so that anything
 * the engine learns later is refused until somebody looks at it. Functions must be listed by the engine as scalar and
 * consistent; a macro must be made of such functions. Nothing is executed and nothing is bound. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "engine/duck.h"

enum { MACRO_DEPTH = 8 };

struct check {
	struct engine *engine;
	struct arena *arena;
	const char *expression;
	const struct strings *columns; /* NULL: anything */
	struct strings functions;      /* names met, in lower case */
	recloser_error *error;
};

static recloser_status refuse(struct check *check, const char *what)
{
	error_set(check->error, RECLOSER_USAGE, "spec.expression", "the expression `%.300s` %s", check->expression, what);
	return error_hint(check->error,
					  "an expression sees the columns of one row: write it with columns, constants, operators and "
					  "functions such as upper() or round()");
}

static const char *lower(struct arena *arena, const char *name)
{
	char *copy = arena_strdup(arena, name);
	for (char *at = copy; *at; at++)
		if (*at >= 'A' && *at <= 'Z')
			*at += 'a' - 'A';
	return copy;
}

/* ---- names ---- */

/* Consistent by the engine's word, but telling of more than the row: settings, clock, physical layout, files. */
static bool denied_function(const char *name)
{
	static const char *const denied[] = {
		"current_localtime",
		"current_localtimestamp",
		"current_setting",
		"getenv",
		"getvariable",
		"json_deserialize_sql",
		"json_serialize_plan",
		"json_serialize_sql",
		"version",
		"vector_type",
		"query",
		"query_table",
		"glob",
	};
	for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
		if (strcmp(name, denied[i]) == 0)
			return true;
	return text_starts(name, "pg_") || text_starts(name, "read_") || text_starts(name, "__internal") ||
		   text_ends(name, "_privilege");
}

/* Bare words that the engine reads as calls when no column has that name. */
static bool word_is_call(const char *name)
{
	static const char *const words[] = {"current_catalog", "current_date",      "current_role", "current_schema",
										"current_time",    "current_timestamp", "current_user", "get_current_time",
										"localtime",       "localtimestamp",    "session_user", "user"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (text_equal_nocase(name, words[i]))
			return true;
	return false;
}

static bool has_nocase(const struct strings *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (text_equal_nocase(list->at[i], name))
			return true;
	return false;
}

static recloser_status check_column(struct check *check, const json_t *node, const struct strings *bound)
{
	const char *name = json_string_value(json_array_get(json_object_get(node, "column_names"), 0));
	if (!name)
		return refuse(check, "has a part that names no column");
	if (has_nocase(bound, name) || (check->columns && has_nocase(check->columns, name)))
		return RECLOSER_OK;
	if (word_is_call(name))
		return refuse(check, arena_printf(check->arena, "uses %.60s, which is not a function of the row", name));
	if (!check->columns)
		return RECLOSER_OK;
	error_set(check->error, RECLOSER_USAGE, "spec.expression",
			  "the expression `%.300s` names the column \"%.100s\", which is not there", check->expression, name);
	const char *near = text_nearest(name, check->columns->at, check->columns->count);
	if (near)
		return error_hint(check->error, "did you mean \"%.100s\"?", near);
	return error_hint(check->error, "the columns are: %.800s", strings_join(check->arena, check->columns, ", "));
}

/* ---- the tree ---- */

static recloser_status walk(struct check *check, const json_t *node, const struct strings *bound);

static recloser_status walk_members(struct check *check, const json_t *node, const struct strings *bound)
{
	const char *name;
	json_t *member;
	json_object_foreach((json_t *)node, name, member)
	{
		if (json_is_object(member) || json_is_array(member))
			RC_TRY(walk(check, member, bound));
	}
	return RECLOSER_OK;
}

static bool empty_member(const json_t *node, const char *name)
{
	const json_t *member = json_object_get(node, name);
	return !member || json_is_false(member) || json_is_null(member);
}

static recloser_status check_call(struct check *check, const json_t *node, const struct strings *bound)
{
	const char *name = lower(check->arena, json_get_text(node, "function_name") ? json_get_text(node, "function_name") : "");
	const char *schema = json_get_text(node, "schema"), *catalog = json_get_text(node, "catalog");
	if ((schema && strcmp(schema, "main") != 0) || (catalog && strcmp(catalog, "system") != 0) || denied_function(name))
		return refuse(check, arena_printf(check->arena, "calls %.60s(), which may not be used here", name));
	if (!empty_member(node, "distinct") || !empty_member(node, "filter") || !empty_member(node, "export_state") ||
		json_object_get(json_object_get(node, "order_bys"), "orders"))
		return refuse(check, "treats a function as an aggregate");
	/* With one argument the other one is today. */
	if (strcmp(name, "age") == 0 && json_array_size(json_object_get(node, "children")) < 2)
		return refuse(check, "calls age() with one argument, which depends on the day");
	if (!strings_has(&check->functions, name))
		strings_add(check->arena, &check->functions, name);
	return walk(check, json_object_get(node, "children"), bound);
}

static bool add_parameter(struct arena *arena, const json_t *node, struct strings *bound)
{
	const char *class = json_get_text(node, "class");
	const json_t *names = json_object_get(node, "column_names");
	if (!class || strcmp(class, "COLUMN_REF") != 0 || json_array_size(names) != 1)
		return false;
	strings_add(arena, bound, json_string_value(json_array_get(names, 0)));
	return true;
}

/* `x -> x + 1` binds x. The same arrow takes a member out of JSON, and then its left side is an expression like any other.
 */
static recloser_status check_lambda(struct check *check, const json_t *node, const struct strings *bound)
{
	const json_t *left = json_object_get(node, "lhs");
	struct strings inner = {0};
	for (size_t i = 0; i < bound->count; i++)
		strings_add(check->arena, &inner, bound->at[i]);
	bool parameters = add_parameter(check->arena, left, &inner);
	const char *name = json_get_text(left, "function_name");
	if (!parameters && name && strcmp(name, "row") == 0) {
		const json_t *children = json_object_get(left, "children");
		parameters = json_array_size(children) > 0;
		for (size_t i = 0; i < json_array_size(children) && parameters; i++)
			parameters = add_parameter(check->arena, json_array_get(children, i), &inner);
	}
	if (!parameters)
		RC_TRY(walk(check, left, bound));
	return walk(check, json_object_get(node, "expr"), &inner);
}

/* Inside a type: names of types that the engine brings along, and nothing user-defined. */
static recloser_status check_type(struct check *check, const json_t *type)
{
	static const char *const known[] = {"JSON", "ENUM", "GEOMETRY", "TIMESTAMP_NS", "TIME_NS", "BIGNUM"};
	if (json_is_array(type)) {
		for (size_t i = 0; i < json_array_size(type); i++)
			RC_TRY(check_type(check, json_array_get(type, i)));
		return RECLOSER_OK;
	}
	const char *id = json_get_text(type, "id");
	if (id && strcmp(id, "UNBOUND") == 0) {
		const json_t *info = json_object_get(type, "type_info");
		const char *name = json_get_text(info, "name");
		bool good = name && !json_object_get(info, "schema") && !json_object_get(info, "catalog");
		for (size_t i = 0; good; i++) {
			if (i == sizeof known / sizeof *known)
				good = false;
			else if (text_equal_nocase(known[i], name))
				return RECLOSER_OK;
		}
		return refuse(check, arena_printf(check->arena, "casts to %.60s, which is not a type", name ? name : "something"));
	}
	const char *name;
	json_t *member;
	json_object_foreach((json_t *)type, name, member)
	{
		if (json_is_object(member) || json_is_array(member))
			RC_TRY(check_type(check, member));
	}
	return RECLOSER_OK;
}

static recloser_status check_node(struct check *check, const char *class, const json_t *node, const struct strings *bound)
{
	static const struct {
		const char *class, *what;
	} refused[] = {
		{"SUBQUERY", "contains a subquery"},
		{"WINDOW", "contains a window function"},
		{"STAR", "contains a star"},
		{"PARAMETER", "contains a parameter"},
		{"POSITIONAL_REFERENCE", "names a column by its position"},
		{"DEFAULT", "contains DEFAULT"},
		{"COLLATE", "contains a collation"},
	};
	static const char *const plain[] = {"COMPARISON", "CONJUNCTION", "CASE", "OPERATOR", "BETWEEN"};
	const char *type = json_get_text(node, "type");
	if (strcmp(class, "CONSTANT") == 0)
		return RECLOSER_OK;
	if (strcmp(class, "COLUMN_REF") == 0)
		return check_column(check, node, bound);
	if (strcmp(class, "FUNCTION") == 0)
		return check_call(check, node, bound);
	if (strcmp(class, "LAMBDA") == 0)
		return check_lambda(check, node, bound);
	if (strcmp(class, "CAST") == 0) {
		RC_TRY(check_type(check, json_object_get(node, "cast_type")));
		return walk(check, json_object_get(node, "child"), bound);
	}
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (strcmp(class, plain[i]) == 0 && !(type && strcmp(type, "GROUPING_FUNCTION") == 0))
			return walk_members(check, node, bound);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (strcmp(class, refused[i].class) == 0)
			return refuse(check, refused[i].what);
	return refuse(check, "contains something that is not a plain expression");
}

static recloser_status walk(struct check *check, const json_t *node, const struct strings *bound)
{
	if (json_is_array(node)) {
		for (size_t i = 0; i < json_array_size(node); i++)
			RC_TRY(walk(check, json_array_get(node, i), bound));
		return RECLOSER_OK;
	}
	if (!json_is_object(node))
		return RECLOSER_OK;
	const char *class = json_get_text(node, "class");
	return class ? check_node(check, class, node, bound) : walk_members(check, node, bound);
}

/* ---- parsing ---- */

static recloser_status parse(struct check *check, const char *select, const json_t **out)
{
	struct rows rows;
	const char *sql =
		arena_printf(check->arena, "SELECT json_serialize_sql(%s::VARCHAR, skip_null := true, skip_empty := true)",
					 sql_text(check->arena, select));
	RC_TRY(engine_query(check->engine, check->arena, "read an expression", sql, &rows, check->error));
	const char *json = rows_at(&rows, 0, 0);
	/* Places are unsigned 64-bit numbers; as reals they are of no use and no harm. */
	json_t *tree = json ? json_loads(json, JSON_DECODE_INT_AS_REAL, NULL) : NULL;
	if (!tree)
		return refuse(check, "cannot be read");
	json_on(check->arena, tree);
	if (!json_is_false(json_object_get(tree, "error"))) {
		const char *message = json_get_text(tree, "error_message");
		return refuse(check,
					  arena_printf(check->arena, "is not an expression: %.300s", message ? message : "it can't be parsed"));
	}
	*out = tree;
	return RECLOSER_OK;
}

/* The one expression of `SELECT <expression>`; anything beside it is refused. */
static recloser_status only_expression(struct check *check, const json_t *tree, const json_t **out)
{
	static const char *const expected[] = {"type", "select_list", "from_table", "aggregate_handling"};
	const json_t *statements = json_object_get(tree, "statements"), *statement = json_array_get(statements, 0);
	const json_t *node = json_object_get(statement, "node"), *list = json_object_get(node, "select_list");
	if (json_object_get(statement, "named_param_map"))
		return refuse(check, "contains a parameter");
	bool good = json_array_size(statements) == 1 && json_object_size(statement) == 1 && json_array_size(list) == 1;
	const char *name, *from = json_get_text(json_object_get(node, "from_table"), "type");
	json_t *member;
	json_object_foreach((json_t *)node, name, member)
	{
		bool known = false;
		for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
			known |= strcmp(name, expected[i]) == 0;
		good &= known;
	}
	const char *handling = json_get_text(node, "aggregate_handling");
	*out = json_array_get(list, 0);
	if (!good || !from || strcmp(from, "EMPTY") != 0 || !handling || strcmp(handling, "STANDARD_HANDLING") != 0 ||
		json_object_get(*out, "alias"))
		return refuse(check, "is more than one expression");
	return RECLOSER_OK;
}

static recloser_status check_functions(struct check *check, int depth);

/* Parse and walk. It is parsed as it stands and in parentheses: what closes a parenthesis too much fails the first, and a
 * comment to the end of the line, which would swallow what stands behind the expression in a statement, the second. */
static recloser_status check_text(struct check *check, const char *text, int depth)
{
	const json_t *tree, *expression;
	const struct strings none = {0};
	RC_TRY(parse(check, arena_printf(check->arena, "SELECT %s", text), &tree));
	RC_TRY(only_expression(check, tree, &expression));
	RC_TRY(walk(check, expression, &none));
	RC_TRY(parse(check, arena_printf(check->arena, "SELECT (%s)", text), &tree));
	RC_TRY(only_expression(check, tree, &expression));
	return check_functions(check, depth);
}

/* ---- functions ---- */

static recloser_status check_macro(struct check *check, const char *name, const char *body, int depth)
{
	struct check inner = {
		.engine = check->engine, .arena = check->arena, .expression = check->expression, .error = check->error};
	if (depth >= MACRO_DEPTH || !body)
		return refuse(check, arena_printf(check->arena, "calls %.60s(), which may not be used here", name));
	return check_text(&inner, body, depth + 1);
}

static recloser_status check_functions(struct check *check, int depth)
{
	struct text names = text_on(check->arena);
	for (size_t i = 0; i < check->functions.count; i++)
		text_addf(&names, "%s%s", i ? ", " : "", sql_text(check->arena, check->functions.at[i]));
	if (!check->functions.count)
		return RECLOSER_OK;
	struct rows rows;
	const char *sql = arena_printf(
		check->arena,
		"SELECT DISTINCT lower(function_name), function_type, stability, macro_definition FROM duckdb_functions() "
		"WHERE lower(function_name) IN (%s) AND function_type IN ('scalar', 'macro', 'aggregate')",
		names.at);
	RC_TRY(engine_query(check->engine, check->arena, "look up the functions of an expression", sql, &rows, check->error));
	struct strings found = {0};
	for (size_t r = 0; r < rows.row_count; r++) {
		const char *name = rows_at(&rows, r, 0), *type = rows_at(&rows, r, 1), *stability = rows_at(&rows, r, 2);
		strings_add(check->arena, &found, name);
		if (strcmp(type, "aggregate") == 0)
			return refuse(check, arena_printf(check->arena, "calls %.60s(), which looks at more than one row", name));
		if (strcmp(type, "macro") == 0)
			RC_TRY(check_macro(check, name, rows_at(&rows, r, 3), depth));
		else if (!stability || strcmp(stability, "CONSISTENT") != 0)
			return refuse(check, arena_printf(check->arena, "calls %.60s(), whose result is not the same each time", name));
	}
	for (size_t i = 0; i < check->functions.count; i++)
		if (!strings_has(&found, check->functions.at[i]))
			return refuse(
				check, arena_printf(check->arena, "calls %.60s(), which is no function of a row", check->functions.at[i]));
	return RECLOSER_OK;
}

recloser_status engine_check_expression(struct engine *engine, struct arena *arena, const char *expression,
										const struct strings *columns, recloser_error *error)
{
	struct arena *scratch = arena_new(arena);
	struct check check = {.engine = engine, .arena = scratch, .expression = expression, .columns = columns, .error = error};
	recloser_status status = check_text(&check, expression, 0);
	arena_free(scratch);
	return status;
}
