# The interpreter may be chosen with -DPython3_EXECUTABLE, for one that has openpyxl.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  add_test(NAME cli.xlsx_openpyxl
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/cli/test_xlsx_openpyxl.py $<TARGET_FILE:xlsx_dump>)
  set_tests_properties(cli.xlsx_openpyxl PROPERTIES LABELS cli TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()
