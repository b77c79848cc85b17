#!/usr/bin/env python3
"""Breaks the formulas one by one and checks that the tests notice.

tests/mutations.json lists the mutations: a file, a fragment of it, its replacement, what that means in words, and the
tests that ought to catch it, narrowest first.

    tools/mutations.py --list                prints the mutations
    tools/mutations.py --check               exit status 1 if a fragment does not occur exactly once in its file
    tools/mutations.py --scratch DIR         runs all, in a copy of the checkout in DIR, which may be used again
    tools/mutations.py --scratch DIR --only NAME... [--jobs N] [--json FILE]

The checkout itself is never written to. Exit status 1 if a mutation survived or did not compile.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tests/mutations.json"
LIBRARY = "src/libdma.a"
CONFIGURE = (
    "-GNinja",
    "-DCMAKE_BUILD_TYPE=Release",
    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DDMA_BUILD_CLI=OFF",
    "-DDMA_BUILD_PYTHON=OFF",
    "-DDMA_BUILD_EXAMPLES=OFF",
    "-DDMA_BUILD_BENCH=OFF",
    "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON",  # a test would wait for the whole library
)


@dataclasses.dataclass(frozen=True)
class Mutation:
    name: str
    file: str
    meaning: str
    find: str
    put: str
    tests: tuple


class Failure(Exception):
    """What stops the run, in one line."""


def mutations():
    return [
        Mutation(file=part["file"], **{**one, "tests": tuple(one.get("tests", part["tests"]))})
        for part in json.loads(LIST.read_text())
        for one in part["mutations"]
    ]


def complaints(every):
    """What is wrong with the list."""
    seen = set()
    for mutation in every:
        if mutation.name in seen:
            yield f"{mutation.name}: the name stands twice"
        seen.add(mutation.name)
        count = (ROOT / mutation.file).read_text().count(mutation.find)
        if count != 1:
            yield f"{mutation.name}: {mutation.file} has {count} times: {mutation.find}"
        if mutation.find == mutation.put:
            yield f"{mutation.name}: changes nothing"
        for test in mutation.tests:
            if not (ROOT / f"tests/{test}_test.cc").exists():
                yield f"{mutation.name}: there is no tests/{test}_test.cc"


class Scratch:
    """A copy of the checkout and its build."""

    def __init__(self, directory, jobs):
        self.source = directory / "source"
        self.build = directory / "build"
        self.pristine = directory / "pristine"  # the build of the unmutated tree
        self.jobs = jobs
        self.programs = {}  # by test; a program holds several
        self.members = {}
        self.seconds = {}
        self.source.mkdir(parents=True, exist_ok=True)

    def copy_checkout(self):
        listed = ("git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others")
        files = subprocess.run(
            (*listed, "--exclude-standard"), cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.split("\0")
        wanted = {name for name in files if name and (ROOT / name).is_file()}
        for name in wanted:
            self.put(name, (ROOT / name).read_text("utf-8", "surrogateescape"))
        for path in [p for p in self.source.rglob("*") if p.is_file()]:
            if str(path.relative_to(self.source)) not in wanted:
                path.unlink()

    def put(self, name, text):
        """Writes only what differs: what is not touched is not compiled again."""
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8", "surrogateescape") != text:
            path.write_text(text, "utf-8", "surrogateescape")

    def run(self, *command, **more):
        return subprocess.run(command, cwd=self.build, capture_output=True, text=True, **more)

    def prepare(self, tests):
        """Builds and runs the unmutated tests, and notes which parts of the library each of them uses."""
        self.copy_checkout()
        if self.pristine.exists():
            self.restore_build()
        self.build.mkdir(exist_ok=True)
        self.require("cmake", "-S", str(self.source), "-B", str(self.build), *CONFIGURE)
        listed = (self.build / "tests/CTestTestfile.cmake").read_text()
        self.programs = dict(re.findall(r'add_test\(\[=\[(\S+)\]=\] "[^"]*/(\w+)"', listed))
        self.require("ninja", f"-j{self.jobs}", *sorted({self.programs[test] for test in tests}))
        for test in tests:
            self.members[test] = self.members_of(test)
            start = time.monotonic()
            caught = self.failure_of(test, None)
            if caught:
                raise Failure(f"the unmutated tree fails {test}: {caught}")
            self.seconds[test] = time.monotonic() - start
            say(f"  {test}: {self.seconds[test]:.1f} s")
        shutil.rmtree(self.pristine, ignore_errors=True)
        shutil.copytree(self.build, self.pristine, symlinks=True)

    def require(self, *command):
        done = self.run(*command)
        if done.returncode != 0:
            raise Failure(f"the unmutated tree does not build:\n{done.stdout[-3000:]}{done.stderr}")

    def restore_build(self):
        shutil.rmtree(self.build)
        shutil.copytree(self.pristine, self.build, symlinks=True)

    def own_objects(self, test):
        folder = f"tests/CMakeFiles/{self.programs[test]}.dir"
        return [f"{folder}/{name}.cc.o" for name in (f"{test}_test", "main")]

    def link_command(self, test):
        """Without the program's other tests: an inline function in one of them may be of the unmutated tree."""
        program = self.programs[test]
        command = self.run("ninja", "-t", "commands", "-s", f"tests/{program}").stdout.strip()
        own = self.own_objects(test)
        return re.sub(
            rf"\S*/{program}\.dir/\S+\.o", lambda found: found[0] if found[0] in own else "", command
        )

    def members_of(self, test):
        """The library's objects that the linker takes for this test."""
        traced = self.link_command(test).replace(f" {LIBRARY} ", f" -Wl,--trace,--trace {LIBRARY} ")
        done = self.run("sh", "-c", traced)
        found = re.findall(rf"{re.escape(LIBRARY)}\((\S+)\)|\({re.escape(LIBRARY)}\)(\S+)", done.stdout)
        objects = self.run("ninja", "-t", "inputs", LIBRARY).stdout.split()
        named = {name for pair in found for name in pair if name}
        members = [path for path in objects if path.endswith(".o") and pathlib.Path(path).name in named]
        if done.returncode != 0 or not re.search(r"\.a\)\S|\.a\(\S", done.stdout):
            raise Failure(f"{test}: cannot tell what the linker takes from {LIBRARY}:\n{done.stdout}")
        return members

    def build_test(self, test):
        """Only what the test links is compiled again; the rest of the library stays as it was."""
        done = self.run("ninja", f"-j{self.jobs}", *self.own_objects(test), *self.members[test])
        if done.returncode != 0:
            return done.stdout
        fresh = " ".join(self.members[test])
        done = self.run("sh", "-c", self.link_command(test).replace(f" {LIBRARY} ", f" {fresh} {LIBRARY} "))
        return done.stdout + done.stderr if done.returncode != 0 else None

    def failure_of(self, test, seconds):
        """The case that failed, or None."""
        command = ("ctest", "-R", f"^{re.escape(test)}$", "--no-tests=error", "--output-on-failure")
        try:
            done = self.run(*command, timeout=seconds, env={**os.environ, "GTEST_FAIL_FAST": "1"})
        except subprocess.TimeoutExpired:
            return f"no end after {seconds:.0f} s"
        if done.returncode == 0:
            return None
        case = re.search(r"\[  FAILED  \] ([\w/.]+)", done.stdout)
        return case.group(1) if case else "it ends abnormally"

    def judge(self, mutation):
        """What became of the mutation: (verdict, test and case)."""
        path = self.source / mutation.file
        text = path.read_text()
        before = path.stat()
        path.write_text(text.replace(mutation.find, mutation.put))
        try:
            for test in mutation.tests:
                complaint = self.build_test(test)
                if complaint is not None:
                    return "did not compile", complaint[-2000:]
                caught = self.failure_of(test, 60 + 10 * self.seconds[test])
                if caught:
                    return "caught", f"{test}: {caught}"
            return "survived", ""
        finally:
            path.write_text(text)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            self.restore_build()


def say(text):
    print(text, flush=True)


def run_all(chosen, scratch):
    tests = sorted({test for mutation in chosen for test in mutation.tests})
    say(f"The unmutated tree, which has to pass {len(tests)} tests:")
    scratch.prepare(tests)
    results = []
    for mutation in chosen:
        start = time.monotonic()
        verdict, detail = scratch.judge(mutation)
        seconds = time.monotonic() - start
        say(f"{verdict:<9} {seconds:5.0f} s  {mutation.name}  {detail}")
        results.append({**dataclasses.asdict(mutation), "verdict": verdict, "by": detail, "seconds": seconds})
    return results


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--list", action="store_true", help="print the mutations without running any")
    parser.add_argument("--check", action="store_true", help="only check that the list fits the sources")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run only these mutations")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel compilers (default 1)")
    parser.add_argument("--scratch", type=pathlib.Path, metavar="DIR", help="folder to copy and build in")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="file to write the results to")
    return parser.parse_args()


def chosen_of(every, names):
    unknown = set(names or ()) - {mutation.name for mutation in every}
    if unknown:
        raise Failure(f"no such mutation: {', '.join(sorted(unknown))}")
    return [mutation for mutation in every if not names or mutation.name in names]


def main():
    options = arguments()
    every = mutations()
    wrong = list(complaints(every))
    if wrong:
        raise Failure("tests/mutations.json does not fit the sources\n" + "\n".join(wrong))
    if options.check:
        return 0
    chosen = chosen_of(every, options.only)
    if options.list:
        for mutation in chosen:
            say(f"{mutation.file}\n  {mutation.name}: {mutation.meaning}")
        return 0
    directory = (options.scratch or pathlib.Path(tempfile.mkdtemp(prefix="dma-mutations-"))).resolve()
    if directory.is_relative_to(ROOT) and not directory.is_relative_to(ROOT / "build"):
        raise Failure(f"{directory} is among the sources: --scratch must name a directory elsewhere")
    results = run_all(chosen, Scratch(directory, options.jobs))
    caught = sum(result["verdict"] == "caught" for result in results)
    say(f"{caught} of {len(results)} caught, in {sum(result['seconds'] for result in results) / 60:.0f} min")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0 if caught == len(results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"mutations: {failure}")
