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
#if __has_include(<boost/uuid/time_generator_v7.hpp>)
#define HAS_BOOST_V7
#include <boost/uuid/time_generator_v7.hpp>
#endif
#endif
#endif

#ifdef HAS_UUID_V4
#include <uuid_v4.h>
#endif

// The cost for a program that needs no time, no restarts and no second process.
static std::atomic<uint64_t> counter;

bool peer_counter(unsigned, void *out, size_t n) {
    uint64_t *ids = static_cast<uint64_t *>(out);
    for (size_t i = 0; i < n; i++) ids[i] = counter.fetch_add(1, std::memory_order_relaxed);
    return true;
}

#ifdef HAS_BOOST
template <typename Generator> static bool boost_uuids(void *out, size_t n) {
    static thread_local Generator generate;
    unsigned char *ids = static_cast<unsigned char *>(out);
    for (size_t i = 0; i < n; i++) {
        const boost::uuids::uuid id = generate();
        std::memcpy(ids + 16 * i, id.begin(), 16);
    }
    return true;
}
bool peer_boost_uuid_v4(unsigned, void *out, size_t n) {
    return boost_uuids<boost::uuids::random_generator_mt19937>(out, n);
}
bool peer_has_boost(void) { return true; }
const char *peer_boost_version(void) { return BOOST_LIB_VERSION; }
#else
bool peer_boost_uuid_v4(unsigned, void *, size_t) { return false; }
bool peer_has_boost(void) { return false; }
const char *peer_boost_version(void) { return ""; }
#endif

#ifdef HAS_BOOST_V7
bool peer_boost_uuid_v7(unsigned, void *out, size_t n) { return boost_uuids<boost::uuids::time_generator_v7>(out, n); }
bool peer_has_boost_v7(void) { return true; }
#else
bool peer_boost_uuid_v7(unsigned, void *, size_t) { return false; }
bool peer_has_boost_v7(void) { return false; }
#endif

#ifdef HAS_UUID_V4 // texts, with the NUL that ours have
bool peer_uuid_v4(unsigned, void *out, size_t n) {
    static thread_local UUIDv4::UUIDGenerator<std::mt19937_64> generator;
    char *const texts = static_cast<char *>(out);
    for (size_t i = 0; i < n; i++) {
        generator.getUUID().str(texts + 37 * i);
        texts[37 * i + 36] = '\0';
    }
    return true;
}
bool peer_has_uuid_v4(void) { return true; }
#else
bool peer_uuid_v4(unsigned, void *, size_t) { return false; }
bool peer_has_uuid_v4(void) { return false; }
#endif
