# The engine with what its functions are made of: geometry, and the key from src/batch.
add_library(key_alone OBJECT ${CMAKE_SOURCE_DIR}/src/batch/pystr.c ${CMAKE_SOURCE_DIR}/src/batch/key.c)
target_link_libraries(key_alone PRIVATE recloser_settings)
function(engine_test name)
  add_executable(test_${name} unit/test_${name}.c $<TARGET_OBJECTS:module_engine> $<TARGET_OBJECTS:module_geo>
    $<TARGET_OBJECTS:module_base> $<TARGET_OBJECTS:key_alone>)
  target_link_libraries(test_${name} PRIVATE recloser_settings PkgConfig::CMOCKA ${RECLOSER_LIBS})
  target_compile_definitions(test_${name} PRIVATE TEST_SOURCE_DIR="${CMAKE_SOURCE_DIR}/tests")
  add_test(NAME unit.${name} COMMAND test_${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
engine_test(engine)
engine_test(functions)
engine_test(content)
