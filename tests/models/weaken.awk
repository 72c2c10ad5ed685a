# SPDX-License-Identifier: MIT
#
# awk -v label=LEAVE:R -f weaken.awk flake.h   the header without an order: at an access with the label,
# R removes release, A removes acquire, and S turns seq_cst into acquire and release.
function weaker(line) {
    if (label ~ /:R$/) gsub(/release/, "relaxed", line)
    if (label ~ /:A$/) gsub(/acquire/, "relaxed", line)
    if (label ~ /:S$/ && lines[access] ~ /_CAS/) {
        sub(/seq_cst,/, "acq_rel,", line)
        sub(/seq_cst\)/, "acquire)", line)
    }
    if (label ~ /:S$/ && line ~ /_LOAD/) gsub(/seq_cst/, "acquire", line)
    if (label ~ /:S$/ && line ~ /_STORE/) gsub(/seq_cst/, "release", line)
    return line
}
{
    is_comment = /^ \*/ || /^\/\*/
    if (!is_comment && /_ATOMIC_(LOAD|STORE|ADD|CAS)\(/) access = NR # it may go on in the next line
    lines[NR] = $0
    if (!is_comment && NR <= access + 1 && index($0, label))
        for (n = NR; n >= access; n--) lines[n] = weaker(lines[n])
}
END { for (n = 1; n <= NR; n++) print lines[n] }
