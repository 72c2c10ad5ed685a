// SPDX-License-Identifier: MIT
//
// The other unit of two_units_main.c, which describes the test. Compiles as C++ and as C.
#if defined(FLAKE_SHARED) && defined(REVERSED)
#define FLAKE_IMPLEMENTATION
#endif
#if defined(REVERSED)
#include "flake.h"
#include "sno.h"
#else
#include "sno.h"
#include "flake.h"
#endif
#include "two_units.h"

#if defined(__cplusplus) && !defined(REVERSED) // once with and once without shared functions: it compiles slowly
#include <map> // these come after the headers, which do not need them
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

static int compare(const flake128 &a, const flake128 &b) { return flake128_compare(&a, &b); }
static int compare(const sno_id &a, const sno_id &b) { return sno_compare(a, b); }

template <typename ID> static bool are_ordered(const ID &less, const ID &more) {
    const ID same = less;
    return less < more && !(more < less) && less != more && !(less == more) && less == same &&
           !(less != same) && !(less < same) && compare(less, more) < 0;
}

template <typename ID> static const char *what_misses() {
    const flake_hash hash = flake_hash();
    for (size_t at = 0; at < sizeof(ID); at++) {
        ID less = ID(), more = ID();
        less.bytes[at] = 0x7f;
        more.bytes[at] = 0x80; // less than 0x7f where bytes have a sign
        if (at + 1 < sizeof(ID)) less.bytes[at + 1] = 0xff;
        if (!are_ordered(less, more)) return "the order of bytes";
        if (hash(less) == hash(more)) return "a byte in the hash";
#if defined(FLAKE_I_IMPLEMENTED)
        if (hash(less) != static_cast<size_t>(flake_i_fnv(less.bytes, sizeof less.bytes))) return "the hash";
#endif
    }

    std::set<ID> ordered;
    std::map<ID, unsigned> numbers;
    std::unordered_set<ID, flake_hash> hashed;
    std::unordered_map<ID, unsigned, flake_hash> hashed_numbers;
    std::vector<unsigned> slots(65536);
    unsigned fullest = 0;
    ID id = ID();
    for (unsigned i = 65536; i-- > 0;) { // as IDs of one ms are: their last bytes differ
        id.bytes[sizeof id.bytes - 2] = static_cast<uint8_t>(i >> 8);
        id.bytes[sizeof id.bytes - 1] = static_cast<uint8_t>(i);
        ordered.insert(id);
        hashed.insert(id);
        numbers[id] = hashed_numbers[id] = i;
        const unsigned n = ++slots[hash(id) % slots.size()];
        if (n > fullest) fullest = n;
    }
    if (ordered.size() != 65536 || hashed.size() != 65536) return "an ID in a set";
    if (numbers.begin()->second != 0 || numbers[id] != 0 || hashed_numbers.at(id) != 0) return "the first ID of a map";
    unsigned next = 0;
    for (const ID &each : ordered)
        if (hashed.count(each) != 1 || hashed_numbers[each] != next++) return "the order of a set";
    return fullest > 16 ? "an even hash" : ""; // of a random one the fullest slot has 8 or 9
}

static const char *what_containers_miss() {
    const char *const missing = what_misses<flake128>();
    return *missing ? missing : what_misses<sno_id>();
}
#else
#define what_containers_miss NULL
#endif

const unit other_unit = {flake_next,        sno_next,        sno_generate,         flake_uuid7_bytes,
                         sizeof(flake_gen), sizeof(sno_gen), what_containers_miss, OBJECTS};
