#!/bin/bash
# SPDX-License-Identifier: MIT
#
# library.sh   the shared libraries export what the headers call public and nothing else, and know the size of
# each public object and the name of each field; and C++ files with FLAKE_CXX_INLINE share their functions,
# but not with other hooks or versions, and a module exports them.
cd "$(dirname "$0")/.." || exit 1
. tests/judge.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cc=${CC:-cc} cxx=${CXX:-c++}

# The public part of a header without comments.
public() { # HEADER
    sed -nE '\,^// >>public,,\,^// >>(system|own) begin,p' "$1" |
        tr '\n' ' ' | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' | tr ';' '\n'
}
same() { # FILE FILE
    [ -s "$1" ] && diff "$1" "$2"
}
fields() { # HEADER STRUCT: of what is a struct itself its fields
    sed -n "/^typedef struct $2 {/,/^} $2;/p" "$1" | tr '\n' ' ' |
        sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g; s/^[^{]*{//; s/}.*//; s/(\*\([a-z_]*\))([^)]*)/\1/g' | tr ';' '\n' |
        while read -r type rest; do
            case $type in
            flake_clock | flake_gate | flake_layout)
                fields "$1" "$type" | sed "s/^/$rest./" ;;
            ?*) echo "$rest" | tr ',' '\n' | sed 's/.*[ *]//' ;;
            esac
        done
}
# What a header has a name for: the macro for clocks stands for three.
named() { # HEADER STRUCT
    tr '\n' ' ' < "$1" | grep -oE "FLAKE_I_(FIELD|NUMBER|BOOL|CLOCK)\( *$2[,)] *[a-z_.]*" |
        sed 's/.*CLOCK(.*/clock.kind\nclock.now_ns\nclock.user/; s/.*[, ]//'
}

libraries() { ${MAKE:-make} lib BUILD="$dir" CC="$cc" > "$dir/log" 2>&1 || { cat "$dir/log"; return 1; }; }
probe() { echo 'int one(void) { return 1; }' | $cc -x c -shared -fPIC - -o "$dir/probe.so" 2> /dev/null && nm -D "$dir/probe.so" > /dev/null 2>&1; }
if probe && judge "make lib" libraries; then
    for which in flake sno; do
        nm -D --defined-only "$dir/lib$which.so" | awk '{print $3}' | sort > "$dir/exported"
        public $which.h | sed -n "s/.*FLAKE_API \([^(]*\)(.*/\1/p" | sed 's/.*[ *]//' | sort > "$dir/public"
        [ $which = flake ] && cp "$dir/public" "$dir/flakes" || sort -o "$dir/public" "$dir/public" "$dir/flakes"
        judge "lib$which.so exports what is public, and nothing else" same "$dir/public" "$dir/exported"
        by_cxx() {
            echo "#include \"$which.h\"" | $cxx -x c++ -std=c++11 -I. -shared -fPIC -fvisibility=hidden -DFLAKE_LIBRARY - -o "$dir/by_cxx.so" &&
                nm -D --defined-only "$dir/by_cxx.so" | awk '{print $3}' | sort > "$dir/exported" && same "$dir/public" "$dir/exported"
        }
        ! command -v "${cxx%% *}" > /dev/null || judge "a C++ compiler makes lib$which.so, too" by_cxx
        soname() { objdump -p "$dir/lib$which.so" | grep -q "SONAME *lib$which.so.0$"; }
        judge "lib$which.so is lib$which.so.0" soname
    done
else
    echo "SKIPPED the libraries: $cc makes none here, or there is no nm"
fi

for which in flake sno; do
    public $which.h | sed -n 's/.*typedef struct \([a-z0-9]*\)_\([a-z0-9_]*\).*/\1_sizeof_\2/p' | grep -v sizeof_i_ |
        grep -vE '_(clock|gate)$' | sort -u > "$dir/objects"
    public $which.h | grep -o "[a-z0-9]*_sizeof_[a-z0-9_]*" | sort > "$dir/sizes"
    judge "$which.h: each public object has its size" same "$dir/objects" "$dir/sizes"
done
while read -r header struct; do
    fields "$header" "$struct" | grep -vx layout.name | sort > "$dir/fields"
    named "$header" "$struct" | sort > "$dir/named"
    judge "$struct: each field has its name" same "$dir/fields" "$dir/named"
done <<END
flake.h flake_options
flake.h flake_state_options
sno.h sno_snapshot
END

# ---- functions that C++ files share ----

if ! command -v "${cxx%% *}" > /dev/null; then
    close_with_counts
fi
# Another version of the header, whose statuses are called otherwise.
mkdir "$dir/other"
sed 's/^#define FLAKE_VERSION_PATCH .*/#define FLAKE_VERSION_PATCH 99/; s/return "ok"/return "other"/' flake.h > "$dir/other/flake.h"
cat > "$dir/part.cc" <<'END'
#ifdef HAS_CLOCK
#define FLAKE_CLOCK_NS(kind) INT64_C(1600000000000000000)
#endif
#include "flake.h"
// The ms of an id, by this file's hooks; and what this file's version calls FLAKE_OK.
int64_t PART(const char **ok) {
    static flake_gen gen;
    uint64_t id = 0;
    *ok = flake_status_str(FLAKE_OK);
    if (flake_init(&gen, nullptr) != FLAKE_OK || flake_next(&gen, &id) != FLAKE_OK) return 0;
    return static_cast<int64_t>(id >> 22);
}
END
cat > "$dir/whole.cc" <<'END'
#include <cstdint>
#include <cstdio>
#include <cstring>
int64_t one(const char **ok), two(const char **ok), scripted(const char **ok), older(const char **ok);
int main() {
    const char *ok[4];
    const int64_t ms[] = {one(&ok[0]), two(&ok[1]), scripted(&ok[2]), older(&ok[3])};
    const bool clocks = ms[0] > 1700000000000 && ms[1] >= ms[0] && ms[2] == 1600000000000 && ms[3] >= ms[0];
    const bool versions = !std::strcmp(ok[0], "ok") && !std::strcmp(ok[1], "ok") && !std::strcmp(ok[3], "other");
    if (!clocks) std::puts("a file has another's clock");
    if (!versions) std::puts("a file has another version's functions");
    return clocks && versions ? 0 : 1;
}
END
shares() { # ORDER...: of the files
    local part options objects=
    for part in one two scripted older; do
        options="-I."
        [ $part = older ] && options="-I$dir/other"
        [ $part = scripted ] && options="-I. -DHAS_CLOCK"
        # shellcheck disable=SC2086
        $cxx -std=c++11 $WARN -O0 $options -DPART=$part \
            -DFLAKE_CXX_INLINE="$([ $part = scripted ] && echo '"scripted"' || echo '"plain"')" \
            -c "$dir/part.cc" -o "$dir/$part.o" || return 1
    done
    for part; do objects="$objects $dir/$part.o"; done
    # shellcheck disable=SC2086
    $cxx -std=c++11 -pthread "$dir/whole.cc" $objects -o "$dir/whole" && "$dir/whole" &&
        [ "$(nm "$dir/whole" | grep -c ' [tTwWuV] .*flake_next')" -eq 3 ] # plain, scripted, of the other version
}
judge "C++ files share functions, but not those of other hooks or versions" shares one two scripted older
judge "in whichever order" shares older scripted two one

# As a build defines it for all its files.
cat > "$dir/plain.c" <<'END'
#include "flake.h"
#include "sno.h"
int main(void) {
    static flake_gen gen;
    uint64_t id;
    return flake_init(&gen, NULL) || flake_next(&gen, &id) || sno_is_zero(sno_generate(0));
}
END
passes_c() {
    # shellcheck disable=SC2086
    $cc -std=c11 $WARN -DFLAKE_CXX_INLINE='"plain"' -I. "$dir/plain.c" -o "$dir/plain" -pthread && "$dir/plain"
}
judge "a C file beside them has functions of its own" passes_c

# What a module exports by name, and what it wraps in a class, as structs have to be with these compilers.
cat > "$dir/ids.cppm" <<'END'
module;
#include "flake.h"
export module ids;
export namespace ids {
using ::flake_uuid7;
class generator {
  public:
    explicit generator(unsigned node) : ids() {
        flake_options options = {};
        options.node = node;
        fits = flake_init(&ids, &options) == FLAKE_OK;
    }
    bool next(unsigned long long &to) {
        uint64_t id = 0;
        const bool drawn = fits && flake_next(&ids, &id) == FLAKE_OK;
        to = id;
        return drawn;
    }

  private:
    flake_gen ids;
    bool fits;
};
}
END
cat > "$dir/user.cc" <<'END'
import ids;
int main() {
    static ids::generator of_node_3(3);
    unsigned long long id;
    if (!of_node_3.next(id) || (id >> 12 & 1023) != 3) return 1;
#ifdef BY_NAME
    char text[37];
    if (ids::flake_uuid7(text) || text[14] != '7') return 1;
#endif
}
END
exports_clang() {
    (here=$PWD && cd "$dir" && clang++ -std=c++20 -I"$here" -DFLAKE_CXX_INLINE='"plain"' --precompile ids.cppm -o ids.pcm &&
        clang++ -std=c++20 -fprebuilt-module-path=. -DBY_NAME -c user.cc -o user.o && clang++ -c ids.pcm -o ids.o &&
        clang++ user.o ids.o -o user -pthread && ./user)
}
exports_gcc() {
    (here=$PWD && cd "$dir" && g++ -std=c++20 -fmodules-ts -I"$here" -DFLAKE_CXX_INLINE='"plain"' -x c++ -c ids.cppm -o ids.o &&
        g++ -std=c++20 -fmodules-ts user.cc ids.o -o user -pthread && ./user)
}
echo 'export module probe;' > "$dir/probe.cppm"
if command -v clang++ > /dev/null && clang++ -std=c++20 --precompile "$dir/probe.cppm" -o "$dir/probe.pcm" 2> /dev/null; then
    judge "a module exports them: clang++" exports_clang
else
    echo "SKIPPED a module: needs clang++ with modules"
fi
if command -v g++ > /dev/null && (cd "$dir" && g++ -std=c++20 -fmodules-ts -x c++ -c probe.cppm -o probe.o) 2> /dev/null; then
    judge "a module wraps them in a class: g++" exports_gcc
else
    echo "SKIPPED a module: needs g++ with modules"
fi
close_with_counts
