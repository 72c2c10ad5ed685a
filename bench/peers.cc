// SPDX-License-Identifier: MIT
#include "shim.h"
#include <atomic>
#include <cstring>
#if defined(__has_include)
#if __has_include(<boost/uuid/uuid_generators.hpp>)
#define HAS_BOOST
#include <boost/uuid/uuid.hpp>
#include <boost/uuid/uuid_generators.hpp>
#include <boost/version.hpp>
#endif
#endif

// What a program that needs no time, no restart and no second process would take.
static std::atomic<uint64_t> counter;

bool peer_counter(unsigned, void *out, size_t n) {
    uint64_t *ids = static_cast<uint64_t *>(out);
    for (size_t i = 0; i < n; i++) ids[i] = counter.fetch_add(1, std::memory_order_relaxed);
    return true;
}

#ifdef HAS_BOOST
bool peer_boost_uuid(unsigned, void *out, size_t n) {
    static thread_local boost::uuids::random_generator_mt19937 generate;
    unsigned char *ids = static_cast<unsigned char *>(out);
    for (size_t i = 0; i < n; i++) {
        const boost::uuids::uuid id = generate();
        std::memcpy(ids + 16 * i, id.data, 16);
    }
    return true;
}
bool peer_has_boost(void) { return true; }
const char *peer_boost_version(void) { return BOOST_LIB_VERSION; }
#else
bool peer_boost_uuid(unsigned, void *, size_t) { return false; }
bool peer_has_boost(void) { return false; }
const char *peer_boost_version(void) { return ""; }
#endif
