/* SPDX-License-Identifier: MIT
 *
 * State files. The record: arbitrary bytes are read as a plain reading of the format says, what is read
 * is written as it was, each change of one byte is noticed, and the judgement is that of a few plain
 * comparisons. And whole runs, one after the other, with a disk in memory: generators and shards of
 * both headers draw, the clock moves as it likes, writes fail, runs end by close or at once; no run hands
 * out a time that an earlier one has handed out.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a disk in memory: one file, the new one beside it, and what a power cut would leave ---- */

static struct disk_file {
    uint8_t bytes[256];
    size_t n;
    bool is_there, is_synced;
} disk_file, disk_new, disk_lasting;
static struct disk_file *disk_open_file;
static size_t disk_at;
static uint64_t disk_failures; /* bit i: the i-th call that writes, from now on, fails */
enum { disk_lock = 1000, disk_folder, disk_fd };

static bool disk_fails(void) {
    const bool fails = disk_failures & 1;
    disk_failures >>= 1;
    if (fails) errno = ENOSPC;
    return fails;
}

static bool disk_ends(const char *path, const char *end) {
    const size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0;
}

static struct disk_file *disk_find(const char *path) {
    return disk_ends(path, ".new") ? &disk_new : &disk_file;
}

static int disk_open(const char *path, int flags, ...) {
    if (disk_ends(path, "lock")) return disk_lock;
    if (disk_ends(path, "/")) return disk_fails() ? -1 : disk_folder;
    struct disk_file *file = disk_find(path);
    if (flags & O_CREAT) {
        if (disk_fails()) return -1;
        memset(file, 0, sizeof *file);
        file->is_there = true;
    } else if (!file->is_there) {
        errno = ENOENT;
        return -1;
    }
    disk_open_file = file;
    disk_at = 0;
    return disk_fd;
}

static ssize_t disk_write(const void *bytes, size_t n) {
    struct disk_file *file = disk_open_file;
    const bool is_full = disk_fails();
    if (is_full) n /= 2;
    if (n > sizeof file->bytes - file->n) return -1;
    memcpy(file->bytes + file->n, bytes, n);
    file->n += n;
    file->is_synced = false;
    return is_full && disk_failures & 1 ? -1 : (ssize_t)n;
}

static ssize_t disk_read(void *bytes, size_t n) {
    const size_t left = disk_open_file->n - disk_at, some = n < left ? n : left;
    memcpy(bytes, disk_open_file->bytes + disk_at, some);
    disk_at += some;
    return (ssize_t)some;
}

static int disk_close(int fd) { return fd == disk_fd && disk_fails() ? -1 : 0; }

static int disk_rename(const char *from, const char *to) {
    if (disk_fails()) return -1;
    *disk_find(to) = *disk_find(from);
    disk_find(from)->is_there = false;
    return 0;
}

static int disk_unlink(const char *path) {
    disk_find(path)->is_there = false;
    return 0;
}

static int disk_stat(struct stat *out) {
    memset(out, 0, sizeof *out);
    return 0;
}

static int disk_sync(int fd) {
    if (disk_fails()) return -1;
    if (fd == disk_fd) disk_open_file->is_synced = true;
    if (fd == disk_folder) disk_lasting = disk_file;
    return 0;
}

/* What was not synced is lost, or is there in part. */
static void disk_power_cut(bool rename_was_in_time) {
    if (!rename_was_in_time) disk_file = disk_lasting;
    if (disk_file.is_there && !disk_file.is_synced) disk_file.n /= 2;
    disk_lasting = disk_file;
    disk_new.is_there = false;
}

int fsync(int fd);
int fsync(int fd) { return disk_sync(fd); }

#define open(...)           disk_open(__VA_ARGS__)
#define write(fd, bytes, n) ((void)(fd), disk_write(bytes, n))
#define read(fd, bytes, n)  ((void)(fd), disk_read(bytes, n))
#define close(fd)           disk_close(fd)
#define rename(from, to)    disk_rename(from, to)
#define unlink(path)        disk_unlink(path)
#define stat(path, out)     disk_stat(out)
#define fstat(fd, out)      disk_stat(out)
#define fcntl(fd, ...)      0

#include "fuzz.h"
#include "flake.h"
#include "sno.h"
#include "../tests/sno_key.h"

#undef open
#undef write
#undef read
#undef close
#undef rename
#undef unlink
#undef stat
#undef fstat
#undef fcntl

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

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

static flake_status record_read_plainly(const uint8_t *in, size_t n) {
    static const uint8_t magic[8] = {'i', 'd', 's', 't', 'a', 't', 'e', '\n'};
    for (size_t i = 0; i < n && i < 8; i++)
        if (in[i] != magic[i]) return FLAKE_FOREIGN;
    if (n != 128 || record_number(in + 120) != record_checksum(in)) return FLAKE_TORN;
    if (record_number(in + 8) != UINT64_C(0x100000000)) return FLAKE_FOREIGN;
    for (size_t i = 96; i < 120; i++)
        if (in[i]) return FLAKE_FOREIGN;
    return (int64_t)record_number(in + 16) < (int64_t)record_number(in + 24) ? FLAKE_TORN
                                                                             : FLAKE_OK;
}

static void record_check_reading(const uint8_t *in, size_t n) {
    flake_i_record r;
    uint8_t again[FLAKE_I_RECORD];
    memset(&r, 0, sizeof r);
    const flake_status status = flake_i_record_get(in, n, &r);
    fuzz_same("status", status, record_read_plainly(in, n));
    if (status != FLAKE_OK) return;
    flake_i_record_put(&r, again);
    fuzz_true("written as it was read", memcmp(in, again, n) == 0);
}

static void record_check_judgement(const flake_i_record *r) {
    uint8_t identity[FLAKE_I_IDENTITY];
    const char *what = NULL;
    const int64_t now_ns = (int64_t)fuzz_number();
    const int64_t downtime_ns = (int64_t)(fuzz_number() >> 3);
    memcpy(identity, r->identity, sizeof identity);
    const uint8_t other = fuzz_byte();
    if (other & 64) identity[other % 64] ^= other;
    flake_status wanted = FLAKE_OK;
    if (other & 64) wanted = FLAKE_FOREIGN;
    else if (now_ns < r->written_ns) wanted = FLAKE_CLOCK_BACK;
    else if (downtime_ns && now_ns > r->horizon_ns &&
             (uint64_t)now_ns - (uint64_t)r->horizon_ns > (uint64_t)downtime_ns)
        wanted = FLAKE_DOWNTIME;
    fuzz_same("judgement", flake_i_record_judge(r, identity, now_ns, downtime_ns, &what), wanted);
    fuzz_same("words", what != NULL, wanted != FLAKE_OK);
}

static void record_check(void) {
    uint8_t bytes[FLAKE_I_RECORD + 1];
    const uint8_t form = fuzz_byte();
    memset(bytes, 0, sizeof bytes);
    if (form % 4 == 0) { /* anything */
        record_check_reading(fuzz_at, fuzz_left());
        return;
    }
    flake_i_record r;
    r.horizon_ns = (int64_t)fuzz_number();
    r.written_ns = (int64_t)fuzz_number();
    if (form % 4 != 1 && r.written_ns > r.horizon_ns) r.written_ns = r.horizon_ns;
    for (size_t i = 0; i < sizeof r.identity; i++) r.identity[i] = fuzz_byte();
    flake_i_record_put(&r, bytes);
    record_check_reading(bytes, FLAKE_I_RECORD);
    if (form % 4 == 1) {
        record_check_reading(bytes, (size_t)fuzz_below(sizeof bytes + 1));
        for (unsigned edits = 1 + fuzz_byte() % 3; edits; edits--)
            bytes[fuzz_below(120)] = fuzz_byte();
        flake_i_put64(bytes + 120, record_checksum(bytes));
        record_check_reading(bytes, FLAKE_I_RECORD);
    } else if (form % 4 == 2) {
        const size_t at = (size_t)fuzz_below(FLAKE_I_RECORD);
        const uint8_t change = (uint8_t)(1 + fuzz_below(255));
        bytes[at] ^= change;
        fuzz_true("a changed byte is noticed",
                  flake_i_record_get(bytes, FLAKE_I_RECORD, &r) != FLAKE_OK);
    } else record_check_judgement(&r);
}

/* ---- runs ---- */

static flake_state run_state;
static flake_state_options run_where;
static flake_options run_options;
static flake_gen run_gen;
static flake_shard run_shards[2];
static sno_state run_sno_state;
static sno_state_options run_sno_where;
static sno_snapshot run_pool;
static sno_options run_sno_options;
static sno_gen run_sno;
static bool run_is_sno;

static void run_tell(const char *what, int64_t n) {
    if (fuzz_traced) printf("  %s %" PRId64 ", clock %" PRId64 " ns\n", what, n, fuzz_reading_ns);
}

static void run_keep(uint64_t key, int64_t unix_ns) {
    flake_i_record r;
    memset(&r, 0, sizeof r);
    if (!fuzz_set_is_full()) fuzz_set_add(key);
    fuzz_same("status of what would last",
              flake_i_record_get(disk_lasting.bytes, disk_lasting.n, &r), FLAKE_OK);
    if (unix_ns > r.horizon_ns) fuzz_fail("an id past the horizon on disk", unix_ns, r.horizon_ns);
}

static void run_keep_flake(uint64_t id) {
    flake_parts parts;
    fuzz_same("decompose", flake_decompose(&run_gen.options.layout, id, &parts), FLAKE_OK);
    run_keep(id, parts.unix_ms * 1000000);
}

static void run_make_generators(void) {
    if (run_is_sno) {
        run_sno_options.snapshot = &run_pool;
        run_sno_options.state = &run_sno_state;
        fuzz_same("sno_init", sno_init(&run_sno, &run_sno_options), SNO_OK);
        return;
    }
    flake_options o = run_options;
    o.state = &run_state;
    const uint32_t half = (o.seq_min + o.seq_max) / 2;
    flake_options part = o;
    part.seq_max = half;
    fuzz_same("init", flake_init(&run_gen, &part), FLAKE_OK);
    part.seq_min = half + 1;
    part.seq_max = o.seq_max;
    fuzz_same("shards_init", flake_shards_init(run_shards, 2, &part), FLAKE_OK);
}

static void run_move_clock_to(int64_t to_ns) {
    script_now.now_ns = to_ns;
    script_now.sleeps = 0;
    fuzz_read_anew();
}

/* Opens until it is well; what may stand in the way is time and the disk. */
static void run_begin(void) {
    for (;;) {
        flake_i_record before;
        memset(&before, 0, sizeof before);
        if (disk_file.is_there)
            fuzz_same("file between two runs",
                      flake_i_record_get(disk_file.bytes, disk_file.n, &before), FLAKE_OK);
        script_now.sleeps = 0;
        const int64_t began_ns = fuzz_reading_ns;
        const bool may_fail = disk_failures != 0;
        sno_snapshot pool = run_pool;
        int status;
        if (run_is_sno) status = (int)sno_state_open(&run_sno_state, &run_sno_where, &pool, NULL);
        else status = (int)flake_state_open(&run_state, &run_where, &run_options, NULL);
        run_tell("open", status);
        if (status == 0) break;
        if (status == (int)(run_is_sno ? SNO_CLOCK_BACK : FLAKE_CLOCK_BACK)) {
            fuzz_true("from the future", began_ns < before.written_ns);
            run_move_clock_to(before.written_ns);
        } else if (status == (int)(run_is_sno ? SNO_DOWNTIME : FLAKE_DOWNTIME)) {
            fuzz_true("long ago", began_ns > before.horizon_ns);
            run_where.allowable_downtime_ms = run_sno_where.allowable_downtime_ms = 0;
        } else {
            fuzz_same("status of open", status, (int)(run_is_sno ? SNO_IO : FLAKE_IO));
            fuzz_true("the disk refused", may_fail);
            disk_failures = 0;
        }
    }
    run_make_generators();
}

static void run_end(uint8_t how) {
    run_tell("end", how % 4);
    if (how % 2) {
        if (run_is_sno) (void)sno_state_close(&run_sno_state);
        else (void)flake_state_close(&run_state);
    }
    flake_i_process.locks = NULL; /* the process is gone */
    sno_i_process.locks = NULL;
    if (how % 4 >= 2) disk_power_cut(how & 4);
    memset(&run_state, 0, sizeof run_state);
    memset(&run_sno_state, 0, sizeof run_sno_state);
}

static void run_draw_sno(uint8_t way) {
    sno_id ids[7];
    size_t n = 0;
    memset(ids, 0, sizeof ids);
    switch (way % 4) {
    case 0:
        ids[0] = sno_new(&run_sno, 7);
        n = !sno_is_zero(ids[0]);
        break;
    case 1: n = sno_try(&run_sno, 7, ids) == SNO_OK; break;
    case 2: n = sno_try_n(&run_sno, 7, ids, 7); break;
    default: n = sno_try_at(&run_sno, 7, fuzz_reading_ns, ids) == SNO_OK; break;
    }
    for (size_t i = 0; i < n; i++) run_keep(sno_key(ids[i]), sno_time_ns(ids[i]));
    run_tell("snos", (int64_t)n);
}

static void run_draw_flake(uint8_t way) {
    uint64_t ids[7];
    size_t n = 0;
    memset(ids, 0, sizeof ids);
    switch (way % 8) {
    case 0: n = flake_next(&run_gen, ids) == FLAKE_OK; break;
    case 1: n = flake_try(&run_gen, ids) == FLAKE_OK; break;
    case 2: n = flake_next_n(&run_gen, ids, 7) == FLAKE_OK ? 7 : 0; break;
    case 3: n = flake_try_n(&run_gen, ids, 7); break;
    case 4: n = flake_try_at(&run_gen, fuzz_reading_ns / 1000000, ids) == FLAKE_OK; break;
    case 5: n = flake_shard_next(&run_shards[0], ids) == FLAKE_OK; break;
    case 6: n = flake_shard_try_n(&run_shards[1], ids, 7); break;
    default: n = flake_shard_try(&run_shards[1], ids) == FLAKE_OK; break;
    }
    /* a batch that fails leaves those that it had in front */
    if (!n && way % 8 == 2)
        while (n < 7 && ids[n]) n++;
    for (size_t i = 0; i < n; i++) run_keep_flake(ids[i]);
    run_tell("ids", (int64_t)n);
}

static void run_restore(void) {
    flake_snapshot s;
    if (run_is_sno || flake_snapshot_take(&run_gen, &s) != FLAKE_OK) return;
    s.unix_ms += (int64_t)fuzz_below(5000);
    s.count = fuzz_byte();
    (void)flake_restore(&run_gen, &s);
}

static void run_set_up(void) {
    const uint8_t kind = fuzz_byte();
    memset(&run_where, 0, sizeof run_where);
    memset(&run_sno_where, 0, sizeof run_sno_where);
    memset(&run_options, 0, sizeof run_options);
    memset(&run_sno_options, 0, sizeof run_sno_options);
    memset(&run_pool, 0, sizeof run_pool);
    memset(&disk_file, 0, sizeof disk_file);
    disk_lasting = disk_new = disk_file;
    disk_failures = 0;
    run_is_sno = kind & 1;
    run_where.path = run_sno_where.path = "/ids";
    run_where.by_timer = run_sno_where.by_timer = kind >> 1 & 1;
    run_where.no_wait = run_sno_where.no_wait = kind >> 2 & 1;
    run_where.horizon_ms = run_sno_where.horizon_ms = fuzz_byte() * (kind & 8 ? 40 : 1);
    run_where.allowable_downtime_ms = kind & 16 ? 1000 : 0;
    run_sno_where.allowable_downtime_ms = run_where.allowable_downtime_ms;
    run_options.layout = kind & 32 ? flake_layout_sonyflake() : flake_layout_idgen();
    run_options.seq_max = 3 + fuzz_byte() % 60;
    run_options.max_ahead_ms = kind & 64 ? 1500 : 0;
    run_pool.partition = 9;
    run_pool.sequence_max = (uint16_t)(3 + fuzz_byte() % 60);
    run_sno_options.max_wait_ms = 1000;
    run_options.clock.now_ns = run_where.clock.now_ns = fuzz_read;
    run_sno_options.clock.now_ns = run_sno_where.clock.now_ns = fuzz_read;
    fuzz_clock_begin(1700000000000 * FUZZ_MS);
}

static void run_check(void) {
    fuzz_set_clear();
    run_set_up();
    run_begin();
    while (fuzz_left() && !fuzz_set_is_full()) {
        const uint8_t what = fuzz_byte(), with = fuzz_byte();
        fuzz_step++;
        script_now.sleeps = 0;
        switch (what % 16) {
        case 0:
        case 1: run_move_clock_to(fuzz_reading_ns + with * FUZZ_MS); break;
        case 2: run_move_clock_to(fuzz_reading_ns + with * 16 * FUZZ_MS); break;
        case 3: run_move_clock_to(fuzz_reading_ns - with * (with & 1 ? 1 : 16) * FUZZ_MS); break;
        case 4: disk_failures = with | (uint64_t)(what & 128 ? UINT64_MAX : 0); break;
        case 5: disk_failures = 0; break;
        case 6:
            if (run_is_sno) (void)sno_state_extend(&run_sno_state);
            else (void)flake_state_extend(&run_state);
            break;
        case 7:
            run_end(with);
            run_begin();
            break;
        case 8: run_make_generators(); break;
        case 9: run_restore(); break;
        default:
            if (run_is_sno) run_draw_sno(with);
            else run_draw_flake(with);
            break;
        }
    }
    run_end(1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_begin(bytes, size);
    if (fuzz_byte() % 4 == 0) record_check();
    else run_check();
    return 0;
}

#include "driver.h"
