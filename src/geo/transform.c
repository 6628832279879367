/* SPDX-License-Identifier: Apache-2.0
 * A transformation between two systems for many threads. PROJ's handles serve one thread at a time, so there is a pool:
 * a thread takes an idle handle or makes another, and gives it back. */
#include "geo/crs.h"

#include <pthread.h>
#include <stdlib.h>

#include "geo/quiet.h"
#include "geo/shape.h"
#include "geo/srs.h"
#include "geo/wkb.h"

enum { MOST_IDLE = 64 };

struct transform {
	pthread_mutex_t lock; /* held while `idle` is looked at and while a handle is made from the two systems */
	OGRSpatialReferenceH from, to;
	OGRCoordinateTransformationH idle[MOST_IDLE];
	int idle_count;
};

struct transform *transform_new(const char *from_projjson, const char *to_projjson)
{
	struct transform *transform = calloc(1, sizeof *transform);
	if (!transform)
		return NULL;
	pthread_mutex_init(&transform->lock, NULL);
	struct quiet quiet;
	quiet_begin(&quiet);
	transform->from = srs_new(from_projjson);
	transform->to = srs_new(to_projjson);
	if (transform->from && transform->to)
		transform->idle[0] = gdal()->OCTNewCoordinateTransformation(transform->from, transform->to);
	quiet_end(&quiet);
	if (!transform->idle[0]) {
		transform_free(transform);
		return NULL;
	}
	transform->idle_count = 1;
	return transform;
}

void transform_free(struct transform *transform)
{
	if (!transform)
		return;
	for (int i = 0; i < transform->idle_count; i++)
		gdal()->OCTDestroyCoordinateTransformation(transform->idle[i]);
	srs_free(transform->from);
	srs_free(transform->to);
	pthread_mutex_destroy(&transform->lock);
	free(transform);
}

static OGRCoordinateTransformationH take(struct transform *transform)
{
	pthread_mutex_lock(&transform->lock);
	OGRCoordinateTransformationH handle = transform->idle_count
											  ? transform->idle[--transform->idle_count]
											  : gdal()->OCTNewCoordinateTransformation(transform->from, transform->to);
	pthread_mutex_unlock(&transform->lock);
	return handle;
}

static void give_back(struct transform *transform, OGRCoordinateTransformationH handle)
{
	pthread_mutex_lock(&transform->lock);
	bool room = transform->idle_count < MOST_IDLE;
	if (room)
		transform->idle[transform->idle_count++] = handle;
	pthread_mutex_unlock(&transform->lock);
	if (!room)
		gdal()->OCTDestroyCoordinateTransformation(handle);
}

const char *transform_wkb(struct transform *transform, const void *wkb, size_t count, uint8_t **out, size_t *out_count)
{
	static const char outside[] = "the geometry lies where the transformation to the dataset's system has no answer";
	struct quiet quiet;
	quiet_begin(&quiet);
	const char *wrong = "the geometry is not understood";
	OGRCoordinateTransformationH handle = take(transform);
	OGRGeometryH shape = shape_from_wkb(wkb, count);
	if (!handle)
		wrong = "out of memory";
	else if (shape)
		wrong = gdal()->OGR_G_Transform(shape, handle) == OGRERR_NONE ? shape_to_wkb(shape, out, out_count) : outside;
	gdal()->OGR_G_DestroyGeometry(shape);
	if (handle)
		give_back(transform, handle);
	quiet_end(&quiet);
	struct wkb_facts facts = {0};
	if (!wrong && wkb_walk(*out, *out_count, &facts) == WKB_NOT_FINITE) {
		free(*out);
		wrong = outside;
	}
	return wrong;
}
