#!/bin/sh
# common.sh         the regions between `// >>common begin` and `// >>common end` are the same text but
#                   for the prefix
# common.sh --sync  makes sno.h's region from flake.h's
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
region() { sed -n '\|^// >>common begin|,\|^// >>common end|p' "$1"; }
region flake.h | sed 's/flake/sno/g; s/FLAKE/SNO/g' > "$dir/flake"
if [ "$1" = --sync ]; then
    sed -i -e "\|^// >>common end|r $dir/flake" -e '\|^// >>common begin|,\|^// >>common end|d' sno.h
fi
region sno.h > "$dir/sno"
if [ -s "$dir/flake" ] && [ -s "$dir/sno" ] && diff -u "$dir/flake" "$dir/sno"; then
    echo "$(wc -l < "$dir/sno") lines, equal but for the prefix"
    echo "1 passed, 0 failed"
else
    echo "0 passed, 1 failed"
    exit 1
fi
