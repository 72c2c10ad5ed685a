/* SPDX-License-Identifier: MIT
 *
 * Options that tests begin with: numbers and a clock, and all else by default. Include it behind the
 * headers under test, of which there may be one.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#ifdef FLAKE_H
static inline flake_options options_of_flake(uint32_t node, uint32_t seq_min, uint32_t seq_max,
                                             int64_t (*now_ns)(void *), void *user) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.node = node;
    o.seq_min = seq_min;
    o.seq_max = seq_max;
    o.clock.now_ns = now_ns;
    o.clock.user = user;
    return o;
}
#endif

#if defined(FLAKE_H) && defined(SCENE_H)
static inline flake_options options_in_scene(uint32_t node) {
    return options_of_flake(node, 0, 0, scene_clock, NULL);
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

/* A caller waits as long as it takes. */
static inline flake_options options_of_sno(int64_t (*now_ns)(void *), void *user) {
    flake_options o;
    memset(&o, 0, sizeof o);
    o.max_wait_ms = INT64_MAX;
    o.clock.now_ns = now_ns;
    o.clock.user = user;
    return o;
}

/* Draws whose status does not matter: the zero id if there is none, and how many. */
static inline sno_id next_sno(sno_gen *g, uint8_t meta) {
    sno_id id;
    memset(&id, 0, sizeof id);
    (void)sno_next(g, meta, &id);
    return id;
}
static inline sno_id next_sno_of_shard(sno_shard *s, uint8_t meta) {
    sno_id id;
    memset(&id, 0, sizeof id);
    (void)sno_shard_next(s, meta, &id);
    return id;
}
static inline sno_id next_sno_of_lanes(sno_lanes *l, uint8_t meta) {
    sno_id id;
    memset(&id, 0, sizeof id);
    (void)sno_lanes_next(l, meta, &id);
    return id;
}
static inline size_t tried_n(sno_gen *g, uint8_t meta, sno_id *ids, size_t n) {
    size_t got;
    (void)sno_try_n(g, meta, ids, n, &got);
    return got;
}
static inline size_t tried_shard_n(sno_shard *s, uint8_t meta, sno_id *ids, size_t n) {
    size_t got;
    (void)sno_shard_try_n(s, meta, ids, n, &got);
    return got;
}
static inline size_t tried_lanes_n(sno_lanes *l, uint8_t meta, sno_id *ids, size_t n) {
    size_t got;
    (void)sno_lanes_try_n(l, meta, ids, n, &got);
    return got;
}
#endif

#endif
