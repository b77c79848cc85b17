"""DMAClassifier: learning, predicting, what it says about itself, files, errors."""

import copy
import os
import pickle
import signal
import threading
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dma import DMAClassifier, DMARegressor


def quick(**options):
    return DMAClassifier(
        **{"max_epochs": 30, "hidden": 8, "ensemble": 1, "tol": 0, "random_state": 1, **options}
    )


def ring(rows=150, seed=0):
    """Three classes: inside, outside on the left, outside on the right; a tenth of the rows have a random one."""
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 2, size=(rows, 2))
    y = np.where(np.hypot(*X.T) < 1.2, 0, 1 + (X[:, 0] > 0))
    return X, np.where(random.random(rows) < 0.1, random.integers(0, 3, rows), y)


@pytest.fixture(scope="module")
def three():
    """A model of three classes, and other rows."""
    return quick(ensemble=2).fit(*ring()), *ring(400, seed=1)


# ------------------------------------------------------------------------------------------------- learning


def test_learns_and_knows_how_well():
    model = DMAClassifier(random_state=1, ensemble=2, n_jobs=2).fit(*ring())
    scores = model.evaluate(*ring(2000, seed=1))
    assert scores["accuracy"] > 0.84  # at most 0.93 can be known
    assert scores["calibration_error"] < 0.1
    assert abs(model.cavity_log_loss_ - scores["log_loss"]) < 0.15
    assert abs(model.cavity_accuracy_ - scores["accuracy"]) < 0.08
    assert model.cavity_scores_.keys() == scores.keys()
    assert_allclose(sum(shape["weight"] for shape in model.shapes_), 1)
    assert model.stopped_ == "tolerance"
    assert model.certificate_["joint"]["linearisation_error"] > 0
    assert len(model.train_nll_curve_) == model.report_["members"]
    assert model.n_features_in_ == 2 and not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("belief", ["joint", "independent"])
def test_probabilities(belief):
    X, y = ring()
    model = quick(belief=belief).fit(X, y)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (150, 3)
    assert (probabilities >= 0).all()
    assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    assert_array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])
    assert_array_equal(model.predict_log_proba(X), np.log(probabilities))
    assert model.score(X, y) > 0.7
    assert metrics.log_loss(y, probabilities) < 0.8  # it is 1.1 without knowledge


LABELS = {
    "int": np.array([3, 7, -1]),
    "int8": np.array([3, 7, -1], dtype=np.int8),
    "unsigned": np.array([3, 7, 100000], dtype=np.uint64),
    "large": np.array([2**60, 2**60 + 1, 5]),
    "float": np.array([3.0, 7.0, -1.0]),
    "text": np.array(["b", "a", "Ä"]),
    "numbered": np.array(["row10", "row9", "row1"]),
    "object": np.array(["b", "a", "a, \"b\""], dtype=object),
}  # fmt: skip


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_classes_of_any_type(labels):
    X, y = ring()
    model = quick().fit(X, labels[y])
    assert_array_equal(model.classes_, np.unique(labels))
    assert model.classes_.dtype == labels.dtype
    predicted = model.predict(X)
    assert predicted.dtype == labels.dtype
    assert np.mean(predicted == labels[y]) > 0.7
    # Column by column, the probabilities belong to the classes.
    order = np.argsort(labels)
    shares = [model.predict_proba(X)[y == k, column].mean() for column, k in enumerate(order)]
    assert min(shares) > 0.5
    assert_array_equal(
        model.evaluate(X, labels[y])["confusion"], metrics.confusion_matrix(labels[y], predicted)
    )
    draws = model.sample_y(X, 3)
    assert draws.dtype == labels.dtype and draws.shape == (150, 3)
    assert_array_equal(model.forget(X[:2], labels[y[:2]]).classes_, model.classes_)


def test_booleans():
    X, y = ring()
    model = quick().fit(X, y > 0)
    assert model.classes_.dtype == bool and model.predict(X).dtype == bool
    assert np.mean(model.predict(X) == (y > 0)) > 0.8
    assert_array_equal(quick().fit(X, (y > 0).tolist()).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("dtype", ["category", "string", "object"])
def test_a_series_of_text(dtype):
    X, y = ring()
    words = np.array(["b", "c", "a"])[y]
    expected = quick().fit(X, words)
    model = quick().fit(X, pd.Series(words, dtype=dtype, name="what"))
    assert list(model.classes_) == ["a", "b", "c"]
    assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("dtype", ["Int64", "category", "float32"])
def test_a_series_of_numbers(dtype):
    X, y = ring()
    model = quick().fit(X, pd.Series(y).astype(dtype))
    assert_array_equal(model.predict_proba(X), quick().fit(X, y).predict_proba(X))
    assert_array_equal(model.classes_, [0, 1, 2])


def test_a_nullable_boolean():
    X, y = ring()
    assert quick().fit(X, pd.Series(y > 0, dtype="boolean")).classes_.dtype == bool


def test_the_names_of_the_classes_do_not_matter():
    """Only their order does."""
    X, y = ring()
    numbers = quick().fit(X, y).predict_proba(X)
    assert_array_equal(quick().fit(X, np.array(["a", "b", "c"])[y]).predict_proba(X), numbers)
    assert_array_equal(quick().fit(X, 10 * y + 100000).predict_proba(X), numbers)


def test_same_bits_for_the_same_seed_whatever_the_threads():
    X, y = ring()
    one = quick(n_jobs=1, ensemble=2).fit(X, y).predict_proba(X)
    assert_array_equal(quick(n_jobs=2, ensemble=2).fit(X, y).predict_proba(X), one)
    assert not np.array_equal(quick(random_state=2, ensemble=2).fit(X, y).predict_proba(X), one)


@pytest.mark.parametrize(
    "others, option",
    [
        (dict(), dict(belief="independent")),
        (dict(), dict(hidden=(4, 3))),
        (dict(), dict(ensemble=2)),
        (dict(), dict(max_epochs=5)),
        (dict(ensemble=2), dict(selection=False)),
        (dict(), dict(calibration=False)),
        (dict(), dict(slope=0.3)),
        (dict(belief="independent"), dict(rule="direct")),
        (dict(belief="independent"), dict(single_precision=True)),
        (dict(belief="independent"), dict(batch_size=7)),
    ],
)
def test_options_reach_the_fit(others, option):
    """Each makes another model of the same table, and of the same other options."""
    X, y = ring(60)
    without = quick(**others).fit(X, y).predict_proba(X)
    with_it = quick(**others, **option).fit(X, y).predict_proba(X)
    assert np.isfinite(with_it).all()
    assert not np.array_equal(with_it, without)


def test_frames_of_any_columns():
    random = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "size": random.normal(size=150),
            "town": random.choice(["Bonn", "Ulm"], 150),
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, 150), unit="D"),
            "rooms": random.choice([1.0, 2.0, np.nan], 150),
        }
    )
    y = np.where((frame["size"] > 0) ^ (frame["town"] == "Ulm"), "yes", "no")
    model = DMAClassifier(ensemble=1, random_state=1).fit(frame[:100], y[:100])
    assert list(model.feature_names_in_) == list(frame.columns)
    assert "town = Ulm" in model.input_names_ and "rooms is empty" in model.input_names_
    assert model.score(frame[100:], y[100:]) > 0.8
    with pytest.raises(ValueError, match="Feature names"):
        model.predict(frame.rename(columns={"size": "area"}))


def test_two_numbers_stay_numbers_for_the_regressor():
    X, y = ring()
    binary = (y > 0).astype(float)
    model = DMARegressor(hidden=8, ensemble=1, max_epochs=20, tol=0, random_state=1).fit(X, binary)
    mean, std = model.predict(X, return_std=True)
    assert len(np.unique(mean)) > 100 and (std > 0).all()


# ---------------------------------------------------------------------------------------------- predicting


def test_scores_are_scikit_learns(three):
    model, X, y = three
    probabilities, predicted = model.predict_proba(X), model.predict(X)
    scores = model.evaluate(X, y)
    assert scores["rows"] == 400
    assert_allclose(scores["log_loss"], metrics.log_loss(y, probabilities))
    assert_allclose(scores["accuracy"], metrics.accuracy_score(y, predicted))
    assert_allclose(scores["accuracy"], model.score(X, y))
    assert_allclose(scores["balanced_accuracy"], metrics.balanced_accuracy_score(y, predicted))
    assert_allclose(scores["brier"], np.mean(np.sum((probabilities - np.eye(3)[y]) ** 2, axis=1)))
    assert_array_equal(scores["confusion"], metrics.confusion_matrix(y, predicted))
    assert scores["auc"] is None
    bins = scores["reliability"]
    assert sum(bin["rows"] for bin in bins) == 400 and len(bins) == 15
    gaps = [bin["rows"] * abs(bin["confidence"] - bin["accuracy"]) for bin in bins]
    assert_allclose(scores["calibration_error"], sum(gaps) / 400)


def test_scores_of_two_classes():
    X, y = ring()
    for names in (["no", "yes"], ["row10", "row9"]):  # the library has row9 first
        labels = np.array(names)[(y > 0).astype(int)]
        model = quick().fit(X, labels)
        positive = model.predict_proba(X)[:, 1]
        scores = model.evaluate(X, labels)
        assert_allclose(scores["auc"], metrics.roc_auc_score(labels, positive))
        assert_allclose(scores["brier"], 2 * metrics.brier_score_loss(labels, positive, pos_label=names[1]))


def test_draws_have_the_predicted_frequencies(three):
    model, X, _ = three
    draws = model.sample_y(X[:20], 4000, random_state=0)
    assert draws.shape == (20, 4000)
    shares = np.stack([(draws == name).mean(axis=1) for name in model.classes_], axis=1)
    assert_allclose(shares, model.predict_proba(X[:20]), atol=0.035)  # 4 standard deviations of the share
    assert_array_equal(draws, model.sample_y(X[:20], 4000, random_state=0))
    assert not np.array_equal(draws, model.sample_y(X[:20], 4000, random_state=1))


def test_draws_are_of_classes_in_their_order():
    """Where the library's order is another."""
    X, y = ring()
    model = quick().fit(X, np.array(["row9", "row10", "row1"])[y])
    draws = model.sample_y(X[:20], 4000)
    shares = np.stack([(draws == name).mean(axis=1) for name in model.classes_], axis=1)
    assert_allclose(shares, model.predict_proba(X[:20]), atol=0.035)


def test_doubt_is_the_part_of_the_entropy_that_rows_remove(three):
    model, X, _ = three
    probabilities = model.predict_proba(X)
    entropy, doubt = model.entropy(X), model.doubt(X)
    assert_allclose(entropy, -np.sum(probabilities * np.log(probabilities), axis=1))
    assert (doubt >= 0).all() and (doubt <= entropy).all()
    # As the members believe it: the calibration moves both, and would hide it.
    few, many = (quick(ensemble=2, calibration=False).fit(*ring(rows)) for rows in (150, 600))
    assert np.median(many.doubt(X)) < np.median(few.doubt(X)) / 2
    assert np.median(many.entropy(X)) > np.median(few.entropy(X)) / 2  # a tenth of the rows stay random


# ------------------------------------------------------------------------------------------------- changing


@pytest.mark.parametrize("belief", ["joint", "independent"])
def test_partial_fit_and_forget(belief):
    X, y = ring()
    model = quick(belief=belief, batch_size=1)
    assert model.partial_fit(X[:100], y[:100]) is model
    assert not hasattr(model, "change_")
    before, loss = model.predict_proba(X), model.evaluate(X[100:], y[100:])["log_loss"]
    model.partial_fit(X[100:], y[100:])
    assert model.change_["rows_added"] == 50 and model.report_["rows"] == 150
    assert_allclose(model.change_["new_rows_nll"], loss)
    assert not np.array_equal(model.predict_proba(X), before)
    model.forget(X[100:], y[100:])
    assert model.change_["rows_removed"] == 50
    assert_allclose(model.predict_proba(X), before, atol=1e-6)
    model.forget(0)
    assert model.report_["rows"] == 99


def test_old_rows_are_learnt_again_if_they_are_given():
    X, y = ring()
    model = quick().fit(X[:100], y[:100])
    model.partial_fit(X[100:], y[100:], data=(X[:100], y[:100]), compare=True)
    assert model.change_["compared"]["mean_shift"] == 0  # a joint belief is fitted anew
    model.forget(X[[5]], y[[5]], data=(X, y))
    assert model.report_["rows"] == 149


@pytest.mark.parametrize(
    "names", [np.array([0, 1, 2]), np.array(["row9", "row10", "row1"])], ids=["int", "text"]
)
def test_classes_that_come_later(names):
    X, y = ring(200)
    first = y < 2
    model = quick().partial_fit(X[first], names[y[first]], classes=names)
    assert_array_equal(model.classes_, np.unique(names))
    column = list(model.classes_).index(names[2])
    assert model.predict_proba(X)[:, column].max() < 0.5
    model.partial_fit(X[~first], names[y[~first]])
    assert model.predict_proba(X[~first])[:, column].mean() > 0.5
    model.partial_fit(X[:3], names[y[:3]], classes=names)  # may be said again
    with pytest.raises(ValueError, match="classes are fixed by the first call"):
        model.partial_fit(X[:3], names[y[:3]], classes=names[:2])
    with pytest.raises(ValueError, match="y, row .* is not one of the classes"):
        quick().partial_fit(X, names[y], classes=names[:2])


# ---------------------------------------------------------------------------------------------------- files


def same_everywhere(one, other, X):
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert_array_equal(one.doubt(X), other.doubt(X))
    assert_array_equal(one.classes_, other.classes_)
    assert one.cavity_log_loss_ == other.cavity_log_loss_
    assert one.certificate_ == other.certificate_


def test_pickle_copy_and_joblib(tmp_path):
    X, y = ring()
    words = np.array(["row9", "row10", "b"], dtype=object)[y]
    for options in (dict(), dict(belief="independent", single_precision=True)):
        model = quick(**options).fit(X, words)
        same_everywhere(model, pickle.loads(pickle.dumps(model)), X)
        same_everywhere(model, copy.deepcopy(model), X)
        joblib.dump(model, tmp_path / "model.joblib")
        loaded = joblib.load(tmp_path / "model.joblib")
        assert loaded.classes_.dtype == object
        same_everywhere(model.partial_fit(X[:5], words[:5]), loaded.partial_fit(X[:5], words[:5]), X)


@pytest.mark.parametrize(
    "labels, dtype",
    [
        (np.array([3, 7, -1]), np.int64),
        (np.array(["row9", "row10", "b"]), np.dtype("<U5")),
        (np.array([False, True, True]), bool),
    ],
    ids=["int", "text", "bool"],
)
def test_save_and_load(tmp_path, labels, dtype):
    X, y = ring()
    path = tmp_path / "model.safetensors"
    model = quick(hidden=(8,), slope=0.2, time=100).fit(X, labels[y])
    model.save(path)
    loaded = DMAClassifier.load(path)
    same_everywhere(model, loaded, X)
    assert loaded.classes_.dtype == dtype
    assert loaded.get_params() == {**model.get_params(), "belief": "joint"}
    loaded.partial_fit(X[:3], labels[y[:3]])
    assert_array_equal(loaded.fit(X, labels[y]).predict_proba(X), model.predict_proba(X))
    model.save(path, slim=True)
    with pytest.raises(ValueError):
        DMAClassifier.load(path).forget(0)


def test_a_file_of_the_other_kind(tmp_path):
    X, y = ring()
    quick().fit(X, y).save(tmp_path / "classes")
    with pytest.raises(ValueError, match="target is a class; use DMAClassifier.load"):
        DMARegressor.load(tmp_path / "classes")
    DMARegressor(hidden=3, ensemble=1, max_epochs=5, tol=0).fit(X, y).save(tmp_path / "numbers")
    with pytest.raises(ValueError, match="target is not a class; use DMARegressor.load"):
        DMAClassifier.load(tmp_path / "numbers")


# --------------------------------------------------------------------------------- scikit-learn's tools


def test_pipeline_search_voting_calibration():
    X, y = ring()
    assert make_pipeline(StandardScaler(), quick()).fit(X, y).predict_proba(X).shape == (150, 3)
    search = GridSearchCV(quick(), {"hidden": [1, 8]}, cv=3, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_ == {"hidden": 8}
    voting = VotingClassifier([("dma", quick()), ("line", LogisticRegression())], voting="soft")
    assert voting.fit(X, y).score(X, y) > 0.6
    assert CalibratedClassifierCV(quick(), cv=3).fit(X, y).predict_proba(X).shape == (150, 3)
    assert cross_val_predict(quick(), X, y, cv=3, method="predict_proba").shape == (150, 3)


def test_text_of_the_estimator():
    assert repr(DMAClassifier(hidden=3)) == "DMAClassifier(hidden=3)"
    assert "noise" not in DMAClassifier().get_params()
    assert set(DMARegressor().get_params()) - set(DMAClassifier().get_params()) == {"noise", "kind", "bounds"}


# ------------------------------------------------------------------------------------- errors and warnings


X_ERROR, Y_ERROR = ring(30)


@pytest.mark.parametrize(
    "y, text",
    [
        (Y_ERROR + 0.5, "Unknown label type"),
        (np.zeros(30, dtype=int), "y has only one class, 0: there is nothing to learn"),
        (["a"] * 30, "y has only one class, 'a'"),
        (np.where(Y_ERROR > 0, 1.0, np.nan), "y contains NaN"),
        (pd.Series(["a", "b", None] * 10), "y contains NaN"),
        (pd.Series([1, 2, None] * 10, dtype="Int64"), "y contains NaN"),
        (np.array(["a", None, "b"] * 10, dtype=object), "classes of one type"),
        (np.array(["", "a"] * 15), "empty text"),
        (np.column_stack([Y_ERROR, Y_ERROR]), "y should be a 1d array"),
        (Y_ERROR[:10], "inconsistent"),
        (None, "requires y"),
        (np.arange(30)[:, None, None], "dim 3"),
    ],
)
def test_targets_that_cannot_be(y, text):
    with pytest.raises(ValueError, match=text) as caught:
        quick().fit(X_ERROR, y)
    assert "\n" not in str(caught.value)


def test_too_many_classes():
    with pytest.raises(ValueError, match="y has 201 classes, and there can be 200 at most"):
        quick().fit(np.arange(402.0)[:, None], np.repeat(np.arange(201), 2))


def test_a_failed_fit_leaves_the_model_as_it_was(three):
    model, X, y = copy.deepcopy(three[0]), *three[1:]
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="no feature is left"):
        model.fit(np.ones((30, 2)), ["a", "b"] * 15)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert_array_equal(model.predict_proba(X), before)


def test_an_unknown_class_is_named(three):
    model, X, _ = three
    for call in (model.evaluate, model.partial_fit, model.forget):
        with pytest.raises(ValueError, match="^y, row 1: 7 is not one of the classes 0, 1, 2$"):
            call(X[:2], [1, 7])


@pytest.mark.parametrize(
    "options, text",
    [
        (dict(hidden=0), "units"),
        (dict(rule="quadratic"), "rule must be one of 'linear', 'direct', not 'quadratic'"),
        (dict(ensemble=0), "ensemble must be"),
        (dict(tol=-1), "tol must be"),
        (dict(belief="firm"), "belief must be one of"),
        (dict(rule="direct", belief="joint"), "belief independent"),
    ],
)
def test_options_that_cannot_be(options, text):
    with pytest.raises(ValueError, match=text):
        DMAClassifier(**options).fit(X_ERROR, Y_ERROR)


def test_not_fitted(tmp_path):
    X, y = X_ERROR, Y_ERROR
    for call in (
        lambda model: model.predict(X),
        lambda model: model.predict_proba(X),
        lambda model: model.predict_log_proba(X),
        lambda model: model.entropy(X),
        lambda model: model.doubt(X),
        lambda model: model.sample_y(X),
        lambda model: model.evaluate(X, y),
        lambda model: model.forget(0),
        lambda model: model.save(tmp_path / "m"),
        lambda model: model.coefs_mean_,
        lambda model: model.batch_rows_,
    ):
        with pytest.raises(NotFittedError):
            call(DMAClassifier())


def test_verbose_and_warnings(capsys):
    X, y = ring()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick().fit(X, y)
    assert capsys.readouterr() == ("", "")
    quick(verbose=1).fit(X, y)
    assert capsys.readouterr().out.startswith("[DMAClassifier] 150 rows, 1 network, ")
    with pytest.warns(ConvergenceWarning, match="raise max_epochs") as caught:
        quick(max_epochs=2, tol=1e-4).fit(X, y)
    assert caught[0].filename == __file__


def test_ctrl_c_ends_a_fit_and_leaves_a_model():
    X, y = ring()
    model = DMAClassifier(hidden=(20, 20), max_epochs=100_000, tol=0, ensemble=1, random_state=1)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.stopped_ == "interrupted"
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_a_checkpoint_is_gone_on_from(tmp_path):
    X, y = ring()
    plain = quick().fit(X, y)
    for _ in range(2):
        kept = quick().fit(X, y, checkpoint=tmp_path / "c")
        assert_array_equal(plain.predict_proba(X), kept.predict_proba(X))
