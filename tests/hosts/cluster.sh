# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Sourced after drive.sh: PostgreSQL servers of their own, each with its cluster in a folder. $as_owner is before a
# command of $bin, since it does not run as root.
bin=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -n 1)
[ -x "$bin/initdb" ] && [ -x "$bin/pgbench" ] && command -v psql > /dev/null || skip postgresql

as_owner='' owner=$(id -un)
chmod 755 "$dir"
if [ "$(id -u)" = 0 ]; then
    owner=postgres
    id $owner > /dev/null 2>&1 || owner=nobody
    as_owner="runuser -u $owner --"
fi
make_folder() { mkdir "$1" && chown "$owner" "$1"; }
make_cluster() { # FOLDER
    $as_owner "$bin/initdb" -D "$1/cluster" -U tester -A trust --no-sync -E UTF8 --locale=C > "$dir/log" ||
        { cat "$dir/log"; judge "$host: a cluster is made" false; close_with_counts; }
}
start_cluster() { # FOLDER [COMMAND...]: by the command
    local folder=$1
    shift
    (cd "$folder" && "$@" $as_owner "$bin/pg_ctl" -D "$folder/cluster" -w -t $patience -l "$folder/cluster/log" start) > "$dir/log" 2>&1 ||
        { tail -n 5 "$dir/log" "$folder/cluster/log"; false; }
}
stop_cluster() { # FOLDER: as a crash does
    [ ! -f "$1/cluster/postmaster.pid" ] || $as_owner "$bin/pg_ctl" -D "$1/cluster" -m immediate stop > /dev/null
}
query_in() { # FOLDER PSQL_OPTION...
    timeout $patience psql -X -q -h "$1" -U tester -d postgres -v ON_ERROR_STOP=1 -A -t "${@:2}"
}
