# SPDX-License-Identifier: MIT
#
# IDs in databases. Debian's `sqlite3` and `postgresql`; what is not installed is listed as skipped.

.PHONY: test-databases

$(BUILD)/databases_%: tests/databases/%.c tests/support/support.h tests/support/check.h $(HEADERS) $(BUILD)/flags
	$(CC) $(FLAGS) -I. -Itests/support $< -o $@ $(LDLIBS)

test-databases: $(BUILD)/databases_ids ## IDS=1000000 IDs in SQLite and PostgreSQL as bigint, bytes and uuid
	@BUILD=$(BUILD) $(if $(filter command environment,$(origin IDS)),IDS=$(IDS)) tests/databases/databases.sh
