unit_test(history base spec geo store engine source batch partition commit history)
