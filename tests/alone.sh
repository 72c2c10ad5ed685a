#!/bin/sh
# SPDX-License-Identifier: MIT
#
# alone.sh   each header, copied by itself into an empty folder, compiles without a warning
# in C11 and in C++11, also behind other headers in strict mode, and as the file itself. And each
# source file names its licence.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
here=$(pwd)
passed=0 failed=0
try() {
    if "$@"; then passed=$((passed + 1)); else
        echo "$name: $*"
        failed=$((failed + 1))
    fi
}
for header in flake.h sno.h; do
    name=$(basename "$header")
    rm -rf "$dir"/*
    cp "$here/$header" "$dir/"
    cd "$dir"
    printf '#include "%s"\nint main(void) { return 0; }\n' "$name" > first.c
    printf '#include <stdio.h>\n#include <stdlib.h>\n#include "%s"\nint main(void) { return 0; }\n' "$name" > last.c
    # what <windows.h> and others call their own, once the headers that this one needs are in
    sed -n 's/^ *# *include \(<[^>]*>\).*/#if __has_include(\1)\n#include \1\n#endif/p' "$name" > macros.c
    for word in 'interface struct' 'small char' 'hyper int' near far IN OUT OPTIONAL 'min(a, b) a' 'max(a, b) a' \
        'I 1' 'linux 1' 'unix 1'; do echo "#undef ${word%%[ (]*}"; echo "#define $word"; done >> macros.c
    printf '#include "%s"\nint main(void) { return 0; }\n' "$name" >> macros.c
    cp first.c first.cc
    cp last.c last.cc
    for std in c11 gnu11; do
        for file in first.c last.c; do try $CC -std=$std $WARN $file -o program; done
        try $CC -std=$std $WARN -x c -fsyntax-only "$name"
        try $CC -std=$std $WARN macros.c -o program
    done
    if command -v "${CXX%% *}" > /dev/null; then
        for file in first.cc last.cc; do try $CXX -std=c++11 $WARN $file -o program; done
    fi
    cd "$here"
done
# Each source file says its licence, since files get copied alone.
name=licence
says_its_licence() { head -n 3 "$1" | grep -q 'SPDX-License-Identifier: MIT'; }
for file in $(find Makefile .ci flake.h sno.h bench fuzz tests -type f | grep -E \
    '(^Makefile|^\.ci/run|/mutants/table|\.(c|h|cc|sh|mk|awk|lua|py|go|mjs))$'); do
    try says_its_licence "$file"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
