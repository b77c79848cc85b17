"""scikit-learn's validation under the names that its versions give it.

Written against 1.2, which the tests run; from 1.6 on the methods of BaseEstimator are functions.
"""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.utils import validation

_FINITE = (
    "ensure_all_finite"
    if "ensure_all_finite" in inspect.signature(validation.check_array).parameters
    else "force_all_finite"
)


def check_array(array: Any, *, allow_nan: bool, **options: Any) -> Any:
    options[_FINITE] = "allow-nan" if allow_nan else True
    return validation.check_array(array, **options)


def validate_data(estimator: Any, *arrays: Any, allow_nan: bool, **options: Any) -> Any:
    options[_FINITE] = "allow-nan" if allow_nan else True
    if hasattr(validation, "validate_data"):
        return validation.validate_data(estimator, *arrays, **options)
    return estimator._validate_data(*arrays, **options)


def check_frame(estimator: Any, frame: Any, *, reset: bool) -> None:
    """Remember names and number of a frame's columns, or compare with those remembered."""
    if hasattr(validation, "_check_feature_names"):
        validation._check_feature_names(estimator, frame, reset=reset)
        validation._check_n_features(estimator, frame, reset=reset)
    else:
        estimator._check_feature_names(frame, reset=reset)
        estimator._check_n_features(frame, reset=reset)
