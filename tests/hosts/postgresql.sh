#!/bin/bash
# SPDX-License-Identifier: MIT
#
# postgresql.sh   postgresql.c in a server of its own: eight clients insert rows whose ids are column
# defaults, while the server is killed with kill -9, its clock put back, a backend killed and the
# worker ended. No id comes twice, and those of a backend rise. Then a second cluster that shares the
# directory. At the end what an id takes.
host=PostgreSQL
. tests/hosts/drive.sh
. tests/hosts/cluster.sh
headers=$("$bin/pg_config" --includedir-server 2> /dev/null)
[ -e "$headers/postgres.h" ] || skip postgresql-server-dev-all

make_folder "$dir/pg"
folder=$dir/pg cluster=$dir/pg/cluster
stop_host() { stop_cluster "$dir/pg"; }

judge "PostgreSQL: fewer than 225 lines" is_short postgresql.c
judge "PostgreSQL: compiles without a warning" compile "$module/postgresql.c" "$dir/pg/flake_ids.so" -isystem "$headers" || close_with_counts
judge "the clock that can be put back compiles" compile_clock_back || close_with_counts
make_cluster "$dir/pg"
cat >> "$cluster/postgresql.conf" << END
dynamic_library_path = '$dir/pg'
shared_preload_libraries = 'flake_ids'
flake.config = 'node=3 dir=flake_ids'
listen_addresses = ''
unix_socket_directories = '$dir/pg'
fsync = off
END

clock=("${with_clock_back[@]}")
start() { start_cluster "$folder" "${clock[@]}"; }
query() { query_in "$dir/pg" "$@"; }
is() { # WANTED SQL
    local got
    got=$(query -c "$2") && [ "$got" = "$1" ] || { echo "  wanted $1, got $got"; false; }
}
run=0 clients=8
insert() { # PGBENCH_OPTION...: of a new run
    run=$((run + 1))
    "$bin/pgbench" -h "$dir/pg" -U tester -n -c $clients -j 2 -D run=$run -f "$dir/insert.sql" "$@" postgres > "$dir/pgbench" 2>&1
}
a_run_more() { # 32,000 rows
    insert -t 200 || { grep -m 1 error "$dir/pgbench"; return 1; }
    is $((clients * 200 * 20)) "SELECT count(*) FROM ids WHERE run = $run"
}
are_gone() {
    local pid
    for pid; do ! kill -0 "$pid" 2> /dev/null || return 1; done
}
kill_all() {
    local server all
    server=$(head -n 1 "$cluster/postmaster.pid")
    kill -STOP "$server" # it starts no other child
    # shellcheck disable=SC2207
    all=("$server" $(children "$server"))
    kill -9 "${all[@]}" && eventually are_gone "${all[@]}" && [ ${#all[@]} -gt $clients ]
}
has_rows() { [ "$(query -c "SELECT count(*) FROM ids WHERE run = $1")" -ge "$2" ]; }

does_not_start() { # WHY TEXT...: each alone
    local why=$1 text
    shift
    for text; do
        says "flake.config: $why" timeout $patience $as_owner "$bin/postgres" -D "$cluster" -c flake.config="$text" || return 1
    done
}
judge "PostgreSQL: a node too large is refused, and why" does_not_start '.*above 1023' "node=1024 dir=none"
judge "PostgreSQL: a node that is no partition" does_not_start '.*above 65535' "layout=31-20-12 epoch_ms=1735689600000 node=65536 dir=none"
judge "PostgreSQL: no number is no node" does_not_start 'config: node: "one" is neither a number nor a range' 'clock=fast node=one'
judge "PostgreSQL: what is not for it" does_not_start 'takes no |.*lanes is missing|.*with shared_memory' "${refused_words[@]}" "node=1 dir=none single_thread" \
    "node=1 dir=none max_wait_ms=1" "node=1 dir=flake_ids horizon_ms=5000"
judge "PostgreSQL: a configuration without a node" does_not_start "config: $no_node" clock=fast
judge "PostgreSQL: a node that nothing checks, unless the text says so" does_not_start "$unchecked" node=7
judge "PostgreSQL: a trial of the configuration leaves the directory alone" [ ! -e "$cluster/flake_ids" ]
judge "PostgreSQL: starts with the extension" start || close_with_counts
judge "PostgreSQL: its functions are made" query -f "$module"/postgresql.sql
query -c 'CREATE TABLE ids (id bigint PRIMARY KEY DEFAULT flake_next(), sno text COLLATE "C" UNIQUE DEFAULT sno_next(42),
    uuid uuid UNIQUE DEFAULT uuid7(), run int, backend int DEFAULT pg_backend_pid(), turn bigserial)'
echo 'INSERT INTO ids (run) SELECT :run FROM generate_series(1, 20)' > "$dir/insert.sql"
from_ms=$(ms_now)
judge "PostgreSQL: $clients clients insert" a_run_more
to_ms=$(ms_now)
judge "PostgreSQL: the times of the ids are those of the run, and the node is that of flake.config" is t \
    "SELECT min(id >> 22) + 1735689600000 >= $from_ms AND max(id >> 22) + 1735689600000 <= $to_ms
        AND min(id >> 12 & 1023) = 3 AND max(id >> 12 & 1023) = 3 FROM ids"
judge "PostgreSQL: a name beside flake.config is refused" says 'invalid configuration parameter name "flake.node"' query -c 'SET flake.node = 3'
judge "PostgreSQL: a UUID is of version 7" is t "SELECT bool_and(uuid::text ~ '^.{8}-.{4}-7.{3}-[89ab]') FROM ids"
judge "PostgreSQL: a meta that is no byte is refused" says 'meta is 0 to 255' query -c 'SELECT sno_next(256)'

insert -T 3600 & # it is killed
inserting=$!
run=$((run + 1))
judge "PostgreSQL: inserts go on" eventually has_rows $run 20000
judge "PostgreSQL: is killed with kill -9, and all its children" kill_all || close_with_counts
wait $inserting
put_clock_back 600000
judge "PostgreSQL: starts again, the clock put back by 10 minutes" start || close_with_counts
judge "PostgreSQL: the worker refuses to begin" eventually grep -q 'flake_ids: .* is from the future' "$cluster/log"
judge "PostgreSQL: an id waits for it, and can be cancelled" says 'canceling statement due to statement timeout' \
    query -c "SET statement_timeout = 500; SELECT flake_next()"
put_clock_back 2000
judge "PostgreSQL: $clients clients insert after that" a_run_more

worker() { # its pid
    local pid
    for pid in $(children "$(head -n 1 "$cluster/postmaster.pid")"); do
        ! grep -q 'postgres: flake_ids' "/proc/$pid/cmdline" 2> /dev/null || echo "$pid"
    done
}
another_worker() { # PID
    local pid
    pid=$(worker)
    [ -n "$pid" ] && [ "$pid" != "$1" ]
}
crash() { # a client's backend is killed: the server throws its shared memory away, and begins anew
    local before
    before=$(worker)
    query -c "COPY (SELECT pg_backend_pid()) TO PROGRAM 'xargs kill -9'" > /dev/null 2>&1
    [ -n "$before" ] && eventually another_worker "$before" && eventually query -o /dev/null -c 'SELECT 1'
}
judge "PostgreSQL: a backend is killed, and the server begins anew" crash
judge "PostgreSQL: $clients clients insert after that" a_run_more

stopped=$(worker)
is_cancelled() { # CALL: it waits
    query -c "SET statement_timeout = 500; SELECT $1" 2>&1 | grep -q 'canceling statement due to statement timeout'
}
judge "PostgreSQL: the worker stands still" kill -STOP "$stopped"
judge "PostgreSQL: past the horizon an id waits for it, and can be cancelled" eventually is_cancelled 'flake_next()'
judge "PostgreSQL: so does a sno" eventually is_cancelled 'sno_next(42)'
judge "PostgreSQL: the worker goes on" kill -CONT "$stopped"
judge "PostgreSQL: $clients clients insert after that" a_run_more

end_the_worker() {
    local before
    before=$(worker)
    [ -n "$before" ] && kill "$before" && eventually another_worker "$before"
}
judge "PostgreSQL: the worker is ended, and another takes its place" end_the_worker
# A ms has 4,096: these last longer than the horizon that the first worker wrote.
judge "PostgreSQL: and extends the horizon" is 10000000 \
    "SELECT count(flake_next()) FROM generate_series(1, 10000000)"
judge "PostgreSQL: $clients clients insert after that" a_run_more

put_clock_back 600000
judge "PostgreSQL: a query that waits for a clock put back can be cancelled" \
    says 'canceling statement due to statement timeout' query -c "SET statement_timeout = 500; SELECT flake_next()"
put_clock_back 0
judge "PostgreSQL: and the next has its id when the clock is right again" \
    query -o /dev/null -c 'SELECT flake_next()'

judge "PostgreSQL: no id, sno and UUID twice" is t \
    'SELECT count(*) > 100000 AND count(*) = count(DISTINCT id) AND count(*) = count(DISTINCT sno) AND count(*) = count(DISTINCT uuid) FROM ids'
judge "PostgreSQL: those of a backend rise" is "0|0|0" \
    'SELECT count(*) FILTER (WHERE id <= id_before), count(*) FILTER (WHERE sno <= sno_before),
        count(*) FILTER (WHERE uuid <= uuid_before)
    FROM (SELECT id, sno, uuid, lag(id) OVER w AS id_before, lag(sno) OVER w AS sno_before, lag(uuid) OVER w AS uuid_before
        FROM ids WINDOW w AS (PARTITION BY run, backend ORDER BY turn)) AS by_turn'
judge "PostgreSQL: each run's ids are greater than all before it" is $((run - 1)) \
    'SELECT count(*) FROM (SELECT min(id) > lag(max(id)) OVER (ORDER BY run) AS rises FROM ids GROUP BY run) AS runs WHERE rises'

# The state files keep this horizon; the node that follows has others.
put_clock_back -2207520000000
judge "PostgreSQL: a clock past the layout's end is an error for the operator" \
    says '58000: flake_next: ' query -v VERBOSITY=verbose -c 'SELECT flake_next()'
judge "PostgreSQL: of a sno, too" says '58000: sno_next: ' query -v VERBOSITY=verbose -c 'SELECT sno_next(42)'

start_anew() {
    $as_owner "$bin/pg_ctl" -D "$cluster" -m fast stop > "$dir/log" || return 1
    clock=()
    start
}
echo "flake.config = 'node=4 dir=flake_ids'" >> "$cluster/postgresql.conf"
judge "PostgreSQL: stops, and starts as another node, with the system's clock" start_anew
judge "PostgreSQL: and goes on" is "t" \
    'SELECT flake_next() > max(id) AND sno_next(42) > max(sno) AND flake_next() >> 12 & 1023 = 4 FROM ids'

start_by_a_path() { # without a node
    $as_owner "$bin/pg_ctl" -D "$cluster" -m fast stop > "$dir/log" || return 1
    mkdir "$dir/pg/elsewhere" && mv "$dir/pg/flake_ids.so" "$dir/pg/elsewhere/by_a_path.so" || return 1
    printf "shared_preload_libraries = '%s'\nflake.config = '%s'\n" "$dir/pg/elsewhere/by_a_path" "$1" >> "$cluster/postgresql.conf"
    start
}
functions_by_the_path() {
    sed "s|CREATE|CREATE OR REPLACE|; s|'flake_ids'|'$dir/pg/elsewhere/by_a_path'|" "$module"/postgresql.sql > "$dir/by_a_path.sql" &&
        query -f "$dir/by_a_path.sql"
}
judge "PostgreSQL: starts with the extension at a path, without a configuration" start_by_a_path ''
judge "PostgreSQL: its functions are made" functions_by_the_path
judge "PostgreSQL: without a node there is no id, and why" says "58000: flake_next: flake.config: config: $no_node" \
    query -v VERBOSITY=verbose -c 'SELECT flake_next()'
judge "PostgreSQL: but a sno, of a worker that was found at the path" says '^.{16}$' query -c 'SELECT sno_next(42)'
judge "PostgreSQL: and a UUID" says '^.{8}-.{4}-7' query -c 'SELECT uuid7()'
start_with_a_node() {
    $as_owner "$bin/pg_ctl" -D "$cluster" -m fast stop > "$dir/log" || return 1
    echo "flake.config = 'node=4 dir=flake_ids'" >> "$cluster/postgresql.conf"
    start
}
judge "PostgreSQL: starts with a node" start_with_a_node
judge "PostgreSQL: and goes on" is t 'SELECT flake_next() > max(id) FROM ids'
slot=$cluster/flake_ids/4.slot
hide_the_state() { mv "$slot" "$cluster/hidden" && mkdir "$slot"; }
judge "PostgreSQL: stops" $as_owner "$bin/pg_ctl" -D "$cluster" -m fast stop -s
judge "PostgreSQL: the state cannot be opened" hide_the_state
judge "PostgreSQL: starts" start
judge "PostgreSQL: an id is an error after a while, which says where the reason is" \
    says '58000: flake_next: the worker cannot begin: .* log' query -v VERBOSITY=verbose -c 'SELECT flake_next()'
show_the_state() { rmdir "$slot" && mv "$cluster/hidden" "$slot"; }
judge "PostgreSQL: the state can be opened" show_the_state
judge "PostgreSQL: and goes on" is t 'SELECT flake_next() > max(id) FROM ids'

# Two clusters that share a directory.
shares() { # TEXT: the first one does
    $as_owner "$bin/pg_ctl" -D "$cluster" -m fast stop > "$dir/log" && echo "flake.config = '$1'" >> "$cluster/postgresql.conf" && start
}
second() { # COMMAND...: of the other cluster
    local folder=$dir/pg/other
    "$@"
}
start_another() { # TEXT
    $as_owner "$bin/pg_ctl" -D "$cluster" -m fast stop > "$dir/log" || return 1
    make_folder "$dir/pg/other" && cp -a "$cluster" "$dir/pg/other" && start && echo "port = 5433
flake.config = '$1'" >> "$dir/pg/other/cluster/postgresql.conf" && second start
}
of_other() { PGPORT=5433 "$@"; }
stop_host() {
    stop_cluster "$dir/pg"
    stop_cluster "$dir/pg/other"
}
both="dir=$dir/pg/both"
judge "PostgreSQL: a cluster takes its node from a directory of several" shares "node=3 $both"
judge "PostgreSQL: a second cluster with this node starts" start_another "node=3 $both"
judge "PostgreSQL: its worker refuses to begin, and why" eventually grep -qE "FATAL: *flake_ids: $is_taken" "$dir/pg/other/cluster/log"
judge "PostgreSQL: no id of its" of_other says 'flake_next: the worker cannot begin' query -c 'SELECT flake_next()'
judge "PostgreSQL: the first has ids" is 3 'SELECT flake_next() >> 12 & 1023'
start_with_a_range() {
    $as_owner "$bin/pg_ctl" -D "$dir/pg/other/cluster" -m fast stop > "$dir/log" && echo "flake.config = 'node=3-4 $both'" >> "$dir/pg/other/cluster/postgresql.conf" &&
        second start
}
judge "PostgreSQL: the second cluster has a range" start_with_a_range
judge "PostgreSQL: and another node" of_other is 4 'SELECT flake_next() >> 12 & 1023'
judge "PostgreSQL: of its snos, too" [ -e "$dir/pg/both/snos/4.slot" ]
judge "PostgreSQL: the first has ids" is 3 'SELECT flake_next() >> 12 & 1023'

# What an id takes here: no assertion, the machine may be busy. flake_next has 4,096 a ms, 244 ns each.
query -c 'CREATE SEQUENCE numbers'
for call in "nextval('numbers')" 'gen_random_uuid()' 'flake_next()' 'uuid7()' 'sno_next(42)'; do
    query -c '\timing on' -c "SELECT count($call) FROM generate_series(1, 1000000)" |
        awk -v call="$call" '/^Time/ {printf "  %-20s %5.0f ns\n", call, $2}'
done
close_with_counts
