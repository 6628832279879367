cli_test(formats TIMEOUT 900)
cli_test(geometry)
