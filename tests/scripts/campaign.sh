#!/bin/sh
# SPDX-License-Identifier: MIT
#
# campaign.sh   the campaign of fuzz/ from its user's view: its log, how it ends, which options it refuses. Its
# clock and the moment of a Ctrl-C are scripted. It also compiles as C++.
: "${CC:=cc}" "${CXX:=c++}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0
ok() { passed=$((passed + 1)); }
fail() { # NAME WHAT
    printf 'FAIL %s\n%s\n' "$1" "$2"
    failed=$((failed + 1))
}
same() { # NAME WANTED GOT
    if [ "$2" = "$3" ]; then ok; else fail "$1" "wanted: $2
got:    $3"; fi
}
refuses() { # PATTERN OPTION...: one line on stderr, nothing on stdout
    wanted=$1
    shift
    "$campaign" --inputs 1 "$@" > "$dir/out" 2> "$dir/err"
    got=$?
    if [ $got -eq 2 ] && [ ! -s "$dir/out" ] && [ "$(wc -l < "$dir/err")" -eq 1 ] && grep -q -e "$wanted" "$dir/err"; then ok
    else fail "refuses $*" "status $got, '$wanted' expected: $(cat "$dir/out" "$dir/err")"; fi
}
takes() { # PATTERN OPTION...: begins with it, and ends well
    wanted=$1
    shift
    if said=$("$campaign" --inputs 1 "$@" 2>&1) && printf '%s\n' "$said" | head -1 | grep -q -e "$wanted"; then ok
    else fail "takes $*" "$said"; fi
}

# Each reading of the clock is 10 s after the last; Ctrl-C comes at the tenth, if at all.
cat > "$dir/scripted.c" << 'END'
static double scripted_now_s(void);
#define CAMPAIGN_NOW_S() scripted_now_s()
#include "fuzz/campaign.c"
static double scripted_now_s(void) {
    static int readings;
    const char *signal_number = getenv("STOP_BY");
    if (++readings == 10 && signal_number) (void)raise(atoi(signal_number));
    return 10.0 * readings;
}
END
compile() { # COMPILER OPTION...: a program, or with -fsyntax-only none
    compiler=$1
    shift
    # shellcheck disable=SC2086
    $compiler "$@" $WARN -O1 -pthread -I. -Itests/support "$dir/scripted.c" -o "$dir/campaign"
}
for compiler in "$CXX" g++ clang++; do
    command -v "${compiler%% *}" > /dev/null || { echo "SKIPPED: no $compiler"; continue; }
    for std in 11 14 17 20; do
        if said=$(compile "$compiler" -x c++ -std=c++$std -fsyntax-only 2>&1); then ok
        else fail "$compiler -std=c++$std" "$(printf '%s\n' "$said" | head -20)"; fi
    done
done
compile "$CC" -std=c11 || { echo "0 passed, 1 failed"; exit 1; }
campaign=$dir/campaign

# ---- its log: a line each minute, and one at the end ----

told() { sed 's/[0-9]* IDs, [0-9]* edges, [0-9]* inputs kept/.../'; }
same "a fraction of an hour, with a line each minute" "flake, layout default, sequence 0 to 4095, ahead 0 ms, clock back, seed 1
384 inputs, ..., 60 s so far
512 inputs, ..., 90 s: no duplicate, no difference from the oracle" "$("$campaign" --node 7 --hours 0.02 2>&1 | told)"
same "the last of two times counts" "192 inputs, ..., 40 s: no duplicate, no difference from the oracle" \
    "$("$campaign" --node 7 --hours 8 --seconds=22.5 2>&1 | told | tail -1)"
same "inputs count without a time" "100 inputs, ..., 20 s: no duplicate, no difference from the oracle" \
    "$("$campaign" --node 7 --inputs 100 2>&1 | told | tail -1)"

same "a configuration stands for the options" "flake, layout twitter, sequence 0 to 63, ahead 5 ms, clock back, seed 1" \
    "$("$campaign" --config "twitter node=7 dir=none seq_max=63 max_ahead_ms=5" --inputs 10 2>&1 | head -1)"

# Bits, units and epoch of one's own: Sonyflake's, from the first unit on.
own="layout=39-8-16 unit_ms=10 epoch_ms=1577836800000"
same "own units by a configuration" "500 inputs, ..., no duplicate, no difference from the oracle" \
    "$("$campaign" --inputs 500 --config "$own node=255 dir=none" 2>&1 | told | tail -1 | sed 's/, [0-9]* s:/,/')"
same "own units by options" "$("$campaign" --inputs 50 --config "$own node=9 dir=none" 2>&1)" \
    "$("$campaign" --inputs 50 --layout 39-8-16 --unit-ms 10 --epoch-ms 1577836800000 --node 9 2>&1)"

same "a replay tells each call" "1 inputs, ... IDs, nothing found" \
    "$("$campaign" --node 7 --replay 0102aAFF 2>&1 | tail -1 | sed 's/[0-9]* IDs/... IDs/')"

# ---- 128 bits: a second after the layout's epoch, and then any inputs ----

first_id() { # OPTION...
    "$campaign" "$@" --replay 000000040000 2>&1 | sed -n '/next/ { n; s/^ *//p; q; }'
}
begins() { # PATTERN LAYOUT OPTION...
    pattern=$1
    shift
    if first_id --layout "$@" | grep -q -x -e "$pattern"; then ok; else fail "first ID of $1" "$(first_id --layout "$@")"; fi
}
node=212205443363926 # c0ffee123456
begins 00000000-0000-0400-c0ff-ee1234560000 boundary --node $node
begins '0066db23-8000-7[0-9a-f]\{3\}-[89ab][0-9a-f]\{3\}-[0-9a-f]\{12\}' uuid7
begins '0066db23-8000-7[0-9a-f]\{3\}-[89ab][0-9a-f]\{3\}-c0ffee123456' uuid7_node --node $node
begins '0066db23-8000-8[0-9a-f]\{3\}-[89ab][0-9a-f]\{3\}-c0ffee123456' uuid8 --node $node
begins '00CVDJ7000[0-9A-Z]\{16\}' ulid
for layout in boundary uuid7 uuid7_node uuid8 ulid; do
    few= number=
    [ $layout != boundary ] || few="--seq-max 9"
    case $layout in uuid7 | ulid) ;; *) number="--node $node" ;; esac
    for options in "" "--clock wild --max-ahead-ms 3 $few"; do
        # shellcheck disable=SC2086
        same "$layout $options" "500 inputs, ..., 80 s: no duplicate, no difference from the oracle" \
            "$("$campaign" --inputs 500 --layout $layout $number $options 2>&1 | told | tail -1)"
    done
done

# ---- a layout by a function ----

cat > "$dir/mine.c" << 'END'
#include FIRST
#include "flake.h"
static flake_layout mine(void) { return flake_layout_of(41, 10, 12, INT64_C(1577836800000)); }
#define CAMPAIGN_LAYOUT mine()
#include "fuzz/campaign.c"
END
compile_mine() { # HEADER: included first. Without the flags that hide flake.h's warnings
    # shellcheck disable=SC2086
    $CC -std=c11 $WARN -O1 -pthread -I. "-DFIRST=\"$1\"" "$dir/mine.c" -o "$dir/mine" 2>&1
}
same "a layout by a function compiles after fuzz/fuzz.h" "" "$(compile_mine fuzz/fuzz.h)"
same "and differs nowhere" "500 inputs, ..., no duplicate, no difference from the oracle" \
    "$("$dir/mine" --layout mine --node 17 --inputs 500 2>&1 | told | tail -1 | sed 's/, [0-9]* s:/,/')"
if compile_mine flake.h | grep -q "error.*include fuzz/fuzz.h before flake.h"; then ok
else fail "flake.h first, which then has the system's clock, does not compile" "$(compile_mine flake.h)"; fi

# Runs a program with default signals: a shell cannot undo that its caller ignores one.
cat > "$dir/by_default.c" << 'END'
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <unistd.h>
int main(int count, char **words) {
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    return count > 1 ? execv(words[1], words + 1) : 2;
}
END
# shellcheck disable=SC2086
$CC -std=c11 $WARN "$dir/by_default.c" -o "$dir/by_default" || fail "by_default.c does not compile" ""

# ---- Ctrl-C and kill: the summary, and the status of a process that such a signal ended ----

for signal in 2:INT 15:TERM; do
    STOP_BY=${signal%:*} "$dir/by_default" "$campaign" --node 7 --hours 8 > "$dir/out" 2>&1
    same "status after SIG${signal#*:}" $((128 + ${signal%:*})) $?
    same "summary after SIG${signal#*:}" "576 inputs, ..., 100 s, ended by SIG${signal#*:}: no duplicate, no difference from the oracle" \
        "$(told < "$dir/out" | grep inputs | tail -1)"
done
# A signal that nohup, or a shell's &, has ignored stays ignored.
same "an ignored SIGINT ends nothing" "640 inputs, ..., 110 s: no duplicate, no difference from the oracle" \
    "$(trap '' INT; STOP_BY=2 "$campaign" --node 7 --seconds 95 2>&1 | told | tail -1)"

# ---- refusals: the message names the option, and its true range ----

last32=4294967295 last63=9223372036854775807 last64=18446744073709551615
refuses "config: nodes: no such option" --nodes 1
refuses "missing value after --node " --node
refuses "no such clock: fast" --node 7 --clock fast
refuses "config: twiter: neither a layout nor an option" --config twiter
refuses "config: node: given twice" --config "node=7" --node 7
refuses "config: layout: given twice" --config twitter --layout idgen
refuses "the campaign cannot use .*, lanes, " --config "lanes=2" --node 7
refuses "layout: \"41-10\" is neither" --layout 41-10
refuses "layout: its fields overlap or exceed 64 bits" --layout 41-10-14 --node 7
for text in "" twitter "layout=41-10-12"; do
    refuses "rejects this: config: node is missing: node=7, or node=0-1023 to claim a free one; and dir=DIR, or dir=none if nothing is to check it" --config "$text"
done
refuses "rejects this: config: node is unchecked: add dir=DIR, or dir=none if nothing is to check it" --config node=7
refuses "the campaign cannot use a directory, " --config "node=7 dir=/tmp"
refuses "rejects this: config: node: a range needs dir=DIR" --config "node=0-9 dir=none"
refuses "no such header: ulid" --header ulid
for hex in 0 0g 0x00 "00 1"; do refuses "--replay must be an input in hex.*, not $hex " --replay "$hex"; done
for value in 0 -1 3600000001 x 1x nan inf ""; do
    refuses "^campaign: --hours must be above 0 and at most 1000000, not $value " --hours "$value"
    refuses "^campaign: --seconds must be above 0 and at most 3600000000, not $value " --seconds "$value"
done
refuses "--hours must be above 0 and at most 1000000, not" --hours 1000000.5
takes . --node 7 --hours 1000000 --seconds 3600000000 --seconds .5
for value in -1 +1 " 1" 1.5 x "" 0x10 18446744073709551616; do
    for option in node seq-min seq-max unit-ms epoch-ms max-ahead-ms max-wait-ms; do
        refuses "flake.h rejects this: config: $(echo "$option" | tr - _): \".*\" is \(not\|neither\) a number\|config: $(echo "$option" | tr - _): needs a value" --$option "$value"
    done
    refuses "--inputs must be a number from 1 to $last64, not" --inputs "$value"
    refuses "--seed must be a number from 0 to $last64, not" --seed "$value"
done
refuses "--inputs must be a number from 1 to $last64, not 0 " --inputs 0
refuses "longer than 2047 bytes" --config "$(printf %05000d 0)"
takes "seed $last64" --node 7 --seed $last64
takes . --node 7 --max-wait-ms $last63
takes "layout 30-32-0" --layout 30-32-0 --node $last32
refuses "flake.h rejects this: node: 4294967296 is above 4294967295, the layout's last node" --layout 30-32-0 --node 4294967296
takes "sequence $last32 to $last32" --layout 30-0-32 --seq-min $last32 --seq-max $last32
refuses "config: epoch_ms: \"9223372036854775808\" is not a number" --epoch-ms 9223372036854775808
refuses "rejects this: options: layout.epoch_ms" --node 7 --epoch-ms $last63
# The header names the option if a value fits its range but not the layout's.
takes . --node 1023
refuses "flake.h rejects this: node: 1024 is above 1023, the layout's last node" --node 1024
refuses "flake.h rejects this: options: seq_max exceeds layout.seq_bits" --node 7 --seq-max 4096
refuses "flake.h rejects this: options: seq_min is above seq_max" --node 7 --seq-min 5
refuses "flake.h rejects this: options: max_ahead_ms is negative, or more than 2^31 units" --node 7 --max-ahead-ms 2147483648
takes "ahead 2147483647 ms" --node 7 --max-ahead-ms 2147483647
# 128 bits.
takes "layout boundary, sequence 0 to 65535" --layout boundary --node 7
takes "layout boundary, sequence 7 to 65535" --layout boundary --node 7 --seq-min 7 --seq-max 65535
refuses "flake.h rejects this: options: seq_max exceeds" --layout boundary --node 7 --seq-max 65536
for layout in boundary uuid7 uuid7_node uuid8 ulid; do
    case $layout in uuid7 | ulid) number= ;; *) number="--node 7" ;; esac
    # shellcheck disable=SC2086
    refuses "flake.h rejects this: options: seq_scatter is for 64-bit" --layout $layout $number --config seq_scatter
    # shellcheck disable=SC2086
    refuses "flake.h rejects this: layout: " --layout $layout $number --epoch-ms 1
    # shellcheck disable=SC2086
    [ $layout = boundary ] || refuses "seq_min and seq_max of UUIDs and ULIDs must be" --layout $layout $number --seq-max 1
done
for layout in uuid7 ulid; do refuses "config: node: the layout has no node" --layout $layout --node 1; done
for layout in boundary uuid7_node uuid8; do
    takes "layout $layout" --layout $layout --node 281474976710655
    refuses "config: node: \"281474976710656\" is neither a number nor a range FIRST-LAST, from 0 to 281474976710655" --layout $layout --node 281474976710656
done
# sno.h.
takes "sno, layout sno, sequence 0 to 65535" --header sno --node 65535
takes "sequence 65535 to 65535" --header sno --seq-min 65535
takes "sequence 0 to 65535" --header sno
takes "sequence 3 to 9" --header sno --config "node=2 dir=none seq_min=3 seq_max=9 max_wait_ms=5"
for option in node seq-min seq-max; do refuses "config: $(echo $option | tr - _): exceeds 65535" --header sno --$option 65536; done
refuses "sno.h rejects this: " --header sno --seq-min 1 --seq-max 3
for option in "--layout twitter" "--unit-ms 4" "--epoch-ms 1" "--config twitter"; do
    # shellcheck disable=SC2086
    refuses "sno.h rejects this: config: .*: a sno has its own" $option --header sno
done
for option in "--max-ahead-ms 1" "--config seq_scatter"; do
    # shellcheck disable=SC2086
    refuses "sno.h has only node, seq_min, seq_max and max_wait_ms" $option --header sno
done

# ---- its own help ----

"$campaign" --help > "$dir/help"
same "help on stdout, with status 0" 0 $?
for option in $(sed -n 's/^    {"--\([a-z-]*\)".*/\1/p' fuzz/campaign.c); do
    if grep -q -e "--$option " "$dir/help"; then ok; else fail "help names --$option" "$(cat "$dir/help")"; fi
done
for layout in $(sed -n '/--layout NAME/,/mine,/p' "$dir/help" | sed 's/mine,.*//' | tr ' ,' '\n\n' | grep -x '[a-z][a-z0-9_]*' | grep -vx 'of\|bits'); do
    case $layout in uuid7 | ulid | mastodon) number= ;; *) number="--node 7" ;; esac
    # shellcheck disable=SC2086
    takes "layout $layout," --layout "$layout" $number
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
