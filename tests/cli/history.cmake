cli_test(history TIMEOUT 900)
cli_test(diff)
cli_test(doctor)
