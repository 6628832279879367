# Runs cut short, disks that fail, writers that meet. `make test` tries a spread of the points, `make check-full` all of them.

# preload(NAME): a library for LD_PRELOAD; the tests find it by RECLOSER_<NAME> in their environment.
set(crash_environment "PYTHONDONTWRITEBYTECODE=1" "RECLOSER_SOURCE_DIR=${CMAKE_SOURCE_DIR}")
function(preload name)
  add_library(${name} MODULE crash/${name}.c)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET default) # a hidden malloc takes nobody's place
  string(TOUPPER ${name} upper)
  set(crash_environment ${crash_environment} "RECLOSER_${upper}=$<TARGET_FILE:${name}>" PARENT_SCOPE)
endfunction()

function(crash_test name)
  cmake_parse_arguments(crash "" "TIMEOUT" "" ${ARGN})
  if(NOT TARGET recloser)
    return()
  endif()
  if(NOT crash_TIMEOUT)
    set(crash_TIMEOUT 3600)
  endif()
  add_test(NAME crash.${name} COMMAND ${RECLOSER_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/crash/test_${name}.py)
  set_tests_properties(crash.${name} PROPERTIES LABELS crash TIMEOUT ${crash_TIMEOUT} SKIP_RETURN_CODE 77
    ENVIRONMENT "RECLOSER_PROGRAM=$<TARGET_FILE:recloser>;${crash_environment}")
endfunction()

preload(failing_call)
preload(failing_malloc)
crash_test(sweep TIMEOUT 10800)
crash_test(calls TIMEOUT 7200)
crash_test(disk)
crash_test(writers)
crash_test(recover)
crash_test(syncs)
crash_test(reader_loop)
