unit_test(verify base spec geo store engine source batch partition)
