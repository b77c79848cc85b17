#!/usr/bin/env python3
"""Installs a build and fails if a library shows symbols that are not its own.

    symbols.py --build build/release --scratch FOLDER [--shared libdma.so]

Own is what stands in namespace dma; of a module that is loaded by name, its entry alone. An archive cannot hide what
templates of other libraries became in it, and those are weak: only its strong symbols have to be its own.
"""

from __future__ import annotations

import argparse
import fnmatch
import re
import shutil
import sys
from pathlib import Path

import elf

# nested name (const, &, &&), what belongs to a type, thunks, static variables of functions
NAMESPACE = re.compile(r"_Z(?:GV)?Z?(?:T[VTIS]|T[hv][^N]*)?N[KRO]*3dma")
ENTRIES = {"_core.*.so": "PyInit__core", "dma_torch.so": "dma_torch_functions"}


def is_own(name: str, file: Path) -> bool:
    for pattern, entry in ENTRIES.items():
        if fnmatch.fnmatch(file.name, pattern):
            return name == entry
    return NAMESPACE.match(name) is not None


def strangers(file: Path) -> list[str]:
    visible = elf.defined_symbols(file)
    if elf.is_archive(file):
        visible = [symbol for symbol in visible if symbol.is_strong()]
    if not visible:
        sys.exit(f"{file}: no symbols at all; nothing could use it")
    return [symbol.name for symbol in visible if not is_own(symbol.name, file)]


def complain(file: Path) -> bool:
    found = strangers(file)
    for name in found[:20]:
        print(f"{file}: {name} is not the library's own")
    if not found:
        print(f"{file.name}: shows only its own symbols")
    return bool(found)


def try_checks(scratch: Path) -> None:
    """The checks see a stranger where there is one."""
    source = "namespace dma { int own() { return 1; } }\nint stray() { return 2; }\n"
    library = elf.compile_source(source, scratch / "libtried.so", "-shared", "-fPIC")
    assert strangers(library) == ["_Z5strayv"], strangers(library)
    torch = elf.compile_source(
        'extern "C" int dma_torch_functions() { return 1; }\n' + source,
        scratch / "dma_torch.so",
        "-shared",
        "-fPIC",
    )
    assert strangers(torch) == ["_Z5strayv", "_ZN3dma3ownEv"], strangers(torch)
    for file in (library, torch):
        file.unlink()


def install(build: Path, prefix: Path) -> list[Path]:
    elf.output_of("cmake", "--install", build, "--prefix", prefix)
    elf.output_of("cmake", "--install", build, "--prefix", prefix, "--component", "python")
    files = [file for file in prefix.rglob("*") if file.is_file() and not file.is_symlink()]
    # pip's package brings libraries of others, as they are.
    files = [file for file in files if not file.name.startswith(("libhwy.so", "libtbb.so"))]
    return sorted(file for file in files if re.search(r"\.(a|so)(\.[0-9.]+)?$", file.name))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--build", type=Path, required=True, help="what is installed")
    parser.add_argument("--scratch", type=Path, required=True, help="a folder of our own; it is emptied")
    parser.add_argument("--shared", type=Path, help="another library to look at")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.scratch, ignore_errors=True)
    arguments.scratch.mkdir(parents=True)
    try_checks(arguments.scratch)
    files = install(arguments.build, arguments.scratch / "prefix")
    if not any(file.name.startswith("libdma.") for file in files):
        sys.exit(f"the library is not among what was installed: {[file.name for file in files]}")
    if arguments.shared:
        files.append(arguments.shared)
    return int(any([complain(file) for file in files]))


if __name__ == "__main__":
    sys.exit(main())
