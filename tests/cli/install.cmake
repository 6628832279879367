# A sanitizer's library needs a host program built with the same sanitizer; what is installed is not built so.
if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
  cli_test(install)
endif()
