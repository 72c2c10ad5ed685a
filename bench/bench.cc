// SPDX-License-Identifier: MIT
#include "shim.h"
#include <benchmark/benchmark.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/utsname.h>
#include <thread>
#include <vector>

namespace {

bool failed = false;
std::vector<std::vector<double>> burst_seconds(bench_most_threads); // of each thread

double seconds_of(const char *variable, double otherwise) {
    const char *given = std::getenv(variable);
    return given ? std::atof(given) : otherwise;
}

void fail(benchmark::State &state, const char *why) {
    failed = true;
    std::fprintf(stderr, "FAILED: %s\n", why);
    state.SkipWithError(why);
}

// Values of 0 do not apply.
void finish(benchmark::State &state, const bench_row *row) {
    const bench_result r = bench_end(row);
    const bool has_order = row->order != any_order;
    const struct {
        const char *name;
        double value;
    } told[] = {
        {"ratio", r.ratio},
        {"cap", row->cap},
        {"ids_per_second", r.ids_per_second},
        {"percent_of_cap", row->saturates ? 100 * r.ids_per_second / row->cap : 0},
        {"cpu_s_per_million", r.cpu_s_per_million},
        {"p50_ns", r.p50_ns},
        {"p99_ns", r.p99_ns},
        {"p999_ns", r.p999_ns},
        {"worst_ns", r.worst_ns},
        {"of_threads", r.of_threads},
        {"of_lanes", r.of_lanes},
        {"on_cores", r.on_cores},
    };
    for (const auto &counter : told)
        if (counter.value > 0) state.counters[counter.name] = counter.value;
    if (r.why) fail(state, r.why);
    if (bench_is_peer(row) || has_order) { // a duplicate in one of our rows is a failure
        state.counters["ids"] = static_cast<double>(r.ids);
        state.counters["duplicates"] = static_cast<double>(r.duplicates);
        if (r.duplicates)
            std::fprintf(stderr, "%s, %d threads: %llu of %llu ids are duplicates\n", row->name, state.threads(),
                         static_cast<unsigned long long>(r.duplicates), static_cast<unsigned long long>(r.ids));
    }
    if (has_order) {
        state.counters["falls"] = static_cast<double>(r.falls);
        state.counters["falls_across"] = static_cast<double>(r.falls_across);
    }
    if (!row->saturates && state.threads() > 1)
        state.counters["alone"] = static_cast<double>(r.alone) / static_cast<double>(state.iterations());
    state.SetLabel(row->floor);
}

// Where a row that ends the program leaves its name.
void note_row(const bench_row *row) {
    if (const char *file = std::getenv("BENCH_ROW_FILE")) std::ofstream(file) << row->name;
}

// The loop's begin and end are barriers: no thread bursts before bench_begin or after bench_end.
void run(benchmark::State &state, const bench_row *row) {
    const unsigned thread = static_cast<unsigned>(state.thread_index());
    const unsigned threads = static_cast<unsigned>(state.threads());
    if (thread == 0) {
        note_row(row);
        bench_begin(row, threads);
    }
    if (row->saturates) {
        const double seconds = seconds_of("BENCH_SATURATION_SECONDS", 0.1);
        for (auto _ : state) {
            bench_saturate(row, thread, seconds);
            state.SetIterationTime(seconds);
        }
    } else {
        std::vector<double> &took = burst_seconds[thread];
        took.clear();
        for (auto _ : state) {
            took.push_back(bench_burst(row, thread));
            state.SetIterationTime(took.back());
        }
        state.counters["s_per_id"] = benchmark::Counter(
            bench_typical(took.data(), took.size(), threads) / static_cast<double>(bench_burst_size(row, threads)),
            benchmark::Counter::kAvgThreads);
    }
    if (thread == 0) finish(state, row);
}

void add(const bench_row *row) {
    const double seconds = seconds_of("BENCH_SECONDS", 0.02);
    for (int threads : {1, 2, 4, 8, 64}) {
        if (threads > 1 && !bench_in_crowds(row, static_cast<unsigned>(threads))) continue;
        const size_t bursts = row->saturates ? 1 : bench_bursts(row, static_cast<unsigned>(threads), seconds);
        benchmark::RegisterBenchmark(row->name, run, row)
            ->UseManualTime()
            ->Iterations(static_cast<benchmark::IterationCount>(bursts))
            ->Threads(threads);
    }
}

std::string first_line(const char *file, const std::string &begin) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        if (line.compare(0, begin.size(), begin) == 0) {
            const size_t colon = begin.empty() ? std::string::npos : line.find(": ");
            return colon == std::string::npos ? line : line.substr(colon + 2);
        }
    return "unknown";
}

void describe() {
    utsname system;
    if (uname(&system) == 0)
        benchmark::AddCustomContext("kernel", std::string(system.sysname) + " " + system.release +
                                                  " " + system.machine);
    benchmark::AddCustomContext("processor", first_line("/proc/cpuinfo", "model name"));
    benchmark::AddCustomContext("clock_source",
                                first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", ""));
    benchmark::AddCustomContext("compiler", bench_compiler());
    benchmark::AddCustomContext("flags", BENCH_FLAGS);
    benchmark::AddCustomContext("cores", std::to_string(bench_cores()));
    benchmark::AddCustomContext("boost", peer_boost_version());
}

// Peers that may be missing, each by one of its rows.
void name_what_is_missing() {
    static const struct {
        const char *row, *name, *how;
    } peers[] = {
        {"peer/libuuid_v4", "libuuid v1 and v4", "install uuid-dev"},
        {"peer/libuuid_v7", "libuuid v7", "this libuuid has none"},
        {"peer/boost_uuid_v4", "Boost.Uuid v4", "install libboost-dev"},
        {"peer/boost_uuid_v7", "Boost.Uuid v7", "RIVALS/uuid, or Boost 1.86 or later"},
        {"peer/uuid7_h_mutex", "uuidv7.h", "RIVALS/uuidv7-h"},
        {"peer/ulid_c", "ulid-c", "RIVALS/ulid-c"},
        {"peer/yitter", "yitter, C", "RIVALS/IdGenerator"},
        {"peer/uuid_v4", "uuid_v4", "RIVALS/uuid_v4, and AVX2"},
    };
    std::string missing;
    for (const auto &p : peers) {
        if (bench_row_named(p.row)) continue;
        const std::string what = std::string(p.name) + " (" + p.how + ")";
        std::fprintf(stderr, "skipped: %s\n", what.c_str());
        missing += (missing.empty() ? "" : "; ") + what;
    }
    benchmark::AddCustomContext("missing", missing);
}

bool is_left_out(const bench_row *row) {
    const char *given = std::getenv("BENCH_LEAVE_OUT");
    std::istringstream names(given ? given : "");
    for (std::string name; names >> name;)
        if (name == row->name) return true;
    return false;
}

} // namespace

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    describe();
    name_what_is_missing();
    std::thread([] {}).join(); // glibc's mutex uses no locked instruction before the first thread is started
    for (size_t i = 0; i < bench_rows(); i++) {
        const bench_row *row = bench_row_at(i);
        if (!is_left_out(row)) add(row);
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return failed ? 1 : 0;
}
