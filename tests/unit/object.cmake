# The commit protocol against a store in memory; tests/support has it.
unit_test(object base store commit)
if(TARGET test_object)
  target_sources(test_object PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/support/bucket_memory.c)
  target_include_directories(test_object PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/support)
endif()
unit_test(sigv4 base store)
