#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a report and its plots, and README.md's table, from the quietest of the runs in DIRECTORY/run*, and
refuses to replace a report of the same processor that was quieter. machines.tsv beside the report keeps some
figures of each processor. Every number is computed here from those files; none is typed."""

import argparse
import html
import json
import math
import re
import statistics
import sys
import textwrap
from datetime import datetime
from pathlib import Path

CROWDS = [1, 2, 4, 8, 64]
BATCHES = [1, 16, 256, 4096]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--report", type=Path, required=True, help="its plots lie beside it")
    parser.add_argument("--readme", type=Path, help="with the marks that the table goes between")
    parser.add_argument("--force", action="store_true", help="replace a report that was quieter, too")
    return parser.parse_args()


# ---- measurements ----

def read_google(run):
    """(row name, threads) -> its repetitions; what the machine is; and what failed, in words."""
    data = json.loads((run / "results.json").read_text())
    rows, failed = {}, {}
    for found in data["benchmarks"]:
        if found["run_type"] != "iteration":
            continue
        name = re.sub(r"/(iterations:\d+|manual_time|threads:\d+|repeats:\d+)", "", found["run_name"])
        row = name, found["threads"]
        if found.get("error_occurred"):
            failed[row] = found["error_message"]
        else:
            rows.setdefault(row, []).append(found)
    return {row: rows[row] for row in rows if row not in failed}, data["context"], list(failed.values())


def read_go(run):
    """(peer, threads) -> ns of its repetitions; (ids, duplicates) of each; (falls, falls across threads) of each."""
    found, checked, order = {}, {}, {}
    text = (run / "go.txt").read_text()
    for name, threads, ns, rest in re.findall(r"^Benchmark(\w+?)(?:-(\d+))?\s+\d+\s+([\d.]+) ns/op(.*)", text, re.M):
        row = name, int(threads or 1)
        found.setdefault(row, []).append(float(ns))
        counts = {unit: int(float(n)) for n, unit in re.findall(r"([\d.e+]+) (\w+)", rest)}
        if "ids" in counts:
            checked.setdefault(row, []).append((counts["ids"], counts["duplicates"]))
        if "falls" in counts:
            order.setdefault(row, []).append((counts["falls"], counts.get("falls_across")))
    return found, checked, order


def read_npm(run):
    """peer -> its repetitions."""
    found = {}
    for line in read_lines(run / "npm.txt"):
        peer = json.loads(line)
        if "ns" in peer:
            found.setdefault(peer["name"], []).append(peer)
    return found


def read_lines(file):
    return file.read_text().splitlines() if file.exists() else []


def read_pairs(file):
    return dict(line.split(" ", 1) for line in read_lines(file) if " " in line)


# ---- which run, and whether it may replace what is there ----

def scatter_of(figures):
    """Half the range between the quartiles, in per cent of the median."""
    if len(figures) < 4:
        return None
    low, middle, high = statistics.quantiles(figures, n=4)
    return 50 * (high - low) / middle


def scatter_of_run(run):
    """The middle one of the scatters of all rows on one thread. A run that can't tell is never the quietest."""
    rows, _, _ = read_google(run)
    found = [scatter_of([r["s_per_id"] for r in repetitions if "s_per_id" in r])
             for (_, threads), repetitions in rows.items() if threads == 1]
    found = [s for s in found if s is not None]
    return round(statistics.median(found), 2) if found else math.inf  # as the report will say it


SCATTER_LINE = re.compile(r"^\| scatter \| ±([\d.]+) %", re.M)


def scatter_of_report(report):
    """inf: there is no report of this processor, or one that does not say."""
    text = report.read_text() if report.exists() else ""
    said = SCATTER_LINE.search(text) if f"| processor | {MACHINE['processor']}, " in text else None
    return float(said[1]) if said else math.inf


OPTIONS = arguments()
MEASURED, REPORT = OPTIONS.directory, OPTIONS.report
SCATTERS = {run.parent: scatter_of_run(run.parent) for run in sorted(MEASURED.glob("run*/results.json"))}
if not SCATTERS:
    sys.exit(f"there is no run in {MEASURED}")
TAKEN = min(SCATTERS, key=SCATTERS.get)
SCATTER = SCATTERS[TAKEN]
RUNS, MACHINE, FAILED = read_google(TAKEN)
if not OPTIONS.force and SCATTER > scatter_of_report(REPORT):
    sys.exit(f"{REPORT} is left as it is: its scatter is ±{scatter_of_report(REPORT):.2f} %, that of the quietest "
             f"of {len(SCATTERS)} runs now ±{SCATTER:.2f} %; FORCE=1 replaces it nevertheless")

FAILED += [line.removeprefix("failed: ") for name in ("failed.txt", "failed_peers.txt")
           for line in read_lines(TAKEN / name)]
GO, GO_CHECKED, GO_ORDER = read_go(TAKEN)
NPM, VERSIONS = read_npm(TAKEN), read_pairs(TAKEN / "versions.txt")
SKIPPED = [line.removeprefix("skipped: ") for line in read_lines(TAKEN / "skipped.txt")]
SKIPPED += [what for what in MACHINE["missing"].split("; ") if what]
INSTRUCTIONS = {k: float(v) for k, v in read_pairs(MEASURED / "guard.counts").items()}
GUARD_KEY = "".join(read_lines(MEASURED / "guard.key"))
if not INSTRUCTIONS:
    SKIPPED.append("instruction counts (install valgrind)")
CORES = int(MACHINE["cores"])
REPETITIONS = max((len(runs) for runs in RUNS.values()), default=0)


def times(name, threads=1):
    return [run["s_per_id"] * 1e9 for run in RUNS.get((name, threads), []) if "s_per_id" in run]


def ns(name, threads=1):
    """Median time of one core for one id."""
    found = times(name, threads)
    return statistics.median(found) if found else None


def scatter(name, threads=1):
    return scatter_of(times(name, threads))


def floor_ns(name, threads=1):
    """The sum that the row names: "floor/a / 16 + floor/b"."""
    text = RUNS[name, threads][0].get("label", "") if (name, threads) in RUNS else ""
    if not text:
        return None
    total = 0.0
    for term in text.split(" + "):
        step, _, divisor = term.partition(" / ")
        t = ns(step, threads) or ns(step)
        if t is None:
            return None
        total += t / float(divisor or 1)
    return total


def ratio(name, threads=1):
    """To the floor: of bursts side by side on one thread, of the medians on several."""
    beside = counter(name, threads, "ratio")
    if beside:
        return beside
    t, floor = ns(name, threads), floor_ns(name, threads)
    return t / floor if t and floor else None


def cap(name):
    runs = RUNS.get((name, 1))
    return runs[0].get("cap") if runs else None


def counter(name, threads, key):
    found = [run[key] for run in RUNS.get((name, threads), []) if key in run]
    return statistics.median(found) if found else None


class Missing(Exception):
    """A figure that a sentence needs, and that this run has not."""


def needed(figure):
    """The same figures, for prose: each must be there."""
    def get(name, *which):
        found = figure(name, *which)
        if found is None:
            raise Missing(name)
        return found
    return get


def filled(text):
    """With lines of the same length, but for tables and titles."""
    def fill(block):
        if block.startswith(("|", "#")):
            return block
        return textwrap.fill(" ".join(block.split()), 112, break_on_hyphens=False,
                             subsequent_indent="  " if block.startswith("- ") else "")
    return "\n".join(fill(part) for block in text.strip().split("\n\n") for part in re.split(r"\n(?=- )", block) + [""])


def written(*parts):
    """Those parts of the prose whose figures are there; of others, what they lack."""
    texts = []
    for part in parts:
        try:
            texts.append(filled(part()))
        except Missing as lacks:
            texts.append(f"*{part.__name__.replace('_', ' ').capitalize()}: not written, since `{lacks}` has no figure in this run.*\n")
    return "\n".join(texts)


# ---- text ----

def say(value, unit=""):
    """Three digits, as a person would write them."""
    if value is None:
        return "–"
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(digits, 0), 4)}f}{unit}"


def say_time(value_ns):
    if value_ns is None:
        return "–"
    for limit, size, unit in ((1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e99, 1e6, "ms")):
        if value_ns < limit:
            return f"{say(value_ns / size)} {unit}"


def say_cap(ids):
    return f"{say(ids / 1e6)} M/s" if ids else ""


def times_of(value):
    return "–" if value is None else f"{value:.2f}"


def per_cent(value, digits=1):
    return "–" if value is None else f"±{value:.{digits}f} %"


def table(head, rows):
    line = lambda cells: "| " + " | ".join(str(c) for c in cells) + " |"
    marks = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join([line(head), line(marks)] + [line(r) for r in rows]) + "\n"


# ---- plots ----

COLOURS = ["#1f5fa8", "#d9730d", "#2c8a4b", "#8a3ffc", "#b3261e", "#5f6b7a", "#0e8a8a", "#a8841f"]


class Svg:
    def __init__(self, width, height, title):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="system-ui, sans-serif" font-size="13">',
            f"<title>{html.escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
        self.text(16, 26, title, size=16, weight="600")

    def text(self, x, y, text, anchor="start", size=13, weight="400", colour="#1b1f24"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
                          f'font-weight="{weight}" fill="{colour}">{html.escape(text)}</text>')

    def line(self, x1, y1, x2, y2, colour="#d8dde3", width=1):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'stroke="{colour}" stroke-width="{width}"/>')

    def add(self, part):
        self.parts.append(part)

    def write(self, name):
        (REPORT.parent / name).write_text("\n".join(self.parts + ["</svg>"]) + "\n")


def decades(values):
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return 10 ** low, 10 ** max(high, low + 1)


def grid(low, high):
    """1, 2, 5, 10 ... of a logarithmic axis."""
    found, decade = [], low
    while decade <= high * 1.0001:
        found += [step * decade for step in (1, 2, 5) if step * decade <= high * 1.0001]
        decade *= 10
    return found


def plot_bars(name, title, unit, bars):
    """bars: (label, value, floor or None, colour). A logarithmic axis; the floor is a mark."""
    bars = [bar for bar in bars if bar[1] is not None]
    if not bars:
        return
    left, right, top, step = 300, 70, 62, 26
    width, height = 900, top + step * len(bars) + 34
    values = [b[1] for b in bars] + [b[2] for b in bars if b[2]]
    low, high = decades(values)
    x = lambda v: left + (width - left - right) * math.log(v / low) / math.log(high / low)
    svg = Svg(width, height, title)
    svg.text(16, 46, f"{unit}, logarithmic; the black mark is the floor", size=12, colour="#57606a")
    many = math.log10(high / low) > 3
    for tick in grid(low, high):
        if many and round(math.log10(tick), 6) % 1:
            continue
        svg.line(x(tick), top - 6, x(tick), height - 28)
        svg.text(x(tick), height - 12, f"{tick:g}", anchor="middle", size=11, colour="#57606a")
    for i, (label, value, floor, colour) in enumerate(bars):
        y = top + step * i
        svg.text(left - 8, y + 14, label, anchor="end")
        svg.add(f'<rect x="{left}" y="{y + 2}" width="{max(x(value) - left, 1):.1f}" height="16" '
                f'rx="2" fill="{colour}"/>')
        if floor:
            svg.line(x(floor), y, x(floor), y + 20, colour="#000000", width=3)
        svg.text(max(x(value), x(floor) if floor else 0) + 7, y + 14, say(value), size=12)
    svg.write(name)


def plot_lines(name, title, x_unit, y_unit, xs, lines):
    """lines: (label, values for xs, dashed). Both axes are logarithmic."""
    lines = [(label, ys, dashed) for label, ys, dashed in lines if any(y is not None for y in ys)]
    if not lines:
        return
    width, height, left, right, top, bottom = 900, 470, 64, 240, 62, 50
    low, high = decades([y for _, ys, _ in lines for y in ys if y is not None])
    x = lambda v: left + (width - left - right) * math.log(v / xs[0]) / math.log(xs[-1] / xs[0])
    y = lambda v: height - bottom - (height - top - bottom) * math.log(v / low) / math.log(high / low)
    svg = Svg(width, height, title)
    svg.text(16, 46, f"{y_unit} against {x_unit}; both logarithmic", size=12, colour="#57606a")
    for tick in grid(low, high):
        svg.line(left, y(tick), width - right, y(tick))
        svg.text(left - 8, y(tick) + 4, f"{tick:g}", anchor="end", size=11, colour="#57606a")
    for tick in xs:
        svg.line(x(tick), top, x(tick), height - bottom)
        svg.text(x(tick), height - bottom + 18, f"{tick}", anchor="middle", size=11, colour="#57606a")
    svg.text((left + width - right) / 2, height - 12, x_unit, anchor="middle", size=12)
    ends = []
    for i, (label, ys, dashed) in enumerate(lines):
        colour = COLOURS[i % len(COLOURS)]
        points = [(x(v), y(t)) for v, t in zip(xs, ys) if t is not None]
        svg.add(f'<polyline fill="none" stroke="{colour}" stroke-width="2" '
                + ('stroke-dasharray="5 4" ' if dashed else "")
                + 'points="' + " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>')
        for a, b in points:
            svg.add(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>')
        ends.append([points[-1][1], points[-1][1], label, colour])
    ends.sort()
    for i in range(1, len(ends)):  # labels that would overlap move down, then all up again if need be
        ends[i][0] = max(ends[i][0], ends[i - 1][0] + 17)
    excess = max(0, ends[-1][0] - (height - bottom))
    for at, _, label, colour in ends:
        svg.text(width - right + 12, at - excess + 4, label, size=12, colour=colour, weight="600")
    svg.write(name)


# ---- the rows, in words ----

# Those that a run has no figure of are left out.
EXACT, GIVEN = "exact clock", "caller's time"


def by_clock(row, label):
    return [(row + end, label, f"{clock} clock") for end, clock in (("", "exact"), ("_coarse", "coarse"), ("_fast", "fast"))]


def new_units(header):
    """Calls each in a new unit."""
    next_, at = f"`{header}_next`", f"`{header}_try_at`"
    return [(f"{header}/{call}_new_unit", f"{label}, each in a new unit", clock) for call, label, clock in (
        ("next", next_, "a variable"), ("lanes_next", f"{next_} with lanes", "a variable"),
        ("shard_next", f"{next_} with `single_thread`", "a variable"), ("try_at", at, GIVEN),
        ("shard_try_at", f"{at} with `single_thread`", GIVEN))]


ONE_ID = [
    *by_clock("flake/next", "`flake_next`"),
    ("flake/try", "`flake_try`", EXACT),
    ("flake/try_at", "`flake_try_at`", GIVEN),
    *by_clock("flake/shard_next", "`flake_next` with `single_thread`"),
    ("flake/shard_try_at", "`flake_try_at` with `single_thread`", GIVEN),
    *by_clock("flake/lanes_next", "`flake_next` with lanes"),
    ("flake/prefetch_1024", "`flake_prefetch_next`, stock of 1024", EXACT),
    *new_units("flake"),
    *by_clock("sno/next", "`sno_next`"),
    ("sno/try", "`sno_try`", EXACT),
    ("sno/generate", "`sno_generate`", EXACT),
    ("sno/try_at", "`sno_try_at`", GIVEN),
    *by_clock("sno/lanes_next", "`sno_next` with lanes"),
    *by_clock("sno/shard_next", "`sno_next` with `single_thread`"),
    ("sno/shard_try_at", "`sno_try_at` with `single_thread`", GIVEN),
    *new_units("sno"),
    *by_clock("flake128/next", "`flake128_next`"),
    *by_clock("flake128/lanes_next", "`flake128_next` with lanes"),
    ("flake128/try_at", "`flake128_try_at`", GIVEN),
    *((f"flake/{call}", f"`flake_{call}`{'' if 'bytes' in call else ', text'}", "fast clock")
      for call in ("uuid7_bytes", "uuid7", "ulid_bytes", "ulid")),
    *((f"flake128/{form}_next", f"`flake128_next`, {label}", EXACT)
      for form, label in (("uuid7", "UUIDv7"), ("uuid8", "UUIDv8"), ("ulid", "ULID"))),
    ("flake128/uuid7_lanes_next", "`flake128_next` with lanes, UUIDv7", EXACT),
]

FLOORS = [
    ("floor/cas", "compare-and-swap of a counter"),
    ("floor/fetch_add", "fetch-and-add"),
    ("floor/store", "load, add, store of a private word"),
]
for clock, label, bare in (("exact", "exact clock", "`clock_gettime(CLOCK_REALTIME)`"),
                           ("coarse", "coarse clock", "`CLOCK_REALTIME_COARSE`"),
                           ("counter", "processor's counter", "`rdtsc`, `cntvct_el0`")):
    FLOORS += [
        (f"floor/{clock}", f"{label}: {bare}"),
        (f"floor/{clock}_cas", f"{label} and CAS"),
        (f"floor/{clock}_fetch_add", f"{label} and fetch-and-add"),
        (f"floor/{clock}_own_cas", f"{label} and CAS of a private word"),
        (f"floor/{clock}_store", f"{label}, load and store of a private word"),
    ]
FLOORS += [
    ("floor/given_cas", "caller's time and CAS"),
    ("floor/given_store", "caller's time, load and store of a private word"),
    ("floor/leaping_cas", "a variable as clock, division to find the unit, and CAS"),
    ("floor/leaping_store", "a variable as clock, division to find the unit, and store"),
    ("floor/given_leaping_cas", "caller's time in a new unit, and CAS"),
    ("floor/given_leaping_store", "caller's time in a new unit, and store"),
    ("floor/memset_8", "writing 8 bytes (`memset`)"),
    ("floor/memset_10", "writing 10 bytes (`memset`)"),
    ("floor/memset_16", "writing 16 bytes (`memset`)"),
    ("floor/copy", "copying 16 bytes (text)"),
]
FLOOR_OF_AN_ID = "floor/exact_fetch_add"

BATCH_ROWS = [
    ("flake", "64 bits, `flake_next_n`"),
    ("flake/lanes", "64 bits, `flake_next_n` with lanes"),
    ("flake/shard", "64 bits, `flake_next_n` with `single_thread`"),
    ("sno", "80 bits, `sno_next_n`"),
    ("sno/lanes", "80 bits, `sno_next_n` with lanes"),
    ("sno/shard", "80 bits, `sno_next_n` with `single_thread`"),
    ("flake128", "128 bits, `flake128_next_n`"),
    ("flake128/lanes", "128 bits, `flake128_next_n` with lanes"),
    ("flake128/uuid7", "UUIDv7, `flake128_next_n`"),
]

TEXT_ROWS = [(f"flake/{what}_{form}", f"`flake_{what}`, {form}")
             for form in ("dec", "hex", "base32", "base58", "base62") for what in ("format", "parse")]
TEXT_ROWS += [
    ("flake128/format_base62", "`flake128_format`, base 62"),
    ("flake128/parse_base62", "`flake128_parse`, base 62"),
    *((f"flake128/{way}_{form}{many}", f"`flake128_{way}_{form}{many}`" + (", 4096 at once" if many else ""))
      for form in ("uuid", "ulid") for way in ("to", "from") for many in ("", "_n")),
    ("sno/encode", "`sno_encode`"), ("sno/encode_n", "`sno_encode_n`, 4096 at once"),
    ("sno/decode", "`sno_decode`"), ("sno/decode_n", "`sno_decode_n`, 4096 at once"),
    ("peer/snprintf_dec", "`snprintf`, dec"), ("peer/strtoull_dec", "`strtoull`, dec"),
]

SATURATION = [
    ("flake/next", "`flake_next`, 12 bits"), ("flake/lanes_next", "`flake_next` with lanes, 12 bits"),
    ("flake/shard_next", "`flake_next` with `single_thread`, 12 bits"),
    ("sno/next", "`sno_next`"), ("sno/lanes_next", "`sno_next` with lanes"), ("sno/shard_next", "`sno_next` with `single_thread`"),
    ("flake/batch_4096", "`flake_next_n`, 12 bits, 4096 at once"),
    ("flake128/batch_4096", "`flake128_next_n`, 4096 at once"),
    ("peer/mutex_snowflake", "mutex snowflake, 12 bits"),
]


def boost_version():
    return VERSIONS.get("uuid", MACHINE["boost"].replace("_", "."))


NATIVE_PEERS = [
    ("peer/atomic_counter", "`std::atomic` counter", lambda: MACHINE["compiler"],
     "no time; one process; restarts with it"),
    ("peer/mutex_snowflake", "mutex snowflake (`bench/shim.c`)", lambda: "",
     "a preempted holder stops all threads; spins when a unit is exhausted; repeats IDs after `fork()`"),
    ("peer/libuuid_v1", "libuuid v1", lambda: VERSIONS.get("libuuid", ""),
     "safe across processes only with a daemon or a lock file; texts do not sort by time"),
    ("peer/libuuid_v4", "libuuid v4", lambda: VERSIONS.get("libuuid", ""),
     "random: unique by probability, no order"),
    ("peer/libuuid_v7", "libuuid v7", lambda: VERSIONS.get("libuuid", ""),
     "random within a millisecond: no order there"),
    ("peer/uuid7_h_mutex", "uuidv7.h, a mutex", lambda: VERSIONS.get("uuidv7-h", ""), "a preempted holder stops all threads"),
    ("peer/boost_uuid_v4", "Boost.Uuid v4, a generator per thread",
     boost_version, "random from a Mersenne twister: predictable, no order"),
    ("peer/boost_uuid_v7", "Boost.Uuid v7, a generator per thread",
     boost_version, "order within one thread only"),
    ("peer/ulid_c", "ulid-c, text, a generator per thread", lambda: VERSIONS.get("ulid-c", ""),
     "order within one thread only; times some ms late"),
    ("peer/yitter", "yitter, C", lambda: VERSIONS.get("IdGenerator", ""),
     "a preempted holder stops all threads; one generator in a process"),
    ("peer/uuid_v4", "uuid_v4, text, a generator per thread", lambda: VERSIONS.get("uuid_v4", ""),
     "random from a Mersenne twister: predictable, no order"),
]
GO_PEERS = [
    ("Xid", "Go rs/xid", "rs/xid", "24-bit counter per second, which wraps around unnoticed; resolution of a second"),
    ("Ksuid", "Go segmentio/ksuid", "segmentio/ksuid", "random within a second: no order there"),
    ("Ulid", "Go oklog/ulid, crypto/rand", "oklog/ulid", "random within a millisecond: no order there"),
    ("UlidMonotonic", "Go oklog/ulid, monotonic, mutex", "oklog/ulid",
     "order and uniqueness within this process' lock; the random part may overflow"),
    ("UuidV1", "Go google/uuid v1", "google/uuid", "14 random bits distinguish the processes of a host"),
    ("UuidV4", "Go google/uuid v4", "google/uuid", "random: unique by probability, no order"),
    ("GoogleUuidV7", "Go google/uuid v7", "google/uuid", "order within one process only"),
    ("UuidV7", "Go gofrs/uuid v7", "gofrs/uuid", "random within a millisecond: no order there"),
    ("Sno", "Go muyo/sno", "sno", "no check that a partition is unique"),
    ("Snowflake", "Go bwmarrin/snowflake", "snowflake", "no check that a node is unique; a mutex, and it spins when a unit is exhausted"),
    ("Sonyflake", "Go sony/sonyflake", "sonyflake", "256 IDs per 10 ms; a mutex, held while it sleeps"),
    ("FerroidBasic", "Rust ferroid, a generator per thread", "ferroid", "one thread; the time is a thread's tick, which does not follow the clock"),
    ("FerroidAtomic", "Rust ferroid, atomic", "ferroid", "the time is a thread's tick, which does not follow the clock"),
    ("FerroidLock", "Rust ferroid, lock", "ferroid", "the same, and a preempted holder stops all threads"),
    ("FastUuidV7", "Rust fast-uuid-v7", "fast-uuid-v7", "random within a millisecond: no order there; predictable"),
    ("FastUuidV7Text", "Rust fast-uuid-v7, text", "fast-uuid-v7", "random within a millisecond: no order there; predictable"),
]
NPM_PEERS = [
    ("flake-idgen", "npm flake-idgen, `next()`", "per process; an error when a unit is exhausted or the clock goes backwards"),
    ("nanoid", "npm nanoid", "random: unique by probability, no order"),
    ("ulid", "npm ulid", "random within a millisecond: no order there"),
    ("ulid-monotonic", "npm ulid, monotonic", "order within one process only"),
    ("uuid-v1", "npm uuid v1", "14 random bits distinguish the processes of a host"),
    ("uuid-v4", "npm uuid v4", "random: unique by probability, no order"),
    ("uuid-v7", "npm uuid v7", "order within one process only"),
    ("uuidv7", "npm uuidv7", "order within one process only"),
    ("crypto.randomUUID", "Node.js `crypto.randomUUID`", "random: unique by probability, no order"),
]


def go_ns(name, threads=1):
    return statistics.median(GO[name, threads]) if (name, threads) in GO else None


def go_core_ns(name, threads):
    """Of one core, as the other rows have it: Go's figures are by the wall."""
    found = go_ns(name, threads)
    return found * min(1, CORES / threads) if found else None


def npm_ns(name):
    return statistics.median(run["ns"] for run in NPM[name]) if name in NPM else None


def checked_words(checked):
    """checked: (threads, ids, duplicates) of each repetition. How many of the ids were distinct."""
    sums = {}
    for threads, ids, duplicates in checked:
        was = sums.get(threads, (0, 0))
        sums[threads] = was[0] + ids, was[1] + duplicates
    twice = [f"**{ids - duplicates:,.0f}** of {ids:,.0f}, {'1 thread' if threads == 1 else f'{threads} threads'}"
             for threads, (ids, duplicates) in sorted(sums.items()) if duplicates]
    all_ids = sum(ids for ids, _ in sums.values())
    return "; ".join(twice) or (f"all {all_ids:,.0f}" if all_ids else "")


def native_checked(name):
    return checked_words((t, run["ids"], run["duplicates"]) for (row, t), runs in RUNS.items() if row == name
                         for run in runs if run.get("ids"))


def go_checked(name):
    return checked_words((t, *counts) for (row, t), all_counts in GO_CHECKED.items() if row == name
                         for counts in all_counts)


def npm_checked(name):
    return checked_words((1, run["ids"], run["duplicates"]) for run in NPM[name])


# ---- UUIDs and ULIDs, by the order that they give ----

def rises(falls):
    falls = list(falls)
    return sum(falls) == 0 if falls else None


def native_order(name):
    """Whether ids rise in a thread, and across threads; None: not known."""
    runs = [(t, run) for (row, t), found in RUNS.items() if row == name for run in found if "falls" in run]
    return (rises(run["falls"] for _, run in runs), rises(run["falls_across"] for t, run in runs if t > 1))


def go_order(name):
    runs = [(t, *falls) for (row, t), found in GO_ORDER.items() if row == name for falls in found]
    return rises(falls for _, falls, _ in runs), rises(across for t, _, across in runs if t > 1 and across is not None)


def npm_order(name):
    return rises(run["falls"] for run in NPM[name] if "falls" in run), None


def others(known, found, words):
    """Peers that were measured and that no list above has words for: (name, how it is called here)."""
    return [(name, words(name)) for name in sorted(set(found) - set(known))]


# ---- the machines side by side ----

def figure(name, threads=1):
    """ns; "go/Name": of a peer in Go or Rust."""
    return go_ns(name[3:], threads) if name.startswith("go/") else ns(name, threads)


# What an ID is, our call, the other generator, the threads: the same work as far as there is any.
BESIDE = [
    ("64 bits, one generator for all threads", "flake/next_fast", "peer/mutex_snowflake", 1),
    ("the same on 2 threads at once, each", "flake/lanes_next_fast", "peer/mutex_snowflake", 2),
    ("64 bits, the clock read for each", "flake/next", "peer/yitter", 1),
    ("64 bits, for all threads, time some ms late", "flake/next_coarse", "go/FerroidAtomic", 1),
    ("64 bits, for one thread, no clock read", "flake/shard_try_at", "go/FerroidBasic", 1),
    ("80 bits", "sno/next_fast", "go/Sno", 1),
    ("UUIDv7 bytes; the other's rise in a thread only", "flake/uuid7_bytes", "peer/boost_uuid_v7", 1),
    ("UUIDv7 text; the other's do not rise", "flake/uuid7", "go/FastUuidV7Text", 1),
    ("ULID text; the other's rise in a thread only", "flake/ulid", "peer/ulid_c", 1),
    ("UUID text; the other's have no time", "flake/uuid7", "peer/uuid_v4", 1),
]
LABELS = {name: (f"{label}, {clock}", "") for name, label, clock in ONE_ID}
LABELS.update({name: (label.split(" (")[0], lacks) for name, label, _, lacks in NATIVE_PEERS})
LABELS.update({f"go/{name}": (label, lacks) for name, label, _, lacks in GO_PEERS})
LABELS.update({name: (label, "") for name, label in FLOORS})
ON_EACH = [(name, t) for name in ("floor/exact", "floor/coarse", "floor/counter", "floor/exact_fetch_add", "flake/next", "flake/next_coarse",
                                  "flake/next_fast", "flake/lanes_next", "flake/lanes_next_fast", "flake/shard_try_at", "sno/next",
                                  "flake/uuid7_bytes", "flake/uuid7") for t in (1, 2)]
KEPT = list(dict.fromkeys(ON_EACH + [(name, t) for _, ours, other, t in BESIDE for name in (ours, other)]))


def kept_machines():
    """(processor, date) -> (row, threads) -> ns: those of machines.tsv, this one replaced; the latest first."""
    file, found = REPORT.parent / "machines.tsv", {}
    for line in read_lines(file):
        processor, date, name, threads, value = line.split("\t")
        found.setdefault((processor, date), {})[name, int(threads)] = float(value)
    processor, date = f"{MACHINE['processor']}, {CORES} cores", MACHINE["date"][:10]
    found = {of: rows for of, rows in found.items() if of[0] != processor}
    found[processor, date] = {(name, t): float(f"{figure(name, t):.4g}") for name, t in KEPT if figure(name, t)}
    found = dict(sorted(found.items(), key=lambda of: of[0][1], reverse=True))
    file.write_text("".join(f"{of[0]}\t{of[1]}\t{name}\t{t}\t{value:g}\n" for of, rows in found.items()
                            for (name, t), value in rows.items()))
    return found


def short(processor):
    return re.sub(r"\(R\)|\(TM\)|,.*| (Processor|CPU)\b", "", processor)


def first_screen(machines):
    rows, lists = [], {of: [] for of in machines}
    for what, ours, other, t in BESIDE:
        cells = []
        for of, figures in machines.items():
            a, b = figures.get((ours, t)), figures.get((other, t))
            is_faster = a and b and b < a
            cells += [say(a), f"**{say(b)}**" if is_faster else say(b)]
            if is_faster:
                lists[of].append(f"- {what}: {LABELS[other][0]}, {say(b)} for {say(a)} ns ({LABELS[other][1]}).")
        rows.append((what, LABELS[ours][0], LABELS[other][0].replace(", a generator per thread", ""), *cells))
    heads = [word for processor, date in machines for word in (f"{short(processor)}, {date}: ours", "the other")]
    text = table(("ns per ID", "ours", "the other", *heads), rows).replace("---:", "---", 2) + "\n"
    for of, lines in lists.items():
        count = sum((other, t) in machines[of] for _, _, other, t in BESIDE)
        text += f"Faster than ours on {of[0]}, {of[1]}: " + (
            f"{len(lines)} of the {count} that were measured there.\n\n{filled(chr(10).join(lines))}\n" if lines
            else f"none of the {count} that were measured there.\n\n")
    return text.rstrip() + "\n"


def on_each_machine(machines):
    rows = [(LABELS[name][0], *(say(figures.get((name, t))) for figures in machines.values() for t in (1, 2)))
            for name in dict.fromkeys(name for name, _ in ON_EACH)]
    return table(("ns per ID", *(f"{short(processor)}, {date}: 1 thread" if t == 1 else "2 threads, each" for processor, date in machines for t in (1, 2))), rows)


def many_cores():
    """What bench/scale printed on a machine with many cores, saved beside the report."""
    file = REPORT.parent / "scale.txt"
    if file.exists():
        return f"{filled(on_all_cores())}\n```\n" + file.read_text() + "```\n"
    return filled("""No machine with more than 2 cores was at hand. `make bench-scale` builds one static program for such a machine: it
measures one word, lanes, shards, batches, UUIDs and a mutex on 1, 2, 4 ... all cores, pinned and not. Its output in
`scale.txt` beside this page is shown here.""")


def on_all_cores():
    """A sentence about the last column of scale.txt's second table, of pinned threads; "": there is none."""
    file = REPORT.parent / "scale.txt"
    head, _, pinned = file.read_text().partition("ns per ID, pinned") if file.exists() else ("", "", "")
    if not pinned:
        return ""
    date, processor = re.match(r"(\S+), \d+ cores, (.*), ", head).groups()
    most = pinned.split("\n", 1)[0].split()[-1]
    ns = {line.split()[0]: float(line.rstrip("? ").split()[-1]) for line in pinned.split("\n")[1:] if "/" in line}
    one, lanes, fast, mutex = (say(ns.get(name)) for name in (
        "flake/next", "flake/lanes_next", "flake/lanes_next_fast", "peer/mutex_snowflake"))
    return (f"{most} cores ({processor}, {date}), a thread on each: an ID takes its core {one} ns from one word, {lanes} ns with "
            f"lanes, {fast} ns with lanes and the fast clock, and {mutex} ns from a generator behind a mutex.")


# ---- the report ----

def scatter_words(scatter):
    return per_cent(None if scatter == math.inf else scatter, 2)


def busy_words():
    """What is to be said of a machine that did other work; "" of a quiet one."""
    if SCATTER <= 5:
        return ""
    if SCATTER == math.inf:
        return "**Too few repetitions to measure the scatter of these figures.**"
    return (f"**This machine was busy with other work: the median scatter of the rows on one thread is {scatter_words(SCATTER)}. "
            f"Smaller differences between figures in ns mean nothing; ratios of pairs are steadier.**")


def disturbed():
    """That, and rows whose threads did not run at once in a tenth of the bursts or more."""
    text = f"\n{busy_words()}\n" if busy_words() else ""
    rows = sorted({name for name, t in RUNS if 1 < t <= CORES and (counter(name, t, "alone") or 0) > 0.1})
    if not rows:
        return text
    return text + ("\nOther work on this machine kept the threads of these rows from running at the same time, so their "
            "figures for several threads are too low: " + ", ".join(f"`{r}`" for r in rows) + ".\n")


def head():
    threads = ", ".join(str(t) for t in sorted({t for _, t in RUNS}))
    rows = [
        ("date", datetime.fromisoformat(MACHINE["date"]).strftime("%Y-%m-%d %H:%M %z")),
        ("processor", f"{MACHINE['processor']}, {CORES} cores"),
        ("kernel", re.sub(r"(\d)-\S+", r"\1", MACHINE["kernel"])),
        ("clock source", MACHINE["clock_source"]),
        ("compiler, flags", f"{MACHINE['compiler']}, `{MACHINE['flags']}`"),
        ("Google Benchmark", f"{VERSIONS.get('benchmark', 'unknown')}; it repeats and collects; bench/shim.c measures the time"),
        ("threads", threads),
        ("repetitions", f"{REPETITIONS}, in random order; figures are their medians"),
        ("scatter", f"{scatter_words(SCATTER)}: the median of all rows on one thread"),
    ]
    for run, found in SCATTERS.items():
        load = read_pairs(run / "load.txt")
        rows.append(("this run" if run == TAKEN else "another run, not taken",
                     f"scatter {scatter_words(found)}; load {load.get('before', 'unknown')} before it, "
                     f"{load.get('after', 'unknown')} after it, its own included"))
    rows += [("skipped", what) for what in SKIPPED] + [("**failed**", what) for what in FAILED]
    return table(("", "this run"), rows).replace("---:", "---")


def floors():
    rows = [(label, say(ns(name)), per_cent(scatter(name)), say(ns(name, 2))) for name, label in FLOORS if ns(name)]
    return table(("step", "ns, 1 thread", "scatter", "ns each, 2 threads"), rows) + "\n" + written(clock_and_step)


def clock_and_step():
    ns = needed(globals()["ns"])
    apart = ns("floor/exact") + ns("floor/fetch_add")
    return f"""Separately, the exact clock and an uncontended fetch-and-add cost {say(ns('floor/exact'))} + {say(ns('floor/fetch_add'))} =
{say(apart)} ns. In one loop they cost {say(ns(FLOOR_OF_AN_ID))} ns, which is the floor of one ID.
"""


def one_id():
    rows = [(label, clock, say(ns(name)), per_cent(scatter(name)), say(floor_ns(name)),
             times_of(ratio(name)), say_cap(cap(name))) for name, label, clock in ONE_ID if ns(name)]
    return table(("call", "clock", "ns per ID", "scatter", "floor, ns", "ratio", "cap of the layout"), rows)


def batches():
    rows = []
    for name, label in BATCH_ROWS:
        if not any(ns(f"{name}/batch_{n}") for n in BATCHES):
            continue
        cells = [f"{say(ns(f'{name}/batch_{n}'))} ({times_of(ratio(f'{name}/batch_{n}'))})" for n in BATCHES]
        rows.append([label] + cells + [say_cap(cap(f"{name}/batch_1"))])
    return table(["ns per ID (ratio), in batches of"] + [str(n) for n in BATCHES] + ["cap"], rows)


def crowds():
    rows = []
    names = [(n, label) for n, label in FLOORS if (n, 2) in RUNS]
    names += [(n, f"{label}, {clock}") for n, label, clock in ONE_ID if (n, 2) in RUNS]
    names += [(f"{n}/batch_{size}", f"{label}, {size} at once") for n, label in BATCH_ROWS for size in BATCHES
              if (f"{n}/batch_{size}", 2) in RUNS]
    names += [(n, label) for n, label, _, _ in NATIVE_PEERS if ns(n)]
    for name, label in names:
        cells = []
        for t in CROWDS:
            r = ratio(name, t)
            cells.append(say(ns(name, t)) + (f" ({r:.2f})" if r else ""))
        rows.append([label] + cells + [say_cap(cap(name))])
    rows += [[label] + [say(go_core_ns(name, t)) for t in CROWDS] + [""]
             for name, label, _, _ in GO_PEERS if go_ns(name)]
    return table(["ns of one core per ID (ratio)"] + [f"{t}" for t in CROWDS] + ["cap"], rows)


def saturation():
    rows = []
    for name, label in SATURATION:
        row = f"saturation/{name}"
        for t in CROWDS:
            get = lambda key: counter(row, t, key)
            if get("ids_per_second") is None:
                continue
            rows.append((label, t, say_cap(cap(row)), f"{get('percent_of_cap'):.2f} %",
                         f"{get('cpu_s_per_million'):.3f}", say_time(get("p50_ns")),
                         say_time(get("p99_ns")), say_time(get("p999_ns")), say_time(get("worst_ns")),
                         *(times_of(get(key)).replace("–", "") for key in ("of_lanes", "on_cores", "of_threads"))))
    return table(("call", "threads", "cap", "of the cap", "CPU s per million", "p50", "p99", "p99.9",
                  "worst", "of lanes", "on cores", "of threads"), rows)


def texts():
    rows = [(label, say(ns(name)), per_cent(scatter(name)), times_of(ratio(name))) for name, label in TEXT_ROWS if ns(name)]
    for name, label in (("XidString", "Go rs/xid `String`"), ("KsuidString", "Go segmentio/ksuid `String`")):
        if go_ns(name):
            copy = ns("floor/copy")
            rows.append((label, say(go_ns(name)), "", times_of(go_ns(name) / copy if copy else None)))
    return table(("call", "ns per ID", "scatter", "ratio to a copy"), rows)


def native_peers():
    return NATIVE_PEERS + [(n, words, lambda: "", "") for n, words in others(
        [n for n, *_ in NATIVE_PEERS] + [n for n, _ in TEXT_ROWS], {n for n, _ in RUNS if n.startswith("peer/")}, str)]


def go_peers():
    return GO_PEERS + [(n, words, "", "") for n, words in others([n for n, *_ in GO_PEERS], {n for n, _ in GO_CHECKED}, "Go {}".format)]


def npm_peers():
    return NPM_PEERS + [(n, words, "") for n, words in others([n for n, *_ in NPM_PEERS] + ["Date.now"], NPM, "npm {}".format)]


def peers():
    floor = ns(FLOOR_OF_AN_ID)
    line = lambda label, version, t1, t2, checked, lacks, most=None: (
        label, version or "–", say(t1), say(t2), times_of(t1 / floor if t1 and floor else None), say_cap(most),
        checked, lacks)
    rows = [line(f"**{label}**, {clock}", "", ns(n), ns(n, 2), "all", "", cap(n)) for n, label, clock in ONE_ID
            if n in ("flake/next", "flake/lanes_next", "flake/shard_next", "sno/next", "sno/lanes_next") and ns(n)]
    rows += [line(label, version(), ns(name), ns(name, 2), native_checked(name), lacks, cap(name))
             for name, label, version, lacks in native_peers() if ns(name)]
    rows += [line(label, VERSIONS.get(package), go_ns(name), go_ns(name, 2), go_checked(name), lacks)
             for name, label, package, lacks in go_peers() if go_ns(name)]
    rows += [line(label, NPM[name][0]["version"], npm_ns(name), None, npm_checked(name), lacks)
             for name, label, lacks in npm_peers() if npm_ns(name)]
    return table(("generator", "version", "ns per ID", "2 threads, each", "to our floor", "cap",
                  "distinct", "what it lacks"), rows)


OUR_UUIDS = [name for name, _, _ in ONE_ID if re.search("uuid|ulid", name)]
NPM_UUIDS = ["uuid-v7", "uuidv7", "ulid", "ulid-monotonic"]
NO_ORDER = ["peer/libuuid_v1"]


def uuid_rows():
    """(label, ns, ns on two threads, (rises in a thread, across threads), ids twice, ours); the best order first."""
    found = [(f"**{label}**, {clock}", ns(n), ns(n, 2), native_order(n), native_checked(n), True)
             for n, label, clock in ONE_ID if n in OUR_UUIDS]
    found += [(label, ns(n), ns(n, 2), native_order(n), native_checked(n), False)
              for n, label, *_ in native_peers() if native_order(n) != (None, None) or n in NO_ORDER]
    found += [(label, go_ns(n), go_ns(n, 2), go_order(n), go_checked(n), False)
              for n, label, *_ in go_peers() if (n, 1) in GO_ORDER and not n.startswith("Ferroid")]
    found += [(label, npm_ns(n), None, npm_order(n), npm_checked(n), False)
              for n, label, *_ in npm_peers() if n in NPM and (n in NPM_UUIDS or n not in [known for known, *_ in NPM_PEERS])]
    return sorted((row for row in found if row[1]), key=lambda row: (not row[3][1], not row[3][0], row[1]))


def uuids():
    word = {True: "rise", False: "**fall**", None: "–"}
    rows = [(label, say(t1), say(t2), word[thread], word[across], checked)
            for label, t1, t2, (thread, across), checked, _ in uuid_rows()]
    return table(("generator", "ns per ID", "2 threads, each", "in a thread", "across threads", "distinct"), rows) \
        + "\n" + first_of_uuids()


def first_of_uuids():
    """Who is first of those that give a full order, and no id twice."""
    rows = [row for row in uuid_rows() if all(row[3]) and row[2] and "**" not in row[4]]
    others = [row for row in rows if not row[5]]

    def first(rows):
        one, two = (min(rows, key=lambda row: row[at]) for at in (1, 2))
        plain = lambda row: row[0].replace("**", "")
        return f"on one thread {plain(one)} with {say(one[1])} ns, on two {plain(two)} with {say(two[2])} ns each"
    text = f"The fastest whose IDs increase across threads: {first(rows)}." if rows else ""
    text += f" The fastest of them that are not ours: {first(others)}." if others and others != rows else ""
    return textwrap.fill(text, 112, break_on_hyphens=False) + "\n"


def call_of(path):
    """The call and the options that a name in guard.c stands for."""
    ways = {"lanes": "lanes", "shard": "`single_thread`"}
    way = re.search("_(lanes|shard)_", path)
    return f"`{path.replace(way[0], '_')}` with {ways[way[1]]}" if way else f"`{path}`"


def instructions():
    if not INSTRUCTIONS:
        return "Not measured in this run.\n"
    return f"For {GUARD_KEY}, with a clock that is a variable:\n\n" + table(
        ("path", "instructions per ID"), [(call_of(k), say(v)) for k, v in sorted(INSTRUCTIONS.items())])


def analysis():
    return written(where_each_nanosecond_goes, what_contention_costs, at_saturation, what_to_choose)


def where_each_nanosecond_goes():
    ns, ratio, floor = needed(globals()["ns"]), needed(globals()["ratio"]), needed(floor_ns)
    above = ns("flake/next") * (1 - 1 / ratio("flake/next"))
    measured = [(n, f"{label} ({clock})") for n, label, clock in ONE_ID if (n, 1) in RUNS and not n.endswith("_new_unit")]
    below = [n for n, _ in measured if ratio(n) <= 1.1]
    worst, worst_words = max(measured, key=lambda row: ratio(row[0]))
    first_draws = [(n, f"{label.split(',')[0]} ({clock})") for n, label, clock in ONE_ID if (n, 1) in RUNS and n.endswith("_new_unit")]
    if not first_draws:
        raise Missing("flake/next_new_unit")
    first, first_words = max(first_draws, key=lambda row: ns(row[0]) - floor(row[0]))
    counts = ""
    if INSTRUCTIONS:
        counts = f"""Apart from the clock, `flake_next` is {say(INSTRUCTIONS['flake_next'])} instructions, the loop
and its store included, and a processor runs several of them at once. """
    return f"""### Where each nanosecond goes

One `flake_next` with the exact clock takes {say(ns('flake/next'))} ns on one thread. Reading the exact clock takes
{say(ns('floor/exact'))} ns, a fetch-and-add {say(ns('floor/fetch_add'))} ns, the two in one loop
{say(ns(FLOOR_OF_AN_ID))} ns. By the ratio to that, the library adds {say(above)} ns. {counts}So the clock
is most of an ID's cost, and a call that reads it less often costs less:

- the coarse clock takes {say(ns('floor/coarse'))} ns instead of {say(ns('floor/exact'))}:
  `flake_next` takes {say(ns('flake/next_coarse'))} ns;
- a caller that already has the time pays {say(ns('flake/try_at'))} ns, where the CAS
  alone takes {say(ns('floor/given_cas'))} ns;
- a generator with `single_thread` needs no locked instruction: {say(ns('flake/shard_next'))} ns with the exact clock,
  {say(ns('flake/shard_next_coarse'))} ns with the coarse one, {say(ns('flake/shard_try_at'))} ns with the
  caller's time, where {say(ns('floor/given_store'))} ns is what it takes to load, add to and store one word;
- a batch of 4096 pays for clock and CAS once, and then for writing:
  {say(ns('flake/batch_4096'))} ns per ID of 64 bits, {say(ns('sno/batch_4096'))} ns of 80,
  {say(ns('flake128/batch_4096'))} ns of 128, where `memset` takes {say(ns('floor/memset_8'))},
  {say(ns('floor/memset_10'))} and {say(ns('floor/memset_16'))} ns for as many bytes.

The first ID of a unit takes a longer path, which changes the time: `flake_next` without a clock takes
{say(ns('flake/next_new_unit'))} ns. Of the {len(first_draws)} calls measured "each in a new unit" the farthest
above its floor is {first_words}, by {say(ns(first) - floor(first))} ns. A busy generator takes that path once per
millisecond, a quiet one for each ID.

Of the {len(measured)} other ways to generate one ID, {len(below)} are within 1.10 times their floor in this run. The
farthest above it is {worst_words} with {times_of(ratio(worst))}.
"""


def what_contention_costs():
    ns = needed(globals()["ns"])
    return f"""### What contention costs, and how lanes and shards avoid it

A locked instruction needs exclusive access to its cache line. Alone, a fetch-and-add takes
{say(ns('floor/fetch_add'))} ns; when another core wants the same line, it takes
{say(ns('floor/fetch_add', 2))} ns, since the line has to be transferred first. A CAS takes {say(ns('floor/cas', 2))} ns then, because it retries
when another core has changed the word. After a clock reading, `flake_next` on two threads at once takes
{say(ns('flake/next', 2))} ns of each thread, and the bare clock and fetch-and-add
{say(ns('floor/exact_fetch_add', 2))} ns. Two threads together
then generate {say(2e3 / ns('flake/next', 2))} million IDs per second, one alone {say(1e3 / ns('flake/next'))}
million{": more cores make a shared word slower, not faster" if ns('flake/next', 2) > 2 * ns('flake/next')
        else ""}.

Each lane has a word, and a thread prefers the lane that last served its core. So two
threads of `flake_next` with lanes take {say(ns('flake/lanes_next', 2))} ns per ID where one takes
{say(ns('flake/lanes_next'))} ns, and with the fast clock {say(ns('flake/lanes_next_fast', 2))} against
{say(ns('flake/lanes_next_fast'))} ns; `sno_next` with lanes takes {say(ns('sno/lanes_next', 2))} against
{say(ns('sno/lanes_next'))} ns. Together two threads generate {say(2e3 / ns('flake/lanes_next', 2))} million IDs per second,
with the fast clock {say(2e3 / ns('flake/lanes_next_fast', 2))} million.

Shards share no cache line either, and need no locked instruction. Two threads with a shard each take
{say(ns('flake/shard_next', 2))} ns per ID where one takes {say(ns('flake/shard_next'))} ns, and with the coarse clock
{say(ns('flake/shard_next_coarse', 2))} against {say(ns('flake/shard_next_coarse'))} ns. A mutex around a plain counter
pays for the cache line and also for the waiting: {say(ns('peer/mutex_snowflake'))} ns alone,
{say(ns('peer/mutex_snowflake', 2))} ns with one rival.
"""


def at_saturation():
    many, cap, counted = 64, needed(globals()["cap"]), needed(counter)
    sat = lambda name, t, key: counted(f"saturation/{name}", t, key)
    return f"""### At saturation

So far the generators had IDs available. At saturation the layout is the limit: 12 bits per millisecond are
{say_cap(cap('saturation/flake/next'))} for any implementation. `flake_next` reaches
{sat('flake/next', 1, 'percent_of_cap'):.2f} % of that on one thread and
{sat('flake/next', many, 'percent_of_cap'):.2f} % on {many}, for
{sat('flake/next', 1, 'cpu_s_per_million'):.3f} and {sat('flake/next', many, 'cpu_s_per_million'):.3f} CPU
seconds per million IDs; the mutex snowflake, which spins until the unit is over, takes
{sat('peer/mutex_snowflake', 1, 'cpu_s_per_million'):.3f} and
{sat('peer/mutex_snowflake', many, 'cpu_s_per_million'):.3f}. On {many} threads the worst call of
`flake_next` took {say_time(sat('flake/next', many, 'worst_ns'))}, that of the mutex snowflake
{say_time(sat('peer/mutex_snowflake', many, 'worst_ns'))}; the busiest thread generated
{say(sat('flake/next', many, 'of_threads'))} and {say(sat('peer/mutex_snowflake', many, 'of_threads'))} times as many
IDs as the idlest.

With lanes one thread can use all IDs of a unit: `flake_next` with lanes reaches {sat('flake/lanes_next', 1, 'percent_of_cap'):.2f} % of
the cap on one thread, and {sat('flake/lanes_next', many, 'percent_of_cap'):.2f} % on {many}. There the busiest lane generated
{sat('flake/lanes_next', many, 'of_lanes'):.2f} times as many IDs as the idlest, and the busiest core
{sat('flake/lanes_next', many, 'on_cores'):.2f} times as many as the idlest. A shard cannot use what
another one leaves: its thread has only its share of a unit.

sno's cap is
{cap('saturation/sno/next') / cap('saturation/flake/next'):.0f} times as high: {many} threads of `sno_next` that share one word would need
{sat('sno/next', many, 'cpu_s_per_million') * cap('saturation/sno/next') / 1e6:.1f} cores to reach
it, those of `sno_next` with lanes {sat('sno/lanes_next', many, 'cpu_s_per_million') * cap('saturation/sno/next') / 1e6:.1f}, and those with a shard each {sat('sno/shard_next', many, 'cpu_s_per_million') * cap('saturation/sno/next') / 1e6:.1f}.
"""


def what_to_choose():
    ns, cap = needed(globals()["ns"]), needed(globals()["cap"])
    saved = ns("flake/lanes_next", 2) - ns("flake/lanes_next_fast", 2)
    saved_words = "In this run it saved nothing." if saved <= 0 else (
        f"It saves {say(saved)} ns per ID, which is 1 % of a core at {say(10 / saved)} million IDs per second. ")
    return f"""### What to choose

- A program that generates in one thread, or few IDs: `flake_next` or `sno_next` as they are. An ID takes
  {say(ns('flake/next_fast'))} ns, less than most of what a program does with it.
- A server of many threads: `options.lanes`, with `flake_next` or `sno_next`. There is one object for all threads. An ID takes
  {say(ns('flake/lanes_next_fast', 2))} ns on each of two threads, where `flake_next` without lanes takes
  {say(ns('flake/next_fast', 2))}, and any thread can use all IDs of a unit. The price: IDs of the same unit are unordered.
- The exact clock, if the clock is stepped often, which the fast one notices half a millisecond late:
  {say(ns('flake/lanes_next', 2))} ns with lanes on each of two threads, {say(ns('flake/next'))} for `flake_next` on one.
  The fast clock is the default. {saved_words} If the processor's counter is slow or distrusted, and for rare IDs, the
  exact clock is used automatically. `flake time` measures the clocks on your machine, and prints which to configure.
- The coarse clock, {say(ns('flake/lanes_next_coarse', 2))} ns with lanes, if timestamps may be some milliseconds late.
- A loop that reads the clock anyway: `flake_try_at`, {say(ns('flake/try_at'))} ns.
- A fixed number of threads, each with an event loop: a shard for each,
  {say(ns('flake/shard_try_at', 2))} ns with the loop's time, whatever the other threads do. The price: a thread has only
  its share of the unit.
- Many IDs at once: `flake_next_n`, {say(ns('flake/batch_16'))} ns per ID in batches of 16. Or a stock
  for each thread, `flake_prefetch_next`, {say(ns('flake/prefetch_1024'))} ns, whose IDs are as old as the
  stock.
- More than {say_cap(cap('saturation/flake/next'))} on one node: a layout with more sequence bits, since no
  generator exceeds its layout; sno has {say_cap(cap('sno/next'))}.
"""


def plots():
    colour = {"flake": COLOURS[0], "sno": COLOURS[1], "flake128": COLOURS[2], "peer": COLOURS[5]}
    of = lambda name: colour[name.split("/")[0]]
    plain = lambda label: label.replace("`", "").replace("**", "")
    plot_bars("one_id.svg", "One ID, one thread, under capacity", "ns per ID",
              [(f"{plain(label)}, {clock}".replace(", exact clock", "").replace(", stock of 1024", ""),
                ns(name), floor_ns(name), of(name)) for name, label, clock in ONE_ID])
    plot_lines("batches.svg", "IDs in batches", "IDs in a batch", "ns per ID", BATCHES,
               [(plain(label), [ns(f"{name}/batch_{n}") for n in BATCHES], False) for name, label in BATCH_ROWS])
    series = [("floor/exact_fetch_add", "floor: clock, fetch-and-add", True),
              ("flake/next", "flake_next", False),
              ("flake/lanes_next", "flake_next, lanes", False), ("flake/lanes_next_fast", "flake_next, lanes, fast", False),
              ("flake/shard_next", "flake_next, single_thread", False),
              ("flake/shard_next_coarse", "flake_next, single_thread, coarse", False),
              ("flake/shard_try_at", "flake_try_at, single_thread", False),
              ("peer/atomic_counter", "std::atomic counter", True),
              ("peer/mutex_snowflake", "mutex snowflake", True)]
    plot_lines("threads.svg", "Threads at once, under capacity", "threads", "ns of one core per ID", CROWDS,
               [(label, [ns(name, t) for t in CROWDS], dashed) for name, label, dashed in series])
    plot_lines("saturation.svg", "At saturation", "threads", "CPU seconds per million IDs", CROWDS,
               [(plain(label), [counter(f"saturation/{name}", t, "cpu_s_per_million") for t in CROWDS],
                 name.startswith("peer")) for name, label in SATURATION])
    bars = [(f"{plain(label)}, {clock}", ns(name), floor_ns(name), of(name)) for name, label, clock in ONE_ID
            if name in ("flake/next", "flake/lanes_next_fast", "flake/shard_next_coarse", "sno/next")]
    bars += [(plain(label).split(" (")[0], ns(name), None, of(name)) for name, label, _, _ in NATIVE_PEERS]
    bars += [(plain(label), go_ns(name), None, COLOURS[3]) for name, label, _, _ in GO_PEERS]
    bars += [(plain(label), npm_ns(name), None, COLOURS[4]) for name, label, _ in NPM_PEERS]
    plot_bars("peers.svg", "One ID, one thread: peers", "ns per ID", bars)


def report():
    machines = KEPT_MACHINES
    return f"""<!-- written by bench/report.py: make bench-report -->
# Figures

`make bench-report` measures everything again and writes this file. The script fills in every figure, in the prose, too.
Bold: faster than ours. All IDs of all rows were checked: [how many were distinct](#peers).

{first_screen(machines)}
## Machines

The same calls on each processor that was measured. The rest of this page is of one run, below.

{on_each_machine(machines)}
{many_cores()}
## This run

{head()}
**Method.** IDs are generated in bursts. A burst is timed, then its IDs are stored, and at the end of a row all IDs of all
threads are checked for duplicates. If a row of this library has a duplicate, it has failed: it has no figure and is listed
above. So each time below is that of unique IDs (texts are parsed and compared). A peer's row says how many of its IDs
were distinct. Rows "under capacity" use a 64-bit layout with 24 bits of sequence, or start each burst in a fresh unit (sno and 128
bits), so that no call waits for time to pass.

The ratio is to the row's floor, a loop of the steps that such a call cannot avoid, with the same dependences: what its CAS or
store writes depends on the reading and on the word, and both decide about its fetch-and-add. It uses the same instruction as
the call (`_next` and `sno_next` a fetch-and-add, `_try`, lanes and batches a CAS, shards a store) and writes 8 bytes for
each ID. The first table lists the floors. No floor includes the keyed functions of a UUID or ULID, which are our own cost.

On one thread each burst of a row has a burst of its floor right next to it, and the ratio is the median of all these pairs.
A machine's speed changes during a run, so a ratio is more reliable than two figures in nanoseconds, and need not
be their quotient. The figure of a repetition is that of its median burst, or the mean of its bursts if there are more
threads than cores. Scatter is half the distance between the quartiles of the repetitions.

With more threads than the {CORES} cores of this machine, times are CPU time, not wall time. Then
no more than {CORES} threads run at once. Bursts of sno and 128 bits must fit into a unit, and are so short that few of
them overlap: those columns are a lower bound of what many threads cost. If there is a core for each thread, a burst
counts only if all threads ran at once.
{disturbed()}
## Floors

{floors()}
## One ID, one thread

{one_id()}
![one ID](one_id.svg)

## Batches

{batches()}
![batches](batches.svg)

The floor of a batch is a clock reading and a CAS, shared by its IDs, and a `memset` of as many bytes.

## Threads

Time of one core per ID: with perfect scaling a row is constant. The ratio is to the floor at the
same number of threads.

{crowds()}
![threads](threads.svg)

## Saturation

All threads generate as fast as they can from one generator (or a shard each) of flake-idgen's layout, 12 bits
per millisecond, of sno's, 16 bits per 4 ms, or of 128 bits, 16 bits per millisecond, which only batches exhaust.
Latencies are of single calls, however many IDs these generate, and include a clock reading.

The last columns show fairness: the ratio of the busiest to the idlest. "Of lanes" counts the IDs of each lane; "on cores"
those generated by any thread on a core, if there are more threads than cores; "of threads" those of each thread. Lanes
are designed for the first: the busiest generates no more than twice as many IDs as the idlest. No thread owns a lane. It
uses the lane of the core on which it runs, and others when that one is exhausted. The operating system chooses the
core and the time, which the other two columns show: in so short a run, a tenth of a second by default, each of many
threads runs once or a few times.

{saturation()}
![saturation](saturation.svg)

## Text

{texts()}
## Peers

Each is used as its documentation shows. The cap is that of the layout, if there is one. Go and Node.js use the clock of their
runtime ({say(go_ns('Clock'))} ns a reading in Go, {say(npm_ns('Date.now'))} ns in Node.js). Their IDs are checked as
well; "distinct" covers all threads and repetitions. Bursts of the Rust crates and of Go's snowflakes begin in a fresh
unit and do not exhaust it; on several threads they may overlap only in part.

{peers()}
![peers](peers.svg)

## UUIDv7 and ULID, beside others

"In a thread" is judged by all timed IDs. "Across threads" is judged by untimed calls of two or more threads: an ID
must be greater than each one that any thread had returned before its call started. It is not judged for v1, which has the
low bits of its time first, nor for Node.js, where each thread has a separate generator. Rows of Node.js generate texts, all others
bytes unless the row says "text".

{uuids()}
## Instructions

{instructions()}
## Analysis

{analysis()}"""


def readme():
    pick = ["flake/next", "flake/next_fast", "flake/lanes_next_fast"]
    two = dict(list(KEPT_MACHINES.items())[:2])
    on_each = [needed(lambda name, t=1, figures=figures: figures.get((name, t))) for figures in two.values()]
    rows = [(LABELS[name][0], *(say(on(name, t)) for on in on_each for t in (1, 2))) for name in pick]
    heads = [word for processor, _ in two for word in (f"{short(processor)}: 1 thread", "2 threads, each")]
    floors = ", ".join(say(on(FLOOR_OF_AN_ID)) for on in on_each)
    conditions = f"""
{"; ".join(f"{processor}, {date}" for processor, date in two)}; the latest with {MACHINE['compiler']}, `{MACHINE['flags']}`. The floor of one ID is a clock reading and an uncontended fetch-and-add: {floors} ns. {busy_words()}
{on_all_cores()}"""
    return table(("ns per ID", *heads), rows) + "\n" + textwrap.fill(conditions.strip(), 112, break_on_hyphens=False) + "\n"


def write_readme(path):
    begin, end = "<!-- bench begin -->\n", "<!-- bench end -->"
    text = path.read_text()
    if begin not in text or end not in text:
        sys.exit(f"{path} has no {begin.strip()} and {end}")
    try:
        path.write_text(text[:text.index(begin) + len(begin)] + readme() + text[text.index(end):])
    except Missing as lacks:
        sys.exit(f"{path} is left as it is: {lacks} has no figure in this run")


plots()
KEPT_MACHINES = kept_machines()
REPORT.write_text(report())
print(f"{REPORT} and its plots are written: the quietest of {len(SCATTERS)} runs, scatter {scatter_words(SCATTER)}")
if OPTIONS.readme:
    write_readme(OPTIONS.readme)
    print(f"and the table in {OPTIONS.readme}")
for what in FAILED:
    print(f"failed: {what}", file=sys.stderr)
sys.exit(any(not re.match("peer/|Go |npm ", what) for what in FAILED))  # a row of ours
