#!/bin/bash
# SPDX-License-Identifier: MIT
#
# languages.sh   builds the shared libraries, and runs examples/ids.* in each installed language: an ID of each
# kind, with the requested node and the current time, IDs of several threads, and errors by their names. Libraries
# and Go's output stay in build/languages for the next run; Node's koffi is searched there and among npm's global
# packages.
cd "$(dirname "$0")/../.." || exit 1
. tests/scripts/judge.sh
. tests/scripts/commands.sh
cc=${CC:-cc} room=$PWD/build/languages
mkdir -p "$room/go" "$room/node"
export LD_LIBRARY_PATH="$room"

# A command's output, if it fails.
quietly() { said=$(limited "$@" 2>&1) || { printf '%s\n' "$said"; return 1; }; }
is_now() { # WHAT SECONDS
    local ago=$(($(date +%s) - $2))
    [ $ago -ge -1 ] && [ $ago -le 60 ] || { echo "$1 is $ago s old"; return 1; }
}

# A sno ends in metabyte 42, partition 7 and, since it is the first, sequence 0.
hex='[0-9a-f]'
lines="flake ([0-9]{19})
made ([0-9TZ:-]+) by node 7
uuid7 ($hex{8})-($hex{4})-7$hex{3}-[89ab]$hex{3}-$hex{12}
own ([0-9]+) of ([0-9]+) by node 200
sno [2-9a-x]{8}7a22g222
one by one: [1-9][0-9]* ids/s
in batches: [1-9][0-9]* ids/s
4 threads: 2400000 ids, all differ
refused: [^
]*node[^
]*
refused: config: twitte: neither a layout nor an option
refused: config: node is missing: node=7, or node=0-1023 to claim a free one; and dir=DIR, or dir=none if nothing is to check it
refused: config: node: exceeds 65535, the largest of a sno"
by_name='
refused: meta is 0 to 255
refused: meta is 0 to 255'
closed='
refused: the generator is closed'
gives_ids() { # REFUSED COMMAND...: what else is refused, a line each
    local code id made node ms own own_ms refused=$1
    shift
    said=$(limited "$@" 2>&1)
    code=$?
    if [ $code -ne 0 ] || [[ ! $said =~ ^$lines$refused$ ]]; then
        printf '%s\nexit code %s\n' "$said" $code
        return 1
    fi
    id=${BASH_REMATCH[1]} made=${BASH_REMATCH[2]} ms=$((0x${BASH_REMATCH[3]}${BASH_REMATCH[4]})) node=$((id >> 12 & 1023))
    own=${BASH_REMATCH[5]} own_ms=${BASH_REMATCH[6]}
    [ $node -eq 7 ] || { echo "node $node"; return 1; }
    case $made in *T*) made=$(date -d "$made" +%s) ;; esac
    [ "$made" -eq $((((id >> 22) + 1288834974657) / 1000)) ] || { echo "$id was not made at $made"; return 1; }
    [ $((own >> 16 & 255)) -eq 200 ] && [ "$own_ms" -eq $(((own >> 24) * 10 + 1577836800000)) ] ||
        { echo "$own is not of node 200 at $own_ms"; return 1; }
    is_now "the ID of an own layout" $((own_ms / 1000)) && is_now "the flake" "$made" && is_now "the UUID" $((ms / 1000))
}
koffi() {
    local global
    cd "$room/node" || return
    global=$(npm root -g 2> /dev/null)/koffi
    [ -e node_modules/koffi ] || [ ! -d "$global" ] || { mkdir -p node_modules && ln -s "$global" node_modules/koffi; }
    node -e 'require("koffi")' 2> /dev/null
}

if ! echo | $cc -x c -shared -fPIC -Wl,-soname,probe - -o "$room/probe" 2> /dev/null; then
    echo "SKIPPED: $cc makes no shared libraries here"
elif judge "make lib" quietly "${MAKE:-make}" lib BUILD="$room"; then
    if has python3; then judge ids.py gives_ids "$by_name$closed" python3 examples/ids.py
    else echo "SKIPPED ids.py: no python3"; fi

    cp examples/ids.mjs "$room/node"
    if ! has node; then echo "SKIPPED ids.mjs: no node"
    elif ! (koffi); then echo "SKIPPED ids.mjs: no koffi: npm install --prefix build/languages/node koffi"
    else judge ids.mjs gives_ids "$by_name$closed" node "$room/node/ids.mjs"; fi

    if has rustc; then
        cp examples/ids.rs "$room"
        [[ $(rustc --version) =~ \ 1\.([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -lt 82 ] &&
            sed -i 's/^unsafe extern/extern/' "$room/ids.rs" # as its first comment says
        judge "ids.rs compiles" quietly rustc -O -L "$room" "$room/ids.rs" -o "$room/ids_rs" &&
            judge ids.rs gives_ids "" "$room/ids_rs"
    else echo "SKIPPED ids.rs: no rustc"; fi

    cp flake.h sno.h "$room/go"
    { cat examples/ids.go; echo "// $(cat flake.h sno.h | cksum)"; } > "$room/go/ids.go" # its cache ignores headers
    if has go; then
        judge "ids.go compiles" quietly env CC="$cc" CGO_ENABLED=1 GOCACHE="$room/go/cache" GOPROXY=off \
            GOTOOLCHAIN=local go build -o "$room/go/ids" "$room/go/ids.go" && judge ids.go gives_ids "$closed" "$room/go/ids"
    else echo "SKIPPED ids.go: no go"; fi
fi
close_with_counts
