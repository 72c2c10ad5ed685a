#!/bin/sh
# SPDX-License-Identifier: MIT
#
# headers_alone.sh   flake.h, sno.h beside it, and the one file of `make single`, each copied into an empty
# directory, compile without a warning
# in C11 and in C++11, also behind other headers in strict mode, and as the file itself. A unit
# that sets more warnings sees those of its own code alone. Texts are right where char has no sign. And each
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
single=$(mktemp -d)
trap 'rm -rf "$dir" "$single"' EXIT
name=single
try ${MAKE:-make} -s single BUILD="$single"
for files in flake.h "sno.h flake.h" "$single/single/sno.h"; do
    name=$(basename "${files%% *}")
    rm -rf "$dir"/*
    cp $files "$dir/"
    cd "$dir"
    printf '#include "%s"\nint main(void) { return 0; }\n' "$name" > first.c
    printf '#include <stdio.h>\n#include <stdlib.h>\n#include "%s"\nint main(void) { return 0; }\n' "$name" > last.c
    # what <windows.h> and others call their own, once the headers that this one needs are in
    sed -n 's/^ *# *include \(<[^>]*>\).*/#if __has_include(\1)\n#include \1\n#endif/p' *.h > macros.c
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
# A unit of a user's, with more warnings than the headers are written for: they are of its own code.
name=user
cp flake.h sno.h "$dir/"
cat > "$dir/user.c" << 'END'
#include "flake.h"
#include "sno.h"
int main(void) {
    static flake_gen ids;
    static flake_lanes lanes;
    static flake_lane lane[2];
    static sno_lanes laned;
    static flake_lane sno_lane_of[2];
    uint64_t id;
    sno_id sno = sno_generate(42);
    char text[16];
    sno_encode(sno, text);
    if (flake_lanes_next(&lanes, &id) == FLAKE_OK || sno_lanes_next(&laned, 1, &sno) == FLAKE_OK) return 1;
    if (flake_lanes_init(&lanes, lane, 2, NULL) != FLAKE_OK || sno_lanes_init(&laned, sno_lane_of, 2, NULL, NULL, NULL) != FLAKE_OK) return 1;
    if (flake_init(&ids, NULL) != FLAKE_OK || flake_next(&ids, &id) != FLAKE_OK) return 1;
    return sno_decode(text, sizeof text, &sno) == FLAKE_OK ? 0 : FLAKE_VERSION_MAJOR + SNO_VERSION_MAJOR + 1;
}
END
sed 's/NULL/nullptr/g' "$dir/user.c" > "$dir/user.cc"
# What the headers' first comments say of options in C++; and a memset of them is no warning, either.
cat > "$dir/options.cc" << 'END'
#include "flake.h"
#include "sno.h"
#include <cstring>
int main() {
    flake_options options = {};
    options.layout = flake_layout_twitter();
    options.node = 3;
    const bool fit = !flake_options_why(&options);
    std::memset(&options, 0, sizeof options);
    return fit ? 0 : 1;
}
END
strict='-Wall -Wextra -Wpedantic -pedantic-errors -Wconversion -Wsign-conversion -Wshadow -Wundef -Werror'
strict_c="$strict -Wdeclaration-after-statement -Wstrict-prototypes"
strict_cc="$strict -Wold-style-cast -Wzero-as-null-pointer-constant -Weffc++"
knows() { "$@" -fsyntax-only -x c /dev/null 2> /dev/null || "$@" -fsyntax-only -x c++ /dev/null 2> /dev/null; }
for pair in gcc:g++ clang:clang++; do
    c=${pair%:*} cc=${pair#*:}
    for std in c11 c17 c2x; do
        ! knows $c -std=$std || try $c -std=$std $strict_c -O2 -pthread "$dir/user.c" -o "$dir/program"
    done
    for level in 0 1 3; do try $c -std=c11 $strict_c -O$level -pthread "$dir/user.c" -o "$dir/program"; done
    case $cc in g++) useless=-Wuseless-cast ;; *) useless= ;; esac
    for std in c++11 c++14 c++17 c++20 c++2b; do
        ! knows $cc -std=$std || for file in user options; do
            try $cc -std=$std $strict_cc $useless -O2 -pthread "$dir/$file.cc" -o "$dir/program"
        done
    done
    # one copy of the functions: they are inlined into one another in other ways
    for level in 2 3; do
        try $cc -std=c++17 $strict_cc $useless -O$level -DFLAKE_CXX_INLINE='"plain"' -pthread "$dir/user.cc" -o "$dir/program"
    done
done

# gcc's vectors of bytes choose otherwise there.
name=-funsigned-char
passes() { "$1" > "$dir/said"; }
for test in test_uuid_text test_sno_text; do
    try $CC -std=c11 -O2 -w -funsigned-char -pthread -I. tests/$test.c -o "$dir/$test" && try passes "$dir/$test"
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
