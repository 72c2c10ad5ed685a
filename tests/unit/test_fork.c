/* SPDX-License-Identifier: MIT
 *
 * A process that was forked from one with generators draws no ID until it gives them numbers of its own (FLAKE_FORKED,
 * flake_reinit_after_fork and flake_machine_cloned in flake.h). This holds for every way to fork and every way to draw,
 * after flake_machine_cloned, and where only the pid distinguishes processes. test_sno_partitions.c has the partitions
 * of relatives.
 */
#define _GNU_SOURCE
#include "process_scene.h"
static void clone_here(void);
#define FLAKE_CLOCK_NS(kind) \
    (clone_here(), random_script.is_on ? scene_ns() : flake_i_system_ns(kind))
#define FLAKE_RANDOM_BYTES(to, n) \
    (random_script.is_on ? random_from_script(to, n) : flake_i_system_random(to, n))
static struct {
    bool is_on, has_none;
    uint16_t next;
} random_script;
static bool random_from_script(void *to, size_t n) {
    uint8_t *const at = (uint8_t *)to;
    for (size_t i = 0; i < n && !random_script.has_none; i++)
        at[i] = ((const uint8_t *)&random_script.next)[i % sizeof random_script.next];
    return !random_script.has_none;
}
#include "flake.h"
#include "sno.h"
#include "ways_to_draw.h"
#include <pthread.h>
#include <sys/syscall.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#define UNDER_TSAN __has_feature(thread_sanitizer)
#else
#define UNDER_TSAN 0
#endif
enum { under_tsan = UNDER_TSAN };

/* What processes share, besides the scene. */
static struct common {
    flake_gen gen, wide;
    sno_gen sno;
    uint16_t partitions[2];
    uint64_t owners[2];
} * common;

/* ---- ways to a child ---- */

typedef void (*body)(void);

static void by_fork(body run) { IN_CHILD run(); }

#if defined(__linux__) && defined(SYS_clone)
static void by_raw_clone(body run) {
    if (under_tsan) {
        printf("  skipped, since it would tear the thread sanitizer's own state: raw clone\n");
        return;
    }
#if defined(__s390x__)
    const pid_t child = (pid_t)syscall(SYS_clone, NULL, SIGCHLD, NULL, NULL, NULL);
#else
    const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
#endif
    if (child == 0) {
        run();
        _exit(0);
    }
    CHECK_EQ(end_of(child), 0);
}
#else
static void by_raw_clone(body run) { by_fork(run); }
#endif

static body run_in_grandchild;
static void fork_once_more(void) { IN_CHILD run_in_grandchild(); }
static void by_fork_of_a_fork(body run) {
    run_in_grandchild = run;
    by_fork(fork_once_more);
}

static void *thread_that_forks(void *run) {
    IN_CHILD (*(body *)run)();
    return NULL;
}

static void by_fork_from_a_thread(body run) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_that_forks, &run) != 0) abort();
    (void)pthread_join(thread, NULL);
}

static void (*const starters[])(body) = {by_fork, by_raw_clone, by_fork_of_a_fork,
                                         by_fork_from_a_thread};
enum { starters_count = sizeof starters / sizeof *starters };

/* ---- where no page is wiped ---- */

static bool no_wiping;

#if defined(__linux__)
int madvise(void *at, size_t length, int advice);
int madvise(void *at, size_t length, int advice) {
    if (no_wiping) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_madvise, at, length, advice);
}
#endif

static body run_by_pid;
static void forget_the_pages(void) {
    no_wiping = true;
    atomic_store(&flake_i_process.page, NULL);
    atomic_store(&flake_i_process.page, NULL);
    run_by_pid();
}

/* Runs it with the page, and in a process that has none. */
static void with_and_without_a_page(body run) {
    begin();
    run();
    begin();
    run_by_pid = run;
    IN_CHILD forget_the_pages();
}

/* ---- every call is refused ---- */

static void draw_by(const struct way *way, size_t count) {
    for (size_t i = 0; i < count; i++) {
        way_ids ids;
        CHECK(way_draw(&way[i], &ids) == FLAKE_OK && ids.n > 0);
        way_note(way[i].family, &ids);
    }
}

static void draw_all(unsigned times) {
    for (unsigned t = 0; t < times; t++, pass_ms(1)) draw_by(all_ways, ways_count);
}

static void make(unsigned who, bool again) {
    const ways_setup w = {.who = who, .again = again};
    CHECK_EQ(ways_make(&w), 0);
}

static void all_is_refused(void) {
    sno_snapshot sno_at;
    sno_id id;
    for (unsigned i = 0; i < ways_count; i++) {
        way_ids ids;
        const flake_status outcome = way_draw(&all_ways[i], &ids);
        if (outcome != FLAKE_FORKED) check_fail(__FILE__, __LINE__, all_ways[i].name);
        CHECK(!ids.left_ids);
    }
    CHECK_EQ(sno_snapshot_take(&ways.sno, &sno_at), FLAKE_FORKED);
    CHECK_EQ(sno_with_time(&ways.sno, 7, 1700000000000, &id), FLAKE_FORKED);
    CHECK_EQ(flake_retry_ns(&ways.gen), INT64_MAX);
    CHECK_EQ(flake_retry_ns(&ways.wide), INT64_MAX);
    CHECK_EQ(flake_retry_ns(&ways.sno.gen), INT64_MAX);
    CHECK_EQ(flake_available(&ways.gen), 0);
}

/* ---- each continues with its own numbers ---- */

static unsigned next_who;

static void go_on_as_another(void) {
    all_is_refused();
    make(next_who, true);
    draw_all(2);
}

static void go_on_and_fork(void) {
    go_on_as_another();
    next_who++;
    IN_CHILD go_on_as_another();
    draw_all(1);
}

static void each_start_is_refused_and_goes_on(void) {
    make(0, false);
    next_who = 1;
    draw_all(2);
    for (unsigned i = 0; i < starters_count; i++, next_who += 2) {
        starters[i](go_on_and_fork);
        draw_all(1); /* the parent, too */
    }
    CHECK(our->n > 1000);
}

TEST(parents_and_children_share_no_id) {
    with_and_without_a_page(each_start_is_refused_and_goes_on);
}

/* The child lives in the parent's memory, and leaves it by exec. */
static void exec_in_between(void) {
    char name[] = "true";
    char *const arguments[] = {name, NULL};
    make(0, false);
    draw_all(1);
    for (unsigned i = 0; i < 3; i++) {
        int status = -1;
        const pid_t child = vfork();
        if (child == 0) {
            (void)execv("/bin/true", arguments);
            _exit(0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        draw_all(1);
    }
}

TEST(vfork_and_exec_leave_the_parent_alone) { with_and_without_a_page(exec_in_between); }

enum { drawers = 3, forks = 12 };
static _Atomic(bool) stop;
static _Atomic(uint64_t) drawn_keys;
static flake_gen common_gen;
static const flake_options at_once = {.start_this_unit = true}; /* sleeps pass no time here */

static void *draw_meanwhile(void *unused) {
    uint64_t id;
    (void)unused;
    while (!atomic_load(&stop))
        if (flake_try(&common_gen, &id) == FLAKE_OK) atomic_fetch_add(&drawn_keys, 1u);
    return NULL;
}

static void be_refused_and_go_on(void) {
    uint64_t id;
    CHECK_EQ(flake_try(&common_gen, &id), FLAKE_FORKED);
    CHECK_EQ(flake_next(&common_gen, &id), FLAKE_FORKED);
    CHECK_EQ(flake_reinit_after_fork(&common_gen, flake_node_fixed(NULL, 1), &at_once, NULL), FLAKE_OK);
    for (unsigned i = 0; i < 100; i++) CHECK_EQ(flake_next(&common_gen, &id), FLAKE_OK);
}

TEST(forked_while_threads_draw) {
    pthread_t threads[drawers];
    if (!words_reach_other_processes) {
        printf("  skipped: a child may inherit the lock of an atomic that another thread held\n");
        return;
    }
    CHECK_EQ(flake_init(&common_gen, flake_node_fixed(NULL, 0), &at_once, NULL), FLAKE_OK);
    atomic_store(&stop, false);
    for (unsigned i = 0; i < drawers; i++)
        if (pthread_create(&threads[i], NULL, draw_meanwhile, NULL) != 0) abort();
    for (unsigned i = 0; i < forks; i++) {
        const uint64_t had = atomic_load(&drawn_keys);
        if (i % 2) by_fork(be_refused_and_go_on);
        else by_fork_from_a_thread(be_refused_and_go_on);
        while (atomic_load(&drawn_keys) == had) {
        }
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < drawers; i++) (void)pthread_join(threads[i], NULL);
}

/* ---- partitions that the library chooses ---- */

static void clone_twice(void) {
    flake_machine_cloned();
    flake_machine_cloned();
}

static void note_partition(void) {
    const sno_id id = sno_generate(1);
    CHECK(!sno_is_zero(id));
    CHECK_EQ(sno_partition(sno_generate(2)), sno_partition(id));
    note(sno_partition(id));
}

static void note_partition_and_fork(void) {
    note_partition();
    IN_CHILD note_partition();
}

static void fork_before_drawing(void) { IN_CHILD note_partition_and_fork(); }

TEST(relatives_have_partitions_of_their_own) { /* or one is noted twice */
    note_partition();
    for (int i = 0; i < 10; i++) by_fork(i % 2 ? note_partition_and_fork : fork_before_drawing);
    CHECK_EQ(our->n, 21);
}

static void forget_the_family(void) {
    atomic_store(&sno_i_partitions.family, NULL);
    atomic_store(&sno_i_partitions.next, 0u);
}

static uint16_t first_of_a_family(void) {
    uint16_t partition = 0;
    forget_the_family();
    CHECK_EQ(sno_i_take_partition(&partition), FLAKE_OK);
    return partition;
}

/* The same clock, the same process: only the system's random bytes differ. */
TEST(partitions_begin_at_random) {
    random_script.is_on = true;
    random_script.next = 0x1234;
    const uint16_t one = first_of_a_family(), again = first_of_a_family();
    random_script.next = 0x12cb;
    const uint16_t other = first_of_a_family();
    random_script.has_none = true;
    const uint16_t by_clock = first_of_a_family();
    move_to_ns(scene_ns() + 1234567);
    const uint16_t by_later_clock = first_of_a_family();
    memset(&random_script, 0, sizeof random_script);
    CHECK_EQ(one, again);
    CHECK_EQ(one ^ other, 0xff);
    CHECK_EQ(one ^ by_clock, 0x1234);
    CHECK(by_clock != by_later_clock);
}

/* The same clock, the same counts, no random bytes: only the pids differ. */
TEST(processes_without_random_bytes_draw_by_their_pids) {
    for (unsigned i = 0; i < 2; i++)
        IN_CHILD {
            random_script.is_on = random_script.has_none = true;
            common->owners[i] = flake_i_process_owner_id();
            common->partitions[i] = sno_i_random_partition();
        }
    CHECK(common->owners[0] != common->owners[1]);
    CHECK(common->partitions[0] != common->partitions[1]);
}

#if defined(__linux__)
static void clone_and_draw(void) {
    flake_gen gen;
    uint64_t id;
    clone_twice();
    CHECK(!sno_is_zero(sno_generate(1)));
    CHECK(flake_init(&gen, flake_node_fixed(NULL, 0), &at_once, NULL) == FLAKE_OK &&
           flake_next(&gen, &id) == FLAKE_OK);
}

/* The program's checks map memory now and then themselves, but not every time. */
enum { many_times = 20, a_few = 5 };
static unsigned mappings_before, forks_to_come;
static void fork_on_and_draw(void) {
    clone_and_draw();
    if (forks_to_come-- > 0)
        IN_CHILD fork_on_and_draw();
    else CHECK(under_tsan || mappings() < mappings_before + a_few);
}

/* Neither an invalidation nor a fork leaks a page. */
TEST(clones_and_forks_leave_nothing_behind) {
    clone_and_draw();
    (void)mappings(); /* what the C library needs for it */
    mappings_before = mappings();
    for (unsigned i = 0; i < many_times; i++) clone_and_draw();
    CHECK(under_tsan || mappings() < mappings_before + a_few);
    mappings_before = mappings();
    forks_to_come = many_times;
    IN_CHILD fork_on_and_draw();
}

/* Where the kernel wipes pages, this one was registered for that. */
TEST(the_fork_page_is_in_use) {
    enum { wipe_on_fork = 18, senseless = -1 };
    flake_atomic64 *word;
    const long size = sysconf(_SC_PAGESIZE);
    void *const page =
        mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    const bool can_be = madvise(page, (size_t)size, senseless) != 0 &&
                        madvise(page, (size_t)size, wipe_on_fork) == 0;
    (void)munmap(page, (size_t)size);
    (void)flake_i_instance_owner_id(&word);
    if (can_be) CHECK(word != NULL && (uintptr_t)word % (uintptr_t)size == 0);
    else printf("  skipped: no page is wiped here\n");
}

/* The next page has the program's own variables. */
TEST(no_other_page_is_wiped) {
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *const pages =
        mmap(NULL, 3 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    char *const bytes = (char *)memset(pages, 7, 3 * size);
    if (flake_i_wipe_on_fork(bytes + size))
        IN_CHILD CHECK(bytes[0] == 7 && bytes[size] == 0 && bytes[2 * size] == 7);
    else printf("  skipped: no page is wiped here\n");
    (void)munmap(pages, 3 * size);
}
#endif

/* First calls ask the system for things that it may refuse. */
static void begin_anew(void) {
    flake_gen gen;
    uint64_t id;
    forget_the_family();
    memset((void *)&sno_i_default, 0, sizeof sno_i_default);
    errno = EDOM;
    CHECK(flake_init(&gen, flake_node_fixed(NULL, 0), &at_once, NULL) == FLAKE_OK &&
           flake_next(&gen, &id) == FLAKE_OK);
    CHECK(!sno_is_zero(sno_generate(1)));
    CHECK_EQ(errno, EDOM);
}

TEST(first_calls_leave_errno_alone) { with_and_without_a_page(begin_anew); }

/* A stock belongs to one process, even if others draw from the same generator. */
static void draw_from_shared(void) {
    const struct way ways_to_them[] = {{"", FAMILY_FLAKE, &common->gen, BY_NEXT},
                                       {"", FAMILY_WIDE, &common->wide, BY_NEXT},
                                       {"", FAMILY_SNO, &common->sno, BY_TRY},
                                       {"", FAMILY_FLAKE, NULL, BY_PREFETCH}};
    for (unsigned i = 0; i < 20; i++) draw_by(ways_to_them, 4);
}

TEST(shared_memory_is_exempt) {
    const ways_setup w = {0};
    flake_options o = ways_flake_options(&w, 0, 0), wide = ways_wide_options(&w);
    flake_options s = ways_sno_options();
    const sno_snapshot pool = ways_pool(0, FAMILY_SNO, 0, 9999);
    if (!words_reach_other_processes) return;
    o.shared_memory = wide.shared_memory = s.shared_memory = true;
    CHECK_EQ(flake_init(&common->gen, ways_flake_node(&w), &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_init(&common->wide, ways_wide_node(&w), &wide, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&common->sno, flake_node_fixed(NULL, pool.partition), &pool, &s, NULL),
             FLAKE_OK);
    CHECK_EQ(flake_prefetch_init(&ways.stock, &common->gen, 1000, 0, NULL), FLAKE_OK);
    draw_from_shared();
    for (unsigned i = 0; i < starters_count; i++) {
        starters[i](draw_from_shared);
        draw_from_shared();
    }
    flake_machine_cloned();
    flake_machine_cloned();
    draw_from_shared();
    CHECK(our->n >= 2 * starters_count * 80);
}

/* ---- flake_machine_cloned ---- */

static void be_cloned_and_go_on(void) {
    make(0, false);
    draw_all(1);
    for (unsigned who = 1; who <= 3; who++) {
        clone_twice();
        all_is_refused();
        make(who, true);
        draw_all(1);
        IN_CHILD all_is_refused();
        draw_all(1);
    }
    clone_twice(); /* twice in a row is once */
    clone_twice();
    all_is_refused();
    next_who = 9;
    IN_CHILD go_on_as_another(); /* a child of a cloned process */
    make(4, true);
    draw_all(1);
}

TEST(a_clone_is_as_if_forked) { with_and_without_a_page(be_cloned_and_go_on); }

static void *clone_often(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 200; i++) clone_twice();
    return NULL;
}

/* Many calls at once, with generators made meanwhile: all are stale after the last call. */
TEST(clones_from_many_threads) {
    pthread_t threads[drawers];
    static flake_gen gens[50];
    uint64_t id;
    for (unsigned i = 0; i < drawers; i++)
        if (pthread_create(&threads[i], NULL, clone_often, NULL) != 0) abort();
    for (unsigned i = 0; i < 50; i++)
        CHECK_EQ(flake_init(&gens[i], flake_node_fixed(NULL, 0), NULL, NULL), FLAKE_OK);
    for (unsigned i = 0; i < drawers; i++) (void)pthread_join(threads[i], NULL);
    clone_twice();
    for (unsigned i = 0; i < 50; i++) CHECK_EQ(flake_try(&gens[i], &id), FLAKE_FORKED);
    CHECK_EQ(flake_init(&gens[0], flake_node_fixed(NULL, 0), &at_once, NULL), FLAKE_OK);
    CHECK_EQ(flake_try(&gens[0], &id), FLAKE_OK);
}

static int readings_before_the_clone; /* 0: there is none */

static void clone_here(void) {
    if (readings_before_the_clone && !--readings_before_the_clone) flake_machine_cloned();
}

/* At any point of its first draw: a copy of the machine may have the ID already. */
TEST(a_clone_in_the_first_draw_drops_its_place) {
    IN_CHILD {
        bool is_done = false;
        for (int n = 1; !is_done; n++) {
            memset(&sno_i_default, 0, sizeof sno_i_default);
            readings_before_the_clone = n;
            const sno_id drawn = sno_generate(1);
            is_done = readings_before_the_clone != 0;
            readings_before_the_clone = 0;
            CHECK(!sno_is_zero(drawn));
            CHECK_EQ(sno_partition(drawn), sno_partition(sno_generate(1)));
            CHECK(!is_done || n > 1);
        }
    }
}

static void clone_and_fork(void) {
    flake_atomic64 *word;
    const uint64_t own = flake_i_process_owner_id(), before = flake_i_instance_owner_id(&word);
    flake_machine_cloned();
    CHECK(flake_i_instance_owner_id(&word) != before);
    CHECK_EQ(flake_i_process_owner_id(), own);
    IN_CHILD {
        const uint64_t childs = flake_i_process_owner_id();
        CHECK(childs && childs != own);
        CHECK_EQ(flake_i_process_owner_id(), childs);
    }
}

TEST(a_clone_leaves_a_process_what_it_holds_and_a_fork_does_not) { with_and_without_a_page(clone_and_fork); }

#if defined(__linux__)
TEST(an_id_takes_no_system_call) {
    enum { strict = 1 };
    flake_atomic64 *word;
    (void)flake_i_instance_owner_id(&word);
    if (!word || under_tsan) return;
    IN_CHILD {
        make(0, false);
        draw_all(1);
        (void)sno_generate(1);
        random_script.is_on = true; /* the processor's counter kills, too */
        if (prctl(PR_SET_SECCOMP, strict, 0, 0, 0) != 0) _exit(0); /* unavailable */
        for (unsigned t = 0; t < 100; t++, pass_ms(10)) {
            for (unsigned i = 0; i < ways_count; i++) {
                way_ids ids;
                if (way_draw(&all_ways[i], &ids) != FLAKE_OK) (void)syscall(SYS_exit, 1);
            }
            if (sno_is_zero(sno_generate(1))) (void)syscall(SYS_exit, 1);
        }
        (void)syscall(SYS_exit, 0);
    }
}
#endif

int main(int argc, char **argv) {
    common = (struct common *)shared_memory(sizeof *common);
    return scene_main(argc, argv);
}
