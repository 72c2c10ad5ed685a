# SPDX-License-Identifier: MIT

.PHONY: fuzz fuzz-replay campaign

SECONDS ?= 60
SEED ?= 0
FUZZERS  = flake sno text directory claims
FUZZ_FLAGS = -std=c11 $(WARN) -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	-DFUZZ_LIBFUZZER -I. -Itests/support -Iextras/etcd
FUZZ_CURL = $(if $(filter claims,$*),-lcurl)
# The fuzzer of claims is skipped without libcurl.
FUZZ_SKIPPED = if [ $* = claims ] && ! $(CC) -E -x c -include curl/curl.h /dev/null >/dev/null 2>&1; then \
	  echo "SKIPPED fuzz_$*: no curl/curl.h (package libcurl4-openssl-dev)"; exit 0; fi;

# One after the other, or with make -j2 two at a time; each prints its statistics at the end.
fuzz: $(FUZZERS:%=fuzz-%) ## each fuzzer for SECONDS=60 (clang), SEED=0; with -j2 two at a time
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

HOURS    ?= 1
CAMPAIGN ?= --config="node=1 dir=none"
campaign: $(BUILD)/flags ## HOURS=1 of search for a duplicate (clang) with CAMPAIGN=--config='...'
	@mkdir -p $(BUILD)/fuzz
	clang -std=c11 $(WARN) -O2 -fsanitize=fuzzer -DFUZZ_LIBFUZZER -I. -Itests/support fuzz/campaign.c -o $(BUILD)/fuzz/campaign
	$(BUILD)/fuzz/campaign $(CAMPAIGN) -max_total_time=$$(echo '$(HOURS)' | awk '{ printf "%d", $$1 * 3600 }') \
	  -artifact_prefix=$(BUILD)/fuzz/campaign-
