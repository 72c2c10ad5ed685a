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

/* `from` NULL: a partition of the header's choice. */
static inline sno_options options_of_sno(const sno_snapshot *from, int64_t (*now_ns)(void *),
                                         void *user) {
    sno_options o;
    memset(&o, 0, sizeof o);
    o.snapshot = from;
    o.clock.now_ns = now_ns;
    o.clock.user = user;
    return o;
}
#endif

#endif
