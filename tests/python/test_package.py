"""The package as others meet it: installed by pip, typed, light to import."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import dma

ROOT = Path(__file__).resolve().parents[2]


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment into which pip has installed the package, with the module that was just built."""
    if "DMA_BUILD_DIR" not in os.environ:
        pytest.skip("DMA_BUILD_DIR does not name a build")
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=True, system_site_packages=True)
    # pip builds in a copy: what it writes beside the sources would be in other builds' way.
    source = tmp_path_factory.mktemp("source")
    for name in ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "setup.py", "python"):
        (source / name).symlink_to(ROOT / name)
    python = place / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    options = ("--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check")
    run(python, "-m", "pip", "install", *options, source, env=environment)
    return python, environment


def test_pip_installs_it(installed, tmp_path):
    python, environment = installed
    script = (
        "import dma, numpy as np; X = np.arange(30.0)[:, None];"
        "print(dma.__version__, dma.__file__, dma.DMARegressor(random_state=1).fit(X, X[:, 0]).predict([[3.0]]))"
    )
    said = run(python, "-c", script, env=environment, cwd=tmp_path)
    version, file, *_ = said.split()
    assert version == dma.__version__
    assert "site-packages" in file
    files = {path.name for path in Path(file).parent.iterdir()}
    assert {"py.typed", "_core.pyi", "regressor.py", "plot.py"} <= files
    requires = run(python, "-m", "pip", "show", "dma", env=environment, cwd=tmp_path)
    assert "numpy" in requires and "scikit-learn" in requires


def test_types_are_promised_and_kept(installed, tmp_path):
    """mypy sees the package's types from outside, and the stub says what the module has."""
    pytest.importorskip("mypy")
    python, environment = installed
    (tmp_path / "use.py").write_text(
        "import dma\n"
        "model = dma.DMARegressor(hidden=(3,)).fit([[1.0], [2.0]], [1.0, 2.0])\n"
        "reveal_type(model)\n"
        "model.predict_interval([[1.0]], level='high')\n"
    )
    done = subprocess.run(
        [python, "-m", "mypy", "--ignore-missing-imports", "use.py"],
        capture_output=True, text=True, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert "dma.regressor.DMARegressor" in done.stdout
    assert 'incompatible type "str"; expected "float"' in done.stdout
    allowed = ROOT / "tests" / "python" / "stubtest_allowed.txt"
    run(python, "-m", "mypy.stubtest", "dma._core", "--allowlist", allowed, cwd=tmp_path, env=environment)


def test_import_is_light():
    """No pandas, no matplotlib: who does not use them need not have them."""
    said = run(
        sys.executable,
        "-c",
        "import dma, sys; print([m for m in ('pandas', 'matplotlib') if m in sys.modules])",
    )
    assert said == "[]\n"
