"""The scripts that write a model as a graph: what they print against the exact posterior that they print beside it."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_ndtr

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"


def script(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(name):
    """Mean and deviation of each variable, for every line of the table that the script prints."""
    result = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    rows = re.findall(r"^(\S.*?)  +(.*±.*)$", result.stdout, re.MULTILINE)
    return {way: np.array(re.findall(r"-?[\d.]+", text), float).reshape(-1, 2) for way, text in rows}


def errors(found, exact):
    """The largest error of a mean, in exact deviations, and the smallest and largest ratio of deviations."""
    ratio = found[:, 1] / exact[:, 1]
    return np.max(np.abs(found[:, 0] - exact[:, 0]) / exact[:, 1]), ratio.min(), ratio.max()


def test_one_match_is_exact():
    """The graph is a tree with one message that is not Gaussian, so EP has the moments of the posterior. The grid ends
    seven deviations away, which is 3e-10 of a deviation."""
    example = script("trueskill_draws")
    for outcome in ("win", "loss", "draw"):
        match = [("Carl", "Ada", outcome)]
        found = example.skills_of(example.skill_graph(match, np.eye(3)), "ep")
        assert found == pytest.approx(example.exact_skills(match), abs=1e-8)
    assert found[0] == pytest.approx([25, 6.457], abs=5e-4)  # a draw


def test_all_outcomes_have_the_probability_1():
    example = script("trueskill_draws")
    difference = np.linspace(-30, 30, 100)
    total = sum(example.probability(outcome, difference) for outcome in ("win", "loss", "draw"))
    assert total == pytest.approx(np.ones(100), abs=1e-12)
    assert example.probability("draw", 0.0) == pytest.approx(0.1)


def test_trueskill_with_draws():
    table = printed("trueskill_draws")
    exact = table.pop("exact")
    assert list(table) == ["skills, EP", "axes, EP", "axes, direct"]
    # What comes back through the cycles makes all too sure; along the axes little comes back.
    assert errors(table["skills, EP"], exact)[0] < 0.05 and errors(table["skills, EP"], exact)[2] < 0.9
    for way in ("axes, EP", "axes, direct"):
        mean, smallest, largest = errors(table[way], exact)
        assert mean < 0.01 and 0.97 < smallest and largest < 1.03
    example = script("trueskill_draws")  # half the points change no printed digit
    assert exact == pytest.approx(example.exact_skills(example.MATCHES, points=41), abs=6e-4)


def test_probit_regression():
    table = printed("probit_regression")
    exact = table.pop("exact")
    assert list(table) == ["weights, EP", "axes, EP", "axes, linear"]
    assert errors(table["weights, EP"], exact)[0] < 0.05 and errors(table["weights, EP"], exact)[1] < 0.9
    for way in ("axes, EP", "axes, linear"):
        mean, smallest, largest = errors(table[way], exact)
        assert mean < 0.01 and 0.96 < smallest and largest < 1.04


def test_the_grid_of_the_probit_regression_against_samples():
    """The prior, weighted by the likelihood: 11,000 effective samples, so 0.01 deviations of error; five are allowed."""
    example = script("probit_regression")
    X, y = example.rows_of_two_classes(40, seed=0)
    weights = np.random.default_rng(0).normal(size=(400_000, 3))
    log_likelihood = log_ndtr(weights @ X.T * y).sum(axis=1)
    share = np.exp(log_likelihood - log_likelihood.max())
    share /= share.sum()
    mean = share @ weights
    deviation = np.sqrt(share @ (weights - mean) ** 2)
    error, smallest, largest = errors(np.column_stack([mean, deviation]), example.exact_posterior(X, y))
    assert error < 0.05 and 0.95 < smallest and largest < 1.05


def test_the_rotated_graph_is_the_same_model():
    """Without rows, the weights have the prior that they have without a rotation."""
    example = script("probit_regression")
    X, _ = example.rows_of_two_classes(40, seed=0)
    graph = example.probit_graph(np.empty((0, 3)), [], np.linalg.svd(X)[2].T)
    assert example.posterior_of(graph, "ep") == pytest.approx(np.array([[0, 1]] * 3), abs=1e-12)
