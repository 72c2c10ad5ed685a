#!/bin/sh
# SPDX-License-Identifier: MIT
#
# checker.sh DIR CHECKER [MODEL...]   runs the models, or those of these names, under a checker of the C11
# memory model (GenMC, or one with its arguments): each unchanged, which must hold; with -DREACH, and
# without each of the orders listed after `Weakened:` in its first comment, which must fail. Models without
# such a line run only with real threads. MOST_S bounds each run in seconds (120).
export LC_ALL=C
dir=$1 checker=$2
shift 2
command -v "$checker" > /dev/null || {
    echo "skip: there is no $checker here (tests/models/README.md says where to get it)"
    exit 0
}
passed=0 failed=0
mkdir -p "$dir"
say() {
    printf '%-4s %s\n' "$1" "$2"
    if [ "$1" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# Of the last run.
outcome() {
    awk -v code="$code" '
        /^(Assertion violation|Error|ERROR|LLVM ERROR)/ {
            if ($0 !~ /Safety violation/ && !found) found = length($0) > 70 ? substr($0, 1, 67) "..." : $0
        }
        /complete executions explored/ { n = $NF }
        /wall-clock time/ { time = $NF }
        END {
            if (code == 124) found = "TIME LIMIT"
            printf "%s%d executions, %s", found ? found " after " : "", n, time
        }' "$dir/out"
}

run() { # HEADERS MODEL FLAG...
    headers=$1 model=$2
    shift 2
    timeout "${MOST_S:-120}" "$checker" --disable-estimation --disable-spin-assume --disable-loop-jump-threading \
        --disable-instruction-caching -- -std=c11 -O1 -mllvm -bonus-inst-threshold=0 "$@" -I"$headers" -I. "$model" > "$dir/out" 2>&1
    code=$?
}

# The headers as they are need no copy.
mkdir -p "$dir/unchanged"
awk -f tests/models/claim.awk flake.h > "$dir/unchanged/claim.h"

weakened() { # LABEL: a folder with the headers
    [ -d "$dir/$1" ] && return
    mkdir -p "$dir/$1"
    for header in flake.h sno.h; do
        awk -v label="$1" -f tests/models/weaken.awk $header > "$dir/$1/$header"
    done
    awk -f tests/models/claim.awk "$dir/$1/flake.h" > "$dir/$1/claim.h"
    cmp -s flake.h "$dir/$1/flake.h" && cmp -s sno.h "$dir/$1/sno.h" && echo "no order is labelled $1" >&2
}

holds() { [ $code -eq 0 ] && grep -q "No errors were detected" "$dir/out"; }
fails() { [ $code -ne 124 ] && grep -Eq "^(Assertion violation|Error: Non-atomic race)" "$dir/out"; }

for model in tests/models/*.c; do
    name=$(basename "$model" .c)
    labels=$(sed -n 's/^ \* Weakened: //p' "$model")
    [ -n "$labels" ] || continue
    case " $* " in "  " | *" $name "*) ;; *) continue ;; esac
    run "$dir/unchanged" "$model"
    if holds; then say ok "$name holds: $(outcome)"; else say FAIL "$name: $(outcome)"; fi
    run "$dir/unchanged" "$model" -DREACH
    if fails && grep -q "Assertion violation: !(" "$dir/out"; then say ok "$name gets to what it is about: $(outcome)"
    else say FAIL "$name never gets to what it is about: $(outcome)"; fi
    [ "$labels" = none ] && continue
    for label in $(echo "$labels" | tr -d ,); do
        weakened "$label"
        run "$dir/$label" "$model"
        if fails; then say ok "$name finds $label weakened: $(outcome)"
        else say FAIL "$name does not find $label weakened: $(outcome)"; fi
    done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
