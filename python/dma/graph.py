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

import functools
import inspect
import math
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
    Gaussian,
    GreaterThan,
    LeakyRelu,
    LogNormalCopy,
    LogNormalObservation,
    NegativeBinomial,
    Observation,
    Poisson,
    Prior,
    Probit,
    Product,
    Softmax,
    WeightedSum,
)

__all__ = [
    "Argmax",
    "Beliefs",
    "Between",
    "Equality",
    "FactorCheck",
    "FactorId",
    "FactorReport",
    "FailedMessage",
    "Function",
    "Gaussian",
    "Graph",
    "GreaterThan",
    "ImproperMessage",
    "LeakyRelu",
    "LogNormalCopy",
    "LogNormalObservation",
    "NegativeBinomial",
    "Observation",
    "Poisson",
    "Prior",
    "Probit",
    "Product",
    "Schedule",
    "Softmax",
    "Step",
    "Variable",
    "WeightedSum",
    "check_factor",
    "factor",
]

Points = npt.NDArray[Any]


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
    Function,
]
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
        return self.graph._factors[self.index]

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
    """The order in which messages are sent: a sweep is the forward steps, then the backward steps."""

    forward: list[Step]
    backward: list[Step]


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


class Beliefs(Mapping[str, Gaussian]):
    """What inference found: a mapping from variables, or their names, to Gaussians.

    Attributes
    ----------
    sweeps : int
        Number of sweeps run.
    converged : bool or None
        Whether the marginals converged; None without a tolerance.
    last_change : float or None
        The largest movement of a marginal in the last sweep, in standard deviations; None where it was not
        measured.
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

    def __init__(self, graph: Graph, core: _core.Beliefs, tolerance: float) -> None:
        self._graph = graph
        self._core = core
        watched = tolerance > 0
        self.sweeps: int = core.sweeps
        self.converged: Optional[bool] = core.converged if watched else None
        self.last_change: Optional[float] = core.last_change if watched and core.sweeps > 1 else None
        self.messages_sent: int = core.messages_sent
        self.improper = [graph._improper(*one) for one in core.improper]
        self.collapsed = [graph._improper(*one) for one in core.collapsed]
        self.failed = [
            FailedMessage(*graph._step(factor, edge), sweep, why) for factor, edge, sweep, why in core.failed
        ]
        self.improper_marginals = [graph._core.variable_name(v) for v in core.improper_marginals]

    def __getitem__(self, variable: Union[Variable, str]) -> Gaussian:
        try:
            index = self._graph._variable(variable)
        except ValueError as error:
            if isinstance(variable, str):
                raise KeyError(str(error)) from None
            raise
        if index >= self._core.variable_count:
            raise KeyError(f"variable '{self._graph._core.variable_name(index)}' is newer than these beliefs")
        return self._core.marginal(index)

    def __iter__(self) -> Iterator[str]:
        return map(self._graph._core.variable_name, range(len(self)))

    def __len__(self) -> int:
        return self._core.variable_count

    def __repr__(self) -> str:
        return f"Beliefs({len(self)} variables, sweeps={self.sweeps}, messages_sent={self.messages_sent})"

    def marginal(self, variable: Union[Variable, str]) -> Gaussian:
        """The belief about a variable; the same as ``beliefs[variable]``."""
        return self[variable]

    def message(self, factor: Union[FactorId, str], to: Union[Variable, str, int]) -> Gaussian:
        """The last message from a factor to one of its variables, or to the edge of this number."""
        index = self._graph._factor(factor)
        if index >= self._core.factor_count:
            raise ValueError(f"factor '{self._graph._core.factor_name(index)}' is newer than these beliefs")
        return self._core.message(index, self._graph._edge(index, to))

    def means(self) -> dict[str, float]:
        """The mean of every variable, by name."""
        return {name: belief.mean for name, belief in self.items()}

    def stds(self) -> dict[str, float]:
        """The standard deviation of every variable, by name."""
        return {name: belief.std for name, belief in self.items()}


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
        self._factors: list[Factor] = []
        self._factor_by_name: dict[str, int] = {}

    def variable(self, name: Optional[str] = None) -> Variable:
        """Add a variable. The name must be new; without one it is called v0, v1, ..."""
        return Variable(self, self._core.variable() if name is None else self._core.variable(name))

    def variables(self, *names: str) -> tuple[Variable, ...]:
        """Add variables with these names.

        >>> dma.Graph().variables("x", "y")
        (Variable('x'), Variable('y'))
        """
        return tuple(self.variable(name) for name in names)

    def add(self, factor: Factor, *variables: Union[Variable, str], name: Optional[str] = None) -> FactorId:
        """Add a factor on these variables, in the order of its edges.

        On a graph with cycles, the forward sweep visits factors in the order in which they were added.

        Parameters
        ----------
        factor : Prior, Observation, ..., or Function
        *variables : Variable or str
        name : str, optional
            Name of the factor; by default its type and number, such as ``product#2``.
        """
        core = factor._core if isinstance(factor, Function) else factor
        if not isinstance(core, (*_BUILT_IN, _core.PythonFactor)):
            raise TypeError(
                f"the first argument of add must be a factor such as dma.Prior(0, 1), got {factor!r}"
            )
        if name is not None:
            self._check_new_name(name)
        index = self._core.add(core, [self._variable(one) for one in variables])
        if name is not None:
            self._core.set_name(index, name)
        self._factors.append(factor)
        self._factor_by_name[self._core.factor_name(index)] = index
        return FactorId(self, index)

    def find(self, name: str) -> Variable:
        """The variable with this name; ValueError if there is none."""
        return Variable(self, self._core.find(name))

    def find_factor(self, name: str) -> FactorId:
        """The factor with this name; ValueError if there is none."""
        return FactorId(self, self._factor(name))

    @property
    def variable_names(self) -> list[str]:
        """Names of the variables, in the order in which they were added."""
        return [self._core.variable_name(index) for index in range(self.variable_count)]

    @property
    def factor_names(self) -> list[str]:
        """Names of the factors, in the order in which they were added."""
        return list(self._factor_by_name)

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
            Pairs of a factor and a variable, or their names; by default ``self.schedule(engine, rule)``.

        Raises
        ------
        ValueError
            If the engine has no message for a factor, an argument is out of range, or a function is not finite.
        """
        if sweeps is None:
            sweeps = 100 if tolerance > 0 else 1
        if sweeps < 1:
            raise ValueError(f"sweeps must be at least 1, got {sweeps}")
        numbers = None if schedule is None else self._numbered(schedule)
        core = self._core.infer(engine, rule, sweeps, tolerance, on_improper, numbers)
        return Beliefs(self, core, tolerance)

    def _check_new_name(self, name: str) -> None:
        if not name:
            raise ValueError("a factor needs a name")
        if "#" in name:
            raise ValueError(f"a factor's name must not contain '#', which marks default names, got {name!r}")
        if name in self._factor_by_name:
            raise ValueError(f"there is already a factor called '{name}'")

    def _variable(self, variable: Union[Variable, str]) -> int:
        if isinstance(variable, str):
            return self._core.find(variable)
        if not isinstance(variable, Variable):
            raise TypeError(f"expected a variable of this graph or its name, got {variable!r}")
        if variable.graph is not self:
            raise ValueError(f"variable '{variable.name}' belongs to another graph")
        return variable.index

    def _factor(self, factor: Union[FactorId, str]) -> int:
        if isinstance(factor, str):
            if factor not in self._factor_by_name:
                raise ValueError(f"there is no factor called '{factor}'")
            return self._factor_by_name[factor]
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
        return Schedule([self._step(*step) for step in forward], [self._step(*step) for step in backward])

    def _numbered(self, schedule: Schedule) -> _core.Numbers:
        try:
            forward, backward = schedule
        except (TypeError, ValueError):
            raise TypeError("a schedule must be a pair: the forward steps and the backward steps") from None
        return self._numbered_steps(forward), self._numbered_steps(backward)

    def _numbered_steps(self, steps: Iterable[tuple[Any, Any]]) -> list[tuple[int, int]]:
        numbers = []
        for step in steps:
            if not isinstance(step, (tuple, list)) or len(step) != 2:
                raise TypeError(f"a step must be a pair (factor, variable), got {step!r}")
            factor = self._factor(step[0])
            numbers.append((factor, self._edge(factor, step[1])))
        return numbers


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
