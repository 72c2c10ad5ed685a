/* SPDX-License-Identifier: MIT
 *
 * State files byte by byte: a run continues from one built by hand, and each kind of generator
 * writes the bytes listed here. The properties by which a file or an open state is another
 * generator's. System calls that do less than requested, and the mode and descriptor of new files.
 */
#define _GNU_SOURCE
#include "scene.h"

/* Reads and writes that are cut short or interrupted. */
static struct stint {
    size_t most;             /* bytes at once; 0: all */
    bool interrupts, is_odd; /* every other call */
    bool writes_nothing;     /* a write returns 0 */
    bool fails;              /* with EIO; and interrupts: every other call */
    int calls;
} stint;

static bool stint_goes_on(void) {
    if (++stint.calls > 100000) { /* for ever */
        printf("  reads or writes without end\n");
        exit(1);
    }
    stint.is_odd = !stint.is_odd;
    errno = stint.fails ? EIO : EINTR;
    return stint.interrupts ? !stint.is_odd : !stint.fails;
}

static size_t stint_of(size_t n) { return stint.most && stint.most < n ? stint.most : n; }

#undef read
#undef write
static ssize_t stint_read(int fd, void *to, size_t n) {
    return stint_goes_on() ? read(fd, to, stint_of(n)) : -1;
}

static ssize_t stint_write(int fd, const void *from, size_t n) {
    if (stint.writes_nothing && ++stint.calls < 100000) return 0;
    return stint_goes_on() ? write(fd, from, stint_of(n)) : -1;
}
#define read(fd, to, n)    stint_read(fd, to, n)
#define write(fd, from, n) stint_write(fd, from, n)
#include "scripted_state.h"

static flake_state numbered;

static flake_status open_ids(flake_node node, flake_options o) {
    return open_with(&state, where_of("ids"), node, o);
}

/* ---- the bytes ---- */

enum { file_size = 8192, record_size = 128 };
static uint8_t image[file_size + 1], expected[file_size];

static const char header_hex[] = "696473746174650a0000000200000000";
static const char kinds_hex[][2 * 64 + 1] = {
    /* flake-idgen's layout, node 3, all its numbers */
    "662a160a0c0c00000000000000000000" /* kind; bits and shifts of time, node, sequence */
    "00000000000000000000000000000001" /* epoch, unit */
    "00000000000000030000000000000000" /* node, first number */
    "0000000000000fff0000000000000000",
    /* Sonyflake's, node 0xabcd, the numbers 16 to 31 */
    "66271810000810000000000000000000"
    "000001482e82d800000000000000000a"
    "000000000000abcd0000000000000010"
    "000000000000001f0000000000000000",
    /* wide, worker 0x001a2b3c4d5e, the numbers 5 to 65534 */
    "77301000101000000000000000000000"
    "00000000000000000000000000000001"
    "0000001a2b3c4d5e0000000000000005"
    "000000000000fffe0000000000000000",
    /* sno, partition 0x1234, the numbers 100 to 299 */
    "73000000000000000000000000000000"
    "00000000000000000000000000000000"
    "00000000000012340000000000000064"
    "000000000000012b0000000000000000",
    /* a slot, number 7 */
    "6e000000000000000000000000000000"
    "00000000000000000000000000000000"
    "00000000000000070000000000000000"
    "00000000000000000000000000000000",
    /* UUIDs of version 8, worker 0x001a2b3c4d5e, the numbers 5 to 65534: a node has all of them */
    "38301000101000000000000000000000"
    "00000066db237c000000000000000001"
    "0000001a2b3c4d5e0000000000000000"
    "000000000000ffff0000000000000000"};
enum { kinds_count = sizeof kinds_hex / sizeof *kinds_hex };

static uint64_t hash_of(const uint8_t *bytes, size_t n) {
    uint64_t hash = 14695981039346656037u;
    while (n-- > 0) hash = (hash ^ *bytes++) * 1099511628211u;
    return hash;
}

static void put_number(uint8_t *at, uint64_t number) {
    for (unsigned i = 0; i < 8; i++) at[i] = (uint8_t)(number >> (56 - 8 * i));
}

static void put_record(size_t at, uint64_t number, int64_t horizon_ns, int64_t written_ns,
                       const uint8_t run[16], const char *kind_hex) {
    uint8_t *const record = expected + at;
    put_number(record, number);
    put_number(record + 8, (uint64_t)horizon_ns);
    put_number(record + 16, (uint64_t)written_ns);
    memcpy(record + 24, run, 16);
    hex_bytes(kind_hex, record + 40, 64);
    put_number(record + 120, hash_of(record, 120));
}

static void begin_expected(void) {
    memset(expected, 0, sizeof expected);
    hex_bytes(header_hex, expected, 16);
}

static size_t read_image(const char *name) { return read_file(path_of(name), image, sizeof image); }

static flake_options kind_options(size_t kind) {
    flake_options o = options_in_scene();
    if (kind == 1) o.layout = flake_layout_sonyflake, o.seq_min = 16, o.seq_max = 31;
    if (kind == 2) o.layout = flake_layout_boundary, o.seq_min = 5, o.seq_max = 65534;
    if (kind == 5) o.layout = flake_layout_uuid8;
    return kind == 3 ? options_of_sno(scene_clock, NULL) : o;
}

/* Kind 4 claims the number. */
static flake_node kind_node(size_t kind) {
    static const uint64_t numbers[kinds_count] = {3, 0xabcd, 0x001a2b3c4d5e, 0, 0, 0x001a2b3c4d5e};
    return kind == 4 ? flake_node_none() : flake_node_fixed(NULL, numbers[kind]);
}

static const char *kind_file(size_t kind) {
    static const char *const names[kinds_count] = {"ids", "ids", "ids", "snos", "7.slot", "ids"};
    return names[kind];
}

static flake_status open_kind(flake_state *s, size_t kind) {
    const flake_options o = kind_options(kind);
    flake_state_options w = where_of(kind_file(kind));
    sno_snapshot pool = pool_of_numbers(0x1234, 100, 299);
    uint64_t number = 7;
    memset(&why, 0, sizeof why);
    if (kind == 3) return sno_state_open(s, &w, &o, &pool, &why);
    if (kind == 4) w = (flake_state_options){.dir = our_folder, .first = 7, .count = 1};
    const flake_status status = flake_state_open(s, &w, kind_node(kind), &o, &number, &why);
    CHECK_EQ(number, kind == 4 && status != FLAKE_OK ? FLAKE_I_NO_NUMBER : 7);
    return status;
}

static flake_status open_slot(void) { return open_kind(&numbered, 4); }

static bool is_as_expected(const char *name) {
    return read_image(name) == file_size && memcmp(image, expected, file_size) == 0;
}

TEST(each_kind_writes_these_bytes) {
    const int64_t start_ns = start_ms * a_ms;
    uint8_t any_run[16] = {0};
    for (size_t kind = 0; kind < kinds_count; kind++) {
        const char *const name = kind_file(kind);
        uint8_t run[16];
        begin();
        CHECK_EQ(open_kind(&state, kind), FLAKE_OK);
        CHECK_EQ(read_image(name), file_size);
        memcpy(run, image + 4608 + 24, sizeof run); /* at random */
        for (size_t i = 0; i < sizeof run; i++) any_run[i] |= run[i];
        begin_expected();
        put_record(4608, 1, start_ns + 3000 * a_ms, start_ns, run, kinds_hex[kind]);
        CHECK(is_as_expected(name));
        pass_ms(2); /* the next is the other record */
        close_it(&state);
        put_record(512, 2, start_ns + 2 * a_ms, start_ns + 2 * a_ms, run, kinds_hex[kind]);
        CHECK(is_as_expected(name));
    }
    for (size_t i = 0; i < sizeof any_run; i++) CHECK(any_run[i] != 0);
}

TEST(a_file_made_by_hand_is_gone_on_from) {
    static const uint8_t run[16] = "a run of before";
    const int64_t start_ns = start_ms * a_ms;
    for (size_t kind = 0; kind < kinds_count; kind++)
        for (size_t of = 0; of < kinds_count; of++) {
            begin();
            begin_expected();
            put_record(512, 8, start_ns - 5 * a_ms, start_ns - 9 * a_ms, run, kinds_hex[of]);
            put_record(4608, 7, start_ns - 7 * a_ms, start_ns - 9 * a_ms, run, kinds_hex[of]);
            write_file(path_of(kind_file(kind)), expected, sizeof expected);
            CHECK_EQ(open_kind(&state, kind), kind == of ? FLAKE_OK : FLAKE_MISMATCH);
            if (kind != of) {
                CHECK(is_as_expected(kind_file(kind)));
                continue;
            }
            CHECK_EQ(read_image(kind_file(kind)), file_size);
            CHECK(memcmp(image + 512, expected + 512, record_size) == 0); /* the newest remains */
            memcpy(expected + 4608 + 24, image + 4608 + 24, 16);
            put_record(4608, 9, start_ns + 3000 * a_ms, start_ns, image + 4608 + 24,
                       kinds_hex[kind]);
            CHECK(is_as_expected(kind_file(kind)));
            close_it(&state);
        }
}

/* ---- another generator's file ---- */

/* Neither the file nor the open state of the first is the second's. */
static void are_foreign(flake_node firsts, flake_options first, flake_node seconds,
                        flake_options second) {
    begin();
    CHECK_EQ(open_ids(firsts, first), FLAKE_OK);
    CHECK_EQ(start_with(&gen, seconds, second, &state), FLAKE_MISMATCH);
    CHECK_EQ(start_with(&gen, firsts, first, &state), FLAKE_OK);
    close_it(&state);
    pass_ms(10);
    CHECK_EQ(open_ids(seconds, second), FLAKE_MISMATCH);
}

static flake_status admit_all(void *user, int64_t until_ns) {
    (void)user, (void)until_ns;
    return FLAKE_OK;
}

TEST(one_field_of_a_layout_makes_it_another) {
    static const flake_gate open_gate = {.admit = admit_all};
    const flake_node five = flake_node_fixed(NULL, 5);
    flake_options base = options_in_scene();
    base.layout = flake_layout_of(40, 8, 8, 0);
    base.layout.time_shift = 20;
    base.layout.node_shift = 10;
    base.seq_max = 100; /* of which all have as many */
    for (int field = 0; field < 12; field++) {
        flake_options o = base;
        flake_layout *const l = &o.layout;
        if (field == 0) l->unit_ms = 10;
        if (field == 1) l->epoch_ms = 1;
        if (field == 2) l->time_bits = 41;
        if (field == 3) l->time_shift = 21;
        if (field == 4) l->node_bits = 7;
        if (field == 5) l->node_shift = 11;
        if (field == 6) l->seq_bits = 7;
        if (field == 7) l->seq_shift = 1;
        if (field == 8) l->time_reversed = 1;
        if (field == 9) l->gap_at = 3;
        if (field == 10) o.seq_max = 101;
        CHECK_EQ(flake_layout_check(l, NULL), FLAKE_OK);
        are_foreign(five, base, field == 11 ? flake_node_fixed(NULL, 6) : five, o);
    }
    flake_options with_gap = base, with_one = base;
    with_gap.layout.gap_at = with_one.layout.gap_at = 3;
    with_one.layout.gap_bit = 1;
    are_foreign(five, with_gap, five, with_one);

    begin(); /* a name, a sign and where the node came from do not count */
    CHECK_EQ(open_ids(five, base), FLAKE_OK);
    base.layout.name = "another";
    base.layout.time_sign = 1; /* no ID differs */
    CHECK_EQ(start_with(&gen, flake_node_gated(&open_gate, 5), base, &state), FLAKE_OK);
}

/* Wide IDs are drawn by Mastodon's layout, and worker 0 has the number of its only node. */
TEST(narrow_and_wide_are_foreign_to_each_other) {
    const flake_node none = flake_node_none(), zero = flake_node_fixed(NULL, 0);
    flake_options narrow = options_in_scene(), wide = narrow;
    narrow.layout = flake_layout_mastodon;
    wide.layout = flake_layout_boundary;
    are_foreign(none, narrow, zero, wide);
    are_foreign(zero, wide, none, narrow);
    are_foreign(zero, wide, flake_node_fixed(NULL, 1), wide);
}

TEST(a_file_of_flakes_is_no_pool) {
    const flake_options one = options_of_flake(5, 5, scene_clock, NULL); /* fewer than a pool has */
    CHECK_EQ(open_ids(flake_node_fixed(NULL, 0), one), FLAKE_OK);
    close_it(&state);
    pass_ms(10);
    const int before = descriptors();
    for (uint16_t max = 0; max < 100; max += 99) { /* any pool, or a certain one */
        sno_snapshot pool = pool_of_numbers(max, 0, max);
        CHECK_EQ(open_snos("ids", &pool), FLAKE_MISMATCH);
    }
    CHECK_EQ(descriptors(), before);
    CHECK_EQ(mkfifo(path_of("pipe"), 0666), 0); /* nor is a pipe without a writer */
    CHECK_EQ(open_snos("pipe", &(sno_snapshot){0}), FLAKE_MISMATCH);
}

/* ---- system calls that do less ---- */

static void begin_stint(void) {
    begin();
    memset(&stint, 0, sizeof stint);
}

TEST(what_is_written_and_read_in_parts_is_whole) {
    const flake_node node = flake_node_fixed(NULL, 0);
    const flake_options o = options_in_scene();
    for (size_t most = 1; most < 200; most = most * 3 + 1)
        for (int interrupts = 0; interrupts < 2; interrupts++) {
            begin_stint();
            stint.most = most;
            stint.interrupts = interrupts;
            for (int run = 0; run < 3; run++, pass_ms(5)) {
                stint.calls = 0;
                CHECK_EQ(open_ids(node, o), FLAKE_OK);
                CHECK(stint.calls > 8192 / 200);
                CHECK_EQ(start_with(&gen, node, o, &state), FLAKE_OK);
                for (int i = 0; i < 3; i++, pass_ms(2900)) CHECK_EQ(draw(), FLAKE_OK);
                close_it(&state);
            }
            memset(&stint, 0, sizeof stint);
            CHECK_EQ(read_image("ids"), file_size);
        }
}

TEST(a_write_of_nothing_is_a_failed_one) {
    uint64_t id = 7;
    begin_stint();
    stint.writes_nothing = true;
    const int before = descriptors();
    CHECK_EQ(open_at(&state, "ids"), FLAKE_IO);
    CHECK_EQ(descriptors(), before);
    CHECK_EQ(access(path_of("ids"), F_OK), -1);
    CHECK_EQ(access(path_of("ids.new"), F_OK), -1);
    stint.writes_nothing = false;
    CHECK_EQ(open_and_start(), FLAKE_OK);
    stint.writes_nothing = true;
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK); /* there is nothing to write yet */
    pass_ms(4000);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_IO);
    FAILS(flake_try(&gen, &id), FLAKE_IO, id);
    stint.writes_nothing = false;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    close_it(&state);
    pass_ms(5);
    for (int in_part = 0; in_part < 2; in_part++) {
        stint = (struct stint){100, in_part, in_part, .fails = true};
        CHECK_EQ(open_at(&state, "ids"), FLAKE_IO);
        CHECK(strstr(why.text, ": cannot be read: ") && strstr(why.text, strerror(EIO)));
    }
    memset(&stint, 0, sizeof stint);
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    CHECK_STR(why.text, ""); /* which is for failures */
}

static flake_status start_exclusive(flake_state *s) {
    flake_options o = options_in_scene();
    o.exclusive_dir = our_folder;
    return start_with(&gen, flake_node_fixed(NULL, 1), o, s);
}

static int lock_error;

static bool refuse_locks(const char *name) {
    errno = lock_error;
    return strcmp(name, "fcntl") != 0;
}

/* A lock of another process is one error, a file system without locks another. */
TEST(a_lock_that_can_t_be_had_is_not_anothers) {
    static const struct {
        int error;
        flake_status status;
    } cases[] = {
        {ENOLCK, FLAKE_IO}, {EINVAL, FLAKE_IO}, {EACCES, FLAKE_IN_USE}, {EAGAIN, FLAKE_IN_USE}};
#if !defined(__linux__)
    printf("  skipped: other locks than Linux's\n");
    return;
#endif
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lock_error = cases[i].error;
        begin_stint();
        const int open_before = descriptors();
        for (int is_there = 0; is_there < 2; is_there++) {
            on_call = refuse_locks;
            CHECK_EQ(open_at(&state, "ids"), cases[i].status);
            CHECK_EQ(access(path_of("ids"), F_OK), is_there - 1);
            if (cases[i].status == FLAKE_IO) CHECK(strstr(why.text, strerror(cases[i].error)));
            CHECK_EQ(open_slot(), cases[i].status);
            CHECK_EQ(start_exclusive(NULL), cases[i].status);
            on_call = NULL;
            CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
            close_it(&state);
            pass_ms(5);
        }
        CHECK_EQ(descriptors(), open_before);
    }
}

/* ---- new files ---- */

static unsigned mode_of(const char *path) {
    struct stat file;
    return stat(path, &file) == 0 ? (unsigned)file.st_mode & 07777 : 07777;
}

TEST(new_files_are_as_the_umask_says) {
    static const unsigned masks[] = {0, 022, 027, 077};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        char command[400];
        begin_stint();
        const mode_t before = umask((mode_t)masks[i]);
        CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
        CHECK_EQ(open_slot(), FLAKE_OK);
        CHECK_EQ(start_exclusive(NULL), FLAKE_OK);
        (void)umask(before);
        CHECK_EQ(mode_of(path_of("ids")), 0666 & ~masks[i]);
        CHECK_EQ(mode_of(path_of("7.slot")), 0666 & ~masks[i]);
        (void)snprintf(command, sizeof command,
                       "test \"$(find '%s' -name '*.exclusive' -perm %o)\"", our_folder,
                       0666 & ~masks[i]);
        CHECK_EQ(system(command), 0);
        flake_release(&gen);
        close_it(&state);
        close_it(&numbered);
    }
}

static unsigned closed_streams; /* a bit for each */

static bool streams_are_as_they_were(void) {
    for (int fd = 0; fd < 3; fd++)
        if ((fcntl(fd, F_GETFD) < 0) != ((closed_streams >> fd & 1) != 0)) return false;
    return true;
}

static void open_without_streams(void) {
    for (int fd = 0; fd < 3; fd++)
        if (closed_streams >> fd & 1) (void)close(fd);
    for (int run = 0; run < 2; run++, pass_ms(5)) { /* a new file, and an existing one */
        EXPECT(open_at(&state, "ids") == FLAKE_OK && state.file.fd > 2);
        EXPECT(open_slot() == FLAKE_OK && numbered.file.fd > 2);
        EXPECT(start_exclusive(&state) == FLAKE_OK && gen.exclusive.fd > 2);
        EXPECT(fcntl(state.file.fd, F_GETFD) & FD_CLOEXEC);
        EXPECT(streams_are_as_they_were());
        pass_ms(4000);
        EXPECT(draw() == FLAKE_OK);
        flake_release(&gen);
        EXPECT(flake_state_close(&state, NULL) == FLAKE_OK);
        EXPECT(flake_state_close(&numbered, NULL) == FLAKE_OK);
        EXPECT(streams_are_as_they_were());
    }
}

TEST(a_closed_stream_is_not_stood_in_for) {
    for (closed_streams = 0; closed_streams < 8; closed_streams++) {
        begin_stint();
        child_is_well(open_without_streams);
    }
}

int main(int argc, char **argv) { return state_main(argc, argv); }
