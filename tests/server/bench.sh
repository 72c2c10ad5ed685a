#!/bin/bash
# bench.sh   requests a second with ids (a shared generator, a shard a thread) and without, ROUNDS
# times in turn, DURATION seconds each, with THREADS threads; their medians, and the median of the rounds' ratios.
build=${BUILD:-build}
duration=${DURATION:-1}
rounds=${ROUNDS:-9}
threads=${THREADS:-$((($(nproc) + 1) / 2))} # the other processors are wrk's
. tests/server/drive.sh
command -v wrk > /dev/null || { echo "the package wrk is not installed"; exit 1; }
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT

rate() { # MODE
    start_server --mode="$1" --threads="$threads" || exit 1
    wrk -t"$threads" -c64 -d"$duration" "http://127.0.0.1:$port/" | sed -n 's/^Requests.sec: *//p' > "$dir/rate"
    stop_server || exit 1
    cat "$dir/rate" >> "$dir/$1"
}
median() { sort -n | awk '{v[NR] = $1} END {printf "%.4f", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

order="none shared shard"
for ((round = 0; round < rounds; round++)); do
    for mode in $order; do rate "$mode"; done
    order=${order#* }" "${order%% *} # each mode comes first, second and last in turn
done
printf 'requests a second, %d rounds of %d s, %d threads each for the server and wrk, %d processors:\n' \
    "$rounds" "$duration" "$threads" "$(nproc)"
printf '  %-8s %8.0f\n' none "$(median < "$dir/none")"
for mode in shared shard; do
    printf '  %-8s %8.0f   of none: %.3f\n' $mode "$(median < "$dir/$mode")" \
        "$(paste "$dir/$mode" "$dir/none" | awk '{print $1 / $2}' | median)"
done
