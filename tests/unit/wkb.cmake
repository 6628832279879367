unit_test(wkb geo base)
