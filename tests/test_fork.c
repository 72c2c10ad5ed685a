/* SPDX-License-Identifier: MIT
 *
 * What a process draws that was forked from one with generators: nothing, until it says with which
 * ids of its own it goes on. Whichever way it came to be, and whichever way it draws. The same after
 * flake_machine_cloned, and where the pid has to tell processes apart.
 */
#define _GNU_SOURCE
#include "support.h"
static void bump_here(void);
#define FLAKE_CLOCK_NS(kind) \
    (bump_here(), random_script.is_on ? script_now.now_ns : flake_i_system_ns(kind))
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
#include "options.h"
#include "ways_to_draw.h"
#include "mappings.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#if defined(__SANITIZE_THREAD__)
enum { under_tsan = 1 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { under_tsan = 1 };
#else
enum { under_tsan = 0 };
#endif
#else
enum { under_tsan = 0 };
#endif

/* What processes tell each other. */
typedef struct common {
    _Atomic(unsigned) trouble;
    ways_log log;
    flake_gen shared;
    flake_gen shared_wide;
    sno_gen shared_sno;
    uint16_t partitions[64];
} common;
static common *our;

static void trouble(const char *what) {
    atomic_fetch_add(&our->trouble, 1u);
    printf("  in process %ld: %s\n", (long)getpid(), what);
    (void)fflush(stdout);
}

#define EXPECT(condition) ((condition) ? (void)0 : trouble(#condition))

static void begin_family(void) {
    script_at_ms(1700000000000);
    atomic_store(&our->trouble, 0u);
    our->log.n = 0;
    (void)fflush(stdout);
}

static void end(void) { CHECK_EQ(atomic_load(&our->trouble), 0); }

/* ---- ways to a child ---- */

typedef void (*body)(void);

static void finish(pid_t child, body run) {
    int status = -1;
    if (child == 0) {
        run();
        _exit(0);
    }
    EXPECT(child > 0);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void by_fork(body run) { finish(fork(), run); }

#if defined(__linux__) && defined(SYS_clone)
static void by_raw_clone(body run) {
    if (under_tsan) {
        printf("  skipped, since it would tear the thread sanitizer's own state: raw clone\n");
        return;
    }
#if defined(__s390x__)
    finish((pid_t)syscall(SYS_clone, NULL, SIGCHLD, NULL, NULL, NULL), run);
#else
    finish((pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL), run);
#endif
}
#else
static void by_raw_clone(body run) { by_fork(run); }
#endif

static body run_in_grandchild;
static void fork_once_more(void) { by_fork(run_in_grandchild); }
static void by_fork_of_a_fork(body run) {
    run_in_grandchild = run;
    by_fork(fork_once_more);
}

static void *thread_that_forks(void *run) {
    by_fork(*(body *)run);
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

/* Runs it with the page, and in a process that has to do without. */
static void with_and_without_a_page(body run) {
    begin_family();
    run();
    end();
    begin_family();
    run_by_pid = run;
    by_fork(forget_the_pages);
    end();
}

/* ---- all is refused ---- */

static void draw_all(unsigned times) {
    for (unsigned t = 0; t < times; t++, script_now.now_ns += 1000000)
        for (unsigned i = 0; i < ways_count; i++) {
            way_ids ids;
            EXPECT(way_draw(&all_ways[i], &ids) == FLAKE_OK && ids.n > 0);
            ways_note(&our->log, all_ways[i].family, &ids);
        }
}

static void make(unsigned who, bool again) {
    ways_setup w = {0};
    w.who = who;
    w.is_scripted = true;
    w.again = again;
    EXPECT(ways_make(&w) == 0);
}

static void all_is_refused(void) {
    flake_snapshot snapshot;
    sno_snapshot sno_at;
    sno_id id;
    for (unsigned i = 0; i < ways_count; i++) {
        way_ids ids;
        const flake_status outcome = way_draw(&all_ways[i], &ids);
        if (outcome != FLAKE_FORKED) trouble(all_ways[i].name);
        EXPECT(!ids.left_ids);
    }
    flake_snapshot wide_snapshot;
    EXPECT(flake_snapshot_take(&ways.gen, &snapshot) == FLAKE_FORKED);
    EXPECT(flake_snapshot_take(&ways.wide, &wide_snapshot) == FLAKE_FORKED);
    EXPECT(sno_snapshot_take(&ways.sno, &sno_at) == FLAKE_FORKED);
    EXPECT(sno_with_time(&ways.sno, 7, 1700000000000, &id) == FLAKE_FORKED);
    EXPECT(flake_retry_ns(&ways.gen) == INT64_MAX);
    EXPECT(flake_retry_ns(&ways.wide) == INT64_MAX);
    EXPECT(flake_retry_ns(&ways.sno.gen) == INT64_MAX);
    EXPECT(flake_available(&ways.gen) == 0);
}

static void each_start_is_refused(void) {
    make(0, false);
    draw_all(2);
    for (unsigned i = 0; i < starters_count; i++) {
        starters[i](all_is_refused);
        draw_all(1); /* the parent goes on */
    }
    EXPECT(ways_repeated(&our->log) == 0);
}

TEST(whoever_is_forked_draws_nothing) {
    with_and_without_a_page(each_start_is_refused);
}

/* ---- each goes on with its own ---- */

static unsigned next_who;

static void go_on_as_another(void) {
    all_is_refused();
    make(next_who, true);
    draw_all(2);
}

static void go_on_and_fork(void) {
    go_on_as_another();
    next_who++;
    by_fork(go_on_as_another);
    draw_all(1);
}

static void each_start_goes_on(void) {
    make(0, false);
    next_who = 1;
    draw_all(2);
    for (unsigned i = 0; i < starters_count; i++, next_who += 2) {
        starters[i](go_on_and_fork);
        draw_all(1);
    }
    EXPECT(our->log.n > 1000);
    EXPECT(ways_repeated(&our->log) == 0);
}

TEST(parents_and_children_share_no_id) { with_and_without_a_page(each_start_goes_on); }

/* ---- what reinit refuses ---- */

static void reinit_with_the_parents_ids(void) {
    const sno_snapshot parents = ways_pool(0, FAMILY_SNO, 50, 200);
    ways_setup w = {0};
    w.is_scripted = true;
    flake_options o = ways_flake_options(&w, 99, 120), wide = ways_wide_options(&w);
    flake_options s = ways_sno_options(&w);
    EXPECT(flake_reinit_after_fork(&ways.gen, &o, NULL) == FLAKE_NODE_OVERLAP);
    EXPECT(flake_reinit_after_fork(&ways.gen, NULL, NULL) == FLAKE_OK); /* node 0 was nobody's */
    EXPECT(flake_reinit_after_fork(&ways.wide, &wide, NULL) == FLAKE_NODE_OVERLAP);
    EXPECT(sno_reinit_after_fork(&ways.sno, &parents, &s, NULL) == FLAKE_NODE_OVERLAP);
    o.seq_min = 100; /* the first number that was not this generator's */
    EXPECT(flake_reinit_after_fork(&ways.shards[1], &o, NULL) == FLAKE_OK);
    o.node = 2000;
    EXPECT(flake_reinit_after_fork(&ways.shards[0], &o, NULL) == FLAKE_INVALID);
    EXPECT(sno_reinit_after_fork(&ways.sno, NULL, NULL, NULL) == FLAKE_OK);
    EXPECT(sno_gen_partition(&ways.sno) != parents.partition);
}

static void refusals_of_reinit(void) {
    ways_setup w = {0};
    const flake_options o = ways_flake_options(&w, 0, 99);
    flake_gen never = {0};
    make(0, false);
    EXPECT(flake_reinit_after_fork(&ways.gen, &o, NULL) == FLAKE_INVALID); /* no fork */
    EXPECT(flake_reinit_after_fork(&never, &o, NULL) == FLAKE_INVALID);
    EXPECT(flake_reinit_after_fork(&ways.wide, &o, NULL) == FLAKE_INVALID);
    EXPECT(sno_reinit_after_fork(&ways.sno, NULL, NULL, NULL) == FLAKE_INVALID);
    by_fork(reinit_with_the_parents_ids);
    draw_all(1);
}

TEST(reinit_refuses_the_parents_ids) { with_and_without_a_page(refusals_of_reinit); }

static flake_status reinit_sno(uint16_t min, uint16_t max) {
    const sno_snapshot pool = ways_pool(0, FAMILY_SNO, min, max);
    ways_setup w = {0};
    w.is_scripted = true;
    const flake_options o = ways_sno_options(&w);
    return sno_reinit_after_fork(&ways.sno, &pool, &o, NULL);
}

static flake_status reinit_wide(uint64_t worker, uint32_t min, uint32_t max) {
    ways_setup w = {0};
    w.is_scripted = true;
    flake_options o = ways_wide_options(&w);
    o.node = worker;
    o.seq_min = min;
    o.seq_max = max;
    return flake_reinit_after_fork(&ways.wide, &o, NULL);
}

static flake_status reinit_narrow(uint32_t min, uint32_t max) {
    ways_setup w = {0};
    w.is_scripted = true;
    const flake_options o = ways_flake_options(&w, min, max);
    return flake_reinit_after_fork(&ways.gen, &o, NULL);
}

/* The parent has 100 to 199, of each. */
static void may_not_have_one(void) {
    sno_id id;
    flake128 wide;
    uint64_t narrow;
    const sno_snapshot all = ways_pool(0, FAMILY_SNO, 0, 0);
    ways_setup w = {0};
    const flake_options o = ways_sno_options(&w);
    static const uint16_t shared[][2] = {{100, 199}, {50, 100}, {199, 250}, {120, 130}, {50, 250}};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        EXPECT(reinit_sno(shared[i][0], shared[i][1]) == FLAKE_NODE_OVERLAP);
        EXPECT(reinit_sno(shared[i][1], shared[i][0]) == FLAKE_NODE_OVERLAP); /* in either order */
        EXPECT(reinit_wide(1, shared[i][0], shared[i][1]) == FLAKE_NODE_OVERLAP);
        EXPECT(reinit_narrow(shared[i][0], shared[i][1]) == FLAKE_NODE_OVERLAP);
    }
    EXPECT(sno_reinit_after_fork(&ways.sno, &all, &o, NULL) == FLAKE_NODE_OVERLAP);
    EXPECT(reinit_wide(1, 0, 0) == FLAKE_NODE_OVERLAP);
    EXPECT(sno_try(&ways.sno, 7, &id) == FLAKE_FORKED);
    EXPECT(flake128_try(&ways.wide, &wide) == FLAKE_FORKED);
    EXPECT(flake_try(&ways.gen, &narrow) == FLAKE_FORKED);
}

static void may_have_those_below(void) {
    sno_id id = {0};
    flake128 wide;
    flake_parts parts = {0, 0, 0};
    may_not_have_one();
    EXPECT(reinit_sno(50, 99) == FLAKE_OK && reinit_wide(1, 0, 99) == FLAKE_OK);
    EXPECT(reinit_narrow(0, 99) == FLAKE_OK);
    EXPECT(sno_try(&ways.sno, 7, &id) == FLAKE_OK && sno_sequence(id) == 50);
    EXPECT(flake128_try(&ways.wide, &wide) == FLAKE_OK &&
           flake128_decompose(&flake_layout_boundary, &wide, &parts) == FLAKE_OK && parts.seq == 0 &&
           parts.node == 1);
}

static void may_have_those_above(void) {
    sno_id id = {0};
    EXPECT(reinit_sno(200, 203) == FLAKE_OK && reinit_wide(1, 200, 200) == FLAKE_OK);
    EXPECT(reinit_narrow(200, 4095) == FLAKE_OK);
    EXPECT(sno_try(&ways.sno, 7, &id) == FLAKE_OK && sno_sequence(id) == 200);
}

static void another_may_have_the_same(void) {
    const sno_snapshot pool = ways_pool(1, FAMILY_SNO, 100, 199);
    ways_setup w = {0};
    w.is_scripted = true;
    const flake_options o = ways_sno_options(&w);
    EXPECT(sno_reinit_after_fork(&ways.sno, &pool, &o, NULL) == FLAKE_OK);
    EXPECT(reinit_wide(2, 100, 199) == FLAKE_OK);
}

static void a_range_in_the_middle(void) {
    const sno_snapshot pool = ways_pool(0, FAMILY_SNO, 100, 199);
    ways_setup w = {0};
    w.is_scripted = true;
    const flake_options o = ways_sno_options(&w);
    const flake_options narrow = ways_flake_options(&w, 100, 199);
    flake_options wide = ways_wide_options(&w);
    wide.node = 1;
    wide.seq_min = 100;
    wide.seq_max = 199;
    EXPECT(sno_init(&ways.sno, &pool, &o, NULL) == FLAKE_OK);
    EXPECT(flake_init(&ways.wide, &wide, NULL) == FLAKE_OK);
    EXPECT(flake_init(&ways.gen, &narrow, NULL) == FLAKE_OK);
    by_fork(may_have_those_below);
    by_fork(may_have_those_above);
    by_fork(another_may_have_the_same);
}

TEST(a_child_may_have_the_numbers_beside_its_parents) {
    with_and_without_a_page(a_range_in_the_middle);
}

/* ---- vfork: the child lives in the parent's memory, and leaves it by exec ---- */

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
        EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        draw_all(1);
    }
    EXPECT(ways_repeated(&our->log) == 0);
}

TEST(vfork_and_exec_leave_the_parent_alone) {
    with_and_without_a_page(exec_in_between);
}

/* ---- threads that draw while another forks ---- */

enum { drawers = 3, forks = 12 };
static _Atomic(bool) stop;
static _Atomic(uint64_t) drawn_keys;
static flake_gen common_gen;

static void *draw_meanwhile(void *unused) {
    uint64_t id;
    (void)unused;
    while (!atomic_load(&stop))
        if (flake_try(&common_gen, &id) == FLAKE_OK) atomic_fetch_add(&drawn_keys, 1u);
    return NULL;
}

static void be_refused_and_go_on(void) {
    uint64_t id;
    flake_options o = {0};
    flake_parts parts;
    o.node = 1;
    EXPECT(flake_try(&common_gen, &id) == FLAKE_FORKED);
    EXPECT(flake_next(&common_gen, &id) == FLAKE_FORKED);
    EXPECT(flake_reinit_after_fork(&common_gen, &o, NULL) == FLAKE_OK);
    for (unsigned i = 0; i < 100; i++) {
        EXPECT(flake_next(&common_gen, &id) == FLAKE_OK);
        EXPECT(flake_decompose(&flake_gen_options(&common_gen)->layout, id, &parts) == FLAKE_OK &&
               parts.node == 1);
    }
}

TEST(forked_while_threads_draw) {
    pthread_t threads[drawers];
    if (!words_reach_other_processes) {
        printf("  skipped: a child may inherit the lock of an atomic that another thread held\n");
        return;
    }
    begin_family();
    CHECK_EQ(flake_init(&common_gen, NULL, NULL), FLAKE_OK);
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
    end();
}

/* ---- the default sno generator, and partitions that are chosen for the user ---- */

static void bump_all(void) {
    flake_machine_cloned();
    flake_machine_cloned();
}

static unsigned place_in_family;

static void tell_partition(void) {
    const sno_id id = sno_generate(1);
    EXPECT(!sno_is_zero(id));
    EXPECT(sno_partition(sno_generate(2)) == sno_partition(id));
    our->partitions[place_in_family] = sno_partition(id);
}

static void tell_partition_and_fork(void) {
    tell_partition();
    place_in_family += 16;
    by_fork(tell_partition);
}

static void fork_before_drawing(void) {
    place_in_family += 32;
    by_fork(tell_partition_and_fork);
}

TEST(relatives_have_partitions_of_their_own) {
    begin_family();
    memset(our->partitions, 0, sizeof our->partitions);
    place_in_family = 0;
    tell_partition();
    for (place_in_family = 1; place_in_family <= 10; place_in_family++)
        by_fork(place_in_family % 2 ? tell_partition_and_fork : fork_before_drawing);
    unsigned same = 0, told = 0;
    bool seen[1 << 16];
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < 64; i++) {
        if (i != 0 && !our->partitions[i]) continue;
        same += seen[our->partitions[i]];
        seen[our->partitions[i]] = true;
        told++;
    }
    CHECK(told >= 20);
    CHECK_EQ(same, 0);
    end();
}

static void forget_the_family(void) {
    atomic_store(&sno_i_partitions.family, NULL);
    atomic_store(&sno_i_partitions.asked, 0u);
}

static uint16_t first_of_a_family(void) {
    uint16_t partition = 0;
    forget_the_family();
    EXPECT(sno_i_take_partition(&partition) == FLAKE_OK);
    return partition;
}

/* The same clock, the same process: what differs is what the system's random source said. */
TEST(partitions_begin_at_random) {
    begin_family();
    random_script.is_on = true;
    random_script.next = 0x1234;
    const uint16_t one = first_of_a_family(), again = first_of_a_family();
    random_script.next = 0x12cb;
    const uint16_t other = first_of_a_family();
    random_script.has_none = true;
    const uint16_t by_clock = first_of_a_family();
    script_now.now_ns += 1234567;
    const uint16_t by_later_clock = first_of_a_family();
    memset(&random_script, 0, sizeof random_script);
    CHECK_EQ(one, again);
    CHECK_EQ(one ^ other, 0xff);
    CHECK_EQ(one ^ by_clock, 0x1234);
    CHECK(by_clock != by_later_clock);
    end();
}

/* One start for each bump, however many there were; from it on partitions are counted up. */
static void take_after_bumps(void) {
    uint16_t before = 0, partition = 0, next = 0;
    forget_the_family();
    random_script.is_on = true;
    random_script.next = 0x0101;
    EXPECT(sno_i_take_partition(&before) == FLAKE_OK);
    for (unsigned bump = 1; bump <= 70; bump++) {
        flake_machine_cloned();
        random_script.next = (uint16_t)(0x0101 + 0x0333 * bump);
        EXPECT(sno_i_take_partition(&partition) == FLAKE_OK);
        EXPECT(partition != (uint16_t)(before + 1)); /* what a clone would take */
        random_script.next ^= 0x5555;
        for (unsigned i = 1; i < 4; i++) {
            EXPECT(sno_i_take_partition(&next) == FLAKE_OK);
            EXPECT(next == (uint16_t)(partition + i));
        }
        before = next;
    }
}

/* One who has missed the last bumps of its relatives takes the next of theirs. */
static void take_with_fewer_bumps(void) {
    uint16_t partition = 0, next = 0;
    take_after_bumps();
    EXPECT(sno_i_take_partition(&partition) == FLAKE_OK);
    for (unsigned fewer = 1; fewer < 5; fewer++) {
        (void)atomic_fetch_sub(&flake_i_process.clone_count, 1u);
        random_script.next = (uint16_t)(random_script.next + 0x0777);
        EXPECT(sno_i_take_partition(&next) == FLAKE_OK);
        EXPECT(next == (uint16_t)(partition + fewer));
    }
}

TEST(partitions_after_many_bumps_are_counted_up) {
    begin_family();
    by_fork(take_with_fewer_bumps);
    end();
}

/* Two who ask at once must not both put a page in the module's place for it: the second would take the
 * first one's count away. */
static bool is_in_the_room(const struct sno_i_family *family) {
    const uintptr_t at = (uintptr_t)family, room = (uintptr_t)&sno_i_partitions.room;
    return at >= room && at < room + sizeof sno_i_partitions.room;
}

static void ask_for_the_family_twice(void) {
    struct sno_i_family *const first = sno_i_get_family();
    script_now.slept_ns = 0;
    atomic_store(&sno_i_partitions.family, NULL); /* the first is not done yet */
    struct sno_i_family *const second = sno_i_get_family();
    EXPECT(first != second && !is_in_the_room(second));
    EXPECT(script_now.slept_ns == 1000000);
#if defined(__linux__)
    EXPECT(is_in_the_room(first));
#endif
}

static void forget_and_ask(void) {
    forget_the_family();
    ask_for_the_family_twice();
}

TEST(one_family_is_put_in_its_place) {
    begin_family();
    by_fork(forget_and_ask);
    end();
}

#if defined(__linux__)
static void bump_and_draw(void) {
    flake_gen gen;
    uint64_t id;
    bump_all();
    EXPECT(!sno_is_zero(sno_generate(1)));
    EXPECT(flake_init(&gen, NULL, NULL) == FLAKE_OK && flake_next(&gen, &id) == FLAKE_OK);
}

/* What checks the program maps now and then for itself; but not once each time. */
enum { many_times = 20, a_few = 5 };
static unsigned mappings_before, forks_to_come;
static void fork_on_and_draw(void) {
    bump_and_draw();
    if (forks_to_come-- > 0) by_fork(fork_on_and_draw);
    else EXPECT(under_tsan || mappings() < mappings_before + a_few);
}

/* Neither a bump nor a fork makes a page that stays. */
TEST(bumps_and_forks_leave_nothing_behind) {
    begin_family();
    bump_and_draw();
    (void)mappings(); /* what the C library needs for it */
    mappings_before = mappings();
    for (unsigned i = 0; i < many_times; i++) bump_and_draw();
    CHECK(under_tsan || mappings() < mappings_before + a_few);
    mappings_before = mappings();
    forks_to_come = many_times;
    by_fork(fork_on_and_draw);
    end();
}

/* Where the kernel wipes pages, it has been told of one. */
TEST(the_fork_page_is_in_use) {
    enum { wipe_on_fork = 18, senseless = -1 };
    flake_i_atomic64 *word;
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
#endif

/* First calls ask the system for things that it may refuse. */
static void begin_anew(void) {
    flake_gen gen;
    uint64_t id;
    forget_the_family();
    memset((void *)&sno_i_default, 0, sizeof sno_i_default);
    errno = EDOM;
    EXPECT(flake_init(&gen, NULL, NULL) == FLAKE_OK && flake_next(&gen, &id) == FLAKE_OK);
    EXPECT(!sno_is_zero(sno_generate(1)));
    EXPECT(errno == EDOM);
}

TEST(first_calls_leave_errno_alone) { with_and_without_a_page(begin_anew); }

/* ---- generators in shared memory ---- */

static void draw_from_shared(void) {
    for (unsigned i = 0; i < 20; i++) {
        way_ids ids;
        uint64_t id = 0;
        flake128 wide = {0};
        sno_id sno = {0};
        (void)way_give(&ids, BY_NEXT, flake_next(&our->shared, &id), &id, 1);
        EXPECT(ids.n == 1);
        ways_note(&our->log, FAMILY_FLAKE, &ids);
        (void)way_give_wide(&ids, BY_NEXT, flake128_next(&our->shared_wide, &wide),
                            &wide, 1);
        EXPECT(ids.n == 1);
        ways_note(&our->log, FAMILY_WIDE, &ids);
        (void)way_give_snos(&ids, BY_NEXT, sno_try(&our->shared_sno, 7, &sno), &sno, 1);
        EXPECT(ids.n == 1);
        ways_note(&our->log, FAMILY_SNO, &ids);
    }
}

/* A stock is a process's own, whoever else draws from its generator. */
static flake_prefetch stock;

static void draw_from_stock(void) {
    for (unsigned i = 0; i < 3; i++) {
        way_ids ids;
        uint64_t id = 0;
        (void)way_give(&ids, BY_PREFETCH, flake_prefetch_next(&stock, &id), &id, 1);
        EXPECT(ids.n == 1);
        ways_note(&our->log, FAMILY_FLAKE, &ids);
    }
}

TEST(a_stock_of_a_shared_generator_is_not_inherited) {
    if (!words_reach_other_processes) return;
    begin_family();
    ways_setup w = {0};
    flake_options o = ways_flake_options(&w, 0, 0);
    o.shared_memory = true;
    CHECK_EQ(flake_init(&our->shared, &o, NULL), FLAKE_OK);
    CHECK_EQ(flake_prefetch_init(&stock, &our->shared, 1000, 0, NULL), FLAKE_OK);
    draw_from_stock();
    for (unsigned i = 0; i < starters_count; i++) {
        starters[i](draw_from_stock);
        draw_from_stock();
    }
    CHECK(our->log.n >= 2 * starters_count * 3);
    CHECK_EQ(ways_repeated(&our->log), 0);
    end();
}

TEST(shared_memory_is_exempt) {
    if (!words_reach_other_processes) return;
    begin_family();
    ways_setup w = {0};
    flake_options o = ways_flake_options(&w, 0, 0);
    const sno_snapshot pool = ways_pool(0, FAMILY_SNO, 0, 9999);
    flake_options s = ways_sno_options(&w);
    o.shared_memory = s.shared_memory = true;
    CHECK_EQ(flake_init(&our->shared, &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&our->shared_sno, &pool, &s, NULL), FLAKE_OK);
    o.layout = flake_layout_boundary;
    CHECK_EQ(flake_init(&our->shared_wide, &o, NULL), FLAKE_OK);
    for (unsigned i = 0; i < starters_count; i++) {
        starters[i](draw_from_shared);
        draw_from_shared();
    }
    flake_machine_cloned();
    flake_machine_cloned();
    draw_from_shared();
    CHECK(our->log.n >= 2 * starters_count * 60);
    CHECK_EQ(ways_repeated(&our->log), 0);
    end();
}

/* ---- bump ---- */

static void bump_and_go_on(void) {
    make(0, false);
    draw_all(1);
    for (unsigned who = 1; who <= 3; who++) {
        bump_all();
        all_is_refused();
        make(who, true);
        draw_all(1);
        by_fork(all_is_refused);
        draw_all(1);
    }
    bump_all(); /* twice in a row is once */
    bump_all();
    all_is_refused();
    next_who = 9;
    by_fork(go_on_as_another); /* a child of a bumped one */
    make(4, true);
    draw_all(1);
    EXPECT(ways_repeated(&our->log) == 0);
}

TEST(a_bump_is_as_if_forked) { with_and_without_a_page(bump_and_go_on); }

static void *bump_often(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 200; i++) bump_all();
    return NULL;
}

/* With many bumps at once and generators made meanwhile, all of them are stale after the last. */
TEST(bumps_from_many_threads) {
    pthread_t threads[drawers];
    static flake_gen gens[50];
    uint64_t id;
    begin_family();
    for (unsigned i = 0; i < drawers; i++)
        if (pthread_create(&threads[i], NULL, bump_often, NULL) != 0) abort();
    for (unsigned i = 0; i < 50; i++) CHECK_EQ(flake_init(&gens[i], NULL, NULL), FLAKE_OK);
    for (unsigned i = 0; i < drawers; i++) (void)pthread_join(threads[i], NULL);
    bump_all();
    for (unsigned i = 0; i < 50; i++) CHECK_EQ(flake_try(&gens[i], &id), FLAKE_FORKED);
    CHECK_EQ(flake_init(&gens[0], NULL, NULL), FLAKE_OK);
    CHECK_EQ(flake_try(&gens[0], &id), FLAKE_OK);
    end();
}

/* Makes of this process what a machine's clone would be: nothing that it shares with another. */
static void part_from_the_family(void) {
    struct sno_i_family *family = atomic_load(&sno_i_partitions.family);
    const struct sno_i_family copy = *family;
    EXPECT(mmap(family, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0) == (void *)family);
    *family = copy;
}

static void draw_as_a_clone(void) {
    part_from_the_family();
    flake_machine_cloned();
    tell_partition();
    place_in_family += 16;
    by_fork(tell_partition); /* a family again */
    EXPECT(our->partitions[place_in_family] != our->partitions[place_in_family - 16]);
}

/* Two clones that wake at different times are two families; by chance alone they meet. */
TEST(clones_of_a_machine_take_other_partitions) {
    unsigned same = 0;
    begin_family();
    (void)sno_generate(1);
    for (unsigned i = 0; i < 3; i++) {
        for (place_in_family = 0; place_in_family < 2; place_in_family++) by_fork(draw_as_a_clone);
        same += our->partitions[0] == our->partitions[1];
    }
    CHECK(same < 3);
    end();
}

/* Relatives who bump after the same wake stay relatives. */
static void bump_and_tell(void) {
    flake_machine_cloned();
    tell_partition();
}

TEST(relatives_that_bump_stay_relatives) {
    begin_family();
    (void)sno_generate(1);
    for (unsigned wake = 0; wake < 3; wake++) {
        for (place_in_family = 1; place_in_family < 20; place_in_family++) by_fork(bump_and_tell);
        place_in_family = 0;
        bump_and_tell();
        for (unsigned i = 0; i < 20; i++)
            for (unsigned k = 0; k < i; k++) EXPECT(our->partitions[i] != our->partitions[k]);
    }
    end();
}

static int readings_before_the_bump; /* 0: there is none */

static void bump_here(void) {
    if (readings_before_the_bump && !--readings_before_the_bump) flake_machine_cloned();
}

/* Whenever in its first draw that comes: a copy of the machine may have the id already. */
static void bump_while_the_first_is_drawn(void) {
    bool is_done = false;
    for (int n = 1; !is_done; n++) {
        memset(&sno_i_default, 0, sizeof sno_i_default);
        readings_before_the_bump = n;
        const sno_id drawn = sno_generate(1);
        is_done = readings_before_the_bump != 0;
        readings_before_the_bump = 0;
        EXPECT(!sno_is_zero(drawn));
        EXPECT(sno_partition(drawn) == sno_partition(sno_generate(1)));
        EXPECT(!is_done || n > 1);
    }
}

TEST(a_bump_in_the_first_draw_drops_its_place) {
    begin_family();
    by_fork(bump_while_the_first_is_drawn);
    end();
}

/* ---- the process owner id ---- */

static uint64_t parents_owner_id;

static void have_an_owner_id_of_its_own(void) {
    const uint64_t owner_id = flake_i_process_owner_id();
    EXPECT(owner_id && owner_id != parents_owner_id);
    EXPECT(flake_i_process_owner_id() == owner_id);
}

TEST(a_bump_leaves_a_process_what_it_holds) {
    flake_i_atomic64 *word;
    begin_family();
    parents_owner_id = flake_i_process_owner_id();
    const uint64_t before = flake_i_instance_owner_id(&word);
    flake_machine_cloned();
    CHECK(flake_i_instance_owner_id(&word) != before);
    CHECK_EQ(flake_i_process_owner_id(), parents_owner_id);
    by_fork(have_an_owner_id_of_its_own);
    end();
}

/* ---- no system call an id ---- */

#if defined(__linux__)
static void draw_where_system_calls_kill(void) {
    make(0, false);
    draw_all(1);
    (void)sno_generate(1);
    random_script.is_on = true; /* the processor's counter kills, too */
    enum { strict = 1 };
    if (prctl(PR_SET_SECCOMP, strict, 0, 0, 0) != 0) _exit(0); /* not to be had */
    for (unsigned t = 0; t < 100; t++, script_now.now_ns += 10000000) {
        for (unsigned i = 0; i < ways_count; i++) {
            way_ids ids;
            if (way_draw(&all_ways[i], &ids) != FLAKE_OK) (void)syscall(SYS_exit, 1);
        }
        if (sno_is_zero(sno_generate(1))) (void)syscall(SYS_exit, 1);
    }
    (void)syscall(SYS_exit, 0);
}

TEST(an_id_takes_no_system_call) {
    flake_i_atomic64 *word;
    begin_family();
    (void)flake_i_instance_owner_id(&word);
    if (word && !under_tsan) by_fork(draw_where_system_calls_kill);
    end();
}
#endif

int main(int argc, char **argv) {
    void *page = mmap(NULL, sizeof *our, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    our = (common *)page;
    return check_main(argc, argv);
}
