"""What nm and readelf say of a file, and small programs to try the checks on."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Symbol:
    name: str
    kind: str  # nm's letter

    def is_strong(self) -> bool:
        return self.kind not in "WVuwv"


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def is_archive(file: Path) -> bool:
    return file.suffix == ".a"


# What others can link to: of a shared file its dynamic symbols, of an archive those that are not local.
def defined_symbols(file: Path) -> list[Symbol]:
    which = "--extern-only" if is_archive(file) else "--dynamic"
    return symbols(output_of("nm", which, "--defined-only", file))


def undefined_names(file: Path) -> set[str]:
    which = () if is_archive(file) else ("--dynamic",)
    names = {symbol.name for symbol in symbols(output_of("nm", *which, "--undefined-only", file))}
    return {name.split("@")[0] for name in names}


def symbols(text: str) -> list[Symbol]:
    found = re.finditer(r"^(?:[0-9a-f]+)? +([A-Za-z]) (\S+)$", text, re.MULTILINE)
    return [Symbol(name=one[2], kind=one[1]) for one in found]


def compile_source(source: str, file: Path, *options: str, compiler: str = "c++") -> Path:
    subprocess.run([compiler, "-x", "c++", "-", "-o", file, *options], input=source, text=True, check=True)
    return file
