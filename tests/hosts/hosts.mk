# SPDX-License-Identifier: MIT
#
# Ids in programs that others wrote: PostgreSQL, SQLite, Redis, nginx; and claims from a PostgreSQL server. What is
# not installed is named and skipped.

.PHONY: test-hosts

test-hosts: ## the modules in PostgreSQL, SQLite, Redis and nginx; claims from PostgreSQL
	@code=0; for host in postgresql sqlite redis nginx claims; do \
	  COMPILE="$(CC) $(FLAGS) -I." COMPILE_CXX="$(CXX) -std=c++11 $(WARN) $(CFLAGS) -pthread -I." tests/hosts/$$host.sh || code=1; done; exit $$code
