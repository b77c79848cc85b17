"""pip's way to the module dma._core: CMake builds it, and its component python is what pip packs.

DMA_BUILD_DIR names a build that is there already, such as build/release; nothing is compiled then.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent


class BuildByCMake(build_ext):
    def build_extension(self, extension):
        place = Path(self.get_ext_fullpath(extension.name)).resolve().parent.parent
        build = os.environ.get("DMA_BUILD_DIR")
        if not build:
            build = str(ROOT / "build" / f"python-{sys.implementation.cache_tag}")
            subprocess.run(["cmake", *self.configuration(build)], check=True)
            subprocess.run(["cmake", "--build", build, "--target", "dma_python", "--parallel"], check=True)
        subprocess.run(
            ["cmake", "--install", build, "--component", "python", "--prefix", str(place), "--strip"],
            check=True,
        )

    @staticmethod
    def configuration(build):
        options = {
            "CMAKE_BUILD_TYPE": "Release",
            "Python_EXECUTABLE": sys.executable,
            "DMA_BUILD_PYTHON": "ON",
            "DMA_BUILD_CLI": "OFF",
            "DMA_BUILD_TESTS": "OFF",
            "DMA_BUILD_EXAMPLES": "OFF",
            "DMA_BUILD_BENCH": "OFF",
        }
        return ["-S", str(ROOT), "-B", build, *(f"-D{name}={value}" for name, value in options.items())]


def version():
    found = re.search(r"^\s*VERSION (\S+)$", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    return found.group(1)


setup(version=version(), ext_modules=[Extension("dma._core", [])], cmdclass={"build_ext": BuildByCMake})
