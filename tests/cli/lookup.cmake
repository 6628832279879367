cli_test(lookup)
