"""DMARegressor with amounts and counts."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from dma import DMARegressor

QUICK = {"random_state": 0, "hidden": 6, "ensemble": 2, "max_epochs": 30}


def counts(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    return X, rng.poisson(np.exp(1 + X[:, 0]))


def amounts(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    return X, np.exp(2 + X[:, 0] + 0.3 * rng.normal(size=rows))


def test_a_count_has_probabilities_of_whole_numbers():
    X, y = counts(200, 0)
    model = DMARegressor(kind="count", **QUICK).fit(X, y)
    assert model.kind_ == "count"
    probabilities = model.predict_counts(X, 3)
    assert probabilities.shape == (200, 5)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    np.testing.assert_allclose(probabilities[:, 1], np.exp(model.log_prob(X, np.ones(200))))
    lower, upper = model.predict_interval(X, 0.8)
    assert (lower == np.round(lower)).all() and (upper == np.round(upper)).all()
    assert np.mean((lower <= y) & (y <= upper)) > 0.8
    mean, std = model.predict(X, return_std=True)
    assert np.corrcoef(mean, np.exp(1 + X[:, 0]))[0, 1] > 0.8
    assert (std > 0).all()
    draws = model.sample_y(X[:3], 50)
    assert (draws == np.round(draws)).all() and (draws >= 0).all()
    assert model.evaluate(X, y)["crps"] > 0
    with pytest.raises(ValueError, match="1.5"):
        DMARegressor(kind="count", **QUICK).fit(X[:3], [1, 1.5, 2])


def test_an_amount_stays_positive():
    X, y = amounts(200, 0)
    model = DMARegressor(kind="amount", **QUICK).fit(X, y)
    assert model.kind_ == "amount"
    far = 10 * X
    lower, upper = model.predict_interval(far, 0.99)
    assert (lower > 0).all() and np.isfinite(upper).all()
    np.testing.assert_allclose(model.predict(X), model.predict_quantile(X, 0.5), rtol=1e-9)
    assert (model.sample_y(X, 5) > 0).all()
    assert 0.15 < model.noise_std_ < 0.6
    with pytest.raises(ValueError, match="not positive"):
        DMARegressor(kind="amount", **QUICK).fit(X[:3], [1, 0, 2])
    with pytest.raises(ValueError, match="predict_counts needs a model of a count"):
        model.predict_counts(X, 3)


def test_the_kind_is_found_or_refused():
    assert DMARegressor(kind="auto", **QUICK).fit(*counts(100, 1)).kind_ == "count"
    assert DMARegressor(kind="auto", **QUICK).fit(*amounts(100, 1)).kind_ == "amount"
    assert DMARegressor(**QUICK).fit(*amounts(100, 1)).kind_ == "number"
    with pytest.raises(ValueError, match="kind must be one of"):
        DMARegressor(kind="class").fit(*counts(20, 1))
    with pytest.raises(ValueError, match="two values only"):
        DMARegressor(kind="auto").fit([[0], [1], [2], [3]], [0, 1, 1, 0])


@pytest.mark.parametrize("kind, table", [("count", counts), ("amount", amounts)])
def test_a_model_is_kept(tmp_path, kind, table):
    X, y = table(100, 2)
    model = DMARegressor(kind=kind, **QUICK).fit(X, y)
    model.save(tmp_path / "model")
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (DMARegressor.load(tmp_path / "model"), joblib.load(tmp_path / "model.joblib")):
        assert again.kind == again.kind_ == kind
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    more = table(10, 3)
    before = model.predict(X)
    model.partial_fit(*more)
    assert np.abs(model.predict(X) / before - 1).max() > 1e-4
    assert clone(model).kind == kind
