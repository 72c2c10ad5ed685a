/* SPDX-License-Identifier: MIT
 *
 * PAGE: two threads make the process's first generators, a third one soon after. All keep one page, as its maker left it
 * (PAGE:R, PAGE:A), and one value in its first word, or each would take the other's for a child's.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 3, PAGE_WORDS = 512 };
static uint64_t pages[PAGES][PAGE_WORDS];
static int dropped[PAGES]; /* plain, as the zeros in a new page are */

static _Thread_local unsigned page_of; /* each thread makes one page at most */

static void *page_new(bool shared, int anonymous) {
    (void)shared;
    (void)anonymous;
    for (unsigned i = 0; i < PAGE_WORDS; i++) pages[page_of][i] = 0; /* no memset: watched */
    return pages[page_of];
}

static int page_drop(const void *page) {
    return dropped[page == (void *)pages[0] ? 0 : page == (void *)pages[1] ? 1 : 2]++;
}

int madvise(void *, size_t, int);
int madvise(void *at, size_t n, int advice) {
    (void)at;
    (void)n;
    return advice == 18 ? 0 : -1;
}

#define mmap(at, size, may, how, fd, from) page_new(shared, how)
#define munmap(at, size)                   page_drop(at)
#include "model.h"
#undef mmap
#undef munmap

static flake_i_atomic64 *word[3];
static uint64_t mark[3];

/* Plain, so that a race detector sees an order that is missing. */
static void begin(unsigned who) {
    mark[who] = flake_i_fork_mark(&word[who]);
    assert(((const uint64_t *)(const void *)word[who])[PAGE_WORDS - 1] == 0);
}

static void *begin_a(void *unused) {
    page_of = 0;
    model_begin(3);
    begin(0);
    return unused;
}

static void *begin_b(void *unused) {
    page_of = 1;
    model_begin(3);
    begin(1);
    return unused;
}

static void *begin_late(void *unused) {
    page_of = 2;
    model_begin(3);
    for (int i = 0; i < 16; i++) model_stall();
    begin(2);
    return unused;
}

int main(void) {
    static void *(*const bodies[])(void *) = {begin_a, begin_b, begin_late};
    for (int run = 0; run < RUNS; run++) {
        FLAKE_ATOMIC_STORE(&flake_i_process.page, (flake_i_atomic64 *)NULL, relaxed);
        FLAKE_ATOMIC_STORE(&flake_i_process.generation, 0u, relaxed);
        for (unsigned i = 0; i < PAGES; i++) dropped[i] = 0;
        model_run(bodies, 3);
        assert(word[0] && mark[0] && FLAKE_ATOMIC_LOAD(word[0], relaxed) == mark[0]);
        for (unsigned i = 0; i < PAGES; i++) {
            assert(word[i] == word[0] && mark[i] == mark[0]);
            assert(!dropped[i] || (void *)word[0] != (void *)pages[i]);
        }
        MODEL_REACHED(dropped[0] || dropped[1]); /* both had made a page */
    }
    return 0;
}
