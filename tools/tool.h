/* SPDX-License-Identifier: MIT
 *
 * Shared by the command-line tools. flake.c and sno.c include it after the library's header and
 *
 *     #define TOOL_NAME    "flake"                 the tool's name
 *     #define TOOL_VERSION FLAKE_VERSION_STRING
 */
#ifndef TOOL_H
#define TOOL_H

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#include <io.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

#if defined(__GNUC__)
#define TOOL_ENDS             __attribute__((noreturn))
#define TOOL_AS_PRINTF(first) __attribute__((format(__printf__, 2, first)))
#elif defined(_MSC_VER)
#define TOOL_ENDS __declspec(noreturn)
#define TOOL_AS_PRINTF(first)
#else
#define TOOL_ENDS _Noreturn
#define TOOL_AS_PRINTF(first)
#endif

/* Exit codes: failure; invalid command line or ID. */
enum { TOOL_FAILED = 1, TOOL_MISUSED = 2 };

static uint64_t tool_line; /* of the standard input that is being inspected; 0: none */

TOOL_ENDS TOOL_AS_PRINTF(3) static void tool_end(int code, const char *format, ...) {
    va_list values;
    (void)fflush(stdout);
    fputs(TOOL_NAME ": ", stderr);
    if (tool_line) fprintf(stderr, "line %" PRIu64 " of the standard input: ", tool_line);
    va_start(values, format);
    (void)vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(code);
}
#define tool_failed(...)  tool_end(TOOL_FAILED, __VA_ARGS__)
#define tool_misused(...) tool_end(TOOL_MISUSED, __VA_ARGS__)

static void tool_check_output(bool ok) {
    if (ok) return;
    const int reason = errno;
#ifdef EPIPE
    if (reason == EPIPE) exit(TOOL_FAILED); /* the reader has closed the pipe: not an error to report */
#endif
    tool_failed("the output cannot be written: %s", strerror(reason));
}

static void tool_write(const char *text, size_t size) {
    tool_check_output(fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0);
}

/* Appends a text at `end`, without its NUL; returns the new end. */
static char *tool_put(char *end, const char *text) {
    while (*text) *end++ = *text++;
    return end;
}

static int tool_done(void) {
    tool_check_output(fflush(stdout) == 0 && !ferror(stdout));
    return EXIT_SUCCESS;
}

/* Called first. If a standard descriptor is closed, a file opened later would get its number, and output
 * would be written into that file. /dev/null occupies the number instead, opened for the wrong direction: using
 * the descriptor still fails. */
static void tool_hold_standard_files(void) {
#if !defined(_WIN32)
    bool closed[3];
    for (int file = 0; file < 3; file++) {
        closed[file] = fcntl(file, F_GETFD) == -1 && errno == EBADF;
        if (closed[file] && open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY) != file)
            exit(TOOL_FAILED); /* no stream for a message */
    }
    if (closed[1]) tool_failed("the standard output is closed");
#endif
}

static bool tool_on_terminal(int file) {
#if defined(_WIN32)
    return _isatty(file) != 0;
#else
    return isatty(file) != 0;
#endif
}

/* ---- options ---- */

typedef struct tool_option {
    const char *name, *value; /* value: its name in the help; NULL: it takes none */
    unsigned commands;        /* the commands that have it */
    bool bare;                /* the value is optional */
} tool_option;

typedef struct tool_command {
    const char *name;
    unsigned bit; /* in the options' `commands` */
    int (*run)(int others, char **words);
} tool_command;

/* The parts of a tool. */
typedef struct tool {
    const char *const *help; /* texts, up to NULL */
    const tool_command *commands;
    size_t command_count;
    const tool_option *options;
    size_t option_count;
    const char **given; /* the options' values; "": no value, NULL: not given */
} tool;

/* The option's value in the word. */
static const char *tool_value(const tool_option *o, const char *word) {
    const char *equals = strchr(word, '=');
    if (equals && !o->value) tool_misused("%s takes no value", o->name);
    if (!equals && o->value && !o->bare)
        tool_misused("%s needs a value: %s=%s", o->name, o->name, o->value);
    if (equals && !equals[1])
        tool_misused("%s= has an empty value: write %s=%s", o->name, o->name, o->value);
    return equals ? equals + 1 : "";
}

/* Moves the values of options (words that begin with -, except negative numbers) to t->given and the other
 * words to the front. Returns their number. */
static int tool_read(const tool *t, const tool_command *command, int count, char **words) {
    int others = 0;
    bool ended = false;
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        if (ended || word[0] != '-' || !word[1] || (word[1] >= '0' && word[1] <= '9')) {
            words[others++] = words[i];
            continue;
        }
        if (strcmp(word, "--") == 0) {
            ended = true;
            continue;
        }
        const size_t length = strcspn(word, "=");
        size_t o = 0;
        while (o < t->option_count &&
               !(t->options[o].commands & command->bit && strlen(t->options[o].name) == length &&
                 memcmp(t->options[o].name, word, length) == 0))
            o++;
        if (o == t->option_count)
            tool_misused("%s has no option %.*s: `" TOOL_NAME " help` lists its options",
                         command->name, (int)length, word);
        t->given[o] = tool_value(&t->options[o], word);
    }
    return others;
}

static bool tool_asks_help(int argc, char **argv) {
    if (strcmp(argv[1], "help") == 0) return true;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    return false;
}

#define TOOL_HEX_DIGITS "0123456789abcdefABCDEF"

/* Decimal, or hex after 0x. */
static bool tool_number(const char *text, uint64_t *number) {
    const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *const at = hex ? text + 2 : text;
    if (!*at || at[strspn(at, hex ? TOOL_HEX_DIGITS : "0123456789")]) return false;
    errno = 0;
    *number = strtoull(at, NULL, hex ? 16 : 10);
    return errno == 0;
}

static uint64_t tool_number_to(const char *option, const char *text, uint64_t most,
                               const char *why) {
    uint64_t number;
    if (!tool_number(text, &number) || number > most)
        tool_misused("%s=%s is not a number from 0 to %" PRIu64 "%s", option, text, most, why);
    return number;
}

static uint64_t tool_count(int others, char **words, const char *command) {
    uint64_t count = 1;
    if (others > 1) tool_misused("%s takes one COUNT, not also '%s'", command, words[1]);
    if (others == 1 && !tool_number(words[0], &count))
        tool_misused("COUNT '%s' is not a whole number: `" TOOL_NAME " %s 1000`", words[0],
                     command);
    return count;
}

/* ---- --config ---- */

static flake_config tool_config; /* all zero without --config */

static void tool_allocate_lanes(flake_options *options) {
    if (!options->lane_count) return;
    options->lanes = (flake_lane *)calloc(options->lane_count, sizeof *options->lanes);
    if (!options->lanes) tool_failed("out of memory for the lanes");
}

/* After the last ID. Without it the next holder of a number waits for the horizon. */
static void tool_close(flake_gen *gen) {
    flake_why why;
    if (flake_close(gen, &why) != FLAKE_OK) tool_failed("%s", why.text);
}

/* ---- time ---- */

#define TOOL_CLOCK_NS() FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT)

static int64_t tool_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

#define TOOL_DAYS_IN_400_YEARS 146097
#define TOOL_DAYS_TO_1970      719468 /* from 1 March of the year 0 */

/* The Gregorian calendar, before its invention too: years from 1 March, so that the leap day is a year's last, and
 * months of 153 days in five. */
static void tool_date(int64_t days, int64_t *year, unsigned *month, unsigned *day) {
    days += TOOL_DAYS_TO_1970;
    const int64_t cycle = tool_floor_div(days, TOOL_DAYS_IN_400_YEARS);
    const unsigned in_cycle = (unsigned)(days - cycle * TOOL_DAYS_IN_400_YEARS);
    const unsigned y = (in_cycle - in_cycle / 1460 + in_cycle / 36524 - in_cycle / 146096) / 365;
    const unsigned in_year = in_cycle - (y * 365 + y / 4 - y / 100), m = (5 * in_year + 2) / 153;
    *day = in_year - (153 * m + 2) / 5 + 1;
    *month = m < 10 ? m + 3 : m - 9;
    *year = cycle * 400 + y + (m >= 10);
}

#define TOOL_TIME_SIZE 64

/* ISO 8601 in UTC; a year of more than four digits has a sign. Returns text. */
static const char *tool_time(int64_t unix_ms, char text[TOOL_TIME_SIZE]) {
    const int64_t days = tool_floor_div(unix_ms, 86400000);
    const unsigned ms = (unsigned)(unix_ms - days * 86400000);
    int64_t year;
    unsigned month, day;
    tool_date(days, &year, &month, &day);
    const int at = snprintf(text, TOOL_TIME_SIZE,
                            year < 0 || year > 9999 ? "%+05" PRId64 "-" : "%04" PRId64 "-", year);
    (void)snprintf(text + at, (size_t)(TOOL_TIME_SIZE - at), "%02u-%02uT%02u:%02u:%02u.%03uZ",
                   month, day, ms / 3600000, ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
    return text;
}

/* ---- progress, shown on a terminal ---- */

typedef struct tool_progress {
    int64_t began_ns, shown_ns;
    bool watched;
} tool_progress;

/* IDs printed to the terminal show the progress themselves. */
static tool_progress tool_progress_begin(bool prints_ids) {
    tool_progress p;
    p.began_ns = p.shown_ns = TOOL_CLOCK_NS();
    p.watched = tool_on_terminal(2) && !(prints_ids && tool_on_terminal(1));
    return p;
}

static void tool_progress_show(tool_progress *p, uint64_t done, uint64_t count) {
    if (!p->watched) return;
    const int64_t now_ns = TOOL_CLOCK_NS();
    if (now_ns - p->began_ns < 1000000000 || now_ns - p->shown_ns < 250000000) return;
    p->shown_ns = now_ns;
    const double rate = (double)done / (double)(now_ns - p->began_ns) * 1e9;
    fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " (%.0f %%), %.0f a second, %.0f s left  ", done,
            count, 100.0 * (double)done / (double)count, rate, (double)(count - done) / rate);
}

static void tool_progress_end(const tool_progress *p) {
    if (p->shown_ns != p->began_ns) fprintf(stderr, "\r%79s\r", "");
}

/* ---- bits ---- */

typedef struct tool_field {
    const char *name;
    unsigned bits;
    uint64_t raw;   /* the bits in the ID */
    uint64_t value; /* their meaning */
} tool_field;

/* Draws the fields, the most significant first, in rows of at most 64 bits. */
static void tool_draw(const tool_field *fields, size_t n) {
    unsigned top = 0;
    for (size_t i = 0; i < n; i++) top += fields[i].bits;
    for (size_t first = 0, end; first < n; first = end) {
        unsigned in_row = 0, below;
        for (end = first; end < n && (end == first || in_row + fields[end].bits <= 64); end++) {
            in_row += fields[end].bits;
            printf("%s", end == first ? "\n    " : " ");
            for (unsigned bit = fields[end].bits; bit-- > 0;)
                putchar("01"[fields[end].raw >> bit & 1]);
        }
        putchar('\n');
        top -= in_row;
        below = top;
        for (size_t i = end; i-- > first; below += fields[i].bits) {
            printf("    ");
            for (size_t k = first; k < i; k++) printf("|%*s", (int)fields[k].bits, "");
            printf("%s = %" PRIu64, fields[i].name, fields[i].value);
            if (fields[i].bits == 1) printf("  [%u]\n", below);
            else printf("  [%u..%u]\n", below + fields[i].bits - 1, below);
        }
    }
}

/* ---- inspect ---- */

/* Input of inspect: a word of the command line, or a line of standard input. An object has more members than
 * the ID; missing ones are NULL. */
typedef struct tool_item {
    const char *id, *layout, *format;
    const char *unix_ms; /* a number, which the object's next character ends */
} tool_item;

/* Parses a JSON string without escapes, or a number, and returns the end; NULL: `at` is neither. Terminates a
 * string's text with a NUL. */
static char *tool_read_value(char *at, char **text) {
    if (*at != '"') {
        *text = at;
        at += strspn(at, "+-.0123456789Ee");
        return at == *text ? NULL : at;
    }
    char *const end = at + 1 + strcspn(at + 1, "\"\\");
    if (*end != '"') return NULL;
    *end = '\0';
    *text = at + 1;
    return end + 1;
}

static char *tool_skip_blanks(char *at) { return at + strspn(at, " "); }

/* Reads an object of strings and numbers that has an id, and nothing after it. */
static bool tool_read_object(char *at, tool_item *item) {
    static const char *const names[] = {"id", "layout", "format", "unix_ms"};
    const char **const values[] = {&item->id, &item->layout, &item->format, &item->unix_ms};
    do { /* after { or a comma */
        char *name, *value;
        at = tool_skip_blanks(at + 1);
        if (*at != '"' || (at = tool_read_value(at, &name)) == NULL) return false;
        at = tool_skip_blanks(at);
        if (*at != ':') return false;
        at = tool_skip_blanks(at + 1);
        const bool is_text = *at == '"';
        if ((at = tool_read_value(at, &value)) == NULL) return false;
        at = tool_skip_blanks(at);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (strcmp(name, names[i]) != 0) continue;
            if (*values[i] || is_text != (values[i] != &item->unix_ms)) return false;
            *values[i] = value;
        }
    } while (*at == ',');
    return *at == '}' && !*tool_skip_blanks(at + 1) && item->id;
}

/* Reads the next line, without its LF or CR LF; false: end of input. */
static bool tool_read_line(char *line, size_t room) {
    size_t length = 0;
    int c;
    for (tool_line++;; line[length++] = (char)c) {
        c = getc(stdin);
        const bool cr = c == '\r';
        if (cr) c = getc(stdin);
        if (c == '\n' || (c == EOF && !cr)) break;
        if (cr || c < ' ' || c == 127)
            tool_misused("control character in column %d", (int)length + 1);
        if (length == room - 1) tool_misused("longer than %d characters", (int)room - 1);
    }
    line[length] = '\0';
    if (c == '\n' || (length > 0 && !ferror(stdin))) return true;
    tool_line = 0;
    return false;
}

/* Calls inspect for each of the words; "-" stands for the lines of the standard input. */
static int tool_each(int count, char **words, void (*inspect)(const tool_item *item)) {
    char line[4096];
    if (count == 0) tool_misused("inspect needs an ID, or - to read them from the standard input");
    for (int i = 0; i < count; i++) {
        tool_item item = {words[i], NULL, NULL, NULL};
        if (strcmp(words[i], "-") != 0) {
            inspect(&item);
            continue;
        }
        while (tool_read_line(line, sizeof line)) {
            if (!line[0]) continue;
            memset(&item, 0, sizeof item);
            if (line[0] != '{') item.id = line;
            else if (!tool_read_object(line, &item))
                tool_misused("not an object that `" TOOL_NAME " generate --json` or `" TOOL_NAME
                             " inspect --json` prints");
            inspect(&item);
        }
        if (ferror(stdin)) tool_failed("the standard input cannot be read: %s", strerror(errno));
    }
    return tool_done();
}

/* ---- commands ---- */

static int tool_print_help(const tool *t) {
    for (const char *const *text = t->help; *text; text++) fputs(*text, stdout);
    return tool_done();
}

/* The body of a tool's main. */
static int tool_run(const tool *t, int argc, char **argv) {
    tool_hold_standard_files();
    if (argc < 2)
        tool_misused("needs a command: `" TOOL_NAME " generate`, `" TOOL_NAME
                     " inspect ID`, `" TOOL_NAME " help`");
    const char *word = argv[1];
    if (tool_asks_help(argc, argv)) return tool_print_help(t);
    if (strcmp(word, "version") == 0 || strcmp(word, "--version") == 0) {
        printf("%s %s\n", TOOL_NAME, TOOL_VERSION);
        return tool_done();
    }
    for (size_t i = 0; i < t->command_count; i++) {
        const tool_command *command = &t->commands[i];
        if (strcmp(word, command->name) != 0) continue;
        const int others = tool_read(t, command, argc - 2, argv + 2);
        return command->run(others, argv + 2);
    }
    tool_misused("no `" TOOL_NAME " %s`: `" TOOL_NAME " help` lists the commands", word);
}

#endif
