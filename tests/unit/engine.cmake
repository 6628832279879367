unit_test(engine base engine)
