/* SPDX-License-Identifier: MIT
 *
 * A directory and its files as file system objects (`>>directory` of flake.h): what init makes and syncs, and
 * what it refuses; a held file that is replaced, removed or changed ends the IDs; a run that is killed, meets an error
 * or loses power at any system call leaves the number free and repeats nothing; forked children; programs started
 * meanwhile.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include "process_scene.h"
static pid_t pid_of_all; /* 0: each process has its own */
static pid_t pid_here(void) { return pid_of_all ? pid_of_all : getpid(); }
#define getpid() pid_here()
static bool has_no_random_bytes;
#define FLAKE_RANDOM_BYTES(to, n) (!has_no_random_bytes && flake_i_system_random(to, n))
#include "scripted_directory.h"

/* ---- the directory ---- */

/* If it is there, another process may have made it, and died before it synced the parent. */
TEST(a_missing_directory_is_made_and_its_parent_synced) {
    static const struct {
        const char *name;
        bool is_there;
    } rows[] = {{"ids", false}, {"ids", true}, {"ids//", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stat made;
        begin();
        if (rows[i].is_there) CHECK_EQ((mkdir)(path_of("ids"), 0700), 0);
        CHECK_EQ(init_in(&gen, path_of(rows[i].name), 1), FLAKE_OK);
        CHECK_STR(disk.log, rows[i].is_there ? "owsrOSCOSC" : "mowsrOSCOSC");
        CHECK_EQ(strcmp(disk.folder_path, path_of("")), 0); /* the last one that was synced */
        CHECK_EQ(stat(path_of("ids"), &made), 0);
        CHECK(S_ISDIR(made.st_mode) && (made.st_mode & 0777) == 0700);
        CHECK(stat(path_of("ids/1.slot"), &made) == 0 && (made.st_mode & 07777) == 0600);
        CHECK_EQ(draw_from(&gen), FLAKE_OK);
    }
}

TEST(parents_are_never_made) {
    CHECK_EQ(init_in(&gen, path_of("parent/ids"), 1), FLAKE_IO);
    CHECK(strstr(why.text, ": cannot be created: ") && strstr(why.text, strerror(ENOENT)));
    CHECK_EQ(access(path_of("parent"), F_OK), -1);
    CHECK_STR(disk.log, "m");
    CHECK_EQ((mkdir)(path_of("parent"), 0700), 0);
    CHECK_EQ(init_in(&gen, path_of("parent/ids"), 1), FLAKE_OK);
}

TEST(a_file_is_no_directory) {
    write_file(path_of("ids"), (const uint8_t *)"text", 4);
    CHECK_EQ(init_in(&gen, path_of("ids"), 1), FLAKE_IO);
    CHECK(strstr(why.text, strerror(ENOTDIR)));
    CHECK_EQ(symlink("nowhere", path_of("link")), 0); /* nor is a link to nothing */
    CHECK_EQ(init_in(&gen, path_of("link"), 1), FLAKE_IO);
    CHECK_EQ(access(path_of("nowhere"), F_OK), -1);
}

static void find_it_taken(const char *name) {
    CHECK_EQ(init_in(&other, name, 1), FLAKE_IN_USE);
    CHECK(strstr(why.text, "in use") != NULL);
    CHECK_EQ(init_with(&other, flake_node_any(name, 1, 2), options_in_scene()), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&other), 2);
    CHECK_EQ(flake_close(&other, NULL), FLAKE_OK);
    pass_ms(1);
}

TEST(all_names_of_a_directory_are_one) {
    static const char *const names[] = {"ids",     "link",       "chain", "sub/../ids",
                                        "ids////", "home/ids/.", "ids/"};
    char was[300];
    CHECK_EQ((mkdir)(path_of("ids"), 0700), 0);
    CHECK_EQ((mkdir)(path_of("sub"), 0700), 0);
    CHECK_EQ(symlink(".", path_of("home")), 0);
    CHECK_EQ(symlink("ids", path_of("link")), 0);
    CHECK_EQ(symlink(path_of("link"), path_of("chain")), 0);
    CHECK(getcwd(was, sizeof was) != NULL);
    CHECK_EQ(chdir(path_of("ids")), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK_EQ(init_in(&gen, path_of(names[i]), 1), FLAKE_OK);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) find_it_taken(path_of(names[k]));
        IN_CHILD find_it_taken(".");
        IN_CHILD find_it_taken("../ids/");
        for (int draws = 0; draws < 10; draws++, pass_ms(2000)) CHECK_EQ(draw_from(&gen), FLAKE_OK);
        close_it(&gen);
    }
    CHECK_EQ(chdir(was), 0);
}

/* Its name is made absolute. */
TEST(a_change_of_directory_does_not_move_the_file) {
    char was[300];
    CHECK(getcwd(was, sizeof was) != NULL);
    CHECK_EQ(chdir(our_folder), 0);
    char name[] = "ids"; /* it is copied, too */
    CHECK_EQ(init_in(&gen, name, 1), FLAKE_OK);
    memset(name, 'x', 3);
    CHECK_EQ((mkdir)("elsewhere", 0700), 0); /* here there may be an "ids" */
    CHECK_EQ(chdir("elsewhere"), 0);
    for (int i = 0; i < 100; i++, pass_ms(100)) CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK(record_at(path_of("ids/1.slot")).horizon_ns > scene_ns());
    CHECK(strstr(gen.claim.path, path_of("ids/1.slot")) == gen.claim.path);
    close_it(&gen);
    CHECK_EQ(access("ids", F_OK), -1);
    CHECK_EQ(rmdir(path_of("elsewhere")), 0); /* there is no working directory */
    CHECK_EQ(init_in(&gen, "ids", 1), FLAKE_INVALID);
    CHECK_STR(why.text, "dir: is too long, or the working directory is gone");
    CHECK_EQ(chdir(was), 0);
}

/* Whether the file is still there is asked of its descriptor. */
TEST(a_program_may_change_its_root_and_user) {
    if (geteuid() != 0) {
        printf("  skipped: needs root\n");
        return;
    }
    CHECK_EQ((mkdir)(path_of("cage"), 0700), 0);
    IN_CHILD {
        run(&gen, 1);
        CHECK(chroot(path_of("cage")) == 0 && chdir("/") == 0);
        CHECK(setgid(65534) == 0 && setuid(65534) == 0);
        for (int i = 0; i < 10; i++, pass_ms(2000)) CHECK_EQ(draw_from(&gen), FLAKE_OK);
        CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    }
    CHECK(record_of(1).number > 5);
}

/* ---- what is no file of this user, with one name ---- */

static void is_foreign(void) {
    const int before = descriptors();
    CHECK_EQ(init_slot(&gen, 1), FLAKE_MISMATCH);
    CHECK(why_is_of(1));
    CHECK_EQ(descriptors(), before);
    CHECK_EQ(init_range(&gen, 1, 2), FLAKE_OK); /* a range skips it */
    CHECK_EQ(flake_gen_node(&gen), 2);
    close_it(&gen);
    pass_ms(1);
}

TEST(no_link_is_followed) {
    CHECK_EQ(symlink(path_of("far"), path_of("1.slot")), 0);
    is_foreign();
    CHECK_EQ(access(path_of("far"), F_OK), -1);
    CHECK_EQ(rename(path_of("2.slot"), path_of("far")), 0); /* one to a file of a number */
    is_foreign();
    CHECK_EQ(unlink(path_of("1.slot")), 0);
    CHECK_EQ(symlink(path_of("near"), path_of("1.slot.new")), 0); /* what would become the file */
    is_foreign();
    CHECK_EQ(access(path_of("near"), F_OK), -1);
}

TEST(a_file_with_two_names_is_refused_and_one_that_gets_another_is_kept) {
    run(&gen, 1);
    CHECK_EQ(link(path_of("1.slot"), path_of("hard")), 0);
    pass_ms(2000); /* the next draw writes */
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
    close_it(&gen);
    pass_ms(1);
    is_foreign();
    CHECK_EQ(unlink(path_of("1.slot")), 0);
    CHECK_EQ(rename(path_of("hard"), path_of("1.slot.new")), 0);
    CHECK_EQ(link(path_of("1.slot.new"), path_of("hard")), 0);
    const int64_t horizon_ns = record_at(path_of("hard")).horizon_ns;
    is_foreign();
    CHECK_EQ(record_at(path_of("hard")).horizon_ns, horizon_ns); /* it is not overwritten */
}

TEST(what_is_not_regular_is_refused) {
    CHECK_EQ(mkfifo(path_of("1.slot"), 0600), 0); /* an open would wait */
    is_foreign();
    CHECK_EQ(unlink(path_of("1.slot")), 0);
    CHECK_EQ((mkdir)(path_of("1.slot"), 0700), 0);
    is_foreign();
    CHECK_EQ(rmdir(path_of("1.slot")), 0);
    CHECK_EQ(mkfifo(path_of("1.slot.new"), 0600), 0);
    is_foreign();
    CHECK_EQ(unlink(path_of("1.slot.new")), 0);
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
}

/* A new file is made beside its name, with .new appended, where another file may exist. */
TEST(a_file_of_something_else_beside_is_refused) {
    uint8_t letter[9];
    write_file(path_of("1.slot.new"), (const uint8_t *)"a letter", 8);
    is_foreign();
    CHECK(read_file(path_of("1.slot.new"), letter, 9) == 8 && memcmp(letter, "a letter", 8) == 0);
}

#if defined(__linux__)
/* Their locks and syncs are unreliable. */
TEST(network_file_systems_are_refused) {
    static const struct {
        uint32_t type;
        flake_status status;
    } rows[] = {{0x6969, FLAKE_IO},      /* NFS */
                {0x517b, FLAKE_IO},      /* SMB */
                {0xff534d42, FLAKE_IO},  /* CIFS */
                {0xfe534d42, FLAKE_IO},  /* SMB 2 */
                {0xef53, FLAKE_OK},      /* ext4 */
                {0x01021994, FLAKE_OK},  /* tmpfs */
                {0x9123683e, FLAKE_OK}}; /* btrfs */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int is_range = 0; is_range < 2; is_range++) {
            begin();
            disk_type = rows[i].type;
            CHECK_EQ(is_range ? init_range(&gen, 1, 9) : init_slot(&gen, 1), rows[i].status);
            CHECK_EQ(access(path_of("1.slot"), F_OK), rows[i].status == FLAKE_OK ? 0 : -1);
            if (rows[i].status != FLAKE_OK) CHECK(strstr(why.text, "network file system"));
        }
}
#endif

/* ---- files that are replaced or deleted ---- */

/* A file of the same number, elsewhere. */
static void make_another(void) {
    CHECK_EQ(init_in(&other, path_of("another"), 1), FLAKE_OK);
    close_it(&other);
    pass_ms(1);
}

static uint8_t earlier[FLAKE_I_FILE];

static void replace_it(void) { CHECK_EQ(rename(path_of("another/1.slot"), path_of("1.slot")), 0); }

static void delete_it(void) { CHECK_EQ(unlink(path_of("1.slot")), 0); }

static void delete_all(void) {
    char gone[sizeof our_folder + 8];
    (void)snprintf(gone, sizeof gone, "%s.gone", our_folder);
    delete_it();
    CHECK_EQ(rename(our_folder, gone), 0);
    CHECK_EQ((mkdir)(our_folder, 0700), 0);
}

static void cut_all(void) { CHECK_EQ(truncate(path_of("1.slot"), 0), 0); }
static void cut_a_record(void) { CHECK_EQ(truncate(path_of("1.slot"), 4096 + 512 + 100), 0); }
static void put_an_earlier_one(void) { write_file(path_of("1.slot"), earlier, sizeof earlier); }

static void put_anothers(void) {
    uint8_t bytes[FLAKE_I_FILE];
    CHECK_EQ(read_file(path_of("another/1.slot"), bytes, sizeof bytes), sizeof bytes);
    write_file(path_of("1.slot"), bytes, sizeof bytes);
}

/* A later record of another run follows the newest one, or a byte of the newest is changed. */
static void change_records(bool adds_one) {
    uint8_t bytes[FLAKE_I_FILE];
    flake_i_record r = record_of(1);
    CHECK_EQ(read_file(path_of("1.slot"), bytes, sizeof bytes), sizeof bytes);
    if (adds_one) {
        r.number++;
        r.run[0] ^= 1;
        flake_i_record_put(&r, bytes + flake_i_record_at(r.number));
    } else bytes[flake_i_record_at(r.number) + 20] ^= 1;
    write_file(path_of("1.slot"), bytes, sizeof bytes);
}

static void put_a_later_record(void) { change_records(true); }
static void change_a_byte(void) { change_records(false); }

static void loses_it(void (*change)(void), bool manual_extend) {
    uint8_t before[FLAKE_I_FILE], changed[FLAKE_I_FILE] = {0}, after[FLAKE_I_FILE] = {0};
    flake_options o = options_in_scene();
    uint64_t id;
    begin();
    make_another();
    o.manual_extend = manual_extend;
    CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
    CHECK_EQ(read_file(slot_path(1), earlier, sizeof earlier), sizeof earlier);
    pass_ms(1600);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
    CHECK_EQ(read_file(slot_path(1), before, sizeof before), sizeof before);
    change();
    const size_t n = read_file(slot_path(1), changed, sizeof changed);
    pass_ms(1000);
    CHECK_EQ(draw_from(&gen), FLAKE_OK); /* there is nothing to write yet */
    pass_ms(1000);                       /* within the horizon, but an extension is due */
    if (manual_extend) CHECK_EQ(flake_extend(&gen, NULL), FLAKE_MISMATCH);
    FAILS(flake_next(&gen, &id), FLAKE_MISMATCH, id);
    CHECK_EQ(flake_extend(&gen, &why), FLAKE_MISMATCH);
    CHECK(why_is_of(1) && strstr(why.text, "was changed, removed or closed"));
    CHECK_EQ(read_file(slot_path(1), after, sizeof after), n);
    CHECK(memcmp(after, changed, sizeof after) == 0);
    write_file(slot_path(1), before, sizeof before); /* it stays lost */
    FAILS(flake_try(&gen, &id), FLAKE_MISMATCH, id);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_MISMATCH);
    CHECK_EQ(flake_close(&gen, &why), FLAKE_MISMATCH);
    CHECK(why_is_of(1));
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    CHECK_EQ(read_file(slot_path(1), after, sizeof after), sizeof after);
    CHECK(memcmp(after, before, sizeof after) == 0);
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK); /* the lock is free */
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
}

TEST(a_file_that_is_no_longer_there_or_changed_in_place_ends_the_ids) {
    static void (*const changes[])(void) = {
        replace_it,         delete_it,    delete_all,         cut_all,      cut_a_record,
        put_an_earlier_one, put_anothers, put_a_later_record, change_a_byte};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        for (int manual_extend = 0; manual_extend < 2; manual_extend++) loses_it(changes[i], manual_extend);
}

TEST(a_close_notices_a_changed_file) {
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    cut_all();
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_MISMATCH);
    CHECK_EQ(init_slot(&other, 1), FLAKE_CORRUPT);
}

/* Neither may change the newest record, nor count as a change by another process. */
TEST(a_call_that_fails_for_a_while_stops_draws_at_the_horizon_and_loses_nothing) {
    static const char *const names[] = {"fstat", "read", "lseek", "write", "fdatasync"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        begin();
        CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
        const int64_t horizon_ns = horizon_of(1);
        unsigned drawn = 0;
        flake_status status;
        trap = (struct trap){.name = names[i], .error = EIO};
        for (; (status = draw_from(&gen)) == FLAKE_OK && drawn < 4000; pass_ms(1), drawn++)
            CHECK(newest_ms() * a_ms < horizon_ns);
        CHECK_EQ(status, FLAKE_IO);
        CHECK(drawn >= 2998);
        CHECK_EQ(flake_extend(&gen, &why), FLAKE_IO);
        CHECK(why_is_of(1) && strstr(why.text, strerror(EIO)));
        disk_begin();
        CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
        CHECK_EQ(draw_from(&gen), FLAKE_OK);
    }
}

/* ---- descriptors that get another owner ---- */

/* A program closes all its descriptors, and another of its generators opens the same file: it gets the same
 * descriptor, and the lock is gone. */
TEST(two_generators_with_one_descriptor_repeat_nothing) {
    flake_status status[2] = {FLAKE_OK, FLAKE_OK};
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    const int fd = gen.claim.file.fd;
    (void)(close)(fd);
    CHECK_EQ(init_slot(&other, 1), FLAKE_OK);
    CHECK_EQ(other.claim.file.fd, fd);
    for (int i = 0; i < 10000; i++, pass_ms(1)) {
        status[0] = draw_from(&gen);
        status[1] = draw_from(&other);
    }
    CHECK(status[0] == FLAKE_MISMATCH && status[1] == FLAKE_OK);
    CHECK(our->n > 9990);
    CHECK_EQ(repeated(), 0);
    close_it(&other);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_MISMATCH);
}

/* The first generator writes while the second waits for the first's horizon to pass. */
static void write_meanwhile(int64_t ns) {
    atomic_fetch_add(&our->now_ns, ns);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
}

TEST(an_init_that_waits_finds_out_that_another_writes) {
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    (void)(close)(gen.claim.file.fd);
    on_sleep = write_meanwhile;
    CHECK_EQ(init_slot(&other, 1), FLAKE_MISMATCH);
    CHECK(strstr(why.text, "was changed") != NULL);
    on_sleep = NULL;
    /* the failed init has closed the descriptor */
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_MISMATCH);
}

/* ---- new files ---- */

/* A run died while it made a new file. After a power cut its name may exist with no data, or without its
 * first blocks. */
TEST(what_a_run_has_left_beside_the_file_is_taken) {
    uint8_t bytes[FLAKE_I_FILE] = "idstate\n";
    for (size_t n = 0; n <= FLAKE_I_FILE; n = n < 8 ? n + 1 : n * 2)
        for (int is_zero = 0; is_zero < 2; is_zero++) {
            begin();
            bytes[0] = is_zero ? 0 : 'i';
            memcpy(bytes, is_zero ? "\0\0\0\0\0\0\0\0" : "idstate\n", 8);
            write_file(path_of("1.slot.new"), bytes, n);
            run(&gen, 1);
            CHECK_EQ(record_of(1).number, 1);
            CHECK_EQ(access(path_of("1.slot.new"), F_OK), -1);
        }
}

TEST(a_new_file_that_cannot_be_read_is_no_foreign_file) {
    trap = (struct trap){.name = "read", .error = EIO};
    CHECK_EQ(init_slot(&gen, 1), FLAKE_IO);
    CHECK(strstr(why.text, "cannot be created: ") != NULL);
}

/* The generator has either the file that is there now, or notices at its next write. */
static void has_or_loses_it(flake_status status) {
    struct stat there;
    CHECK_EQ(stat(slot_path(1), &there), 0);
    const bool has_it = gen.claim.file.inode == (uint64_t)there.st_ino;
    pass_ms(5000);
    if (status == FLAKE_OK) CHECK_EQ(flake_extend(&gen, NULL), has_it ? FLAKE_OK : FLAKE_MISMATCH);
    if (status == FLAKE_OK && has_it) CHECK_EQ(init_slot(&other, 1), FLAKE_IN_USE);
    (void)flake_close(&gen, NULL);
}

/* At each system call of an init: another process makes the file that this one is about to make, or another file
 * replaces it. */
TEST(a_file_put_in_the_place_meanwhile_is_the_one_that_is_locked) {
    for (int exists = 0; exists < 2; exists++)
        for (int at = 1;; at++) {
            begin();
            make_another();
            if (exists) {
                CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
                close_it(&gen);
                pass_ms(1);
            }
            const int open_before = descriptors();
            trap = (struct trap){.from = at, .n = 1, .act = replace_it};
            const flake_status status = init_slot(&gen, 1);
            const bool was_replaced = trap.calls >= at;
            disk_begin();
            if (exists && at <= 7) CHECK_EQ(status, FLAKE_OK); /* up to the stat of the locked file */
            if (exists) CHECK(status == FLAKE_OK || status == FLAKE_MISMATCH || status == FLAKE_IO);
            else CHECK_EQ(access(path_of("1.slot.new"), F_OK), -1);
            has_or_loses_it(status);
            CHECK_EQ(descriptors(), open_before);
            if (was_replaced && !check_failures) continue;
            CHECK(at > 11);
            break;
        }
}

static void put_a_fresh_one(void) {
    write_file(path_of("fresh"), (const uint8_t *)"x", 1);
    CHECK_EQ(rename(path_of("fresh"), slot_path(1)), 0);
}

TEST(a_file_that_is_replaced_for_ever_is_refused) {
    const int before = descriptors();
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    close_it(&gen);
    trap = (struct trap){.name = "fcntl", .act = put_a_fresh_one};
    CHECK_EQ(init_slot(&gen, 1), FLAKE_IN_USE);
    trap = (struct trap){.name = "fcntl", .n = 1, .act = put_a_fresh_one};
    CHECK_EQ(init_slot(&gen, 1), FLAKE_MISMATCH); /* it is of no number */
    CHECK_EQ(descriptors(), before);
}

/* ---- killed, or an error, or a power cut, at each system call ---- */

static const char *stage_dir(void) { return path_of("ids"); }
static const char *stage_file(void) { return path_of("ids/1.slot"); }

static flake_status do_init(void) { return init_in(&gen, stage_dir(), 1); }
static flake_status do_draw(void) { return draw_from(&gen); }
static flake_status do_extend(void) { return flake_extend(&gen, &why); }
static flake_status do_close(void) { return flake_close(&gen, &why); }

/* A call in the life of a run: what is before it, and how many system calls it makes at least. */
static const struct stage {
    const char *name;
    flake_status (*call)(void);
    enum { NO_DIRECTORY, CLOSED, CRASHED, OPEN } before;
    int at_least;
} stages[] = {{"init, with a new directory", do_init, NO_DIRECTORY, 20},
              {"init, with a file", do_init, CLOSED, 20},
              {"init, after a crash", do_init, CRASHED, 20},
              {"a draw that writes", do_draw, OPEN, 7},
              {"extend", do_extend, OPEN, 7},
              {"close", do_close, OPEN, 10}},
  *stage;
static const struct stage *const no_stage = stages + sizeof stages / sizeof *stages;

/* Up to the call. */
static void begin_stage(void) {
    if (stage->before != NO_DIRECTORY) {
        CHECK_EQ(do_init(), FLAKE_OK);
        CHECK_EQ(draw_from(&gen), FLAKE_OK);
        if (stage->before == CRASHED) crash_here(&gen); /* its file's name may not be on disk */
        else {
            pass_ms(1600);
            CHECK_EQ(draw_from(&gen), FLAKE_OK); /* both records are in use */
            CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        }
        pass_ms(1);
    }
    if (stage->before == OPEN) {
        CHECK_EQ(do_init(), FLAKE_OK);
        for (int i = 0; i < 5; i++, pass_ms(300)) CHECK_EQ(draw_from(&gen), FLAKE_OK);
        pass_ms(2000); /* past the horizon */
    }
    disk_begin();
}

/* What would be on disk if the power failed now: the file's bytes by the last sync, its name by that of the
 * directories. A write that no sync has followed may have reached the disk in part. */
static struct platter {
    bool has_file;
    size_t names_to_sync;
    uint8_t bytes[FLAKE_I_FILE], fresh[FLAKE_I_FILE];
    char last_call[16]; /* its effect is not in here yet */
} * platter;

static void store_last_call(void) {
    const char *const call = platter->last_call;
    if (strcmp(call, "fdatasync") == 0) (void)read_file(stage_file(), platter->bytes, FLAKE_I_FILE);
    if (strcmp(call, "rename") == 0) {
        platter->names_to_sync = 2;
        (void)read_file(stage_file(), platter->fresh, FLAKE_I_FILE);
    } else if (strcmp(call, "fsync") == 0 && platter->names_to_sync &&
               --platter->names_to_sync == 0) {
        platter->has_file = true;
        memcpy(platter->bytes, platter->fresh, FLAKE_I_FILE);
    }
}

static int end_at; /* the system call at which it is killed, from 1 */

static bool store_and_end_here(const char *name) {
    store_last_call();
    (void)snprintf(platter->last_call, sizeof platter->last_call, "%s", name);
    if (--end_at == 0) be_killed();
    return true;
}

/* False: the stage makes fewer calls, and has ended well. */
static bool killed_at(int call) {
    if (!platter) platter = (struct platter *)map_shared("platter", sizeof *platter);
    memset(platter, 0, sizeof *platter);
    pid_t child;
    IN_CHILD_AS(child) {
        begin_stage();
        platter->has_file = read_file(stage_file(), platter->bytes, FLAKE_I_FILE) == FLAKE_I_FILE;
        end_at = call;
        on_call = store_and_end_here;
        CHECK_EQ(stage->call(), FLAKE_OK);
        if (stage->call != do_close) /* until the close has returned, it may draw */
            for (int i = 0; i < 100; i++, pass_ms(10)) CHECK_EQ(draw_from(&gen), FLAKE_OK);
        store_last_call();
    }
    const int status = end_of(child);
    const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    CHECK(was_killed || status == 0);
    return was_killed;
}

/* The number has no holder, and the next run repeats nothing, though the clock may be back at the last write. */
static void is_free_and_repeats_nothing(void) {
    if (access(stage_file(), F_OK) == 0) {
        const flake_i_record left = record_at(stage_file());
        for (size_t i = 0; i < our->n; i++) CHECK(ms_of(our->ids[i]) * a_ms <= left.horizon_ns);
        if (scene_ns() > left.written_ns) move_to_ns(left.written_ns);
    } else CHECK_EQ(our->n, 0);
    const int64_t began_ns = scene_ns();
    CHECK_EQ(do_init(), FLAKE_OK);
    if (check_failures) printf("  %s: %s\n", stage->name, why.text);
    CHECK(scene_ns() - began_ns <= 3001 * a_ms);
    CHECK_EQ(init_in(&other, stage_dir(), 1), FLAKE_IN_USE);
    for (int i = 0; i < 10; i++, pass_ms(1000)) CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK_EQ(repeated(), 0);
    close_it(&gen);
}

static void restore_the_platter(bool tears) {
    uint8_t now[FLAKE_I_FILE];
    const bool is_there = read_file(stage_file(), now, sizeof now) == FLAKE_I_FILE;
    for (size_t at = 512; at < FLAKE_I_FILE && tears && is_there && platter->has_file; at += 4096)
        if (memcmp(platter->bytes + at, now + at, FLAKE_I_RECORD) != 0)
            memcpy(platter->bytes + at, now + at, FLAKE_I_RECORD / 2);
    if (platter->has_file) write_file(stage_file(), platter->bytes, FLAKE_I_FILE);
    else (void)unlink(stage_file());
}

TEST(killed_or_without_power_at_each_system_call_a_run_repeats_nothing) {
    enum { KILLED, WITHOUT_POWER, WITHOUT_POWER_IN_A_WRITE, ends };
    for (stage = stages; stage < no_stage; stage++)
        for (int end = KILLED; end < ends; end++) {
            bool was_killed = true;
            int call = 0;
            while (was_killed && !check_failures) {
                begin();
                was_killed = killed_at(++call); /* or its end comes after its last draw */
                if (end != KILLED) restore_the_platter(end == WITHOUT_POWER_IN_A_WRITE);
                is_free_and_repeats_nothing();
                if (check_failures) printf("  call %d, end %d\n", call, end);
            }
            CHECK(call > stage->at_least);
        }
}

/* The calls from this one on meet so many errors. */
static struct {
    int from, error, left;
} errors;

static bool meet_an_error(const char *name) {
    if (--errors.from > 0 || !errors.left) return true;
    errors.left--;
    errno = errors.error;
    /* which closes, whatever it returns; and an open file of a local disk can always be examined */
    return strcmp(name, "close") == 0 || strcmp(name, "fstat") == 0;
}

/* Nothing is left open or half done, the number is neither lost nor held twice. False: it makes fewer calls. */
static bool meets_errors(int call, int error, int count) {
    begin();
    const int open_before = descriptors();
    begin_stage();
    errors.from = call, errors.error = error, errors.left = count;
    on_call = meet_an_error;
    const flake_status status = stage->call();
    on_call = NULL;
    if (status != FLAKE_OK && stage->call != do_draw) CHECK(strlen(why.text) > 5);
    if (stage->before == OPEN ? stage->call != do_close : status == FLAKE_OK) { /* it runs */
        CHECK_EQ(init_in(&other, stage_dir(), 1), FLAKE_IN_USE);
        const flake_status drawn = draw_from(&gen);
        CHECK(drawn == FLAKE_OK || (drawn == FLAKE_MISMATCH && status == FLAKE_MISMATCH));
        if (drawn == FLAKE_OK) CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
        CHECK_EQ(flake_close(&gen, NULL), drawn);
    } else CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    CHECK_EQ(descriptors(), open_before);
    is_free_and_repeats_nothing();
    CHECK_EQ(descriptors(), open_before);
    CHECK_EQ(access(path_of("ids/1.slot.new"), F_OK), -1);
    if (check_failures) printf("  call %d, %d times %s\n", call, count, strerror(error));
    return errors.left < count;
}

TEST(an_error_at_each_system_call_loses_no_number) {
    static const int kinds[] = {EIO, ENOSPC, EACCES, EAGAIN, ENOENT};
    for (stage = stages; stage < no_stage; stage++)
        for (size_t e = 0; e < sizeof kinds / sizeof *kinds; e++)
            for (int count = 1; count <= 1000; count += 999) {
                int call = 1;
                while (meets_errors(call, kinds[e], count) && !check_failures) call++;
                CHECK(call > stage->at_least);
            }
}

/* Its name may not be on disk, so the next run syncs the directories before it uses the file. */
TEST(a_run_that_died_before_the_directory_was_synced_leaves_that_to_the_next) {
    for (int at = 2; at <= 3; at++) { /* the file is synced; the directory, too */
        begin();
        IN_KILLED_CHILD {
            trap = (struct trap){.name = "fsync", .from = at, .act = be_killed};
            (void)!init_slot(&gen, 1);
        }
        CHECK(horizon_of(1) > 0);
        CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
        CHECK_STR(disk.log, "OSCOSCwdwd");
        close_it(&gen);
        pass_ms(1);
        disk_begin();
        disk_fail(1, 1); /* the last run's record is written again first */
        CHECK_EQ(init_slot(&gen, 1), FLAKE_IO);
        CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
        CHECK(strchr(disk.log, 'S') == NULL); /* but once */
    }
}

/* ---- what the system reports ---- */

/* From that one of the calls of this name on it fails. */
static flake_status init_with_a_call_refused(const char *call, int at, int error) {
    begin();
    trap = (struct trap){.name = call, .from = at, .n = 1, .error = error};
    return init_slot(&gen, 1);
}

TEST(a_file_system_that_cannot_sync_a_directory_is_one_all_the_same) {
    CHECK_EQ(init_with_a_call_refused("fsync", 1, EINVAL), FLAKE_IO); /* the file must be */
    for (int which = 2; which <= 3; which++) { /* the directory, its parent */
        CHECK_EQ(init_with_a_call_refused("fsync", which, EIO), FLAKE_IO);
        CHECK_EQ(init_with_a_call_refused("fsync", which, EINVAL), FLAKE_OK);
    }
}

/* A parent that this user cannot read was not made by him. */
TEST(a_parent_that_cannot_be_opened_needs_no_sync) {
    CHECK_EQ(init_with_a_call_refused("open", 4, EACCES), FLAKE_OK);
    CHECK_STR(disk.log, "owsrOSC");
    CHECK_EQ(init_with_a_call_refused("open", 3, EACCES), FLAKE_IO);
    CHECK_EQ(access(path_of("1.slot"), F_OK), -1);
}

/* ---- forked children ---- */

/* As in a pid namespace of its own. */
static void fork_while_a_generator_is_open(void) {
    uint64_t id;
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    IN_CHILD {
        CHECK_EQ(flake_next(&gen, &id), FLAKE_FORKED);
        CHECK_EQ(flake_extend(&gen, NULL), FLAKE_INVALID);
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    }
    IN_CHILD CHECK_EQ(init_slot(&other, 1), FLAKE_IN_USE);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    pass_ms(1);
}

TEST(a_child_with_its_parents_pid_has_not_its_number) {
    if (!flake_i_fork_page()) return; /* here only the pid distinguishes them */
    pid_of_all = 42;
    in_child(fork_while_a_generator_is_open);
    has_no_random_bytes = true;
    in_child(fork_while_a_generator_is_open);
    has_no_random_bytes = false;
    pid_of_all = 0;
}

/* By the writing thread. */
static void fork_in_the_middle(void) {
    IN_CHILD {
        pid_of_all++;
        CHECK_EQ(flake_extend(&gen, NULL), FLAKE_INVALID);
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    }
}

TEST(a_child_of_the_writer_is_not_the_writer) {
    pid_of_all = 42;
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    pass_ms(10000);
    trap = (struct trap){.name = "fdatasync", .act = fork_in_the_middle};
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
    CHECK_EQ(trap.calls, 1);
    close_it(&gen);
    pid_of_all = 0;
}

static _Atomic(bool) writes, may_write, has_written; /* of a timer that is still in a write */
static const char *slow_call;

static bool write_slowly(const char *name) {
    if (strcmp(name, "close") == 0) CHECK(atomic_load(&has_written));
    if (strcmp(name, slow_call) != 0 || atomic_exchange(&writes, true)) return true;
    while (!atomic_load(&may_write)) (void)sched_yield();
    atomic_store(&has_written, true);
    return true;
}

static void *extend_it(void *unused) {
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
    atomic_store(&writes, true); /* no thread waits for the unwritten horizon */
    return unused;
}

/* The closing thread sleeps, for the third time. */
static void let_the_timer_write(int64_t ns) {
    if (atomic_load(&our->sleeps) >= 3) atomic_store(&may_write, true);
    (void)sched_yield();
    atomic_fetch_add(&our->now_ns, ns);
}

/* Otherwise it would write to whatever has the descriptor's number by then. */
TEST(a_close_waits_for_who_writes) {
    static const char *const slow_calls[] = {"lseek", "write", "fdatasync"};
    for (int i = 0; i < 6; i++) {
        pthread_t timer;
        begin();
        run(&gen, 1);
        pass_ms(10000); /* the only wait is for the timer */
        atomic_store(&writes, false);
        atomic_store(&may_write, false);
        atomic_store(&has_written, false);
        slow_call = slow_calls[i / 2];
        on_call = write_slowly;
        on_sleep = let_the_timer_write;
        if (pthread_create(&timer, NULL, extend_it, NULL) != 0) abort();
        while (!atomic_load(&writes)) (void)sched_yield();
        if (i % 2) flake_machine_cloned();
        CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
        atomic_store(&may_write, true); /* if it has not slept */
        CHECK_EQ(pthread_join(timer, NULL), 0);
        on_call = NULL;
        on_sleep = NULL;
        CHECK_EQ(init_slot(&other, 1), FLAKE_OK);
        close_it(&other);
    }
}

int main(int argc, char **argv) { return directory_main(argc, argv); }
