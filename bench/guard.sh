#!/bin/sh
# SPDX-License-Identifier: MIT
#
# guard.sh PROGRAM FIGURES [--update]
#
# Counts the instructions of each hot path and compares them with those in FIGURES for the same compiler: a path that
# grew by more than 5 % fails. One that shrank by more is reported: its stale figure would let it grow back unnoticed.
# --update writes the counts to FIGURES instead. Also counts the lines that an include of each header adds to a unit;
# FIGURES has their limits, written by hand: "include HEADER_LANGUAGE LINES". Environment: CC, CXX, INCLUDE (the
# headers' directory).
program=$1 figures=$2 update=${3-}
command -v valgrind > /dev/null && command -v callgrind_annotate > /dev/null || {
    echo "make bench-guard needs valgrind: apt-get install valgrind" >&2
    exit 1
}
key=$("$program" --key)
"$program" --list > "$program.list" || exit 1
valgrind --tool=callgrind --callgrind-out-file="$program.callgrind" "$program" > "$program.log" 2>&1 || {
    tail -5 "$program.log"
    exit 1
}
# "function instructions-an-id"
callgrind_annotate --inclusive=yes --threshold=100 "$program.callgrind" | awk -v list="$program.list" '
    BEGIN { while ((getline line < list) > 0) { split(line, of, " "); ids[of[1]] = of[2] } }
    match($0 " ", /:guard_[a-z0-9_]+ /) { # in guard.c, or in a header whose code begins it
        name = substr($0, RSTART + 7, RLENGTH - 8)
        gsub(/,/, "", $1)
        if (name in ids && !(name in count)) count[name] = $1 / ids[name]
    }
    END { for (name in ids) if (name in count) printf "%s %.3f\n", name, count[name]
          else { printf "%s was not found\n", name; exit 1 } }' | sort > "$program.counts" ||
    { cat "$program.counts"; exit 1; }
if grep ' was not found' "$program.counts"; then exit 1; fi

# The cost of an include: lines after the preprocessor, minus those of an empty unit.
lines() { "$@" -E - | wc -l; }
include_lines() { # compiler... (as C or C++), header
    for header in flake sno; do
        all=$(echo "#include \"$header.h\"" | lines "$@") none=$(echo | lines "$@")
        echo "$header $((all - none))"
    done
}
include=${INCLUDE:-.}
{ include_lines ${CC:-cc} -x c -std=c11 -I"$include" | sed 's/ /_c /'
  include_lines ${CXX:-c++} -x c++ -std=c++11 -I"$include" | sed 's/ /_cc /'; } > "$program.includes"

if [ "$update" = --update ]; then
    { [ -f "$figures" ] && grep -v "^$key " "$figures"
      sed "s/^/$key /" "$program.counts"; } | LC_ALL=C sort > "$figures.new"
    mv "$figures.new" "$figures"
    echo "$figures now has $(wc -l < "$program.counts") figures of $key"
    exit 0
fi
awk -v key="$key" -v figures="$figures" '
    BEGIN {
        while ((getline line < figures) > 0) {
            split(line, of, " ")
            if (of[1] == "include") limit[of[2]] = of[3]
            if (of[1] == key) { was[of[2]] = of[3]; known = 1 }
        }
    }
    function judged(well) { if (well) passed++; else failed++; return well }
    FILENAME ~ /includes$/ {
        well = judged($1 in limit && $2 <= limit[$1] + 0)
        printf "include_%-19s %10d lines, limit %s%s\n", $1, $2, $1 in limit ? limit[$1] : "missing", well ? "" : "  FAILED"
        next
    }
    {
        verdict = ""
        if ($1 in was) {
            change = 100 * ($2 / was[$1] - 1)
            verdict = sprintf("%10.3f %+7.2f %%", was[$1], change)
            if (!judged(change <= 5)) verdict = verdict "  FAILED: grown by more than 5 %"
            if (change < -5) { verdict = verdict "  STALE: shrunk by more than 5 %"; stale++ }
        } else if (known && !judged(0)) verdict = "  FAILED: no figure; make bench-guard-update"
        printf "%-27s %10.3f %s\n", $1, $2, verdict
    }
    END {
        if (!known) print "no figures of " key " in " figures ": measured only (make bench-guard-update writes them)"
        if (stale) print "stale in " figures ": " stale "; make bench-guard-update, and with CC=clang CXX=clang++"
        print passed + 0 " passed, " failed + 0 " failed"
        exit failed > 0
    }' "$program.includes" "$program.counts"
