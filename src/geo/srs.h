/* SPDX-License-Identifier: Apache-2.0
 * Spatial reference handles, always with x = east, for the files of this folder. */
#ifndef RECLOSER_GEO_SRS_H
#define RECLOSER_GEO_SRS_H

#include "base/gdal.h"

/* From any text PROJ knows, without looking at files or the network; NULL when it is none. */
OGRSpatialReferenceH srs_new(const char *text);
void srs_free(OGRSpatialReferenceH srs); /* NULL is fine */

#endif
