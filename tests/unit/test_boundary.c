/* SPDX-License-Identifier: MIT
 *
 * 128-bit IDs of boundary/flake (flake.h, >>128-bit): those of the library itself, batches of any length, and what else
 * test_random_flake.c and test_random_text.c do not check.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define _GNU_SOURCE
#include "uuid.h"

static flake_gen gen, other;
static flake128 ids[3 * 65536 + 1];

static setup usual_at(int64_t unix_ms) {
    const setup s = usual(&flake_layout_boundary);
    clock_at(unix_ms);
    return s;
}

static flake128 wide(uint64_t time, uint64_t worker, uint64_t seq) {
    flake128 id;
    flake_to_bytes(time, id.bytes);
    flake_to_bytes(worker << 16 | seq, id.bytes + 8);
    return id;
}

static bool is_same(flake128 a, flake128 b) { return memcmp(a.bytes, b.bytes, 16) == 0; }

static bool is_drawn(flake128 id, int64_t unix_ms, uint64_t seq) {
    return is_same(id, wide((uint64_t)unix_ms, a_node, seq));
}

static void check_id(flake128 id, int64_t unix_ms, uint64_t worker, uint32_t seq) {
    flake128 composed = untouched;
    flake_parts p = {0, 0, 0};
    CHECK_EQ(flake128_decompose(&flake_layout_boundary, &id, &p), FLAKE_OK);
    CHECK(p.unix_ms == unix_ms && p.node == worker && p.seq == seq);
    CHECK_EQ(flake128_compose(&flake_layout_boundary, &p, &composed), FLAKE_OK);
    CHECK(is_same(composed, id));
}

/* ---- the peer's IDs ---- */

static void boundary_row(char **field) {
    const int64_t unix_ms = (int64_t)strtoll(field[0], NULL, 10);
    const uint64_t worker = (uint64_t)strtoull(field[1], NULL, 16);
    const uint32_t seq = (uint32_t)strtoul(field[2], NULL, 10);
    flake128 id = untouched;
    hex_bytes(field[3], id.bytes, sizeof id.bytes);
    check_id(id, unix_ms, worker, seq);

    setup s = usual_at(unix_ms);
    s.node = flake_node_fixed(NULL, worker);
    open_gen(&gen, &s);
    CHECK_EQ(flake128_next_n(&gen, ids, seq + 1), FLAKE_OK);
    CHECK(is_same(ids[seq], id));
    CHECK_EQ(script_now.sleeps, 0);
}

TEST(boundarys_ids_come_out) { vectors_read("boundary.tsv", 7, boundary_row); }

TEST(the_id_on_boundarys_page_comes_out) {
    const flake128 id = {{0, 0, 1, 52, 212, 33, 45, 67, 16, 154, 221, 94, 14, 143, 0, 0}};
    check_id(id, 0x134d4212d43, 0x109add5e0e8f, 0);
    setup s = usual_at(0x134d4212d43);
    s.node = flake_node_fixed(NULL, 0x109add5e0e8f);
    open_gen(&gen, &s);
    CHECK_EQ(flake128_try(&gen, ids), FLAKE_OK);
    CHECK(is_same(ids[0], id));
}

/* ---- many at once, and the caller's own time ---- */

TEST(next_n_waits_for_as_many_ms_as_it_needs) {
    const size_t n = 3 * 65536 + 1;
    setup s = usual_at(T);
    open_gen(&gen, &s);
    CHECK_EQ(flake128_next_n(&gen, ids, n), FLAKE_OK);
    for (size_t i = 0; i < n; i++) CHECK(is_drawn(ids[i], T + (int64_t)(i / 65536), i % 65536));
    CHECK_EQ(script_now.slept_ns, 3000000);
    CHECK_EQ(flake128_next_n(&gen, ids, 0), FLAKE_OK);
    CHECK_EQ(flake128_next(&gen, ids), FLAKE_OK);
    CHECK(is_drawn(ids[0], T + 3, 1));
}

/* The batch of n of a generator with these numbers is correct ID by ID, at any alignment. */
static void check_batch(uint32_t first, uint32_t last, size_t n) {
    static uint8_t memory[16 + 1001 * sizeof(flake128)];
    flake128 *const batch = (flake128 *)(memory + (first + n) % 16);
    const uint64_t cap = last - first + 1;
    setup s = usual_at(T);
    s.options.max_ahead_ms = 100; /* all in one draw */
    s.options.seq_min = first;
    s.options.seq_max = last;
    open_gen(&gen, &s);
    batch[n] = untouched;
    CHECK_EQ(got128_n(&gen, batch, n), n);
    size_t right = 0;
    while (right < n && is_drawn(batch[right], T + (int64_t)(right / cap), first + right % cap)) right++;
    CHECK_EQ(right, n);
    CHECK(is_same(batch[n], untouched));
}

TEST(batches_of_any_length_begin_at_any_number) {
    for (uint32_t low = 0; low < 256; low++) {
        const uint32_t first = low * 251 % 255 << 8 | low;
        for (size_t n = 0; n <= 100; n++) check_batch(first, 65535, n);
        check_batch(first, 65535, 1000);
    }
    for (uint32_t n = 1; n <= 300; n++) {
        check_batch(65536 - n, 65535, n);
        check_batch(700, 699 + n, 2 * n + 1); /* and on in the next ms */
    }
}

TEST(a_successor_begins_after_the_newest_id) {
    static flake_gen never;
    setup s = usual(&flake_layout_boundary);
    s.options.seq_max = 9;
    s.options.max_ahead_ms = 5;
    CHECK_EQ(flake_newest_ms(&never), INT64_MIN);
    open_gen(&gen, &s);
    CHECK_EQ(flake_newest_ms(&gen), 1); /* nothing was drawn */
    CHECK_EQ(got128_n(&gen, ids, 31), 31);
    flake128 last = ids[30];
    s.options.after_unix_ms = flake_newest_ms(&gen);
    CHECK_EQ(s.options.after_unix_ms, T + 3);
    open_gen(&other, &s);
    CHECK(script_now.now_ns == (T + 3) * MS + 1 && script_now.sleeps == 1);
    rises(&last, drawn(&other));
    CHECK_EQ(flake_newest_ms(&other), T + 4);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
