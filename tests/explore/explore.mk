# SPDX-License-Identifier: MIT

.PHONY: explore explore-orders

## explore, explore-orders: every interleaving; every memory order weakened (SCENARIOS=...)
explore: $(BUILD)/explore_engine
	$(BUILD)/explore_engine $(SCENARIOS)

explore-orders: $(BUILD)/explore_orders
	$(BUILD)/explore_orders $(SCENARIOS)

$(BUILD)/explore_%: tests/explore/explore_%.c $(wildcard tests/explore/*.h) $(HEADERS) $(BUILD)/flags
	$(CC) $(FLAGS) -I. $< -o $@ $(LDLIBS)
