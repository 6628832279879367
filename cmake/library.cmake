# The library in both forms, the program, and what is installed. Included by CMakeLists.txt once the modules are known.
#
#   librecloser.so  exports recloser_* only: everything else is compiled with hidden visibility.
#   librecloser.a   one object, merged from all modules, in which everything but recloser_* is made local: a static
#                   library has no hidden symbols otherwise, and names like `text_add` would meet those of a host program.
#   recloser        the program: src/cli over the public header, with the static library inside.

if(NOT RECLOSER_OBJECTS)
  return()
endif()

# ---- where the engine's library will be when installed
cmake_path(IS_PREFIX CMAKE_SOURCE_DIR "${DuckDB_LIBRARY}" NORMALIZE engine_is_ours)
get_filename_component(engine_directory "${DuckDB_LIBRARY}" DIRECTORY)
file(RELATIVE_PATH bin_to_lib "/p/${CMAKE_INSTALL_BINDIR}" "/p/${CMAKE_INSTALL_LIBDIR}")
file(RELATIVE_PATH pc_to_prefix "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
if(engine_is_ours)
  set(engine_rpath "")
  set(engine_pc_libs "-L\${libdir} -lduckdb")
else()
  set(engine_rpath "${engine_directory}")
  set(engine_pc_libs "-L${engine_directory} -lduckdb")
endif()

# ---- shared
add_library(recloser_shared SHARED ${RECLOSER_OBJECTS})
set_target_properties(recloser_shared PROPERTIES OUTPUT_NAME recloser LINKER_LANGUAGE C
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} INSTALL_RPATH "$ORIGIN;${engine_rpath}")
target_link_libraries(recloser_shared PRIVATE ${RECLOSER_LIBS})
target_include_directories(recloser_shared INTERFACE ${CMAKE_SOURCE_DIR}/include)
if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
  target_link_options(recloser_shared PRIVATE -Wl,--no-undefined) # sanitizers' own symbols are the program's to bring
endif()

# ---- static
set(merged ${CMAKE_BINARY_DIR}/librecloser.o)
set(archive ${CMAKE_BINARY_DIR}/librecloser.a)
add_custom_command(OUTPUT ${archive}
  COMMAND ${CMAKE_LINKER} -r -o ${merged} ${RECLOSER_OBJECTS}
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=recloser_* ${merged}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
  COMMAND ${CMAKE_AR} qcs ${archive} ${merged}
  DEPENDS ${RECLOSER_OBJECTS} COMMAND_EXPAND_LISTS VERBATIM
  COMMENT "Merging the modules into librecloser.a")
add_custom_target(recloser_archive ALL DEPENDS ${archive})
add_library(recloser_static INTERFACE)
add_dependencies(recloser_static recloser_archive)
target_link_libraries(recloser_static INTERFACE ${archive} ${RECLOSER_LIBS})
target_include_directories(recloser_static INTERFACE ${CMAKE_SOURCE_DIR}/include)

# ---- program
file(GLOB program_sources CONFIGURE_DEPENDS src/cli/*.c)
if(program_sources)
  add_executable(recloser ${program_sources})
  add_dependencies(recloser recloser_archive)
  set_property(TARGET recloser APPEND PROPERTY LINK_DEPENDS ${archive})
  target_compile_options(recloser PRIVATE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla
    $<$<BOOL:${RECLOSER_WERROR}>:-Werror>)
  target_compile_definitions(recloser PRIVATE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
  target_include_directories(recloser PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src/cli)
  # Only the archive's needs, not its include directories: the program sees the public header and nothing of GDAL.
  target_link_libraries(recloser PRIVATE $<LINK_ONLY:recloser_static>)
  set_target_properties(recloser PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib};${engine_rpath}")
  install(TARGETS recloser RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# ---- install
configure_file(cmake/recloser.pc.in recloser.pc @ONLY)
configure_file(cmake/recloser-static.pc.in recloser-static.pc @ONLY)
install(TARGETS recloser_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/recloser/recloser.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/recloser)
install(FILES ${CMAKE_BINARY_DIR}/recloser.pc ${CMAKE_BINARY_DIR}/recloser-static.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY share/ DESTINATION ${CMAKE_INSTALL_DATADIR}/recloser)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(engine_is_ours)
  install(FILES ${DuckDB_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR}
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  install(FILES ${engine_directory}/../LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.duckdb OPTIONAL)
endif()

# ---- checks of the code's order
if(BUILD_TESTING)
  add_test(NAME check.arrows COMMAND ${CMAKE_SOURCE_DIR}/scripts/check-arrows)
  add_test(NAME check.symbols COMMAND ${CMAKE_SOURCE_DIR}/scripts/check-symbols
    ${CMAKE_SOURCE_DIR}/include/recloser/recloser.h $<TARGET_FILE:recloser_shared> ${archive})
  set_tests_properties(check.arrows check.symbols PROPERTIES LABELS check TIMEOUT 60)
endif()
