# SPDX-License-Identifier: MIT

.PHONY: mutants

mutants: ## edits of the headers that tests catch (CHANGED=HEAD SAMPLE=60 TABLE=only)
	python3 tests/mutants/mutants.py $(BUILD)
