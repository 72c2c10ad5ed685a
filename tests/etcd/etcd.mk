# SPDX-License-Identifier: MIT

$(BUILD)/test_etcd: tests/etcd/test_etcd.c $(wildcard tests/*.h) $(HEADERS) $(BUILD)/flags
	@command -v etcd >/dev/null || { echo "test-etcd needs etcd: package etcd-server"; exit 1; }
	@echo '#include <curl/curl.h>' | $(CC) -x c -fsyntax-only - 2>/dev/null || \
	  { echo "test-etcd needs libcurl: package libcurl4-openssl-dev"; exit 1; }
	@command -v openssl >/dev/null || { echo "test-etcd needs certificates: package openssl"; exit 1; }
	echo '#include "flake.h"' | $(CC) -std=c11 $(WARN) -DFLAKE_ETCD -I. -x c -fsyntax-only -
	if command -v $(firstword $(CXX)) >/dev/null; then \
	  echo '#include "flake.h"' | $(CXX) -std=c++11 $(WARN) -DFLAKE_ETCD -I. -x c++ -fsyntax-only -; fi
	$(CC) $(FLAGS) -I. -Itests $< -o $@ $(LDLIBS) -lcurl

$(BUILD)/etcd_example: tests/etcd/example.c $(HEADERS) $(BUILD)/flags
	if command -v $(firstword $(CXX)) >/dev/null; then \
	  $(CXX) -std=c++11 $(WARN) $(CFLAGS) -pthread -I. -x c++ $< -o $@-cxx $(LDLIBS) -lcurl; fi
	$(CC) $(FLAGS) -I. $< -o $@ $(LDLIBS) -lcurl

test-etcd: $(BUILD)/test_etcd $(BUILD)/etcd_example ## claims on node numbers, against etcd members that are killed and frozen
	tests/etcd/etcd.sh run $(abspath $(BUILD))/etcd $(abspath $(BUILD))/test_etcd $(abspath $(BUILD))/etcd_example $(NAMES)
.PHONY: test-etcd
