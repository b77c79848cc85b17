"""Models that learnt different rows in different places become one: Start and merge."""

from __future__ import annotations

import os
import warnings
from typing import Any, Iterable

from dma import _core
from dma.regressor import DMARegressor


class Start:
    """What places have to agree on before each fits its own rows: all of a model but what rows taught it.

    Models that were fitted from one start can be merged (``dma.merge``), into the model that ``fit`` would have
    made of all their rows at once. It can be pickled, so that it can be sent to other processes.

    Attributes
    ----------
    digest : str
        The start's own, which its parts name.
    round : int
        1 if it came from a model of a sample, 2 if from a merged model whose start was of round 1.

    Examples
    --------
    >>> import numpy as np, dma
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(300, 1)); y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> start = dma.Start.of(dma.DMARegressor(random_state=1, hidden=10).fit(X[:60], y[:60]))
    >>> north, south = start.fit(X[:150], y[:150]), start.fit(X[150:], y[150:])
    >>> both = dma.merge([north, south])
    >>> at_once = start.fit(X, y)
    >>> bool(np.allclose(both.predict(X), at_once.predict(X), rtol=0, atol=1e-9))
    True
    """

    def __init__(self, core: _core.Start) -> None:
        self._core = core

    @classmethod
    def of(cls, model: DMARegressor) -> Start:
        """Make the start of a model: of one that was fitted to a sample, or of a merged one, for another round.

        The model's rows are not learnt by what is fitted from the start.
        """
        model._require_fitted()
        return cls(_core.Start.of(model._model))

    @property
    def digest(self) -> str:
        return self._core.digest

    @property
    def round(self) -> int:
        return self._core.round

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, n_jobs: int | None = None) -> DMARegressor:
        """Learn these rows, and no others: one part of what is to be merged.

        Parameters
        ----------
        X, y, sample_weight : as in DMARegressor.fit
            The columns are those of the model that the start was made of.
        n_jobs : int or None, default=None
            Number of threads, as in DMARegressor.

        Returns
        -------
        DMARegressor
            Keeps no row: sums over rows, and hashes of rows. ``forget`` and ``partial_fit`` work with the rows
            that go or come alone.
        """
        part = DMARegressor._like(self._core)
        part.n_jobs = n_jobs
        rows = part._table(X, y, sample_weight, self._core)
        part._adopt(self._core.fit(rows, part._threads()))
        return part

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file that ``dma fit --start`` reads, too."""
        self._core.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Start:
        """Read a file written by ``save`` or ``dma prepare``."""
        with open(path, "rb"):
            pass  # raises Python's own error if the file is missing
        return cls(_core.Start.load(os.fspath(path)))

    def __repr__(self) -> str:
        return f"Start(digest={self.digest!r}, round={self.round})"


def merge(models: Iterable[DMARegressor]) -> DMARegressor:
    """Put models together that were fitted from one start.

    The result has learnt all their rows, and can be merged further. Models that do not fit together are refused
    with a ValueError: other starts, columns or versions, or rows that would count twice.

    Parameters
    ----------
    models : iterable of DMARegressor
        Two at least, from ``Start.fit``, ``merge`` or ``dma fit --start``.

    Returns
    -------
    DMARegressor
    """
    parts = list(models)
    for part in parts:
        part._require_fitted()
    merged, alike = _core.merge([part._model for part in parts])
    if alike > 0:
        warnings.warn(
            f"{alike} rows are alike in several models: if they were learnt twice, they count twice",
            UserWarning,
            stacklevel=2,
        )
    result = DMARegressor._like(merged)
    for name in ("n_features_in_", "feature_names_in_", "_finds_columns", "_output_dimensions", "n_jobs"):
        if name in parts[0].__dict__:
            setattr(result, name, parts[0].__dict__[name])
    result._adopt(merged)
    return result
