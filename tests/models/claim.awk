# SPDX-License-Identifier: MIT
# claim.awk   from flake.h: the functions of a claim that threads call, without those that need files
BEGIN {
    wanted = "^flake_i_(move_horizon|try_lock_writer|is_writer|unlock_writer|admit|extend|claim_close|claim_take_over)$"
    print "/* Made by claim.awk from flake.h. */"
}
/^#else .* no generator has a claim/ { exit }
/^FLAKE_I_FN .*\(/ && !/;$/ {
    name = $0
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    prints = name ~ wanted && is_in
}
/^#if FLAKE_I_HAS_FILES/ { is_in = 1 }
prints { print }
/^}/ { if (prints) print ""; prints = 0 }
