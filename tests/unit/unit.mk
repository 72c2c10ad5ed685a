# SPDX-License-Identifier: MIT
#
# The test programs, and the same programs under sanitizers.

### Test
.PHONY: test run-tests sanitize

WINDOWS_TESTS = $(patsubst tests/unit/%.c,%,$(shell grep -l "^ . Runs on Windows" tests/unit/test_*.c))
# The longest first: as the last ones they would leave a core idle.
LONGEST = test_threads test_processes
ALL_TESTS = $(LONGEST) $(filter-out $(LONGEST),$(sort $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))))
TESTS  ?= $(if $(filter Windows_NT,$(OS)),$(WINDOWS_TESTS),$(ALL_TESTS))
# Tests that are scripts; `make test` runs none.
SCRIPTS ?=
SCRIPT_ENV = CC="$(CC)" CXX="$(CXX)" WARN="$(WARN)" MAKE="$(MAKE)"

# Small tests at -O0, since compiling them takes longer than running them; CFLAGS on the command line override it.
SMALL   = $(if $(filter command environment,$(origin CFLAGS)),$(CFLAGS),-O0 -g -DTEST_SMALL)
# Programs of two files, one of them C++, that include both headers in either order, with and without shared
# functions.
PROGRAMS ?= two_units two_units_reversed two_units_shared two_units_shared_reversed
RESULTS = $(TESTS:%=$(BUILD)/%.out) $(PROGRAMS:%=$(BUILD)/%.out) $(SCRIPTS:tests/scripts/%.sh=$(BUILD)/%.sh.out)
test: ## every test program, in a minute; needs only a C compiler and make
	@rm -f $(RESULTS:$(BUILD)/%=$(BUILD)/test/%)
	@$(MAKE) --no-print-directory -s -k $(PARALLEL) BUILD=$(BUILD)/test CFLAGS="$(SMALL)" run-tests || :
	@tests/scripts/run.sh --sum $(RESULTS:$(BUILD)/%=$(BUILD)/test/%)
run-tests: $(RESULTS)

$(BUILD)/%.sh.out: tests/scripts/%.sh FORCE
	@$(SCRIPT_ENV) tests/scripts/run.sh $@ $<

$(BUILD)/%.out: $(BUILD)/% FORCE
	@tests/scripts/run.sh $@ $(RUN_ENV) $<

TEST_PARTS = $(wildcard tests/support/*.h tools/* fuzz/*.h) $(HEADERS) $(BUILD)/flags
$(BUILD)/%: tests/unit/%.c $(TEST_PARTS)
	$(CC) $(FLAGS) -I. -Itests/support $< -o $@ $(LDLIBS)

$(BUILD)/%: tests/stress/%.c $(TEST_PARTS)
	$(CC) $(FLAGS) -I. -Itests/support $< -o $@ $(LDLIBS)

$(BUILD)/test_strict_posix: tests/unit/test_strict.c
$(BUILD)/test_fixed_text_plain: tests/unit/test_fixed_text.c

# The two files must share one object per process. With FLAKE_SHARED the C file has the implementation, reversed the
# C++ file.
$(BUILD)/two_units: TWO_UNITS =
$(BUILD)/two_units_reversed: TWO_UNITS = -DREVERSED
$(BUILD)/two_units_shared: TWO_UNITS = -DFLAKE_SHARED
$(BUILD)/two_units_shared_reversed: TWO_UNITS = -DFLAKE_SHARED -DREVERSED
$(patsubst %,$(BUILD)/%,two_units two_units_reversed two_units_shared two_units_shared_reversed): $(wildcard tests/unit/two_units*) tests/support/check.h $(HEADERS) $(BUILD)/flags
	$(CC) $(FLAGS) $(TWO_UNITS) -I. -Itests/support -c tests/unit/two_units_main.c -o $@.o
	if command -v $(firstword $(CXX)) >/dev/null; then \
	  $(CXX) -std=c++11 $(WARN) $(CFLAGS) -pthread $(TWO_UNITS) -I. -Itests/support tests/unit/two_units_other.cc $@.o -o $@ $(LDLIBS); \
	else $(CC) $(FLAGS) $(TWO_UNITS) -I. -Itests/support -x c tests/unit/two_units_other.cc -x none $@.o -o $@ $(LDLIBS); fi

SANITIZED = tsan-gcc asan-gcc tsan-clang asan-clang
# The thread sanitizer finds nothing in programs with one thread and no signal handler.
THREADED = $(patsubst tests/unit/%.c,%,$(shell grep -lE 'pthread_create|sigaction|SIG[A-Z]+' tests/unit/test_*.c))
## sanitize, sanitize-etcd: make test, test-etcd under thread, address and undefined sanitizers
sanitize: $(SANITIZED:%=sanitize-%)
sanitize-tsan-%: WATCH = -fsanitize=thread
sanitize-tsan-%: SOME = TESTS="$(THREADED)" PROGRAMS=
sanitize-asan-%: WATCH = -fsanitize=address,undefined -fno-sanitize-recover=all
sanitize-%-gcc: COMPILERS = CC=gcc CXX=g++
sanitize-%-clang: COMPILERS = CC=clang CXX=clang++
$(SANITIZED:%=sanitize-%): sanitize-%: FORCE
	$(MAKE) test SCRIPTS= $(SOME) BUILD=$(BUILD)/$* $(COMPILERS) CFLAGS="-O1 -g $(WATCH) -DTEST_SMALL"
