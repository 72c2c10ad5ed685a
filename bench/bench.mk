# SPDX-License-Identifier: MIT
# The targets of `make bench...`. They need libbenchmark-dev.

### Measure

MIN_TIME     ?= 0.02# seconds per row and repetition
REPETITIONS  ?= 3
FILTER       ?= .
RUNS         ?= 3# of a report; the one with the least noise counts
REPORT       ?= bench/REPORT.md
PEER_REPEATS ?= 5# of Go and npm peers, in each run of a report
PEER_IDS     ?= 200000
BENCH         = $(BUILD)/bench
BENCH_CFLAGS ?= -O2 -g
# The directory of the headers under test.
BENCH_INCLUDE ?= .

hash := \#
has_header = $(shell echo '$(hash)include <$(1)>' | $(CXX) $(BOOST:%=-isystem %) -E -x c++ - >/dev/null 2>&1 && echo yes)
BENCH_UUID = $(call has_header,uuid/uuid.h)
# A directory of checkouts, each named as its repository: bench/peers/run.sh lists them.
RIVALS ?=
rival    = $(if $(RIVALS),$(wildcard $(abspath $(RIVALS))/$(1)))
UUIDV7_H = $(call rival,uuidv7-h/uuidv7.h)
ULID_C   = $(call rival,ulid-c/ulid.c)
YITTER   = $(call rival,IdGenerator/C/source/idgen/*.c) $(call rival,IdGenerator/C/source/YitIdHelper.c)
BOOST    = $(call rival,uuid/include)
# The rest of Boost is a package; with AVX2, as the documentation of uuid_v4 builds it, and then Boost too.
UUID_V4  = $(if $(shell grep -m 1 -w avx2 /proc/cpuinfo),$(call rival,uuid_v4/uuid_v4.h))
rival_flags = $(if $(1),-isystem $(dir $(lastword $(1))) -DHAS_$(2))
BENCH_DEFINES = $(if $(BENCH_UUID),-DHAS_LIBUUID) $(if $(call has_header,boost/uuid/uuid_generators.hpp),-DHAS_BOOST) \
	$(if $(call has_header,boost/uuid/time_generator_v7.hpp),-DHAS_BOOST_V7) -DBENCH_FLAGS='"$(BENCH_CFLAGS)"' $(call rival_flags,$(UUIDV7_H),UUIDV7_H) \
	$(call rival_flags,$(ULID_C),ULID_C) $(call rival_flags,$(YITTER),YITTER) $(BOOST:%=-isystem %) \
	$(call rival_flags,$(UUID_V4),UUID_V4)
$(BENCH)/peers.o: BENCH_CFLAGS += $(if $(UUID_V4),-mavx2)
BENCH_LIBS = -lbenchmark $(if $(BENCH_UUID),-luuid)
BENCH_RIVALS = $(addprefix $(BENCH)/rival_,$(notdir $(patsubst %.c,%.o,$(ULID_C) $(YITTER))))
BENCH_ROWS = --benchmark_filter='$(FILTER)' --benchmark_repetitions=$(REPETITIONS) \
	--benchmark_enable_random_interleaving=true

## bench-smoke, bench-scale: each row once, IDs unique; 1, 2, 4 ... all cores
.PHONY: bench bench-smoke bench-scale bench-report bench-guard bench-guard-update bench-needs
bench-report: REPETITIONS = 9

bench-needs:
	@[ -n '$(call has_header,benchmark/benchmark.h)' ] || \
	  { echo "make bench needs Google Benchmark: apt-get install libbenchmark-dev" >&2; exit 1; }

$(BENCH)/flags: FORCE
	@mkdir -p $(BENCH)
	@echo "$(CC) $(CXX) $(BENCH_CFLAGS) $(BENCH_UUID) $(RIVALS) $(BENCH_INCLUDE)" | cmp -s - $@ || \
	  echo "$(CC) $(CXX) $(BENCH_CFLAGS) $(BENCH_UUID) $(RIVALS) $(BENCH_INCLUDE)" > $@

BENCH_HEADERS = $(wildcard bench/*.h) tests/support/id_runs.h tests/support/real_time.h $(HEADERS:%=$(BENCH_INCLUDE)/%)
$(BENCH)/%.o: bench/%.c $(BENCH_HEADERS) $(BENCH)/flags
	$(CC) -std=c11 $(WARN) $(BENCH_CFLAGS) -pthread $(BENCH_DEFINES) -I$(BENCH_INCLUDE) -c $< -o $@

$(BENCH)/bench.o: | bench-needs
$(BENCH)/%.o: bench/%.cc $(wildcard bench/*.h) $(BENCH)/flags
	$(CXX) -std=c++17 $(WARN) $(BENCH_CFLAGS) -pthread $(BENCH_DEFINES) -c $< -o $@

# Others' code, with its warnings.
vpath %.c $(sort $(dir $(ULID_C) $(YITTER)))
$(BENCH)/rival_%.o: %.c $(BENCH)/flags
	$(CC) -w $(BENCH_CFLAGS) -pthread -c $< -o $@

$(BENCH)/bench: $(BENCH)/bench.o $(BENCH)/peers.o $(BENCH)/shim.o $(BENCH)/new_unit.o $(BENCH_RIVALS)
	$(CXX) $^ -pthread -o $@ $(BENCH_LIBS)

# Without Google Benchmark, and static: it is to be copied to a machine with many cores.
$(BENCH)/scale: $(BENCH)/scale.o $(BENCH)/peers.o $(BENCH)/shim.o $(BENCH)/new_unit.o $(BENCH_RIVALS)
	$(CXX) -static $^ -pthread -o $@ $(if $(BENCH_UUID),-luuid)

bench-scale: $(BENCH)/scale # SCALE: its arguments
	$(BENCH)/scale $(SCALE)

bench: $(BENCH)/bench ## every figure on the terminal (MIN_TIME, REPETITIONS, FILTER)
	BENCH_SECONDS=$(MIN_TIME) bench/measure.sh $(BENCH)/bench $(BENCH) $(BENCH_ROWS) --benchmark_display_aggregates_only=true
	@grep -E '^Benchmark|_median' $(BENCH)/results.txt
	-bench/peers/run.sh $(BENCH) 1 100000
	@cat $(BENCH)/go.txt $(BENCH)/npm.txt

bench-smoke: $(BENCH)/bench $(BENCH)/scale
	BENCH_SECONDS=0.0001 BENCH_SATURATION_SECONDS=0.02 $(BENCH)/bench \
	  --benchmark_filter='$(FILTER)' > $(BENCH)/smoke.txt
	$(BENCH)/scale 0.0005 > $(BENCH)/scale.txt
	bench/peers/run.sh $(BENCH) 1 10000
	@echo "$$(grep manual_time $(BENCH)/smoke.txt | grep -vc 'duplicates=[1-9]') rows, each with unique IDs"
	@if command -v python3 >/dev/null; then python3 bench/report_test.py $(BENCH)/bench; \
	  else echo "skipped: the test of report.py (install python3)"; fi

# DWARF 4: valgrind cannot read the DWARF 5 of several units that some versions of clang write.
$(BENCH)/guard_%.o: bench/guard.c $(BENCH_HEADERS) $(BENCH)/flags
	$(CC) -std=c11 $(WARN) -O2 -gdwarf-4 -DPART=$(basename $*) -DWAY=$(patsubst .%,%,$(suffix $*)) -DMACHINE='"$(shell uname -m)"' -I$(BENCH_INCLUDE) -c $< -o $@

$(BENCH)/guard: $(foreach part,USUAL NEW_UNITS COARSE FAST,$(foreach way,0 1 2,$(BENCH)/guard_$(part).$(way).o)) $(BENCH)/guard_FULL.0.o $(BENCH)/guard_BATCHES.0.o
	$(CC) $^ -o $@

# A quick try: make bench-report RUNS=2 REPETITIONS=4 MIN_TIME=0.002 FILTER='^floor|^flake/next' PEER_REPEATS=1 \
#   PEER_IDS=10000 REPORT=/tmp/R.md
# With other generators: RIVALS=DIR; with newer packages of Go than Debian's: GO_PEERS=DIR in the environment.
bench-report: $(BENCH)/bench $(BENCH)/guard ## writes bench/REPORT.md from the run of RUNS=3 with the least noise
	@command -v python3 >/dev/null || { echo "make bench-report needs python3" >&2; exit 1; }
	rm -rf $(BENCH)/run[0-9]*
	i=0; while [ $$((i += 1)) -le $(RUNS) ]; do \
	  BENCH_SECONDS=$(MIN_TIME) bench/measure.sh $(BENCH)/bench $(BENCH)/run$$i $(BENCH_ROWS) || exit 1; \
	  bench/peers/run.sh $(BENCH)/run$$i $(PEER_REPEATS) $(PEER_IDS) $(BENCH); \
	done
	rm -f $(BENCH)/guard.counts
	-CC="$(CC)" CXX="$(CXX)" INCLUDE="$(BENCH_INCLUDE)" bench/guard.sh $(BENCH)/guard bench/guard.txt && $(BENCH)/guard --key > $(BENCH)/guard.key
	python3 bench/report.py $(BENCH) --report $(REPORT) $(if $(filter bench/REPORT.md,$(REPORT)),--readme README.md) \
	  $(if $(filter 1,$(FORCE)),--force)

bench-guard: $(BENCH)/guard ## instructions of the hot paths (valgrind); bench-guard-update writes them
	CC="$(CC)" CXX="$(CXX)" INCLUDE="$(BENCH_INCLUDE)" bench/guard.sh $(BENCH)/guard bench/guard.txt

bench-guard-update: $(BENCH)/guard
	CC="$(CC)" CXX="$(CXX)" INCLUDE="$(BENCH_INCLUDE)" bench/guard.sh $(BENCH)/guard bench/guard.txt --update
