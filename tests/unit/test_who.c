/* SPDX-License-Identifier: MIT
 *
 * Sources of node numbers: addresses, names and variables. And random bytes from a file.
 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include "support.h"
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/utsname.h>
#include <unistd.h>

/* This host's interfaces, or those of a test. */
static struct {
    bool is_on, fails;
    struct ifaddrs *list;
    int open;
} interfaces;

static int list_interfaces(struct ifaddrs **list) {
    if (!interfaces.is_on) return getifaddrs(list);
    if (interfaces.fails) return -1;
    interfaces.open++;
    *list = interfaces.list;
    return 0;
}

static void free_interfaces(struct ifaddrs *list) {
    if (!interfaces.is_on) freeifaddrs(list);
    else interfaces.open -= list == interfaces.list;
}
#define getifaddrs(list)  list_interfaces(list)
#define freeifaddrs(list) free_interfaces(list)

static const char *host_name; /* NULL: unreadable */

static int name_host(struct utsname *system) {
    if (host_name) (void)snprintf(system->nodename, sizeof system->nodename, "%s", host_name);
    return host_name ? 0 : -1;
}
#define uname(system) name_host(system)

static int flags_of_file; /* of that which was read */
#define read(fd, to, n) (flags_of_file = fcntl(fd, F_GETFD), read(fd, to, n))

/* As if the kernel had no call for random bytes. */
#if defined(__linux__)
#include <sys/syscall.h>
#undef SYS_getrandom
#endif
#include "flake.h"

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
    entries[i].link.sll_ifindex = 0x0a00000a; /* where an IPv4 address would be */
    hex_bytes(hex, entries[i].link.sll_addr, 6);
    entries[i].at.ifa_flags = is_loopback ? FLAKE_I_LOOPBACK : 0;
    entries[i].at.ifa_addr = (struct sockaddr *)(void *)&entries[i].link;
}

static void add_ip(size_t i, const char *name, uint32_t ip) {
    const uint8_t bytes[4] = {(uint8_t)(ip >> 24), (uint8_t)(ip >> 16), (uint8_t)(ip >> 8),
                              (uint8_t)ip};
    chain(i, name);
    entries[i].ip.sin_family = AF_INET;
    memset(entries[i].ip.sin_zero, 6, 8); /* where a MAC and its length would be */
    memcpy(&entries[i].ip.sin_addr, bytes, 4);
    entries[i].at.ifa_addr = (struct sockaddr *)(void *)&entries[i].ip;
}

static uint64_t mac_of(const char *name) {
    uint64_t worker = 1;
    return flake_i_pick_mac(&entries[0].at, name, &worker, NULL) == FLAKE_OK ? worker : 0;
}

TEST(the_first_real_interface_has_the_word) {
    begin_entries();
    add_link(0, "lo", "00005e000001", true);
    add_link(1, "dummy0", "000000000000", false);
    chain(2, "tun0"); /* has no address at all */
    add_link(3, "docker0", "0242ac110001", false);
    add_link(4, "eth0", "001a2b3c4d5e", false);
    add_link(5, "eth1", "001a2b3c4d5f", false);
    CHECK_EQ(mac_of(NULL), 0x001a2b3c4d5e);
    entries[3].at.ifa_flags = FLAKE_I_UP;
    CHECK_EQ(mac_of(NULL), 0x001a2b3c4d5e);
    entries[3].at.ifa_flags = 0;
    CHECK_EQ(mac_of("docker0"), 0x0242ac110001);
    entries[3].at.ifa_next = NULL;
    CHECK_EQ(mac_of(NULL), 0x0242ac110001); /* rather than none */
    entries[3].at.ifa_next = &entries[4].at;
    add_link(4, "eth0", "0242ac110002", false);
    entries[4].at.ifa_flags = 1; /* IFF_UP */
    add_link(5, "eth1", "0242ac110003", false);
    entries[5].at.ifa_flags = FLAKE_I_UP;
    CHECK_EQ(mac_of(NULL), 0x0242ac110002); /* docker0 is down */
}

TEST(an_interface_without_an_address_is_refused_by_name) {
    uint64_t worker = 77;
    flake_why why;
    begin_entries();
    add_link(0, "lo", "000000000000", true);
    add_link(1, "dummy0", "000000000000", false);
    add_ip(2, "eth0", 0x0a000001);
    add_link(3, "gre0", "0a0000010000", false);
    entries[3].link.sll_halen = 4; /* no Ethernet address */
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, "dummy0", &worker, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "dummy0: no interface of this name has an Ethernet address");
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, "lo", &worker, &why), FLAKE_INVALID);
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, "eth9", &worker, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "eth9: no interface of this name has an Ethernet address");
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, NULL, &worker, NULL), FLAKE_INVALID);
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, NULL, &worker, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "this machine: no interface has an Ethernet address");
    add_link(2, "eth0", "001122334455", false);
    chain(3, "tun0"); /* the one before it is not read again */
    CHECK_EQ(flake_i_pick_mac(&entries[0].at, "tun0", &worker, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "tun0: no interface of this name has an Ethernet address");
    CHECK_EQ(worker, 77);
    CHECK_EQ(flake_node_from_mac("no-such-interface", &worker, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "no-such-interface: no interface of this name has an Ethernet address");
}

TEST(the_first_private_ip_gives_16_bits) {
    static const struct {
        uint32_t ip;
        bool is_private;
    } cases[] = {{0x0a000001, true},  {0x0affffff, true},  {0x0b000001, false}, {0x09ffffff, false},
                 {0xac100102, true},  {0xac1fffff, true},  {0xac200001, false}, {0xac0fffff, false},
                 {0xc0a80708, true},  {0xc0a90708, false}, {0xc0a7ffff, false}, {0x7f000001, false},
                 {0x08080808, false}, {0xa9fe0102, true},  {0xa9ff0102, false}, {0xa9fd0102, false}};
    flake_why why;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t node = 0xabcdef;
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

/* The call itself, whatever addresses this host has. */
TEST(this_hosts_own_address) {
    uint64_t node = 0xabcdef, expected = UINT64_MAX;
    struct ifaddrs *list = NULL;
    CHECK_EQ(getifaddrs(&list), 0);
    const flake_status status = flake_i_pick_ip(list, &expected, NULL);
    freeifaddrs(list);
    CHECK_EQ(flake_node_from_ip(&node, NULL), status);
    CHECK_EQ(node, expected);
}

TEST(the_list_of_interfaces_is_asked_for_and_let_go) {
    uint64_t node = 0xabcdef;
    uint64_t worker = 0xabcdef;
    flake_why why;
    begin_entries();
    add_link(0, "eth0", "001a2b3c4d5e", false);
    add_ip(1, "eth0", 0x0a010203);
    interfaces.is_on = true;
    interfaces.open = 0;
    interfaces.fails = true;
    CHECK_EQ(flake_node_from_ip(&node, &why), FLAKE_IO);
    CHECK_STR(why.text, "interfaces: are not listed by the system");
    CHECK_EQ(flake_node_from_mac(NULL, &worker, &why), FLAKE_IO);
    CHECK(node == UINT64_MAX && worker == UINT64_MAX);
    interfaces.fails = false;
    interfaces.list = NULL; /* a host without any */
    CHECK_EQ(flake_node_from_ip(&node, NULL), FLAKE_INVALID);
    CHECK_EQ(node, UINT64_MAX);
    interfaces.list = &entries[0].at;
    CHECK_EQ(flake_node_from_ip(&node, &why), FLAKE_OK);
    CHECK_EQ(node, 0x0203);
    CHECK_EQ(flake_node_from_mac(NULL, &worker, &why), FLAKE_OK);
    CHECK_EQ(worker, 0x001a2b3c4d5e);
    CHECK_EQ(interfaces.open, 0);
    interfaces.is_on = false;
}

/* ---- names ---- */

TEST(the_ordinal_of_a_hostname) {
    static const struct {
        const char *name;
        uint64_t node;
    } cases[] = {{"web-3", 3},
                 {"web-0.web.prod.svc.cluster.local", 0},
                 {"a-b-12", 12},
                 {"web-4294967295", 4294967295},
                 {"web-18446744073709551615", UINT64_MAX}};
    static const char *const wrong[] = {"web-18446744073709551616", "web-99999999999999999999",
                                        "web3", "web-", "web-3a", "web.prod-3", "", "7", "db"};
    enum { right = sizeof cases / sizeof *cases, all = right + sizeof wrong / sizeof *wrong };
    flake_why why;
    for (size_t i = 0; i < 2 * all; i++) {
        uint64_t node = 99;
        const bool is_right = i / 2 < right;
        host_name = is_right ? cases[i / 2].name : wrong[i / 2 - right];
        CHECK_EQ(flake_node_from_hostname(i % 2 ? NULL : host_name, &node, &why),
                 is_right ? FLAKE_OK : FLAKE_INVALID);
        CHECK_EQ(node, is_right ? cases[i / 2].node : UINT64_MAX);
    }
    CHECK_STR(why.text, "db: does not end in -NUMBER, as web-3 does");
    host_name = NULL;
    CHECK_EQ(flake_node_from_hostname(NULL, &(uint64_t){0}, &why), FLAKE_IO);
    CHECK_STR(why.text, "hostname: can't be read");
    host_name = "db-7";
    char room[5];
    CHECK(flake_i_host_name(room, 5) == room && !flake_i_host_name(room, 4));
}

TEST(a_number_in_the_environment) {
    uint64_t node = 5;
    flake_why why;
    CHECK_EQ(setenv("FLAKE_TEST_NODE", "1023", 1), 0);
    CHECK_EQ(flake_node_from_env("FLAKE_TEST_NODE", &node, &why), FLAKE_OK);
    CHECK_EQ(node, 1023);
    static const char *const wrong[] = {"", " 1", "1 ", "-1", "+1", "0x1", "18446744073709551616", "1\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQ(setenv("FLAKE_TEST_NODE", wrong[i], 1), 0);
        CHECK_EQ(flake_node_from_env("FLAKE_TEST_NODE", &node, &why), FLAKE_INVALID);
    }
    CHECK_STR(why.text, "FLAKE_TEST_NODE: is not a decimal number below 2^64");
    CHECK_EQ(unsetenv("FLAKE_TEST_NODE"), 0);
    CHECK_EQ(flake_node_from_env("FLAKE_TEST_NODE", &node, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "FLAKE_TEST_NODE: is not set");
    CHECK_EQ(flake_node_from_env(NULL, &node, &why), FLAKE_INVALID);
    CHECK_EQ(node, UINT64_MAX);
}

TEST(a_number_that_does_not_fit_is_refused_by_init) {
    flake_gen gen;
    flake_options o = {0};
    for (o.node = 1024; o.node; o.node = o.node == 1024 ? UINT64_MAX : 0)
        CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_NODE_RANGE);
    o.node = 1000;
    o.node_offset = 23;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_OK);
    o.node_offset = 24;
    CHECK_EQ(flake_init(&gen, &o, NULL), FLAKE_NODE_RANGE);
}

/* ---- random bytes ---- */

static int next_descriptor(void) {
    const int fd = open("/dev/null", O_RDONLY);
    CHECK_EQ(close(fd), 0);
    return fd;
}

TEST(random_bytes_come_from_a_file_where_no_call_has_them) {
    uint64_t drawn[2][4] = {{0}, {0}};
    const int before = next_descriptor();
    errno = ENOTTY;
    for (int i = 0; i < 2; i++) CHECK(flake_i_random_bytes(drawn[i], sizeof drawn[i]));
    CHECK_EQ(errno, ENOTTY);
    CHECK_EQ(flags_of_file, FD_CLOEXEC);
    CHECK_EQ(next_descriptor(), before);
    for (int i = 0; i < 4; i++) CHECK(drawn[0][i] && drawn[0][i] != drawn[1][i]);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
