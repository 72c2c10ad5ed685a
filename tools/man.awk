# SPDX-License-Identifier: MIT
#
# man.awk   makes a man page from a tool's help or from a header.
#
#     awk -f roff.awk -f man.awk -v name=flake -v version=0.1.0 -v section=1      from the output of `flake help`
#     awk -f roff.awk -f man.awk -v name=flake.h -v version=0.1.0 -v section=3    from the header

function shift_left(text, columns) { return substr(text, columns + 1) }
function literal(text) {
    if (!in_literal) print ".PP\n.nf"
    while (blanks > 0 && in_literal) { print ""; blanks-- }
    in_literal = 1
    blanks = 0
    print escaped(text)
}
function end_literal() {
    if (in_literal) print ".fi"
    in_literal = 0
}
function heading(macro, text) {
    end_literal()
    gsub(/"/, "\\(dq", text)
    print macro " \"" escaped(text) "\""
    blanks = 0
}
function paragraph(text) {
    end_literal()
    if (blanks) print ".PP"
    blanks = 0
    print escaped(text)
}
function begin(text) {
    sub(/^[^:]*: */, "", text)
    sub(/\.$/, "", text)
    print ".TH " toupper(name) " " section " \"\" \"" name " " version "\""
    print ".SH NAME\n" name " \\- " escaped(text)
}

NR == 1 { begin($0) }
NR == 1 && section == 3 { print ".SH SYNOPSIS\n.B #include <" name ">\n.SH DESCRIPTION" }
NR == 1 { next }

# The help: items begin in column 5, their descriptions in column 25, on the same line or below.
function is_deep(line) { return line ~ /^                        [^ ]/ }
function help_line(line, next_line,    item) {
    if (line == "") blanks++
    else if (line == "USAGE") heading(".SH", "SYNOPSIS")
    else if (line ~ /^[A-Z]/) heading(".SH", line)
    else if (line ~ /^    \$ /) literal(shift_left(line, 4))
    else if (is_deep(line)) print escaped(shift_left(line, 24))
    else if (line ~ /^    [0-9]\. /) {
        print ".IP " substr(line, 5, 2) " 4\n" escaped(shift_left(line, 7))
        blanks = 0
    } else if (substr(line, 23, 2) == "  " || is_deep(next_line)) {
        item = substr(line, 23, 2) == "  " ? substr(line, 5, 18) : shift_left(line, 4)
        sub(/ +$/, "", item)
        print ".TP\n.B " escaped(item)
        if (substr(line, 23, 2) == "  ") print escaped(shift_left(line, 24))
        blanks = 0
    } else paragraph(shift_left(line, 4))
}
section == 1 {
    if (NR > 2) help_line(held, $0)
    held = $0
    next
}

# The header: its first comment, then its public part with its sections.
/^\/\/ >>/ {
    part = $2
    if (part == ">>public") heading(".SH", "DECLARATIONS")
    next
}
part == "" && /^ \*\// { part = "past the first comment"; next }
part == "" && /^ \*$/ { blanks++; next }
part == "" {
    text = shift_left($0, 3)
    if (text ~ /^[A-Z][A-Z]+ ?[A-Z ]*(:|$)/) heading(".SH", text)
    else if (text ~ /^    /) literal(text)
    else paragraph(text)
    next
}
part == ">>public" && /^\/\* ---- / {
    sub(/^\/\* ---- /, "")
    in_comment = !/\*\/$/
    sub(/ ----( \*\/)?$/, "")
    heading(".SS", $0)
    next
}
part == ">>public" && in_comment {
    if (sub(/ *\*\/$/, "")) in_comment = 0
    if (/^ *$/) next
    if (/^ \*$/) blanks++
    else if (/^ \*     /) literal(shift_left($0, 3))
    else paragraph(shift_left($0, 3))
    next
}
part == ">>public" && /^$/ { blanks++; next }
part == ">>public" && /^\/\/ clang-format/ { next }
part == ">>public" {
    if (match($0, /^(FLAKE|SNO)_API /)) { api = RLENGTH; $0 = shift_left($0, api); moved = 1 }
    else if (moved && substr($0, 1, api) ~ /^ *$/) $0 = shift_left($0, api) # keeps aligned lines aligned
    if (/;/) moved = 0
    literal($0)
    next
}
END {
    if (section == 1) help_line(held, "")
    heading(".SH", "SEE ALSO")
    other = name
    if (section == 1) other = name ".h (3)"
    else if (!sub(/_etcd\.h$/, ".h (3)", other)) sub(/\.h$/, " (1)", other)
    print ".BR " other
}
