# SPDX-License-Identifier: MIT

### Test what is around the headers

ETCD_TESTS = $(patsubst tests/etcd/%.c,$(BUILD)/etcd_%,$(wildcard tests/etcd/test_*.c))
ETCD_READY = $(BUILD)/etcd_ready
$(ETCD_READY): $(HEADERS) extras/etcd/flake_etcd.h $(BUILD)/flags
	@command -v etcd >/dev/null || { echo "test-etcd needs etcd: package etcd-server"; exit 1; }
	@echo '#include <curl/curl.h>' | $(CC) -x c -fsyntax-only - 2>/dev/null || \
	  { echo "test-etcd needs libcurl: package libcurl4-openssl-dev"; exit 1; }
	@command -v openssl >/dev/null || { echo "test-etcd needs certificates: package openssl"; exit 1; }
	echo '#include "flake_etcd.h"' | $(CC) -std=c11 $(WARN) -I. -Iextras/etcd -x c -fsyntax-only -
	if command -v $(firstword $(CXX)) >/dev/null; then \
	  echo '#include "flake_etcd.h"' | $(CXX) -std=c++11 $(WARN) -I. -Iextras/etcd -x c++ -fsyntax-only -; fi
	@touch $@

$(ETCD_TESTS): $(BUILD)/etcd_%: tests/etcd/%.c $(wildcard tests/etcd/*.h tests/support/*.h) $(HEADERS) extras/etcd/flake_etcd.h $(ETCD_READY)
	$(CC) $(FLAGS) -I. -Itests/support -Iextras/etcd $< -o $@ $(LDLIBS) -lcurl

$(BUILD)/etcd_example: examples/etcd.c $(HEADERS) extras/etcd/flake_etcd.h $(BUILD)/flags
	if command -v $(firstword $(CXX)) >/dev/null; then \
	  echo '#include "flake_etcd.h"' | $(CC) $(FLAGS) -I. -Iextras/etcd -DFLAKE_SHARED -DFLAKE_IMPLEMENTATION -x c -c - -o $@.o && \
	  $(CXX) -std=c++11 $(WARN) $(CFLAGS) -pthread -I. -Iextras/etcd -DFLAKE_SHARED -x c++ $< -x none $@.o -o $@-cxx $(LDLIBS) -lcurl; fi
	$(CC) $(FLAGS) -I. -Iextras/etcd $< -o $@ $(LDLIBS) -lcurl

test-etcd: $(ETCD_TESTS) $(BUILD)/etcd_example ## claims of node numbers, with etcd members that are killed and frozen
	tests/etcd/etcd.sh run $(abspath $(BUILD))/etcd $(abspath $(BUILD)/etcd_example $(ETCD_TESTS)) -- $(NAMES)

# The tests that reach every state of the claim's thread, the gate and the parsers; the others mostly wait.
ETCD_SANITIZED = json_is_read_strictly members_are_found base64_is_read_strictly \
	clusters_are_read_strictly numbers_of_keys_are_read_strictly horizons_are_read_strictly \
	answers_are_taken_at_their_word_only the_gate_lets_nothing_past_the_horizon nobody_answers \
	a_claim_is_a_leased_key_and_a_horizon \
	of_many_who_claim_at_once_one_gets_it what_others_do_to_a_holders_keys \
	a_claim_whose_answer_is_lost_is_one_claim \
	two_never_hold_one_number what_is_not_given_is_usual \
	the_number_that_can_be_had_first_is_chosen $(shell sed -n 's/^TEST(\([a-z_]*\)).*/\1/p' $(addprefix tests/etcd/test_,asked.c kept.c refusals.c))
sanitize-etcd:
	for kind in thread address,undefined; do \
	  $(MAKE) test-etcd BUILD=$(BUILD)/etcd-$${kind%%,*} NAMES="$(ETCD_SANITIZED)" \
	    CFLAGS="-O1 -g -fsanitize=$$kind -fno-sanitize-recover=all -DTEST_SMALL" || exit 1; \
	done
.PHONY: test-etcd sanitize-etcd
