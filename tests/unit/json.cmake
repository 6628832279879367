# Only this reader's files: the cells are looked at one by one, without the engine.
file(GLOB json_sources ${CMAKE_SOURCE_DIR}/src/source/json*.c)
set(json_text ${CMAKE_SOURCE_DIR}/src/source)
if(TARGET module_geo)
  add_executable(test_json unit/test_json.c unit/grid_double.c ${json_sources} ${json_text}/source.c ${json_text}/bytes.c
    ${json_text}/encoding.c ${json_text}/unpack.c ${json_text}/spool.c $<TARGET_OBJECTS:module_base> $<TARGET_OBJECTS:module_geo>)
  target_link_libraries(test_json PRIVATE recloser_settings PkgConfig::CMOCKA ${RECLOSER_LIBS})
  target_compile_definitions(test_json PRIVATE TEST_SOURCE_DIR="${CMAKE_SOURCE_DIR}/tests")
  add_test(NAME unit.json COMMAND test_json)
  set_tests_properties(unit.json PROPERTIES LABELS unit TIMEOUT 300)
endif()
unit_test(json_scan base)
