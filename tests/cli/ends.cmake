cli_test(ends)
