# Compares with openpyxl, which scripts/setup --test installs.
add_test(NAME cli.xlsx_openpyxl
  COMMAND ${RECLOSER_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cli/test_xlsx_openpyxl.py $<TARGET_FILE:xlsx_dump>)
set_tests_properties(cli.xlsx_openpyxl PROPERTIES LABELS cli TIMEOUT 600 SKIP_RETURN_CODE 77)
