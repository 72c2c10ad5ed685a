/* SPDX-License-Identifier: MIT
 *
 * A directory and its files as file system objects: what init makes, links, files of other users, files that are
 * replaced or deleted while in use, network file systems; runs that are killed, meet an error or lose power at
 * each system call of init, extend and close; and how long the next run waits.
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

static flake_status init_in(flake_gen *g, const char *dir) {
    return init_with(g, flake_node_fixed(dir, 1), options_in_scene());
}

static flake_status init_range(flake_gen *g, uint64_t first, uint64_t last) {
    return init_with(g, flake_node_any(our_folder, first, last), options_in_scene());
}

/* ---- the directory ---- */

TEST(a_missing_directory_is_made_and_its_parent_synced) {
    struct stat made;
    CHECK_EQ(init_in(&gen, path_of("ids")), FLAKE_OK);
    CHECK_STR(disk.log, "mowsrOSCOSC");
    CHECK_EQ(strcmp(disk.made, path_of("ids")), 0);
    CHECK((int64_t)gen.claim.horizon_ns <= disk.lasting); /* both names are on disk */
    CHECK_EQ(stat(path_of("ids"), &made), 0);
    CHECK(S_ISDIR(made.st_mode) && (made.st_mode & 0777) == 0700);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
}

/* Another process has made it, and died before it synced its parent. */
TEST(a_directory_that_is_new_is_synced_by_who_makes_a_file_in_it) {
    CHECK_EQ((mkdir)(path_of("ids"), 0700), 0);
    CHECK_EQ(init_in(&gen, path_of("ids")), FLAKE_OK);
    CHECK_STR(disk.log, "owsrOSCOSC");
    CHECK_EQ(strcmp(disk.folder_path, path_of("")), 0); /* the last one that was synced */
}

TEST(slashes_at_the_end_of_a_directory_do_not_hide_its_parent) {
    CHECK_EQ(init_in(&gen, path_of("ids//")), FLAKE_OK);
    CHECK_EQ(strcmp(disk.made, path_of("ids")), 0);
    CHECK_EQ(strcmp(disk.folder_path, path_of("")), 0);
}

TEST(parents_are_never_made) {
    CHECK_EQ(init_in(&gen, path_of("parent/ids")), FLAKE_IO);
    CHECK(strstr(why.text, ": cannot be created: ") && strstr(why.text, strerror(ENOENT)));
    CHECK_EQ(access(path_of("parent"), F_OK), -1);
    CHECK_STR(disk.log, "m");
    CHECK_EQ((mkdir)(path_of("parent"), 0700), 0);
    CHECK_EQ(init_in(&gen, path_of("parent/ids")), FLAKE_OK);
}

TEST(a_file_is_no_directory) {
    write_file(path_of("ids"), (const uint8_t *)"text", 4);
    CHECK_EQ(init_in(&gen, path_of("ids")), FLAKE_IO);
    CHECK(strstr(why.text, strerror(ENOTDIR)));
    CHECK_EQ(symlink("nowhere", path_of("link")), 0); /* nor is a link to nothing */
    CHECK_EQ(init_in(&gen, path_of("link")), FLAKE_IO);
    CHECK_EQ(access(path_of("nowhere"), F_OK), -1);
}

static const char *name_to_try;

static void find_it_taken(void) {
    EXPECT(init_in(&other, name_to_try) == FLAKE_IN_USE);
    EXPECT(strstr(why.text, "in use") != NULL);
    EXPECT(flake_close(&other, NULL) == FLAKE_OK);
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
        CHECK_EQ(init_in(&gen, path_of(names[i])), FLAKE_OK);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            name_to_try = path_of(names[k]);
            find_it_taken();
        }
        name_to_try = ".";
        child_is_well(find_it_taken);
        name_to_try = "../ids/";
        child_is_well(find_it_taken);
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
    CHECK_EQ(init_in(&gen, name), FLAKE_OK);
    memset(name, 'x', 3);
    CHECK_EQ((mkdir)("elsewhere", 0700), 0); /* here there may be an "ids" */
    CHECK_EQ(chdir("elsewhere"), 0);
    for (int i = 0; i < 100; i++, pass_ms(100)) CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK(record_at(path_of("ids/1.slot")).horizon_ns > scene_ns());
    CHECK(strstr(gen.claim.path, path_of("ids/1.slot")) == gen.claim.path);
    close_it(&gen);
    CHECK_EQ(access("ids", F_OK), -1);
    CHECK_EQ(rmdir(path_of("elsewhere")), 0); /* there is no working directory */
    CHECK_EQ(init_in(&gen, "ids"), FLAKE_INVALID);
    CHECK_EQ(chdir(was), 0);
}

static void give_up_root_and_rights(void) {
    EXPECT(init_slot(&gen, 1) == FLAKE_OK);
    EXPECT(draw_from(&gen) == FLAKE_OK);
    EXPECT(chroot(path_of("cage")) == 0 && chdir("/") == 0);
    EXPECT(setgid(65534) == 0 && setuid(65534) == 0);
    for (int i = 0; i < 10; i++, pass_ms(2000)) EXPECT(draw_from(&gen) == FLAKE_OK);
    EXPECT(flake_extend(&gen, NULL) == FLAKE_OK);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
}

/* Whether the file is still there is asked of its descriptor. */
TEST(a_program_may_change_its_root_and_user) {
    if (geteuid() != 0) {
        printf("  skipped: needs root\n");
        return;
    }
    CHECK_EQ((mkdir)(path_of("cage"), 0700), 0);
    child_is_well(give_up_root_and_rights);
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

TEST(a_file_with_two_names_is_refused) {
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    close_it(&gen);
    pass_ms(1);
    CHECK_EQ(link(path_of("1.slot"), path_of("hard")), 0);
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

static void is_foreign_to_another_user(void) {
    EXPECT(setgid(65534) == 0 && setuid(65534) == 0);
    is_foreign();
    if (check_failures) trouble(__FILE__, __LINE__, "another user");
}

TEST(files_of_other_users_are_refused) {
    if (geteuid() != 0) {
        printf("  skipped: needs root\n");
        return;
    }
    for (unsigned mode = 0600; mode <= 0666; mode += 066) {
        begin();
        CHECK_EQ(chmod(home, 0755), 0);
        CHECK_EQ(chmod(our_folder, 01777), 0);
        CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
        close_it(&gen);
        pass_ms(1);
        CHECK_EQ(chmod(path_of("1.slot"), (mode_t)mode), 0);
        child_is_well(is_foreign_to_another_user);
        CHECK_EQ(chown(path_of("1.slot"), 65534, 65534), 0); /* root could open it */
        CHECK_EQ(unlink(path_of("2.slot")), 0);
        is_foreign();
    }
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

static void make_another(void) { /* of the same number, elsewhere */
    CHECK_EQ(init_in(&other, path_of("another")), FLAKE_OK);
    close_it(&other);
}

static void is_lost(void (*lose)(void)) {
    uint64_t id;
    begin();
    make_another();
    pass_ms(1);
    const int64_t anothers = record_at(path_of("another/1.slot")).horizon_ns;
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    lose();
    pass_ms(1000);
    CHECK_EQ(draw_from(&gen), FLAKE_OK); /* there is nothing to write yet */
    pass_ms(1000);
    FAILS(flake_next(&gen, &id), FLAKE_MISMATCH, id);
    CHECK_EQ(flake_extend(&gen, &why), FLAKE_MISMATCH);
    CHECK(why_is_of(1) && strstr(why.text, "was changed, removed or closed"));
    FAILS(flake_try(&gen, &id), FLAKE_MISMATCH, id);
    CHECK_EQ(flake_close(&gen, &why), FLAKE_MISMATCH);
    CHECK(why_is_of(1));
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    if (access(path_of("1.slot"), F_OK) == 0) CHECK_EQ(horizon_of(1), anothers);
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    pass_ms(1);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
}

static void replace_it(void) { CHECK_EQ(rename(path_of("another/1.slot"), path_of("1.slot")), 0); }

static void delete_it(void) { CHECK_EQ(unlink(path_of("1.slot")), 0); }

static void delete_all(void) {
    delete_it();
    CHECK_EQ(rename(our_folder, path_of("../gone")), 0);
    CHECK_EQ((mkdir)(our_folder, 0700), 0);
}

TEST(a_file_that_is_no_longer_there_ends_the_ids) {
    is_lost(replace_it);
    is_lost(delete_it);
    is_lost(delete_all);
}

/* A daemon closes all descriptors, and the next file that it opens gets the number's. */
TEST(a_descriptor_that_is_anothers_by_now_is_not_written_to) {
    uint8_t bytes[16];
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    const int fd = gen.claim.file.fd;
    write_file(path_of("mine"), (const uint8_t *)"mine", 4);
    const int mine = open(path_of("mine"), O_RDWR);
    CHECK_EQ(dup2(mine, fd), fd);
    (void)close(mine);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_MISMATCH);
    pass_ms(60000);
    CHECK_EQ(draw_from(&gen), FLAKE_MISMATCH);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_MISMATCH);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0); /* nor closed */
    CHECK_EQ(read(fd, bytes, sizeof bytes), 4);
    (void)close(fd);
}

/* ---- files that are changed in place, and descriptors that get another owner ---- */

static uint8_t earlier[FLAKE_I_FILE];

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

static void is_lost_in_place(void (*change)(void), bool manual_extend) {
    uint8_t before[FLAKE_I_FILE], changed[FLAKE_I_FILE], after[FLAKE_I_FILE];
    flake_options o = options_in_scene();
    begin();
    make_another();
    o.manual_extend = manual_extend;
    CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
    CHECK_EQ(read_file(path_of("1.slot"), earlier, sizeof earlier), sizeof earlier);
    pass_ms(1600);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK_EQ(read_file(path_of("1.slot"), before, sizeof before), sizeof before);
    change();
    memset(changed, 0, sizeof changed);
    memset(after, 0, sizeof after);
    const size_t n = read_file(path_of("1.slot"), changed, sizeof changed);
    pass_ms(1600); /* within the horizon, but an extension is due */
    if (manual_extend) CHECK_EQ(flake_extend(&gen, NULL), FLAKE_MISMATCH);
    CHECK_EQ(draw_from(&gen), FLAKE_MISMATCH);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_MISMATCH);
    CHECK_EQ(read_file(path_of("1.slot"), after, sizeof after), n);
    CHECK(memcmp(after, changed, sizeof after) == 0);
    write_file(path_of("1.slot"), before, sizeof before); /* it stays lost */
    CHECK_EQ(draw_from(&gen), FLAKE_MISMATCH);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_MISMATCH);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_MISMATCH);
    CHECK_EQ(read_file(path_of("1.slot"), after, sizeof after), sizeof after);
    CHECK(memcmp(after, before, sizeof after) == 0);
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK); /* the lock is free */
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
}

TEST(a_file_changed_in_place_ends_the_ids) {
    static void (*const changes[])(void) = {cut_all,      cut_a_record,       put_an_earlier_one,
                                            put_anothers, put_a_later_record, change_a_byte};
    for (size_t i = 0; i < 2 * sizeof changes / sizeof *changes; i++)
        is_lost_in_place(changes[i / 2], i % 2);
}

TEST(a_close_notices_a_changed_file) {
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    cut_all();
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_MISMATCH);
    CHECK_EQ(init_slot(&other, 1), FLAKE_CORRUPT);
}

static const char *failing_call;
static bool fail_that(const char *name) {
    errno = EIO;
    return strcmp(name, failing_call) != 0;
}

/* Neither may change the newest record, nor count as a change by another process. */
TEST(a_call_that_fails_for_a_while_loses_nothing) {
    static const char *const names[] = {"fstat", "read", "lseek", "write", "fdatasync"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        begin();
        CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
        failing_call = names[i];
        on_call = fail_that;
        pass_ms(2900);
        CHECK_EQ(flake_extend(&gen, &why), FLAKE_IO);
        CHECK(why_is_of(1) && strstr(why.text, strerror(EIO)));
        CHECK_EQ(draw_from(&gen), FLAKE_OK);
        pass_ms(200);
        CHECK_EQ(draw_from(&gen), FLAKE_IO);
        on_call = NULL;
        CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
        CHECK_EQ(draw_from(&gen), FLAKE_OK);
    }
}

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

/* A new file is made beside its name, with the suffix .new, where another file may exist. */
TEST(what_stands_beside_the_file_is_not_taken) {
    write_file(path_of("1.slot.new"), (const uint8_t *)"a letter", 8);
    CHECK_EQ(init_slot(&gen, 1), FLAKE_MISMATCH);
    CHECK(strstr(why.text, ".new") != NULL);
    uint8_t letter[9];
    CHECK_EQ(read_file(path_of("1.slot.new"), letter, 9), 8);
    CHECK_EQ(memcmp(letter, "a letter", 8), 0);
    CHECK_EQ(access(path_of("1.slot"), F_OK), -1);
}

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
            CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
            CHECK_EQ(draw_from(&gen), FLAKE_OK);
            CHECK_EQ(record_of(1).number, 1);
            CHECK_EQ(access(path_of("1.slot.new"), F_OK), -1);
        }
}

static bool reads_fail(const char *name) {
    errno = EIO;
    return strcmp(name, "read") != 0;
}

TEST(a_new_file_that_cannot_be_read_is_no_foreign_file) {
    on_call = reads_fail;
    CHECK_EQ(init_slot(&gen, 1), FLAKE_IO);
    on_call = NULL;
    CHECK(strstr(why.text, "cannot be created: ") != NULL);
}

/* Another file replaces the number's between two system calls of an init. */
static int calls, swap_at;
static bool swaps_again;

static bool swap_here(const char *name) {
    (void)name;
    if (++calls != swap_at) return true;
    on_call = NULL;
    CHECK_EQ(rename(path_of("another/1.slot"), path_of("1.slot")), 0);
    return true;
}

/* Claims the number while "another" replaces its file; false: an init makes fewer calls than that. */
static bool swapped_meanwhile(flake_status *status) {
    calls = 0;
    on_call = swap_here;
    *status = init_slot(&gen, 1);
    const bool swapped = on_call == NULL;
    on_call = NULL;
    return swapped;
}

/* The generator has either the file that is there now, or notices at its next write. */
static void has_or_loses_it(flake_status status) {
    struct stat there;
    CHECK_EQ(stat(path_of("1.slot"), &there), 0);
    const bool has_it = gen.claim.file.inode == (uint64_t)there.st_ino;
    pass_ms(5000);
    if (status == FLAKE_OK) CHECK_EQ(flake_extend(&gen, NULL), has_it ? FLAKE_OK : FLAKE_MISMATCH);
    if (status == FLAKE_OK && has_it) CHECK_EQ(init_slot(&other, 1), FLAKE_IN_USE);
    (void)flake_close(&gen, NULL);
}

TEST(a_file_put_in_the_place_meanwhile_is_the_one_that_is_locked) {
    bool swapped = true;
    for (swap_at = 1; swapped && !check_failures; swap_at++) {
        flake_status status;
        begin();
        make_another();
        CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
        close_it(&gen);
        pass_ms(1);
        const uint64_t open_before = (uint64_t)descriptors();
        swapped = swapped_meanwhile(&status);
        if (swap_at <= 7) CHECK_EQ(status, FLAKE_OK); /* up to the stat of the locked file */
        CHECK(status == FLAKE_OK || status == FLAKE_MISMATCH || status == FLAKE_IO);
        has_or_loses_it(status);
        CHECK_EQ(descriptors(), open_before);
    }
    CHECK(swap_at > 12);
}

/* Another process makes the file while this one is about to. */
TEST(a_file_made_meanwhile_is_continued_from) {
    bool swapped = true;
    for (swap_at = 1; swapped && !check_failures; swap_at++) {
        flake_status status;
        begin();
        make_another();
        swapped = swapped_meanwhile(&status);
        CHECK_EQ(access(path_of("1.slot.new"), F_OK), -1);
        has_or_loses_it(status);
    }
    CHECK(swap_at > 14);
}

static int swaps_left;
static bool swap_often(const char *name) {
    if (swaps_again || strcmp(name, "fcntl") != 0 || swaps_left-- <= 0) return true;
    swaps_again = true;
    const uint8_t byte = 'x';
    write_file(path_of("fresh"), &byte, 1);
    CHECK_EQ(rename(path_of("fresh"), path_of("1.slot")), 0);
    swaps_again = false;
    return true;
}

TEST(a_file_that_is_replaced_for_ever_is_refused) {
    const int before = descriptors();
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    close_it(&gen);
    on_call = swap_often;
    swaps_left = 100000;
    CHECK_EQ(init_slot(&gen, 1), FLAKE_IN_USE);
    swaps_left = 1; /* and after one exchange the file is of no number */
    CHECK_EQ(init_slot(&gen, 1), FLAKE_MISMATCH);
    on_call = NULL;
    CHECK_EQ(descriptors(), before);
}

/* ---- killed, or an error, or a power cut, at each system call ---- */

static const struct stage {
    const char *name;
    bool has_file, runs; /* before the call: a file exists, the generator is initialised */
    int at_least;        /* system calls of it */
} stages[] = {{"init, with a new directory", false, false, 20},
              {"init, with a file", true, false, 20},
              {"extend", true, true, 7},
              {"close", true, true, 10}};
enum { stages_count = sizeof stages / sizeof *stages };
static const struct stage *stage;

static const char *stage_dir(void) { return path_of("ids"); }
static const char *stage_file(void) { return path_of("ids/1.slot"); }

static flake_status do_stage(void) {
    const size_t which = (size_t)(stage - stages);
    return which < 2   ? init_in(&gen, stage_dir())
           : which < 3 ? flake_extend(&gen, &why)
                       : flake_close(&gen, &why);
}

/* Up to the call. */
static void begin_stage(void) {
    if (stage->has_file) {
        EXPECT(init_in(&gen, stage_dir()) == FLAKE_OK);
        EXPECT(draw_from(&gen) == FLAKE_OK);
        pass_ms(1600);
        EXPECT(draw_from(&gen) == FLAKE_OK); /* both records are in use */
        EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
        pass_ms(1);
    }
    if (stage->runs) {
        EXPECT(init_in(&gen, stage_dir()) == FLAKE_OK);
        for (int i = 0; i < 5; i++, pass_ms(300)) EXPECT(draw_from(&gen) == FLAKE_OK);
        pass_ms(2000); /* past the horizon */
    }
    disk_begin();
    calls = 0;
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

static int end_at; /* the call, from 1 */

static bool store_and_end_here(const char *name) {
    store_last_call();
    (void)snprintf(platter->last_call, sizeof platter->last_call, "%s", name);
    if (++calls == end_at) be_killed();
    return true;
}

static void run_and_be_killed(void) {
    begin_stage();
    platter->has_file = read_file(stage_file(), platter->bytes, FLAKE_I_FILE) == FLAKE_I_FILE;
    on_call = store_and_end_here;
    const flake_status status = do_stage();
    EXPECT(status == FLAKE_OK);
    if (stage < stages + 3) /* until the close has returned, it may draw */
        for (int i = 0; i < 100; i++, pass_ms(10)) EXPECT(draw_from(&gen) == FLAKE_OK);
    store_last_call();
}

/* False: the stage makes fewer calls, and has ended well. */
static bool killed_at(int call) {
    if (!platter) platter = (struct platter *)map_shared("platter", sizeof *platter);
    memset(platter, 0, sizeof *platter);
    end_at = call;
    const int status = in_child(run_and_be_killed);
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
    CHECK_EQ(init_in(&gen, stage_dir()), FLAKE_OK);
    if (check_failures) printf("  %s, call %d: %s\n", stage->name, end_at, why.text);
    CHECK_EQ(init_in(&other, stage_dir()), FLAKE_IN_USE);
    for (int i = 0; i < 10; i++, pass_ms(1000)) CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK_EQ(repeated(), 0);
    close_it(&gen);
}

TEST(killed_at_each_system_call_a_run_repeats_nothing) {
    for (stage = stages; stage < stages + stages_count; stage++) {
        bool was_killed = true;
        int call = 0;
        while (was_killed && !check_failures) {
            begin();
            was_killed = killed_at(++call);
            disk_begin();
            is_free_and_repeats_nothing();
        }
        CHECK(call > stage->at_least);
    }
}

/* The power fails before the call. */
static void restore_the_platter(bool tears) {
    uint8_t now[FLAKE_I_FILE];
    const bool is_there = read_file(stage_file(), now, sizeof now) == FLAKE_I_FILE;
    for (size_t at = 512; at < FLAKE_I_FILE && tears && is_there && platter->has_file; at += 4096)
        if (memcmp(platter->bytes + at, now + at, FLAKE_I_RECORD) != 0)
            memcpy(platter->bytes + at, now + at, FLAKE_I_RECORD / 2);
    if (platter->has_file) write_file(stage_file(), platter->bytes, FLAKE_I_FILE);
    else (void)unlink(stage_file());
}

TEST(without_power_at_each_system_call_a_run_repeats_nothing) {
    for (stage = stages; stage < stages + stages_count; stage++)
        for (int tears = 0; tears < 2; tears++) {
            bool was_killed = true;
            int call = 0;
            while (was_killed && !check_failures) {
                begin();
                was_killed = killed_at(++call); /* or the power fails after its last draw */
                disk_begin();
                restore_the_platter(tears);
                is_free_and_repeats_nothing();
            }
            CHECK(call > stage->at_least);
        }
}

static int error_to_meet, errors_left;

static bool meet_an_error(const char *name) {
    if (++calls < end_at || !errors_left) return true;
    errors_left--;
    errno = error_to_meet;
    /* which closes, whatever it returns; and an open file of a local disk can always be examined */
    return strcmp(name, "close") == 0 || strcmp(name, "fstat") == 0;
}

/* Nothing is left open or half done, the number is neither lost nor held twice. */
static void meets_errors(int call, int error, int count) {
    begin();
    const int open_before = descriptors();
    begin_stage();
    end_at = call;
    error_to_meet = error;
    errors_left = count;
    on_call = meet_an_error;
    const flake_status status = do_stage();
    on_call = NULL;
    const bool runs = stage->runs ? stage < stages + 3 : status == FLAKE_OK;
    if (status != FLAKE_OK) CHECK(strlen(why.text) > 5);
    if (runs) {
        CHECK_EQ(init_in(&other, stage_dir()), FLAKE_IN_USE);
        const flake_status drawn = draw_from(&gen);
        CHECK(drawn == FLAKE_OK || (drawn == FLAKE_MISMATCH && status == FLAKE_MISMATCH));
        if (drawn == FLAKE_OK) CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
        CHECK_EQ(flake_close(&gen, NULL), drawn);
    } else CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
    CHECK_EQ(descriptors(), open_before);
    is_free_and_repeats_nothing();
    CHECK_EQ(descriptors(), open_before);
    CHECK_EQ(access(path_of("ids/1.slot.new"), F_OK), -1);
}

TEST(an_error_at_each_system_call_loses_no_number) {
    static const int errors[] = {EIO, ENOSPC, EACCES, EAGAIN, ENOENT};
    for (stage = stages; stage < stages + stages_count; stage++)
        for (size_t e = 0; e < sizeof errors / sizeof *errors; e++)
            for (int count = 1; count <= 1000; count += 999) {
                errors_left = 0;
                for (int call = 1; !errors_left && !check_failures; call++) {
                    meets_errors(call, errors[e], count);
                    if (check_failures)
                        printf("  %s, call %d, %s\n", stage->name, call, strerror(errors[e]));
                    if (errors_left == count) break; /* it makes fewer calls */
                    errors_left = 0;
                    CHECK(call < 1000);
                }
            }
}

static const char *call_meant; /* NULL: any */
static int calls_before;       /* of those, without the intended one */

static bool is_meant(const char *name) {
    return (!call_meant || strcmp(name, call_meant) == 0) && !calls_before--;
}

static bool kill_here(const char *name) {
    if (is_meant(name)) be_killed();
    return true;
}

static void init_and_be_killed(void) {
    on_call = kill_here;
    (void)!init_slot(&gen, 1);
}

/* Its name may not be on disk, so the next run syncs the directories before it uses the file. */
TEST(a_run_that_died_before_the_directory_was_synced_leaves_that_to_the_next) {
    call_meant = "fsync";
    for (int synced = 1; synced <= 2; synced++) { /* the file, the directory */
        begin();
        calls_before = synced;
        child_is_killed(init_and_be_killed);
        CHECK(horizon_of(1) > 0);
        disk_begin();
        CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
        CHECK_STR(disk.log, "OSCOSCwdwd");
        close_it(&gen);
        pass_ms(1);
        disk_begin();
        CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
        CHECK(strchr(disk.log, 'S') == NULL); /* but once */
    }
}

/* ---- what the system reports ---- */

static int refused_with;

static bool refuse_here(const char *name) {
    if (!is_meant(name)) return true;
    errno = refused_with;
    return false;
}

static flake_status init_with_a_call_refused(const char *call, int before, int error) {
    begin();
    call_meant = call;
    refused_with = error;
    calls_before = before;
    on_call = refuse_here;
    const flake_status status = init_slot(&gen, 1);
    on_call = NULL;
    return status;
}

TEST(a_file_system_that_cannot_sync_a_directory_is_one_all_the_same) {
    CHECK_EQ(init_with_a_call_refused("fsync", 0, EINVAL), FLAKE_IO); /* the file must be */
    for (int which = 1; which <= 2; which++) { /* the directory, its parent */
        CHECK_EQ(init_with_a_call_refused("fsync", which, EIO), FLAKE_IO);
        CHECK_EQ(init_with_a_call_refused("fsync", which, EINVAL), FLAKE_OK);
    }
}

/* A parent that this user cannot read was not made by him. */
TEST(a_parent_that_cannot_be_opened_needs_no_sync) {
    CHECK_EQ(init_with_a_call_refused("open", 3, EACCES), FLAKE_OK);
    CHECK_STR(disk.log, "owsrOSC");
    CHECK_EQ(init_with_a_call_refused("open", 2, EACCES), FLAKE_IO);
    CHECK_EQ(access(path_of("1.slot"), F_OK), -1);
}

/* ---- forked children ---- */

/* A child with its parent's pid, as in a pid namespace of its own. */
static void drop_the_parents(void) {
    uint64_t id;
    EXPECT(flake_next(&gen, &id) == FLAKE_FORKED);
    EXPECT(flake_extend(&gen, NULL) == FLAKE_INVALID);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
}

static void find_the_parents_taken(void) { EXPECT(init_slot(&other, 1) == FLAKE_IN_USE); }

static void fork_while_a_generator_is_open(void) {
    EXPECT(init_slot(&gen, 1) == FLAKE_OK);
    EXPECT(in_child(drop_the_parents) == 0);
    EXPECT(in_child(find_the_parents_taken) == 0);
    EXPECT(draw_from(&gen) == FLAKE_OK);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
    pass_ms(1);
}

TEST(a_child_with_its_parents_pid_has_not_its_number) {
    if (!flake_i_fork_page()) return; /* here only the pid distinguishes them */
    pid_of_all = 42;
    child_is_well(fork_while_a_generator_is_open);
    has_no_random_bytes = true;
    child_is_well(fork_while_a_generator_is_open);
    has_no_random_bytes = false;
    pid_of_all = 0;
}

/* A child forked in the middle of its parent's write, by the writing thread. */
static void be_another_than_the_writer(void) {
    pid_of_all++;
    EXPECT(flake_extend(&gen, NULL) == FLAKE_INVALID);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
}

static bool fork_at_the_sync(const char *name) {
    if (strcmp(name, "fdatasync") != 0) return true;
    on_call = NULL;
    child_is_well(be_another_than_the_writer);
    return true;
}

TEST(a_child_of_the_writer_is_not_the_writer) {
    pid_of_all = 42;
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    pass_ms(10000);
    on_call = fork_at_the_sync;
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
    CHECK(!on_call);
    close_it(&gen);
    pid_of_all = 0;
}

static wire childs_end;

static void keep_what_is_inherited(void) { (void)await_word(&childs_end); }

/* A child that shares the descriptor does not hold the lock once its parent has closed the generator. */
TEST(a_number_that_is_closed_is_free_though_a_child_has_it_open) {
    childs_end = new_line();
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    const pid_t child = start_child(keep_what_is_inherited);
    close_it(&gen);
    pass_ms(1);
    CHECK_EQ(init_slot(&other, 1), FLAKE_OK);
    close_it(&other);
    tell(&childs_end);
    CHECK_EQ(end_of(child), 0);
    hang_up(&childs_end);
}

static void have_a_child_and_be_killed(void) {
    EXPECT(init_slot(&gen, 1) == FLAKE_OK);
    EXPECT(draw_from(&gen) == FLAKE_OK);
    (void)start_child(keep_what_is_inherited);
    be_killed();
}

/* The lock is the child's, too. */
TEST(a_number_is_taken_until_the_last_child_has_ended) {
    flake_options o = options_in_scene();
    childs_end = new_line();
    child_is_killed(have_a_child_and_be_killed);
    CHECK_EQ(init_slot(&gen, 1), FLAKE_IN_USE);
    tell(&childs_end);
    hang_up(&childs_end);
    o.claim_wait_ms = 100000000;
    o.no_wait = true;
    for (int i = 0; i < 1000 && flake_init(&gen, slot(1), &o, NULL) != FLAKE_OK; i++)
        (void)usleep(1000); /* it ends in its own time */
    CHECK_EQ(flake_gen_node(&gen), 1);
}

/* ---- a timer that is still in a write ---- */

static _Atomic(bool) writes, may_write, has_written, has_ended;
static const char *slow_call;
static flake_status extended;
static flake_why extended_why;

static bool write_slowly(const char *name) {
    if (strcmp(name, "close") == 0) CHECK(atomic_load(&has_written));
    if (strcmp(name, slow_call) != 0 || atomic_exchange(&writes, true)) return true;
    while (!atomic_load(&may_write)) (void)sched_yield();
    atomic_store(&has_written, true);
    return true;
}

static void *extend_it(void *unused) {
    extended = flake_extend(&gen, &extended_why);
    atomic_store(&writes, true); /* no thread waits for the unwritten horizon */
    atomic_store(&has_ended, true);
    return unused;
}

static void let_the_timer_end(int64_t ns) {
    atomic_store(&may_write, true);
    while (!atomic_load(&has_ended)) (void)sched_yield();
    pass_ms(ns / a_ms + 1);
}

static pthread_t begin_a_slow_extension(const char *call) {
    pthread_t timer;
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    pass_ms(10000); /* the only wait is for the timer */
    atomic_store(&writes, false);
    atomic_store(&may_write, false);
    atomic_store(&has_written, false);
    atomic_store(&has_ended, false);
    slow_call = call;
    on_call = write_slowly;
    on_sleep = let_the_timer_end;
    if (pthread_create(&timer, NULL, extend_it, NULL) != 0) abort();
    while (!atomic_load(&writes)) (void)sched_yield();
    return timer;
}

static void end_the_extension(pthread_t timer) {
    atomic_store(&may_write, true);
    CHECK_EQ(pthread_join(timer, NULL), 0);
    on_call = NULL;
    on_sleep = NULL;
}

/* Otherwise it would write to whatever has the descriptor's number by then. */
TEST(a_close_waits_for_who_writes) {
    static const char *const slow_calls[] = {"lseek", "write", "fdatasync"};
    for (size_t i = 0; i < 3; i++)
        for (int cloned = 0; cloned < 2; cloned++) {
            begin();
            const pthread_t timer = begin_a_slow_extension(slow_calls[i]);
            if (cloned) flake_machine_cloned();
            CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
            end_the_extension(timer);
            CHECK_EQ(extended, FLAKE_OK);
            CHECK_EQ(init_slot(&other, 1), FLAKE_OK);
            close_it(&other);
        }
}

/* ---- how long the next run waits ---- */

static void draw_ahead(flake_options o, int64_t max_ahead_ms) {
    uint64_t id;
    o.max_ahead_ms = max_ahead_ms;
    CHECK_EQ(init_with(&gen, slot(1), o), FLAKE_OK);
    while (flake_try(&gen, &id) == FLAKE_OK) note(id);
}

TEST(a_run_waits_for_the_last_id_and_no_longer) {
    const flake_options o = options_of_flake(0, 1, scene_clock, NULL);
    for (int64_t ahead_ms = 0; ahead_ms <= 15000; ahead_ms += 15000) {
        begin();
        draw_ahead(o, ahead_ms);
        CHECK_EQ(newest_ms(), start_ms + ahead_ms);
        close_it(&gen);
        draw_ahead(o, ahead_ms);
        const int64_t slept_ns = atomic_load(&our->slept_ns);
        CHECK(slept_ns >= ahead_ms * a_ms);
        CHECK(slept_ns <= (ahead_ms + 1) * a_ms); /* the unit in which it has drawn */
    }
}

/* ---- programs started meanwhile ---- */

#ifdef O_CLOEXEC
static unsigned kept_on_exec(void) {
    unsigned n = 0;
    for (int fd = 0; fd < 256; fd++) n += (fcntl)(fd, F_GETFD) == 0;
    return n;
}

static unsigned kept_before;

static bool keep_no_more(const char *name) {
    if (kept_on_exec() > kept_before) trouble(__FILE__, __LINE__, name);
    return true;
}

static void run_watched(void) {
    kept_before = kept_on_exec();
    on_call = keep_no_more;
    EXPECT(init_slot(&gen, 1) == FLAKE_OK);
    EXPECT(init_sno(&sno, flake_node_any(our_folder, 1, 2), NULL) == FLAKE_OK);
    pass_ms(4000);
    EXPECT(flake_extend(&gen, NULL) == FLAKE_OK);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
    EXPECT(flake_close(&sno.gen, NULL) == FLAKE_OK);
}

static void run_watched_without_an_input(void) {
    (void)(close)(STDIN_FILENO); /* its number is free for a file */
    run_watched();
}

TEST(a_program_started_at_any_call_gets_no_descriptor) {
    child_is_well(run_watched);
    pass_ms(1);
    child_is_well(run_watched_without_an_input);
}
#endif

int main(int argc, char **argv) { return directory_main(argc, argv); }
