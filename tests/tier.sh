#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tier.sh check           the steps of `make check`
# tier.sh nightly [K]     the steps of `make nightly`, or its slice K of 0 to 9
#
# Steps run side by side, one a core, each with one job. A step that measures time, or loads the machine by
# itself, runs alone, after the others. Each step's output is kept in BUILD/steps/NAME; a step that fails is
# shown. Prints a line a step and closes with "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 1
self=tests/tier.sh build=${BUILD:-build} make=${MAKE:-make}
export MAKEFLAGS= # the caller's -j is not the steps'

# slice (0 to 9; * is a tenth in each), alone or -, name, command with its longest steps first
steps() {
    case $1 in
    check) cat << 'END' ;;
* -     mutants-changed make mutants CHANGED=HEAD~1 SAMPLE=20
* -     explore-orders  make explore-orders
* -     sanitize-asan   make sanitize-asan-gcc
* -     programs        make test BUILD=build/O2 CFLAGS=-O2
* -     scripts         make test TESTS= PROGRAMS= SCRIPTS=scripts
* -     replay          make fuzz-replay
* -     everything      make everything
* -     guard           make bench-guard
END
    nightly) cat << 'END' ;;
END
    esac
}
