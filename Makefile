# SPDX-License-Identifier: MIT
#
# Settings, and the list of parts: what builds and tests a directory is in the .mk file there. `make help` lists the
# targets.

CC      ?= cc
CXX     ?= c++
CFLAGS  ?= -O2 -g
LDLIBS  ?=
RUN_ENV ?=#          # what runs a test program, such as `qemu-aarch64 -L /usr/aarch64-linux-gnu`
BUILD   ?= build
STD     ?= c11

# The headers hide their warnings from programs that include them; this project shows all.
SHOW     = -DFLAKE_SHOW_WARNINGS
WERROR  ?= -Werror
WARN     = $(SHOW) -pedantic -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow $(WERROR)
FLAGS    = -std=$(STD) $(WARN) $(CFLAGS) -pthread

HEADERS  = flake.h sno.h
TOOLS    = flake sno

CORES   := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
JOBS    ?= $(CORES)
# All cores, unless make was called with -j or JOBS is set.
PARALLEL = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))

.PHONY: all help clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:

### Build and install
# With -s, for scripts, it prints nothing.
IS_SILENT = $(findstring s,$(firstword -$(MAKEFLAGS)))
## all, tools: builds the command-line tools; all prints three IDs, too
all: tools
	@$(if $(IS_SILENT),:,BUILD="$(BUILD)" RUN_ENV="$(RUN_ENV)" PREFIX="$(PREFIX)" tools/first_ids.sh)

# A file that changes with the flags; everything depends on it.
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	@echo '$(CC) $(CXX) $(FLAGS) $(LDLIBS)' | cmp -s - $@ || echo '$(CC) $(CXX) $(FLAGS) $(LDLIBS)' > $@

include tools/tools.mk
include extras/packaging/packaging.mk
include tests/unit/unit.mk
include tests/tiers.mk
include tests/scripts/scripts.mk
include tests/coverage/coverage.mk
include tests/mutants/mutants.mk
include tests/explore/explore.mk
include tests/models/models.mk
include tests/stress/stress.mk
include fuzz/fuzz.mk
include tests/etcd/etcd.mk
include tests/server/server.mk
include tests/databases/databases.mk
include tests/hosts/hosts.mk
include bench/bench.mk

# From all of these files: headings, lines for several targets, and targets with a comment.
help:
	@sed -n -e 's/^### //p' -e 's/^## \([a-z, -]*\): \(.*\)/  \1	\2/p' -e 's/^\([a-z-]*\):.*## \(.*\)/  \1	\2/p' $(MAKEFILE_LIST) | expand -t 26
	@echo 'make WERROR= TARGET: compiler warnings are not errors'

clean: ## removes the build directory
	rm -rf $(BUILD)
