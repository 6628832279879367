cli_test(bench SERIAL)
set_property(TEST cli.bench APPEND PROPERTY LABELS bench)
