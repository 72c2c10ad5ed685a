#!/bin/sh
# SPDX-License-Identifier: MIT
#
# recipes.sh   compiles each program of examples strictly as C11 and as C++11 (a .cc as C++11), and runs it in an empty
# directory, with the environment that its first comment names.
: "${CC:=cc}" "${CXX:=c++}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 skipped=
fail() { # WHAT SAID
    printf 'FAIL %s\n' "$1"
    printf '%s\n' "$2" | head -20 | sed 's/^/     /'
    failed=$((failed + 1))
}
. tests/scripts/commands.sh
try() { # SOURCE LANGUAGE COMPILER STANDARD
    has "$3" || { skipped="$3"; return; }
    name="$(basename "$1") as $4"
    room=$(mktemp -d "$dir/XXXXXX")
    environment=$(sed -n 's/^ \* Environment: //p' "$1")
    # shellcheck disable=SC2086
    if ! said=$($3 -x $2 -std=$4 $WARN -pthread -I. "$1" -o "$room/program" 2>&1); then
        fail "$name does not compile" "$said"
    elif ! said=$(cd "$room" && limited env $environment ./program 2>&1); then
        fail "$name fails" "$said"
    else passed=$((passed + 1)); fi
}
for source in examples/*.c; do
    case $source in
    examples/etcd.c | examples/postgresql_claim.c) continue ;; # libcurl, libpq: make test-etcd and test-hosts run them
    esac
    try "$source" c "$CC" c11
    try "$source" c++ "$CXX" c++11
done
for source in examples/*.cc; do try "$source" c++ "$CXX" c++11; done
for source in examples/*.c examples/*.cc examples/ids.*; do
    if grep -qF "$(basename "$source"))" examples/README.md docs/languages.md; then passed=$((passed + 1))
    else fail "$source is not in the index" ""; fi
done
[ -z "$skipped" ] || echo "SKIPPED for want of a program: $skipped"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
