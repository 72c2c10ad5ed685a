# SPDX-License-Identifier: MIT
#
# calls.awk   makes a page of each call from the public sections of the headers.
#
#     awk -f roff.awk -f calls.awk -v form=page HEADER...                                 docs/api.md
#     awk -f roff.awk -f calls.awk -v form=names HEADER...                                the names
#     awk -f roff.awk -f calls.awk -v form=man -v dir=DIR -v version=0.4.0 HEADER... EXAMPLE...      DIR/NAME.3
#
# A section begins with "/* ---- TITLE". Calls without an empty line between them share a man page, which has the name
# of the first; the other names are links to it. Its example is the first function of the examples that uses one.

function trimmed(text) { gsub(/^ +| +$/, "", text); return text }

# ---- the public section: sections, groups, calls ----

function begin_section(title) {
    sections++
    header_of[sections] = header
    title_of[sections] = title
    group = 0
}
function begin_call(line) {
    if (!group) {
        group = ++groups
        section_of[group] = sections
        if (!first_group[sections]) first_group[sections] = group
    }
    calls++
    group_of[calls] = group
    text_of[calls] = comment
    comment = ""
    prototype_of[calls] = ""
    in_call = 1
    sub(/^(FLAKE_I_MUST_USE )?FLAKE_API /, "", line)
    add_to_call(line)
}
function add_to_call(line,    name) {
    sub(/^                 +/, "    ", line)
    prototype_of[calls] = prototype_of[calls] line "\n"
    if (line !~ /;/) return
    in_call = 0
    name = prototype_of[calls]
    sub(/\(.*/, "", name)
    sub(/.*[ *\n]/, "", name)
    name_of[calls] = name
    if (!name_of_group[group]) name_of_group[group] = name
    names_of_group[group] = names_of_group[group] (names_of_group[group] ? ", " : "") name
}
# A comment that no call follows is the section's.
function end_comment() {
    if (comment) prose_of[sections] = prose_of[sections] (prose_of[sections] ? "\n" : "") comment
    comment = ""
}
function add_comment(line) {
    in_comment = line !~ /\*\//
    sub(/ *\*\/.*/, "", line)
    sub(/^ ?\/?\* ?/, "", line)
    comment = comment line "\n"
}

FNR == 1 { header = FILENAME; sub(/.*\//, "", header); is_example = FILENAME ~ /\.(c|py)$/; is_public = 0 }
is_example { if (form == "man") source[FILENAME] = source[FILENAME] $0 "\n"; if (FNR == 1) examples[++n_examples] = FILENAME; next }
/^\/\/ >>/ { is_public = $2 == ">>public"; if (is_public && header == "flake_etcd.h") begin_section("claims from etcd"); next }
!is_public { next }
# The statuses: their comments are on the same line, or on the one before.
header == "flake.h" && sections == 1 && /^    FLAKE_[A-Z_]+ = [0-9]+/ {
    meaning[$1] = $1 == "FLAKE_OK" ? "success" : /\/\*/ ? $0 : line_before
    sub(/.*\/\* /, "", meaning[$1])
    sub(/ \*\/.*/, "", meaning[$1])
}
{ line_before = $0 }
in_call { add_to_call($0); next }
/^\/\* ---- / {
    end_comment()
    title = $0
    sub(/^\/\* ---- /, "", title)
    in_comment = title !~ /\*\/$/
    sub(/ ----( \*\/)?$/, "", title)
    begin_section(title)
    next
}
in_comment { add_comment($0); next }
/^\/\*/ { end_comment(); add_comment($0); next }
/^(FLAKE_I_MUST_USE )?FLAKE_API [^=]*$/ && sections { begin_call($0); next }
/^$/ { end_comment(); group = 0 }

# ---- the page ----

# Indented lines are code; the rest is prose.
function markdown(text,    lines, n, i, out, is_code, was_code) {
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) {
        is_code = lines[i] ~ /^    /
        if (is_code && !was_code) out = out "\n```text\n"
        if (!is_code && was_code) out = out "```\n"
        was_code = is_code
        if (!is_code) { gsub(/\*/, "\\*", lines[i]); gsub(/</, "\\&lt;", lines[i]) }
        out = out (is_code ? substr(lines[i], 5) : lines[i]) "\n"
    }
    if (was_code) out = out "```\n"
    while (sub(/\n\n\n+/, "\n\n", out)) {}
    sub(/^\n+/, "", out)
    sub(/\n+$/, "", out)
    return out
}
function print_page(    s, c, title, last) {
    print "<!-- written by tools/calls.awk: make docs/api.md -->\n# API\n"
    print "Every call of the headers, as their public sections declare and describe them. The types are in the headers."
    for (s = 1; s <= sections; s++) {
        if (header_of[s] != last) print "\n## " header_of[s]
        last = header_of[s]
        title = title_of[s]
        print "\n### " toupper(substr(title, 1, 1)) substr(title, 2)
        if (prose_of[s]) print "\n" markdown(prose_of[s])
        for (c = 1; c <= calls; c++) {
            if (section_of[group_of[c]] != s) continue
            print "\n#### " name_of[c] "\n\n```c declaration\n" substr(prototype_of[c], 1, length(prototype_of[c]) - 1) "\n```"
            if (text_of[c]) print "\n" markdown(text_of[c])
        }
    }
}

# ---- man pages ----

function roff(text,    lines, n, i, out, is_code, was_code) {
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) {
        is_code = lines[i] ~ /^    /
        if (is_code && !was_code) out = out ".PP\n.nf\n"
        if (!is_code && was_code) out = out ".fi\n.PP\n"
        was_code = is_code
        if (lines[i] == "") { if (i < n) out = out ".PP\n"; continue }
        out = out escaped(lines[i]) "\n"
    }
    return out (was_code ? ".fi\n" : "")
}
# The function that uses one of these names, with the comments before it, if it is not long.
function example(names,    list, n, i, f, lines, m, k, begin, end, out) {
    n = split(names, list, ", ")
    for (i = 1; i <= n; i++)
        for (f = 1; f <= n_examples; f++) {
            m = split(source[examples[f]], lines, "\n")
            for (k = 1; k <= m; k++) {
                if (lines[k] !~ ("(^|[^a-z0-9_])" list[i] "[(,]")) continue
                for (begin = k; begin > 1 && lines[begin] !~ /^[a-z].*\{$/; begin--) {}
                for (end = k; end < m && lines[end] != "}"; end++) {}
                if (begin < k - 14) begin = k - 10
                if (end > k + 14) end = k + 10
                out = "From " examples[f] ":\n.PP\n.nf\n"
                for (; begin <= end; begin++) out = out escaped(lines[begin]) "\n"
                return out ".fi\n"
            }
        }
    return ""
}
function statuses(text,    out, word) {
    while (match(text, /FLAKE_[A-Z_]+/)) {
        word = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (!(word in meaning) || index(out, ".B " word "\n")) continue
        out = out ".TP\n.B " word "\n" escaped(meaning[word]) "\n"
    }
    return out
}
function man_page(g,    file, c, s, names, n, k, text, found, include) {
    s = section_of[g]
    include = header_of[s]
    file = dir "/" name_of_group[g] ".3"
    found = any_draw(names_of_group[g])
    print ".TH " toupper(name_of_group[g]) " 3 \"\" \"" include " " version "\"" > file
    print ".SH NAME\n" names_of_group[g] " \\- " escaped(short_title(s)) > file
    print ".SH SYNOPSIS\n.B #include <" include ">\n.PP\n.nf" > file
    for (c = 1; c <= calls; c++) if (group_of[c] == g) printf "%s", escaped_lines(prototype_of[c]) > file
    print ".fi\n.SH DESCRIPTION" > file
    if (first_group[s] == g) { printf "%s", roff(prose_of[s]) > file; found = found prose_of[s] }
    for (c = 1; c <= calls; c++) {
        if (group_of[c] != g) continue
        if (text_of[c] || names_of_group[g] ~ /,/) print ".SS " name_of[c] > file
        if (text_of[c]) printf "%s", roff(text_of[c]) > file
        else if (names_of_group[g] ~ /,/) print escaped(one_line(prototype_of[c])) > file
        found = found text_of[c]
        if (prototype_of[c] ~ /^flake_status/) found = "FLAKE_OK " found
    }
    text = statuses(found)
    if (text) printf ".SH STATUSES\n%s", text > file
    text = example(names_of_group[g])
    if (text) printf ".SH EXAMPLE\n%s", text > file
    printf ".SH SEE ALSO\n" > file
    for (k = 1; k <= groups; k++)
        if (section_of[k] == s && k != g) print ".BR " name_of_group[k] " (3)," > file
    print ".BR " include " (3)" > file
    close(file)
    n = split(names_of_group[g], names, ", ")
    for (k = 2; k <= n; k++) {
        file = dir "/" names[k] ".3"
        print ".so man3/" name_of_group[g] ".3" > file
        close(file)
    }
}
function short_title(s,    title) {
    title = title_of[s]
    sub(/:.*/, "", title)
    return title
}
function escaped_lines(text,    lines, n, i, out) {
    n = split(text, lines, "\n")
    for (i = 1; i < n; i++) out = out escaped(lines[i]) "\n"
    return out
}
function one_line(text) { gsub(/\n */, " ", text); return trimmed(text) }
# What any draw may return is said once, in the section on generators.
function any_draw(names,    text) {
    if (names !~ /_(next|try)/) return ""
    text = all_prose()
    if (!match(text, /Any draw may return[^.]*\./)) return ""
    return substr(text, RSTART, RLENGTH)
}
function all_prose(    s, text) {
    for (s = 1; s <= sections; s++) text = text prose_of[s]
    return text
}

END {
    end_comment()
    if (form == "page") print_page()
    for (g = 1; g <= groups; g++)
        if (form == "names") { gsub(/, /, "\n", names_of_group[g]); print names_of_group[g] }
        else if (form == "man") man_page(g)
}
