#!/usr/bin/env python3
"""Reads off the built files whether they were hardened (cmake/DmaHarden.cmake), and fails where one was not.

    hardening.py --scratch FOLDER [--fortified FILE...] [--others FILE...]

A flag can be lost on its way to a file, so what counts is the file. Of FORTIFY a file shows nothing if it has no copy
whose size the compiler knows: such files are among the others.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import elf

TRIED = """
#include <cstdio>
#include <cstring>
int main(int count, char** words) {
  char text[16];
  std::strcpy(text, words[count - 1]);
  std::puts(text);
}
"""
HARDENED = ["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-fstack-protector-strong", "-fPIE", "-pie"]
HARDENED += ["-Wl,-z,relro,-z,now,-z,noexecstack"]
SOFT = ["-O2", "-w", "-U_FORTIFY_SOURCE", "-fno-stack-protector", "-fno-PIE", "-no-pie"]
SOFT += ["-Wl,-z,norelro,-z,lazy,-z,execstack"]


def faults_of_segments(file: Path) -> list[str]:
    headers = elf.output_of("readelf", "--wide", "--file-header", "--segments", "--dynamic", file)
    faults = []
    if not re.search(r"^ +Type: +DYN ", headers, re.MULTILINE) or "TEXTREL" in headers:
        faults.append("is not position independent")
    stack = re.search(r"^ +GNU_STACK(?: +0x\w+){5} +([RWE ]+?) +0x", headers, re.MULTILINE)
    if stack is None or "E" in stack[1]:
        faults.append("may execute its stack")
    if "GNU_RELRO" not in headers:
        faults.append("leaves its tables writable (no RELRO)")
    if not re.search(r"BIND_NOW|Flags:.*\bNOW\b", headers):
        faults.append("looks up functions late (no BIND_NOW), so its tables stay writable")
    return faults


def faults_of_calls(file: Path, fortified: bool) -> list[str]:
    called = elf.undefined_names(file)
    faults = []
    if "__stack_chk_fail" not in called:
        faults.append("has no stack protector")
    checked = {name for name in called if name.endswith("_chk")}
    if fortified and not checked:
        faults.append("calls no function that checks sizes (FORTIFY)")
    return faults


def faults_of(file: Path, fortified: bool) -> list[str]:
    segments = [] if elf.is_archive(file) else faults_of_segments(file)
    return segments + faults_of_calls(file, fortified)


def try_checks(scratch: Path) -> None:
    """Each check sees what it is there for."""
    hardened = elf.compile_source(TRIED, scratch / "hardened", *HARDENED)
    assert not faults_of(hardened, True), faults_of(hardened, True)
    soft = elf.compile_source(TRIED, scratch / "soft", *SOFT)
    assert len(faults_of(soft, True)) == 6, faults_of(soft, True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--scratch", type=Path, required=True, help="a folder for small programs")
    parser.add_argument("--fortified", type=Path, nargs="+", default=[], help="files that have sizes checked")
    parser.add_argument("--others", type=Path, nargs="+", default=[], help="files that need not")
    arguments = parser.parse_args()
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    try_checks(arguments.scratch)
    status = 0
    for file in [*arguments.fortified, *arguments.others]:
        faults = faults_of(file, file in arguments.fortified)
        for fault in faults:
            print(f"{file} {fault}")
        if not faults:
            print(f"{file.name}: hardened")
        status |= bool(faults)
    return status


if __name__ == "__main__":
    sys.exit(main())
