# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# Sourced by scripts that use programs which may not be installed.
has() { command -v "${1%% *}" > /dev/null; } # COMMAND, with options or without
limited() { if has timeout; then timeout 60 "$@"; else "$@"; fi; }
