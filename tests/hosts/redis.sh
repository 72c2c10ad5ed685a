#!/bin/bash
# SPDX-License-Identifier: MIT
#
# redis.sh   redis.c in a server of its own: pipelined clients whose ids all differ, one that waits for a
# unit to come while the others are served, servers that share a directory, one that is killed while a child of it
# saves, and what is refused. At the end the rate of FLAKE.NEXT beside INCR's.
host=Redis
. tests/hosts/drive.sh
command -v redis-server > /dev/null || skip redis-server
command -v redis-cli > /dev/null || skip redis-tools
servers=()
stop_host() { [ ${#servers[@]} -eq 0 ] || { kill -9 "${servers[@]}"; wait "${servers[@]}"; } 2> "$dir/gone"; }

judge "Redis: fewer than 225 lines" is_short redis.c
judge "Redis: compiles without a warning" compile "$module/redis.c" "$dir/flake.so" || close_with_counts
judge "the clock that can be put back compiles" compile_clock_back || close_with_counts

start() { # MODULE_ARGUMENT...: on $port
    local module=("$dir/flake.so" "$@")
    port=$(free_port)
    "${with_clock_back[@]}" redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$dir" \
        --enable-module-command local --enable-debug-command local --loadmodule "${module[@]}" > "$dir/log.$port" &
    server=$!
    servers+=($server)
    eventually answers
}
answers() { [ "$(timeout 10 redis-cli -p "$port" PING 2>&1)" = PONG ]; } # not later: a starting server has the socket, and waits
ask() { timeout $patience redis-cli -p "$port" "$@"; }
does_not_start() { # WHY MODULE_ARGUMENT...
    local why=$1
    shift
    timeout $patience redis-server --port "$(free_port)" --dir "$dir" --loadmodule "$dir/flake.so" "$@" > "$dir/log"
    [ $? -eq 1 ] && grep -qE "flake: $why" "$dir/log" || { tail -n 3 "$dir/log"; false; }
}
# Sends a command so often without waiting for an answer. An id, or an error, a line.
pipeline() { # COUNT COMMAND
    exec 3<> "/dev/tcp/127.0.0.1/$port"
    yes "$2"$'\r' | head -n "$1" >&3 &
    head -n "$1" <&3 | tr -d ':\r'
    wait $!
    exec 3>&-
}

judge "Redis: starts with the module" start node=3 "dir=$dir/nodes" || close_with_counts
judge "Redis: a node too large is refused, and why" does_not_start '.*above 1023' node=1024 dir=none
judge "Redis: so is a layout that nobody knows" does_not_start 'config: layout: "none" is neither' node=1 dir=none layout=none
judge "Redis: and a node that another server here has" does_not_start "$is_taken" node=3 "dir=$dir/nodes"
judge "Redis: a word that does not exist" does_not_start 'config: 3: neither a layout nor an option' 3 twitter
judge "Redis: arguments without a node" does_not_start "config: $no_node" clock=fast
judge "Redis: a node that nothing checks, unless the arguments say so" does_not_start "$unchecked" node=7
judge "Redis: more than the text has room for" does_not_start 'config: .*longer than 2047 bytes' node=3 "dir=$(printf '%02040d' 0)"
takes_no() { # WORD...: each alone
    local word
    # shellcheck disable=SC2086
    for word; do does_not_start 'takes no |.*lanes is missing' $word || return 1; done
}
judge "Redis: what is not for it" takes_no "${refused_words[@]}" "node=1 dir=none max_ahead_ms=1"

first=$port
three_pipelines() {
    local jobs=()
    for client in 1 2 3; do
        (pipeline 20000 FLAKE.NEXT > "$dir/ids.$client") &
        jobs+=($!)
    done
    wait "${jobs[@]}"
    are_unique 60000 "$dir"/ids.[123] && rise "$dir/ids.1" && rise "$dir/ids.2" && rise "$dir/ids.3"
}
from_ms=$(ms_now)
judge "Redis: three clients with pipelines: no id twice, each client's rise" three_pipelines
to_ms=$(ms_now)
of_the_run() { # and of the node
    awk -v from="$from_ms" -v to="$to_ms" '
        {ms = int($1 / 4194304) + 1735689600000} ms < from || ms > to {print "  not of this time: " $1; exit 1}' "$dir/ids.1" &&
        [ $(($(head -n 1 "$dir/ids.1") >> 12 & 1023)) = 3 ]
}
judge "Redis: the times of the ids are those of the run, and the node is the one given" of_the_run
many() { ask FLAKE.NEXT 100000 > "$dir/ids" && are_unique 100000 "$dir/ids" && rise "$dir/ids"; }
judge "Redis: 100,000 at once, in a dozen units or two" many
texts() { # PATTERN COMMAND
    pipeline 10000 "$2" | grep -v '^\$' > "$dir/ids"
    are_unique 5000 "$dir/ids" && rise "$dir/ids" text && [ "$(grep -cE "$1" "$dir/ids")" -eq 5000 ]
}
judge "Redis: SNO.NEXT" texts '^[2-9a-x]{16}$' 'SNO.NEXT 42'
judge "Redis: UUID7.NEXT" texts '^.{8}-.{4}-7.{3}-[89ab].{3}-.{12}$' UUID7.NEXT

many_uuids() { ask UUID7.NEXT 100000 > "$dir/ids" && are_unique 100000 "$dir/ids" && rise "$dir/ids" text; }
judge "Redis: 100,000 UUIDs at once, more than a ms has" many_uuids
judge "Redis: a COUNT of 0 is refused" says '^ERR COUNT is a number from 1' ask FLAKE.NEXT 0
judge "Redis: a COUNT of 100,001" says '^ERR COUNT is a number from 1' ask FLAKE.NEXT 100001
judge "Redis: a COUNT of no UUIDs" says '^ERR COUNT is a number from 1' ask UUID7.NEXT 0
judge "Redis: two COUNTs" says '^ERR wrong number of arguments' ask UUID7.NEXT 1 2
judge "Redis: a META of 256" says '^ERR META is a number from 0 to 255' ask SNO.NEXT 256
judge "Redis: no META" says '^ERR wrong number of arguments' ask SNO.NEXT
judge "Redis: the module is not unloaded" says '^ERR Error unloading' ask MODULE UNLOAD flake

put_clock_back 10000
judge "Redis: a clock put back by 10 s is an error that says so" says '^TRYAGAIN no id: .*clock' ask FLAKE.NEXT
judge "Redis: UUIDs go on" says '^.{8}-.{4}-7' ask UUID7.NEXT
put_clock_back 0
judge "Redis: and ids, when it is right again" says '^[0-9]+$' ask FLAKE.NEXT
put_clock_back -2207520000000
judge "Redis: a clock past the layout's end is no reason to retry" says '^ERR no id: ' ask FLAKE.NEXT
judge "Redis: and is logged for the operator" eventually grep -q 'flake: for the operator: ' "$dir/log.$port"
put_clock_back 0

# Servers of one directory. A node that was not closed would have to wait for a minute.
node_of() { echo $(($1 >> 12 & 1023)); }
has_node() { # NODE: ids, and snos. One of them is in $last
    last=$(ask FLAKE.NEXT) && [ "$(node_of "$last")" = "$1" ] && [ -e "$dir/nodes/$1.slot" ] && [ -e "$dir/nodes/snos/$1.slot" ] &&
        says '^[2-9a-x]{16}$' ask SNO.NEXT 1
}
draws_later() { # NODE: ids of it, after $last
    local before=$last
    has_node "$1" && [ "$last" -gt "$before" ]
}
judge "Redis: ids and snos have the node" has_node 3
judge "Redis: a second server with a range starts" start node=3-4 "dir=$dir/nodes" horizon_ms=60000
judge "Redis: with another node" has_node 4
end_server() { kill "$server" && wait "$server"; }
judge "Redis: it ends" end_server
starts_soon() { patience=30 start "$@"; }
judge "Redis: a node that was closed is there at once" starts_soon node=4 "dir=$dir/nodes" horizon_ms=400
judge "Redis: and goes on" draws_later 4
idles() { sleep 1; }
judge "Redis: a second without a draw is more than its horizon, which moves by itself" idles
judge "Redis: and goes on" draws_later 4
save_slowly() { # the child that saves: 100 s for 100 keys
    ask CONFIG SET rdb-key-save-delay 1000000 > "$dir/log" && ask DEBUG POPULATE 100 >> "$dir/log" && ask BGSAVE >> "$dir/log" &&
        eventually saves
}
saves() { saver=$(children "$server") && is_alive "$saver"; }
kill_server() { kill -9 "$server" && { wait "$server"; } 2> /dev/null; [ $? -eq 137 ]; }
judge "Redis: a child of it saves" save_slowly || cat "$dir/log"
judge "Redis: it is killed with kill -9" kill_server
judge "Redis: the next server with the node starts" starts_soon node=4 "dir=$dir/nodes"
judge "Redis: while the child still saves" is_alive "$saver"
judge "Redis: and goes on" draws_later 4
kill "$saver"
judge "Redis: it is killed with kill -9" kill_server
put_clock_back 600000
starts_in_the_past() { "${with_clock_back[@]}" redis-server --port "$(free_port)" --dir "$dir" --loadmodule "$dir/flake.so" node=4 "dir=$dir/nodes"; }
judge "Redis: a clock that went backwards since then is refused" says 'flake: .*4.slot: is from the future' timeout $patience bash -c \
    "$(declare -p with_clock_back dir); $(declare -f free_port starts_in_the_past); starts_in_the_past"
put_clock_back 0
judge "Redis: and the node goes on when it is right again" start node=4 "dir=$dir/nodes"
judge "Redis: after all its ids" draws_later 4
judge "Redis: the first server has its node" eval 'port=$first has_node 3'

# 256 ids in 10 ms: these take two seconds, and whoever asks for anything else has it at once.
judge "Redis: a server with few ids starts" start sonyflake node=1 dir=none
others_are_served() { # while one waits. On a busy machine it may have its ids before: then once more
    local waiting attempt
    for attempt in {1..20}; do
        ask FLAKE.NEXT 51200 > "$dir/ids" &
        waiting=$!
        until is_blocked || ! waits $waiting; do :; done
        answers && says '^.{8}-.{4}-7' ask UUID7.NEXT || return 1
        ! waits $waiting || break
        wait $waiting && are_unique 51200 "$dir/ids" && [ "$attempt" != 20 ] || return 1
    done
    pipeline 100 FLAKE.NEXT > "$dir/ids.later"
    wait $waiting && cat "$dir/ids.later" >> "$dir/ids" && are_unique 51300 "$dir/ids" && rise "$dir/ids"
}
waits() { kill -0 "$1" 2> /dev/null; }
is_blocked() { ask INFO clients | grep -q '^blocked_clients:1'; }
judge "Redis: who waits for ids is blocked alone, and has them in turn" others_are_served
judge "Redis: within a script, where nobody can wait, too many are an error" says 'TRYAGAIN no id: no ID is available in this time unit' \
    ask EVAL "return redis.call('FLAKE.NEXT', 5000)" 0
in_a_transaction() { printf 'MULTI\nFLAKE.NEXT 5000\nUUID7.NEXT\nEXEC\n' | ask; }
judge "Redis: within MULTI" says 'TRYAGAIN no id: no ID is available in this time unit.*-7' in_a_transaction
judge "Redis: few enough are ids there, too, when the next unit is there" eventually \
    says '^[0-9]+$' ask EVAL "return redis.call('FLAKE.NEXT', 2)[2]" 0

judge "Redis: starts without arguments" start
judge "Redis: then there is no id, and why" says "^ERR no id: config: $no_node" ask FLAKE.NEXT
judge "Redis: but a UUID" says '^.{8}-.{4}-7' ask UUID7.NEXT
judge "Redis: and a sno, of a partition that the library chooses" says '^[2-9a-x]{16}$' ask SNO.NEXT 42

port=$(free_port)
redis-server --port "$port" --save '' --dir "$dir" --loadmodule "$dir/flake.so" node=1 dir=none > "$dir/log" &
servers+=($!)
eventually answers
for call in INCR\ counter FLAKE.NEXT UUID7.NEXT 'SNO.NEXT 42'; do
    # shellcheck disable=SC2086
    redis-benchmark -p "$port" -q -n 200000 -P 16 $call 2> /dev/null | tr '\r' '\n' |
        sed -n "s/.*: \([0-9.]*\) requests per second.*/  $call: \1 a second/p"
done
close_with_counts
