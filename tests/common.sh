#!/bin/sh
# common.sh flake.h sno.h   the regions between `// >>common begin` and `// >>common end` are the same
# text but for the prefix.
[ $# -eq 2 ] || { echo "one header: nothing to compare"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for header; do
    sed -n '\|^// >>common begin|,\|^// >>common end|p' "$header" |
        sed 's/flake\.h and sno\.h/the headers/; s/flake/prefix/g; s/FLAKE/PREFIX/g; s/\bsno/prefix/g; s/\bSNO/PREFIX/g' > "$dir/$(basename "$header")"
    [ -s "$dir/$(basename "$header")" ] || { echo "$header has no common region"; exit 1; }
done
diff -u "$dir/$(basename "$1")" "$dir/$(basename "$2")" && echo "common regions are equal"
