#!/bin/sh
# examples.sh   compiles, and runs, every complete program in README.md's code blocks and in the
# headers' top comments, as C11 and as C++11.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 failed=0
for file in README.md flake.h sno.h; do
    case $file in
    *.md) awk -v dir="$dir" -v n=$n '/^```c$/{out=sprintf("%s/%d.c",dir,n++);next} /^```/{out="";next} out{print>out}' "$file" ;;
    *) awk -v dir="$dir" -v n=$n '/^ \*     #include/&&!out{out=sprintf("%s/%d.c",dir,n++)} /^ \* [A-Z]/{out=""} /^ \*\//{exit}
            out{sub(/^ \* ?( {4})?/,"");print>out}' "$file" ;;
    esac
    n=$(ls "$dir" | grep -c '\.c$')
done
for c in "$dir"/*.c; do
    if $CC -std=c11 $WARN -pthread -I. "$c" -o "$c.bin" && "$c.bin" > /dev/null; then :; else
        echo "example does not work as C: $(head -3 "$c")"; failed=$((failed + 1)); continue
    fi
    command -v "${CXX%% *}" > /dev/null || continue
    $CXX -x c++ -std=c++11 $WARN -pthread -I. "$c" -o "$c.bin" && "$c.bin" > /dev/null ||
        { echo "example does not work as C++: $(head -3 "$c")"; failed=$((failed + 1)); }
done
echo "$((n - failed)) passed, $failed failed"
[ $failed -eq 0 ] && [ $n -gt 0 ]
