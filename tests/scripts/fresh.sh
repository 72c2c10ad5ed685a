#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fresh.sh [ROOT]   a newcomer's first steps: copies HEAD's files into an empty directory, keeps only PATH and HOME
# of the environment, and runs the README's commands: the first programs, `make`, `make test`, an installation, and a
# program built through pkg-config. FRESH_TESTS: the only one that `make test` runs.
#
# With ROOT it does this in a chroot, where nothing else of this machine is available, such as other compiler
# versions. As root, make one with
#
#     debootstrap --variant=minbase --include=gcc,libc6-dev,make,pkg-config bookworm ROOT
set -u
root=${1-}
cd "$(dirname "$0")/../.." || exit 1
here=${root:-/tmp}/fresh-$$
[ -z "$root" ] || [ -x "$root/usr/bin/make" ] || {
    echo "$root has no make. Such a root is made, as root, by"
    sed -n 's/^#     \(debootstrap .*\)/    \1/p' "$0"
    exit 2
}
[ -n "$root" ] || {
    echo "in an empty directory of this machine; fresh.sh ROOT does it in another system, made by"
    sed -n 's/^#     \(debootstrap .*\)/    \1/p' "$0"
}
mkdir "$here" || exit 1
trap 'rm -rf "$here"' EXIT
mkdir "$here/home" "$here/checkout" "$here/program"
git archive HEAD | tar -x -C "$here/checkout" || exit 1

passed=0 failed=0
clean() { # DIRECTORY COMMAND: there, as a newcomer's shell runs it
    local inside=${here#"$root"}
    # shellcheck disable=SC2016
    set -- env -i PATH=/usr/bin:/bin HOME="$inside/home" sh -c 'cd "$1" && eval "$2"' sh "$inside/$1" "$2"
    if [ -n "$root" ]; then chroot "$root" "$@"; else "$@"; fi
}
types() { # NAME DIRECTORY COMMAND [PATTERN]: it succeeds, and prints a line like that
    echo "\$ $3"
    if clean "$2" "$3" > "$here/said" 2>&1 && grep -q -e "${4-}" "$here/said"; then
        echo "ok $1"
        passed=$((passed + 1))
    else
        grep -A 3 '^FAIL' "$here/said"
        tail -n 5 "$here/said"
        echo "FAIL $1"
        failed=$((failed + 1))
    fi
}
readme=$here/checkout/README.md
block() { # NUMBER LANGUAGE: the README's block of that number in that language
    awk -v number="$1" -v begin="\`\`\`$2" '
        $0 == begin {inside = ++n == number; next}
        /^```/ {inside = 0}
        inside' "$readme"
}
line_of() { # PATTERN: the first line of the README's sh blocks that begins like that, without its comment
    awk '/^```sh/ {inside = 1; next} /^```/ {inside = 0} inside' "$readme" | grep -m 1 -e "^$1" | sed 's/  *#.*//'
}

# One header beside one program, as in the README's quick start.
cp "$here/checkout/flake.h" "$here/program"
block 1 c > "$here/program/app.c"
types first_uuid program "$(block 1 sh)" '^[0-9a-f-]\{36\}$'
block 2 c > "$here/program/app.c"
types first_id program "$(block 1 sh)" '^[0-9]\{18,19\}$'

types make checkout "$(line_of 'make *#')" '^id  *[0-9a-zA-Z]* '
types make_test checkout "$(line_of 'make test')${FRESH_TESTS:+ TESTS=$FRESH_TESTS}" '^[1-9][0-9]* passed, 0 failed$'
tail -n 1 "$here/said"

types make_install checkout "make install PREFIX=/usr/local DESTDIR=${here#"$root"}/root" 'pkgconfig'
block 1 c | sed 's/"flake.h"/<flake.h>/' > "$here/home/program.c"
export_pc="export PKG_CONFIG_SYSROOT_DIR=${here#"$root"}/root"
export_pc="$export_pc PKG_CONFIG_PATH=${here#"$root"}/root/usr/local/share/pkgconfig"
types pkg_config home "$export_pc && $(line_of 'cc program.c') && ./program" '^[0-9a-f-]\{36\}$'
types make_uninstall checkout "make uninstall PREFIX=/usr/local DESTDIR=${here#"$root"}/root" ''
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
