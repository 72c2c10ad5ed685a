#!/bin/bash
# SPDX-License-Identifier: MIT
#
# cross.sh [MACHINE...]   builds and runs the tests for other machines: under qemu-user, with musl, and for
# Windows under wine; and one small program, tests/bare/bare.c, with little or no operating system. Machines
# whose tools are missing are listed as skipped.
#
#   aarch64, armhf   weakly ordered          s390x, powerpc   big-endian; powerpc has 32 bits and no
#   i686             32 bits                                  native 64-bit atomics (-latomic)
#   musl             static, another libc    windows          no fork, no POSIX
#   cortex-a9        bare metal              cortex-m4        the same without 64-bit atomics, and examples/board.c,
#                                                             that for a Cortex-M0, too; only built
#   wasi             in node: without the operating system, and with WASI's part of it
build=${BUILD:-build}
passed=0 failed=0 skipped=0

machine() { # NAME COMPILER RUN_ENV CFLAGS LDLIBS [TESTS]
    [ -z "$wanted" ] || [[ " $wanted " == *" $1 "* ]] || return
    echo "==== $1"
    local probe=$build/cross-$1/probe
    mkdir -p "$build/cross-$1"
    echo 'int main(void) { return 0; }' > "$probe.c"
    for tool in $2 $3; do
        case $tool in -*) continue ;; esac
        command -v "$tool" > /dev/null || { echo "SKIPPED $1: $tool is not installed"; skipped=$((skipped + 1)); return; }
    done
    # shellcheck disable=SC2086
    if ! $2 $4 "$probe.c" -o "$probe.exe" > "$probe.log" 2>&1 || ! $3 "$probe.exe" > "$probe.log" 2>&1; then
        echo "SKIPPED $1: $2 can't make a program that runs here: $(head -1 "$probe.log")"
        skipped=$((skipped + 1))
        return
    fi
    local log=$build/cross-$1/log
    ${MAKE:-make} --no-print-directory test SCRIPTS= BUILD="$build/cross-$1" CC="$2" CXX=none RUN_ENV="$3" \
        CFLAGS="$4 -DTEST_SMALL" LDLIBS="$5" ${6:+TESTS="$6" PROGRAMS=} > "$log" 2>&1
    local code=$? last
    grep -E '^FAIL|^  [a-z/_]+\.[ch]+:|error:|ended early' "$log"
    last=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
    [ -n "$last" ] || { tail -n 5 "$log"; last="0 passed, 1 failed"; }
    echo "$1: $last"
    passed=$((passed + ${last%% *}))
    last=${last#* passed, }
    failed=$((failed + ${last%% *}))
    [ $code -eq 0 ] || [ "${last%% *}" != 0 ] || failed=$((failed + 1))
}

bare() { # NAME PACKAGES RUN_ENV COMPILER...   no RUN_ENV: the program is built, not run
    local name=$1 packages=$2 run=$3 last
    shift 3
    [ -z "$wanted" ] || [[ " $wanted " == *" $name "* ]] || return
    echo "==== $name: $*"
    mkdir -p "$build/cross-$name"
    local program=$build/cross-$name/bare.exe log=$build/cross-$name/bare.log
    printf '#include <string.h>\nint main(void) { return 0; }\n' > "$program.c"
    if ! "$@" "$program.c" -o "$program" > "$log" 2>&1 || ! ${run:-true} "$program" > "$log" 2>&1; then
        echo "SKIPPED $name: needs $packages: $(head -1 "$log")"
        skipped=$((skipped + 1))
        return
    fi
    # shellcheck disable=SC2086
    if "$@" -std=c11 $WARN -O2 -I. "${SOURCE:-tests/bare/bare.c}" -o "$program" > "$log" 2>&1; then
        last="1 passed, 0 failed"
        [ -z "$run" ] || { $run "$program" > "$log" 2>&1; last=$(tr -d "\r" < "$log" | grep -E "^[0-9]+ passed" | tail -n 1); }
    fi
    case $last in
    *" passed, "*" failed") ;;
    *) last="0 passed, 1 failed" ;;
    esac
    grep -E '^FAIL|^  [a-z/_]+\.[ch]+:|error:' "$log"
    echo "$name: $last"
    passed=$((passed + ${last%% *}))
    last=${last#* passed, }
    failed=$((failed + ${last%% *}))
}

wanted=$*
# FEW: the only tests that each machine runs.
few=${FEW:-}
in_windows='$(WINDOWS_TESTS)'
[ -z "$few" ] || in_windows="\$(filter $in_windows,$few)"
machine aarch64 aarch64-linux-gnu-gcc qemu-aarch64 "-O2 -static" "" "$few"
machine s390x s390x-linux-gnu-gcc qemu-s390x "-O2 -static" "" "$few"
# its kernel headers are those of this machine
machine i686 gcc "" "-O2 -m32 -idirafter /usr/include/x86_64-linux-gnu" "" "$few"
machine armhf arm-linux-gnueabihf-gcc qemu-arm "-O2 -static" "" "$few"
machine powerpc powerpc-linux-gnu-gcc qemu-ppc "-O2 -static" "-latomic" "$few"
machine musl musl-gcc "" "-O2 -static" "" "$few"
machine windows x86_64-w64-mingw32-gcc-posix wine "-O2 -static" "" "$in_windows"
no_os="-DFLAKE_NO_OS"
arm="arm-none-eabi-gcc --specs=rdimon.specs"
arm_packages="gcc-arm-none-eabi, libnewlib-arm-none-eabi and qemu-user"
wasi_packages="clang, lld, wasi-libc, libclang-rt-14-dev-wasm32 and nodejs"
wasi="node --no-warnings tests/bare/wasi.mjs"
# shellcheck disable=SC2086
{
    bare cortex-a9 "$arm_packages" "qemu-arm -cpu cortex-a9" $arm -mcpu=cortex-a9 $no_os
    bare cortex-m4 "$arm_packages" "" $arm -mcpu=cortex-m4 -mthumb $no_os -DPLAIN_ATOMICS
    SOURCE=examples/board.c bare cortex-m4 "$arm_packages" "" $arm -mcpu=cortex-m4 -mthumb
    SOURCE=examples/board.c bare cortex-m4 "$arm_packages" "" $arm -mcpu=cortex-m0 -mthumb
    bare wasi "$wasi_packages" "$wasi" clang --target=wasm32-wasi $no_os
    bare wasi "$wasi_packages" "$wasi" clang --target=wasm32-wasi
    bare windows "gcc-mingw-w64-x86-64 and wine" wine x86_64-w64-mingw32-gcc-posix -static
}
echo "skipped machines: $skipped"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
