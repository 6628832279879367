cli_test(real TIMEOUT 900)
