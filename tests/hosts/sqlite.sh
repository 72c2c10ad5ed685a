#!/bin/bash
# SPDX-License-Identifier: MIT
#
# sqlite.sh   sqlite.c loaded into Debian's sqlite3: processes that share a directory and write into one
# database, the order and the times of their ids, a holder that is killed, and what is refused.
host=SQLite
. tests/hosts/drive.sh
command -v sqlite3 > /dev/null || skip sqlite3
echo '#include <sqlite3ext.h>' | cc -E -x c - > /dev/null 2>&1 || skip libsqlite3-dev

judge "SQLite: fewer than 225 lines" is_short sqlite.c
judge "SQLite: compiles without a warning" compile "$module/sqlite.c" "$dir/flake.so" || close_with_counts
query() { sqlite3 -bail -cmd '.timeout 60000' -cmd ".load $dir/flake" "$dir/db" "$@"; }
is() { # WANTED SQL
    local got
    got=$(query "$2") && [ "$got" = "$1" ] || { echo "  wanted $1, got $got"; false; }
}

processes=4 rows=20000
query 'PRAGMA journal_mode = WAL' > /dev/null
query 'CREATE TABLE orders (id INT PRIMARY KEY NOT NULL DEFAULT (flake_next()), uuid TEXT UNIQUE DEFAULT (uuid7()),
    bytes BLOB UNIQUE DEFAULT (uuid7_blob()), process INT, turn INT) WITHOUT ROWID'
all_nodes="node=0-99 dir=$dir/nodes"
write_rows() { # PROCESS
    for ((turn = 0; turn < rows; turn += 2000)); do
        echo "INSERT INTO orders (process, turn) SELECT $1, value FROM generate_series($turn, $turn + 1999);"
    done | FLAKE_CONFIG=$all_nodes query
}
all_write() {
    local jobs=() code=0
    for ((process = 0; process < processes; process++)); do
        write_rows $process &
        jobs+=($!)
    done
    for job in "${jobs[@]}"; do wait "$job" || code=1; done
    return $code
}
from_ms=$(ms_now)
judge "SQLite: $processes processes with one configuration write $rows rows each" all_write
to_ms=$(ms_now)
judge "SQLite: all rows are there, none has an id or a UUID twice" is $((processes * rows)) \
    'SELECT min(count(DISTINCT id), count(DISTINCT uuid), count(DISTINCT bytes)) FROM orders'
of_a_process='PARTITION BY process ORDER BY turn'
judge "SQLite: the ids of a process rise, and its UUIDs" is "0.0|0.0|0.0" \
    "SELECT total(id <= before), total(uuid <= uuid_before), total(bytes <= bytes_before) FROM (SELECT id, uuid, bytes,
    lag(id) OVER w AS before, lag(uuid) OVER w AS uuid_before, lag(bytes) OVER w AS bytes_before FROM orders
    WINDOW w AS ($of_a_process))"
judge "SQLite: the times of the ids are those of the run" is 1 \
    "SELECT min(flake_time(id)) >= $from_ms AND max(flake_time(id)) <= $to_ms FROM orders"
middle="(SELECT flake_time(id) FROM orders ORDER BY id LIMIT 1 OFFSET $((processes * rows / 2)))"
judge "SQLite: a range of ids is a range of time" is "1|1" \
    "SELECT total(id < flake_min($middle)) > 0, total(id < flake_min($middle)) = total(flake_time(id) < $middle) FROM orders"
judge "SQLite: which the index finds" says 'SEARCH orders USING PRIMARY KEY' query \
    'EXPLAIN QUERY PLAN SELECT turn FROM orders WHERE id >= flake_min(1700000000000)'
judge "SQLite: a UUID is of version 7, as text and as bytes" is "1|1" \
    "SELECT uuid7() GLOB '????????-????-7???-[89ab]???-????????????', hex(uuid7_blob()) GLOB '????????????7???[89AB]???????????????'"

judge "SQLite: each has a node of its own" is "$processes|1" \
    'SELECT count(DISTINCT id >> 12 & 1023), max(nodes) FROM (SELECT id, count(DISTINCT id >> 12 & 1023) AS nodes FROM orders GROUP BY process)'

# The writers above took turns at the database. These draw in the same milliseconds.
draw_at_once() {
    local jobs=()
    for ((process = 0; process < processes; process++)); do
        FLAKE_CONFIG=$all_nodes query 'SELECT flake_next() FROM generate_series(1, 100000)' > "$dir/drawn.$process" &
        jobs+=($!)
    done
    wait "${jobs[@]}"
    are_unique $((processes * 100000)) "$dir"/drawn.* && rise "$dir/drawn.0"
}
judge "SQLite: $processes processes that draw at once have no id in common" draw_at_once

# A connection that is closed and opened anew goes on with the generator that the process has.
reconnects() {
    local n
    for ((n = 0; n < 300; n++)); do
        echo ".open :memory:"
        echo ".load $dir/flake"
        echo "SELECT flake_next();"
    done | FLAKE_CONFIG="node=3 dir=none" sqlite3 -bail > "$dir/ids"
    are_unique 300 "$dir/ids" && rise "$dir/ids"
}
judge "SQLite: a connection closed and opened anew repeats nothing" reconnects

# With a clock that can be put back: the first ID is from the right one.
judge "the clock that can be put back compiles" compile_clock_back || close_with_counts
put_back_and_draw() { # MS
    put_clock_back 0
    printf '%s\n' ".log stderr" "SELECT flake_next();" ".shell printf '%-16d' $1 1<> $dir/clock_back" "SELECT flake_next();" |
        "${with_clock_back[@]}" env FLAKE_CONFIG="node=3 dir=none" sqlite3 -cmd ".load $dir/flake" "$dir/db"
}
judge "SQLite: a clock put back by 10 s is BUSY: retry" says 'flake_next: .*clock.*\(5\)' put_back_and_draw 10000
judge "SQLite: a clock past the layout's end is an error for the operator's log" \
    says '\(1\) flake_next: .*time' put_back_and_draw -2207520000000
draw_in_a_child() {
    FLAKE_CONFIG="node=3 dir=none" "$python" - "$dir/flake" << 'END'
import os, sqlite3, sys
db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
next = lambda: db.execute("SELECT flake_next()").fetchone()
next()
if os.fork() == 0:
    try:
        next()
    except sqlite3.Error as error:
        print(type(error).__name__, error, flush=True)
    os._exit(0)
os.wait()
END
}
for python in python3 /usr/bin/python3; do
    "$python" -c 'import sqlite3; sqlite3.Connection.enable_load_extension' 2> /dev/null && break
    python=
done
if [ -n "$python" ]; then
    judge "SQLite: a forked child is a mistake of the program" says '^(ProgrammingError|InterfaceError) .*fork' draw_in_a_child
else echo "SKIPPED: a forked child: no Python whose sqlite3 loads extensions"; fi

# A process that holds a node while others start: it answers what is written to 3.
three="node=3 dir=$dir/nodes horizon_ms=10000"
mkfifo "$dir/in" "$dir/out"
hold() { # TEXT
    FLAKE_CONFIG=$1 sqlite3 -bail -cmd ".load $dir/flake" "$dir/db" < "$dir/in" > "$dir/out" &
    holder=$!
    exec 3> "$dir/in" 4< "$dir/out"
    ask_holder 'SELECT flake_next();'
}
ask_holder() { # SQL, which has one line for an answer: in $answer
    echo "$1" >&3 && read -r answer <&4 && [ -n "$answer" ]
}
let_go() { # [-9]
    [ $# -eq 0 ] || kill "$1" "$holder" || return 1
    exec 3>&- 4<&-
    { wait "$holder"; } 2> /dev/null # which would say that it was killed
    [ $? -eq $(($# * 137)) ]
}
draw_with() { FLAKE_CONFIG=$1 query 'SELECT flake_next()'; }
node_of() { echo $(($1 >> 12 & 1023)); }
judge "SQLite: a process holds a node" hold "$three"
judge "SQLite: a second one with that node is refused, and why" says "FLAKE_CONFIG: $is_taken" draw_with "$three"
has_another_node() { [ "$(node_of "$(draw_with "node=3-4 dir=$dir/nodes")")" = 4 ]; }
judge "SQLite: one with a range has another node" has_another_node
judge "SQLite: a node of another directory is another node" says '^[0-9]+$' draw_with "node=3 dir=$dir/others"
judge "SQLite: the holder goes on" ask_holder 'SELECT flake_next();'
judge "SQLite: the holder is killed with kill -9" let_go -9
is_later() { # TEXT NODE: an id of it, after the killed holder's
    local id
    id=$(draw_with "$1") && [ "$id" -gt "$answer" ] && [ "$(node_of "$id")" = "$2" ] ||
        { echo "  $id of $(node_of "$id") after $answer of 3"; false; }
}
judge "SQLite: its horizon has not passed: a range has another node" is_later "node=3-4 dir=$dir/nodes" 4
judge "SQLite: the node goes on after its ids, when it has passed" is_later "$three" 3

# A node that was not closed would have to wait for a minute.
a_minute="node=5 dir=$dir/nodes horizon_ms=60000"
goes_on_at_once() {
    local before after
    before=$(draw_with "$a_minute") && after=$(FLAKE_CONFIG=$a_minute timeout 30 sqlite3 -cmd ".load $dir/flake" "$dir/db" 'SELECT flake_next()') &&
        [ "$after" -gt "$before" ]
}
judge "SQLite: a process that ends leaves its node to the next at once" goes_on_at_once
put_clock_back 600000
draw_in_the_past() { "${with_clock_back[@]}" env FLAKE_CONFIG="$three" sqlite3 -cmd ".load $dir/flake" "$dir/db" 'SELECT flake_next()'; }
judge "SQLite: a clock that went backwards since then is refused" says 'FLAKE_CONFIG: .*3.slot: is from the future' draw_in_the_past
put_clock_back 0
judge "SQLite: and the node goes on when it is right again" is_later "$three" 3

refuses() { # WHY WORDS...: each alone
    local why=$1 word
    shift
    for word; do FLAKE_CONFIG=$word says "FLAKE_CONFIG: $why" query 'SELECT 1' || return 1; done
}
has_times() { # of a layout each: an ID's time is now
    local text
    for text in "" twitter layout=discord "layout=39-8-16 unit_ms=10 epoch_ms=1577836800000"; do
        FLAKE_CONFIG="$text node=7 dir=none" is "1|1" "SELECT abs(flake_time(flake_next()) - $(ms_now)) < 60000, flake_time(flake_min(1700000000000 + 100000000000)) = 1800000000000" || return 1
    done
    FLAKE_CONFIG="node=7 dir=none" is 1735689600000 'SELECT flake_time(7 << 12)'
}
unconfigured() { # WANTED SQL
    local FLAKE_CONFIG=
    unset FLAKE_CONFIG
    says "$1" query "$2"
}
judge "SQLite: without a node there is no id, and why" unconfigured "flake_next: FLAKE_CONFIG: config: $no_node" 'SELECT flake_next()'
judge "SQLite: but a UUID" unconfigured '^.{8}-.{4}-7' 'SELECT uuid7()'
judge "SQLite: and the time of an id" unconfigured '^1735689600123$' 'SELECT flake_time(flake_min(1735689600123))'
judge "SQLite: a configuration without a node is refused" refuses "config: $no_node" clock=fast twitter dir=none "dir=$dir/nodes"
judge "SQLite: a node that nothing checks, unless the text says so" refuses "$unchecked" node=7 "twitter node=7"
judge "SQLite: the layout is the default, and any other can be named" has_times
judge "SQLite: a layout without a node needs none" says '^[0-9]+$' env FLAKE_CONFIG=mastodon sqlite3 -bail -cmd ".load $dir/flake" "$dir/db" 'SELECT flake_next()'
judge "SQLite: a node too large is refused, and why" refuses '.*above 1023' "node=1024 dir=none"
judge "SQLite: so is a range" refuses '.*above 1023' "node=0-1024 dir=$dir/nodes"
judge "SQLite: a range that nothing checks" refuses 'config: node: a range needs dir=DIR' "node=0-9 dir=none"
judge "SQLite: a directory whose parent is missing" refuses "$dir/no/ids: cannot be created: .*No such" "node=1 dir=$dir/no/ids"
judge "SQLite: no number is no node" refuses 'config: node: "one" is neither a number nor a range' node=one
judge "SQLite: a word that does not exist" refuses 'config: nod: no such option' nod=3
judge "SQLite: what is not for it" refuses 'takes no |.*lanes is missing' "${refused_words[@]}" "node=1 dir=none single_thread" "node=1 dir=none max_ahead_ms=1" \
    "node=1 dir=$dir/nodes manual_extend"
judge "SQLite: what is no id has no time" says 'flake_time: not an id' query 'SELECT flake_time(-1)'
judge "SQLite: the time of NULL is NULL" is "" 'SELECT flake_time(NULL)'
close_with_counts
