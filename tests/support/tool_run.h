/* SPDX-License-Identifier: MIT
 *
 * Runs a command-line tool inside a test, with a scripted clock: its output is stored in memory, and
 * its exit ends only the run. Included before the tool's code, whose system calls it replaces.
 *
 *     run_tool(NULL, "generate --json --node=%d", 7);
 *     CHECK_STR(run_output, "...");
 *
 * And makes texts that are hard to distinguish: only digits, only letters, with leading zeros.
 */
#ifndef TOOL_RUN_H
#define TOOL_RUN_H

#include "support.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>

#define FLAKE_CLOCK_NS(kind) script_read(&script_now)

enum { run_moments = small ? 100 : 1000 };

static char run_output[4096], run_complaint[1024];
static size_t run_size;
static jmp_buf run_end;

static void run_put(const char *text, size_t size) {
    if (size > sizeof run_output - 1 - run_size) size = sizeof run_output - 1 - run_size;
    memcpy(run_output + run_size, text, size);
    run_size += size;
    run_output[run_size] = '\0';
}

__attribute__((format(__printf__, 1, 2)))
static void run_printf(const char *format, ...) {
    char text[4096];
    va_list values;
    va_start(values, format);
    const int size = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    run_put(text, size < 0 ? 0 : (size_t)size);
}

static int run_putchar(int c) {
    const char text = (char)c;
    run_put(&text, 1);
    return c;
}

static unsigned run_writes_left = UINT_MAX; /* then there is no room any more */

static size_t run_fwrite(const char *text, size_t size, size_t n) {
    if (run_writes_left == 0) {
        errno = ENOSPC;
        return 0;
    }
    if (run_writes_left != UINT_MAX) run_writes_left--;
    run_put(text, size * n);
    return n;
}

__attribute__((format(__printf__, 1, 0)))
static void run_complain(const char *format, va_list values) {
    (void)vsnprintf(run_complaint, sizeof run_complaint, format, values);
}

/* A code of 0 is no jump. */
_Noreturn static void run_exit(int code) { longjmp(run_end, code + 1); }

#define printf(...)                    run_printf(__VA_ARGS__)
#define putchar(c)                     run_putchar(c)
#define fwrite(text, size, n, file)    run_fwrite(text, size, n)
#define vfprintf(file, format, values) run_complain(format, values)
#define fputs(text, file)              (void)0 /* the text around a complaint */
#define fputc(c, file)                 (void)0
#define exit(code)                     run_exit(code)
#define main(count, words)             tool_main(count, words)

static int tool_main(int count, char **words);
static void run_forget(void); /* the options of the last run */

/* Runs the tool with the words of a line, which blanks separate, and then with `text`; NULL: without. Returns its exit
 * code. */
__attribute__((format(__printf__, 2, 3)))
static int run_tool(const char *text, const char *format, ...) {
    static char line[512], copy[512];
    static char *words[17];
    static int count;
    va_list values;
    va_start(values, format);
    (void)vsnprintf(line, sizeof line, format, values);
    va_end(values);
    words[0] = copy;
    count = 1;
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) words[count++] = word;
    if (text) {
        (void)snprintf(copy, sizeof copy, "%s", text);
        words[count++] = copy;
    }
    words[count] = NULL;
    run_forget();
    run_size = 0;
    run_output[0] = run_complaint[0] = '\0';
    const int jumped = setjmp(run_end);
    return jumped ? jumped - 1 : tool_main(count, words);
}

/* Stores the one line that `generate` has printed. */
static void run_line(char *text, size_t room) {
    CHECK(run_size > 1 && run_output[run_size - 1] == '\n' && run_size < room);
    (void)snprintf(text, run_size, "%s", run_output);
}

/* ---- texts that are hard to distinguish ---- */

enum { run_any, run_digits, run_letters, run_bits, run_hex, run_like_sno, run_kinds };

static bool run_is(int kind, char c) {
    switch (kind) {
    case run_digits: return isdigit((unsigned char)c) != 0;
    case run_letters: return isalpha((unsigned char)c) != 0;
    case run_bits: return c == '0' || c == '1';
    case run_hex: return isxdigit((unsigned char)c) != 0;
    case run_like_sno: return strchr("23456789abcdefghijklmnopqrstuvwx", c) != NULL;
    default: return true;
    }
}

/* Digits of that kind alone, if the base has any. */
static void run_random_text(uint64_t *random, int kind, const char *digits, unsigned base, size_t length, char *text) {
    char few[64];
    size_t n = 0;
    for (unsigned i = 0; i < base; i++)
        if (run_is(kind, digits[i])) few[n++] = digits[i];
    for (size_t i = 0; i < length; i++) text[i] = n ? few[random_below(random, n)] : digits[random_below(random, base)];
    text[length] = '\0';
}

#endif
