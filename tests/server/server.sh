#!/bin/bash
# SPDX-License-Identifier: MIT
#
# server.sh   the server, driven by wrk: every ID in a response is unique, was stamped by one of the
# server's threads, and none is lost. Before that, all kinds of requests (requests.c), and a server that
# lacks ports, descriptors, time or IDs (limits.c). UUIDs come in lists, which are not logged: no two
# are the same.
#
#   DURATION=10   seconds of each mode with one request at a time
#   BRIEF=2       seconds of each of the others: pipelined, more requests than the layout has IDs, UUIDs
#   MODES=lanes   only these of lanes, shared and shard
#   RATE=10000    required requests a second, if the layout has enough IDs. A quiet core serves many
#                 times that: the bound detects a server that sleeps unnecessarily
build=${BUILD:-build}
duration=${DURATION:-10}
brief=${BRIEF:-2}
least_rate=${RATE:-10000}
. tests/server/drive.sh
. tests/scripts/judge.sh
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT

clients() { # PROGRAM MODE
    local last
    "$build/server_$1" "$build/server" "$2" > "$dir/clients"
    sed '$d' "$dir/clients" | grep -v '^ok '
    last=$(tail -n 1 "$dir/clients")
    case $last in
    *" passed, "*" failed")
        echo "$1 in mode $2: $last"
        passed=$((passed + ${last%% *}))
        last=${last#* passed, }
        failed=$((failed + ${last%% *}))
        ;;
    *) judge "$1 in mode $2" false ;;
    esac
}

# No log replaces a closed standard file.
refuses_to_start_with_closed() { # REDIRECTION
    local said
    said=$(eval "timeout 60 '$build/server' --node=5 --threads=1 --log='$dir/log' $1" 2>&1)
    [ $? -eq 1 ] && [ -z "$(ls "$dir")" ] || { echo "  $said"; ls "$dir"; false; }
}
judge "does not start with a closed standard input" refuses_to_start_with_closed '<&-'
judge "does not start with a closed standard output" refuses_to_start_with_closed '>&-'
judge "does not start with a closed standard error" refuses_to_start_with_closed '2>&-'

# It ends with 1, and a line with the reason. Its standard output is full.
fails_saying() { # LINE OPTION...
    local wanted=$1 said
    shift
    said=$(timeout 60 "$build/server" "$@" 2>&1 > /dev/full)
    [ $? -eq 1 ] && [ "$said" = "$wanted" ] || { echo "  $said"; false; }
}
judge "--help to a full disk fails" fails_saying "standard output: No space left on device" --help
judge "a port that can't be printed fails" fails_saying "standard output: No space left on device" --node=5
log_is_full() {
    local code
    ln -s /dev/full "$dir/log.0"
    start_server --threads=1 --log="$dir/log" 2> "$dir/said" || return 1
    curl -s -o "$dir/answer" "http://127.0.0.1:$port/?[1-1000]" || return 1
    stop_server
    code=$?
    rm "$dir/log.0"
    [ $code -eq 1 ] && [ "$(cat "$dir/said")" = "$dir/log.0: the log is not complete: No space left on device" ] ||
        { echo "  $code, $(cat "$dir/said")"; false; }
}
judge "a log that can't be written fails" log_is_full

connections=64
no_id_twice_and_none_lost() { # MODE PIPELINE LAYOUT SECONDS REQUESTS_A_SECOND
    local came rate responses unseen wrong
    rm -f "$dir"/log.* "$dir"/ids.*
    start_server --mode="$1" --layout="$3" --log="$dir/log" || return 1
    IDS=$dir/ids PIPELINE=$2 wrk -t2 -c$connections -d"$4" -s tests/server/ids.lua \
        "http://127.0.0.1:$port/" > "$dir/wrk" || return 1
    stop_server || { echo "  the server ended with an error"; return 1; }
    cat "$dir"/log.* | LC_ALL=C sort > "$dir/stamped"
    cat "$dir"/ids.* | LC_ALL=C sort > "$dir/came"
    came=$(wc -l < "$dir/came")
    for wrong in stamped came; do
        [ -z "$(uniq -d "$dir/$wrong" | head -1)" ] || { echo "  $wrong: $(uniq -d "$dir/$wrong" | head -1) twice"; return 1; }
    done
    wrong=$(LC_ALL=C comm -13 "$dir/stamped" "$dir/came" | head -1)
    [ -z "$wrong" ] || { echo "  it came, and no thread has stamped it: $wrong"; return 1; }
    # wrk disconnects when its time is over: later stamps never arrive.
    unseen=$(LC_ALL=C comm -23 "$dir/stamped" "$dir/came" | wc -l)
    [ "$unseen" -le $((connections * $2 * 2)) ] || { echo "  $unseen were stamped, and did not come"; return 1; }
    responses=$(sed -n 's/^responses //p' "$dir/wrk")
    rate=$(sed -n 's/^Requests.sec: *//p' "$dir/wrk")
    echo "  $came IDs in $4 s, $rate a second"
    [ "$came" -gt 0 ] && [ "$came" = "$responses" ] || { echo "  wrk counted $responses responses"; return 1; }
    grep -qx 'errors 0' "$dir/wrk" || { grep errors "$dir/wrk"; return 1; }
    [ "${rate%.*}" -ge "$5" ] || { echo "  fewer than $5 requests a second"; return 1; }
}

uuids_differ() { # MODE SECONDS
    local came responses wrong
    rm -f "$dir"/ids.*
    start_server --mode="$1" || return 1
    IDS=$dir/ids PIPELINE=16 LAYOUT=uuid7 wrk -t2 -c$connections -d"$2" -s tests/server/ids.lua \
        "http://127.0.0.1:$port/" > "$dir/wrk" || return 1
    stop_server || { echo "  the server ended with an error"; return 1; }
    wrong=$(cat "$dir"/ids.* |
        grep -vxE -m 1 '[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}')
    [ -z "$wrong" ] || { echo "  no UUID of version 7: $wrong"; return 1; }
    came=$(cat "$dir"/ids.* | LC_ALL=C sort -u | wc -l)
    responses=$(sed -n 's/^responses //p' "$dir/wrk")
    echo "  $came UUIDs in $2 s"
    [ "$came" -gt 0 ] && [ "$came" = "$responses" ] || { echo "  in $responses responses"; return 1; }
}

for mode in ${MODES:-lanes shared shard}; do
    clients requests $mode
    clients limits $mode
done
if command -v wrk > /dev/null; then
    for mode in ${MODES:-lanes shared shard}; do
        judge "$mode: no ID twice and none lost" \
            no_id_twice_and_none_lost $mode 1 default "$duration" "$least_rate"
        judge "$mode, pipelined: no ID twice and none lost" \
            no_id_twice_and_none_lost $mode 16 default "$brief" "$least_rate"
        judge "$mode, more requests than IDs: no ID twice and none lost" \
            no_id_twice_and_none_lost $mode 1 sonyflake "$brief" 0
        judge "$mode: no UUID twice" uuids_differ $mode "$brief"
    done
else
    echo "SKIPPED what wrk drives: the package wrk is not installed"
fi
judge "its README shows the part between two marks as it is" diff \
    <(sed -n '/^\/\/ >>example begin/,/^\/\/ >>example end/p' examples/server/server.c | sed '1d;$d') \
    <(sed -n '/^```c examples\/server\/server.c/,/^```$/p' examples/server/README.md | sed '1d;$d')
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
