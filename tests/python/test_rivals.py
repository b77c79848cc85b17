"""bench/rivals.py: its scores against samples, and every rival on rows whose truth is known."""

import importlib
import json
import math
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "rivals.py"
sys.path.insert(0, str(SCRIPT.parent))
rivals = importlib.import_module("rivals")


def test_scores_of_a_mixture_are_those_of_its_samples():
    mean = np.array([[0.0, 1.0], [2.0, 1.5], [-1.0, 4.0]])
    deviation = np.array([[1.0, 0.5], [0.3, 2.0], [0.7, 1.0]])
    y = np.array([0.4, 3.0])
    scores = rivals.mixture_scores(y, rivals.Mixture(mean, deviation))
    random = np.random.default_rng(1)
    crps, likelihood, inside = [], [], []
    for n in range(2):
        part = random.integers(0, 3, 400_000)
        draws = random.normal(mean[part, n], deviation[part, n])
        crps.append(np.abs(draws - y[n]).mean() - np.abs(draws[::2] - draws[1::2]).mean() / 2)
        z = (y[n] - mean[:, n]) / deviation[:, n]
        likelihood.append(math.log((np.exp(-(z**2) / 2) / deviation[:, n] / math.sqrt(2 * math.pi)).mean()))
        inside.append([abs((draws < y[n]).mean() - 0.5) < level / 2 for level in rivals.LEVELS])
    assert scores["crps"] == pytest.approx(np.mean(crps), abs=0.01)
    assert scores["ll"] == pytest.approx(np.mean(likelihood), abs=1e-12)
    assert scores["rmse"] == pytest.approx(math.sqrt(np.mean((y - mean.mean(0)) ** 2)))
    assert scores["coverage"] == pytest.approx(np.mean(inside, 0))


def test_scores_of_quantiles_are_those_of_their_distribution():
    random = np.random.default_rng(2)
    y = random.normal(size=20_000)
    quantiles = np.quantile(random.normal(size=1_000_000), rivals.PROBABILITIES)
    scores = rivals.quantile_scores(y, rivals.Quantiles(np.zeros_like(y), np.tile(quantiles, (len(y), 1))))
    assert scores["coverage"] == pytest.approx(rivals.LEVELS, abs=0.012)
    # Of a standard normal: 1 / sqrt(pi). Nine probabilities are a coarse grid.
    assert scores["crps"] == pytest.approx(1 / math.sqrt(math.pi), rel=0.04)


@pytest.mark.parametrize("name", rivals.METHODS)
def test_a_rival_learns_a_line(name):
    random = np.random.default_rng(3)
    x = random.uniform(-2, 2, (240, 1))
    y = x[:, 0] + random.normal(0, 0.3, 240)

    class Options:
        device = "cpu"
        gp_rows = 100

    predicted = rivals.METHODS[name](x[:200], y[:200], x[200:], 1, Options)
    if name == "boosting, quantiles":
        scores = rivals.quantile_scores(y[200:], predicted)
    else:
        scores = rivals.mixture_scores(y[200:], predicted)
        assert scores["ll"] > -0.7  # the truth: -0.21 on average
    assert scores["rmse"] < 0.45
    assert scores["coverage"][3] > 0.7


def test_dma_benchmark_reads_the_report(tmp_path):
    random = np.random.default_rng(4)
    rows = random.normal(size=(60, 3))
    np.savetxt(tmp_path / "noise.csv", rows, delimiter=",", header="a,b,y", comments="")
    (tmp_path / "noise.splits.json").write_text(json.dumps({"test": [[0, 1, 2], [3, 4, 5]]}))
    report = tmp_path / "rivals.json"
    command = [sys.executable, SCRIPT, "--data", tmp_path, "--out", report, "--methods", "boosting", "forest"]
    subprocess.run(command, check=True, capture_output=True)
    dma = [
        os.environ["DMA_COMMAND"],
        "benchmark",
        "--data",
        tmp_path,
        "--epochs",
        "5",
        "--json",
        "--compare",
        report,
    ]
    shown = json.loads(subprocess.run(dma, check=True, capture_output=True).stdout)
    assert set(shown["average_rank"]) == {"dma", "boosting", "forest"}
    wrong = subprocess.run([*command, "--sets", "none"], capture_output=True, text=True)
    assert wrong.returncode == 1
    assert "has no set none; it has noise" in wrong.stderr
