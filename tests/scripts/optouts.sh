#!/bin/bash
# SPDX-License-Identifier: MIT
#
# optouts.sh   leaves out each optional part once, in C and in C++, and runs tests/bare/bare.c; and checks that the
# headers use the operating system only in the blocks for it.
cc=${CC:-cc} cxx=${CXX:-c++} flags="$WARN -O1"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
here=$(pwd)
passed=0 failed=0
judge() { # CODE NAME
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)) && echo "ok $2"; else failed=$((failed + 1)) && echo "FAIL $2"; fi
}

left_out() { # NAME MACRO...
    local name=$1 language
    shift
    for language in "$cc -std=c11" "$cxx -x c++ -std=c++11"; do
        command -v "${language%% *}" > /dev/null || continue
        # shellcheck disable=SC2086
        $language $flags "$@" -pthread tests/bare/bare.c -o "$dir/bare" &&
            (cd "$dir" && ./bare > out || { cat out; false; })
        judge $? "without $name: ${language##* }"
    done
}
left_out nothing
left_out files -DFLAKE_NO_FILES
left_out net -DFLAKE_NO_NET
left_out "files and net" -DFLAKE_NO_FILES -DFLAKE_NO_NET
left_out "an operating system" -DFLAKE_NO_OS
left_out "an operating system or atomics" -DFLAKE_NO_OS -DPLAIN_ATOMICS

# ---- without an operating system ----

for header in flake.h sno.h; do
    printf '#include "%s"\nint main(void) { return 0; }\n' "$header" > "$dir/unit.c"
    # shellcheck disable=SC2086
    ! $cc -std=c11 $flags -I. -DFLAKE_NO_OS -fsyntax-only "$dir/unit.c" 2> "$dir/log" &&
        grep -q "error.*FLAKE_NO_OS: define FLAKE_CLOCK_NS" "$dir/log"
    judge $? "$header: no clock of an operating system, and none of the user's, is an error that says so"
    $cc -std=c11 -I. -M -DFLAKE_NO_OS "-DFLAKE_CLOCK_NS(kind)=0" "-DFLAKE_SLEEP_NS(ns)=(void)(ns)" \
        -DFLAKE_NO_SIMD "$dir/unit.c" | tr ' ' '\n' | sed -n 's|.*/||p' | sort -u > "$dir/included"
    grep -xE '(time|unistd|errno|fcntl|stdlib|stdio|pthread|threads|signal|mman|stat|file|socket|utsname|ifaddrs|syscall)\.h' \
        "$dir/included"
    [ $? -eq 1 ] && grep -qx stdatomic.h "$dir/included"
    judge $? "$header: no header of the system's is included"
done

# gcc warns in an inlined function of a system header, too.
cat > "$dir/unit.c" << 'END'
#include <stdint.h>
extern int64_t my_ns(void);
#define FLAKE_CLOCK_NS(kind) my_ns()
#define FLAKE_SLEEP_NS(ns)   ((void)(ns))
#include "flake.h"
int use(char *text);
int use(char *text) { return flake_uuid7(text) != FLAKE_OK; }
END
for show in -UFLAKE_SHOW_WARNINGS -DFLAKE_SHOW_WARNINGS; do
    $cc -std=c11 -O2 -Wall -Wextra -Werror -I. -DFLAKE_NO_OS $show -c "$dir/unit.c" -o "$dir/unit.o"
    judge $? "no warning at -O2 with the program's clock, $show"
done

# Both in one program: units of the two kinds share nothing.
$cc -std=c11 $flags -c -DFLAKE_NO_OS tests/bare/bare.c -o "$dir/bare.o" &&
    $cc -std=c11 $flags -c tests/bare/bare.c -o "$dir/whole.o" &&
    nm "$dir/bare.o" "$dir/whole.o" | sed -n 's/.* [VWv] //p' | sort | uniq -d > "$dir/shared" && [ ! -s "$dir/shared" ]
judge $? "units with and without an operating system share no object"

# ---- one block ----

# The code of a header without comments, and without its blocks for the operating system; each line
# with its number.
beyond_the_blocks() {
    awk '/^\/\/ >>/ { block = /^\/\/ >>system$/ }
        {
            line = $0; code = ""
            while (line != "") {
                open = index(line, "/*"); rest = index(line, "//"); close_ = index(line, "*/")
                if (comment && !close_) break
                if (comment) { line = substr(line, close_ + 2); comment = 0 }
                else if (rest && (!open || rest < open)) { code = code substr(line, 1, rest - 1); break }
                else if (open) { code = code substr(line, 1, open - 1); line = substr(line, open + 2); comment = 1 }
                else { code = code line; break }
            }
            if (!block && code != "") print FILENAME ":" FNR ": " code
        }' "$1"
}
macros='_WIN32|_WIN64|__CYGWIN__|__linux(__)?|__gnu_linux__|__ANDROID__|__APPLE__|__(Free|Open|Net)BSD__|__DragonFly__'
macros="$macros|__sun|__unix(__)?|__wasi__|__EMSCRIPTEN__|__GLIBC__|__MINGW(32|64)__|_POSIX_[A-Z_]+|_XOPEN_[A-Z_]+"
names='errno|E(NOENT|ACCES|AGAIN|INTR|INVAL)|O_(RDONLY|RDWR|CREAT|NONBLOCK)|(F|MAP|PROT|SYS|CLOCK|AF|LOCK|DWORD|PAGE)_[A-Za-z_]+'
names="$names|FILETIME|off_t|ssize_t|pid_t|mode_t|timespec|sockaddr[a-z_]*|utsname|flock|struct stat"
calls='open|close|read|write|lseek|pread|pwrite|fsync|fdatasync|fcntl|stat|fstat|lstat|rename|unlink|readlink|getcwd|strerror'
calls="$calls|mmap|munmap|mremap|madvise|minherit|sysconf|syscall|getpid|getenv|uname|gethostname|getifaddrs|freeifaddrs"
calls="$calls|clock_gettime|gettimeofday|time|timespec_get|nanosleep|clock_nanosleep|usleep|thrd_[a-z]+|pthread_[a-z_]+|sched_[a-z_]+"
calls="$calls|getrandom|getentropy|rand_s|Sleep|Virtual[A-Z][a-z]+|GetSystem[A-Za-z]+|malloc|free|printf"
includes='stdbool|stddef|stdint|string|atomic|stdatomic|[a-z]mmintrin|arm_neon'
for header in flake.h sno.h; do
    beyond_the_blocks $header > "$dir/code"
    {
        # gcc for Windows does not align the stack for AVX, which is the compiler's fault
        grep -wE "$macros" "$dir/code" | grep -vF '(_WIN32) || defined(__clang__)'
        grep -E "(^|[^A-Za-z0-9_])($names)($|[^A-Za-z0-9_])" "$dir/code"
        grep -E "(^|[^A-Za-z0-9_>.])($calls)\(" "$dir/code"
        grep -E '# *include' "$dir/code" | grep -vE "<($includes)(\.h)?>|\"flake\.h\""
    } > "$dir/found"
    head -20 "$dir/found"
    [ "$(wc -l < "$dir/code")" -gt 1000 ] && [ ! -s "$dir/found" ]
    judge $? "$header: nothing of an operating system beyond its blocks"
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
