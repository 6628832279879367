cli_test(checks)
