cli_test(native_geometry)
