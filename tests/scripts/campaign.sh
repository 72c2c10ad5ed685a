#!/bin/sh
# SPDX-License-Identifier: MIT
#
# campaign.sh   the campaign of fuzz/ from its user's view: which options it takes and refuses, its last line, and
# that libFuzzer finds nothing with it. It also compiles as C++.
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
campaign=$dir/campaign # it plays an input, with any compiler
refuses() { # PATTERN OPTION...: one line on stderr, nothing on stdout
    wanted=$1
    shift
    "$campaign" "$@" "$dir/input" > "$dir/out" 2> "$dir/err"
    got=$?
    if [ $got -eq 2 ] && [ ! -s "$dir/out" ] && [ "$(wc -l < "$dir/err")" -eq 1 ] && grep -q -e "$wanted" "$dir/err"; then ok
    else fail "refuses $*" "status $got, '$wanted' expected: $(cat "$dir/out" "$dir/err")"; fi
}
takes() { # PATTERN OPTION...: ends well, with it in the last line
    wanted=$1
    shift
    if said=$("$campaign" "$@" "$dir/input" 2>&1) && printf '%s\n' "$said" | tail -1 | grep -q -e "$wanted"; then ok
    else fail "takes $*" "$said"; fi
}
compile() { # COMPILER OPTION... FILE
    compiler=$1
    shift
    # shellcheck disable=SC2086
    $compiler $WARN -O1 -pthread -I. -Itests/support "$@"
}
for compiler in "$CXX" g++ clang++; do
    command -v "${compiler%% *}" > /dev/null || { echo "SKIPPED: no $compiler"; continue; }
    for std in 11 14 17 20; do
        if said=$(compile "$compiler" -std=c++$std -fsyntax-only -x c++ fuzz/campaign.c 2>&1); then ok
        else fail "$compiler -std=c++$std" "$(printf '%s\n' "$said" | head -20)"; fi
    done
done
compile "$CC" -std=c11 fuzz/campaign.c -o "$campaign" || { echo "0 passed, 1 failed"; exit 1; }
printf '\0\0\0\4\0\0' > "$dir/input" # a second after the layout's epoch

takes "^flake, layout default, sequence 0 to 4095, ahead 0 ms, clock back: 1 inputs, [1-9][0-9]* IDs$" --node=7
takes "^flake, layout twitter, sequence 0 to 63, ahead 5 ms, clock wild: 1 inputs" --clock=wild \
    --config="twitter node=7 dir=none seq_max=63 max_ahead_ms=5"
# Bits, units and epoch of one's own: Sonyflake's.
same "own units by options" "$("$campaign" --config="layout=39-8-16 unit_ms=10 epoch_ms=1577836800000 node=9 dir=none" "$dir/input" 2>&1)" \
    "$("$campaign" --layout=39-8-16 --unit-ms=10 --epoch-ms=1577836800000 --node=9 "$dir/input" 2>&1)"

# ---- 128 bits ----

begins() { # PATTERN OPTION...: the first ID
    pattern=$1
    shift
    first=$(FUZZ_TRACE=1 "$campaign" "$@" "$dir/input" 2>&1 | sed -n '/next/ { n; s/^ *//p; q; }')
    if printf '%s\n' "$first" | grep -q -x -e "$pattern"; then ok; else fail "first ID of $1" "$first"; fi
}
node=212205443363926 # c0ffee123456
begins 00000000-0000-0400-c0ff-ee1234560000 --layout=boundary --node=$node
begins '0066db23-8000-7[0-9a-f]\{3\}-[89ab][0-9a-f]\{3\}-[0-9a-f]\{12\}' --layout=uuid7
begins '0066db23-8000-7[0-9a-f]\{3\}-[89ab][0-9a-f]\{3\}-c0ffee123456' --layout=uuid7_node --node=$node
begins '0066db23-8000-8[0-9a-f]\{3\}-[89ab][0-9a-f]\{3\}-c0ffee123456' --layout=uuid8 --node=$node
begins '00CVDJ7000[0-9A-Z]\{16\}' --layout=ulid

# ---- a layout by a function; a clock of one's own; libFuzzer ----

cat > "$dir/mine.c" << 'END'
#include FIRST
#include "flake.h"
static flake_layout mine(void) { return flake_layout_of(41, 10, 12, INT64_C(1577836800000)); }
#define CAMPAIGN_LAYOUT mine()
#include "fuzz/campaign.c"
END
compile_mine() { # COMPILER HEADER OPTION...: that header included first. Without the flags that hide flake.h's warnings
    compiler=$1 first=$2
    shift 2
    # shellcheck disable=SC2086
    $compiler -std=c11 $WARN -O1 -pthread -I. "-DFIRST=\"$first\"" "$@" "$dir/mine.c" -o "$dir/mine" 2>&1
}
same "a layout by a function compiles after fuzz/fuzz.h" "" "$(compile_mine "$CC" fuzz/fuzz.h)"
if compile_mine "$CC" flake.h | grep -q "error.*include fuzz/fuzz.h before flake.h"; then ok
else fail "flake.h first, which then has the system's clock, does not compile" "$(compile_mine "$CC" flake.h)"; fi
finds_nothing() { # PATTERN PROGRAM OPTION...: in 500 inputs
    wanted=$1
    shift
    if said=$("$@" -runs=500 -seed=1 2> "$dir/err") && printf '%s\n' "$said" | grep -q -e "$wanted, .*: 50[0-9] inputs, "; then ok
    else fail "$*" "$said
$(tail -5 "$dir/err")"; fi
}
searches="-fsanitize=fuzzer -DFUZZ_LIBFUZZER"
# shellcheck disable=SC2086
if compile clang -std=c11 $searches fuzz/campaign.c -o "$dir/search" 2> "$dir/err"; then
    same "a layout by a function compiles for libFuzzer" "" "$(compile_mine clang fuzz/fuzz.h $searches)"
    finds_nothing "layout mine" "$dir/mine" --layout=mine --node=17
    compile clang -std=c11 $searches fuzz/own_layout.c -o "$dir/own"
    finds_nothing "layout mine" "$dir/own" --layout=mine --node=17 --clock=back
    finds_nothing "layout 39-8-16" "$dir/search" --layout=39-8-16 --unit-ms=10 --epoch-ms=1577836800000 --node=255
    for layout in boundary uuid7 uuid7_node uuid8 ulid; do
        few='' number=''
        [ $layout != boundary ] || few="--seq-max=9"
        case $layout in uuid7 | ulid) ;; *) number="--node=$node" ;; esac
        for options in "" "--clock=wild --max-ahead-ms=3 $few"; do
            # shellcheck disable=SC2086
            finds_nothing "layout $layout" "$dir/search" --layout=$layout $number $options
        done
    done
else echo "SKIPPED: no clang with libFuzzer"; fi

# ---- refusals: the message names the option, and its true range ----

last32=4294967295 last63=9223372036854775807
refuses "config: nodes: no such option" --nodes=1
refuses "no value, as in --option=value: --node " --node
refuses "config: seconds: no such option" --seconds=60
refuses "no such clock: fast" --node=7 --clock=fast
refuses "config: twiter: neither a layout nor an option" --config=twiter
refuses "config: node: given twice" --config="node=7" --node=7
refuses "config: layout: given twice" --config=twitter --layout=idgen
refuses "the campaign cannot use .*, lanes, " --config="lanes=2" --node=7
refuses "layout: \"41-10\" is neither" --layout=41-10
refuses "layout: its fields overlap or exceed 64 bits" --layout=41-10-14 --node=7
for text in "" twitter "layout=41-10-12"; do
    refuses "rejects this: config: node is missing: node=7, or node=0-1023 to claim a free one; and dir=DIR, or dir=none if nothing is to check it" --config="$text"
done
refuses "rejects this: config: node is unchecked: add dir=DIR, or dir=none if nothing is to check it" --config=node=7
refuses "the campaign cannot use a directory, " --config="node=7 dir=/tmp"
refuses "rejects this: config: node: a range needs dir=DIR" --config="node=0-9 dir=none"
refuses "no such header: ulid" --header=ulid
for value in -1 +1 " 1" 1.5 x "" 0x10 18446744073709551616; do
    for option in node seq-min seq-max unit-ms epoch-ms max-ahead-ms max-wait-ms; do
        refuses "flake.h rejects this: config: $(echo "$option" | tr - _): \".*\" is \(not\|neither\) a number\|config: $(echo "$option" | tr - _): needs a value" --$option="$value"
    done
done
refuses "longer than 2047 bytes" --config="$(printf %05000d 0)"
takes . --node=7 --max-wait-ms=$last63
takes "layout 30-32-0" --layout=30-32-0 --node=$last32
refuses "flake.h rejects this: node: 4294967296 is above 4294967295, the layout's last node" --layout=30-32-0 --node=4294967296
takes "sequence $last32 to $last32" --layout=30-0-32 --seq-min=$last32 --seq-max=$last32
refuses "config: epoch_ms: \"9223372036854775808\" is not a number" --epoch-ms=9223372036854775808
refuses "rejects this: options: layout.epoch_ms" --node=7 --epoch-ms=$last63
# The header names the option if a value fits its range but not the layout's.
takes . --node=1023
refuses "flake.h rejects this: node: 1024 is above 1023, the layout's last node" --node=1024
refuses "flake.h rejects this: options: seq_max exceeds layout.seq_bits" --node=7 --seq-max=4096
refuses "flake.h rejects this: options: seq_min is above seq_max" --node=7 --seq-min=5
refuses "flake.h rejects this: options: max_ahead_ms is negative, or more than 2^31 units" --node=7 --max-ahead-ms=2147483648
takes "ahead 2147483647 ms" --node=7 --max-ahead-ms=2147483647
# 128 bits.
takes "layout boundary, sequence 0 to 65535" --layout=boundary --node=7
takes "layout boundary, sequence 7 to 65535" --layout=boundary --node=7 --seq-min=7 --seq-max=65535
refuses "flake.h rejects this: options: seq_max exceeds" --layout=boundary --node=7 --seq-max=65536
for layout in boundary uuid7 uuid7_node uuid8 ulid; do
    case $layout in uuid7 | ulid) number= ;; *) number="--node=7" ;; esac
    # shellcheck disable=SC2086
    refuses "flake.h rejects this: options: seq_scatter is for 64-bit" --layout=$layout $number --config=seq_scatter
    # shellcheck disable=SC2086
    refuses "flake.h rejects this: layout: " --layout=$layout $number --epoch-ms=1
    # shellcheck disable=SC2086
    [ $layout = boundary ] || refuses "seq_min and seq_max of UUIDs and ULIDs must be" --layout=$layout $number --seq-max=1
done
for layout in uuid7 ulid; do refuses "config: node: the layout has no node" --layout=$layout --node=1; done
for layout in boundary uuid7_node uuid8; do
    takes "layout $layout" --layout=$layout --node=281474976710655
    refuses "config: node: \"281474976710656\" is neither a number nor a range FIRST-LAST, from 0 to 281474976710655" --layout=$layout --node=281474976710656
done
# sno.h.
takes "sno, layout sno, sequence 0 to 65535" --header=sno --node=65535
takes "sequence 65535 to 65535" --header=sno --seq-min=65535
takes "sequence 0 to 65535" --header=sno
takes "sequence 3 to 9" --header=sno --config="node=2 dir=none seq_min=3 seq_max=9 max_wait_ms=5"
for option in node seq-min seq-max; do refuses "config: $(echo $option | tr - _): exceeds 65535" --header=sno --$option=65536; done
refuses "sno.h rejects this: " --header=sno --seq-min=1 --seq-max=3
for option in "--layout=twitter" "--unit-ms=4" "--epoch-ms=1" "--config=twitter"; do
    # shellcheck disable=SC2086
    refuses "sno.h rejects this: config: .*: a sno has its own" $option --header=sno
done
for option in "--max-ahead-ms=1" "--config=seq_scatter"; do
    # shellcheck disable=SC2086
    refuses "sno.h has only node, seq_min, seq_max and max_wait_ms" $option --header=sno
done

# ---- its own help ----

"$campaign" --help > "$dir/help"
same "help on stdout, with status 0" 0 $?
for option in header layout epoch-ms node seq-min seq-max unit-ms max-ahead-ms max-wait-ms config clock; do
    if grep -q -e "--$option=" "$dir/help"; then ok; else fail "help names --$option" "$(cat "$dir/help")"; fi
done
for layout in $(sed -n '/--layout=NAME/,/mine,/p' "$dir/help" | sed 's/mine,.*//' | tr ' ,' '\n\n' | grep -x '[a-z][a-z0-9_]*' | grep -vx 'of\|bits'); do
    case $layout in uuid7 | ulid | mastodon) number= ;; *) number="--node=7" ;; esac
    # shellcheck disable=SC2086
    takes "layout $layout," --layout="$layout" $number
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
