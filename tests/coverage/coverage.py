#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage.py BUILD   which lines and branches of the headers the tests take, and which they don't.

    JOBS=2      programs at a time
    ETCD=1      with the tests against etcd members, which take a minute and a half (needs etcd, libcurl)
    ALL=1       lists what nothing takes with its reasons too

Builds each test, each fuzzer's replay of its corpus and the quick scenarios of the explorers with clang's
coverage, runs them once, and adds up. What a child of fork() runs counts, also one that is killed: counters
lie in a mapped file. A program's lines are kept in BUILD/coverage until a file that it could be made of
changes.

flake_etcd.h is judged with ETCD=1 alone.

What nothing takes is listed, unless tests/coverage/untaken names it with a reason. That file also says
how much must be taken at least; closes with "N passed, N failed", one for each of these.

Lines that this machine's preprocessor leaves out don't count, nor conditions that the compiler knows.
The headers must not be system headers here (FLAKE_SHOW_WARNINGS): clang counts none of these.
"""
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HEADERS = tuple(h for h in ("flake.h", "sno.h", "extras/etcd/flake_etcd.h") if Path(h).exists())
FLAGS = ["-std=c11", "-w", "-DFLAKE_SHOW_WARNINGS", "-pthread", "-DTEST_SMALL", "-DRUNS=3000",
         "-Itests/support", "-Iextras/etcd"]
COUNT = ["-O0", "-fprofile-instr-generate", "-fcoverage-mapping", "-mllvm", "-runtime-counter-relocation"]
# The explorer's scenarios that take less than half a second each; the others take minutes together.
SCENARIOS = ("every_ flake_add flake_cas flake_try flake_full flake_g flake_ah flake_l flake_c flake_e "
             "flake_r flake_3x1_b flake_st flake_sn flake_batch flake_mixed flake_prefetch sno_add_f "
             "sno_add_s sno_gate close_f close_l close_p").split()
ORDERS = ("safe_53 safe_25 safe_cap safe_look snapshot_5 snapshot_h snapshot_o stats note ring claim_w claim_l claim_e "
          "claim_t claim_c page drifts ask wait_r").split()
LIMIT_S = 900


class Program:
    """One program that runs lines of the headers."""

    def __init__(self, name, source, words=(), flags=(), script=None):
        self.name, self.source, self.words, self.flags = name, source, list(words), list(flags)
        self.script = script                      # what runs it with etcd members; None: itself

    @property
    def is_vast(self):
        """Whether it maps more than its memory: etcd maps 10 GB of file."""
        return self.script is not None

    def command(self, program):
        return self.script(program) if self.script else [str(program), *self.words]


def has_curl():
    return subprocess.run(["clang", "-E", "-x", "c", "-include", "curl/curl.h", "/dev/null"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def can_etcd():
    return has_curl() and bool(shutil.which("etcd")) and bool(shutil.which("openssl"))


def programs(root, etcd):
    """name -> Program; paths are relative to root, but for what stands on a command line."""
    root, found = Path(root), {}

    def add(*given, **more):
        found[given[0]] = Program(*given, **more)
    for corpus in sorted((root / "fuzz/corpus").iterdir()):
        curl = ["-lcurl"] if corpus.name == "claims" else []
        if corpus.name != "claims" or has_curl():
            add(f"replay_{corpus.name}", f"fuzz/fuzz_{corpus.name}.c",
                words=sorted(str(seed.resolve()) for seed in corpus.iterdir()), flags=curl)
    for test in sorted((root / "tests/unit").glob("test_*.c")):
        add(test.stem, f"tests/unit/{test.name}")
    add("explore_engine", "tests/explore/explore_engine.c", words=SCENARIOS, flags=["-O1"])
    add("explore_orders", "tests/explore/explore_orders.c", words=ORDERS, flags=["-O1"])
    if has_curl():
        script = str((root / "tests/etcd/etcd.sh").resolve())
        for test in sorted((root / "tests/etcd").glob("test_*.c")):
            is_alone = "cluster_main(" not in test.read_text()    # needs no members
            if not is_alone and not etcd:
                continue
            add(f"test_etcd_{test.stem[5:]}", f"tests/etcd/{test.name}", flags=["-lcurl"],
                script=None if is_alone else
                lambda program: [script, "run", f"{program}-members", "/bin/echo", str(program), "--"])
    return found


def digest(root):
    """Of all that the programs are made of."""
    whole = hashlib.sha256()
    for top in ("flake.h", "sno.h", "tools", "extras", "tests", "fuzz"):
        top = Path(root) / top
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            is_part = path.suffix in (".h", ".c", ".tsv") or "corpus" in path.parts or path.name == "coverage.py"
            if path.is_file() and is_part and not path.name.startswith("soak"):
                whole.update(f"{path.relative_to(root)} {path.stat().st_size}\n".encode())
                whole.update(path.read_bytes())
    return whole.hexdigest()[:12]


def present(root, program):
    """header -> the lines of which something is left when comments and what #if leaves out are gone."""
    made = subprocess.run(["clang", *FLAGS, "-I.", "-E", program.source, *program.flags], cwd=root, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    found, header, number = {os.path.basename(h): set() for h in HEADERS}, None, 0
    for line in made.splitlines():
        if mark := re.match(r'# (\d+) "(.*?)"', line):
            number, header = int(mark[1]), found.get(os.path.basename(mark[2]))
        else:
            if header is not None and line.strip():
                header.add(number)
            number += 1
    return found


def measure(root, folder, program):
    """What it takes: {"lines": {header: {line: times}}, "branches": {header: {place: [true, false]}}},
    with the tests that failed and the seconds that it took."""
    at = folder / program.name
    kept = folder / f"{program.name}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    for old in folder.glob(f"{program.name}-*.profraw"):
        old.unlink()
    built = subprocess.run(["clang", *FLAGS, "-I.", *COUNT, program.source, "-o", str(at), *program.flags],
                           cwd=root, stderr=subprocess.PIPE, text=True, check=False)
    if built.returncode:
        return dict(seconds=0, code="does not compile", failed=[], lines={}, branches={})
    scratch = folder / f"{program.name}.tmp"
    scratch.mkdir(exist_ok=True)
    environment = dict(os.environ, TMPDIR=str(scratch), LLVM_PROFILE_FILE=f"{at}-%p%c.profraw")
    began = time.time()
    child = subprocess.Popen(program.command(at), cwd=root, env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        said = child.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return dict(seconds=LIMIT_S, code=f"is stopped after {LIMIT_S} s", failed=[], lines={}, branches={})
    seconds = time.time() - began
    shutil.rmtree(scratch, ignore_errors=True)
    raw = [str(path) for path in folder.glob(f"{program.name}-*.profraw")]
    subprocess.run(["llvm-profdata", "merge", "-sparse", *raw, "-o", f"{at}.profdata"], check=True)
    result = dict(seconds=seconds, code=child.returncode, failed=re.findall(r"^FAIL (\S+)", said, re.M),
                  lines={}, branches={})
    export = ["llvm-cov", "export", f"-instr-profile={at}.profdata", str(at)]
    sources = [str((Path(root) / header).resolve()) for header in HEADERS]
    lcov = subprocess.run([*export, "-format=lcov", *sources], check=True, stdout=subprocess.PIPE, text=True).stdout
    is_left = present(root, program)
    for line in lcov.splitlines():
        if line.startswith("SF:"):
            lines, left = (found.setdefault(os.path.basename(line), {}) for found in (result["lines"], is_left))
        elif line.startswith("DA:"):
            number, times = line[3:].split(",")[:2]
            if int(number) in left:
                lines[number] = lines.get(number, 0) + int(times)
    exported = subprocess.run([*export, "-skip-functions", *sources], check=True, stdout=subprocess.PIPE).stdout
    for file in json.loads(exported)["data"][0]["files"]:
        branches = result["branches"].setdefault(os.path.basename(file["filename"]), {})
        for from_line, from_at, to_line, to_at, if_true, if_false, *_ in file["branches"]:
            taken = branches.setdefault(f"{from_line}:{from_at}:{to_line}:{to_at}", [0, 0])
            taken[0] += if_true
            taken[1] += if_false
    for path in raw:
        os.unlink(path)
    at.unlink()
    kept.write_text(json.dumps(result))
    return result


def measure_all(root, build, etcd, jobs):
    """name -> what `measure` says, for each program, of the sources as they are."""
    folder = Path(build).resolve() / "coverage" / digest(root)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.parent.iterdir():
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)
    found = programs(root, etcd)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return dict(zip(found, pool.map(lambda p: measure(root, folder, p), found.values())))


# ---- what is taken ----

def sections(text):
    """The section of each line, by its number from 1; the engine's are parted further: engine/PART."""
    names, section, part = [""], "", ""
    for line in text:
        if mark := re.match(r"// >>(.+)", line):
            section, part = mark[1], ""
        elif section == "engine" and (mark := re.match(r"/\* ---- (.+?)( ----|:)", line)):
            part = mark[1].strip()
        names.append(f"engine/{part}" if section == "engine" else section)
    return names


def text_between(text, place):
    from_line, from_at, to_line, to_at = map(int, place.split(":"))
    if from_line == to_line:
        return text[from_line - 1][from_at - 1:to_at - 1]
    return " ".join([text[from_line - 1][from_at - 1:].strip(), *(line.strip() for line in text[from_line:to_line - 1]),
                     text[to_line - 1][:to_at - 1].strip()])


class Untaken:
    """tests/coverage/untaken."""

    def __init__(self, path):
        self.least, self.reasons = {}, {}
        for line in path.read_text().splitlines() if path.exists() else []:
            if line.startswith("least\t"):
                _, header, lines, branches = line.split("\t")
                self.least[header] = (float(lines), float(branches))
            elif line and not line.startswith("#"):
                where, what, text, reason = line.split("\t")
                self.reasons[where, what, text] = reason


class Part:
    """What is counted of a header."""

    def __init__(self):
        self.lines = collections.Counter()
        self.branches = collections.defaultdict(lambda: [0, 0])
        self.where = {}                           # a line or branch: header, section, line's number, its text


def parts(measured):
    """By header."""
    found = {header: Part() for header in HEADERS}
    for header, part in found.items():
        text = Path(header).read_text().splitlines()
        section_of = sections(text)
        for result in measured.values():
            for number, times in result["lines"].get(os.path.basename(header), {}).items():
                at = int(number)
                part.lines[at] += times
                part.where[at] = (header, section_of[at], at, text[at - 1])
            for place, times in result["branches"].get(os.path.basename(header), {}).items():
                number, column = map(int, place.split(":")[:2])
                taken = part.branches[number, column]
                taken[0] += times[0]
                taken[1] += times[1]
                condition = re.sub(r"\s+", " ", text_between(text, place))
                part.where[number, column] = (header, section_of[number], number, text[number - 1], condition)
    return found


def judge(name, part, untaken):
    """Lists what nothing takes, and the sections; whether lines and branches are as many as they must be."""
    totals = collections.defaultdict(lambda: [0, 0, 0, 0])
    argued = 0
    for number in sorted(part.lines):
        header, section, at, text = part.where[number]
        totals[section][0] += part.lines[number] > 0
        totals[section][1] += 1
        if not part.lines[number]:
            argued += tell(untaken, name, header, at, "line", text.strip())
    for key in sorted(part.branches):
        header, section, at, text, condition = part.where[key]
        if not part.lines[key[0]]:
            continue                              # its line is said already
        for side, times in zip(("true", "false"), part.branches[key]):
            totals[section][2] += times > 0
            totals[section][3] += 1
            if not times:
                argued += tell(untaken, name, header, at, f"never {side}: {condition}", text.strip())
    if not totals:
        sys.exit(f"no line of {name} was counted")
    print(f"\n{name:34}{'lines':>8}{'of':>6}{'%':>7}{'branches':>10}{'of':>6}{'%':>7}")
    whole = [sum(column) for column in zip(*totals.values())]
    for section, total in [*totals.items(), ("all", whole)]:
        print(f"  {section:32}{total[0]:8}{total[1]:6}{percent(*total[:2]):7.1f}{total[2]:10}{total[3]:6}"
              f"{percent(*total[2:]):7.1f}")
    print(f"  {argued} that nothing takes have a reason in tests/coverage/untaken")
    verdicts = []
    for what, is_now, least in zip(("lines", "branches"), (percent(*whole[:2]), percent(*whole[2:])),
                                   untaken.least.get(name, (99.0, 95.0))):
        verdicts.append(is_now >= least)
        print(f"{'ok' if is_now >= least else 'FAIL':5}{name}: {is_now:.1f} % of its {what} are taken, "
              f"at least {least} must be")
    return verdicts


def main():
    build = sys.argv[1]
    etcd = os.environ.get("ETCD") == "1"
    if not shutil.which("clang") or not shutil.which("llvm-cov") or not shutil.which("llvm-profdata"):
        sys.exit("coverage needs clang, llvm-cov and llvm-profdata")
    if etcd and not can_etcd():
        sys.exit("ETCD=1 needs etcd, openssl and libcurl")
    measured = measure_all(".", build, etcd, int(os.environ.get("JOBS") or 2))
    untaken = Untaken(Path("tests/coverage/untaken"))
    verdicts = []
    for name, part in parts(measured).items():
        if etcd or "etcd" not in name:
            verdicts += judge(name, part, untaken)
    for name, result in measured.items():
        if result["code"]:
            verdicts.append(False)
            print(f"FAIL {name}: {result['code']} {' '.join(result['failed'])}")
    print(f"{sum(verdicts)} passed, {len(verdicts) - sum(verdicts)} failed")
    return not all(verdicts)


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def tell(untaken, name, header, number, what, text):
    """Lists what nothing takes; whether it has a reason."""
    reason = untaken.reasons.get((name, what, text))
    if reason is None or os.environ.get("ALL"):
        print(f"{header}:{number}: {what}: {text}" + (f"  ({reason})" if reason else ""))
    return reason is not None


if __name__ == "__main__":
    sys.exit(main())
