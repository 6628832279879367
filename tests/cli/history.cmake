cli_test(history TIMEOUT 900)
cli_test(unfinished)
cli_test(diff)
cli_test(doctor)
