# SPDX-License-Identifier: MIT
#
# Ids in programs that others wrote: PostgreSQL, SQLite, Redis, nginx. What is not installed is named and
# skipped.

.PHONY: test-hosts

test-hosts: ## the modules in PostgreSQL, SQLite, Redis and nginx
	@code=0; for host in postgresql sqlite redis nginx; do \
	  COMPILE="$(CC) $(FLAGS) -I." tests/hosts/$$host.sh || code=1; done; exit $$code
