# Runs cut short, disks that fail, writers that meet. `make test` tries a spread of the points, `make check-full` all of them.

# preload(NAME): a library for LD_PRELOAD; the tests find it by RECLOSER_<NAME> in their environment.
set(crash_environment)
function(preload name)
  add_library(${name} MODULE crash/${name}.c)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET default) # a hidden malloc takes nobody's place
  string(TOUPPER ${name} upper)
  set(crash_environment ${crash_environment} "RECLOSER_${upper}=$<TARGET_FILE:${name}>" PARENT_SCOPE)
endfunction()

function(crash_test name)
  program_test(crash.${name} crash/test_${name} LABELS crash ENVIRONMENT ${crash_environment} ${ARGN})
endfunction()

preload(failing_call)
preload(failing_malloc)
crash_test(sweep TIMEOUT 10800)
crash_test(calls TIMEOUT 7200)
crash_test(disk TIMEOUT 3600)
crash_test(writers TIMEOUT 3600)
crash_test(recover TIMEOUT 3600)
crash_test(syncs TIMEOUT 3600)
crash_test(reader_loop TIMEOUT 3600)
