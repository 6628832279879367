# The readers that dispatch.c names are not linked here, so the sources are listed.
set(source_dir ${CMAKE_SOURCE_DIR}/src/source)
set(text_sources ${source_dir}/bytes.c ${source_dir}/encoding.c ${source_dir}/unpack.c ${source_dir}/spool.c)
function(source_test name)
  add_executable(test_${name} unit/test_${name}.c ${ARGN} $<TARGET_OBJECTS:module_base>)
  target_link_libraries(test_${name} PRIVATE recloser_settings PkgConfig::CMOCKA PkgConfig::ZSTD PkgConfig::ZLIB)
  target_compile_definitions(test_${name} PRIVATE TEST_SOURCE_DIR="${CMAKE_SOURCE_DIR}/tests")
  add_test(NAME unit.${name} COMMAND test_${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
source_test(csv unit/csv_double.c ${source_dir}/csv.c ${source_dir}/csv_layout.c ${source_dir}/csv_field.c
  ${source_dir}/csv_read.c ${source_dir}/source.c ${text_sources})
source_test(bytes ${text_sources})
source_test(input ${source_dir}/input.c ${source_dir}/dispatch.c ${source_dir}/encoding.c ${source_dir}/unpack.c ${source_dir}/spool.c)
