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
#include "mappings.h"
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
    uint16_t partitions[64];
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

/* ---- what reinit refuses ---- */

static void refusals_of_reinit(void) {
    const ways_setup w = {0};
    const flake_node node = ways_flake_node(&w);
    const flake_options o = ways_flake_options(&w, 0, 99);
    flake_gen never = {0};
    make(0, false);
    CHECK_EQ(flake_reinit_after_fork(&ways.gen, node, &o, NULL), FLAKE_INVALID); /* no fork */
    CHECK_EQ(flake_reinit_after_fork(&never, node, &o, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_reinit_after_fork(&ways.wide, node, &o, NULL), FLAKE_INVALID);
    CHECK_EQ(sno_reinit_after_fork(&ways.sno, flake_node_none(), NULL, NULL, NULL), FLAKE_INVALID);
    IN_CHILD {
        const sno_snapshot parents = ways_pool(0, FAMILY_SNO, 50, 200);
        const flake_node partition = flake_node_fixed(NULL, parents.partition), nine = flake_node_fixed(NULL, 9);
        flake_options upper = ways_flake_options(&w, 99, 120), wide = ways_wide_options(&w);
        const flake_options s = ways_sno_options();
        CHECK_EQ(flake_reinit_after_fork(&ways.gen, node, &upper, NULL), FLAKE_NODE_OVERLAP);
        CHECK_EQ(flake_reinit_after_fork(&ways.lanes, flake_node_fixed(NULL, 0), NULL, NULL), FLAKE_OK);
        CHECK_EQ(flake_reinit_after_fork(&ways.wide, ways_wide_node(&w), &wide, NULL), FLAKE_NODE_OVERLAP);
        CHECK_EQ(sno_reinit_after_fork(&ways.sno, partition, &parents, &s, NULL), FLAKE_NODE_OVERLAP);
        CHECK_EQ(flake_reinit_after_fork(&ways.gen, flake_node_fixed(NULL, 2000), &upper, NULL), FLAKE_NODE_RANGE);
        upper.seq_min = 100; /* the first number outside this generator's range */
        CHECK_EQ(flake_reinit_after_fork(&ways.gen, node, &upper, NULL), FLAKE_OK);
        for (unsigned i = 0; i < way_halves; i++) { /* shards are closed, and made anew */
            CHECK_EQ(flake_reinit_after_fork(&ways.shards[i], nine, &upper, NULL), FLAKE_INVALID);
            CHECK_EQ(sno_reinit_after_fork(&ways.sno_shards[i], nine, NULL, &s, NULL), FLAKE_INVALID);
        }
        CHECK_EQ(sno_reinit_after_fork(&ways.sno, flake_node_none(), NULL, NULL, NULL), FLAKE_OK);
        CHECK(sno_gen_partition(&ways.sno) != parents.partition);
    }
    draw_all(1);
}

TEST(reinit_refuses_the_parents_ids) { with_and_without_a_page(refusals_of_reinit); }

enum { NARROW, WIDE, SNOS, kinds };

/* The generator of that kind with these numbers of a node, worker or partition. */
static flake_status init(unsigned kind, bool again, unsigned who, uint16_t min, uint16_t max) {
    const ways_setup w = {.who = who};
    flake_options o = kind == WIDE ? ways_wide_options(&w) : ways_flake_options(&w, 0, 0);
    const flake_options s = ways_sno_options();
    const sno_snapshot pool = ways_pool(who, FAMILY_SNO, min, max);
    const flake_node partition = flake_node_fixed(NULL, pool.partition);
    const flake_node node = kind == WIDE ? ways_wide_node(&w) : ways_flake_node(&w);
    flake_gen *const g = kind == WIDE ? &ways.wide : &ways.gen;
    o.seq_min = min;
    o.seq_max = max;
    if (kind == SNOS)
        return again ? sno_reinit_after_fork(&ways.sno, partition, &pool, &s, NULL)
                     : sno_init(&ways.sno, partition, &pool, &s, NULL);
    return again ? flake_reinit_after_fork(g, node, &o, NULL) : flake_init(g, node, &o, NULL);
}

static flake_status draw_one(unsigned kind, uint32_t *seq) {
    uint64_t id;
    flake128 wide;
    sno_id sno;
    flake_parts parts = {0, 0, 0};
    flake_status status;
    if (kind == SNOS) {
        if ((status = sno_try(&ways.sno, 7, &sno)) == FLAKE_OK) *seq = sno_sequence(sno);
        return status;
    }
    status = kind == WIDE ? flake128_try(&ways.wide, &wide) : flake_try(&ways.gen, &id);
    if (status != FLAKE_OK) return status;
    CHECK((kind == WIDE ? flake128_decompose(&flake_layout_boundary, &wide, &parts)
                         : flake_decompose(&flake_layout_idgen, id, &parts)) == FLAKE_OK);
    CHECK(parts.node == (kind == WIDE ? 1 : 2));
    *seq = parts.seq;
    return FLAKE_OK;
}

/* The parent has 100 to 199, of each. */
static void a_range_in_the_middle(void) {
    static const uint16_t shared[][2] = {{100, 199}, {50, 100}, {199, 250}, {120, 130},
                                         {50, 250},  {0, 0},    {100, 50},  {250, 199}};
    static const uint16_t beside[][2] = {{50, 99}, {200, 203}};
    for (unsigned kind = 0; kind < kinds; kind++) CHECK_EQ(init(kind, false, 1, 100, 199), FLAKE_OK);
    for (unsigned kind = 0; kind < kinds; kind++)
        for (unsigned side = 0; side < 2; side++)
            IN_CHILD {
                uint32_t seq = 0;
                for (size_t i = 0; i < (kind == SNOS ? 8 : 6); i++) /* a pool's bounds in either order */
                    CHECK_EQ(init(kind, true, 1, shared[i][0], shared[i][1]), FLAKE_NODE_OVERLAP);
                CHECK_EQ(draw_one(kind, &seq), FLAKE_FORKED);
                CHECK_EQ(init(kind, true, 1, beside[side][0], beside[side][1]), FLAKE_OK);
                CHECK(draw_one(kind, &seq) == FLAKE_OK && seq == beside[side][0]);
            }
    for (unsigned kind = 0; kind < kinds; kind++) IN_CHILD CHECK_EQ(init(kind, true, 2, 100, 199), FLAKE_OK);
}

TEST(a_child_may_have_the_numbers_beside_its_parents) {
    with_and_without_a_page(a_range_in_the_middle);
}

/* ---- in a directory ---- */

static flake_gen of_dir;
static sno_gen sno_of_dir;

static void draw_from_dir(uint64_t number) {
    uint64_t id;
    sno_id of_sno;
    pass_ms(4); /* the unit in which they start */
    for (unsigned i = 0; i < 20; i++) {
        CHECK(flake_next(&of_dir, &id) == FLAKE_OK && sno_next(&sno_of_dir, 0, &of_sno) == FLAKE_OK);
        note(id);
        note((uint64_t)sno_partition(of_sno) << 48 ^ sno_key(of_sno) ^ (uint64_t)1 << 63);
    }
    CHECK(flake_gen_node(&of_dir) == number && sno_gen_partition(&sno_of_dir) == number + 100);
}

/* The lowest numbers that its ancestors, and siblings that live, do not have. */
static void take_free_numbers(void) {
    uint64_t id;
    sno_id of_sno;
    const int before = descriptors();
    const uint64_t parents = flake_gen_node(&of_dir);
    CHECK_EQ(flake_try(&of_dir, &id), FLAKE_FORKED);
    CHECK_EQ(sno_try(&sno_of_dir, 0, &of_sno), FLAKE_FORKED);
    CHECK_EQ(flake_extend(&of_dir, NULL), FLAKE_INVALID);
    CHECK(flake_reinit_after_fork(&of_dir, flake_node_fixed(our_folder, parents), NULL, NULL) ==
           FLAKE_IN_USE); /* it has dropped what it inherited, and its parent has the number */
    CHECK_EQ(flake_reinit_after_fork(&of_dir, flake_node_any(our_folder, 0, 9), NULL, NULL), FLAKE_OK);
    CHECK(sno_reinit_after_fork(&sno_of_dir, flake_node_any(our_folder, 100, 109), NULL, NULL, NULL) ==
           FLAKE_OK);
    CHECK_EQ(descriptors(), before);
    draw_from_dir(parents + 1);
}

static void take_free_numbers_and_fork(void) {
    take_free_numbers();
    IN_CHILD take_free_numbers();
    draw_from_dir(1);
    CHECK(flake_close(&of_dir, NULL) == FLAKE_OK && flake_close(&sno_of_dir.gen, NULL) == FLAKE_OK);
}

static void children_take_numbers_of_a_directory(void) {
    const flake_options o = options_of_flake(0, 0, scene_clock, NULL);
    const flake_options s = options_of_sno(scene_clock, NULL);
    CHECK_EQ(flake_init(&of_dir, flake_node_any(our_folder, 0, 9), &o, NULL), FLAKE_OK);
    CHECK_EQ(sno_init(&sno_of_dir, flake_node_any(our_folder, 100, 109), NULL, &s, NULL), FLAKE_OK);
    for (unsigned i = 0; i < starters_count; i++) {
        draw_from_dir(0);
        starters[i](take_free_numbers_and_fork);
        pass_ms(10000); /* after the horizons of children that ended without a close */
    }
    draw_from_dir(0);
    CHECK(flake_close(&of_dir, NULL) == FLAKE_OK && flake_close(&sno_of_dir.gen, NULL) == FLAKE_OK);
    CHECK(our->n > 200);
}

TEST(children_take_other_numbers_of_the_directory) {
    with_and_without_a_page(children_take_numbers_of_a_directory);
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
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        draw_all(1);
    }
}

TEST(vfork_and_exec_leave_the_parent_alone) { with_and_without_a_page(exec_in_between); }

/* ---- threads that draw while another forks ---- */

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
    flake_parts parts;
    CHECK_EQ(flake_try(&common_gen, &id), FLAKE_FORKED);
    CHECK_EQ(flake_next(&common_gen, &id), FLAKE_FORKED);
    CHECK_EQ(flake_reinit_after_fork(&common_gen, flake_node_fixed(NULL, 1), &at_once, NULL), FLAKE_OK);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQ(flake_next(&common_gen, &id), FLAKE_OK);
        CHECK(flake_decompose(&flake_gen_options(&common_gen)->layout, id, &parts) == FLAKE_OK &&
               parts.node == 1);
    }
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

/* ---- the default sno generator, and partitions that the library chooses ---- */

static void clone_twice(void) {
    flake_machine_cloned();
    flake_machine_cloned();
}

static unsigned place_in_family;

static void tell_partition(void) {
    const sno_id id = sno_generate(1);
    CHECK(!sno_is_zero(id));
    CHECK_EQ(sno_partition(sno_generate(2)), sno_partition(id));
    common->partitions[place_in_family] = sno_partition(id);
}

static void tell_partition_and_fork(void) {
    tell_partition();
    place_in_family += 16;
    IN_CHILD tell_partition();
}

static void fork_before_drawing(void) {
    place_in_family += 32;
    IN_CHILD tell_partition_and_fork();
}

TEST(relatives_have_partitions_of_their_own) {
    memset(common->partitions, 0, sizeof common->partitions);
    place_in_family = 0;
    tell_partition();
    for (place_in_family = 1; place_in_family <= 10; place_in_family++)
        by_fork(place_in_family % 2 ? tell_partition_and_fork : fork_before_drawing);
    unsigned same = 0, told = 0;
    bool seen[1 << 16];
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < 64; i++) {
        if (i != 0 && !common->partitions[i]) continue;
        same += seen[common->partitions[i]];
        seen[common->partitions[i]] = true;
        told++;
    }
    CHECK(told >= 20);
    CHECK_EQ(same, 0);
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

/* ---- generators in shared memory ---- */

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

/* ---- the process owner ID ---- */

TEST(a_clone_leaves_a_process_what_it_holds_and_a_fork_does_not) {
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

/* ---- no system call per ID ---- */

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
    common = (struct common *)mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return common == MAP_FAILED ? 1 : scene_main(argc, argv);
}
