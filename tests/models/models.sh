#!/bin/sh
# SPDX-License-Identifier: MIT
#
# models.sh DIR RUNS COMPILER FLAGS...   compiles the models into DIR and runs each RUNS times over
# with real threads; with -DREACH each must fail, sooner or
# later.
dir=$1 runs=$2
shift 2
passed=0 failed=0
mkdir -p "$dir"
say() {
    echo "$1 $2"
    if [ "$1" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
for model in tests/models/*.c; do
    name=$(basename "$model" .c)
    if "$@" -DRUNS="$runs" "$model" -o "$dir/$name" && timeout 120 "$dir/$name"; then
        say ok "$name holds $runs times"
    else say FAIL "$name"; fi
    if "$@" -DRUNS=$((runs * 100)) -DREACH "$model" -o "$dir/$name-reach" &&
        ! timeout 120 "$dir/$name-reach" 2> "$dir/$name.txt" && grep -q "Assertion" "$dir/$name.txt"; then
        say ok "$name gets to what it is about"
    else say FAIL "$name never gets to what it is about"; fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
