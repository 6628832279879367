unit_test(spec base spec)
if(TARGET module_spec)
  # Says what the parser makes of a spec; the test of the JSON Schema compares it with what the schema says. Drafts beside
  # the source tree take part where there are some.
  add_executable(spec_check unit/spec_check.c $<TARGET_OBJECTS:module_base> $<TARGET_OBJECTS:module_spec>)
  target_link_libraries(spec_check PRIVATE recloser_settings PkgConfig::YAML)
  file(GLOB drafts ${CMAKE_SOURCE_DIR}/../shared/specs/*.yaml)
  add_test(NAME cli.spec_schema COMMAND ${RECLOSER_PYTHON} ${CMAKE_SOURCE_DIR}/tests/cli/test_spec_schema.py
    $<TARGET_FILE:spec_check> ${drafts})
  set_tests_properties(cli.spec_schema PROPERTIES LABELS unit SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
