"""Manners: scikit-learn's own checks, and its tools around the estimator."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, VotingRegressor
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from dma import DMAClassifier, DMARegressor


def quick(**options):
    # Five units, from one start and in so few epochs, do not always find the sine.
    return DMARegressor(
        **{"max_epochs": 40, "hidden": 10, "ensemble": 1, "tol": 0, "random_state": 1, **options}
    )


# Every check that scikit-learn has for such an estimator, none left out, with all defaults and for the other
# belief.
@parametrize_with_checks(
    [
        DMARegressor(),
        DMARegressor(belief="independent", max_epochs=20),
        DMAClassifier(),
        DMAClassifier(belief="independent", max_epochs=20),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator, own",
    [
        (DMARegressor(), {"check_regressors_train", "check_regressor_multioutput"}),
        (DMAClassifier(), {"check_classifiers_train", "check_classifiers_one_label"}),
    ],
)
def test_no_check_is_skipped(estimator, own):
    names = [check.func.__name__ for _, check in check_estimator(estimator, generate_only=True)]
    assert len(names) >= 40
    assert own <= set(names)
    assert not estimator._get_tags()["_xfail_checks"]


def test_pipeline(wave):
    X, y = wave
    model = make_pipeline(StandardScaler(), quick()).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (120,)
    assert model.score(X, y) > 0.8


def test_grid_search(wave):
    X, y = wave
    search = GridSearchCV(quick(), {"hidden": [1, (6,), "auto"], "noise": ["auto", 0.1]}, cv=3, n_jobs=2)
    search.fit(X, y)
    assert search.best_score_ > 0.8
    assert len(search.cv_results_["params"]) == 6
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_grid_search_by_likelihood(wave):
    """The score may be what this estimator is for."""
    X, y = wave
    search = GridSearchCV(
        quick(), {"noise": [0.001, 0.1, 3.0]}, cv=3, scoring=lambda model, X, y: model.log_prob(X, y).mean()
    )
    assert search.fit(X, y).best_params_ == {"noise": 0.1}


def test_cross_validation(wave):
    X, y = wave
    scores = cross_val_score(quick(), X, y, cv=4)
    assert scores.shape == (4,) and (scores > 0.7).all()
    assert cross_val_predict(quick(), X, y, cv=3).shape == (120,)


def test_transformed_target(wave):
    X, y = wave
    model = TransformedTargetRegressor(quick(), transformer=PowerTransformer()).fit(X, y)
    assert model.score(X, y) > 0.8


def test_voting_and_bagging(wave):
    X, y = wave
    voting = VotingRegressor([("dma", quick()), ("line", LinearRegression())]).fit(X, y)
    assert voting.score(X, y) > 0.5
    assert BaggingRegressor(quick(), n_estimators=3, random_state=0).fit(X, y).score(X, y) > 0.7


def test_multi_output_wrapper(wave):
    X, y = wave
    both = np.column_stack([y, y**2])
    assert MultiOutputRegressor(quick()).fit(X, both).predict(X).shape == (120, 2)


def test_permutation_importance():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "matters": random.normal(size=200),
            "word": random.choice(["a", "b"], 200),
            "noise": random.normal(size=200),
        }
    )
    y = 2 * frame["matters"] + 1.0 * (frame["word"] == "a")
    found = permutation_importance(quick(max_epochs=30).fit(frame, y), frame, y, n_repeats=3, random_state=0)
    matters, word, noise = found.importances_mean
    assert matters > word > 10 * abs(noise)


def test_clone_and_parameters(wave):
    model = quick(noise=0.2, belief="joint").fit(*wave)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "n_iter_")
    model.set_params(hidden=(3,), rule="linear")
    assert model.hidden == (3,)
    assert model.predict(wave[0]).shape == (120,)  # what was fitted stands
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(learning_rate=0.1)


def test_output_of_frames_is_plain(wave):
    frame = pd.DataFrame(wave[0], columns=["a"])
    target = pd.Series(wave[1], index=range(500, 620))
    model = quick().fit(frame, target)
    assert isinstance(model.predict(frame), np.ndarray)
    assert_array_equal(model.predict(frame), quick().fit(frame, wave[1]).predict(frame))


def test_html_and_text_of_the_estimator(wave):
    assert repr(quick()) == "DMARegressor(ensemble=1, hidden=10, max_epochs=40, random_state=1, tol=0)"
    assert "DMARegressor" in quick()._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick().fit(*wave)
