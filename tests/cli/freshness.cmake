cli_test(freshness)
