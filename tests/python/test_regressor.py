"""DMARegressor: learning, predicting, what it says about itself, files, errors."""

import copy
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
import zlib

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from dma import DMARegressor

QUICK = dict(max_epochs=40, hidden=10, ensemble=2, tol=0)


def quick(**options):
    return DMARegressor(**{**QUICK, "random_state": 1, **options})


# ------------------------------------------------------------------------------------------------- learning


def test_learns_a_column_of_many_values_as_one_effect():
    random = np.random.default_rng(1)
    effects = random.normal(size=80)
    towns = np.concatenate([np.arange(80), np.arange(80), np.repeat(0, 40)])
    y = effects[towns] + 0.3 * random.normal(size=len(towns))
    X = pd.DataFrame({"town": [f"town {k}" for k in towns], "x": random.normal(size=len(towns))})
    model = quick().fit(X, y)
    assert model.report_["layers"][0] == 3  # the effect, how uncertain it is, and x
    rows = pd.DataFrame({"town": ["town 0", "town 1", "a new one"], "x": 0.0})
    with pytest.warns(UserWarning, match="a new one"):
        lower, upper = model.predict_interval(rows, 0.95)
    frequent, rare, new = upper - lower
    assert frequent < rare < new
    assert_allclose(model.predict(rows[:1]), effects[0], atol=0.3)


def test_learns_and_knows_how_well(wave):
    model = DMARegressor(random_state=1).fit(*wave)
    grid = np.linspace(-2.5, 2.5, 50)[:, None]
    mean, std = model.predict(grid, return_std=True)
    assert_allclose(mean, np.sin(grid[:, 0]), atol=0.15)
    assert 0.05 < model.noise_std_ < 0.2
    far = model.predict([[9.0]], return_std=True)[1]
    assert far > 5 * std.max()
    assert set(model.cavity_coverage_) == {0.5, 0.8, 0.9, 0.95}
    assert model.cavity_coverage_[0.95] > 0.85
    assert 0 < model.certificate_["joint"]["largest_leverage"] < 1
    assert model.certificate_["joint"]["linearisation_error"] > 0
    assert len(model.train_nll_curve_) == model.report_["members"]


def members_of(rows):
    """Networks of each shape, by default."""
    return next((members for most, members in ((200, 6), (300, 5), (1700, 4)) if rows <= most), 3)


def test_shapes_are_weighed_for_every_output(wave):
    X, y = wave
    model = DMARegressor(random_state=1).fit(X, np.column_stack([y, X[:, 0] * y]))
    assert model.report_["shapes"] == model.shapes_
    for name in ("y0", "y1"):
        shapes = [shape for shape in model.shapes_ if shape["target"] == name]
        assert sorted((shape["hidden"], shape["ramps"] > 0) for shape in shapes) == [
            ((5,), False),
            ((20,), False),
            ((20,), True),
            ((20, 20), False),
            ((30, 30, 30), False),
        ]
        weights = [shape["weight"] for shape in shapes]
        assert_allclose(sum(weights), 1)
        assert weights == sorted(weights, reverse=True)
    kept = [shape for shape in model.shapes_ if shape["weight"] > 0]
    assert model.report_["members"] == members_of(len(X)) * len(kept) == len(model.train_nll_curve_)
    widths = (1 + kept[0]["ramps"], *kept[0]["hidden"], 1)
    assert kept[0]["weights"] == sum((inputs + 1) * units for inputs, units in zip(widths, widths[1:]))
    assert [mean.shape[1:] for mean in model.coefs_mean_] == list(zip(widths, widths[1:]))


def test_a_given_shape_is_the_only_one(wave):
    model = quick(calibration=False).fit(*wave)
    (shape,) = model.shapes_
    assert shape["hidden"] == (10,) and shape["weight"] == 1 and shape["epochs"] == 40
    assert_allclose(shape["held_out_nll"], model.cavity_nll_)  # with calibration, the noise is another one
    assert quick(belief="independent").fit(*wave).shapes_ == []


def test_time_limits_a_fit():
    X, y = make_friedman1(4000, noise=1.0, random_state=0)
    start = time.monotonic()
    model = DMARegressor(random_state=1, time=1, n_jobs=2).fit(X[:3500], y[:3500])
    assert time.monotonic() - start < 10  # it takes 80 seconds without a limit
    assert model.stopped_ == "time"
    assert model.score(X[3500:], y[3500:]) > 0.8  # the noise leaves 0.96


INDEPENDENT = dict(belief="independent")


@pytest.mark.parametrize(
    "others, option",
    [
        (dict(), INDEPENDENT),
        (dict(), dict(noise=0.1)),
        (dict(), dict(noise="constant")),
        (dict(), dict(hidden=(4, 3))),
        (dict(), dict(ensemble=3)),
        (dict(), dict(max_epochs=9)),
        (dict(), dict(selection=False)),
        (dict(), dict(calibration=False)),
        (dict(), dict(slope=0.3)),
        (INDEPENDENT, dict(rule="direct")),
        (INDEPENDENT, dict(single_precision=True)),
        (INDEPENDENT, dict(ledger="none")),
        (INDEPENDENT, dict(ledger="average")),
        (INDEPENDENT, dict(batch_size=7)),
        (INDEPENDENT, dict(tol=1e9)),
        (dict(ledger="none"), dict(noise="input")),
    ],
)
def test_options_reach_the_fit(wave, others, option):
    """Each makes another model of the same table, and of the same other options."""
    X, y = np.hstack([wave[0], wave[0] ** 2]), wave[1]
    without = quick(**others).fit(X, y).predict(X, return_std=True)
    with_it = quick(**others, **option).fit(X, y).predict(X, return_std=True)
    assert np.isfinite(with_it).all()
    assert not np.array_equal(with_it, without)


def test_noise_is_given_or_constant_or_of_each_row():
    random = np.random.default_rng(1)
    X = random.uniform(-3, 3, size=(300, 1))
    y = np.sin(X[:, 0]) + np.where(X[:, 0] > 0, 0.3, 0.05) * random.normal(size=300)

    def noise_of(**options):
        model = quick(**options).fit(X, y)
        return model, model.predict(X, return_cov_parts=True)[2]

    model, given = noise_of(noise=0.1)
    assert_allclose(model.noise_std_, 0.1)
    assert_allclose(given, 0.1**2)
    # A number in every network. How much less their mean misses than one of them depends on the row.
    _, constant = noise_of(noise="constant")
    assert_allclose(constant, constant[0], rtol=0.02)
    _, alone = noise_of(noise="constant", ensemble=1)
    assert_allclose(alone, alone[0])
    _, by_row = noise_of(noise="input")
    assert np.median(by_row[X[:, 0] > 1]) > 10 * np.median(by_row[X[:, 0] < -1])  # it is 36
    assert_array_equal(by_row, noise_of()[1])  # the default of a joint belief


def test_a_batch_has_as_many_rows_as_asked_for(wave):
    for options in (dict(), INDEPENDENT):
        assert list(quick(batch_size=7, **options).fit(*wave).batch_rows_) == [7] * 17 + [1]


def test_patience_is_how_many_settled_epochs_end_a_fit(wave):
    """With a tolerance that every change is below, an epoch more of patience is an epoch more."""
    several = dict(belief="independent", max_epochs=50, tol=1e9)
    models = [quick(patience=patience, **several).fit(*wave) for patience in (2, 3, 7)]
    assert {model.stopped_ for model in models} == {"tolerance"}
    assert_array_equal(np.diff([model.n_iter_ for model in models]), [1, 4])


def test_patience_is_how_many_looks_without_gain_end_a_joint_fit(wave):
    """At rows that are not learnt; those that are gain for longer."""
    models = [quick(patience=patience, max_epochs=400, tol=1e-4).fit(*wave) for patience in (1, 7)]
    assert {model.stopped_ for model in models} == {"tolerance"}
    assert models[0].n_iter_ < models[1].n_iter_


@pytest.mark.parametrize("belief", ["joint", "independent"])
@pytest.mark.parametrize("never", [dict(patience=0, tol=1e9), dict(tol=0)])
def test_a_fit_may_be_told_not_to_settle(wave, belief, never):
    model = quick(belief=belief, max_epochs=50, **never).fit(*wave)
    assert model.stopped_ == "max_epochs" and model.n_iter_ == 50


@pytest.mark.parametrize("belief", ["joint", "independent"])
@pytest.mark.parametrize("epochs", [1, 5, 30, 120])
def test_max_epochs_is_the_limit_it_says(wave, belief, epochs):
    assert quick(belief=belief, max_epochs=epochs).fit(*wave).n_iter_ == epochs


def test_same_bits_for_the_same_seed_whatever_the_threads(wave):
    X, y = wave
    one = quick(n_jobs=1).fit(X, y).predict(X, return_std=True)
    two = quick(n_jobs=2).fit(X, y).predict(X, return_std=True)
    assert_array_equal(one, two)
    assert not np.array_equal(one[0], quick(random_state=2).fit(X, y).predict(X))


def test_random_state_none_is_another_every_time(wave):
    X, y = wave
    assert not np.array_equal(
        quick(random_state=None).fit(X, y).predict(X), quick(random_state=None).fit(X, y).predict(X)
    )
    state = np.random.RandomState(3)
    again = np.random.RandomState(3)
    assert_array_equal(
        quick(random_state=state).fit(X, y).predict(X), quick(random_state=again).fit(X, y).predict(X)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, object])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_array_is_the_same_table(wave, dtype, order):
    X, y = wave
    X = np.round(np.hstack([X, X**2]), 1) * 10
    expected = quick().fit(X, y).predict(X)
    other = np.asarray(X, dtype=dtype, order=order)
    if dtype is np.float32:
        X = other.astype(float)
        expected = quick().fit(X, y).predict(X)
    assert_array_equal(quick().fit(other, y).predict(other), expected)
    assert_array_equal(quick().fit(other[::1].tolist(), list(y)).predict(X), expected)
    strided = np.repeat(other, 2, axis=1)[:, ::2]
    assert_array_equal(quick().fit(strided, y).predict(strided), expected)
    backwards = other[::-1]
    assert_array_equal(quick().fit(other, y).predict(backwards), expected[::-1])


def test_several_outputs(wave):
    X, y = wave
    both = np.column_stack([y, -2 * y])
    model = quick().fit(X, both)
    mean, std, epistemic, noise = model.predict(X[:7], return_std=True, return_cov_parts=True)
    assert mean.shape == std.shape == epistemic.shape == noise.shape == (7, 2)
    assert_allclose(std**2, epistemic + noise)
    assert model.noise_std_.shape == (2,)
    assert len(model.evaluate(X, both)) == 2
    assert model.sample_y(X[:7], 5).shape == (7, 2, 5)
    assert model.coefs_mean_[0].shape == (4, 1, 10)  # two networks for each output
    assert quick().fit(X, y[:, None]).predict(X).shape == (120, 1)
    shared = quick(belief="independent").fit(X, both)
    assert shared.coefs_mean_[-1].shape == (2, 10, 2)


def test_weights(wave):
    X, y = wave
    for belief in ("joint", "independent"):
        model = quick(belief=belief, hidden=(5, 3)).fit(X, y)
        assert [mean.shape for mean in model.coefs_mean_] == [(2, 1, 5), (2, 5, 3), (2, 3, 1)]
        assert [std.shape for std in model.coefs_std_] == [(2, 1, 5), (2, 5, 3), (2, 3, 1)]
        assert [mean.shape for mean in model.intercepts_mean_] == [(2, 5), (2, 3), (2, 1)]
        assert all((std > 0).all() for std in model.coefs_std_ + model.intercepts_std_)


def leaky_relu_mean(mean, std, slope):
    """Of max(x, slope x), x ~ N(mean, std^2)."""
    above = mean * norm.cdf(mean / std) + std * norm.pdf(mean / std)
    return slope * mean + (1 - slope) * above


def test_weights_are_the_networks(wave):
    """The mean is the network's: its units see what the weights spread, those of a joint belief N(sum, 1).

    What a joint network says is multiplied by N(0, 5^2): the mean shrinks as the variance does.
    """
    X, y = wave
    scaled = (X - X.mean()) / X.std()
    for belief, slope, slope_used in (
        ("joint", "auto", 0),
        ("joint", 0.2, 0.2),
        ("independent", "auto", 0.1),
    ):
        model = quick(belief=belief, slope=slope, ensemble=1, noise=0.2).fit(X, y)
        sums = scaled @ model.coefs_mean_[0][0] + model.intercepts_mean_[0][0]
        variances = scaled**2 @ model.coefs_std_[0][0] ** 2 + model.intercepts_std_[0][0] ** 2
        units = leaky_relu_mean(sums, 1 if belief == "joint" else np.sqrt(variances), slope_used)
        value = units @ model.coefs_mean_[1][0] + model.intercepts_mean_[1][0]
        mean, epistemic, _ = model.predict(X, return_cov_parts=True)
        kept = 1 - epistemic / y.var() / 25 if belief == "joint" else 1
        assert_allclose(kept * value[:, 0] * y.std() + y.mean(), mean, rtol=0, atol=1e-12)


# ---------------------------------------------------------------------------------------------- predicting


def test_parts_make_the_whole(wave):
    X, y = wave
    model = quick().fit(X, y)
    mean = model.predict(X)
    again, std = model.predict(X, return_std=True)
    third, epistemic, noise = model.predict(X, return_cov_parts=True)
    assert_array_equal(mean, again)
    assert_array_equal(mean, third)
    assert_allclose(std**2, epistemic + noise)
    assert (epistemic > 0).all() and (noise > 0).all()


def test_intervals_hold_what_they_say():
    random = np.random.default_rng(1)
    X = random.normal(size=(2000, 1))
    y = X[:, 0] + random.normal(size=2000)
    model = quick().fit(X[:500], y[:500])
    for level in (0.5, 0.8, 0.95):
        lower, upper = model.predict_interval(X[500:], level)
        inside = np.mean((lower <= y[500:]) & (y[500:] <= upper))
        assert abs(inside - level) < 0.05
        # The interval has that probability under the prediction's own distribution.
        assert_allclose(model.pit(X, model.predict_interval(X, level)[1]), (1 + level) / 2, atol=1e-9)
    scores = model.evaluate(X[500:], y[500:])
    assert_allclose(scores["nll"], -model.log_prob(X[500:], y[500:]).mean())
    assert_allclose(scores["rmse"], np.sqrt(np.mean((model.predict(X[500:]) - y[500:]) ** 2)))
    counts = np.histogram(model.pit(X[500:], y[500:]), bins=20, range=(0, 1))[0]
    assert_array_equal(scores["pit"], counts)
    lower, upper = model.predict_interval(X[500:], 0.9)
    assert_allclose(scores["coverage"][0.9], np.mean((lower <= y[500:]) & (y[500:] <= upper)))


@pytest.fixture(scope="module")
def apart():
    """A model whose members disagree in the gap, and rows on both sides and inside."""
    random = np.random.default_rng(3)
    X = np.concatenate([random.uniform(-3, -1, size=(60, 1)), random.uniform(1, 3, size=(60, 1))])
    y = np.sin(2 * X[:, 0]) + np.where(X[:, 0] > 0, 0.3, 0.05) * random.normal(size=120)
    return DMARegressor(ensemble=2, random_state=1).fit(X, y), np.linspace(-3, 3, 13)[:, None]


def test_ends_of_intervals_are_quantiles_of_the_mixture(apart):
    model, X = apart
    mean = model.predict(X)
    for level in (0.5, 0.95):
        ends = np.array(model.predict_interval(X, level))
        for end, probability in zip(ends, ((1 - level) / 2, (1 + level) / 2)):
            assert_allclose(model.predict_quantile(X, probability), end, rtol=1e-9)
            assert_allclose(model.pit(X, end), probability, atol=1e-9)
        below, above = mean - ends[0], ends[1] - mean
        assert (below > 0).all() and (above > 0).all()
        assert (np.abs(above / below - 1) > 0.01).any()  # around the mean they are not symmetric
    draws = model.sample_y(X, 4000)
    for probability in (0.1, 0.5, 0.9):
        share = (draws < model.predict_quantile(X, probability)[:, None]).mean(axis=1)
        assert_allclose(share, probability, atol=0.035)  # 4 standard deviations of the share and more
    with pytest.raises(ValueError, match="probability must be between 0 and 1"):
        model.predict_quantile(X, 1)


def test_the_density_is_one_and_belongs_to_the_probabilities(apart):
    model, X = apart
    for row in X[::6]:
        ends = [
            [model.predict_quantile([row], p)[0] for p in (tail, 1 - tail)] for tail in (1e-9, 1e-5, 1e-2)
        ]
        grid = np.sort(np.concatenate([np.linspace(*pair, 6000) for pair in ends]))  # finest where most is
        rows = np.tile(row, (len(grid), 1))
        density = np.exp(model.log_prob(rows, grid))
        steps = np.diff(grid) * (density[1:] + density[:-1]) / 2
        assert_allclose(steps.sum(), 1, atol=1e-6)
        assert_allclose(np.cumsum(steps), model.pit(rows, grid)[1:], atol=1e-6)


def test_samples_have_the_predicted_moments(wave):
    X, y = wave
    model = quick().fit(X, y)
    mean, std = model.predict(X[:3], return_std=True)
    draws = model.sample_y(X[:3], 20000, random_state=0)
    assert draws.shape == (3, 20000)
    assert_allclose(draws.mean(axis=1), mean, atol=0.05 * std.max())
    below, above = np.quantile(draws, norm.cdf([-1, 1]), axis=1)
    assert_allclose((above - below) / 2, std, rtol=0.03)
    assert_array_equal(draws, model.sample_y(X[:3], 20000, random_state=0))
    assert not np.array_equal(draws, model.sample_y(X[:3], 20000, random_state=1))


def test_functions_have_the_predicted_moments(wave):
    """Without calibration the noise is a Gaussian: what it leaves of std**2 is the variance of the functions."""
    X, y = wave
    model = quick(calibration=False).fit(X, y)
    mean, epistemic, _ = model.predict(X[:3], return_cov_parts=True)
    functions = model.sample_y(X[[0, 1, 2, 0]], 20000, random_state=0, noise=False)
    assert_array_equal(functions[0], functions[3])  # one function has one value at one place
    assert_allclose(functions[:3].mean(axis=1), mean, atol=0.05 * np.sqrt(epistemic.max()))
    assert_allclose(functions[:3].std(axis=1), np.sqrt(epistemic), rtol=0.05)


def test_predict_of_many_rows_copies_no_input(wave):
    X, y = wave
    model = quick(belief="independent", ensemble=1, single_precision=True).fit(np.repeat(X, 8, axis=1), y)
    for dtype in (np.float32, np.float64):
        many = np.full((1_000_000, 8), 0.5, dtype=dtype)
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        mean = model.predict(many)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert mean.shape == (1_000_000,)
        # Three arrays of results, 24 MB; the input has 32 or 64 MB.
        assert peak - before < 28e6, f"{(peak - before) / 1e6:.0f} MB"


def test_predict_of_no_rows_is_refused(wave):
    X, y = wave
    with pytest.raises(ValueError, match="0 sample"):
        quick().fit(X, y).predict(np.empty((0, 1)))


# ------------------------------------------------------------------------------------------------- frames


def cars(rows=150):
    random = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "weight": random.uniform(1, 2, rows),
            "maker": random.choice(["ford", "fiat", "honda"], rows),
            "cylinders": pd.Categorical(random.choice([4, 6, 8], rows)),
            "automatic": random.choice([True, False], rows),
            "built": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 1000, rows), unit="D"),
            "doors": random.choice([2.0, 4.0, np.nan], rows),
            "nothing": 7,
        }
    )
    y = 10 * frame["weight"] + 3.0 * (frame["maker"] == "ford") + 2.0 * frame["automatic"]
    return frame, (y + 0.1 * random.normal(size=rows)).rename("consumption")


def test_frames_of_any_columns():
    X, y = cars()
    model = DMARegressor(random_state=1).fit(X[:100], y[:100])
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.n_features_in_ == 7
    assert list(model.dropped_features_) == ["nothing"]
    names = model.input_names_
    assert "maker = ford" in names and "cylinders = 4" in names and "doors is empty" in names
    assert "automatic" in names and "built" in names
    assert model.score(X[100:], y[100:]) > 0.95
    swapped = X[X.columns[::-1]]
    with pytest.raises(ValueError, match="same order"):
        model.predict(swapped)
    with pytest.raises(ValueError, match="Feature names"):
        model.predict(X.rename(columns={"weight": "mass"}))
    with pytest.warns(UserWarning, match="feature names"):
        quick().fit(X[["weight"]], y).predict(X[["weight"]].to_numpy())


def test_ids_of_a_frame_are_left_out_unless_asked_for(wave):
    X, y = wave
    frame = pd.DataFrame({"id": np.arange(1, 121), "x": X[:, 0]})
    with pytest.warns(UserWarning, match="'id' was left out: an id"):
        assert quick().fit(frame, y).input_names_ == ["x"]
    assert quick(keep_ids=True).fit(frame, y).input_names_ == ["id", "x"]
    assert quick().fit(frame.to_numpy(), y).input_names_ == ["x0", "x1"]


def test_frames_of_the_nullable_types():
    X, y = cars()
    plain = X[["weight", "doors"]]
    nullable = plain.astype({"weight": "Float64", "doors": "Int64"})
    assert_array_equal(quick().fit(plain, y).predict(plain), quick().fit(nullable, y).predict(nullable))
    boxed = plain.astype(object)
    assert_array_equal(quick().fit(plain, y).predict(plain), quick().fit(boxed, y).predict(boxed))
    words = X[["maker", "weight"]]
    strings = words.astype({"maker": "string"})
    assert_array_equal(quick().fit(words, y).predict(words), quick().fit(strings, y).predict(strings))


def written_by_people(rows=60):
    """A table of numbers, and the same as text with currency, thousands, words for empty cells and a stray one."""
    random = np.random.default_rng(1)
    size, price = random.uniform(20, 200, rows).round(2), random.uniform(100, 9999, rows).round(2)
    numbers = pd.DataFrame({"size": size, "price": price})
    text = pd.DataFrame({"size": [f"{s:.2f}" for s in size], "price": [f"${p:,.2f}" for p in price]})
    for column, row, word in (
        ("size", 7, "unknown"),
        ("size", 5, "NA"),
        ("price", 3, "n/a"),
        ("price", 4, "-"),
    ):
        numbers.loc[row, column] = np.nan
        text.loc[row, column] = word
    return numbers, text, size + 0.01 * price


def with_decimal_commas(text):
    """1,234.5 becomes 1.234,5."""
    return text.apply(lambda column: column.str.translate(str.maketrans(",.", ".,")))


@pytest.mark.parametrize("comma", [False, True])
@pytest.mark.parametrize("dtype", ["object", "string"])
def test_numbers_written_as_text_are_read_as_in_a_file(dtype, comma, tmp_path):
    numbers, text, y = written_by_people()
    expected = quick(max_epochs=5).fit(numbers, y).predict(numbers)
    if comma:
        text = with_decimal_commas(text)
    with pytest.warns(UserWarning) as caught:
        model = quick(max_epochs=5).fit(text.astype(dtype), y)
    said = str(caught[0].message)
    assert caught[0].filename == __file__
    assert "is read as 2812.8" in said and ("decimal comma" in said) == comma
    assert "size: 58 of 59 cells are numbers, row 7 has 'unknown'; it counts as empty" in said
    with pytest.warns(UserWarning, match="58 of 59 cells") as caught:
        assert_array_equal(model.predict(text), expected)
    assert caught[0].filename == __file__
    assert_array_equal(model.predict(numbers), expected)
    model.save(tmp_path / "m.safetensors")
    with pytest.warns(UserWarning, match="58 of 59 cells"):
        assert_array_equal(DMARegressor.load(tmp_path / "m.safetensors").predict(text), expected)
    with pytest.warns(UserWarning, match="size: 6 of 7 cells"):
        assert model.forget(text[:8], y[:8]).change_["rows_removed"] == 8


@pytest.mark.filterwarnings("ignore:cells of X are unlike")
def test_a_stray_cell_of_the_only_row_is_empty():
    numbers, text, y = written_by_people()
    model = quick(max_epochs=5).fit(numbers, y)
    expected = model.predict(text[7:8].assign(size=None))
    with pytest.warns(UserWarning, match="size: 0 of 1 cells are numbers, row 0 has 'unknown'; it counts"):
        assert_array_equal(model.predict(text[7:8]), expected)
    with pytest.raises(ValueError, match="row 0, column 'size': 'unknown' is text, but in training"):
        model.predict(text[:3].assign(size="unknown"))
    with pytest.raises(ValueError, match="row 0, column 'size': 'unknown' is text, but in training"):
        model.set_params(strict=True).predict(text[7:8])


def test_a_few_stray_cells_among_dates_are_empty():
    days = pd.date_range("2024-01-01", periods=60).astype(str).to_series(index=range(60))
    y = np.arange(60) + np.sin(np.arange(60))
    text = pd.DataFrame({"day": days.mask(days.index == 7, "soon")})
    with pytest.warns(
        UserWarning, match="day: 59 of 60 cells are dates, row 7 has 'soon'; it counts as empty"
    ):
        model = quick(max_epochs=3).fit(text, y)
    expected = quick(max_epochs=3).fit(text.replace("soon", np.nan), y).predict(text[:5])
    assert_array_equal(model.predict(text[:5]), expected)
    with pytest.raises(ValueError, match="row 7, column 'day': 'soon' is not a date, but 59 of 60"):
        quick(strict=True).fit(text, y)
    with pytest.raises(ValueError, match="row 7, column 'day': 'soon' is not a date in a format used"):
        model.set_params(strict=True).predict(text)


@pytest.mark.filterwarnings("ignore:X has columns of text")
def test_what_text_cannot_be_numbers():
    numbers, text, y = written_by_people()
    with pytest.raises(ValueError, match="row 7, column 'size': 'unknown' is not a number, but 58 of 59"):
        quick(strict=True).fit(text, y)
    with pytest.raises(
        ValueError, match="a decimal comma, but '112.13' in row 0, column 'size', a decimal point"
    ):
        quick().fit(text.assign(price=with_decimal_commas(text)["price"]), y)
    model = quick(max_epochs=2, strict=True).fit(numbers, y)
    with pytest.raises(ValueError, match="row 7, column 'size': 'unknown' is text, but in training"):
        model.predict(text)
    with pytest.raises(ValueError, match="has a decimal comma, and the model's numbers have points"):
        model.predict(with_decimal_commas(text))
    with pytest.raises(ValueError, match="'inf' is not finite"):
        model.predict(text.assign(size="inf"))
    # Many texts are categories, as are those that are declared.
    half = text.assign(size=np.where(np.arange(60) % 2 == 0, "much", "1"))
    assert "size = much" in quick(max_epochs=2).fit(half, y).input_names_
    declared = half.assign(size=half["size"].replace({"much": "NA"}).astype("category"))
    model = quick(max_epochs=2).fit(declared, y)
    assert "size = 1" in model.input_names_ and "size = NA" in model.input_names_
    assert model.unlike(declared) == []


def test_a_frame_is_the_matrix_it_holds(wave):
    X, y = wave
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 0] ** 2})
    assert_array_equal(
        quick().fit(frame, y).predict(frame), quick().fit(frame.to_numpy(), y).predict(frame.to_numpy())
    )
    unnamed = pd.DataFrame(frame.to_numpy())
    model = quick().fit(unnamed, y)
    assert not hasattr(model, "feature_names_in_")


def test_categorical_features(wave):
    random = np.random.default_rng(3)
    code = random.integers(0, 3, size=200)
    X = np.column_stack([code, random.normal(size=200)])
    y = np.array([0.0, 5.0, 1.0])[code]
    for categories in ([0], np.array([0]), ["x0"]):
        model = quick(categorical_features=categories).fit(X, y)
        assert sorted(model.input_names_) == ["x0 = (other)", "x0 = 0", "x0 = 1", "x0 = 2", "x1"]
    assert sorted(quick().fit(X, y).input_names_) == ["x0", "x1"]
    with pytest.raises(ValueError, match="no column 'z'"):
        quick(categorical_features=["z"]).fit(X, y)
    with pytest.raises(ValueError, match="no column 2"):
        quick(categorical_features=[2]).fit(X, y)


def test_a_column_that_is_left_out_is_told():
    X, y = cars()
    X["name"] = [f"car number {k}" for k in range(len(X))]
    with pytest.warns(UserWarning, match="'name' was left out"):
        model = quick().fit(X, y)
    assert "name" in model.dropped_features_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick().fit(X.drop(columns="name"), y)  # a constant one is not worth a warning


def test_a_value_that_does_not_fit_its_column_is_named():
    X, y = cars()
    model = quick().fit(X, y)
    wrong = X.copy()
    wrong["built"] = ["yesterday"] * len(X)
    with pytest.raises(ValueError, match=r"X, row 0, column 'built': 'yesterday'"):
        model.predict(wrong)
    wrong = X.copy()
    wrong.loc[4, "weight"] = np.inf
    with pytest.raises(ValueError, match=r"X, row 4, column 'weight': 'inf' is not finite"):
        model.predict(wrong)
    with pytest.raises(ValueError, match="timedelta64"):
        quick().fit(X.assign(age=pd.to_timedelta(range(len(X)), unit="D")), y)


# ------------------------------------------------------------------------------------------------- changing


def test_partial_fit_starts_and_goes_on(wave):
    X, y = wave
    model = quick()
    model.partial_fit(X[:60], y[:60])
    assert not hasattr(model, "change_")
    before = model.evaluate(X[60:], y[60:])["nll"]
    assert model.partial_fit(X[60:], y[60:]) is model
    assert model.change_["rows_added"] == 60
    assert_allclose(model.change_["new_rows_nll"], before)
    assert model.report_["rows"] == 120
    model.fit(X, y)
    assert not hasattr(model, "change_")


@pytest.mark.parametrize("belief, apart", [("joint", 0), ("independent", 0.5)])
def test_old_rows_are_learnt_again_if_they_are_given(wave, belief, apart):
    """A joint belief is fitted anew: it is the new fit that it is compared with."""
    X, y = wave
    model = quick(belief=belief).fit(X[:60], y[:60])
    model.partial_fit(X[60:], y[60:], data=(X[:60], y[:60]), compare=True)
    assert model.change_["rows_added"] == 60
    assert model.change_["compared"]["mean_shift"] <= apart
    model.forget(X[[5]], y[[5]], data=(X, y), compare=True)
    assert model.change_["rows_removed"] == 1 and model.report_["rows"] == 119
    assert model.change_["compared"]["mean_shift"] <= apart


def test_rows_that_come_later_help():
    """Also without the old ones: what these said holds where it was said, and predictions stay there."""
    X, y = make_friedman1(1250, noise=1.0, random_state=0)
    model = DMARegressor(random_state=1).fit(X[:100], y[:100])
    before = model.evaluate(X[250:], y[250:])
    for first in range(100, 250, 30):
        model.partial_fit(X[first : first + 30], y[first : first + 30])
    after = model.evaluate(X[250:], y[250:])
    assert after["rmse"] < before["rmse"] and after["nll"] < before["nll"]
    model.forget(X[100:250], y[100:250])
    assert_allclose(model.evaluate(X[250:], y[250:])["rmse"], before["rmse"], rtol=1e-6)


def test_forget_undoes(wave):
    X, y = wave
    model = quick(batch_size=1).fit(X[:100], y[:100])
    before = model.predict(X, return_std=True)
    model.partial_fit(X[100:], y[100:])
    assert not np.array_equal(model.predict(X), before[0])
    model.forget(X[100:], y[100:])
    assert model.change_["rows_removed"] == 20
    assert_allclose(model.predict(X, return_std=True), before, rtol=1e-6)
    count = len(model.batch_rows_)
    model.forget(0)
    assert len(model.batch_rows_) == count - 1


def test_forget_refuses_what_it_cannot_do(wave):
    X, y = wave
    model = quick().fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="the table, row 0: this row is not among"):
        model.forget([[77.0]], [1.0])
    with pytest.raises(ValueError, match="no batch 5000"):
        model.forget(5000)
    with pytest.raises(ValueError, match="no batch -1"):
        model.forget(-1)
    with pytest.raises(ValueError, match="rows as X and y"):
        model.forget(X)
    with pytest.raises(ValueError, match="ledger"):
        quick(ledger="none").fit(X, y).forget(0)
    with pytest.raises(ValueError, match="fitted to 1"):
        model.partial_fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="not in it"):
        model.partial_fit(X, y, data=(X[:3], y[:3]))
    assert pickle.dumps(model) == before


def test_an_old_model_may_predict_while_a_new_one_is_made(wave):
    """partial_fit makes a model of its own and takes its place at the end."""
    X, y = wave
    model = quick().fit(X, y)
    old = model._model
    before = old.__getstate__()
    model.partial_fit(X, y)
    assert old.__getstate__() == before
    assert model._model.__getstate__() != before


# ---------------------------------------------------------------------------------------------------- files


def same_everywhere(one, other, X):
    assert_array_equal(one.predict(X, return_std=True), other.predict(X, return_std=True))
    assert one.cavity_nll_ == other.cavity_nll_
    assert one.certificate_ == other.certificate_


def test_pickle_copy_and_joblib(wave, tmp_path):
    X, y = wave
    for options in (dict(), dict(belief="independent", single_precision=True)):
        model = quick(**options).fit(X, y)
        same_everywhere(model, pickle.loads(pickle.dumps(model)), X)
        same_everywhere(model, copy.deepcopy(model), X)
        same_everywhere(model, copy.copy(model), X)
        joblib.dump(model, tmp_path / "model.joblib")
        loaded = joblib.load(tmp_path / "model.joblib")
        same_everywhere(model, loaded, X)
        loaded.partial_fit(X[:5], y[:5])
        model.partial_fit(X[:5], y[:5])
        same_everywhere(model, loaded, X)
    unfitted = pickle.loads(pickle.dumps(quick()))
    assert unfitted.get_params() == quick().get_params()


def test_joblib_runs_fits_side_by_side(wave):
    X, y = wave
    models = joblib.Parallel(n_jobs=2)(joblib.delayed(quick(random_state=s).fit)(X, y) for s in (1, 2))
    for seed, model in zip((1, 2), models):
        same_everywhere(model, quick(random_state=seed).fit(X, y), X)


def test_save_and_load(wave, tmp_path):
    X, y = wave
    path = tmp_path / "model.safetensors"
    model = quick(hidden=(4,), noise="constant", patience=2, slope=0.2, time=100).fit(X, y)
    model.save(path)
    loaded = DMARegressor.load(path)
    same_everywhere(model, loaded, X)
    expected = {**model.get_params(), "belief": "joint"}
    assert loaded.get_params() == {**expected, "n_jobs": None, "verbose": 0}
    assert_array_equal(loaded.fit(X, y).predict(X), model.predict(X))  # the options are all there
    model.save(path, slim=True)
    with pytest.raises(ValueError):
        DMARegressor.load(path).forget(0)


def test_save_and_load_of_a_frame(tmp_path):
    X, y = cars()
    model = quick().fit(X, y)
    model.save(tmp_path / "cars.safetensors")
    loaded = DMARegressor.load(tmp_path / "cars.safetensors")
    assert list(loaded.feature_names_in_) == list(X.columns)  # the dropped one too
    same_everywhere(model, loaded, X)
    loaded.partial_fit(X[:3], y[:3])


def test_files_that_are_no_models(wave, tmp_path):
    with pytest.raises(FileNotFoundError):
        DMARegressor.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        DMARegressor.load(tmp_path)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="text: is not a dma model"):
        DMARegressor.load(tmp_path / "text")
    with pytest.raises(OSError, match="folder"):
        quick().fit(*wave).save(tmp_path / "folder" / "model")
    model = quick().fit(*wave)._model
    state = bytearray(model.__getstate__())
    state[len(state) // 2] ^= 1
    with pytest.raises(ValueError, match="damaged"):
        type(model).__new__(type(model)).__setstate__(bytes(state))


def with_huge_weight(path):
    """Every number of the file stays finite, and its checksum right."""
    content = bytearray(path.read_bytes())
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    first = end + header["member.0.function.mean"]["data_offsets"][0]
    content[first : first + 8] = struct.pack("<d", 1e300)
    checksum = content.index(header["__metadata__"]["checksum"].encode())
    content[checksum : checksum + 8] = b"00000000"
    content[checksum : checksum + 8] = b"%08x" % zlib.crc32(content)
    path.write_bytes(content)


def test_a_prediction_that_is_not_finite_is_an_error(wave, tmp_path):
    X, y = wave
    path = tmp_path / "model.safetensors"
    quick(belief="joint").fit(X, y).save(path)
    with_huge_weight(path)
    model = DMARegressor.load(path)
    with pytest.raises(FloatingPointError, match="row 0: the prediction is not finite"):
        model.predict(X)


# ------------------------------------------------------------------------------------- errors and warnings


@pytest.mark.parametrize(
    "options, text",
    [
        (dict(hidden=0), "units"),
        (dict(hidden="many"), "hidden must be"),
        (dict(hidden=()), "no layer"),
        (dict(hidden=[2.5]), "units"),
        (dict(rule="quadratic"), "rule must be one of 'linear', 'direct', not 'quadratic'"),
        (dict(rule=None), "rule must be a string"),
        (dict(noise=-1), "noise must be a number above 0"),
        (dict(noise="loud"), "noise must be"),
        (dict(noise="input", belief="independent"), "needs belief"),
        (dict(ensemble=0), "ensemble must be"),
        (dict(max_epochs=0), "max_epochs must be"),
        (dict(max_epochs=True), "max_epochs must be"),
        (dict(tol=-1), "tol must be"),
        (dict(tol=np.nan), "tol must be"),
        (dict(patience=-1), "patience must be"),
        (dict(batch_size=0), "batch_size must be"),
        (dict(slope="steep"), "slope must be"),
        (dict(time=0), "time must be a number above 0"),
        (dict(time="long"), "time must be"),
        (dict(time=1, belief="independent"), "time can only be given with the belief joint"),
        (dict(ledger="half"), "ledger must be one of"),
        (dict(belief="firm"), "belief must be one of"),
        (dict(random_state=-1), "random_state"),
        (dict(rule="direct", belief="joint"), "belief independent"),
    ],
)
def test_options_that_cannot_be(wave, options, text):
    with pytest.raises(ValueError, match=text):
        DMARegressor(**options).fit(*wave)


def test_data_that_cannot_be_learnt(wave):
    X, y = wave
    with pytest.raises(ValueError, match="nothing to learn"):
        quick().fit(X, np.ones(120))
    with pytest.raises(ValueError, match="no feature is left"):
        quick().fit(np.ones((120, 1)), y)
    with pytest.raises(ValueError, match="NaN"):
        quick().fit(X, np.where(y > 0, y, np.nan))
    with pytest.raises(ValueError, match="infinity"):
        quick().fit(np.where(X > 0, X, np.inf), y)
    with pytest.raises(ValueError, match="inconsistent"):
        quick().fit(X, y[:50])
    with pytest.raises(ValueError, match="requires y"):
        quick().fit(X, None)
    with pytest.raises(ValueError, match="dim 3"):
        quick().fit(X, np.zeros((120, 1, 1)))
    with pytest.raises(ValueError):
        quick().fit(X, ["red"] * 120)
    model = quick().fit(X, y)
    with pytest.raises(ValueError, match="expecting 1 features"):
        model.predict(np.hstack([X, X]))
    with pytest.raises(ValueError, match="shape"):
        model.evaluate(X, y[:5])
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_interval(X, 95)


def test_empty_cells_are_values():
    random = np.random.default_rng(4)
    X = random.normal(size=(300, 2))
    y = X[:, 0] + 0.1 * random.normal(size=300)
    X[::3, 0] = np.nan
    model = DMARegressor(random_state=1).fit(X, y)
    std = model.predict(X, return_std=True)[1]
    assert std[::3].mean() > 2 * std[1::3].mean()  # where the cell is empty, less is known


def test_not_fitted(wave, tmp_path):
    X, y = wave
    for call in (
        lambda model: model.predict(X),
        lambda model: model.predict_interval(X),
        lambda model: model.predict_quantile(X),
        lambda model: model.log_prob(X, y),
        lambda model: model.sample_y(X),
        lambda model: model.evaluate(X, y),
        lambda model: model.forget(0),
        lambda model: model.save(tmp_path / "m"),
        lambda model: model.coefs_mean_,
        lambda model: model.batch_rows_,
    ):
        with pytest.raises(NotFittedError):
            call(DMARegressor())
    assert not hasattr(DMARegressor(), "coefs_mean_")


@pytest.mark.parametrize("belief", ["joint", "independent"])
def test_a_fit_that_was_cut_short_is_told(wave, belief):
    with pytest.warns(ConvergenceWarning, match="raise max_epochs"):
        short = DMARegressor(belief=belief, max_epochs=2, random_state=1).fit(*wave)
    assert short.stopped_ == "max_epochs" and short.n_iter_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DMARegressor(belief=belief, random_state=1).fit(*wave)
        DMARegressor(belief=belief, max_epochs=2, tol=0, random_state=1).fit(*wave)  # was asked for


def test_verbose(wave, capsys):
    quick().fit(*wave)
    assert capsys.readouterr() == ("", "")
    quick(verbose=1).fit(*wave)
    assert "120 rows, 2 networks, 40 epochs (max_epochs)" in capsys.readouterr().out
    quick(verbose=2, max_epochs=300, hidden=(30, 30), noise="constant").fit(
        wave[0], np.column_stack([wave[1]] * 2)
    )
    *progress, last = capsys.readouterr().out.splitlines()
    shares = [int(line.split()[1]) for line in progress]
    assert shares == sorted(set(shares)) and shares[-1] > 50  # of the second output too
    assert "120 rows" in last


# ----------------------------------------------------------------------------- the lock, and Ctrl-C


LONG = dict(belief="independent", hidden=(200, 200), max_epochs=100_000, tol=0, ensemble=1, random_state=1)
LONG_JOINT = {**LONG, "belief": "joint", "hidden": (20, 20)}


def test_the_interpreter_lock_is_released(wave):
    """Another thread of Python goes on while this one fits, and while it predicts."""
    ticks = 0
    done = threading.Event()

    def tick():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    model = DMARegressor(random_state=1)
    many = np.repeat(wave[0], 200, axis=0)  # fewer than are predicted at once
    try:
        before = ticks
        model.fit(*wave)
        after_fit = ticks
        model.predict(many)
        after_predict = ticks
    finally:
        done.set()
        thread.join()
    assert after_fit - before > 20
    assert after_predict - after_fit > 20


@pytest.mark.parametrize("options", [LONG, LONG_JOINT], ids=["independent", "joint"])
def test_ctrl_c_ends_a_fit_and_leaves_a_model(wave, options):
    X, y = wave
    model = DMARegressor(**options)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.monotonic() - start < 10
    assert model.stopped_ == "interrupted"
    assert np.isfinite(model.predict(X)).all()


def test_a_checkpoint_is_kept_gone_on_from_and_refused(wave, tmp_path):
    X, y = wave
    plain = quick().fit(X, y)
    kept = quick().fit(X, y, checkpoint=tmp_path / "c")
    assert_array_equal(plain.predict(X), kept.predict(X))
    again = quick().fit(X, y, checkpoint=str(tmp_path / "c"))
    assert_array_equal(plain.predict(X), again.predict(X))
    with pytest.raises(ValueError, match="other rows"):
        quick().fit(X[:-1], y[:-1], checkpoint=tmp_path / "c")
    with pytest.raises(ValueError, match="seed 1, now 2"):
        quick(random_state=2).fit(X, y, checkpoint=tmp_path / "c")


def test_ctrl_c_ends_a_predict(wave):
    X, y = wave
    model = quick(belief="independent", hidden=(20, 20), max_epochs=1).fit(X, y)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.predict(np.zeros((10_000_000, 1), dtype=np.float32))
    assert time.monotonic() - start < 20


def test_an_exception_of_a_handler_ends_a_fit(wave):
    class Enough(Exception):
        pass

    def enough(*_):
        raise Enough

    old = signal.signal(signal.SIGALRM, enough)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(Enough):
            DMARegressor(**LONG).fit(*wave)
    finally:
        signal.signal(signal.SIGALRM, old)


def test_ctrl_c_in_a_script():
    """As a user sees it: the shell's exit status, and KeyboardInterrupt's traceback."""
    script = (
        "import numpy as np, dma\n"
        "X = np.linspace(0, 1, 200)[:, None]\n"
        "print('ready', flush=True)\n"
        f"dma.DMARegressor(**{LONG!r}).fit(X, X[:, 0] ** 2)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors
    assert child.returncode == -signal.SIGINT


def insurance(rows, seed=0):
    rng = np.random.default_rng(seed)
    offsets = {"north": 0.0, "east": 1.0, "south": 2.0, "west": 4.0}
    region = rng.choice(list(offsets), rows)
    age = rng.normal(size=rows)
    y = np.array([offsets[one] for one in region]) + age + 0.3 * rng.normal(size=rows)
    return pd.DataFrame({"region": region, "age": age}), y


def test_cells_unlike_training_are_warned_of_and_never_less_certain_than_the_target():
    X, y = insurance(200)
    model = quick().fit(X, y)
    odd = pd.DataFrame({"region": ["north", "centre", "North", None], "age": [0.0, 0.0, np.nan, 50.0]})
    with pytest.warns(UserWarning, match="region: 1 new, the first 'centre' in row 1"):
        mean, std = model.predict(odd, return_std=True)
    assert std[1] > std[0]
    assert (std <= 1.0001 * y.std()).all()
    said = [(one["column"], one["what"], one["cells"]) for one in model.unlike(odd)]
    assert said == [
        ("age", "empty", 1),
        ("region", "value", 1),
        ("region", "empty", 1),
        ("region", "spelling", 1),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)
    assert model.unlike(X) == []


def test_bounds_are_assumed_given_or_none():
    X, y = insurance(150)
    y = np.abs(y)
    model = quick().fit(X, y)
    assert model.bounds_ == (0, np.inf)
    assert (model.predict_interval(X, 0.999)[0] >= 0).all()
    free = quick(bounds=None).fit(X, y)
    assert free.bounds_ is None
    assert (free.predict_interval(X, 0.999)[0] < 0).any()
    assert (quick(bounds=(0, 9)).fit(X, y).predict_interval(X, 0.9999)[1] <= 9).all()
    with pytest.raises(ValueError, match="beyond the bounds"):
        quick(bounds=(1, 9)).fit(X, y)
    for wrong in ("all", (1, 0), 3):
        with pytest.raises(ValueError, match="bounds must be"):
            quick(bounds=wrong).fit(X, y)


def test_calibrated_intervals_hold_what_they_say():
    X, y = insurance(60)
    model = quick(max_epochs=2).fit(X, y)
    new_X, new_y = insurance(4000, seed=1)
    model.calibrate(new_X[:199], new_y[:199])
    lower, upper = model.predict_interval(new_X[199:], 0.9, calibrated=True)
    inside = ((lower <= new_y[199:]) & (new_y[199:] <= upper)).mean()
    assert abs(inside - 0.9) < 0.07
    scores = model.evaluate(new_X[199:], new_y[199:], calibrated=True)
    assert_allclose(scores["coverage"][0.9], inside)
    assert scores["coverage"] != model.evaluate(new_X[199:], new_y[199:])["coverage"]
    with pytest.raises(ValueError, match="takes 1999 rows"):
        model.predict_interval(X, 0.999, calibrated=True)
