# SPDX-License-Identifier: MIT

### Test harder

.PHONY: coverage

coverage: ## lines and branches that tests, replays and explorer do not execute
	python3 tests/coverage/coverage.py $(BUILD)
