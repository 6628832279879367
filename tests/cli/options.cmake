cli_test(options)
