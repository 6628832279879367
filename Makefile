# SPDX-License-Identifier: Apache-2.0
#
# One entry point for everything a developer does; CMake does the work, this only names it.
#   make            build the library and the program     make asan       all tests under address and UB sanitizers
#   make demo       the demonstration, about a minute      make valgrind   the unit tests under valgrind
#   make test       build, then all tests                  make check-full the long tests in full
#   make install    to PREFIX (default /usr/local)         make bench      measurements
# Other variables: BUILD (build directory), JOBS (default: the processors), CMAKE_ARGS (passed on), CTEST_ARGS (passed on).

BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_ARGS ?=
CTEST_ARGS ?=
CTEST = ctest --output-on-failure -j$(JOBS) $(CTEST_ARGS)
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

.DEFAULT_GOAL := build
# One target after another: CMake and ctest use the processors, and set-up is not for two at once.
.NOTPARALLEL:
.PHONY: build setup setup-test setup-stores configure demo test asan tsan valgrind check-full bench install format lint clean

setup:
	@scripts/setup

setup-test:
	@scripts/setup --test

# Servers for tests of object stores; those tests skip what is not here.
setup-stores:
	@scripts/setup-stores --more

$(BUILD)/build.ninja: | setup
	cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_ARGS)

build: setup $(BUILD)/build.ninja
	@cmake --build $(BUILD) --parallel $(JOBS)

demo: build
	$(BUILD)/recloser demo

test: setup-test build
	cd $(BUILD) && $(CTEST) -LE long

check-full: setup-test build
	cd $(BUILD) && RECLOSER_TEST_FULL=1 $(CTEST)

# Leaks of GDAL's and the engine's own start-up are not ours to report: tests/leaks.supp names them.
asan: setup-test
	cmake -S . -B $(BUILD)-asan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS="$(SANITIZE)" $(CMAKE_ARGS)
	cmake --build $(BUILD)-asan --parallel $(JOBS)
	cd $(BUILD)-asan && ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS=suppressions=$(CURDIR)/tests/leaks.supp:print_suppressions=0 \
		UBSAN_OPTIONS=print_stacktrace=1 $(CTEST) -LE long

tsan: setup-test
	cmake -S . -B $(BUILD)-tsan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS="-fsanitize=thread -fno-omit-frame-pointer" $(CMAKE_ARGS)
	cmake --build $(BUILD)-tsan --parallel $(JOBS)
	cd $(BUILD)-tsan && TSAN_OPTIONS=suppressions=$(CURDIR)/tests/threads.supp $(CTEST) -L unit

valgrind: setup-test build
	@for test in $(BUILD)/tests/test_*; do echo "$$test"; \
		valgrind -q --error-exitcode=9 --leak-check=full --suppressions=tests/valgrind.supp $$test >/dev/null || exit 1; done

bench: build
	bench/run $(BUILD)

install: build
	cmake --install $(BUILD) --prefix $(PREFIX)

# The files git knows: a build directory inside the tree is nobody's to format.
format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

lint:
	scripts/lint

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan
