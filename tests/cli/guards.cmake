cli_test(guards)
