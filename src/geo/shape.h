/* SPDX-License-Identifier: Apache-2.0
 * From a geometry handle to stored bytes, for the files of this folder. */
#ifndef RECLOSER_GEO_SHAPE_H
#define RECLOSER_GEO_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/gdal.h"

/* NULL when GDAL does not understand the bytes. */
OGRGeometryH shape_from_wkb(const void *wkb, size_t count);
/* Little-endian ISO WKB on the heap; 0, or a static text that says what is wrong. */
const char *shape_to_wkb(OGRGeometryH shape, uint8_t **out, size_t *out_count);

#endif
