# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Sourced by scripts whose tests are commands: `judge` counts them, and `close_with_counts` prints the runner's last
# line.
passed=0 failed=0
judge() { # NAME COMMAND...
    local name=$1
    shift
    if "$@"; then
        echo "ok $name"
        passed=$((passed + 1))
    else
        echo "FAIL $name"
        failed=$((failed + 1))
        return 1
    fi
}
close_with_counts() {
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
    exit
}
