# SPDX-License-Identifier: MIT
#
# A server that stamps its requests with IDs, its test and its benchmark. Debian's `wrk` drives it.

.PHONY: server test-server bench-server

server: $(BUILD)/server ## an HTTP server that stamps each request with an ID

$(BUILD)/server: examples/server/server.c examples/server/generators.h examples/server/head.h $(HEADERS) $(BUILD)/flags
	$(CC) $(FLAGS) -I. $< -o $@ $(LDLIBS)

$(BUILD)/server_%: tests/server/%.c tests/server/client.h $(wildcard tests/support/*.h) $(HEADERS) $(BUILD)/flags
	$(CC) $(FLAGS) -I. -Itests/support $< -o $@ $(LDLIBS)

test-server: $(BUILD)/server $(BUILD)/server_requests $(BUILD)/server_limits ## the server under wrk: no duplicate ID, none lost (DURATION=10)
	@BUILD=$(BUILD) tests/server/server.sh

bench-server: $(BUILD)/server ## its throughput with IDs, divided by that without (ROUNDS=9)
	@BUILD=$(BUILD) tests/server/bench.sh
