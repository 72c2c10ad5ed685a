/* SPDX-License-Identifier: MIT
 *
 * Where node numbers come from (flake_node_from_ in flake.h): addresses, names and variables, each of which fails
 * with a reason and with the number that no init accepts. And random bytes from a file.
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

static const uint64_t no_number = 0xBFFFFFFFBFFFBFFF; /* after a failure */

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
    CHECK(node == no_number && worker == no_number);
    interfaces.fails = false;
    interfaces.list = NULL; /* a host without any */
    CHECK_EQ(flake_node_from_ip(&node, NULL), FLAKE_INVALID);
    CHECK_EQ(node, no_number);
    interfaces.list = &entries[0].at;
    CHECK_EQ(flake_node_from_ip(&node, &why), FLAKE_OK);
    CHECK_EQ(node, 0x0203);
    CHECK_EQ(flake_node_from_mac(NULL, &worker, &why), FLAKE_OK);
    CHECK_EQ(worker, 0x001a2b3c4d5e);
    CHECK_EQ(interfaces.open, 0);
    interfaces.is_on = false;
}

/* ---- names ---- */

/* A range from `first` to `last` and a name; the number, or what is wrong. */
typedef struct host_case {
    const char *name;
    uint64_t first, last, number;
    const char *why; /* after the name; NULL: there is a number */
} host_case;

/* Of the name, and of a host that has it. */
static void check_host(const host_case *c) {
    for (int of_host = 0; of_host < 2; of_host++) {
        uint64_t number = 99;
        flake_why why = {"untouched"};
        host_name = c->name;
        const flake_status status = flake_node_from_hostname(of_host ? NULL : c->name, c->first,
                                                             c->last, &number, &why);
        CHECK_EQ(status, c->why ? FLAKE_INVALID : FLAKE_OK);
        CHECK(number == (c->why ? no_number : c->number));
        if (c->why)
            CHECK(strncmp(why.text, c->name, strlen(c->name)) == 0 &&
                  strcmp(why.text + strlen(c->name), c->why) == 0);
        if (check_failures) printf("  %s: %s\n", c->name, why.text);
    }
}

/* first + ordinal, at most last: another set's hosts have the numbers after it. */
TEST(a_hostname_has_a_number_of_its_range) {
    static const char *const wrong = ": does not end in -NUMBER, as web-3 does";
    const host_case cases[] = {
        {"web-3", 0, UINT64_MAX, 3, NULL},
        {"web-0.web.prod.svc.cluster.local", 0, UINT64_MAX, 0, NULL},
        {"a-b-12", 0, UINT64_MAX, 12, NULL},
        {"web-4294967295", 0, UINT64_MAX, 4294967295, NULL},
        {"web-18446744073709551615", 0, UINT64_MAX, UINT64_MAX, NULL},
        {"web-18446744073709551616", 0, UINT64_MAX, 0, wrong},
        {"web-99999999999999999999", 0, UINT64_MAX, 0, wrong},
        {"web3", 0, UINT64_MAX, 0, wrong},
        {"web-", 0, UINT64_MAX, 0, wrong},
        {"web-3a", 0, UINT64_MAX, 0, wrong},
        {"web.prod-3", 0, UINT64_MAX, 0, wrong},
        {"", 0, UINT64_MAX, 0, wrong},
        {"7", 0, UINT64_MAX, 0, wrong},
        {"db", 0, UINT64_MAX, 0, wrong},
        {"web-0", 100, 199, 100, NULL},
        {"web-3", 100, 199, 103, NULL},
        {"web-99.web.prod.svc", 100, 199, 199, NULL},
        {"web-100", 100, 199, 0, ": first 100 plus ordinal 100 is above last 199"}, /* another set's */
        {"web-0", 7, 7, 7, NULL},
        {"web-1", 7, 7, 0, ": first 7 plus ordinal 1 is above last 7"},
        {"web-0", 8, 7, 0, ": first 8 plus ordinal 0 is above last 7"},
        {"web-18446744073709551615", 100, 199, 0, /* whose sum would be 99 */
         ": first 100 plus ordinal 18446744073709551615 is above last 199"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_host(&cases[i]);
}

TEST(a_host_without_a_name_has_no_number) {
    uint64_t number = 99;
    flake_why why;
    char room[5];
    host_name = NULL;
    CHECK_EQ(flake_node_from_hostname(NULL, 0, 1023, &number, &why), FLAKE_IO);
    CHECK(number == no_number);
    CHECK_STR(why.text, "hostname: can't be read");
    host_name = "db-7";
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
        CHECK(node == no_number);
    }
    CHECK_STR(why.text, "FLAKE_TEST_NODE: is not a decimal number below 2^64");
    CHECK_EQ(unsetenv("FLAKE_TEST_NODE"), 0);
    CHECK_EQ(flake_node_from_env("FLAKE_TEST_NODE", &node, &why), FLAKE_INVALID);
    CHECK_STR(why.text, "FLAKE_TEST_NODE: is not set");
    CHECK(node == no_number);
    CHECK_EQ(flake_node_from_env(NULL, &node, &why), FLAKE_INVALID);
    CHECK_EQ(node, no_number);
}

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
