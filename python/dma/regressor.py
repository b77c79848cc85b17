"""DMARegressor: the library's regressor behind scikit-learn's interface."""

from __future__ import annotations

import os
import warnings
from numbers import Integral, Real
from typing import Any, Sequence

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_consistent_length, check_random_state

from dma import _columns, _compat, _core

# A fit of independent weights that reached max_epochs has not settled if its training NLL (mean per value, over
# members) fell by more than this in the last fifth of them. After 40 epochs it fell by 0.24 on the UCI set
# energy, which gained 0.30 in cavity NLL from twice the epochs, and by at most 0.03 on yacht, boston and
# concrete, which gained 0.16, 0.07 and 0.10.
_UNSETTLED = 0.1


class DMARegressor(RegressorMixin, BaseEstimator):
    """Regression that says how sure it is.

    A mixture of Bayesian neural networks, trained by approximate message passing: no learning rate, no
    validation set, no sampling. Every prediction has a mean and two uncertainties: one that more rows could
    remove (epistemic) and one that none can (noise).

    Parameters
    ----------
    hidden : "auto", int or sequence of int, default="auto"
        Units per hidden layer. "auto": for a joint belief a mixture of several shapes, weighed by rows that
        they have not learnt (``shapes_``); one layer of 50 units if the belief is independent.
    rule : {"linear", "direct"}, default="linear"
        Rule for backward messages. "direct" is the paper's and implies ``belief="independent"``.
    noise : "auto", "input", "constant" or float, default="auto"
        Standard deviation of the noise, in the unit of y; or how to learn it: as a function of the inputs
        ("input") or as one number ("constant"). "auto": "input" if the belief is joint, else "constant".
    ensemble : "auto" or int, default="auto"
        Number of posteriors of each shape to mix, each from another start. "auto": 6 to 3 for a joint belief,
        fewer with more rows; 4 for an independent one.
    max_epochs : "auto" or int, default="auto"
        Maximum passes over the rows. "auto": as many as it needs; at most 40 for an independent belief.
    tol : float, default=1e-4
        A fit that gains less than this has settled, in nats per row; 0: none does. An independent belief looks
        at the rows after every epoch; a joint one every few epochs, at rows that it has not learnt.
    patience : int, default=3
        Stop after so many looks in a row without a gain; 0: only max_epochs stops.
    batch_size : "auto" or int, default="auto"
        Rows that share one message in the ledger, and so are forgotten together. "auto": 1, or the fewest that
        fit into 64 MB.
    ledger : {"full", "average", "none"}, default="full"
        What to remember of each batch. Only with "full" can rows be forgotten.
    random_state : int, RandomState or None, default=None
        An int gives the same model as ``dma fit --seed`` on the same table, bit for bit. None: another model
        every time.
    n_jobs : int or None, default=None
        Number of threads; None is one (or what a joblib backend says), -1 all cores. No result depends on it.
    verbose : int, default=0
        1: print a line about every fit; 2: also print progress.
    belief : {"auto", "joint", "independent"}, default="auto"
        "joint": one Gaussian over all weights of a network, which fits far better but costs more; "independent":
        one Gaussian per weight, as in the paper; "auto": joint unless it would take too long.
    slope : float or "auto", default="auto"
        Slope of the leaky ReLU below zero. "auto": 0 for a joint belief, 0.1 for an independent one.
    selection : bool, default=True
        Joint belief: whether members may switch input columns off.
    calibration : bool, default=True
        Joint belief: whether to fit the noise's level and tails to the predictions of rows not yet learnt.
    single_precision : bool, default=False
        Compute in float32; implies ``belief="independent"``.
    categorical_features : sequence of str or int, default=None
        Columns to treat as categories although they hold numbers, by name or position. Text columns and
        columns of pandas' type category are recognised.
    time : float or None, default=None
        Joint belief: the fit returns the best found in about so many seconds; what is found then depends on the
        machine. None: it takes as long as it needs.

    Attributes
    ----------
    noise_std_ : float or ndarray of shape (n_outputs,)
        Standard deviation of the noise, in the unit of y: the root of its mean variance over the rows.
    cavity_nll_ : float
        Negative log-likelihood of the training rows without what they taught: an estimate for held-out rows. A
        joint belief has predicted them by members that had not learnt them yet: all rows, unless the ensemble is
        small or the table large.
    cavity_coverage_ : dict of float to float
        Share of those rows inside the 50, 80, 90 and 95 % intervals.
    n_iter_ : int
        Number of epochs of the member that took the most.
    stopped_ : str
        Why it stopped: "tolerance" (it had settled), "max_epochs", "time" or "interrupted".
    shapes_ : list of dict
        The shapes that a joint belief was made of, for every output the heaviest first: target (the output's
        name), hidden (units per hidden layer), weights (of one network), weight (in the mixture, of all members
        together; 0: the shape was dropped), epochs, held_out_nll (of this shape alone). Empty for an
        independent belief.
    certificate_ : dict
        How far the fit can be trusted: what was bounded; for independent weights, messages of negative
        precision (there should be none); for a joint belief, how far it is from linear and from settled.
    coefs_mean_, coefs_std_ : list of ndarray of shape (n_members, n_inputs, n_units)
        Posterior of the weights, layer by layer, for standardised inputs and y; of the members whose network has
        the shape of the first, which is the heaviest. A joint belief has members of its own for each output,
        one output after the other.
    intercepts_mean_, intercepts_std_ : list of ndarray of shape (n_members, n_units)
    train_nll_curve_ : list of ndarray
        Training NLL of every member by epoch. A joint belief first leaves some of the rows out.
    dropped_features_ : dict of str to str
        Columns that were left out, and why.
    change_ : dict
        What the last ``partial_fit`` or ``forget`` did. Set only after one of them.
    report_ : dict
        Everything else that is known about the fit.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Set only if X was a frame with names.

    Notes
    -----
    Cells of X may be empty (NaN): the network sees which ones are. NaN in y is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from dma import DMARegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(120, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=120)
    >>> model = DMARegressor(random_state=1).fit(X, y)
    >>> mean, std = model.predict([[0.0], [6.0]], return_std=True)
    >>> bool(abs(mean[0]) < 0.2), bool(std[1] > 3 * std[0])   # there are no rows near 6
    (True, True)
    """

    def __init__(
        self,
        hidden: Any = "auto",
        rule: str = "linear",
        noise: Any = "auto",
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
    ) -> None:
        self.hidden = hidden
        self.rule = rule
        self.noise = noise
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

    # ------------------------------------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, *, checkpoint: str | os.PathLike[str] | None = None) -> DMARegressor:
        """Fit the model.

        Ctrl-C stops the fit and raises KeyboardInterrupt; the estimator then holds what was learnt so far.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Float32 and float64 arrays are read in place. A frame may have columns of text, categories,
            booleans and dates.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        checkpoint : path, optional
            File to save progress to, after an epoch and at most every ten seconds. If it exists, the fit resumes
            from it and ends with the same bits as one that was never stopped. It is not deleted: remove it once
            the model is saved.

        Returns
        -------
        self
        """
        options = self._options()
        names, columns, categories = self._features(X, y, reset=True)
        targets, values, dimensions = self._targets(y, names)
        options.features = names
        options.target = targets
        options.categorical = [names[k] for k in self._categories(categories, names)]
        rows = _columns.rows("the table", names + targets, columns + values)
        place = "" if checkpoint is None else os.fspath(checkpoint)
        model, raised = _core.fit(rows, options, self._show(), place)
        self._output_dimensions = dimensions
        self._finds_columns = False
        self.__dict__.pop("change_", None)
        self._adopt(model)
        if raised is not None:
            raise raised
        self._tell()
        self._warn()
        return self

    def partial_fit(self, X: Any, y: Any, *, data: Any = None, compare: bool = False) -> DMARegressor:
        """Add rows without relearning the old ones.

        The first call is a fit: it fixes the scales of the columns, so its rows should be like those to come.
        Later calls add messages to the ledger; the noise, the weights of the shapes and the old messages stay as
        they are, unless the old rows are given again.

        Parameters
        ----------
        X, y : as in fit
        data : tuple (X, y), optional
            The rows that the model was fitted to, in any order. A joint belief is then fitted anew to all rows; an
            independent one learns them and the noise again, from where it is.
        compare : bool, default=False
            With ``data``: also fit again, and report in ``change_["compared"]`` how far apart the predictions
            are.

        Returns
        -------
        self
        """
        if not hasattr(self, "_model"):
            return self.fit(X, y)
        fresh = self._table(X, y)
        self._change("update", fresh, data, compare)
        return self

    def forget(self, X: Any, y: Any = None, *, data: Any = None, compare: bool = False) -> DMARegressor:
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

    # ----------------------------------------------------------------------------------------- predicting

    def predict(self, X: Any, return_std: bool = False, return_cov_parts: bool = False) -> Any:
        """Predict with uncertainty.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the standard deviation of y, noise included.
        return_cov_parts : bool, default=False
            Also return the two parts of the variance: the epistemic one, which more rows could remove, and the
            noise. ``std ** 2`` is their sum.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray, if return_std
        epistemic_variance, noise_variance : ndarray, if return_cov_parts
        """
        self._require_fitted()
        mean, epistemic, noise = self._shaped(self._model.predict(self._inputs(X), self._threads()))
        std = [np.hypot(epistemic, noise)] if return_std else []
        parts = [epistemic**2, noise**2] if return_cov_parts else []
        return (mean, *std, *parts) if std or parts else mean

    def predict_interval(self, X: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the central interval that should hold y with this probability: as much lies below as above.

        It is not ``mean +- 1.96 std``: the members may disagree, so the ends need not be as far from the mean,
        and the noise level is itself uncertain, so the tails are heavier than a Gaussian's.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        level : float, default=0.95

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        _require_probability("level", level)
        self._require_fitted()
        lower, upper = self._shaped(self._model.interval(self._inputs(X), level, self._threads()))
        return lower, upper

    def predict_quantile(self, X: Any, probability: float = 0.5) -> np.ndarray:
        """Value that y should be below with this probability.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        probability : float, default=0.5

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        _require_probability("probability", probability)
        self._require_fitted()
        return self._shaped([self._model.quantile(self._inputs(X), probability, self._threads())])[0]

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, *, noise: bool = True
    ) -> np.ndarray:
        """Draw values of y that could be observed at X.

        Each draw is one function of one member, so its values at several rows belong together.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples_X, n_features)
        n_samples : int, default=1
        random_state : int, RandomState or None, default=0
        noise : bool, default=True
            False: draw the functions themselves, without noise.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_outputs, n_samples)
        """
        self._require_fitted()
        count = _whole("n_samples", n_samples, 1)
        values = self._model.sample(self._inputs(X), count, _seed(random_state), noise)
        values = np.moveaxis(values, 0, -1)
        return values[:, 0, :] if self._output_dimensions == 1 else values

    def log_prob(self, X: Any, y: Any) -> np.ndarray:
        """Predicted log density of y, for every row (and output)."""
        rows, observed = self._observed_rows(X, y)
        return self._shaped([self._model.log_density(rows, observed, self._threads())])[0]

    def pit(self, X: Any, y: Any) -> np.ndarray:
        """Predicted probability of a value below y: uniform on [0, 1] if the model is calibrated."""
        rows, observed = self._observed_rows(X, y)
        return self._shaped([self._model.cdf(rows, observed, self._threads())])[0]

    def evaluate(self, X: Any, y: Any) -> Any:
        """Score the means and intervals on these rows.

        Returns
        -------
        dict, or a list of one per output
            rows, rmse, mae, nll, crps, coverage (50, 80, 90, 95 %), coverage_curve, calibration_error, pit
            (a histogram).
        """
        rows, observed = self._observed_rows(X, y)
        scores = self._model.evaluate(rows, observed, self._threads())
        return scores[0] if self._output_dimensions == 1 else scores

    # ---------------------------------------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str], *, slim: bool = False) -> None:
        """Write a model file, which the command line can read too.

        If writing fails, an old file of that name stays as it was.

        Parameters
        ----------
        path : str or path
        slim : bool, default=False
            Leave the ledger out: smaller, but nothing can be forgotten.
        """
        self._require_fitted()
        self._model.save(os.fspath(path), slim)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DMARegressor:
        """Read a model file written by ``save`` or ``dma fit``.

        A model written by the command line knows the names of its columns, in the order of its inputs
        (``feature_names_in_``). As on the command line, a frame may have them in any order, and other columns.
        """
        with open(path, "rb"):
            pass  # raises Python's own error if the file is missing
        model = _core.Regressor.load(os.fspath(path))
        options = model.options
        result = cls(
            hidden=tuple(options.hidden) or "auto",
            rule=options.rule,
            noise=_noise_asked_for(options),
            ensemble=options.ensemble,
            max_epochs=options.epochs or "auto",
            tol=options.tolerance,
            patience=options.patience,
            batch_size=options.batch_size or "auto",
            ledger=options.ledger,
            random_state=options.seed,
            belief=options.belief,
            slope="auto" if options.slope is None else options.slope,
            selection=options.selection,
            calibration=options.calibration,
            single_precision=options.single_precision,
            categorical_features=options.categorical or None,
            time=options.seconds or None,
        )
        names = options.features or model.features
        result.n_features_in_ = len(names)
        if names != _columns.numbered("x", len(names)):
            result.feature_names_in_ = np.asarray(names, dtype=object)
        result._output_dimensions = 1 if len(options.target) == 1 else 2
        result._finds_columns = not options.features
        result._adopt(model)
        return result

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
        return {"allow_nan": True, "multioutput": True, "requires_y": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
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
        options.hidden = _hidden(self.hidden)
        options.rule = _word("rule", self.rule)
        options.belief = _word("belief", self.belief)
        options.ledger = _word("ledger", self.ledger)
        if isinstance(self.noise, str):
            if self.noise not in ("auto", "input", "constant"):
                raise ValueError(
                    f"noise must be 'auto', 'input', 'constant' or a positive number, not {self.noise!r}"
                )
            options.constant_noise = self.noise == "constant"
            if self.noise == "input":
                if self.belief == "independent":
                    raise ValueError("noise='input' needs belief='joint'")
                options.belief = "joint"
        else:
            options.noise = _number("noise", self.noise, 0, strictly=True)
        options.ensemble = 0 if _is_auto(self.ensemble) else _whole("ensemble", self.ensemble, 1)
        options.batch_size = 0 if _is_auto(self.batch_size) else _whole("batch_size", self.batch_size, 1)
        options.epochs = 0 if _is_auto(self.max_epochs) else _whole("max_epochs", self.max_epochs, 1)
        options.patience = _whole("patience", self.patience, 0)
        options.tolerance = _number("tol", self.tol, 0)
        options.slope = None if _is_auto(self.slope) else _number("slope", self.slope, 0)
        options.seconds = 0 if self.time is None else _number("time", self.time, 0, strictly=True)
        options.selection = bool(self.selection)
        options.calibration = bool(self.calibration)
        options.single_precision = bool(self.single_precision)
        options.seed = _seed(self.random_state)
        options.threads = self._threads()
        return options

    def _threads(self) -> int:
        return effective_n_jobs(self.n_jobs)

    def _features(self, X: Any, y: Any = None, *, reset: bool) -> tuple[list[str], list[Any], list[int]]:
        """Names and columns of X, and which columns have a categorical type."""
        if not _columns.is_frame(X):
            arrays = (X,) if y is None and not reset else (X, y)
            options: dict[str, Any] = {"dtype": [np.float64, np.float32], "reset": reset}
            if len(arrays) == 2:
                options |= {"multi_output": True, "y_numeric": True, "ensure_min_samples": 2 if reset else 1}
            checked = _compat.validate_data(self, *arrays, allow_nan=True, **options)
            X = checked[0] if len(arrays) == 2 else checked
            return self._names(), _columns.columns_of_matrix(X), []
        if 0 in X.shape:
            what = "sample" if X.shape[0] == 0 else "feature"
            raise ValueError(
                f"Found a frame with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required."
            )
        if reset and y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if y is not None:
            check_consistent_length(X, y)
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

    @staticmethod
    def _targets(y: Any, names: Sequence[str]) -> tuple[list[str], list[np.ndarray], int]:
        """Names and columns of y, and its number of dimensions."""
        checked = _checked_target(y)
        matrix = _as_matrix(checked)
        targets = _columns.target_names(y, matrix.shape[1], names)
        return targets, _columns.columns_of_matrix(matrix), checked.ndim

    def _table(self, X: Any, y: Any) -> _core.Rows:
        """Rows with targets, for a model that knows both by name."""
        names, columns, _ = self._features(X, y, reset=False)
        matrix = _as_matrix(_checked_target(y))
        targets = self._model.options.target
        if matrix.shape[1] != len(targets):
            raise ValueError(f"y has {matrix.shape[1]} columns, but the model was fitted to {len(targets)}")
        return _columns.rows("the table", names + targets, columns + _columns.columns_of_matrix(matrix))

    def _inputs(self, X: Any) -> _core.Rows:
        names, columns, _ = self._features(X, reset=False)
        return _columns.rows("X", names, columns)

    def _shaped(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        return tuple(array[:, 0] if self._output_dimensions == 1 else array for array in arrays)

    def _observed(self, y: Any, rows: int) -> np.ndarray:
        matrix = _as_matrix(_checked_target(y))
        expected = (rows, len(self._model.options.target))
        if matrix.shape != expected:
            raise ValueError(f"y has shape {np.shape(y)}, but the predictions have {expected}")
        return matrix

    def _observed_rows(self, X: Any, y: Any) -> tuple[_core.Rows, np.ndarray]:
        self._require_fitted()
        rows = self._inputs(X)
        return rows, self._observed(y, len(rows))

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
        self.n_outputs_ = len(report["noise_std"])
        noise = np.asarray(report["noise_std"])
        self.noise_std_ = float(noise[0]) if self._output_dimensions == 1 else noise
        self.cavity_nll_ = report["cavity_nll"]
        self.cavity_coverage_ = report["cavity_coverage"]
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
        if _whole("verbose", self.verbose, 0) < 2:
            return None

        told = -1

        def show(member: int, members: int, epoch: int, epochs: int, share: float) -> None:
            nonlocal told
            if int(100 * share) > told:
                told = int(100 * share)
                print(
                    f"[DMARegressor] {told} %: member {member + 1} of {members}, epoch {epoch} of at most {epochs}"
                )

        return show

    def _tell(self) -> None:
        if self.verbose:
            report = self.report_
            print(
                f"[DMARegressor] {report['rows']} rows, {_networks(report['members'])}, {self.n_iter_} epochs "
                f"({self.stopped_}), noise {self.noise_std_}, cavity NLL {self.cavity_nll_:.4f}, "
                f"{report['seconds']:.2f} s"
            )

    def _warn(self) -> None:
        for name, reason in self.dropped_features_.items():
            if not reason.startswith(("constant", "empty")):
                warnings.warn(f"column '{name}' was left out: {reason}", UserWarning, stacklevel=3)
        if self._was_cut_short():
            warnings.warn(
                f"the fit had not settled when its {self.n_iter_} epochs were used up; raise max_epochs",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _was_cut_short(self) -> bool:
        """By the user's max_epochs; or, for independent weights, also by the default."""
        if self.stopped_ != "max_epochs" or self.tol == 0 or self.patience == 0:
            return False
        if self._model.options.belief == "joint":
            return not _is_auto(self.max_epochs)
        return float(np.mean([_recent_fall(curve) for curve in self.train_nll_curve_])) > _UNSETTLED


def _checked_target(y: Any) -> np.ndarray:
    checked = _compat.check_array(y, allow_nan=False, ensure_2d=False, dtype=np.float64, input_name="y")
    if checked.ndim > 2:
        raise ValueError(f"y must have one or two dimensions, not {checked.ndim}")
    return checked


def _as_matrix(y: np.ndarray) -> np.ndarray:
    return y.reshape(len(y), -1)


def _recent_fall(curve: np.ndarray) -> float:
    """How far the curve fell in the last fifth of the epochs, at least one."""
    if len(curve) < 2:
        return np.inf
    return float(curve[-1 - max(1, len(curve) // 5)] - curve[-1])


def _networks(count: int) -> str:
    return "1 network" if count == 1 else f"{count} networks"


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string, not {value!r}")
    return value


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, (bool, np.bool_)) and name == "verbose":
        return int(value)
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def _number(name: str, value: Any, least: float, *, strictly: bool = False) -> float:
    good = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if not good or value < least or (strictly and value == least):
        raise ValueError(
            f"{name} must be a number {'above' if strictly else 'of at least'} {least:g}, not {value!r}"
        )
    return float(value)


def _require_probability(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, not {value!r}")


def _hidden(value: Any) -> list[int]:
    if _is_auto(value):
        return []
    if isinstance(value, Integral):
        value = (value,)
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise ValueError(f"hidden must be 'auto', a number of units or a sequence of them, not {value!r}")
    units = [_whole("hidden: units", count, 1) for count in value]
    if not units:
        raise ValueError("hidden has no layer; use 'auto' for the default")
    return units


def _noise_asked_for(options: _core.Options) -> Any:
    if options.noise is not None:
        return options.noise
    return "constant" if options.constant_noise else "auto"


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        seed = int(random_state)
        if not 0 <= seed < 2**64:
            raise ValueError(f"random_state must be from 0 to 2**64 - 1, not {seed}")
        return seed
    return int(check_random_state(random_state).randint(2**31))
