#!/bin/sh
# SPDX-License-Identifier: MIT
#
# measure.sh PROGRAM DIRECTORY [OPTION...]   runs all rows of the benchmark once, with these options, and writes
# results.json, load.txt and failed.txt to DIRECTORY. If a row ends the program, failed.txt names it, and all other
# rows are measured again without it.
program=$1 out=$2
shift 2
mkdir -p "$out" || exit 1
: > "$out/failed.txt"
load() { echo "$1 $(cut -d ' ' -f 1-3 /proc/loadavg 2> /dev/null || echo unknown)"; }

load before > "$out/load.txt"
left_out=
while :; do
    rm -f "$out/row"
    BENCH_LEAVE_OUT=$left_out BENCH_ROW_FILE=$out/row "$program" "$@" --benchmark_out_format=json \
        --benchmark_out="$out/results.json" > "$out/results.txt" 2> "$out/errors.txt"
    status=$?
    [ "$status" -gt 128 ] && [ -s "$out/row" ] || break
    row=$(cat "$out/row")
    case " $left_out " in *" $row "*) break ;; esac
    echo "failed: $row: ended the program, by signal $((status - 128))" | tee -a "$out/failed.txt" >&2
    left_out="$left_out $row"
done
load after >> "$out/load.txt"
grep -E '^(skipped|FAILED)|duplicates$' "$out/errors.txt" | sort -u >&2
[ "$status" -le 1 ] || { tail -5 "$out/errors.txt" >&2; exit 1; } # 1: a row failed, and is named in the results
