/* SPDX-License-Identifier: MIT
 *
 * The same with the declarations that -pthread adds.
 */
#define SHOW_POSIX
#include "test_strict.c"
