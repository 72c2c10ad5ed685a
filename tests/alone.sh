#!/bin/sh
# alone.sh HEADER...   each header, copied by itself into an empty folder, compiles without a warning
# in C11 and in C++11, also behind other headers in strict mode, and as the file itself.
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
here=$(pwd)
for header; do
    name=$(basename "$header")
    rm -rf "$dir"/*
    cp "$here/$header" "$dir/"
    cd "$dir"
    printf '#include "%s"\nint main(void) { return 0; }\n' "$name" > first.c
    printf '#include <stdio.h>\n#include <stdlib.h>\n#include "%s"\nint main(void) { return 0; }\n' "$name" > last.c
    cp first.c first.cc
    cp last.c last.cc
    for std in c11 gnu11; do
        for file in first.c last.c; do $CC -std=$std $WARN $file -o program && ./program; done
        $CC -std=$std $WARN -Wno-unused-function -x c -fsyntax-only "$name" 2> log || { cat log; exit 1; }
    done
    if command -v "${CXX%% *}" > /dev/null; then
        for file in first.cc last.cc; do $CXX -std=c++11 $WARN $file -o program && ./program; done
    fi
    cd "$here"
done
