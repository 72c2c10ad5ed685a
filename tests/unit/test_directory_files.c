/* SPDX-License-Identifier: MIT
 *
 * State files as file system objects: links, files that are replaced or deleted while open, files
 * of version 0.1.0, states that are opened again; and how long the next run waits.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include "scene.h"
static pid_t pid_of_all; /* 0: each process has its own */
static pid_t pid_here(void) { return pid_of_all ? pid_of_all : getpid(); }
#define getpid() pid_here()
static bool has_no_random_bytes;
#define FLAKE_RANDOM_BYTES(to, n) (!has_no_random_bytes && flake_i_system_random(to, n))
#include "scripted_state.h"

static flake_state other;

/* ---- one file under several names ---- */

static const char *name_to_try;

static void find_it_taken(void) {
    EXPECT(open_at(&other, name_to_try) == FLAKE_IN_USE);
    EXPECT(strstr(why.text, "in use") != NULL);
}

static bool is_link(const char *name) {
    struct stat file;
    return lstat(path_of(name), &file) == 0 && S_ISLNK(file.st_mode);
}

TEST(all_names_of_a_file_are_one) {
    static const char *const names[] = {"ids",        "link",  "chain",      "hard",
                                        "sub/../ids", "./ids", "folder/ids", "folder/hard"};
    CHECK_EQ(mkdir(path_of("sub"), 0777), 0);
    CHECK_EQ(symlink(".", path_of("folder")), 0);
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    close_it(&state);
    CHECK_EQ(symlink("ids", path_of("link")), 0);
    CHECK_EQ(symlink(path_of("link"), path_of("chain")), 0);
    CHECK_EQ(link(path_of("ids"), path_of("hard")), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pass_ms(1);
        CHECK_EQ(open_at(&state, names[i]), FLAKE_OK);
        CHECK_EQ(start_on(&gen, &state), FLAKE_OK);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            name_to_try = names[k];
            find_it_taken();
            child_is_well(find_it_taken);
        }
        for (int draws = 0; draws < 10; draws++, pass_ms(2000)) CHECK_EQ(draw(), FLAKE_OK);
        close_it(&state);
    }
    struct stat file, same;
    CHECK(is_link("link") && is_link("chain"));
    CHECK_EQ(lstat(path_of("ids"), &file), 0);
    CHECK_EQ(lstat(path_of("hard"), &same), 0);
    CHECK(S_ISREG(file.st_mode) && file.st_nlink == 2 && file.st_ino == same.st_ino);
}

/* A link's target may be created under its own name. */
TEST(a_link_to_nothing_is_not_replaced) {
    CHECK_EQ(symlink("ids", path_of("link")), 0);
    CHECK_EQ(open_at(&state, "link"), FLAKE_IO);
    CHECK(why_is_of("link"));
    CHECK(is_link("link"));
    CHECK(access(path_of("link.new"), F_OK) != 0);
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    CHECK_EQ(open_at(&other, "link"), FLAKE_IN_USE);
}

/* ---- files that are replaced ---- */

static void is_lost(void (*lose)(void)) {
    begin();
    CHECK_EQ(open_at(&other, "another"), FLAKE_OK);
    close_it(&other);
    const int64_t anothers = horizon_at("another");
    CHECK_EQ(open_and_start(), FLAKE_OK);
    CHECK_EQ(draw(), FLAKE_OK);
    lose();
    pass_ms(2900);
    CHECK_EQ(draw(), FLAKE_OK); /* up to the horizon on disk */
    pass_ms(200);
    CHECK_EQ(draw(), FLAKE_IO);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_IO);
    CHECK_EQ(draw(), FLAKE_IO);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_IO);
    if (access(path_of("ids"), F_OK) == 0) CHECK_EQ(horizon_at("ids"), anothers);
}

static void replace_it(void) { CHECK_EQ(rename(path_of("another"), path_of("ids")), 0); }
static void delete_it(void) { CHECK_EQ(unlink(path_of("ids")), 0); }
static void move_it(void) { CHECK_EQ(rename(path_of("ids"), path_of("elsewhere")), 0); }

TEST(a_file_that_is_no_longer_there_ends_the_ids) {
    is_lost(replace_it);
    is_lost(delete_it);
    is_lost(move_it);
}

/* A daemon closes all descriptors, and the next file that it opens gets the state's number. */
TEST(a_descriptor_that_is_anothers_by_now_is_not_written_to) {
    uint8_t bytes[16];
    CHECK_EQ(open_and_start(), FLAKE_OK);
    CHECK_EQ(draw(), FLAKE_OK);
    const int fd = state.file.fd;
    write_file(path_of("mine"), (const uint8_t *)"mine", 4);
    const int mine = open(path_of("mine"), O_RDWR);
    CHECK_EQ(dup2(mine, fd), fd);
    (void)close(mine);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_IO);
    pass_ms(60000);
    CHECK_EQ(draw(), FLAKE_IO);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_EQ(read(fd, bytes, sizeof bytes), 4);
    (void)flake_state_close(&state, NULL);
    (void)close(fd);
    memset(&state, 0, sizeof state);
}

/* ---- files that are changed in place, and descriptors that get another owner ---- */

static uint8_t earlier[8192];

static void cut_all(void) { CHECK_EQ(truncate(path_of("ids"), 0), 0); }
static void cut_a_record(void) { CHECK_EQ(truncate(path_of("ids"), 4096 + 512 + 100), 0); }
static void put_an_earlier_one(void) { write_file(path_of("ids"), earlier, sizeof earlier); }

static void put_anothers(void) {
    uint8_t bytes[8192];
    CHECK_EQ(read_file(path_of("another"), bytes, sizeof bytes), sizeof bytes);
    write_file(path_of("ids"), bytes, sizeof bytes);
}

/* A later record of another run follows the newest one, or a byte of the newest is changed. */
static void change_records(bool adds_one) {
    uint8_t bytes[8192];
    flake_i_record r;
    CHECK_EQ(read_file(path_of("ids"), bytes, sizeof bytes), sizeof bytes);
    CHECK_EQ(flake_i_records_get(bytes, &r), FLAKE_OK);
    if (adds_one) {
        r.number++;
        r.run[0] ^= 1;
        flake_i_record_put(&r, bytes + flake_i_record_at(r.number));
    } else bytes[flake_i_record_at(r.number) + 20] ^= 1;
    write_file(path_of("ids"), bytes, sizeof bytes);
}

static void put_a_later_record(void) { change_records(true); }
static void change_a_byte(void) { change_records(false); }

static void is_lost_in_place(void (*change)(void), bool manual_extend) {
    uint8_t before[8192], changed[8192], after[8192];
    begin();
    CHECK_EQ(open_at(&other, "another"), FLAKE_OK);
    close_it(&other);
    CHECK_EQ(open_and_start(), FLAKE_OK);
    FLAKE_ATOMIC_STORE(&state.manual_extend, manual_extend ? 1u : 0u, relaxed);
    CHECK_EQ(read_file(path_of("ids"), earlier, sizeof earlier), sizeof earlier);
    pass_ms(1600);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
    CHECK_EQ(draw(), FLAKE_OK);
    CHECK_EQ(read_file(path_of("ids"), before, sizeof before), sizeof before);
    change();
    memset(changed, 0, sizeof changed);
    memset(after, 0, sizeof after);
    const size_t n = read_file(path_of("ids"), changed, sizeof changed);
    pass_ms(1600); /* within the horizon, but an extension is due */
    if (manual_extend) CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_MISMATCH);
    CHECK_EQ(draw(), FLAKE_MISMATCH);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_MISMATCH);
    CHECK_EQ(read_file(path_of("ids"), after, sizeof after), n);
    CHECK(memcmp(after, changed, sizeof after) == 0);
    write_file(path_of("ids"), before, sizeof before); /* it stays lost */
    CHECK_EQ(draw(), FLAKE_MISMATCH);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_MISMATCH);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_MISMATCH);
    CHECK_EQ(read_file(path_of("ids"), after, sizeof after), sizeof after);
    CHECK(memcmp(after, before, sizeof after) == 0);
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK); /* and the new descriptor stays open */
    CHECK_EQ(start_on(&gen, &state), FLAKE_OK);
    CHECK_EQ(draw(), FLAKE_OK);
}

TEST(a_file_changed_in_place_ends_the_ids) {
    static void (*const changes[])(void) = {cut_all,      cut_a_record,       put_an_earlier_one,
                                            put_anothers, put_a_later_record, change_a_byte};
    for (size_t i = 0; i < 2 * sizeof changes / sizeof *changes; i++)
        is_lost_in_place(changes[i / 2], i % 2);
}

TEST(a_close_notices_a_changed_file) {
    begin_with_ids();
    cut_all();
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_MISMATCH);
}

static const char *failing_call;
static bool fail_that(const char *name) {
    errno = EIO;
    return strcmp(name, failing_call) != 0;
}

/* Neither may change the newest record, nor count as a change by another process. */
TEST(a_call_that_fails_for_a_while_loses_nothing) {
    static const char *const names[] = {"read", "lseek", "write", "fdatasync"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        begin_with_ids();
        failing_call = names[i];
        on_call = fail_that;
        pass_ms(2900);
        CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_IO);
        CHECK_EQ(draw(), FLAKE_OK);
        pass_ms(200);
        CHECK_EQ(draw(), FLAKE_IO);
        on_call = NULL;
        CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
        CHECK_EQ(draw(), FLAKE_OK);
    }
}

/* A program closes all its descriptors, and another of its objects opens the same file: it gets the
 * same descriptor, and the lock is gone. */
TEST(two_objects_with_one_descriptor_repeat_nothing) {
    flake_gen others;
    flake_status status[2] = {FLAKE_OK, FLAKE_OK};
    begin_with_ids();
    const int fd = state.file.fd;
    (void)(close)(fd);
    CHECK_EQ(open_at(&other, "ids"), FLAKE_OK);
    CHECK_EQ(other.file.fd, fd);
    CHECK_EQ(start_on(&others, &other), FLAKE_OK);
    for (int i = 0; i < 10000; i++, pass_ms(1)) {
        status[0] = draw_from(&gen);
        status[1] = draw_from(&others);
    }
    CHECK(status[0] == FLAKE_MISMATCH && status[1] == FLAKE_OK);
    CHECK(our->n > 9990);
    CHECK_EQ(repeated(), 0);
    close_it(&other);
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_MISMATCH);
}

/* The first object writes while the second waits for the first's horizon to pass. */
static void write_meanwhile(int64_t ns) {
    atomic_fetch_add(&our->now_ns, ns);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
}

TEST(an_open_that_waits_finds_out_that_another_writes) {
    begin_with_ids();
    (void)(close)(state.file.fd);
    on_sleep = write_meanwhile;
    CHECK_EQ(open_at(&other, "ids"), FLAKE_MISMATCH);
    CHECK(strstr(why.text, "was changed") != NULL);
    on_sleep = NULL;
    CHECK_EQ(flake_state_close(&other, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_state_close(&state, NULL),
             FLAKE_IO); /* the failed open has closed the descriptor */
}

/* A new file is made beside the path, with the suffix .new, where another file may exist. */
TEST(what_stands_beside_the_path_is_not_taken) {
    CHECK_EQ(open_with(&other, where_of("ids.new"), flake_node_fixed(NULL, 5), options_in_scene()),
             FLAKE_OK);
    close_it(&other);
    const int64_t horizon_ns = horizon_at("ids.new");
    CHECK_EQ(open_at(&state, "ids"), FLAKE_MISMATCH);
    CHECK(strstr(why.text, ".new") != NULL);
    CHECK_EQ(horizon_at("ids.new"), horizon_ns);
    CHECK_EQ(link(path_of("ids.new"), path_of("snos.new")), 0);
    CHECK_EQ(open_snos("snos", &(sno_snapshot){0}), FLAKE_MISMATCH);
    for (int is_link = 0; is_link < 2; is_link++) {
        CHECK_EQ(unlink(path_of("ids.new")), 0);
        if (is_link) CHECK_EQ(symlink("far", path_of("ids.new")), 0);
        write_file(path_of("ids.new"), (const uint8_t *)"a letter", is_link ? 0 : 8);
        CHECK_EQ(open_at(&state, "ids"), FLAKE_MISMATCH);
    }
}

/* A run died while it made a new file. After a power cut its name may exist with no data, or without its
 * first blocks. */
TEST(what_a_run_has_left_beside_the_path_is_taken) {
    uint8_t bytes[FLAKE_I_FILE + 1] = "idstate\n";
    for (int i = 0; i < 5; i++) {
        const bool is_too_long = i == 3, is_anothers = i >= 3;
        begin();
        if (i == 4) bytes[4607] = 'x'; /* before the first record */
        write_file(path_of("ids.new"), bytes, i ? FLAKE_I_FILE + is_too_long : 8);
        const int before = descriptors();
        CHECK_EQ(open_at(&state, "ids"), is_anothers ? FLAKE_MISMATCH : FLAKE_OK);
        if (is_anothers) CHECK_EQ(descriptors(), before);
        else close_it(&state);
        if (i == 1) CHECK_EQ(read_file(path_of("ids"), bytes, sizeof bytes), FLAKE_I_FILE);
        memset(bytes, 0, i == 1 ? 4608 : sizeof bytes);
    }
}

static bool reads_fail(const char *name) {
    errno = EIO;
    return strcmp(name, "read") != 0;
}

TEST(a_fresh_file_that_cannot_be_read_is_no_foreign_file) {
    begin();
    on_call = reads_fail;
    CHECK_EQ(open_at(&state, "ids"), FLAKE_IO);
    on_call = NULL;
    CHECK(strstr(why.text, "cannot be created: ") != NULL);
}

/* Another file replaces the state's between two system calls of an open. */
static int calls, swap_at;
static bool swaps_again;

static bool swap_here(const char *name) {
    (void)name;
    if (++calls != swap_at) return true;
    on_call = NULL;
    CHECK_EQ(rename(path_of("next"), path_of("ids")), 0);
    return true;
}

/* Opens "ids" while "next" replaces it; false: an open makes fewer calls than that. */
static bool swapped_meanwhile(flake_status *status) {
    calls = 0;
    on_call = swap_here;
    *status = open_at(&state, "ids");
    const bool swapped = on_call == NULL;
    on_call = NULL;
    return swapped;
}

TEST(a_file_put_in_the_place_meanwhile_is_the_one_that_is_locked) {
    for (swap_at = 1;; swap_at++) {
        flake_status status;
        begin();
        for (int i = 0; i < 2; i++, pass_ms(1000)) {
            CHECK_EQ(open_at(&state, i ? "next" : "ids"), FLAKE_OK);
            close_it(&state);
        }
        const int64_t horizon_ns = horizon_at("next");
        if (!swapped_meanwhile(&status)) break;
        if (swap_at <= 5) CHECK_EQ(status, FLAKE_OK); /* open, two fcntl, fstat, stat */
        /* the open used either the old file throughout, or the new one */
        if (status == FLAKE_OK && horizon_at("ids") == horizon_ns) {
            pass_ms(5000);
            CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_IO);
        } else if (status == FLAKE_OK) {
            CHECK(state.number > 1);
            CHECK(flake_i_file_is_at(&state.file, path_of("ids")));
            CHECK_EQ(open_at(&other, "ids"), FLAKE_IN_USE);
            CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
        } else CHECK_EQ(status, FLAKE_IO);
        (void)flake_state_close(&state, NULL);
    }
    CHECK(swap_at > 8);
    (void)flake_state_close(&state, NULL);
}

static int swaps_left;
static bool swap_often(const char *name) {
    if (swaps_again || strcmp(name, "fcntl") != 0 || swaps_left-- <= 0) return true;
    swaps_again = true;
    const uint8_t byte = 'x';
    write_file(path_of("fresh"), &byte, 1);
    CHECK_EQ(rename(path_of("fresh"), path_of("ids")), 0);
    swaps_again = false;
    return true;
}

TEST(a_file_that_is_replaced_for_ever_is_refused) {
    const int before = descriptors();
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    close_it(&state);
    on_call = swap_often;
    swaps_left = 10000;
    CHECK_EQ(open_at(&state, "ids"), FLAKE_IO);
    swaps_left = 1; /* and after one exchange the file is no state */
    CHECK_EQ(open_at(&state, "ids"), FLAKE_MISMATCH);
    on_call = NULL;
    CHECK_EQ(descriptors(), before);
}

/* Another process makes the file while this one is about to. */
TEST(a_file_made_meanwhile_is_gone_on_from) {
    bool swapped = true;
    for (swap_at = 1; swapped && !check_failures; swap_at++) {
        flake_status status;
        begin();
        CHECK_EQ(open_at(&state, "next"), FLAKE_OK);
        close_it(&state);
        swapped = swapped_meanwhile(&status);
        CHECK(access(path_of("ids.new"), F_OK) != 0);
        if (status == FLAKE_OK) {
            const bool is_ours = flake_i_file_is_at(&state.file, path_of("ids"));
            pass_ms(5000);
            CHECK_EQ(flake_state_extend(&state, NULL), is_ours ? FLAKE_OK : FLAKE_IO);
        }
        (void)flake_state_close(&state, NULL);
    }
    CHECK(swap_at > 11);
}

/* They are refused and unchanged, whole or cut short, with this generator's record. */
TEST(files_of_version_0_1_0_are_refused) {
    flake_options o;
    uint8_t old[FLAKE_I_RECORD] = "idstate\n", found[FLAKE_I_RECORD];
    const flake_options given = options_in_scene();
    CHECK_EQ(flake_i_fill_in(&given, &o, NULL), FLAKE_OK);
    flake_i_put64(old + 8, (uint64_t)1 << 32);
    flake_i_put64(old + 16, (uint64_t)(start_ms * a_ms));
    flake_i_put64(old + 24, (uint64_t)((start_ms - 3000) * a_ms));
    flake_i_identity(&o, 1, old + 32);
    flake_i_put64(old + 120, flake_i_fnv(old, 120));
    for (size_t n = 0; n <= sizeof old; n++) {
        begin();
        write_file(path_of("ids"), old, n);
        CHECK_EQ(open_at(&state, "ids"), n < sizeof old ? FLAKE_CORRUPT : FLAKE_MISMATCH);
        CHECK_EQ(read_file(path_of("ids"), found, sizeof found), n);
        CHECK(memcmp(found, old, n) == 0);
    }
    CHECK(strstr(why.text, "of another version") != NULL);
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

/* ---- killed while the file is made ---- */

static flake_status open_and_close_snos(void) { /* with a partition that the library chose */
    sno_snapshot pool = {0};
    const flake_status status = open_snos("snos", &pool);
    if (status == FLAKE_OK) close_it(&snos);
    return status;
}

static void open_and_be_killed(void) {
    on_call = kill_here;
    (void)!open_and_close_snos();
    (void)!open_at(&state, "ids");
}

/* Its name may not be on disk, so the next run syncs the directory before it uses the file. */
TEST(a_run_that_died_before_the_folder_was_synced_leaves_that_to_the_next) {
    call_meant = "fsync";
    calls_before = 3; /* of sno.h, and the file's own */
    child_is_killed(open_and_be_killed);
    CHECK(horizon_at("ids") > 0);
    disk_begin();
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    CHECK_STR(disk.log, "OSCwdwd");
    close_it(&state);
    pass_ms(1);
    disk_begin();
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    CHECK(strchr(disk.log, 'S') == NULL); /* but once */
}

TEST(a_run_of_snos_that_died_at_its_first_start_is_gone_on_from) {
    static const char *const calls_made[] = {"write", "fsync", "rename", "fsync"};
    for (unsigned i = 0; i < 4; i++) {
        begin();
        call_meant = calls_made[i];
        calls_before = i == 3;
        child_is_killed(open_and_be_killed);
        CHECK_EQ(open_and_close_snos(), FLAKE_OK);
    }
}

/* ---- beside an open ---- */

static uint64_t asked_before;

static void look_at_the_floor(int64_t ns) {
    CHECK_EQ((int64_t)atomic_load(&state.horizon), INT64_MIN);
    CHECK_EQ(atomic_load(&state.asked), asked_before);
    pass_ms(ns / a_ms + 1);
}

/* A generator made while an open waits for the last run finds the gate closed, and no lower floor. */
TEST(the_floor_stays_until_an_open_has_waited) {
    uint64_t id;
    begin_with_ids();
    flake_options o = options_in_scene();
    o.max_ahead_ms = 500;
    o.seq_max = 1;
    o.state = &state;
    CHECK_EQ(flake_init(&gen, flake_node_fixed(NULL, 1), &o, NULL), FLAKE_OK);
    while (flake_try(&gen, &id) == FLAKE_OK) {
    }
    asked_before = atomic_load(&state.asked);
    CHECK((int64_t)asked_before > (start_ms + 500) * a_ms);
    close_it(&state);
    on_sleep = look_at_the_floor;
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    CHECK(atomic_load(&our->sleeps) > 0);
}

/* ---- what the system reports ---- */

static int refused_with;

static bool refuse_here(const char *name) {
    if (!is_meant(name)) return true;
    errno = refused_with;
    return false;
}

static flake_status open_with_a_call_refused(const char *call, int error) {
    begin();
    call_meant = call;
    refused_with = error;
    calls_before = 1; /* the new file's own */
    on_call = refuse_here;
    const flake_status status = open_at(&state, "ids");
    on_call = NULL;
    return status;
}

TEST(a_file_system_that_can_t_sync_a_folder_is_one_all_the_same) {
    CHECK_EQ(open_with_a_call_refused("fsync", EIO), FLAKE_IO);
    CHECK_EQ(open_with_a_call_refused("fsync", EINVAL), FLAKE_OK);
}

/* A file that cannot be examined may be another process's: it is examined again. */
TEST(a_path_that_can_t_be_looked_at_gets_no_file_yet) {
    CHECK_EQ(open_with_a_call_refused("stat", EIO), FLAKE_OK);
    CHECK(calls_before < -2); /* and each later one */
}

/* A child opens its copy of the parent's object as a shared one: it continues from the file that the
 * parent has closed by then, and with no run of the parent's. */
static wire may_open;

static void open_anew_as_a_shared_one(void) {
    flake_options o = options_in_scene();
    o.shared_memory = true;
    const uint64_t run = flake_i_state_run(&state);
    (void)await_word(&may_open);
    EXPECT(open_with(&state, where_of("ids"), flake_node_fixed(NULL, 1), o) == FLAKE_OK);
    EXPECT(state.is_shared && flake_i_state_run(&state) != run);
    EXPECT(flake_state_close(&state, NULL) == FLAKE_OK);
}

TEST(a_childs_copy_may_be_opened_anew_as_a_shared_one) {
    if (!words_reach_other_processes) return;
    may_open = new_line();
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    const pid_t child = start_child(open_anew_as_a_shared_one);
    close_it(&state);
    pass_ms(10);
    tell(&may_open);
    CHECK_EQ(end_of(child), 0);
    hang_up(&may_open);
}

/* ---- a child with its parent's pid, as in a pid namespace of its own ---- */

static void let_go_of_the_parents(void) { EXPECT(flake_state_close(&state, NULL) == FLAKE_FORKED); }

static void find_the_parents_taken(void) { EXPECT(open_at(&other, "ids") == FLAKE_IN_USE); }

static void fork_while_a_state_is_open(void) {
    EXPECT(open_at(&state, "ids") == FLAKE_OK);
    EXPECT(in_child(let_go_of_the_parents) == 0);
    EXPECT(in_child(find_the_parents_taken) == 0);
    EXPECT(flake_state_close(&state, NULL) == FLAKE_OK);
}

TEST(a_child_with_its_parents_pid_has_not_its_state) {
    if (!flake_i_fork_page()) return; /* here only the pid distinguishes them */
    pid_of_all = 42;
    child_is_well(fork_while_a_state_is_open);
    has_no_random_bytes = true;
    child_is_well(fork_while_a_state_is_open);
    has_no_random_bytes = false;
    pid_of_all = 0;
}

/* ---- a child forked in the middle of its parent's write, by the writing thread ---- */

static void be_another_than_the_writer(void) {
    pid_of_all++;
    EXPECT(flake_state_extend(&state, NULL) == FLAKE_FORKED);
    EXPECT(flake_state_close(&state, NULL) == FLAKE_FORKED);
}

static bool fork_at_the_sync(const char *name) {
    if (strcmp(name, "fdatasync") != 0) return true;
    on_call = NULL;
    child_is_well(be_another_than_the_writer);
    return true;
}

TEST(a_child_of_the_writer_is_not_the_writer) {
    pid_of_all = 42;
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    pass_ms(10000);
    on_call = fork_at_the_sync;
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
    CHECK(!on_call);
    close_it(&state);
    pid_of_all = 0;
}

/* ---- a timer that is still in a write ---- */

static _Atomic(bool) writes, may_write, has_written, has_ended;
static const char *slow_call;
static flake_status extended;

static bool write_slowly(const char *name) {
    if (strcmp(name, "close") == 0) CHECK(atomic_load(&has_written));
    if (strcmp(name, slow_call) != 0 || atomic_exchange(&writes, true)) return true;
    while (!atomic_load(&may_write)) (void)sched_yield();
    atomic_store(&has_written, true);
    return true;
}

static flake_why extended_why;

static void *extend_the_state(void *unused) {
    extended = flake_state_extend(&state, &extended_why);
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
    begin_with_ids();
    pass_ms(10000); /* the only wait is for the timer */
    atomic_store(&writes, false);
    atomic_store(&may_write, false);
    atomic_store(&has_written, false);
    atomic_store(&has_ended, false);
    slow_call = call;
    on_call = write_slowly;
    on_sleep = let_the_timer_end;
    if (pthread_create(&timer, NULL, extend_the_state, NULL) != 0) abort();
    while (!atomic_load(&writes)) (void)sched_yield();
    return timer;
}

static void end_the_extension(pthread_t timer) {
    atomic_store(&may_write, true);
    CHECK_EQ(pthread_join(timer, NULL), 0);
    on_call = NULL;
    on_sleep = NULL;
}

TEST(a_close_behind_a_bump_waits_for_who_writes) {
    const pthread_t writer = begin_a_slow_extension("fdatasync");
    flake_machine_cloned();
    CHECK_EQ(flake_state_close(&state, NULL), FLAKE_FORKED);
    end_the_extension(writer);
    CHECK_EQ(extended, FLAKE_INVALID); /* written, but no draw needs it any more */
    CHECK_STR(extended_why.text, "state: is not open");
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
}

TEST(a_state_opened_again_has_one_writer) {
    const pthread_t timer = begin_a_slow_extension("write");
    CHECK_EQ((close)(state.file.fd), 0);
    CHECK_EQ(open_at(&other, "nowhere/ids"), FLAKE_IO); /* another object does not wait */
    CHECK(!atomic_load(&has_ended));
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    CHECK(atomic_load(&has_ended));
    end_the_extension(timer);
    CHECK_EQ(start_on(&gen, &state), FLAKE_OK);
    for (int i = 0; i < 5; i++, pass_ms(1600)) CHECK_EQ(draw(), FLAKE_OK);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
}

/* A failed open returns the writer's turn: the state is unchanged. */
TEST(a_state_that_is_not_opened_again_is_as_it_was) {
    begin_with_ids();
    CHECK_EQ((close)(state.file.fd), 0);
    CHECK_EQ(open_at(&state, "nowhere/ids"), FLAKE_IO);
    CHECK_EQ(draw(), FLAKE_OK);
    CHECK_EQ((uint64_t)FLAKE_ATOMIC_LOAD(&state.writer, relaxed), 0);
    FLAKE_ATOMIC_STORE(&state.writer, flake_i_thread_id(), relaxed); /* as in a handler */
    CHECK_EQ(open_at(&state, "ids"), FLAKE_IN_USE);
    CHECK(strstr(why.text, "written") != NULL);
    FLAKE_ATOMIC_STORE(&state.writer, 0u, relaxed);
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    CHECK_EQ(draw(), FLAKE_IO);                                        /* of the earlier run */
    FLAKE_ATOMIC_STORE(&state.horizon, FLAKE_I_CLOSED_STATE, relaxed); /* another closes it */
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_INVALID);
    CHECK_EQ((int64_t)atomic_load(&state.horizon), INT64_MIN);
}

/* ---- opened again ---- */

static void another_run_of_the_file(void) {
    EXPECT(open_at(&other, "ids") == FLAKE_OK);
    EXPECT(start_on(&gen, &other) == FLAKE_OK);
    for (int i = 0; i < 100; i++) EXPECT(draw() == FLAKE_OK);
    pass_ms(2);
    EXPECT(flake_state_close(&other, NULL) == FLAKE_OK);
}

TEST(a_state_opened_again_does_not_revive_its_generators) {
    static flake_gen old;
    uint64_t id;
    begin_with_ids();
    CHECK_EQ(start_on(&old, &state), FLAKE_OK);
    CHECK_EQ(draw_from(&old), FLAKE_OK);
    close_it(&state);
    pass_ms(1);
    CHECK_EQ(draw_from(&old), FLAKE_IO);
    child_is_well(another_run_of_the_file);
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    for (int i = -15; i < 15; i++, pass_ms(i < 0 ? -1 : 1)) { /* the other run's time, too */
        if (scene_ns() / a_ms > start_ms) CHECK(draw_from(&old) != FLAKE_OK);
        else if (flake_try(&old, &id) == FLAKE_OK)
            note(id); /* in its last unit, which is its own */
    }
    CHECK_EQ(start_on(&gen, &state), FLAKE_OK);
    pass_ms(5);
    CHECK_EQ(draw(), FLAKE_OK);
    CHECK_EQ(draw_from(&old), FLAKE_IO);
}

/* A child opens its parent's object for another file, and the open fails. */
static void fail_to_open_the_parents_object(void) {
    struct stat file;
    EXPECT(open_at(&other, "mine") == FLAKE_OK);
    EXPECT(flake_state_close(&other, NULL) == FLAKE_OK);
    pass_ms(1);
    disk_fail(4, 100); /* the directory was synced */
    EXPECT(open_at(&state, "mine") == FLAKE_IO);
    disk_begin();
    const int fd =
        open(path_of("bystander"), O_RDWR | O_CREAT, 0666); /* has its descriptor by now */
    EXPECT(flake_state_extend(&state, NULL) == FLAKE_INVALID);
    EXPECT(flake_state_close(&state, NULL) == FLAKE_INVALID);
    EXPECT(fstat(fd, &file) == 0 && file.st_size == 0);
}

TEST(an_open_that_fails_leaves_nothing_open) {
    begin_with_ids();
    child_is_well(fail_to_open_the_parents_object);
    CHECK_EQ(flake_state_extend(&state, NULL), FLAKE_OK);
}

/* ---- how long the next run waits ---- */

static void draw_ahead(flake_options o, int64_t max_ahead_ms) {
    uint64_t id;
    o.max_ahead_ms = max_ahead_ms;
    CHECK_EQ(start_with(&gen, flake_node_fixed(NULL, 1), o, &state), FLAKE_OK);
    while (flake_try(&gen, &id) == FLAKE_OK) note(id);
}

TEST(a_run_waits_for_the_last_id_and_no_longer) {
    const flake_options o = options_of_flake(0, 1, scene_clock, NULL);
    const flake_node node = flake_node_fixed(NULL, 1);
    for (int64_t ahead_ms = 0; ahead_ms <= 15000; ahead_ms += 15000) {
        begin();
        CHECK_EQ(open_with(&state, where_of("ids"), node, o), FLAKE_OK);
        draw_ahead(o, ahead_ms);
        CHECK_EQ(newest_ms(), start_ms + ahead_ms);
        close_it(&state);
        CHECK_EQ(open_with(&state, where_of("ids"), node, o), FLAKE_OK);
        const int64_t slept_ns = atomic_load(&our->slept_ns);
        CHECK(slept_ns >= ahead_ms * a_ms);
        CHECK(slept_ns <= (ahead_ms + 1) * a_ms); /* the unit in which it has drawn */
        draw_ahead(o, ahead_ms);
    }
}

static wire childs_end;

static void keep_what_is_inherited(void) { (void)await_word(&childs_end); }

/* A child that shares the descriptor does not hold the lock once its parent has closed the state. */
TEST(a_file_that_is_closed_is_free_though_a_child_has_it_open) {
    childs_end = new_line();
    CHECK_EQ(open_at(&state, "ids"), FLAKE_OK);
    const pid_t child = start_child(keep_what_is_inherited);
    close_it(&state);
    pass_ms(1);
    CHECK_EQ(open_at(&other, "ids"), FLAKE_OK);
    close_it(&other);
    tell(&childs_end);
    CHECK_EQ(end_of(child), 0);
    hang_up(&childs_end);
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

static void open_each_kind(void) {
    flake_options o = options_in_scene();
    o.exclusive_dir = our_folder;
    kept_before = kept_on_exec();
    on_call = keep_no_more;
    EXPECT(open_at(&state, "ids") == FLAKE_OK);
    EXPECT(flake_init(&gen, flake_node_fixed(NULL, 1), &o, NULL) == FLAKE_OK);
    EXPECT(flake_state_extend(&state, NULL) == FLAKE_OK);
    EXPECT(open_and_close_snos() == FLAKE_OK);
}

static void open_each_kind_without_an_input(void) {
    (void)(close)(STDIN_FILENO); /* its number is free for a file */
    open_each_kind();
}

TEST(a_program_started_at_any_call_gets_no_descriptor) {
    child_is_well(open_each_kind);
    pass_ms(1);
    child_is_well(open_each_kind_without_an_input);
}
#endif

int main(int argc, char **argv) { return state_main(argc, argv); }
