/* SPDX-License-Identifier: Apache-2.0
 * Which tables are in an input, for whoever has to choose. */
#include "source/ogr.h"
#include "source/xlsx.h"

static recloser_status sheets(struct arena *arena, const struct source_request *request, struct strings *out, recloser_error *error)
{
	struct xlsx_book *book = arena_alloc(arena, sizeof *book);
	RC_TRY(xlsx_book_open(arena, request->input->read_path, request->input->name, book, error));
	for (size_t i = 0; i < book->sheet_count; i++)
		if (!book->sheets[i].hidden)
			strings_add(arena, out, book->sheets[i].name);
	return RECLOSER_OK;
}

static recloser_status layers(struct arena *arena, const struct source_request *request, struct strings *out, recloser_error *error)
{
	struct ogr_place place;
	struct ogr_shapes shapes;
	GDALDatasetH dataset;
	RC_TRY(ogr_locate(arena, request, &place, error));
	if (place.replaced)
		return RECLOSER_OK; /* a member that another reader knows: one table */
	RC_TRY(ogr_dataset(arena, request, place.path, &shapes, &dataset, error));
	for (int i = 0; i < gdal()->GDALDatasetGetLayerCount(dataset); i++)
		strings_add(arena, out, arena_strdup(arena, gdal()->OGR_L_GetName(gdal()->GDALDatasetGetLayer(dataset, i))));
	return RECLOSER_OK;
}

recloser_status source_tables(struct arena *arena, const struct source_request *request, struct strings *out, recloser_error *error)
{
	source_reader *reader;
	RC_TRY(source_reader_of(request, &reader, error));
	if (reader == xlsx_open)
		return sheets(arena, request, out, error);
	return reader == ogr_open ? layers(arena, request, out, error) : RECLOSER_OK;
}
