/* sno.h: unique, time-ordered 80-bit IDs with a metabyte, from any number of threads, without locks.
 *
 * Version 0.4.0. C11, or C++11 and later. SPDX-License-Identifier: MIT (the text is at the end of flake.h.)
 *
 * Include it in as many files as you like; there is nothing to link:
 *
 *     #include "sno.h"
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         sno_id id = sno_generate(42); // from any thread; the metabyte 42 means what you define
 *         char text[16];
 *         sno_encode(id, text);
 *         printf("%.16s generated at %lld ms\n", text, (long long)sno_time_ms(id));
 *         return 0;
 *     }
 *
 * WHICH CALL
 *
 *     sno_generate     from a process-wide generator with a random partition, without set-up
 *     sno_next         from a generator of your own, with a partition that you choose
 *     sno_try          never blocks; flake_retry_ns tells an event loop when to call again
 *     sno_next_n       a batch: one atomic operation per time unit
 *     sno_try_at       takes the current time from the caller instead of the clock
 *
 * The first member of a sno_gen is a flake_gen named `gen`, for flake.h's queries, flake_close, flake_extend and
 * flake_take_over: flake_close(&ids.gen, &why). Options are flake_options, with lanes and single_thread. flake.h
 * describes them, nodes, directories, clocks, gates, rings, statuses and hooks, where a generator may live, and
 * which call may run in which thread, in signal handlers and after fork.
 *
 * Two generators that run at the same time, in one process or in several, need different partitions or
 * disjoint sequence ranges. flake.h describes when one may follow another (UNIQUENESS).
 *
 * IDs of one generator and one metabyte increase in call order while the clock does not go backwards. (The
 * metabyte comes before the sequence.) When it does, or is behind a time that sno_try_at was given, the tick bit flips,
 * and no caller waits. Callers wait only if a second backward step leads into time that was used with both ticks.
 *
 * With FLAKE_NO_OS partitions derive from the clock alone, unless FLAKE_RANDOM_BYTES is defined.
 *
 * Sections have the marks of flake.h's list, or these:
 *
 *     // >>ids, // >>sort   their bits, from and to their parts; order
 *     // >>text             before // >>draws, which fill arrays with its vectors
 *     // >>partitions       those that the library chooses
 */

/* A program's warning flags do not apply to this header. */
#if defined(__GNUC__) && defined(__INCLUDE_LEVEL__) && !defined(FLAKE_SHOW_WARNINGS)
#if __INCLUDE_LEVEL__ > 0
#pragma GCC system_header
#endif
#endif

#include "flake.h"

#ifndef SNO_H
#define SNO_H

#define SNO_VERSION_MAJOR  0
#define SNO_VERSION_MINOR  4
#define SNO_VERSION_PATCH  0
#define SNO_VERSION_STRING "0.4.0"

#if FLAKE_VERSION_MAJOR != SNO_VERSION_MAJOR || FLAKE_VERSION_MINOR != SNO_VERSION_MINOR || \
    FLAKE_VERSION_PATCH != SNO_VERSION_PATCH
#error "sno.h and flake.h are of different versions"
#endif

#ifdef __cplusplus
extern "C" {
#endif

// >>public

/* ---- IDs ----
 *
 * 80 bits, big-endian: memcmp orders them as sno_compare does.
 *
 *     [ time:39 ][ tick:1 ][ meta:8 ][ partition:16 ][ sequence:16 ]    time: 4 ms since 2010
 */
typedef struct sno_id {
    FLAKE_I_ORDERED(sno_id) /* in C++: ==, != and <; and flake_hash takes one */
    uint8_t bytes[10];
} sno_id;

FLAKE_API int64_t sno_time_ms(sno_id); /* Unix time at which its unit starts */
FLAKE_API uint64_t sno_units(sno_id);  /* since 2010-01-01 UTC */
FLAKE_API unsigned sno_tick(sno_id);   /* changes when the clock goes backwards */
FLAKE_API uint8_t sno_meta(sno_id);
FLAKE_API uint16_t sno_partition(sno_id);
FLAKE_API uint16_t sno_sequence(sno_id);
/* Negative, 0 or positive: by time, tick, meta, partition, sequence. */
FLAKE_API int sno_compare(sno_id, sno_id);
FLAKE_API bool sno_equal(sno_id, sno_id);
FLAKE_API bool sno_is_zero(sno_id);
FLAKE_API void sno_sort(sno_id *ids, size_t n); /* in place, a radix sort */
/* FLAKE_TIME_RANGE: units has more than 39 bits. FLAKE_INVALID: tick exceeds 1. */
FLAKE_API flake_status sno_compose(uint64_t units, unsigned tick, uint8_t meta, uint16_t partition, uint16_t sequence,
                                   sno_id *);
/* The smallest and largest ID of a time unit, for range queries. FLAKE_TIME_RANGE: outside 2010..2079. */
FLAKE_API flake_status sno_min_at(int64_t unix_ms, sno_id *);
FLAKE_API flake_status sno_max_at(int64_t unix_ms, sno_id *);
FLAKE_API sno_id sno_from_bytes(const uint8_t in[10]);
FLAKE_API void sno_to_bytes(sno_id, uint8_t out[10]);

/* ---- text ----
 *
 * 16 characters of 2-9 and a-x, which sort as the IDs do. Decoding takes the whole input and accepts lower
 * case only, of hex digits either case. On failure the output is unchanged. Only to_json and to_uuid write a NUL.
 */
FLAKE_API void sno_encode(sno_id, char out[16]);
FLAKE_API flake_status sno_decode(const char *, size_t len, sno_id *);
FLAKE_API void sno_encode_n(const sno_id *, size_t n, char *out);      /* 16 * n characters */
FLAKE_API flake_status sno_decode_n(const char *, size_t n, sno_id *); /* all n or none */
FLAKE_API void sno_to_json(sno_id, char out[19]);                      /* in quotes; the zero ID is null */
FLAKE_API flake_status sno_from_json(const char *, size_t len, sno_id *);
/* The text's 16 characters as 16 bytes in a UUID's form: not an RFC 9562 UUID. */
FLAKE_API void sno_to_uuid(sno_id, char out[37]);
FLAKE_API flake_status sno_from_uuid(const char *, size_t len, sno_id *);

/* ---- generators ----
 *
 * The partition is the generator's node. To choose it yourself, with the whole pool of sequence numbers:
 *
 *     if (sno_init(&ids, flake_node_fixed(NULL, 7), NULL, NULL, &why) != FLAKE_OK) ... why.text
 *
 * With flake_node_none() the library chooses the partition. It differs from those that the library chose before,
 * in this process and its relatives, which are the children forked after the first choice, and theirs. That
 * holds whichever of them call flake_machine_cloned, and when, unless mmap refuses them shared memory.
 * Partitions count up from a random one and are not reused: many short-lived children use up the 65,536.
 *
 * Unrelated processes may get the same partition: two collide with probability 1/65,536 for each partition used,
 * and among 300 processes a collision is as likely as not. Unrelated are the processes of two clones of a machine
 * after flake_machine_cloned, and two copies of this header that the linker keeps apart in one process (libraries
 * that hide their symbols, or were opened with RTLD_LOCAL). In such systems assign partitions yourself.
 */
typedef struct sno_gen sno_gen;

/* A generator's position, from which a new one may start. Times in 4 ms units since 2010. Store members, not bytes. */
typedef struct sno_snapshot {
    uint16_t partition;
    /* The pool: at least 4 numbers, bounds in either order; max 0: 65535. */
    uint16_t sequence_min, sequence_max;
    /* last number drawn, above the maximum while callers queue; 0: the minimum */
    uint32_t sequence;
    int64_t now;       /* the clock when the snapshot was taken */
    int64_t wall_hi;   /* the newest unit with an ID */
    int64_t wall_safe; /* the last unit used with the other tick */
    uint32_t drifts;   /* how often the clock went backwards; its parity is the tick */
} sno_snapshot;

/* The node is the partition, at most 65535. Only this call reads the snapshot. With flake_node_fixed it sets pool and
 * position, and must be of this partition. With flake_node_any or flake_node_none() only its bounds count, of any
 * partition: it does not continue a run. NULL: the whole pool. The options set the rest; NULL: all defaults. Their
 * fields layout, seq_min, seq_max, seq_scatter and max_ahead_ms must be zero. With lanes, IDs of one unit are
 * unordered, and after a backward step may have either tick.
 *
 * The statuses of flake_init; and FLAKE_EXHAUSTED: the process and its relatives have used all partitions. After a
 * failure every call on the generator returns FLAKE_INVALID, but flake_close FLAKE_OK.
 *
 * The generator starts in the next unit of 4 ms (options.start_this_unit). It starts at once if the library chose
 * the partition, or if the snapshot has a position: then it continues after that. If a run with the same partition
 * drew in a later unit, or after its snapshot, IDs can repeat, unless the generator has a directory. */
FLAKE_I_MUST_USE FLAKE_API flake_status sno_init(sno_gen *, flake_node, const sno_snapshot *, const flake_options *,
                                                 flake_why *);
/* n generators that share one partition and pool, each with single_thread and for one thread at a time. All or
 * none. FLAKE_INVALID: n is 0, more than there are numbers, or as many with sequence_min 0 (bounds 0 and 0 are
 * the whole pool's). Close and extend the first one. */
FLAKE_I_MUST_USE FLAKE_API flake_status sno_init_shards(sno_gen *shards, size_t n, flake_node, const sno_snapshot *,
                                                        const flake_options *, flake_why *);
/* As flake_next, flake_try, flake_next_n, flake_try_n and flake_try_at, with a metabyte. FLAKE_TOO_FAR_AHEAD:
 * unix_ms is ahead of the exact clock by more than one unit. */
FLAKE_I_MUST_USE FLAKE_API flake_status sno_next(sno_gen *, uint8_t meta, sno_id *);
FLAKE_I_MUST_USE FLAKE_API flake_status sno_try(sno_gen *, uint8_t meta, sno_id *);
FLAKE_I_MUST_USE FLAKE_API flake_status sno_next_n(sno_gen *, uint8_t meta, sno_id *ids, size_t n);
FLAKE_I_MUST_USE FLAKE_API flake_status sno_try_n(sno_gen *, uint8_t meta, sno_id *ids, size_t n, size_t *got);
FLAKE_I_MUST_USE FLAKE_API flake_status sno_try_at(sno_gen *, uint8_t meta, int64_t unix_ms, sno_id *);
/* An ID of any time, to port old IDs: tick 0, and a sequence that only this call increments, which wraps around within
 * the pool. The ID is unique among sno_cap such calls in a row, but sno_next may generate it in that unit. */
FLAKE_I_MUST_USE FLAKE_API flake_status sno_with_time(sno_gen *, uint8_t meta, int64_t unix_ms, sno_id *);

/* From the process-wide generator, created by the first call, with a partition chosen by the library. Waits
 * without limit. Returns the zero ID for a time outside 2010..2079, and when no partition is left. A program that
 * forks calls it once before the first fork: then parent and children have different partitions. */
FLAKE_API sno_id sno_generate(uint8_t meta);

/* Lock-free, never torn. With lanes, all IDs up to the newest unit of any lane count as drawn, with both ticks. */
FLAKE_API flake_status sno_snapshot_take(sno_gen *, sno_snapshot *);
/* One snapshot of all n shards, the array and n of sno_init_shards, while no thread draws: to start any number of
 * shards after all IDs up to the newest. With a directory none is needed. */
FLAKE_API flake_status sno_shards_snapshot(sno_gen *shards, size_t n, sno_snapshot *);
/* Without lanes: the last number drawn in this unit, or the minimum. */
FLAKE_API uint32_t sno_sequence_now(sno_gen *);
FLAKE_API uint32_t sno_len(sno_gen *);       /* without lanes: IDs drawn in this unit */
FLAKE_API uint32_t sno_cap(const sno_gen *); /* IDs per unit */
FLAKE_API uint16_t sno_gen_partition(const sno_gen *);

/* As flake_reinit_after_fork, with another partition or pool, or flake_node_none(). (sno_generate takes a new
 * partition by itself.) FLAKE_NODE_OVERLAP: partition and pool overlap those of the parent's generator, and one of
 * the two has no directory; sno_init in a child does not check this. */
FLAKE_I_MUST_USE FLAKE_API flake_status sno_reinit_after_fork(sno_gen *, flake_node, const sno_snapshot *,
                                                              const flake_options *, flake_why *);

/* As flake_config_parse, for snos: node=5 dir=none seq_min=0 seq_max=32767. The node is the partition; without
 * one the library chooses it. seq_min and seq_max are the pool's bounds. layout, unit_ms and epoch_ms are refused
 * here, seq_scatter and max_ahead_ms by sno_init. *pool is for sno_init. */
FLAKE_I_MUST_USE FLAKE_API flake_status sno_config_parse(const char *text, flake_config *, sno_snapshot *pool,
                                                         flake_why *);

#ifdef FLAKE_SHARED
/* For other languages, in a shared library: as flake_new and flake_free, with the words of sno_config_parse. A
 * sno_gen * is also a flake_gen *, for flake_extend and the like. */
FLAKE_API sno_gen *sno_gen_new(const char *text, flake_why *);
FLAKE_API flake_status sno_gen_free(sno_gen *, flake_why *);
FLAKE_API const char *sno_version(void);
#endif

// >>structs

/* flake_next and the like return FLAKE_INVALID for `gen`. */
struct sno_gen {
    flake_gen gen;
    uint16_t sequence_min;    /* the partition is gen.node */
    flake_atomic64 with_time; /* calls of sno_with_time */
};

#ifdef __cplusplus
}
#endif
#endif /* SNO_H */

#if defined(FLAKE_I_IMPLEMENTED) && !defined(SNO_I_IMPLEMENTED)
#define SNO_I_IMPLEMENTED

// >>ids

#define SNO_I_EPOCH_MS   INT64_C(1262304000000) /* 2010-01-01 UTC */
#define SNO_I_UNIT_MS    4
#define SNO_I_TIME_SHIFT 25 /* of time in the first 64 bits of an ID, and in the engine's word */

FLAKE_I_FN uint16_t sno_i_load_be16(const uint8_t *from) { return (uint16_t)(from[0] << 8 | from[1]); }

/* The head is all but the sequence, the tail is the sequence. */
FLAKE_I_FN uint64_t sno_i_head(const sno_id *id) { return flake_i_get64(id->bytes); }
FLAKE_I_FN uint16_t sno_i_tail(const sno_id *id) { return sno_i_load_be16(id->bytes + 8); }

FLAKE_I_FN sno_id sno_i_id(uint64_t head, uint16_t tail) {
    sno_id id;
    flake_i_put64(id.bytes, head);
    const uint8_t bytes[2] = {(uint8_t)(tail >> 8), (uint8_t)tail};
    memcpy(id.bytes + 8, bytes, sizeof bytes);
    return id;
}

FLAKE_API uint64_t sno_units(sno_id id) { return sno_i_head(&id) >> SNO_I_TIME_SHIFT; }
FLAKE_API unsigned sno_tick(sno_id id) { return id.bytes[4] & 1U; }
FLAKE_API uint8_t sno_meta(sno_id id) { return id.bytes[5]; }
FLAKE_API uint16_t sno_partition(sno_id id) { return sno_i_load_be16(id.bytes + 6); }
FLAKE_API uint16_t sno_sequence(sno_id id) { return sno_i_tail(&id); }

FLAKE_API int64_t sno_time_ms(sno_id id) { return (int64_t)sno_units(id) * SNO_I_UNIT_MS + SNO_I_EPOCH_MS; }

FLAKE_API sno_id sno_from_bytes(const uint8_t in[10]) {
    sno_id id;
    memcpy(id.bytes, in, sizeof id.bytes);
    return id;
}

FLAKE_API void sno_to_bytes(sno_id id, uint8_t out[10]) { memcpy(out, id.bytes, sizeof id.bytes); }

FLAKE_API flake_status sno_compose(uint64_t units, unsigned tick, uint8_t meta, uint16_t partition, uint16_t sequence,
                                   sno_id *id) {
    if (units >> 39 != 0) return FLAKE_TIME_RANGE;
    if (tick > 1) return FLAKE_INVALID;
    *id = sno_i_id(units << SNO_I_TIME_SHIFT | (uint64_t)tick << 24 | (uint64_t)meta << 16 | partition, sequence);
    return FLAKE_OK;
}

FLAKE_I_FN flake_status sno_i_units_at(int64_t unix_ms, uint64_t *units) {
    if (unix_ms < SNO_I_EPOCH_MS) return FLAKE_TIME_RANGE;
    *units = (uint64_t)(unix_ms - SNO_I_EPOCH_MS) / SNO_I_UNIT_MS;
    return *units >> 39 == 0 ? FLAKE_OK : FLAKE_TIME_RANGE;
}

FLAKE_API flake_status sno_min_at(int64_t unix_ms, sno_id *id) {
    uint64_t units;
    const flake_status status = sno_i_units_at(unix_ms, &units);
    return status == FLAKE_OK ? sno_compose(units, 0, 0, 0, 0, id) : status;
}

FLAKE_API flake_status sno_max_at(int64_t unix_ms, sno_id *id) {
    uint64_t units;
    const flake_status status = sno_i_units_at(unix_ms, &units);
    return status == FLAKE_OK ? sno_compose(units, 1, UINT8_MAX, UINT16_MAX, UINT16_MAX, id) : status;
}

FLAKE_API int sno_compare(sno_id a, sno_id b) {
    const uint64_t head_a = sno_i_head(&a), head_b = sno_i_head(&b);
    if (head_a != head_b) return head_a < head_b ? -1 : 1;
    return sno_i_tail(&a) - sno_i_tail(&b);
}

FLAKE_API bool sno_equal(sno_id a, sno_id b) { return sno_compare(a, b) == 0; }

FLAKE_API bool sno_is_zero(sno_id id) { return sno_i_head(&id) == 0 && sno_i_tail(&id) == 0; }

// >>sort
/* A radix sort in place, most significant digit first. A digit is the 8 bits that begin at the first bit in which the
 * IDs of a bucket differ, so a common prefix (the year, a partition) costs one pass. Each level resolves 8 of the 80
 * bits: at most 10 levels, each with 4 KB of stack. */

#define SNO_I_SORT_FEW 32 /* below this, insertion sort beats clearing 256 counters */

FLAKE_I_FN void sno_i_sort_few(sno_id *ids, size_t n) {
    for (size_t i = 1; i < n; i++) {
        const sno_id id = ids[i];
        size_t place = i;
        for (; place > 0 && sno_compare(id, ids[place - 1]) < 0; place--) ids[place] = ids[place - 1];
        ids[place] = id;
    }
}

/* The first bit in which two of the IDs differ; 72: it is in the last byte, or all are equal. */
FLAKE_I_FN unsigned sno_i_sort_first_difference(const sno_id *ids, size_t n) {
    uint64_t heads = 0, tails = 0;
    for (size_t i = 1; i < n; i++) {
        heads |= sno_i_head(&ids[i]) ^ sno_i_head(&ids[0]);
        tails |= (uint64_t)(sno_i_tail(&ids[i]) ^ sno_i_tail(&ids[0]));
    }
    unsigned bit = heads ? 0 : 64;
    uint64_t left = heads ? heads : tails << 48;
    for (; bit < 72 && left >> 63 == 0; left <<= 1) bit++;
    return bit;
}

/* The 8 bits at `bit`, at most 72; the pair of bytes that contains them ends within the ID. */
FLAKE_I_FN unsigned sno_i_sort_digit(const sno_id *id, unsigned bit) {
    const unsigned first = bit < 72 ? bit / 8 : 8;
    return (unsigned)sno_i_load_be16(id->bytes + first) >> (8 - (bit - 8 * first)) & 0xff;
}

/* Moves every ID to the bucket of its digit; ends[] is where each bucket ends. The ID in hand goes to the next
 * place of its bucket, and the one found there is the next in hand. */
FLAKE_I_FN void sno_i_sort_by_digit(sno_id *ids, size_t n, unsigned bit, size_t ends[256]) {
    size_t next[256] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++) next[sno_i_sort_digit(&ids[i], bit)]++;
    for (unsigned d = 0; d < 256; d++) {
        const size_t count = next[d];
        next[d] = sum;
        ends[d] = sum += count;
    }
    for (unsigned d = 0; d < 256; d++) {
        while (next[d] < ends[d]) {
            sno_id *place = &ids[next[d]];
            sno_id in_hand = *place;
            /* Read from the array: a read of the copy would wait for the copy's store. */
            unsigned digit = sno_i_sort_digit(place, bit);
            while (digit != d) {
                place = &ids[next[digit]++];
                const sno_id found = *place;
                digit = sno_i_sort_digit(place, bit);
                *place = in_hand;
                in_hand = found;
            }
            ids[next[d]++] = in_hand;
        }
    }
}

FLAKE_API void sno_sort(sno_id *ids, size_t n) {
    if (n < SNO_I_SORT_FEW) {
        sno_i_sort_few(ids, n);
        return;
    }
    const unsigned bit = sno_i_sort_first_difference(ids, n);
    size_t ends[256], begin = 0;
    sno_i_sort_by_digit(ids, n, bit, ends);
    if (bit == 72) return;
    for (unsigned d = 0; d < 256; d++) {
        if (ends[d] - begin > 1) sno_sort(ids + begin, ends[d] - begin);
        begin = ends[d];
    }
}

// >>text
/* The 80 bits are 16 values of 5 bits, most significant first. Values 0..7 are '2'..'9' and 8..31 are
 * 'a'..'x', in ASCII order, so texts compare as their IDs do. Three primitives (encode, is_text, and decode of
 * a text that is_text accepts) exist for several machines:
 *
 *     portable    8 characters in a 64-bit word
 *     vector      x86-64 with SSE2, shorter with SSSE3; aarch64
 *     avx2        x86-64: whole arrays, two IDs at a time; always compiled, chosen at run time
 *
 * Conversion needs no tables. In unsigned bytes that wrap around, the value of a digit is c - '2', that of a
 * letter c - ('a' - 8), and the smaller of the two is the right one. A character outside the alphabet has
 * c - '2' above 7 and c - 'a' above 23; adding 120 and 104 with saturation moves both limits to bit 7. */

#if !defined(FLAKE_NO_SIMD) && defined(__GNUC__)
#if defined(__x86_64__) && defined(__SSE2__)
#define SNO_I_X86
#define SNO_I_VECTORS
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(__ARM_BIG_ENDIAN)
#define SNO_I_VECTORS
#endif
#endif

#define SNO_I_LETTER_GAP ('a' - 8 - '2') /* a letter minus (its value + '2') */

FLAKE_I_FN uint64_t sno_i_8_chars(uint64_t bits40) {
    const uint64_t v = flake_i_8_values(bits40);
    return v + FLAKE_I_EACH_BYTE('2') + flake_i_count_from(v, 8) * SNO_I_LETTER_GAP;
}

FLAKE_I_FN bool sno_i_is_8_chars(uint64_t text) {
    const uint64_t digit = FLAKE_I_NOT_BELOW(text, '2') & ~FLAKE_I_NOT_BELOW(text, '9' + 1);
    const uint64_t letter = FLAKE_I_NOT_BELOW(text, 'a') & ~FLAKE_I_NOT_BELOW(text, 'x' + 1);
    return (~(digit | letter) & FLAKE_I_EACH_BYTE(0x80)) == 0;
}

FLAKE_I_FN uint64_t sno_i_40_bits(uint64_t text) {
    const uint64_t is_letter = text >> 6 & FLAKE_I_EACH_BYTE(1);
    uint64_t v = text - FLAKE_I_EACH_BYTE('2') - is_letter * SNO_I_LETTER_GAP;
    v = (v >> 3 & UINT64_C(0x03e003e003e003e0)) | (v & UINT64_C(0x001f001f001f001f));
    v = (v >> 6 & UINT64_C(0x000ffc00000ffc00)) | (v & UINT64_C(0x000003ff000003ff));
    return (v >> 12 & UINT64_C(0x000000fffff00000)) | (v & 0xfffff);
}

FLAKE_I_FN sno_id sno_i_id_of_halves(uint64_t first_40_bits, uint64_t last_40_bits) {
    return sno_i_id(first_40_bits << 24 | last_40_bits >> 16, (uint16_t)last_40_bits);
}

FLAKE_I_FN void sno_i_encode_portable(sno_id id, char *out) {
    const uint64_t head = sno_i_head(&id);
    flake_i_put64(out, sno_i_8_chars(head >> 24));
    flake_i_put64(out + 8, sno_i_8_chars((head & 0xffffff) << 16 | sno_i_tail(&id)));
}

FLAKE_I_FN bool sno_i_is_text_portable(const char *text) {
    return sno_i_is_8_chars(flake_i_get64(text)) && sno_i_is_8_chars(flake_i_get64(text + 8));
}

FLAKE_I_FN sno_id sno_i_decode_portable(const char *text) {
    return sno_i_id_of_halves(sno_i_40_bits(flake_i_get64(text)), sno_i_40_bits(flake_i_get64(text + 8)));
}

#if defined(SNO_I_VECTORS)

typedef char sno_i_c8x16 __attribute__((vector_size(16)));
typedef uint8_t sno_i_u8x16 __attribute__((vector_size(16)));
typedef int8_t sno_i_s8x16 __attribute__((vector_size(16)));
typedef int16_t sno_i_s16x8 __attribute__((vector_size(16)));
typedef uint16_t sno_i_u16x8 __attribute__((vector_size(16)));
typedef uint32_t sno_i_u32x4 __attribute__((vector_size(16)));
typedef uint64_t sno_i_u64x2 __attribute__((vector_size(16)));

/* Picks bytes of a (0 to 15) and b (16 to 31) by constants. */
#if defined(__clang__)
#define SNO_I_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SNO_I_PICK(a, b, ...) __builtin_shuffle(a, b, __extension__(sno_i_u8x16){__VA_ARGS__})
#endif

FLAKE_I_FN sno_i_u8x16 sno_i_smaller(sno_i_u8x16 a, sno_i_u8x16 b) {
#if defined(SNO_I_X86) && !defined(__clang__) /* gcc does not find the instruction by itself */
    return (sno_i_u8x16)__builtin_ia32_pminub128((sno_i_c8x16)a, (sno_i_c8x16)b);
#else
    const sno_i_u8x16 is_a = (sno_i_u8x16)(a < b);
    return (a & is_a) | (b & ~is_a);
#endif
}

FLAKE_I_FN sno_i_u8x16 sno_i_saturated_sum(sno_i_u8x16 a, uint8_t b) {
    const sno_i_u8x16 zero = {0}, each = zero + b;
#if defined(SNO_I_X86) && !defined(__clang__)
    return (sno_i_u8x16)__builtin_ia32_paddusb128((sno_i_c8x16)a, (sno_i_c8x16)each);
#else
    const sno_i_u8x16 sum = a + each;
    return sum | (sno_i_u8x16)(sum < a);
#endif
}

/* Moves the two bytes that contain each two values into a 16-bit lane. */
FLAKE_I_FN sno_i_u16x8 sno_i_pairs(sno_id id) {
    /* Loaded as 8 bytes and 2, as IDs are stored: a load across two fresh stores would stall. */
    uint64_t head;
    uint16_t tail;
    memcpy(&head, id.bytes, sizeof head);
    memcpy(&tail, id.bytes + 8, sizeof tail);
    const sno_i_u64x2 head_and_0 = {head, 0};
    sno_i_u16x8 words = (sno_i_u16x8)head_and_0;
    words[4] = tail;
    const sno_i_u8x16 bytes = (sno_i_u8x16)words;
#if defined(__SSSE3__) || defined(__aarch64__)
    return (sno_i_u16x8)SNO_I_PICK(bytes, bytes, 1, 0, 2, 1, 3, 2, 4, 3, 6, 5, 7, 6, 8, 7, 9, 8);
#else
    const sno_i_u8x16 zero = {0};
    const sno_i_u64x2 behind =
        (sno_i_u64x2)SNO_I_PICK(bytes, zero, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20);
    const sno_i_u64x2 halves = {((sno_i_u64x2)words)[0], behind[0]};
    const sno_i_u8x16 these = (sno_i_u8x16)halves, next = (sno_i_u8x16)(halves >> 8);
    const sno_i_u64x2 first =
        (sno_i_u64x2)SNO_I_PICK(next, these, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const sno_i_u64x2 last =
        (sno_i_u64x2)SNO_I_PICK(next, these, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    const sno_i_u64x2 pairs = {first[0], last[0]};
    return (sno_i_u16x8)pairs;
#endif
}

FLAKE_I_FN void sno_i_encode_vector(sno_id id, char *out) {
    /* The multiplication moves the ten bits of two values to the top. */
    const sno_i_u16x8 scales = {1, 4, 16, 64, 1, 4, 16, 64};
    const sno_i_u16x8 ten_bits = sno_i_pairs(id) * scales;
    const sno_i_u8x16 values = (sno_i_u8x16)(ten_bits >> 11 | (ten_bits << 2 & 0x1f00));
    const sno_i_u8x16 is_letter = (sno_i_u8x16)((sno_i_s8x16)values > 7);
    const sno_i_u8x16 text = values + '2' + (is_letter & SNO_I_LETTER_GAP);
    memcpy(out, &text, sizeof text);
}

FLAKE_I_FN bool sno_i_is_text_vector(const char *text) {
    sno_i_u8x16 c;
    memcpy(&c, text, sizeof c);
    const sno_i_u8x16 digit = sno_i_saturated_sum(c - '2', 120);
    const sno_i_u8x16 letter = sno_i_saturated_sum(c - 'a', 104);
    const sno_i_u8x16 above = sno_i_smaller(digit, letter);
#if defined(SNO_I_X86)
    return __builtin_ia32_pmovmskb128((sno_i_c8x16)above) == 0;
#else
    const sno_i_u64x2 halves = (sno_i_u64x2)above;
    return ((halves[0] | halves[1]) & FLAKE_I_EACH_BYTE(0x80)) == 0;
#endif
}

#if defined(SNO_I_X86) && defined(__SSSE3__)

/* Joins values to 10 bits, then to 20. The first 20 of each 40 are shifted by 4 bits more, so only the low
 * half of the middle byte is missing; it is 48 bits further up. */
FLAKE_I_FN sno_id sno_i_join_vector(sno_i_u8x16 values) {
    const sno_i_u64x2 zero = {0}, value_scales = zero + UINT64_C(0x0120012001200120);
    const sno_i_u64x2 ten_bit_scales = zero + UINT64_C(0x0001040000104000);
    const sno_i_s16x8 ten_bits = __builtin_ia32_pmaddubsw128((sno_i_c8x16)values, (sno_i_c8x16)value_scales);
    const sno_i_u64x2 twenty_bits = (sno_i_u64x2)__builtin_ia32_pmaddwd128(ten_bits, (sno_i_s16x8)ten_bit_scales);
    const sno_i_u8x16 forty_bits = (sno_i_u8x16)(twenty_bits | twenty_bits >> 48);
    const sno_i_u8x16 bytes = SNO_I_PICK(forty_bits, forty_bits, 2, 1, 0, 5, 4, 10, 9, 8, 13, 12, 0, 0, 0, 0, 0, 0);
    const uint64_t head = ((sno_i_u64x2)bytes)[0];
    const uint16_t tail = ((sno_i_u16x8)bytes)[4];
    sno_id id;
    memcpy(id.bytes, &head, sizeof head);
    memcpy(id.bytes + 8, &tail, sizeof tail);
    return id;
}

#else

FLAKE_I_FN sno_id sno_i_join_vector(sno_i_u8x16 bytes) {
    const sno_i_u16x8 values = (sno_i_u16x8)bytes;
    const sno_i_u16x8 ten_bits = (values << 5 & 0x3e0) | values >> 8;
#if defined(SNO_I_X86)
    const sno_i_s16x8 scales = {1 << 10, 1, 1 << 10, 1, 1 << 10, 1, 1 << 10, 1};
    const sno_i_u64x2 twenty_bits = (sno_i_u64x2)__builtin_ia32_pmaddwd128((sno_i_s16x8)ten_bits, scales);
#else
    const sno_i_u32x4 each_two = (sno_i_u32x4)ten_bits;
    const sno_i_u64x2 twenty_bits = (sno_i_u64x2)((each_two << 10 & 0xffc00) | each_two >> 16);
#endif
    const sno_i_u64x2 forty_bits = twenty_bits << 32 >> 12 | twenty_bits >> 32;
    return sno_i_id_of_halves(forty_bits[0], forty_bits[1]);
}

#endif

FLAKE_I_FN sno_id sno_i_decode_vector(const char *text) {
    sno_i_u8x16 c;
    memcpy(&c, text, sizeof c);
    return sno_i_join_vector(sno_i_smaller(c - '2', c - ('a' - 8)));
}

#if defined(SNO_I_X86) && defined(FLAKE_I_AVX2)
#define SNO_I_AVX2 FLAKE_I_AVX2

SNO_I_AVX2 FLAKE_I_FN flake_i_u8x32 sno_i_saturated_sum_avx2(flake_i_u8x32 a, uint8_t b) {
    const flake_i_u8x32 zero = {0}, each = zero + b;
#if defined(__clang__)
    const flake_i_u8x32 sum = a + each;
    return sum | (flake_i_u8x32)(sum < a);
#else
    return (flake_i_u8x32)__builtin_ia32_paddusb256((flake_i_c8x32)a, (flake_i_c8x32)each);
#endif
}

/* The loops over IDs load and store more bytes than the IDs have. The functions above convert the first or
 * the last IDs, since nothing beyond the array may be touched. */

/* Loads two IDs from 6 bytes before the first on: each is in one half. */
SNO_I_AVX2 FLAKE_I_FN void sno_i_encode_n_avx2(const sno_id *ids, size_t n, char *out) {
    const flake_i_c8x32 pairs_of_bytes = {7, 6, 8, 7, 9, 8, 10, 9, 12, 11, 13, 12, 14, 13, 15, 14,
                                          1, 0, 2, 1, 3, 2, 4,  3, 6,  5,  7,  6,  8,  7,  9,  8};
    const flake_i_u16x16 scales = {1, 4, 16, 64, 1, 4, 16, 64, 1, 4, 16, 64, 1, 4, 16, 64};
    const flake_i_u8x32 zero = {0}, eights = zero + 8;
    const flake_i_u64x4 offsets = {FLAKE_I_EACH_BYTE('2'), 'a' - 8, FLAKE_I_EACH_BYTE('2'), 'a' - 8};
    size_t i = 0;
    for (; i < 2 && i < n; i++) /* two, to keep aligned text aligned */
        sno_i_encode_vector(ids[i], out + 16 * i);
    for (; i + 2 < n; i += 2) {
        flake_i_c8x32 bytes;
        memcpy(&bytes, (const char *)ids + sizeof *ids * i - 6, sizeof bytes);
        const flake_i_u16x16 ten_bits = (flake_i_u16x16)__builtin_ia32_pshufb256(bytes, pairs_of_bytes) * scales;
        const flake_i_u8x32 values = (flake_i_u8x32)(ten_bits >> 11 | (ten_bits << 2 & 0x1f00));
        const flake_i_u8x32 kinds = flake_i_smaller(values, eights);
        const flake_i_u8x32 offset =
            (flake_i_u8x32)__builtin_ia32_pshufb256((flake_i_c8x32)offsets, (flake_i_c8x32)kinds);
        const flake_i_u8x32 text = values + offset;
        memcpy(out + 16 * i, &text, sizeof text);
    }
    for (; i < n; i++) sno_i_encode_vector(ids[i], out + 16 * i);
}

SNO_I_AVX2 FLAKE_I_FN bool sno_i_is_text_n_avx2(const char *text, size_t n) {
    flake_i_u8x32 above = {0};
    size_t i = 0;
    for (; i + 1 < n; i += 2) {
        flake_i_u8x32 c;
        memcpy(&c, text + 16 * i, sizeof c);
        above |= flake_i_smaller(sno_i_saturated_sum_avx2(c - '2', 120), sno_i_saturated_sum_avx2(c - 'a', 104));
    }
    return __builtin_ia32_pmovmskb256((flake_i_c8x32)above) == 0 && (i == n || sno_i_is_text_vector(text + 16 * i));
}

SNO_I_AVX2 FLAKE_I_FN void sno_i_decode_n_avx2(const char *text, size_t n, sno_id *out) {
    const flake_i_c8x32 order_of_bytes = {2, 1, 0, 5, 4, 10, 9, 8, 13, 12, -1, -1, -1, -1, -1, -1,
                                          2, 1, 0, 5, 4, 10, 9, 8, 13, 12, -1, -1, -1, -1, -1, -1};
    size_t i = 0;
    for (; i + 2 < n; i += 2) {
        flake_i_u8x32 c;
        memcpy(&c, text + 16 * i, sizeof c);
        const flake_i_u8x32 values = flake_i_smaller(c - '2', c - ('a' - 8));
        const flake_i_halves two_ids = (flake_i_halves)flake_i_join_values(values, order_of_bytes);
        const sno_i_u64x2 first = (sno_i_u64x2)__builtin_ia32_extract128i256(two_ids, 0);
        const sno_i_u64x2 second = (sno_i_u64x2)__builtin_ia32_extract128i256(two_ids, 1);
        memcpy(&out[i], &first, sizeof first);
        memcpy(&out[i + 1], &second, sizeof second);
    }
    for (; i < n; i++) out[i] = sno_i_decode_vector(text + 16 * i);
}

#endif /* SNO_I_AVX2 */

#define SNO_I_BEST(primitive) sno_i_##primitive##_vector

#else
#define SNO_I_BEST(primitive) sno_i_##primitive##_portable
#endif

FLAKE_API void sno_encode(sno_id id, char out[16]) { SNO_I_BEST(encode)(id, out); }

FLAKE_API flake_status sno_decode(const char *text, size_t len, sno_id *id) {
    if (text == NULL || len != 16 || !SNO_I_BEST(is_text)(text)) return FLAKE_PARSE;
    *id = SNO_I_BEST(decode)(text);
    return FLAKE_OK;
}

FLAKE_API void sno_encode_n(const sno_id *ids, size_t n, char *out) {
#ifdef SNO_I_AVX2
    if (FLAKE_I_HAS_AVX2) {
        sno_i_encode_n_avx2(ids, n, out);
        return;
    }
#endif
    for (size_t i = 0; i < n; i++) SNO_I_BEST(encode)(ids[i], out + 16 * i);
}

FLAKE_I_FN bool sno_i_is_text_n(const char *text, size_t n) {
#ifdef SNO_I_AVX2
    if (FLAKE_I_HAS_AVX2) return sno_i_is_text_n_avx2(text, n);
#endif
    for (size_t i = 0; i < n; i++) {
        if (!SNO_I_BEST(is_text)(text + 16 * i)) return false;
    }
    return true;
}

FLAKE_API flake_status sno_decode_n(const char *text, size_t n, sno_id *out) {
    if ((text == NULL && n > 0) || !sno_i_is_text_n(text, n)) return FLAKE_PARSE;
#ifdef SNO_I_AVX2
    if (FLAKE_I_HAS_AVX2) {
        sno_i_decode_n_avx2(text, n, out);
        return FLAKE_OK;
    }
#endif
    for (size_t i = 0; i < n; i++) out[i] = SNO_I_BEST(decode)(text + 16 * i);
    return FLAKE_OK;
}

FLAKE_API void sno_to_json(sno_id id, char out[19]) {
    if (sno_is_zero(id)) {
        memcpy(out, "null", sizeof "null");
        return;
    }
    out[0] = '"';
    sno_encode(id, out + 1);
    memcpy(out + 17, "\"", sizeof "\"");
}

FLAKE_API flake_status sno_from_json(const char *text, size_t len, sno_id *id) {
    if (text == NULL) return FLAKE_PARSE;
    if (len == 4 && memcmp(text, "null", 4) == 0) {
        *id = sno_i_id(0, 0);
        return FLAKE_OK;
    }
    if (len != 18 || text[0] != '"' || text[17] != '"') return FLAKE_PARSE;
    return sno_decode(text + 1, 16, id);
}

/* A UUID is 16 bytes, and so is the text. */
FLAKE_API void sno_to_uuid(sno_id id, char out[37]) {
    flake128 text;
    sno_encode(id, (char *)text.bytes);
    flake128_to_uuid(&text, out);
}

FLAKE_API flake_status sno_from_uuid(const char *uuid, size_t len, sno_id *id) {
    flake128 text;
    const flake_status status = flake128_from_uuid(uuid, len, &text);
    return status == FLAKE_OK ? sno_decode((const char *)text.bytes, sizeof text.bytes, id) : status;
}

// >>draws

/* Whether it is an initialised generator of snos, and not a copy. */
FLAKE_I_FN bool sno_i_is_here(const sno_gen *g) { return g->gen.kind & FLAKE_I_PART && flake_i_is_here(&g->gen); }

/* Time and tick have the same position in an ID and in the word. */
FLAKE_I_INLINE uint64_t sno_i_ticket_head(const sno_gen *g, unsigned meta, uint64_t unit) {
    return unit | (uint64_t)meta << 16 | g->gen.base;
}

FLAKE_I_INLINE sno_id sno_i_ticket_id(const sno_gen *g, unsigned meta, const flake_i_ticket *ticket) {
    return sno_i_id(sno_i_ticket_head(g, meta, ticket->head), (uint16_t)(g->sequence_min + ticket->index));
}

/* `resume` has the meta byte above its flags: a seventh argument would be passed in memory. */
FLAKE_I_COLD flake_status sno_i_id_slow(sno_gen *g, unsigned resume, uint64_t word, int64_t now_ns, flake_lane *from,
                                        sno_id *id) {
    flake_i_ticket ticket;
    ticket.from = from;
    const unsigned request = resume & 0xffff;
    const flake_status status = request & FLAKE_I_LANE
                                    ? flake_i_ticket_slow(&g->gen.lanes, request, word, now_ns, 1, &ticket)
                                    : flake_i_draw_slow(&g->gen.engine, request, word, now_ns, 1, &ticket);
    if (status != FLAKE_OK) return flake_i_no_id(status, id, sizeof *id);
    *id = sno_i_ticket_id(g, resume >> 16, &ticket);
    return FLAKE_OK;
}

FLAKE_I_NOINLINE flake_status sno_i_id_first(sno_gen *g, unsigned resume, uint64_t word, int64_t now_ns,
                                             flake_lane *from, sno_id *id) {
    flake_i_ticket ticket;
    ticket.from = from;
    if (!flake_i_ticket_first(&g->gen, resume & ~(unsigned)FLAKE_I_BOUND, &word, now_ns, &ticket))
        return sno_i_id_slow(g, resume, word, now_ns, from, id);
    *id = sno_i_ticket_id(g, resume >> 16, &ticket);
    return FLAKE_OK;
}

FLAKE_I_INLINE flake_status sno_i_id_fast(sno_gen *g, unsigned request, int64_t now_ns, unsigned meta, sno_id *id) {
    flake_i_ticket ticket;
    uint64_t word;
    const unsigned outcome = flake_i_ticket_fast(&g->gen, request, &word, &now_ns, &ticket);
    const unsigned resume = request | outcome | meta << 16;
    if (FLAKE_I_LIKELY(!outcome)) {
        *id = sno_i_ticket_id(g, meta, &ticket);
        return FLAKE_OK;
    }
    if (!(request & FLAKE_I_BOUND)) return sno_i_id_first(g, resume, word, now_ns, ticket.from, id);
    if (!flake_i_ticket_first(&g->gen, resume, &word, now_ns, &ticket))
        return sno_i_id_slow(g, resume, word, now_ns, NULL, id);
    *id = sno_i_ticket_id(g, meta, &ticket);
    return FLAKE_OK;
}

FLAKE_I_INLINE flake_status sno_i_id_by_kind(sno_gen *g, unsigned request, int64_t given_ns, unsigned meta,
                                             sno_id *id) {
    const unsigned kind = g->gen.kind, usual = FLAKE_I_MULTI | FLAKE_I_PART;
    if (FLAKE_I_LIKELY(kind == usual)) return sno_i_id_fast(g, request, given_ns, meta, id);
    if (kind > usual) return sno_i_id_fast(g, request | FLAKE_I_OWNED, given_ns, meta, id);
    if (kind == (FLAKE_I_LANES | FLAKE_I_PART) && !(request & FLAKE_I_GIVEN))
        return sno_i_id_fast(g, request | FLAKE_I_LANE, 0, meta, id);
    return flake_i_no_id(FLAKE_INVALID, id, sizeof *id);
}

#ifdef SNO_I_AVX2
/* Sixteen IDs fill five vectors. From each sixteen to the next only the sequence numbers change, by 16. They
 * are big-endian, so the low byte is the upper half of a lane, where an addition loses its carry. A low byte
 * below 16 has just wrapped around, and its carry is added to the high byte.
 *
 * For at least 64 IDs. Returns the number written, less than 16 short of n. */
SNO_I_AVX2 FLAKE_I_FN uint64_t sno_i_fill_avx2(sno_id *ids, uint64_t n, uint64_t head, uint64_t first) {
#define SNO_I_EACH_VECTOR(X) X(0) X(1) X(2) X(3) X(4)
#define SNO_I_LOAD(k)        memcpy(&part##k, (const uint8_t *)sixteen + 32 * k, sizeof part##k);
#define SNO_I_STORE(k)       memcpy((uint8_t *)(ids + i) + 32 * k, &part##k, sizeof part##k);
#define SNO_I_COUNT(k)       part##k += is_seq##k * (16 << 8);
#define SNO_I_CARRY(k)       part##k += is_seq##k & (flake_i_u16x16)(part##k < 16 << 8);
    const flake_i_u16x16 is_seq0 = {0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    const flake_i_u16x16 is_seq1 = {0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
    const flake_i_u16x16 is_seq2 = {0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0};
    const flake_i_u16x16 is_seq3 = {0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0};
    const flake_i_u16x16 is_seq4 = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    flake_i_u16x16 part0, part1, part2, part3, part4;
    sno_id sixteen[16];
    uint64_t i = 0;
    for (; i < 15 && (uintptr_t)(ids + i) % 32 != 0; i++) /* aligned stores are twice as fast */
        ids[i] = sno_i_id(head, (uint16_t)(first + i));
    for (unsigned k = 0; k < 16; k++) sixteen[k] = sno_i_id(head, (uint16_t)(first + i + k));
    SNO_I_EACH_VECTOR(SNO_I_LOAD)
    while (n - i >= 16) {
        SNO_I_EACH_VECTOR(SNO_I_STORE)
        i += 16;
        SNO_I_EACH_VECTOR(SNO_I_COUNT)
        if (((first + i + 15) & 255) >= 16 + 15) continue; /* no low byte is below 16 */
        SNO_I_EACH_VECTOR(SNO_I_CARRY)
    }
    return i;
}
#endif

/* A ticket's IDs are all in one unit, since snos do not run ahead of the clock. */
FLAKE_I_FN void sno_i_fill(const sno_gen *g, uint8_t meta, const flake_i_ticket *ticket, sno_id *ids) {
    const uint64_t head = sno_i_ticket_head(g, meta, ticket->head);
    const uint64_t first = g->sequence_min + ticket->index;
    uint64_t i = 0;
    FLAKE_ASSERT(ticket->n <= g->gen.engine.unit_capacity - ticket->index);
#ifdef SNO_I_AVX2
    if (ticket->n >= 64 && FLAKE_I_HAS_AVX2) i = sno_i_fill_avx2(ids, ticket->n, head, first);
#endif
    for (; i < ticket->n; i++) ids[i] = sno_i_id(head, (uint16_t)(first + i));
}

/* Generates up to n; *done is their number. */
FLAKE_I_FN flake_status sno_i_many(sno_gen *g, unsigned request, uint8_t meta, sno_id *ids, size_t n, size_t *done) {
    *done = 0;
    if (!(g->gen.kind & FLAKE_I_PART)) return FLAKE_INVALID;
    while (*done < n) {
        flake_i_ticket rest, unit;
        const flake_status status = flake_i_ticket_any(&g->gen, request, 0, n - *done, &rest);
        if (status != FLAKE_OK) return status;
        for (; rest.n; *done += (size_t)unit.n) {
            flake_i_cut(&g->gen, &rest, &unit);
            sno_i_fill(g, meta, &unit, ids + *done);
        }
    }
    return FLAKE_OK;
}

FLAKE_API flake_status sno_next(sno_gen *g, uint8_t meta, sno_id *id) {
    return sno_i_id_by_kind(g, FLAKE_I_WAIT, 0, meta, id);
}

FLAKE_API flake_status sno_try(sno_gen *g, uint8_t meta, sno_id *id) { return sno_i_id_by_kind(g, 0, 0, meta, id); }

FLAKE_API flake_status sno_next_n(sno_gen *g, uint8_t meta, sno_id *ids, size_t n) {
    size_t done;
    const flake_status status = sno_i_many(g, FLAKE_I_WAIT, meta, ids, n, &done);
    if (done < n) memset(ids + done, 0, (n - done) * sizeof *ids);
    return status;
}

FLAKE_API flake_status sno_try_n(sno_gen *g, uint8_t meta, sno_id *ids, size_t n, size_t *got) {
    const flake_status status = sno_i_many(g, 0, meta, ids, n, got);
    return *got ? FLAKE_OK : status;
}

FLAKE_API flake_status sno_try_at(sno_gen *g, uint8_t meta, int64_t unix_ms, sno_id *id) {
    int64_t ns;
    if (!flake_i_given_ns(unix_ms, &ns)) return flake_i_no_id(FLAKE_TIME_RANGE, id, sizeof *id);
    return sno_i_id_by_kind(g, FLAKE_I_GIVEN | FLAKE_I_BOUND, ns, meta, id);
}

FLAKE_API flake_status sno_with_time(sno_gen *g, uint8_t meta, int64_t unix_ms, sno_id *id) {
    const flake_i_engine *const e = &g->gen.engine;
    uint64_t units = 0;
    flake_status status = sno_i_is_here(g) ? sno_i_units_at(unix_ms, &units) : FLAKE_INVALID;
    if (status == FLAKE_OK) status = flake_i_check_owner(e); /* a forked child would repeat its parent's numbers */
    if (status != FLAKE_OK) return flake_i_no_id(status, id, sizeof *id);
    const uint64_t turn = FLAKE_ATOMIC_ADD(&g->with_time, 1u, relaxed) % e->unit_capacity;
    *id = sno_i_id(sno_i_ticket_head(g, meta, units << SNO_I_TIME_SHIFT), (uint16_t)(g->sequence_min + turn));
    return FLAKE_OK;
}

// >>partitions

/* A family is a process and its forked children. They share a map of the partitions taken, a bit each. The CAS
 * that sets a bit decides which caller gets the partition, and no bit is ever cleared. So no two relatives
 * get the same one, whatever start each counts up from, and in whatever order they take partitions, fork, and
 * call flake_machine_cloned. Relaxed suffices: one word decides.
 *
 * A clone of the machine has a copy of the map, so only chance keeps the two apart. Each process has a start of
 * its own, which its children inherit, and stores with it how often it had called flake_machine_cloned before it
 * drew it. After another call it draws another start. A start that a relative has drawn will not do: nothing
 * shows whether the relative drew it before the machine was cloned, or after. So the label of a start is
 * [ clone count:32 ][ 1:16 ]. Without shared memory each process has a map of its own, and chance keeps it
 * apart from its relatives, too: the label is the owner id, which a fork and a clone change.
 *
 *     label      at                                   pairs with   and carries
 *     PAGE:R     family, default generator published  PAGE:A       its contents
 *
 * Threads that make the first call at once map 8 KiB each; one CAS decides whose are the family's. They stay
 * mapped when the module is closed. */
struct sno_i_family {
    flake_i_atomic32 taken[(UINT16_MAX + 1) / 32]; /* a bit each */
};
FLAKE_I_STATIC_ASSERT(sizeof(struct sno_i_family) == 8192, "flake_i_new_page maps as much");
#define sno_i_partitions FLAKE_I_LAYOUT(sno_i_partitions, 4) /* its number: see flake_i_process */
struct sno_i_partitions {
    FLAKE_ATOMIC(struct sno_i_family *) family; /* NULL: there is none yet */
    flake_atomic64 next;                        /* [ label:48 ][ number:16 ]; 0: no start yet */
    struct sno_i_family private_family;         /* if memory cannot be shared */
};
FLAKE_I_ONE_PER_PROCESS(struct sno_i_partitions, sno_i_partitions);

FLAKE_I_FN struct sno_i_family *sno_i_get_family(void) {
    struct sno_i_partitions *const p = &sno_i_partitions;
    struct sno_i_family *family = FLAKE_ATOMIC_LOAD(&p->family, acquire); /* PAGE:A */
    if (family) return family;
    void *const page = flake_i_new_page(true);
    struct sno_i_family *fresh = page ? (struct sno_i_family *)page : &p->private_family;
    if (FLAKE_ATOMIC_CAS(&p->family, &family, fresh, release, acquire)) /* PAGE:R, PAGE:A */
        return fresh;
    if (page) flake_i_drop_page(page);
    return family;
}

/* From random bytes, mixed with time and process: clones of a machine may get the same, and some systems have none. */
FLAKE_I_FN uint16_t sno_i_random_partition(void) {
    const uint64_t own = (uint64_t)FLAKE_CLOCK_NS(FLAKE_CLOCK_EXACT) ^ flake_i_pid() << 40;
    uint16_t drawn = 0;
    (void)flake_i_random_bytes(&drawn, sizeof drawn);
    return (uint16_t)(drawn ^ own * 0x9e3779b97f4a7c15 >> 48);
}

/* Lock-free once there is a family. */
FLAKE_I_FN flake_status sno_i_take_partition(uint16_t *partition) {
    struct sno_i_family *const family = sno_i_get_family();
    flake_atomic64 *const at = &sno_i_partitions.next;
    flake_atomic64 *word;
    /* CLONE:A: a thread that has seen the owner id of a clone sees it again here, and the count with it. */
    const uint64_t owner = flake_i_instance_owner_id(&word);
    const uint64_t clones = FLAKE_ATOMIC_LOAD(&flake_i_process.clone_count, relaxed);
    const bool is_alone = family == &sno_i_partitions.private_family;
    const uint64_t label = is_alone ? owner << 16 : clones << 32 | 1u << 16;
    uint64_t next = FLAKE_ATOMIC_LOAD(at, relaxed);
    while ((next & ~(uint64_t)UINT16_MAX) != label) {
        const uint64_t chosen = label | sno_i_random_partition();
        if (FLAKE_ATOMIC_CAS(at, &next, chosen, relaxed, relaxed)) next = chosen;
    }
    for (uint32_t i = 0; i <= UINT16_MAX; i++) {
        const uint16_t number = (uint16_t)(next + i);
        flake_i_atomic32 *const bits = &family->taken[number / 32];
        const uint32_t bit = (uint32_t)1 << number % 32;
        uint32_t taken = FLAKE_ATOMIC_LOAD(bits, relaxed);
        if (taken == UINT32_MAX) i += 31 - number % 32; /* the word's last */
        while (!(taken & bit)) {
            if (!FLAKE_ATOMIC_CAS(bits, &taken, taken | bit, relaxed, relaxed)) continue;
            /* Only a hint: if it fails, another thread has changed it. */
            (void)FLAKE_ATOMIC_CAS(at, &next, label | (uint16_t)(number + 1), relaxed, relaxed);
            *partition = number;
            return FLAKE_OK;
        }
    }
    return FLAKE_EXHAUSTED;
}

// >>set-up

/* The engine's part of resolved options; NULL: of sno_generate, which waits without limit. */
FLAKE_I_FN flake_i_engine_config sno_i_engine_config_of(const flake_options *o, const flake_node *node,
                                                        uint32_t unit_capacity) {
    flake_i_engine_config config;
    memset(&config, 0, sizeof config);
    config.options.max_wait_ms = INT64_MAX;
    if (o) config = flake_i_engine_config_of(o, node);
    config.epoch_ms = SNO_I_EPOCH_MS;
    config.unit_ms = SNO_I_UNIT_MS;
    config.time_bits = 39;
    config.tick_bits = 1;
    config.unit_capacity = unit_capacity;
    return config;
}

/* What is wrong with a pool; NULL: nothing. */
FLAKE_I_FN const char *sno_i_pool_reject_reason(const sno_snapshot *s) {
    const int64_t last = (int64_t)1 << 39;
    if (s->sequence_max - s->sequence_min < 3)
        return "snapshot.sequence_min and sequence_max span fewer than 4 numbers";
    if (s->sequence < s->sequence_min) return "snapshot.sequence is below sequence_min";
    if (s->sequence - s->sequence_min >= 3u << 22)
        return "snapshot.sequence is further above sequence_max than a queue can be";
    if (s->wall_hi < 0 || s->wall_hi >= last || s->wall_safe < 0 || s->wall_safe >= last)
        return "snapshot.wall_hi or wall_safe is outside 2010..2079";
    return NULL;
}

/* The pool that node and snapshot (NULL: none) describe, with defaults filled in and bounds in order. */
FLAKE_I_FN sno_snapshot sno_i_pool_of(const flake_node *node, const sno_snapshot *from, bool continues) {
    sno_snapshot pool;
    memset(&pool, 0, sizeof pool);
    if (from && continues) pool = *from;
    else if (from) {
        pool.sequence_min = from->sequence_min;
        pool.sequence_max = from->sequence_max;
    }
    pool.partition = (uint16_t)node->number;
    if (!pool.sequence_max && pool.sequence_min != UINT16_MAX) pool.sequence_max = UINT16_MAX;
    if (pool.sequence_min > pool.sequence_max) {
        const uint16_t min = pool.sequence_max;
        pool.sequence_max = pool.sequence_min;
        pool.sequence_min = min;
    }
    if (!pool.sequence) pool.sequence = pool.sequence_min;
    return pool;
}

/* What an init resolves and claims before it sets up generators. */
typedef struct sno_i_setup {
    flake_node node;
    flake_i_engine_config config;
    sno_snapshot pool;
    bool has_snapshot;
    bool chooses; /* the library chooses the partition */
    /* Loaded before a partition is taken. If it differs after the generator has stored the id of its owner, the
     * process was forked in between (in a signal handler that interrupted this call) or the machine cloned: a
     * relative may draw with this partition, and another one is needed. */
    uint64_t owner;
} sno_i_setup;

FLAKE_I_FN bool sno_i_is_overtaken(const sno_i_setup *s) {
    flake_atomic64 *word;
    return s->chooses && flake_i_instance_owner_id(&word) != s->owner;
}

/* Checks and fills in node, snapshot and options, and takes a partition if the library chooses it. */
FLAKE_I_FN flake_status sno_i_resolve(sno_i_setup *s, const flake_node *node, const sno_snapshot *from,
                                      const flake_options *options, flake_why *why) {
    flake_atomic64 *word;
    flake_options o;
    char text[80];
    s->node = *node;
    s->has_snapshot = from != NULL;
    s->chooses = node->kind == FLAKE_I_NO_NODE;
    s->owner = flake_i_instance_owner_id(&word);
    const bool continues = !s->chooses && node->kind != FLAKE_I_ANY_NODE;
    if (options && (!flake_i_no_layout(&options->layout) || options->seq_min || options->seq_max ||
                    options->seq_scatter || options->max_ahead_ms))
        return flake_i_say(why, FLAKE_INVALID, "options",
                           "layout, seq_min, seq_max, seq_scatter and max_ahead_ms must be zero: "
                           "a snapshot sets the numbers");
    flake_status status = flake_i_fill_in(options, &o, why);
    if (status == FLAKE_OK) status = flake_i_resolve_node(node, &o, 16, true, why);
    if (status != FLAKE_OK) return status;
    memset(&o.layout, 0, sizeof o.layout); /* snos have none */
    o.seq_max = 0;
    s->pool = sno_i_pool_of(node, from, continues);
    if (from && continues && from->partition != s->pool.partition) {
        flake_i_put_numbers(text, "partition # is not the node, #", from->partition, s->pool.partition, 0);
        return flake_i_say(why, FLAKE_INVALID, "snapshot", text);
    }
    const char *unfit = sno_i_pool_reject_reason(&s->pool);
    const uint32_t unit_capacity = (uint32_t)(s->pool.sequence_max - s->pool.sequence_min) + 1;
    s->config = sno_i_engine_config_of(&o, node, unit_capacity);
    if (!unfit) unfit = flake_i_setup_reject_reason(&s->config);
    if (unfit) return flake_i_say(why, FLAKE_INVALID, "options", unfit);
    if (!s->chooses) return FLAKE_OK;
    status = sno_i_take_partition(&s->pool.partition);
    return status == FLAKE_OK ? status : flake_i_say(why, status, "partition", flake_status_str(status));
}

/* Claims the partition. A generator that continues, or whose partition no predecessor had, starts in this unit. */
FLAKE_I_FN flake_status sno_i_claim(sno_i_setup *s, flake_i_claim *c, flake_i_claim *inherited, flake_why *why) {
    const bool start_this_unit = s->config.options.start_this_unit;
    if (s->chooses || s->pool.wall_hi) s->config.options.start_this_unit = true;
    const flake_status status = flake_i_claim_init(c, &s->node, &s->config, inherited, why);
    s->config.options.start_this_unit = start_this_unit;
    if (s->node.dir) s->pool.partition = (uint16_t)s->node.number;
    return status;
}

/* Sets up a generator of the pool's numbers, whose partition is claimed. With a snapshot `count` of them are drawn
 * since unit wall_hi (0: those up to pool.sequence), else it starts at the clock. On failure it is unchanged. */
FLAKE_I_FN flake_status sno_i_gen_init(sno_gen *g, const sno_i_setup *s, uint64_t count, flake_why *why) {
    flake_i_engine *const e = &g->gen.engine;
    const sno_snapshot *const pool = &s->pool;
    if (!count) count = pool->sequence - pool->sequence_min + 1;
    const flake_status status = flake_i_gen_set_up(&g->gen, &s->config, pool->partition, why);
    if (status != FLAKE_OK) return status;
    FLAKE_ASSERT(e->time_shift == SNO_I_TIME_SHIFT);
    g->gen.base = pool->partition;
    g->sequence_min = pool->sequence_min;
    g->gen.has_counter = false;
    FLAKE_ATOMIC_STORE(&g->with_time, 0u, relaxed);
    if (s->has_snapshot) {
        const uint64_t time = (uint64_t)pool->wall_hi, tick = pool->drifts & 1;
        FLAKE_ATOMIC_STORE(&e->word, time << e->time_shift | tick << (e->time_shift - 1) | count, relaxed);
        FLAKE_ATOMIC_STORE(&e->safe[tick ^ 1], (uint64_t)pool->wall_safe, relaxed);
        FLAKE_ATOMIC_STORE(&e->drifts, pool->drifts, relaxed);
        FLAKE_ATOMIC_STORE(&e->rebased, 0 - count, relaxed); /* not drawn here */
        /* without a position the first ID needs an exact reading: a predecessor may have used a lagging one's unit */
        if (!time && e->slack_ns) FLAKE_ATOMIC_STORE(&e->first_limit, 0u, relaxed);
    }
    flake_i_gen_begin(&g->gen, FLAKE_I_PART, s->config.floor_ns);
    return FLAKE_OK;
}

FLAKE_API flake_status sno_init(sno_gen *g, flake_node node, const sno_snapshot *from, const flake_options *options,
                                flake_why *why) {
    sno_i_setup s;
    flake_status status = sno_i_resolve(&s, &node, from, options, why);
    flake_i_invalidate(&g->gen);
    if (status == FLAKE_OK) status = sno_i_claim(&s, &g->gen.claim, NULL, why);
    if (status == FLAKE_OK) status = sno_i_gen_init(g, &s, 0, why);
    if (status != FLAKE_OK || !sno_i_is_overtaken(&s)) return status;
    return sno_init(g, node, from, options, why);
}

FLAKE_API flake_status sno_init_shards(sno_gen *shards, size_t n, flake_node node, const sno_snapshot *from,
                                       const flake_options *options, flake_why *why) {
    sno_i_setup s;
    sno_snapshot *const pool = &s.pool;
    flake_status status = sno_i_resolve(&s, &node, from, options, why);
    for (size_t i = 0; i < n; i++) flake_i_invalidate(&shards[i].gen);
    if (status == FLAKE_OK) status = flake_i_check_shards(&s.config, n, pool->sequence_min, why);
    if (status != FLAKE_OK) return status;
    const uint64_t unit_capacity = s.config.unit_capacity;
    status = sno_i_claim(&s, &shards[0].gen.claim, NULL, why);
    s.config.options.single_thread = true;
    /* All numbers of the units in the snapshot count as drawn: which shard had which is unknown. */
    const uint64_t units = 1 + (pool->sequence - pool->sequence_min) / unit_capacity;
    uint32_t next = pool->sequence_min;
    for (size_t i = 0; i < n && status == FLAKE_OK; i++) {
        s.config.unit_capacity = unit_capacity / n + (i < unit_capacity % n);
        pool->sequence_min = (uint16_t)next;
        next += (uint32_t)s.config.unit_capacity;
        pool->sequence_max = (uint16_t)(next - 1);
        status = sno_i_gen_init(&shards[i], &s, units * s.config.unit_capacity, why);
        flake_i_chain(&shards[i].gen, i, n, sizeof shards[i]);
    }
    if (status == FLAKE_OK && sno_i_is_overtaken(&s)) return sno_init_shards(shards, n, node, from, options, why);
    for (size_t i = 0; i < n && status != FLAKE_OK; i++) flake_i_invalidate(&shards[i].gen);
    return status;
}

FLAKE_API flake_status sno_reinit_after_fork(sno_gen *g, flake_node node, const sno_snapshot *from,
                                             const flake_options *options, flake_why *why) {
    sno_i_setup s;
    flake_i_claim parents;
    if (!sno_i_is_here(g) || !flake_i_is_inherited(&g->gen.engine) || g->gen.shard)
        return flake_i_say(why, FLAKE_INVALID, "generator", "was not inherited through fork, or is a shard");
    const flake_options given = flake_i_inherited_options(&g->gen, options, &node);
    const uint64_t before = g->gen.node;
    flake_status status;
    memcpy((void *)&parents, (const void *)&g->gen.claim, sizeof parents);
    do {
        do status = sno_i_resolve(&s, &node, from, &given, why);
        while (s.chooses && status == FLAKE_OK && s.pool.partition == before); /* by chance */
        if (status == FLAKE_OK && !s.chooses && flake_i_may_meet(&node, &g->gen) &&
            g->sequence_min <= s.pool.sequence_max &&
            s.pool.sequence_min < g->sequence_min + g->gen.engine.unit_capacity)
            return flake_i_say_overlap(why);
        if (status == FLAKE_OK) status = sno_i_claim(&s, &g->gen.claim, &parents, why);
        if (status == FLAKE_OK) status = sno_i_gen_init(g, &s, 0, why);
    } while (status == FLAKE_OK && sno_i_is_overtaken(&s));
    flake_i_reinit_end(&g->gen, &parents, status);
    if (status != FLAKE_OK && s.chooses && g->gen.node != before)
        flake_i_invalidate(&g->gen); /* the second pass failed */
    return status;
}

// >>queries

FLAKE_API flake_status sno_snapshot_take(sno_gen *g, sno_snapshot *snapshot) {
    flake_i_engine *const e = &g->gen.engine;
    sno_snapshot s;
    uint64_t word, safe, drifts;
    unsigned tick;
    if (!sno_i_is_here(g)) return FLAKE_INVALID;
    const flake_status status = flake_i_check_owner(e);
    if (status != FLAKE_OK && status != FLAKE_CLOSED) return status;
    memset(&s, 0, sizeof s);
    do { /* safe and drifts belong to the word if two readings of it, before and after, are equal */
        word = FLAKE_ATOMIC_LOAD(&e->word, acquire); /* LOOK:A */
        tick = flake_i_tick(e, word);
        /* the second reading's word */
        safe = FLAKE_ATOMIC_LOAD(&e->safe[tick ^ 1], acquire); /* SAFE:A */
    } while (!flake_i_drifts_at(e, word, tick, &drifts));
    const uint64_t count = word & e->count_mask;
    const int64_t now_ns = flake_i_exact_ns(&e->clock);
    s.partition = (uint16_t)g->gen.node;
    s.sequence_min = g->sequence_min;
    s.sequence_max = (uint16_t)(g->sequence_min + e->unit_capacity - 1);
    s.sequence = (uint32_t)(g->sequence_min + (count ? count - 1 : 0));
    s.now = now_ns < (int64_t)e->epoch_ns ? 0 : (int64_t)(((uint64_t)now_ns - e->epoch_ns) / e->unit_ns);
    s.wall_hi = (int64_t)(word >> e->time_shift);
    s.wall_safe = (int64_t)flake_i_min_u64(safe, e->max_time); /* a queue may extend beyond the last unit */
    s.drifts = (uint32_t)drifts;
    if (flake_i_has_lanes(&g->gen)) {
        /* The newest unit of either tick counts, not that of the words: ticks compare with it. */
        const uint64_t newest = flake_i_lanes_newest(&g->gen.lanes);
        s.wall_hi = s.wall_safe = (int64_t)flake_i_min_u64(newest, e->max_time);
        s.sequence = s.sequence_max;
    }
    *snapshot = s;
    return FLAKE_OK;
}

FLAKE_API uint32_t sno_len(sno_gen *g) {
    flake_i_engine *const e = &g->gen.engine;
    flake_i_attempt a;
    if (!sno_i_is_here(g) || flake_i_peek(e, &a) != FLAKE_OK || a.now < a.time || a.now < e->start_unit) return 0;
    return (uint32_t)flake_i_min_u64(a.ticket, e->unit_capacity);
}

FLAKE_API uint32_t sno_sequence_now(sno_gen *g) {
    const uint32_t drawn = sno_len(g);
    return sno_i_is_here(g) ? g->sequence_min + (drawn ? drawn - 1 : 0) : 0;
}

FLAKE_API uint32_t sno_cap(const sno_gen *g) { return sno_i_is_here(g) ? (uint32_t)g->gen.engine.unit_capacity : 0; }

FLAKE_API uint16_t sno_gen_partition(const sno_gen *g) { return sno_i_is_here(g) ? (uint16_t)g->gen.node : 0; }

FLAKE_API flake_status sno_shards_snapshot(sno_gen *shards, size_t n, sno_snapshot *snapshot) {
    sno_snapshot all, one;
    if (!n) return FLAKE_INVALID;
    memset(&all, 0, sizeof all);
    for (size_t i = 0; i < n; i++) {
        flake_status status = sno_snapshot_take(&shards[i], &one);
        if (status != FLAKE_OK) return status;
        if (i == 0) all = one;
        const uint32_t queued = (one.sequence - one.sequence_min) / sno_cap(&shards[i]);
        const int64_t newest = (int64_t)flake_i_min_u64((uint64_t)one.wall_hi + queued, shards[i].gen.engine.max_time);
        all.wall_safe = flake_i_max_i64(all.wall_safe, flake_i_max_i64(newest, one.wall_safe));
        all.sequence_max = one.sequence_max;
    }
    all.wall_hi = all.wall_safe;
    all.sequence = all.sequence_max;
    *snapshot = all;
    return FLAKE_OK;
}

// >>process-wide
/* The process-wide generator is one engine for the module's lifetime, and a tag with the owner and partition of its
 * IDs. A forked child, and a process after flake_machine_cloned, continues from the engine's word under a new tag.
 *
 * Each thread that finds no engine sets one up in one of a few places, and the first to finish publishes it
 * with one CAS (PAGE:R, PAGE:A). No thread waits for another: if all places are taken, it draws from a
 * generator on its stack, whose partition is used for this ID only.
 *
 * The tag is checked after the draw. If its owner id is this process's now, it was when the ticket was drawn.
 * No other thread has that ticket (I1), so with the tag's partition the ID is unique. Otherwise the ticket is
 * dropped. Relaxed suffices: the tag publishes nothing else. It never returns to an earlier value, because
 * each new one contains a partition that was just taken. */
enum { SNO_I_DEFAULT_PLACES = 4 };
#define sno_i_default FLAKE_I_LAYOUT(sno_i_default, 5) /* its number: see flake_i_process */
struct sno_i_default {
    FLAKE_ATOMIC(flake_i_engine *) engine; /* NULL: none yet */
    flake_atomic64 tag;                    /* [ instance owner id:48 ][ partition:16 ]; 0: none yet */
    flake_atomic64 begun;                  /* see flake_i_take_place */
    flake_i_engine places[SNO_I_DEFAULT_PLACES];
};
FLAKE_I_ONE_PER_PROCESS(struct sno_i_default, sno_i_default);

FLAKE_I_INLINE bool sno_i_tag_is_ours(uint64_t tag) {
    return flake_i_instance_owner_now() << 16 == (tag & ~(uint64_t)0xffff);
}

/* The tag of this process; 0: no partition is left. */
FLAKE_I_FN uint64_t sno_i_own_tag(void) {
    flake_atomic64 *word;
    uint64_t tag = FLAKE_ATOMIC_LOAD(&sno_i_default.tag, relaxed);
    uint16_t partition;
    /* assigned by the first call: not 0 */
    const uint64_t owner = flake_i_instance_owner_id(&word) << 16;
    if ((tag & ~(uint64_t)0xffff) == owner) return tag;
    if (sno_i_take_partition(&partition) != FLAKE_OK) return 0;
    return FLAKE_ATOMIC_CAS(&sno_i_default.tag, &tag, owner | partition, relaxed, relaxed) ? owner | partition : tag;
}

/* NULL: other threads are creating it. */
FLAKE_I_FN flake_i_engine *sno_i_default_engine(void) {
    flake_i_engine *found = FLAKE_ATOMIC_LOAD(&sno_i_default.engine, acquire); /* PAGE:A */
    if (found) return found;
    const unsigned place = flake_i_take_place(&sno_i_default.begun, SNO_I_DEFAULT_PLACES);
    if (place == SNO_I_DEFAULT_PLACES) return NULL;
    flake_i_engine *const fresh = &sno_i_default.places[place];
    const flake_i_engine_config config = sno_i_engine_config_of(NULL, NULL, UINT16_MAX + 1);
    (void)flake_i_engine_init(fresh, &config);       /* without a gate it cannot fail */
    fresh->owner_word = fresh->instance_word = NULL; /* the tag is checked instead */
    fresh->owner_id = fresh->instance_owner_id = 0;
    if (FLAKE_ATOMIC_CAS(&sno_i_default.engine, &found, fresh, release, acquire)) return fresh; /* PAGE:R, PAGE:A */
    return found;
}

FLAKE_I_INLINE sno_id sno_i_tagged_id(uint64_t tag, uint8_t meta, const flake_i_ticket *ticket) {
    return sno_i_id(ticket->head | (uint64_t)meta << 16 | (tag & 0xffff), (uint16_t)ticket->index);
}

FLAKE_I_COLD sno_id sno_i_generate_anew(uint8_t meta) {
    flake_i_ticket ticket;
    for (;;) {
        const uint64_t tag = sno_i_own_tag();
        flake_i_engine *const e = tag ? sno_i_default_engine() : NULL;
        if (!e) { /* its first draw waits for nothing; without a tag no partition is left for it */
            sno_gen own;
            sno_id id = sno_i_id(0, 0);
            if (sno_init(&own, flake_node_none(), NULL, NULL, NULL) != FLAKE_OK ||
                sno_next_n(&own, meta, &id, 1) != FLAKE_FORKED) /* cloned in between */
                return id;
            continue;
        }
        if (flake_i_draw(e, FLAKE_I_WAIT, 0, 1, &ticket) != FLAKE_OK) return sno_i_id(0, 0);
        if (sno_i_tag_is_ours(tag)) return sno_i_tagged_id(tag, meta, &ticket);
    }
}

FLAKE_API sno_id sno_generate(uint8_t meta) {
    flake_i_engine *const e = FLAKE_ATOMIC_LOAD(&sno_i_default.engine, acquire); /* PAGE:A */
    const uint64_t tag = FLAKE_ATOMIC_LOAD(&sno_i_default.tag, relaxed);
    flake_i_ticket ticket;
    if (FLAKE_I_LIKELY(e != NULL)) {
        if (flake_i_draw(e, FLAKE_I_WAIT, 0, 1, &ticket) != FLAKE_OK) return sno_i_id(0, 0);
        if (FLAKE_I_LIKELY(sno_i_tag_is_ours(tag))) return sno_i_tagged_id(tag, meta, &ticket);
    }
    return sno_i_generate_anew(meta);
}

// >>configuration
/* Moves a parsed config's numbers to the pool. */
FLAKE_I_FN flake_status sno_i_take_pool(flake_config *c, sno_snapshot *pool, flake_why *why) {
    flake_options *const o = &c->options;
    const char *const too_large = c->node.last > UINT16_MAX ? "config: node"
                                  : o->seq_min > UINT16_MAX ? "config: seq_min"
                                  : o->seq_max > UINT16_MAX ? "config: seq_max"
                                                            : NULL;
    memset(pool, 0, sizeof *pool);
    if (too_large) return flake_i_say(why, FLAKE_INVALID, too_large, "exceeds 65535, the largest of a sno");
    pool->partition = (uint16_t)c->node.number;
    pool->sequence_min = (uint16_t)o->seq_min;
    pool->sequence_max = (uint16_t)o->seq_max;
    o->seq_min = o->seq_max = 0;
    return FLAKE_OK;
}

FLAKE_API flake_status sno_config_parse(const char *text, flake_config *c, sno_snapshot *pool, flake_why *why) {
    memset(pool, 0, sizeof *pool);
    if (flake_i_parse_config(text, c, true, why) == FLAKE_OK && sno_i_take_pool(c, pool, why) == FLAKE_OK)
        return FLAKE_OK;
    memset((void *)c, 0, sizeof *c);
    return FLAKE_INVALID;
}

#ifdef FLAKE_SHARED
FLAKE_API sno_gen *sno_gen_new(const char *text, flake_why *why) {
    sno_snapshot pool;
    sno_gen *const g = (sno_gen *)flake_i_allocate(text, sizeof *g, true, why);
    if (!g) return NULL;
    flake_config *const c = flake_i_config_of(g, sizeof *g);
    if (sno_i_take_pool(c, &pool, why) == FLAKE_OK && sno_init(g, c->node, &pool, &c->options, why) == FLAKE_OK)
        return g;
    (void)sno_gen_free(g, NULL);
    return NULL;
}

FLAKE_API flake_status sno_gen_free(sno_gen *g, flake_why *why) {
    return flake_i_free_gen((flake_gen *)g, sizeof *g, why);
}

FLAKE_API const char *sno_version(void) { return SNO_VERSION_STRING; }
#endif

#endif /* SNO_I_IMPLEMENTED */

/* Copyright (c) 2026 the authors of flake.h and sno.h. MIT License: its text is at the end of flake.h. */
