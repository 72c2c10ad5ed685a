/* SPDX-License-Identifier: MIT
 *
 * The tests of texts of a fixed width, with portable code only.
 */
#define FLAKE_NO_SIMD
#include "test_fixed_text.c"
