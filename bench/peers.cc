// SPDX-License-Identifier: MIT
#include "shim.h"
#include <atomic>
#include <cstring>
#ifdef HAS_BOOST
#include <boost/uuid/uuid.hpp>
#include <boost/uuid/uuid_generators.hpp>
#include <boost/version.hpp>
#else
#define BOOST_LIB_VERSION ""
#endif
#ifdef HAS_BOOST_V7
#include <boost/uuid/time_generator_v7.hpp>
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
#endif

#ifdef HAS_BOOST_V7
bool peer_boost_uuid_v7(unsigned, void *out, size_t n) { return boost_uuids<boost::uuids::time_generator_v7>(out, n); }
#endif

const char *peer_boost_version(void) { return BOOST_LIB_VERSION; }

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
#endif
