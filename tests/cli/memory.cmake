cli_test(memory SERIAL LONG TIMEOUT 1800)
