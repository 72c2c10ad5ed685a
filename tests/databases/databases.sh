#!/bin/bash
# SPDX-License-Identifier: MIT
#
# databases.sh   stores IDS IDs of each kind in SQLite and in PostgreSQL, reads them back in order, and
# scans time ranges: 64-bit flakes as bigint; 128-bit ones, UUIDs of version 7 and snos as bytes and as
# uuid. The IDs are loaded in another order than they were generated in. Then UUIDs of version 7 and of
# version 4 (random) are inserted in the order of generation, and the sizes of their indexes are printed.
build=${BUILD:-build}
count=${IDS:-1000000}
kinds="bigint flake_bytes sno_bytes uuid7_bytes flake_uuid sno_uuid uuid7"
. tests/scripts/judge.sh
as_owner=
dir=$(mktemp -d)
end() {
    [ ! -f "$dir/postgresql/cluster/postmaster.pid" ] || $as_owner "$bin/pg_ctl" -D "$dir/postgresql/cluster" -m immediate stop > /dev/null
    rm -rf "$dir"
}
trap end EXIT
trap 'exit 1' INT TERM

same() { # FILE EXPECTED
    cmp "$1" "$2" || { diff "$1" "$2" | head -3; return 1; }
}

# The same lines in another order, to load.
mix() { shuf --random-source="$dir/$kind.made" "$dir/$kind.made"; }

# A database implements: load, query SQL, literal TEXT, shown, by_index SQL.
check_kinds() { # DATABASE
    for kind in $kinds; do
        local window least greatest range
        judge "$1, $kind: loads" load || continue
        judge "$1, $kind: has all IDs" [ "$(query 'SELECT count(DISTINCT id) FROM ids')" = "$count" ]
        query "SELECT number, $(shown) FROM ids ORDER BY id" > "$dir/read"
        judge "$1, $kind: gives them back in the order of their making" same "$dir/read" "$dir/$kind.made"
        while IFS=, read -r window least greatest; do
            range="FROM ids WHERE id BETWEEN $(literal "$least") AND $(literal "$greatest")"
            query "SELECT number, $(shown) $range ORDER BY id" > "$dir/read"
            judge "$1, $kind: range of time, $window, $(wc -l < "$dir/$kind.$window") IDs" \
                same "$dir/read" "$dir/$kind.$window"
            [ "$window" != some_time ] || judge "$1, $kind: the range is found by the index" \
                by_index "SELECT number $range"
        done < "$dir/$kind.ranges"
    done
}

# In terms of: insert FILE, index_bytes. Sets $rising and $random.
index_sizes() { # DATABASE
    local made bytes
    for made in uuid7 random; do
        judge "$1, $made: is inserted in the order of making" insert "$dir/$made.made"
        judge "$1, $made: has all IDs" [ "$(query 'SELECT count(DISTINCT id) FROM ids')" = "$count" ]
        bytes=$(index_bytes)
        case $made in uuid7) rising=$bytes ;; random) random=$bytes ;; esac
    done
    echo "  the index of $count UUIDs: $((rising / 1024)) KiB of version 7, $((random / 1024)) KiB of version 4"
    judge "$1: has an index of each" [ "$((rising < random ? rising : random))" -gt 0 ]
}

sqlite() {
    query() { sqlite3 -csv -newline $'\n' "$dir/sqlite" "$1"; }
    load() {
        rm -f "$dir/sqlite"
        case $kind in
        bigint) query "CREATE TABLE ids (number INTEGER, id INTEGER PRIMARY KEY)" ;;
        *_bytes) query "CREATE TABLE ids (number INTEGER, id BLOB PRIMARY KEY) WITHOUT ROWID" ;;
        *) query "CREATE TABLE ids (number INTEGER, id TEXT PRIMARY KEY) WITHOUT ROWID" ;;
        esac || return 1
        mix > "$dir/mixed"
        case $kind in
        *_bytes)
            sed "1s/^/BEGIN;/; s/\\([0-9]*\\),\\(.*\\)/INSERT INTO ids VALUES (\\1,X'\\2');/; \$s/\$/COMMIT;/" "$dir/mixed" |
                sqlite3 "$dir/sqlite"
            ;;
        *) sqlite3 -csv "$dir/sqlite" ".import $dir/mixed ids" ;;
        esac
    }
    literal() {
        case $kind in
        bigint) echo "$1" ;;
        *_bytes) echo "X'$1'" ;;
        *) echo "'$1'" ;;
        esac
    }
    shown() { case $kind in *_bytes) echo "lower(hex(id))" ;; *) echo id ;; esac; }
    by_index() { query "EXPLAIN QUERY PLAN $1" | grep -q 'SEARCH ids USING.*PRIMARY KEY'; }
    check_kinds SQLite
    # The file has only the index. SQLite balances neighbouring pages of an index, so one of random keys
    # is as full as one of rising keys: the two sizes are not compared.
    insert() {
        rm -f "$dir/sqlite"
        query "CREATE TABLE ids (id BLOB PRIMARY KEY) WITHOUT ROWID" || return 1
        sed "1s/^/BEGIN;/; s/[0-9]*,\\(.*\\)/INSERT INTO ids VALUES (X'\\1');/; s/-//g; \$s/\$/COMMIT;/" "$1" |
            sqlite3 "$dir/sqlite"
    }
    index_bytes() { query "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"; }
    index_sizes SQLite
}

postgresql() {
    bin=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -n 1)
    [ -x "$bin/initdb" ] || bin=$(dirname "$(command -v initdb || echo /nowhere/initdb)")
    if [ ! -x "$bin/initdb" ] || ! command -v psql > /dev/null; then
        echo "SKIPPED PostgreSQL: the package postgresql is not installed"
        return
    fi
    # It does not run as root.
    chmod 755 "$dir"
    mkdir "$dir/postgresql"
    if [ "$(id -u)" = 0 ]; then
        local owner=postgres
        id $owner > /dev/null 2>&1 || owner=nobody
        as_owner="runuser -u $owner --"
        chown $owner "$dir/postgresql"
    fi
    local cluster=$dir/postgresql/cluster
    judge "PostgreSQL: a cluster is made" $as_owner "$bin/initdb" -D "$cluster" -U tester -A trust \
        --no-sync -E UTF8 --locale=C > "$dir/log" || { cat "$dir/log"; return; }
    (cd "$dir/postgresql" && $as_owner "$bin/pg_ctl" -D "$cluster" -w -t 60 -l "$cluster/log" start \
        -o "-k $dir/postgresql -c listen_addresses= -c fsync=off -c max_wal_size=4GB") > "$dir/log" ||
        { judge "PostgreSQL: starts" false; tail -n 5 "$dir/log" "$cluster/log"; return; }

    query() {
        psql -X -q -h "$dir/postgresql" -U tester -d postgres -v ON_ERROR_STOP=1 -A -t -F, -c "$1"
    }
    load() {
        local type
        case $kind in bigint) type=bigint ;; *_bytes) type=bytea ;; *) type=uuid ;; esac
        query "DROP TABLE IF EXISTS ids" 2> /dev/null
        query "CREATE TABLE ids (number integer, id $type PRIMARY KEY)" || return 1
        mix | case $kind in *_bytes) sed 's/,/,\\x/' ;; *) cat ;; esac |
            query "COPY ids FROM STDIN (FORMAT csv)" && query "VACUUM ANALYZE ids"
    }
    literal() {
        case $kind in
        bigint) echo "$1" ;;
        *_bytes) echo "'\\x$1'::bytea" ;;
        *) echo "'$1'::uuid" ;;
        esac
    }
    shown() { case $kind in *_bytes) echo "encode(id, 'hex')" ;; *) echo id ;; esac; }
    by_index() { query "EXPLAIN $1" | grep -q 'Index.* ids_pkey'; }
    check_kinds PostgreSQL
    insert() {
        query "DROP TABLE IF EXISTS ids" 2> /dev/null
        query "CREATE TABLE ids (number integer, id uuid PRIMARY KEY)" &&
            query "COPY ids FROM STDIN (FORMAT csv)" < "$1"
    }
    index_bytes() { query "SELECT pg_relation_size('ids_pkey')"; }
    index_sizes PostgreSQL
    # It splits a full page in halves, but the last one so that it stays full.
    judge "PostgreSQL: the index of version 7 is no larger than that of version 4" [ "$rising" -le "$random" ]
}

judge "$count ids of each kind are made" "$build/databases_ids" "$dir" "$count"
# UUIDs of version 4, of which the variant is one digit alone.
od -An -v -w16 -tx1 -N$((16 * count)) /dev/urandom | tr -d ' ' | awk '{
    print NR - 1 "," substr($0, 1, 8) "-" substr($0, 9, 4) "-4" substr($0, 14, 3) "-8" substr($0, 18, 3) "-" substr($0, 21)}' > "$dir/random.made"
if command -v sqlite3 > /dev/null; then sqlite; else echo "SKIPPED SQLite: the package sqlite3 is not installed"; fi
postgresql
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
