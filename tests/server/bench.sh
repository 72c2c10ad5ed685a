#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bench.sh   requests a second with IDs (lanes, a shared generator, a shard a thread), divided by those without:
# in pairs of consecutive runs, with IDs first in every second one, since a machine's speed varies. Also the
# server's processor time per request, which other running programs disturb less.
#
#   ROUNDS=9     pairs of each mode      DURATION=1   seconds of a run
#   THREADS      the server's and wrk's; half of the processors
#
# The verdict is about the median of the pairs' ratios, with half the distance of its quartiles as its
# scatter. Exit code 0: throughput is at least 0.98 less the scatter, in each mode; 3: it is not;
# 1: nothing was measured.
build=${BUILD:-build}
duration=${DURATION:-1}
rounds=${ROUNDS:-9}
threads=${THREADS:-$((($(nproc) + 1) / 2))} # the other processors are wrk's
least_ratio=0.98
. tests/server/drive.sh
command -v wrk > /dev/null || { echo "the package wrk is not installed"; exit 1; }
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT

measure() { # MODE FILE: adds "requests-a-second ns-a-request" to it
    start_server --mode="$1" --threads="$threads" || { echo "the server does not start"; exit 1; }
    wrk -t"$threads" -c64 -d"$duration" "http://127.0.0.1:$port/" > "$dir/wrk"
    local requests rate spent_ns
    requests=$(awk '/ requests in / {print $1}' "$dir/wrk")
    rate=$(sed -n 's/^Requests.sec: *//p' "$dir/wrk")
    spent_ns=$(cat /proc/$server/task/*/schedstat | awk '{sum += $1} END {printf "%.0f", sum}')
    stop_server || { echo "the server ended with an error"; exit 1; }
    [ "${requests:-0}" -gt 0 ] || { echo "no request was answered"; exit 1; }
    echo "$rate $spent_ns $requests" | awk '{print $1, $2 / $3}' >> "$dir/$2"
}
column() { awk -v n="$1" '{print $n}' "$2"; }
# "median scatter" of a column of numbers
summary() {
    sort -g | awk '
        function at(part,  k, i) { k = 1 + part * (NR - 1); i = int(k); return v[i] + (k - i) * (v[i + (i < NR)] - v[i]) }
        {v[NR] = $1}
        END {print at(0.5), (at(0.75) - at(0.25)) / 2}'
}
median() { summary | cut -d' ' -f1; }
ratio() { # MODE COLUMN
    paste "$dir/$1" "$dir/$1.none" | awk -v n="$2" '{print $n / $(n + 2)}' | summary
}

for ((round = 0; round < rounds; round++)); do
    for mode in lanes shared shard; do
        if ((round % 2)); then
            measure $mode $mode
            measure none $mode.none
        else
            measure none $mode.none
            measure $mode $mode
        fi
    done
done
cat "$dir/lanes.none" "$dir/shared.none" "$dir/shard.none" > "$dir/none"

printf '%d pairs of runs of %d s each; the server and wrk have %d threads each, the machine %d processors\n' \
    "$rounds" "$duration" "$threads" "$(nproc)"
printf '%-8s %12s %16s %14s %16s\n' ids requests/s "ratio" "ns a request" ratio
for mode in none lanes shared shard; do
    printf '%-8s %12.0f' $mode "$(column 1 "$dir/$mode" | median)"
    of_rate=1 of_spent=1
    if [ $mode != none ]; then
        of_rate=$(ratio $mode 1 | awk '{printf "%.3f ± %.3f", $1, $2}')
        of_spent=$(ratio $mode 2 | awk '{printf "%.3f ± %.3f", $1, $2}')
    fi
    printf ' %16s %14.0f %16s\n' "$of_rate" "$(column 2 "$dir/$mode" | median)" "$of_spent"
done
said="throughput with IDs, divided by that without:" code=0
for mode in lanes shared shard; do
    read -r middle scatter < <(ratio $mode 1)
    said="$said $mode $(printf '%.3f ± %.3f' "$middle" "$scatter"),"
    awk -v r="$middle" -v s="$scatter" -v least=$least_ratio 'BEGIN {exit !(r >= least - s)}' || code=3
done
if [ $code -eq 0 ]; then verdict="at least $least_ratio"; else verdict="FAILED: less than $least_ratio"; fi
echo "${said%,}; $verdict less the scatter"
exit $code
