/* SPDX-License-Identifier: Apache-2.0
 * GDAL, loaded when it is first needed. With the hundred libraries that it brings, loading it takes as long as all else that a run
 * over an unchanged input does (docs/performance.md), and such a run, `status` and most others never call it. So it is not
 * linked: its functions are called through the table here, by their own names.
 *
 *     RC_TRY(gdal_load(error));
 *     OGRGeometryH copy = gdal()->OGR_G_Clone(shape);
 *
 * A function that is not in the list yet is added to it; called by its bare name, the program does not link. */
#ifndef RECLOSER_BASE_GDAL_H
#define RECLOSER_BASE_GDAL_H

#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_minixml.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <gdal.h>
#include <ogr_api.h>
#include <ogr_srs_api.h>

#include "base/error.h"

#define GDAL_FUNCTIONS(F) \
	F(CPLAtof) F(CPLDestroyXMLNode) F(CPLErrorReset) F(CPLGetConfigOption) F(CPLGetErrorHandlerUserData) \
	F(CPLGetLastErrorType) F(CPLGetXMLNode) F(CPLGetXMLValue) F(CPLParseXMLString) F(CPLPopErrorHandler) \
	F(CPLPushErrorHandler) F(CPLPushErrorHandlerEx) F(CPLQuietErrorHandler) F(CPLSetThreadLocalConfigOption) \
	F(CPLTestBool) F(CSLAddString) F(CSLDestroy) F(CSLFindString) F(GDALAllRegister) F(GDALClose) F(GDALDatasetGetLayer) \
	F(GDALDatasetGetLayerCount) F(GDALGetDatasetDriver) F(GDALGetDriver) F(GDALGetDriverCount) F(GDALGetDriverShortName) \
	F(GDALGetMetadataItem) F(GDALIdentifyDriverEx) F(GDALOpenEx) F(OCTDestroyCoordinateTransformation) \
	F(OCTNewCoordinateTransformation) F(OCTTransformBounds) F(OGR_FD_GetFieldCount) F(OGR_FD_GetFieldDefn) \
	F(OGR_FD_GetGeomFieldCount) F(OGR_FD_GetGeomFieldDefn) F(OGR_F_Destroy) F(OGR_F_GetFID) F(OGR_F_GetFieldAsBinary) \
	F(OGR_F_GetFieldAsDateTimeEx) F(OGR_F_GetFieldAsDouble) F(OGR_F_GetFieldAsDoubleList) F(OGR_F_GetFieldAsInteger) \
	F(OGR_F_GetFieldAsInteger64) F(OGR_F_GetFieldAsInteger64List) F(OGR_F_GetFieldAsIntegerList) \
	F(OGR_F_GetFieldAsString) F(OGR_F_GetFieldAsStringList) F(OGR_F_GetFieldDefnRef) F(OGR_F_GetGeometryRef) \
	F(OGR_F_GetFieldCount) F(OGR_F_IsFieldSetAndNotNull) F(OGR_Fld_GetNameRef) F(OGR_Fld_GetSubType) F(OGR_Fld_GetType) F(OGR_GFld_GetNameRef) \
	F(OGR_GFld_GetSpatialRef) F(OGR_GT_Flatten) F(OGR_G_AddGeometryDirectly) F(OGR_G_Centroid) F(OGR_G_Clone) \
	F(OGR_G_CreateFromWkbEx) F(OGR_G_CreateFromWkt) F(OGR_G_CreateGeometry) F(OGR_G_DestroyGeometry) \
	F(OGR_G_ExportToIsoWkb) F(OGR_G_ForceTo) F(OGR_G_GetGeometryCount) F(OGR_G_GetGeometryName) F(OGR_G_GetGeometryRef) \
	F(OGR_G_GetGeometryType) F(OGR_G_GetLinearGeometry) F(OGR_G_Is3D) F(OGR_G_IsEmpty) F(OGR_G_IsMeasured) \
	F(OGR_G_IsValid) F(OGR_G_PointOnSurface) F(OGR_G_Set3D) F(OGR_G_SetMeasured) F(OGR_G_Transform) F(OGR_G_WkbSizeEx) \
	F(OGR_L_GetFIDColumn) F(OGR_L_GetLayerDefn) F(OGR_L_GetName) F(OGR_L_GetNextFeature) F(OGR_L_ResetReading) \
	F(OGR_L_SetIgnoredFields) F(OGR_L_TestCapability) F(OSRExportToPROJJSON) F(OSRGetAngularUnits) F(OSRGetAreaOfUse) \
	F(OSRGetAuthorityCode) F(OSRGetAuthorityName) F(OSRGetName) F(OSRImportFromProj4) F(OSRImportFromWkt) \
	F(OSRIsGeographic) F(OSRIsProjected) F(OSRIsSameEx) F(OSRNewSpatialReference) F(OSRRelease) \
	F(OSRSetAxisMappingStrategy) F(OSRSetFromUserInput) F(VSIFCloseL) F(VSIFEofL) F(VSIFOpenL) F(VSIFReadL) F(VSIFSeekL) \
	F(VSIFTellL) F(VSIFree) F(VSIReadDirRecursive) F(VSIStatL)

struct gdal {
#define GDAL_MEMBER(name) __typeof__(name) *name;
	GDAL_FUNCTIONS(GDAL_MEMBER)
#undef GDAL_MEMBER
};

/* For all ways into GDAL: where it can't be had, the error says why. From any thread; the second call costs nothing. It stays loaded. */
recloser_status gdal_load(recloser_error *error);

/* Its functions. Loads it as well; where that fails, the process ends with a word on stderr, as it does for any library it needs. */
const struct gdal *gdal(void);

#endif
