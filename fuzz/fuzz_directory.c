/* SPDX-License-Identifier: MIT
 *
 * The file of a number in a directory: whole runs, one after the other, with a disk in memory. Generators and shards
 * of both headers draw, the clock moves arbitrarily, writes fail, another file replaces the number's, a clone takes it
 * again, another process takes shared memory over, and runs end by close, crash or a power cut that keeps any part of
 * the unsynced data. No run uses a time that an earlier one may have used. Between two runs bytes of the file change,
 * and init must say what a simple reader of the format and a few comparisons say.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a disk in memory: files with two names, and what a power cut would leave ---- */

enum { disk_files = 6, disk_room = 8192 + 128, disk_sector = 64, disk_fd = 1000, disk_folder = 1100 };

typedef struct disk_content {
    uint8_t bytes[disk_room];
    size_t n;
} disk_content;

static struct disk_file { disk_content now, lasting; } disk_file[disk_files];
typedef struct disk_names {
    int file, fresh; /* at the path, and at the path with .new; -1: none */
} disk_names;
static disk_names disk_now, disk_lasting;
static int disk_opened; /* -1: none */
static size_t disk_at;
static uint64_t disk_failures; /* bit i: the i-th writing call from now on fails */

static bool disk_fails(void) {
    const bool fails = disk_failures & 1;
    disk_failures = disk_failures >> 1 | (disk_failures & (uint64_t)1 << 63);
    if (fails) errno = ENOSPC;
    return fails;
}

static bool disk_ends(const char *path, const char *end) {
    const size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0;
}

/* The file of that name. */
static int *disk_find(const char *path) { return disk_ends(path, ".new") ? &disk_now.fresh : &disk_now.file; }

static int disk_make(void) {
    int i = 0;
    while (i == disk_now.file || i == disk_now.fresh || i == disk_lasting.file ||
           i == disk_lasting.fresh || i == disk_opened)
        i++;
    if (i >= disk_files) abort();
    memset(&disk_file[i], 0, sizeof disk_file[i]);
    return i;
}

static int disk_open(const char *path, int flags, ...) {
    if (disk_ends(path, "/")) return disk_fails() ? -1 : disk_folder;
    int *const name = disk_find(path);
    if (!(flags & O_CREAT) && *name < 0) {
        errno = ENOENT;
        return -1;
    }
    if (flags & O_EXCL && *name >= 0) {
        errno = EEXIST;
        return -1;
    }
    if (*name < 0) {
        if (disk_fails()) return -1;
        *name = disk_make();
    }
    disk_opened = *name;
    disk_at = 0;
    return disk_fd + disk_opened;
}

static ssize_t disk_write(int fd, const void *bytes, size_t n) {
    disk_content *file = &disk_file[fd - disk_fd].now;
    const bool is_full = disk_fails();
    if (is_full) n /= 2;
    if (disk_at + n > disk_room) abort();
    memcpy(file->bytes + disk_at, bytes, n);
    disk_at += n;
    if (disk_at > file->n) file->n = disk_at;
    return is_full && disk_failures & 1 ? -1 : (ssize_t)n;
}

static ssize_t disk_read(int fd, void *bytes, size_t n) {
    const disk_content *file = &disk_file[fd - disk_fd].now;
    const size_t left = disk_at < file->n ? file->n - disk_at : 0, some = n < left ? n : left;
    memcpy(bytes, file->bytes + disk_at, some);
    disk_at += some;
    return (ssize_t)some;
}

static int disk_close(int fd) {
    if (fd == disk_fd + disk_opened) disk_opened = -1;
    return 0;
}

static int disk_rename(const char *from, const char *to) {
    int *const source = disk_find(from);
    if (disk_fails()) return -1;
    *disk_find(to) = *source;
    *source = -1;
    return 0;
}

static int disk_stat_of(int file, struct stat *out) {
    memset(out, 0, sizeof *out);
    out->st_mode = 0100000; /* a file */
    out->st_ino = (__typeof__(out->st_ino))(file + 1);
    out->st_uid = geteuid();
    out->st_nlink = (unsigned)((file == disk_now.file) + (file == disk_now.fresh));
    if (file >= 0) return 0;
    errno = ENOENT;
    return -1;
}

int fsync(int fd);
int fsync(int fd) {
    if (disk_fails()) return -1;
    if (fd == disk_folder) disk_lasting = disk_now;
    else disk_file[fd - disk_fd].lasting = disk_file[fd - disk_fd].now;
    return 0;
}

int fdatasync(int fd);
int fdatasync(int fd) { return fsync(fd); }

#define open(...)           disk_open(__VA_ARGS__)
#define lseek(fd, at, how)  ((void)(fd), (int64_t)(disk_at = (size_t)(at)))
#define write(fd, bytes, n) disk_write(fd, bytes, n)
#define read(fd, bytes, n)  disk_read(fd, bytes, n)
#define close(fd)           disk_close(fd)
#define rename(from, to)    disk_rename(from, to)
#define unlink(path)        (*disk_find(path) = -1, 0)
#define stat(path, out)     disk_stat_of(*disk_find(path), out)
#define fstat(fd, out)      disk_stat_of((fd)-disk_fd, out)
#define fcntl(...)          disk_lock(__VA_ARGS__)
#define mkdir(path, mode)   ((void)(path), (void)(mode), errno = EEXIST, -1)

static int disk_lock(int fd, ...) { return fd < disk_fd ? -1 : 0; }

#include "fuzz.h"
#include "flake.h"
#include "sno.h"
#include "../tests/support/sno_key.h"

/* ---- records ---- */

static uint64_t record_number(const uint8_t *in) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) value += (uint64_t)in[i] << (56 - 8 * i);
    return value;
}

static uint64_t record_checksum(const uint8_t *in) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < 120; i++) hash = (hash ^ in[i]) * UINT64_C(1099511628211);
    return hash;
}

/* A simple parser of the format. */
typedef struct plain {
    flake_status status;
    uint64_t number, node;
    int64_t horizon_ns, written_ns;
} plain;

static plain record_read_plainly(const uint8_t *in) {
    plain p = {FLAKE_CORRUPT, 0, 0, 0, 0};
    if (record_number(in + 120) != record_checksum(in)) return p;
    p.number = record_number(in);
    p.horizon_ns = (int64_t)record_number(in + 8);
    p.written_ns = (int64_t)record_number(in + 16);
    p.node = record_number(in + 72);
    p.status = FLAKE_OK;
    if (p.horizon_ns < p.written_ns || !p.number) p.status = FLAKE_CORRUPT;
    if (in[40] != 'n') p.status = FLAKE_MISMATCH; /* not of a number: of 0.3's states by path */
    return p;
}

static plain disk_read_plainly(const disk_content *file) {
    const uint8_t *const in = file->bytes;
    const size_t n = file->n;
    static const uint8_t magic[8] = {'i', 'd', 's', 't', 'a', 't', 'e', '\n'};
    plain p = {FLAKE_MISMATCH, 0, 0, 0, 0};
    for (size_t i = 0; i < n && i < 8; i++)
        if (in[i] != magic[i]) return p;
    p.status = FLAKE_CORRUPT;
    if (n < 128) return p;
    p.status = FLAKE_MISMATCH;
    if (in[8] || in[9] || in[10] || (in[11] != 2 && in[11] != 3)) return p; /* the version */
    p.status = FLAKE_CORRUPT;
    if (n < 8192) return p;
    for (size_t at = 512; at < 8192; at += 4096) {
        const plain found = record_read_plainly(in + at);
        if (found.status == FLAKE_MISMATCH) return found;
        if (found.status != FLAKE_OK) continue;
        if (p.status == FLAKE_OK && p.number > found.number) continue;
        p = found;
    }
    return p;
}

/* Whether a record of number 9 lets a run begin at that time. */
static flake_status record_judge_plainly(const plain *p, int64_t now_ns, int64_t max_downtime_ms) {
    const int64_t four_days_ns = INT64_C(345600000000000);
    if (p->status != FLAKE_OK) return p->status;
    if (p->node != 9) return FLAKE_MISMATCH;
    if ((uint64_t)p->horizon_ns - (uint64_t)p->written_ns > (uint64_t)four_days_ns) return FLAKE_CORRUPT;
    if (now_ns < p->written_ns) return FLAKE_CLOCK_BACKWARDS;
    const uint64_t down_ns = now_ns > p->horizon_ns ? (uint64_t)now_ns - (uint64_t)p->horizon_ns : 0;
    return max_downtime_ms && down_ns > (uint64_t)max_downtime_ms * 1000000 ? FLAKE_DOWNTIME : FLAKE_OK;
}

/* ---- power cuts ---- */

/* Each part that was not synced is lost or kept independently. */
static void disk_power_cut(void) {
    disk_opened = -1;
    if (fuzz_byte() & 1) disk_now = disk_lasting;
    disk_lasting = disk_now;
    for (struct disk_file *f = disk_file; f < disk_file + disk_files; f++) {
        if (f->now.n != f->lasting.n && fuzz_byte() & 1) f->now.n = f->lasting.n;
        for (size_t at = 0; at < disk_room; at += disk_sector)
            if (memcmp(f->now.bytes + at, f->lasting.bytes + at, disk_sector) != 0 && fuzz_byte() & 1)
                memcpy(f->now.bytes + at, f->lasting.bytes + at, disk_sector);
        f->lasting = f->now;
    }
}

/* The lowest horizon that a power cut may leave; INT64_MIN: none. */
static int64_t disk_least_horizon(void) {
    static disk_content spoilt;
    if (disk_lasting.file < 0) return INT64_MIN;
    const struct disk_file *f = &disk_file[disk_lasting.file];
    const plain lasting = disk_read_plainly(&f->lasting);
    spoilt = f->lasting;
    for (size_t at = 512; at < 8192; at += 4096)
        if (memcmp(f->now.bytes + at, f->lasting.bytes + at, 128) != 0) memset(spoilt.bytes + at, 0x55, 128);
    const plain left = disk_read_plainly(&spoilt);
    if (left.status != FLAKE_OK || lasting.status != FLAKE_OK) return INT64_MIN;
    return left.horizon_ns < lasting.horizon_ns ? left.horizon_ns : lasting.horizon_ns;
}

/* Another process replaces the file at the path. */
static void disk_put(const uint8_t *bytes, size_t n) {
    disk_now.file = disk_make();
    disk_lasting = disk_now;
    struct disk_file *f = &disk_file[disk_now.file];
    memcpy(f->now.bytes, bytes, n);
    f->now.n = n;
    f->lasting = f->now;
}

/* ---- runs ---- */

static enum { RUN_FLAKE, RUN_SHARDS, RUN_SNO } run_of; /* in shared memory: RUN_FLAKE */
static flake_node run_node;
static flake_options run_options;
static flake_gen run_shards[2]; /* a generator alone is the first */
static sno_snapshot run_pool;
static sno_gen run_sno;
static int64_t run_floor_ns; /* in the file that this run has found */
static int64_t run_least_ns; /* left by a power cut after a draw */

/* The one that holds the number. */
static flake_gen *run_holder(void) { return run_of == RUN_SNO ? &run_sno.gen : run_shards; }

static void run_tell(const char *what, int64_t n) {
    if (fuzz_traced) printf("  %s %" PRId64 ", clock %" PRId64 " ns\n", what, n, fuzz_reading_ns);
}

/* Of a unit. Draws are admitted in whole units: none in one that contains a horizon, unless it ends there. */
static void run_keep(uint64_t key, int64_t first_ns, int64_t last_ns) {
    if (!fuzz_set_is_full()) fuzz_set_add(key);
    if (last_ns > run_least_ns) fuzz_fail("an ID past the horizon on disk", first_ns, run_least_ns);
    if (last_ns <= run_floor_ns) fuzz_fail("an ID of the earlier run", first_ns, run_floor_ns);
}

static void run_keep_flake(uint64_t id) {
    flake_parts parts;
    fuzz_same("decompose", flake_decompose(&run_options.layout, id, &parts), FLAKE_OK);
    const int64_t first_ns = parts.unix_ms * 1000000;
    run_keep(id, first_ns, first_ns + (int64_t)run_options.layout.unit_ms * 1000000 - 1);
}

static void run_move_clock_to(int64_t to_ns) {
    script_now.now_ns = to_ns;
    fuzz_begin_call();
    fuzz_read_anew();
}

static bool run_again; /* by reinit */

static flake_status run_open(void) {
    const flake_options *const o = &run_options;
    if (run_again && run_of == RUN_SNO) return sno_reinit_after_fork(&run_sno, run_node, &run_pool, o, NULL);
    if (run_again) return flake_reinit_after_fork(run_shards, run_node, o, NULL);
    if (run_of == RUN_SNO) return sno_init(&run_sno, run_node, &run_pool, o, NULL);
    if (run_of == RUN_SHARDS) return flake_init_shards(run_shards, 2, run_node, o, NULL);
    return flake_init(run_shards, run_node, o, NULL);
}

/* Opens until it succeeds; only time and the disk may prevent it. */
static void run_begin(void) {
    plain before;
    for (;;) {
        memset(&before, 0, sizeof before);
        before.horizon_ns = INT64_MIN;
        if (disk_now.file >= 0) {
            before = disk_read_plainly(&disk_file[disk_now.file].now);
            fuzz_same("file between two runs", before.status, FLAKE_OK);
        }
        fuzz_begin_call();
        const int64_t began_ns = fuzz_reading_ns;
        const bool may_fail = disk_failures != 0;
        const flake_status judged =
            disk_now.file < 0 ? FLAKE_OK : record_judge_plainly(&before, began_ns, run_options.max_downtime_ms);
        const flake_status status = run_open();
        run_tell("init", status);
        if (judged != FLAKE_OK && status != FLAKE_IO) fuzz_same("status of init", status, judged);
        if (status == FLAKE_OK) break;
        if (judged == FLAKE_CLOCK_BACKWARDS) run_move_clock_to(before.written_ns);
        else if (status == FLAKE_CLOCK_BACKWARDS) { /* during the wait */
            fuzz_true("a wait", !run_options.no_wait && began_ns <= before.horizon_ns);
            run_move_clock_to(before.horizon_ns + 1);
        } else if (status == FLAKE_DOWNTIME) {
            fuzz_same("status of init", status, judged);
            run_options.max_downtime_ms = 0;
        } else {
            fuzz_same("status of init", status, FLAKE_IO);
            fuzz_true("the disk refused", may_fail);
            disk_failures = 0;
            if (fuzz_byte() & 1) disk_power_cut();
        }
    }
    run_floor_ns = before.horizon_ns;
}

/* A damaged file, with checksums that may be right, is refused with its status and unchanged, unless a record is
 * intact. */
static void run_damage(void) {
    static struct disk_file kept;
    static const size_t places[] = {0, 512, 512 + 4096};
    struct disk_file *const f = &disk_file[disk_now.file];
    const uint8_t how = fuzz_byte();
    kept = *f;
    if (how & 64) f->now.bytes[11] = 2; /* 0.3's */
    for (unsigned edits = how % 4; edits; edits--) {
        const size_t at = (size_t)fuzz_below(128);
        uint8_t *const record = &f->now.bytes[places[fuzz_byte() % 3]];
        record[at] ^= fuzz_byte();
        if (how & 128 && record != f->now.bytes) flake_i_put64(record + 120, record_checksum(record));
    }
    if (fuzz_one_in(4)) f->now.n = (size_t)fuzz_below(f->now.n + 1);
    const disk_content damaged = f->now;
    const plain file = disk_read_plainly(&damaged);
    const flake_status wanted = record_judge_plainly(&file, fuzz_reading_ns, run_options.max_downtime_ms);
    if (wanted != FLAKE_OK) {
        fuzz_same("status of damage", run_open(), wanted);
        fuzz_true("unchanged on failure", memcmp(&damaged, &f->now, sizeof damaged) == 0);
    }
    *f = kept;
}

static void run_end(uint8_t how) {
    run_tell("end", how % 4);
    if (how % 2) (void)flake_close(run_holder(), NULL);
    memset((void *)run_shards, 0, sizeof run_shards); /* the process has ended */
    memset((void *)&run_sno, 0, sizeof run_sno);
    disk_opened = -1;
    if (how % 4 >= 2) disk_power_cut();
    if (how & 4 && disk_now.file >= 0) {
        disk_failures = 0;
        run_damage();
    }
}

/* In shared memory: the holder dies, and another process takes over. Or the machine is cloned, and the generator takes
 * a number again: the disk has one, which the clone holds until then. */
static void run_continue(uint8_t how) {
    flake_status status;
    if (run_options.shared_memory) {
        disk_opened = -1;
        FLAKE_ATOMIC_STORE(&run_shards->claim.holder, 1u, relaxed); /* another process */
        if (how & 1) disk_failures = how;
        const bool may_fail = disk_failures != 0;
        status = flake_take_over(run_shards, NULL);
        run_tell("take-over", status);
        const plain after = disk_read_plainly(&disk_file[disk_now.file].now);
        const int64_t horizon_ns = (int64_t)FLAKE_ATOMIC_LOAD(&run_shards->claim.horizon_ns, relaxed);
        if (status == FLAKE_OK) {
            fuzz_true("it has the horizon", after.horizon_ns >= horizon_ns);
            fuzz_true("the clock has not passed it", after.horizon_ns >= fuzz_reading_ns);
            fuzz_same("it is the holder", flake_take_over(run_shards, NULL), FLAKE_IN_USE);
        } else if (status != FLAKE_MISMATCH) {
            fuzz_same("status of a take-over", status, FLAKE_IO);
            fuzz_true("the disk refused", may_fail);
        }
        disk_failures = 0;
        return;
    }
    if (run_of == RUN_SHARDS) return;
    uint64_t id;
    sno_id sno;
    flake_machine_cloned();
    status = run_of == RUN_SNO ? sno_try(&run_sno, 7, &sno) : flake_try(run_shards, &id);
    fuzz_same("a draw after a clone", status, FLAKE_FORKED);
    run_again = true;
    run_begin();
    run_again = false;
}

static void run_draw_sno(uint8_t way) {
    sno_id ids[7];
    size_t n = 0;
    memset(ids, 0, sizeof ids);
    switch (way % 4) {
    case 0: n = sno_next(&run_sno, 7, ids) == FLAKE_OK; break;
    case 1: n = sno_try(&run_sno, 7, ids) == FLAKE_OK; break;
    case 2: (void)!sno_try_n(&run_sno, 7, ids, 7, &n); break;
    default: n = sno_try_at(&run_sno, 7, fuzz_reading_ns / 1000000, ids) == FLAKE_OK; break;
    }
    run_least_ns = disk_least_horizon();
    for (size_t i = 0; i < n; i++) {
        const int64_t first_ns = sno_time_ms(ids[i]) * 1000000;
        run_keep(sno_key(ids[i]), first_ns, first_ns + 4 * 1000000 - 1);
    }
    run_tell("snos", (int64_t)n);
}

static void run_draw_flake(uint8_t way) {
    uint64_t ids[7];
    size_t n = 0;
    memset(ids, 0, sizeof ids);
    flake_gen *const g = &run_shards[run_of == RUN_SHARDS && way & 8];
    switch (way % 8) {
    case 0:
    case 5: n = flake_next(g, ids) == FLAKE_OK; break;
    case 1:
    case 7: n = flake_try(g, ids) == FLAKE_OK; break;
    case 2: n = flake_next_n(g, ids, 7) == FLAKE_OK ? 7 : 0; break;
    case 4: n = flake_try_at(g, fuzz_reading_ns / 1000000, ids) == FLAKE_OK; break;
    default: (void)!flake_try_n(g, ids, 7, &n); break;
    }
    /* a batch that fails returns the IDs before the failure */
    if (!n && way % 8 == 2)
        while (n < 7 && ids[n]) n++;
    run_least_ns = disk_least_horizon();
    for (size_t i = 0; i < n; i++) run_keep_flake(ids[i]);
    run_tell("ids", (int64_t)n);
}

static void run_set_up(void) {
    const uint8_t kind = fuzz_byte(), more = fuzz_byte();
    memset(&run_options, 0, sizeof run_options);
    memset(&run_pool, 0, sizeof run_pool);
    memset(disk_file, 0, sizeof disk_file);
    disk_now.file = disk_now.fresh = disk_opened = -1;
    disk_lasting = disk_now;
    disk_failures = 0;
    run_of = kind & 1 ? RUN_SNO : more & 2 ? RUN_SHARDS : RUN_FLAKE;
    /* a range of one: the disk has one number */
    run_node = more & 1 ? flake_node_any("/ids", 9, 9) : flake_node_fixed("/ids", 9);
    run_options.manual_extend = kind >> 1 & 1;
    run_options.no_wait = kind >> 2 & 1;
    run_options.horizon_ms = fuzz_byte() * (kind & 8 ? 40 : 1);
    run_options.max_downtime_ms = kind & 16 ? 1000 : 0;
    const uint32_t flake_seq_max = 3u + fuzz_byte() % 60, sno_seq_max = 3u + fuzz_byte() % 60;
    if (run_of != RUN_SNO) {
        run_options.layout = kind & 32 ? flake_layout_sonyflake : flake_layout_idgen;
        run_options.seq_max = flake_seq_max;
        run_options.max_ahead_ms = kind & 64 ? 1500 : 0;
    }
    run_options.shared_memory = run_of == RUN_FLAKE && kind & 128;
    run_pool.partition = 9;
    run_pool.sequence_max = (uint16_t)sno_seq_max;
    run_options.max_wait_ms = 1000; /* as usual */
    run_options.clock.now_ns = fuzz_read;
    fuzz_clock_begin(1700000000000 * FUZZ_MS);
    if (more & 4) disk_failures = fuzz_bytes(1) | (more & 8 ? UINT64_MAX << 8 : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_begin(bytes, size);
    fuzz_set_clear();
    run_set_up();
    run_begin();
    while (fuzz_left() && !fuzz_set_is_full()) {
        const uint8_t what = fuzz_byte(), with = fuzz_byte();
        fuzz_step++;
        fuzz_begin_call();
        switch (what % 16) {
        case 0:
        case 1: run_move_clock_to(fuzz_reading_ns + with * FUZZ_MS); break;
        case 2: run_move_clock_to(fuzz_reading_ns + with * 16 * FUZZ_MS); break;
        case 3: run_move_clock_to(fuzz_reading_ns - with * (with & 1 ? 1 : 16) * FUZZ_MS); break;
        case 4: disk_failures = with | (uint64_t)(what & 128 ? UINT64_MAX : 0); break;
        case 5: disk_failures = 0; break;
        case 6: (void)flake_extend(run_holder(), NULL); break;
        case 7:
            run_end(with);
            run_begin();
            break;
        case 8: /* another generator of the number */
            run_end(1);
            run_begin();
            break;
        case 9: run_continue(with); break;
        case 10: { /* another file replaces the number's: an earlier copy */
            const disk_content file = disk_file[disk_now.file].now;
            if (with < 32) disk_put(file.bytes, file.n);
            break;
        }
        default:
            if (run_of == RUN_SNO) run_draw_sno(with);
            else run_draw_flake(with);
            break;
        }
    }
    run_end(1 + 4);
    return 0;
}

#include "driver.h"
