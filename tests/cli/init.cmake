cli_test(init TIMEOUT 900)
