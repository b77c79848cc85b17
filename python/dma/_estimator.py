"""What DMARegressor and DMAClassifier share: parameters, learning and changing, files, what a fit says."""

from __future__ import annotations

import os
import warnings
from numbers import Integral, Real
from typing import Any, Sequence, TypeVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, _num_samples

from dma import _columns, _compat, _core

# A fit of independent weights that reached max_epochs has not settled if its training NLL (mean per value, over
# members) fell by more than this in the last fifth of them. After 40 epochs it fell by 0.24 on the UCI set
# energy, which gained 0.30 in cavity NLL from twice the epochs, and by at most 0.03 on yacht, boston and
# concrete, which gained 0.16, 0.07 and 0.10.
_UNSETTLED = 0.1

Own = TypeVar("Own", bound="Estimator")


class Estimator(BaseEstimator):
    """A model of a table behind scikit-learn's interface. What y may be, a subclass says."""

    def __init__(
        self,
        hidden: Any = "auto",
        rule: str = "linear",
        ensemble: Any = "auto",
        max_epochs: int | str = "auto",
        tol: float = 1e-4,
        patience: int = 3,
        batch_size: Any = "auto",
        ledger: str = "full",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        *,
        belief: str = "auto",
        slope: float | str = "auto",
        selection: bool = True,
        calibration: bool = True,
        single_precision: bool = False,
        categorical_features: Sequence[str | int] | None = None,
        time: float | None = None,
        keep_ids: bool = False,
        strict: bool = False,
    ) -> None:
        self.hidden = hidden
        self.rule = rule
        self.ensemble = ensemble
        self.max_epochs = max_epochs
        self.tol = tol
        self.patience = patience
        self.batch_size = batch_size
        self.ledger = ledger
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.belief = belief
        self.slope = slope
        self.selection = selection
        self.calibration = calibration
        self.single_precision = single_precision
        self.categorical_features = categorical_features
        self.time = time
        self.keep_ids = keep_ids
        self.strict = strict

    # --------------------------------------------------------------------------------- what a subclass says

    _kinds: tuple[str, ...]  # of the target, as the library calls them

    def _known_targets(self, y: Any, targets: Sequence[str]) -> list[_columns.Column]:
        """Columns of y, for a model of these targets."""
        raise NotImplementedError

    def _recall_targets(self, model: _core.Regressor | _core.Start) -> None:
        """What a fit remembers of y, from a model that was read."""
        raise NotImplementedError

    def _scores_line(self) -> str:
        """How good the fit is, for who reads along."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ looking at

    def column_importance(self, X: Any = None, *, output: int = 0) -> dict[str, dict[str, float]]:
        """Which columns matter: how much of what is predicted varies from row to row because of each.

        From one row to another the prediction changes step by step, one column after the other in a random order;
        a column's share is what its steps add to the variance (its Shapley effect). All shares sum to 1. An
        interaction counts for its columns in equal parts, and text counts as one column. A column that works
        against others, with which it goes along, may be below 0. Of an amount and of a count it is the logarithm
        that varies, of a class the probabilities.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), optional
            The rows. Without it those of training, which a joint belief keeps with its ledger.
        output : int, default=0
            Which column of y.

        Returns
        -------
        dict
            share, lower and upper of every column, the largest share first; the functions that the belief
            considers possible have a share between lower and upper with a probability of 0.9.

        Examples
        --------
        >>> import numpy as np
        >>> from dma import DMARegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 3))
        >>> model = DMARegressor(random_state=1, hidden=5, ensemble=2).fit(X, 2 * X[:, 1] + X[:, 2])
        >>> list(model.column_importance())
        ['x1', 'x2', 'x0']
        >>> bool(0.7 < model.column_importance()["x1"]["share"] < 0.9)     # 4/5
        True
        """
        self._require_fitted()
        targets = 1 if self._model.classes else len(self._model.options.target)
        if not 0 <= output < targets:
            raise ValueError(f"output must be from 0 to {targets - 1}, not {output}")
        rows = None if X is None else self._inputs(X)
        shares = self._model.column_importance(rows, self._threads())
        if not shares:
            raise ValueError("this model has not kept its rows: give X")
        return {
            name: {"share": share, "lower": lower, "upper": upper}
            for name, share, lower, upper in shares[output]
        }

    # ------------------------------------------------------------------------------------------- changing

    def forget(self: Own, X: Any, y: Any = None, *, data: Any = None, compare: bool = False) -> Own:
        """Remove what rows taught, as if they had never been seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or int
            Rows as they were learnt; or, without y, the number of a batch (``batch_rows_``).
        y : array-like, optional
        data : tuple (X, y), optional
            The rows that the model was fitted to: other rows of the same batches are put back, and all that
            remain are learnt again as in partial_fit; a joint belief is fitted anew. Without it, whole batches
            are forgotten.
        compare : bool, default=False
            As in partial_fit.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from dma import DMARegressor
        >>> X = np.linspace(-1, 1, 40)[:, None]; y = X[:, 0] ** 2
        >>> y[7] = 2                                   # wrong: it should be 0.41
        >>> model = DMARegressor(random_state=1, noise=0.1).fit(X, y)
        >>> before = model.predict(X[[7]])[0]
        >>> after = model.forget(X[[7]], y[[7]]).predict(X[[7]])[0]
        >>> bool(before > 0.5 > after), model.change_["rows_removed"]
        (True, 1)
        """
        self._require_fitted()
        if y is None and isinstance(X, Integral):
            if X < 0:
                raise ValueError(f"there is no batch {X}: batches are counted from 0")
            self._change("forget_batch", int(X), data, compare)
        elif y is None:
            raise ValueError("forget needs rows as X and y, or the number of a batch")
        else:
            self._change("forget_rows", self._table(X, y), data, compare)
        return self

    # ---------------------------------------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str], *, slim: bool = False, fast_load: bool = False) -> None:
        """Write a model file, which the command line can read too.

        If writing fails, an old file of that name stays as it was.

        Parameters
        ----------
        path : str or path
        slim : bool, default=False
            Leave the ledger out: smaller, but nothing can be forgotten.
        fast_load : bool, default=False
            Keep everything in the file, however large, so that it loads at once. Otherwise a file of more than ten
            times the table's size leaves out what can be computed from the rest, and loading it takes longer.
        """
        self._require_fitted()
        self._model.save(os.fspath(path), slim, fast_load)

    @classmethod
    def load(cls: type[Own], path: str | os.PathLike[str]) -> Own:
        """Read a model file written by ``save`` or ``dma fit``.

        A model written by the command line knows the names of its columns, in the order of its inputs
        (``feature_names_in_``). As on the command line, a frame may have them in any order, and other columns.
        """
        with open(path, "rb"):
            pass  # raises Python's own error if the file is missing
        model = _core.Regressor.load(os.fspath(path))
        _require_kind("class" in cls._kinds, model, path)
        result = cls._like(model)
        result._adopt(model)
        return result

    @classmethod
    def _like(cls: type[Own], model: _core.Regressor | _core.Start) -> Own:
        """An estimator with the parameters and columns of a model, before it is fitted."""
        options = model.options
        result = cls(**cls._parameters_of(options))
        names = options.features or model.features
        result.n_features_in_ = len(names)
        if names != _columns.numbered("x", len(names)):
            result.feature_names_in_ = np.asarray(names, dtype=object)
        result._finds_columns = not options.features
        result._recall_targets(model)
        return result

    @classmethod
    def _parameters_of(cls, options: _core.Options) -> dict[str, Any]:
        return {
            "hidden": tuple(options.hidden) or "auto",
            "rule": options.rule,
            "ensemble": options.ensemble,
            "max_epochs": options.epochs or "auto",
            "tol": options.tolerance,
            "patience": options.patience,
            "batch_size": options.batch_size or "auto",
            "ledger": options.ledger,
            "random_state": options.seed,
            "belief": options.belief,
            "slope": "auto" if options.slope is None else options.slope,
            "selection": options.selection,
            "calibration": options.calibration,
            "single_precision": options.single_precision,
            "categorical_features": options.categorical or None,
            "time": options.seconds or None,
            "keep_ids": options.keep_ids,
        }

    # ------------------------------------------------------------------------------------------- attributes

    @property
    def coefs_mean_(self) -> list[np.ndarray]:
        return [layer[:, :-1] for layer in self._layers(0)]

    @property
    def coefs_std_(self) -> list[np.ndarray]:
        return [layer[:, :-1] for layer in self._layers(1)]

    @property
    def intercepts_mean_(self) -> list[np.ndarray]:
        return [layer[:, -1] for layer in self._layers(0)]

    @property
    def intercepts_std_(self) -> list[np.ndarray]:
        return [layer[:, -1] for layer in self._layers(1)]

    @property
    def batch_rows_(self) -> list[int]:
        """Number of rows in each batch of the ledger; ``forget`` takes the position."""
        self._require_fitted()
        return self._model.batch_rows

    @property
    def input_names_(self) -> list[str]:
        """Names of the network's inputs; a text column has one per value."""
        self._require_fitted()
        return self._model.input_names

    def _weights(self) -> list[list[tuple[np.ndarray, np.ndarray]]]:
        """Means and standard deviations, member by member and layer by layer: units x inputs, a bias last."""
        self._require_fitted()
        return self._model.weights()

    def _layers(self, which: int) -> list[np.ndarray]:
        """Means (0) or standard deviations (1) of the members of the first one's shape, stacked."""
        members = [[layer[which].T for layer in layers] for layers in self._weights()]
        shapes = [[layer.shape for layer in layers] for layers in members]
        alike = [layers for layers, shape in zip(members, shapes) if shape == shapes[0]]
        return [np.stack(layer) for layer in zip(*alike)]

    def _more_tags(self) -> dict[str, Any]:
        return {"allow_nan": True, "requires_y": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    # ------------------------------------------------------------------------------------------- inside

    def _require_fitted(self) -> None:
        if not hasattr(self, "_model"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' before using this method."
            )

    def _options(self) -> _core.Options:
        options = _core.Options()
        options.kind = self._kinds[0]
        options.hidden = _hidden(self.hidden)
        options.rule = _word("rule", self.rule)
        options.belief = _word("belief", self.belief)
        options.ledger = _word("ledger", self.ledger)
        options.ensemble = 0 if is_auto(self.ensemble) else whole_number("ensemble", self.ensemble, 1)
        options.batch_size = 0 if is_auto(self.batch_size) else whole_number("batch_size", self.batch_size, 1)
        options.epochs = 0 if is_auto(self.max_epochs) else whole_number("max_epochs", self.max_epochs, 1)
        options.patience = whole_number("patience", self.patience, 0)
        options.tolerance = real_number("tol", self.tol, 0)
        options.slope = None if is_auto(self.slope) else real_number("slope", self.slope, 0)
        options.seconds = 0 if self.time is None else real_number("time", self.time, 0, strictly=True)
        options.selection = bool(self.selection)
        options.calibration = bool(self.calibration)
        options.single_precision = bool(self.single_precision)
        options.seed = seed_of(self.random_state)
        options.threads = self._threads()
        return options

    def _threads(self) -> int:
        return effective_n_jobs(self.n_jobs)

    def _fitted(
        self,
        X: Any,
        targets: Any,
        columns: Sequence[_columns.Column],
        checkpoint: str | os.PathLike[str] | None,
        classes: Sequence[Any] = (),
        weights: np.ndarray | None = None,
    ) -> tuple[_core.Regressor, BaseException | None]:
        """A model of the rows of X, and what was raised meanwhile: by Ctrl-C, say.

        ``targets`` is y as it came, for its names; ``classes`` are all that there may be, if y is a class.
        """
        options = self._options()
        names, features, categories = self._features(X, reset=True)
        check_consistent_length(X, targets)
        options.features = names
        options.keep_ids = bool(self.keep_ids)
        options.target = _columns.target_names(targets, len(columns), names)
        options.categorical = [names[k] for k in self._categories(categories, names)]
        rows = _columns.rows("the table", names + options.target, features + list(columns), weights)
        notes = rows.read_texts(options.categorical + options.target, bool(self.strict))
        self._warn_of_texts(notes, fitting=True)
        place = "" if checkpoint is None else os.fspath(checkpoint)
        return _core.fit(rows, options, self._show(), place, list(classes))

    def _finish(self, model: _core.Regressor, raised: BaseException | None) -> None:
        """Take over what ``_fitted`` returned."""
        self._finds_columns = False
        self.__dict__.pop("change_", None)
        self._adopt(model)
        if raised is not None:
            raise raised
        self._tell()
        self._warn()

    def _require_target(self, y: Any) -> None:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")

    def _features(self, X: Any, *, reset: bool) -> tuple[list[str], list[Any], list[int]]:
        """Names and columns of X, and which columns have a categorical type."""
        if not _columns.is_frame(X):
            least = 2 if reset else 1
            types = [np.float64, np.float32]
            X = _compat.validate_data(
                self, X, allow_nan=True, dtype=types, reset=reset, ensure_min_samples=least
            )
            return self._names(), _columns.columns_of_matrix(X), []
        if 0 in X.shape:
            what = "sample" if X.shape[0] == 0 else "feature"
            raise ValueError(
                f"Found a frame with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required."
            )
        if not reset and self._finds_columns and set(self._names()) <= set(X.columns):
            X = X[self._names()]
        _compat.check_frame(self, X, reset=reset)
        return self._names(), _columns.columns_of_frame(X), _columns.categories_of_frame(X)

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return _columns.numbered("x", self.n_features_in_) if names is None else list(names)

    def _categories(self, found: Sequence[int], names: Sequence[str]) -> list[int]:
        places = set(found)
        for feature in self.categorical_features if self.categorical_features is not None else ():
            if feature in names:
                places.add(names.index(str(feature)))
            elif not isinstance(feature, str) and 0 <= int(feature) < len(names):
                places.add(int(feature))
            else:
                raise ValueError(f"categorical_features: X has no column {feature!r}")
        return sorted(places)

    def _table(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        model: _core.Regressor | _core.Start | None = None,
    ) -> _core.Rows:
        """Rows with targets, for a model that knows both by name (the own one). Without weights every row counts once."""
        model = self._model if model is None else model
        self._require_target(y)
        names, columns, _ = self._features(X, reset=False)
        check_consistent_length(X, y)
        targets = model.options.target
        weights = row_weights(sample_weight, X)
        if weights is None and model.options.weight:  # a column that X does not have
            weights = np.ones(_num_samples(X))
        rows = _columns.rows("the table", names + targets, columns + self._known_targets(y, targets), weights)
        self._warn_of_texts(model.read_texts(rows, bool(self.strict)))
        return rows

    def _inputs(self, X: Any, sample_weight: Any = None) -> _core.Rows:
        names, columns, _ = self._features(X, reset=False)
        rows = _columns.rows("X", names, columns, row_weights(sample_weight, X))
        self._warn_of_texts(self._model.read_texts(rows, bool(self.strict)))
        unlike = self._model.unlike(rows)
        if unlike:
            warnings.warn(_unlike_text(unlike), UserWarning, stacklevel=3)
        return rows

    def unlike(self, X: Any) -> list[dict[str, Any]]:
        """Cells of X that are not as in training: what predicting warns of.

        A row with a value that training did not have, or with an empty cell in a column that had none, is
        predicted as if the cell could be any value of training. A text that differs from one of training in the
        case of its letters or outer spaces alone counts as that one.

        Returns
        -------
        list of dict
            column, what ('value', 'empty' or 'spelling'), cells (how many), and of the first: example, known (what
            it counts as) and place.
        """
        self._require_fitted()
        names, columns, _ = self._features(X, reset=False)
        rows = _columns.rows("X", names, columns)
        self._model.read_texts(rows, bool(self.strict))
        return self._model.unlike(rows)

    def _warn_of_texts(self, notes: dict[str, Any], *, fitting: bool = False) -> None:
        text = _texts_text(notes, fitting)
        if text:
            warnings.warn(text, UserWarning, stacklevel=5 if fitting else 4)

    def _change(self, how: str, what: Any, data: Any, compare: bool) -> None:
        known = None if data is None else self._table(*data)
        change = getattr(self._model, how)
        model, report, raised = change(what, known, compare, self._threads(), self._show())
        self.change_ = report
        self._adopt(model)
        if raised is not None:
            raise raised

    def _adopt(self, model: _core.Regressor) -> None:
        report = model.report()
        self._model = model
        self.n_iter_ = report["epochs"]
        self.stopped_ = report["stopped"]
        self.shapes_ = report["shapes"]
        self.certificate_ = report.pop("certificate")
        self.train_nll_curve_ = [np.asarray(curve) for curve in report.pop("training")]
        self.dropped_features_ = {
            name: reason.removeprefix("named, but ") for name, reason in report.pop("dropped").items()
        }
        self.report_ = report

    def _show(self) -> Any:
        if whole_number("verbose", self.verbose, 0) < 2:
            return None

        told = -1

        def show(member: int, members: int, epoch: int, epochs: int, share: float) -> None:
            nonlocal told
            if int(100 * share) > told:
                told = int(100 * share)
                print(
                    f"[{type(self).__name__}] {told} %: member {member + 1} of {members}, epoch {epoch} of at most {epochs}"
                )

        return show

    def _tell(self) -> None:
        if self.verbose:
            report = self.report_
            print(
                f"[{type(self).__name__}] {report['rows']} rows, {_networks(report['members'])}, "
                f"{self.n_iter_} epochs ({self.stopped_}), {self._scores_line()}, {report['seconds']:.2f} s"
            )

    def _warn(self) -> None:
        for name, reason in self.dropped_features_.items():
            if not reason.startswith(("constant", "empty")):
                warnings.warn(f"column '{name}' was left out: {reason}", UserWarning, stacklevel=5)
        if self._was_cut_short():
            warnings.warn(
                f"the fit had not settled when its {self.n_iter_} epochs were used up; raise max_epochs",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _was_cut_short(self) -> bool:
        """By the user's max_epochs; or, for independent weights, also by the default."""
        if self.stopped_ != "max_epochs" or self.tol == 0 or self.patience == 0:
            return False
        if self._model.options.belief == "joint":
            return not is_auto(self.max_epochs)
        return float(np.mean([_recent_fall(curve) for curve in self.train_nll_curve_])) > _UNSETTLED


def _require_kind(has_classes: bool, model: _core.Regressor, path: str | os.PathLike[str]) -> None:
    if has_classes == bool(model.classes):
        return
    found, name = ("a class", "DMAClassifier") if model.classes else ("not a class", "DMARegressor")
    raise ValueError(f"{os.fspath(path)}: the model's target is {found}; use {name}.load")


def _recent_fall(curve: np.ndarray) -> float:
    """How far the curve fell in the last fifth of the epochs, at least one."""
    if len(curve) < 2:
        return np.inf
    return float(curve[-1 - max(1, len(curve) // 5)] - curve[-1])


def _networks(count: int) -> str:
    return "1 network" if count == 1 else f"{count} networks"


def row_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """One number from 0 on per row, or None."""
    if sample_weight is None:
        return None
    return _check_sample_weight(sample_weight, X, dtype=np.float64, only_non_negative=True)


def is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string, not {value!r}")
    return value


def whole_number(name: str, value: Any, least: int) -> int:
    if isinstance(value, (bool, np.bool_)) and name == "verbose":
        return int(value)
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def real_number(name: str, value: Any, least: float, *, strictly: bool = False) -> float:
    good = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if not good or value < least or (strictly and value == least):
        raise ValueError(
            f"{name} must be a number {'above' if strictly else 'of at least'} {least:g}, not {value!r}"
        )
    return float(value)


def _hidden(value: Any) -> list[int]:
    if is_auto(value):
        return []
    if isinstance(value, Integral):
        value = (value,)
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise ValueError(f"hidden must be 'auto', a number of units or a sequence of them, not {value!r}")
    units = [whole_number("hidden: units", count, 1) for count in value]
    if not units:
        raise ValueError("hidden has no layer; use 'auto' for the default")
    return units


def seed_of(random_state: Any) -> int:
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        seed = int(random_state)
        if not 0 <= seed < 2**64:
            raise ValueError(f"random_state must be from 0 to 2**64 - 1, not {seed}")
        return seed
    return int(check_random_state(random_state).randint(2**31))


def _texts_text(notes: dict[str, Any], fitting: bool) -> str:
    """What was assumed of columns of text, in the words of the command line."""
    lines = []
    if fitting and notes["decimal_comma"]:
        lines.append("numbers have a decimal comma: 1,5 is one and a half")
    marked = [one for one in notes["columns"] if one["marked"]["cells"] > 0]
    if fitting and marked:
        first = marked[0]["marked"]
        others = f"; {len(marked) - 1} other columns have such marks" if len(marked) > 1 else ""
        lines.append(
            f"{first['example']!r} in row {first['row']}, column {marked[0]['column']}, is read as "
            f"{first['number']:g}{others}"
        )
    for one in notes["columns"]:
        stray = one["stray"]
        if stray["cells"] > 0:
            empty = "it counts" if stray["cells"] == 1 else f"{stray['cells']} such cells count"
            lines.append(
                f"{one['column']}: {one['filled']} of {one['filled'] + stray['cells']} cells are {one['kind']}, "
                f"row {stray['row']} has {stray['example']!r}; {empty} as empty"
            )
    return "X has columns of text: " + "; ".join(lines) if lines else ""


def _unlike_text(unlike: list[dict[str, Any]]) -> str:
    said = {
        "value": "{cells} new, the first {example!r} in {place}",
        "empty": "{cells} empty where none was, the first in {place}",
        "spelling": "{cells} spelt otherwise, the first {example!r} in {place}, counting as {known!r}",
    }
    lines = [f"{one['column']}: {said[one['what']].format(**one)}" for one in unlike]
    return "cells of X are unlike those of training: " + "; ".join(lines)
