#!/bin/bash
# SPDX-License-Identifier: MIT
#
# matrix.sh   no warning by gcc or clang, in any -std of C and C++, at any -O: of both headers together, of flake.h,
# sno.h with it, and the file of `make single`, each in an empty directory, and of a program that enables more warnings
# than the headers are written for. WARN: the project's warnings. C_STANDARDS, CXX_STANDARDS, OPTIMISE: some of them.
. tests/scripts/judge.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
here=$PWD
c_standards=${C_STANDARDS:-c11 c17 gnu11 c2x} cxx_standards=${CXX_STANDARDS:-c++11 c++14 c++17 c++20 c++2b}
quietly() { said=$("$@" 2>&1) || { printf '%s\n' "$said" | head -20; return 1; }; }
# Several compilations count as one test, which prints the first that fails.
compiles() { # COMMAND...
    quietly "$@" || { echo "    $*"; fine=false; }
}
all_did() { $fine; }

# ---- both headers: in a program, and in files with and without the shared functions ----

printf '#include "flake.h"\n#include "sno.h"\nint main(void) { return 0; }\n' | tee "$dir/all.c" > "$dir/all.cc"
for compiler in gcc clang g++ clang++; do
    case $compiler in *++) file=$dir/all.cc standards=$cxx_standards ;; *) file=$dir/all.c standards=$c_standards ;; esac
    for std in $standards; do
        fine=true
        for o in ${OPTIMISE:-0 1 2 3 s}; do compiles $compiler -std=$std -O$o $WARN -I. "$file" -o "$dir/program"; done
        compiles $compiler -std=$std -O2 $WARN -DFLAKE_SHARED -DFLAKE_IMPLEMENTATION -I. "$file" -o "$dir/program"
        compiles $compiler -std=$std $WARN -DFLAKE_SHARED -fsyntax-only -I. "$file"
        # containers of IDs
        [ "$file" = "$dir/all.c" ] || compiles $compiler -std=$std $WARN -fsyntax-only -I. tests/unit/two_units_other.cc
        judge "$compiler -std=$std" all_did
    done
done

# ---- in an empty directory: first, last, among macros that other headers define, and as the file itself ----

${MAKE:-make} -s single BUILD="$dir" || exit 1
for copied in flake.h "sno.h flake.h" "$dir/single/sno.h"; do
    header=$(basename ${copied%% *})
    rm -rf "$dir/alone" && mkdir "$dir/alone" && cp $copied "$dir/alone" && cd "$dir/alone" || exit 1
    main="#include \"$header\"\nint main(void) { return 0; }\n"
    printf "$main" | tee first.c > first.cc
    printf "#include <stdio.h>\n#include <stdlib.h>\n$main" | tee last.c > last.cc
    # The headers that this one needs come first: such macros would break those.
    sed -n 's/^ *# *include \(<[^>]*>\).*/#if __has_include(\1)\n#include \1\n#endif/p' *.h > macros.c
    for word in 'interface struct' 'small char' 'hyper int' near far IN OUT OPTIONAL 'min(a, b) a' 'max(a, b) a' \
        'I 1' 'linux 1' 'unix 1'; do echo "#undef ${word%%[ (]*}"; echo "#define $word"; done >> macros.c
    printf "$main" >> macros.c
    for pair in "gcc c11" "gcc gnu11" "clang c11" "clang gnu11" "g++ c++11" "clang++ c++11"; do
        fine=true compiler=${pair% *}
        case $compiler in
        *++) files="first.cc last.cc" ;;
        gcc) files="first.c last.c macros.c -xc $header" ;;
        clang) files="first.c last.c macros.c" ;; # of the file itself, it names each function that is not called
        esac
        compiles $compiler -std=${pair#* } $WARN -fsyntax-only $files
        judge "${copied#"$dir/"} alone, $compiler -std=${pair#* }" all_did
    done
    cd "$here" || exit 1
done

# ---- a user's file, with more warnings: only its own code may cause any ----

cat > "$dir/user.c" << 'END'
#include "flake.h"
#include "sno.h"
int main(void) {
    static flake_gen ids, lanes;
    static sno_gen laned;
    static flake_lane lane[2], sno_lane[2];
    static flake_options options;
    uint64_t id;
    sno_id sno = sno_generate(42);
    char text[16];
    sno_encode(sno, text);
    if (flake_next(&lanes, &id) == FLAKE_OK || sno_next(&laned, 1, &sno) == FLAKE_OK) return 1;
    options.lane_count = 2;
    options.lanes = lane;
    if (flake_init(&lanes, flake_node_fixed(NULL, 7), &options, NULL) != FLAKE_OK) return 1;
    options.lanes = sno_lane;
    if (sno_init(&laned, flake_node_none(), NULL, &options, NULL) != FLAKE_OK) return 1;
    if (flake_init(&ids, flake_node_fixed(NULL, 8), NULL, NULL) != FLAKE_OK || flake_next(&ids, &id) != FLAKE_OK) return 1;
    return sno_decode(text, sizeof text, &sno) == FLAKE_OK ? 0 : FLAKE_VERSION_MAJOR + SNO_VERSION_MAJOR + 1;
}
END
sed 's/NULL/nullptr/g' "$dir/user.c" > "$dir/user.cc"
# Options in C++ as in the headers' first comments; a memset of them causes no warning, either.
cat > "$dir/options.cc" << 'END'
#include "flake.h"
#include "sno.h"
#include <cstring>
int main() {
    flake_options options = {};
    options.layout = flake_layout_twitter;
    static flake_gen ids;
    const bool fit = flake_init(&ids, flake_node_fixed(nullptr, 3), &options, nullptr) == FLAKE_OK;
    std::memset(&options, 0, sizeof options);
    return fit ? 0 : 1;
}
END
strict='-Wall -Wextra -Wpedantic -pedantic-errors -Wconversion -Wsign-conversion -Wshadow -Wundef -Werror'
strict_c="$strict -Wdeclaration-after-statement -Wstrict-prototypes"
strict_cxx="$strict -Wold-style-cast -Wzero-as-null-pointer-constant -Weffc++"
for compiler in gcc clang g++ clang++; do
    fine=true
    case $compiler in
    *++)
        [ $compiler = clang++ ] || strict_cxx="$strict_cxx -Wuseless-cast"
        for std in $cxx_standards; do
            for file in user options; do compiles $compiler -std=$std $strict_cxx -O2 -I. "$dir/$file.cc" -o "$dir/program" -pthread; done
        done
        strict_cxx=${strict_cxx% -Wuseless-cast}
        ;;
    *)
        for std in $c_standards; do compiles $compiler -std=$std $strict_c -O2 -I. "$dir/user.c" -o "$dir/program" -pthread; done
        for o in ${OPTIMISE:-0 1 3}; do compiles $compiler -std=c11 $strict_c -O$o -I. "$dir/user.c" -o "$dir/program" -pthread; done
        ;;
    esac
    judge "a strict program by $compiler" all_did
done

# gcc's vectors of bytes compare differently where char is unsigned.
fine=true
compiles gcc -std=c11 -O2 -w -funsigned-char -pthread -I. -Itests/support tests/unit/test_fixed_text.c -o "$dir/fixed"
compiles "$dir/fixed"
judge "test_fixed_text, -funsigned-char" all_did
close_with_counts
