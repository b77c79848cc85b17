#!/usr/bin/env python3
"""Prints which lines of src/ and include/dma the tests ran, per folder; fails below --at-least percent of src/.

    tools/coverage.py build/coverage [--at-least 92]

The build has counters (preset coverage), and its tests have run. BUILD/coverage/index.html shows every line.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def count(build: Path, report: Path) -> list[dict]:
    """gcovr's figures of every file; the page with the lines goes to report."""
    report.mkdir(exist_ok=True)
    summary = report / "summary.json"
    command = ["gcovr", "--root", ROOT, "--filter", "src/", "--filter", "include/dma/"]
    command += ["--json-summary", summary, "--html-details", report / "index.html"]
    subprocess.run([*command, build], cwd=ROOT, check=True)
    return json.loads(summary.read_text())["files"]


def folder_of(name: str) -> str:
    return str(Path(name).parent)


def percent(lines: int, run: int) -> str:
    return f"{lines:6d}{run:8d}{100 * run / lines:8.1f} %"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("build", type=Path, help="the folder build/coverage, after its tests ran")
    parser.add_argument(
        "--at-least", type=float, default=92, help="percent of the lines of src/ (%(default)s)"
    )
    arguments = parser.parse_args()
    report = arguments.build.resolve() / "coverage"
    lines: dict[str, int] = defaultdict(int)
    run: dict[str, int] = defaultdict(int)
    for file in count(arguments.build.resolve(), report):
        top = "src" if file["filename"].startswith("src/") else "include/dma"
        for folder in (folder_of(file["filename"]), f"{top}, all"):
            lines[folder] += file["line_total"]
            run[folder] += file["line_covered"]
    if not run["src, all"]:
        sys.exit(f"{arguments.build}: no line of src/ was run; have its tests?")

    print(f"{'folder':24} lines     run")
    for folder in sorted(lines):
        print(f"{folder:24}{percent(lines[folder], run[folder])}")
    print(f"Line by line: {report / 'index.html'}")
    found = 100 * run["src, all"] / lines["src, all"]
    if found < arguments.at_least:
        print(f"{found:.2f} % of the lines of src/ were run, less than {arguments.at_least} %")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
