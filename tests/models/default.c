/* SPDX-License-Identifier: MIT
 *
 * PAGE: three threads make the first calls of sno_generate; the third finds no place of its own where
 * the other two have taken the last ones. Whoever comes sees the generator as its maker left it
 * (PAGE:R, PAGE:A), nobody gets an id that another has, and a tag is one process's and one partition's.
 * For a checker there are two threads, and no id is put together.
 *
 * Weakened: PAGE:R, PAGE:A
 */
#include "model.h"
#include "sno.h"

static struct sno_i_family family;
#if RUNS > 1
enum { THREADS = 3, IDS = 3 };
static sno_id ids[THREADS][IDS];

static void generate(unsigned who) {
    for (int i = 0; i < IDS; i++) {
        ids[who][i] = sno_generate(1);
        assert(!sno_is_zero(ids[who][i]));
    }
}

static void look_at_ids(void) {
    for (unsigned i = 0; i < THREADS * IDS; i++)
        for (unsigned k = 0; k < i; k++)
            assert(!sno_equal(ids[i / IDS][i % IDS], ids[k / IDS][k % IDS]));
    /* one of them drew from its stack */
    MODEL_REACHED(SNO_ATOMIC_LOAD(&family.used, relaxed) > 3);
}
#else
enum { THREADS = 2 };
static const sno_gen *found[THREADS];
static sno_i_place place[THREADS];

static void generate(unsigned who) {
    sno_gen *const g = sno_i_default_gen();
    assert(g);
    const sno_status status = sno_i_draw(&g->engine, SNO_I_WAIT, 0, 1, &place[who]);
    assert(status == SNO_OK);
    (void)status;
    found[who] = g;
}

static void look_at_ids(void) {
    assert(found[0] == found[1] && place[0].time == place[1].time);
    assert(place[0].index != place[1].index);
    /* both have made one */
    MODEL_REACHED((SNO_ATOMIC_LOAD(&sno_i_default.begun, relaxed) & 0xff) == SNO_I_DEFAULT_PLACES);
}
#endif

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

#if RUNS > 1
static void *generate_c(void *unused) {
    model_begin(THREADS);
    generate(2);
    return unused;
}
static void *(*const bodies[])(void *) = {generate_a, generate_b, generate_c};
#else
static void *(*const bodies[])(void *) = {generate_a, generate_b};
#endif

int main(void) {
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
        const sno_gen *const made = SNO_ATOMIC_LOAD(&sno_i_default.gen, relaxed);
        assert(made && made->engine.cap == UINT16_MAX + 1);
        look_at_ids();
    }
    return 0;
}
