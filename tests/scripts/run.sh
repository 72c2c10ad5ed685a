#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh OUT COMMAND...          runs a test program, writes its output to OUT, prints one line if it fails
# run.sh --step OUT COMMAND...   the same for a longer step: always prints a line, and the end of the output if it
#                                fails; a step without counts counts as one test
# run.sh --sum OUT...            adds up the counts; a missing OUT is a failure: the program did not compile
# run.sh --table OUT...          the steps as a table
#
# The last line of OUT is "N passed, N failed", after a step with "in N s".
counts='^[0-9][0-9]* passed, [0-9][0-9]* failed'

case $1 in
--sum)
    shift
    passed=0 failed=0
    for out; do
        # shellcheck disable=SC2046
        set -- $(tail -n 1 "$out" 2> /dev/null | grep "$counts")
        [ $# -gt 0 ] || { echo "FAIL $(basename "$out" .out): not built"; set -- 0 passed, 1; }
        passed=$((passed + $1)) failed=$((failed + $3))
        [ ! -e "$out" ] || grep -h '^ *SKIPPED' "$out"
    done
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
    exit
    ;;
--table)
    shift
    printf '| step | passed | failed | s |\n|---|---:|---:|---:|\n'
    for out; do
        tail -n 1 "$out" | sed -n "s/^\([0-9]*\) passed, \([0-9]*\) failed in \([0-9]*\) s$/| $(basename "$out" .out) | \1 | \2 | \3 |/p"
    done
    exit
    ;;
--step) step=1 && shift ;;
*) step= ;;
esac

out=$1 name=$(basename "$1" .out) began=$(date +%s)
shift
if [ ! "$step" ]; then
    for program; do :; done # the last argument
    [ -e "$program" ] || set -- "$@.exe" # as compilers for Windows name it
    # State files are synced often, which is free on a file system in memory.
    case $program in *.sh) ;; *) [ "$TMPDIR" ] || [ ! -w /dev/shm ] || export TMPDIR=/dev/shm ;; esac
fi
mkdir -p "$(dirname "$out")"
rm -f "$out"
"$@" > "$out.raw" 2>&1
code=$?
tr -d '\r' < "$out.raw" > "$out.part" && rm "$out.raw"
took="$(($(date +%s) - began)) s"
if [ "$step" ]; then
    said=$(grep "$counts\$" "$out.part" | awk '{p += $1; f += $3} END {if (NR) print p " passed, " f " failed"}')
else said=$(tail -n 1 "$out.part" | grep "$counts"); fi
[ "$said" ] || { [ "$step" ] && said="$((code == 0)) passed, $((code != 0)) failed"; }
case $said/$code in
*" passed, 0 failed/0") [ ! "$step" ] || printf 'ok   %-20s %s in %s\n' "$name" "$said" "$took" ;;
*)
    # The name of a test ends at three blanks: its figures follow.
    tests=$(awk '
        $1 == "ok" || $1 == "FAIL" {test = $0; sub(/^[A-Za-z]+ +/, "", test); sub(/   .*/, "", test); last = test}
        $1 == "FAIL" && ++failed <= 4 {said = said (said ? "; " : "") test}
        END {
            if (failed > 4) said = said " and " failed - 4 " more"
            print failed ? said : "exit code '"$code"' after " (last ? last : "no test")
        }' "$out.part")
    echo "FAIL $name: $tests ($out)"
    [ ! "$step" ] || tail -n 40 "$out.part" | sed 's/^/     /'
    # A program that ends early, or whose exit code contradicts its counts, has failed.
    case $said in '' | *" 0 failed") said="${said:-0 passed, 0 failed}" && said="${said%0 failed}1 failed" ;; esac
    ;;
esac
echo "$said${step:+ in $took}" >> "$out.part"
mv "$out.part" "$out"
