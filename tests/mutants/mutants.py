#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutants.py BUILD   edits the headers in ways that a test must notice, and lists the edits that none does.

    SAMPLE=60       so many rule-made mutants, and not the table
    CHANGED=REV     rule-made mutants of the lines changed since REV, at most SAMPLE, and not the table
    TABLE=only      the table;  NAMES="WORD..."  its rows whose names contain a word
    ONLY="WORD..."  the sections whose names contain a word, such as "engine/draw text"
    PER_LINE=1      rule-made mutants of each line; 0: all
    SEED=...        chooses which (the commit's hash)
    PART=K/N        every Nth mutant, from the Kth
    MINUTES=...     starts no mutant later than that; the next call continues
    JOBS=...        at a time (the number of cores);  CC=clang  compiler of the programs
    ARGUED=1        the mutants that tests/mutants/survivors has a reason for, too
    ETCD=1          the etcd section too, by the tests that need no etcd members (libcurl)

A rule-made mutant is one edit of one line: a comparison changed, a constant off by one, && for ||, a
condition negated or removed, an operator replaced, a statement removed, another status returned.
tests/mutants/table has mutants that no rule makes: of several lines, of meaning, of memory orders.

The programs that run an edited line judge the mutant, cheapest and likeliest first; clang's coverage tells
which these are. For a #define or a table, they are those that run a line which names it. All are built at
-O0, which compiles eight times as fast as -O1. What survives is judged again at -O1, where no stale stack
value hides a fault, and under sanitizers. The verdicts:

    caught      a test failed twice, and passes on the unchanged headers
    same code   gcc or clang generates the same code at -O2
    argued      survives or is undecided, and tests/mutants/survivors has the reason
    SURVIVED    no test failed
    UNDECIDED   no test failed, and a program reached its time limit

A mutant that does not compile is not counted. Limits are of CPU time, so that load does not matter. If a
program reaches the limit of elapsed time, the mutant is judged again alone, with three times as much.

The score is caught / (all that count, without the equivalent ones). The call fails if a table mutant is not
caught, or if more than 2 % of the others (of a SAMPLE, a PART or CHANGED lines: one in five) survive or are
undecided without a reason.

Everything is built in a copy of the sources. BUILD/mutants/SOURCES.tsv has a line for each result. It
counts until a header or a test changes; after that, the program that caught a mutant before runs first.
"""
import collections
import concurrent.futures
import difflib
import hashlib
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "coverage"))
import coverage  # noqa: E402  its own directory's

# Tests that depend on load, and the explorer's complaint that an edited line lacks its label.
PASSED_OVER = re.compile(r"most_once_a_ms|one_long_overflow|_time$|\.h:\d+:$")
SURVIVORS, TABLE = Path("tests/mutants/survivors"), Path("tests/mutants/table")
BUILDS = {                                        # a killer is NAME or NAME-BUILD
    "": ["-O0"],
    "O1": ["-O1"],
    "tsan": ["-O1", "-fsanitize=thread", "-URUNS", "-DRUNS=300"],
    "asan": ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}
CPU_LIMIT = -signal.SIGXCPU
UNDECIDED = ("(time)", "(CPU time)")


# ---- rules: each yields (start, end, replacement) in a line without its comments and strings ----

def swap(pattern, table):
    def rule(code):
        for m in re.finditer(pattern, code):
            for new in table[m[1]].split():
                yield m.start(1), m.end(1), new
    return rule


def constants(code):
    for m in re.finditer(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)([uUlL]*)(?![\w.])(?!\] = \{)", code):   # not a size
        is_hex = m[1].startswith("0x")
        value = int(m[1], 16 if is_hex else 8 if re.match("0[0-7]", m[1]) else 10)
        # In a list -1 means none, and so does -2.
        is_none = code[:m.start()].endswith((" -", "(-", "{-")) and code[m.end():m.end() + 1] in (",", "}", ")")
        for other in (value + 1, value - 1):
            if other >= 0 and not (is_none and other > value):
                yield m.start(), m.end(), (hex(other) if is_hex else str(other)) + m[2]


def closing(code, at):
    """The position that closes the parenthesis at `at`; None: it is in another line."""
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
    """A call, an assignment or a jump at the end of the line, alone or after if (...), for (...) or else."""
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
    """The text with spaces for comments, strings and characters."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m[0])
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


Edit = collections.namedtuple("Edit", "header line old new")   # lists of whole lines


class Mutant:
    def __init__(self, name, edits, section, rule, old, new, place="", first=()):
        self.edits, self.section, self.rule, self.old, self.new, self.first = edits, section, rule, old, new, first
        self.key = edits[0].header + place, old, new
        self.id = f"{name}:{hashlib.sha256(repr(edits).encode()).hexdigest()[:8]}"


def lines_of(edits):
    """(header, line) of all lines that differ; of an insertion, the lines before and after it."""
    found = set()
    for edit in edits:
        for kind, begin, end, _, _ in difflib.SequenceMatcher(None, edit.old, edit.new, False).get_opcodes():
            if kind == "insert":
                begin, end = max(begin - 1, 0), min(begin + 1, len(edit.old))
            if kind != "equal":
                found |= {(edit.header, edit.line + k) for k in range(begin, end)}
    return found


def mutate(line, start, end, new):
    if new == "!(":
        close = closing(line, line.rindex("(", 0, start))
        return line[:start] + new + line[start:close] + ")" + line[close:]
    return line[:start] + new + line[end:]


class Headers:
    """The text of the headers, and the lines that the programs run."""

    def __init__(self, base, measured):
        self.text = {h: (base / h).read_text() for h in coverage.HEADERS}
        self.lines = {h: text.split("\n") for h, text in self.text.items()}
        self.section = {h: coverage.sections(lines) for h, lines in self.lines.items()}
        self.bare = {h: blanked(text).split("\n") for h, text in self.text.items()}
        self.runs = {h: collections.defaultdict(set) for h in coverage.HEADERS}   # line -> programs
        self.run_of = collections.defaultdict(collections.Counter)   # section -> lines that each program runs
        self.run_in_all = collections.Counter()
        self.executable = {h: set() for h in coverage.HEADERS}
        for name, result in measured.items():
            for h in coverage.HEADERS:
                counts = result["lines"].get(Path(h).name, {})
                self.executable[h] |= set(map(int, counts))
                for number, times in counts.items():
                    if times:
                        self.runs[h][int(number)].add(name)
                        self.run_of[self.section[h][int(number)]][name] += 1
                        self.run_in_all[name] += 1
        self.owner = {h: dict(self.owners(h)) for h in coverage.HEADERS}

    def owners(self, header):
        """(line, name) of the lines of each #define, of each enumerator and of each table outside functions."""
        name, is_enum = None, False
        for number, line in enumerate(self.bare[header], 1):
            is_enum = is_enum or bool(re.match(r"(?:typedef )?enum\b.*{", line))
            values = re.findall(r"(\w+) = ", line) if is_enum else []
            if values:
                yield number, "|".join(values)
            is_enum = is_enum and "}" not in line
            begins = re.match(r"# *define (\w+)|(?:static|\w+_I_TABLE) .*?(\w+)(?:\[\w*\])? = ", line)
            if begins:
                name, is_define = begins[1] or begins[2], bool(begins[1])
            if name:
                yield number, name
                if not line.endswith("\\") if is_define else ";" in line:
                    name = None

    def users(self, name, sources, seen):
        """The programs that run a line which names it, or forms its name by ##, or whose own source names it."""
        seen.add(name)
        formed = "|".join(name[:m.end()] for m in re.finditer("_", name)) or name
        word = re.compile(rf"\b(?:{name})\b|\b(?:{formed})##")
        found = {program for program, text in sources.items() if word.search(text)}
        for header, lines in self.bare.items():
            for number, line in enumerate(lines, 1):
                if word.search(line):
                    found |= set(sources) if line.startswith("#if") else self.runs[header][number]
                    by = self.owner[header].get(number)
                    if by and by not in seen:
                        found |= self.users(by, sources, seen)
        return found

    def mutants_of(self, header, skipped):
        """For each line its rule-made mutants."""
        stands, seen = collections.Counter(map(str.strip, self.lines[header])), collections.Counter()
        for number, (line, bare) in enumerate(zip(self.lines[header], self.bare[header]), 1):
            section, text = self.section[header][number], line.strip()
            seen[text] += 1
            if not section or section.split("/")[0] in skipped:
                continue
            if number not in self.executable[header] and number not in self.owner[header]:
                continue
            if bare.startswith("#"):
                head = re.match(r"# *define \w+(\([^)]*\))?|.*", bare)
                bare = " " * head.end() + bare[head.end():]
            bare = bare[:-1] + " " if bare.endswith("\\") else bare
            made = {mutate(line, *site): rule for rule, sites in RULES.items() for site in sites(bare.rstrip())}
            made.pop(line, None)
            place = f"#{seen[text]}" if stands[text] > 1 else ""
            if made:
                yield [Mutant(f"{header}:{number}", [Edit(header, number, [line], [new])], section, rule, text,
                              new.strip(), place) for new, rule in made.items()]

    def rule_made(self, seed, per_line, skipped):
        """In the order of the seed: one of each line, then a second one, ..."""
        by_line = [found for header in coverage.HEADERS for found in self.mutants_of(header, skipped)]

        def chance(m):                            # of its text alone: a change elsewhere leaves the choice
            return hashlib.sha256("\t".join([seed, *m.key]).encode()).digest()
        for found in by_line:
            found.sort(key=chance)
        by_line.sort(key=lambda found: chance(found[0]))
        rounds = range(max(map(len, by_line), default=0) if per_line == 0 else per_line)
        return [found[k] for k in rounds for found in by_line if k < len(found)]

    def edit(self, old, new):
        """The edit of the one header in which the old text stands exactly once; None: there is no such header."""
        for header, text in self.text.items():
            if text.count(old) == 1:
                at = text.index(old)
                begin = text.rfind("\n", 0, at) + 1
                return Edit(header, text.count("\n", 0, at) + 1, (text[begin:at] + old).splitlines(),
                            (text[begin:at] + new).splitlines())
        return None

    def table(self, bad):
        """The mutants of the table."""
        for row in re.split(r"^== ", TABLE.read_text(), flags=re.M)[1:]:
            name = row.split("\n", 1)[0]
            first = re.findall(r"^first: (.*)", row, re.M)
            edits = [self.edit(*part) for part in re.findall(r"^---\n(.*?)^\+\+\+\n(.*?)^\.$", row, re.M | re.S)]
            if not edits or None in edits:
                bad.append(f"{TABLE}: {name}: an old text does not stand exactly once in a header")
            else:
                at = edits[0]
                yield Mutant(name, edits, self.section[at.header][at.line], "table", name, "", first=first)


# ---- building and running ----

children, stopped = set(), threading.Event()      # by the user


def end(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def compiles(command, root):
    made = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return made.returncode == 0


def run(command, root, seconds, skip, is_sanitized):
    """The test that failed first or the exit code; "": none failed; or one of UNDECIDED."""
    room = "" if is_sanitized else "ulimit -v 8388608; "   # sanitizers map terabytes
    limits = f'ulimit -c 0; ulimit -f 524288; ulimit -S -t {seconds:.0f}; {room}exec nice -n 5 "$@"'
    child = subprocess.Popen(["sh", "-c", limits, "sh", *command], cwd=root, stdin=subprocess.DEVNULL,
                             env=dict(os.environ, TMPDIR=str(root / "tmp")), stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    children.add(child)
    is_late = threading.Event()
    timer = threading.Timer(30 + 6 * seconds, lambda: (is_late.set(), end(child)))
    timer.start()
    failed, is_passed_over = "", False
    for line in child.stdout:
        if line.startswith("FAIL"):
            name = (line.split() + ["?"])[1]
            if name not in skip and not PASSED_OVER.search(name):
                failed = name
                break
            is_passed_over = True
    if failed:
        end(child)
    code = child.wait()
    timer.cancel()
    end(child)                                    # its children
    child.stdout.close()
    children.discard(child)
    if stopped.is_set():
        raise KeyboardInterrupt
    if failed:
        return failed
    if is_late.is_set():
        return "(time)"
    if code == CPU_LIMIT:
        return "(CPU time)"
    return "" if code == 0 or (code == 1 and is_passed_over) else f"(exit code {code})"


class Judge:
    def __init__(self, base, folder, headers, measured, programs, before, curl):
        self.base, self.folder, self.headers, self.measured, self.programs = base, folder, headers, measured, programs
        self.before = before                      # what caught a mutant on other sources
        self.sources = {name: (base / p.source).read_text() for name, p in programs.items()}
        self.cc = os.environ.get("CC") or "clang"
        self.unfit = {f"{name} {' '.join(map(str, [r['code'], *r['failed']]))}" for name, r in measured.items()
                      if r["code"] and not (r["failed"] and all(map(PASSED_OVER.search, r["failed"])))}
        self.asked, self.caught = collections.Counter(), collections.Counter()   # (section, program) -> times
        self.plain, self.lock = {}, threading.Lock()
        self.fine = {(name,): True for name, r in measured.items() if r["code"] == 0}   # see is_fine
        (folder / "plain").mkdir(exist_ok=True)

    def order(self, m, edits):
        """The programs that run its lines; first those with the greatest chance to catch it per second."""
        by = set()
        for header, number in lines_of(edits):
            by |= self.headers.runs[header][number]
            if number in self.headers.owner[header]:
                by |= self.headers.users(self.headers.owner[header][number], self.sources, set())
                by = by or set(self.programs)     # its name is formed by ##

        whole = self.headers.run_of[m.section]

        def cost(name):                           # of the program per mutant caught; its lines are the first guess
            share_of_section = whole[name] / max(whole.values(), default=1)
            share_of_program = whole[name] / max(self.headers.run_in_all[name], 1)
            guess = max(share_of_section, share_of_program) ** 3
            chance = (self.caught[m.section, name] + 2 * guess + .01) / (self.asked[m.section, name] + 2)
            return (1 + self.measured[name]["seconds"]) / chance
        return sorted((name for name in by if self.measured[name]["code"] in (0, 1)), key=cost)

    def build(self, killer, root, out):
        if out.exists():
            return True
        name, _, how = killer.partition("-")
        program = self.programs[name]
        command = [self.cc, *coverage.FLAGS, *BUILDS[how], "-I.", program.source, "-o", str(out), *program.flags]
        return compiles(command, root)

    def ask(self, killer, program, tests, root, patience=1, skip=()):
        name, _, how = killer.partition("-")
        is_sanitized = how in ("tsan", "asan")
        seconds = (5 + 5 * self.measured[name]["seconds"]) * patience * (10 if is_sanitized else 1)
        (root / "tmp").mkdir(exist_ok=True)
        return run([str(program), *(tests or self.programs[name].words)], root, seconds, skip, is_sanitized)

    def is_fine(self, killer, tests):
        """Whether these tests pass on the unchanged headers."""
        with self.lock:
            at = killer, *tests
            if at not in self.fine:
                program = self.folder / "plain" / killer
                self.fine[at] = (self.build(killer, self.base, program) and
                                 self.ask(killer, program, tests, self.base, 3) == "")
                if not self.fine[at]:
                    self.unfit.add(" ".join(at))
            return self.fine[at]

    def judge_by(self, killer, tests, root, patience):
        """What failed twice, and not on the unchanged headers; "": nothing; one of UNDECIDED; None: it does not
        compile."""
        program, skip = root / killer, set()
        if not self.build(killer, root, program):
            return None
        while True:
            failed = self.ask(killer, program, tests, root, patience, skip)
            if not failed or failed in UNDECIDED:
                return failed
            alone = [failed] if killer.startswith("test") and not failed.startswith("(") else tests
            again = self.ask(killer, program, alone, root, patience)
            if again and again not in UNDECIDED and self.is_fine(killer, alone):
                return failed
            if failed in skip or failed.startswith("("):
                return ""
            skip.add(failed)

    def write(self, edits, root):
        """The headers with these edits."""
        for old in root.iterdir() if root.exists() else ():
            if old.is_file():
                old.unlink()
        if not root.exists():
            shutil.copytree(self.base, root)
        for header, lines in self.headers.lines.items():
            lines = list(lines)
            for e in sorted(edits, key=lambda e: -e.line):
                if e.header == header:
                    assert lines[e.line - 1:e.line - 1 + len(e.old)] == e.old, e
                    lines[e.line - 1:e.line - 1 + len(e.old)] = e.new
            (root / header).write_text("\n".join(lines))

    def code(self, compiler, root, header):
        """What the compiler generates for all functions of a header; None: it reports an error."""
        source, out = root / "all.c", root / f"{compiler}.o"
        source.write_text(f'#include "{header}"\n')
        command = [compiler, "-std=c11", "-w", "-O2", "-c", "-Dinline=__attribute__((used))", "-I.", source.name,
                   "-o", out.name]
        return out.read_bytes() if compiles(command, root) else None

    def same_code(self, compiler, header, root):
        """The verdict of a compiler, if it has one."""
        with self.lock:
            if (compiler, header) not in self.plain:
                self.plain[compiler, header] = self.code(compiler, self.base, header)
        made = self.code(compiler, root, header)
        return "does not compile" if made is None else "same code" if made == self.plain[compiler, header] else ""

    def judge(self, m, root, patience):
        """(verdict, by)"""
        edits = m.edits
        self.write(edits, root)
        order, limits = self.order(m, edits), []
        cheap = [name for name in order if self.measured[name]["seconds"] < 20]
        known = [by for by in (*m.first, self.before.get((m.section, m.old, m.new))) if by]
        late = (*order[12:], *(f"{name}-O1" for name in cheap[:10]), *(f"{name}-asan" for name in cheap[:4]))
        plan = [(*known, *order[:12]), "clang", late, "gcc"]   # a compiler costs as much as ten programs
        if not any(self.headers.runs[e.header][e.line] for e in edits):
            plan.insert(0, plan.pop(1))           # most of these lines are another machine's
        for stage in plan:
            if isinstance(stage, str):
                verdict = m.rule != "table" and self.same_code(stage, m.edits[0].header, root)
                if verdict:
                    return verdict, stage
                continue
            for killer in stage:
                killer, *tests = killer.partition(" (")[0].split()
                name = killer.partition("-")[0]
                if name not in self.programs or len(limits) == 3:
                    continue
                failed = self.judge_by(killer, tests, root, patience)
                (root / killer).unlink(missing_ok=True)
                if failed is None:
                    return "does not compile", killer
                self.asked[m.section, name] += 1
                if failed in UNDECIDED:
                    limits.append(f"{killer} {failed}")
                elif failed:
                    self.caught[m.section, name] += 1
                    return "caught", f"{killer} {failed}"
        if limits:
            return "UNDECIDED", " ".join(limits)
        return "SURVIVED", f"{len(order)} programs run it: {' '.join(order[:3])} ..."


# ---- results ----

Result = collections.namedtuple("Result", "id verdict by seconds section rule old new")


def read_results(path):
    rows = [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []
    return {row[0]: Result(*row) for row in rows if len(row) == len(Result._fields)}


def caught_before(folder):
    """For each mutant that was caught on any sources: by what."""
    tables = sorted(folder.glob("*.tsv"), key=lambda path: path.stat().st_mtime)
    rows = [row for path in tables for row in read_results(path).values()]
    return {(row.section, row.old, row.new): row.by for row in rows if row.verdict == "caught"}


def read_survivors(bad):
    found = {}
    for number, line in enumerate(SURVIVORS.read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            parts = line.split("\t")
            if len(parts) == 5 and parts[4].strip():
                found[tuple(parts[:3])] = parts[3]
            else:
                bad.append(f"{SURVIVORS}:{number}: not five parts between tabs, or no reason")
    return found


def judge_all(judge, wanted, rows, path, jobs, until, patience):
    places, done = queue.SimpleQueue(), 0
    for n in range(jobs):
        places.put(judge.folder / f"work{n}")

    def work(m):
        nonlocal done
        if stopped.is_set() or time.time() >= until:
            return
        place, began = places.get(), time.time()
        try:
            verdict, by = judge.judge(m, place, patience)
        finally:
            places.put(place)
        with judge.lock, path.open("a") as out:
            rows[m.id] = Result(m.id, verdict, by, f"{time.time() - began:.1f}", m.section, m.rule, m.old, m.new)
            out.write("\t".join(rows[m.id]) + "\n")
            done += 1
            print(f"{done:4}/{len(wanted)} {rows[m.id].seconds:>6} s  {verdict:9} {m.id:26} {by}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            list(pool.map(work, wanted))
        except KeyboardInterrupt:
            stopped.set()
            for child in list(children):
                end(child)


KINDS = {"caught": "caught", "equivalent": "equal", "argued": "argued", "SURVIVED": "survived",
         "UNDECIDED": "undecided", "same code": "same", "does not compile": "no code", "not judged": "not yet"}


def report(chosen, rows, reasons, judge, bad, share):
    """Prints the results; whether they are good enough."""
    by_section, etcd, others = (collections.defaultdict(collections.Counter) for _ in range(3))
    total, unseen, must = collections.Counter(), 0, 0
    for m in chosen:
        row, reason = rows.get(m.id), reasons.get(m.key)
        verdict = row.verdict if row else "not judged"
        if reason and verdict in ("SURVIVED", "UNDECIDED", "not judged"):
            verdict = "equivalent" if reason in ("equivalent", "speed") else "argued"
        elif reason and verdict == "caught":
            print(f"caught, though {SURVIVORS} has a reason: {m.id} {row.by}\n  - {m.old}\n  + {m.new}")
        by_section[f"{m.edits[0].header} {m.section}"][verdict] += 1
        (etcd if m.section == "etcd" else others)[m.rule == "table"][verdict] += 1
        total[verdict] += 1
        is_of_table = m.rule == "table"
        if verdict in ("SURVIVED", "UNDECIDED") or (is_of_table and verdict == "does not compile"):
            must, unseen = must + is_of_table, unseen + (not is_of_table)
            print(f"\n{verdict} {m.id} [{m.section}, {m.rule}] {row.by}\n  - {m.old}\n  + {m.new}")
    print(f"\n{'':34}" + "".join(f"{head:>10}" for head in KINDS.values()))
    for section, found in [*sorted(by_section.items()), ("all", total)]:
        print(f"{section:34}" + "".join(f"{found[kind]:10}" for kind in KINDS))
    for what, parts in ("score", others), ("score of the etcd section", etcd):
        found = sum(parts.values(), collections.Counter())
        count = sum(found[kind] for kind in ("caught", "argued", "SURVIVED", "UNDECIDED"))
        if count:
            print(f"{what}: {coverage.percent(found['caught'], count):.1f} %, {found['caught']} of {count} caught, "
                  f"{parts[True]['caught']} of them of the table; {found['equivalent'] + found['same code']} equivalent")
    bad += [f"on the unchanged headers: {what}" for what in sorted(judge.unfit)]
    bad += [f"{must} of the table are not caught"] * bool(must)
    allowed = share * (len(chosen) - must)
    bad += [f"{unseen} survive or are undecided, {int(allowed)} may"] * (unseen > allowed)
    for why in bad:
        print(f"FAIL {why}")
    print(f"{max(total['caught'], not bad):d} passed, {len(bad)} failed")
    return not bad


def changed_lines(since):
    """(header, line) of the lines that differ from a commit."""
    made = subprocess.check_output(["git", "diff", "-U0", "--no-color", since, "--", *coverage.HEADERS], text=True)
    found, header = set(), ""
    for line in made.splitlines():
        if line.startswith("+++ "):
            header = line[6:]
        elif m := re.match(r"@@ \S+ \+(\d+)(?:,(\d+))? @@", line):
            found |= {(header, int(m[1]) + k) for k in range(int(m[2] or 1))}
    return found


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    given = os.environ.get
    began, jobs, curl = time.time(), int(given("JOBS") or os.cpu_count() or 2), coverage.has_curl()
    sample, names, only = int(given("SAMPLE") or 0), (given("NAMES") or "").split(), (given("ONLY") or "").split()
    if not all(map(shutil.which, ("clang", "gcc", "llvm-cov", "llvm-profdata"))):
        sys.exit("mutants needs clang, gcc, llvm-cov and llvm-profdata")
    if given("ETCD") and not curl:
        sys.exit("ETCD=1 needs libcurl")
    is_known = not given("CHANGED") or not subprocess.call(["git", "rev-parse", "-q", "--verify", given("CHANGED")],
                                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lines = changed_lines(given("CHANGED")) if given("CHANGED") and is_known else None
    if not is_known or lines == set():            # then the table is checked alone: it must fit the headers
        bad, known = [], coverage.programs(".", False)
        for m in Headers(Path("."), {}).table(bad):
            bad += [f"{TABLE}: {m.id}: no program {by}" for by in (first.split()[0].partition("-")[0] for first in m.first)
                    if by not in known and (curl or "etcd" not in by)]
        print("no header line changed" if is_known else
              f"SKIPPED mutants of changed lines: no commit {given('CHANGED')} here")
        for why in bad:
            print(f"FAIL {why}")
        print(f"{int(not bad)} passed, {len(bad)} failed")
        return bool(bad)
    seed = given("SEED") or subprocess.getoutput("git rev-parse HEAD")
    folder = Path(sys.argv[1]).resolve() / "mutants"
    base = folder / "base"
    for old in (base, folder / "plain", *folder.glob("work*")):
        shutil.rmtree(old, ignore_errors=True)
    base.mkdir(parents=True)
    for top in ("flake.h", "sno.h", "tools", "extras", "tests", "fuzz"):
        (shutil.copytree if Path(top).is_dir() else shutil.copy)(top, base / top)
    measured = coverage.measure_all(base, sys.argv[1], False, jobs)
    print(f"{len(measured)} programs, {time.time() - began:.0f} s to see which lines they run; SEED={seed}", flush=True)

    headers, bad = Headers(base, measured), []
    reasons = read_survivors(bad)
    table = list(headers.table(bad))
    for key in reasons.keys() - {m.key for m in [*headers.rule_made("", 0, set()), *table]}:
        print(f"{SURVIVORS}: no longer a mutant of the headers: {key[0]}: {key[1]}")
    skipped = set() if given("ETCD") else {"etcd"} if curl else {"etcd", "answers"}
    rules = [] if given("TABLE") == "only" or names else headers.rule_made(seed, int(given("PER_LINE") or 1), skipped)
    chosen = [] if sample or lines is not None else [
        m for m in table if (curl or m.section != "etcd") and (not names or any(word in m.id for word in names))]
    chosen += [m for m in rules if lines is None or not lines.isdisjoint(lines_of(m.edits))]
    if only:
        chosen = [m for m in chosen if any(word in f"{m.key[0]}/{m.section}" for word in only)]
    chosen = chosen[:sample or None]
    if part := given("PART"):
        k, n = map(int, part.split("/"))
        chosen = chosen[k % n::n]

    judge = Judge(base, folder, headers, measured, coverage.programs(base, False), caught_before(folder), curl)
    path = folder / f"{coverage.digest('.')}.tsv"
    rows, until = read_results(path), began + 60 * float(given("MINUTES") or 1e6)
    is_left = [m for m in chosen if given("ARGUED") or m.key not in reasons]
    judge_all(judge, [m for m in is_left if m.id not in rows], rows, path, jobs, until, 1)
    again = [m for m in is_left if m.id in rows and "(time)" in rows[m.id].by]
    if again and not stopped.is_set():
        print(f"{len(again)} once more, one at a time:", flush=True)
        judge_all(judge, again, rows, path, 1, until, 3)
    for used in (folder / "plain", base, *folder.glob("work*")):
        shutil.rmtree(used, ignore_errors=True)
    passed = report(chosen, rows, reasons, judge, bad, 0.2 if sample or lines is not None or given("PART") else 0.02)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"took {time.time() - began:.0f} s, {spent.ru_utime + spent.ru_stime:.0f} s of CPU time", file=sys.stderr)
    return not passed or stopped.is_set()


if __name__ == "__main__":
    sys.exit(main())
