"""Rows that count more than others: sample_weight and class_weight."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics
from sklearn.model_selection import cross_val_score
from sklearn.utils.class_weight import compute_sample_weight

import dma
from dma import DMAClassifier, DMARegressor

BELIEFS = [{"belief": "joint"}, {"belief": "independent", "max_epochs": 8}]


def quick(kind=DMARegressor, **options):
    return kind(**{"hidden": 5, "ensemble": 2, "max_epochs": 30, "tol": 0, "random_state": 1, **options})


@pytest.fixture
def rows(wave):
    X, y = wave
    return X[:60], y[:60], np.random.default_rng(1).integers(0, 4, size=60)


@pytest.fixture
def classes():
    random = np.random.default_rng(2)
    X = random.normal(size=(80, 2))
    y = np.array(["no", "yes"])[(X[:, 0] + 0.7 * random.normal(size=80) > 0.8).astype(int)]
    return X, y


@pytest.mark.parametrize("belief", BELIEFS, ids=lambda belief: belief["belief"])
def test_weights_are_copies(rows, belief):
    X, y, weights = rows
    weighted = quick(**belief).fit(X, y, weights)
    order = np.random.default_rng(3).permutation(np.repeat(np.arange(60), weights))
    repeated = quick(**belief).fit(X[order], y[order])
    for one, other in zip(weighted.predict(X, return_std=True), repeated.predict(X, return_std=True)):
        assert_allclose(one, other, rtol=1e-6, atol=1e-8)
    assert weighted.report_["rows"] == np.count_nonzero(weights)
    assert weighted.report_["rows_without_weight"] == np.count_nonzero(weights == 0)
    assert repeated.report_["copies"] == weights.sum() - np.count_nonzero(weights)


@pytest.mark.parametrize("belief", BELIEFS, ids=lambda belief: belief["belief"])
def test_weights_of_classes_are_copies(classes, belief):
    X, y = classes
    weights = np.random.default_rng(4).integers(1, 4, size=80)
    weighted = quick(DMAClassifier, **belief).fit(X, y, sample_weight=weights)
    repeated = quick(DMAClassifier, **belief).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6, atol=1e-8)
    unweighted = quick(DMAClassifier, **belief).fit(X, y)
    assert np.abs(weighted.predict_proba(X) - unweighted.predict_proba(X)).max() > 1e-3


def test_no_weights_are_ones(rows):
    X, y, _ = rows
    none = quick().fit(X, y)
    assert_array_equal(none.predict(X), quick().fit(X, y, np.ones(60)).predict(X))
    assert_array_equal(none.predict(X), quick().fit(X, y, sample_weight=None).predict(X))
    assert none.evaluate(X, y)["nll"] == none.evaluate(X, y, np.ones(60))["nll"]


def test_partial_fit(rows):
    X, y, weights = rows
    weighted = quick().fit(X[:40], y[:40]).partial_fit(X[40:], y[40:], weights[40:])
    copies = np.repeat(np.arange(40, 60), weights[40:])
    repeated = quick().fit(X[:40], y[:40]).partial_fit(X[copies], y[copies])
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    assert weighted.change_["rows_without_weight"] == np.count_nonzero(weights[40:] == 0)
    first = quick().partial_fit(X, y, weights)  # a fit
    assert_array_equal(first.predict(X), quick().fit(X, y, weights).predict(X))


def test_forget_one_of_two(rows):
    X, y, _ = rows
    model = quick(belief="joint").fit(np.vstack([X, X]), np.hstack([y, y]))
    model.forget(X[[3]], y[[3]])
    assert model.change_["rows_removed"] == 1 and model.change_["rows_lost"] == 0
    assert model.change_["batches_reduced"] == 1
    assert model.report_["rows"] == 119
    model.forget(X[[3]], y[[3]])
    with pytest.raises(ValueError, match="not among the rows"):
        model.forget(X[[3]], y[[3]])


def test_scores(rows, classes):
    X, y, weights = rows
    model = quick().fit(X, y)
    assert_allclose(model.score(X, y, weights), metrics.r2_score(y, model.predict(X), sample_weight=weights))
    scores = model.evaluate(X, y, weights)
    assert_allclose(scores["mae"], metrics.mean_absolute_error(y, model.predict(X), sample_weight=weights))
    assert sum(scores["pit"]) == weights.sum()
    assert scores["rows"] == np.count_nonzero(weights)
    X, y = classes
    weights = np.random.default_rng(5).uniform(0.1, 3, size=80)
    model = quick(DMAClassifier).fit(X, y)
    p = model.predict_proba(X)
    scores = model.evaluate(X, y, weights)
    assert_allclose(scores["log_loss"], metrics.log_loss(y, p, sample_weight=weights))
    assert_allclose(scores["auc"], metrics.roc_auc_score(y, p[:, 1], sample_weight=weights))
    assert_allclose(scores["confusion"], metrics.confusion_matrix(y, model.predict(X), sample_weight=weights))
    assert_allclose(
        scores["balanced_accuracy"],
        metrics.balanced_accuracy_score(y, model.predict(X), sample_weight=weights),
    )
    assert_allclose(model.score(X, y, weights), scores["accuracy"])
    with pytest.raises(ValueError, match="no row has"):
        model.evaluate(X, y, np.zeros(80))


def test_class_weight(classes):
    X, y = classes
    plain = quick(DMAClassifier).fit(X, y)
    balanced = quick(DMAClassifier, class_weight="balanced").fit(X, y)
    by_hand = quick(DMAClassifier).fit(X, y, compute_sample_weight("balanced", y))
    assert_array_equal(balanced.predict_proba(X), by_hand.predict_proba(X))
    assert balanced.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.05
    named = quick(DMAClassifier, class_weight={"yes": 3}).fit(X, y, np.full(80, 2.0))
    both = quick(DMAClassifier).fit(X, y, np.where(y == "yes", 6.0, 2.0))
    assert_array_equal(named.predict_proba(X), both.predict_proba(X))
    with pytest.raises(ValueError, match="class_weight must be"):
        quick(DMAClassifier, class_weight="fair").fit(X, y)
    with pytest.raises(ValueError, match="not supported for partial_fit"):
        quick(DMAClassifier, class_weight="balanced").partial_fit(X, y)
    later = quick(DMAClassifier, class_weight={"yes": 3}).partial_fit(X[:60], y[:60])
    later.partial_fit(X[60:], y[60:])
    same = quick(DMAClassifier).fit(X[:60], y[:60], np.where(y[:60] == "yes", 3.0, 1.0))
    same.partial_fit(X[60:], y[60:], sample_weight=np.where(y[60:] == "yes", 3.0, 1.0))
    assert_array_equal(later.predict_proba(X), same.predict_proba(X))


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_refusals(rows, wrong):
    X, y, _ = rows
    weights = np.ones(60)
    weights[2] = wrong
    with pytest.raises(ValueError):
        quick().fit(X, y, weights)
    with pytest.raises(ValueError):
        quick().fit(X, y, np.ones(59))
    with pytest.raises(ValueError, match="at least two are needed"):
        quick().fit(X, y, np.zeros(60))


def test_one_class_left(classes):
    X, y = classes
    with pytest.raises(ValueError, match="less than two classes with a weight above 0"):
        quick(DMAClassifier).fit(X, y, (y == "no").astype(float))


def test_cross_validation_slices_weights(rows):
    X, y, weights = rows
    scores = cross_val_score(quick(), X, y, cv=3, fit_params={"sample_weight": weights})
    assert np.isfinite(scores).all()


def test_model_of_the_command_line_counts_rows_once(rows, tmp_path):
    """One that knows a column of weights, which X does not have."""
    X, y, weights = rows
    options = dma._core.Options()
    options.features, options.target, options.weight = ["x0"], ["y"], "w"
    options.hidden, options.ensemble, options.epochs, options.kind = [5], 1, 10, "number"
    table = dma._core.Rows("the table", ["x0", "y", "w"], [X[:, 0], y, weights.astype(float)])
    fitted, _ = dma._core.fit(table, options)
    fitted.save(str(tmp_path / "m"))
    model = DMARegressor.load(tmp_path / "m")
    model.partial_fit(X[:5] + 9, y[:5])
    assert model.change_["rows_added"] == 5
    model.forget(X[:1] + 9, y[:1])
    assert model.evaluate(X, y)["rows"] == 60
