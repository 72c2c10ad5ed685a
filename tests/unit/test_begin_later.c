/* SPDX-License-Identifier: MIT
 *
 * options.start_next_unit, of both headers: a generator that takes over numbers released in this unit
 * begins in the next, however it is initialised.
 */
#include "support.h"
#include "flake.h"
#include "sno.h"
#include "options.h"

#define T INT64_C(1700000000000) /* Unix ms; a unit of each layout begins then */
enum { most_numbers = 3, into_unit_ns = 400000 };

static bool later; /* the option's value */

/* How it is initialised: as one generator, as two shards, or as a generator with two lanes. */
static const struct way {
    enum { FLAKE, WIDE, SNO, SNO_OF_NO_POOL } kind;
    enum { ONE, SHARDS, LANES } form;
    bool anew; /* as a forked child of a parent with other options */
} ways[] = {
    {FLAKE, ONE, false},   {FLAKE, ONE, true},           {FLAKE, SHARDS, false},
    {FLAKE, LANES, false}, {FLAKE, LANES, true},         {WIDE, ONE, false},
    {WIDE, ONE, true},     {WIDE, LANES, false},         {WIDE, LANES, true},
    {SNO, ONE, false},     {SNO_OF_NO_POOL, ONE, false}, {SNO, ONE, true},
    {SNO, SHARDS, false},  {SNO, LANES, false},
};
enum { way_count = sizeof ways / sizeof *ways };

static flake_gen gens[2];
static sno_gen snos[2];
static flake_lane lane[2];

static bool is_sno(const struct way *w) { return w->kind >= SNO; }

static int64_t unit_ms(const struct way *w) { return is_sno(w) ? 4 : w->kind == WIDE ? 1 : 10; }

static flake_options flake_numbers(const struct way *w) {
    flake_options o = options_of_flake(1, most_numbers, script_read, &script_now);
    o.layout = w->kind == WIDE ? flake_layout_boundary : flake_layout_sonyflake;
    o.start_next_unit = later;
    return o;
}

static const flake_options *formed(const struct way *w, const flake_options *o) {
    return w->form == LANES ? with_lanes(o, lane, 2) : o;
}

/* The generators are as in a forked child. */
static void inherit(void) {
    flake_machine_cloned();
    flake_machine_cloned();
}

static flake_status begin_flake(const struct way *w) {
    const flake_node node = flake_node_fixed(NULL, 5);
    const flake_options o = flake_numbers(w);
    if (w->form == SHARDS) return flake_init_shards(gens, 2, node, &o, NULL);
    if (!w->anew) return flake_init(gens, node, formed(w, &o), NULL);
    CHECK_EQ(flake_init(gens, flake_node_fixed(NULL, 4), &o, NULL), FLAKE_OK);
    inherit();
    return flake_reinit_after_fork(gens, node, formed(w, &o), NULL);
}

static flake_status begin_sno(const struct way *w) {
    const sno_snapshot before = pool_of_numbers(4, 1, 4), pool = pool_of_numbers(5, 1, 4);
    const flake_node node = flake_node_fixed(NULL, 5);
    flake_options o = options_of_sno(script_read, &script_now);
    o.start_next_unit = later;
    if (w->form == SHARDS) return sno_init_shards(snos, 2, node, &pool, &o, NULL);
    if (w->kind == SNO_OF_NO_POOL)
        return sno_init(snos, flake_node_none(), NULL, formed(w, &o), NULL);
    if (!w->anew) return sno_init(snos, node, &pool, formed(w, &o), NULL);
    CHECK_EQ(sno_init(snos, flake_node_fixed(NULL, 4), &before, &o, NULL), FLAKE_OK);
    inherit();
    return sno_reinit_after_fork(snos, node, &pool, &o, NULL);
}

static void begin(const struct way *w) {
    CHECK_EQ(is_sno(w) ? begin_sno(w) : begin_flake(w), FLAKE_OK);
}

static int64_t retry_ns(const struct way *w) {
    const size_t last = w->form == SHARDS;
    return flake_retry_ns(is_sno(w) ? &snos[last].gen : &gens[last]);
}

/* An ID as bytes, and its time. */
typedef struct drawn {
    int64_t unix_ms;
    uint8_t bytes[16];
} drawn;

static flake_status draw_from(const struct way *w, size_t i, drawn *d) {
    flake_parts parts = {0};
    flake128 wide;
    uint64_t id;
    sno_id sno;
    flake_status status;
    if (is_sno(w)) {
        if ((status = sno_try(&snos[i], 7, &sno)) != FLAKE_OK) return status;
        d->unix_ms = sno_time_ms(sno);
        memcpy(d->bytes, &sno, sizeof sno);
        return FLAKE_OK;
    }
    status = w->kind == WIDE ? flake128_try(&gens[i], &wide) : flake_try(&gens[i], &id);
    if (status != FLAKE_OK) return status;
    if (w->kind == WIDE) {
        CHECK_EQ(flake128_decompose(&flake_layout_boundary, &wide, &parts), FLAKE_OK);
        memcpy(d->bytes, wide.bytes, 16);
    } else {
        CHECK_EQ(flake_decompose(&flake_layout_sonyflake, id, &parts), FLAKE_OK);
        flake_to_bytes(id, d->bytes);
    }
    CHECK_EQ(parts.node, 5);
    d->unix_ms = parts.unix_ms;
    return FLAKE_OK;
}

/* From the first shard, while it has numbers. */
static flake_status draw(const struct way *w, drawn *d) {
    const flake_status status = draw_from(w, 0, d);
    return status != FLAKE_OK && w->form == SHARDS ? draw_from(w, 1, d) : status;
}

/* One process draws in this unit and releases its numbers, and another takes them over: `second` is its
 * first ID, in the first unit in which it may draw. */
static void take_over(const struct way *w, drawn *first, drawn *second) {
    const int64_t unit_ns = unit_ms(w) * 1000000;
    memset(first, 0, sizeof *first);
    memset(second, 0, sizeof *second);
    script_at_ms(T);
    script_now.now_ns += into_unit_ns;
    begin(w);
    const int64_t due_ns = later ? unit_ns - into_unit_ns : 0;
    CHECK_EQ(retry_ns(w), due_ns);
    CHECK_EQ(draw(w, first), later ? FLAKE_AGAIN : FLAKE_OK);
    script_now.now_ns += due_ns;
    if (later) CHECK_EQ(draw(w, first), FLAKE_OK);
    begin(w);
    CHECK_EQ(retry_ns(w), later ? unit_ns : 0);
    CHECK_EQ(draw(w, second), later ? FLAKE_AGAIN : FLAKE_OK);
    if (!later) return;
    script_now.now_ns += unit_ns - 1;
    CHECK_EQ(draw(w, second), FLAKE_AGAIN); /* a ns too early */
    script_now.now_ns++;
    CHECK_EQ(draw(w, second), FLAKE_OK);
}

/* Without the option the second one's first ID is the first one's: the option prevents that. */
TEST(who_takes_over_begins_in_the_next_unit) {
    drawn first, second;
    for (int i = 0; i < 2 * way_count; i++) {
        const struct way *const w = &ways[i / 2];
        later = i % 2;
        take_over(w, &first, &second);
        CHECK_EQ(first.unix_ms, T + (later ? unit_ms(w) : 0));
        CHECK_EQ(second.unix_ms, T + (later ? 2 * unit_ms(w) : 0));
        CHECK_EQ(memcmp(first.bytes, second.bytes, 16) == 0, !later && w->kind != SNO_OF_NO_POOL);
        if (check_failures) printf("  way %d\n", i / 2);
    }
}

/* A waiting call sleeps until that unit begins, once. */
TEST(a_waiting_call_waits_for_it) {
    uint64_t id = 0;
    later = true;
    script_at_ms(T);
    script_now.now_ns += into_unit_ns;
    begin(&ways[0]);
    CHECK_EQ(flake_next(gens, &id), FLAKE_OK);
    CHECK_EQ(script_now.slept_ns, 10000000 - into_unit_ns);
    CHECK(flake_gen_options(gens)->start_next_unit);
}

/* Before the layout's first unit no other process can have drawn. */
TEST(before_the_epoch_there_is_nothing_to_leave_out) {
    uint64_t id = 0;
    later = true;
    flake_options o = flake_numbers(&ways[0]);
    o.layout.epoch_ms = T;
    script_at_ms(T - 1);
    CHECK_EQ(flake_init(gens, flake_node_fixed(NULL, 5), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_try(gens, &id), FLAKE_TIME_RANGE);
    script_now.now_ns += 1000000;
    CHECK_EQ(flake_try(gens, &id), FLAKE_OK);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
