#!/bin/bash
# bench.sh   requests a second with ids (a shared generator, a shard a thread) and without, ROUNDS
# times in turn, DURATION seconds each, with THREADS threads: medians, and the medians of the rounds'
# ratios. Beside it the processor time that the server spent on a request, which other programs that
# run at the same time disturb less.
build=${BUILD:-build}
duration=${DURATION:-1}
rounds=${ROUNDS:-9}
threads=${THREADS:-$((($(nproc) + 1) / 2))} # the other processors are wrk's
. tests/server/drive.sh
command -v wrk > /dev/null || { echo "the package wrk is not installed"; exit 1; }
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT

measure() { # MODE
    start_server --mode="$1" --threads="$threads" || exit 1
    wrk -t"$threads" -c64 -d"$duration" "http://127.0.0.1:$port/" > "$dir/wrk"
    local requests spent_ns
    requests=$(awk '/ requests in / {print $1}' "$dir/wrk")
    spent_ns=$(cat /proc/$server/task/*/schedstat | awk '{sum += $1} END {printf "%.0f", sum}')
    stop_server || exit 1
    sed -n 's/^Requests.sec: *//p' "$dir/wrk" >> "$dir/rate.$1"
    echo "$spent_ns $requests" | awk '{print $1 / $2}' >> "$dir/spent.$1"
}
median() { sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
ratio() { paste "$dir/$1" "$dir/$2" | awk '{print $1 / $2}' | median; }

order="none shared shard"
for ((round = 0; round < rounds; round++)); do
    for mode in $order; do measure "$mode"; done
    order="${order#* } ${order%% *}" # each mode comes first, second and last in turn
done
printf '%d rounds of %d s; the server and wrk have %d threads each, the machine %d processors\n' \
    "$rounds" "$duration" "$threads" "$(nproc)"
printf '%-8s %12s %8s %14s %8s\n' ids requests/s ratio "ns a request" ratio
for mode in none shared shard; do
    printf '%-8s %12.0f %8.3f %14.0f %8.3f\n' $mode \
        "$(median < "$dir/rate.$mode")" "$(ratio rate.$mode rate.none)" \
        "$(median < "$dir/spent.$mode")" "$(ratio spent.$mode spent.none)"
done
