#!/bin/sh
# SPDX-License-Identifier: MIT
#
# examples.sh   runs the code blocks of README.md and the other pages, and compiles the examples in the headers'
# comments.
#
# The first line of a block selects what happens to it:
#
#     ```c [NAME=VALUE]   a program: compiled strictly as C11 and as C++11, and run with that environment
#     ```cpp              the same as C++11 alone
#     ```c FOLDER/FILE    lines of that file; the same with cmake
#     ```c declaration    of a call, in docs/api.md, which is compared with what tools/calls.awk writes
#     ```sh builds/NAME   run by tests/scripts/builds.sh, which writes cmake builds/NAME/FILE and the like to files
#     ```sh               commands that are run; of `make` only the target's existence is checked
#     ```console          commands that are run, with exactly this output
#     ```js, ```sql       run by node or sqlite3, if installed
#     ```text             a drawing
#
# The tables of layouts are compared with the header; names and links must exist.
: "${CC:=cc}" "${CXX:=c++}" "${MAKE:=make}"
readme=README.md
formats=docs/formats.md
pages="README.md $(echo .github/*.md docs/*.md examples/*.md examples/*/*.md extras/*.md extras/*/*.md tests/*.md tests/*/*.md fuzz/*.md)"
here=$(pwd)
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT
work=$dir/work
mkdir "$work" "$dir/blocks"
ln -s "$here/fuzz" "$here/tests" "$here/tools" "$work"
passed=0 failed=0 skipped=

ok() { passed=$((passed + 1)); }
fail() { # WHAT [DETAILS]
    printf 'FAIL %s\n' "$1"
    [ -z "$2" ] || printf '%s\n' "$2" | head -20 | sed 's/^/     /'
    failed=$((failed + 1))
}
judge() { # WHAT COMMAND...: succeeds
    what=$1
    shift
    if said=$("$@" 2>&1); then ok; else fail "$what" "$said"; fi
}
nothing() { # WHAT TEXT: there is none
    if [ -z "$2" ]; then ok; else fail "$1" "$2"; fi
}
skip() { case $skipped in *"$1"*) ;; *) skipped="$skipped$1; " ;; esac }
. tests/scripts/commands.sh

# ---- blocks: N.info is the info string, N.text the text, N.line the position ----

# shellcheck disable=SC2086
awk -v dir="$dir/blocks" '
    /^```/ && !inside {inside = 1; n++; sub(/^```/, ""); base = sprintf("%s/%02d", dir, n); print > (base ".info")
                       print FILENAME ":" FNR > (base ".line"); printf "" > (base ".text"); next}
    /^```$/ {inside = 0; close(base ".info"); close(base ".line"); close(base ".text"); next}
    inside {print > (base ".text")}
    END {exit inside}' $pages || fail "a code block does not end"
for header in flake.h sno.h; do
    awk -v base="$dir/blocks/$header" '
        /^ \*     #include/ && !out {out = base ".text"; print "c" > (base ".info"); print FILENAME ":" NR > (base ".line")}
        /^ \* [A-Z]/ {out = ""}
        /^ \*\// {exit}
        out {sub(/^ \* ?( {4})?/, ""); print > out}' $header
done

# ---- programs ----

program() { # LANGUAGE COMPILER STANDARD BASE NAME ENVIRONMENT
    has "$2" || { skip "$2 is not installed"; return; }
    mkdir "$5.$1"
    # shellcheck disable=SC2086
    if ! said=$($2 -x $1 -std=$3 $WARN -pthread -I. "$4.text" -o "$5.$1/program" 2>&1); then
        fail "$where: does not compile as $3" "$said"
    elif ! said=$(cd "$5.$1" && limited env $6 ./program 2>&1); then
        fail "$where: fails as $3" "$said"
    else ok; fi
}

excerpt() { # BLOCK FILE: its lines stand there, together
    awk 'NR == FNR {want = want $0 "\n"; next} {text = text $0 "\n"} END {exit !index(text, want)}' "$1" "$2"
}

# ---- commands ----

$MAKE -pnq BUILD=build help > "$dir/database" 2> /dev/null
known_to_make() { # WORD...: targets, and variables that the Makefile has a use for
    for word; do
        case $word in
        -*) ;;
        *=*) grep -q "^ *${word%%=*} *[?:]*=\|[$]([^)]*\b${word%%=*}\b" Makefile ./*/*.mk ./*/*/*.mk ;;
        *) grep -q "^$word:" "$dir/database" ;;
        esac || { echo "make knows no $word"; return 1; }
    done
}

cp flake.h sno.h "$work"
flake=$work/flake
cp "$dir/blocks/01.text" "$work/app.c"
has cc || cc() { $CC "$@"; }
# The server that the README's curl lines query, on its own port; judge does not wait for it.
start_server() {
    $CC -std=c11 -pthread -I. examples/server/server.c -o "$dir/server" || return
    : > "$dir/port"
    "$dir/server" --port=0 --node=7 > "$dir/port" 2>&1 < /dev/null &
    server=$!
    for try in 1 2 3 4 5 6 7 8 9 10; do
        port=$(sed -n 's/^port //p' "$dir/port")
        [ -z "$port" ] || return
        sleep 0.$try
    done
}
served() { eval "$(printf '%s\n' "$1" | sed "s/localhost:8080/localhost:$port/; s/^curl/curl -sf --max-time 20/")"; }
command_works() { # COMMAND
    case $1 in
    "make "* | make)
        # shellcheck disable=SC2086
        set -- $1
        shift
        known_to_make "$@"
        ;;
    "build/server "*) known_to_make build/server ;;
    "curl "*) served "$1" ;;
    "cc "*pkg-config*) grep -q pkg-config tests/scripts/install.sh ;;
    "cc "* | ./flake* | ./sno* | ./app | "./mine "*) (cd "$work" && eval "$1") ;;
    .ci/run) [ -x .ci/run ] ;;
    *)
        echo "examples.sh does not know how to try this"
        false
        ;;
    esac
}
commands() { # BLOCK
    sed 's/ && /\n/g; s/  *#.*//' "$1" > "$dir/commands"
    while read -r line <&3; do
        case $line in
        '') continue ;;
        "curl "*)
            if ! has curl || [ "$(uname)" != Linux ]; then skip "curl, or no Linux for the server"; continue; fi
            [ -n "$server" ] || start_server
            ;;
        esac
        judge "$where: $line" command_works "$line"
    done 3< "$dir/commands"
}
console() { # BLOCK: all that it shows is what the commands print
    sed -n 's/^\$ //p' "$1" > "$dir/commands"
    while read -r line <&3; do
        echo "\$ $line"
        (cd "$work" && eval "$line") 2>&1
    done 3< "$dir/commands" > "$dir/shown"
    diff "$1" "$dir/shown"
}

for info in "$dir"/blocks/*.info; do
    base=${info%.info}
    block=$base.text
    read -r language rest < "$info"
    where=$(cat "$base.line")
    case "$language $rest" in
    *" builds/"*) ;;
    "c "*/* | "cmake "*/*) judge "$where: stands in $rest" excerpt "$block" "$rest" ;;
    "c declaration") ;;
    "c "*)
        program c "$CC" c11 "$base" "$base.run" "$rest"
        program c++ "$CXX" c++11 "$base" "$base.run" "$rest"
        ;;
    "cpp "*) program c++ "$CXX" c++11 "$base" "$base.run" "$rest" ;;
    "sh "*) commands "$block" ;;
    "console "*) judge "$where: prints just that" console "$block" ;;
    "js "*) if has node; then judge "$where: fails in node" node "$block"; else skip "node is not installed"; fi ;;
    "sql "*)
        if has sqlite3; then judge "$where: fails in sqlite3" sqlite3 -bail :memory: ".read $block"
        else skip "sqlite3 is not installed"; fi
        ;;
    "text "*) ;;
    *) fail "$where: a block of an unknown kind: $language $rest" ;;
    esac
done
# Processes that run the program with a directory at the same time repeat no ID.
all_at_once() {
    for run in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
        (cd "$dir/blocks/02.run.c" && limited ./program > "id.$run") &
    done
    wait
    [ "$(cat "$dir"/blocks/02.run.c/id.* | sort -u | wc -l)" -eq 20 ] || { cat "$dir"/blocks/02.run.c/id.*; return 1; }
}
judge "the second program, twenty times at once: all IDs differ" all_at_once
# The first program is short.
judge "the first program has twelve lines" [ "$(grep -c . "$dir/blocks/01.text")" -le 12 ]

# ---- tables against the headers ----

# Each layout as the tool prints it: fields in the drawing, unit, end and speed in the table.
grouped() { sed -e ':again' -e 's/\([0-9]\)\([0-9]\{3\}\)\($\|,\)/\1,\2\3/' -e 't again'; }
"$flake" layouts > "$dir/layouts" 2>&1 || fail "the tool is not built by the README's commands"
awk '/^[a-z]/ {name = $1} /^  +.* [0-9]+,/ && !/units/ {fields = $0} /units of/ {print name "|" fields "|" $0}' \
    "$dir/layouts" > "$dir/layout_lines"
while IFS='|' read -r name fields end; do
    drawing=$(printf '%s' "$fields" | sed 's/time, lowest bit first/time reversed/; s/^ *//; s/, / ][ /g; s/^/[ /; s/$/ ]/')
    judge "$name is drawn as $drawing" grep -qxF "$(printf '%-18s%s' "$name" "$drawing")" $formats
    unit=$(printf '%s' "$end" | sed 's/.*units of \([0-9]*\) ms.*/\1/')
    until=$(printf '%s' "$end" | sed 's/.*to \([+0-9-]*\)T.*/\1/')
    case $fields in
    *counter*) bits=16 ;; # so many ids a ms, however wide it is
    *) bits=$(printf '%s' "$fields" | sed 's/.*sequence \([0-9]*\).*/\1/') ;;
    esac
    speed=$(awk -v u="$unit" -v b="$bits" 'BEGIN {printf "%d", 1000 / u * 2 ^ b}' | grouped)
    judge "$name: $unit ms, $speed a second, until $until" \
        grep -q "^| \`$name\` .*| $unit ms | $speed | $until |" $formats
    # If IDs become negative in a signed column, the page on formats says when.
    signed=$("$flake" inspect --layout="$name" 9223372036854775808 2> /dev/null |
        sed -n 's/^time *\(20[0-9]*-[0-9]*\)-.*/\1/p')
    [ -z "$signed" ] || judge "$name is negative from $signed on" sh -c "tr '\\n' ' ' < docs/formats.md | grep -q '\`$name\`[^;,]* in $signed'"
done < "$dir/layout_lines"
[ -s "$dir/layout_lines" ] || fail "no layouts were compared"

# ---- names and links ----

# Names of older versions have a page of their own.
# shellcheck disable=SC2046
for name in $(grep -ohE '\b(flake|sno|FLAKE|SNO)(128)?_[A-Za-z0-9_]+' $(echo "$pages" | sed 's,docs/moving-versions.md,,') | sort -u); do
    case $name in
    *_) grep -q "\b$name" flake.h sno.h ;;
    *) grep -qw "$name" flake.h sno.h extras/etcd/flake_etcd.h extras/*/*.c || grep -q "X(${name#flake_layout_}," flake.h || [ -e "tests/unit/$name.c" ] || [ -e "tests/support/$name.h" ] || [ -e "examples/$name.c" ] ;;
    esac || printf '%s ' "$name"
done > "$dir/unknown"
nothing "names that the headers don't have" "$(cat "$dir/unknown")"

slugs() { # PAGE
    awk '/^```/ {code = !code} !code && /^#/' "$1" | sed 's/^#* *//' | tr 'A-Z' 'a-z' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}
leads() { # PAGE LINK
    file=${2%%#*} heading=
    case $2 in http*) return ;; *'#'*) heading=${2#*#} ;; esac
    if [ -n "$file" ]; then file=$(dirname "$1")/$file; else file=$1; fi
    [ -e "$file" ] && { [ -z "$heading" ] || slugs "$file" | grep -qxF -- "$heading"; }
}
for page in $pages CHANGELOG.md bench/REPORT.md; do
    for link in $(grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//'); do
        leads "$page" "$link" || printf '%s: %s ' "$page" "$link"
    done
done > "$dir/unknown"
nothing "links that lead nowhere" "$(cat "$dir/unknown")"
# A path from the root, in whatever file, leads somewhere, too. CHANGELOG.md keeps those of its versions.
# shellcheck disable=SC2046
for path in $(find Makefile README.md .ci .github flake.h sno.h docs examples tools extras bench tests fuzz -type f ! -path 'fuzz/corpus/*' -exec \
    grep -ohE '(^|[^A-Za-z0-9_./>-])(\.\./)*(docs|examples|tools|extras|tests|bench|fuzz)/[A-Za-z0-9_][A-Za-z0-9_/.-]*\.(c|h|cc|sh|py|md|mk|awk|svg|sql|go|mjs|rs|lua|tsv)\b' {} + |
    sed 's/^[^.a-z]*//; s,^\(\.\./\)*,,' | sort -u); do
    case $path in */NAME.c) ;; *) [ -e "$path" ] || printf '%s ' "$path" ;; esac
done > "$dir/unknown"
nothing "paths that lead nowhere" "$(cat "$dir/unknown")"
# So does the name of a page without a path, as in a comment.
# shellcheck disable=SC2046
for name in $(find Makefile README.md .ci .github flake.h sno.h docs examples tools extras bench tests fuzz -type f ! -path 'fuzz/corpus/*' -exec \
    grep -ohE '[A-Za-z0-9_-]{2,}\.md\b' {} + | sort -u); do
    case " $pages CHANGELOG.md bench/REPORT.md" in *[\ /]"$name"*) ;; *) printf '%s ' "$name" ;; esac
done > "$dir/unknown"
nothing "names of pages that are gone" "$(cat "$dir/unknown")"
# Each page is short, and one link leads to it; others lead to a heading.
place() { (cd "$(dirname "$1")" 2> /dev/null && printf '%s/%s\n' "$(pwd)" "$(basename "$1")"); }
for page in $pages; do
    for link in $(grep -o '](\([^)]*\.md\))' "$page" | sed 's/^](//; s/)$//'); do place "$(dirname "$page")/$link"; done
done > "$dir/whole_pages"
for page in $pages bench/REPORT.md; do
    case $page in "$readme") continue ;; esac
    judge "one link leads to $page" [ "$(grep -cxF "$(place "$page")" "$dir/whole_pages")" = 1 ]
    case $page in bench/* | docs/api.md | docs/errors.md) continue ;; esac # references
    judge "$page has less than 200 lines" [ "$(wc -l < "$page")" -lt 200 ]
done
# The test named for each promise exists.
for test in $({ sed -n '/^## What is promised/,/^## /p' $readme; cat docs/guarantees.md; } | grep -o '`\(test_[a-z_]*\|tests/scripts/[a-z_]*\.sh\|make [a-z-]*\)`' | tr -d '\140' | sed 's/^make /make:/' | sort -u); do
    case $test in
    make:*) known_to_make "${test#make:}" ;;
    test_*) [ -e "tests/unit/$test.c" ] ;;
    *) [ -e "$test" ] ;;
    esac || printf '%s ' "$test"
done > "$dir/unknown"
nothing "tests that are not there" "$(cat "$dir/unknown")"
# The page on tests is a map: it names each test, header, script and directory, and nothing else.
for file in tests/unit/* tests/support/* tests/scripts/* tests/*/; do
    name=$(basename "$file")
    case $file in */) name=$name/ ;; *.mk | */judge.sh | */commands.sh | */two_units.h) continue ;; esac
    grep -qF -e "$name\`" -e "/$name\`" tests/README.md || printf '%s ' "$file"
done > "$dir/unknown"
nothing "places that the page on tests does not name" "$(cat "$dir/unknown")"
for name in $(grep -o '`[a-z_][a-z_/]*\.\(c\|cc\|h\|sh\|py\)`' tests/README.md | tr -d '\140' | sort -u); do
    [ -n "$(find tests bench -path "*/$name")" ] || printf '%s ' "$name"
done > "$dir/unknown"
nothing "places that the page on tests names and that are gone" "$(cat "$dir/unknown")"
judge "$readme has the marks of its bench" [ "$(grep -cx "<!-- bench \(begin\|end\) -->" $readme)" = 2 ]
judge "$readme is a front page" [ "$(wc -l < $readme)" -le 260 ]
judge "docs/api.md is what make docs/api.md writes" sh -c "awk -f tools/roff.awk -f tools/calls.awk -v form=page flake.h sno.h extras/etcd/flake_etcd.h | cmp - docs/api.md"
# Each message of the headers has its cause and cure.
if has python3; then nothing "messages that docs/errors.md does not have" "$(python3 docs/messages.py)"; else skip "python3 is not installed"; fi
! has python3 || judge "docs/bits.svg is what docs/bits.py draws" sh -c "python3 docs/bits.py < $formats | cmp - docs/bits.svg"

# Each source file names its licence, since files get copied individually.
says_its_licence() { head -n 3 "$1" | grep -q 'SPDX-License-Identifier: MIT'; }
for file in $(find Makefile .ci flake.h sno.h docs examples tools extras bench fuzz tests -type f | grep -E \
    '(^Makefile|^\.ci/run|/mutants/table|\.(c|h|cc|sh|mk|awk|lua|py|go|mjs))$'); do
    says_its_licence "$file" || printf '%s ' "$file"
done > "$dir/unknown"
nothing "files that name no licence" "$(cat "$dir/unknown")"

[ -z "$skipped" ] || echo "SKIPPED for want of a program: $skipped"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
