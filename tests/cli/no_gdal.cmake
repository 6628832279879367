# The program with a GDAL to look for that is nowhere: of all objects only base/gdal.c is another.
add_executable(recloser_no_gdal $<TARGET_OBJECTS:recloser> ${CMAKE_SOURCE_DIR}/src/base/gdal.c)
foreach(module IN LISTS RECLOSER_MODULES)
  target_sources(recloser_no_gdal PRIVATE $<FILTER:$<TARGET_OBJECTS:module_${module}>,EXCLUDE,/base/gdal\\.c>)
endforeach()
target_link_libraries(recloser_no_gdal PRIVATE recloser_settings ${RECLOSER_LIBS})
target_include_directories(recloser_no_gdal PRIVATE ${GDAL_INCLUDE_DIRS})
target_compile_definitions(recloser_no_gdal PRIVATE RECLOSER_GDAL_NAME="libgdal.so.none" RECLOSER_GDAL_FILE="/nowhere/libgdal.so.none")
program_test(cli.no_gdal cli/test_no_gdal LABELS cli ENVIRONMENT "RECLOSER_NO_GDAL=$<TARGET_FILE:recloser_no_gdal>")
