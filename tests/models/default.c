/* SPDX-License-Identifier: MIT
 *
 * PAGE: three threads make the first calls of sno_generate; the third finds no place of its own where
 * the other two have taken the last ones. Whoever comes sees the generator as its maker left it
 * (PAGE:R, PAGE:A), nobody gets an id that another has, and a tag is one process's and one partition's.
 */
#include "model.h"
#include "sno.h"

enum { THREADS = 3, IDS = 3 };
static struct sno_i_family family;
static sno_id ids[THREADS][IDS];

static void generate(unsigned who) {
    for (int i = 0; i < IDS; i++) {
        ids[who][i] = sno_generate(1);
        assert(!sno_is_zero(ids[who][i]));
    }
}

static void *generate_a(void *unused) {
    model_begin(THREADS);
    generate(0);
    return unused;
}

static void *generate_b(void *unused) {
    model_begin(THREADS);
    generate(1);
    return unused;
}

static void *generate_c(void *unused) {
    model_begin(THREADS);
    generate(2);
    return unused;
}

int main(void) {
    static void *(*const bodies[])(void *) = {generate_a, generate_b, generate_c};
    model_clock(1600000000000); /* after sno's epoch */
    for (int run = 0; run < RUNS; run++) {
        const uint64_t all_but_two = sno_i_pid() << 8 | (SNO_I_DEFAULT_PLACES - 2);
        SNO_ATOMIC_STORE(&family.start, 1u << 16, relaxed);
        SNO_ATOMIC_STORE(&family.used, 0u, relaxed);
        SNO_ATOMIC_STORE(&sno_i_partitions.family, &family, relaxed); /* no page, no system call */
        SNO_ATOMIC_STORE(&sno_i_default.gen, (sno_gen *)NULL, relaxed);
        SNO_ATOMIC_STORE(&sno_i_default.tag, 0u, relaxed);
        SNO_ATOMIC_STORE(&sno_i_default.begun, all_but_two, relaxed);
        model_run(bodies, THREADS);
        for (unsigned i = 0; i < THREADS * IDS; i++)
            for (unsigned k = 0; k < i; k++)
                assert(!sno_equal(ids[i / IDS][i % IDS], ids[k / IDS][k % IDS]));
        const sno_gen *const made = SNO_ATOMIC_LOAD(&sno_i_default.gen, relaxed);
        assert(made && made->engine.cap == UINT16_MAX + 1);
        /* one of them drew from its stack */
        MODEL_REACHED(SNO_ATOMIC_LOAD(&family.used, relaxed) > 3);
    }
    return 0;
}
