# SPDX-License-Identifier: MIT

.PHONY: soak attack

IDS ?= 1000000000
soak: $(BUILD)/soak ## unique IDs: IDS=1000000000 of all generators, or HOURS=8
	$(BUILD)/soak $(if $(filter command environment,$(origin HOURS)),--hours=$(HOURS),--ids=$(IDS))

KILLS ?= 10000
attack: $(BUILD)/attack ## KILLS=10000 on a failing disk, or until IDS=1000000000 IDs: no duplicate
	$(BUILD)/attack --kills=$(KILLS) $(if $(filter command environment,$(origin IDS)),--ids=$(IDS))
