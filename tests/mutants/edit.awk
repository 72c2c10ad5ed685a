# SPDX-License-Identifier: MIT
#
# awk -v name=NAME -v table=TABLE -f edit.awk FILE   prints FILE with the mutant's edits made; exit
# code 3: an old text does not stand in it exactly once.
function occurrences(text, part, n, at) {
    while ((at = index(text, part)) > 0) {
        n++
        text = substr(text, at + length(part))
    }
    return n + 0
}
function make(old, new, at) {
    if (occurrences(file, old) != 1) {
        printf "%s: stands %d times in %s:\n%s", name, occurrences(file, old), FILENAME, old > "/dev/stderr"
        bad = 1
        return
    }
    at = index(file, old)
    file = substr(file, 1, at - 1) new substr(file, at + length(old))
}
BEGIN { RS = "\n" }
{ file = file $0 "\n" }
END {
    while ((getline line < table) > 0) {
        if (line ~ /^== /) { mine = line == "== " name; part = "" }
        else if (!mine) continue
        else if (line == "---" && part != "") { print name ": a new text has no end" > "/dev/stderr"; bad = 1 }
        else if (line == "---") { part = "old"; old = new = "" }
        else if (line == "+++") part = "new"
        else if (line == "." && part == "new") { make(old, new); made++; part = "" }
        else if (part == "old") old = old line "\n"
        else if (part == "new") new = new line "\n"
    }
    if (bad || !made) exit 3
    printf "%s", file
}
