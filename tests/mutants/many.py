#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""many.py BUILD   makes mutants of flake.h and sno.h by rule, and says which of them no test catches.

    SEED=...      another order of the mutants (the commit's hash)
    SAMPLE=60     only so many, the first in that order (all); one in five may survive without a reason
    PER_LINE=1    at most so many of each line; 0: all that the rules make
    ONLY=WORDS    only in sections whose names contain one of the words, such as "common/engine text"
    JOBS=2        at a time
    MINUTES=...   begins no more after so long; call again to go on
    ARGUED=1      judges those that tests/mutants/survivors has a reason for, too
    ETCD=1        the etcd section too, against etcd members: up to six minutes each. How its answers are read
                  is judged without members, too, wherever libcurl is
    ETCD=alone    the etcd section too, by the tests that need no members: seconds each. Those that survive
                  this are no survivors yet: ETCD=1 asks again what caught the others, and then the members
    CC=clang      compiler of the programs (gcc takes twice as long)

A mutant is one edit of one line: a comparison turned, a constant by one, && for || and the reverse, a
condition negated or left out, an operator swapped, a statement left out, another status returned. One
of the common region stands in both headers. Memory orders are not touched: the explorer, the models
and the table of hand-written mutants see to them.

It is judged by the programs that run its line, the fuzzers' replays first, then the tests, the
cheapest first, then models and explorer, then those that ask etcd members, and the first four without
members once more under the sanitizers; clang's coverage says which do (see tests/coverage/coverage.py). It is
    caught      a test failed, and failed once more when it was run again by itself
    same code   a compiler, gcc or clang, makes the same of it at -O2: no mutant at all
    argued      it survives, and tests/mutants/survivors says why that is right
    SURVIVED    it survives
    hangs       two time limits were hit, the second by a program that had the machine to itself, while the
                headers as they are took less than a quarter of it
    UNDECIDED   a time limit was hit, or etcd members did not answer, which may be the machine's doing
and one that does not compile counts nowhere. Tests that measure how busy the machine is catch nothing,
nor do those that fail on the headers as they are, which is a failure itself.

All is done in a copy of the sources. Results are kept in BUILD/mutants-many/SOURCES.tsv, one line a
mutant: a second call goes on, until a header or a test changes. Then all are judged anew, but what caught
a mutant before is asked first. Closes with "N passed, N failed".

A line of tests/mutants/survivors is, between tabs: common, flake.h or sno.h, and where the text stands
there more than once which of them, as in sno.h#2; the line's text; the mutated text; a word (equivalent,
speed, order, machine, unreached); why.
"""
import collections
import hashlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "coverage"))
import coverage  # noqa: E402  its own folder's

BUSY = re.compile("most_once_a_ms|one_long_overflow|_time$")
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SURVIVORS = Path("tests/mutants/survivors")
COLUMNS = ("id", "verdict", "by", "seconds", "section", "rule", "old", "new")


# ---- rules: each yields (start, end, replacement) in a line whose comments and strings are blank ----

def swap(pattern, table):
    def rule(code):
        for m in re.finditer(pattern, code):
            for new in table[m[1]].split():
                yield m.start(1), m.end(1), new
    return rule


def constants(code):
    for m in re.finditer(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)([uUlL]*)(?![\w.])(?!\] = \{)", code):   # no sizes
        is_hex = m[1].startswith("0x")
        value = int(m[1], 16 if is_hex else 8 if re.match("0[0-7]", m[1]) else 10)
        # In a list, -1 says that there is none: so does -2.
        is_none = code[:m.start()].endswith((" -", "(-", "{-")) and code[m.end():m.end() + 1] in (",", "}", ")")
        for other in (value + 1, value - 1):
            if other >= 0 and not (is_none and other > value):
                yield m.start(), m.end(), (hex(other) if is_hex else str(other)) + m[2]


def closing(code, at):
    """Where the parenthesis at `at` is closed; None: in another line."""
    depth = 0
    for i in range(at, len(code)):
        depth += {"(": 1, ")": -1}.get(code[i], 0)
        if not depth:
            return i
    return None


def conditions(code):
    for m in re.finditer(r"\b(if|while) \(", code):
        end = closing(code, m.end() - 1)
        if end is not None:
            yield m.end(), m.end(), "!("          # closed by `mutate`
            yield m.end(), end, "0"
            if m[1] == "if":
                yield m.end(), end, "1"


def statements(code):
    """What ends the line: a call, an assignment or a jump, alone or behind if (...), for (...) or else."""
    m = re.match(r"\s*(?:\} )?(?:(?:else )?(?:if|for|while) \(.*?\) |else )?"
                 r"((?:\(void\))?[A-Za-z_*(+-][\w>.\[\]*)&+-]*(?:\(.*\)| [-+*/%&|^<>]*= .*|\+\+|--|);)\s*$", code)
    if not m or m[1].count("(") != m[1].count(")"):
        return
    is_declared = re.match(r"(static|const|if|for|while|else|typedef|enum|struct|return|goto|case|default)\b"
                           r"|(u?int\w*|bool|char|size_t|unsigned|flake\w*|sno\w*) \*?\w+( =|;)", m[1])
    if not is_declared:
        yield m.start(1), m.end(1), ";"


def returned(code):
    for m in re.finditer(r"return ((?:FLAKE|SNO)_(?!OK\b)[A-Z]+);", code):
        yield m.start(1), m.end(1), m[1].split("_")[0] + "_OK"
    for m in re.finditer(r"return (true|false);", code):
        yield m.start(1), m.end(1), {"true": "false", "false": "true"}[m[1]]


def choices(code):
    for m in re.finditer(r"\? ([^?:;]+?) : ([^?:;,]+?)(?=[;,]|\)[;,)]|$)", code):
        if all(part.count("(") == part.count(")") for part in m.groups()):
            yield m.start(), m.end(), f"? {m[2]} : {m[1]}"


RULES = {
    "comparison": swap(r" (<=|>=|==|!=|<|>)(?= )", {"<": "<= >=", "<=": "< >", ">": ">= <=", ">=": "> <",
                                                  "==": "!=", "!=": "=="}),
    "constant": constants,
    "and/or": swap(r" (&&|\|\|)(?= |$)", {"&&": "||", "||": "&&"}),
    "negation": swap(r"(!)(?=[\w(])", {"!": "!!"}),
    "condition": conditions,
    "plus/minus": swap(r"(?<=[\w)\]] )(\+=|-=|\+|-)(?= )", {"+": "-", "-": "+", "+=": "-=", "-=": "+="}),
    "times": swap(r"(?<=[\w)\]] )([*/%])(?= )", {"*": "/", "/": "*", "%": "/"}),
    "bits": swap(r"(?<=[\w)\]] )(<<=|>>=|<<|>>|&|\||\^|&=|\|=)(?= )",
                 {"<<": ">>", ">>": "<<", "<<=": ">>=", ">>=": "<<=", "&": "|", "|": "&", "^": "|",
                  "&=": "|=", "|=": "&="}),
    "step": swap(r"(\+\+|--)", {"++": "--", "--": "++"}),
    "statement": statements,
    "returned": returned,
    "choice": choices,
}


def blanked(text):
    """The text with comments, strings and characters blank, of the same length and in the same lines."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m[0])
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


class Mutant:
    def __init__(self, header, line, section, rule, old, new, place):
        self.header, self.line, self.section, self.rule = header, line, section, rule
        self.old, self.new, self.place = old, new, place   # whole lines; "#2": the second of this text
        self.id = f"{header}:{line}:{hashlib.sha256(new.encode()).hexdigest()[:8]}"

    def key(self):
        return where(self.header, self.section) + self.place, self.old.strip(), self.new.strip()


def where(header, section):
    return "common" if section.startswith("common/") else header


def mutate(line, start, end, new):
    if new == "!(":
        close = closing(line, line.rindex("(", 0, start))
        return line[:start] + new + line[start:close] + ")" + line[close:]
    return line[:start] + new + line[end:]


def mutants_of(header, text, executable, skipped):
    """For each line its mutants."""
    code, lines, section_of = blanked(text).split("\n"), text.split("\n"), coverage.sections(text.split("\n"))
    stands = collections.Counter((where(header, section), line.strip()) for section, line in zip(section_of[1:], lines))
    seen = collections.Counter()
    for number, (line, bare) in enumerate(zip(lines, code), 1):
        section = section_of[number] if number < len(section_of) else ""
        text = where(header, section), line.strip()
        seen[text] += 1
        place = f"#{seen[text]}" if stands[text] > 1 else ""
        if number not in executable or not section or section.split("/")[0] in skipped:
            continue
        if re.match(r"#|\S", line) or line.rstrip().endswith("\\") or re.match(r"\s*static const\b", bare):
            continue
        made = {mutate(line, *site): rule for rule, sites in RULES.items() for site in sites(bare.rstrip())}
        made.pop(line, None)
        if made:
            yield [Mutant(header, number, section, rule, line, new, place) for new, rule in made.items()]


def all_mutants(base, measured, seed, per_line, only, skipped):
    """In the order of the seed: one of each line, then a second one, ..."""
    by_line = []
    for header in coverage.HEADERS:
        executable = {int(n) for result in measured.values() for n in result["lines"].get(header, {})}
        left_out = skipped | ({"common"} if header == "sno.h" else set())   # flake.h's stand for both
        by_line += mutants_of(header, (base / header).read_text(), executable, left_out)
    def chance(m):   # by its text alone: others of the lines that changed are another choice, no more
        return hashlib.sha256("\t".join([seed, *m.key()]).encode()).digest()
    for found in by_line:
        found.sort(key=chance)
    by_line.sort(key=lambda found: chance(found[0]))
    rounds = range(max(map(len, by_line), default=0) if per_line == 0 else per_line)
    ordered = [found[k] for k in rounds for found in by_line if k < len(found)]
    return [m for m in ordered if not only or any(word in f"{m.header}/{m.section}" for word in only)]


# ---- building and running ----

class Stopped(Exception):
    """By the user."""


class Unanswered(Exception):
    """The etcd members that a program asks don't run, or don't answer: nothing is said of the mutant."""


NO_MEMBERS = 75                                   # as etcd.sh says it


children, stopped = set(), threading.Event()


def run(command, cwd, limit, tmp, skip, is_vast=False):
    """What failed first ("" if nothing did); None: the time limit was hit."""
    if stopped.is_set():
        raise Stopped
    room = "" if is_vast else "ulimit -v 8388608; "
    limited = ["sh", "-c", f'ulimit -c 0; ulimit -f 524288; {room}exec nice -n 5 "$@"', "sh", *command]
    child = subprocess.Popen(limited, cwd=cwd, env=dict(os.environ, TMPDIR=str(tmp)), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                             start_new_session=True)
    children.add(child)
    hit = threading.Event()

    def kill():
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end():
        hit.set()
        kill()
    timer = threading.Timer(limit, end)
    timer.start()
    failed, ignored = "", False
    for line in child.stdout:
        if line.startswith("FAIL"):
            name = (line.split() + ["?"])[1]
            if name in skip or BUSY.search(name):
                ignored = True
            else:
                failed = name
                break
    if failed:
        kill()
    code = child.wait()
    timer.cancel()
    kill()                                        # its children
    child.stdout.close()
    children.discard(child)
    if stopped.is_set():
        raise Stopped
    if failed:
        return failed
    if hit.is_set():
        return None
    if code == NO_MEMBERS:
        raise Unanswered
    return "" if code == 0 or (code == 1 and ignored) else f"exit code {code}"


class Judge:
    def __init__(self, base, folder, programs, measured, before):
        self.base, self.folder, self.programs, self.measured, self.before = base, folder, programs, measured, before
        self.cc = os.environ.get("CC") or "clang"
        self.in_sno = coverage.common_lines({h: (base / h).read_text().split("\n") for h in coverage.HEADERS})
        self.unfit = {name: " ".join(map(str, [r["code"], *r["failed"]])) for name, r in measured.items()
                      if r["code"] and not (r["failed"] and all(map(BUSY.search, r["failed"])))}
        self.plain, self.lock = {}, threading.Lock()
        self.etcd = "#define FLAKE_ETCD\n" if coverage.has_curl() else ""

    def order(self, m):
        """Who runs the line: replays, tests, models, explorer; the cheapest first."""
        at = [(m.header, str(m.line))]
        if m.section.startswith("common/"):
            at.append(("sno.h", str(self.in_sno[m.line])))
        by = [name for name, r in self.measured.items() if any(r["lines"].get(h, {}).get(n) for h, n in at)]
        kinds = ("replay", "test", "model", "explore")

        def cost(name):
            return self.programs[name].is_vast, kinds.index(name.split("_")[0]), self.measured[name]["seconds"]
        return sorted((name for name in by if self.measured[name]["code"] in (0, 1)), key=cost)

    def write(self, m, work):
        """The headers with the mutant."""
        shutil.rmtree(work, ignore_errors=True)
        (work / "tmp").mkdir(parents=True)
        for header in coverage.HEADERS:
            lines = (self.base / header).read_text().split("\n")
            if header == m.header:
                assert lines[m.line - 1] == m.old
                lines[m.line - 1] = m.new
            elif m.section.startswith("common/"):
                at = self.in_sno[m.line] - 1
                assert lines[at] == in_sno(m.old)
                lines[at] = in_sno(m.new)
            (work / header).write_text("\n".join(lines))

    def build(self, headers, name, out, more=()):
        program = self.programs[name]
        command = [self.cc, *coverage.FLAGS, "-O0", *more, f"-I{headers}", program.source, "-o", str(out), *program.flags]
        return subprocess.run(command, cwd=self.base, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode == 0

    def code(self, compiler, headers, header, *more):
        """What the compiler makes of all of a header's functions; None: it refuses them."""
        source, out = headers / "all.c", headers / "all.o"
        source.write_text(f'{self.etcd}#include "{header}"\n')
        flags = ["-std=c11", "-w", "-O2", "-c", "-Dinline=__attribute__((used))", f"-I{headers}", *more]
        made = subprocess.run([compiler, *flags, source.name, "-o", out.name], cwd=headers, stdin=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0
        return None if not made else out.read_bytes() if out.exists() else b""

    def is_same_code(self, m, work):
        for compiler in ("gcc", "clang"):
            with self.lock:
                if (compiler, m.header) not in self.plain:
                    plain = self.folder / "plain"
                    plain.mkdir(exist_ok=True)
                    shutil.copy(self.base / m.header, plain)
                    self.plain[compiler, m.header] = self.code(compiler, plain, m.header)
            plain = self.plain[compiler, m.header]
            if plain is not None and self.code(compiler, work, m.header) == plain:
                return True
        return False

    def limit(self, name):
        """Seconds."""
        return 8 + 5 * self.measured[name]["seconds"]

    def command_of(self, name, program, failed):
        """What runs again what failed: a test by itself, or all of the program."""
        is_alone = name.startswith("test_") and self.programs[name].script is None
        is_test = is_alone and not failed.startswith("exit code")
        return [str(program), failed] if is_test else self.programs[name].command(program)

    def judge_with(self, name, program, work, limit, sanitized=False):
        """"" or what failed, twice; None: the time limit was hit; and what failed once of two times."""
        skip, once = set(self.measured[name]["failed"]), []
        is_vast = sanitized or self.programs[name].is_vast   # sanitizers map terabytes
        while True:
            command = self.programs[name].command(program)
            failed = run(command, self.base, limit, work / "tmp", skip, is_vast)
            if not failed:
                return failed, once
            again = self.command_of(name, program, failed)
            if run(again, self.base, limit, work / "tmp", skip, is_vast):
                return failed, once
            once.append(f"{name} {failed}")
            if failed in skip or failed.startswith("exit code"):
                return "", once
            skip.add(failed)

    def is_caught_again(self, by, work):
        """By what caught it on other sources; no other test of the program is asked."""
        name, _, failed = by.partition(" ")
        program = work / name
        if name not in self.programs or failed in self.measured[name]["failed"] or not self.build(work, name, program):
            return False
        command = self.command_of(name, program, failed)
        is_vast = self.programs[name].is_vast
        try:
            return all(run(command, self.base, self.limit(name), work / "tmp", set(), is_vast) == failed for _ in range(2))
        except Unanswered:
            return False

    def judge(self, m, work, alone):
        """(verdict, by). Alone: with more time, and beside the headers as they are."""
        self.write(m, work)
        by = self.before.get((m.section, m.old.strip(), m.new.strip()))
        if by and self.is_caught_again(by, work):
            return "caught", by
        order, hit, once, is_other = self.order(m), [], [], False
        if not order:
            made = self.code("gcc", work, m.header, "-fsyntax-only")
            return ("does not compile", "-") if made is None else ("SURVIVED", "nothing runs it")
        for n, name in enumerate(order):
            program = work / name
            if not is_other and (n == 6 or self.programs[name].is_vast):   # most others are caught by now
                if self.is_same_code(m, work):
                    return "same code", "-"
                is_other = True
            if not self.build(work, name, program):
                return "does not compile", name
            limit = self.limit(name) * (2 if alone else 1)
            try:
                failed, more = self.judge_with(name, program, work, limit)
            except Unanswered:
                hit.append(f"{name}: no etcd members")
                break
            once += more
            if failed:
                return "caught", f"{name} {failed}"
            if failed is None:
                if alone and self.as_it_is(name, work) < limit / 4:
                    return "hangs", name
                hit.append(name)
                if len(hit) == 2 or alone:
                    break
            program.unlink()
        if hit:
            return "UNDECIDED", " ".join(hit)
        if not is_other and self.is_same_code(m, work):
            return "same code", "-"
        for name in [n for n in order if n.startswith(("replay", "test")) and not self.programs[n].is_vast][:4]:
            if self.build(work, name, work / name, SANITIZERS):
                limit = 30 + 30 * self.measured[name]["seconds"]
                if failed := self.judge_with(name, work / name, work, limit, True)[0]:
                    return "caught", f"{name} {failed} under the sanitizers"
        return "SURVIVED", " ".join(order) + "".join(f" ({what} failed once of two times)" for what in once)

    def as_it_is(self, name, work):
        """The seconds that the program takes on the headers as they are."""
        program = work / f"{name}_as_it_is"
        if not self.build(self.base, name, program):
            return float("inf")
        began = time.time()
        skip, is_vast = set(self.measured[name]["failed"]), self.programs[name].is_vast
        try:
            passed = run(self.programs[name].command(program), self.base, 600, work / "tmp", skip, is_vast)
        except Unanswered:
            return float("inf")
        return time.time() - began if passed == "" else float("inf")


def in_sno(line):
    return line.replace("flake", "sno").replace("FLAKE", "SNO")


# ---- results ----

def read_results(path):
    rows = [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []
    return {row[0]: dict(zip(COLUMNS, row)) for row in rows if len(row) == len(COLUMNS)}


def caught_before(folder):
    """For each mutant that was caught on any sources: by what."""
    tables = sorted(folder.glob("*.tsv"), key=lambda path: path.stat().st_mtime)
    rows = [row for path in tables for row in read_results(path).values()]
    return {(row["section"], row["old"], row["new"]): row["by"] for row in rows if row["verdict"] == "caught"}


def read_survivors():
    found, bad = {}, []
    for number, line in enumerate(SURVIVORS.read_text().splitlines() if SURVIVORS.exists() else [], 1):
        if line and not line.startswith("#"):
            parts = line.split("\t")
            if len(parts) == 5 and parts[4].strip():
                found[tuple(parts[:3])] = f"{parts[3]}: {parts[4]}"
            else:
                bad.append(f"{SURVIVORS}:{number}: not five parts between tabs, or no reason")
    return found, bad


class Results:
    def __init__(self, path, total):
        self.path, self.rows, self.lock = path, read_results(path), threading.Lock()
        self.total, self.done, self.began = total, 0, time.time()

    def add(self, m, verdict, by, seconds):
        row = (m.id, verdict, by, f"{seconds:.1f}", m.section, m.rule, m.old.strip(), m.new.strip())
        with self.lock:
            self.done += 1
            self.rows[m.id] = dict(zip(COLUMNS, row))
            with self.path.open("a") as out:
                out.write("\t".join(row) + "\n")
            print(f"{self.done:4}/{self.total} {seconds:6.1f} s  {verdict:9} {m.id:26} {by}", flush=True)


def judge_all(judge, wanted, results, jobs, until, alone):
    waiting = queue.SimpleQueue()
    for m in wanted:
        waiting.put(m)

    def work(n):
        while not stopped.is_set() and time.time() < until:
            try:
                m = waiting.get_nowait()
            except queue.Empty:
                return
            began = time.time()
            try:
                verdict, by = judge.judge(m, judge.folder / f"work{n}", alone)
            except Stopped:
                return
            results.add(m, verdict, by, time.time() - began)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        stopped.set()
        for child in list(children):
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for thread in threads:
            thread.join()


def report(chosen, results, reasons, bad, judge, allowed):
    """Prints what there is; whether all is well: no more than `allowed` survive or are undecided."""
    counts, by_section = collections.Counter(), collections.defaultdict(collections.Counter)
    for m in chosen:
        row, reason = results.rows.get(m.id), reasons.get(m.key())
        verdict = row["verdict"] if row else "not judged"
        if reason and verdict in ("SURVIVED", "not judged", "UNDECIDED", "hangs"):
            verdict = "argued"
        elif reason and verdict == "caught":
            print(f"caught, though argued to survive: {m.id} {row['by']}\n  - {m.old.strip()}\n  + {m.new.strip()}")
        counts[verdict] += 1
        by_section[m.section if m.section.startswith("common") else f"{m.header[:-2]}/{m.section}"][verdict] += 1
        if verdict in ("SURVIVED", "UNDECIDED"):
            print(f"\n{verdict} {m.header}:{m.line}{m.place} [{m.section}, {m.rule}] {row['by']}\n"
                  f"  - {m.old.strip()}\n  + {m.new.strip()}")
    kinds = ("caught", "hangs", "argued", "SURVIVED", "UNDECIDED", "same code", "does not compile", "not judged")
    heads = ("caught", "hangs", "argued", "survived", "undecided", "same", "no code", "not yet")
    print(f"\n{'':34}" + "".join(f"{head:>10}" for head in heads))
    for section, found in sorted(by_section.items()):
        print(f"{section:34}" + "".join(f"{found[kind]:10}" for kind in kinds))
    print(f"{'all':34}" + "".join(f"{counts[kind]:10}" for kind in kinds))
    counted = sum(counts[kind] for kind in kinds[:5])
    print(f"{len(chosen)} mutants: {counts['does not compile']} do not compile, {counts['same code']} are the same code, "
          f"{counts['not judged']} are not judged yet; {counted} count:")
    for kind in kinds[:5]:
        print(f"  {counts[kind]:5} {kind.lower():10} {coverage.percent(counts[kind], counted):5.1f} %")
    for name, why in judge.unfit.items():
        print(f"FAIL on the headers as they are: {name}: {why}")
    for why in bad:
        print(f"FAIL {why}")
    unseen = counts["SURVIVED"] + counts["UNDECIDED"]
    too_many = unseen if unseen > allowed else 0
    if too_many:
        print(f"FAIL {unseen} survive or are undecided, {allowed} may")
    failed = too_many + len(judge.unfit) + len(bad)
    print(f"{counted - unseen} passed, {failed} failed")
    return failed == 0


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    given = os.environ.get
    etcd, is_alone, jobs = given("ETCD") == "1", given("ETCD") == "alone", int(given("JOBS") or 2)
    if is_alone and not coverage.has_curl():
        sys.exit("ETCD=alone needs libcurl")
    skipped = set() if etcd or is_alone else {"etcd"} if coverage.has_curl() else {"etcd", "answers"}
    if etcd and not coverage.can_etcd():
        sys.exit("ETCD=1 needs etcd, openssl and libcurl")
    if not all(map(shutil.which, ("clang", "gcc", "llvm-cov", "llvm-profdata"))):
        sys.exit("mutants-many needs clang, gcc, llvm-cov and llvm-profdata")
    head = subprocess.run(["git", "rev-parse", "HEAD"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False).stdout.strip()
    seed = given("SEED") or head or "0"
    sources = coverage.digest(".") + ("-etcd" if etcd else "-alone" if is_alone else "")
    folder = Path(sys.argv[1]).resolve() / "mutants-many"
    base = folder / "base"
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir(parents=True)
    for top in (*coverage.HEADERS, "tests", "fuzz"):
        (shutil.copytree if Path(top).is_dir() else shutil.copy)(top, base / top)
    began = time.time()
    measured = coverage.measure_all(base, sys.argv[1], etcd, jobs)
    print(f"{len(measured)} programs, {time.time() - began:.0f} s to see which lines they run; SEED={seed}", flush=True)
    chosen = all_mutants(base, measured, seed, int(given("PER_LINE") or 1), (given("ONLY") or "").split(),
                         skipped)
    sample = int(given("SAMPLE") or 0)
    if sample:
        chosen = chosen[:sample]
    reasons, bad = read_survivors()
    made = {m.key() for m in all_mutants(base, measured, seed, 0, [], set())}
    for key in reasons.keys() - made:
        print(f"{SURVIVORS}: no longer a mutant of the headers: {key[0]}: {key[1]}")
    judge = Judge(base, folder, coverage.programs(base, etcd), measured, caught_before(folder))
    results = Results(folder / f"{sources}.tsv", len(chosen))
    is_left = [m for m in chosen if given("ARGUED") or m.key() not in reasons]
    wanted = [m for m in is_left if m.id not in results.rows]
    results.done = len(chosen) - len(wanted)
    until = time.time() + 60 * float(given("MINUTES") or 1e6)
    judge_all(judge, wanted, results, jobs, until, False)
    again = [m for m in is_left if results.rows.get(m.id, {}).get("verdict") == "UNDECIDED"]
    if again and not stopped.is_set():
        print(f"{len(again)} once more, alone:", flush=True)
        results.done, results.total = 0, len(again)
        judge_all(judge, again, results, 1, until, True)
    for used in folder.glob("work*"):
        shutil.rmtree(used, ignore_errors=True)
    return not report(chosen, results, reasons, bad, judge, sample // 5) or stopped.is_set()


if __name__ == "__main__":
    sys.exit(main())
