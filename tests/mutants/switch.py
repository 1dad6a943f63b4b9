#!/usr/bin/env python3
"""Runs the tests on many mutants after a single build.

Reads the list of `cargo mutants --list --json` from stdin. In a copy of the sources every function gets
one body per mutant, and the environment variable AZURE_TABLE_MUTANT selects one of them at run time:

    fn f() { match crate::active_mutant() { 17 => { mutated body } 18 => { another } _ => { body } } }

A mutant that the compiler rejects is taken out and listed as unviable. Constants, `const fn` and some functions
that return `impl Trait` take no switch: they are listed as unswitchable.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / os.environ.get("AZURE_TABLE_MUTANTS", "target/mutants")
COPY = WORK / "copy"
OUTCOMES = WORK / "outcomes.txt"
CRATES = ("azure-table", "azure-table-wire", "azure-table-emulator", "azure-table-patterns", "azure-table-testing")
PACKAGES = [argument for name in (*CRATES, "azure-table-tests") for argument in ("-p", name)]
# The tests run far more often than they are compiled.
OPTIMIZED = [f"--config=profile.dev.package.{name}.opt-level=1" for name in CRATES]
# Measures time on a machine that is busy with mutants.
TIMED_TESTS = ["--skip", "long_scan_delays"]
LONG_TESTS = ["matrix", "history", "dropped"]
# Each crate asks for the active mutant itself.
CRATE_ROOTS = tuple(f"{name}/src/lib.rs" for name in CRATES)

ACTIVE_MUTANT = """
pub(crate) fn active_mutant() -> u32 {
    static ACTIVE: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
        std::env::var("AZURE_TABLE_MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or_default()
    });
    *ACTIVE
}
"""


# The programs of `--it`.
BEHAVIOUR = ["it", "entities", "kit"]


class Mutant:
    """One change of one place, and its outcome."""

    def __init__(self, number, listed):
        self.number = number
        self.name = listed["name"]
        self.file = listed["file"]
        self.replacement = listed["replacement"]
        self.span = listed["span"]
        self.function = (listed.get("function") or {}).get("span")
        self.outcome, self.test = None, ""


class Source:
    """A source file, and the bodies of its functions once for each mutant."""

    def __init__(self, file, mutants):
        self.file = file
        self.text = (ROOT / file).read_text()
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.functions = collections.defaultdict(list)
        outer = [(0, 0)]
        for mutant in sorted(mutants, key=lambda mutant: self.span(mutant.function)[0]):
            start, end = self.span(mutant.function)
            if start >= outer[-1][1]:
                outer.append((start, end))
            self.functions[outer[-1]].append(mutant)

    def span(self, span):
        start, end = ((self.starts[at["line"] - 1] + at["column"] - 1) for at in (span["start"], span["end"]))
        return start, end

    def signature(self, start):
        """The function's signature, without comments and attributes."""
        start = self.text.rfind("\n", 0, start) + 1
        return re.compile(r"^\s*(pub(\([\w ]+\))? )?(const )?(async )?fn [^{]*{", re.MULTILINE).search(self.text, start)

    def switched(self):
        """The text with every mutant that has no outcome yet, and the lines of each: of its own, and of its function."""
        text, lines, written = "", {}, 0
        for (start, end), mutants in sorted(self.functions.items()):
            mutants = [mutant for mutant in mutants if mutant.outcome is None]
            if not mutants:
                continue
            body = self.signature(start).end()
            text += self.text[written:body] + " match crate::active_mutant() {\n"
            for mutant in mutants:
                first, last = self.span(mutant.span)
                text += f"{mutant.number} => {{\n"
                from_line = text.count("\n")
                text += self.text[body:first] + mutant.replacement + self.text[last : end - 1] + "\n}\n"
                lines[mutant] = range(from_line, text.count("\n") + 1)
            from_line = text.count("\n")
            text += "_ => {" + self.text[body : end - 1] + "\n} }\n}"
            for mutant in mutants:
                lines[mutant] = (lines[mutant], range(from_line, text.count("\n") + 1))
            written = end
        return text + self.text[written:], lines

    def is_const(self, mutant):
        start, _ = self.span(mutant.function)
        return self.signature(start)[3] is not None


def copy_sources():
    """Copies the files that git tracks or would add."""
    listed = subprocess.check_output(["git", "ls-files", "-zco", "--exclude-standard"], cwd=ROOT, text=True)
    kept = {file for file in listed.split("\0") if file and (ROOT / file).is_file()}
    if COPY.exists():
        for path in [path for path in COPY.rglob("*") if path.is_file()]:
            if str(path.relative_to(COPY)) not in kept:
                path.unlink()
    for file in kept:
        write(COPY / file, (ROOT / file).read_bytes())


def write(path, content):
    """Writes a file unless it has this content, so that it is not compiled again."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def cargo(*arguments):
    run = subprocess.run(
        ["cargo", *arguments, *PACKAGES, *OPTIMIZED, "--message-format=json"],
        cwd=COPY,
        # Cargo confuses the packages of the copy with those of the sources, so each has its own folder.
        env={**os.environ, "CARGO_TARGET_DIR": str(WORK / "target")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return run, [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def build(sources, targets):
    """Builds the copy, without those mutants that do not compile. Returns the test programs by their names."""
    while True:
        lines = {}
        for source in sources:
            text, lines[source.file] = source.switched()
            if source.file in CRATE_ROOTS:
                text += ACTIVE_MUTANT
            write(COPY / source.file, text.encode())
        for command in (["check"], ["test", "--no-run"]):
            run, messages = cargo(*command, *targets)
            if run.returncode != 0:
                break
        else:
            return {
                message["target"]["name"]: message["executable"]
                for message in messages
                if message.get("executable") and message["target"]["name"] in (*(name.replace("-", "_") for name in CRATES), "faults", *BEHAVIOUR)
            }
        errors = [m["message"] for m in messages if m["reason"] == "compiler-message" and m["message"]["level"] == "error"]
        spans = [span for error in errors for span in error["spans"] if span["is_primary"]]
        # If the switch itself does not compile, none of the function's mutants can be selected.
        for place, outcome in enumerate(("unviable", "unswitchable")):
            rejected = {
                mutant
                for span in spans
                for mutant, within in lines.get(span["file_name"], {}).items()
                if span["line_start"] in within[place]
            }
            if rejected:
                break
        else:
            sys.exit(run.stderr + "".join(error["rendered"] for error in errors[:5]))
        for mutant in rejected:
            mutant.outcome = outcome
        print(f"{len(rejected)} mutants are {outcome}", flush=True)


class Tests:
    """Some tests of a program, and the time they may take."""

    def __init__(self, program, package, *arguments):
        self.command = [program, *arguments]
        self.directory = COPY / package
        self.limit = 600
        start = time.monotonic()
        while True:
            outcome, test = self.run(0)
            if outcome is None:
                break
            if not test:
                sys.exit(f"{' '.join(self.command)} fails without a mutant")
            # Such as those that read the sources.
            print(f"left out, since it fails without a mutant: {test}", flush=True)
            self.command += ["--skip", test]
            start = time.monotonic()
        self.limit = 20 + 5 * (time.monotonic() - start)

    def run(self, number):
        """Stops at the first test that fails. Returns the outcome of the mutant, and that test."""
        process = subprocess.Popen(
            self.command,
            cwd=self.directory,
            env={**os.environ, "AZURE_TABLE_MUTANT": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)),
        )
        late = threading.Event()
        timer = threading.Timer(self.limit, lambda: (late.set(), process.kill()))
        timer.start()
        try:
            for line in process.stdout:
                failed = re.match(r"test (\S+).* \.\.\. FAILED", line)
                if failed:
                    return "caught", failed[1]
            if process.wait() == 0:
                return None, ""
            return ("timeout" if late.is_set() else "caught"), ""
        finally:
            timer.cancel()
            process.kill()
            process.wait()


class TestRuns:
    """All tests; first those that are fast and likely to find a mutant."""

    def __init__(self, programs):
        skips = [argument for name in LONG_TESTS for argument in ("--skip", name)]
        self.unit_tests = {name: programs[name.replace("-", "_")] for name in CRATES}
        self.of_module = {}
        self.of_all = [
            Tests(programs["faults"], "tests", *skips),
            *(Tests(tests, crate, *TIMED_TESTS) for crate, tests in self.unit_tests.items()),
            Tests(programs["faults"], "tests", *LONG_TESTS),
        ]
        self.of_all += [Tests(programs[name], "tests") for name in BEHAVIOUR if name in programs]

    def prepare(self, mutant):
        if mutant.file not in self.of_module:
            crate, _, file = mutant.file.partition("/src/")
            module = re.sub(r"(/mod)?\.rs$", "", file).replace("/", "::")
            self.of_module[mutant.file] = Tests(self.unit_tests[crate], crate, module)

    def test(self, mutant):
        mutant.outcome = "missed"
        for tests in [self.of_module[mutant.file], *self.of_all]:
            outcome, mutant.test = tests.run(mutant.number)
            if outcome is not None:
                mutant.outcome = outcome
                break
        return mutant


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="mutants that are tried at the same time")
    parser.add_argument("--sample", type=int, help="so many of the list, drawn at random")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--it", action="store_true", help="also run the tests of `it`, `entities` and `kit`")
    parser.add_argument("--continue", dest="resumed", action="store_true", help="only those that were not caught before")
    options = parser.parse_args()

    listed = json.load(sys.stdin)
    if options.sample:
        listed = random.Random(options.seed).sample(sorted(listed, key=lambda one: one["name"]), options.sample)
    mutants = [Mutant(number, one) for number, one in enumerate(listed, start=1)]
    if options.resumed and OUTCOMES.exists():
        known = dict(line.split("\t")[:2] for line in OUTCOMES.read_text().splitlines())
        for mutant in mutants:
            mutant.outcome = known.get(mutant.name) if known.get(mutant.name) != "missed" else None
    by_file = collections.defaultdict(list)
    by_file.update((file, []) for file in CRATE_ROOTS)
    for mutant in mutants:
        if mutant.function is None:
            mutant.outcome = "unswitchable"
        else:
            by_file[mutant.file].append(mutant)
    copy_sources()
    sources = [Source(file, mutants) for file, mutants in by_file.items()]
    for source in sources:
        for mutant in by_file[source.file]:
            if source.is_const(mutant):
                mutant.outcome = "unswitchable"

    start = time.monotonic()
    programs = build(sources, ["--lib", "--test", "faults"] + [f"--test={name}" for name in BEHAVIOUR if options.it])
    print(f"built in {time.monotonic() - start:.0f} s", flush=True)

    tried = [mutant for mutant in mutants if mutant.outcome is None]
    runs = TestRuns(programs)
    for mutant in tried:
        runs.prepare(mutant)
    start = time.monotonic()
    with open(OUTCOMES, "a") as outcomes, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for mutant in mutants:
            if mutant.outcome in ("unswitchable", "unviable"):
                outcomes.write(f"{mutant.name}\t{mutant.outcome}\n")
        running = [pool.submit(runs.test, mutant) for mutant in tried]
        for done in concurrent.futures.as_completed(running):
            mutant = done.result()
            print(f"{mutant.outcome:8} {mutant.number} {mutant.name}  {mutant.test}", flush=True)
            outcomes.write(f"{mutant.name}\t{mutant.outcome}\t{mutant.test}\n")
            outcomes.flush()
    seconds = time.monotonic() - start

    for mutant in mutants:
        if mutant.outcome not in ("caught", "timeout"):
            print(f"{mutant.outcome}: {mutant.name}")
    counts = collections.Counter(mutant.outcome for mutant in mutants)
    print(f"{len(mutants)} mutants: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    print(f"{seconds:.0f} s, {seconds / max(1, len(tried)):.1f} s each")


main()
