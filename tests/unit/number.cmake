unit_test(number base)
