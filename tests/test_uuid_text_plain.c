/* SPDX-License-Identifier: MIT
 *
 * The tests of texts of UUIDs and ULIDs where all is done by portable code.
 */
#define FLAKE_NO_SIMD
#include "test_uuid_text.c"
