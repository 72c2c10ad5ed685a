#!/bin/sh
# SPDX-License-Identifier: MIT
#
# install.sh   installs into a scratch root, builds programs there through pkg-config, formats the man pages, and
# uninstalls; also installs the headers without a compiler. tests/scripts/builds.sh tests the CMake packages.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0
check() { # NAME COMMAND...: the command succeeds and says nothing
    name=$1
    shift
    if said=$("$@" 2>&1) && [ -z "$said" ]; then
        echo "ok $name"
        passed=$((passed + 1))
    else
        printf 'FAIL %s\n%s\n' "$name" "$said"
        failed=$((failed + 1))
    fi
}
# make, for a scratch root; its output matters only if it fails.
scratch_make() {
    ${MAKE:-make} "$@" BUILD="$dir/build" DESTDIR="$dir/root" PREFIX=/opt/ids RUN_ENV= > "$dir/log" 2>&1 || {
        tail -n 20 "$dir/log"
        return 1
    }
}
root=$dir/root/opt/ids

# A compiler with an extra warning; make WERROR= continues.
lib_with_a_warning() { scratch_make lib CFLAGS=-Wdeclaration-after-statement "$@"; }
stops() { ! lib_with_a_warning WERROR=-Werror > /dev/null && grep -q 'Werror.*declaration' "$dir/log"; }
continues_past_clock() { lib_with_a_warning WERROR= && grep -q Wdeclaration "$dir/log"; }
check a_warning_is_an_error stops
check with_WERROR_empty_it_is_none continues_past_clock

check make_install scratch_make install
cat > "$dir/wanted" <<END
/opt/ids/bin/flake
/opt/ids/bin/sno
/opt/ids/include/flake.h
/opt/ids/include/flake_etcd.h
/opt/ids/include/sno.h
/opt/ids/lib/libflake.so
/opt/ids/lib/libflake.so.0.4
/opt/ids/lib/libsno.so
/opt/ids/lib/libsno.so.0.4
/opt/ids/lib/pkgconfig/libflake.pc
/opt/ids/lib/pkgconfig/libsno.pc
/opt/ids/share/cmake/flake/flakeConfig.cmake
/opt/ids/share/cmake/flake/flakeConfigVersion.cmake
/opt/ids/share/cmake/sno/snoConfig.cmake
/opt/ids/share/cmake/sno/snoConfigVersion.cmake
/opt/ids/share/man/man1/flake.1
/opt/ids/share/man/man1/sno.1
/opt/ids/share/man/man3/flake.h.3
/opt/ids/share/man/man3/flake_etcd.h.3
/opt/ids/share/man/man3/sno.h.3
/opt/ids/share/pkgconfig/flake.pc
/opt/ids/share/pkgconfig/flake_etcd.pc
/opt/ids/share/pkgconfig/sno.pc
END
# A man page of each function that the public sections declare.
calls=$(sed -n '/^\/\/ >>public/,/^\/\/ >>structs/p' flake.h sno.h && sed -n '/^\/\/ >>public/,/^\/\/ >>answers/p' extras/etcd/flake_etcd.h)
calls=$(printf '%s\n' "$calls" | grep -oE 'FLAKE_API [A-Za-z0-9_ ]*[ *](flake|sno)[a-z0-9_]*\(' | sed 's/.*[ *]//; s/($//')
for call in $calls; do echo "/opt/ids/share/man/man3/$call.3"; done | sort - "$dir/wanted" > "$dir/with_calls"
mv "$dir/with_calls" "$dir/wanted"
installed() { (cd "$dir/root" && find . ! -type d | sed 's/^\.//' | sort); }
all_files() { installed | diff "$dir/wanted" -; }
check all_files all_files
check headers_are_ours cmp flake.h "$root/include/flake.h"
version=$(sed -n 's/^#define FLAKE_VERSION_STRING "\(.*\)"/\1/p' flake.h)
the_tools_run() {
    [ "$("$root/bin/flake" version)" = "flake $version" ] && [ "$("$root/bin/sno" version)" = "sno $version" ]
}
check the_tools_run the_tools_run

# The internals that its first comment names are those that it uses, and another version of flake.h is an error.
internals_are_named() {
    grep -owE 'flake_i_[a-z0-9_]+|FLAKE_I_[A-Z0-9_]+' flake.h | sort -u > "$dir/internals"
    for part in '1,/^#ifndef FLAKE_ETCD_H/' '/^#ifndef FLAKE_ETCD_H/,$'; do
        sed -n "${part}p" extras/etcd/flake_etcd.h | grep -owFf "$dir/internals" | sort -u > "$dir/names"
        [ "$part" = '1,/^#ifndef FLAKE_ETCD_H/' ] && mv "$dir/names" "$dir/named"
    done
    [ -s "$dir/named" ] && diff "$dir/named" "$dir/names"
}
check the_internals_of_flake_etcd_are_named internals_are_named
another_version() {
    mkdir "$dir/other"
    cp extras/etcd/flake_etcd.h sno.h "$dir/other"
    sed 's/^\(#define FLAKE_VERSION_PATCH\) .*/\1 99/' flake.h > "$dir/other/flake.h"
    echo '#include <flake_etcd.h>' | $CC -E -I"$dir/other" - 2>&1 | grep -q "flake_etcd.h $version needs flake.h $version" ||
        echo "it is taken"
    echo '#include <sno.h>' | $CC -E -I"$dir/other" - 2>&1 | grep -q "different versions" ||
        echo "it is taken by sno.h"
}
check others_need_their_version_of_flake another_version

export PKG_CONFIG_PATH="$root/share/pkgconfig:$root/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$dir/root"
flags() {
    if command -v pkg-config > /dev/null; then pkg-config --cflags --libs flake sno
    else sed -n 's/^Cflags: //p' "$root/share/pkgconfig/flake.pc" | sed "s|\${includedir}|$root/include|"; fi
}
cat > "$dir/program.c" <<END
#include <flake.h>
#include <sno.h>

static flake_gen ids;

int main(void) {
    uint64_t id;
    return flake_init(&ids, flake_node_fixed(NULL, 7), NULL, NULL) == FLAKE_OK && flake_next(&ids, &id) == FLAKE_OK &&
                   !sno_is_zero(sno_generate(1))
               ? 0
               : 1;
}
END
# shellcheck disable=SC2046,SC2086
builds_c() { (cd "$dir" && $CC -std=c11 $WARN $(flags) program.c -o program && ./program); }
# shellcheck disable=SC2046,SC2086
builds_cxx() { (cd "$dir" && $CXX -x c++ -std=c++11 $WARN $(flags) program.c -o program && ./program); }
check a_program_builds_in_c builds_c
command -v "${CXX%% *}" > /dev/null && check a_program_builds_in_cxx builds_cxx
# A program that links the shared libraries in place of functions of its own.
cat > "$dir/linked.c" <<END
#include <sno.h>
#include <stdio.h>
int main(void) {
    flake_gen *const ids = flake_new("node=7 dir=none", NULL);
    uint64_t id;
    printf("%s %s %d\n", flake_version(), sno_version(), flake_next(ids, &id));
    return (int)flake_free(ids, NULL);
}
END
# shellcheck disable=SC2046,SC2086
links_the_libraries() {
    (cd "$dir" && $CC -std=c11 $WARN linked.c $(pkg-config --cflags --libs libflake libsno) -o linked &&
        [ "$(LD_LIBRARY_PATH=$root/lib ./linked)" = "$version $version 0" ])
}
pc_tells_the_version() {
    [ "$(pkg-config --modversion flake flake_etcd sno)" = "$(printf '%s\n' "$version" "$version" "$version")" ]
}
sno_requires_flake() { [ "$(pkg-config --print-requires sno)" = "flake = $version" ]; }
pc_is_valid() { pkg-config --validate flake flake_etcd sno; }
cat > "$dir/claims.c" <<END
#include <flake_etcd.h>
int main(void) {
    static flake_etcd claim;
    flake_etcd_destroy(&claim);
    return flake_etcd_check(&claim, NULL) == FLAKE_LEASE_LOST ? 0 : 1;
}
END
# shellcheck disable=SC2046,SC2086
builds_with_etcd() {
    (cd "$dir" && $CC -std=c11 $WARN claims.c $(pkg-config --cflags --libs flake_etcd) -o claims && ./claims)
}
if command -v pkg-config > /dev/null; then
    check pc_tells_the_version pc_tells_the_version
    check sno_requires_flake sno_requires_flake
    check pc_is_valid pc_is_valid
    check a_program_links_the_libraries links_the_libraries
    if pkg-config --exists libcurl; then check a_program_with_flake_etcd_builds builds_with_etcd
    else echo "SKIPPED a_program_with_flake_etcd_builds: no libcurl for pkg-config"; fi
fi

for page in man1/flake.1 man1/sno.1 man3/flake.h.3 man3/flake_etcd.h.3 man3/sno.h.3; do
    page=$root/share/man/$page name=$(basename "$page")
    without_warnings() { groff -man -Tutf8 -ww -z "$page"; }
    command -v groff > /dev/null && check "${name}_without_warnings" without_warnings
done
# Each of these words is in the page, so nothing is lost in formatting.
words_are_in() { # PAGE WORD...
    page=$1
    shift
    for word; do grep -q -e "$word" "$page" || echo "no $word in $page"; done
}
check flake_1_is_complete words_are_in "$root/share/man/man1/flake.1" 'SH NAME' 'SH "SYNOPSIS"' '\\-\\-dir' \
    'uniqueid' '^\$ flake time' 'EXIT STATUS' 'flake.h (3)'
check flake_3_is_complete words_are_in "$root/share/man/man3/flake.h.3" 'SH NAME' 'SH SYNOPSIS' 'FLAKE_SLEEP_NS' \
    'flake_prefetch_next' '^void flake_machine_cloned' 'flake_init_shards' 'flake128_parse' 'max_ahead_ms' 'max_downtime_ms' 'BR flake (1)'
check flake_etcd_3_is_complete words_are_in "$root/share/man/man3/flake_etcd.h.3" 'SH NAME' 'SH SYNOPSIS' 'flake_etcd_claim' \
    '^flake_status flake_etcd_check' 'horizon_ms' 'BR flake.h (3)'
check sno_3_is_complete words_are_in "$root/share/man/man3/sno.h.3" 'sno_with_time' 'SYNOPSIS' 'sno_try_at' \
    'sno_snapshot_take' 'FLAKE_EXHAUSTED' 'BR sno (1)'

check flake_next_3_is_complete words_are_in "$root/share/man/man3/flake_next.3" 'flake_try, ' '^flake_status flake_next' '^.B FLAKE_AGAIN' \
    'SH EXAMPLE' 'flake.h (3)'
# Each page of a call is formatted without warnings, or is a link to one; `man` and `apropos` find all of them.
pages_of_calls() {
    for call in $calls; do
        page=$root/share/man/man3/$call.3
        grep -q "^\.so man3/" "$page" && page=$root/share/man/$(sed 's/^\.so //' "$page")
        grep -q "^$call\b\|, $call\b" "$page" || echo "$call is not among the names of its page"
        ! command -v groff > /dev/null || groff -man -Tutf8 -ww -z "$page" 2>&1
    done
}
check pages_of_calls pages_of_calls
check make_uninstall scratch_make uninstall
nothing_is_left() { installed; }
check nothing_is_left nothing_is_left
no_folder_of_ours() { ls -d "$root/share/cmake"/* 2> /dev/null; [ -d "$root/share/cmake" ]; }
check no_folder_of_ours no_folder_of_ours

# A single file, with no other beside it.
single_compiles() { # COMPILER...
    printf '#include "sno.h"\nint main(void) { return sno_is_zero(sno_generate(1)); }\n' > "$dir/alone/program.c"
    (cd "$dir/alone" && "$@" $WARN -pthread program.c -o program && ./program)
}
check make_single scratch_make single
mkdir "$dir/alone" && cp "$dir/build/single/sno.h" "$dir/alone"
# shellcheck disable=SC2086
check single_compiles_in_c single_compiles $CC -std=c11
# shellcheck disable=SC2086
command -v "${CXX%% *}" > /dev/null && check single_compiles_in_cxx single_compiles $CXX -x c++ -std=c++11

# The headers alone, with only these programs in PATH.
mkdir "$dir/bin"
make_itself=${MAKE:-make}
for program in sh sed install; do ln -s "$(command -v $program)" "$dir/bin"; done
headers_alone() { MAKE="env PATH=$dir/bin $(command -v "${make_itself%% *}")" CC=none CXX=none scratch_make install-headers; }
check headers_without_a_compiler headers_alone
grep -v '/bin/\|/man/\|/lib/' "$dir/wanted" > "$dir/wanted_headers"
headers_and_no_more() { installed | diff "$dir/wanted_headers" -; }
check headers_and_no_more headers_and_no_more
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
