#!/bin/bash
# evidence.sh DIRECTORY README   rewrites the README's table between its evidence marks from what the
# last .ci/run printed and kept in DIRECTORY.
dir=$1 readme=$2
[ -f "$dir/steps" ] || { echo "no $dir/steps: run .ci/run first" >&2; exit 1; }

grouped() { sed -E ':again; s/([0-9])([0-9]{3})($|[^0-9])/\1,\2\3/; t again'; }
of() { awk -F '\t' -v name="$1" -v column="$2" '$1 == name {print $column}' "$dir/steps"; }

row() { # STEP SHOWS SAID
    local seconds
    seconds=$(of "$1" 5)
    [ -n "$seconds" ] || return
    local passed failed said=$3
    passed=$(of "$1" 3) failed=$(of "$1" 4)
    [ "$failed" -eq 0 ] || said="**failed**"
    printf '| `%s` | %s | %s | %s, %s | %s s |\n' "$(of "$1" 2)" "$2" "$said" "$passed" "$failed" "$seconds" | grouped
}

explored() {
    awk '/ complete .* schedules / {scenarios++; complete += $3; cut += $5; states += $9; merged += $7}
         END {printf "%d scenarios: %d executions complete, %d cut, %d merged with a state seen before, %d states",
              scenarios, complete, cut, merged, states}' "$dir/explore"
}
fuzzed() {
    awk '/^stat::number_of_executed_units/ {n++; units += $2} END {printf "%d fuzzers, %d inputs, no finding", n, units}' "$dir/fuzz"
}
soaked() { # the soak's own last words
    grep ' ids, each of them once$' "$dir/soak" | tail -n 1 | sed 's/^ *//; s/|/,/g'
}
machines() {
    sed -n -E 's/^([a-z0-9]+): ([0-9]+) passed, 0 failed$/\1 \2/p; s/^SKIPPED ([a-z0-9]+):.*/\1 skipped/p' "$dir/cross" |
        paste -sd, | sed 's/,/, /g'
}

table=$(mktemp)
trap 'rm -f "$table"' EXIT
{
    printf 'Written by `make evidence` from what `.ci/run` printed.\n\n'
    printf '| command | shows | it said | passed, failed | took |\n|---|---|---|---|---|\n'
    row test 'both headers against their contract, the peers'"'"' own ids, and a sequential model' ''
    row matrix 'both compilers, each `-std` from C11 and C++11 on, `-O0` to `-O3`' 'no warning'
    row everything "clang's \`-Weverything\`" 'no warning but the kinds that the Makefile names'
    row sanitize 'the tests under thread, address and undefined sanitizers, gcc and clang' 'no report'
    row explore 'every interleaving of a few callers and a clock that steps, on the headers themselves' "$(explored)"
    row mutants 'small edits of the headers, each to be caught' "$(of mutants 3) of $(($(of mutants 3) + $(of mutants 4))) caught"
    row models 'the pairs of the memory orders, as programs for checkers of the C11 memory model too' 'no assertion broken'
    row replay "the fuzzers' seeds, with a plain compiler" 'no disagreement with the model'
    row fuzz 'libFuzzer with address and undefined sanitizers against the sequential model' "$(fuzzed)"
    row soak 'ids of 2, 8 and 64 threads, shared and sharded, merged' "$(soaked)"
    row cross 'the tests on other machines: weakly ordered, big-endian, 32 bits, musl, Windows' "$(machines)"
    row etcd 'claims in a real etcd that is stopped, frozen, killed and cut off' 'two clients never held one number'
    row guard 'instructions of the hot paths, against the figures on file' 'none grew by 5 %'
    row bench 'every row of the benchmark, its ids compared' 'no id twice'
    row server 'a server that stamps each request, driven by wrk' 'each id in the responses once'
    row databases 'ids through SQLite and PostgreSQL, in order and by time' 'what came back is what went in'
} > "$table"
awk -v table="$table" '
    /<!-- evidence end -->/ {inside = 0}
    !inside {print}
    /<!-- evidence begin -->/ {inside = 1; while ((getline line < table) > 0) print line}
' "$readme" > "$table.readme" && cat "$table.readme" > "$readme" && rm -f "$table.readme"
