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


def run_of(folder, number, ns, **more):
    """A run of one row with these times, and more of its last repetition."""
    run = folder / f"run{number}"
    run.mkdir()
    rows = [{"name": "flake/next", "run_name": "flake/next/manual_time/threads:1", "run_type": "iteration",
             "threads": 1, "s_per_id": t / 1e9} for t in ns]
    rows[-1].update(more)
    (run / "results.json").write_text(json.dumps({"context": MACHINE, "benchmarks": rows}))
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
    row = re.search(r"^\| peer/trial_repeats \|.* \*\*([\d,]+)\*\* of ([\d,]+), 1 thread", text, re.M)
    twice, ids = (int(n.replace(",", "")) for n in row.groups()) if row else (0, 1)
    check("a peer whose ids repeat has its row, with half of them", 2 * twice == ids)
    check("all else is written", "| exact clock and fetch-and-add |" in text)
    if shutil.which("node"):
        check("an npm peer whose ids repeat has its row", "| npm trial-repeats |" in text and "**4,096** of 8,192" in text)
        check("an npm peer that dies is named", "| **failed** | npm trial-dies: Error: this trial dies |" in text)
    if "BenchmarkTrialRepeats" in (run / "go.txt").read_text():
        check("a Go peer whose ids repeat has its row", "| Go TrialRepeats |" in text and "**50** of 100, 1 thread" in text)
        check("a Go peer that dies is named", "| **failed** | Go TrialDies, 1 threads: panic: this trial dies |" in text)


for test in (chooses_the_quietest, refuses_a_louder_one, believes_no_row_that_failed_once, names_what_goes_wrong):
    with tempfile.TemporaryDirectory() as folder:
        test(Path(folder))
print(f"report.py: {passed} checks passed")
