/* SPDX-License-Identifier: MIT
 *
 * Shared by both explorers. Fibers: virtual threads, each on its own stack, of which one runs at a time; each
 * explorer defines fiber_main, where a fiber starts and from which it never returns. And the set of visited
 * states, identified by their hashes.
 */
#ifndef FIBERS_H
#define FIBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

enum { FIBERS = 4, FIBER_STACK = 256 << 10 };

static char fiber_stacks[FIBERS][FIBER_STACK] __attribute__((aligned(16)));
static void fiber_main(void);

/* Whether the address is on a fiber's stack. */
static inline bool fiber_has(const void *at) {
    const char *const first = (const char *)fiber_stacks;
    return (const char *)at >= first && (const char *)at < first + sizeof fiber_stacks;
}

#if defined(FIBER_ASAN)
void __asan_unpoison_memory_region(void const volatile *, size_t);
#else
#define __asan_unpoison_memory_region(at, size) ((void)0)
#endif

#if defined(__linux__) && defined(__LP64__) && defined(__x86_64__)

/* Saves the callee-saved registers on the stack, stores the stack pointer in *from, and continues
 * where `to` was left. swapcontext does the same with two system calls. */
typedef void *fiber_context;
void fiber_switch(fiber_context *from, fiber_context to) __asm__("fiber_switch");

enum { FIBER_FRAME = 8, FIBER_RETURN = 6 }; /* in words; 1 more keeps the stack aligned */
__asm__(".text\n"
        "fiber_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n");

static inline void fiber_start(fiber_context *fiber, char *stack) {
    __asan_unpoison_memory_region(stack, FIBER_STACK); /* left by an earlier one */
    void (*entry)(void) = fiber_main;
    char *frame = stack + FIBER_STACK - FIBER_FRAME * sizeof(void *);
    memset(frame, 0, FIBER_FRAME * sizeof(void *));
    memcpy(frame + FIBER_RETURN * sizeof(void *), &entry, sizeof entry);
    *fiber = frame;
}

#define fiber_go(from, to) fiber_switch(from, *(to))

#else
#include <ucontext.h>

typedef ucontext_t fiber_context;

static inline void fiber_start(fiber_context *fiber, char *stack) {
    __asan_unpoison_memory_region(stack, FIBER_STACK); /* left by an earlier one */
    (void)getcontext(fiber);
    fiber->uc_stack.ss_sp = stack;
    fiber->uc_stack.ss_size = FIBER_STACK;
    fiber->uc_link = NULL;
    makecontext(fiber, fiber_main, 0);
}

#define fiber_go(from, to) ((void)swapcontext(from, to))
#endif

/* ---- memory, and states ---- */

static inline uint64_t memory_peek(const void *at, size_t size) {
    uint64_t wide;
    uint32_t narrow;
    if (size == sizeof wide) return memcpy(&wide, at, sizeof wide), wide;
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

static inline void memory_poke(void *at, size_t size, uint64_t value) {
    const uint32_t narrow = (uint32_t)value;
    if (size == sizeof value) memcpy(at, &value, sizeof value);
    else memcpy(at, &narrow, sizeof narrow);
}

static inline uint64_t hash_mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15 + value + 0x632be59bd9b4e019;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
    return hash ^ (hash >> 31);
}

typedef struct state_slot {
    uint64_t state;   /* 0: an empty slot */
    double schedules; /* from here to an end */
} state_slot;

static struct {
    state_slot *slot;
    size_t size, used;
} states;

/* Its slot, or where it would be. */
static inline state_slot *states_find(uint64_t state) {
    size_t at = (size_t)state & (states.size - 1);
    while (states.slot[at].state && states.slot[at].state != state)
        at = (at + 1) & (states.size - 1);
    return &states.slot[at];
}

static inline void states_resize(size_t size) {
    state_slot *const old = states.slot;
    const size_t old_size = states.size;
    states.slot = (state_slot *)calloc(size, sizeof *old);
    if (!states.slot) {
        (void)fprintf(stderr, "no memory for %zu states\n", size);
        exit(2);
    }
    states.size = size;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].state) *states_find(old[i].state) = old[i];
    free(old);
}

static inline void states_forget(void) {
    states.size = states.used = 0;
    states_resize(1 << 12);
}

/* False: it was visited before. */
static inline bool states_add(uint64_t state) {
    if (states_find(state)->state) return false;
    if (++states.used * 4 > states.size * 3) states_resize(states.size * 2);
    states_find(state)->state = state;
    return true;
}

#endif
