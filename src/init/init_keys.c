/* SPDX-License-Identifier: Apache-2.0
 * Which columns identify a row. The smallest set is sought that differs in every row; among sets of one size, the one whose
 * columns look most like names of things. What looks as if it changes over time is no part of a key, and neither is what is
 * not exact or only counts the rows: one such field makes every later load see one row gone and another one new. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "init/init.h"

enum { POOL = 9, OTHERS = 12, MISSING_MOST = 200 /* one row in this many may lack its identity */ };

/* What a set costs: each column more, and then how little it looks like a name. The least is taken. */
enum { COST_COLUMN = 1000, COST_LONG = 1500, COST_MISSING = 1500, COST_PLACE = 2500 };

static const char *const changing_words[] = {
	"status", "state_of_study", "updated", "update", "modified", "changed", "edited", "timestamp", "date", "time", "datetime", "year", "month", "phase", "stage", "progress",
	"period", "comment", "comments", "note", "notes", "remark", "remarks", "cost", "price", "mw", "mwh", "capacity", "kw", "version", "edit", "withdrawn", "complete",
	"active", NULL};
static const char *const counter_words[] = {"objectid", "fid", "oid", "ogc_fid", "rownum", "rowid", "row", "index", "recno", "gid", "unnamed", NULL};
static const char *const id_words[] = {"id", "ids", "inr", "uid", "guid", "uuid", "code", "number", "queue", "no", "nr", "num", "key", "eic", "osmid", "position",
                                       "identifier", "ref", NULL};
static const char *const name_words[] = {"name", "project", "facility", "plant", "unit", "nombre", "central", "title", "entity", NULL};
static const char *const soft_words[] = {"poi", "county", "city", "address", "owner", "operator", "developer", "substation", "description", "location", "type", "fuel",
                                         "technology", "source", "url", "transmission", NULL};

/* Every value a whole number, and together an unbroken run: a count of the rows. */
static recloser_status counts_rows(struct init *init, const struct init_column *column, bool *out, recloser_error *error)
{
	struct rows rows;
	*out = false;
	if (column->distinct != column->filled || column->filled < 3 || column->filled < init->rows)
		return RECLOSER_OK;
	RC_TRY(engine_query(init->engine, init->arena, "look for a counter", arena_printf(init->arena,
	    "SELECT count(n) = count(*) AND max(n) - min(n) + 1 = count(*) FROM (SELECT try_cast(c%zu AS HUGEINT) AS n, c%zu AS v FROM init_0)"
	    " WHERE v IS NOT NULL", column->index, column->index), &rows, error));
	*out = rows_at(&rows, 0, 0) && strcmp(rows_at(&rows, 0, 0), "true") == 0;
	return RECLOSER_OK;
}

/* Types that no key is made of (docs/key.md). */
static bool has_no_text(const char *type)
{
	static const char *const starts[] = {"STRUCT", "MAP", "UNION", "BLOB", "INTERVAL", "BIT", "FLOAT", "JSON", "VARIANT", "GEOMETRY", "TIME WITH"};
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (text_starts(type, starts[i]))
			return true;
	return text_ends(type, "]");
}

static recloser_status judge(struct init *init, struct init_column *column, recloser_error *error)
{
	struct arena *arena = init->arena;
	const char *name = column->source_name;
	bool counter = false;
	bool named_counter = init_name_has(arena, name, counter_words);
	if (column->type == TYPE_INTEGER || column->text)
		RC_TRY(counts_rows(init, column, &counter, error));
	bool bare_id = text_equal_nocase(name, "id") || text_equal_nocase(name, "no") || text_equal_nocase(name, "nr") || strcmp(name, "#") == 0;
	if (has_no_text(column->engine_type)) {
		column->never = true;
		column->why_not = "a value that has no one text";
	} else if (named_counter || (counter && (!name[0] || bare_id))) {
		column->row_number = column->never = true;
		column->why_not = counter ? "counts the rows" : "a number that the export gives";
	} else if (column->type == TYPE_DATE || column->type == TYPE_TIMESTAMP || column->type == TYPE_TIMESTAMPTZ) {
		column->never = true;
		column->why_not = "a date or time";
	} else if (column->coordinate) {
		column->cost = COST_PLACE;
	} else if (column->type == TYPE_DOUBLE) {
		column->never = true;
		column->why_not = "a number that is not exact";
	} else if (column->type == TYPE_BOOLEAN) {
		column->never = true;
		column->why_not = "true or false";
	} else if (init_name_has(arena, name, changing_words)) {
		column->never = true;
		column->why_not = "changes over time, by its name";
	}
	if (column->cost == 0)
		column->cost = init_name_has(arena, name, id_words) || strchr(name, '#') ? 1 : init_name_has(arena, name, name_words) ? 4
		               : init_name_has(arena, name, soft_words) ? 20 : column->type == TYPE_INTEGER ? 12 : 8;
	if (column->longest > 100) /* a description, which somebody will word anew */
		column->cost += COST_LONG;
	return RECLOSER_OK;
}

/* ---- measuring ---- */

static recloser_status measure(struct init *init, struct init_key *key, recloser_error *error)
{
	struct arena *arena = init->arena;
	struct text fields = text_on(arena), there = text_on(arena);
	struct rows rows;
	for (size_t i = 0; i < key->count; i++) {
		text_addf(&fields, "%sc%zu", i ? ", " : "", key->at[i]);
		text_addf(&there, "%sc%zu IS NOT NULL", i ? " AND " : "", key->at[i]);
	}
	RC_TRY(engine_query(init->engine, arena, "measure a key", arena_printf(arena,
	    "SELECT count(*), (SELECT count(*) FROM (SELECT DISTINCT %s FROM init_0 WHERE %s)) FROM init_0 WHERE %s", fields.at, there.at, there.at), &rows, error));
	key->missing = init->rows - (uint64_t)rows_int(&rows, 0, 0);
	key->distinct = (uint64_t)rows_int(&rows, 0, 1);
	key->unique = key->distinct + (init->rows - init->distinct_rows) >= (uint64_t)rows_int(&rows, 0, 0) && (key->distinct > 1 || init->rows == 1) && key->missing * MISSING_MOST <= init->rows;
	return RECLOSER_OK;
}

struct pool {
	size_t at[POOL];
	size_t count;
};

/* Is column a sooner part of a key than b? */
static bool sooner(const struct init_column *a, const struct init_column *b)
{
	if (a->cost != b->cost)
		return a->cost < b->cost;
	return a->distinct != b->distinct ? a->distinct > b->distinct : a->index < b->index;
}

/* The columns that may be part of a key, those that look most like it first. */
static struct pool pool_of(const struct init *init)
{
	struct pool pool = {.count = 0};
	for (size_t i = 0; i < init->column_count; i++) {
		const struct init_column *column = &init->columns[i];
		if (column->never || column->distinct < 2 || column->filled * 2 < init->rows)
			continue;
		size_t place = pool.count;
		while (place > 0 && sooner(column, &init->columns[pool.at[place - 1]]))
			place--;
		if (place == POOL)
			continue;
		if (pool.count < POOL)
			pool.count++;
		for (size_t k = pool.count - 1; k > place; k--)
			pool.at[k] = pool.at[k - 1];
		pool.at[place] = i;
	}
	return pool;
}

struct search {
	struct init *init;
	struct init_key found[OTHERS]; /* unique ones, in the order in which they are preferred */
	size_t count, whole;           /* whole: those that no row lacks */
	struct init_key nearest;       /* where none is unique: the one with most different values */
};

static int cost_of(const struct init *init, const struct init_key *key)
{
	int cost = (int)key->count * COST_COLUMN + (key->missing ? COST_MISSING : 0);
	for (size_t i = 0; i < key->count; i++)
		cost += init->columns[key->at[i]].cost;
	return cost;
}

static bool holds(const struct init_key *key, const struct init_key *part)
{
	size_t in = 0;
	for (size_t i = 0; i < part->count; i++)
		for (size_t k = 0; k < key->count; k++)
			in += key->at[k] == part->at[i];
	return in == part->count;
}

static recloser_status consider(struct search *search, struct init_key key, recloser_error *error)
{
	struct init *init = search->init;
	double most = 1; /* as many values as the columns could make */
	for (size_t i = 0; i < key.count; i++)
		most *= (double)init->columns[key.at[i]].distinct;
	for (size_t i = 0; i < search->count; i++)
		if (holds(&key, &search->found[i]))
			return RECLOSER_OK; /* a smaller one of these does */
	if (most < (double)init->rows * 0.9 || search->count == OTHERS)
		return RECLOSER_OK;
	RC_TRY(measure(init, &key, error));
	if (key.unique) {
		size_t place = search->count++;
		search->whole += key.missing == 0;
		for (; place > 0 && cost_of(init, &key) < cost_of(init, &search->found[place - 1]); place--)
			search->found[place] = search->found[place - 1];
		search->found[place] = key;
	} else if (key.missing * MISSING_MOST <= init->rows && key.distinct > search->nearest.distinct) {
		search->nearest = key;
	}
	return RECLOSER_OK;
}

/* All sets of one to three columns of the pool; three only where two do not do. */
static recloser_status look(struct search *search, const struct pool *pool, recloser_error *error)
{
	for (size_t i = 0; i < pool->count; i++)
		RC_TRY(consider(search, (struct init_key){.at = {pool->at[i]}, .count = 1}, error));
	for (size_t i = 0; i < pool->count; i++)
		for (size_t k = i + 1; k < pool->count; k++)
			RC_TRY(consider(search, (struct init_key){.at = {pool->at[i], pool->at[k]}, .count = 2}, error));
	for (size_t i = 0; i < pool->count && search->whole == 0; i++)
		for (size_t k = i + 1; k < pool->count; k++)
			for (size_t m = k + 1; m < pool->count; m++)
				RC_TRY(consider(search, (struct init_key){.at = {pool->at[i], pool->at[k], pool->at[m]}, .count = 3}, error));
	return RECLOSER_OK;
}

/* The last resort is what counts the rows: it loads, and the comment says what it is. */
static recloser_status fall_back(struct search *search, recloser_error *error)
{
	struct init *init = search->init;
	for (size_t i = 0; i < init->column_count && search->count == 0; i++)
		if (init->columns[i].row_number)
			RC_TRY(consider(search, (struct init_key){.at = {i}, .count = 1}, error));
	if (search->count || search->nearest.count || !init->column_count)
		return RECLOSER_OK;
	size_t best = 0; /* whatever tells most rows apart */
	for (size_t i = 1; i < init->column_count; i++) {
		const struct init_column *one = &init->columns[i], *other = &init->columns[best];
		bool worse = !one->geometry && has_no_text(one->engine_type), other_worse = !other->geometry && has_no_text(other->engine_type);
		if (worse != other_worse ? other_worse : one->distinct > other->distinct)
			best = i;
	}
	search->nearest = (struct init_key){.at = {best}, .count = 1};
	return measure(init, &search->nearest, error);
}

recloser_status init_keys(struct init *init, recloser_error *error)
{
	struct search search = {.init = init};
	for (size_t i = 0; i < init->column_count; i++)
		if (init->columns[i].geometry)
			init->columns[i].cost = COST_PLACE; /* a layer without names: the place itself */
		else
			RC_TRY(judge(init, &init->columns[i], error));
	struct pool pool = pool_of(init);
	RC_TRY(look(&search, &pool, error));
	if (search.count == 0)
		RC_TRY(fall_back(&search, error));
	if (init->input_count > 1 && search.count > 0)
		RC_TRY(init_change(init, search.found, search.count, error));
	init->key = search.count ? search.found[0] : search.nearest;
	init->others = arena_array(init->arena, OTHERS, sizeof *init->others);
	for (size_t i = 1; i < search.count; i++)
		init->others[init->other_count++] = search.found[i];
	for (size_t i = 0; i < init->key.count; i++)
		init->columns[init->key.at[i]].listed = true;
	return RECLOSER_OK;
}
