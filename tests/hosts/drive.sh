# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Sourced by the scripts beside it: compile, and what looks at ids. $dir is a folder that goes
# with the script, after `stop_host` if there is one.
. tests/scripts/judge.sh
module=extras/$(basename "$0" .sh)
dir=$(mktemp -d)
end() {
    ! declare -F stop_host > /dev/null || stop_host
    rm -rf "$dir"
}
trap end EXIT
trap 'exit 1' INT TERM

skip() { # PACKAGE...: of $host, which the script names
    echo "SKIPPED $host: not installed: $*"
    close_with_counts
}

# Words of a flake_config that no module takes.
refused_words=("node=1 dir=none lanes=2" uuid7)
no_node="node is missing: node=7"
unchecked="config: node is unchecked: add dir=DIR"
is_taken=".*3.slot: is in use, by this process or another"

# Modules are there to be read, and copied.
is_short() { # SOURCE
    local lines
    lines=$(wc -l < "$module/$1")
    [ "$lines" -lt 225 ] || { echo "  $1 has $lines lines"; false; }
}

# With the flags of make, in COMPILE; the host's own headers are not ours to warn of: -isystem.
compile() { # SOURCE OUTPUT FLAG...
    local source=$1 output=$2
    shift 2
    # shellcheck disable=SC2086
    ${COMPILE:-cc -std=c11 -pedantic -Wall -Wextra -Werror -O2 -I.} -fPIC -shared "$@" "$source" -o "$output"
}
compile_clock_back() {
    compile tests/hosts/clock_back.c "$dir/clock_back.so" && put_clock_back 0
}
put_clock_back() { # MS: the clock of programs that were started as "${with_clock_back[@]}" PROGRAM ...
    [ -e "$dir/clock_back" ] || printf '%-16d' 0 > "$dir/clock_back"
    printf '%-16d' "$1" 1<> "$dir/clock_back"
}
with_clock_back=(env "CLOCK_BACK=$dir/clock_back" "LD_PRELOAD=$dir/clock_back.so")

ms_now() { date +%s%3N; }
says() { # PATTERN COMMAND...
    local pattern=$1 said
    shift
    said=$("$@" 2>&1)
    [[ $said =~ $pattern ]] || { echo "  wanted $pattern, got: ${said:0:300}"; false; }
}
# Ids, one a line: so many, all different, of several files.
are_unique() { # COUNT FILE...
    local count=$1 lines
    shift
    lines=$(cat "$@" | wc -l)
    [ "$lines" -eq "$count" ] || { echo "  $lines ids, not $count"; return 1; }
    [ -z "$(sort "$@" | uniq -d | head -n 1 | tee "$dir/twice")" ] || { echo "  twice: $(cat "$dir/twice")"; false; }
}
rise() { # FILE [text]: one after the other, as numbers or as bytes
    local by=-n
    [ "${2-}" != text ] || by=
    # shellcheck disable=SC2086
    LC_ALL=C sort -c $by "$1" 2> "$dir/falls" || { echo "  $(cat "$dir/falls")"; false; }
}
# Seconds: only a host that hangs takes as long. A busy machine is slow.
patience=120
eventually() { # COMMAND...: until it succeeds
    local deadline=$((SECONDS + patience))
    until "$@" 2> /dev/null; do
        [ $SECONDS -lt $deadline ] || return 1
        sleep 0.05
    done
}
is_alive() { [[ $(cat "/proc/$1/stat") =~ \)\ [^Z] ]]; } 2> /dev/null # PID
is_gone() { ! is_alive "$1"; }
# cat passes over a process that ends before its file is opened. There mawk would end, and leave out what follows.
children() { # PID
    cat /proc/[0-9]*/stat 2> /dev/null | awk -v parent="$1" '{pid = $1; sub(/.*\) /, "")} $2 == parent {print pid}'
}
free_port() {
    local port
    for _ in {1..100}; do
        port=$((20000 + RANDOM % 10000))
        (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null || { echo "$port"; return; }
    done
}
