#!/bin/sh
# SPDX-License-Identifier: MIT
#
# first_ids.sh   what `make` prints: an ID of each kind, one of them decoded, and what to type next. From the
# environment: BUILD, RUN_ENV, PREFIX.
flake="$RUN_ENV $BUILD/flake" sno="$RUN_ENV $BUILD/sno"
id=$($flake generate --node=7) && uuid=$($flake generate --layout=uuid7) && new_sno=$($sno generate --meta=42) || exit
printf '%-38s%-14s%s\n' \
    "$id" '64-bit flake' "$BUILD/flake generate --node=7" \
    "$uuid" UUIDv7 "$BUILD/flake generate --layout=uuid7" \
    "$new_sno" sno "$BUILD/sno generate --meta=42"
printf '\n%s\n' "$BUILD/flake inspect --layout=default $id"
$flake inspect --layout=default "$id" || exit
printf '\nNext: %-21s %s\n' 'make test' 'every test program, in a minute'
printf '      %-21s %s\n' \
    'make install' "headers, tools, libraries and man pages, into $PREFIX" \
    "$BUILD/flake help" 'what the tools can do; make help lists the targets of make' \
    'README.md' 'how to use flake.h and sno.h in a program'
