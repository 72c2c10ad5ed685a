#!/bin/sh
# SPDX-License-Identifier: MIT
#
# matrix.sh WARN HEADER...   gcc and clang, every -std, C and C++, every -O: no warning anywhere.
warn=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for header; do printf '#include "%s"\n' "$header"; done > "$dir/all.c"
echo 'int main(void) { return 0; }' >> "$dir/all.c"
cp "$dir/all.c" "$dir/all.cc"
runs=0
for o in 0 1 2 3 s; do
    for pair in "gcc c11" "gcc c17" "gcc gnu11" "gcc c2x" "clang c11" "clang c17" "clang gnu11" "clang c2x" \
        "g++ c++11" "g++ c++14" "g++ c++17" "g++ c++20" "g++ c++23" "clang++ c++11" "clang++ c++14" \
        "clang++ c++17" "clang++ c++20" "clang++ c++2b"; do
        compiler=${pair% *} std=${pair#* }
        case $std in c++*) file=all.cc ;; *) file=all.c ;; esac
        $compiler -std="$std" -O$o $warn -I. "$dir/$file" -o "$dir/program" || { echo "$compiler -std=$std -O$o"; exit 1; }
        runs=$((runs + 1))
    done
done
echo "$runs compilations without a warning"
