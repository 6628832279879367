# Only this reader's files and a chunk of the test's own: the cells are looked at one by one, without the engine.
file(GLOB xlsx_sources ${CMAKE_SOURCE_DIR}/src/source/xlsx*.c)
add_library(xlsx_alone OBJECT ${xlsx_sources} ${CMAKE_SOURCE_DIR}/src/source/source.c unit/chunk_double.c)
target_link_libraries(xlsx_alone PRIVATE recloser_settings PkgConfig::GDAL PkgConfig::EXPAT)
foreach(program test_xlsx xlsx_dump)
  add_executable(${program} unit/${program}.c $<TARGET_OBJECTS:xlsx_alone> $<TARGET_OBJECTS:module_base>)
  target_link_libraries(${program} PRIVATE recloser_settings PkgConfig::CMOCKA PkgConfig::GDAL PkgConfig::EXPAT
    PkgConfig::JANSSON PkgConfig::CRYPTO m)
endforeach()
target_compile_definitions(test_xlsx PRIVATE TEST_SOURCE_DIR="${CMAKE_SOURCE_DIR}/tests")
add_test(NAME unit.xlsx COMMAND test_xlsx)
set_tests_properties(unit.xlsx PROPERTIES LABELS unit TIMEOUT 300)
