cli_test(geometry)
