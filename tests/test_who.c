/* SPDX-License-Identifier: MIT
 *
 * Where node numbers come from: addresses, names, variables, and slots that processes claim.
 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#define _FILE_OFFSET_BITS 64 /* readdir on 32 bits, where offsets are hashes */
#include "support.h"
#include "flake.h"
#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

/* ---- addresses ---- */

typedef struct entry {
    struct ifaddrs at;
    struct sockaddr_ll link;
    struct sockaddr_in ip;
} entry;

static entry entries[6];

static void begin_entries(void) { memset(entries, 0, sizeof entries); }

static void chain(size_t i, const char *name) {
    entries[i].at.ifa_name = (char *)(uintptr_t)name;
    if (i > 0) entries[i - 1].at.ifa_next = &entries[i].at;
}

static void add_link(size_t i, const char *name, const char *hex, bool is_loopback) {
    chain(i, name);
    entries[i].link.sll_family = AF_PACKET;
    entries[i].link.sll_halen = 6;
    hex_bytes(hex, entries[i].link.sll_addr, 6);
    entries[i].at.ifa_flags = is_loopback ? FLAKE_I_LOOPBACK : 0;
    entries[i].at.ifa_addr = (struct sockaddr *)(void *)&entries[i].link;
}

static void add_ip(size_t i, const char *name, uint32_t ip) {
    const uint8_t bytes[4] = {(uint8_t)(ip >> 24), (uint8_t)(ip >> 16), (uint8_t)(ip >> 8),
                              (uint8_t)ip};
    chain(i, name);
    entries[i].ip.sin_family = AF_INET;
    memcpy(&entries[i].ip.sin_addr, bytes, 4);
    entries[i].at.ifa_addr = (struct sockaddr *)(void *)&entries[i].ip;
}

static void the_first_real_interface_has_the_word(void) {
    uint64_t worker = 1;
    flake_why why;
    begin_entries();
    add_link(0, "lo", "00005e000001", true);
    add_link(1, "dummy0", "000000000000", false);
    chain(2, "tun0"); /* has no address at all */
    add_link(3, "docker0", "0242ac110001", false);
    add_link(4, "eth0", "001a2b3c4d5e", false);
    add_link(5, "eth1", "001a2b3c4d5f", false);
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, NULL, &worker, &why), FLAKE_OK);
    CHECK_EQ(worker, 0x001a2b3c4d5e);
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, "docker0", &worker, &why), FLAKE_OK);
    CHECK_EQ(worker, 0x0242ac110001);
    entries[3].at.ifa_next = NULL;
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, NULL, &worker, &why), FLAKE_OK);
    CHECK_EQ(worker, 0x0242ac110001); /* rather than none */
    entries[3].at.ifa_next = &entries[4].at;
    add_link(4, "eth0", "0242ac110002", false);
    entries[4].at.ifa_flags = FLAKE_I_UP;
    add_link(5, "eth1", "0242ac110003", false);
    entries[5].at.ifa_flags = FLAKE_I_UP;
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, NULL, &worker, &why), FLAKE_OK);
    CHECK_EQ(worker, 0x0242ac110002); /* docker0 is down */
}

static void an_interface_without_an_address_is_refused_by_name(void) {
    uint64_t worker = 77;
    flake_why why;
    begin_entries();
    add_link(0, "lo", "000000000000", true);
    add_link(1, "dummy0", "000000000000", false);
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, "dummy0", &worker, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "dummy0: this interface has no Ethernet address");
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, "lo", &worker, &why), FLAKE_INVALID);
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, "eth9", &worker, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "eth9: there is no interface of this name");
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, NULL, &worker, NULL), FLAKE_INVALID);
    CHECK_EQ(worker, 77);
    CHECK_EQ(flake_worker_from_mac("no-such-interface", &worker, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "no-such-interface: there is no interface of this name");
}

static void the_first_private_ip_gives_16_bits(void) {
    static const struct {
        uint32_t ip;
        bool is_private;
    } cases[] = {{0x0a000001, true},  {0x0affffff, true},  {0x0b000001, false}, {0x09ffffff, false},
                 {0xac100102, true},  {0xac1fffff, true},  {0xac200001, false}, {0xac0fffff, false},
                 {0xc0a80708, true},  {0xc0a90708, false}, {0xc0a7ffff, false}, {0x7f000001, false},
                 {0x08080808, false}, {0xa9fe0102, false}};
    flake_why why;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t node = 0xabcdef;
        begin_entries();
        add_link(0, "lo", "000000000000", true);
        add_ip(1, "lo", 0x7f000001);
        add_ip(2, "eth0", cases[i].ip);
        add_ip(3, "eth1", cases[i].is_private ? 0x0a090909 : 0x01010101);
        CHECK_EQ(flake_i_pick_ip(&entries[0].at, &node, &why),
                 cases[i].is_private ? FLAKE_OK : FLAKE_INVALID);
        CHECK_EQ(node, cases[i].is_private ? cases[i].ip & 0xffff : 0xabcdef);
    }
    CHECK_STR(why.text, "this machine: no interface has a private IPv4 address");
}

/* ---- names ---- */

static void the_ordinal_of_a_hostname(void) {
    static const struct {
        const char *name;
        flake_status status;
        uint32_t node;
    } cases[] = {{"web-3", FLAKE_OK, 3},
                 {"web-0.web.prod.svc.cluster.local", FLAKE_OK, 0},
                 {"a-b-12", FLAKE_OK, 12},
                 {"web-4294967295", FLAKE_OK, 4294967295},
                 {"web-4294967296", FLAKE_INVALID, 0},
                 {"web-99999999999999999999", FLAKE_INVALID, 0},
                 {"web3", FLAKE_INVALID, 0},
                 {"web-", FLAKE_INVALID, 0},
                 {"web-3a", FLAKE_INVALID, 0},
                 {"web.prod-3", FLAKE_INVALID, 0},
                 {"", FLAKE_INVALID, 0},
                 {"7", FLAKE_INVALID, 0}};
    flake_why why;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t node = 99;
        CHECK_EQ(flake_node_from_hostname(cases[i].name, &node, &why), cases[i].status);
        CHECK_EQ(node, cases[i].status == FLAKE_OK ? cases[i].node : 99);
    }
    CHECK_EQ(flake_node_from_hostname("db", &(uint32_t){0}, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "db: does not end in -NUMBER, as web-3 does");
}

static void a_number_in_the_environment(void) {
    uint32_t node = 5;
    flake_why why;
    CHECK_EQ(setenv("FLAKE_TEST_NODE", "1023", 1), 0);
    CHECK_EQ(flake_node_from_env("FLAKE_TEST_NODE", &node, &why), FLAKE_OK);
    CHECK_EQ(node, 1023);
    static const char *const wrong[] = {"", " 1", "1 ", "-1", "+1", "0x1", "4294967296", "1\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQ(setenv("FLAKE_TEST_NODE", wrong[i], 1), 0);
        CHECK_EQ(flake_node_from_env("FLAKE_TEST_NODE", &node, &why), FLAKE_INVALID);
    }
    CHECK_STR(why.text, "FLAKE_TEST_NODE: is not a decimal number below 2^32");
    CHECK_EQ(unsetenv("FLAKE_TEST_NODE"), 0);
    CHECK_EQ(flake_node_from_env("FLAKE_TEST_NODE", &node, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "FLAKE_TEST_NODE: is not set");
    CHECK_EQ(node, 1023);
}

static void a_number_that_does_not_fit_is_refused_by_init(void) {
    flake_gen gen;
    flake_options o;
    memset(&o, 0, sizeof o);
    o.node = 1024;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_INVALID);
    o.node = 1000;
    o.node_offset = 23;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_OK);
    o.node_offset = 24;
    CHECK_EQ(flake_init(&gen, &o), FLAKE_NODE);
}

/* ---- slots ---- */

static char folder[64];
static flake_slot slots[8];

static void empty_folder(void) {
    char path[400];
    DIR *dir = opendir(folder);
    if (!dir) abort();
    for (struct dirent *file; (file = readdir(dir));) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
        if (file->d_name[0] != '.') (void)unlink(path);
    }
    (void)closedir(dir);
}

static flake_slot_options in_folder(uint32_t count) {
    flake_slot_options o;
    memset(&o, 0, sizeof o);
    o.dir = folder;
    o.count = count;
    o.clock.now_ns = script_read;
    o.clock.user = &script_now;
    return o;
}

/* The number claimed, or the status, below 0. */
static int64_t claim(size_t i, const flake_slot_options *o) {
    uint32_t number = UINT32_MAX;
    const flake_status status = flake_slot_claim(&slots[i], o, &number, NULL);
    if (status != FLAKE_OK) CHECK_EQ(number, UINT32_MAX);
    return status == FLAKE_OK ? (int64_t)number : -(int64_t)status;
}

static void the_lowest_free_number_is_claimed(void) {
    flake_slot_options o = in_folder(3);
    o.hold_ms = -1;
    empty_folder();
    script_at_ms(1700000000000);
    for (int64_t i = 0; i < 3; i++)
        CHECK_EQ(claim((size_t)i, &o), i); /* one process, three claims */
    CHECK_EQ(claim(3, &o), -FLAKE_TAKEN);
    CHECK_EQ(flake_slot_release(&slots[1]), FLAKE_OK);
    CHECK_EQ(flake_slot_release(&slots[1]), FLAKE_INVALID);
    CHECK_EQ(claim(3, &o), 1);
    o.first = 7;
    CHECK_EQ(claim(4, &o), 7);
    for (size_t i = 0; i < 5; i++)
        CHECK_EQ(flake_slot_release(&slots[i]), i == 1 ? FLAKE_INVALID : FLAKE_OK);
}

static void a_released_number_is_held_back(void) {
    flake_slot_options o = in_folder(2);
    empty_folder();
    script_at_ms(1700000000000);
    CHECK_EQ(claim(0, &o), 0);
    CHECK_EQ(flake_slot_release(&slots[0]), FLAKE_OK);
    CHECK_EQ(claim(1, &o), 1);
    script_at_ms(1700000001999);
    CHECK_EQ(claim(0, &o), -FLAKE_AGAIN);
    script_at_ms(1700000002000);
    CHECK_EQ(claim(0, &o), 0);
    CHECK_EQ(flake_slot_release(&slots[0]), FLAKE_OK);
    script_at_ms(1690000000000); /* the clock is put back: the time begins anew */
    CHECK_EQ(claim(0, &o), -FLAKE_AGAIN);
    script_at_ms(1690000001999);
    CHECK_EQ(claim(0, &o), -FLAKE_AGAIN);
    o.wait_ms = 50;
    CHECK_EQ(claim(0, &o), 0);
    CHECK_EQ(script_now.slept_ns, 10000000);
    CHECK_EQ(flake_slot_release(&slots[0]), FLAKE_OK);
    CHECK_EQ(flake_slot_release(&slots[1]), FLAKE_OK);
}

static int in_child(int (*part)(void)) {
    int status = 0;
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) _exit(part());
    if (waitpid(child, &status, 0) != child) abort();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int claim_and_die(void) {
    const flake_slot_options o = in_folder(4);
    return (int)claim(0, &o);
}

static void the_number_of_the_dead_is_held_back(void) {
    const flake_slot_options o = in_folder(2);
    empty_folder();
    script_at_ms(1700000000000);
    CHECK_EQ(in_child(claim_and_die), 0);
    script_at_ms(1700000600000);
    CHECK_EQ(claim(0, &o), 1); /* his death is seen now */
    CHECK_EQ(claim(1, &o), -FLAKE_AGAIN);
    script_at_ms(1700000602000);
    CHECK_EQ(claim(1, &o), 0);
    CHECK_EQ(flake_slot_release(&slots[0]), FLAKE_OK);
    CHECK_EQ(flake_slot_release(&slots[1]), FLAKE_OK);
}

static int be_a_child_of_a_holder(void) {
    flake_slot_options o = in_folder(4);
    if (flake_slot_release(&slots[0]) != FLAKE_FORKED) return 100;
    return (int)claim(1, &o);
}

static void a_forked_child_does_not_hold_its_parents_number(void) {
    flake_slot_options o = in_folder(4);
    empty_folder();
    script_at_ms(1700000000000);
    CHECK_EQ(claim(0, &o), 0);
    CHECK_EQ(in_child(be_a_child_of_a_holder), 1);
    CHECK_EQ(in_child(claim_and_die), 2); /* 0 is still the parent's; 1 is kept back */
    CHECK_EQ(flake_slot_release(&slots[0]), FLAKE_OK);
}

static void a_torn_file_is_as_one_of_the_dead(void) {
    const flake_slot_options o = in_folder(1);
    static const char *const texts[] = {"x",
                                        "released",
                                        "released00000000000000000000\n?",
                                        "claimed 17",
                                        "released!!!!!!!!!!!!!!!!!!!\n",
                                        "released000000000000000000:\n"};
    char path[128];
    (void)snprintf(path, sizeof path, "%s/0.slot", folder);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        empty_folder();
        script_at_ms(1700000000000);
        FILE *file = fopen(path, "w");
        if (!file || fputs(texts[i], file) < 0 || fclose(file) != 0) abort();
        CHECK_EQ(claim(0, &o), -FLAKE_AGAIN);
        script_at_ms(1700000002000);
        CHECK_EQ(claim(0, &o), 0);
        CHECK_EQ(flake_slot_release(&slots[0]), FLAKE_OK);
    }
}

static void a_slot_that_is_held_stays_as_it_is(void) {
    const flake_slot_options o = in_folder(3);
    uint32_t number = 9;
    flake_why why;
    empty_folder();
    script_at_ms(1700000000000);
    CHECK_EQ(claim(0, &o), 0);
    CHECK_EQ(flake_slot_claim(&slots[0], &o, &number, &why), FLAKE_TAKEN);
    CHECK_STR(strchr(why.text, ':'), ": the slot holds a number already");
    CHECK_EQ(number, 9);
    CHECK_EQ(claim(1, &o), 1); /* its lock is in the list once, or this would not end */
    CHECK_EQ(flake_slot_release(&slots[0]), FLAKE_OK);
    CHECK_EQ(flake_slot_release(&slots[1]), FLAKE_OK);
    CHECK_EQ(claim(0, &o), 2);
    CHECK_EQ(flake_slot_release(&slots[0]), FLAKE_OK);
}

static void a_folder_that_is_none_is_refused_by_name(void) {
    flake_slot_options o = in_folder(1);
    uint32_t number = 9;
    flake_why why;
    o.dir = "/proc/no-such-folder";
    CHECK_EQ(flake_slot_claim(&slots[0], &o, &number, &why), FLAKE_IO);
    CHECK_STR(
        why.text,
        "/proc/no-such-folder: a file in it can't be written or locked: No such file or directory");
    o.dir = NULL;
    CHECK_EQ(flake_slot_claim(&slots[0], &o, &number, &why), FLAKE_INVALID);
    o = in_folder(2);
    o.first = UINT32_MAX;
    CHECK_EQ(flake_slot_claim(&slots[0], &o, &number, &why), FLAKE_INVALID);
    o = in_folder(1);
    o.wait_ms = -1;
    CHECK_EQ(flake_slot_claim(&slots[0], &o, &number, &why), FLAKE_INVALID);
    CHECK_EQ(number, 9);
    CHECK_EQ(flake_slot_release(&slots[0]), FLAKE_INVALID);
}

/* Many processes claim, release, die, and are followed by others. */
enum {
    crowd = 200,
    numbers = 40,
#ifdef TEST_SMALL
    claims = 2000
#else
    claims = 20000
#endif
};

typedef struct holders {
    _Atomic(int) of[numbers]; /* pid; below 0: he is about to die with it */
    _Atomic(int) clashes, claims, deaths, refused;
} holders;

static holders *our;

static _Noreturn void claim_again_and_again(uint64_t random) {
    flake_slot_options o = in_folder(numbers);
    o.hold_ms = -1;
    while (atomic_load(&our->claims) < claims) {
        const int64_t number = claim(0, &o);
        if (number < 0) {
            if (number != -FLAKE_TAKEN) atomic_fetch_add(&our->refused, 1);
            continue;
        }
        if (atomic_exchange(&our->of[number], (int)getpid()) > 0)
            atomic_fetch_add(&our->clashes, 1);
        atomic_fetch_add(&our->claims, 1);
        for (uint64_t spin = random_below(&random, 2000); spin; spin--) FLAKE_RELAX();
        if (random_below(&random, 50) == 0) {
            if (atomic_exchange(&our->of[number], -(int)getpid()) != (int)getpid())
                atomic_fetch_add(&our->clashes, 1);
            atomic_fetch_add(&our->deaths, 1);
            (void)raise(SIGKILL);
        }
        if (atomic_exchange(&our->of[number], 0) != (int)getpid())
            atomic_fetch_add(&our->clashes, 1);
        if (flake_slot_release(&slots[0]) != FLAKE_OK) atomic_fetch_add(&our->refused, 1);
    }
    _exit(0);
}

static void start(uint64_t random) {
    const pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) claim_again_and_again(random);
}

static void no_two_of_200_processes_hold_one_number(void) {
    empty_folder();
    memset(our, 0, sizeof *our);
    (void)fflush(stdout);
    uint64_t random = 0x2545f4914f6cdd1d;
    for (unsigned i = 0; i < crowd; i++) start(random_next(&random) | 1);
    for (unsigned left = crowd; left > 0;) {
        int status = 0;
        if (wait(&status) < 0) abort();
        if (WIFSIGNALED(status)) start(random_next(&random) | 1);
        else left--;
    }
    CHECK_EQ(atomic_load(&our->clashes), 0);
    CHECK_EQ(atomic_load(&our->refused), 0);
    CHECK(atomic_load(&our->deaths) > 10);
    CHECK(atomic_load(&our->claims) >= claims);
}

int main(int argc, char **argv) {
    static const check_test all[] = {CHECK_TEST(the_first_real_interface_has_the_word),
                                     CHECK_TEST(an_interface_without_an_address_is_refused_by_name),
                                     CHECK_TEST(the_first_private_ip_gives_16_bits),
                                     CHECK_TEST(the_ordinal_of_a_hostname),
                                     CHECK_TEST(a_number_in_the_environment),
                                     CHECK_TEST(a_number_that_does_not_fit_is_refused_by_init),
                                     CHECK_TEST(the_lowest_free_number_is_claimed),
                                     CHECK_TEST(a_released_number_is_held_back),
                                     CHECK_TEST(the_number_of_the_dead_is_held_back),
                                     CHECK_TEST(a_forked_child_does_not_hold_its_parents_number),
                                     CHECK_TEST(a_torn_file_is_as_one_of_the_dead),
                                     CHECK_TEST(a_slot_that_is_held_stays_as_it_is),
                                     CHECK_TEST(a_folder_that_is_none_is_refused_by_name),
                                     CHECK_TEST(no_two_of_200_processes_hold_one_number)};
    void *page = mmap(NULL, sizeof *our, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    our = (holders *)page;
    (void)snprintf(folder, sizeof folder, "/tmp/flake-slots-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    const int failed = CHECK_MAIN(argc, argv, all);
    empty_folder();
    (void)rmdir(folder);
    return failed;
}
