#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report_test.py PROGRAM   tries what report.py chooses, refuses and names: with made-up runs, and with rows of
PROGRAM and peers that repeat ids, fail or die."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = Path(sys.argv[1]).resolve()
MACHINE = {"date": "2026-01-01T00:00:00+00:00", "processor": "a processor", "cores": "2", "kernel": "Linux 6 x86_64",
           "clock_source": "tsc", "compiler": "gcc", "flags": "-O2", "boost": "", "missing": ""}
QUIET, MIDDLING, LOUD = [30, 30, 30, 31, 31], [28, 28, 29, 31, 31], [20, 30, 40, 50, 60]  # ±1.6667, 5.1724, 37.5 %
passed = 0


def check(what, well):
    global passed
    if not well:
        sys.exit(f"FAILED: {what}")
    passed += 1


def row_of(name, threads, ns, **more):
    return {"name": name, "run_name": f"{name}/manual_time/threads:{threads}", "run_type": "iteration",
            "threads": threads, "s_per_id": ns / 1e9, **more}


def run_of(folder, number, ns, *others, machine=MACHINE, **more):
    """A run of one row with these times, and more of its last repetition; and other rows."""
    run = folder / f"run{number}"
    run.mkdir()
    rows = [row_of("flake/next", 1, t) for t in ns]
    rows[-1].update(more)
    rows += others
    (run / "results.json").write_text(json.dumps({"context": machine, "benchmarks": rows}))
    (run / "load.txt").write_text(f"before {number}.25 0 0\nafter {number}.75 0 0\n")
    for name in ("go.txt", "npm.txt"):
        (run / name).touch()


def report(folder, *options):
    """report.py's exit status, what it says, and the report."""
    done = subprocess.run([sys.executable, HERE / "report.py", folder, "--report", folder / "R.md", *options],
                          capture_output=True, text=True)
    file = folder / "R.md"
    return done.returncode, done.stdout + done.stderr, file.read_text() if file.exists() else ""


def chooses_the_quietest(folder):
    for number, ns in enumerate((LOUD, QUIET, MIDDLING), 1):
        run_of(folder, number, ns)
    status, said, text = report(folder)
    check("a report is written", status == 0 and "quietest of 3" in said)
    check("it is that of the quietest run", "| scatter | ±1.67 %: " in text)
    check("with the load before and after it", "| this run | scatter ±1.67 %; load 2.25 0 0 before it, 2.75 0 0 after" in text)
    check("the others are told", "| another run, not taken | scatter ±37.50 %; load 1.25" in text)
    check("what lacks a figure is not written, and says so", "not written, since `floor/" in text)


def refuses_a_louder_one(folder):
    run_of(folder, 1, QUIET)
    _, _, quiet = report(folder)
    shutil.rmtree(folder / "run1")
    run_of(folder, 1, MIDDLING)
    status, said, text = report(folder)
    check("a quieter report is left as it is", status != 0 and text == quiet and "FORCE=1" in said)
    status, _, text = report(folder, "--force")
    check("unless told to", status == 0 and text != quiet)
    status, _, _ = report(folder)
    check("one that is as quiet is replaced", status == 0)
    shutil.rmtree(folder / "run1")
    run_of(folder, 1, QUIET[:2])
    status, _, _ = report(folder)
    check("a run that can't tell its scatter replaces none that can", status != 0)
    (folder / "R.md").write_text("# Figures\n")
    status, _, _ = report(folder)
    check("a report that can't is replaced", status == 0)


def believes_no_row_that_failed_once(folder):
    run_of(folder, 1, QUIET, error_occurred=True, error_message="flake/next, 1 threads: 2 of 9 ids are duplicates")
    status, said, text = report(folder)
    check("one repetition is enough", status != 0 and "failed: flake/next, 1 threads: 2 of 9" in said)
    check("the others give no figure", "| `flake_next` |" not in text)


def uuid_row(name, threads, ns, falls, across, duplicates=0):
    return row_of(name, threads, ns, ids=1000.0, duplicates=duplicates, falls=falls, falls_across=across)


def puts_order_first(folder):
    """In each repetition; across threads is told by several threads alone."""
    pairs = [("flake/uuid7_bytes", 50, 90, 0, 0), ("flake128/uuid8_next", 55, 95, 0, 0),
             ("flake128/uuid7_lanes_next", 20, 20, 0, 7), ("peer/libuuid_v7", 10, 10, 9, 9),
             ("peer/uuid7_h_mutex", 60, 80, 0, 0), ("peer/trial_slow", 70, 70, 0, 0)]
    rows = [uuid_row(name, t, ns[t - 1], falls, across if t > 1 else 5) for name, *ns, falls, across in pairs for t in (1, 2)]
    rows += [uuid_row("flake128/ulid_next", 1, 40, 0, 0), uuid_row("flake128/ulid_next", 2, 85, 0, 0),
             uuid_row("flake128/ulid_next", 2, 85, 0, 1)]
    rows += [uuid_row("peer/libuuid_v7", t, 10, 0, 0) for t in (1, 2)]
    rows += [uuid_row("peer/trial_repeats_but_rises", t, 1, 0, 0, duplicates=3) for t in (1, 2)]
    run_of(folder, 1, QUIET, *rows)
    _, _, text = report(folder)
    part = text[text.index("## UUIDv7 and ULID"):text.index("## Instructions")]
    found = re.findall(r"^\| (?:\*\*)?(.*?)(?:\*\*, .*?)? \| ([\d.]+) \| ([\d.]+) \| (\S+) \| (\S+) \| (.*) \|$", part, re.M)
    lanes, ulid, uuid8 = "`flake128_next` with lanes, UUIDv7", "`flake128_next`, ULID", "`flake128_next`, UUIDv8"
    check("who rises across threads comes first, then in a thread, and the quicker before the slower",
          [row[0] for row in found] == ["peer/trial_repeats_but_rises", "`flake_uuid7_bytes`", uuid8, "uuidv7.h, a mutex",
                                        "peer/trial_slow", lanes, ulid, "libuuid v7"])
    orders = {row[0]: row[3:5] for row in found}
    check("one thread tells nothing of others", orders["uuidv7.h, a mutex"] == ("rise", "rise"))
    check("a fall across threads in one repetition is one", orders[ulid] == ("rise", "**fall**"))
    check("and one in a thread", orders["libuuid v7"] == ("**fall**", "**fall**"))
    check("a peer whose ids repeat has its row with the count", "**997** of 1,000, 1 thread" in found[0][5])
    said = " ".join(part.split())
    check("the first is told", "on one thread `flake_uuid7_bytes`, fast clock with 50.0 ns, on two peer/trial_slow with 70.0 ns" in said)
    check("and the first of others", "not ours: on one thread uuidv7.h, a mutex with 60.0 ns, on two peer/trial_slow with 70.0 ns" in said)


def offers_lanes(folder):
    """In the table that many read, and to whom has many threads."""
    fast = {"flake/lanes_next": 35, "flake/lanes_next_fast": 15, "flake/next_fast": 14, "sno/lanes_next": 36}
    names = ["flake/next", "flake/try_at", "flake/shard_try_at", "flake/lanes_next_coarse", "flake/batch_16", "flake/batch_4096",
             "flake/prefetch_1024", "flake/uuid7", "sno/next", "sno/batch_4096", "saturation/flake/next", "peer/mutex_snowflake",
             "floor/exact_fetch_add", *fast]
    run_of(folder, 1, QUIET, *(row_of(name, t, fast.get(name, 50), cap=1e6, ratio=1.5) for name in names for t in (1, 2)))
    readme = folder / "README.md"
    readme.write_text("Above.\n<!-- bench begin -->\nold\n<!-- bench end -->\nBelow.\n")
    _, _, text = report(folder, "--readme", readme)
    table = readme.read_text()
    check("the table goes between its marks", table.startswith("Above.\n<!-- bench begin -->\n|") and "old" not in table
          and table.endswith("<!-- bench end -->\nBelow.\n"))
    for row in ("`flake_next` with lanes, fast clock | 15.0", "`flake_next`, fast clock | 14.0"):
        check(f"it has {row}", f"| {row} |" in table)
    said = " ".join(text[text.index("### What to choose"):].split())
    check("lanes are for a server of many threads", "A server of many threads: `options.lanes`, with `flake_next`" in said)
    check("what the fast clock saves is told", "It saves 20.0 ns per ID, which is 1 % of a core at 0.500 million IDs per second" in said)


def keeps_the_machines_side_by_side(folder):
    """Each processor once, by its latest date; who is faster is told of each."""
    rows = lambda ours, other: [row_of("flake/next_fast", 1, ours), row_of("peer/mutex_snowflake", 1, other, ids=10, duplicates=0)]
    run_of(folder, 1, QUIET, *rows(30, 20))
    report(folder)
    there = dict(MACHINE, processor="another", date="2026-02-03T00:00:00+00:00")
    shutil.rmtree(folder / "run1")
    run_of(folder, 1, MIDDLING, *rows(25, 50), machine=there)
    status, _, text = report(folder)
    check("a louder run of another processor is taken", status == 0)
    heads = [line for line in text.splitlines() if line.startswith("| ns per ID | ours |")][0]
    check("both are there with their dates, the latest first", re.search("another, 2026-02-03.*a processor, 2026-01-01", heads))
    row = [line for line in text.splitlines() if line.startswith("| 64 bits, one generator for all threads |")][0]
    check("who is faster is bold, on its machine", row.endswith("| 25.0 | 50.0 | 30.0 | **20.0** |"))
    said = " ".join(text.split())
    check("and told", "Faster than ours on another, 2 cores, 2026-02-03: none of the 1 that" in said and "on a processor, 2 cores, 2026-01-01: 1 of "
          "the 1 that were measured there. - 64 bits, one generator for all threads: mutex snowflake, 20.0 for 30.0 ns (a preempted" in said)
    shutil.rmtree(folder / "run1")
    run_of(folder, 1, QUIET, *rows(27, 50), machine=dict(there, date="2026-04-05T00:00:00+00:00"))
    _, _, text = report(folder)
    check("that no machine has many cores is told", "No machine with more than 2 cores" in text)
    (folder / "scale.txt").write_text("2026-05-06, 16 cores, a processor, gcc\n\n"
                                      "ns per ID, pinned  2   16 \nflake/next   8  1.2e+03?\n\n?: alone\n")
    _, _, many = report(folder)
    check("what one printed is shown", "```\n2026-05-06, 16 cores, a processor, gcc\n\nns per ID, pinned" in many)
    check("its last column is told", "16 cores (a processor, 2026-05-06), a thread on each: an ID takes its core 1,200 ns from one word" in many)
    check("the latest of a processor replaces the one before", "2026-04-05" in text and "2026-02-03" not in text and "2026-01-01" in text)


def tells_who_got_how_much(folder):
    shares = {"of_lanes": 1.25, "on_cores": 1.5, "of_threads": 40}
    rest = {key: 1 for key in ("ids_per_second", "percent_of_cap", "cpu_s_per_million", "p50_ns", "p99_ns", "p999_ns", "worst_ns")}
    run_of(folder, 1, QUIET, row_of("saturation/flake/lanes_next", 64, 1, cap=4096e3, **shares, **rest),
           row_of("saturation/flake/next", 64, 1, cap=4096e3, of_threads=3, **rest))
    _, _, text = report(folder)
    check("of lanes, on cores, of threads", re.search(r"^\| `flake_next` with lanes, 12 bits \| 64 \|.* \| 1.25 \| 1.50 \| 40.00 \|$", text, re.M))
    check("what does not apply is empty", re.search(r"^\| `flake_next`, 12 bits \| 64 \|.* \|  \|  \| 3.00 \|$", text, re.M))


def counts_of_lanes(folder):
    """One thread alone draws all lanes empty, in each unit, where it is fast enough for the cap."""
    subprocess.run([PROGRAM, "--benchmark_filter=saturation/(flake/lanes_next|sno/lanes_next|flake/next)/.*threads:1$",
                    f"--benchmark_out={folder / 'out'}", "--benchmark_out_format=json"], capture_output=True, check=True)
    rows = {row["name"].split("/iter")[0]: row for row in json.loads((folder / "out").read_text())["benchmarks"]}
    drained = [row for name, row in rows.items() if "lanes" in name and row["percent_of_cap"] > 99.5]
    if not drained:
        print("skipped: how fair lanes are, on a machine that does not draw them empty")
    check("a lane gives about as many ids as another", all(1 <= row["of_lanes"] < 2 for row in drained))
    check("what has no lanes tells none", "of_lanes" not in rows["saturation/flake/next"])


def names_what_goes_wrong(folder):
    run = folder / "run1"
    trial = {**os.environ, "BENCH_TRIALS": "1", "PEER_TRIALS": "1", "BENCH_SECONDS": "0.0001"}
    subprocess.run([HERE / "measure.sh", PROGRAM, run, "--benchmark_repetitions=4",
                    "--benchmark_filter=trial|floor/exact_fetch_add/.*threads:1$"], env=trial, capture_output=True, check=True)
    cache = folder / "npm"  # as if all were fetched already, since no test needs a network
    cache.mkdir()
    shutil.copy(HERE / "peers" / "package.json", cache)
    subprocess.run([HERE / "peers" / "run.sh", run, "1", "100", folder], env=trial, capture_output=True)
    status, _, text = report(folder)
    check("a row of ours whose ids repeat is a failure", status != 0 and "| **failed** | trial/repeats, 1 threads: " in text)
    check("and has no figure", "| trial/repeats |" not in text)
    check("a row that dies is named", "| **failed** | peer/trial_dies: ended the program, by signal 6 |" in text)
    check("a peer that fails is named", "| **failed** | peer/trial_fails, 1 threads: a call failed" in text)
    check("ids of ours that fall are a failure", "| **failed** | trial/falls, 1 threads: " in text and
          " ids fell in their thread |" in text)
    check("and those that fall behind another thread's", re.search(
        r"\*\*failed\*\* \| trial/falls_across, \d+ threads: [1-9]\d* calls fell behind another thread's", text))
    check("though they rise in each", "| trial/falls_across, 1" not in text)
    falls = lambda name, *words: re.search(rf"^\| {name} \| \S+ \| \S+ \| {re.escape(' | '.join(words))} \|", text, re.M)
    check("a peer whose ids fall is told", falls("peer/trial_falls", "**fall**", "**fall**"))
    check("and one whose ids fall across threads", falls("peer/trial_falls_across", "rise", "**fall**"))
    row = re.search(r"^\| peer/trial_repeats \|.*", text, re.M)
    counts = re.findall(r"\*\*([\d,]+)\*\* of ([\d,]+), (\d+) thread", row[0]) if row else []
    check("a peer whose ids repeat has its row, with half of them, also where another thread has the other half",
          [threads for _, _, threads in counts] == ["1", "2", "4", "8", "64"] and
          all(2 * int(twice.replace(",", "")) == int(ids.replace(",", "")) for twice, ids, _ in counts))
    check("all else is written", "| exact clock and fetch-and-add |" in text)
    if shutil.which("node"):
        check("an npm peer whose ids repeat has its row", "| npm trial-repeats |" in text and "**4,096** of 8,192" in text)
        check("an npm peer whose ids fall is told", falls("npm trial-falls", "**fall**", "–"))
        check("an npm peer that dies is named", "| **failed** | npm trial-dies: Error: this trial dies |" in text)
    if "BenchmarkTrialRepeats" in (run / "go.txt").read_text():
        check("a Go peer whose ids repeat has its row", "| Go TrialRepeats |" in text and "**50** of 100, 1 thread" in text)
        check("a Go peer whose ids fall is told", falls("Go TrialFalls", "**fall**", "**fall**"))
        check("a Go peer that dies is named", "| **failed** | Go TrialDies, 1 threads: panic: this trial dies |" in text)


for test in (chooses_the_quietest, refuses_a_louder_one, believes_no_row_that_failed_once, puts_order_first, keeps_the_machines_side_by_side,
             offers_lanes, tells_who_got_how_much, counts_of_lanes, names_what_goes_wrong):
    with tempfile.TemporaryDirectory() as folder:
        test(Path(folder))
print(f"report.py: {passed} checks passed")
