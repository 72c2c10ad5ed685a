# SPDX-License-Identifier: MIT

.PHONY: models models-checked

## models, models-checked: models of the memory orders, run with threads; under CHECKER=genmc
models: $(BUILD)/flags
	tests/models/models.sh $(BUILD)/models 3000 $(CC) $(FLAGS) -I.

CHECKER ?= genmc
models-checked:
	tests/models/checker.sh $(BUILD)/models-checked $(CHECKER) $(MODELS)
