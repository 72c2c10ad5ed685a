/* SPDX-License-Identifier: MIT
 *
 * The tests of texts of UUIDs and ULIDs, with portable code only.
 */
#define FLAKE_NO_SIMD
#include "test_uuid_text.c"
