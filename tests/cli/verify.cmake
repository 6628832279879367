cli_test(verify)
