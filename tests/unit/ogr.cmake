# This reader with the choice of readers and the JSON and CSV readers, which take members of archives; Parquet and workbooks
# are stood in for by the test.
if(TARGET module_geo)
  set(here ${CMAKE_SOURCE_DIR}/src/source)
  file(GLOB ogr_sources ${here}/ogr*.c ${here}/json*.c ${here}/csv*.c)
  add_executable(test_ogr unit/test_ogr.c unit/grid_double.c ${ogr_sources} ${here}/source.c ${here}/dispatch.c ${here}/bytes.c
    ${here}/encoding.c ${here}/unpack.c ${here}/spool.c $<TARGET_OBJECTS:module_base> $<TARGET_OBJECTS:module_geo>)
  target_link_libraries(test_ogr PRIVATE recloser_settings PkgConfig::CMOCKA PkgConfig::GDAL gdal_headers ${RECLOSER_LIBS})
  target_compile_definitions(test_ogr PRIVATE TEST_SOURCE_DIR="${CMAKE_SOURCE_DIR}/tests")
  add_test(NAME unit.ogr COMMAND test_ogr)
  set_tests_properties(unit.ogr PROPERTIES LABELS unit TIMEOUT 300)
endif()
