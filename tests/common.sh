#!/bin/sh
# SPDX-License-Identifier: MIT
#
# common.sh         the regions that have `begin` and `end` in both headers are the same text in them but
#                   for the prefix
# common.sh --sync  makes sno.h's regions from flake.h's
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
region() { sed -n "\|^// >>$1 begin|,\|^// >>$1 end|p" "$2"; }
passed=0 failed=0
for name in hooks settings restarts system common library; do
    region $name flake.h | sed 's/flake/sno/g; s/FLAKE/SNO/g' > "$dir/flake"
    if [ "$1" = --sync ]; then
        sed -i -e "\|^// >>$name end|r $dir/flake" -e "\|^// >>$name begin|,\|^// >>$name end|d" sno.h
    fi
    region $name sno.h > "$dir/sno"
    if [ -s "$dir/flake" ] && diff -u "$dir/flake" "$dir/sno"; then
        echo "$name: $(wc -l < "$dir/sno") lines, equal but for the prefix"
        passed=$((passed + 1))
    else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
