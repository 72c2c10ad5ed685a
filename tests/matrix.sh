#!/bin/sh
# SPDX-License-Identifier: MIT
#
# matrix.sh WARN HEADER...   gcc and clang, every -std, C and C++, every -O: no warning anywhere; nor as libraries, and
# in C++ with functions that files share.
warn=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for header; do printf '#include "%s"\n' "$header"; done > "$dir/all.c"
echo 'int main(void) { return 0; }' >> "$dir/all.c"
cp "$dir/all.c" "$dir/all.cc"
runs=0
compile() { # COMPILER STD O FILE FLAG...
    compiler=$1 std=$2 o=$3 file=$4
    shift 4
    $compiler -std="$std" -O$o $warn "$@" -I. "$dir/$file" -o "$dir/program" || { echo "$compiler -std=$std -O$o $*"; exit 1; }
    runs=$((runs + 1))
}
for o in 0 1 2 3 s; do
    for pair in "gcc c11" "gcc c17" "gcc gnu11" "gcc c2x" "clang c11" "clang c17" "clang gnu11" "clang c2x" \
        "g++ c++11" "g++ c++14" "g++ c++17" "g++ c++20" "g++ c++23" "clang++ c++11" "clang++ c++14" \
        "clang++ c++17" "clang++ c++20" "clang++ c++2b"; do
        case $pair in *c++*) file=all.cc ;; *) file=all.c ;; esac
        compile ${pair% *} ${pair#* } $o $file
        [ $o = 2 ] || continue
        compile ${pair% *} ${pair#* } 2 $file -DFLAKE_LIBRARY
        [ $file = all.c ] || compile ${pair% *} ${pair#* } 2 $file -DFLAKE_CXX_INLINE='"plain"'
    done
done
echo "$runs compilations without a warning"
