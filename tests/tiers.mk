# SPDX-License-Identifier: MIT
#
# The steps of `make check` and `make nightly` are make targets, run in parallel on all cores. The output of a
# step is in BUILD/steps; if the step fails, its end is printed.

# Target and variables of steps that are not named after their target.
step_programs-O2     = test CFLAGS=-O2 BUILD=$(BUILD)/O2
step_scripts         = test TESTS= PROGRAMS= BUILD=$(BUILD)/scripts \
	SCRIPTS="$(patsubst %,tests/%.sh,tools examples modules library campaign install recipes)"
step_builds          = test TESTS= PROGRAMS= BUILD=$(BUILD)/builds \
	SCRIPTS="$(patsubst %,tests/%.sh,builds tongues optouts)"
step_mutants-changed = mutants CHANGED=HEAD~1 SAMPLE=20
step_mutants-tenth   = mutants PART=$(SLICE)/10 MINUTES=5
step_mutants         = mutants MINUTES=45
step_soak            = soak IDS=200000000
step_fuzz            = fuzz SECONDS=60
step_test-databases  = test-databases IDS=100000

CHECK = mutants-changed scripts sanitize-asan-gcc programs-O2 explore-orders fuzz-replay bench-guard everything models

NIGHTLY_0 = explore bench-smoke
NIGHTLY_1 = cross-s390x cross-windows
NIGHTLY_2 = cross-aarch64 cross-i686 cross-cortex-a9 cross-cortex-m4 cross-wasi
NIGHTLY_3 = cross-armhf cross-musl
NIGHTLY_4 = cross-powerpc test-hosts test-databases test-fresh
NIGHTLY_5 = sanitize-tsan-gcc sanitize-asan-clang
NIGHTLY_6 = sanitize-tsan-clang test-server builds
NIGHTLY_7 = fuzz test-etcd
NIGHTLY_8 = sanitize-etcd soak attack
NIGHTLY_9 = matrix
SLICES    = 0 1 2 3 4 5 6 7 8 9
NIGHTLY   = $(if $(SLICE),mutants-tenth $(NIGHTLY_$(SLICE)),mutants $(foreach slice,$(SLICES),$(NIGHTLY_$(slice))))

STEPS = $(BUILD)/steps
check: ## what every commit must pass, in ten minutes: -O2, sanitizers, examples, tools, memory orders, mutants
	@$(MAKE) --no-print-directory -s -k $(PARALLEL) $(CHECK:%=$(STEPS)/%.out) || :
	@tests/run.sh --sum $(CHECK:%=$(STEPS)/%.out)
nightly: ## the rest, in 100 minutes, or a tenth of it with SLICE=0 to 9: machines, explorer, 45 minutes of mutants, fuzzers
	@$(MAKE) --no-print-directory -s -k $(PARALLEL) $(NIGHTLY:%=$(STEPS)/%.out) || :
	@tests/run.sh --sum $(NIGHTLY:%=$(STEPS)/%.out)

# With -n make still runs recipe lines that call make: a step then prints its commands and has no result.
IS_DRY = $(findstring n,$(firstword -$(MAKEFLAGS)))
$(STEPS)/%.out: FORCE
	@$(if $(IS_DRY),,tests/run.sh --step $@) $(MAKE) --no-print-directory $(or $(step_$*),$*)

evidence: ## tests/EVIDENCE.md, from the steps of the last `make check` and `make nightly`
	tests/run.sh --table $(STEPS)/*.out > $(BUILD)/evidence
	sed -i -e '/^| step/,$$d' tests/EVIDENCE.md && cat $(BUILD)/evidence >> tests/EVIDENCE.md
.PHONY: check nightly evidence
