# Only this reader's files and a chunk of the test's own: the cells are looked at one by one, without the engine.
file(GLOB xlsx_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/source/xlsx*.c)
add_library(xlsx_alone OBJECT ${xlsx_sources} ${CMAKE_SOURCE_DIR}/src/source/source.c)
target_link_libraries(xlsx_alone PRIVATE recloser_settings gdal_headers PkgConfig::EXPAT)
foreach(program test_xlsx test_xlsx_files xlsx_dump)
  add_executable(${program} unit/${program}.c unit/xlsx_testing.c unit/chunk_double.c $<TARGET_OBJECTS:xlsx_alone>
    $<TARGET_OBJECTS:module_base>)
  target_link_libraries(${program} PRIVATE recloser_settings PkgConfig::CMOCKA PkgConfig::GDAL PkgConfig::EXPAT
    PkgConfig::JANSSON PkgConfig::CRYPTO m)
  target_compile_definitions(${program} PRIVATE TEST_SOURCE_DIR="${CMAKE_SOURCE_DIR}/tests")
endforeach()
foreach(name xlsx xlsx_files)
  add_test(NAME unit.${name} COMMAND test_${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300)
endforeach()
