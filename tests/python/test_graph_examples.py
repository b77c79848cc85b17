"""The scripts that write a model as a graph: what they print against the exact posterior that they print beside it."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import special
from scipy.special import log_ndtr

import dma

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


def test_kalman_smoother_is_exact():
    example = script("kalman")
    seen = np.random.default_rng(0).normal(size=60).cumsum()
    smoothed, evidence = example.smooth(seen, 0.7, 0.3)
    mean, deviation, exact_evidence = example.exact(seen, 0.7, 0.3)
    assert smoothed.mean == pytest.approx(mean, abs=1e-10)
    assert smoothed.std == pytest.approx(deviation, abs=1e-10)
    assert evidence == pytest.approx(exact_evidence, abs=1e-9)


def test_kalman_smoother_learns_its_noises_in_the_graph():
    example = script("kalman")
    random = np.random.default_rng(0)
    seen = random.normal(0, 0.3, 150).cumsum() + random.normal(size=150)
    mean, deviation, level, spread = example.on_grid(seen, points=15)
    for rule in ("direct", "linear"):
        levels, step, noise, beliefs = example.smooth_and_learn(seen, rule=rule)
        assert beliefs.converged and beliefs.sweeps < 30
        assert abs(step.mean - mean[0]) < 0.2 * deviation[0]
        assert abs(noise.mean - mean[1]) < 0.05 * deviation[1]
        assert np.abs((levels.mean - level) / spread).max() < 0.1
        assert np.all(levels.std < 1.03 * spread) and np.all(levels.std > 0.9 * spread)


def test_mixed_effects_learn_their_spread_in_the_graph():
    example = script("mixed_effects")
    random = np.random.default_rng(0)
    x, group = random.normal(size=120), random.integers(0, 12, 120)
    y = x + random.normal(size=12)[group] + 0.8 * random.normal(size=120)
    mean, deviation, coefficients, spread = example.on_grid(x, group, y, points=30)
    line, own, effect, noise, beliefs = example.fit_and_learn(x, group, y)
    assert beliefs.converged
    assert abs(effect.mean - mean[0]) < 0.25 * deviation[0]
    assert abs(noise.mean - mean[1]) < 0.1 * deviation[1]
    assert effect.std == pytest.approx(deviation[0], rel=0.05)
    assert noise.std == pytest.approx(deviation[1], rel=0.05)
    assert line.mean[1] == pytest.approx(coefficients[1], abs=0.05 * spread[1])


def test_mixed_effects_have_exact_means():
    example = script("mixed_effects")
    random = np.random.default_rng(0)
    x, group = random.normal(size=80), random.integers(0, 6, 80)
    y = x + random.normal(size=6)[group] + random.normal(size=80)
    line, own, _ = example.fit(x, group, y, 1.5, 0.8)
    mean, deviation, _ = example.exact(x, group, y, 1.5, 0.8)
    assert np.concatenate([line.mean, own.mean]) == pytest.approx(mean, abs=1e-6)
    assert np.all(np.concatenate([line.std, own.std]) < 1.02 * deviation)


def some_matches(example, count=400):
    """Eight teams whose skills walk for ten years."""
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    days = np.sort(random.integers(0, 3650, count))
    walk = random.normal(0, 0.05, (3650, 8)).cumsum(axis=0)
    home = random.integers(0, 8, count)
    away = (home + random.integers(1, 8, count)) % 8
    lead = 2 * (walk[days, home] - walk[days, away]) + 0.5 + random.normal(0, 1.5, count)
    goals = np.rint(lead).astype(int)
    names = np.array([f"team {k}" for k in range(8)])
    table = pandas.DataFrame(
        {
            "date": pandas.Timestamp("2003-01-01") + pandas.to_timedelta(days, unit="D"),
            "home_team": names[home],
            "away_team": names[away],
            "home_score": np.maximum(goals, 0),
            "away_score": np.maximum(-goals, 0),
            "neutral": random.random(count) < 0.2,
        }
    )
    return example.Matches(table)


def test_football_learns_by_the_slope_of_the_evidence():
    """Finite differences of the converged evidence."""
    example = script("football")
    matches = some_matches(example, 150)

    def evidence(parameters):
        model = example.Model(matches, parameters)
        beliefs = model.settle(len(matches), tolerance=1e-10)
        return beliefs.log_evidence(), model.explicit_evidence(beliefs)

    start = example.Model.START
    explicit = evidence(start)[1]
    for h in 1e-3 * np.eye(len(start)):
        slope = (evidence(start + h)[0] - evidence(start - h)[0]) / 2e-3
        assert (explicit(start + h) - explicit(start - h)) / 2e-3 == pytest.approx(slope, abs=1e-4)


def test_football_foretells_from_what_came_before():
    example = script("football")
    matches = some_matches(example)
    model = example.Model(matches, example.Model.START)
    known = model.settle(300)
    foretold = model.foretell(known, 300, 400)
    assert foretold.sum(axis=1) == pytest.approx(np.ones(100), abs=1e-12)
    seen = example.outcomes(matches)
    shares = np.bincount(seen[:300], minlength=3) / 300
    assert (
        example.log_loss(foretold, seen[300:])
        < example.log_loss(np.tile(shares, (100, 1)), seen[300:]) - 0.05
    )
    matches.goals_ahead[350:] *= -1  # what is foretold of a match does not know its result, or a later one
    other = example.Model(matches, example.Model.START)
    assert np.array_equal(other.foretell(other.settle(300), 300, 400)[:51], foretold[:51])


def test_elo_ratings_by_hand():
    example = script("football")
    matches = some_matches(example, 3)
    ratings = {}
    for row, difference in enumerate(example.elo_differences(matches, 20, 100, False)):
        home, away = matches.pairs[row]
        before = ratings.get(home, 1500) - ratings.get(away, 1500) + 100 * matches.at_home[row]
        assert difference == pytest.approx(before)
        score = (np.sign(matches.goals_ahead[row]) + 1) / 2
        change = 20 * (score - 1 / (1 + 10 ** (-before / 400)))
        ratings[home], ratings[away] = ratings.get(home, 1500) + change, ratings.get(away, 1500) - change


def test_adpredictor_is_assumed_density_filtering():
    """Against the update of each row written out."""
    example = script("adpredictor")
    categories, clicked, values = example.generated(300, columns=4, values=20)
    weight, foretold = example.learn(categories, clicked, values, 0.5)
    mean, variance = np.zeros(values + 1), np.full(values + 1, 0.25)
    for row, click, said in zip(np.column_stack([categories, np.full(300, values)]), clicked, foretold):
        sign, total = (1 if click else -1), 1 + variance[row].sum()
        t = sign * mean[row].sum() / np.sqrt(total)
        assert said == pytest.approx(log_ndtr(t), abs=1e-10)
        ratio = np.exp(-t * t / 2 - log_ndtr(t)) / np.sqrt(2 * np.pi)
        mean[row] += sign * variance[row] / np.sqrt(total) * ratio
        variance[row] *= 1 - variance[row] / total * ratio * (ratio + t)
    assert weight.mean == pytest.approx(mean, abs=1e-9)
    assert weight.variance == pytest.approx(variance, abs=1e-9)


def test_adpredictor_numbers_every_value():
    pandas = pytest.importorskip("pandas")
    example = script("adpredictor")
    table = pandas.DataFrame({"x": [0.0] * 8 + [1, 2], "colour": list("rrggbbrrgg")})
    categories = example.Categories(table)
    rows = categories(table)
    assert rows.max() < categories.count
    assert set(rows[:, 0]).isdisjoint(rows[:, 1])
    new = categories(pandas.DataFrame({"x": [0.0], "colour": ["violet"]}))
    assert new[0, 0] == rows[0, 0] and new[0, 1] not in rows[:, 1]


def test_matchbox_foretells_ratings():
    example = script("matchbox")
    ratings = example.generated(60, 40, rank=2, count=1500)
    train, test = ratings[:1350], ratings[1350:]
    model = example.Matchbox(train, 60, 40, rank=2)
    nothing = example.log_likelihood(train.rating.mean(), train.rating.var(), test.rating)
    found = {}
    for name in ("linear", "EP", "VMP"):
        beliefs = model.learn(20, **example.ENGINES[name])
        mean, variance = model.foretell(beliefs, test)
        found[name] = example.log_likelihood(mean, variance, test.rating)
        assert found[name] > nothing + 0.2, name
        if name != "EP":
            assert beliefs.improper == []


def test_features_foretell_who_has_not_rated(tmp_path):
    example = script("matchbox")
    ratings = example.generated(100, 40, rank=2, count=3000, values=3)
    is_new = ratings.user % 5 == 0
    train, test = ratings[~is_new], ratings[is_new]
    score = {}
    for features in (ratings.features, (None, None)):
        train.features = features
        model = example.Matchbox(train, 100, 40, rank=2)
        foretold = model.foretell(model.learn(30, **example.ENGINES["linear"]), test)
        score[features[0] is None] = example.log_likelihood(*foretold, test.rating)
    assert score[False] > score[True] + 0.1
    table = pd.DataFrame({"user": ["b", "a", "b"], "item": [1, 1, 2], "rating": [3, 1, 2]})
    table["user age"] = ["old", None, "old"]
    table.to_csv(tmp_path / "ratings.csv", index=False)
    of_users, of_items = example.read(tmp_path / "ratings.csv", ordinal=True).features
    assert of_users.tolist() == [[0], [1]] and of_items is None


@pytest.mark.parametrize("factor", ["Ordinal", "WinDrawLoss"])
def test_cut_points_are_learnt(factor):
    """Levels of known scores with noise 1: two cut points against their posterior on a grid. Two half-lines in place of an
    interval make the cut points a little too sure."""
    random = np.random.default_rng(0)
    score = random.normal(0, 2, 60)
    level = np.searchsorted([-0.8, 1.1], score + random.normal(size=60))
    g = dma.Graph()
    z, known = g.variables("z", 60), g.variables("known", 60)
    cut = g.variables("cut", 4)
    g.add(dma.Prior, cut, mean=[-1000, -1, 1, 1000], variance=[0, 1, 1, 0])
    g.add(dma.Prior, known, mean=score, variance=0)
    if factor == "Ordinal":
        g.add(dma.Ordinal(variance=1), known, cut[level], cut[level + 1])
        g.add(dma.Prior(0, 1), z)
    else:
        g.add(dma.WeightedSum([1], variance=1), z, known)
        g.add(dma.WinDrawLoss(1), z, cut[level])
        g.add(dma.WinDrawLoss(1), cut[level + 1], z)
    of_mean, of_deviation = (0.02, 0.02) if factor == "Ordinal" else (0.15, 0.1)
    at = np.linspace(-5, 5, 401)
    below = np.stack([np.zeros((401, 60)), special.ndtr(at[:, None] - score), np.ones((401, 60))])
    logs = np.zeros((401, 401))  # of the first cut point, of the second
    with np.errstate(divide="ignore", invalid="ignore"):
        for row, k in enumerate(level):
            low = below[0, :, row] if k == 0 else below[1, :, row]
            low = low[:, None] if k < 2 else low[None, :]
            high = below[2, :, row] if k == 2 else below[1, :, row]
            high = high[:, None] if k == 0 else high[None, :]
            logs += np.log(np.maximum(high - low, 0))
    logs -= (at[:, None] + 1) ** 2 / 2 + (at[None, :] - 1) ** 2 / 2
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    for engine in ("direct", "ep"):
        found = g.infer(engine=engine, sweeps=200, tolerance=1e-8)[cut][1:3]
        for k in range(2):
            share = weights.sum(axis=1 - k)
            mean = share @ at
            deviation = np.sqrt(share @ at**2 - mean**2)
            assert abs(found.mean[k] - mean) < of_mean * deviation
            assert found.std[k] == pytest.approx(deviation, rel=of_deviation)
