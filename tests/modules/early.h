/* SPDX-License-Identifier: MIT
 *
 * What early_other.cc offers to early.c: the first id of a generator of its own whose clock stands still, and more.
 */
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
int other_begin(uint64_t *id);
int other_next(uint64_t *id);
#ifdef __cplusplus
}
#endif
