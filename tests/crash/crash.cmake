# Runs cut short. `make test` tries a spread of the points, `make check-full` all of them.
add_library(failing_malloc MODULE crash/failing_malloc.c)
target_link_libraries(failing_malloc PRIVATE ${CMAKE_DL_LIBS})
if(TARGET recloser)
  add_test(NAME crash.sweep COMMAND ${RECLOSER_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/crash/test_sweep.py)
  set_tests_properties(crash.sweep PROPERTIES LABELS crash TIMEOUT 7200 SKIP_RETURN_CODE 77
    ENVIRONMENT "RECLOSER_PROGRAM=$<TARGET_FILE:recloser>;RECLOSER_SOURCE_DIR=${CMAKE_SOURCE_DIR};PYTHONDONTWRITEBYTECODE=1;RECLOSER_FAILING_MALLOC=$<TARGET_FILE:failing_malloc>")
endif()
add_library(lying_rename MODULE crash/lying_rename.c)
target_link_libraries(lying_rename PRIVATE ${CMAKE_DL_LIBS})
if(TARGET recloser)
  add_test(NAME crash.disk COMMAND ${RECLOSER_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/crash/test_disk.py)
  set_tests_properties(crash.disk PROPERTIES LABELS crash TIMEOUT 3600 SKIP_RETURN_CODE 77
    ENVIRONMENT "RECLOSER_PROGRAM=$<TARGET_FILE:recloser>;RECLOSER_SOURCE_DIR=${CMAKE_SOURCE_DIR};PYTHONDONTWRITEBYTECODE=1;RECLOSER_LYING_RENAME=$<TARGET_FILE:lying_rename>")
endif()
