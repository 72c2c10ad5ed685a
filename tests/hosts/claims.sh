#!/bin/bash
# SPDX-License-Identifier: MIT
#
# claims.sh   examples/postgresql_claim.c with a PostgreSQL server of its own: processes with different clocks claim from
# pools that are smaller than their number, while holders are killed with kill -9, stopped and cut off, statements and
# answers are lost, the server crashes, and fails over to a replica. No ID comes twice.
host="PostgreSQL claims"
. tests/hosts/drive.sh
. tests/hosts/cluster.sh
libpq=/usr/include/postgresql
[ -e "$libpq/libpq-fe.h" ] || libpq=$(pg_config --includedir 2> /dev/null)
[ -e "$libpq/libpq-fe.h" ] || skip libpq-dev

make_folder "$dir/pg"
make_folder "$dir/replica"
declare -A pids=() # of the processes that claim, by name
stop_host() {
    [ ${#pids[@]} = 0 ] || kill -9 "${pids[@]}" 2> /dev/null
    stop_cluster "$dir/pg"
    stop_cluster "$dir/replica"
}
server=$dir/pg
query() { query_in "$server" -c "$1"; }
crash() { stop_cluster "$server" && start_cluster "$server"; }
conninfo="host=$dir/pg,$dir/replica user=tester dbname=postgres target_session_attrs=read-write"

build() { # SOURCE OUTPUT
    # shellcheck disable=SC2086
    ${COMPILE:-cc -std=c11 -pedantic -Wall -Wextra -Werror -O2 -pthread -I.} -isystem "$libpq" "$1" -o "$2" ${LDLIBS-} -lpq
}
build_as_cxx() {
    # shellcheck disable=SC2086
    $cxx -isystem "$libpq" -x c++ examples/postgresql_claim.c -o "$dir/example_cxx" ${LDLIBS-} -lpq
}
judge "claims: the example compiles without a warning" build examples/postgresql_claim.c "$dir/example" || close_with_counts
cxx=${COMPILE_CXX:-c++ -std=c++11 -pedantic -Wall -Wextra -Werror -O2 -pthread -I.}
! command -v "${cxx%% *}" > /dev/null || judge "claims: as C++, too" build_as_cxx
judge "claims: so do the processes of this test" build tests/hosts/claims.c "$dir/claims" || close_with_counts
judge "claims: the clock that can be put back compiles" compile_clock_back || close_with_counts

# The server's defaults are those that lose commits in a crash: a claim must not depend on them.
make_cluster "$server"
cat >> "$server/cluster/postgresql.conf" << END
listen_addresses = ''
unix_socket_directories = '$server'
fsync = off
synchronous_commit = off
wal_writer_delay = 10s
END
judge "claims: the server starts" start_cluster "$server" || close_with_counts
sed -n 's/^ \*     \(CREATE TABLE.*\)/\1/p; s/^ \*     \(INSERT.*\)/\1/p' examples/postgresql_claim.c > "$dir/table.sql"
create_table() { query "$(cat "$dir/table.sql")" && [ "$(query 'SELECT count(*) FROM flake_nodes')" = 1024 ]; }
judge "claims: the table is made by the comment's commands" create_table
judge "claims: the example prints an ID" says 'of node [0-9]' "$dir/example" "$conninfo"

begin() { # NAME BACK_MS [lossy|forks|MS]: a process whose clock is so far back; its IDs are added to NAME.ids
    printf '%-16d' "$2" > "$dir/$1.back"
    env "CLOCK_BACK=$dir/$1.back" "LD_PRELOAD=$dir/clock_back.so" "$dir/claims" "$conninfo" "$dir/$1" ${3-} > "$dir/$1.out" 2>&1 &
    pids[$1]=$!
    eventually [ -e "$dir/$1.said" ] # before it is executed, this shell's trap would take its SIGTERM
}
put_back() { printf '%-16d' "$2" 1<> "$dir/$1.back"; } # NAME MS
end_by() { # SIGNAL NAME...
    local signal=$1 name code=0
    shift
    for name; do
        kill "-$signal" "${pids[$name]}" && wait "${pids[$name]}" 2> /dev/null
        case $?/$signal in 0/TERM | 143/TERM | 137/KILL) ;; # 143: it had just begun
        *) echo "  $name: $(cat "$dir/$name.out")"; code=1 ;; esac
        unset "pids[$name]"
    done
    return $code
}
last_said() { tail -n 1 "$dir/$1.said" 2> /dev/null; } # NAME
has_said() { grep -q "$2" "$dir/$1.said"; }            # NAME PATTERN
draws() { [[ $(last_said "$1") == "draws "* ]]; }      # NAME: and has an ID of its claim
lines() { wc -l < "$dir/$1.ids" 2> /dev/null || echo 0; }
more_than() { [ "$(lines "$1")" -gt "$2" ]; } # NAME COUNT
draws_on() { local count; count=$(lines "$1") && eventually more_than "$1" $((count + ${2:-20})); } # NAME [COUNT]
more_than_of() { # COUNT NAME...
    local sum=0 name
    for name in "${@:2}"; do sum=$((sum + $(lines "$name"))); done
    [ $sum -gt "$1" ] || { of_all=$sum; false; }
}
go_on() { more_than_of 1000000000 "${@:2}" || eventually more_than_of $((of_all + $1)) "${@:2}"; } # COUNT NAME...: together
number_of() { last_said "$1" | sed 's/[^0-9]//g'; } # NAME: of the number that it draws with

# New numbers, so that no scene has IDs of another one. All processes of the scene before have ended.
next_number=0
pool() { # SIZE
    query "SET synchronous_commit = on; DELETE FROM flake_nodes;
        INSERT INTO flake_nodes SELECT generate_series($next_number, $((next_number + $1 - 1)))" || return
    next_number=$((next_number + $1))
}
seen_twice=0
all_differ() { # of all scenes so far; fails if there are more duplicates than before
    local before=$seen_twice
    seen_twice=$(cat "$dir"/*.ids | sort | uniq -d | wc -l)
    [ "$seen_twice" = "$before" ] || { echo "  $((seen_twice - before)) IDs twice"; false; }
}

# ---- many at once ----

at_once() { # the table is locked until all wait for it
    local i locker numbers
    query "DO \$\$ BEGIN LOCK TABLE flake_nodes; WHILE (SELECT count(*) FROM pg_locks
        WHERE relation = 'flake_nodes'::regclass AND NOT granted) < 8 LOOP PERFORM pg_sleep(0.01); END LOOP; END \$\$" &
    locker=$!
    for i in {1..8}; do begin "once$i" 0 5000; done
    wait $locker || return
    for i in {1..8}; do eventually draws "once$i" || return; done
    numbers=$(for i in {1..8}; do number_of "once$i"; done | sort -u | wc -l)
    [ "$numbers" = 8 ] || { echo "  8 processes hold $numbers numbers"; return 1; }
}
judge "claims: 8 at once have 8 numbers" eval 'pool 8 && at_once'
begin late 0
judge "claims: a ninth is told that all are taken" eventually has_said late 'claim: flake_nodes: all numbers are taken'
judge "claims: a release" end_by TERM once1
judge "claims: and the ninth has the number" eventually draws late
judge "claims: all end" end_by KILL late once{2..8}
judge "claims: no ID twice" all_differ

# ---- killed holders, a crashing server, clocks that differ ----

# 6 processes for 3 numbers: a killed holder's is free when its horizon has passed, and one that waits takes it.
clocks=(0 1000 -1000 0 1500 -500)
holder() { # one that draws
    local i
    for i in {0..5}; do ! draws "kill$i" || { echo "$i"; return; }; done
    return 1
}
begin_kill() { # I: anew, with what it said before in another file
    cat "$dir/kill$1.said" >> "$dir/kill.history" 2> /dev/null
    rm -f "$dir/kill$1.said"
    begin "kill$1" "${clocks[$1]}"
}
kills() {
    local i victim
    for i in {0..5}; do begin_kill "$i"; done
    for i in {1..15}; do
        eventually holder > /dev/null || { echo "  nobody holds a number"; return 1; }
        victim=$(holder) && draws_on "kill$victim" || continue
        end_by KILL "kill$victim" || return
        [ $((i % 5)) != 0 ] || crash || return
        begin_kill "$victim"
    done
    end_by TERM kill{0..5}
}
judge "claims: 15 holders are killed, and the server crashes 3 times" eval 'pool 3 && kills'
cat "$dir"/kill?.said >> "$dir/kill.history"
are_reused() {
    local n
    for n in $((next_number - 3)) $((next_number - 2)) $((next_number - 1)); do
        [ "$(grep -c "^claimed $n$" "$dir/kill.history")" -gt 3 ] || return
    done
}
judge "claims: the numbers are reused" are_reused
judge "claims: no ID twice" all_differ

# ---- a holder that is stopped past its claim ----

stopped() {
    begin stopped 0
    eventually draws stopped || return
    begin heir 200
    kill -STOP "${pids[stopped]}"
    eventually draws heir && draws_on heir || return
    kill -CONT "${pids[stopped]}"
    eventually has_said stopped '^lost' && go_on 300 stopped heir
}
judge "claims: a holder is stopped until another has its number, and is told that it lost it" eval 'pool 1 && stopped'
judge "claims: no ID twice" all_differ
judge "claims: both end" end_by TERM stopped heir

# ---- clocks ----

is_behind() { [[ $(last_said "$1") == "draws: the clock is behind"* ]]; } # NAME

ahead() {
    begin ahead -3000
    eventually draws ahead && draws_on ahead 500 && end_by KILL ahead || return
    begin slow 2000
    eventually is_behind slow && eventually draws slow && draws_on slow 300
}
judge "claims: after a holder whose clock was ahead, one whose clock is slow waits" eval 'pool 1 && ahead'
judge "claims: no ID twice" all_differ
steps() {
    put_back slow -2000
    draws_on slow 300 && put_back slow 1000 && eventually is_behind slow && eventually draws slow && draws_on slow 300
}
judge "claims: the clock of a holder steps forwards and backwards" steps
judge "claims: no ID twice" all_differ
judge "claims: it releases the number, and has no ID after that" eval "end_by TERM slow && has_said slow 'then: the claim .* lost'"
released() {
    begin slower 6000 5000
    eventually is_behind slower && eventually draws slower || return
    begin rival 0
    draws_on slower 1500 && ! has_said rival ^claimed
}
judge "claims: the next holder starts after its IDs, and keeps the number, though its clock is slow" released
judge "claims: no ID twice" all_differ
judge "claims: both end" end_by KILL slower rival

is_stored_for_longer_than() { # S: by the server's clock
    [ "$(query "SELECT max(horizon_ns) > (extract(epoch FROM clock_timestamp()) + $1) * 1000000000 FROM flake_nodes")" = t ]
}
wrong() {
    begin wrong 0
    eventually draws wrong && put_back wrong -600000 && eventually is_stored_for_longer_than 55 && end_by KILL wrong &&
        ! is_stored_for_longer_than 65
}
judge "claims: a holder whose clock steps 10 minutes ahead blocks the number for a minute" eval 'pool 1 && wrong'
refused() { begin refused -600000 && eventually has_said refused 'claim: .*this clock is more than a minute ahead'; }
judge "claims: such a clock is refused" eval 'pool 1 && refused'
judge "claims: it ends" end_by TERM refused
begin parent 0 forks
judge "claims: a forked child has no claim" eventually has_said parent 'a child: .*inherited'
judge "claims: its parent ends" end_by TERM parent

# ---- what was committed, and what was not ----

crashes() { # at once after a claim: a server that had not written it would give the number again
    begin before 0 5000
    eventually draws before && crash || return
    begin after 500
    draws_on before 500 && end_by KILL before && eventually draws after && draws_on after
}
judge "claims: the server crashes after a claim, and keeps it" eval 'pool 1 && crashes'
judge "claims: no ID twice" all_differ
judge "claims: it releases" end_by TERM after

no_server() { # past the horizon
    local code
    begin alone 0
    eventually draws alone && begin next 800 && stop_cluster "$server" && eventually has_said alone 'draws: '
    code=$?
    start_cluster "$server" && eventually either_draws && go_on 500 alone next && [ $code = 0 ]
}
either_draws() { draws alone || draws next; }
judge "claims: without a server IDs end at the horizon, and go on after it" eval 'pool 1 && no_server'
judge "claims: no ID twice" all_differ
judge "claims: both end" end_by KILL alone next

lossy() { # statements and answers
    local i
    for i in {1..4}; do begin "lossy$i" $((i * 300)) lossy; done
    for i in {1..20}; do
        query "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()" > "$dir/log" 2>&1
        go_on 200 lossy{1..4} || return
    done
}
judge "claims: statements and answers are lost, and connections cut" eval 'pool 3 && lossy'
judge "claims: no ID twice" all_differ
judge "claims: all end" end_by KILL lossy{1..4}

# ---- failover ----

is_synchronous() { [ "$(query "SELECT sync_state FROM pg_stat_replication")" = sync ]; }
replicate() {
    $as_owner "$bin/pg_basebackup" -h "$server" -U tester -D "$dir/replica/cluster" -R -c fast > "$dir/log" 2>&1 || { cat "$dir/log"; return 1; }
    echo "unix_socket_directories = '$dir/replica'" >> "$dir/replica/cluster/postgresql.conf"
    start_cluster "$dir/replica" && query "ALTER SYSTEM SET synchronous_standby_names = '*'" &&
        query "SELECT pg_reload_conf()" > "$dir/log" && eventually is_synchronous
}
judge "claims: a synchronous replica follows" replicate
all_moved() { [ "$(query "SELECT count(*) FROM flake_nodes WHERE horizon_ns > $1")" = 3 ]; } # SINCE
fails_over() { # before others claim, the holders extend by the new primary
    local i latest
    for i in {1..3}; do begin "over$i" $((i * 400)) 15000; done
    eventually draws over1 && eventually draws over2 && eventually draws over3 || return
    stop_cluster "$server"
    $as_owner "$bin/pg_ctl" -D "$dir/replica/cluster" -w promote > "$dir/log" || return
    server=$dir/replica
    latest=$(query "SELECT max(horizon_ns) FROM flake_nodes") && eventually all_moved "$latest" || return
    for i in {4..6}; do begin "over$i" $((i * 400)); done
    for i in {1..3}; do eventually draws "over$i" && draws_on "over$i" 1500 || { tail -n 3 "$dir/over$i.said"; return 1; }; done
    end_by KILL over{1..3} && for i in {4..6}; do eventually draws "over$i" || return; done
}
judge "claims: the primary dies, the replica is promoted, and holders go on" eval 'pool 3 && fails_over'
judge "claims: all end" end_by TERM over{4..6}
judge "claims: no ID twice" all_differ
count=$(cat "$dir"/*.ids | wc -l)
echo "  $count IDs"
judge "claims: there were many IDs" [ "$count" -gt 20000 ]
close_with_counts
