/* SPDX-License-Identifier: MIT
 *
 * Threads that come and go borrow a shard for as long as they need it.
 */
#include "flake.h"
#include <memory>
#include <thread>
#include <vector>

static flake_pool pool;
static flake_shard shards[8];

static void give_back(flake_shard *shard) { flake_pool_give_back(&pool, shard); }

static void task() {
    std::unique_ptr<flake_shard, decltype(&give_back)> mine(flake_pool_borrow(&pool), give_back);
    std::uint64_t id;
    if (!mine || flake_shard_next(mine.get(), &id) != FLAKE_OK) std::abort(); // no mine: all are lent
}

int main() {
    if (flake_pool_init(&pool, shards, 8, nullptr) != FLAKE_OK) return 1;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) threads.emplace_back(task);
    for (auto &thread : threads) thread.join();
}
