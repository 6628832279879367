/* SPDX-License-Identifier: Apache-2.0
 *
 * Data and folder of the demonstration (demo_data.h).
 */
#include "run/demo_data.h"

#include <errno.h>
#include <string.h>

/* What a project is, from its number `i`. The multipliers only spread values; nothing else is meant by them. */
#define PROJECT_COLUMNS                                                                                                     \
	"  ['Solar', 'Wind', 'Battery', 'Gas', 'Hydro'][1 + (i * 31) % 5] AS fuel,\n"                                           \
	"  ['Active', 'Suspended', 'Withdrawn', 'In service'][1 + (i * 17) % 4] AS status,\n"                                   \
	"  'Developer ' || (1 + (i * 7919) % 997) AS developer,\n"                                                              \
	"  'County ' || (1 + (i * 37) % 254) AS county,\n"                                                                      \
	"  0.5::DOUBLE * (1 + (i * 104729) % 800) AS capacity_mw,\n"                                                            \
	"  -106.5::DOUBLE + ((i * 48271) % 65536) / 8192.0::DOUBLE AS longitude,\n"                                             \
	"  26.0::DOUBLE + ((i * 69621) % 65536) / 8192.0::DOUBLE AS latitude,\n"                                                \
	"  DATE '2020-01-01' + (i % 2300)::INTEGER AS queued_on,\n"

const char *demo_publication_sql(struct arena *arena, uint64_t rows, bool second_delivery)
{
	int touched = second_delivery ? DEMO_TOUCHED_OF_12 : 0;
	return arena_printf(arena,
						"SELECT format('TX-{:07d}', i) AS project_id, 'ERCOT' AS iso, 'TX' AS state, '2026-07' AS month,\n"
						"%s"
						"  TIMESTAMP '2026-07-01 06:00:00' + to_seconds(i %% 3600)\n"
						"    + to_days(CASE WHEN i %% 12 < %d THEN 14 ELSE 0 END) AS last_updated\n"
						"FROM range(%llu) AS numbers(i)",
						PROJECT_COLUMNS, touched, (unsigned long long)rows);
}

const char *demo_regions_sql(struct arena *arena)
{
	return arena_printf(
		arena,
		"WITH states AS (SELECT unnest(string_split('AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI "
		"MN "
		"MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY', ' ')) AS state),\n"
		"numbered AS (SELECT state, month, row, row_number() OVER (ORDER BY state, month, row) - 1 AS i\n"
		"  FROM states, range(1, %d) AS months(month), range(%d) AS numbers(row))\n"
		"SELECT format('{}-{:02d}-{:04d}', state, month, row) AS project_id, 'DEMO' AS iso, state,\n"
		"  format('2025-{:02d}', month) AS month,\n"
		"%s"
		"  TIMESTAMP '2025-01-01 06:00:00' + to_days(30 * month::INTEGER) AS last_updated\n"
		"FROM numbered",
		DEMO_MONTHS + 1, DEMO_ROWS_A_REGION, PROJECT_COLUMNS);
}

const char *demo_revisions_sql(struct arena *arena)
{
	return arena_printf(
		arena,
		"WITH numbered AS (\n"
		"  SELECT i, 0 AS revision FROM range(%d) AS numbers(i)\n"
		"  UNION ALL SELECT i, 1 FROM range(%d) AS numbers(i)\n"
		"  UNION ALL SELECT %d, 0 FROM range(%d))\n"
		"SELECT * EXCLUDE (revision) REPLACE (capacity_mw + revision * 25 AS capacity_mw) FROM (\n"
		"SELECT revision, format('OK-{:07d}', i) AS project_id, 'SPP' AS iso, 'OK' AS state, '2026-07' AS month,\n"
		"%s"
		"  TIMESTAMP '2026-07-02 06:00:00' + to_days(7 * revision) AS last_updated\n"
		"FROM numbered)",
		DEMO_REVISED_PROJECTS, DEMO_SUPERSEDED, DEMO_REVISED_PROJECTS - 1, DEMO_COLLAPSED, PROJECT_COLUMNS);
}

#define SPEC_AFTER_THE_NAME                                                                                                 \
	"root: lake\n"                                                                                                          \
	"source: {files: \"*.parquet\"}\n"                                                                                      \
	"key: {identity: [project_id]}             # the smallest set that identifies a row; last_updated is not in it\n"       \
	"partition: [state, month]\n"                                                                                           \
	"revision: last_updated                    # of two rows with one key the later wins\n"                                 \
	"geometry: {column: geometry, crs: EPSG:4326, from: {lon: longitude, lat: latitude}}\n"                                 \
	"columns:\n"                                                                                                            \
	"  project_id:   {type: text, required: true}\n"                                                                        \
	"  capacity_mw:  {type: double, check: capacity_mw >= 0}\n"                                                             \
	"  last_updated: {type: timestamp, required: true}\n"

const char *demo_queue_spec(void)
{
	return "# Made by the demonstration: one state and month of a large interconnection queue.\n"
		   "dataset: queue\n" SPEC_AFTER_THE_NAME;
}

const char *demo_regions_spec(void)
{
	return "# Made by the demonstration: 51 states of 12 months, 612 partitions by one load.\n"
		   "dataset: regions\n" SPEC_AFTER_THE_NAME;
}

static const char MARKER[] = "demo.json";
static const char MARKER_TEXT[] =
	"{\"made_by\": \"recloser demo\", \"note\": \"this folder is emptied by the next demo\"}\n";

/* `except` is a name to leave: the marker stays until all else is gone, so that a removal cut short can be done again. */
static recloser_status remove_below(struct fs *fs, struct arena *arena, const char *directory, const char *except,
									recloser_error *error)
{
	struct strings names = {0};
	int number = fs->ops->list(fs, directory, arena, &names);
	if (number != 0)
		return error_errno(error, "demo.folder", number, "list", directory);
	for (size_t i = 0; i < names.count; i++) {
		if (except != NULL && strcmp(names.at[i], except) == 0)
			continue;
		const char *path = arena_printf(arena, "%s/%s", directory, names.at[i]);
		/* First as a file: a link to a directory is never followed. */
		number = fs->ops->unlink(fs, path);
		if (number == EISDIR || number == EPERM) {
			RC_TRY(remove_below(fs, arena, path, NULL, error));
			number = fs->ops->remove_directory(fs, path);
		}
		if (number != 0)
			return error_errno(error, "demo.folder", number, "remove", path);
	}
	return RECLOSER_OK;
}

recloser_status demo_folder(struct fs *fs, struct arena *arena, const char *directory, recloser_error *error)
{
	const char *marker = arena_printf(arena, "%s/%s", directory, MARKER);
	int number = fs->ops->make_directory(fs, directory);
	if (number == EEXIST) {
		struct strings names = {0};
		number = fs->ops->list(fs, directory, arena, &names);
		if (number != 0)
			return error_errno(error, "demo.folder", number, "list", directory);
		char *text = NULL;
		size_t count = 0;
		bool ours = fs->ops->read(fs, marker, arena, &text, &count) == 0 && strcmp(text, MARKER_TEXT) == 0;
		if (names.count > 0 && !ours) {
			error_set(error, RECLOSER_USAGE, "demo.folder", "the folder holds files that are not of a demonstration");
			error_where(error, "%s: %s%s", directory, names.at[0], names.count > 1 ? " and more" : "");
			return error_hint(error, "name a folder that is empty or not there yet: recloser demo DIR");
		}
		RC_TRY(remove_below(fs, arena, directory, MARKER, error));
		if (ours && (number = fs->ops->unlink(fs, marker)) != 0)
			return error_errno(error, "demo.folder", number, "remove", marker);
	} else if (number != 0) {
		return error_errno(error, "demo.folder", number, "make", directory);
	}
	number = fs->ops->write(fs, marker, MARKER_TEXT, strlen(MARKER_TEXT), 0644, NULL);
	return number == 0 ? RECLOSER_OK : error_errno(error, "demo.folder", number, "write", marker);
}
