#!/usr/bin/env python3
"""Writes docs/dependencies.md: what dma is built from, with versions and licences; --check compares.

    tools/dependencies.py                      writes it, with the versions of this machine
    tools/dependencies.py --check [FILE...]    fails if something is used that is not in the list

Used means: included, found by CMake, imported, installed by ./dev or pip or npm, or needed by one of the FILEs, which
are built programs and libraries. A part of the tree may use only the dependencies that name it, and the public headers
none at all. --check ignores versions: another version is not a mistake.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/dependencies.md"


@dataclass(frozen=True)
class Dependency:
    name: str
    purpose: str
    licence: str  # SPDX
    packages: str = ""  # Debian's, the first is the one whose version and licence are read
    parts: str = ""  # folders that may use it
    headers: str = ""  # first folder or name in an #include
    cmake: str = ""  # as find_package calls it
    modules: str = ""  # as Python imports it
    pip: str = ""
    libraries: str = ""  # lib<...>.so that a built file may need


# How shipped files use it.
SHIPPED = {
    "The library": [
        Dependency(
            "Highway",
            "vector instructions, chosen at run time",
            "Apache-2.0",
            packages="libhwy-dev",
            parts="src bench tests",
            headers="hwy",
            cmake="hwy",
            libraries="hwy",
        ),
        Dependency(
            "oneTBB",
            "threads: restarts, splits, rows to predict",
            "Apache-2.0",
            packages="libtbb-dev",
            parts="src baselines experiments bench tests",
            headers="tbb",
            cmake="TBB",
            libraries="tbb",
        ),
        Dependency(
            "zlib",
            "compressed tables",
            "Zlib",
            packages="zlib1g-dev",
            parts="src paper bench tests fuzz",
            headers="zlib.h",
            cmake="ZLIB",
            libraries="z",
        ),
        Dependency(
            "Eigen",
            "dense linear algebra: the joint posterior, Laplace's Hessian; headers, compiled in",
            "MPL-2.0",
            packages="libeigen3-dev",
            parts="src baselines tests",
            headers="Eigen",
            cmake="Eigen3",
        ),
        Dependency(
            "nlohmann-json",
            "the header of a model file, graphs, reports; headers, compiled in",
            "MIT",
            packages="nlohmann-json3-dev",
            parts="src cli paper experiments validation bench tests fuzz",
            headers="nlohmann",
            cmake="nlohmann_json",
        ),
        Dependency(
            "GCC's runtime",
            "the standard library of C++",
            "GPL-3.0-or-later WITH GCC-exception-3.1",
            packages="libstdc++6",
            libraries="stdc++ gcc_s",
        ),
        Dependency(
            "glibc",
            "the system",
            "LGPL-2.1-or-later",
            packages="libc6",
            libraries="c m ld-linux-aarch64 ld-linux-x86-64",
        ),
    ],
    "The command, besides the library": [
        Dependency(
            "CLI11",
            "command-line arguments; headers, compiled in",
            "BSD-3-Clause",
            packages="libcli11-dev",
            parts="cli fuzz",
            headers="CLI",
            cmake="CLI11",
        ),
        Dependency(
            "fmt",
            "formatting",
            "MIT",
            packages="libfmt-dev",
            parts="cli paper experiments examples bench",
            headers="fmt",
            cmake="fmt",
            libraries="fmt",
        ),
        Dependency(
            "Boost.Math, Boost.Multiprecision",
            "references by quadrature in `dma reproduce`; headers, compiled in; tests",
            "BSL-1.0",
            packages="libboost-dev",
            parts="validation tests",
            headers="boost",
            cmake="Boost",
        ),
        Dependency(
            "libtorch",
            "optional: the module `dma_torch.so` with Adam and AdamW for the paper's comparisons",
            "BSD-3-Clause",
            packages="libtorch-dev",
            parts="baselines",
            headers="torch ATen",
            cmake="Torch",
            libraries="c10 torch_cpu torch",
        ),
    ],
    "The Python package, besides the library": [
        Dependency(
            "Python",
            "the interpreter and its headers",
            "PSF-2.0",
            packages="python3-dev python3",
            parts="python",
            cmake="Python",
        ),
        Dependency(
            "pybind11",
            "binds the library; headers, compiled in",
            "BSD-3-Clause",
            packages="pybind11-dev",
            parts="python",
            headers="pybind11",
            cmake="pybind11",
            pip="pybind11",
        ),
        Dependency(
            "NumPy",
            "arrays in and out",
            "BSD-3-Clause",
            packages="python3-numpy",
            parts="python tests bench docs examples",
            modules="numpy",
            pip="numpy",
        ),
        Dependency(
            "scikit-learn",
            "its conventions; other regressors in comparisons",
            "BSD-3-Clause",
            packages="python3-sklearn",
            parts="python tests bench docs examples",
            modules="sklearn",
            pip="scikit-learn",
        ),
        Dependency(
            "joblib",
            "comes with scikit-learn; its thread settings are respected",
            "BSD-3-Clause",
            packages="python3-joblib",
            parts="python tests",
            modules="joblib",
            pip="joblib",
        ),
        Dependency(
            "SciPy",
            "comes with scikit-learn: distributions, sparse input",
            "BSD-3-Clause",
            packages="python3-scipy",
            parts="python tests bench examples",
            modules="scipy",
        ),
        Dependency(
            "matplotlib",
            "optional: plots",
            "PSF-2.0",
            packages="python3-matplotlib",
            parts="python tests bench docs examples",
            modules="matplotlib",
            pip="matplotlib",
        ),
        Dependency(
            "pandas",
            "optional: data frames",
            "BSD-3-Clause",
            packages="python3-pandas",
            parts="python tests bench docs examples",
            modules="pandas",
            pip="pandas",
        ),
    ],
}
UNSHIPPED = {
    "Tests, benchmarks and tools; not installed": [
        Dependency(
            "GoogleTest",
            "tests",
            "BSD-3-Clause",
            packages="libgtest-dev",
            parts="tests",
            headers="gtest",
            cmake="GTest",
        ),
        Dependency(
            "RapidCheck",
            "properties",
            "BSD-2-Clause",
            packages="librapidcheck-dev",
            parts="tests",
            headers="rapidcheck",
            cmake="rapidcheck",
        ),
        Dependency(
            "Google Benchmark",
            "benchmarks",
            "Apache-2.0",
            packages="libbenchmark-dev",
            parts="bench",
            headers="benchmark",
            cmake="benchmark",
        ),
        Dependency("Fashion-MNIST", "images of the benchmarks", "MIT", packages="dataset-fashion-mnist"),
        Dependency(
            "mpmath",
            "reference tables with 50 digits",
            "BSD-3-Clause",
            packages="python3-mpmath",
            parts="tools",
            modules="mpmath",
        ),
        Dependency(
            "pytest",
            "tests of the Python package",
            "MIT",
            packages="python3-pytest",
            parts="tests",
            modules="pytest",
        ),
        Dependency(
            "setuptools",
            "packs the Python package",
            "MIT",
            packages="python3-setuptools python3-wheel python3-pip python3-venv",
            parts="setup.py tests",
            modules="setuptools",
            pip="setuptools wheel",
        ),
        Dependency("GCC", "compiles", "GPL-3.0-or-later WITH GCC-exception-3.1", packages="g++"),
        Dependency(
            "clang, clang-format, clang-tidy",
            "second compiler, format, lint",
            "Apache-2.0 WITH LLVM-exception",
            packages="clang-14 clang-format-14 clang-tidy-14",
        ),
        Dependency("CMake", "builds", "BSD-3-Clause", packages="cmake"),
        Dependency("Ninja", "builds", "Apache-2.0", packages="ninja-build"),
        Dependency(
            "OpenBLAS", "makes the libtorch baselines fast", "BSD-3-Clause", packages="libopenblas0-pthread"
        ),
        Dependency(
            "PyTorch",
            "rivals that dma is compared with (bench/rivals.py)",
            "BSD-3-Clause",
            packages="python3-torch",
            parts="bench tests/python",
            modules="torch",
        ),
        Dependency("Node.js, npm", "build the page", "MIT", packages="nodejs npm"),
        Dependency("Chromium", "tests of the page", "BSD-3-Clause", packages="chromium"),
        Dependency("valgrind", "counts instructions", "GPL-2.0-or-later", packages="valgrind"),
        Dependency("gcovr", "measures test coverage", "BSD-3-Clause", packages="gcovr"),
        Dependency("mypy", "types of the Python package", "MIT", packages="mypy"),
        Dependency("black", "format", "MIT", packages="black"),
        Dependency("debootstrap", "clean roots to test packages in", "MIT", packages="debootstrap"),
        Dependency("dpkg, file", "Debian packages", "GPL-2.0-or-later", packages="dpkg-dev file"),
        Dependency("git", "lists the sources", "GPL-2.0-only", packages="git"),
        Dependency("qemu", "the other architecture", "GPL-2.0-or-later", packages="qemu-user"),
        Dependency("ShellCheck", "lint", "GPL-3.0-or-later", packages="shellcheck"),
        Dependency("ca-certificates", "npm's and pip's downloads", "MPL-2.0", packages="ca-certificates"),
    ],
}
ALL = [one for group in (SHIPPED | UNSHIPPED).values() for one in group]

# npm packages: what is bundled into the page may be distributed with only its notice.
PERMISSIVE = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense"}
NPM_DIRECT = {"vega", "vega-interpreter", "vega-lite", "esbuild", "playwright-core"}

# Debian's names of licences; a package whose file says something else needs a second look. Not every file can be
# read by machine.
DEBIAN_LICENCES = {
    "BSD-2-Clause": {"BSD-2", "BSD-2-clause"},
    "BSD-3-Clause": {"BSD-3", "BSD-3-clause", "BSD-C3", "BSD-3-Clause+CLA"},
    "GPL-2.0-only": {"GPL-2"},
    "GPL-2.0-or-later": {"GPL-2.0+", "GPL-2+"},
    "GPL-3.0-or-later": {"GPL-3", "GPL-3+"},
    "MIT": {"Expat", "Expat with embedded exception"},
    "MPL-2.0": {"MPL-2"},
    "Apache-2.0 WITH LLVM-exception": {"APACHE-2-LLVM-EXCEPTIONS"},
}
BY_HAND = {
    "libboost-dev": "the file is about Debian's own scripts",
    "ca-certificates": "the scripts are GPL-2+, the certificates MPL-2.0",
    "clang-14": "the file has no entry for everything",
}


def sources(*patterns: str) -> list[Path]:
    """Paths from the root, but for builds and hidden folders."""
    left_out = re.compile(r"\.|build|node_modules$")
    found = {file.relative_to(ROOT) for pattern in patterns for file in ROOT.rglob(pattern)}
    return sorted(file for file in found if not any(left_out.match(part) for part in file.parts[:-1]))


def owner(field: str, name: str) -> Dependency | None:
    return next((one for one in ALL if name in getattr(one, field).split()), None)


def undocumented(field: str, name: str, part: str) -> str | None:
    """What is wrong with a use of name in part, if anything."""
    found = owner(field, name)
    if found is None:
        return "is not in the list of tools/dependencies.py"
    if part and part not in found.parts.split():
        return f"is for {found.parts.replace(' ', ', ')} (tools/dependencies.py)"
    return None


def check_includes() -> list[str]:
    faults = []
    for file in sources("*.h", "*.cc"):
        part = file.parts[0]
        for include in re.finditer(r"^\s*#\s*include\s*<([^>]+)>", (ROOT / file).read_text(), re.MULTILINE):
            header = include[1].split("/")[0]
            if header == "dma" or re.fullmatch(r"[a-z_0-9]+", include[1]):  # our own, C++'s
                continue
            if owner("headers", header) is None and part != "include" and is_of_the_system(include[1]):
                continue
            fault = undocumented("headers", header, part)
            if fault:
                faults.append(f"{file}: <{include[1]}> {fault}")
    return faults


def is_of_the_system(header: str) -> bool:
    """The system's or the compiler's own."""
    return re.fullmatch(r"((sys|sanitizer)/)?[a-z_]+\.h", header) is not None


def check_cmake() -> list[str]:
    faults = []
    for file in sources("CMakeLists.txt", "*.cmake", "*.cmake.in"):
        for found in re.finditer(
            r"^\s*find_(?:package|dependency)\((\w+)", (ROOT / file).read_text(), re.MULTILINE
        ):
            if found[1] != "dma" and owner("cmake", found[1]) is None:
                faults.append(f"{file}: {found[1]} {undocumented('cmake', found[1], '')}")
    return faults


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
    return {name.split(".")[0] for name in names}


def check_imports() -> list[str]:
    files = sources("*.py")
    own = {"dma"} | {file.stem for file in files}
    faults = []
    for file in files:
        for module in sorted(imported(ast.parse((ROOT / file).read_text())) - own - sys.stdlib_module_names):
            fault = undocumented("modules", module, file.parts[0])
            if fault:
                faults.append(f"{file}: {module} {fault}")
    return faults


def installed_by_dev() -> set[str]:
    text = re.sub(r"#.*", "", (ROOT / "dev").read_text())
    lists = re.findall(r"packages\+?=\(([^)]*)\)", text)
    return {word for words in lists for word in words.split() if re.fullmatch(r"[a-z0-9+.-]+", word)}


def check_packages() -> list[str]:
    faults = [
        f"dev: {package} {undocumented('packages', package, '')}"
        for package in sorted(installed_by_dev())
        if owner("packages", package) is None
    ]
    pip = re.findall(r'"([a-z0-9-]+)(?:>=[0-9.]+)?"', pip_requirements())
    faults += [
        f"pyproject.toml: {name} {undocumented('pip', name, '')}"
        for name in pip
        if owner("pip", name) is None
    ]
    return faults


def pip_requirements() -> str:
    text = (ROOT / "pyproject.toml").read_text()
    optional = re.search(r"\[project\.optional-dependencies\](.*?)^\[", text, re.MULTILINE | re.DOTALL)
    lists = re.findall(r"^(?:requires|dependencies) = \[.*?\]$", text, re.MULTILINE | re.DOTALL)
    return "\n".join([*lists, optional[1] if optional else ""])


def check_needed(files: list[Path]) -> list[str]:
    faults = []
    for file in files:
        dynamic = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"\(NEEDED\).*\[(?:lib)?(.*?)\.so", dynamic):
            if library != "dma" and owner("libraries", library) is None:
                faults.append(f"{file}: lib{library}.so {undocumented('libraries', library, '')}")
    return faults


def npm_packages() -> list[tuple[str, str, str, bool]]:
    """Name, version, licence, only for building; of what npm installs wherever the page is built."""
    lock = json.loads((ROOT / "web/package-lock.json").read_text())["packages"]
    found = {
        (path.split("node_modules/")[-1], one["version"], one["license"], one.get("dev", False))
        for path, one in lock.items()
        if path and not one.get("optional", False)
    }
    return sorted(found)


def check_npm() -> list[str]:
    package = json.loads((ROOT / "web/package.json").read_text())
    direct = {**package["dependencies"], **package["devDependencies"]}
    faults = [
        f"web/package.json: {name} is not in the list of tools/dependencies.py"
        for name in sorted(set(direct) - NPM_DIRECT)
    ]
    faults += [
        f"web/package-lock.json: {name} has the licence {licence}"
        for name, _, licence, _ in npm_packages()
        if licence not in PERMISSIVE
    ]
    return faults


def debian_licence(package: str) -> str | None:
    """Of everything in the package, where a machine can read it."""
    file = Path("/usr/share/doc") / package / "copyright"
    if package in BY_HAND or not file.exists():
        return None
    text = file.read_text(errors="replace")
    found = re.search(r"^Files:\s*\*\s*$(?:\n.+)*?\nLicense: *(\S.*)$", text, re.MULTILINE)
    return found[1].strip() if found and text.startswith("Format:") else None


def check_licences() -> list[str]:
    faults = []
    for one in ALL:
        package = one.packages.split()[0]
        said = debian_licence(package)
        if said and said not in {one.licence} | DEBIAN_LICENCES.get(one.licence, set()):
            faults.append(f"{package}: Debian says {said}, the list of tools/dependencies.py {one.licence}")
    return faults


def installed_version(package: str) -> str:
    query = ["dpkg-query", "-W", "-f", "${Version}", package]
    found = subprocess.run(query, capture_output=True, text=True, check=False)
    return re.sub(r"^\d+:", "", found.stdout) if found.returncode == 0 else ""


def table(group: list[Dependency], versions: dict[str, str]) -> str:
    rows = ["| what | for | licence | Debian's package | version |", "|---|---|---|---|---|"]
    for one in group:
        package = one.packages.split()[0]
        rows.append(f"| {one.name} | {one.purpose} | {one.licence} | `{package}` | {versions[package]} |")
    return "\n".join(rows)


def npm_table(build: bool) -> str:
    rows = ["| what | licence | version |", "|---|---|---|"]
    rows += [
        f"| {name} | {licence} | {version} |"
        for name, version, licence, only in npm_packages()
        if only == build
    ]
    return "\n".join(rows)


def page(versions: dict[str, str]) -> str:
    parts = [
        """# Dependencies

Written by `tools/dependencies.py`; the test `supply/dependencies` fails if something is used that is not here.
Versions are those of Debian 12 that this was last tested with. Licences have SPDX names and are compared with those
in Debian's packages where they can be read by machine. None of these sources is copied into this repository. The
public headers use only the standard library, so code that compiles against the library needs none of these headers.
"""
    ]
    for title, group in SHIPPED.items():
        parts.append(f"## {title}\n\n{table(group, versions)}\n")
    parts.append(
        f"""## The page of results

npm installs exactly these versions and checksums (`web/package-lock.json`); esbuild bundles the parts that the page
uses. The page contains their licences.

{npm_table(build=False)}

Only to build and test the page:

{npm_table(build=True)}
"""
    )
    for title, group in UNSHIPPED.items():
        parts.append(f"## {title}\n\n{table(group, versions)}\n")
    return "\n".join(parts)


def written_versions() -> dict[str, str]:
    text = PAGE.read_text() if PAGE.exists() else ""
    return dict(re.findall(r"^\|.*\| `(\S+)` \| (\S*) \|$", text, re.MULTILINE))


def check(files: list[Path]) -> int:
    faults = check_includes() + check_cmake() + check_imports() + check_packages() + check_npm()
    faults += check_licences() + check_needed(files)
    written = written_versions()
    unwritten = [one.packages.split()[0] for one in ALL if not written.get(one.packages.split()[0])]
    faults += [f"docs/dependencies.md: no version of {package}" for package in unwritten]
    if not unwritten and page(written) != PAGE.read_text():
        faults.append("docs/dependencies.md differs from what tools/dependencies.py writes: run it")
    for fault in faults:
        print(fault)
    return int(bool(faults))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something is missing")
    parser.add_argument("files", type=Path, nargs="*", help="built programs and libraries, with --check")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.files)
    # A package that is not on this machine keeps the version that was written.
    written = written_versions()
    packages = [one.packages.split()[0] for one in ALL]
    versions = {package: installed_version(package) or written.get(package, "") for package in packages}
    missing = [package for package in packages if not versions[package]]
    if missing:
        sys.exit(f"not installed, so their versions are not known: {' '.join(missing)}")
    PAGE.write_text(page(versions))
    return 0


if __name__ == "__main__":
    sys.exit(main())
