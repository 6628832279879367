cli_test(columns)
