#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh DIRECTORY REPEATS IDS   measures the Go and npm peers, ids IDS each time, and leaves in
# DIRECTORY: go.txt, npm.txt, versions.txt, skipped.txt. What is not installed is named as skipped.
here=$(cd "$(dirname "$0")" && pwd)
out=$1 repeats=$2 ids=$3
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
failed=0
: > "$out/go.txt"; : > "$out/npm.txt"; : > "$out/versions.txt"; : > "$out/skipped.txt"
skip() { echo "skipped: $*" | tee -a "$out/skipped.txt" >&2; }

for package in uuid-dev:libuuid libbenchmark-dev:benchmark; do
    version=$(dpkg-query -W -f '${Version}' "${package%:*}" 2> /dev/null) &&
        echo "${package#*:} $version" >> "$out/versions.txt"
done
gopath=/usr/share/gocode missing=
for package in rs/xid oklog/ulid segmentio/ksuid google/uuid; do
    debian=golang-github-$(echo "$package" | tr / -)-dev
    if [ ! -d "$gopath/src/github.com/$package" ]; then missing="$missing $debian"; continue; fi
    version=$(dpkg-query -W -f '${Version}' "$debian" 2> /dev/null) || version=unknown
    echo "$package $version" >> "$out/versions.txt"
done
if ! command -v go > /dev/null; then skip "Go peers (install golang-go)"
elif [ -n "$missing" ]; then skip "Go peers (install$missing)"
else
    echo "go $(go env GOVERSION)" >> "$out/versions.txt"
    peers() { # THREADS IDS WHICH: of each thread so many ids, which are all kept
        (cd "$here" && GO111MODULE=off GOFLAGS= GOPATH="$gopath" GOCACHE="$out/go-cache" \
            go test -run '^$' -bench "$3" -benchtime "${2}x" -count "$repeats" -cpu "$1") >> "$out/go.txt" 2>&1 ||
            { tail -5 "$out/go.txt"; failed=1; }
    }
    ids_of_all='(Xid|Ksuid|Ulid|UlidMonotonic|UuidV1|UuidV4)$'
    peers 1,2 "$ids" .
    peers 4,8 $((ids / 8 + 1)) "$ids_of_all"
    peers 64 $((ids / 64 + 1)) "$ids_of_all"
    rm -rf "$out/go-cache/fuzz"
fi

if ! command -v node > /dev/null; then skip "npm peers (install nodejs)"
else
    echo "node $(node --version)" >> "$out/versions.txt"
    mkdir -p "$out/npm"
    if ! cmp -s "$here/package.json" "$out/npm/package.json"; then
        cp "$here/package.json" "$out/npm/package.json"
        (cd "$out/npm" && npm install --silent --no-audit --no-fund) > "$out/npm.log" 2>&1 ||
            { rm "$out/npm/package.json"; tail -2 "$out/npm.log" >&2; }
    fi
    i=0
    while [ "$i" -lt "$repeats" ]; do
        i=$((i + 1))
        # One process for each, so that none runs code that was compiled for another.
        for peer in $(node "$here/peers.mjs" --list); do
            (cd "$out/npm" && node "$here/peers.mjs" "$peer" "$ids") >> "$out/npm.txt" || failed=1
        done
    done
    sed -n 's/.*"skipped":"\(.*\)".*/skipped: \1/p' "$out/npm.txt" | sort -u | tee -a "$out/skipped.txt" >&2
fi
exit $failed
