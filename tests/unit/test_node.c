/* SPDX-License-Identifier: MIT
 *
 * The node (flake_node in flake.h): which number each init accepts, in which layout, and what it says of others; gates;
 * reinit after a fork; the partition of snos, and what a snapshot adds to it. A failed call's number is refused
 * everywhere. Where numbers come from: test_node_sources.c; the node of what is no generator: test_program_mistakes.c.
 */
#define _GNU_SOURCE
#define CHECK_OWN_MAIN
#include "check.h"
#include "temporary_dir.h"
#include "flake.h"
#include "sno.h"
#include "options.h"

static const uint64_t no_number = UINT64_C(0xBFFFFFFFBFFFBFFF); /* of a failed call */

static bool says(const flake_why *why, const char *words) { return strstr(why->text, words) != NULL; }

/* Every known layout, and one without a node, of 64 bits, as i counts up. */
static bool layout_at(size_t i, flake_layout *layout) {
    if (i == 0) return *layout = flake_layout_of(42, 0, 22, 0), true;
    return flake_layout_at(i - 1, layout) == FLAKE_OK;
}

static uint64_t last_node(const flake_layout *layout) {
    return layout->node_bits ? UINT64_MAX >> (64 - layout->node_bits) : 0;
}

/* The node in the next ID. */
static uint64_t node_in_id(flake_gen *g) {
    const flake_layout *const layout = &flake_gen_options(g)->layout;
    flake_parts parts = {0, 0, 0};
    flake128 wide;
    uint64_t id;
    if (layout->format) {
        CHECK_EQ(flake128_next(g, &wide), FLAKE_OK);
        CHECK_EQ(flake128_decompose(layout, &wide, &parts), FLAKE_OK);
    } else {
        CHECK_EQ(flake_next(g, &id), FLAKE_OK);
        CHECK_EQ(flake_decompose(layout, id, &parts), FLAKE_OK);
    }
    return parts.node;
}

/* Each init refuses the node, and says so; afterwards there is no generator. */
static void is_refused(const flake_layout *layout, flake_node node, flake_status status, const char *words) {
    const flake_options options = {.layout = *layout};
    static flake_gen ids, shards[2];
    flake_why why, of_shards;
    uint64_t id;
    CHECK_EQ(flake_init(&ids, node, &options, &why), status);
    FAILS(flake_next(&ids, &id), FLAKE_INVALID, id);
    CHECK(flake_gen_node(&ids) == UINT64_MAX);
    CHECK_EQ(flake_init_shards(shards, 2, node, &options, &of_shards), status);
    if (says(&why, words) && says(&of_shards, words)) return;
    check_fail(__FILE__, __LINE__, words);
    printf("  but: %s; of shards: %s\n", why.text, of_shards.text);
}

static void layouts_refuse(bool with_node, flake_node node, flake_status status, const char *words) {
    flake_layout layout;
    for (size_t i = 0; layout_at(i, &layout); i++)
        if ((layout.node_bits != 0) == with_node) is_refused(&layout, node, status, words);
}

static void snos_refuse(flake_node node, flake_status status, const char *words) {
    static sno_gen snos, shards[2];
    flake_why why, of_shards;
    sno_id id;
    CHECK_EQ(sno_init(&snos, node, NULL, NULL, &why), status);
    FAILS(sno_next(&snos, 1, &id), FLAKE_INVALID, id);
    CHECK(flake_gen_node(&snos.gen) == UINT64_MAX);
    CHECK_EQ(sno_init_shards(shards, 2, node, NULL, NULL, &of_shards), status);
    CHECK(says(&why, words) && says(&of_shards, words));
}

/* A gate that counts its calls. */
static flake_status refuse(void *user, int64_t until_ns) {
    (void)until_ns;
    ++*(int *)user;
    return FLAKE_LEASE_LOST;
}

/* ---- which numbers there are ---- */

/* Given alone, and claimed in a directory: a range, too, ends with it. */
TEST(the_ids_have_the_node_given) {
    flake_layout layout;
    for (size_t i = 0; layout_at(i, &layout); i++) {
        const flake_options options = {.layout = layout};
        const uint64_t last = last_node(&layout);
        const flake_node nodes[] = {flake_node_fixed(NULL, last), flake_node_fixed(NULL, 0),
                                    flake_node_any(folder, last, last)};
        static flake_gen ids;
        if (!layout.node_bits) continue;
        for (size_t k = 0; k < 3; k++) {
            CHECK_EQ(flake_init(&ids, nodes[k], &options, NULL), FLAKE_OK);
            CHECK(node_in_id(&ids) == (k == 1 ? 0 : last));
            CHECK(flake_gen_node(&ids) == (k == 1 ? 0 : last));
        }
        CHECK_EQ(flake_close(&ids, NULL), FLAKE_OK);
        end_folder(), begin_folder(); /* layouts have the same last numbers */
    }
}

/* Also the last one of a range, whose earlier numbers would do. */
TEST(a_number_above_the_layouts_last_is_refused) {
    int asked = 0;
    const flake_gate gate = {.admit = refuse, .user = &asked};
    static flake_gen ids;
    flake_layout layout;
    flake_why why;
    for (size_t i = 0; layout_at(i, &layout); i++) {
        const uint64_t last = last_node(&layout);
        char words[100];
        if (!layout.node_bits) continue;
        (void)snprintf(words, sizeof words, "node: %" PRIu64 " is above %" PRIu64 ",", last + 1, last);
        is_refused(&layout, flake_node_fixed(NULL, last + 1), FLAKE_NODE_RANGE, words);
        is_refused(&layout, flake_node_fixed(folder, last + 1), FLAKE_NODE_RANGE, words);
        is_refused(&layout, flake_node_any(folder, 0, last + 1), FLAKE_NODE_RANGE, words);
        is_refused(&layout, flake_node_gated(&gate, last + 1), FLAKE_NODE_RANGE, words);
    }
    CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 1024), NULL, &why), FLAKE_NODE_RANGE);
    CHECK(!says(&why, "failed?")); /* a number that a call may have given */
    CHECK_EQ(asked, 0);
    CHECK_EQ(rmdir(folder), 0); /* nothing is in it */
}

/* The number of a failed call, also as a part of another one: UINT64_MAX + 256 would be 255, and 2^63 times 16 would
 * be 0. */
TEST(a_failed_call_gives_a_number_that_every_init_refuses) {
    static const uint64_t beside[] = {0, 1, 31, 255, 256, 1023, 65535, 65536, UINT32_MAX, UINT64_C(1) << 32};
    enum { besides = sizeof beside / sizeof *beside };
    uint64_t spoilt[2 * besides + 3 * 64];
    size_t n = 0;
    for (size_t i = 0; i < besides; i++) {
        spoilt[n++] = no_number + beside[i];
        spoilt[n++] = no_number - beside[i];
    }
    for (unsigned bits = 1; bits < 64; bits++) {
        spoilt[n++] = no_number << bits;
        spoilt[n++] = no_number << bits | (UINT64_MAX >> (64 - bits));
    }
    spoilt[n++] = no_number + ((UINT64_C(1) << 48) - 1);
    spoilt[n++] = no_number * 3;
    spoilt[n++] = no_number * 1000;
    for (size_t i = 0; i < n; i++) {
        const flake_node node = flake_node_fixed(i % 2 ? folder : NULL, spoilt[i]);
        char words[100];
        (void)snprintf(words, sizeof words, "node: %" PRIu64 " is above ", spoilt[i]);
        layouts_refuse(true, node, FLAKE_NODE_RANGE, words);
        layouts_refuse(true, node, FLAKE_NODE_RANGE, "has a call of flake_node_from_... failed?");
        snos_refuse(node, FLAKE_NODE_RANGE, words);
        snos_refuse(node, FLAKE_NODE_RANGE, "has a call of flake_node_from_... failed?");
    }
}

/* ---- which form of node ---- */

TEST(a_layout_with_a_node_needs_one) {
    layouts_refuse(true, flake_node_none(), FLAKE_INVALID,
                   "node: is missing, and this layout needs one: flake_node_fixed(NULL, 7)");
}

TEST(a_layout_without_a_node_takes_none) {
    const flake_gate open = {.admit = NULL};
    const flake_node nodes[] = {flake_node_fixed(NULL, 0), flake_node_gated(&open, 0), flake_node_fixed(folder, 0),
                                flake_node_any(folder, 0, 0)};
    flake_layout layout;
    for (size_t k = 0; k < 4; k++)
        layouts_refuse(false, nodes[k], FLAKE_INVALID, "node: the layout has none: pass flake_node_none()");
    for (size_t i = 0; layout_at(i, &layout); i++) {
        const flake_options options = {.layout = layout};
        static flake_gen ids;
        if (layout.node_bits) continue;
        CHECK_EQ(flake_init(&ids, flake_node_none(), &options, NULL), FLAKE_OK);
        (void)node_in_id(&ids);
        CHECK(flake_gen_node(&ids) == UINT64_MAX);
    }
    CHECK_EQ(rmdir(folder), 0);
}

TEST(a_node_that_no_call_has_made_is_refused) {
    flake_node zeroed, ones;
    memset(&zeroed, 0, sizeof zeroed);
    memset(&ones, 0xff, sizeof ones);
    for (int with_node = 0; with_node < 2; with_node++) {
        layouts_refuse(with_node, zeroed, FLAKE_INVALID, "node: was not made by flake_node_fixed");
        layouts_refuse(with_node, ones, FLAKE_INVALID, "node: was not made by flake_node_fixed");
        for (flake_node node = zeroed; node.kind < 1024; node.kind++) /* a number in its place */
            if (node.kind) layouts_refuse(with_node, node, FLAKE_INVALID, "node: ");
    }
    snos_refuse(zeroed, FLAKE_INVALID, "node: was not made by flake_node_fixed");
}

/* Refused before a directory is made. */
TEST(a_node_that_lacks_its_gate_or_directory_or_begins_above_its_last_number_is_refused) {
    static flake_atomic64 word;
    const flake_gate empty = {.admit = NULL}, fence_alone = {.admit = NULL, .fence = &word};
    const struct {
        flake_node node;
        const char *words;
    } rows[] = {{flake_node_fixed("", 7), "node: the directory has no name: \".\" is this one"},
                {flake_node_any("", 0, 9), "node: the directory has no name: \".\" is this one"},
                {flake_node_any(NULL, 0, 9), "node: flake_node_any needs a directory"},
                {flake_node_any(NULL, 7, 7), "node: flake_node_any needs a directory"},
                {flake_node_any(folder, 10, 9), "node: the range's first number is above its last"},
                {flake_node_gated(NULL, 7), "node: flake_node_gated needs a gate"},
                {flake_node_gated(&empty, 7), "node: flake_node_gated needs a gate"},
                {flake_node_gated(&fence_alone, 7), "node: flake_node_gated needs a gate"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        layouts_refuse(true, rows[i].node, FLAKE_INVALID, rows[i].words);
        snos_refuse(rows[i].node, FLAKE_INVALID, rows[i].words);
    }
}

TEST(the_node_of_another_service_carries_its_gate) {
    static flake_gen ids;
    int asked = 0;
    flake_gate gate = {.admit = refuse, .user = &asked};
    const flake_node node = flake_node_gated(&gate, 1023);
    uint64_t id;
    memset(&gate, 0, sizeof gate); /* it was copied */
    CHECK_EQ(flake_init(&ids, node, NULL, NULL), FLAKE_OK);
    CHECK(flake_gen_node(&ids) == 1023);
    CHECK_EQ(asked, 0);
    FAILS(flake_next(&ids, &id), FLAKE_LEASE_LOST, id);
    CHECK(asked > 0);
    CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 7), NULL, NULL), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK); /* no gate of an earlier init */
}

/* ---- after a fork: generators are inherited ones after flake_machine_cloned, too ---- */

static const char overlaps[] = "node: is the parent's, or that of before the clone, and the sequence ranges overlap";

TEST(reinit_takes_another_node) {
    const flake_node zeroed = {.kind = 0};
    const flake_options options = {.layout = flake_layout_twitter},
                        wrong_ahead = {.layout = flake_layout_twitter, .max_ahead_ms = -1};
    const struct {
        flake_node node;
        flake_status status;
        const char *words;
    } wrong[] = {{flake_node_fixed(NULL, 7), FLAKE_NODE_OVERLAP, overlaps},
                 {flake_node_none(), FLAKE_INVALID, "node: is missing, and this layout needs one"},
                 {zeroed, FLAKE_INVALID, "node: "},
                 {flake_node_fixed("", 8), FLAKE_INVALID, "node: "},
                 {flake_node_any(NULL, 8, 9), FLAKE_INVALID, "node: "},
                 {flake_node_any("/tmp", 9, 8), FLAKE_INVALID, "node: "},
                 {flake_node_fixed(NULL, 1024), FLAKE_NODE_RANGE, "node: "}};
    static flake_gen ids;
    flake_why why;
    uint64_t id;
    CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 7), &options, &why), FLAKE_OK);
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed(NULL, 8), &options, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "generator: was not inherited through fork");
    flake_machine_cloned();
    FAILS(flake_next(&ids, &id), FLAKE_FORKED, id);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQ(flake_reinit_after_fork(&ids, wrong[i].node, &options, &why), wrong[i].status);
        CHECK(says(&why, wrong[i].words));
        CHECK(flake_gen_node(&ids) == 7); /* a refused call changes nothing */
        FAILS(flake_next(&ids, &id), FLAKE_FORKED, id);
    }
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed(NULL, 8), &wrong_ahead, &why), FLAKE_INVALID);
    CHECK(says(&why, "max_ahead_ms")); /* found last, by the engine */
    FAILS(flake_next(&ids, &id), FLAKE_FORKED, id);
    CHECK(flake_gen_options(&ids) != NULL);
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed(NULL, 8), &options, &why), FLAKE_OK);
    CHECK(flake_gen_node(&ids) == 8);
    CHECK(node_in_id(&ids) == 8);
}

/* The parent has 100 to 199; the bounds of a pool may be in either order. */
TEST(reinit_takes_the_node_of_the_parent_with_other_sequence_numbers) {
    static const struct {
        uint16_t min, max;
        flake_status status;
    } rows[] = {{100, 199, FLAKE_NODE_OVERLAP}, {50, 100, FLAKE_NODE_OVERLAP},  {199, 250, FLAKE_NODE_OVERLAP},
                {120, 130, FLAKE_NODE_OVERLAP}, {50, 250, FLAKE_NODE_OVERLAP},  {0, 0, FLAKE_NODE_OVERLAP},
                {50, 99, FLAKE_OK},             {200, 203, FLAKE_OK}};
    const flake_node seven = flake_node_fixed(NULL, 7);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static flake_gen ids;
        static sno_gen snos;
        const flake_options parents = {.layout = flake_layout_twitter, .seq_min = 100, .seq_max = 199};
        const flake_options o = {.layout = flake_layout_twitter, .seq_min = rows[i].min, .seq_max = rows[i].max};
        const sno_snapshot parents_pool = {.partition = 7, .sequence_min = 100, .sequence_max = 199};
        const sno_snapshot pool = {.partition = 7, .sequence_min = rows[i].min, .sequence_max = rows[i].max},
                           reversed = {.partition = 7, .sequence_min = rows[i].max, .sequence_max = rows[i].min};
        CHECK_EQ(flake_init(&ids, seven, &parents, NULL), FLAKE_OK);
        CHECK_EQ(sno_init(&snos, seven, &parents_pool, NULL, NULL), FLAKE_OK);
        flake_machine_cloned();
        CHECK_EQ(flake_reinit_after_fork(&ids, seven, &o, NULL), rows[i].status);
        CHECK_EQ(sno_reinit_after_fork(&snos, seven, i % 2 ? &reversed : &pool, NULL, NULL), rows[i].status);
        if (rows[i].status == FLAKE_OK) CHECK_EQ(flake_next(&ids, &(uint64_t){0}), FLAKE_OK);
        if (rows[i].status == FLAKE_OK) CHECK_EQ(sno_sequence(next_sno(&snos, 1)), rows[i].min);
    }
}

TEST(reinit_takes_the_node_of_the_parent_with_another_layout) {
    const flake_options parents = {.layout = flake_layout_twitter};
    flake_options same_ids = parents, other_epoch = parents;
    static flake_gen ids;
    same_ids.layout.time_sign = !parents.layout.time_sign; /* no generator sets that bit */
    other_epoch.layout.epoch_ms--;
    CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 7), &parents, NULL), FLAKE_OK);
    flake_machine_cloned();
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed(NULL, 7), &same_ids, NULL), FLAKE_NODE_OVERLAP);
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed(NULL, 7), &other_epoch, NULL), FLAKE_OK);
}

TEST(reinit_of_snos_takes_another_partition) {
    const flake_node zeroed = {.kind = 0}, none = flake_node_none(), same = flake_node_fixed(NULL, 0);
    const sno_snapshot upper = {.partition = 0, .sequence_min = 100, .sequence_max = 199};
    const flake_options refused = {.max_wait_ms = -1};
    static sno_gen snos;
    flake_why why;
    CHECK_EQ(sno_init(&snos, same, NULL, NULL, &why), FLAKE_OK);
    CHECK_EQ(sno_reinit_after_fork(&snos, none, NULL, NULL, &why), FLAKE_INVALID);
    flake_machine_cloned();
    CHECK_EQ(sno_reinit_after_fork(&snos, same, NULL, NULL, &why), FLAKE_NODE_OVERLAP);
    CHECK_EQ(sno_reinit_after_fork(&snos, same, &upper, NULL, &why), FLAKE_NODE_OVERLAP);
    CHECK(says(&why, overlaps));
    CHECK_EQ(sno_reinit_after_fork(&snos, zeroed, NULL, NULL, &why), FLAKE_INVALID);
    CHECK_EQ(sno_reinit_after_fork(&snos, flake_node_fixed(NULL, 65536), NULL, NULL, &why), FLAKE_NODE_RANGE);
    CHECK_EQ(sno_reinit_after_fork(&snos, none, NULL, &refused, &why), FLAKE_INVALID);
    CHECK_EQ(sno_gen_partition(&snos), 0); /* a refused call changes nothing */
    CHECK_EQ(sno_reinit_after_fork(&snos, none, NULL, NULL, &why), FLAKE_OK);
    CHECK(sno_gen_partition(&snos) != 0);
    flake_machine_cloned();
    CHECK_EQ(sno_reinit_after_fork(&snos, same, NULL, NULL, &why), FLAKE_OK);
    CHECK_EQ(sno_gen_partition(&snos), 0);
}

/* ---- snos: the partition is the node ---- */

TEST(snos_have_the_partition_given) {
    static sno_gen snos;
    sno_id id;
    CHECK_EQ(sno_init(&snos, flake_node_fixed(NULL, 65535), NULL, NULL, NULL), FLAKE_OK);
    CHECK_EQ(sno_next(&snos, 1, &id), FLAKE_OK);
    CHECK_EQ(sno_partition(id), 65535);
    CHECK_EQ(sno_gen_partition(&snos), 65535);
    CHECK(flake_gen_node(&snos.gen) == 65535);
    snos_refuse(flake_node_fixed(NULL, 65536), FLAKE_NODE_RANGE, "node: 65536 is above 65535, the last partition");
}

/* Alone, and in a directory. */
TEST(a_snapshot_continues_with_its_own_partition_only) {
    const flake_options at_once = {.start_this_unit = true, .no_wait = true};
    const char *const dirs[] = {NULL, folder};
    for (size_t i = 0; i < 2; i++) {
        const flake_node seven = flake_node_fixed(dirs[i], 7), eight = flake_node_fixed(dirs[i], 8);
        static sno_gen snos, shards[2];
        sno_snapshot before, after;
        flake_why why;
        sno_id id;
        CHECK_EQ(sno_init(&snos, seven, NULL, &at_once, &why), FLAKE_OK);
        CHECK_EQ(sno_next(&snos, 1, &id), FLAKE_OK);
        CHECK_EQ(sno_snapshot_take(&snos, &before), FLAKE_OK);
        CHECK_EQ(flake_close(&snos.gen, NULL), FLAKE_OK);
        before.wall_hi += 100000; /* 400 s ahead */
        CHECK_EQ(sno_init(&snos, eight, &before, &at_once, &why), FLAKE_INVALID);
        CHECK_STR(why.text, "snapshot: partition 7 is not the node, 8");
        CHECK_EQ(sno_init_shards(shards, 2, eight, &before, &at_once, &why), FLAKE_INVALID);
        CHECK_STR(why.text, "snapshot: partition 7 is not the node, 8");
        CHECK_EQ(sno_init(&snos, seven, &before, &at_once, &why), FLAKE_OK);
        CHECK_EQ(sno_snapshot_take(&snos, &after), FLAKE_OK);
        CHECK(after.wall_hi == before.wall_hi && (i == 1 || after.sequence == before.sequence));
        CHECK_EQ(flake_close(&snos.gen, NULL), FLAKE_OK);
    }
}

/* The partition is another one: chosen by the library, or claimed. */
TEST(without_a_node_or_with_a_range_a_snapshot_is_a_pool) {
    const flake_options at_once = {.start_this_unit = true, .no_wait = true};
    const sno_snapshot position = {
        .partition = 7,
        .sequence_min = 100,
        .sequence_max = 199,
        .sequence = 50,               /* not of this pool */
        .wall_hi = INT64_C(1) << 38, /* in 2044: a generator that continues would wait until then */
        .wall_safe = -1};
    const flake_node nodes[] = {flake_node_none(), flake_node_any(folder, 7, 9)};
    for (size_t i = 0; i < 2; i++) {
        static sno_gen snos, second, shards[2];
        sno_snapshot taken, small_pool = position;
        flake_why why;
        sno_id id;
        CHECK_EQ(sno_init(&snos, nodes[i], &position, &at_once, &why), FLAKE_OK);
        CHECK_EQ(sno_next(&snos, 1, &id), FLAKE_OK);
        CHECK(sno_sequence(id) == 100 && sno_tick(id) == 0 && sno_cap(&snos) == 100);
        const uint16_t first = sno_gen_partition(&snos);
        if (i == 1) CHECK(first == 7 && sno_partition(id) == 7);
        CHECK_EQ(sno_init(&second, nodes[i], &position, &at_once, &why), FLAKE_OK);
        CHECK(sno_gen_partition(&second) != first && (i == 0 || sno_gen_partition(&second) == 8)); /* never twice */
        CHECK_EQ(sno_init_shards(shards, 2, nodes[i], &position, &at_once, &why), FLAKE_OK);
        CHECK_EQ(sno_snapshot_take(&shards[1], &taken), FLAKE_OK);
        CHECK(taken.sequence_min == 150 && taken.sequence_max == 199 && taken.wall_hi < position.wall_hi);
        CHECK(i == 0 ? taken.wall_hi == 0 : taken.partition == 9);
        CHECK_EQ(flake_close(&snos.gen, NULL), FLAKE_OK);
        CHECK_EQ(flake_close(&second.gen, NULL), FLAKE_OK);
        CHECK_EQ(flake_close(&shards[0].gen, NULL), FLAKE_OK);
        small_pool.sequence_max = 102;
        CHECK_EQ(sno_init(&snos, nodes[i], &small_pool, &at_once, &why), FLAKE_INVALID);
        CHECK(says(&why, "fewer than 4 numbers"));
    }
}

int main(int argc, char **argv) {
    check_before = begin_folder;
    check_after = end_folder;
    return check_main(argc, argv);
}
