unit_test(crs geo base)
