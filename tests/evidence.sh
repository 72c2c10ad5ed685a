#!/bin/bash
# SPDX-License-Identifier: MIT
#
# evidence.sh DIRECTORY PAGE   rewrites the page's table between its evidence marks from what the
# last .ci/run printed and kept in DIRECTORY, and from DIRECTORY/soak-long, where there is one: what
# `time make -s soak IDS=...` said of more ids than there is time for there.
dir=$1 page=$2
[ -f "$dir/steps" ] || { echo "no $dir/steps: run .ci/run first" >&2; exit 1; }

grouped() { sed -E ':again; s/([0-9])([0-9]{3})($|[^0-9])/\1,\2\3/; t again'; }
of() { awk -F '\t' -v name="$1" -v column="$2" '$1 == name {print $column}' "$dir/steps"; }

row() { # STEP SHOWS SAID   what was said is taken from the step's log, or left out
    local seconds=$(of "$1" 5) passed=$(of "$1" 3) failed=$(of "$1" 4) said=$3 skipped
    skipped=$(grep -i '^ *skipped' "$dir/$1" | grep -v '^skipped machines' | sort -u |
        sed -E 's/^ *//; s/[; ]+$//; s/;+ */, /g; s/\|/,/g' |
        awk 'NR <= 2; END {if (NR > 2) print "and " NR - 2 " more"}' | paste -sd';' | sed 's/;/; /g')
    [ -z "$skipped" ] || said="${said:+$said; }$skipped"
    [ "$failed" -eq 0 ] || said="**failed**"
    printf '| `%s` | %s | %s | %s s |\n' "$(of "$1" 2)" "$2" \
        "$(echo "$said | $passed, $failed" | grouped)" "$seconds"
}

explored() {
    awk '/ complete .* schedules / {scenarios++; complete += $3; cut += $5; states += $9; merged += $7}
         END {printf "%d scenarios: %d executions complete, %d cut, %d merged with a state seen before, %d states",
              scenarios, complete, cut, merged, states}' "$dir/explore"
}
ordered() {
    awk '/ executions .* states / {scenarios++; n += $3} /^ok .* lines? .* executions / {labels++}
         END {printf "%d scenarios: %d executions; %d orders weakened and caught", scenarios, n, labels}' \
        "$dir/explore-orders"
}
fuzzed() {
    awk '/^stat::number_of_executed_units/ {n++; units += $2} END {printf "%d fuzzers, %d inputs", n, units}' "$dir/fuzz"
}
soaked() { # the soak's own last words
    grep ' ids, each of them once$' "$dir/soak" | tail -n 1 | sed 's/^ *//; s/|/,/g'
}
machines() {
    sed -n -E 's/^([a-z0-9]+): ([0-9]+) passed, 0 failed$/\1 \2/p; s/^SKIPPED ([a-z0-9]+):.*/\1 skipped/p' "$dir/cross" |
        paste -sd, | sed 's/,/, /g'
}

replayed() {
    awk '/ inputs, .* nothing found$/ {inputs += $1; ids += $3} END {printf "%d inputs, %d ids", inputs, ids}' "$dir/replay"
}
caught() { awk '/^ok .* caught by / {n++} END {printf "%d caught", n}' "$dir/mutants"; }
sampled() { # counts of the verdicts, of those that count
    awk '/ count:$/ {told = 1; next} told && /^ / && $1 {said = said sep $1 " " $2; sep = ", "}
         END {print said}' "$dir/mutants-many"
}
compared() { grep ' rows, each with unique ids$' "$dir/bench"; }
compiled() { grep ' compilations without a warning$' "$dir/matrix"; }
served() { # the greatest rate of the modes, and all ids
    awk '/ ids in .* a second$/ {ids += $1; if ($6 > most) most = $6}
         END {printf "%d ids, up to %d a second", ids, most}' "$dir/server"
}
ranged() {
    awk '/: range of time, / {ranges++; ids += $(NF - 1)} /: gives them back in the order of their making$/ {n++}
         END {printf "%d tables in order, %d ranges with %d ids", n, ranges, ids}' "$dir/databases"
}

long_soak() {
    [ -f "$dir/soak-long" ] || return
    awk '/ ids, each of them once$/ {n = $1} /^[0-9]+ passed/ {passed = $1; failed = $3}
         /^real/ {split($2, t, "[ms]"); minutes = t[1]}
         END {printf "| `make soak IDS=10000000000`, once | the same | %s ids, each of them once | %d, %d | %d min |\n",
              n, passed, failed, minutes}' "$dir/soak-long"
}

steps="test etcd matrix everything sanitize sanitize-etcd explore explore-orders mutants mutants-many models replay fuzz soak attack cross guard bench server databases hosts"
for step in $steps; do
    [ -n "$(of "$step" 1)" ] || { echo "$dir has no step '$step': .ci/run did not come to its end" >&2; exit 1; }
done
table=$(mktemp)
trap 'rm -f "$table"' EXIT
{
    printf 'Written by `make evidence` from what `.ci/run` printed.\n\n'
    printf '| command | shows | it said | passed, failed | took |\n|---|---|---|---|---|\n'
    row test 'both headers against their contract, the peers'"'"' own ids, and an oracle' ''
    row matrix 'both compilers, each `-std` from C11 and C++11 on, `-O0` to `-O3`' "$(compiled)"
    row everything "clang's \`-Weverything\` but for the kinds that the Makefile names" ''
    row sanitize 'the tests under thread, address and undefined sanitizers, gcc and clang' ''
    row explore 'every interleaving of a few callers and a clock that steps, on the headers themselves' "$(explored)"
    row explore-orders 'the memory orders: whatever each load may read by C11'"'"'s rules, and each order taken away' "$(ordered)"
    row mutants 'small edits of the headers, each to be caught: a third of them, others with each commit' "$(caught)"
    row mutants-many 'a sample of the edits made by rule, another with each commit' "$(sampled)"
    row models 'the models of the memory orders compile for a checker of the C11 memory model; those beyond it run with threads' ''
    row replay "the fuzzers' seeds, with a plain compiler" "$(replayed)"
    row fuzz 'libFuzzer with address and undefined sanitizers against the oracle' "$(fuzzed)"
    row soak 'ids of 2, 8 and 64 threads, shared, sharded and of lanes, merged' "$(soaked)"
    long_soak
    row attack 'kills with disk faults, power cuts, clock steps and restarts, over states, slots and shared memory' ''
    row cross 'the tests on other machines: weakly ordered, big-endian, 32 bits, musl, Windows' "$(machines)"
    row etcd 'claims in a real etcd that is stopped, frozen, killed and cut off' ''
    row sanitize-etcd 'those that do not wait for time, under the sanitizers' ''
    row guard 'instructions of the hot paths, against the figures on file' ''
    row bench 'every row of the benchmark, its ids compared' "$(compared)"
    row server 'a server that stamps each request, driven by wrk: no id twice, none lost' "$(served)"
    row databases 'ids through SQLite and PostgreSQL, in order and by time' "$(ranged)"
    row hosts 'modules of PostgreSQL, SQLite, Redis and nginx, which are killed, reloaded, and their clocks put back' ''
} > "$table"
awk -v table="$table" '
    /<!-- evidence end -->/ {inside = 0}
    !inside {print}
    /<!-- evidence begin -->/ {inside = 1; while ((getline line < table) > 0) print line}
' "$page" > "$table.page" && cat "$table.page" > "$page" && rm -f "$table.page"
