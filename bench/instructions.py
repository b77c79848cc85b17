#!/usr/bin/env python3
"""Instructions per epoch of the paper's two networks, counted by callgrind and compared with the pinned counts.

    bench/instructions.py --program build/release/bench/dma_instructions --compiler GNU-12           compares
    bench/instructions.py --program build/release/bench/dma_instructions --compiler GNU-12 --write   pins

Counts do not depend on how busy the machine is. An epoch is the difference of two fits with different numbers of
epochs, so that starting, reading and the certificate cancel. Counts are pinned per architecture and compiler; if there
are none for this one, the exit status is 77: nothing was compared.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import sys
from pathlib import Path

TOLERANCE = 0.03
SKIPPED = 77
EPOCHS = {"small": (2, 6), "deep": (1, 2)}  # few and many
PINS = Path(__file__).parent / "instructions"


def count(program: Path, network: str, number: str, epochs: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    run = subprocess.run(
        [*command, program, network, number, str(epochs)], capture_output=True, text=True, check=False
    )
    collected = re.search(r"Collected\s*:\s*(\d+)", run.stderr)
    if run.returncode != 0 or collected is None:
        sys.exit(f"valgrind failed:\n{run.stderr}")
    return int(collected[1])


def per_epoch(program: Path, network: str, number: str) -> int:
    few, many = EPOCHS[network]
    return round(
        (count(program, network, number, many) - count(program, network, number, few)) / (many - few)
    )


def measure(program: Path) -> dict[str, int]:
    return {
        f"{network} {number}": per_epoch(program, network, number)
        for network in EPOCHS
        for number in ("float", "double")
    }


def compare(pinned: dict[str, int], found: dict[str, int]) -> bool:
    fits = True
    for name, now in found.items():
        before = pinned[name]
        change = now / before - 1
        held = abs(change) <= TOLERANCE
        fits &= held
        print(
            f"{name}: {now} instructions per epoch, pinned {before} ({change:+.1%}){'' if held else ': NOT KEPT'}"
        )
    return fits


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--program", type=Path, required=True, help="the program dma_instructions")
    parser.add_argument(
        "--compiler", required=True, help="the compiler that built it and its major version, such as GNU-12"
    )
    parser.add_argument("--write", action="store_true", help="pin the current counts")
    arguments = parser.parse_args()
    path = PINS / f"{platform.machine()}-{arguments.compiler.lower()}.json"
    if arguments.write:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(measure(arguments.program), indent=2) + "\n")
        print(path.read_text(), end="")
        return 0
    if not path.exists():
        print(
            f"skipped: nothing is pinned for {path.stem}; run cmake --build build/release --target pin_instructions"
        )
        return SKIPPED
    if compare(json.loads(path.read_text()), measure(arguments.program)):
        return 0
    print("If this is intended: cmake --build build/release --target pin_instructions")
    return 1


if __name__ == "__main__":
    sys.exit(main())
