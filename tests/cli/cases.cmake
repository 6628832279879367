cli_test(cases)
cli_test(cases_values)
