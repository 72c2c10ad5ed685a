/* SPDX-License-Identifier: MIT
 *
 * limits.c SERVER MODE [NAME...]   starts the server with something scarce: its port, descriptors, time,
 * IDs. Clients that are slow, idle, greedy, or disconnect at the wrong moment.
 */
#define _GNU_SOURCE
#include "client.h"

/* ---- a port ---- */

static int exit_code(server s) {
    const int status = end_of(s.pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void still_serves(server s) {
    client *c = connect_to(s);
    SERVES(c, "/");
    leave(c);
}

/* The port is taken for the first rivals, and free for all others. */
TEST(a_port_has_one_server) {
    enum { rounds = 6, rivals = 8 };
    for (int round = 0; round < rounds; round++) {
        server owner = start("--node=5", NULL), s[rivals];
        char port[32], said[256], expected[64];
        int owners = 0;
        (void)snprintf(port, sizeof port, "--port=%d", owner.port);
        (void)snprintf(expected, sizeof expected, "port %d: Address already in use\n", owner.port);
        if (round > 0) stop(owner);
        for (int i = 0; i < rivals; i++) s[i] = launch("--node=5", port);
        for (int i = 0; i < rivals; i++) {
            hear_port(&s[i], said, sizeof said);
            owners += s[i].port != 0;
            if (!s[i].port) CHECK_STR(said, expected);
        }
        CHECK(owners <= (round > 0)); /* attempts at the same moment may all fail */
        for (int i = 0; i < rivals; i++)
            if (s[i].port) stop(s[i]);
            else CHECK_EQ(exit_code(s[i]), 1);
        if (round > 0) continue;
        still_serves(owner);
        stop(owner);
    }
}

/* Its old connections don't keep a server from its port. */
TEST(a_server_can_start_again_at_once) {
    server s = start("--node=5", NULL);
    char port[32];
    (void)snprintf(port, sizeof port, "--port=%d", s.port);
    client *c = connect_to(s);
    SERVES(c, "/");
    stop(s);
    s = start("--node=5", port);
    leave(c);
    still_serves(s);
    stop(s);
}

/* ---- descriptors ---- */

static int64_t processor_ms(server s) {
    clockid_t clock;
    CHECK_EQ(clock_getcpuclockid(s.pid, &clock), 0);
    return clock_ns(clock) / 1000000;
}

static void runs_out_of_descriptors(const char *threads) {
    enum { few_descriptors = 32, clients = 3 * few_descriptors, window_ms = 500 };
    const struct rlimit few = {few_descriptors, few_descriptors};
    server s = start(threads, "--node=5");
    client *c[clients];
    bool answered[clients] = {false}, all_heard = true;
    int taken = 0;
    CHECK_EQ(prlimit(s.pid, RLIMIT_NOFILE, &few, NULL), 0);
    for (int i = 0; i < clients; i++) {
        c[i] = connect_to(s);
        ask(c[i], "/");
    }
    struct pollfd first = {c[0]->socket, POLLIN, 0};
    CHECK_EQ(poll(&first, 1, client_patience_s * 1000), 1);

    const int64_t begin_ms = now_ms(), spent_ms = processor_ms(s);
    while (now_ms() - begin_ms < window_ms) (void)poll(NULL, 0, window_ms / 10);
    CHECK(processor_ms(s) - spent_ms < window_ms / 10);

    for (int i = 0; i < clients; i++) {
        struct pollfd arrived = {c[i]->socket, POLLIN, 0};
        answered[i] = poll(&arrived, 1, 0) == 1;
        if (answered[i]) {
            CHECK_EQ(hear(c[i], false)->status, 200);
            SERVES(c[i], "/"); /* and is still served */
            taken++;
        }
    }
    CHECK(taken > few_descriptors / 2 && taken < few_descriptors);
    for (int i = 0; i < clients; i++)
        if (answered[i]) leave(c[i]);
    for (int i = 0; i < clients; i++)
        if (!answered[i]) {
            all_heard = all_heard && hear(c[i], false)->status == 200;
            leave(c[i]);
        }
    CHECK(all_heard);
    stop(s);
}

TEST(without_descriptors_it_serves_whom_it_has_and_does_not_spin) {
    runs_out_of_descriptors("--threads=1");
    runs_out_of_descriptors("--threads=2");
}

/* ---- time ---- */

/* A short time for what the client does next. */
enum { idle_ms = 300 };
static server impatient;

TEST(an_idle_connection_ends) {
    for (int requests = 0; requests < 3; requests++) {
        const int64_t begin_ms = now_ms();
        client *c = connect_to(impatient);
        for (int i = 0; i < requests; i++) {
            SERVES(c, "/");
        }
        CHECK(hears_the_end(c));
        CHECK(now_ms() - begin_ms >= idle_ms - 10);
        leave(c);
    }
}

/* Sends a byte now and then, until the server has closed; false: it does not. */
static bool is_cut_off_while_saying(client *c, const char *byte) {
    struct pollfd closed = {c->socket, 0, 0};
    const int64_t begin_ms = now_ms();
    while (poll(&closed, 1, idle_ms / 20) == 0) {
        if (now_ms() - begin_ms > client_patience_s * 1000) return false;
        say(c, byte);
    }
    return true;
}

/* So do answers that are not read. */
TEST(what_trickles_in_ends_the_connection) {
    static const struct {
        const char *said;
        int times, status; /* of an answer that is read; 0: none is */
        const char *byte;
    } cases[] = {{"GET / HTTP/1.1\r\nHost: test\r\nX: ", 1, 0, "x"},
                 {"GET / HTTP/1.1\r\nHost: test\r\n\r\n", 1, 200, "G"},
                 {"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n", 1, 405, "x"},
                 {"GET /ids?count=100000&format=bin&layout=twitter HTTP/1.1\r\nHost: test\r\n\r\n", 20, 0, "x"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        client *c = connect_to(impatient);
        for (int k = 0; k < cases[i].times; k++) say(c, cases[i].said);
        if (cases[i].status) CHECK_EQ(hear(c, false)->status, cases[i].status);
        if (cases[i].status == 405) CHECK(hears_the_end(c)); /* it sends no more */
        CHECK(is_cut_off_while_saying(c, cases[i].byte));
        leave(c);
    }
}

/* The time starts again with an answer, and with a head's first byte. */
TEST(who_asks_in_time_stays) {
    client *c = connect_to(impatient);
    for (int i = 0; i < 4; i++) {
        const int64_t begin_ms = now_ms();
        (void)poll(NULL, 0, idle_ms * 6 / 10);
        say(c, "G");
        const int64_t said_ms = now_ms();
        (void)poll(NULL, 0, idle_ms * 6 / 10);
        say(c, "ET / HTTP/1.1\r\nHost: test\r\n\r\n");
        const bool late = /* unless this machine stood still */
            said_ms - begin_ms > idle_ms * 8 / 10 || now_ms() - said_ms > idle_ms * 8 / 10;
        const bool answered = hear(c, false)->status == 200;
        CHECK(answered || late);
        if (!answered) break;
    }
    leave(c);
}

/* A list takes longer than a client may be idle. */
TEST(who_reads_in_time_stays) {
    client *c = connect_to(impatient);
    for (int i = 0; i < 20; i++) ask(c, "/ids?count=100000&format=bin&layout=twitter");
    const int64_t begin_ms = now_ms();
    int64_t read_ms = begin_ms;
    while (now_ms() - begin_ms < 5 * idle_ms) {
        const bool came = recv(c->socket, c->buffer, sizeof c->buffer, 0) > 0;
        CHECK(came || now_ms() - read_ms >= idle_ms); /* unless this machine stood still */
        if (!came) break;
        read_ms = now_ms();
        (void)poll(NULL, 0, 5);
    }
    leave(c);
}

/* 256 IDs in 10 ms: the last client waits for longer than a client may be idle. */
TEST(who_waits_for_ids_is_not_idle) {
    enum { clients = 50, requests = 300 };
    server s = start("--config=sonyflake node=5 dir=none", "--idle-ms=200");
    client *c[clients];
    bool in_time[clients];
    char all[requests * 40] = "";
    for (int i = 0; i < requests; i++) strcat(all, "GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    const int64_t begin_ms = now_ms();
    for (int i = 0; i < clients; i++) {
        const int64_t connect_ms = now_ms();
        c[i] = connect_to(s);
        say(c[i], all);
        in_time[i] = now_ms() - connect_ms < 200;
    }
    for (int i = 0; i < clients; i++) {
        CHECK(answers(c[i], requests) == requests || !in_time[i]);
        leave(c[i]);
    }
    CHECK(now_ms() - begin_ms > 400);
    stop(s);
}

/* ---- more requests than IDs ---- */

/* 256 IDs in 10 ms; in shards 128 a thread. */
static server scarce;

TEST(requests_wait_for_the_next_unit_in_their_order) {
    enum { requests = 1500 };
    client *c = connect_to(scarce);
    const flake_layout layout = flake_layout_sonyflake;
    uint64_t last = 0, first = 0;
    flake_parts begin = {0}, end = {0};
    for (int i = 0; i < requests; i++) ask(c, "/");
    for (int i = 0; i < requests; i++) {
        CHECK_EQ(hear(c, false)->status, 200);
        CHECK(is_later(&layout, id_of(&heard), last));
        last = id_of(&heard);
        if (!first) first = last;
    }
    CHECK_EQ(flake_decompose(&layout, first, &begin), FLAKE_OK);
    CHECK_EQ(flake_decompose(&layout, last, &end), FLAKE_OK);
    CHECK((end.unix_ms - begin.unix_ms) / layout.unit_ms >= requests / 256 - 1);
    leave(c);
}

TEST(nobody_starves_behind_a_long_list) {
    client *list = connect_to(scarce), *others[10];
    ask(list, "/ids?count=40000&layout=sonyflake"); /* 1.6 s, or 3.2 s of a shard */
    for (int i = 0; i < 10; i++) others[i] = connect_to(scarce);
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < 10; i++) {
            const int64_t begin_ms = now_ms();
            SERVES(others[i], "/");
            CHECK(now_ms() - begin_ms < 1000);
        }
    CHECK_EQ(hear(list, false)->status, 200);
    CHECK(heard.length > 40000u * 15);
    for (int i = 0; i < 10; i++) leave(others[i]);
    leave(list);
}

/* Each asks again as soon as it is answered, all of them faster than there are IDs. */
TEST(all_who_wait_are_served_alike) {
    enum { connections = 400 };
    static struct pollfd sockets[connections];
    client *c[connections];
    unsigned had[connections] = {0}, least = UINT32_MAX, most = 0;
    for (int i = 0; i < connections; i++) {
        c[i] = connect_to(scarce);
        sockets[i].fd = c[i]->socket;
        sockets[i].events = POLLIN;
        ask(c[i], "/");
    }
    const int64_t begin_ms = now_ms();
    while (now_ms() - begin_ms < 700) {
        CHECK(poll(sockets, connections, 1000) > 0);
        for (int i = 0; i < connections; i++)
            if (sockets[i].revents) {
                CHECK_EQ(hear(c[i], false)->status, 200);
                had[i]++;
                ask(c[i], "/");
            }
    }
    for (int i = 0; i < connections; i++) {
        if (had[i] < least) least = had[i];
        if (had[i] > most) most = had[i];
        leave(c[i]);
    }
    if (4 * least < most) printf("  one has %u answers, another %u\n", least, most);
    CHECK(least > 0 && 4 * least >= most);
}

TEST(who_waits_may_leave) {
    const struct linger at_once = {1, 0};
    for (int i = 0; i < 200; i++) {
        client *c = connect_to(scarce);
        for (int k = 0; k < 50; k++) ask(c, "/");
        ask(c, "/ids?count=100000");
        if (i % 2) (void)setsockopt(c->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        if (i % 3) (void)recv(c->socket, c->buffer, 10, 0);
        leave(c);
    }
    still_serves(scarce);
}

/* ---- the end ---- */

/* The system holds what is sent to a stopped server. */
static void halt(server s) {
    int status;
    CHECK_EQ(kill(s.pid, SIGSTOP), 0);
    CHECK_EQ(waitpid(s.pid, &status, WUNTRACED), s.pid);
}

static void tell_to_end(server s) {
    CHECK_EQ(kill(s.pid, SIGTERM), 0);
    CHECK_EQ(kill(s.pid, SIGCONT), 0);
}

/* More requests than the unit has IDs, and half of the connections are not accepted yet. */
TEST(what_was_received_is_answered_before_it_ends) {
    enum { clients = 384, requests = 3 };
    server s = start("--config=sonyflake node=5 dir=none", "--drain-ms=20000");
    client *c[clients];
    int complete = 0;
    for (int i = 0; i < clients; i++) {
        if (i == clients / 2) halt(s);
        c[i] = connect_to(s);
    }
    for (int i = 0; i < clients; i++)
        for (int k = 0; k < requests; k++) ask(c[i], k == 1 ? "/ids?count=2" : "/");
    tell_to_end(s);
    for (int i = 0; i < clients; i++) {
        complete += answers(c[i], requests) == requests && hears_the_end(c[i]);
        leave(c[i]);
    }
    CHECK_EQ(complete, clients);
    CHECK_EQ(exit_code(s), 0);
}

/* More than a connection's buffers hold, a client that reads late, and one that has shut down. */
TEST(long_answers_are_sent_before_it_ends) {
    enum { requests = 400 };
    server s = start("--node=5", "--drain-ms=20000");
    client *many = connect_to(s), *late = connect_to(s), *last = connect_to(s), *silent[8];
    halt(s);
    for (int i = 0; i < 8; i++) silent[i] = connect_to(s);
    for (int i = 0; i < requests; i++) ask(many, "/");
    for (int i = 0; i < 3; i++) ask(late, "/ids?count=50000&format=bin&layout=twitter");
    say(last, "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    (void)shutdown(last->socket, SHUT_WR);
    tell_to_end(s);
    for (int i = 0; i < 8; i++) {
        CHECK(hears_the_end(silent[i]));
        leave(silent[i]);
    }
    for (int i = 0; i < requests; i++) {
        CHECK_EQ(hear(many, false)->status, 200);
        CHECK(!heard.closes || i == requests - 1);
    }
    CHECK(hears_the_end(many));
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(hear(late, false)->status, 200);
        CHECK(heard.length > 50000u * 40);
    }
    CHECK(hears_the_end(late));
    CHECK_EQ(hear(last, false)->status, 200);
    CHECK_EQ(exit_code(s), 0);
    leave(many);
    leave(late);
    leave(last);
}

TEST(a_request_that_has_begun_may_be_finished) {
    server s = start("--node=5", "--drain-ms=20000");
    client *c = connect_to(s), *idle = connect_to(s);
    SERVES(idle, "/");
    say(c, "GET / HTTP/1.1\r\nHo");
    tell_to_end(s);
    CHECK(hears_the_end(idle)); /* so the server has received the signal */
    say(c, "st: test\r\n\r\n");
    CHECK_EQ(hear(c, false)->status, 200);
    CHECK(heard.closes);
    CHECK(hears_the_end(c));
    CHECK_EQ(exit_code(s), 0);
    leave(c);
    leave(idle);
}

TEST(who_does_not_finish_is_cut_off) {
    static const struct {
        const char *option;
        int least_ms;
    } times[] = {{"--drain-ms=300", 300}, {"--drain-ms=0", 0}, {NULL, 2000 - 1}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        server s = start("--node=5", times[i].option);
        client *half = connect_to(s), *deaf = connect_to(s), *waiting = connect_to(s);
        SERVES(half, "/");
        say(half, "GET / HTTP/1.1\r\nHo");
        for (int k = 0; k < 20; k++) ask(deaf, "/ids?count=100000&format=bin&layout=twitter");
        ask(waiting, "/ids?count=100000&layout=sonyflake"); /* at least 3.9 s */
        CHECK(hear_more(deaf) && hear_more(waiting));
        const int64_t begin_ms = now_ms();
        tell_to_end(s);
        CHECK_EQ(exit_code(s), 0);
        CHECK(now_ms() - begin_ms >= times[i].least_ms);
        CHECK(hears_the_end(half));
        CHECK_EQ(hear(waiting, false)->status, 0);
        leave(half);
        leave(deaf);
        leave(waiting);
    }
}

/* ---- options ---- */

TEST(a_wrong_option_is_named_with_its_range) {
    static const struct {
        const char *option, *another, *why;
    } cases[] = {
        {"--node=1024", NULL, "layout default: node: 1024 is above 1023, the layout's last node\n"},
        {"--node=65536", "--layout=sonyflake",
         "layout sonyflake: node: 65536 is above 65535, the layout's last node\n"},
        {"--node=4294967296", NULL, "--node=4294967296 is not a number from 0 to 4294967295\n"},
        {"--node=-18446744073709551611", NULL, "--node=-18446744073709551611 is not a number from 0 to 4294967295\n"},
        {"--node=+5", NULL, "--node=+5 is not a number from 0 to 4294967295\n"},
        {"--node=", NULL, "--node= is not a number from 0 to 4294967295\n"},
        {"--config=sonyflake node=65536 dir=none", NULL,
         "layout sonyflake: node: 65536 is above 65535, the layout's last node\n"},
        {"--idle-ms=300", NULL, "node is missing: --node=7, and another number for each other server\n"},
        {"--layout=mastodon", "--node=1", "layout mastodon: node: the layout has none: pass flake_node_none()\n"},
        {"--config=41-10-12 node=7 dir=none", NULL,
         "--config=41-10-12 node=7 dir=none is no option, or its value does not fit:\n"},
        {"--config=twitter unit_ms=2 node=7 dir=none", NULL,
         "--config=twitter unit_ms=2 node=7 dir=none is no option, or its value does not fit:\n"},
        {"--config=nod=7", NULL, "config: nod: no such option\n"},
        {"--config=node=7 dir=none lanes=7", NULL,
         "--config=node=7 dir=none lanes=7 is no option, or its value does not fit:\n"},
        {"--threads=0", NULL, "--threads=0 is not a number from 1 to 64\n"},
        {"--idle-ms=0", NULL, "--idle-ms=0 is not a number from 1 to 1000000000\n"},
        {"--mode=x", NULL, "--mode=x is no option, or its value does not fit:\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char said[256];
        server s = launch(cases[i].option, cases[i].another);
        hear_port(&s, said, sizeof said);
        said[strcspn(said, "\n") + 1] = 0;
        CHECK_STR(said, cases[i].why);
        if (s.port) stop(s);
        else CHECK_EQ(exit_code(s), 2);
    }
}

int main(int argc, char **argv) {
    begin_clients(argc, argv);
    scarce = start("--node=5", "--layout=sonyflake");
    impatient = start("--node=5", "--idle-ms=300");
    const server all[] = {scarce, impatient};
    return end_clients(argc, argv, all, 2);
}
