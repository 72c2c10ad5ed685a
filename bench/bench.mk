# SPDX-License-Identifier: MIT
# What `make bench...` does. Needs libbenchmark-dev; the rest of the library does not.

MIN_TIME     ?= 0.02# seconds that each row is timed for, in each repetition
REPETITIONS  ?= 3
FILTER       ?= .
BENCH         = $(BUILD)/bench
BENCH_CFLAGS ?= -O2 -g
# Where the headers under test lie.
BENCH_INCLUDE ?= .

hash := \#
has_header = $(shell echo '$(hash)include <$(1)>' | $(CXX) -E -x c++ - >/dev/null 2>&1 && echo yes)
BENCH_UUID = $(call has_header,uuid/uuid.h)
BENCH_DEFINES = $(if $(BENCH_UUID),-DHAS_LIBUUID) -DBENCH_FLAGS='"$(BENCH_CFLAGS)"'
BENCH_LIBS = -lbenchmark $(if $(BENCH_UUID),-luuid)
BENCH_RUN = BENCH_SECONDS=$(MIN_TIME) $(BENCH)/bench --benchmark_filter='$(FILTER)' \
	--benchmark_repetitions=$(REPETITIONS) --benchmark_enable_random_interleaving=true

.PHONY: bench bench-smoke bench-report bench-guard bench-guard-update bench-needs
bench-report: REPETITIONS = 9

bench-needs:
	@[ -n '$(call has_header,benchmark/benchmark.h)' ] || \
	  { echo "make bench needs Google Benchmark: apt-get install libbenchmark-dev" >&2; exit 1; }

$(BENCH)/flags: FORCE
	@mkdir -p $(BENCH)
	@echo "$(CC) $(CXX) $(BENCH_CFLAGS) $(BENCH_UUID) $(BENCH_INCLUDE)" | cmp -s - $@ || \
	  echo "$(CC) $(CXX) $(BENCH_CFLAGS) $(BENCH_UUID) $(BENCH_INCLUDE)" > $@

BENCH_HEADERS = $(wildcard bench/*.h) $(HEADERS:%=$(BENCH_INCLUDE)/%)
$(BENCH)/%.o: bench/%.c $(BENCH_HEADERS) $(BENCH)/flags
	$(CC) -std=c11 $(WARN) $(BENCH_CFLAGS) -pthread $(BENCH_DEFINES) -I$(BENCH_INCLUDE) -c $< -o $@

$(BENCH)/%.o: bench/%.cc $(wildcard bench/*.h) $(BENCH)/flags | bench-needs
	$(CXX) -std=c++14 $(WARN) $(BENCH_CFLAGS) -pthread $(BENCH_DEFINES) -c $< -o $@

$(BENCH)/bench: $(BENCH)/bench.o $(BENCH)/peers.o $(BENCH)/shim.o $(BENCH)/unique.o
	$(CXX) $^ -pthread -o $@ $(BENCH_LIBS)

bench: $(BENCH)/bench ## every figure on the terminal: MIN_TIME, REPETITIONS, FILTER
	$(BENCH_RUN) --benchmark_display_aggregates_only=true > $(BENCH)/bench.txt || \
	  { grep ERROR $(BENCH)/bench.txt; exit 1; }
	@grep -E '^Benchmark|_median' $(BENCH)/bench.txt
	bench/peers/run.sh $(BENCH) 1 100000
	@cat $(BENCH)/go.txt $(BENCH)/npm.txt

bench-smoke: $(BENCH)/bench ## every row of the benchmark for a moment: are the ids unique?
	BENCH_SECONDS=0.0001 BENCH_SATURATION_SECONDS=0.02 $(BENCH)/bench \
	  --benchmark_filter='$(FILTER)' > $(BENCH)/smoke.txt
	bench/peers/run.sh $(BENCH) 1 10000
	@echo "$$(grep -c manual_time $(BENCH)/smoke.txt) rows, each with unique ids"

$(BENCH)/guard: bench/guard.c $(BENCH_HEADERS) $(BENCH)/flags
	$(CC) -std=c11 $(WARN) -O2 -g -DMACHINE='"$(shell uname -m)"' -I$(BENCH_INCLUDE) $< -o $@

bench-report: $(BENCH)/bench $(BENCH)/guard ## repeats it all, and writes bench/REPORT.md and README.md's table
	@command -v python3 >/dev/null || { echo "make bench-report needs python3" >&2; exit 1; }
	$(BENCH_RUN) --benchmark_out=$(BENCH)/results.json --benchmark_out_format=json \
	  > $(BENCH)/results.txt || { grep ERROR $(BENCH)/results.txt; exit 1; }
	bench/peers/run.sh $(BENCH) 5 200000
	rm -f $(BENCH)/guard.counts
	-CC="$(CC)" CXX="$(CXX)" INCLUDE="$(BENCH_INCLUDE)" bench/guard.sh $(BENCH)/guard bench/guard.txt && $(BENCH)/guard --key > $(BENCH)/guard.key
	python3 bench/report.py $(BENCH)

bench-guard: $(BENCH)/guard ## instructions of the hot paths, lines of an include: fails when one has grown by 5 %, names one that shrank (valgrind)
	CC="$(CC)" CXX="$(CXX)" INCLUDE="$(BENCH_INCLUDE)" bench/guard.sh $(BENCH)/guard bench/guard.txt

bench-guard-update: $(BENCH)/guard ## writes these counts to bench/guard.txt, for this compiler
	CC="$(CC)" CXX="$(CXX)" INCLUDE="$(BENCH_INCLUDE)" bench/guard.sh $(BENCH)/guard bench/guard.txt --update
