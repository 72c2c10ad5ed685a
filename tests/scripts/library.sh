#!/bin/bash
# SPDX-License-Identifier: MIT
#
# library.sh   the shared libraries export exactly the public names of the headers; and files with FLAKE_SHARED share
# one copy of the functions, in C and C++, which a module exports.
cd "$(dirname "$0")/../.." || exit 1
. tests/scripts/judge.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cc=${CC:-cc} cxx=${CXX:-c++}

# The public part of a header without comments.
public() { # HEADER
    sed -nE '\,^// >>public,,\,^// >>structs,p' "$1" |
        tr '\n' ' ' | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' | tr ';' '\n'
}
same() { # FILE FILE
    [ -s "$1" ] && diff "$1" "$2"
}

libraries() { ${MAKE:-make} lib BUILD="$dir" CC="$cc" > "$dir/log" 2>&1 || { cat "$dir/log"; return 1; }; }
probe() { echo 'int one(void) { return 1; }' | $cc -x c -shared -fPIC - -o "$dir/probe.so" 2> /dev/null && nm -D "$dir/probe.so" > /dev/null 2>&1; }
if probe && judge "make lib" libraries; then
    for which in flake sno; do
        nm -D --defined-only "$dir/lib$which.so" | awk '{print $3}' | sort > "$dir/exported"
        { public $which.h | sed -nE 's/.*FLAKE_API ([^(]*)\(.*/\1/p' | sed 's/.*[ *]//'
            public $which.h | grep -o '\bX([a-z0-9_]*,' | sed 's/X(\(.*\),/flake_layout_\1/'; } | sort > "$dir/public"
        [ $which = flake ] && cp "$dir/public" "$dir/flakes" || sort -o "$dir/public" "$dir/public" "$dir/flakes"
        judge "lib$which.so exports what is public, and nothing else" same "$dir/public" "$dir/exported"
        by_cxx() {
            echo "#include \"$which.h\"" | $cxx -x c++ -std=c++11 -I. -shared -fPIC -fvisibility=hidden -DFLAKE_SHARED \
                -DFLAKE_IMPLEMENTATION -D'FLAKE_API=__attribute__((visibility("default")))' - -o "$dir/by_cxx.so" &&
                nm -D --defined-only "$dir/by_cxx.so" | awk '{print $3}' | sort > "$dir/exported" && same "$dir/public" "$dir/exported"
        }
        ! command -v "${cxx%% *}" > /dev/null || judge "a C++ compiler makes lib$which.so, too" by_cxx
        keeps() {
            echo "#include \"$which.h\"" | $cc -x c -std=c11 -I. -shared -fPIC -DFLAKE_SHARED -DFLAKE_IMPLEMENTATION - -o "$dir/inside.so" &&
                nm -D --defined-only "$dir/inside.so" | awk '{print $3}' | sort > "$dir/exported" &&
                [ -z "$(comm -12 "$dir/public" "$dir/exported")" ] && grep -q '^flake_i_process' "$dir/exported"
        }
        judge "a library without FLAKE_API exports no function of $which.h" keeps
        soname() { objdump -p "$dir/lib$which.so" | grep -q "SONAME *lib$which.so.0.4$"; }
        judge "lib$which.so is lib$which.so.0.4" soname
    done
else
    echo "SKIPPED the libraries: $cc makes none here, or there is no nm"
fi

# ---- configuration as text ----

# Fields that a text can set, except those that need a program: memory, functions, other objects.
named_fields() { # HEADER STRUCT
    sed -n "/^typedef struct $2 {/,/^} $2;/p" "$1" | tr '\n' ' ' |
        sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g; s/^[^{]*{//; s/}.*//' | tr ';' '\n' | while read -r _ rest; do
        echo "$rest" | tr ',' '\n' | sed 's/.*[ *]//'
    done | grep .
}
each_field_has_its_word() {
    named_fields flake.h flake_options | grep -vxE 'lanes|shared_memory|overflow' | sort > "$dir/fields"
    sed -n 's/^ *FLAKE_I_[A-Z]*("[a-z_]*", \([a-z_.]*\).*/\1/p' flake.h | grep -vE '^(node($|\.)|options\.layout\.)' |
        sed 's/^[a-z]*\.//; s/\..*//' | sort > "$dir/words"
    same "$dir/fields" "$dir/words"
}
judge "each option has its word" each_field_has_its_word

# ---- one copy of the functions ----

cat > "$dir/user.c" <<'END'
#include "flake.h"
#ifdef __cplusplus
extern "C"
#endif
int CALL(flake_gen *ids, uint64_t *id) { return (int)flake_next(ids, id); }
END
cat > "$dir/implementation.c" <<'END'
#include "sno.h"
#define FLAKE_CLOCK_NS(kind) ((void)(kind), INT64_C(1800000000000000000))
#define FLAKE_IMPLEMENTATION
#include "sno.h"
END
cat > "$dir/whole.c" <<'END'
#include "sno.h"
int by_c(flake_gen *, uint64_t *), by_cxx(flake_gen *, uint64_t *);
int main(void) {
    static flake_gen ids;
    static flake_options options;
    uint64_t first, second;
    options.start_this_unit = true; /* the clock stands still */
    if (strcmp(flake_version(), FLAKE_VERSION_STRING) || strcmp(sno_version(), SNO_VERSION_STRING)) return 1;
    if (flake_init(&ids, flake_node_fixed(NULL, 7), &options, NULL) || by_c(&ids, &first) || by_cxx(&ids, &second)) return 1;
    return (int64_t)(first >> 22) + flake_layout_default.epoch_ms == 1800000000000 && second == first + 1 && !sno_is_zero(sno_generate(0)) ? 0 : 1;
}
END
# shellcheck disable=SC2086
c_file() { $cc -std=c11 $WARN -O2 -I. -c "$@"; }
# shellcheck disable=SC2086
cxx_file() { $cxx -std=c++11 $WARN -O2 -I. -x c++ -c "$@"; }

# ---- ignored statuses ----

# Each init, take-over, draw and look-up of a node number: ignoring its status causes a warning.
ignoring() { # COMPILER STD LANGUAGE: an error for each of those calls
    local call calls n=0
    calls=$( (public flake.h; public sno.h) | sed -nE 's/.* ((flake|flake128|sno)_[a-z0-9_]*(init[a-z_]*|reinit_after_fork|take_over|next|next_n|try|try_n|try_at|with_time|config_parse|node_from_[a-z]+|uuid7|uuid7_bytes|uuid7_at|ulid|ulid_bytes))\(.*/\1/p' |
        grep -vxE 'flake_ring_init|flake128_(to|from)_ulid' | sort -u)
    [ "$(echo "$calls" | wc -l)" -ge 35 ] || { echo "$calls"; return 1; }
    for call in $calls; do
        printf '#include "sno.h"\n#ifdef __cplusplus\nint main() {\n#else\nint main(void) {\n#endif\n%s(%s);\n}\n' \
            "$call" "$(public_arguments "$call")" > "$dir/ignored.c"
        ! "$1" -std="$2" -x "$3" -Werror -I. -c "$dir/ignored.c" -o "$dir/ignored.o" 2> "$dir/log" &&
            grep -q 'unused-result\|nodiscard' "$dir/log" && n=$((n + 1)) || { echo "$call"; cat "$dir/log"; }
    done
    [ $n -eq "$(echo "$calls" | wc -l)" ]
}
# Zeros for its parameters; a node is a struct.
public_arguments() { # CALL
    (public flake.h; public sno.h) | sed -nE "s/.* $1\(([^)]*)\).*/\1/p" | head -n 1 | awk -F, '{for (i = 1; i <= NF; i++) printf "%s%s", (i > 1 ? ", " : ""), $i ~ /flake_node *$/ ? "flake_node_none()" : "0"}'
}
judge "ignoring a status is a warning: C" ignoring "$cc" c11 c
! command -v "${cxx%% *}" > /dev/null || judge "and in C++" ignoring "$cxx" c++17 c++
waived() { printf '#include "flake.h"\nint main(void) { uint64_t id; (void)!flake_try(NULL, &id); }\n' | $cc -std=c11 -Wall -Wextra -Werror -I. -x c -c - -o "$dir/ignored.o"; }
judge "unless it is ignored on purpose" waived

# ---- a node that is forgotten, or in the wrong place ----

# LINE: no compiler accepts it. Then the same call as it should be, which each accepts.
cat > "$dir/calls" <<'END'
flake_init(&ids, NULL, &why)                                       flake_init(&ids, node, NULL, &why)
flake_init(&ids, &options, &why)                                   flake_init(&ids, node, &options, &why)
flake_init(&ids, NULL, NULL, &why)                                 flake_init(&ids, node, NULL, &why)
flake_init(&ids, 7, NULL, &why)                                    flake_init(&ids, flake_node_fixed(NULL, 7), NULL, &why)
flake_init(&ids, number, NULL, &why)                               flake_init(&ids, flake_node_fixed(NULL, number), NULL, &why)
flake_init(&ids, &node, NULL, &why)                                flake_init(&ids, node, NULL, &why)
flake_init(&ids, NULL, node, &why)                                 flake_init(&ids, node, NULL, &why)
flake_init(&ids, flake_node_none, NULL, &why)                      flake_init(&ids, flake_node_none(), NULL, &why)
flake_init_shards(&ids, 1, NULL, &why)                             flake_init_shards(&ids, 1, node, NULL, &why)
flake_init_shards(&ids, 1, NULL, NULL, &why)                       flake_init_shards(&ids, 1, node, NULL, &why)
flake_init_shards(&ids, 1, 7, NULL, &why)                          flake_init_shards(&ids, 1, node, NULL, &why)
flake_init_shards(&ids, node, 1, NULL, &why)                       flake_init_shards(&ids, 1, node, NULL, &why)
flake_reinit_after_fork(&ids, NULL, &why)                          flake_reinit_after_fork(&ids, node, NULL, &why)
flake_reinit_after_fork(&ids, NULL, NULL, &why)                    flake_reinit_after_fork(&ids, node, NULL, &why)
flake_reinit_after_fork(&ids, 7, NULL, &why)                       flake_reinit_after_fork(&ids, node, NULL, &why)
flake_reinit_after_fork(&ids, NULL, node, &why)                    flake_reinit_after_fork(&ids, node, NULL, &why)
sno_init(&snos, NULL, NULL, &why)                                  sno_init(&snos, node, NULL, NULL, &why)
sno_init(&snos, &pool, &options, &why)                             sno_init(&snos, node, &pool, &options, &why)
sno_init(&snos, NULL, NULL, NULL, &why)                            sno_init(&snos, node, NULL, NULL, &why)
sno_init(&snos, 7, NULL, NULL, &why)                               sno_init(&snos, node, NULL, NULL, &why)
sno_init(&snos, NULL, node, NULL, &why)                            sno_init(&snos, node, NULL, NULL, &why)
sno_init_shards(&snos, 1, NULL, NULL, &why)                        sno_init_shards(&snos, 1, node, NULL, NULL, &why)
sno_init_shards(&snos, 1, NULL, NULL, NULL, &why)                  sno_init_shards(&snos, 1, node, NULL, NULL, &why)
sno_init_shards(&snos, 1, 7, NULL, NULL, &why)                     sno_init_shards(&snos, 1, node, NULL, NULL, &why)
sno_init_shards(&snos, node, 1, NULL, NULL, &why)                  sno_init_shards(&snos, 1, node, NULL, NULL, &why)
sno_reinit_after_fork(&snos, NULL, NULL, &why)                     sno_reinit_after_fork(&snos, node, NULL, NULL, &why)
sno_reinit_after_fork(&snos, NULL, NULL, NULL, &why)               sno_reinit_after_fork(&snos, node, NULL, NULL, &why)
sno_reinit_after_fork(&snos, 7, NULL, NULL, &why)                  sno_reinit_after_fork(&snos, node, NULL, NULL, &why)
options.node = 7                                                   options.seq_max = 7
options.gate = gate                                                node = flake_node_gated(&gate, 7)
END
accepts() { # COMPILER STD LANGUAGE LINE
    cat > "$dir/call.c" <<END
#include "sno.h"
int main(void) {
    static flake_gen ids;
    static sno_gen snos;
    static flake_options options;
    static sno_snapshot pool;
    static flake_gate gate;
    flake_node node = flake_node_fixed(NULL, 7);
    uint64_t number = 7;
    flake_why why;
    $4;
    (void)ids, (void)snos, (void)options, (void)pool, (void)gate, (void)node, (void)number, (void)why;
    return 0;
}
END
    "$1" -std="$2" -x "$3" -w -DFLAKE_SHARED -I. -fsyntax-only "$dir/call.c" 2> "$dir/log"
}
needs_a_node() { # COMPILER STD LANGUAGE
    local wrong right n=0
    while IFS='|' read -r wrong right; do
        n=$((n + 1))
        ! accepts "$@" "$wrong" || { echo "    accepted: $wrong"; return 1; }
        accepts "$@" "$right" || { echo "    refused: $right"; cat "$dir/log"; return 1; }
    done < <(sed 's/   */|/' "$dir/calls")
    [ $n -ge 30 ]
}
for compiler in gcc clang g++ clang++; do
    case $compiler in *++) standards="c++11 c++20" language=c++ ;; *) standards="c11 gnu17" language=c ;; esac
    command -v $compiler > /dev/null || { echo "SKIPPED: there is no $compiler"; continue; }
    for std in $standards; do
        judge "a call without a node does not compile: $compiler -std=$std" needs_a_node $compiler $std $language
    done
done

has_text_below() { # BYTES FILE FLAG...
    local bytes=$1 file=$2 text
    shift 2
    c_file -DCALL=by_c -fno-asynchronous-unwind-tables "$@" "$file" -o "$dir/sized.o" || return
    text=$(size "$dir/sized.o" | awk 'NR == 2 {print $1}')
    [ "$text" -lt "$bytes" ] || { echo "$text bytes"; return 1; }
}
if command -v size > /dev/null; then
    judge "a file that calls flake_next has 14 KB of text at most by default" has_text_below 14001 "$dir/user.c"
    printf '#include "flake.h"\nint by_uuid(char *);\nint by_uuid(char *uuid) { return flake_uuid7(uuid) == FLAKE_OK; }\n' > "$dir/uuid.c"
    judge "one that calls flake_uuid7 has 22 KB at most, without the set-up of other generators" has_text_below 22001 "$dir/uuid.c"
    judge "and under 1 KB with FLAKE_SHARED" has_text_below 1000 "$dir/user.c" -DFLAKE_SHARED
else
    echo "SKIPPED the size of a file: there is no size"
fi

refused() { # MESSAGE FLAG...
    local message=$1
    shift
    ! c_file -DCALL=by_c "$@" "$dir/user.c" -o "$dir/refused.o" 2> "$dir/log" && grep -q "error.*$message" "$dir/log" ||
        { echo "$@"; cat "$dir/log"; return 1; }
}
hooks_are_refused() {
    local hook n=0
    for hook in $(sed -n '/^ \* *FLAKE_CLOCK_NS/,/^ \* *FLAKE_ASSERT/s/^ \* *\(FLAKE_[A-Z_]*\).*/\1/p' flake.h); do
        refused "FLAKE_SHARED: define hooks only in the file" -DFLAKE_SHARED "-D$hook" && n=$((n + 1)) || return
    done
    [ $n -eq 8 ]
}
judge "hooks where the functions are not are an error" hooks_are_refused
judge "FLAKE_IMPLEMENTATION without FLAKE_SHARED is an error" refused "FLAKE_IMPLEMENTATION: define FLAKE_SHARED" -DFLAKE_IMPLEMENTATION

if ! command -v "${cxx%% *}" > /dev/null; then
    close_with_counts
fi
shares() { # COMPILER: of the file that has the functions
    c_file -DFLAKE_SHARED -DCALL=by_c "$dir/user.c" -o "$dir/by_c.o" &&
        cxx_file -DFLAKE_SHARED -DCALL=by_cxx "$dir/user.c" -o "$dir/by_cxx.o" &&
        c_file -DFLAKE_SHARED "$dir/whole.c" -o "$dir/whole.o" &&
        "$1" -DFLAKE_SHARED "$dir/implementation.c" -o "$dir/implementation.o" &&
        $cxx "$dir"/{by_c,by_cxx,whole,implementation}.o -o "$dir/whole" -pthread && "$dir/whole"
}
judge "C and C++ files share the functions of a C file, and its hooks" shares c_file
judge "and of a C++ file" shares cxx_file

# The names that a module exports, and structs that it wraps in a class, as these compilers require.
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
        options.start_this_unit = true; // the clock stands still
        fits = flake_init(&ids, flake_node_fixed(NULL, node), &options, NULL) == FLAKE_OK;
    }
    flake128 uuid() {
        flake128 id = {};
        fits = flake_uuid7_bytes(id.bytes) == FLAKE_OK;
        return id;
    }
    flake_hash hash() { return flake_hash(); }
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
cat > "$dir/importer.cc" <<'END'
import ids;
int main() {
    static ids::generator of_node_3(3);
    unsigned long long id;
    if (!of_node_3.next(id) || (id >> 12 & 1023) != 3) return 1;
#if !defined(__clang__) || __clang_major__ >= 15 // an older one does not know the struct here
    const auto first = of_node_3.uuid(), second = of_node_3.uuid();
    if (!(first < second) || first == second || !(first != second)) return 1;
    if (of_node_3.hash()(first) == of_node_3.hash()(second)) return 1;
#endif
#ifdef BY_NAME
    char text[37];
    if (ids::flake_uuid7(text) || text[14] != '7') return 1;
#endif
}
END
exports_clang() {
    (here=$PWD && cd "$dir" && clang++ -std=c++20 -I"$here" -DFLAKE_SHARED --precompile ids.cppm -o ids.pcm &&
        clang++ -std=c++20 -fprebuilt-module-path=. -DBY_NAME -c importer.cc -o importer.o && clang++ -c ids.pcm -o ids.o &&
        clang++ importer.o ids.o implementation.o -o importer -pthread && ./importer)
}
exports_gcc() {
    (here=$PWD && cd "$dir" && g++ -std=c++20 -fmodules-ts -I"$here" -DFLAKE_SHARED -x c++ -c ids.cppm -o ids.o &&
        g++ -std=c++20 -fmodules-ts importer.cc ids.o implementation.o -o importer -pthread && ./importer)
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
