/* SPDX-License-Identifier: Apache-2.0
 * Step 5, the guards: what a partition is asked before it may replace its live version. Each is a policy with a threshold in
 * the spec; below the threshold a thing is only counted; `--accept GUARD` lets one pass for one run, and that is recorded. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "run/run.h"

static const char *shown(const struct run_part *part)
{
	const char *path = part->part.batch_part->path;
	return *path ? path : "the one partition";
}

void run_warn(struct run *run, const char *text)
{
	if (!strings_has(&run->warnings, text))
		strings_add(run->arena, &run->warnings, text);
}

static bool accepted(struct run *run, const char *guard)
{
	for (size_t i = 0; i < run->options->accept_count; i++)
		if (strcmp(run->options->accept[i], guard) == 0) {
			if (!strings_has(&run->accepted, guard))
				strings_add(run->arena, &run->accepted, guard);
			return true;
		}
	return false;
}

/* What a policy does with something that went over its threshold: nothing, a warning, the partition held, the run refused. */
static recloser_status apply_policy(struct run *run, struct run_part *part, const char *name, enum policy policy, const char *what,
                                    recloser_error *error)
{
	if (policy == POLICY_ALLOW)
		return RECLOSER_OK;
	if ((policy == POLICY_HOLD || policy == POLICY_REFUSE) && accepted(run, name)) {
		run_warn(run, arena_printf(run->arena, "%s; accepted by --accept %s", what, name));
		return RECLOSER_OK;
	}
	if (policy == POLICY_WARN || policy == POLICY_CARRY) {
		run_warn(run, what);
		return RECLOSER_OK;
	}
	if (policy == POLICY_HOLD) {
		part->outcome = PART_HELD;
		part->held_by = name;
		run_warn(run, arena_printf(run->arena, "%s; held: the live version stays (--accept %s lets it pass once)", what, name));
		return RECLOSER_OK;
	}
	error_set(error, RECLOSER_REFUSED, arena_printf(run->arena, "guard.%s", name), "%s", what);
	error_where(error, "%s, guard %s", shown(part), name);
	return error_hint(error, "look at the source; --accept %s lets it pass once", name);
}

static const char *against(struct run *run, const struct run_part *part)
{
	return part->reference->own ? "the live version" : *part->reference->path ? part->reference->path : arena_strdup(run->arena, "the version before");
}

static recloser_status judge_gone(struct run *run, struct run_part *part, recloser_error *error)
{
	const struct guard *guard = &run->spec->disappeared;
	if (part->gone == 0)
		return RECLOSER_OK;
	run->disappeared += part->gone;
	RC_TRY(run_list_gone(run, part, error));
	uint64_t rows = part->reference->record->rows;
	if (!threshold_exceeded(&guard->max, part->gone, rows))
		return RECLOSER_OK;
	const char *what = arena_printf(run->arena, "%s: %s of %s keys of %s are gone", shown(part), text_count(run->arena, part->gone),
	                                text_count(run->arena, rows), against(run, part));
	return apply_policy(run, part, "disappeared", guard->policy, what, error);
}

/* ---- key churn ---- */

/* How many gone rows have a new twin that equals them in everything but one identity field (and the revision): then that field
 * is no part of what identifies a row. */
static recloser_status count_twins(struct run *run, const struct run_part *part, const char *field, uint64_t *out, recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *key = sql_name(arena, run->spec->key_column);
	struct strings columns = run_compared_columns(run, part->reference);
	struct text equal = text_on(arena);
	for (size_t i = 0; i < columns.count; i++) {
		if (strcmp(columns.at[i], field) == 0 || (run->spec->revision && strcmp(columns.at[i], run->spec->revision) == 0))
			continue;
		const char *name = sql_name(arena, columns.at[i]);
		text_addf(&equal, "%sg.%s IS NOT DISTINCT FROM f.%s", equal.length ? " AND " : "", name, name);
	}
	struct rows rows;
	const char *live = run_reference_table(run, part->reference);
	const char *batch = arena_printf(arena, "(SELECT * FROM batch WHERE %s)", part->part.batch_part->where);
	RC_TRY(engine_query(run->engine, arena, "look for mutable identity fields", arena_printf(arena,
	    "SELECT count(*) FROM (SELECT g.%s FROM (SELECT l.* FROM %s l ANTI JOIN %s b ON l.%s = b.%s) g\n"
	    " JOIN (SELECT b.* FROM %s b ANTI JOIN %s l ON l.%s = b.%s) f ON %s GROUP BY 1)",
	    key, live, batch, key, key, batch, live, key, key, equal.length ? equal.at : "TRUE"), &rows, error));
	*out = (uint64_t)rows_int(&rows, 0, 0);
	return RECLOSER_OK;
}

static recloser_status judge_churn(struct run *run, struct run_part *part, recloser_error *error)
{
	const struct guard *guard = &run->spec->key_churn;
	const struct spec *spec = run->spec;
	uint64_t most = 0;
	const char *mutable = NULL;
	if (part->gone == 0 || part->fresh == 0 || guard->policy == POLICY_ALLOW)
		return RECLOSER_OK;
	for (size_t i = 0; i < spec->identity_count; i++) {
		const char *field = spec->identity[i].column;
		uint64_t twins;
		if (!field || strings_has(&spec->partition, field))
			continue;
		RC_TRY(count_twins(run, part, field, &twins, error));
		if (twins > most) {
			most = twins;
			mutable = field;
		}
	}
	if (!threshold_exceeded(&guard->max, most, part->reference->record->rows) || !mutable)
		return RECLOSER_OK;
	const char *what = arena_printf(run->arena,
	    "%s: %s keys are gone and have come again equal in everything but %s: %s changes between publications and should not be in the key",
	    shown(part), text_count(run->arena, most), mutable, mutable);
	return apply_policy(run, part, "key_churn", guard->policy, what, error);
}

/* ---- totals ---- */

static recloser_status judge_total(struct run *run, struct run_part *part, const struct total *total, recloser_error *error)
{
	struct arena *arena = run->arena;
	if (!reference_has(part->reference, total->column))
		return RECLOSER_OK;
	const char *name = sql_name(arena, total->column);
	struct rows rows;
	RC_TRY(engine_query(run->engine, arena, "compare totals", arena_printf(arena,
	    "SELECT CAST(a AS VARCHAR), CAST(b AS VARCHAR), CASE WHEN b IS NULL OR b = 0 THEN (CASE WHEN a IS NULL OR a = 0 THEN 0 ELSE 1000000000 END)"
	    " ELSE CAST(least(abs(coalesce(a, 0) - b) / abs(b), 1000000) * 1000000 AS BIGINT) END"
	    " FROM (SELECT (SELECT sum(CAST(%s AS DOUBLE)) FROM batch WHERE %s) AS a, (SELECT sum(CAST(%s AS DOUBLE)) FROM %s) AS b)",
	    name, part->part.batch_part->where, name, run_reference_table(run, part->reference)), &rows, error));
	double change = (double)rows_int(&rows, 0, 2) / 1e6;
	const char *now = rows_at(&rows, 0, 0), *before = rows_at(&rows, 0, 1);
	if (change <= total->guard.max.share)
		return RECLOSER_OK;
	const char *what = arena_printf(arena, "%s: the total of %s is %s, it was %s in %s: a change of %.0f %%, more than %g %%", shown(part),
	                                total->column, now ? now : "nothing", before ? before : "nothing", against(run, part), change * 100,
	                                total->guard.max.share * 100);
	return apply_policy(run, part, "totals", total->guard.policy, what, error);
}

/* ---- older publications ---- */

static const char *loaded_before(struct run *run, const struct record *record)
{
	const json_t *sources = json_object_get(record->json, "sources");
	for (size_t i = 0; i < json_array_size(sources); i++)
		for (size_t k = 0; k < run->input_count; k++) {
			const char *sha256 = json_get_text(json_array_get(sources, i), "sha256");
			if (sha256 && strcmp(sha256, run->inputs[k].sha256) == 0)
				return run->inputs[k].name;
		}
	return NULL;
}

/* The same file made an earlier version of this partition, and another has replaced it since. */
static recloser_status seen_before(struct run *run, const struct run_part *part, const char **what, recloser_error *error)
{
	*what = NULL;
	if (loaded_before(run, part->base))
		return RECLOSER_OK; /* the live version is from this file too: another spec, not an older publication */
	struct strings sources = {0};
	int64_t seq;
	size_t which;
	for (size_t i = 0; i < run->input_count; i++)
		strings_add(run->arena, &sources, run->inputs[i].sha256);
	RC_TRY(ledger_source(run->dataset, run->arena, part->base, &sources, &seq, &which, error));
	if (seq)
		*what = arena_printf(run->arena, "%s: %s was loaded as seq %" PRId64 " and has been replaced since by seq %" PRId64, shown(part),
		                     run->inputs[which].name, seq, part->base->seq);
	return RECLOSER_OK;
}

static recloser_status judge_older(struct run *run, struct run_part *part, recloser_error *error)
{
	const struct guard *guard = &run->spec->older;
	struct arena *arena = run->arena;
	const char *what = NULL;
	if (!part->reference->own || guard->policy == POLICY_ALLOW)
		return RECLOSER_OK;
	if (run->spec->revision && reference_has(part->reference, run->spec->revision)) {
		const char *name = sql_name(arena, run->spec->revision);
		struct rows rows;
		RC_TRY(engine_query(run->engine, arena, "compare revisions", arena_printf(arena,
		    "SELECT CAST(a AS VARCHAR), CAST(b AS VARCHAR), a < b FROM (SELECT (SELECT max(%s) FROM batch WHERE %s) AS a, (SELECT max(%s) FROM %s) AS b)",
		    name, part->part.batch_part->where, name, run_reference_table(run, part->reference)), &rows, error));
		const char *is_older = rows_at(&rows, 0, 2);
		if (is_older && strcmp(is_older, "true") == 0)
			what = arena_printf(arena, "%s: the newest %s is %s, the live version has %s: an older publication", shown(part), run->spec->revision,
			                    rows_at(&rows, 0, 0), rows_at(&rows, 0, 1));
	}
	if (!what)
		RC_TRY(seen_before(run, part, &what, error));
	return what ? apply_policy(run, part, "older", guard->policy, what, error) : RECLOSER_OK;
}

/* ---- all for one partition, and for the run ---- */

recloser_status run_guard_part(struct run *run, struct run_part *part, recloser_error *error)
{
	RC_TRY(judge_gone(run, part, error));
	RC_TRY(judge_churn(run, part, error));
	for (size_t i = 0; i < run->spec->total_count; i++)
		RC_TRY(judge_total(run, part, &run->spec->totals[i], error));
	return judge_older(run, part, error);
}

/* Keys that are gone from one partition and stand in another of this load. */
recloser_status run_guard_moves(struct run *run, recloser_error *error)
{
	const struct guard *guard = &run->spec->moved;
	struct arena *arena = run->arena;
	if (run->disappeared == 0 || guard->policy == POLICY_ALLOW)
		return RECLOSER_OK;
	const char *key = sql_name(arena, run->spec->key_column);
	struct rows rows;
	RC_TRY(engine_query(run->engine, arena, "look for keys that moved", arena_printf(arena,
	    "SELECT b.path, d.\"partition\", count(*) FROM disappeared d JOIN (SELECT %s, %s AS path FROM batch) b ON d.%s = b.%s"
	    " WHERE b.path <> d._rc_in GROUP BY ALL ORDER BY 3 DESC, 1, 2", key, batch_path_sql(arena, &run->spec->partition), key, key), &rows, error));
	for (size_t r = 0; r < rows.row_count; r++) {
		run->moved += (uint64_t)rows_int(&rows, r, 2);
		for (size_t i = 0; i < run->part_count; i++) {
			struct run_part *part = &run->parts[i];
			if (strcmp(part->part.batch_part->path, rows_at(&rows, r, 0)) != 0
			    || !threshold_exceeded(&guard->max, (uint64_t)rows_int(&rows, r, 2), part->part.batch_part->rows))
				continue;
			const char *what = arena_printf(arena, "%s keys moved from %s to %s", text_count(arena, (uint64_t)rows_int(&rows, r, 2)),
			                                rows_at(&rows, r, 1), rows_at(&rows, r, 0));
			RC_TRY(apply_policy(run, part, "moved", guard->policy, what, error));
		}
	}
	return RECLOSER_OK;
}
