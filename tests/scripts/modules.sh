#!/bin/sh
# SPDX-License-Identifier: MIT
#
# modules.sh   one process however it is linked: shared objects with their own copies of the headers, by both
# compilers, opened by a program that also has a copy; and units of one program whose headers differ. Skipped
# without dlopen or without a compiler for this machine.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0
of_all="${WARN:-} -g -pthread -Itests/modules -Itests/support"
flags="-std=c11 $of_all"
cc=${CC:-cc} cxx=${CXX:-c++}

count() { # NAME: adds up what a program said
    last=$(tail -n 1 "$dir/out")
    sed -e '$d' -e "s,^ok,& $1:," -e "s,^FAIL,& $1:," "$dir/out"
    case $last in
    *" passed, "*" failed")
        passed=$((passed + ${last%% *}))
        last=${last#* passed, }
        failed=$((failed + ${last%% *}))
        ;;
    *)
        echo "FAIL $1 ended early: $last"
        failed=$((failed + 1))
        ;;
    esac
}
must() { # NAME COMMAND...
    name=$1
    shift
    "$@" > "$dir/log" 2>&1 && return
    echo "FAIL $name"
    cat "$dir/log"
    failed=$((failed + 1))
    return 1
}
# Other compilers of the same C library.
others=
case $(basename "${cc%% *}") in
cc | gcc* | clang*)
    for compiler in gcc clang; do
        case $cc in *$compiler*) continue ;; esac
        command -v $compiler > /dev/null && others="$others $compiler"
    done
    ;;
esac

# ---- modules ----

printf '#include <dlfcn.h>\nint main(void) { return !dlopen(0, RTLD_NOW); }\n' > "$dir/probe.c"
if ! $cc "$dir/probe.c" -o "$dir/probe" -ldl 2> /dev/null || ! "$dir/probe"; then
    echo "SKIPPED modules: no dlopen here"
else
    kinds=0
    for compiler in "$cc" $others; do
        for visibility in hidden default; do
            must "a module by $compiler" $compiler $flags -I. -fPIC -shared -fvisibility=$visibility \
                tests/modules/plugin.c -o "$dir/kind$kinds.so" && kinds=$((kinds + 1))
        done
    done
    i=0
    while [ $i -lt 64 ]; do
        cp "$dir/kind$((i % kinds)).so" "$dir/$i.so"
        i=$((i + 1))
    done
    cp "$dir/kind0.so" "$dir/closing.so"
    must "the host" $cc $flags -I. tests/modules/host.c tests/modules/plugin.c -o "$dir/host" -ldl && {
        MODULES=$dir "$dir/host" > "$dir/out" 2>&1
        count modules
    }
fi

# ---- units of one program ----

# Another version of the headers: each of the objects that units share has another member in it.
mkdir "$dir/other" "$dir/careless"
for header in flake.h sno.h; do
    sed 's/^struct \(flake\|sno\)_i_\(process\|partitions\|default\) {$/&\n    uint64_t of_another_version[20];/' \
        $header > "$dir/careless/$header"
    sed 's/^#define \(\(flake\|sno\)_i_[a-z]*\)\( *\)[A-Z]*_I_LAYOUT(\1, [0-9]*)/#define \1\3\1_99/' \
        "$dir/careless/$header" > "$dir/other/$header"
done

unit() { # NAME HEADERS STD COMPILER...
    unit=$1 headers=$2 std=$3
    shift 3
    "$@" $of_all -std="$std" -I"$headers" -DMIXED_NAME="$unit" -c tests/modules/mixed.c -o "$dir/$unit.o"
}
# NAME COMPILER SANITIZER HEADERS APART [STD LINKER]: this version's unit first, and last
mixed() {
    must "$1" unit mixed_one . c11 $cc $3 && must "$1" unit mixed_two "$4" "${6:-c11}" $2 $3 &&
        must "$1" $cc $3 $flags -c tests/modules/mixed_main.c -o "$dir/main.o" || return
    for order in "$dir/mixed_one.o $dir/mixed_two.o" "$dir/mixed_two.o $dir/mixed_one.o"; do
        must "$1" ${7:-$cc} $3 -pthread "$dir/main.o" $order -o "$dir/mixed" || return
        "$dir/mixed" "$5" > "$dir/out" 2>&1
        count "$1"
    done
}
printf 'int main(void) { return 0; }\n' > "$dir/probe.c"
watch="-fsanitize=address,undefined -fno-sanitize-recover=all"
$cc $watch "$dir/probe.c" -o "$dir/probe" 2> /dev/null && "$dir/probe" 2> /dev/null || watch=
other=${others##* }
mixed "two versions" "$cc" "$watch" "$dir/other" 4
mixed "two compilers" "${other:-$cc}" "" . 0
mixed "functions of its own and shared ones" "$cc -DFLAKE_SHARED -DFLAKE_IMPLEMENTATION" "" . 0
mixed "two versions of two compilers" "${other:-$cc}" "" "$dir/other" 4

for std in c++11 c++20; do
    if $cxx -std=$std -x c++ -c "$dir/probe.c" -o "$dir/probe.o" 2> /dev/null; then
        mixed "a unit in $std" "$cxx -x c++" "" . 0 $std "$cxx"
    else
        echo "SKIPPED a unit in $std: no compiler for it"
    fi
done

# Shared objects take memory once.
eight_files() {
    for i in 1 2 3 4 5 6 7 8; do
        printf '#include "flake.h"\nint f%s(char *);\nint f%s(char *text) { return flake_uuid7(text); }\n' $i $i > "$dir/f$i.c"
        $cc $flags -I. -c "$dir/f$i.c" -o "$dir/f$i.o" || return
    done
    $cc -pthread "$dir/probe.c" "$dir"/f[1-8].o -o "$dir/eight"
}
if ! command -v size > /dev/null; then
    echo "SKIPPED memory of what files share: no size"
elif must "eight files" eight_files; then
    bss=$(size "$dir/eight" | awk 'NR == 2 {print $3}')
    if [ "$bss" -le 32000 ]; then
        echo "ok eight files have $bss bytes of bss"
        passed=$((passed + 1))
    else
        echo "FAIL eight files have $bss bytes of bss"
        failed=$((failed + 1))
    fi
fi

# The test must detect a layout that changes without its number.
unit mixed_one . c11 $cc && unit mixed_two "$dir/careless" c11 $cc &&
    $cc $flags tests/modules/mixed_main.c "$dir/mixed_one.o" "$dir/mixed_two.o" -o "$dir/mixed" 2> "$dir/log"
if { "$dir/mixed" 5; } 2> /dev/null | grep -q "FAIL objects_are_apart"; then
    echo "ok a layout without a number of its own is seen"
    passed=$((passed + 1))
else
    echo "FAIL a layout without a number of its own is seen"
    failed=$((failed + 1))
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
