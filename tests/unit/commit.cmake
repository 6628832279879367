# The commit layer on file systems that tests control (tests/support), the race on a real one, and the models.
if(TARGET module_commit AND TARGET module_store)
  set(support ${CMAKE_CURRENT_SOURCE_DIR}/support)
  add_library(commit_support OBJECT ${support}/fs_memory.c ${support}/fs_wrap.c ${support}/fs_hooks.c ${support}/commit_fixture.c)
  target_link_libraries(commit_support PRIVATE recloser_settings)
  function(commit_test name)
    unit_test(${name} base store commit)
    target_sources(test_${name} PRIVATE $<TARGET_OBJECTS:commit_support>)
    target_include_directories(test_${name} PRIVATE ${support})
  endfunction()
  commit_test(commit)
  commit_test(recovery)
  commit_test(crash)
  commit_test(fs_posix)

  # 200 rounds here; the long run is `race --rounds 10000`.
  add_executable(race ${CMAKE_CURRENT_SOURCE_DIR}/race/race.c $<TARGET_OBJECTS:commit_support>
    $<TARGET_OBJECTS:module_base> $<TARGET_OBJECTS:module_store> $<TARGET_OBJECTS:module_commit>)
  target_link_libraries(race PRIVATE recloser_settings ${RECLOSER_LIBS})
  target_include_directories(race PRIVATE ${support})
  add_test(NAME race COMMAND race --rounds 200)
  set_tests_properties(race PROPERTIES LABELS race TIMEOUT 600)
endif()

add_test(NAME model COMMAND ${CMAKE_SOURCE_DIR}/model/run.sh)
set_tests_properties(model PROPERTIES LABELS model TIMEOUT 1200 SKIP_RETURN_CODE 77)
