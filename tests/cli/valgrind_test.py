#!/usr/bin/env python3
"""The command under valgrind's memcheck: memory that is read before it was written, or is lost.

    tests/cli/valgrind_test.py --command build/release/dma

The sanitizers see more, but not this: whether a value was ever written. Every way through the library on tables
as small as they get, because a program runs some thirty times slower here.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
FOUND = 99  # valgrind's exit status if it has found something
VALGRIND = [
    "valgrind",
    "--quiet",
    f"--error-exitcode={FOUND}",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite,indirect,possible",
    f"--suppressions={SOURCE / 'tests' / 'valgrind.supp'}",
]

NETWORK = "--hidden 3 --ensemble 2"
SMALL = f"{NETWORK} --epochs 2"
INDEPENDENT = f"{SMALL} --belief independent --holdout 0.2"
STREAM = f"{NETWORK} --ledger none --epochs 1"
COMMANDS = [  # with their exit status
    (0, f"fit train.csv --target y {SMALL} --threads 1 --model joint"),
    (0, f"fit train.csv --target y {SMALL} --threads 2 --model joint"),
    (0, "predict joint new.csv -o predicted.csv"),
    (0, "evaluate joint new.csv --json"),
    (0, "update joint new.csv"),
    (0, "forget joint --rows new.csv"),
    (1, f"fit train.csv --target colour --kind number {SMALL} --model none"),
    (0, f"fit train.csv --target colour {SMALL} --model classes"),
    (0, "predict classes new.csv -o predicted.csv"),
    (0, f"fit train.csv --target y {INDEPENDENT} --threads 2 --float --model independent"),
    (0, "update independent new.csv"),
    (0, "forget independent --batch 0"),
    (0, "predict independent new.csv -o predicted.csv"),
    (0, f"fit train.csv --target y {STREAM} --threads 2 --model streamed"),
    (0, f"infer {SOURCE / 'examples' / 'product.json'} --engine ep --tolerance 1e-6"),
]


def table(first: int, last: int) -> str:
    """Numbers with an empty cell, dates, categories."""
    lines = ["x,day,colour,y"]
    for n in range(first, last):
        x = math.sin(n * n)
        lines.append(
            f"{'' if n == 7 else x},2024-01-{n % 28 + 1:02d},{'rgb'[n % 3]},{x * x + 0.1 * math.cos(n)}"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", type=Path, required=True, help="the dma command")
    command = parser.parse_args().command.resolve()
    clean = True
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.csv").write_text(table(0, 20))
        Path(folder, "new.csv").write_text(table(20, 25))
        for expected, arguments in COMMANDS:
            start = time.monotonic()
            run = subprocess.run(
                [*VALGRIND, command, *arguments.split()],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            print(f"{time.monotonic() - start:5.1f} s  dma {arguments}", flush=True)
            if run.returncode != expected:
                print(f"exit status {run.returncode}, expected {expected}\n{run.stderr}")
                clean = False
    sys.exit(0 if clean else 1)


if __name__ == "__main__":
    main()
