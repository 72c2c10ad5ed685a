/* SPDX-License-Identifier: MIT
 *
 * The tests of sno's texts where all is done by portable code.
 */
#define FLAKE_NO_SIMD
#include "test_sno_text.c"
