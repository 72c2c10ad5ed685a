/* SPDX-License-Identifier: MIT
 *
 * options.start_next_unit, of both headers: whoever takes numbers over that somebody gave up in this unit
 * begins in the next, in whichever way he begins.
 */
#include "support.h"
#include "flake.h"
#include "sno.h"
#include "options.h"

#define T INT64_C(1700000000000) /* Unix ms; a unit of each layout begins then */
enum { most_numbers = 3, into_unit_ns = 400000 };

static bool later; /* what the option says */

static flake_options flake_numbers(uint32_t node) {
    flake_options o = options_of_flake(node, 1, most_numbers, script_read, &script_now);
    o.layout = flake_layout_sonyflake; /* units of 10 ms */
    o.start_next_unit = later;
    return o;
}

static flake_options wide_numbers(uint64_t node) {
    flake_options o = options_of_flake(node, 1, most_numbers, script_read, &script_now);
    o.layout = flake_layout_boundary;
    o.start_next_unit = later;
    return o;
}

static sno_snapshot pool;

static flake_options sno_numbers(uint16_t partition) {
    pool = pool_of_numbers(partition, 1, 4);
    flake_options o = options_of_sno(script_read, &script_now);
    o.start_next_unit = later;
    return o;
}

/* As if it were a forked child's. */
static void inherit(void) {
    flake_machine_cloned();
    flake_machine_cloned();
}

/* ---- the ways to begin: a status, which for both headers is 0 when all is well ---- */

static flake_gen gen;
static flake_gen shards[2];
static flake_lane lane[2], wide_lane[2];
static flake_gen lanes;
static flake_gen wide;
static flake_gen wide_lanes;
static sno_gen sno;
static sno_gen sno_shards[2];
static flake_lane sno_lane_array[2];
static sno_gen sno_laned;

/* As a forked child, too, of a parent with other options. */
static int begins(flake_gen *g, const flake_options *parents, const flake_options *o) {
    if (!parents) return (int)flake_init(g, o, NULL);
    const flake_status status = flake_init(g, parents, NULL);
    inherit();
    return status ? (int)status : (int)flake_reinit_after_fork(g, o, NULL);
}

static int begin_gen(void) {
    const flake_options o = flake_numbers(5);
    return begins(&gen, NULL, &o);
}

static int begin_gen_anew(void) {
    const flake_options before = flake_numbers(4), o = flake_numbers(5);
    return begins(&gen, &before, &o);
}

static int begin_shards(void) {
    const flake_options o = flake_numbers(5);
    return (int)flake_init_shards(shards, 2, &o, NULL);
}

static flake_options in_lanes(flake_options o, flake_lane *array) {
    o.lanes = array;
    o.lane_count = 2;
    return o;
}

static int begin_lanes(void) {
    const flake_options o = in_lanes(flake_numbers(5), lane);
    return begins(&lanes, NULL, &o);
}

static int begin_lanes_anew(void) {
    const flake_options before = flake_numbers(4), o = in_lanes(flake_numbers(5), lane);
    return begins(&lanes, &before, &o);
}

static int begin_wide(void) {
    const flake_options o = wide_numbers(5);
    return begins(&wide, NULL, &o);
}

static int begin_wide_anew(void) {
    const flake_options before = wide_numbers(4), o = wide_numbers(5);
    return begins(&wide, &before, &o);
}

static int begin_wide_lanes(void) {
    const flake_options o = in_lanes(wide_numbers(5), wide_lane);
    return begins(&wide_lanes, NULL, &o);
}

static int begin_wide_lanes_anew(void) {
    const flake_options before = wide_numbers(4), o = in_lanes(wide_numbers(5), wide_lane);
    return begins(&wide_lanes, &before, &o);
}

static int begin_sno(void) {
    const flake_options o = sno_numbers(5);
    return (int)sno_init(&sno, &pool, &o, NULL);
}

static int begin_sno_of_no_pool(void) {
    flake_options o = sno_numbers(5);
    return (int)sno_init(&sno, NULL, &o, NULL);
}

static int begin_sno_anew(void) {
    flake_options o = sno_numbers(4);
    const flake_status status = sno_init(&sno, &pool, &o, NULL);
    inherit();
    o = sno_numbers(5);
    return status ? (int)status : (int)sno_reinit_after_fork(&sno, &pool, &o, NULL);
}

static int begin_sno_shards(void) {
    const flake_options o = sno_numbers(5);
    return (int)sno_init_shards(sno_shards, 2, &pool, &o, NULL);
}

static int begin_sno_lanes(void) {
    const flake_options o = in_lanes(sno_numbers(5), sno_lane_array);
    return (int)sno_init(&sno_laned, &pool, &o, NULL);
}

/* ---- and to draw: an id in bytes, and its time ---- */

typedef struct drawn {
    int64_t unix_ms;
    uint8_t bytes[16];
} drawn;

static int give(flake_status status, uint64_t id, drawn *d) {
    const flake_layout layout = flake_layout_sonyflake;
    flake_parts parts = {0};
    if (status != FLAKE_OK) return (int)status;
    CHECK_EQ(flake_decompose(&layout, id, &parts), FLAKE_OK);
    CHECK_EQ(parts.node, 5);
    d->unix_ms = parts.unix_ms;
    flake_to_bytes(id, d->bytes);
    return 0;
}

static int give_wide(flake_status status, flake128 id, drawn *d) {
    flake_parts parts = {0};
    if (status != FLAKE_OK) return (int)status;
    CHECK_EQ(flake128_decompose(&flake_layout_boundary, &id, &parts), FLAKE_OK);
    CHECK_EQ(parts.node, 5);
    d->unix_ms = parts.unix_ms;
    memcpy(d->bytes, id.bytes, 16);
    return 0;
}

static int give_sno(flake_status status, sno_id id, drawn *d) {
    if (status != FLAKE_OK) return (int)status;
    d->unix_ms = sno_time_ms(id);
    memcpy(d->bytes, &id, sizeof id);
    return 0;
}

static int draw_gen(drawn *d) {
    uint64_t id = 0;
    const flake_status status = flake_try(&gen, &id);
    return give(status, id, d);
}

/* The first shard has two of the three numbers. */
static int draw_shards(drawn *d) {
    uint64_t id = 0;
    flake_status status = flake_try(&shards[0], &id);
    if (status != FLAKE_OK) status = flake_try(&shards[1], &id);
    return give(status, id, d);
}

static int draw_lanes(drawn *d) {
    uint64_t id = 0;
    const flake_status status = flake_try(&lanes, &id);
    return give(status, id, d);
}

static int draw_wide(drawn *d) {
    flake128 id = {{0}};
    const flake_status status = flake128_try(&wide, &id);
    return give_wide(status, id, d);
}

static int draw_wide_lanes(drawn *d) {
    flake128 id = {{0}};
    const flake_status status = flake128_try(&wide_lanes, &id);
    return give_wide(status, id, d);
}

static int draw_sno(drawn *d) {
    sno_id id;
    const flake_status status = sno_try(&sno, 7, &id);
    return give_sno(status, id, d);
}

static int draw_sno_shards(drawn *d) {
    sno_id id;
    flake_status status = sno_try(&sno_shards[0], 7, &id);
    if (status != FLAKE_OK) status = sno_try(&sno_shards[1], 7, &id);
    return give_sno(status, id, d);
}

static int draw_sno_lanes(drawn *d) {
    sno_id id;
    const flake_status status = sno_try(&sno_laned, 7, &id);
    return give_sno(status, id, d);
}

static int64_t retry_gen(void) { return flake_retry_ns(&gen); }
static int64_t retry_shards(void) { return flake_retry_ns(&shards[1]); }
static int64_t retry_lanes(void) { return flake_retry_ns(&lanes); }
static int64_t retry_wide(void) { return flake_retry_ns(&wide); }
static int64_t retry_wide_lanes(void) { return flake_retry_ns(&wide_lanes); }
static int64_t retry_sno(void) { return flake_retry_ns(&sno.gen); }
static int64_t retry_sno_shards(void) { return flake_retry_ns(&sno_shards[1].gen); }
static int64_t retry_sno_lanes(void) { return flake_retry_ns(&sno_laned.gen); }

static const struct way {
    int (*begin)(void);
    int (*draw)(drawn *);
    int64_t (*retry_ns)(void);
    int64_t unit_ms;
    bool numbers_are_chosen; /* else a second one has others */
} ways[] = {
    {begin_gen, draw_gen, retry_gen, 10, true},
    {begin_gen_anew, draw_gen, retry_gen, 10, true},
    {begin_shards, draw_shards, retry_shards, 10, true},
    {begin_lanes, draw_lanes, retry_lanes, 10, true},
    {begin_lanes_anew, draw_lanes, retry_lanes, 10, true},
    {begin_wide, draw_wide, retry_wide, 1, true},
    {begin_wide_anew, draw_wide, retry_wide, 1, true},
    {begin_wide_lanes, draw_wide_lanes, retry_wide_lanes, 1, true},
    {begin_wide_lanes_anew, draw_wide_lanes, retry_wide_lanes, 1, true},
    {begin_sno, draw_sno, retry_sno, 4, true},
    {begin_sno_of_no_pool, draw_sno, retry_sno, 4, false},
    {begin_sno_anew, draw_sno, retry_sno, 4, true},
    {begin_sno_shards, draw_sno_shards, retry_sno_shards, 4, true},
    {begin_sno_lanes, draw_sno_lanes, retry_sno_lanes, 4, true},
};
enum { way_count = sizeof ways / sizeof *ways };

/* Somebody draws in this unit and gives his numbers up, and another takes them over: in `second` what he
 * draws first, in the unit that he gets. */
static void take_over(const struct way *w, drawn *first, drawn *second) {
    script_at_ms(T);
    script_now.now_ns += into_unit_ns;
    CHECK_EQ(w->begin(), 0);
    const int64_t due_ns = later ? w->unit_ms * 1000000 - into_unit_ns : 0;
    CHECK_EQ(w->retry_ns(), due_ns);
    CHECK_EQ(w->draw(first), later ? FLAKE_AGAIN : FLAKE_OK);
    script_now.now_ns += due_ns;
    if (later) CHECK_EQ(w->draw(first), FLAKE_OK);
    CHECK_EQ(w->begin(), 0);
    CHECK_EQ(w->retry_ns(), later ? w->unit_ms * 1000000 : 0);
    CHECK_EQ(w->draw(second), later ? FLAKE_AGAIN : FLAKE_OK);
    if (!later) return;
    script_now.now_ns += w->unit_ms * 1000000 - 1;
    CHECK_EQ(w->draw(second), FLAKE_AGAIN); /* a ns too early */
    script_now.now_ns++;
    CHECK_EQ(w->draw(second), FLAKE_OK);
}

TEST(who_takes_over_begins_in_the_next_unit) {
    drawn first, second;
    later = true;
    for (int i = 0; i < way_count; i++) {
        memset(&first, 0, sizeof first);
        memset(&second, 0, sizeof second);
        take_over(&ways[i], &first, &second);
        CHECK_EQ(first.unix_ms, T + ways[i].unit_ms);
        CHECK_EQ(second.unix_ms, T + 2 * ways[i].unit_ms);
        if (check_failures) printf("  way %d\n", i);
    }
}

/* What it is there for: without it the second one's first id is the first one's. */
TEST(without_it_the_ids_of_this_unit_are_repeated) {
    drawn first, second;
    later = false;
    for (int i = 0; i < way_count; i++) {
        memset(&first, 0, sizeof first);
        memset(&second, 0, sizeof second);
        take_over(&ways[i], &first, &second);
        CHECK_EQ(first.unix_ms, T);
        CHECK_EQ(second.unix_ms, T);
        CHECK_EQ(memcmp(first.bytes, second.bytes, 16) == 0, ways[i].numbers_are_chosen);
        if (check_failures) printf("  way %d\n", i);
    }
}

/* Who waits sleeps until that unit begins, once. */
TEST(a_waiting_call_waits_for_it) {
    uint64_t id = 0;
    later = true;
    script_at_ms(T);
    script_now.now_ns += into_unit_ns;
    CHECK_EQ(begin_gen(), 0);
    CHECK_EQ(flake_next(&gen, &id), FLAKE_OK);
    CHECK_EQ(script_now.slept_ns, 10000000 - into_unit_ns);
    CHECK(flake_gen_options(&gen)->start_next_unit);
}

/* The clock before the layout's first unit: there is nothing that anybody could have drawn. */
TEST(before_the_epoch_there_is_nothing_to_leave_out) {
    uint64_t id = 0;
    later = true;
    flake_options o = flake_numbers(5);
    o.layout.epoch_ms = T;
    script_at_ms(T - 1);
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_try(&gen, &id), FLAKE_TIME_RANGE);
    script_now.now_ns += 1000000;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
