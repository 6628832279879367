cli_test(progress)
