"""DMARegressor: regression behind scikit-learn's interface."""

from __future__ import annotations

import math
import os
from typing import Any, Sequence

import numpy as np
from sklearn.base import RegressorMixin

from dma import _columns, _compat, _core
from dma._estimator import Estimator, real_number, seed_of, whole_number, row_weights


class DMARegressor(RegressorMixin, Estimator):
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
    keep_ids : bool, default=False
        Use columns of a frame that look like an id or a row number: whole numbers that are all different, and
        count the rows or have a name such as ``id`` or ``customer_no``. They are left out otherwise.
    strict : bool, default=False
        A text among the numbers of a frame's column is an error. Otherwise, if there are few, it counts as an empty
        cell, and a warning says so.
    kind : {"number", "amount", "count", "auto"}, default="number"
        What y is. "amount": positive and skewed, such as a price; its logarithm is learnt, and ``predict``
        returns the median. "count": a whole number from 0 on; intervals end at whole numbers. "auto": a count if
        all are whole numbers and some are 0; an amount if rows that were not learnt say so.
    bounds : "auto", None or (low, high), default="auto"
        Where a y of the kind "number" lies; an end may be None. Predictions are cut there. "auto": 0 to 1 or 0 to
        100 if y comes near to that end, else from 0 on if no y is negative and one is near to 0, else None:
        anywhere.

    Attributes
    ----------
    kind_ : str
        What y was taken for.
    bounds_ : tuple of float, or None
        Where y lies, given or assumed; of the first output.
    noise_std_ : float or ndarray of shape (n_outputs,)
        Deviation of the noise, in the unit of y: half of the rows have less. Of an
        amount that of its logarithm; of a count the root of its over-dispersion: the variance is
        ``mean + noise_std_**2 * mean**2``.
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
    Cells of X may be empty (NaN): the network sees which ones are. NaN in y is an error. A cell that training had
    none like (a new category, an empty cell in a column that had none) is warned of, and predicted as if it could
    be any value of training: ``unlike`` lists such cells.

    A deviation is half the distance between the quantiles 15.9 % and 84.1 %: of a Gaussian its standard deviation,
    and of heavy tails still what most values are off by.

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
        keep_ids: bool = False,
        strict: bool = False,
        kind: str = "number",
        bounds: Any = "auto",
    ) -> None:
        super().__init__(
            hidden,
            rule,
            ensemble,
            max_epochs,
            tol,
            patience,
            batch_size,
            ledger,
            random_state,
            n_jobs,
            verbose,
            belief=belief,
            slope=slope,
            selection=selection,
            calibration=calibration,
            single_precision=single_precision,
            categorical_features=categorical_features,
            time=time,
            keep_ids=keep_ids,
            strict=strict,
        )
        self.noise = noise
        self.kind = kind
        self.bounds = bounds

    _kinds = ("number", "amount", "count", "auto")

    # ------------------------------------------------------------------------------------------- learning

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> DMARegressor:
        """Fit the model.

        Ctrl-C stops the fit and raises KeyboardInterrupt; the estimator then holds what was learnt so far.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Float32 and float64 arrays are read in place. A frame may have columns of text, categories,
            booleans and dates.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts: 2 is like two rows, 0 leaves the row out. None: every row counts once.
        checkpoint : path, optional
            File to save progress to, after an epoch and at most every ten seconds. If it exists, the fit resumes
            from it and ends with the same bits as one that was never stopped. It is not deleted: remove it once
            the model is saved.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, checkpoint)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, checkpoint: str | os.PathLike[str] | None = None
    ) -> DMARegressor:
        self._require_target(y)
        target = _checked_target(y)
        if self.kind == "auto" and len(np.unique(target)) == 2:
            raise ValueError("y has two values only: use DMAClassifier, or kind='number'")
        columns = _columns.columns_of_matrix(_as_matrix(target))
        weights = row_weights(sample_weight, X)
        model, raised = self._fitted(X, y, columns, checkpoint, weights=weights)
        self._output_dimensions = target.ndim
        self._finish(model, raised)
        return self

    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, data: Any = None, compare: bool = False
    ) -> DMARegressor:
        """Add rows without relearning the old ones.

        The first call is a fit: it fixes the scales of the columns, so its rows should be like those to come.
        Later calls add messages to the ledger; the noise, the weights of the shapes and the old messages stay as
        they are, unless the old rows are given again.

        Parameters
        ----------
        X, y, sample_weight : as in fit
        data : tuple (X, y), optional
            The rows that the model was fitted to, in any order; what each counts is known. A joint belief is then fitted anew to all rows; an
            independent one learns them and the noise again, from where it is.
        compare : bool, default=False
            With ``data``: also fit again, and report in ``change_["compared"]`` how far apart the predictions
            are.

        Returns
        -------
        self
        """
        if not hasattr(self, "_model"):
            return self._fit(X, y, sample_weight)
        self._change("update", self._table(X, y, sample_weight), data, compare)
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
            Of an amount the median.
        std : ndarray, if return_std
        epistemic_variance, noise_variance : ndarray, if return_cov_parts
        """
        self._require_fitted()
        mean, epistemic, noise = self._shaped(self._model.predict(self._inputs(X), self._threads()))
        std = [np.hypot(epistemic, noise)] if return_std else []
        parts = [epistemic**2, noise**2] if return_cov_parts else []
        return (mean, *std, *parts) if std or parts else mean

    def predict_interval(
        self, X: Any, level: float = 0.95, *, calibrated: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the central interval that should hold y with this probability: as much lies below as above.

        It is not ``mean +- 1.96 std``: the members may disagree, so the ends need not be as far from the mean,
        and the noise level is itself uncertain, so the tails are heavier than a Gaussian's.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        level : float, default=0.95
        calibrated : bool, default=False
            Make the intervals as wide as they have to be by rows that were not learnt. After ``calibrate`` they
            hold y with this probability at least, if its rows and the new ones are exchangeable; otherwise they
            go by rows that were predicted before they were learnt, which is about right, without a guarantee.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        _require_probability("level", level)
        self._require_fitted()
        interval = self._model.calibrated_interval if calibrated else self._model.interval
        lower, upper = self._shaped(interval(self._inputs(X), level, self._threads()))
        return lower, upper

    def calibrate(self, X: Any, y: Any) -> DMARegressor:
        """Take the width of calibrated intervals from these rows, which must not have been learnt.

        A split conformal method: ``predict_interval(..., calibrated=True)`` then holds a new y with the probability
        asked for at least, whatever the model is worth, if these rows and the new one are exchangeable. An
        interval of 95 % takes 39 rows.

        Returns
        -------
        self
        """
        self._require_fitted()
        self._adopt(self._model.calibrated(self._table(X, y)))
        return self

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

    def predict_counts(self, X: Any, most: int) -> np.ndarray:
        """Probabilities of 0, 1, ..., ``most`` and of more, if y is a count.

        Returns
        -------
        ndarray of shape (n_samples, most + 2)
            The last column is the probability of more than ``most``.
        """
        self._require_fitted()
        if self.kind_ != "count":
            raise ValueError(f"predict_counts needs a model of a count, and y is of the kind {self.kind_!r}")
        largest = whole_number("most", most, 0)
        return self._model.count_probabilities(self._inputs(X), largest, self._threads())

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
        count = whole_number("n_samples", n_samples, 1)
        values = self._model.sample(self._inputs(X), count, seed_of(random_state), noise)
        values = np.moveaxis(values, 0, -1)
        return values[:, 0, :] if self._output_dimensions == 1 else values

    def log_prob(self, X: Any, y: Any) -> np.ndarray:
        """Predicted log density of y, for every row (and output); of a count its log probability."""
        rows, observed = self._observed_rows(X, y)
        return self._shaped([self._model.log_density(rows, observed, self._threads())])[0]

    def pit(self, X: Any, y: Any) -> np.ndarray:
        """Predicted probability of a value below y: uniform on [0, 1] if the model is calibrated."""
        rows, observed = self._observed_rows(X, y)
        return self._shaped([self._model.cdf(rows, observed, self._threads())])[0]

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None, *, calibrated: bool = False) -> Any:
        """Score the means and intervals on these rows; with weights, means and shares are weighted.

        Parameters
        ----------
        X, y, sample_weight : as in fit
        calibrated : bool, default=False
            Coverage and calibration error are those of calibrated intervals, as in predict_interval.

        Returns
        -------
        dict, or a list of one per output
            rows, rmse, mae, nll, crps, coverage (50, 80, 90, 95 %), coverage_curve, calibration_error, pit
            (a histogram).
        """
        rows, observed = self._observed_rows(X, y, sample_weight)
        scores = self._model.evaluate(rows, observed, calibrated, self._threads())
        return scores[0] if self._output_dimensions == 1 else scores

    # ------------------------------------------------------------------------------------------- inside

    def _more_tags(self) -> dict[str, Any]:
        return {"multioutput": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _options(self) -> _core.Options:
        options = super()._options()
        if self.kind not in self._kinds:
            raise ValueError(f"kind must be one of {', '.join(map(repr, self._kinds))}, not {self.kind!r}")
        options.kind = self.kind
        options.bounds = _bounds_asked_for(self.bounds)
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
            options.noise = real_number("noise", self.noise, 0, strictly=True)
        return options

    @classmethod
    def _parameters_of(cls, options: _core.Options) -> dict[str, Any]:
        return {
            **super()._parameters_of(options),
            "noise": _noise_asked_for(options),
            "kind": options.kind,
            "bounds": _bounds_given(options),
        }

    def _known_targets(self, y: Any, targets: Sequence[str]) -> list[_columns.Column]:
        matrix = _as_matrix(_checked_target(y))
        if matrix.shape[1] != len(targets):
            raise ValueError(f"y has {matrix.shape[1]} columns, but the model was fitted to {len(targets)}")
        return _columns.columns_of_matrix(matrix)

    def _recall_targets(self, model: _core.Regressor | _core.Start) -> None:
        self._output_dimensions = 1 if len(model.options.target) == 1 else 2

    def _shaped(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        return tuple(array[:, 0] if self._output_dimensions == 1 else array for array in arrays)

    def _observed(self, y: Any, rows: int) -> np.ndarray:
        matrix = _as_matrix(_checked_target(y))
        expected = (rows, len(self._model.options.target))
        if matrix.shape != expected:
            raise ValueError(f"y has shape {np.shape(y)}, but the predictions have {expected}")
        return matrix

    def _observed_rows(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[_core.Rows, np.ndarray]:
        self._require_fitted()
        rows = self._inputs(X, sample_weight)
        return rows, self._observed(y, len(rows))

    def _adopt(self, model: _core.Regressor) -> None:
        super()._adopt(model)
        self.kind_ = self.report_["kind"]
        self.bounds_ = self.report_["bounds"]
        noise = np.asarray(self.report_["noise_std"])
        self.n_outputs_ = len(noise)
        self.noise_std_ = float(noise[0]) if self._output_dimensions == 1 else noise
        self.cavity_nll_ = self.report_["cavity_nll"]
        self.cavity_coverage_ = self.report_["cavity_coverage"]

    def _scores_line(self) -> str:
        return f"noise {self.noise_std_}, cavity NLL {self.cavity_nll_:.4f}"


def _checked_target(y: Any) -> np.ndarray:
    checked = _compat.check_array(y, allow_nan=False, ensure_2d=False, dtype=np.float64, input_name="y")
    if checked.ndim > 2:
        raise ValueError(f"y must have one or two dimensions, not {checked.ndim}")
    return checked


def _as_matrix(y: np.ndarray) -> np.ndarray:
    return y.reshape(len(y), -1)


def _require_probability(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, not {value!r}")


def _noise_asked_for(options: _core.Options) -> Any:
    if options.noise is not None:
        return options.noise
    return "constant" if options.constant_noise else "auto"


def _bounds_asked_for(bounds: Any) -> tuple[float, float] | None:
    if isinstance(bounds, str) and bounds == "auto":
        return None
    if bounds is None:
        return -math.inf, math.inf
    try:
        low, high = (end if end is None else float(end) for end in bounds)
    except (TypeError, ValueError):
        raise ValueError(f"bounds must be 'auto', None or a pair (low, high), not {bounds!r}") from None
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    if not low < high:
        raise ValueError(f"bounds must be a low end and a higher one, not {bounds!r}")
    return low, high


def _bounds_given(options: _core.Options) -> Any:
    if options.bounds is None:
        return "auto"
    return None if options.bounds == (-math.inf, math.inf) else options.bounds
