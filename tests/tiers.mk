# SPDX-License-Identifier: MIT
#
# The steps of `make check` and `make nightly` are make targets, run in parallel on all cores. The output of a
# step is in BUILD/steps; if the step fails, its end is printed.

# Target and variables of steps that are not named after their target.
step_programs-O2     = test CFLAGS=-O2 BUILD=$(BUILD)/O2
step_scripts         = test TESTS= PROGRAMS= BUILD=$(BUILD)/scripts \
	SCRIPTS="$(patsubst %,tests/scripts/%.sh,tools examples modules library campaign install recipes)"
step_builds          = test TESTS= PROGRAMS= BUILD=$(BUILD)/builds \
	SCRIPTS="$(patsubst %,tests/scripts/%.sh,builds languages optouts)"
step_mutants-changed = mutants CHANGED=HEAD~1 SAMPLE=20
step_mutants-tenth   = mutants PART=$(firstword $(SLICE))/10 MINUTES=5
step_mutants         = mutants MINUTES=45
step_soak            = soak IDS=200000000
step_attack          = attack IDS=1000000000
step_fuzz            = fuzz SECONDS=60
step_test-databases  = test-databases IDS=100000
step_explore-0       = explore SCENARIOS=--part=0/4
step_explore-1       = explore SCENARIOS=--part=1/4
step_explore-2       = explore SCENARIOS=--part=2/4
step_explore-3       = explore SCENARIOS=--part=3/4

# Each step of `make nightly` builds its programs in `make check`, too, and runs them for a few seconds.
step_smoke-explore   = explore SCENARIOS=--states=200000
step_smoke-soak      = soak IDS=1000000
step_smoke-attack    = attack KILLS=1000
step_smoke-fuzz      = fuzz SECONDS=4
step_smoke-cross     = cross FEW="test_engine test_directory_format test_text"
step_smoke-tsan      = sanitize-tsan-gcc sanitize-tsan-clang THREADED="test_ring test_directory_ends"
step_smoke-asan      = sanitize-asan-clang TESTS=test_fixed_text PROGRAMS=two_units
step_smoke-hosts     = test-hosts
step_smoke-databases = test-databases IDS=1000
step_smoke-server    = test-server MODES=lanes DURATION=1 BRIEF=1 RATE=1000
step_smoke-etcd      = test-etcd NAMES="json_is_read_strictly a_claim_is_a_leased_key_and_a_horizon"
step_smoke-etcd-sanitized = sanitize-etcd ETCD_SANITIZED=json_is_read_strictly
step_smoke-fresh     = test-fresh FRESH_TESTS=test_engine
step_smoke-matrix    = matrix C_STANDARDS=c11 CXX_STANDARDS=c++17 OPTIMISE=2
SMOKE = explore fuzz cross hosts etcd etcd-sanitized server tsan asan matrix fresh databases soak attack

CHECK = mutants-changed scripts sanitize-asan-gcc programs-O2 explore-orders fuzz-replay bench-guard everything format-check models \
	builds bench-smoke $(SMOKE:%=smoke-%)

# The steps of a slice together take about as long as those of any other.
NIGHTLY_0 = explore-0 cross-windows
NIGHTLY_1 = cross-s390x
NIGHTLY_2 = cross-aarch64 cross-i686 cross-cortex-a9 cross-cortex-m4 cross-wasi
NIGHTLY_3 = cross-armhf cross-musl
NIGHTLY_4 = cross-powerpc test-hosts test-databases test-fresh
NIGHTLY_5 = explore-1 sanitize-asan-clang
NIGHTLY_6 = explore-2 sanitize-tsan-gcc sanitize-tsan-clang test-server
NIGHTLY_7 = fuzz test-etcd
NIGHTLY_8 = explore-3 sanitize-etcd soak attack
NIGHTLY_9 = matrix
SLICES    = 0 1 2 3 4 5 6 7 8 9
NIGHTLY   = $(if $(SLICE),mutants-tenth,mutants) $(foreach slice,$(or $(SLICE),$(SLICES)),$(NIGHTLY_$(slice)))

STEPS = $(BUILD)/steps
check: ## what every commit must pass, in ten minutes
	@$(MAKE) --no-print-directory -s -k $(PARALLEL) $(CHECK:%=$(STEPS)/%.out) || :
	@tests/scripts/run.sh --sum $(CHECK:%=$(STEPS)/%.out)
nightly: ## the rest, in 100 minutes, or tenths of it with SLICE="0 3 7"
	@$(MAKE) --no-print-directory -s -k $(PARALLEL) $(NIGHTLY:%=$(STEPS)/%.out) || :
	@tests/scripts/run.sh --sum $(NIGHTLY:%=$(STEPS)/%.out)

# With -n make still runs recipe lines that call make: a step then prints its commands and has no result.
IS_DRY = $(findstring n,$(firstword -$(MAKEFLAGS)))
$(STEPS)/%.out: FORCE
	@$(if $(IS_DRY),,tests/scripts/run.sh --step $@) $(MAKE) --no-print-directory $(or $(step_$*),$*)

evidence:
	tests/scripts/run.sh --table $(STEPS)/*.out > $(BUILD)/evidence
	sed -i -e '/^| step/,$$d' tests/EVIDENCE.md && cat $(BUILD)/evidence >> tests/EVIDENCE.md
.PHONY: check nightly evidence
