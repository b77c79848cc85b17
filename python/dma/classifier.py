"""DMAClassifier: classification behind scikit-learn's interface."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from dma import _columns, _compat, _core
from dma._estimator import Estimator, row_weights, seed_of, whole_number


class DMAClassifier(ClassifierMixin, Estimator):
    """Classification that says how sure it is.

    A mixture of Bayesian neural networks, trained by approximate message passing: no learning rate, no
    validation set, no sampling. Every prediction has a probability for each class, and says how much of its
    doubt more rows could remove.

    Parameters
    ----------
    hidden : "auto", int or sequence of int, default="auto"
        Units per hidden layer. "auto": for a joint belief a mixture of several shapes, weighed by rows that
        they have not learnt (``shapes_``); one layer of 50 units if the belief is independent.
    rule : {"linear", "direct"}, default="linear"
        Rule for backward messages. "direct" is the paper's and implies ``belief="independent"``.
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
        An int gives the same model as ``dma fit --kind class --seed`` on the same table, bit for bit. None:
        another model every time.
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
        Joint belief: whether to fit how sure the probabilities are to the predictions of rows not yet learnt.
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
    class_weight : dict, "balanced" or None, default=None
        How much the rows of each class count, beside ``sample_weight``; a class that is not in the dict counts
        once. "balanced": all classes count the same, and all rows together as many as they are. Probabilities are
        then those of such rows, not of the rows as they come.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted, of the type that y had.
    cavity_log_loss_ : float
        Log loss of the training rows without what they taught: an estimate for held-out rows. A joint belief has
        predicted them by members that had not learnt them yet: all rows, unless the ensemble is small or the
        table large.
    cavity_accuracy_ : float
        Share of those rows whose class was the most probable.
    cavity_scores_ : dict
        All scores of those rows, as ``evaluate`` gives them.
    n_iter_ : int
        Number of epochs of the member that took the most.
    stopped_ : str
        Why it stopped: "tolerance" (it had settled), "max_epochs", "time" or "interrupted".
    shapes_ : list of dict
        The shapes that a joint belief was made of, the heaviest first: target (its name), hidden (units per
        hidden layer), weights (of one network), weight (in the mixture, of all members together; 0: the shape
        was dropped), epochs, held_out_nll (log loss of this shape alone). Empty for an independent belief.
    certificate_ : dict
        How far the fit can be trusted: what was bounded; for independent weights, messages of negative
        precision (there should be none); for a joint belief, how far it is from linear and from settled.
    coefs_mean_, coefs_std_ : list of ndarray of shape (n_members, n_inputs, n_units)
        Posterior of the weights, layer by layer, for standardised inputs; of the members whose network has the
        shape of the first, which is the heaviest.
    intercepts_mean_, intercepts_std_ : list of ndarray of shape (n_members, n_units)
    train_nll_curve_ : list of ndarray
        Training log loss of every member by epoch. A joint belief first leaves some of the rows out.
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
    Cells of X may be empty (NaN): the network sees which ones are. NaN in y is an error. There can be 2 to 200
    classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dma import DMAClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(120, 1))
    >>> y = np.where(X[:, 0] + 0.5 * rng.normal(size=120) > 0, "right", "left")
    >>> model = DMAClassifier(random_state=1).fit(X, y)
    >>> model.predict([[-2.0], [2.0]])
    array(['left', 'right'], dtype='<U5')
    >>> left, right = model.predict_proba([[0.0]])[0]
    >>> bool(0.3 < left < 0.7), bool(np.isclose(left + right, 1))
    (True, True)
    """

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
        class_weight: Mapping[Any, float] | str | None = None,
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
        self.class_weight = class_weight

    _kinds = ("class",)

    # ------------------------------------------------------------------------------------------- learning

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> DMAClassifier:
        """Fit the model.

        Ctrl-C stops the fit and raises KeyboardInterrupt; the estimator then holds what was learnt so far.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Float32 and float64 arrays are read in place. A frame may have columns of text, categories,
            booleans and dates.
        y : array-like of shape (n_samples,)
            Classes: whole numbers, text or booleans.
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
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        checkpoint: str | os.PathLike[str] | None = None,
        classes: Any = None,
    ) -> DMAClassifier:
        self._require_target(y)
        labels = _checked_labels(y)
        known = _sorted_classes(labels, classes)
        column = _column(known, _places_of(labels, known))
        weights = self._weights_of(X, labels, sample_weight)
        if weights is not None:
            _require_two_classes(labels, weights)
        model, raised = self._fitted(X, y, [column], checkpoint, _names_of(known), weights)
        self.classes_ = known
        self._finish(model, raised)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        data: Any = None,
        compare: bool = False,
    ) -> DMAClassifier:
        """Add rows without relearning the old ones.

        The first call is a fit: it fixes the scales of the columns, so its rows should be like those to come.
        Later calls add messages to the ledger; the weights of the shapes and the old messages stay as they are,
        unless the old rows are given again.

        Parameters
        ----------
        X, y, sample_weight : as in fit
        classes : array-like, optional
            All classes that may come. Only the first call needs it, and only if its y lacks some; it must have
            two of them. Rows of a class that is new are best added together with ``data``.
        data : tuple (X, y), optional
            The rows that the model was fitted to, in any order; what each counts is known. A joint belief is then fitted anew to all rows; an
            independent one learns them again, from where it is.
        compare : bool, default=False
            With ``data``: also fit again, and report in ``change_["compared"]`` how far apart the predictions
            are.

        Returns
        -------
        self
        """
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight {self.class_weight!r} is not supported for partial_fit, which does not know the "
                "rows to come: give the weights as a dict"
            )
        if not hasattr(self, "_model"):
            return self._fit(X, y, sample_weight, classes=classes)
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes are fixed by the first call, to {_listed(self.classes_)}")
        weights = self._weights_of(X, _checked_labels(y), sample_weight)
        self._change("update", self._table(X, y, weights), data, compare)
        return self

    # ----------------------------------------------------------------------------------------- predicting

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of every class, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._predicted(X)[0][:, self._model_places()]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of ``predict_proba``.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def entropy(self, X: Any) -> np.ndarray:
        """How unsure the class of each row is, in nats: 0 if it is certain, log(n_classes) if all are as probable.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._predicted(X)[1]

    def doubt(self, X: Any) -> np.ndarray:
        """How much of the entropy more rows could remove, in nats.

        It is the mutual information of the class and the function: what the networks do not know, as against
        classes that overlap. Where it is large, a row is worth learning, or was never seen the like of.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> import numpy as np
        >>> from dma import DMAClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-3, 3, size=(200, 1))
        >>> y = X[:, 0] + rng.normal(size=200) > 0
        >>> model = DMAClassifier(random_state=1).fit(X, y)
        >>> near, far = model.doubt([[0.0], [20.0]])   # the classes overlap at 0, and there are no rows near 20
        >>> bool(model.entropy([[0.0]])[0] > 0.6), bool(far > 3 * near)
        (True, True)
        """
        return self._predicted(X)[2]

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw classes that could be observed at X.

        Each draw is of one function of one member, so its classes at several rows belong together.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples_X, n_features)
        n_samples : int, default=1
        random_state : int, RandomState or None, default=0

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples)
        """
        self._require_fitted()
        count = whole_number("n_samples", n_samples, 1)
        places = self._model.sample(self._inputs(X), count, seed_of(random_state))[:, :, 0].T
        return self.classes_[np.argsort(self._model_places())[places.astype(int)]]

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Score the probabilities on these rows; with weights, means, shares and counts are weighted.

        Returns
        -------
        dict
            rows, log_loss, brier (from 0 to 2), accuracy, balanced_accuracy, calibration_error, auc (None unless
            there are two classes, both with rows), reliability (rows, confidence and accuracy of 15 ranges of the
            largest probability), confusion (rows by class and predicted class, in the order of ``classes_``).
        """
        self._require_fitted()
        return self._ordered(self._model.evaluate_classes(self._table(X, y, sample_weight), self._threads()))

    # ------------------------------------------------------------------------------------------- inside

    def _predicted(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Probabilities in the model's order, entropy and doubt."""
        self._require_fitted()
        return self._model.probabilities(self._inputs(X), self._threads())

    def _weights_of(self, X: Any, labels: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        """What each row counts, by itself and by its class."""
        weights = row_weights(sample_weight, X)
        if self.class_weight is None:
            return weights
        by_class = compute_sample_weight(_checked_class_weight(self.class_weight), labels)
        return by_class if weights is None else weights * by_class

    def _model_places(self) -> list[int]:
        """Where the model has each class: the library orders text by the numbers in it, NumPy does not."""
        places = {name: place for place, name in enumerate(self._model.classes)}
        return [places[name] for name in _names_of(self.classes_)]

    def _ordered(self, scores: dict[str, Any]) -> dict[str, Any]:
        places = self._model_places()
        return {**scores, "confusion": scores["confusion"][np.ix_(places, places)]}

    def _known_targets(self, y: Any, targets: Sequence[str]) -> list[_columns.Column]:
        return [_column(self.classes_, _places_of(_checked_labels(y), self.classes_))]

    def _recall_targets(self, model: _core.Regressor | _core.Start) -> None:
        self.classes_ = np.unique(_typed(model.classes))

    def _adopt(self, model: _core.Regressor) -> None:
        super()._adopt(model)
        for of_numbers in ("noise_std", "noise_at_floor", "cavity_nll", "cavity_coverage"):
            del self.report_[of_numbers]
        self.cavity_scores_ = self._ordered(self.report_.pop("cavity")[0])
        self.cavity_log_loss_ = self.cavity_scores_["log_loss"]
        self.cavity_accuracy_ = self.cavity_scores_["accuracy"]

    def _scores_line(self) -> str:
        return f"cavity log loss {self.cavity_log_loss_:.4f}, accuracy {self.cavity_accuracy_:.3f}"


def _checked_labels(y: Any) -> np.ndarray:
    if hasattr(y, "isna") and np.any(y.isna()):
        raise ValueError("Input y contains NaN.")
    checked = _compat.check_array(_plain(y), allow_nan=False, ensure_2d=False, dtype=None, input_name="y")
    labels = column_or_1d(checked, warn=True)
    try:
        check_classification_targets(labels)
    except TypeError:  # they cannot be sorted
        raise ValueError("y must hold classes of one type: numbers, text or booleans") from None
    return labels


def _plain(y: Any) -> Any:
    """A series of one of pandas' nullable types as an array of the plain one."""
    plain = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    return y if plain is None else y.to_numpy(dtype=plain)


def _checked_class_weight(class_weight: Any) -> Any:
    if not isinstance(class_weight, Mapping) and class_weight != "balanced":
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, not {class_weight!r}")
    return class_weight


def _require_two_classes(labels: np.ndarray, weights: np.ndarray) -> None:
    found = np.unique(labels[weights > 0])
    if len(found) < 2:
        raise ValueError(f"y has less than two classes with a weight above 0: {_listed(found)}")


def _sorted_classes(labels: np.ndarray, classes: Any) -> np.ndarray:
    """Those of the rows, or all that were named."""
    found = np.unique(labels)
    if len(found) < 2:
        raise ValueError(f"y has only one class, {_listed(found)}: there is nothing to learn")
    known = found if classes is None else np.unique(_checked_labels(classes))
    if "" in known.tolist():
        raise ValueError("y: an empty text cannot be the name of a class")
    if len(known) > _core.most_classes:
        raise ValueError(
            f"y has {len(known)} classes, and there can be {_core.most_classes} at most; "
            "if it is a number, use DMARegressor"
        )
    return known


def _places_of(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The place of each row's class among the classes."""
    known = {name: place for place, name in enumerate(classes.tolist())}
    found, which = np.unique(labels, return_inverse=True)
    places = np.array([known.get(name, -1) for name in found.tolist()])[which]
    if (places < 0).any():
        row = int(np.argmin(places))
        wrong = _listed(labels[row : row + 1])
        raise ValueError(f"y, row {row}: {wrong} is not one of the classes {_listed(classes)}")
    return places


def _listed(classes: np.ndarray, most: int = 10) -> str:
    names = [repr(name) for name in classes[:most].tolist()]
    return ", ".join(names + ["..."] * (len(classes) > most))


def _names_of(classes: np.ndarray) -> list[Any]:
    """What the library calls the classes, as it would read them from a file: numbers, or else text."""
    if classes.dtype.kind in "iuf":
        numbers = classes.astype(np.float64)
        if len(np.unique(numbers)) == len(classes):  # large whole numbers may not be
            return numbers.tolist()
    return [str(name) for name in classes.tolist()]


def _column(classes: np.ndarray, places: np.ndarray) -> _columns.Column:
    names = _names_of(classes)
    if isinstance(names[0], str):
        return places.astype(np.int32), names
    return np.array(names)[places]


def _typed(names: list[Any]) -> np.ndarray:
    """Classes of a model that was read. A file does not hold the type that they once had."""
    if set(names) == {"False", "True"}:
        return np.array([False, True])
    classes = np.array(names)
    if classes.dtype.kind == "f" and (classes == np.round(classes)).all():
        return classes.astype(np.int64)
    return classes
