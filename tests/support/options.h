/* SPDX-License-Identifier: MIT
 *
 * Options that tests begin with: numbers and a clock, a layout whose time is Unix ms, and defaults for the rest.
 * Include it after the headers under test, of which there may be one.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#ifdef FLAKE_H
static inline flake_options options_of_flake(uint32_t seq_min, uint32_t seq_max, int64_t (*now_ns)(void *), void *of) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.layout = flake_layout_idgen;
    o.seq_min = seq_min;
    o.seq_max = seq_max;
    o.clock.now_ns = now_ns;
    o.clock.user = of;
    return o;
}

/* That number, or none where the layout has no node. Zeroed, it is the default, which has one. */
static inline flake_node node_in(const flake_layout *l, uint64_t number) {
    return l->node_bits || !l->unit_ms ? flake_node_fixed(NULL, number) : flake_node_none();
}

/* Copies of options, which last until the next call of the same function. NULL: all defaults. */
static inline const flake_options *with_lanes(const flake_options *given, flake_lane *lanes, size_t n) {
    static flake_options o;
    if (given) o = *given;
    else memset(&o, 0, sizeof o);
    o.lanes = lanes;
    o.lane_count = n;
    return &o;
}

/* How many IDs were available. */
static inline size_t got64_n(flake_gen *g, uint64_t *ids, size_t n) {
    size_t got;
    (void)!flake_try_n(g, ids, n, &got);
    return got;
}

static inline size_t got128_n(flake_gen *g, flake128 *ids, size_t n) {
    size_t got;
    (void)!flake128_try_n(g, ids, n, &got);
    return got;
}

/* What flake_init says of options, without its subject; NULL: nothing. */
static inline const char *options_why(flake_node node, const flake_options *o) {
    static flake_gen g;
    static flake_why why;
    static const char subject[] = "options: ";
    const flake_status status = flake_init(&g, node, o, &why);
    (void)flake_close(&g, NULL);
    if (status != FLAKE_INVALID && status != FLAKE_NODE_RANGE) return NULL;
    return strncmp(why.text, subject, sizeof subject - 1) == 0 ? why.text + sizeof subject - 1
                                                               : why.text;
}

/* The next overflow event of a ring; and that there is none. */
#define EXPECT_EVENT(ring, at_ns, callers, since_ms) \
    do {                                             \
        flake_overflow event = {0, 0, 0};            \
        CHECK(flake_ring_pop(ring, &event));         \
        CHECK_EQ(event.now_ns, at_ns);               \
        CHECK_EQ(event.waiting, callers);            \
        CHECK_EQ(event.elapsed_ms, since_ms);        \
    } while (0)
static inline bool no_event(flake_ring *ring) {
    flake_overflow event;
    return !flake_ring_pop(ring, &event);
}

/* The tickets drawn since the epoch, as far as the words show: a call that fails leaves them unchanged. */
static inline uint64_t place_of(flake_gen *g) {
    uint64_t sum = 0, time, count;
    flake_i_engine *e;
    for (size_t i = 0; (e = flake_i_engine_at(g, i)) != NULL; i++) {
        flake_i_decode(e, FLAKE_ATOMIC_LOAD(&e->word, acquire), &time, &count);
        sum += time * e->unit_capacity + count;
    }
    return sum;
}
#endif

#if defined(FLAKE_H) && defined(PROCESS_SCENE_H)
static inline flake_options options_in_scene(void) {
    return options_of_flake(0, 0, scene_clock, NULL);
}
#endif

#ifdef SNO_H
/* A snapshot of a generator that has drawn nothing yet. */
static inline sno_snapshot pool_of_numbers(uint16_t partition, uint16_t min, uint16_t max) {
    sno_snapshot s;
    memset(&s, 0, sizeof s);
    s.partition = partition;
    s.sequence_min = min;
    s.sequence_max = max;
    return s;
}

/* A caller waits without a limit. */
static inline flake_options options_of_sno(int64_t (*now_ns)(void *), void *user) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.max_wait_ms = INT64_MAX;
    o.clock.now_ns = now_ns;
    o.clock.user = user;
    return o;
}

/* Draws whose status does not matter: the zero ID if there is none, and how many. */
static inline sno_id next_sno(sno_gen *g, uint8_t meta) {
    sno_id id;
    memset(&id, 0, sizeof id);
    (void)!sno_next(g, meta, &id);
    return id;
}
static inline size_t tried_n(sno_gen *g, uint8_t meta, sno_id *ids, size_t n) {
    size_t got;
    (void)!sno_try_n(g, meta, ids, n, &got);
    return got;
}
#endif

#endif
