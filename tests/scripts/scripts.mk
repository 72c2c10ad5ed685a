# SPDX-License-Identifier: MIT
#
# Scripts that are targets of their own; `make check` and `make nightly` run the others as tests.

.PHONY: matrix everything format format-check cross test-fresh

# Excluded from clang's -Weverything: padding, C90, and warnings about raw buffers, C in C++ and unused static
# functions.
CLANG_EVERYTHING = $(SHOW) -Weverything -Wno-padded -Wno-declaration-after-statement \
	-Wno-unknown-warning-option -Wno-unsafe-buffer-usage -Wno-unused-function -Wno-float-equal \
	-Wno-switch-default -Wno-used-but-marked-unused
CLANG_EVERYTHING_CXX = $(CLANG_EVERYTHING) -Wno-c++98-compat-pedantic -Wno-old-style-cast \
	-Wno-zero-as-null-pointer-constant -Wno-c++20-compat -Wno-missing-prototypes

## matrix, everything: no warning in every -std at -O0 to -O3; by clang's -Weverything
matrix:
	@WARN="$(WARN)" C_STANDARDS="$(C_STANDARDS)" CXX_STANDARDS="$(CXX_STANDARDS)" OPTIMISE="$(OPTIMISE)" tests/scripts/matrix.sh

everything: $(BUILD)/flags
	for h in $(HEADERS); do \
	  printf '#include "%s"\nint main(void) { return 0; }\n' $$h > $(BUILD)/everything.c; \
	  clang -std=c11 -I. $(CLANG_EVERYTHING) -Werror -fsyntax-only $(BUILD)/everything.c && \
	  clang++ -x c++ -std=c++17 -I. $(CLANG_EVERYTHING_CXX) -Werror -fsyntax-only $(BUILD)/everything.c || exit 1; \
	done

## format, format-check: the headers as clang-format 14 writes them
FORMATTED = $(HEADERS) extras/etcd/flake_etcd.h
format: # other versions write some lines otherwise
	clang-format-14 -i $(FORMATTED)

format-check:
	@command -v clang-format-14 > /dev/null || { echo "SKIPPED: needs clang-format-14"; exit 0; }; \
	for h in $(FORMATTED); do clang-format-14 $$h | diff -u $$h - || { echo "FAIL: $$h: make format"; exit 1; }; done

MACHINES = aarch64 s390x i686 armhf powerpc musl windows cortex-a9 cortex-m4 wasi
cross: $(MACHINES:%=cross-%) ## the tests on other machines, those of MACHINES that are installed
$(MACHINES:%=cross-%): cross-%: FORCE
	@MAKE="$(MAKE)" BUILD=$(BUILD) WARN="$(WARN)" FEW="$(FEW)" tests/scripts/cross.sh $*

test-fresh: ## the README's commands in an empty directory, or in the system FRESH=ROOT
	FRESH_TESTS=$(FRESH_TESTS) tests/scripts/fresh.sh $(FRESH)
