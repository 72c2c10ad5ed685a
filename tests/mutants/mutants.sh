#!/bin/sh
# SPDX-License-Identifier: MIT
#
# mutants.sh BUILD [WORD...]   makes each mutant of the table (or those whose names contain a word) in
# BUILD/mutants, builds the tests against it, and prints which of them catches it. A mutant that
# survives, that no longer fits the headers, or does not compile is a failure. So is one that is
# undecided: a time limit was hit, which may be the machine's doing, and hit again when it was judged
# alone, with three times the time.
#
#   CC      compiler (clang, or else cc: building takes most of the time)       JOBS  at a time (2)
#   PART    K/N: each N-th of them, from the K-th on
#
# A test that fails on the headers as they are too catches nothing, and is a failure itself. Nor does
# one that measures how busy the machine is. All is done in a copy of headers and tests, so that work
# may go on meanwhile.
export LC_ALL=C
here=tests/mutants
table=$here/table
self=tests/mutants/mutants.sh
[ "$CC" ] || CC=$(command -v clang || echo cc)
cc="$CC -std=c11 -w -pthread -DTEST_SMALL -DRUNS=3000"
busy='most_once_a_ms|one_long_overflow'

field() { # NAME FIELD
    awk -v name="== $1" -v field="$2: " '/^== / { mine = $0 == name }
        mine && index($0, field) == 1 { print substr($0, length(field) + 1); exit }' $table
}

source_of() {
    case $1 in
    *-tsan) source_of "${1%-tsan}" ;;
    explore_*) echo "tests/explore/$1.c" ;;
    test_*) echo "tests/$1.c" ;;
    *) echo "tests/models/$1.c" ;;
    esac
}

seconds_of() {
    case $1 in
    explore_*) echo 100 ;;
    *threads | test_processes) echo 40 ;;
    *) echo 20 ;;
    esac
}

# Cheapest first. The models repeat themselves with real threads. A killer NAME-tsan is NAME under the
# thread sanitizer, which misses an order also where this machine would keep it: only `first:` asks it.
killers="test_engine test_random_flake test_engine_calls test_engine_shared test_engine_notes test_lanes test_layouts test_layout_limits"
killers="$killers test_sno test_random_sno test_sno_queue test_sno_snapshots test_sno_lanes test_sno_partitions"
for program in tests/models/*.c; do killers="$killers $(basename "$program" .c)"; done
killers="$killers test_ring test_uuid test_uuid_rising"
for program in tests/explore/explore_*.c; do
    [ -f "$program" ] && killers="$killers $(basename "$program" .c)"
done
killers="$killers test_threads test_sno_threads test_processes test_fork test_uuid_default test_state test_state_ends test_state_files"
killers="$killers test_gates test_state_format test_state_interrupted test_state_shared test_slots test_exclusive test_waits test_lost test_begin_later test_text"

build() { # HEADERS KILLER
    [ -x "$1/$2" ] && return
    case $2 in
    *-tsan) more="-O1 -fsanitize=thread -URUNS -DRUNS=300" ;;
    explore_*) more=-O1 ;;
    *) more=-O0 ;;
    esac
    $cc $more -I"$1" -Itests "$(source_of "$2")" -o "$1/$2.$$" 2> "$1/$2.errors" && mv "$1/$2.$$" "$1/$2"
}

# Runs a killer, or its tests of these names, up to the first that fails, and names that; nothing:
# none does.
run() { # HEADERS SKIP KILLER [TEST...]
    headers=$1 skip=$2 killer=$3
    shift 3
    {
        timeout -s KILL $(($(seconds_of "$killer") * ${PATIENCE:-1})) "$headers/$killer" "$@" 2>&1
        echo "exit $?"
    } | awk -v skip=" $skip " -v busy="$busy" -v killer="$killer" '
        /^FAIL/ && index(skip, " " $2 " ") { skipped = 1; next }
        /^FAIL/ && $2 ~ busy { skipped = 1; next }
        /^FAIL/ { print $2; exit }
        /WARNING: ThreadSanitizer/ { print "a data race"; exit }
        /Assertion/ { sub(/.*Assertion/, "assertion"); sub(/ failed.*/, ""); print; exit }
        /^ok/ { last = $2 }
        /^0 passed, 0 failed/ { skipped = 1 } # no test of this name
        /^exit 137$/ { print "TIME LIMIT" (last ? " after " last : ""); exit }
        /^exit 0$/ { exit }
        /^exit / { if (!skipped || $2 > 1) print (last ? "crash after " last : "crash"); exit }'
}

headers_of() { # NAME DIR: writes the mutant
    mkdir -p "$2"
    where=$(field "$1" in)
    cp flake.h sno.h "$2" || return 1
    case $where in
    common)
        awk -v name="$1" -v table=$table -f $here/edit.awk flake.h > "$2/flake.h" &&
            awk -v name="$1" -v table=$table -v swap=1 -f $here/edit.awk sno.h > "$2/sno.h"
        ;;
    flake.h | sno.h) awk -v name="$1" -v table=$table -f $here/edit.awk "$where" > "$2/$where" ;;
    *) echo "$1: in: is neither common, flake.h nor sno.h" >&2 && return 1 ;;
    esac
}

# Whether what failed holds on the headers as they are.
holds() { # DIR KILLER WHAT
    build "$1/as_it_is" "$2" || return 1
    case $3 in
    *" "*) # no test by itself
        case $(run "$1/as_it_is" "" "$2") in "" | "TIME LIMIT"*) true ;; *) false ;; esac ;;
    *) [ "$(run "$1/as_it_is" "" "$2" "$3")" != "$3" ] ;;
    esac
}

judge() { # DIR NAME: one line to DIR/NAME.verdict
    verdict=$1/$2.verdict headers=$1/$2
    if ! headers_of "$2" "$headers" 2> "$verdict.errors"; then
        { echo "DOES NOT FIT" && sed 's/^/    /' "$verdict.errors"; } > "$verdict"
        return
    fi
    { field "$2" first && printf '%s\n' $killers; } > "$1/$2.order"
    while read -r killer tests; do
        [ -f "$(source_of "$killer")" ] || continue
        if ! build "$headers" "$killer"; then
            echo "DOES NOT COMPILE with $killer" > "$verdict"
            return
        fi
        skip=""
        while by=$(run "$headers" "$skip" "$killer" $tests < /dev/null) && [ -n "$by" ]; do
            case $by in
            "TIME LIMIT"*)
                echo "$killer: $by" >> "$1/$2.late"
                break
                ;;
            esac
            if holds "$1" "$killer" "$by" < /dev/null; then
                echo "caught by $killer: $by" > "$verdict"
                break 2
            fi
            echo "$killer: $by" >> "$1/unfit"
            case $by in *" "*) break ;; esac
            skip="$skip $by"
        done
    done < "$1/$2.order"
    for killer in $killers; do rm -f "$headers/$killer"; done
    [ -f "$verdict" ] || [ ! -f "$1/$2.late" ] ||
        { echo "UNDECIDED" && sed 's/^/    /' "$1/$2.late"; } > "$verdict"
    [ -f "$verdict" ] || echo SURVIVED > "$verdict"
}

if [ "$1" = --judge ]; then
    judge "$2" "$3"
    exit
fi

dir=${1:?}/mutants
shift
rm -rf "$dir"
mkdir -p "$dir/as_it_is"
dir=$(cd "$dir" && pwd)
cp -r flake.h sno.h tests fuzz "$dir"
cp flake.h sno.h "$dir/as_it_is"
cd "$dir" || exit 1
passed=0 failed=0

names=$(sed -n 's/^== //p' $table)
if [ $# -gt 0 ]; then
    words=$(printf '%s\n' "$@")
    names=$(printf '%s\n' "$names" | grep -F "$words")
fi
[ -z "$PART" ] || names=$(printf '%s\n' $names | awk -v part="${PART%/*}" -v of="${PART#*/}" 'NR % of == part % of')
printf '%s\n' $names | xargs -P "${JOBS:-2}" -n 1 "$self" --judge "$dir"
for name in $names; do
    grep -q ^UNDECIDED "$dir/$name.verdict" || continue
    rm -f "$dir/$name.verdict" "$dir/$name.late"
    PATIENCE=3 "$self" --judge "$dir" "$name"
done
for name in $names; do
    verdict=$(head -n 1 "$dir/$name.verdict")
    case $verdict in
    caught*) passed=$((passed + 1)) mark=ok ;;
    *) failed=$((failed + 1)) mark=FAIL ;;
    esac
    printf '%-4s %-38s %s\n' $mark "$name" "$verdict"
    sed 1d "$dir/$name.verdict"
done
if [ -f unfit ]; then
    sort -u unfit | sed 's/^/FAIL on the headers as they are: /'
    failed=$((failed + $(sort -u unfit | wc -l)))
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
