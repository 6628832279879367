cli_test(cases)
cli_test(cases_values)
cli_test(same_bytes)
cli_test(bad_files)
