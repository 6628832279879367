cli_test(real TIMEOUT 900)
cli_test(real_parquet TIMEOUT 900)
