cli_test(series)
