// SPDX-License-Identifier: MIT
#include "shim.h"
#include <benchmark/benchmark.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/utsname.h>
#include <thread>

namespace {

bool failed = false;

double seconds_of(const char *variable, double otherwise) {
    const char *given = std::getenv(variable);
    return given ? std::atof(given) : otherwise;
}

void fail(benchmark::State &state, const char *why) {
    failed = true;
    std::fprintf(stderr, "FAILED: %s\n", why);
    state.SkipWithError(why);
}

void finish(benchmark::State &state, const bench_row *row) {
    if (const char *why = bench_end(row)) fail(state, why);
    if (!bench_saturates(row) && state.threads() > 1)
        state.counters["alone"] =
            static_cast<double>(bench_alone()) / static_cast<double>(state.iterations());
    const double ratio = bench_ratio();
    if (ratio > 0) state.counters["ratio"] = ratio;
    if (bench_cap(row) > 0) state.counters["cap"] = bench_cap(row);
    if (bench_saturates(row)) {
        const bench_saturation s = bench_saturated();
        state.counters["ids_per_second"] = s.ids_per_second;
        state.counters["percent_of_cap"] = 100 * s.ids_per_second / bench_cap(row);
        state.counters["cpu_s_per_million"] = s.cpu_s_per_million;
        state.counters["p50_ns"] = s.p50_ns;
        state.counters["p99_ns"] = s.p99_ns;
        state.counters["p999_ns"] = s.p999_ns;
        state.counters["worst_ns"] = s.worst_ns;
        state.counters["spread_percent"] = s.spread_percent;
    }
    state.SetLabel(bench_floor(row));
}

// The loop's begin and end are barriers: nobody bursts before bench_begin or after bench_end.
void run(benchmark::State &state, const bench_row *row) {
    const unsigned thread = static_cast<unsigned>(state.thread_index());
    const unsigned threads = static_cast<unsigned>(state.threads());
    if (thread == 0) bench_begin(row, threads);
    if (bench_saturates(row)) {
        const double seconds = seconds_of("BENCH_SATURATION_SECONDS", 0.1);
        for (auto _ : state) {
            bench_saturate(row, thread, seconds);
            state.SetIterationTime(seconds);
        }
    } else {
        for (auto _ : state) state.SetIterationTime(bench_burst(row, thread));
        state.counters["s_per_id"] =
            benchmark::Counter(static_cast<double>(state.iterations()) *
                                   static_cast<double>(bench_burst_size(row, threads)),
                               benchmark::Counter::kAvgThreadsRate | benchmark::Counter::kInvert);
    }
    if (thread == 0) finish(state, row);
}

void add(const bench_row *row) {
    const double seconds = seconds_of("BENCH_SECONDS", 0.02);
    for (int threads : {1, 2, 4, 8, int{bench_most_threads}}) {
        if (threads > 1 && !bench_in_crowds(row, static_cast<unsigned>(threads))) continue;
        const size_t bursts =
            bench_saturates(row) ? 1 : bench_bursts(row, static_cast<unsigned>(threads), seconds);
        benchmark::RegisterBenchmark(bench_name(row), run, row)
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
    benchmark::AddCustomContext(
        "clock_source",
        first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", ""));
    benchmark::AddCustomContext("compiler", bench_compiler());
    benchmark::AddCustomContext("flags", BENCH_FLAGS);
    benchmark::AddCustomContext("cores", std::to_string(bench_cores()));
    benchmark::AddCustomContext("boost", peer_has_boost() ? peer_boost_version() : "");
#ifdef HAS_LIBUUID
    benchmark::AddCustomContext("libuuid", "yes");
#else
    benchmark::AddCustomContext("libuuid", "");
    std::fprintf(stderr, "skipped: peer/libuuid_v1 and _v4 (install uuid-dev)\n");
#endif
    if (!peer_has_boost())
        std::fprintf(stderr, "skipped: peer/boost_uuid_v4 (install libboost-dev)\n");
}

} // namespace

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    describe();
    if (const char *why = bench_try_check()) {
        std::fprintf(stderr, "FAILED: %s\n", why);
        return 1;
    }
    std::thread([] {
    }).join(); // glibc's mutex does without a locked instruction until there was one
    for (size_t i = 0; i < bench_rows(); i++) {
        const bench_row *row = bench_row_at(i);
        if (std::string(bench_name(row)).find("boost") != std::string::npos && !peer_has_boost())
            continue;
        add(row);
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return failed ? 1 : 0;
}
