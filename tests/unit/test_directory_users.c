/* SPDX-License-Identifier: MIT
 *
 * What another user of the host can do to a directory that is sticky, or that only its owner writes to (`>>directory`
 * of flake.h): refuse service, but never cause a duplicate or keep init from returning. Root runs these tests, as two
 * users.
 */
#define _GNU_SOURCE
#include "scripted_directory.h"
#include <grp.h>

enum { owner = 65531, attacker = 65532 };

/* ---- two users ---- */

static void be_user(uid_t user) {
    CHECK(setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0);
}

static pid_t start_as(uid_t user, void (*part)(void)) {
    pid_t child;
    IN_CHILD_AS(child) {
        be_user(user);
        part();
    }
    return child;
}

static void as(uid_t user, void (*part)(void)) { end_child(start_as(user, part)); }

/* The scene's directory belongs to the owner, with this mode. */
static void begin_as_owner(mode_t mode) {
    CHECK_EQ(chmod(folder, 0755), 0);
    CHECK_EQ(chown(our_folder, owner, owner), 0);
    CHECK_EQ(chmod(our_folder, mode), 0);
}

/* ---- what they do ---- */

static wire to_holder, from_holder; /* of the holder, or another user that stays */

static void hold_1(void) {
    run(&gen, 1);
    tell(&from_holder);
    (void)await_word(&to_holder);
    pass_ms(2000); /* the next draw writes */
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK_EQ(flake_extend(&gen, NULL), FLAKE_OK);
    tell(&from_holder);
    (void)await_word(&to_holder);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
}

static void run_1(void) {
    CHECK_EQ(init_slot(&gen, 1), FLAKE_OK);
    for (int i = 0; i < 5; i++) CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
}

static void find_1_in_use(void) { CHECK_EQ(init_slot(&gen, 1), FLAKE_IN_USE); }
static void find_1_foreign(void) {
    alarm(20); /* it returns */
    CHECK_EQ(init_slot(&gen, 1), FLAKE_MISMATCH);
    CHECK(why_is_of(1));
    CHECK_EQ(init_range(&gen, 1, 2), FLAKE_OK);
    CHECK_EQ(flake_gen_node(&gen), 2);
    CHECK_EQ(draw_from(&gen), FLAKE_OK);
    CHECK_EQ(flake_close(&gen, NULL), FLAKE_OK);
}

/* Locks the file for reading and for writing, if it can be opened, until it is killed. */
static void lock_1_and_stay(void) {
    const int fd = (open)(path_of("1.slot"), O_RDWR);
    const int to_read = fd < 0 ? (open)(path_of("1.slot"), O_RDONLY) : fd;
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0) all.l_type = F_RDLCK;
    if (to_read >= 0) (void)(fcntl)(to_read, F_OFD_SETLK, &all);
    tell(&from_holder);
    (void)pause();
}

static void end_it(pid_t child) {
    CHECK_EQ(kill(child, SIGKILL), 0);
    (void)waitpid(child, NULL, 0);
}

static void attack_a_held_file(void) {
    const char *const path = path_of("1.slot");
    CHECK((open)(path, O_RDONLY) < 0 && (open)(path, O_RDWR) < 0);
    CHECK((unlink)(path) != 0);
    CHECK((rename)(path, path_of("2.slot")) != 0);
    CHECK(truncate(path, 0) != 0);
    CHECK(chmod(path, 0666) != 0);
    const int fd = (open)(path_of("mine"), O_RDWR | O_CREAT, 0666);
    CHECK(fd < 0 || (rename)(path_of("mine"), path) != 0);
}

static void fail_to_draw_from_1(void) {
    const flake_status status = init_slot(&gen, 1);
    CHECK(status == FLAKE_MISMATCH || status == FLAKE_IO);
}

TEST(a_held_file_cannot_be_read_locked_replaced_or_removed) {
    static const mode_t modes[] = {0700, 0755, 01777};
    for (int i = 0; i < 3; i++) {
        begin();
        begin_as_owner(modes[i]);
        (void)umask(0); /* modes do not depend on it */
        to_holder = new_line(), from_holder = new_line();
        const pid_t holder = start_as(owner, hold_1);
        CHECK(await_word(&from_holder));
        struct stat file;
        CHECK(stat(path_of("1.slot"), &file) == 0 && (file.st_mode & 07777) == 0600 && file.st_uid == owner);
        as(attacker, attack_a_held_file);
        as(attacker, fail_to_draw_from_1);
        as(owner, find_1_in_use);
        tell(&to_holder);
        CHECK(await_word(&from_holder));
        tell(&to_holder);
        end_child(holder);
        const pid_t locker = start_as(attacker, lock_1_and_stay); /* which fails */
        CHECK(await_word(&from_holder));
        as(owner, run_1);
        end_it(locker);
        CHECK_EQ(repeated(), 0);
        hang_up(&to_holder), hang_up(&from_holder);
    }
}

/* A pipe, a file with zeros or nothing, or one that passes for the owner's: as the number's file, or beside it, where a
 * fresh one is made. test_directory_files.c has what is no file of one user. */
enum { FIFO, ZEROS, NOTHING, PREPARED, plants };
static int planted;
static bool planted_beside;
static void plant(void) {
    const char *const path = path_of("1.slot"), *const at = planted_beside ? path_of("1.slot.new") : path;
    uint8_t bytes[FLAKE_I_FILE] = {0};
    (void)umask(0);
    if (planted == FIFO) CHECK_EQ(mkfifo(at, 0666), 0);
    else if (planted != PREPARED) write_file(at, bytes, planted == ZEROS ? sizeof bytes : 0);
    else { /* a record with a horizon of today */
        run_1();
        CHECK_EQ(chmod(path, 0666), 0);
        if (planted_beside) CHECK_EQ((rename)(path, at), 0);
    }
}

TEST(a_planted_file_is_refused_or_skipped) {
    for (planted = 0; planted < plants; planted++)
        for (int beside = 0; beside < 2; beside++) {
            planted_beside = beside;
            begin();
            begin_as_owner(01777);
            as(attacker, plant);
            as(owner, find_1_foreign);
            CHECK_EQ(init_slot(&gen, 1), FLAKE_MISMATCH); /* root, who could open it */
            if (check_failures) printf("  planted %d, beside %d\n", planted, beside);
        }
}

/* Two users that both draw in a sticky directory: the second is refused. */
TEST(programs_of_two_users_do_not_share_a_number) {
    begin_as_owner(01777);
    as(owner, run_1);
    as(attacker, find_1_foreign); /* it draws as node 2 */
    as(owner, run_1);
    CHECK_EQ(repeated(), 0);
}

int main(int argc, char **argv) {
    if (geteuid() != 0) {
        puts("  skipped, since only root can become two users\n1 passed, 0 failed");
        return 0;
    }
    return directory_main(argc, argv);
}
