# GDAL by pkg-config. The program loads it when it needs it (src/base/gdal.h), so that only its headers are used here, and which
# library they are of: the name that the system finds it by, and its file, for a GDAL where the system does not look.
#
#   gdal_headers        what compiles src/base/gdal.h
#   PkgConfig::GDAL     linked, for tests that call it themselves
pkg_check_modules(GDAL REQUIRED IMPORTED_TARGET gdal)
find_library(GDAL_LIBRARY gdal HINTS ${GDAL_LIBRARY_DIRS} ${GDAL_LIBDIR})
if(NOT GDAL_LIBRARY)
  message(FATAL_ERROR "pkg-config knows gdal, but its library is not in ${GDAL_LIBDIR}")
endif()
file(REAL_PATH ${GDAL_LIBRARY} gdal_file)
execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${gdal_file} OUTPUT_VARIABLE gdal_headers_of_file)
if(NOT gdal_headers_of_file MATCHES "SONAME +([^ \n]+)")
  message(FATAL_ERROR "${gdal_file} has no SONAME")
endif()
set(gdal_name ${CMAKE_MATCH_1})
# By its name there too, so that it is found after an update, which changes the name of the real file.
get_filename_component(gdal_directory ${GDAL_LIBRARY} DIRECTORY)
if(EXISTS ${gdal_directory}/${gdal_name})
  set(gdal_file ${gdal_directory}/${gdal_name})
endif()
add_library(gdal_headers INTERFACE)
target_include_directories(gdal_headers INTERFACE ${GDAL_INCLUDE_DIRS})
target_compile_definitions(gdal_headers INTERFACE RECLOSER_GDAL_NAME="${gdal_name}" RECLOSER_GDAL_FILE="${gdal_file}")
