cli_test(demo TIMEOUT 900)
