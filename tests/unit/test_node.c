/* SPDX-License-Identifier: MIT
 *
 * The node: which number each init accepts from a flake_node, what it refuses, and the sentence that it says then.
 * Where numbers come from, and that a failed call's number is refused everywhere.
 */
#define _GNU_SOURCE
#include "check.h"
#include "temporary_dir.h"
#include "flake.h"
#include "sno.h"

static const uint64_t no_number = UINT64_C(0xBFFFFFFFBFFFBFFF);

static bool says(const flake_why *why, const char *words) { return strstr(why->text, words) != NULL; }

/* Every known layout, and one without a node, of 64 bits, as i counts up. */
static bool layout_at(size_t i, flake_layout *layout) {
    if (i == 0) return *layout = flake_layout_of(42, 0, 22, 0), true;
    return flake_layout_at(i - 1, layout) == FLAKE_OK;
}

static bool is_128(const flake_layout *layout) { return layout->format != 0; }

/* The node in the next ID. */
static uint64_t node_in_id(flake_gen *g, const flake_layout *layout) {
    flake_parts parts = {0, 0, 0};
    flake128 wide;
    uint64_t id;
    if (is_128(layout)) {
        CHECK_EQ(flake128_next(g, &wide), FLAKE_OK);
        CHECK_EQ(flake128_decompose(layout, &wide, &parts), FLAKE_OK);
    } else {
        CHECK_EQ(flake_next(g, &id), FLAKE_OK);
        CHECK_EQ(flake_decompose(layout, id, &parts), FLAKE_OK);
    }
    return parts.node;
}

/* ---- flake_init ---- */

TEST(the_ids_have_the_node_given) {
    flake_layout layout;
    for (size_t i = 0; layout_at(i, &layout); i++) {
        const uint64_t last = layout.node_bits ? UINT64_MAX >> (64 - layout.node_bits) : 0;
        flake_options options = {.layout = layout};
        static flake_gen ids;
        flake_why why;
        if (!layout.node_bits) continue;
        CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, last), &options, &why), FLAKE_OK);
        CHECK(node_in_id(&ids, &layout) == last);
        CHECK(flake_gen_node(&ids) == last);
        CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 0), &options, &why), FLAKE_OK);
        CHECK(node_in_id(&ids, &layout) == 0);
        CHECK(flake_gen_node(&ids) == 0);
    }
}

TEST(a_number_above_the_layouts_last_is_refused) {
    flake_layout layout;
    for (size_t i = 0; layout_at(i, &layout); i++) {
        const uint64_t last = layout.node_bits ? UINT64_MAX >> (64 - layout.node_bits) : 0;
        flake_options options = {.layout = layout};
        static flake_gen ids;
        char words[100];
        flake_why why;
        uint64_t id;
        if (!layout.node_bits) continue;
        CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 1), &options, &why), FLAKE_OK);
        CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, last + 1), &options, &why), FLAKE_NODE_RANGE);
        (void)snprintf(words, sizeof words, "node: %" PRIu64 " is above %" PRIu64 ",", last + 1, last);
        CHECK(says(&why, words));
        FAILS(flake_next(&ids, &id), FLAKE_INVALID, id);
        CHECK_EQ(flake_init_shards(&ids, 1, flake_node_fixed(NULL, last + 1), &options, &why),
                 FLAKE_NODE_RANGE);
        CHECK(says(&why, words));
    }
}

TEST(a_layout_with_a_node_needs_one) {
    flake_layout layout;
    for (size_t i = 0; layout_at(i, &layout); i++) {
        flake_options options = {.layout = layout};
        static flake_gen ids;
        flake_why why;
        uint64_t id;
        if (!layout.node_bits) continue;
        CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 1), &options, &why), FLAKE_OK);
        CHECK_EQ(flake_init(&ids, flake_node_none(), &options, &why), FLAKE_INVALID);
        CHECK(says(&why, "node: is missing, and this layout needs one: flake_node_fixed(NULL, 7)"));
        FAILS(flake_next(&ids, &id), FLAKE_INVALID, id);
        CHECK_EQ(flake_init_shards(&ids, 1, flake_node_none(), &options, &why), FLAKE_INVALID);
        CHECK(says(&why, "node: is missing, and this layout needs one: flake_node_fixed(NULL, 7)"));
    }
}

TEST(a_layout_without_a_node_takes_none) {
    const flake_gate open = {.admit = NULL};
    flake_layout layout;
    for (size_t i = 0; layout_at(i, &layout); i++) {
        flake_options options = {.layout = layout};
        static flake_gen ids;
        flake_why why;
        if (layout.node_bits) continue;
        CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 0), &options, &why), FLAKE_INVALID);
        CHECK(says(&why, "node: the layout has none"));
        CHECK_EQ(flake_init(&ids, flake_node_gated(&open, 0), &options, &why), FLAKE_INVALID);
        CHECK(says(&why, "node: the layout has none"));
        CHECK(flake_gen_node(&ids) == UINT64_MAX);
        CHECK_EQ(flake_init(&ids, flake_node_none(), &options, &why), FLAKE_OK);
        (void)node_in_id(&ids, &layout);
        CHECK(flake_gen_node(&ids) == UINT64_MAX);
    }
}

TEST(a_node_that_no_call_has_made_is_refused) {
    flake_layout layout;
    for (size_t i = 0; layout_at(i, &layout); i++) {
        flake_options options = {.layout = layout};
        flake_node zeroed, ones;
        static flake_gen ids[2];
        flake_why why;
        memset(&zeroed, 0, sizeof zeroed);
        memset(&ones, 0xff, sizeof ones);
        CHECK_EQ(flake_init(&ids[0], zeroed, &options, &why), FLAKE_INVALID);
        CHECK(says(&why, "node: was not made by flake_node_fixed"));
        CHECK_EQ(flake_init(&ids[0], ones, &options, &why), FLAKE_INVALID);
        CHECK(says(&why, "node: was not made by flake_node_fixed"));
        CHECK_EQ(flake_init_shards(ids, 2, zeroed, &options, &why), FLAKE_INVALID);
        CHECK(says(&why, "node: was not made by flake_node_fixed"));
        for (zeroed.kind = 1; zeroed.kind < 1024; zeroed.kind++) /* a number in its place */
            CHECK_EQ(flake_init(&ids[0], zeroed, &options, &why), FLAKE_INVALID);
    }
}

/* Refused before the directory is made. */
TEST(a_directory_needs_a_name) {
    static flake_gen ids, shards[2];
    static sno_gen snos;
    flake_why why;
    CHECK_EQ(flake_init(&ids, flake_node_fixed("", 7), NULL, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "node: the directory has no name: \".\" is this one");
    CHECK_EQ(flake_init(&ids, flake_node_any("", 0, 9), NULL, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "node: the directory has no name: \".\" is this one");
    CHECK_EQ(flake_init_shards(shards, 2, flake_node_fixed("", 7), NULL, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "node: the directory has no name: \".\" is this one");
    CHECK_EQ(sno_init(&snos, flake_node_fixed("", 7), NULL, NULL, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "node: the directory has no name: \".\" is this one");
}

TEST(a_range_needs_a_directory) {
    static flake_gen ids, shards[2];
    static sno_gen snos;
    flake_why why;
    CHECK_EQ(flake_init(&ids, flake_node_any(NULL, 0, 9), NULL, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "node: flake_node_any needs a directory");
    CHECK_EQ(flake_init_shards(shards, 2, flake_node_any(NULL, 7, 7), NULL, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "node: flake_node_any needs a directory");
    CHECK_EQ(sno_init(&snos, flake_node_any(NULL, 0, 9), NULL, NULL, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "node: flake_node_any needs a directory");
}

TEST(a_range_begins_with_its_lowest_number) {
    static flake_gen ids;
    static sno_gen snos;
    flake_why why;
    begin_folder();
    CHECK_EQ(flake_init(&ids, flake_node_any(folder, 10, 9), NULL, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "node: the range's first number is above its last");
    CHECK_EQ(sno_init(&snos, flake_node_any(folder, 1, 0), NULL, NULL, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "node: the range's first number is above its last");
    CHECK_EQ(flake_init(&ids, flake_node_any(folder, 9, 10), NULL, &why), FLAKE_OK);
    CHECK(flake_gen_node(&ids) == 9 && node_in_id(&ids, &flake_layout_default) == 9);
    CHECK_EQ(sno_init(&snos, flake_node_any(folder, 9, 10), NULL, NULL, &why), FLAKE_OK);
    CHECK_EQ(sno_gen_partition(&snos), 10);
    CHECK_EQ(flake_close(&ids, NULL), FLAKE_OK);
    CHECK_EQ(flake_close(&snos.gen, NULL), FLAKE_OK);
    end_folder();
}

/* Also of a range, whose earlier numbers would do. */
TEST(the_last_number_of_a_directory_is_the_layouts_or_below) {
    flake_layout layout;
    begin_folder();
    for (size_t i = 0; layout_at(i, &layout); i++) {
        const uint64_t last = layout.node_bits ? UINT64_MAX >> (64 - layout.node_bits) : 0;
        const uint64_t beyond[] = {last + 1, UINT64_C(1) << 48, no_number, UINT64_MAX};
        flake_options options = {.layout = layout};
        static flake_gen ids;
        char words[100];
        flake_why why;
        if (!layout.node_bits) continue;
        for (size_t k = 0; k < 4; k++) {
            (void)snprintf(words, sizeof words, "node: %" PRIu64 " is above %" PRIu64 ",", beyond[k],
                           last);
            CHECK_EQ(flake_init(&ids, flake_node_fixed(folder, beyond[k]), &options, &why),
                     FLAKE_NODE_RANGE);
            CHECK(says(&why, words));
            CHECK_EQ(flake_init(&ids, flake_node_any(folder, 0, beyond[k]), &options, &why),
                     FLAKE_NODE_RANGE);
            CHECK(says(&why, words));
            CHECK(says(&why, "has a call of flake_node_from_... failed?") == (beyond[k] >> 48 != 0));
        }
        CHECK_EQ(flake_init(&ids, flake_node_any(folder, last, last), &options, &why), FLAKE_OK);
        CHECK(flake_gen_node(&ids) == last && node_in_id(&ids, &layout) == last);
        CHECK_EQ(flake_close(&ids, NULL), FLAKE_OK);
        end_folder();
        begin_folder(); /* layouts have the same last numbers */
    }
    end_folder();
}

TEST(a_layout_without_a_node_takes_no_directory) {
    flake_layout layout;
    begin_folder();
    for (size_t i = 0; layout_at(i, &layout); i++) {
        flake_options options = {.layout = layout};
        static flake_gen ids;
        flake_why why;
        if (layout.node_bits) continue;
        CHECK_EQ(flake_init(&ids, flake_node_fixed(folder, 0), &options, &why), FLAKE_INVALID);
        CHECK_STR(why.text, "node: the layout has none: pass flake_node_none()");
        CHECK_EQ(flake_init(&ids, flake_node_any(folder, 0, 0), &options, &why), FLAKE_INVALID);
        CHECK_STR(why.text, "node: the layout has none: pass flake_node_none()");
    }
    CHECK_EQ(rmdir(folder), 0); /* nothing is in it */
}

/* The options' directory is copied: its name may change after init. */
TEST(the_name_of_a_directory_is_copied) {
    static flake_gen ids;
    static flake_gen other;
    char name[sizeof folder];
    flake_why why;
    begin_folder();
    memcpy(name, folder, sizeof name);
    CHECK_EQ(flake_init(&ids, flake_node_fixed(name, 7), NULL, &why), FLAKE_OK);
    memset(name, 0, sizeof name);
    CHECK_EQ(flake_extend(&ids, &why), FLAKE_OK);
    CHECK_EQ(flake_init(&other, flake_node_fixed(folder, 7), NULL, &why), FLAKE_IN_USE);
    CHECK_EQ(flake_close(&ids, &why), FLAKE_OK);
    CHECK_EQ(flake_init(&other, flake_node_fixed(folder, 7), NULL, &why), FLAKE_OK);
    CHECK_EQ(flake_close(&other, &why), FLAKE_OK);
    end_folder();
}

TEST(a_shared_range_is_of_one_node) {
    flake_options options = {.layout = flake_layout_twitter};
    static flake_gen shards[3];
    flake_why why;
    CHECK_EQ(flake_init_shards(shards, 3, flake_node_fixed(NULL, 7), &options, &why), FLAKE_OK);
    for (size_t i = 0; i < 3; i++) {
        CHECK(flake_gen_node(&shards[i]) == 7);
        CHECK(node_in_id(&shards[i], &flake_layout_twitter) == 7);
    }
}

TEST(a_generator_that_is_not_initialised_has_no_node) {
    static flake_gen ids, copy;
    flake_why why;
    CHECK(flake_gen_node(&ids) == UINT64_MAX);
    CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 7), NULL, &why), FLAKE_OK);
    CHECK(flake_gen_node(&ids) == 7);
    memcpy((void *)&copy, (const void *)&ids, sizeof copy);
    CHECK(flake_gen_node(&copy) == UINT64_MAX);
    CHECK_EQ(flake_init(&ids, flake_node_none(), NULL, &why), FLAKE_INVALID);
    CHECK(flake_gen_node(&ids) == UINT64_MAX);
}

/* ---- gates ---- */

static flake_status refuse(void *user, int64_t until_ns) {
    (void)until_ns;
    ++*(int *)user;
    return FLAKE_LEASE_LOST;
}

TEST(the_node_of_another_service_carries_its_gate) {
    static flake_gen ids;
    flake_options options = {.layout = flake_layout_twitter};
    int asked = 0;
    flake_gate gate = {.admit = refuse, .user = &asked};
    const flake_node node = flake_node_gated(&gate, 7);
    flake_why why;
    uint64_t id;
    memset(&gate, 0, sizeof gate); /* it was copied */
    CHECK_EQ(flake_init(&ids, node, &options, &why), FLAKE_OK);
    CHECK(flake_gen_node(&ids) == 7);
    FAILS(flake_next(&ids, &id), FLAKE_LEASE_LOST, id);
    CHECK(asked > 0);
    CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 7), &options, &why), FLAKE_OK);
    CHECK_EQ(flake_next(&ids, &id), FLAKE_OK); /* no gate of an earlier init */
}

TEST(a_gated_node_without_a_gate_is_refused) {
    static flake_gen ids;
    static sno_gen snos;
    const flake_gate empty = {.admit = NULL};
    flake_why why;
    CHECK_EQ(flake_init(&ids, flake_node_gated(NULL, 7), NULL, &why), FLAKE_INVALID);
    CHECK(says(&why, "node: flake_node_gated needs a gate"));
    CHECK_EQ(flake_init(&ids, flake_node_gated(&empty, 7), NULL, &why), FLAKE_INVALID);
    CHECK(says(&why, "node: flake_node_gated needs a gate"));
    CHECK_EQ(sno_init(&snos, flake_node_gated(NULL, 7), NULL, NULL, &why), FLAKE_INVALID);
    CHECK(says(&why, "node: flake_node_gated needs a gate"));
}

TEST(a_gated_number_must_fit_as_well) {
    static flake_gen ids;
    int asked = 0;
    const flake_gate gate = {.admit = refuse, .user = &asked};
    flake_why why;
    CHECK_EQ(flake_init(&ids, flake_node_gated(&gate, 1023), NULL, &why), FLAKE_OK);
    CHECK_EQ(flake_init(&ids, flake_node_gated(&gate, 1024), NULL, &why), FLAKE_NODE_RANGE);
    CHECK(says(&why, "node: 1024 is above 1023,"));
    CHECK_EQ(asked, 0);
}

/* ---- after a fork ---- */

TEST(reinit_takes_another_node) {
    const flake_node zeroed = {.kind = 0};
    flake_options options = {.layout = flake_layout_twitter};
    static flake_gen ids;
    flake_why why;
    uint64_t id;
    CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 7), &options, &why), FLAKE_OK);
    flake_machine_cloned(); /* generators are inherited ones, as after a fork */
    FAILS(flake_next(&ids, &id), FLAKE_FORKED, id);
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed(NULL, 7), &options, &why), FLAKE_NODE_OVERLAP);
    CHECK(says(&why, "node: is the parent's, or that of before the clone, and the sequence ranges overlap"));
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_none(), &options, &why), FLAKE_INVALID);
    CHECK(says(&why, "node: is missing, and this layout needs one: flake_node_fixed(NULL, 7)"));
    CHECK_EQ(flake_reinit_after_fork(&ids, zeroed, &options, &why), FLAKE_INVALID);
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed("", 8), &options, &why), FLAKE_INVALID);
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_any(NULL, 8, 9), &options, &why), FLAKE_INVALID);
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_any("/tmp", 9, 8), &options, &why), FLAKE_INVALID);
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed(NULL, 1024), &options, &why), FLAKE_NODE_RANGE);
    CHECK(flake_gen_node(&ids) == 7); /* a refused call changes nothing */
    FAILS(flake_next(&ids, &id), FLAKE_FORKED, id);
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed(NULL, 8), &options, &why), FLAKE_OK);
    CHECK(flake_gen_node(&ids) == 8);
    CHECK(node_in_id(&ids, &flake_layout_twitter) == 8);
}

TEST(reinit_takes_the_node_of_the_parent_with_other_sequence_numbers) {
    flake_options lower = {.layout = flake_layout_twitter, .seq_max = 99};
    flake_options upper = {.layout = flake_layout_twitter, .seq_min = 100, .seq_max = 199};
    static flake_gen ids;
    flake_why why;
    CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 7), &lower, &why), FLAKE_OK);
    flake_machine_cloned();
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed(NULL, 7), &lower, &why), FLAKE_NODE_OVERLAP);
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed(NULL, 7), &upper, &why), FLAKE_OK);
}

TEST(reinit_takes_the_node_of_the_parent_with_another_layout) {
    flake_options first = {.layout = flake_layout_twitter}, same = first, other = first;
    same.layout.time_sign = !first.layout.time_sign; /* no generator sets that bit */
    other.layout.epoch_ms--;
    static flake_gen ids;
    flake_why why;
    CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, 7), &first, &why), FLAKE_OK);
    flake_machine_cloned();
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed(NULL, 7), &same, &why), FLAKE_NODE_OVERLAP);
    CHECK_EQ(flake_reinit_after_fork(&ids, flake_node_fixed(NULL, 7), &other, &why), FLAKE_OK);
}

TEST(reinit_of_snos_takes_another_partition) {
    const flake_node zeroed = {.kind = 0};
    sno_snapshot upper = {.partition = 0, .sequence_min = 100, .sequence_max = 199};
    static sno_gen snos;
    flake_why why;
    CHECK_EQ(sno_init(&snos, flake_node_fixed(NULL, 0), NULL, NULL, &why), FLAKE_OK);
    flake_machine_cloned();
    CHECK_EQ(sno_reinit_after_fork(&snos, flake_node_fixed(NULL, 0), NULL, NULL, &why), FLAKE_NODE_OVERLAP);
    CHECK_EQ(sno_reinit_after_fork(&snos, flake_node_fixed(NULL, 0), &upper, NULL, &why), FLAKE_NODE_OVERLAP);
    CHECK(says(&why, "node: is the parent's, or that of before the clone, and the sequence ranges overlap"));
    CHECK_EQ(sno_reinit_after_fork(&snos, zeroed, NULL, NULL, &why), FLAKE_INVALID);
    CHECK_EQ(sno_reinit_after_fork(&snos, flake_node_fixed(NULL, 65536), NULL, NULL, &why), FLAKE_NODE_RANGE);
    const flake_options refused = {.max_wait_ms = -1};
    CHECK_EQ(sno_reinit_after_fork(&snos, flake_node_none(), NULL, &refused, &why), FLAKE_INVALID);
    CHECK_EQ(sno_gen_partition(&snos), 0); /* a refused call changes nothing */
    CHECK_EQ(sno_reinit_after_fork(&snos, flake_node_none(), NULL, NULL, &why), FLAKE_OK);
    CHECK(sno_gen_partition(&snos) != 0);
    flake_machine_cloned();
    CHECK_EQ(sno_reinit_after_fork(&snos, flake_node_fixed(NULL, 0), NULL, NULL, &why), FLAKE_OK);
    CHECK_EQ(sno_gen_partition(&snos), 0);
}

/* ---- snos: the partition is the node ---- */

TEST(snos_have_the_partition_given) {
    static sno_gen snos;
    flake_why why;
    sno_id id;
    CHECK_EQ(sno_init(&snos, flake_node_fixed(NULL, 65535), NULL, NULL, &why), FLAKE_OK);
    CHECK_EQ(sno_next(&snos, 1, &id), FLAKE_OK);
    CHECK_EQ(sno_partition(id), 65535);
    CHECK_EQ(sno_gen_partition(&snos), 65535);
    CHECK(flake_gen_node(&snos.gen) == 65535);
    CHECK_EQ(sno_init(&snos, flake_node_fixed(NULL, 65536), NULL, NULL, &why), FLAKE_NODE_RANGE);
    CHECK(says(&why, "node: 65536 is above 65535, the last partition"));
    FAILS(sno_next(&snos, 1, &id), FLAKE_INVALID, id);
    CHECK(flake_gen_node(&snos.gen) == UINT64_MAX);
    CHECK_EQ(sno_init_shards(&snos, 1, flake_node_fixed(NULL, 65536), NULL, NULL, &why), FLAKE_NODE_RANGE);
}

TEST(a_partition_that_the_library_chooses_can_be_asked_for) {
    static sno_gen snos;
    flake_why why;
    sno_id id;
    CHECK_EQ(sno_init(&snos, flake_node_none(), NULL, NULL, &why), FLAKE_OK);
    CHECK_EQ(sno_next(&snos, 1, &id), FLAKE_OK);
    CHECK(flake_gen_node(&snos.gen) == sno_partition(id));
}

TEST(snos_refuse_a_node_that_no_call_has_made) {
    static sno_gen snos[2];
    const flake_node zeroed = {.kind = 0};
    flake_why why;
    CHECK_EQ(sno_init(&snos[0], zeroed, NULL, NULL, &why), FLAKE_INVALID);
    CHECK(says(&why, "node: was not made by flake_node_fixed"));
    CHECK_EQ(sno_init_shards(snos, 2, zeroed, NULL, NULL, &why), FLAKE_INVALID);
    CHECK(says(&why, "node: was not made by flake_node_fixed"));
}

TEST(a_snapshot_continues_with_its_own_partition_only) {
    static sno_gen snos, shards[2];
    sno_snapshot before, after;
    flake_why why;
    sno_id id;
    CHECK_EQ(sno_init(&snos, flake_node_fixed(NULL, 7), NULL, NULL, &why), FLAKE_OK);
    CHECK_EQ(sno_next(&snos, 1, &id), FLAKE_OK);
    CHECK_EQ(sno_snapshot_take(&snos, &before), FLAKE_OK);
    before.wall_hi += 100000; /* 400 s ahead */
    CHECK_EQ(sno_init(&snos, flake_node_fixed(NULL, 8), &before, NULL, &why), FLAKE_INVALID);
    CHECK(says(&why, "snapshot: partition 7 is not the node, 8"));
    CHECK_EQ(sno_init_shards(shards, 2, flake_node_fixed(NULL, 8), &before, NULL, &why), FLAKE_INVALID);
    CHECK(says(&why, "snapshot: partition 7 is not the node, 8"));
    CHECK_EQ(sno_init(&snos, flake_node_fixed(NULL, 7), &before, NULL, &why), FLAKE_OK);
    CHECK_EQ(sno_snapshot_take(&snos, &after), FLAKE_OK);
    CHECK(after.wall_hi == before.wall_hi && after.sequence == before.sequence);
}

TEST(without_a_node_a_snapshot_is_a_pool) {
    static sno_gen snos, shards[2];
    sno_snapshot position, taken;
    flake_why why;
    sno_id id;
    memset(&position, 0, sizeof position);
    position.partition = 7;
    position.sequence_min = 100;
    position.sequence_max = 199;
    position.sequence = 50;               /* not of this pool */
    position.wall_hi = INT64_C(1) << 38; /* in 2044: a generator that continues would wait until then */
    position.wall_safe = -1;
    CHECK_EQ(sno_init(&snos, flake_node_none(), &position, NULL, &why), FLAKE_OK);
    CHECK_EQ(sno_next(&snos, 1, &id), FLAKE_OK);
    CHECK_EQ(sno_sequence(id), 100);
    CHECK_EQ(sno_tick(id), 0);
    CHECK_EQ(sno_cap(&snos), 100);
    const uint16_t first = sno_gen_partition(&snos);
    CHECK_EQ(sno_init(&snos, flake_node_none(), &position, NULL, &why), FLAKE_OK);
    CHECK(sno_gen_partition(&snos) != first); /* never the snapshot's, never twice */
    CHECK_EQ(sno_init_shards(shards, 2, flake_node_none(), &position, NULL, &why), FLAKE_OK);
    CHECK_EQ(sno_snapshot_take(&shards[1], &taken), FLAKE_OK);
    CHECK(taken.sequence_min == 150 && taken.sequence_max == 199 && taken.wall_hi == 0);
    position.sequence_max = 102;
    CHECK_EQ(sno_init(&snos, flake_node_none(), &position, NULL, &why), FLAKE_INVALID);
    CHECK(says(&why, "fewer than 4 numbers"));
}

/* A claimed partition, too, is another one: the snapshot does not continue. With a fixed one it does. */
TEST(with_a_range_a_snapshot_is_a_pool) {
    const flake_options at_once = {.start_this_unit = true, .no_wait = true};
    static sno_gen snos, shards[2];
    sno_snapshot position, taken;
    flake_why why;
    sno_id id;
    begin_folder();
    memset(&position, 0, sizeof position);
    position.partition = 7;
    position.sequence_min = 100;
    position.sequence_max = 199;
    position.sequence = 50; /* not of this pool */
    position.wall_hi = INT64_C(1) << 38;
    position.wall_safe = -1;
    CHECK_EQ(sno_init(&snos, flake_node_any(folder, 7, 9), &position, &at_once, &why), FLAKE_OK);
    CHECK_EQ(sno_gen_partition(&snos), 7);
    CHECK_EQ(sno_next(&snos, 1, &id), FLAKE_OK);
    CHECK(sno_partition(id) == 7 && sno_sequence(id) == 100 && sno_tick(id) == 0);
    CHECK_EQ(sno_init_shards(shards, 2, flake_node_any(folder, 7, 9), &position, &at_once, &why),
             FLAKE_OK);
    CHECK_EQ(sno_snapshot_take(&shards[1], &taken), FLAKE_OK);
    CHECK(taken.partition == 8 && taken.sequence_min == 150 && taken.sequence_max == 199);
    CHECK(taken.wall_hi < position.wall_hi);
    CHECK_EQ(flake_close(&shards[0].gen, NULL), FLAKE_OK);
    CHECK_EQ(sno_snapshot_take(&snos, &taken), FLAKE_OK);
    CHECK_EQ(flake_close(&snos.gen, NULL), FLAKE_OK);
    taken.wall_hi += 100000; /* 400 s ahead */
    CHECK_EQ(sno_init(&snos, flake_node_fixed(folder, 8), &taken, &at_once, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "snapshot: partition 7 is not the node, 8");
    CHECK_EQ(sno_init(&snos, flake_node_fixed(folder, 7), &taken, &at_once, &why), FLAKE_OK);
    CHECK_EQ(sno_snapshot_take(&snos, &position), FLAKE_OK);
    CHECK(position.wall_hi == taken.wall_hi);
    CHECK_EQ(flake_close(&snos.gen, NULL), FLAKE_OK);
    end_folder();
}

/* ---- where numbers come from ---- */

TEST(a_failed_call_gives_a_number_that_every_init_refuses) {
    const uint64_t spoilt[] = {no_number,     no_number + 1,   no_number + 256,  no_number + 65535,
                               no_number - 1, no_number << 4,  no_number << 10,  no_number << 16,
                               no_number * 3, no_number << 32, no_number * 1000, no_number + (UINT64_C(1) << 32)};
    flake_layout layout;
    static sno_gen snos;
    flake_why why;
    for (size_t k = 0; k < sizeof spoilt / sizeof *spoilt; k++) {
        char words[100];
        (void)snprintf(words, sizeof words, "node: %" PRIu64 " is above ", spoilt[k]);
        for (size_t i = 0; layout_at(i, &layout); i++) {
            flake_options options = {.layout = layout};
            static flake_gen ids;
            if (!layout.node_bits) continue;
            CHECK_EQ(flake_init(&ids, flake_node_fixed(NULL, spoilt[k]), &options, &why), FLAKE_NODE_RANGE);
            CHECK(says(&why, words) && says(&why, "has a call of flake_node_from_... failed?"));
        }
        CHECK_EQ(sno_init(&snos, flake_node_fixed(NULL, spoilt[k]), NULL, NULL, &why), FLAKE_NODE_RANGE);
        CHECK(says(&why, words) && says(&why, "has a call of flake_node_from_... failed?"));
    }
    for (unsigned shift = 0; shift < 64; shift++) CHECK(no_number << shift >> 48 != 0);
}

TEST(each_call_that_has_no_number_gives_that_one) {
    uint64_t number = 3;
    flake_why why;
    CHECK(flake_idgen_node(32, 0) == no_number && flake_idgen_node(0, 32) == no_number);
    CHECK(flake_uniqueid_node(16, 0) == no_number && flake_uniqueid_node(0, 2048) == no_number);
    CHECK_EQ(flake_node_from_env("NO_VARIABLE_HAS_THIS_NAME", &number, &why), FLAKE_INVALID);
    CHECK(number == no_number);
    number = 3;
    CHECK_EQ(flake_node_from_env(NULL, &number, &why), FLAKE_INVALID);
    CHECK(number == no_number);
    number = 3;
    CHECK_EQ(setenv("A_NUMBER", "18446744073709551616", 1), 0);
    CHECK_EQ(flake_node_from_env("A_NUMBER", &number, &why), FLAKE_INVALID);
    CHECK(number == no_number);
    CHECK_EQ(setenv("A_NUMBER", "12", 1), 0);
    CHECK_EQ(flake_node_from_env("A_NUMBER", &number, &why), FLAKE_OK);
    CHECK(number == 12);
    CHECK(flake_node_from_mac("no such device", &number, &why) != FLAKE_OK);
    CHECK(number == no_number);
    number = 3;
    CHECK_EQ(flake_node_from_hostname("web", 0, 9, &number, &why), FLAKE_INVALID);
    CHECK(number == no_number);
    if (flake_node_from_ip(&number, &why) == FLAKE_OK) CHECK(number <= 65535);
    else CHECK(number == no_number);
}

TEST(the_ordinal_of_a_host_counts_from_the_first_number) {
    uint64_t number = 3;
    flake_why why;
    CHECK_EQ(flake_node_from_hostname("web-0", 100, 199, &number, &why), FLAKE_OK);
    CHECK(number == 100);
    CHECK_EQ(flake_node_from_hostname("web-99.web.prod.svc", 100, 199, &number, &why), FLAKE_OK);
    CHECK(number == 199);
    CHECK_EQ(flake_node_from_hostname("web-0", 5, 5, &number, &why), FLAKE_OK);
    CHECK(number == 5);
    CHECK_EQ(flake_node_from_hostname("web-7", 0, UINT64_MAX, &number, &why), FLAKE_OK);
    CHECK(number == 7);
}

TEST(an_ordinal_beyond_the_last_number_is_refused) {
    uint64_t number = 3;
    flake_why why;
    CHECK_EQ(flake_node_from_hostname("web-100", 100, 199, &number, &why), FLAKE_INVALID);
    CHECK(says(&why, "web-100: first 100 plus ordinal 100 is above last 199"));
    CHECK(number == no_number);
    number = 3;
    CHECK_EQ(flake_node_from_hostname("web-0", 6, 5, &number, &why), FLAKE_INVALID);
    CHECK(number == no_number);
    number = 3; /* a sum beyond 2^64 */
    CHECK_EQ(flake_node_from_hostname("web-18446744073709551615", 2, 100, &number, &why), FLAKE_INVALID);
    CHECK(number == no_number);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
