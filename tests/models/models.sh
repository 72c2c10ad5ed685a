#!/bin/sh
# SPDX-License-Identifier: MIT
#
# models.sh DIR RUNS COMPILER FLAGS...   compiles the models as the checker does, searches the result
# for what the checker does not support, and runs it once with real threads (checker.sh checks it).
# Models for no checker run with real threads, RUNS times; with -DREACH they must fail.
export LC_ALL=C
dir=$1 runs=$2
shift 2
passed=0 failed=0
mkdir -p "$dir"
awk -f tests/models/claim.awk flake.h > "$dir/claim.h"
say() {
    echo "$1 $2"
    if [ "$1" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# The functions that the checker supports.
known='llvm\.(lifetime\.(start|end)|mem(set|cpy))\.[a-z0-9.]*|pthread_(create|join|exit|self)|__assert_fail'

# Nor does it support a memset of some of a struct's fields, which clang makes of two stores.
compiles() { # NAME: for a checker
    clang -std=c11 -O1 -mllvm -bonus-inst-threshold=0 -I. -I"$dir" -S -emit-llvm "tests/models/$1.c" -o "$dir/$1.ll" || return
    grep -E '^declare|^@.* external | asm ' "$dir/$1.ll" | grep -vE "^declare .*@($known)\(" && return 1
    grep -E 'call .*@llvm\.mem.* bitcast \([a-z0-9]+\*+ getelementptr' "$dir/$1.ll" && return 1
    grep -E '= freeze |@llvm\.[us](min|max)' "$dir/$1.ll" && return 1
    clang -w -pthread "$dir/$1.ll" -o "$dir/$1" && timeout 20 "$dir/$1"
}

for model in tests/models/*.c; do
    name=$(basename "$model" .c)
    if grep -q '^ \* Weakened: ' "$model"; then
        if ! command -v clang > /dev/null; then echo "SKIPPED $name: there is no clang"
        elif compiles "$name"; then say ok "$name compiles for a checker, and holds once"
        else say FAIL "$name does not compile for a checker, needs what it does not know, or does not hold"; fi
        continue
    fi
    if "$@" -DRUNS="$runs" "$model" -o "$dir/$name" && timeout 120 "$dir/$name"; then
        say ok "$name holds $runs times"
    else say FAIL "$name"; fi
    if "$@" -DRUNS=$((runs * 100)) -DREACH "$model" -o "$dir/$name-reach" &&
        ! timeout 120 "$dir/$name-reach" 2> "$dir/$name.txt" && grep -q "Assertion" "$dir/$name.txt"; then
        say ok "$name gets to what it is about"
    else say FAIL "$name never gets to what it is about"; fi
done
# The page counts what checker.sh checks: two runs of each model, and one for each label.
checks=$(awk '/^ \* Weakened: / { n += 2 + ($3 == "none" ? 0 : NF - 2) } END { print n }' tests/models/*.c)
if grep -qw "These are $checks checks" tests/models/README.md; then say ok "README.md counts $checks checks"
else say FAIL "README.md does not say that these are $checks checks"; fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
