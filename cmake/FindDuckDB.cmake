# Where the engine is: DUCKDB_ROOT (cache or environment), pkg-config, then what scripts/setup fetched into .deps.
# Gives the target DuckDB::DuckDB.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_DUCKDB QUIET duckdb)
endif()
find_path(DuckDB_INCLUDE_DIR duckdb.h
  HINTS ${DUCKDB_ROOT} $ENV{DUCKDB_ROOT} PATH_SUFFIXES include
  PATHS ${PC_DUCKDB_INCLUDE_DIRS} ${CMAKE_SOURCE_DIR}/.deps/duckdb/include)
find_library(DuckDB_LIBRARY duckdb
  HINTS ${DUCKDB_ROOT} $ENV{DUCKDB_ROOT} PATH_SUFFIXES lib
  PATHS ${PC_DUCKDB_LIBRARY_DIRS} ${CMAKE_SOURCE_DIR}/.deps/duckdb/lib)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(DuckDB REQUIRED_VARS DuckDB_LIBRARY DuckDB_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run `make setup`, or set DUCKDB_ROOT to a folder with include/duckdb.h and lib/libduckdb.so")
if(DuckDB_FOUND AND NOT TARGET DuckDB::DuckDB)
  add_library(DuckDB::DuckDB SHARED IMPORTED)
  set_target_properties(DuckDB::DuckDB PROPERTIES
    IMPORTED_LOCATION ${DuckDB_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${DuckDB_INCLUDE_DIR})
endif()
mark_as_advanced(DuckDB_INCLUDE_DIR DuckDB_LIBRARY)
