/* SPDX-License-Identifier: Apache-2.0
 * Step 5, the guards: what a partition is asked before it may replace its live version (docs/guards.md). Each is a policy with a
 * threshold in the spec; below the threshold a thing is only counted; `--accept GUARD` lets one pass for one run. Whatever a
 * guard said or let pass stands in the report and in the record of the version. */
#include <inttypes.h>
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
	if (run->saying && !strings_has(run->saying, text))
		strings_add(run->arena, run->saying, text);
}

static void strike_out(struct strings *from, const char *text)
{
	size_t kept = 0;
	for (size_t i = 0; i < from->count; i++)
		if (strcmp(from->at[i], text) != 0)
			from->at[kept++] = from->at[i];
	from->count = kept;
}

/* Is it also said of another partition, or accepted there? */
static bool holds_elsewhere(const struct run *run, const struct run_part *but, const char *text)
{
	for (size_t i = 0; i < run->part_count; i++) {
		const struct run_part *part = &run->parts[i];
		if (part != but && (strings_has(&part->said, text) || strings_has(&part->said_of_moves, text) || strings_has(&part->accepted, text)))
			return true;
	}
	return false;
}

static void unsay(struct run *run, const struct run_part *part, struct strings *said)
{
	for (size_t i = 0; i < said->count; i++)
		if (!holds_elsewhere(run, part, said->at[i]))
			strike_out(&run->warnings, said->at[i]);
	*said = (struct strings){0};
}

void run_unsay(struct run *run, struct run_part *part, bool moves)
{
	unsay(run, part, &part->said);
	if (moves)
		unsay(run, part, &part->said_of_moves);
	for (size_t i = 0; i < part->accepted.count; i++) {
		bool of_moves = !moves && strcmp(part->accepted.at[i], "moved") == 0;
		if (!of_moves && !holds_elsewhere(run, part, part->accepted.at[i]))
			strike_out(&run->accepted, part->accepted.at[i]);
	}
	part->accepted = (struct strings){0};
	part->guards = NULL;
}

/* ---- policies ---- */

static const char *const guard_names[] = {"disappeared", "key_churn", "totals", "older", "repeated", "moved"};
enum { GUARDS = sizeof guard_names / sizeof *guard_names };

recloser_status run_check_accept(const struct run *run, recloser_error *error)
{
	for (size_t i = 0; i < run->options->accept_count; i++) {
		const char *name = run->options->accept[i];
		bool known = false;
		for (size_t k = 0; k < GUARDS; k++)
			known |= strcmp(guard_names[k], name) == 0;
		if (known)
			continue;
		error_set(error, RECLOSER_USAGE, "cli.accept", "--accept %s: there is no guard of this name", name);
		const char *near = text_nearest(name, guard_names, GUARDS);
		if (near)
			return error_hint(error, "did you mean \"%s\"?", near);
		return error_hint(error, "the guards are disappeared, key_churn, totals, older, repeated and moved");
	}
	return RECLOSER_OK;
}

static bool accepts(struct run *run, struct run_part *part, const char *guard)
{
	for (size_t i = 0; i < run->options->accept_count; i++)
		if (strcmp(run->options->accept[i], guard) == 0) {
			if (!strings_has(&run->accepted, guard))
				strings_add(run->arena, &run->accepted, guard);
			if (!strings_has(&part->accepted, guard))
				strings_add(run->arena, &part->accepted, guard);
			return true;
		}
	return false;
}

static void note(struct run *run, struct run_part *part, const char *guard, const char *did, const char *what)
{
	json_t *entry = json_new_object(run->arena);
	if (!part->guards)
		part->guards = json_new_array(run->arena);
	json_put_text(run->arena, entry, "guard", guard);
	json_put_text(run->arena, entry, "did", did);
	json_put_text(run->arena, entry, "what", what);
	json_add(run->arena, part->guards, entry);
}

static void hold(struct run *run, struct run_part *part, const char *name, const char *what)
{
	bool live = part->base || part->live == LIVE_FOREIGN;
	part->outcome = PART_HELD;
	if (!part->held_by)
		part->held_by = name;
	note(run, part, name, "held", what);
	run_warn(run, arena_printf(run->arena, "%s; held: %s (--accept %s lets it pass once)", what,
	                           live ? "the live version stays" : "nothing is live there yet", name));
}

/* What a policy does with something that went over its threshold: nothing, a warning, the partition held, the run refused.
 * To carry is no objection: it is only said. */
recloser_status run_apply_policy(struct run *run, struct run_part *part, const char *name, enum policy policy, const char *what,
                                 recloser_error *error)
{
	if (policy == POLICY_ALLOW)
		return RECLOSER_OK;
	if (policy == POLICY_WARN || policy == POLICY_CARRY) {
		note(run, part, name, "warned", what);
		run_warn(run, what);
		return RECLOSER_OK;
	}
	if (accepts(run, part, name)) {
		note(run, part, name, "accepted", what);
		run_warn(run, arena_printf(run->arena, "%s; accepted by --accept %s", what, name));
		return RECLOSER_OK;
	}
	if (policy == POLICY_HOLD) {
		hold(run, part, name, what);
		return RECLOSER_OK;
	}
	error_set(error, RECLOSER_REFUSED, arena_printf(run->arena, "guard.%s", name), "%s", what);
	error_where(error, "%s, guard %s", shown(part), name);
	return error_hint(error, "look at the source; --accept %s lets it pass once", name);
}

static const char *against(const struct run_part *part)
{
	return part->reference->own ? "the live version" : part->reference->path;
}

/* ---- disappeared ---- */

static recloser_status judge_gone(struct run *run, struct run_part *part, recloser_error *error)
{
	const struct guard *guard = &run->spec->disappeared;
	const char *names;
	if (part->gone == 0)
		return RECLOSER_OK;
	run->disappeared += part->gone;
	RC_TRY(run_list_gone(run, part, error));
	uint64_t rows = part->reference->record->rows;
	if (!threshold_exceeded(&guard->max, part->gone, rows) || guard->policy == POLICY_ALLOW)
		return RECLOSER_OK;
	RC_TRY(run_name_gone(run, part, &names, error));
	const char *what = arena_printf(run->arena, "%s: %s of %s keys of %s are gone: %s", shown(part), text_count(run->arena, part->gone),
	                                text_count(run->arena, rows), against(part), names);
	return run_apply_policy(run, part, "disappeared", guard->policy, what, error);
}

/* ---- another identity ---- */

json_t *run_key_json(const struct run *run)
{
	const struct spec *spec = run->spec;
	json_t *key = json_new_object(run->arena), *fields = json_new_array(run->arena);
	for (size_t i = 0; i < spec->identity_count; i++)
		json_add_text(run->arena, fields, spec->identity[i].column ? spec->identity[i].column : spec->identity[i].sql);
	if (spec->key_id)
		json_put_text(run->arena, key, "id", spec->key_id);
	else
		json_put(run->arena, key, "identity", fields);
	if (spec->key_escape)
		json_put_bool(run->arena, key, "escape", true);
	return key;
}

/* As the spec writes it: "identity: [iso, queue_id]". */
static const char *key_shown(struct arena *arena, const json_t *key)
{
	const json_t *fields = json_object_get(key, "identity");
	struct text out = text_on(arena);
	if (json_get_text(key, "id"))
		text_addf(&out, "id: %s", json_get_text(key, "id"));
	else
		text_add(&out, "identity: [");
	for (size_t i = 0; i < json_array_size(fields); i++)
		text_addf(&out, "%s%s", i ? ", " : "", json_string_value(json_array_get(fields, i)));
	text_addf(&out, "%s%s", fields ? "]" : "", json_get_bool(key, "escape", false) ? ", escape: true" : "");
	return out.at;
}

const char *run_other_identity(const struct run *run, const struct reference *reference)
{
	const json_t *before = json_object_get(reference->record->json, "key"), *now = run_key_json(run);
	if (!json_is_object(before) || json_equal(before, now))
		return NULL;
	return arena_printf(run->arena, "the key is {%s} now and was {%s} in %s", key_shown(run->arena, now), key_shown(run->arena, before),
	                    reference->own ? arena_printf(run->arena, "seq %" PRId64, reference->record->seq) : reference->path);
}

/* No field has changed its value: all rows have other keys, whatever the source says, and no threshold is asked. */
static recloser_status judge_identity(struct run *run, struct run_part *part, bool *other, recloser_error *error)
{
	const char *words = run_other_identity(run, part->reference);
	*other = words != NULL;
	if (!words || part->gone == 0 || part->fresh == 0)
		return RECLOSER_OK;
	const char *what = arena_printf(run->arena,
	    "%s: %s: every row has another key than before, so %s key%s gone and %s new, and diff and history can't follow a row from there to "
	    "here; if that is not meant, write the key as it was and load again", shown(part), words, text_count(run->arena, part->gone),
	    part->gone == 1 ? " is" : "s are", text_count(run->arena, part->fresh));
	return run_apply_policy(run, part, "key_churn", run->spec->key_churn.policy, what, error);
}

/* ---- key churn ---- */

/* The columns that tell whether a new row is a gone one under another key: all but `field`, the revision, and what changed in
 * more than half of the rows that stayed (a date of publication proves nothing). */
static const char *evidence(struct run *run, const struct run_part *part, const char *field)
{
	struct strings columns = run_compared_columns(run, part->reference);
	struct text out = text_on(run->arena);
	uint64_t away = part->gone + part->carried, rows = part->reference->record->rows;
	for (size_t i = 0; i < columns.count; i++) {
		const char *name = columns.at[i];
		bool restless = rows > away && (uint64_t)json_get_int(part->changed, name, 0) > (rows - away) / 2;
		if (strcmp(name, field) != 0 && !restless && !(run->spec->revision && strcmp(name, run->spec->revision) == 0))
			text_addf(&out, "%s%s", out.length ? ", " : "", sql_name(run->arena, name));
	}
	return out.at;
}

/* How many gone rows have a new twin that equals them in everything but one identity field: then that field is no part of what
 * identifies a row. Where the field is all there is to a key, the other columns must tell a row from those that stayed, or
 * any closed coal project and any new one would be twins. */
static recloser_status count_twins(struct run *run, const struct run_part *part, const char *field, bool alone, uint64_t *out,
                                   recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *key = sql_name(arena, run->spec->key_column), *columns = evidence(run, part, field);
	*out = 0;
	if (!*columns)
		return RECLOSER_OK;
	struct rows rows;
	const char *live = run_reference_table(run, part->reference), *batch = run_own_rows(run, part);
	const char *away = reference_published(part->reference);
	RC_TRY(engine_query(run->engine, arena, "look for mutable identity fields", arena_printf(arena,
	    "SELECT coalesce(sum(least(g, f)), 0) FROM (\n"
	    "SELECT count(*) FILTER (WHERE _rc_is = 0) AS g, count(*) FILTER (WHERE _rc_is = 1) AS f, count(*) FILTER (WHERE _rc_is = 2) AS s\n"
	    "FROM (SELECT 0 AS _rc_is, %s FROM (SELECT * FROM %s%s) l ANTI JOIN %s b ON l.%s = b.%s\n"
	    "UNION ALL SELECT 1, %s FROM %s b ANTI JOIN %s l ON b.%s = l.%s\n"
	    "UNION ALL SELECT 2, %s FROM %s b SEMI JOIN %s l ON b.%s = l.%s) GROUP BY %s) WHERE %s",
	    columns, live, away, batch, key, key, columns, batch, live, key, key, columns, batch, live, key, key, columns,
	    alone ? "s = 0" : "TRUE"), &rows, error));
	*out = (uint64_t)rows_int(&rows, 0, 0);
	return RECLOSER_OK;
}

static recloser_status judge_churn(struct run *run, struct run_part *part, recloser_error *error)
{
	const struct guard *guard = &run->spec->key_churn;
	const struct spec *spec = run->spec;
	uint64_t most = 0;
	size_t fields = 0;
	const char *mutable = NULL;
	if (part->gone + part->carried == 0 || part->fresh == 0 || guard->policy == POLICY_ALLOW)
		return RECLOSER_OK;
	for (size_t i = 0; i < spec->identity_count; i++)
		fields += !spec->identity[i].column || !strings_has(&spec->partition, spec->identity[i].column);
	for (size_t i = 0; i < spec->identity_count; i++) {
		const char *field = spec->identity[i].column;
		uint64_t twins;
		if (!field || strings_has(&spec->partition, field))
			continue;
		RC_TRY(count_twins(run, part, field, fields == 1, &twins, error));
		if (twins > most) {
			most = twins;
			mutable = field;
		}
	}
	if (!mutable || !threshold_exceeded(&guard->max, most, part->reference->record->rows))
		return RECLOSER_OK;
	const char *what = arena_printf(run->arena,
	    "%s: %s key%s gone and %s come again equal in everything but %s: %s changes between publications and should not be in the key",
	    shown(part), text_count(run->arena, most), most == 1 ? " is" : "s are", most == 1 ? "has" : "have", mutable, mutable);
	return run_apply_policy(run, part, "key_churn", guard->policy, what, error);
}

/* ---- totals ---- */

/* Sums as the engine writes them, so that no locale has a say. */
static json_t *number(struct run *run, const char *text)
{
	json_t *array;
	recloser_error ignored = {0};
	const char *json = arena_printf(run->arena, "[%s]", text ? text : "null");
	if (json_parse(run->arena, json, strlen(json), "a total", &array, &ignored) == RECLOSER_OK)
		return json_array_get(array, 0);
	return json_on(run->arena, json_string(text)); /* infinite */
}

static const char *total_sql(struct run *run, const struct run_part *part, const struct total *total)
{
	struct arena *arena = run->arena;
	const char *name = sql_name(arena, total->column);
	bool known = part->reference && reference_has(part->reference, total->column);
	return arena_printf(arena, "SELECT (SELECT round(fsum(CAST(%s AS DOUBLE)), 6) FROM %s) AS a, %s AS b", name,
	                    part->part.batch_part->rows_sql,
	                    known ? arena_printf(arena, "(SELECT round(fsum(CAST(%s AS DOUBLE)), 6) FROM %s)", name, run_reference_table(run, part->reference))
	                          : "CAST(NULL AS DOUBLE)");
}

/* No value at all counts as a total of 0. A total that was 0 and is not any more has changed beyond any share. */
static recloser_status judge_total(struct run *run, struct run_part *part, const struct total *total, recloser_error *error)
{
	struct arena *arena = run->arena;
	struct rows rows;
	json_t *both = json_new_object(arena);
	int64_t limit = (int64_t)(total->guard.max.share * 1e6 + 0.5); /* in millionths, as below */
	RC_TRY(engine_query(run->engine, arena, "compare totals", arena_printf(arena,
	    "SELECT CAST(a AS VARCHAR), CAST(b AS VARCHAR), coalesce(b, 0) = 0 AND coalesce(a, 0) <> 0,"
	    " CASE WHEN coalesce(b, 0) = 0 THEN 0 ELSE CAST(least(abs(coalesce(a, 0) - b) / abs(b), 1e9) * 1000000 AS BIGINT) END,"
	    " format('{:.1f}', abs(coalesce(a, 0) - b) / abs(b) * 100), format('{}', %" PRId64 " / 10000.0) FROM (%s)", limit,
	    total_sql(run, part, total)), &rows, error));
	const char *now = rows_at(&rows, 0, 0), *before = rows_at(&rows, 0, 1);
	json_put(arena, both, "now", number(run, now));
	json_put(arena, both, "before", number(run, before));
	json_put(arena, part->totals, total->column, both);
	if (!part->reference || !reference_has(part->reference, total->column))
		return RECLOSER_OK;
	const char *from_nothing = rows_at(&rows, 0, 2);
	bool appeared = from_nothing && strcmp(from_nothing, "true") == 0;
	if (!appeared && rows_int(&rows, 0, 3) <= limit)
		return RECLOSER_OK;
	const char *change = appeared ? "" : arena_printf(arena, ": a change of %s %%, more than %s %%", rows_at(&rows, 0, 4), rows_at(&rows, 0, 5));
	const char *what = arena_printf(arena, "%s: the total of %s is %s, it was %s in %s%s", shown(part), total->column, now ? now : "nothing",
	                                before ? before : "nothing", against(part), change);
	return run_apply_policy(run, part, "totals", total->guard.policy, what, error);
}

static recloser_status judge_totals(struct run *run, struct run_part *part, recloser_error *error)
{
	if (run->spec->total_count)
		part->totals = json_new_object(run->arena);
	for (size_t i = 0; i < run->spec->total_count; i++)
		RC_TRY(judge_total(run, part, &run->spec->totals[i], error));
	return RECLOSER_OK;
}

/* ---- older publications ---- */

bool run_is_source(const struct record *record, const struct input *input)
{
	const json_t *sources = json_object_get(record->json, "sources");
	for (size_t i = 0; i < json_array_size(sources); i++) {
		const char *sha256 = json_get_text(json_array_get(sources, i), "sha256");
		if (sha256 && strcmp(sha256, input->sha256) == 0)
			return true;
	}
	return false;
}

/* The same file made an earlier version of this partition, and another has replaced it since. */
static recloser_status seen_before(struct run *run, const struct run_part *part, const char **what, recloser_error *error)
{
	const struct batch_part *batch = part->part.batch_part;
	*what = NULL;
	for (size_t i = 0; i < batch->input_count; i++)
		if (run_is_source(part->base, batch->inputs[i]))
			return RECLOSER_OK; /* the live version is from this file too: another spec, not an older publication */
	struct strings sources = {0};
	int64_t seq;
	size_t which;
	for (size_t i = 0; i < batch->input_count; i++)
		strings_add(run->arena, &sources, batch->inputs[i]->sha256);
	RC_TRY(ledger_source(run->dataset, run->arena, part->base, &sources, &seq, &which, error));
	if (seq)
		*what = arena_printf(run->arena, "%s: %s was loaded as seq %" PRId64 " and has been replaced since by seq %" PRId64, shown(part),
		                     batch->inputs[which]->name, seq, part->base->seq);
	return RECLOSER_OK;
}

/* Rows that were carried over tell nothing about the publication. */
static recloser_status older_revision(struct run *run, const struct run_part *part, const char **what, recloser_error *error)
{
	struct arena *arena = run->arena;
	const char *revision = run->spec->revision;
	*what = NULL;
	if (!revision || strings_has(&run->spec->partition, revision) || !reference_has(part->reference, revision))
		return RECLOSER_OK;
	const char *name = sql_name(arena, revision);
	const char *published = reference_published(part->reference);
	struct rows rows;
	RC_TRY(engine_query(run->engine, arena, "compare revisions", arena_printf(arena,
	    "SELECT CAST(a AS VARCHAR), CAST(b AS VARCHAR), a < b FROM (SELECT (SELECT max(%s) FROM %s) AS a, (SELECT max(%s) FROM %s%s) AS b)",
	    name, run_own_rows(run, part), name, run_reference_table(run, part->reference), published), &rows, error));
	const char *older = rows_at(&rows, 0, 2);
	if (older && strcmp(older, "true") == 0)
		*what = arena_printf(arena, "%s: the newest %s is %s, the live version has %s: an older publication", shown(part), revision,
		                     rows_at(&rows, 0, 0), rows_at(&rows, 0, 1));
	return RECLOSER_OK;
}

static recloser_status judge_older(struct run *run, struct run_part *part, recloser_error *error)
{
	const struct guard *guard = &run->spec->older;
	const char *what;
	if (!part->reference->own || guard->policy == POLICY_ALLOW)
		return RECLOSER_OK;
	RC_TRY(older_revision(run, part, &what, error));
	if (!what)
		RC_TRY(seen_before(run, part, &what, error));
	return what ? run_apply_policy(run, part, "older", guard->policy, what, error) : RECLOSER_OK;
}

/* ---- all for one partition ---- */

recloser_status run_guard_part(struct run *run, struct run_part *part, recloser_error *error)
{
	RC_TRY(judge_totals(run, part, error));
	RC_TRY(run_guard_repeated(run, part, error));
	if (!part->reference)
		return RECLOSER_OK;
	bool other;
	RC_TRY(judge_gone(run, part, error));
	RC_TRY(judge_identity(run, part, &other, error));
	if (!other)
		RC_TRY(judge_churn(run, part, error));
	return judge_older(run, part, error);
}
