"""The examples of the pages and of the docstrings do what is written beside them."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import dma

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.glob("*.md") if ">>> " in page.read_text("utf-8"))
MODULES = sorted(module.name for module in pkgutil.iter_modules(dma.__path__) if module.name != "_core")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(autouse=True)
def quiet_place(tmp_path, monkeypatch):
    """Examples write files where they are run, and draw without a screen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page):
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert tried > 0 and failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    names = {"dma": dma, "np": np}
    module = importlib.import_module(f"dma.{name}")
    failed, _ = doctest.testmod(module, optionflags=FLAGS, extraglobs=names)
    assert failed == 0
