/* SPDX-License-Identifier: MIT
 *
 * Fork page: two threads make the process's first generators, a third one soon after. All find the same
 * page, which the kernel was told of before, and one value in its first word, or each would take the
 * other's for a child's.
 */
#define MODEL_WITH_SYSTEM
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static _Atomic(unsigned) told; /* times the kernel was */

int madvise(void *, size_t, int);
int madvise(void *at, size_t n, int advice) {
    (void)at;
    (void)n;
    if (advice != 18) return -1;
    (void)atomic_fetch_add(&told, 1u);
    return 0;
}

#include "model.h"

static flake_i_atomic64 *word[3];
static uint64_t mark[3];

void model_thread(unsigned who) {
    for (int i = 0; who == 2 && i < 16; i++) model_stall();
    mark[who] = flake_i_instance_owner_id(&word[who]);
    assert(atomic_load(&told) > 0);
}

int main(void) {
    for (int run = 0; run < RUNS; run++) {
        flake_i_atomic64 *const page = FLAKE_ATOMIC_LOAD(&flake_i_process.page, relaxed);
        if (page) FLAKE_ATOMIC_STORE(page, 0u, relaxed);
        FLAKE_ATOMIC_STORE(&flake_i_process.page, (flake_i_atomic64 *)NULL, relaxed);
        FLAKE_ATOMIC_STORE(&flake_i_process.instance_count, 0u, relaxed);
        atomic_store(&told, 0u);
        model_run(3);
        assert(word[0] && mark[0] && FLAKE_ATOMIC_LOAD(word[0], relaxed) == mark[0]);
        for (unsigned i = 0; i < 3; i++) assert(word[i] == word[0] && mark[i] == mark[0]);
        MODEL_REACHED(atomic_load(&told) > 1); /* two threads told the kernel */
    }
    return 0;
}
