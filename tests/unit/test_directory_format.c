/* SPDX-License-Identifier: MIT
 *
 * A number's file byte by byte (`>>directory` of flake.h): each kind of generator writes the bytes listed here, and
 * continues from a file built by hand, of this version or of 0.3. Files of something else are refused. System calls
 * that do less than requested, and the mode and descriptor of new files.
 */
#define _GNU_SOURCE
#include "process_scene.h"

/* Reads and writes that are cut short or interrupted. */
static struct partial_io {
    size_t most;             /* bytes at once; 0: all */
    bool interrupts, is_let_through; /* every other call */
    bool writes_nothing;     /* a write returns 0 */
    bool fails;              /* with EIO; and interrupts: every other call */
    int calls;
} partial_io;

static bool partial_goes_on(void) {
    if (++partial_io.calls > 100000) { /* for ever */
        printf("  reads or writes without end\n");
        exit(1);
    }
    partial_io.is_let_through = !partial_io.is_let_through;
    errno = partial_io.fails ? EIO : EINTR;
    return partial_io.interrupts ? !partial_io.is_let_through : !partial_io.fails;
}

static size_t part_of(size_t n) { return partial_io.most && partial_io.most < n ? partial_io.most : n; }

#undef read
#undef write
static ssize_t partial_read(int fd, void *to, size_t n) {
    return partial_goes_on() ? read(fd, to, part_of(n)) : -1;
}

static ssize_t partial_write(int fd, const void *from, size_t n) {
    if (partial_io.writes_nothing && ++partial_io.calls < 100000) return 0;
    return partial_goes_on() ? write(fd, from, part_of(n)) : -1;
}
#define read(fd, to, n)    partial_read(fd, to, n)
#define write(fd, from, n) partial_write(fd, from, n)
#include "scripted_directory.h"

static const int64_t start_ns = 1700000000000000000;

/* ---- the bytes ---- */

enum { file_size = 8192, record_size = 128 };
static const uint8_t last_run[16] = "a run of before";
static uint8_t image[file_size + 1], expected[file_size];

static uint64_t hash_of(const uint8_t *bytes, size_t n) {
    uint64_t hash = 14695981039346656037u;
    while (n-- > 0) hash = (hash ^ *bytes++) * 1099511628211u;
    return hash;
}

static void put_number(uint8_t *at, uint64_t number) {
    for (unsigned i = 0; i < 8; i++) at[i] = (uint8_t)(number >> (56 - 8 * i));
}

typedef struct record {
    uint64_t number;
    int64_t horizon_ns, written_ns;
    const uint8_t *run;
    char kind;
    uint64_t node, pid;
    int64_t claimed_ns;
} record;

static void begin_expected(uint8_t version) {
    static const char magic[] = "idstate\n";
    memset(expected, 0, sizeof expected);
    memcpy(expected, magic, 8);
    expected[11] = version;
}

static void expect_record(size_t at, record r) {
    uint8_t *const bytes = expected + at;
    memset(bytes, 0, record_size);
    put_number(bytes, r.number);
    put_number(bytes + 8, (uint64_t)r.horizon_ns);
    put_number(bytes + 16, (uint64_t)r.written_ns);
    memcpy(bytes + 24, r.run, 16);
    bytes[40] = (uint8_t)r.kind;
    put_number(bytes + 72, r.node);
    put_number(bytes + 104, r.pid);
    put_number(bytes + 112, (uint64_t)r.claimed_ns);
    put_number(bytes + 120, hash_of(bytes, 120));
}

/* Whatever generates IDs, its number's file is the same. */
static const struct kind {
    const char *layout; /* NULL: snos */
    uint64_t node;
    const char *file;
} kinds[] = {{"idgen", 7, "7.slot"},
             {"sonyflake", 0xabcd, "43981.slot"},
             {"boundary", 0x1a2b3c4d5e, "112394521950.slot"},
             {"uuid8", 0xffffffffffff, "281474976710655.slot"},
             {NULL, 0x1234, "4660.slot"}};
enum { kinds_count = sizeof kinds / sizeof *kinds };

static flake_status init_kind(const struct kind *kind) {
    flake_options o = options_in_scene();
    if (!kind->layout) return init_sno(&sno, slot(kind->node), NULL);
    CHECK_EQ(flake_layout_named(kind->layout, &o.layout), FLAKE_OK);
    return init_with(&gen, slot(kind->node), o);
}

static void close_kind(const struct kind *kind) { close_it(kind->layout ? &gen : &sno.gen); }

static bool is_as_expected(const char *name) {
    return read_file(path_of(name), image, sizeof image) == file_size &&
           memcmp(image, expected, file_size) == 0;
}

TEST(each_kind_writes_these_bytes) {
    uint8_t any_run[16] = {0};
    for (const struct kind *kind = kinds; kind < kinds + kinds_count; kind++) {
        uint8_t run[16];
        const uint64_t pid = (uint64_t)getpid();
        begin();
        CHECK_EQ(init_kind(kind), FLAKE_OK);
        CHECK_EQ(read_file(path_of(kind->file), image, sizeof image), file_size);
        memcpy(run, image + 4608 + 24, sizeof run); /* at random */
        for (size_t i = 0; i < sizeof run; i++) any_run[i] |= run[i];
        begin_expected(3);
        const record first = {1,       start_ns + 3000 * a_ms, start_ns, run, 'n', kind->node, pid,
                              start_ns};
        expect_record(4608, first);
        CHECK(is_as_expected(kind->file));
        pass_ms(20); /* the next is the other record */
        close_kind(kind);
        CHECK_EQ(read_file(path_of(kind->file), image, sizeof image), file_size);
        record second = {2, 0, start_ns + 20 * a_ms, run, 'n', kind->node, pid, start_ns};
        second.horizon_ns = record_at(path_of(kind->file)).horizon_ns;
        CHECK(second.horizon_ns < start_ns + 20 * a_ms); /* the last unit that is over */
        CHECK(second.horizon_ns >= start_ns + 10 * a_ms - 1);
        second.written_ns = second.horizon_ns; /* a record is not of later than its horizon */
        expect_record(512, second);
        CHECK(is_as_expected(kind->file));
    }
    for (size_t i = 0; i < sizeof any_run; i++) CHECK(any_run[i] != 0);
}

/* Version 2 is 0.3's, for a number that it claimed in a directory: it has no holder's pid and start. */
TEST(a_file_made_by_hand_is_continued_from) {
    for (const struct kind *kind = kinds; kind < kinds + kinds_count; kind++)
        for (uint8_t version = 2; version <= 3; version++)
            for (int newest_is_odd = 0; newest_is_odd < 2; newest_is_odd++) {
                const size_t newest = newest_is_odd ? 4608 : 512, oldest = 512 + 4608 - newest;
                record left = {newest_is_odd ? 9 : 8, start_ns + 500 * a_ms - 1, start_ns - 9 * a_ms, last_run, 'n',
                               kind->node, 0, 0};
                if (version == 3) left.pid = 77, left.claimed_ns = start_ns - 99 * a_ms;
                record older = left;
                older.number--;
                older.horizon_ns = start_ns - 7 * a_ms;
                begin();
                begin_expected(version);
                expect_record(newest, left);
                expect_record(oldest, older);
                write_file(path_of(kind->file), expected, sizeof expected);
                CHECK_EQ(init_kind(kind), FLAKE_OK);
                CHECK(scene_ns() > left.horizon_ns - 20 * a_ms);
                CHECK(scene_ns() <= left.horizon_ns + 1); /* waits as 0.3 does */
                CHECK_EQ(read_file(path_of(kind->file), image, sizeof image), file_size);
                const record next = {left.number + 1, scene_ns() + 3000 * a_ms, scene_ns(), image + oldest + 24, 'n',
                                     kind->node, (uint64_t)getpid(), scene_ns()};
                expect_record(oldest, next);                    /* the newest remains, ... */
                CHECK(memcmp(image, expected, file_size) == 0); /* ... and the version */
                CHECK(memcmp(next.run, last_run, 16) != 0);
                close_kind(kind);
                pass_ms(20);
                CHECK_EQ(init_kind(kind), FLAKE_OK); /* and so does the next run */
                close_kind(kind);
            }
}

/* No draw of the run before was admitted past its horizon, of whatever version. */
TEST(a_run_of_version_2_is_not_repeated) {
    for (int64_t part = 0; part < 12; part++) { /* ns before, at and after the end of a ms */
        const int64_t horizon_ns = start_ns + part / 4 * a_ms + part % 4 - 2;
        begin();
        begin_expected(2);
        expect_record(512, (record){2, horizon_ns, start_ns - a_ms, last_run, 'n', 7, 0, 0});
        write_file(path_of("7.slot"), expected, sizeof expected);
        run(&gen, 7);
        CHECK((newest_ms() + 1) * a_ms - 1 > horizon_ns); /* 0.3 was admitted whole units, too */
        CHECK(newest_ms() * a_ms <= horizon_ns + 1 || horizon_ns < start_ns);
        close_it(&gen);
    }
}

/* ---- files of something else ---- */

static void is_refused(flake_status wanted) {
    write_file(path_of("7.slot"), expected, sizeof expected);
    CHECK_EQ(init_slot(&gen, 7), wanted);
    CHECK(why_is_of(7));
    CHECK(is_as_expected("7.slot"));
}

TEST(a_file_of_something_else_is_refused) {
    const record good = {8, start_ns - 5 * a_ms, start_ns - 9 * a_ms, last_run, 'n', 7, 0, 0};
    for (int both = 0; both < 2; both++) { /* in the record that counts */
        record older = good, r = good;
        older.number = 7;
        begin();
        begin_expected(3);
        if (both) expect_record(4608, older);
        r.node = 8; /* another number's, under this name */
        expect_record(512, r);
        is_refused(FLAKE_MISMATCH);
        r = good;
        for (const char *kind = "fw7m8us"; *kind; kind++) { /* 0.3's file of a path */
            r.kind = *kind;
            expect_record(512, r);
            is_refused(FLAKE_MISMATCH);
            CHECK(strstr(why.text, "is not of a number"));
        }
    }
    for (unsigned version = 0; version < 256; version++) {
        if (version == 2 || version == 3) continue;
        begin_expected((uint8_t)version);
        expect_record(512, good);
        is_refused(FLAKE_MISMATCH);
        CHECK((strstr(why.text, "is of a later version") != NULL) == (version > 3));
    }
    record never = good; /* written */
    never.number = 0;
    begin_expected(3);
    expect_record(512, never);
    is_refused(FLAKE_CORRUPT);
    begin_expected(255);
    expected[0] ^= 1;
    is_refused(FLAKE_MISMATCH);
    CHECK(strstr(why.text, "is not of a number"));
    for (size_t at = 41; at < 104; at += at == 71 ? 9 : 1) { /* what a later version may use is zero in this one */
        begin_expected(3);
        expect_record(512, good);
        expected[512 + at] = 1;
        put_number(expected + 512 + 120, hash_of(expected + 512, 120));
        is_refused(FLAKE_MISMATCH);
    }
    begin_expected(3);
    expect_record(512, good);
    write_file(path_of("7.slot"), expected, sizeof expected);
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK); /* what the cases above have changed */
}

/* They are refused and unchanged, whole or cut short. */
TEST(files_of_version_0_1_0_are_refused) {
    uint8_t old[record_size] = "idstate\n";
    old[11] = 1;
    put_number(old + 16, (uint64_t)start_ns);
    put_number(old + 24, (uint64_t)(start_ns - 3000 * a_ms));
    put_number(old + 120, hash_of(old, 120));
    for (size_t n = 0; n <= sizeof old; n++) {
        begin();
        write_file(path_of("7.slot"), old, n);
        CHECK_EQ(init_slot(&gen, 7), n < sizeof old ? FLAKE_CORRUPT : FLAKE_MISMATCH);
        CHECK_EQ(read_file(path_of("7.slot"), image, sizeof image), n);
        CHECK(memcmp(image, old, n) == 0);
    }
    CHECK(strstr(why.text, "of an earlier version") != NULL);
}

/* ---- system calls that do less ---- */

static void begin_partial_io(void) {
    begin();
    memset(&partial_io, 0, sizeof partial_io);
}

TEST(what_is_written_and_read_in_parts_is_whole) {
    for (size_t most = 1; most < 200; most = most * 3 + 1)
        for (int interrupts = 0; interrupts < 2; interrupts++) {
            begin_partial_io();
            partial_io.most = most;
            partial_io.interrupts = interrupts;
            for (int run = 0; run < 3; run++, pass_ms(5)) {
                partial_io.calls = 0;
                CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
                CHECK(partial_io.calls > file_size / 200); /* the whole file, in parts of at most 121 bytes */
                for (int i = 0; i < 3; i++, pass_ms(2900)) CHECK_EQ(draw_from(&gen), FLAKE_OK);
                close_it(&gen);
            }
            memset(&partial_io, 0, sizeof partial_io);
            CHECK_EQ(read_file(path_of("7.slot"), image, sizeof image), file_size);
        }
}

TEST(a_write_of_nothing_is_a_failed_one) {
    uint64_t id = 7;
    begin_partial_io();
    partial_io.writes_nothing = true;
    const int before = descriptors();
    CHECK_EQ(init_slot(&gen, 7), FLAKE_IO);
    CHECK_EQ(descriptors(), before);
    CHECK_EQ(access(path_of("7.slot"), F_OK), -1);
    CHECK_EQ(access(path_of("7.slot.new"), F_OK), -1);
    partial_io.writes_nothing = false;
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    partial_io.writes_nothing = true;
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK); /* there is nothing to write yet */
    pass_ms(4000);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_IO);
    FAILS(flake_try(&gen, &id), FLAKE_IO, id);
    partial_io.writes_nothing = false;
    CHECK_EQ(flake_try(&gen, &id), FLAKE_OK);
    close_it(&gen);
    pass_ms(5);
    for (int in_part = 0; in_part < 2; in_part++) {
        partial_io = (struct partial_io){100, in_part, in_part, .fails = true};
        CHECK_EQ(init_slot(&gen, 7), FLAKE_IO);
        CHECK(strstr(why.text, ": cannot be read: ") && strstr(why.text, strerror(EIO)));
    }
    memset(&partial_io, 0, sizeof partial_io);
    CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
    CHECK_STR(why.text, ""); /* which is for failures */
}

/* A lock of another process is one error, a file system without locks another. */
TEST(a_lock_that_cannot_be_had_is_not_anothers) {
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
        begin_partial_io();
        const int open_before = descriptors();
        for (int is_there = 0; is_there < 2; is_there++) {
            trap = (struct trap){.name = "fcntl", .error = cases[i].error};
            CHECK_EQ(init_slot(&gen, 7), cases[i].status);
            CHECK_EQ(access(path_of("7.slot"), F_OK), is_there - 1);
            if (cases[i].status == FLAKE_IO) CHECK(strstr(why.text, strerror(cases[i].error)));
            CHECK_EQ(init_range(&gen, 7, 9), cases[i].status);
            disk_begin();
            CHECK_EQ(init_slot(&gen, 7), FLAKE_OK);
            close_it(&gen);
            pass_ms(5);
        }
        CHECK_EQ(descriptors(), open_before);
    }
}

/* A bit for each stream that is closed. */
static bool streams_are(unsigned closed) {
    for (int fd = 0; fd < 3; fd++)
        if ((fcntl(fd, F_GETFD) < 0) != ((closed >> fd & 1) != 0)) return false;
    return true;
}

static unsigned kept_on_exec(void) {
    unsigned n = 0;
    for (int fd = 0; fd < 256; fd++) n += (fcntl)(fd, F_GETFD) == 0;
    return n;
}

static unsigned kept_before;
static void keep_no_more(void) { CHECK(kept_on_exec() <= kept_before); }

/* At no system call does a file have the number of a closed stream, or would a program started then get it. */
TEST(a_closed_stream_is_not_stood_in_for_and_no_program_gets_a_descriptor) {
    for (unsigned closed = 0; closed < 8; closed++) {
        begin_partial_io();
        IN_CHILD {
            for (int fd = 0; fd < 3; fd++)
                if (closed >> fd & 1) (void)close(fd);
            kept_before = kept_on_exec();
            for (int run = 0; run < 2; run++, pass_ms(5)) { /* a new file, and an existing one */
                trap = (struct trap){.act = keep_no_more};
                CHECK(init_slot(&gen, 7) == FLAKE_OK && gen.claim.file.fd > 2);
                CHECK_EQ(init_sno(&sno, range(8, 9), NULL), FLAKE_OK);
                CHECK(sno.gen.claim.file.fd > 2);
                CHECK(streams_are(closed));
                pass_ms(4000);
                CHECK_EQ(draw_from(&gen), FLAKE_OK);
                CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
                CHECK_EQ(flake_close(&sno.gen, NULL), FLAKE_OK);
                CHECK(streams_are(closed));
                CHECK(trap.calls > 20);
            }
        }
    }
}

int main(int argc, char **argv) { return directory_main(argc, argv); }
