# SPDX-License-Identifier: MIT

CC      ?= cc
CXX     ?= c++
CFLAGS  ?= -O2 -g
LDLIBS  ?=
RUN_ENV ?=#          # what runs a test program, such as `qemu-aarch64 -L /usr/aarch64-linux-gnu`
BUILD   ?= build

# The headers hide their warnings from programs that include them; this project shows all.
SHOW     = -DFLAKE_SHOW_WARNINGS
WERROR  ?= -Werror
WARN     = $(SHOW) -pedantic -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow $(WERROR)
# Excluded from clang's -Weverything: padding, C90, and warnings about raw buffers, C in C++ and unused static
# functions.
CLANG_EVERYTHING = $(SHOW) -Weverything -Wno-padded -Wno-declaration-after-statement \
	-Wno-unknown-warning-option -Wno-unsafe-buffer-usage -Wno-unused-function -Wno-float-equal \
	-Wno-switch-default -Wno-used-but-marked-unused
CLANG_EVERYTHING_CXX = $(CLANG_EVERYTHING) -Wno-c++98-compat-pedantic -Wno-old-style-cast \
	-Wno-zero-as-null-pointer-constant -Wno-c++20-compat -Wno-missing-prototypes

HEADERS = flake.h sno.h
TOOLS   = flake sno
WINDOWS_TESTS = $(patsubst tests/unit/%.c,%,$(shell grep -l "^ . Runs on Windows" tests/unit/test_*.c))
ALL_TESTS = $(sort $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c)))
TESTS  ?= $(if $(filter Windows_NT,$(OS)),$(WINDOWS_TESTS),$(ALL_TESTS))
STD    ?= c11
# Tests that are scripts; `make test` runs none.
SCRIPTS ?=
SCRIPT_ENV = CC="$(CC)" CXX="$(CXX)" WARN="$(WARN)" MAKE="$(MAKE)"
FLAGS   = -std=$(STD) $(WARN) $(CFLAGS) -pthread


.PHONY: all tools lib single install-headers install uninstall test run-tests matrix everything sanitize explore \
	explore-orders models models-checked mutants coverage soak attack fuzz fuzz-replay campaign cross test-fresh help \
	clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:

# With -s, for scripts, it prints nothing.
IS_SILENT = $(findstring s,$(firstword -$(MAKEFLAGS)))
all: tools ## builds the tools and prints three IDs, one of them decoded, and what to type next
	@$(if $(IS_SILENT),:,flake="$(RUN_ENV) $(BUILD)/flake"; \
	id=$$($$flake generate --node=7) && uuid=$$($$flake generate --layout=uuid7) && \
	sno=$$($(RUN_ENV) $(BUILD)/sno generate --meta=42) || exit 1; \
	printf '%-38s%-14s%s\n' \
	  $$id '64-bit flake' '$(BUILD)/flake generate --node=7' \
	  $$uuid UUIDv7 '$(BUILD)/flake generate --layout=uuid7' \
	  $$sno sno '$(BUILD)/sno generate --meta=42'; \
	printf '\n%s\n' "$(BUILD)/flake inspect --layout=default $$id"; \
	$$flake inspect --layout=default $$id || exit 1; \
	printf '\nNext: %-21s %s\n' 'make test' 'every test program, in a minute'; \
	printf '      %-21s %s\n' 'make install' 'headers, tools, libraries and man pages, into $(PREFIX)' \
	  '$(BUILD)/flake help' 'what the tools can do; make help lists the targets of make' \
	  'README.md' 'how to use flake.h and sno.h in a program')

tools: $(TOOLS:%=$(BUILD)/%) ## builds the command-line tools only
$(TOOLS:%=$(BUILD)/%): $(BUILD)/%: tools/%.c tools/tool.h $(HEADERS) $(BUILD)/flags
	$(CC) $(FLAGS) -I. $< -o $@ $(LDLIBS)

# Shared libraries for other languages; they export the public names only. Before 1.0 a minor version may change calls
# and sizes, so the libraries' names contain it. For Apple's linker set SONAME=.
SO      = .so.$(shell sed -n 's/^\#define FLAKE_VERSION_STRING "\([0-9]*\.[0-9]*\).*/\1/p' flake.h)
SONAME ?= -Wl,-soname,$(@F:.so=$(SO))
lib: $(TOOLS:%=$(BUILD)/lib%.so) ## shared libraries, for languages that call C

$(TOOLS:%=$(BUILD)/lib%.so): $(BUILD)/lib%.so: $(HEADERS) $(BUILD)/flags
	echo '#include "$*.h"' | $(CC) $(FLAGS) -I. -x c -shared -fPIC -fvisibility=hidden -fno-semantic-interposition \
	  -DFLAKE_SHARED -DFLAKE_IMPLEMENTATION -D'FLAKE_API=__attribute__((visibility("default")))' $(SONAME) - -o $(@:.so=$(SO)) $(LDLIBS)
	ln -sf $(@F:.so=$(SO)) $@

CORES  := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
JOBS   ?= $(CORES)
# All cores, unless make was called with -j or JOBS is set.
PARALLEL = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))
# Small tests at -O0, since compiling them takes longer than running them; CFLAGS on the command line override it.
SMALL   = $(if $(filter command environment,$(origin CFLAGS)),$(CFLAGS),-O0 -g -DTEST_SMALL)
# Programs of two files, one of them C++, that include both headers in either order, with and without shared
# functions.
PROGRAMS ?= two_units two_units_reversed two_units_shared two_units_shared_reversed
RESULTS = $(TESTS:%=$(BUILD)/%.out) $(PROGRAMS:%=$(BUILD)/%.out) $(SCRIPTS:tests/scripts/%.sh=$(BUILD)/%.sh.out)
test: ## every test program, on all cores; needs only a C compiler and make
	@rm -f $(RESULTS:$(BUILD)/%=$(BUILD)/test/%)
	@$(MAKE) --no-print-directory -s -k $(PARALLEL) BUILD=$(BUILD)/test CFLAGS="$(SMALL)" run-tests || :
	@tests/scripts/run.sh --sum $(RESULTS:$(BUILD)/%=$(BUILD)/test/%)
run-tests: $(RESULTS)

$(BUILD)/%.sh.out: tests/scripts/%.sh FORCE
	@$(SCRIPT_ENV) tests/scripts/run.sh $@ $<

$(BUILD)/%.out: $(BUILD)/% FORCE
	@tests/scripts/run.sh $@ $(RUN_ENV) $<

# A file that changes with the flags; everything depends on it.
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	@echo '$(CC) $(CXX) $(FLAGS) $(LDLIBS)' | cmp -s - $@ || echo '$(CC) $(CXX) $(FLAGS) $(LDLIBS)' > $@

TEST_PARTS = $(wildcard tests/support/*.h tools/* fuzz/*.h) $(HEADERS) $(BUILD)/flags
$(BUILD)/%: tests/unit/%.c $(TEST_PARTS)
	$(CC) $(FLAGS) -I. -Itests/support $< -o $@ $(LDLIBS)

$(BUILD)/%: tests/stress/%.c $(TEST_PARTS)
	$(CC) $(FLAGS) -I. -Itests/support $< -o $@ $(LDLIBS)

$(BUILD)/test_strict_posix: tests/unit/test_strict.c
$(BUILD)/test_sno_text_plain: tests/unit/test_sno_text.c
$(BUILD)/test_uuid_text_plain: tests/unit/test_uuid_text.c

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

single: $(BUILD)/single/sno.h ## sno.h with flake.h in it: one file to copy
$(BUILD)/single/sno.h: $(HEADERS)
	@mkdir -p $(@D)
	awk '$$0 == "#include \"flake.h\"" { while ((getline line < "flake.h") > 0) print line; next } 1' sno.h > $@

matrix: ## both compilers, every -std of C and C++, -O0 to -O3
	@WARN="$(WARN)" C_STANDARDS="$(C_STANDARDS)" CXX_STANDARDS="$(CXX_STANDARDS)" OPTIMISE="$(OPTIMISE)" tests/scripts/matrix.sh

everything: $(BUILD)/flags ## clang's -Weverything, with the exceptions named in the Makefile
	for h in $(HEADERS); do \
	  printf '#include "%s"\nint main(void) { return 0; }\n' $$h > $(BUILD)/everything.c; \
	  clang -std=c11 -I. $(CLANG_EVERYTHING) -Werror -fsyntax-only $(BUILD)/everything.c && \
	  clang++ -x c++ -std=c++17 -I. $(CLANG_EVERYTHING_CXX) -Werror -fsyntax-only $(BUILD)/everything.c || exit 1; \
	done

.PHONY: format format-check
FORMATTED = $(HEADERS) extras/etcd/flake_etcd.h
format: ## formats the headers, with clang-format 14: other versions write some lines otherwise
	clang-format-14 -i $(FORMATTED)
format-check: ## the headers are as make format writes them
	@command -v clang-format-14 > /dev/null || { echo "SKIPPED: needs clang-format-14"; exit 0; }; \
	for h in $(FORMATTED); do clang-format-14 $$h | diff -u $$h - || { echo "FAIL: $$h: make format"; exit 1; }; done

SANITIZED = tsan-gcc asan-gcc tsan-clang asan-clang
# The thread sanitizer finds nothing in programs with one thread and no signal handler.
THREADED = $(patsubst tests/unit/%.c,%,$(shell grep -lE 'pthread_create|sigaction|SIG[A-Z]+' tests/unit/test_*.c))
sanitize: $(SANITIZED:%=sanitize-%) ## the tests under thread, address and undefined sanitizers, gcc and clang; faster with -j2 -Otarget
sanitize-tsan-%: WATCH = -fsanitize=thread
sanitize-tsan-%: SOME = TESTS="$(THREADED)" PROGRAMS=
sanitize-asan-%: WATCH = -fsanitize=address,undefined -fno-sanitize-recover=all
sanitize-%-gcc: COMPILERS = CC=gcc CXX=g++
sanitize-%-clang: COMPILERS = CC=clang CXX=clang++
$(SANITIZED:%=sanitize-%): sanitize-%: FORCE
	$(MAKE) test SCRIPTS= $(SOME) BUILD=$(BUILD)/$* $(COMPILERS) CFLAGS="-O1 -g $(WATCH) -DTEST_SMALL"

explore: $(BUILD)/explore_engine ## every interleaving of a few callers and a clock, on the real headers
	$(BUILD)/explore_engine $(SCENARIOS)

explore-orders: $(BUILD)/explore_orders ## memory orders: every value that each load may read, and each order weakened in turn
	$(BUILD)/explore_orders $(SCENARIOS)

$(BUILD)/explore_%: tests/explore/explore_%.c $(wildcard tests/explore/*.h) $(HEADERS) $(BUILD)/flags
	$(CC) $(FLAGS) -I. $< -o $@ $(LDLIBS)

models: $(BUILD)/flags ## compiles the models for a checker of C11's memory model; runs each once with threads: shows no weak order
	tests/models/models.sh $(BUILD)/models 3000 $(CC) $(FLAGS) -I.

CHECKER ?= genmc
models-checked: ## the models, and each order weakened in turn, in a checker of the C11 memory model (CHECKER=genmc)
	tests/models/checker.sh $(BUILD)/models-checked $(CHECKER) $(MODELS)

mutants: ## edits of the headers that tests must catch: one of each line (PER_LINE=0: all) and the table, or TABLE=only, SAMPLE=60, CHANGED=HEAD
	python3 tests/mutants/mutants.py $(BUILD)

coverage: ## lines and branches of the headers that tests, replays and explorer do not execute (clang)
	python3 tests/coverage/coverage.py $(BUILD)

IDS ?= 1000000000
soak: $(BUILD)/soak ## IDS=1000000000 IDs from 2, 8 and 64 threads, checked to be unique; or HOURS=8 of all kinds of generators
	$(BUILD)/soak $(if $(filter command environment,$(origin HOURS)),--hours=$(HOURS),--ids=$(IDS))

KILLS ?= 10000
attack: $(BUILD)/attack ## KILLS=10000 killed processes on a failing disk, checked for duplicates
	$(BUILD)/attack --kills=$(KILLS)

SECONDS ?= 60
SEED ?= 0
FUZZERS  = flake sno text state claims
FUZZ_FLAGS = -std=c11 $(WARN) -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	-DFUZZ_LIBFUZZER -I. -Itests/support -Iextras/etcd
FUZZ_CURL = $(if $(filter claims,$*),-lcurl)
# The fuzzer of claims is skipped without libcurl.
FUZZ_SKIPPED = if [ $* = claims ] && ! $(CC) -E -x c -include curl/curl.h /dev/null >/dev/null 2>&1; then \
	  echo "SKIPPED fuzz_$*: no curl/curl.h (package libcurl4-openssl-dev)"; exit 0; fi;

# One after the other, or with make -j2 two at a time; each prints its statistics at the end.
fuzz: $(FUZZERS:%=fuzz-%) ## each fuzzer for SECONDS=60 (clang), with SEED=0 (0: random), with -j2 two at a time
fuzz-%: FORCE $(BUILD)/flags
	@mkdir -p $(BUILD)/fuzz/corpus/$*
	@$(FUZZ_SKIPPED) clang $(FUZZ_FLAGS) fuzz/fuzz_$*.c -o $(BUILD)/fuzz/fuzz_$* $(FUZZ_CURL) || exit 1; \
	echo "fuzz_$*: $(SECONDS) s, to $(BUILD)/fuzz/$*.log"; \
	$(BUILD)/fuzz/fuzz_$* -max_total_time=$(SECONDS) -seed=$(SEED) -print_final_stats=1 \
	  -artifact_prefix=$(BUILD)/fuzz/$*- $(BUILD)/fuzz/corpus/$* fuzz/corpus/$* > $(BUILD)/fuzz/$*.log 2>&1; code=$$?; \
	{ echo "fuzz_$*:"; if [ $$code -eq 0 ]; then grep '^Done\|^stat::' $(BUILD)/fuzz/$*.log; \
	  else tail -n 60 $(BUILD)/fuzz/$*.log; fi; } > $(BUILD)/fuzz/$*.end; cat $(BUILD)/fuzz/$*.end; exit $$code

$(BUILD)/fuzz/replay_%: fuzz/fuzz_%.c $(wildcard fuzz/*.h) tests/support/support.h tests/support/oracle.h tests/support/slow_text.h $(HEADERS) extras/etcd/flake_etcd.h $(BUILD)/flags
	@mkdir -p $(BUILD)/fuzz
	@$(FUZZ_SKIPPED) set -x; $(CC) $(FLAGS) -I. -Itests/support -Iextras/etcd $< -o $@ $(LDLIBS) $(FUZZ_CURL)

fuzz-replay: $(FUZZERS:%=$(BUILD)/fuzz/replay_%) ## the fuzzers' corpus, with any compiler
	for target in $(FUZZERS); do [ ! -x $(BUILD)/fuzz/replay_$$target ] || \
	  $(BUILD)/fuzz/replay_$$target fuzz/corpus/$$target/* || exit 1; done

HOURS ?= 1
# If the compiler counts coverage, inputs that reach new code are kept.
COVERAGE = -fsanitize-coverage=$(if $(findstring clang,$(shell $(CC) --version)),inline-8bit-counters,trace-pc)
campaign: fuzz/campaign.c $(wildcard fuzz/*.h) $(HEADERS) $(BUILD)/flags ## HOURS=1 of search for a duplicate, with CAMPAIGN="--layout ..."
	@mkdir -p $(BUILD)/fuzz
	$(CC) $(FLAGS) $(COVERAGE) -I. -Itests/support fuzz/campaign.c -o $(BUILD)/fuzz/campaign $(LDLIBS)
	$(BUILD)/fuzz/campaign --hours $(HOURS) $(CAMPAIGN)

MACHINES = aarch64 s390x i686 armhf powerpc musl windows cortex-a9 cortex-m4 wasi
cross: $(MACHINES:%=cross-%) ## the tests on other machines (those of MACHINES that are installed); faster with -j2 -Otarget
$(MACHINES:%=cross-%): cross-%: FORCE
	@MAKE="$(MAKE)" BUILD=$(BUILD) WARN="$(WARN)" FEW="$(FEW)" tests/scripts/cross.sh $*

test-fresh: ## the README's commands in an empty directory, or with FRESH=ROOT in another system
	FRESH_TESTS=$(FRESH_TESTS) tests/scripts/fresh.sh $(FRESH)

PREFIX  ?= /usr/local
DESTDIR ?=
LIBDIR  ?= $(PREFIX)/lib
ROOT     = $(DESTDIR)$(PREFIX)
VERSION  = sed -n 's/^\#define [A-Z]*_VERSION_STRING "\(.*\)"/\1/p'
MAN      = awk -f tools/man.awk -v version="$$($(VERSION) $*.h)"

# Man pages are made from the output of `flake help` and from the headers.
$(BUILD)/%.1: $(BUILD)/% tools/man.awk
	$(RUN_ENV) $< help | $(MAN) -v name=$* -v section=1 > $@

$(BUILD)/%.h.3: %.h tools/man.awk $(BUILD)/flags
	$(MAN) -v name=$*.h -v section=3 $< > $@

$(BUILD)/flake_etcd.h.3: extras/etcd/flake_etcd.h tools/man.awk $(BUILD)/flags
	awk -f tools/man.awk -v version="$$($(VERSION) flake.h)" -v name=flake_etcd.h -v section=3 $< > $@

install-headers: ## headers, pkg-config files and CMake packages, with PREFIX=/usr/local DESTDIR=; needs no compiler
	install -d "$(ROOT)/include" "$(ROOT)/share/pkgconfig"
	for name in $(TOOLS); do \
	  version=$$($(VERSION) $$name.h) && \
	  install -d "$(ROOT)/share/cmake/$$name" && \
	  install -m 644 $$name.h "$(ROOT)/include/" && \
	  printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' '' "Name: $$name" \
	    "Description: $$(sed -n '1s/^[^:]*: *//p' $$name.h)" "Version: $$version" \
	    "Requires:$$(sed -n 's/^#include "\(.*\)\.h"$$/ \1 = '$$version/p $$name.h)" \
	    'Cflags: -I$${includedir}' > "$(ROOT)/share/pkgconfig/$$name.pc" && \
	  for file in Config ConfigVersion; do \
	    sed "s|@name@|$$name|g; s|@version@|$$version|; s|@include@|../../../include|" extras/packaging/$$file.cmake.in \
	      > "$(ROOT)/share/cmake/$$name/$$name$$file.cmake" || exit 1; \
	  done || exit 1; \
	done
	install -m 644 extras/etcd/flake_etcd.h "$(ROOT)/include/"
	version=$$($(VERSION) flake.h) && \
	printf '%s\n' 'Name: flake_etcd' "Description: $$(sed -n '1s/^[^:]*: *//p' extras/etcd/flake_etcd.h)" "Version: $$version" \
	  "Requires: flake = $$version, libcurl" 'Cflags: -pthread' 'Libs: -pthread' > "$(ROOT)/share/pkgconfig/flake_etcd.pc"

install: install-headers lib $(TOOLS:%=$(BUILD)/%.1) $(TOOLS:%=$(BUILD)/%.h.3) $(BUILD)/flake_etcd.h.3 ## headers, tools, man pages, and shared libraries in LIBDIR=PREFIX/lib
	install -d "$(ROOT)/bin" "$(ROOT)/share/man/man1" "$(ROOT)/share/man/man3" "$(DESTDIR)$(LIBDIR)/pkgconfig"
	for name in $(TOOLS); do \
	  install -m 755 $(BUILD)/lib$$name$(SO) "$(DESTDIR)$(LIBDIR)/" && \
	  ln -sf lib$$name$(SO) "$(DESTDIR)$(LIBDIR)/lib$$name.so" && \
	  printf '%s\n' 'libdir=$(LIBDIR)' '' "Name: lib$$name" "Description: $$name.h as a shared library, for other languages" \
	    "Version: $$($(VERSION) $$name.h)" "Requires: $$name" 'Cflags: -DFLAKE_SHARED -DFLAKE_API=' \
	    "Libs: -L\$${libdir} -l$$name" > "$(DESTDIR)$(LIBDIR)/pkgconfig/lib$$name.pc" && \
	  install -m 755 $(BUILD)/$$name "$(ROOT)/bin/" && \
	  install -m 644 $(BUILD)/$$name.1 "$(ROOT)/share/man/man1/" && \
	  install -m 644 $(BUILD)/$$name.h.3 "$(ROOT)/share/man/man3/" || exit 1; \
	done
	install -m 644 $(BUILD)/flake_etcd.h.3 "$(ROOT)/share/man/man3/"

uninstall: ## removes what install has installed
	for name in $(TOOLS); do \
	  rm -f "$(ROOT)/include/$$name.h" "$(ROOT)/bin/$$name" "$(ROOT)/share/man/man1/$$name.1" \
	    "$(ROOT)/share/man/man3/$$name.h.3" "$(ROOT)/share/pkgconfig/$$name.pc" \
	    "$(DESTDIR)$(LIBDIR)/lib$$name.so" "$(DESTDIR)$(LIBDIR)/lib$$name$(SO)" "$(DESTDIR)$(LIBDIR)/pkgconfig/lib$$name.pc" && \
	  rm -rf "$(ROOT)/share/cmake/$$name" || exit 1; \
	done
	rm -f "$(ROOT)/include/flake_etcd.h" "$(ROOT)/share/pkgconfig/flake_etcd.pc" "$(ROOT)/share/man/man3/flake_etcd.h.3"

include tests/tiers.mk
include bench/bench.mk
include tests/server/server.mk
include tests/databases/databases.mk
include tests/hosts/hosts.mk

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22
	@echo 'make WERROR= TARGET: compiler warnings are not errors'

clean: ## removes the build directory
	rm -rf $(BUILD)

include tests/etcd/etcd.mk
