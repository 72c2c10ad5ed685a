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

takes "^flake, clock back, node=7 dir=none: 1 inputs, [1-9][0-9]* IDs$" --config="node=7 dir=none"
takes "^sno, clock wild, seq_min=3 seq_max=9: 1 inputs, [1-9][0-9]* IDs$" --header=sno --clock=wild --config="seq_min=3 seq_max=9"
takes "^sno, clock back, : 1 inputs" --header=sno
for clock in forward stuck wild; do takes "clock $clock" --clock=$clock --config="twitter node=7 dir=none"; done

FUZZ_TRACE=1 "$campaign" --config=uuid7 "$dir/input" > "$dir/out"
same "a traced input prints each call" "0 next, actor 0" "$(head -1 "$dir/out")"
node="node=212205443363926 dir=none"

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
    if said=$("$@" -runs=500 -seed=1 2> "$dir/err") && printf '%s\n' "$said" | grep -q -e "$wanted.*: 50[0-9] inputs, "; then ok
    else fail "$*" "$said
$(tail -5 "$dir/err")"; fi
}
searches="-fsanitize=fuzzer -DFUZZ_LIBFUZZER"
# shellcheck disable=SC2086
if compile clang -std=c11 $searches fuzz/campaign.c -o "$dir/search" 2> "$dir/err"; then
    same "a layout by a function compiles for libFuzzer" "" "$(compile_mine clang fuzz/fuzz.h $searches)"
    finds_nothing "flake, clock back, layout=41-10-12 node=17 dir=none" "$dir/mine" --config="node=17 dir=none"
    compile clang -std=c11 $searches fuzz/own_layout.c -o "$dir/own"
    finds_nothing "layout=41-8-14" "$dir/own" --config="node=17 dir=none"
    finds_nothing "layout=39-8-16" "$dir/search" --config="layout=39-8-16 unit_ms=10 epoch_ms=1577836800000 node=255 dir=none"
    for words in "boundary $node seq_max=9" uuid7 "uuid7_node $node" "uuid8 $node" ulid; do
        finds_nothing "$words" "$dir/search" --config="$words"
        finds_nothing "clock wild, $words" "$dir/search" --clock=wild --config="$words max_ahead_ms=3"
    done
    finds_nothing "sno, clock wild" "$dir/search" --header=sno --clock=wild --config="seq_min=3 seq_max=9"
else echo "SKIPPED: no clang with libFuzzer"; fi

# ---- refusals ----

refuses "WORDS, --clock=forward|stuck|back|wild, not --node=7" --node=7
refuses "WORDS, --clock=forward|stuck|back|wild, not --config" --config
refuses "--clock=forward|stuck|back|wild, not fast" --config="node=7 dir=none" --clock=fast
refuses "--header=flake|sno, not ulid" --header=ulid
refuses "flake.h rejects this: config: twiter: neither a layout nor an option" --config=twiter
refuses "flake.h rejects this: config: node is missing: "
refuses "flake.h rejects this: options: layout.epoch_ms" --config="node=7 dir=none epoch_ms=9223372036854775807"
refuses "flake.h rejects this: options: seq_min is above seq_max" --config="node=7 dir=none seq_min=5"
refuses "longer than 2047 bytes" --config="$(printf %05000d 0)"
for words in lanes=2 start_this_unit clock=exact dir=/tmp; do
    refuses "the campaign cannot use a directory, lanes, " --config="$(case $words in dir*) ;; *) echo dir=none ;; esac) node=7 $words"
done
refuses "sno.h rejects this: config: .*: a sno has its own" --header=sno --config=twitter
for words in max_ahead_ms=1 seq_scatter; do
    refuses "sno.h has only node, seq_min, seq_max and max_wait_ms" --header=sno --config=$words
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
