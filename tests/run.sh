#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh RUN_ENV PROGRAM...   runs the test programs and adds up what they say.
run_env=$1
shift
passed=0 failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
for program; do
    echo "== $(basename "$program")"
    case $program in
    *.sh) "$program" > "$out" 2>&1 ;;
    *)
        [ -e "$program" ] || program=$program.exe # as compilers for Windows name it
        $run_env "$program" > "$out" 2>&1
        ;;
    esac
    code=$?
    sed '$d' "$out"
    last=$(tail -n 1 "$out" | tr -d "\r")
    case $last in
    *" passed, "*" failed")
        passed=$((passed + ${last%% *}))
        last=${last#* passed, }
        failed=$((failed + ${last%% *}))
        [ $code -eq 0 ] || [ "${last%% *}" != 0 ] || { echo "exit code $code"; failed=$((failed + 1)); }
        ;;
    *)
        echo "$last"
        echo "$program ended early with exit code $code"
        failed=$((failed + 1))
        ;;
    esac
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
