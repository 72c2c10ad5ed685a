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

$(ETCD_TESTS): $(BUILD)/etcd_%: tests/etcd/%.c $(wildcard tests/etcd/*.h tests/support/*.h fuzz/*.h) fuzz/fuzz_claims.c $(HEADERS) extras/etcd/flake_etcd.h $(ETCD_READY)
	$(CC) $(FLAGS) -I. -Itests/support -Iextras/etcd $< -o $@ $(LDLIBS) -lcurl

$(BUILD)/etcd_example: examples/etcd.c $(HEADERS) extras/etcd/flake_etcd.h $(BUILD)/flags
	if command -v $(firstword $(CXX)) >/dev/null; then \
	  echo '#include "flake_etcd.h"' | $(CC) $(FLAGS) -I. -Iextras/etcd -DFLAKE_SHARED -DFLAKE_IMPLEMENTATION -x c -c - -o $@.o && \
	  $(CXX) -std=c++11 $(WARN) $(CFLAGS) -pthread -I. -Iextras/etcd -DFLAKE_SHARED -x c++ $< -x none $@.o -o $@-cxx $(LDLIBS) -lcurl; fi
	$(CC) $(FLAGS) -I. -Iextras/etcd $< -o $@ $(LDLIBS) -lcurl

test-etcd: $(ETCD_TESTS) $(BUILD)/etcd_example ## claims of node numbers, with etcd members that are killed and frozen
	tests/etcd/etcd.sh run $(abspath $(BUILD))/etcd $(abspath $(BUILD)/etcd_example $(ETCD_TESTS)) -- $(NAMES)

# The tests without members, and those with members that reach every state of the claim's thread; the others mostly wait.
ETCD_SANITIZED = a_claim_is_a_leased_key_and_a_horizon of_many_claims_at_once_one_succeeds \
	a_holder_restores_its_key_and_stops_for_another_writer two_processes_never_hold_one_number \
	$(shell sed -n 's/^TEST(\([a-z0-9_]*\)).*/\1/p' $$(grep -L cluster_main tests/etcd/test_*.c))
sanitize-etcd:
	for kind in thread address,undefined; do \
	  $(MAKE) test-etcd BUILD=$(BUILD)/etcd-$${kind%%,*} NAMES="$(ETCD_SANITIZED)" \
	    CFLAGS="-O1 -g -fsanitize=$$kind -fno-sanitize-recover=all -DTEST_SMALL" || exit 1; \
	done
.PHONY: test-etcd sanitize-etcd
