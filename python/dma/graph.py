"""Factor graphs: variables, factors, and inference by messages.

>>> g = dma.Graph()
>>> x, y, z = g.variables("x", "y", "z")
>>> prior_of_x = g.add(dma.Prior(3, 1), x)
>>> prior_of_y = g.add(dma.Prior(4, 1), y)
>>> product = g.add(dma.Product(), z, x, y)
>>> seen = g.add(dma.Observation(10, 5), z)
>>> beliefs = g.sweep()
>>> round(beliefs[x].mean, 2)
2.81
"""

from __future__ import annotations

import bisect
import functools
import inspect
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Union, get_args, overload

import numpy as np
import numpy.typing as npt

from dma import _core
from dma._core import (
    Argmax,
    Between,
    Equality,
    Gamma,
    GammaPrior,
    Gaussian,
    GaussianPrecision,
    GreaterThan,
    InnerProduct,
    LeakyRelu,
    LogNormalCopy,
    LogNormalObservation,
    NegativeBinomial,
    Observation,
    Ordinal,
    Poisson,
    Prior,
    Probit,
    Product,
    Softmax,
    WeightedSum,
    WinDrawLoss,
)

__all__ = [
    "Argmax",
    "Beliefs",
    "Between",
    "Equality",
    "FactorArray",
    "FactorCheck",
    "FactorId",
    "FactorReport",
    "FailedMessage",
    "Function",
    "Gamma",
    "GammaPrior",
    "Gammas",
    "Gaussian",
    "GaussianPrecision",
    "Gaussians",
    "Graph",
    "GreaterThan",
    "ImproperMessage",
    "InnerProduct",
    "LeakyRelu",
    "LogNormalCopy",
    "LogNormalObservation",
    "NegativeBinomial",
    "Observation",
    "Ordinal",
    "Poisson",
    "Prior",
    "Probit",
    "Product",
    "Schedule",
    "Softmax",
    "Step",
    "Variable",
    "VariableArray",
    "VariableRows",
    "WeightedSum",
    "WinDrawLoss",
    "check_factor",
    "factor",
]

Points = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


class Function:
    """A factor y = f(x_1, ..., x_n); made by :func:`factor`. Edges y, x_1, ..., x_n.

    Calling it calls f.

    Attributes
    ----------
    name : str
    inputs : int
    order : int
        Gauss-Hermite nodes per input: a message takes one call of f with order ** inputs points and a few more.
    tolerance : float
        Promised error of the message to y, in standard deviations; :func:`check_factor` checks it.
    vectorized : bool
        Whether f takes arrays.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        *,
        inputs: Optional[int] = None,
        order: Optional[int] = None,
        tolerance: float = 1e-6,
        name: Optional[str] = None,
        vectorized: bool = True,
    ) -> None:
        if not callable(f):
            raise TypeError(f"a factor is made from a function, got {f!r}")
        self.name = name if name is not None else getattr(f, "__name__", type(f).__name__)
        if not self.name:
            raise ValueError("a factor needs a name")
        self.inputs = _input_count(f, self.name) if inputs is None else inputs
        if not 1 <= self.inputs <= 6:
            raise ValueError(f"{self.name}: a factor takes 1 to 6 inputs, got {self.inputs}")
        self.order = _core.default_order[self.inputs - 1] if order is None else order
        if not 1 <= self.order <= 128:
            raise ValueError(f"{self.name}: the order must be 1 to 128, got {self.order}")
        self.tolerance = float(tolerance)
        if not (self.tolerance > 0 and math.isfinite(self.tolerance)):
            raise ValueError(f"{self.name}: the tolerance must be positive and finite, got {tolerance}")
        self.vectorized = bool(vectorized)
        functools.update_wrapper(self, f, assigned=("__doc__",), updated=())
        many = f if vectorized else np.vectorize(f, otypes=[float])
        # Not a method: a reference to self would keep both alive for ever.
        evaluate = functools.partial(_evaluate, many, self.name)
        self._core = _core.PythonFactor(evaluate, self.inputs, self.name, self.order, self.tolerance)

    def __setattr__(self, name: str, value: Any) -> None:
        # The compiled part has already read its parameters, so a change would have no effect.
        if hasattr(self, "_core"):
            raise AttributeError("a factor cannot be changed; make a new one")
        super().__setattr__(name, value)

    def __call__(self, *inputs: Any) -> Any:
        return self.__wrapped__(*inputs)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return (
            f"Function({self.name}, inputs={self.inputs}, order={self.order}, tolerance={self.tolerance:g})"
        )


Factor = Union[
    Prior,
    Observation,
    WeightedSum,
    Equality,
    Product,
    LeakyRelu,
    LogNormalCopy,
    GreaterThan,
    Between,
    Probit,
    Poisson,
    NegativeBinomial,
    LogNormalObservation,
    Argmax,
    Softmax,
    WinDrawLoss,
    InnerProduct,
    GammaPrior,
    GaussianPrecision,
    Ordinal,
    Function,
]
# What an edge is connected to, row by row.
Edge = Union["Variable", str, "VariableArray", "VariableRows"]
_BUILT_IN = tuple(factor for factor in get_args(Factor) if factor is not Function)


def _input_count(f: Callable[..., Any], name: str) -> int:
    if isinstance(f, np.ufunc):
        return f.nin
    try:
        parameters = inspect.signature(f).parameters.values()
    except ValueError:
        raise ValueError(f"{name} does not show how many inputs it takes; set inputs=...") from None
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        raise ValueError(f"{name} takes any number of inputs; set inputs=...")
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in positional and one.default is one.empty for one in parameters)


def _evaluate(f: Callable[..., Any], name: str, points: Points) -> Points:
    """Evaluates f for the compiled part. Points: inputs x points; returns one float per point."""
    values = np.asarray(_call(f, name, points))
    if not np.can_cast(values.dtype, float, "same_kind"):
        raise TypeError(f"{name} must return real numbers, got an array of type {values.dtype}")
    if values.ndim == 0:
        return _constant(f, name, points, values)
    if values.shape != points.shape[1:]:
        raise ValueError(
            f"{name} must return one value per point, an array of shape {points.shape[1:]}, "
            f"got shape {values.shape}"
        )
    return values


def _call(f: Callable[..., Any], name: str, points: Points) -> Any:
    try:
        return f(*points)
    except (TypeError, ValueError) as error:
        if hasattr(error, "add_note"):  # from Python 3.11 on
            error.add_note(
                f"{name} was called with {len(points)} array(s) of {points.shape[1]} points; "
                "if it takes only numbers, use dma.factor(..., vectorized=False)"
            )
        raise


def _constant(f: Callable[..., Any], name: str, points: Points, value: Points) -> Points:
    count = points.shape[1]
    # One number for many points: a constant, or something like max(x) that mixes the points.
    if count > 1 and not np.array_equal(np.ravel(f(*points[:, :1])), [value], equal_nan=True):
        raise ValueError(
            f"{name} returned one value for {count} points and another for the first of them alone: "
            "it is not vectorised; use dma.factor(..., vectorized=False)"
        )
    return np.full(count, value, dtype=float)


@overload
def factor(
    f: Callable[..., Any],
    *,
    inputs: Optional[int] = ...,
    order: Optional[int] = ...,
    tolerance: float = ...,
    name: Optional[str] = ...,
    vectorized: bool = ...,
) -> Function:
    ...


@overload
def factor(
    f: None = ...,
    *,
    inputs: Optional[int] = ...,
    order: Optional[int] = ...,
    tolerance: float = ...,
    name: Optional[str] = ...,
    vectorized: bool = ...,
) -> Callable[[Callable[..., Any]], Function]:
    ...


def factor(
    f: Optional[Callable[..., Any]] = None,
    *,
    inputs: Optional[int] = None,
    order: Optional[int] = None,
    tolerance: float = 1e-6,
    name: Optional[str] = None,
    vectorized: bool = True,
) -> Union[Function, Callable[[Callable[..., Any]], Function]]:
    """Make a factor y = f(x_1, ..., x_n) from a function of 1 to 6 inputs.

    The message to y has the mean and variance of y under the incoming messages, by Gauss-Hermite quadrature.
    The message to an input follows from the best linear regression of y on that input.

    Parameters
    ----------
    f : callable
        Must be deterministic. It is called once per message, with one array per input that holds every point
        of the quadrature, and returns an array of the same shape. A single number is taken as a constant, after
        a second call to confirm it. Without f, a decorator is returned.
    inputs : int, optional
        Number of inputs; by default that of the parameters of f without a default.
    order : int, optional
        Nodes per input, 1 to 128; by default 32, 20, 10, 8, 6, 5 for 1 to 6 inputs.
    tolerance : float
        Promised error of the message to y, in its standard deviations. Smooth functions keep 1e-6; a kink
        costs 1e-2 and more. Only :func:`check_factor` reads it.
    name : str, optional
        Name of the factor; by default that of f.
    vectorized : bool
        False for a function that takes only numbers; it is then called once per point.

    Raises
    ------
    ValueError
        During inference, if f is not finite at a point or returns the wrong shape. Exceptions of f itself are
        passed on.

    Examples
    --------
    >>> softplus = dma.factor(lambda x: np.logaddexp(0, x), name="softplus")
    >>> softplus
    Function(softplus, inputs=1, order=32, tolerance=1e-06)
    >>> @dma.factor(order=40, tolerance=1e-2)
    ... def larger(a, b):
    ...     return np.maximum(a, b)
    >>> larger.inputs
    2
    >>> g = dma.Graph()
    >>> x, y = g.variables("x", "y")
    >>> prior, link = g.add(dma.Prior(0, 1), x), g.add(softplus, y, x)
    >>> round(g.sweep()[y].mean, 4)
    0.8061
    """
    if f is not None:
        return Function(f, inputs=inputs, order=order, tolerance=tolerance, name=name, vectorized=vectorized)
    return functools.partial(
        Function, inputs=inputs, order=order, tolerance=tolerance, name=name, vectorized=vectorized
    )


@dataclass(frozen=True)
class Variable:
    """A variable of one graph; made by :meth:`Graph.variable`."""

    graph: Graph
    index: int

    @property
    def name(self) -> str:
        return self.graph._core.variable_name(self.index)

    def __repr__(self) -> str:
        return f"Variable({self.name!r})"


@dataclass(frozen=True, eq=False)
class VariableRows:
    """The rows of an array that indices name; made by ``array[indices]``."""

    array: VariableArray
    indices: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True)
class VariableArray:
    """An array of variables of one graph; made by :meth:`Graph.variables`.

    Examples
    --------
    >>> skill = dma.Graph().variables("skill", 500)
    >>> skill[3]
    Variable('skill[3]')
    >>> skill[1:], len(skill)
    (VariableArray('skill', 499 rows), 500)
    >>> len(skill[np.array([3, 1, 3])])  # one per row of a factor
    3

    Attributes
    ----------
    graph : Graph
    rows : int
    columns : int
        0 for variables with one index, name[row]; else they are called name[row,column].
    """

    graph: Graph
    first: int
    rows: int
    columns: int = 0

    @property
    def name(self) -> str:
        name = self.graph._core.variable_name(self.first)
        return name[: name.rindex("[")]

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.rows, self.columns) if self.columns else (self.rows,)

    def __len__(self) -> int:
        return self.rows

    @overload
    def __getitem__(self, at: Union[int, tuple[int, int]]) -> Variable:
        ...

    @overload
    def __getitem__(self, at: slice) -> VariableArray:
        ...

    @overload
    def __getitem__(self, at: Union[list[int], npt.NDArray[Any]]) -> VariableRows:
        ...

    def __getitem__(self, at: Any) -> Union[Variable, VariableArray, VariableRows]:
        """A variable, a slice of consecutive rows, or the rows that an array of whole numbers names."""
        if isinstance(at, slice):
            begin, end, step = at.indices(self.rows)
            if step != 1 or begin >= end:
                raise ValueError(f"a slice of '{self.name}' must have rows that follow each other, got {at}")
            return VariableArray(
                self.graph, self.first + begin * (self.columns or 1), end - begin, self.columns
            )
        if isinstance(at, (int, np.integer)) and not self.columns:
            return self._element(int(at), 0)
        if isinstance(at, tuple) and len(at) == 2 and self.columns:
            return self._element(*at)
        indices = np.asarray(at)
        if indices.dtype.kind not in "iu" or indices.ndim != 1:
            raise TypeError(
                f"indices of '{self.name}' must be whole numbers in one dimension, "
                f"got {indices.dtype} in {indices.ndim}"
            )
        return VariableRows(self, np.ascontiguousarray(indices, dtype=np.int64))

    def _element(self, row: int, column: int) -> Variable:
        width = self.columns or 1
        if not (0 <= row < self.rows and 0 <= column < width):
            raise IndexError(f"'{self.name}' has no element {row},{column}; its shape is {self.shape}")
        return Variable(self.graph, self.first + row * width + column)

    def __repr__(self) -> str:
        return f"VariableArray({self.name!r}, {self.rows} rows)"


@dataclass(frozen=True)
class FactorArray:
    """Consecutive factors of one graph, one per row; made by :meth:`Graph.add`."""

    graph: Graph
    first: int
    rows: int

    @property
    def name(self) -> str:
        return self.graph._core.array_name(self.first, self.rows)

    def __len__(self) -> int:
        return self.rows

    @overload
    def __getitem__(self, row: int) -> FactorId:
        ...

    @overload
    def __getitem__(self, row: slice) -> FactorArray:
        ...

    def __getitem__(self, row: Union[int, slice]) -> Union[FactorId, FactorArray]:
        """A factor, or a slice of consecutive ones."""
        if isinstance(row, slice):
            begin, end, step = row.indices(self.rows)
            if step != 1 or begin > end:
                raise ValueError(f"a slice of factors must have rows that follow each other, got {row}")
            return FactorArray(self.graph, self.first + begin, end - begin)
        if not 0 <= row < self.rows:
            raise IndexError(f"there are {self.rows} factors, no row {row}")
        return FactorId(self.graph, self.first + row)

    def __repr__(self) -> str:
        return f"FactorArray({self.name!r}, {self.rows} rows)"


class Gaussians:
    """Many Gaussians, as arrays of one shape.

    Attributes
    ----------
    mean, variance, std, tau, rho : numpy.ndarray
        See :class:`Gaussian`.
    """

    def __init__(self, tau: Floats, rho: Floats) -> None:
        self.tau = tau
        self.rho = rho

    @property
    def shape(self) -> tuple[int, ...]:
        return self.rho.shape

    @property
    def mean(self) -> Floats:
        known = np.isinf(self.rho)
        divisor = np.where(known | (self.rho == 0), 1, self.rho)
        return np.where(self.rho == 0, 0, self.tau / divisor)

    @property
    def variance(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.where(self.rho == 0, np.inf, 1 / self.rho)

    @property
    def std(self) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.rho == 0, np.inf, 1 / np.sqrt(self.rho))

    def __len__(self) -> int:
        return len(self.rho)

    def __getitem__(self, at: Any) -> Union[Gaussian, Gaussians]:
        """One of them as a Gaussian, or some of them; indices as of an array."""
        tau, rho = self.tau[at], self.rho[at]
        return Gaussians(tau, rho) if isinstance(rho, np.ndarray) else Gaussian.from_natural(tau, rho)

    def __repr__(self) -> str:
        return f"Gaussians(shape={self.shape})"


class Gammas:
    """Many beliefs about precisions, as arrays.

    Attributes
    ----------
    mean, variance, std : numpy.ndarray
    gamma_shape, rate : numpy.ndarray
        See :class:`Gamma`; ``shape`` is that of the arrays.
    """

    def __init__(self, gamma_shape: Floats, rate: Floats) -> None:
        self.gamma_shape = gamma_shape
        self.rate = rate

    @property
    def shape(self) -> tuple[int, ...]:
        return self.rate.shape

    @property
    def mean(self) -> Floats:
        return self.gamma_shape / self.rate

    @property
    def variance(self) -> Floats:
        return self.mean / self.rate

    @property
    def std(self) -> Floats:
        return np.sqrt(self.variance)

    def __len__(self) -> int:
        return len(self.rate)

    def __getitem__(self, at: Any) -> Union[Gamma, Gammas]:
        """One of them as a Gamma, or some of them; indices as of an array."""
        shape, rate = self.gamma_shape[at], self.rate[at]
        return Gammas(shape, rate) if isinstance(rate, np.ndarray) else Gamma(shape, rate)

    def __repr__(self) -> str:
        return f"Gammas(shape={self.shape})"


# What is known of a variable, and of the rows of an array.
Belief = Union[Gaussian, Gamma]
BeliefRows = Union[Gaussians, Gammas]


def _belief_rows(natural: Floats, is_gamma: bool) -> BeliefRows:
    if is_gamma:
        return Gammas(natural[..., 0] + 1, natural[..., 1])
    return Gaussians(natural[..., 0], natural[..., 1])


@dataclass(frozen=True)
class FactorId:
    """A factor of one graph; made by :meth:`Graph.add`."""

    graph: Graph
    index: int

    @property
    def name(self) -> str:
        return self.graph._core.factor_name(self.index)

    @property
    def factor(self) -> Factor:
        """The factor that was added."""
        return self.graph._factor_at(self.index)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Its variables, edge by edge."""
        return tuple(Variable(self.graph, index) for index in self.graph._core.edges(self.index))

    def __repr__(self) -> str:
        return f"FactorId({self.name!r})"


class Step(NamedTuple):
    """The message from a factor to a variable, by their names."""

    factor: str
    variable: str


class Schedule(NamedTuple):
    """The order in which messages are sent: a sweep is the forward steps, then the backward steps.

    A step is a pair of a factor and a variable, or their names; or of an array of factors and the number of an edge.
    Among the steps, a list of steps of arrays goes row by row, as rows that follow each other in time need it: all its
    steps for the first row, then for the next. Among the backward steps it begins with the last row.

    Examples
    --------
    A walk of three steps, seen at each:

    >>> g = dma.Graph()
    >>> x = g.variables("x", 4)
    >>> start = g.add(dma.Prior(0, 1), x[0])
    >>> walk = g.add(dma.WeightedSum([1], variance=0.1), x[1:], x[:3])
    >>> seen = g.add(dma.Observation, x[1:], value=[1, 2, 3], variance=1)
    >>> in_time = dma.Schedule([(start, x[0]), [(walk, 0), (seen, 0)]], [[(walk, 1)]])
    >>> print(g.text(in_time), end="")
    forward  prior#0 -> x[0]
    forward  sum#1 -> x[1]
    forward  observation#4 -> x[1]
    forward  sum#2 -> x[2]
    forward  observation#5 -> x[2]
    forward  sum#3 -> x[3]
    forward  observation#6 -> x[3]
    backward sum#3 ... sum#1 -> edge 1 (x)
    >>> g.infer(schedule=in_time)[x].mean.round(2).tolist()
    [1.29, 1.41, 1.59, 1.71]
    """

    forward: list[Any]
    backward: list[Any]


class ImproperMessage(NamedTuple):
    """A message of negative precision or, under VMP, one that became a point mass."""

    factor: str
    variable: str
    sweep: int
    tau: float
    rho: float


class FailedMessage(NamedTuple):
    """A message that could not be computed, and why."""

    factor: str
    variable: str
    sweep: int
    why: str


class Beliefs(Mapping[str, Union[Belief, BeliefRows]]):
    """What inference found: a mapping from variables, or their names, to Gaussians; of a precision, to a Gamma.

    An array, or its name, leads to :class:`Gaussians` or :class:`Gammas`.

    Attributes
    ----------
    sweeps : int
        Number of sweeps run.
    converged : bool or None
        Whether the marginals converged; None without a tolerance.
    last_change : float or None
        The largest movement of a marginal in the last sweep, in standard deviations; None where it was not
        measured.
    damping : float
        As asked for.
    moving : list of str
        Variables that moved by more than the tolerance in the last sweep.
    messages_sent : int
    improper : list of ImproperMessage
        Messages of negative precision (EP, ADF).
    failed : list of FailedMessage
        Projections that do not exist (EP, ADF).
    collapsed : list of ImproperMessage
        Messages by which VMP put a point mass on a variable that had a width.
    improper_marginals : list of str
        Variables whose marginal is not a distribution.

    Examples
    --------
    >>> g = dma.Graph()
    >>> x = g.variable("x")
    >>> prior, seen = g.add(dma.Prior(0, 1), x), g.add(dma.Observation(2, 1), x)
    >>> beliefs = g.sweep()
    >>> beliefs[x] == beliefs["x"] == beliefs.marginal(x)
    True
    >>> dict(beliefs)
    {'x': Gaussian(mean=1.0, variance=0.5)}
    >>> beliefs.means()
    {'x': 1.0}
    >>> beliefs.message(seen, x)
    Gaussian(mean=2.0, variance=1.0)
    """

    def __init__(self, graph: Graph, core: _core.Beliefs, tolerance: float, goes_on: bool) -> None:
        self._graph = graph
        self._core = core
        watched = tolerance > 0
        self.sweeps: int = core.sweeps
        self.converged: Optional[bool] = core.converged if watched else None
        self.last_change: Optional[float] = (
            core.last_change if watched and (goes_on or core.sweeps > 1) else None
        )
        self.damping: float = core.damping
        self.moving = [graph._core.variable_name(v) for v in core.moving]
        self.messages_sent: int = core.messages_sent
        self.improper = [graph._improper(*one) for one in core.improper]
        self.collapsed = [graph._improper(*one) for one in core.collapsed]
        self.failed = [
            FailedMessage(*graph._step(factor, edge), sweep, why) for factor, edge, sweep, why in core.failed
        ]
        self.improper_marginals = [graph._core.variable_name(v) for v in core.improper_marginals]

    @overload
    def __getitem__(self, variable: VariableArray) -> BeliefRows:
        ...

    @overload
    def __getitem__(self, variable: Union[Variable, str]) -> Belief:
        ...

    def __getitem__(self, variable: Union[Variable, VariableArray, str]) -> Union[Belief, BeliefRows]:
        try:
            one = self._graph._find(variable)
        except ValueError as error:
            if isinstance(variable, str):
                raise KeyError(str(error)) from None
            raise
        rows, columns = (one.rows, one.columns) if isinstance(one, VariableArray) else (1, 0)
        first = one.first if isinstance(one, VariableArray) else one.index
        if self._graph._core.is_known(first):
            raise KeyError(f"'{one.name}' is known, there is no belief about it")
        if first + rows * (columns or 1) > self._core.variable_count:
            raise KeyError(f"variable '{one.name}' is newer than these beliefs")
        if isinstance(one, Variable):
            return self._core.marginal(first)
        natural = self._core.marginals(first, rows * (columns or 1))
        return _belief_rows(natural.reshape((*one.shape, 2)), self._core.is_gamma(first))

    def __iter__(self) -> Iterator[str]:
        return (name for name, first, _, _ in self._graph._core.names() if first < self._core.variable_count)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return (
            f"Beliefs({self._core.variable_count} variables, sweeps={self.sweeps}, "
            f"messages_sent={self.messages_sent})"
        )

    @overload
    def marginal(self, variable: VariableArray) -> BeliefRows:
        ...

    @overload
    def marginal(self, variable: Union[Variable, str]) -> Belief:
        ...

    def marginal(self, variable: Union[Variable, VariableArray, str]) -> Union[Belief, BeliefRows]:
        """The belief about a variable or an array; the same as ``beliefs[variable]``."""
        return self[variable]

    def message(self, factor: Union[FactorId, str], to: Union[Variable, str, int]) -> Belief:
        """The last message from a factor to one of its variables, or to the edge of this number."""
        index = self._graph._factor(factor)
        if index >= self._core.factor_count:
            raise ValueError(f"factor '{self._graph._core.factor_name(index)}' is newer than these beliefs")
        edge = self._graph._edge(index, to)
        message = self._core.message(index, edge)
        if self._core.is_gamma(self._graph._core.edges(index)[edge]):
            return Gamma(message.tau + 1, message.rho)
        return message

    def messages(self, factors: FactorArray, edge: int) -> BeliefRows:
        """The last messages from the factors of an array to the edge of this number."""
        self._graph._own(factors)
        natural = self._core.messages(factors.first, factors.rows, edge)
        is_gamma = len(factors) > 0 and self._core.is_gamma(self._graph._core.edges(factors.first)[edge])
        return _belief_rows(natural, is_gamma)

    def changes(self, variables: VariableArray) -> Floats:
        """How far each variable of an array moved in the last sweep, in standard deviations; 0 without a tolerance."""
        self[variables]  # checks that it is known here
        moved = self._core.changes(variables.first, variables.rows * (variables.columns or 1))
        return np.array(moved).reshape(variables.shape)

    def log_evidence(self) -> float:
        """The log of the probability of all that was observed, to compare models of the same data.

        It needs the engine "direct" or "ep", and beliefs that have converged. It is exact on a tree of exact messages,
        and if one factor at most is approximated between exact ones; otherwise it is the Bethe approximation.

        Raises
        ------
        ValueError
            If it does not exist; the text says why.

        Examples
        --------
        >>> g = dma.Graph()
        >>> x = g.variable("x")
        >>> prior, seen = g.add(dma.Prior(0, 1), x), g.add(dma.Observation(2, 1), x)
        >>> round(g.sweep().log_evidence(), 4)  # log N(2; 0, 1 + 1)
        -2.2655
        """
        return self._graph._core.log_evidence(self._core)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Write these beliefs to a file, from which :meth:`Graph.load` reads them.

        The graph is not in the file. What went wrong while they were found is not either: ``improper``, ``failed`` and
        ``collapsed`` are of the run.
        """
        self._core.save(os.fspath(path))

    def means(self) -> dict[str, Union[float, Floats]]:
        """The mean of every variable, by name; of an array, an array."""
        return {name: belief.mean for name, belief in self.items()}

    def stds(self) -> dict[str, Union[float, Floats]]:
        """The standard deviation of every variable, by name; of an array, an array."""
        return {name: belief.std for name, belief in self.items()}


def _has_rows(name: str, value: Points) -> bool:
    """Whether a parameter has an entry per row: the coefficients of one factor are an array already."""
    return value.ndim > (1 if name == "coefficients" else 0)


class _Added(NamedTuple):
    """Factors that were added by one call."""

    factor: Any  # a factor, or the type of one
    values: Optional[dict[str, Points]]  # its parameters, where it is a type


class Graph:
    """A factor graph of named variables.

    Examples
    --------
    >>> g = dma.Graph()
    >>> x, z = g.variables("x", "z")
    >>> g.add(dma.Prior(0, 4), x)
    FactorId('prior#0')
    >>> g.add(dma.WeightedSum([2], offset=1, variance=1), z, x, name="line")
    FactorId('line')
    >>> g.add(dma.Observation(7, 0), z)
    FactorId('observation#2')
    >>> belief = g.sweep()[x]  # N(3, 1/4) times the prior
    >>> round(belief.mean, 4), round(belief.variance, 4)
    (2.8235, 0.2353)
    """

    def __init__(self) -> None:
        self._core = _core.Graph()
        self._added: list[_Added] = []
        self._firsts: list[int] = []  # their first factors

    def variable(self, name: Optional[str] = None) -> Variable:
        """Add a variable. The name must be new; without one it is called v0, v1, ..."""
        return Variable(self, self._core.variable() if name is None else self._core.variable(name))

    @overload
    def variables(self, *names: str) -> tuple[Variable, ...]:
        ...

    @overload
    def variables(
        self, name: str, shape: Union[int, tuple[int, int]], /, prior: Optional[Factor] = ...
    ) -> VariableArray:
        ...

    def variables(self, *names: Any, prior: Optional[Factor] = None) -> Any:
        """Add variables with these names; or, from a name and a shape, an array of variables.

        Parameters
        ----------
        *names : str, or str and int or (int, int)
        prior : Factor, optional
            Added to every element of the array.

        Examples
        --------
        >>> g = dma.Graph()
        >>> g.variables("x", "y")
        (Variable('x'), Variable('y'))
        >>> g.variables("skill", 500, prior=dma.Prior(25, 70))
        VariableArray('skill', 500 rows)
        >>> g.variables("trait", (100, 3))[4, 2]
        Variable('trait[4,2]')
        """
        if len(names) != 2 or isinstance(names[1], str):
            if prior is not None:
                raise TypeError("a prior needs an array: variables(name, shape, prior=...)")
            return tuple(self.variable(name) for name in names)
        name, shape = names
        rows, columns = shape if isinstance(shape, tuple) else (shape, 0)
        if rows < 1 or (isinstance(shape, tuple) and columns < 1):
            raise ValueError(f"the array '{name}' needs at least one variable, got the shape {shape}")
        array = VariableArray(self, self._core.variables(name, rows, columns), rows, columns)
        if prior is not None:
            self.add(prior, VariableArray(self, array.first, rows * (columns or 1)))
        return array

    @overload
    def known(self, name: str, values: float) -> Variable:
        ...

    @overload
    def known(self, name: str, values: Union[list[float], npt.NDArray[Any]]) -> VariableArray:
        ...

    def known(self, name: str, values: Any) -> Union[Variable, VariableArray]:
        """Numbers that are known, for the edges of factors: one, or an array of them.

        They stand for variables that are observed without noise, and take 8 bytes each. They have no belief, and nothing
        is sent to them.

        Examples
        --------
        >>> g = dma.Graph()
        >>> x = g.variable("x")
        >>> prior = g.add(dma.Prior(0, 1), x)
        >>> seen = g.add(dma.WeightedSum([1], variance=1), g.known("y", 2), x)
        >>> g.sweep()[x]
        Gaussian(mean=1.0, variance=0.5)
        """
        numbers = np.asarray(values, dtype=float)
        if numbers.ndim == 0:
            return Variable(self, self._core.known_number(name, float(numbers)))
        if numbers.ndim != 1:
            raise ValueError(f"known numbers need one dimension, got {numbers.ndim}")
        return VariableArray(self, self._core.known(name, numbers), len(numbers))

    @overload
    def add(  # type: ignore[misc]  # the first that fits is meant
        self, factor: Factor, *variables: Union[Variable, str], name: Optional[str] = ...
    ) -> FactorId:
        ...

    @overload
    def add(
        self, factor: Union[Factor, type[Any]], *variables: Edge, name: Optional[str] = ..., **parameters: Any
    ) -> FactorArray:
        ...

    def add(
        self, factor: Any, *variables: Edge, name: Optional[str] = None, **parameters: Any
    ) -> Union[FactorId, FactorArray]:
        """Add a factor on these variables, in the order of its edges.

        If one of them is an array, or the rows of one that indices name, a factor is added for each row, as if one by
        one. They share the factor's parameters. With a type in place of a factor, its parameters follow by name, and
        each may be an array with an entry per row.

        On a graph with cycles, the forward sweep visits factors in the order in which they were added.

        Parameters
        ----------
        factor : Prior, Observation, ..., or Function; or a type
        *variables : Variable, str, VariableArray or VariableRows
            An array with columns stands for as many edges.
        name : str, optional
            Name of the factor; by default its type and number, such as ``product#2``.
        **parameters : array_like
            Of a type.

        Examples
        --------
        >>> home, away, goals = np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([2.0, 0.0, 1.0])
        >>> g = dma.Graph()
        >>> skill = g.variables("skill", 3, prior=dma.Prior(0, 1))
        >>> lead = g.variables("lead", len(goals))
        >>> g.add(dma.WeightedSum([1, -1]), lead, skill[home], skill[away])
        FactorArray('sum#3 ... sum#5', 3 rows)
        >>> g.add(dma.Observation, lead, value=goals, variance=1, name="seen")
        FactorArray('seen', 3 rows)
        >>> g.infer(sweeps=20)[skill].mean.round(3)
        array([ 0.25, -0.5 ,  0.25])
        """
        if isinstance(factor, type):
            if factor not in _BUILT_IN:
                raise TypeError(f"a type of factor such as dma.Observation is expected, got {factor!r}")
        elif parameters:
            raise TypeError("parameters by name follow a type of factor, such as dma.Observation")
        core = factor._core if isinstance(factor, Function) else factor
        if not isinstance(factor, type) and not isinstance(core, (*_BUILT_IN, _core.PythonFactor)):
            raise TypeError(
                f"the first argument of add must be a factor such as dma.Prior(0, 1), got {factor!r}"
            )
        if name is not None:
            self._check_new_name(name)
        if not isinstance(factor, type) and all(isinstance(one, (Variable, str)) for one in variables):
            index = self._core.add(core, [self._variable(one) for one in variables])
            if name is not None:
                self._core.set_name(index, name)
            self._remember(index, factor, None)
            return FactorId(self, index)
        values: Optional[dict[str, Points]] = None
        if isinstance(factor, type):
            values = self._values(factor, parameters)
            longest = next((len(value) for key, value in values.items() if _has_rows(key, value)), None)
            edges = [self._edge_rows(one, longest) for one in variables]
            first, rows = factor._add_by_row(self._core, edges, *values.values())  # type: ignore[attr-defined]
        else:
            first, rows = self._core.add_rows(core, [self._edge_rows(one, None) for one in variables])
        added = FactorArray(self, first, rows)
        if name is not None:
            self._core.set_array_name(first, rows, name)
        if rows:
            self._remember(first, factor, values)
        return added

    def _remember(self, first: int, factor: Any, values: Optional[dict[str, Points]]) -> None:
        self._firsts.append(first)
        self._added.append(_Added(factor, values))

    def find(self, name: str) -> Variable:
        """The variable with this name; ValueError if there is none."""
        return Variable(self, self._core.find(name))

    def find_factor(self, name: str) -> FactorId:
        """The factor with this name; ValueError if there is none."""
        return FactorId(self, self._factor(name))

    @property
    def variable_names(self) -> list[str]:
        """Names of the variables and arrays, in the order in which they were added."""
        return [name for name, _, _, _ in self._core.names()]

    @property
    def factor_names(self) -> list[str]:
        """Names of the factors, in the order in which they were added; those of an array share one."""
        ends = [*self._firsts[1:], self.factor_count]
        return [self._core.array_name(first, end - first) for first, end in zip(self._firsts, ends)]

    @property
    def variable_count(self) -> int:
        return self._core.variable_count

    @property
    def factor_count(self) -> int:
        return self._core.factor_count

    @property
    def edge_count(self) -> int:
        return self._core.edge_count

    def __repr__(self) -> str:
        return f"Graph({self.variable_count} variables, {self.factor_count} factors, {self.edge_count} edges)"

    def is_forest(self) -> bool:
        """Whether there is no cycle, so that every message needs to be sent only once."""
        return self._core.is_forest()

    def tree_schedule(self) -> Schedule:
        """From the leaves to the root and back: exact on a tree. ValueError if there is a cycle."""
        return self._named(self._core.tree_schedule())

    def sequential_schedule(self) -> Schedule:
        """Factors in the order in which they were added, then in reverse."""
        return self._named(self._core.sequential_schedule())

    def assimilation_schedule(self) -> Schedule:
        """Every factor in the order in which it was added, to all of its edges; no backward steps (ADF)."""
        return self._named(self._core.assimilation_schedule())

    def schedule(self, engine: str = "direct", rule: str = "direct") -> Schedule:
        """The schedule that :meth:`infer` uses by default."""
        return self._named(self._core.schedule(engine, rule))

    def text(self, schedule: Schedule) -> str:
        """A schedule as text, one line per step.

        >>> g = dma.Graph()
        >>> x = g.variable("x")
        >>> prior = g.add(dma.Prior(0, 1), x)
        >>> print(g.text(g.schedule()), end="")
        forward  prior#0 -> x
        """
        return self._core.text(self._numbered(schedule))

    def sweep(self, rule: str = "direct") -> Beliefs:
        """One forward and one backward sweep of direct messages.

        Parameters
        ----------
        rule : {"direct", "linear"}
            The paper's messages, or statistical linearisation under the incoming ones.
        """
        return self.infer(rule=rule)

    def infer(
        self,
        engine: str = "direct",
        rule: str = "direct",
        sweeps: Optional[int] = None,
        tolerance: float = 0.0,
        on_improper: str = "pass",
        schedule: Optional[Schedule] = None,
        damping: float = 0.0,
        acceleration: int = 0,
        start: Optional[Beliefs] = None,
        threads: int = 1,
    ) -> Beliefs:
        """Run inference. Other Python threads keep running; the graph must not change meanwhile.

        Parameters
        ----------
        engine : {"direct", "ep", "vmp", "adf"}
            Direct approximation of each message; expectation propagation; variational message passing;
            assumed-density filtering.
        rule : {"direct", "linear"}
            Messages of engine "direct".
        sweeps : int, optional
            Maximum number of sweeps; by default 1, or 100 with a tolerance.
        tolerance : float
            Stop when no marginal moved by more than this, in its standard deviations. 0: run all sweeps.
        on_improper : {"pass", "skip", "stop"}
            What EP does with a message of negative precision; it is always reported.
        schedule : Schedule, optional
            By default ``self.schedule(engine, rule)``.
        damping : float
            Share of the message before that is kept, in [0, 1); engines "direct" and "ep".
        acceleration : int
            For graphs that converge slowly: how many sweeps to look back on to extrapolate the next messages
            (Anderson). It needs a tolerance, and the engine "direct" or "ep".
        start : Beliefs, optional
            Goes on from these beliefs of the graph, or of what it was before it grew or forgot. A schedule of new
            factors alone moves only what they touch.
        threads : int
            At most so many for rows of arrays that do not touch each other's variables; 0: all cores. The beliefs are
            the same for any number.

        Raises
        ------
        ValueError
            If inference diverges (with a tolerance), the engine has no message for a factor, an argument is out of range, or a function is not finite.
        """
        if sweeps is None:
            sweeps = 100 if tolerance > 0 else 1
        if sweeps < 1:
            raise ValueError(f"sweeps must be at least 1, got {sweeps}")
        if threads < 0:
            raise ValueError(f"threads must be at least 0, got {threads}")
        numbers = None if schedule is None else self._numbered(schedule)
        if start is not None and start._graph is not self:
            raise ValueError("these beliefs are of another graph")
        before = None if start is None else start._core
        core = self._core.infer(
            engine, rule, sweeps, tolerance, on_improper, damping, acceleration, threads, numbers, before
        )
        return Beliefs(self, core, tolerance, before is not None)

    def forget(self, factors: Union[FactorId, FactorArray, str]) -> None:
        """Take back what a factor says, or an array of factors.

        No schedule visits them, inference that goes on does without their messages, and no evidence counts them.

        Examples
        --------
        >>> g = dma.Graph()
        >>> x = g.variable("x")
        >>> prior, seen = g.add(dma.Prior(0, 1), x), g.add(dma.Observation(2, 1), x)
        >>> known = g.sweep()
        >>> g.forget(seen)
        >>> g.infer(start=known)[x]
        Gaussian(mean=0.0, variance=1.0)
        """
        if isinstance(factors, FactorArray):
            self._core.forget(self._own(factors).first, factors.rows)
        else:
            self._core.forget(self._factor(factors), 1)

    def load(self, path: Union[str, os.PathLike[str]]) -> Beliefs:
        """Beliefs that were saved of this graph as it is, or as it was before it grew or forgot.

        Build the graph as it was built then, load, add what is new, and go on with ``start=``.

        Raises
        ------
        ValueError
            If the file does not hold beliefs of this graph.

        Examples
        --------
        >>> def league():
        ...     g = dma.Graph()
        ...     x = g.variable("x")
        ...     g.add(dma.Prior(0, 1), x)
        ...     return g, x
        >>> g, x = league()
        >>> g.sweep().save("league.safetensors")
        >>> g, x = league()  # another day
        >>> known = g.load("league.safetensors")
        >>> seen = g.add(dma.Observation(2, 1), x)
        >>> g.infer(start=known)[x]
        Gaussian(mean=1.0, variance=0.5)
        """
        core = self._core.load(os.fspath(path))
        return Beliefs(self, core, 1 if core.measured else 0, True)

    def _check_new_name(self, name: str) -> None:
        if not name:
            raise ValueError("a factor needs a name")
        if "#" in name:
            raise ValueError(f"a factor's name must not contain '#', which marks default names, got {name!r}")
        for taken in (name, f"{name}[0]"):  # the name of a factor, or of an array
            try:
                self._core.find_factor(taken)
            except ValueError:
                continue
            raise ValueError(f"there is already a factor called '{name}'")

    def _values(self, factor: type[Any], parameters: dict[str, Any]) -> dict[str, Points]:
        """All parameters of a type of factor, as arrays."""
        defaults: dict[str, Any] = factor._defaults
        unknown = [name for name in parameters if name not in defaults]
        missing = [name for name, default in defaults.items() if default is None and name not in parameters]
        if unknown or missing:
            raise TypeError(
                f"{factor.__name__} takes {', '.join(defaults) or 'no parameters'}; "
                f"{'unknown: ' + ', '.join(unknown) if unknown else 'missing: ' + ', '.join(missing)}"
            )
        # Copies: they are kept.
        return {name: np.array(parameters.get(name, defaults[name]), dtype=float) for name in defaults}

    def _edge_rows(self, edge: Edge, rows: Optional[int]) -> tuple[int, int, int, Any]:
        if isinstance(edge, VariableRows):
            array = self._array(edge.array)
            return array.first, array.rows, array.columns or 1, edge.indices
        if isinstance(edge, VariableArray):
            array = self._array(edge)
            return array.first, array.rows, array.columns or 1, None
        return self._variable(edge), 0, 1, rows

    def _array(self, array: VariableArray) -> VariableArray:
        if array.graph is not self:
            raise ValueError(f"the array '{array.name}' belongs to another graph")
        return array

    def _find(self, variable: Union[Variable, VariableArray, str]) -> Union[Variable, VariableArray]:
        if isinstance(variable, VariableArray):
            return self._array(variable)
        if isinstance(variable, str):
            for name, first, rows, columns in self._core.names():
                if name == variable and rows:
                    return VariableArray(self, first, rows, columns)
        return Variable(self, self._variable(variable))

    def _factor_at(self, index: int) -> Factor:
        at = bisect.bisect_right(self._firsts, index) - 1
        added = self._added[at]
        if added.values is None:
            return added.factor
        row = index - self._firsts[at]
        own = {name: value[row] if _has_rows(name, value) else value for name, value in added.values.items()}
        return added.factor(**{name: value.tolist() for name, value in own.items()})

    def _variable(self, variable: Edge) -> int:
        if isinstance(variable, str):
            return self._core.find(variable)
        if not isinstance(variable, Variable):
            raise TypeError(f"expected a variable of this graph or its name, got {variable!r}")
        if variable.graph is not self:
            raise ValueError(f"variable '{variable.name}' belongs to another graph")
        return variable.index

    def _factor(self, factor: Union[FactorId, str]) -> int:
        if isinstance(factor, str):
            return self._core.find_factor(factor)
        if not isinstance(factor, FactorId):
            raise TypeError(f"expected a factor of this graph or its name, got {factor!r}")
        if factor.graph is not self:
            raise ValueError(f"factor '{factor.name}' belongs to another graph")
        return factor.index

    def _edge(self, factor: int, to: Union[Variable, str, int]) -> int:
        edges = self._core.edges(factor)
        name = self._core.factor_name(factor)
        if isinstance(to, int):
            if not 0 <= to < len(edges):
                raise ValueError(f"factor '{name}' has edges 0 to {len(edges) - 1}, got {to}")
            return to
        variable = self._variable(to)
        if variable not in edges:
            raise ValueError(
                f"factor '{name}' has no edge to variable '{self._core.variable_name(variable)}'"
            )
        return edges.index(variable)

    def _step(self, factor: int, edge: int) -> Step:
        variable = self._core.edges(factor)[edge]
        return Step(self._core.factor_name(factor), self._core.variable_name(variable))

    def _improper(self, factor: int, edge: int, sweep: int, tau: float, rho: float) -> ImproperMessage:
        return ImproperMessage(*self._step(factor, edge), sweep, tau, rho)

    def _named(self, numbers: _core.Numbers) -> Schedule:
        forward, backward = numbers
        return Schedule(self._named_steps(forward), self._named_steps(backward))

    def _named_steps(self, parts: list[_core.Part]) -> list[Any]:
        return [
            self._step(factor + (-row if back else row), edge)
            for steps, rows, back in parts
            for row in range(rows)
            for factor, edge in steps.tolist()
        ]

    def _numbered(self, schedule: Schedule) -> _core.Numbers:
        try:
            forward, backward = schedule
        except (TypeError, ValueError):
            raise TypeError("a schedule must be a pair: the forward steps and the backward steps") from None
        return self._numbered_steps(forward, False), self._numbered_steps(backward, True)

    def _numbered_steps(self, steps: Iterable[Any], back: bool) -> list[_core.Part]:
        parts: list[_core.Part] = []
        singles: list[tuple[int, int]] = []  # steps that wait to become a part

        def flush() -> None:
            if singles:
                parts.append((np.array(singles, dtype=np.uint32), 1, False))
                singles.clear()

        for step in steps:
            if isinstance(step, list) and step and isinstance(step[0], tuple):
                flush()
                parts.append(self._steps_by_row(step, back))
                continue
            if not isinstance(step, (tuple, list)) or len(step) != 2:
                raise TypeError(f"a step must be a pair (factor, variable), got {step!r}")
            if isinstance(step[0], FactorArray):
                flush()
                parts.append(self._steps_by_row([(step[0], step[1])], False))
            else:
                factor = self._factor(step[0])
                singles.append((factor, self._edge(factor, step[1])))
        flush()
        return parts

    def _steps_by_row(self, steps: list[tuple[FactorArray, int]], back: bool) -> _core.Part:
        """The steps of the first row, how many rows there are, and whether they begin with the last."""
        for step in steps:
            if len(step) != 2 or not isinstance(step[0], FactorArray):
                raise TypeError(f"a step row by row must be a pair (array of factors, edge), got {step!r}")
        rows = sorted({factors.rows for factors, _ in steps})
        if len(rows) > 1:
            raise ValueError(f"steps row by row need arrays of as many rows, got {rows}")
        pattern = []
        for factors, edge in steps:
            self._own(factors)
            if not isinstance(edge, int) or not factors.rows:
                raise TypeError(f"a step of an array of factors names the number of an edge, got {edge!r}")
            pattern.append((factors.first + back * (factors.rows - 1), self._edge(factors.first, edge)))
        return np.array(pattern, dtype=np.uint32), rows[0], back

    def _own(self, factors: FactorArray) -> FactorArray:
        if factors.graph is not self:
            raise ValueError(f"factors '{factors.name}' belong to another graph")
        return factors


class FactorCheck(NamedTuple):
    """One check of a factor."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class FactorReport:
    """What :func:`check_factor` found; ``print`` it."""

    factor: str
    checks: list[FactorCheck]
    text: str

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        failed = [check.name for check in self.checks if not check.passed]
        return f"FactorReport({self.factor!r}, passed={self.passed}, failed={failed})"


def check_factor(factor: Factor, random_inputs: Optional[int] = None, seed: int = 1) -> FactorReport:
    """Check whether a factor keeps its promises.

    Five checks: messages concentrate on the exact value as their inputs do (dirac), never have negative
    precision or NaN (precision), match the moments of adaptive quadrature to the factor's tolerance (moments),
    do not depend on their own edge (independence), and agree in single precision (float).

    Parameters
    ----------
    factor : Prior, Observation, ..., or Function
    random_inputs : int, optional
        For the check of precision, per direction and rule: by default 100 000 for built-in factors (1 000 for
        Argmax, 10 for Softmax) and 5 000 for a Python function, so that the checks take seconds.
    seed : int
        The same seed gives the same report.

    Returns
    -------
    FactorReport
        With ``passed``, ``checks`` and, as ``str(report)``, one line per check.

    Examples
    --------
    >>> dma.check_factor(dma.factor(np.tanh, tolerance=1e-2)).passed
    True
    >>> report = dma.check_factor(dma.factor(np.abs, tolerance=1e-9))  # a kink, so this promises too much
    >>> [check.name for check in report.checks if not check.passed]
    ['moments']
    """
    core = factor._core if isinstance(factor, Function) else factor
    if not isinstance(core, (*_BUILT_IN, _core.PythonFactor)):
        raise TypeError(f"check_factor needs a factor such as dma.Prior(0, 1), got {factor!r}")
    if random_inputs is None:
        random_inputs = 5_000 if isinstance(factor, Function) else 0  # the factor's own
    elif random_inputs < 1:
        raise ValueError(f"random_inputs must be at least 1, got {random_inputs}")
    # The harness tries inputs far outside a function's usual range, and counts what is not finite.
    with np.errstate(all="ignore"):
        name, checks, text = _core.check_factor(core, random_inputs, seed)
    return FactorReport(name, [FactorCheck(*check) for check in checks], text)
