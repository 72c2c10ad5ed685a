/* SPDX-License-Identifier: MIT
 *
 * What another user of the host can do to a directory that he can write to. In one that is sticky, or that only its
 * owner writes to: refuse service, but never cause a duplicate, create or change a file elsewhere, or keep init from
 * returning. In one that anyone can write to he can remove a held file, which its holder notices at the next write.
 * Root runs these tests, as two users.
 */
#define _GNU_SOURCE
#include "scripted_directory.h"
#include <grp.h>

enum { owner = 65531, attacker = 65532 };

/* ---- two users ---- */

static void be_user(uid_t user) {
    EXPECT(setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0);
}

static uid_t as_user;
static void (*to_do)(void);
static void become_and_do(void) {
    be_user(as_user);
    to_do();
}

static pid_t start_as(uid_t user, void (*part)(void)) {
    as_user = user;
    to_do = part;
    return start_child(become_and_do);
}

static int as(uid_t user, void (*part)(void)) { return end_of(start_as(user, part)); }

/* The scene's directory belongs to the owner, with this mode. */
static void begin_as_owner(mode_t mode) {
    CHECK_EQ(chmod(home, 0755), 0);
    CHECK_EQ(chown(our_folder, owner, owner), 0);
    CHECK_EQ(chmod(our_folder, mode), 0);
}

/* ---- what they do ---- */

static wire to_holder, from_holder;

static void hold_1(void) {
    EXPECT(init_slot(&gen, 1) == FLAKE_OK);
    EXPECT(draw_from(&gen) == FLAKE_OK);
    tell(&from_holder);
    (void)await_word(&to_holder);
    pass_ms(2000); /* the next draw writes */
    EXPECT(draw_from(&gen) == FLAKE_OK);
    EXPECT(flake_extend(&gen, NULL) == FLAKE_OK);
    tell(&from_holder);
    (void)await_word(&to_holder);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
}

static void run_1(void) {
    EXPECT(init_slot(&gen, 1) == FLAKE_OK);
    for (int i = 0; i < 5; i++) EXPECT(draw_from(&gen) == FLAKE_OK);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
}

static void find_1_in_use(void) { EXPECT(init_slot(&gen, 1) == FLAKE_IN_USE); }
static void find_1_foreign(void) {
    alarm(20); /* it returns */
    EXPECT(init_slot(&gen, 1) == FLAKE_MISMATCH);
    EXPECT(why_is_of(1));
    EXPECT(init_with(&gen, flake_node_any(our_folder, 1, 2), options_in_scene()) == FLAKE_OK);
    EXPECT(flake_gen_node(&gen) == 2);
    EXPECT(draw_from(&gen) == FLAKE_OK);
    EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
}

static char elsewhere[300]; /* a file outside the directory, of the owner or absent */

/* Locks a file for reading and for writing, if it can be opened, until it is killed. */
static void lock_and_stay(const char *name) {
    const int fd = (open)(path_of(name), O_RDWR);
    const int to_read = fd < 0 ? (open)(path_of(name), O_RDONLY) : fd;
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0) all.l_type = F_RDLCK;
    if (to_read >= 0) (void)(fcntl)(to_read, F_OFD_SETLK, &all);
    tell(&from_holder);
    (void)pause();
}
static void lock_1_and_stay(void) {
    (void)umask(0);
    lock_and_stay("1.slot");
}
static void plant_a_locked_file_and_stay(void) {
    (void)umask(0);
    (void)(close)((open)(path_of("1.slot.new"), O_RDWR | O_CREAT, 0666));
    lock_and_stay("1.slot.new");
}

static void end_it(pid_t child) {
    CHECK_EQ(kill(child, SIGKILL), 0);
    (void)waitpid(child, NULL, 0);
}

static void attack_a_held_file(void) {
    const char *const path = path_of("1.slot");
    EXPECT((open)(path, O_RDONLY) < 0 && (open)(path, O_RDWR) < 0);
    EXPECT((unlink)(path) != 0);
    EXPECT((rename)(path, path_of("2.slot")) != 0);
    EXPECT(truncate(path, 0) != 0);
    EXPECT(chmod(path, 0666) != 0);
    const int fd = (open)(path_of("mine"), O_RDWR | O_CREAT, 0666);
    EXPECT(fd < 0 || (rename)(path_of("mine"), path) != 0);
}

static void draw_from_1_elsewhere(void) { EXPECT(init_slot(&gen, 1) == FLAKE_MISMATCH || init_slot(&gen, 1) == FLAKE_IO); }

/* ---- a directory that no other user can remove files from ---- */

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
        CHECK_EQ(as(attacker, attack_a_held_file), 0);
        CHECK_EQ(as(attacker, draw_from_1_elsewhere), 0);
        CHECK_EQ(as(owner, find_1_in_use), 0);
        tell(&to_holder);
        CHECK(await_word(&from_holder));
        tell(&to_holder);
        CHECK_EQ(end_of(holder), 0);
        const pid_t locker = start_as(attacker, lock_1_and_stay); /* which fails */
        CHECK(await_word(&from_holder));
        CHECK_EQ(as(owner, run_1), 0);
        end_it(locker);
        CHECK_EQ(repeated(), 0);
        hang_up(&to_holder), hang_up(&from_holder);
    }
}

static int planted;
static void plant(void) {
    const char *const path = path_of("1.slot"), *const fresh = path_of("1.slot.new");
    uint8_t bytes[FLAKE_I_FILE];
    (void)umask(0);
    memset(bytes, 0, sizeof bytes);
    if (planted == 0) EXPECT(symlink(elsewhere, path) == 0);
    else if (planted == 1) EXPECT(symlink("1.slot", path) == 0);
    else if (planted == 2) EXPECT(mkfifo(path, 0666) == 0);
    else if (planted == 3) EXPECT((mkdir)(path, 0777) == 0);
    else if (planted == 4) write_file(path, bytes, sizeof bytes);
    else if (planted == 5) write_file(path, bytes, 0);
    else if (planted == 6) EXPECT(symlink("/dev/zero", path) == 0);
    else if (planted == 7) EXPECT(symlink(elsewhere, fresh) == 0);
    else if (planted == 8) EXPECT(mkfifo(fresh, 0666) == 0);
    else if (planted == 9) EXPECT((mkdir)(fresh, 0777) == 0);
    else if (planted == 10) write_file(fresh, bytes, sizeof bytes);
    else if (planted == 11) write_file(fresh, bytes, 0);
    else if (planted == 12) EXPECT(symlink("1.slot", fresh) == 0);
    else if (planted == 13) { /* a record that he has prepared, with a horizon of today */
        EXPECT(init_slot(&gen, 1) == FLAKE_OK);
        EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
        EXPECT(chmod(path, 0666) == 0);
    } else { /* the same as a fresh file */
        EXPECT(init_slot(&gen, 1) == FLAKE_OK);
        EXPECT(flake_close(&gen, NULL) == FLAKE_OK);
        EXPECT((rename)(path, fresh) == 0 && chmod(fresh, 0666) == 0);
    }
}

TEST(a_planted_file_is_refused_or_skipped_and_nothing_is_made_elsewhere) {
    for (planted = 0; planted <= 14; planted++)
        for (int exists = 0; exists < 2; exists++) {
            begin();
            begin_as_owner(01777);
            (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere-%d-%d", home, planted, exists);
            if (exists) {
                write_file(elsewhere, (const uint8_t *)"precious", 8);
                CHECK_EQ(chown(elsewhere, owner, owner), 0);
            }
            CHECK_EQ(chown(home, owner, owner), 0); /* the owner could create it */
            CHECK_EQ(as(attacker, plant), 0);
            CHECK_EQ(as(owner, find_1_foreign), 0);
            uint8_t bytes[9];
            if (exists) CHECK(read_file(elsewhere, bytes, sizeof bytes) == 8 && memcmp(bytes, "precious", 8) == 0);
            else CHECK(access(elsewhere, F_OK) != 0);
            CHECK_EQ(chown(home, 0, 0), 0);
            if (check_failures) printf("  planted %d\n", planted);
        }
}

/* With the system's protection of links off, he gives a held file, or one of the owner's, a second name. */
TEST(a_second_name_of_a_file_is_refused) {
    begin_as_owner(01777);
    CHECK_EQ(as(owner, run_1), 0);
    CHECK_EQ(link(path_of("1.slot"), path_of("9.slot")), 0);
    CHECK_EQ(as(owner, find_1_foreign), 0);
    CHECK_EQ(unlink(path_of("9.slot")), 0);
    CHECK_EQ(as(owner, run_1), 0);
    begin();
    begin_as_owner(01777);
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/linked", home);
    write_file(elsewhere, (const uint8_t *)"", 0); /* it would pass for a fresh file */
    CHECK_EQ(chown(elsewhere, owner, owner), 0);
    CHECK_EQ(link(elsewhere, path_of("1.slot.new")), 0);
    CHECK_EQ(as(owner, find_1_foreign), 0);
    CHECK_EQ(read_file(elsewhere, (uint8_t[1]){0}, 1), 0);
}

/* A holder whose file gets a second name keeps it: the other name is of the same file. */
TEST(a_second_name_does_not_end_a_holder) {
    begin_as_owner(01777);
    to_holder = new_line(), from_holder = new_line();
    const pid_t holder = start_as(owner, hold_1);
    CHECK(await_word(&from_holder));
    CHECK_EQ(link(path_of("1.slot"), path_of("name-of-the-attacker")), 0);
    tell(&to_holder);
    CHECK(await_word(&from_holder));
    tell(&to_holder);
    CHECK_EQ(end_of(holder), 0);
    hang_up(&to_holder), hang_up(&from_holder);
}

/* In 0.3 two generators could hold one number by files that were locked and unlinked one after the other. */
TEST(a_fresh_file_that_he_holds_is_never_the_owners) {
    begin_as_owner(01777);
    to_holder = new_line(), from_holder = new_line();
    const pid_t locker = start_as(attacker, plant_a_locked_file_and_stay);
    CHECK(await_word(&from_holder));
    CHECK_EQ(as(owner, find_1_foreign), 0);
    end_it(locker);
    CHECK_EQ(as(owner, find_1_foreign), 0);
    CHECK_EQ(unlink(path_of("1.slot.new")), 0);
    CHECK_EQ(as(owner, run_1), 0);
    hang_up(&to_holder), hang_up(&from_holder);
}

/* Two users that both draw in a sticky directory: the second is refused. */
TEST(programs_of_two_users_do_not_share_a_number) {
    begin_as_owner(01777);
    CHECK_EQ(as(owner, run_1), 0);
    CHECK_EQ(as(attacker, find_1_foreign), 0); /* it draws as node 2 */
    CHECK_EQ(as(owner, run_1), 0);
    CHECK_EQ(repeated(), 0);
}

/* ---- a directory that anyone can write to ---- */

static void remove_1(void) { EXPECT((unlink)(path_of("1.slot")) == 0); }

static void hold_1_and_notice(void) {
    uint64_t id;
    EXPECT(init_slot(&gen, 1) == FLAKE_OK);
    EXPECT(draw_from(&gen) == FLAKE_OK);
    tell(&from_holder);
    (void)await_word(&to_holder);
    pass_ms(2000);
    (void)!flake_try(&gen, &id); /* it writes */
    pass_ms(1);
    EXPECT(flake_try(&gen, &id) == FLAKE_MISMATCH);
    EXPECT(flake_extend(&gen, NULL) == FLAKE_MISMATCH);
    EXPECT(flake_close(&gen, NULL) == FLAKE_MISMATCH);
    tell(&from_holder);
}

TEST(a_held_file_that_another_user_removes_is_noticed_at_the_next_write) {
    begin_as_owner(0777);
    to_holder = new_line(), from_holder = new_line();
    const pid_t holder = start_as(owner, hold_1_and_notice);
    CHECK(await_word(&from_holder));
    CHECK_EQ(as(attacker, remove_1), 0);
    tell(&to_holder);
    CHECK(await_word(&from_holder));
    CHECK_EQ(end_of(holder), 0);
    CHECK_EQ(as(owner, run_1), 0);
    hang_up(&to_holder), hang_up(&from_holder);
}

int main(int argc, char **argv) {
    if (geteuid() != 0) {
        puts("  skipped, since only root can become two users\n1 passed, 0 failed");
        return 0;
    }
    return directory_main(argc, argv);
}
