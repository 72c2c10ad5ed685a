#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh DIRECTORY REPEATS IDS [CACHE]   measures the peers in Go, Rust and JavaScript, with IDS IDs each time, and
# writes to DIRECTORY: go.txt (and Rust, in the same form), npm.txt, versions.txt, skipped.txt, failed_peers.txt.
# Missing tools are listed as skipped; a peer that fails is listed and does not stop the others. Builds and downloads
# go to CACHE, by default DIRECTORY. GO_PEERS: the directory of Debian's Go packages. RIVALS: a directory of checkouts,
# each named as its repository: bwmarrin/snowflake, muyo/sno, sony/sonyflake (Go), s0l0ist/ferroid, marcomq/fast-uuid-v7
# (Rust), and for bench.mk boostorg/uuid, LiosK/uuidv7-h, skeeto/ulid-c, yitter/IdGenerator, crashoz/uuid_v4. RIVALS/cargo.toml:
# settings of cargo, where its registry is out of reach.
here=$(cd "$(dirname "$0")" && pwd)
out=$1 repeats=$2 ids=$3 cache=${4-$1}
mkdir -p "$out" "$cache" && out=$(cd "$out" && pwd) && cache=$(cd "$cache" && pwd) || exit 1
for file in go.txt npm.txt versions.txt skipped.txt failed_peers.txt; do : > "$out/$file"; done
skip() { echo "skipped: $*" | tee -a "$out/skipped.txt" >&2; }
fail() { echo "failed: $*" | tee -a "$out/failed_peers.txt" >&2; }

for package in uuid-dev:libuuid libbenchmark-dev:benchmark; do
    version=$(dpkg-query -W -f '${Version}' "${package%:*}" 2> /dev/null) &&
        echo "${package#*:} $version" >> "$out/versions.txt"
done
rivals=$(cd "${RIVALS:-/nonexistent}" 2> /dev/null && pwd)
has_rival() { [ -n "$rivals" ] && [ -d "$rivals/$1" ]; }
for rival in snowflake sno sonyflake ferroid fast-uuid-v7 uuid uuidv7-h ulid-c IdGenerator uuid_v4; do
    has_rival $rival && echo "$rival $(git -C "$rivals/$rival" describe --tags --always 2> /dev/null || echo unknown)" >> "$out/versions.txt"
done
gopath=${GO_PEERS:-/usr/share/gocode} missing=
for package in rs/xid oklog/ulid segmentio/ksuid google/uuid gofrs/uuid; do
    debian=golang-github-$(echo "$package" | tr / -)-dev
    if [ ! -d "$gopath/src/github.com/$package" ]; then missing="$missing $debian"; continue; fi
    version=$(dpkg-query -W -f '${Version}' "$debian" 2> /dev/null) || version=unknown
    echo "$package $version" >> "$out/versions.txt"
done
if ! command -v go > /dev/null; then skip "Go peers (install golang-go)"
else
    tags=
    if [ -n "$missing" ]; then skip "Go's packages (install$missing)"; else tags=packages; fi
    if has_rival snowflake && has_rival sno && has_rival sonyflake; then
        tags=$tags,rivals
        mkdir -p "$cache/gopath/src/github.com/bwmarrin" "$cache/gopath/src/github.com/muyo" "$cache/gopath/src/github.com/sony"
        for rival in bwmarrin/snowflake muyo/sno sony/sonyflake; do
            ln -sfn "$rivals/${rival#*/}" "$cache/gopath/src/github.com/$rival"
        done
    else
        skip "Go bwmarrin/snowflake, muyo/sno and sony/sonyflake (RIVALS)"
    fi
    echo "go $(go env GOVERSION)" >> "$out/versions.txt"
    peer() { # NAME THREADS IDS: of each thread so many ids, which are all kept
        "$cache/peers.test" -test.run '^$' -test.bench "^$1\$" -test.benchtime "${3}x" -test.count "$repeats" \
            -test.cpu "$2" >> "$out/go.txt" 2> "$out/go.errors" ||
            fail "Go ${1#Benchmark}, $2 threads: $(grep -hm 1 -E '^(panic|fatal|--- FAIL)' "$out/go.errors" "$out/go.txt")"
    }
    if grep -qs '^func NewV7' "$gopath"/src/github.com/google/uuid/*.go; then tags=$tags,google_v7
    else skip "Go google/uuid v7 (its version 1.6 or later has it)"
    fi
    if (cd "$here" && GO111MODULE=off GOFLAGS= GOPATH="$cache/gopath:$gopath" GOCACHE="$cache/go-cache" \
        go test -tags "${tags#,}" -c -o "$cache/peers.test") > "$out/go.errors" 2>&1; then
        # One process for each, so that a peer that ends it does not stop the others.
        for name in $("$cache/peers.test" -test.list '^Benchmark'); do
            case $name in
            *Trial*) [ -n "${PEER_TRIALS-}" ] || continue ;;
            esac
            peer "$name" 1 "$ids"
            peer "$name" 2 "$ids"
            case $name in *Clock | *String | *Sno | *Snowflake | *Sonyflake) continue ;; esac
            peer "$name" 4,8 $((ids / 8 + 1))
            peer "$name" 64 $((ids / 64 + 1))
        done
    else
        fail "Go peers: $(head -3 "$out/go.errors" | tr '\n' ' ')"
    fi
fi

features=
for rival in ferroid fast-uuid-v7; do if has_rival $rival; then features=$features,$rival; else skip "Rust $rival (RIVALS)"; fi; done
if [ -n "$features" ] && ! command -v cargo > /dev/null; then skip "Rust peers (install cargo)"
elif [ -n "$features" ]; then
    mkdir -p "$cache/rust"
    {
        printf '[package]\nname = "peers"\nversion = "0.0.0"\nedition = "2021"\n[[bin]]\nname = "peers"\npath = "%s"\n[dependencies]\n' "$here/peers.rs"
        has_rival ferroid && printf 'ferroid = { path = "%s", optional = true, features = ["std", "alloc", "snowflake", "basic", "atomic", "lock"] }\n' \
            "$rivals/ferroid/crates/ferroid"
        has_rival fast-uuid-v7 && printf 'fast-uuid-v7 = { path = "%s", optional = true }\n' "$rivals/fast-uuid-v7"
    } > "$cache/rust/Cargo.toml"
    settings=
    [ -f "$rivals/cargo.toml" ] && settings="--config $rivals/cargo.toml"
    # shellcheck disable=SC2086
    if (cd "$cache/rust" && cargo build -q --release $settings --features "${features#,}") > "$out/rust.errors" 2>&1; then
        for name in $("$cache/rust/target/release/peers" --list); do
            for threads in 1 2; do
                "$cache/rust/target/release/peers" "$name" $threads "$ids" "$repeats" >> "$out/go.txt" 2> "$out/rust.errors" ||
                    fail "Rust $name, $threads threads: $(head -2 "$out/rust.errors" | tr '\n' ' ')"
            done
        done
    else
        fail "Rust peers: $(grep -m 1 '^error' "$out/rust.errors")"
    fi
fi

if ! command -v node > /dev/null; then skip "npm peers (install nodejs)"
else
    echo "node $(node --version)" >> "$out/versions.txt"
    mkdir -p "$cache/npm"
    if ! cmp -s "$here/package.json" "$cache/npm/package.json"; then
        cp "$here/package.json" "$cache/npm/package.json"
        (cd "$cache/npm" && npm install --silent --no-audit --no-fund) > "$out/npm.log" 2>&1 ||
            { rm "$cache/npm/package.json"; tail -2 "$out/npm.log" >&2; }
    fi
    i=0
    while [ "$i" -lt "$repeats" ]; do
        i=$((i + 1))
        # One process for each, so that none runs code that was compiled for another.
        for peer in $(node "$here/peers.mjs" --list); do
            (cd "$cache/npm" && node "$here/peers.mjs" "$peer" "$ids") >> "$out/npm.txt" 2> "$out/npm.errors" ||
                fail "npm $peer: $(grep -m 1 '^[A-Za-z]*Error' "$out/npm.errors")"
        done
    done
    sed -n 's/.*"skipped":"\(.*\)".*/skipped: \1/p' "$out/npm.txt" | sort -u | tee -a "$out/skipped.txt" >&2
fi
[ ! -s "$out/failed_peers.txt" ]
