add_executable(test_page_header unit/test_page_header.c ${CMAKE_SOURCE_DIR}/src/source/page_header.c)
target_link_libraries(test_page_header PRIVATE recloser_settings PkgConfig::CMOCKA)
add_test(NAME unit.page_header COMMAND test_page_header)
set_tests_properties(unit.page_header PROPERTIES LABELS unit TIMEOUT 300)
