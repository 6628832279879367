cli_test(readers TIMEOUT 900)
