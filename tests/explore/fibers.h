/* SPDX-License-Identifier: MIT
 *
 * Fibers for the explorers: virtual threads, each on a stack of its own, of which one runs at a time.
 * Who includes this defines fiber_main, which a fiber begins with and never returns from.
 */
#ifndef FIBERS_H
#define FIBERS_H

#include <stdbool.h>
#include <stddef.h>
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

/* Whether that lies on the stack of one. */
static inline bool fiber_has(const void *at) {
    const char *const first = (const char *)fiber_stacks;
    return (const char *)at >= first && (const char *)at < first + sizeof fiber_stacks;
}

#if defined(FIBER_ASAN)
void __asan_unpoison_memory_region(void const volatile *, size_t);
#endif
/* What was left on the stack of a fiber that is not gone on with. */
static inline void fiber_clean(const char *stack) {
#if defined(FIBER_ASAN)
    __asan_unpoison_memory_region(stack, FIBER_STACK);
#else
    (void)stack;
#endif
}

#if defined(__linux__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))

/* Keeps the registers that a callee must on its stack, leaves the stack pointer in *from, and goes
 * on where `to` was left. swapcontext does the same with two system calls. */
typedef void *fiber_context;
void fiber_switch(fiber_context *from, fiber_context to) __asm__("fiber_switch");

#if defined(__x86_64__)
enum { FIBER_FRAME = 8, FIBER_RETURN = 6 }; /* in words; 1 more keeps the stack aligned */
__asm__(".text\n"
        "fiber_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n");
#else
enum { FIBER_FRAME = 20, FIBER_RETURN = 11 };
__asm__(".text\n"
        "fiber_switch:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp]\n       stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n  str x9, [x0]\n"
        "  mov sp, x1\n"
        "  ldp x19, x20, [sp]\n       ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n");
#endif

static inline void fiber_start(fiber_context *fiber, char *stack) {
    fiber_clean(stack);
    void (*entry)(void) = fiber_main;
    char *frame = stack + FIBER_STACK - FIBER_FRAME * sizeof(void *);
    memset(frame, 0, FIBER_FRAME * sizeof(void *));
    memcpy(frame + FIBER_RETURN * sizeof(void *), &entry, sizeof entry);
    *fiber = frame;
}

static inline void fiber_go(fiber_context *from, fiber_context *to) {
    fiber_switch(from, *to);
}

#else
#include <ucontext.h>

typedef ucontext_t fiber_context;

static inline void fiber_start(fiber_context *fiber, char *stack) {
    fiber_clean(stack);
    (void)getcontext(fiber);
    fiber->uc_stack.ss_sp = stack;
    fiber->uc_stack.ss_size = FIBER_STACK;
    fiber->uc_link = NULL;
    makecontext(fiber, fiber_main, 0);
}

static inline void fiber_go(fiber_context *from, fiber_context *to) {
    (void)swapcontext(from, to);
}
#endif

#endif
