#!/bin/sh
# SPDX-License-Identifier: MIT
#
# common.sh         the regions between `// >>common begin` and `// >>common end`, and those of toolkit,
#                   are the same text but for the prefix
# common.sh --sync  makes sno.h's regions from flake.h's
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
region() { sed -n "\|^// >>$2 begin|,\|^// >>$2 end|p" "$1"; }
passed=0 failed=0
for name in common toolkit; do
    region flake.h $name | sed 's/flake/sno/g; s/FLAKE/SNO/g' > "$dir/flake"
    if [ "$1" = --sync ]; then
        sed -i -e "\|^// >>$name end|r $dir/flake" -e "\|^// >>$name begin|,\|^// >>$name end|d" sno.h
    fi
    region sno.h $name > "$dir/sno"
    if [ -s "$dir/flake" ] && [ -s "$dir/sno" ] && diff -u "$dir/flake" "$dir/sno"; then
        echo "$name: $(wc -l < "$dir/sno") lines, equal but for the prefix"
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
