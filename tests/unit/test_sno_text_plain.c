/* SPDX-License-Identifier: MIT
 *
 * The tests of sno's texts, with portable code only.
 */
#define FLAKE_NO_SIMD
#include "test_sno_text.c"
