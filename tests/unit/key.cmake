# The two files of src/batch that know nothing of the rest of it.
set(key_sources ${CMAKE_SOURCE_DIR}/src/batch/pystr.c ${CMAKE_SOURCE_DIR}/src/batch/key.c)
foreach(name key pystr)
  add_executable(test_${name} unit/test_${name}.c ${key_sources} $<TARGET_OBJECTS:module_base>)
  target_link_libraries(test_${name} PRIVATE recloser_settings PkgConfig::CMOCKA m)
  target_compile_definitions(test_${name} PRIVATE TEST_SOURCE_DIR="${CMAKE_SOURCE_DIR}/tests")
  add_test(NAME unit.${name} COMMAND test_${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300)
endforeach()
