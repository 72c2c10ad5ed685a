// SPDX-License-Identifier: MIT
//
// When a C++ program wants a generator that closes itself, and throws: a class of twenty lines. It is not copied or moved,
// as a generator must not be.
#include "flake.h"
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <unordered_set>
#include <vector>

class Ids {
    flake_gen gen;

  public:
    Ids(flake_node node, const flake_options &options = {}) {
        flake_why why;
        if (flake_init(&gen, node, &options, &why) != FLAKE_OK) throw std::runtime_error(why.text);
    }
    ~Ids() { (void)flake_close(&gen, nullptr); } // threads that draw have ended
    Ids(const Ids &) = delete;
    Ids &operator=(const Ids &) = delete;

    uint64_t next() { // from any thread
        uint64_t id;
        const flake_status status = flake_next(&gen, &id);
        if (status != FLAKE_OK) throw std::runtime_error(flake_status_str(status));
        return id;
    }
};

int main() try {
    // 0 to 1023: this host's numbers, all that the layout has; other hosts have ranges of their own
    Ids ids(flake_node_any("ids", 0, 1023));
    std::vector<uint64_t> drawn[4];
    std::vector<std::thread> threads;
    for (auto &mine : drawn)
        threads.emplace_back([&ids, &mine] {
            for (int i = 0; i < 1000; i++) mine.push_back(ids.next());
        });
    for (auto &thread : threads) thread.join();
    std::unordered_set<uint64_t> all;
    for (const auto &mine : drawn) all.insert(mine.begin(), mine.end());
    std::printf("%zu IDs\n", all.size());
    return all.size() != 4000;
} catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
