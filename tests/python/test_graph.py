"""Graphs, factors and messages from Python."""

import doctest
import gc
import math
import pickle
import threading
import time
import traceback
import weakref

import numpy as np
import pytest

import dma
import dma.graph


BUILT_IN = [
    dma.Prior(1, 2),
    dma.Observation(-1, 0.5),
    dma.WeightedSum([1, -2.5], 0.5, 2),
    dma.Equality(),
    dma.Product(),
    dma.LeakyRelu(0.1),
    dma.LogNormalCopy(-1),
    dma.GreaterThan(0.3),
    dma.Between(-0.5, 1.2),
    dma.Probit(-1, 0.3, 0.5),
    dma.Poisson(3),
    dma.NegativeBinomial(2, 1.5),
    dma.LogNormalObservation(3, 0.5),
    dma.Argmax(2, 0.5),
    dma.Softmax(1),
    dma.WinDrawLoss(-1, 0.7, 1.3),
    dma.InnerProduct(0.5, 0.2),
    dma.GammaPrior(2.5, 0.7),
    dma.GaussianPrecision(),
    dma.Ordinal(0.5),
]


def product_graph():
    g = dma.Graph()
    x, y, z = g.variables("x", "y", "z")
    g.add(dma.Prior(3, 1), x)
    g.add(dma.Prior(4, 1), y)
    g.add(dma.Product(), z, x, y)
    g.add(dma.Observation(10, 5), z)
    return g


def function_graph(f, mean=0.0, variance=1.0):
    """y = f(x) with a prior on x."""
    g = dma.Graph()
    x, y = g.variables("x", "y")
    g.add(dma.Prior(mean, variance), x)
    g.add(f, y, x)
    return g


# Documentation


def test_docstrings():
    finder = doctest.DocTestFinder()
    runner = doctest.DocTestRunner()
    globs = {"dma": dma, "np": np}
    tests = finder.find(dma.graph, "dma.graph", globs=globs)
    for name in dma.graph.__all__:
        tests += finder.find(getattr(dma, name), name, module=False, globs=globs)
    for test in tests:
        runner.run(test)
    assert runner.failures == 0
    assert runner.tries > 50


def test_everything_public_is_exported_and_documented():
    assert set(dma.graph.__all__) <= set(dma.__all__)
    assert all(getattr(dma, name).__doc__ for name in dma.graph.__all__)


# Gaussians


def test_gaussian_states():
    proper = dma.Gaussian.from_moments(2, 4)
    assert (proper.mean, proper.variance, proper.std, proper.tau, proper.rho) == (2, 4, 2, 0.5, 0.25)
    assert proper.is_proper and not proper.is_point and not proper.is_uniform
    assert proper == dma.Gaussian(2, variance=4) == dma.Gaussian.from_natural(0.5, 0.25)
    assert dma.Gaussian.point(3).is_point and dma.Gaussian.point(3).mean == 3
    assert dma.Gaussian.point(3) == dma.Gaussian(3, 0)
    assert dma.Gaussian.uniform().is_uniform and math.isinf(dma.Gaussian.uniform().variance)
    improper = dma.Gaussian(0, 2) / dma.Gaussian(0, 1)
    assert improper.rho == -0.5 and improper.variance == -2 and math.isnan(improper.std)
    assert not (improper.is_proper or improper.is_point or improper.is_uniform)


def test_gaussian_arithmetic_and_value():
    a, b = dma.Gaussian(1, 2), dma.Gaussian(3, 2)
    assert a * b == dma.Gaussian(2, 1)
    assert a * dma.Gaussian.point(5) == dma.Gaussian.point(5)
    assert a != b and a != "a"
    assert {a: 1}[dma.Gaussian(1, 2)] == 1
    assert pickle.loads(pickle.dumps(a)) == a
    for one in (a, dma.Gaussian.point(0.1), dma.Gaussian.uniform(), a / (a * b)):
        assert eval(repr(one), {"Gaussian": dma.Gaussian}) == one
    with pytest.raises(AttributeError):
        a.tau = 3.0
    with pytest.raises(TypeError):
        a * 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: dma.Gaussian(0, -1),
        lambda: dma.Gaussian(math.nan, 1),
        lambda: dma.Gaussian.point(math.inf),
        lambda: dma.Gaussian.from_natural(math.nan, 1),
        lambda: dma.Gaussian.from_natural(0, math.nan),
        lambda: dma.Gaussian.point(1) * dma.Gaussian.point(2),
        lambda: dma.Gaussian(0, 1) / dma.Gaussian.point(2),
    ],
)
def test_gaussian_refusals(make):
    with pytest.raises(ValueError):
        make()


# Factors


@pytest.mark.parametrize("factor", BUILT_IN, ids=repr)
def test_factors_are_values(factor):
    names = {name: getattr(dma, name) for name in dma.__all__}
    again = eval(repr(factor), names)
    assert again == factor and type(again) is type(factor)
    assert pickle.loads(pickle.dumps(factor)) == factor
    assert factor != 1
    assert type(factor).__module__ == "dma"


def test_factor_parameters():
    total = dma.WeightedSum(np.array([1.0, 2.0]), variance=3)
    assert (total.coefficients, total.offset, total.variance) == ([1, 2], 0, 3)
    assert total == dma.WeightedSum([1, 2], 0, 3) != dma.WeightedSum([1, 2])
    assert dma.Prior(mean=1, variance=2) == dma.Prior(1, 2) != dma.Observation(1, 2)
    assert dma.LogNormalCopy().sign == 1 and dma.GreaterThan().threshold == 0
    with pytest.raises(AttributeError):
        dma.Prior(1, 2).mean = 3
    with pytest.raises(TypeError):
        dma.LeakyRelu()
    with pytest.raises(TypeError):
        dma.Prior(1, 2, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dma.Prior(0, -1),
        lambda: dma.Observation(math.nan, 1),
        lambda: dma.WeightedSum([]),
        lambda: dma.WeightedSum([math.inf]),
        lambda: dma.LeakyRelu(-0.1),
        lambda: dma.LogNormalCopy(2),
        lambda: dma.GreaterThan(math.inf),
        lambda: dma.Between(1, 1),
        lambda: dma.Between(-math.inf, math.inf),
        lambda: dma.Probit(0),
        lambda: dma.Probit(1, 0, 0),
        lambda: dma.Poisson(1.5),
        lambda: dma.Poisson(-1),
        lambda: dma.NegativeBinomial(1, 0),
        lambda: dma.LogNormalObservation(0, 1),
        lambda: dma.Argmax(-1),
        lambda: dma.Argmax(0, 0),
        lambda: dma.Softmax(-1),
    ],
)
def test_factor_parameters_are_checked_at_once(make):
    with pytest.raises(ValueError):
        make()


# Inference


def test_product_has_the_numbers_of_the_library():
    g = product_graph()
    direct = g.sweep()
    assert direct["x"].mean == pytest.approx(2.8106906664649878, rel=1e-14)
    assert direct["x"].variance == pytest.approx(0.44928193880723694, rel=1e-14)
    assert direct["z"].mean == pytest.approx(320 / 31, rel=1e-14)
    linear = g.sweep(rule="linear")
    # z = x y seen from x: N(z / 4, (5 + 1 (3^2 + 1)) / 4^2) times the prior.
    assert linear["x"].mean == pytest.approx((3 + 2.5 * 16 / 15) / (1 + 16 / 15), rel=1e-14)
    assert direct.messages_sent == 6 and direct.sweeps == 1
    assert direct.converged is None and direct.last_change is None


def random_chain(random, length=6):
    """A linear Gaussian chain with observations, and its joint precision and information."""
    g = dma.Graph()
    xs = g.variables(*(f"x{i}" for i in range(length)))
    precision, information = np.zeros((length, length)), np.zeros(length)
    g.add(dma.Prior(0.3, 2.0), xs[0])
    precision[0, 0] += 1 / 2.0
    information[0] += 0.3 / 2.0
    for i in range(length - 1):
        a, offset, variance = random.normal(), random.normal(), random.uniform(0.1, 1)
        g.add(dma.WeightedSum([a], offset, variance), xs[i + 1], xs[i])
        row = np.zeros(length)
        row[i + 1], row[i] = 1, -a
        precision += np.outer(row, row) / variance
        information += row * offset / variance
    for i in range(0, length, 2):
        value, variance = random.normal(), random.uniform(0.1, 1)
        g.add(dma.Observation(value, variance), xs[i])
        precision[i, i] += 1 / variance
        information[i] += value / variance
    return g, xs, precision, information


@pytest.mark.parametrize("engine", ["direct", "ep"])
def test_linear_gaussian_graph_is_exact(engine):
    random = np.random.default_rng(1)
    for _ in range(20):
        g, xs, precision, information = random_chain(random)
        covariance = np.linalg.inv(precision)
        mean = covariance @ information
        beliefs = g.infer(engine=engine)
        np.testing.assert_allclose([beliefs[x].mean for x in xs], mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose([beliefs[x].variance for x in xs], np.diag(covariance), rtol=1e-9)


def test_equality_has_as_many_edges_as_variables():
    g = dma.Graph()
    for k, x in enumerate(g.variables("a", "b", "c")):
        g.add(dma.Observation(k, 1), x)
    g.add(dma.Equality(), "a", "b", "c")
    beliefs = g.sweep()
    assert beliefs["b"].mean == pytest.approx(1) and beliefs["b"].variance == pytest.approx(1 / 3)


def test_beliefs_are_a_mapping():
    g = product_graph()
    beliefs = g.sweep()
    x = g.find("x")
    assert beliefs[x] == beliefs["x"] == beliefs.marginal(x) == beliefs.marginal("x")
    assert list(beliefs) == list(beliefs.keys()) == ["x", "y", "z"] and len(beliefs) == 3
    assert dict(beliefs.items())["x"] == beliefs[x]
    assert "x" in beliefs and "w" not in beliefs and beliefs.get("w") is None
    assert beliefs.means() == {name: belief.mean for name, belief in beliefs.items()}
    assert beliefs.stds()["z"] == beliefs["z"].std
    product = g.find_factor("product#2")
    assert beliefs.message(product, x) == beliefs.message("product#2", "x") == beliefs.message(product, 1)
    assert beliefs.message(product, 0) == dma.Gaussian(12, 26)


def test_beliefs_refuse_what_they_do_not_know():
    g = product_graph()
    beliefs = g.sweep()
    newer = g.variable("newer")
    added = g.add(dma.Prior(0, 1), newer, name="late")
    with pytest.raises(KeyError, match="there is no variable called 'w'"):
        beliefs["w"]
    with pytest.raises(KeyError, match="'newer' is newer than these beliefs"):
        beliefs[newer]
    with pytest.raises(ValueError, match="'late' is newer than these beliefs"):
        beliefs.message(added, 0)
    with pytest.raises(ValueError, match="has edges 0 to 2, got 3"):
        beliefs.message("product#2", 3)
    with pytest.raises(ValueError, match="has edges 0 to 2, got -1"):
        beliefs.message("product#2", -1)
    with pytest.raises(ValueError, match="'prior#0' has no edge to variable 'z'"):
        beliefs.message("prior#0", "z")
    with pytest.raises(ValueError, match="there is no factor called 'sum'"):
        beliefs.message("sum", "z")
    with pytest.raises(TypeError, match="expected a variable"):
        beliefs[0]
    assert len(beliefs) == 3


def test_what_belongs_to_another_graph_is_refused():
    g, other = product_graph(), product_graph()
    foreign_variable, foreign_factor = other.find("x"), other.find_factor("prior#0")
    beliefs = g.sweep()
    for attempt in (
        lambda: g.add(dma.Prior(0, 1), foreign_variable),
        lambda: beliefs[foreign_variable],
        lambda: beliefs.marginal(foreign_variable),
        lambda: beliefs.message(foreign_factor, 0),
        lambda: beliefs.message("prior#0", foreign_variable),
        lambda: g.infer(schedule=([(foreign_factor, "x")], [])),
        lambda: g.text(([("prior#0", foreign_variable)], [])),
    ):
        with pytest.raises(ValueError, match="belongs to another graph"):
            attempt()
    assert g.factor_count == 4
    assert g.find("x") == g.find("x") != foreign_variable


def test_numbers_out_of_range_do_not_reach_the_library():
    core = product_graph()._core
    beliefs = core.infer("direct", "direct", 1, 0.0, "pass", 0.0, 0, 1, None, None)
    for attempt in (
        lambda: core.variable_name(3),
        lambda: core.factor_name(4),
        lambda: core.edges(4),
        lambda: core.set_name(4, "x"),
        lambda: core.text(([([(0, 1)], 1, False)], [])),
        lambda: beliefs.marginal(3),
        lambda: beliefs.message(0, 1),
        lambda: beliefs.message(4, 0),
    ):
        with pytest.raises(IndexError):
            attempt()
    with pytest.raises(ValueError, match="which the graph does not have"):
        core.infer("direct", "direct", 1, 0.0, "pass", 0.0, 0, 1, ([([(9, 0)], 1, False)], []), None)
    with pytest.raises(ValueError, match="not a variable of this graph"):
        core.add(dma.Prior(0, 1), [7])


def test_expectation_propagation_converges():
    beliefs = product_graph().infer(engine="ep", rule="direct", sweeps=50, tolerance=1e-9)
    assert beliefs.converged is True and 1 < beliefs.sweeps < 50 and beliefs.last_change <= 1e-9
    assert beliefs.improper == [] and beliefs.failed == [] and beliefs.improper_marginals == []
    # With a tolerance there are sweeps to converge in, as with the command.
    assert product_graph().infer(engine="ep", tolerance=1e-9).converged is True


def improper_graph():
    """A sharp likelihood far out in the tail: EP's message back to x widens it."""
    g = dma.Graph()
    x, y, z = g.variables("x", "y", "z")
    g.add(dma.Prior(0, 1), x)
    g.add(dma.Prior(0, 1), y)
    g.add(dma.Product(), z, x, y, name="times")
    g.add(dma.Observation(6, 0.1), z)
    return g


def test_negative_precisions_are_reported_by_name():
    beliefs = improper_graph().infer(engine="ep", sweeps=3)
    assert beliefs.improper
    one = beliefs.improper[0]
    assert one.factor == "times" and one.variable in ("x", "y") and one.rho < 0 and one.sweep >= 1
    stopped = improper_graph().infer(engine="ep", sweeps=3, on_improper="stop")
    assert len(stopped.improper) == 1 and stopped.sweeps == 1
    skipped = improper_graph().infer(engine="ep", sweeps=3, on_improper="skip")
    assert skipped.improper and skipped.improper_marginals == []
    assert improper_graph().sweep().improper == []


def test_failed_projections_and_collapse_are_reported_by_name():
    g = dma.Graph()
    x, y, z = g.variables("x", "y", "z")
    g.add(dma.Prior(3, 1), x)
    g.add(dma.Product(), z, x, y, name="times")  # nothing is known about y
    g.add(dma.Observation(10, 5), z)
    failed = g.infer(engine="ep").failed
    assert failed and failed[0].factor == "times" and "proper" in failed[0].why
    assert "y" in g.infer(engine="ep").improper_marginals
    collapsed = product_graph().infer(engine="vmp", sweeps=5).collapsed
    assert collapsed and collapsed[0].factor == "product#2" and math.isinf(collapsed[0].rho)


# Graphs


def test_graph_knows_its_parts():
    g = product_graph()
    assert (g.variable_count, g.factor_count, g.edge_count) == (3, 4, 6)
    assert g.variable_names == ["x", "y", "z"]
    assert g.factor_names == ["prior#0", "prior#1", "product#2", "observation#3"]
    assert g.is_forest()
    product = g.find_factor("product#2")
    assert product.factor == dma.Product() and product.name == "product#2"
    assert product.variables == (g.find("z"), g.find("x"), g.find("y"))
    assert repr(g.find("x")) == "Variable('x')" and repr(product) == "FactorId('product#2')"
    assert repr(g) == "Graph(3 variables, 4 factors, 6 edges)"
    assert g.variable().name == "v3"
    assert g.add(dma.Prior(0, 1), "v3", name="of_v3").name == "of_v3"
    assert g.find_factor("of_v3").variables == (g.find("v3"),)


def test_graph_refuses_what_is_wrong():
    g = product_graph()
    x = g.find("x")
    for attempt, message in (
        (lambda: g.variable("x"), "already a variable called 'x'"),
        (lambda: g.variable(""), "needs a name"),
        (lambda: g.find("w"), "no variable called 'w'"),
        (lambda: g.find_factor("w"), "no factor called 'w'"),
        (lambda: g.add(dma.Prior(0, 1), "w"), "no variable called 'w'"),
        (lambda: g.add(dma.Product(), x), "needs 3 variables, got 1"),
        (lambda: g.add(dma.Product(), "z", "x", "x"), "on two of its edges"),
        (lambda: g.add(dma.Equality(), x), "at least two variables"),
        (lambda: g.add(dma.Prior(0, 1), x, name=""), "needs a name"),
        (lambda: g.add(dma.Prior(0, 1), x, name="prior#0"), "must not contain '#'"),
        (lambda: g.infer(engine="bp"), "engine must be one of 'direct', 'ep', 'vmp', 'adf', got 'bp'"),
        (lambda: g.sweep("exact"), "rule must be one of 'direct', 'linear', got 'exact'"),
        (lambda: g.infer(on_improper="ask"), "on_improper must be one of"),
        (lambda: g.infer(sweeps=0), "sweeps must be at least 1"),
        (lambda: g.infer(tolerance=-1), "tolerance must be finite and not negative"),
        (lambda: g.infer(tolerance=math.nan), "tolerance must be finite and not negative"),
        (lambda: g.infer(engine="adf", sweeps=2), "ADF visits every factor once"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            attempt()
        assert "\n" not in str(caught.value)
    for attempt in (lambda: g.add("prior", x), lambda: g.add(dma.Prior(0, 1), 0), lambda: g.variable(3)):
        with pytest.raises(TypeError):
            attempt()
    assert g.factor_count == 4 and len(g.factor_names) == 4
    g.add(dma.Prior(0, 1), x, name="mine")
    with pytest.raises(ValueError, match="already a factor called 'mine'"):
        g.add(dma.Prior(0, 1), x, name="mine")


def test_engines_that_have_no_message_say_so():
    g = function_graph(dma.factor(np.tanh))
    with pytest.raises(ValueError, match="VMP has no message for this factor"):
        g.infer(engine="vmp")
    relu = dma.Graph()
    x, y = relu.variables("x", "y")
    relu.add(dma.Prior(0, 1), x)
    relu.add(dma.LeakyRelu(0), y, x)
    relu.add(dma.Observation(1, 1), y)
    with pytest.raises(ValueError, match="leaky_relu#1 to variable 'x'"):
        relu.sweep()
    assert relu.sweep("linear")[x].is_proper


def test_schedules():
    g = product_graph()
    tree = g.tree_schedule()
    assert tree == g.schedule() and isinstance(tree, dma.Schedule)
    assert tree.backward == [("product#2", "x"), ("product#2", "y")]
    assert tree.forward[0].factor == "prior#0" and tree.forward[0].variable == "x"
    assert g.text(tree).splitlines()[-1] == "backward product#2 -> y"
    assert g.assimilation_schedule().backward == [] and g.schedule("adf") == g.assimilation_schedule()
    assert g.sequential_schedule() != tree
    assert dict(g.infer(schedule=tree)) == dict(g.sweep())
    by_handle = ([(g.find_factor("prior#0"), g.find("x"))], [])
    beliefs = g.infer(schedule=by_handle)
    assert beliefs.messages_sent == 1 and beliefs["y"].is_uniform
    assert beliefs.improper_marginals == ["y", "z"]
    g.add(dma.WeightedSum([1]), "x", "y")
    assert not g.is_forest()
    with pytest.raises(ValueError, match="cycle"):
        g.tree_schedule()


def test_schedules_are_checked():
    g = product_graph()
    for schedule, message in (
        (([("prior#9", "x")], []), "no factor called 'prior#9'"),
        (([("prior#0", "w")], []), "no variable called 'w'"),
        (([("prior#0", "z")], []), "'prior#0' has no edge to variable 'z'"),
        (([("prior#0", 1)], []), "has edges 0 to 0, got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            g.infer(schedule=schedule)
    for schedule, message in ((3, "a schedule must be a pair"), ((["prior#0"], []), "a step must be a pair")):
        with pytest.raises(TypeError, match=message):
            g.infer(schedule=schedule)


# Functions


def softplus(x):
    return np.logaddexp(0, x)


def dense_moments(f, mean, variance):
    t = np.linspace(-12, 12, 200_001)
    weight = np.exp(-t * t / 2)
    y = f(mean + np.sqrt(variance) * t)
    first = np.sum(weight * y) / np.sum(weight)
    return first, np.sum(weight * (y - first) ** 2) / np.sum(weight)


@pytest.mark.parametrize("mean, variance", [(0, 1), (-2, 0.5), (1.5, 4), (10, 0.01)])
def test_softplus_has_the_moments_of_dense_integration(mean, variance):
    belief = function_graph(dma.factor(softplus), mean, variance).sweep()["y"]
    expected_mean, expected_variance = dense_moments(softplus, mean, variance)
    assert belief.mean == pytest.approx(expected_mean, abs=1e-6 * math.sqrt(expected_variance))
    assert belief.variance == pytest.approx(expected_variance, rel=1e-5)


def test_backward_message_is_the_regression():
    f = dma.factor(lambda x: 2 * x + 1, order=100)
    g = function_graph(f, 0, 4)
    g.add(dma.Observation(7, 1), "y")
    belief = g.sweep()["x"]
    assert belief.mean == pytest.approx((3 * 4) / (4 + 0.25)) and belief.variance == pytest.approx(1 / 4.25)
    assert g.infer(engine="ep", sweeps=5)["x"].mean == pytest.approx(belief.mean, rel=1e-4)


@pytest.mark.parametrize("inputs", range(1, 7))
def test_one_call_per_message(inputs):
    shapes = []

    def total(*xs):
        shapes.append([x.shape for x in xs])
        return sum(xs)

    f = dma.factor(total, inputs=inputs)
    g = dma.Graph()
    y, *xs = g.variables("y", *(f"x{k}" for k in range(inputs)))
    for k, x in enumerate(xs):
        g.add(dma.Prior(k, 1), x)
    g.add(f, y, *xs, name="total")
    g.add(dma.Observation(0, 1), y)
    beliefs = g.infer(schedule=g.tree_schedule())
    # One message to y, one to every input; each the nodes and their centre.
    assert len(shapes) == 1 + inputs
    assert all(shape == [(f.order**inputs + 1,)] * inputs for shape in shapes)
    exact = dma.Gaussian(sum(range(inputs)), inputs) * dma.Gaussian(0, 1)
    assert beliefs[y].mean == pytest.approx(exact.mean) and beliefs[y].variance == pytest.approx(
        exact.variance
    )
    shapes.clear()
    g.infer(engine="ep", schedule=([(f"prior#{k}", f"x{k}") for k in range(inputs)] + [("total", "y")], []))
    assert len(shapes) == 1
    # A point mass adds a central difference, in the same call.
    fixed = function_graph(dma.factor(total, inputs=1, order=8), 2, 0)
    fixed.add(dma.Observation(3, 1), "y")
    shapes.clear()
    assert fixed.infer(schedule=([("prior#0", "x"), ("observation#2", "y")], [("total#1", "x")]))[
        "x"
    ].is_point
    assert shapes == [[(3 * 9,)]]


def test_ways_to_make_a_factor():
    plain = dma.factor(softplus)
    assert (plain.name, plain.inputs, plain.order, plain.tolerance) == ("softplus", 1, 32, 1e-6)
    assert plain(0.0) == softplus(0.0)
    with pytest.raises(AttributeError, match="make a new one"):
        plain.tolerance = 1e-2

    @dma.factor
    def bare(x, y):
        """Two inputs."""
        return x * y

    @dma.factor(order=40, tolerance=1e-4, name="other")
    def configured(x, scale=2.0):
        return scale * x

    assert (bare.name, bare.inputs, bare.order, bare.__doc__) == ("bare", 2, 20, "Two inputs.")
    assert (configured.name, configured.inputs, configured.order) == ("other", 1, 40)
    assert dma.factor(np.maximum, tolerance=1e-2).inputs == 2
    assert dma.factor(lambda *xs: xs[0], inputs=3).inputs == 3
    assert repr(dma.factor(np.tanh)) == "Function(tanh, inputs=1, order=32, tolerance=1e-06)"
    assert function_graph(plain).factor_names == ["prior#0", "softplus#1"]


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: dma.factor(lambda *xs: 0), "takes any number of inputs"),
        (lambda: dma.factor(lambda: 0), "1 to 6 inputs, got 0"),
        (lambda: dma.factor(lambda a, b, c, d, e, f, g: 0), "1 to 6 inputs, got 7"),
        (lambda: dma.factor(np.tanh, inputs=0), "1 to 6 inputs, got 0"),
        (lambda: dma.factor(np.tanh, order=0), "order must be 1 to 128, got 0"),
        (lambda: dma.factor(np.tanh, order=129), "order must be 1 to 128, got 129"),
        (lambda: dma.factor(lambda *xs: 0, inputs=6, order=40), "4096000000 points of a message"),
        (lambda: dma.factor(np.tanh, tolerance=0), "tolerance must be positive"),
        (lambda: dma.factor(np.tanh, tolerance=math.nan), "tolerance must be positive"),
        (lambda: dma.factor(np.tanh, name=""), "needs a name"),
    ],
)
def test_factor_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_factor_is_made_from_a_function():
    with pytest.raises(TypeError, match="made from a function, got 3"):
        dma.factor(3)


def test_functions_of_numbers():
    calls = []

    def scalar(x):
        calls.append(x)
        return math.exp(x) if x < 0 else 1.0 + x

    f = dma.factor(scalar, vectorized=False, order=16)
    belief = function_graph(f).sweep()["y"]
    same = dma.factor(lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)), 1 + x), order=16)
    assert belief == function_graph(same).sweep()["y"]
    assert len(calls) == 17 and all(np.ndim(x) == 0 for x in calls)


def test_a_constant_is_broadcast():
    belief = function_graph(dma.factor(lambda x: 3)).sweep()["y"]
    assert belief == dma.Gaussian.point(3)
    assert function_graph(dma.factor(lambda x: x > -100)).sweep()["y"] == dma.Gaussian.point(1)


@pytest.mark.parametrize(
    "f, error, message",
    [
        (lambda x: x[:3], ValueError, r"shape \(33,\), got shape \(3,\)"),
        (lambda x: x[:, None], ValueError, r"got shape \(33, 1\)"),
        (lambda x: max(x), ValueError, "it is not vectorised"),
        (lambda x: float(x.mean() + x[0]), ValueError, "it is not vectorised"),
        (lambda x: x * 1j, TypeError, "must return real numbers, got an array of type complex128"),
        (lambda x: None, TypeError, "must return real numbers, got an array of type object"),
        (lambda x: "text", TypeError, "must return real numbers"),
        (lambda x: math.exp(x), TypeError, "only size-1 arrays|only length-1 arrays|only 0-dimensional"),
        (lambda x: x if x > 0 else 0, ValueError, "truth value"),
        (lambda x: x / 0, ValueError, "factor f#1 to variable 'y': f.*is not finite"),
        (lambda x: np.full_like(x, np.nan), ValueError, "is not finite"),
        (lambda x: math.nan, ValueError, "is not finite"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_that_return_the_wrong_thing(f, error, message):
    with pytest.raises(error, match=message):
        function_graph(dma.factor(f, name="f")).sweep()


class OwnError(Exception):
    pass


def test_the_own_exception_comes_through_with_its_traceback():
    def raises(x):
        raise OwnError("mine")

    g = function_graph(dma.factor(raises))
    for attempt in (g.sweep, lambda: g.infer(engine="ep"), lambda: dma.check_factor(dma.factor(raises))):
        with pytest.raises(OwnError, match="mine") as caught:
            attempt()
        assert "raises" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    # The graph is as good as before.
    g.add(dma.Observation(1, 1), "x")
    assert g.factor_count == 3


def test_a_hint_where_a_function_takes_numbers_only():
    with pytest.raises(TypeError) as caught:
        function_graph(dma.factor(lambda x: math.exp(x))).sweep()
    if hasattr(caught.value, "__notes__"):
        assert "vectorized=False" in caught.value.__notes__[0]


def test_a_function_may_keep_and_change_its_arrays():
    kept = []

    def f(x):
        kept.append(x)
        x += 1
        return x

    g = function_graph(dma.factor(f))
    assert g.sweep()["y"].mean == pytest.approx(1)
    gc.collect()
    assert np.all(np.isfinite(kept[0])) and len(kept[0]) == 33


def test_a_graph_cannot_change_while_inference_runs():
    g = dma.Graph()
    x, y = g.variables("x", "y")
    g.add(dma.Prior(0, 1), x)

    def meddles(x):
        g.variable()
        return x

    g.add(dma.factor(meddles), y, x)
    with pytest.raises(RuntimeError, match="cannot change while inference runs"):
        g.sweep()
    assert g.variable().name == "v2"


def test_a_function_may_run_inference_itself():
    inner = product_graph()
    belief = function_graph(dma.factor(lambda x: x + inner.sweep()["x"].mean)).sweep()["y"]
    assert belief.mean == pytest.approx(inner.sweep()["x"].mean)


def test_functions_are_freed():
    def f(x):
        return x

    gone = weakref.ref(f)
    g = function_graph(dma.factor(f))
    g.sweep()
    del g, f
    gc.collect()
    assert gone() is None


def test_other_threads_go_on():
    g = dma.Graph()
    w = g.variable("w")
    g.add(dma.Prior(1, 0.5), w)
    for i in range(200):
        x, z = g.variable(), g.variable()
        g.add(dma.Prior(0.1 * i, 0.2), x)
        g.add(dma.Product(), z, w, x)
        g.add(dma.Observation(0.2 * i, 0.3), z)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    sweeps, begin, end = 250, 0.0, 0.0
    thread = threading.Thread(target=tick)
    thread.start()
    while end - begin < 0.1:  # however fast the machine is
        sweeps *= 2
        begin = time.perf_counter()
        g.infer(sweeps=sweeps)
        end = time.perf_counter()
    done.set()
    thread.join()
    # Within the call, not at its ends, where Python may switch threads anyway.
    inside = [t for t in ticks if begin + 0.25 * (end - begin) < t < end - 0.25 * (end - begin)]
    assert len(inside) > 3


def test_threads_share_a_graph():
    g = function_graph(dma.factor(softplus))
    g.add(dma.Observation(1, 1), "y")
    expected = dict(g.infer(sweeps=20))
    results = []
    threads = [threading.Thread(target=lambda: results.append(dict(g.infer(sweeps=20)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


# The check of a factor


@pytest.mark.parametrize("factor", BUILT_IN, ids=repr)
def test_every_built_in_factor_passes(factor):
    report = dma.check_factor(factor)
    assert report.passed, str(report)
    assert [check.name for check in report.checks] == [
        "dirac",
        "precision",
        "moments",
        "independence",
        "float",
    ]


@pytest.mark.parametrize("f", [softplus, np.exp, lambda a, b: a * b], ids=["softplus", "exp", "times"])
def test_good_functions_pass(f):
    report = dma.check_factor(dma.factor(f, name="f"), random_inputs=500)
    assert report.passed, str(report)
    assert str(report).startswith("f: delta(y - f(x_1, ..., x_n))\n  ok    dirac")


def test_a_promise_that_is_too_good_is_caught():
    report = dma.check_factor(dma.factor(np.abs, tolerance=1e-6))
    assert not report.passed
    assert [check.name for check in report.checks if not check.passed] == ["moments"]
    assert "FAIL  moments" in str(report) and "passed=False" in repr(report)
    assert dma.check_factor(dma.factor(np.abs, tolerance=5e-2)).passed


def test_same_seed_same_report():
    texts = [str(dma.check_factor(dma.factor(softplus), random_inputs=100, seed=seed)) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_a_function_that_mixes_its_points_is_caught():
    report = dma.check_factor(dma.factor(lambda x: x - x.mean()), random_inputs=100)
    assert not report.passed


def test_check_factor_refusals():
    with pytest.raises(TypeError, match="needs a factor such as"):
        dma.check_factor("prior")
    with pytest.raises(ValueError, match="at least 1, got 0"):
        dma.check_factor(dma.Product(), random_inputs=0)


# Arrays


def matches(players=6, count=40):
    random = np.random.default_rng(3)
    first = random.integers(0, players, count)
    second = (first + 1 + random.integers(0, players - 1, count)) % players
    return first, second, random.normal(size=count)


def ratings(players=6):
    first, second, goals = matches(players)
    g = dma.Graph()
    skill = g.variables("skill", players, prior=dma.Prior(25, 70))
    lead = g.variables("lead", len(goals))
    played = g.add(dma.WeightedSum([1, -1], variance=35), lead, skill[first], skill[second], name="played")
    seen = g.add(dma.Observation, lead, value=goals, variance=2)
    return g, skill, lead, played, seen


def test_arrays_are_the_graph_written_out():
    first, second, goals = matches()
    g = dma.Graph()
    skill = [g.variable(f"s{p}") for p in range(6)]
    for one in skill:
        g.add(dma.Prior(25, 70), one)
    lead = [g.variable() for _ in goals]
    for z, x, y in zip(lead, first, second):
        g.add(dma.WeightedSum([1, -1], variance=35), z, skill[x], skill[y])
    for z, value in zip(lead, goals):
        g.add(dma.Observation(value, 2), z)
    arrays, array, leads, played, seen = ratings()
    for options in ({"sweeps": 3}, {"engine": "ep", "sweeps": 2}, {"rule": "linear"}):
        one_by_one, beliefs = g.infer(**options), arrays.infer(**options)
        assert [one_by_one[one] for one in skill] == list(beliefs[array])
        assert [one_by_one[one] for one in lead] == list(beliefs[leads])
        assert beliefs.messages(played, 1)[7] == one_by_one.message("sum#13", 1)


def test_beliefs_of_arrays_are_arrays():
    g, skill, lead, played, seen = ratings()
    alone = g.variable("alone")
    g.add(dma.Prior(1, 4), alone)
    beliefs = g.sweep()
    assert list(beliefs) == ["skill", "lead", "alone"] and len(beliefs) == 3
    assert beliefs["skill"].mean.shape == (6,)
    assert np.array_equal(beliefs.means()["skill"], [beliefs[skill[p]].mean for p in range(6)])
    assert np.array_equal(beliefs.stds()["lead"], [beliefs[f"lead[{m}]"].std for m in range(40)])
    assert beliefs[skill[2:4]][1] == beliefs["skill[3]"] == beliefs[skill][3]
    assert beliefs.means()["alone"] == 1
    assert np.array_equal(beliefs[skill][[0, 2]].variance, beliefs[skill].variance[[0, 2]])


def test_gaussians_are_what_a_gaussian_is():
    many = dma.Gaussians(np.array([0.0, 3.0, 2.0, 1.0]), np.array([0.0, np.inf, 4.0, -1.0]))
    for at in range(4):
        one = many[at]
        np.testing.assert_array_equal(
            [one.mean, one.variance, one.std], [many.mean[at], many.variance[at], many.std[at]]
        )


def test_names_of_arrays():
    g, skill, lead, played, seen = ratings()
    assert g.variable_names == ["skill", "lead"]
    assert g.factor_names == ["prior#0 ... prior#5", "played", "observation#46 ... observation#85"]
    assert played[3].name == "played[3]" and g.find_factor("played[3]") == played[3]
    assert seen[2].factor == dma.Observation(matches()[2][2], 2)
    assert played[2].factor == dma.WeightedSum([1, -1], variance=35)
    assert [one.name for one in played[0].variables][0] == "lead[0]"
    trait = g.variables("trait", (4, 3))
    assert trait.shape == (4, 3) and trait[1, 2].name == "trait[1,2]" == g.find("trait[1,2]").name
    assert trait[2:][0, 0] == trait[2, 0]


def test_vectors_of_variables_and_rows_of_coefficients():
    inputs = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    g = dma.Graph()
    weight = g.variables("weight", (1, 3), prior=dma.Prior(0, 1))
    y = g.variables("y", 2)
    sums = g.add(dma.WeightedSum, y, weight[[0, 0]], coefficients=inputs, variance=1)
    assert sums[1].factor == dma.WeightedSum([-1, 0.5, 2], variance=1)
    assert g.sweep()[y].variance == pytest.approx(1 + (inputs**2).sum(axis=1))
    same = g.add(dma.WeightedSum, g.variables("z", 2), weight[[0, 0]], coefficients=[1, 1, 1])
    assert same[0].factor == dma.WeightedSum([1, 1, 1])


def test_one_variable_seen_often():
    g = dma.Graph()
    x = g.variable("x")
    g.add(dma.Prior(0, 1), x)
    assert len(g.add(dma.Observation, x, value=[1.0, 2.0, 3.0], variance=1)) == 3
    assert g.sweep()[x] == dma.Gaussian(1.5, 0.25)


def test_a_function_over_rows():
    g = dma.Graph()
    x, y = g.variables("x", 3, prior=dma.Prior(0.5, 1)), g.variables("y", 3)
    g.add(dma.factor(np.tanh, tolerance=1e-2), y, x)
    assert len(set(g.sweep()[y].mean)) == 1


def test_a_schedule_of_arrays():
    g, skill, lead, played, seen = ratings()
    priors = dma.FactorArray(g, 0, 6)
    forward = [(priors, 0), (seen, 0), (played, 1)]
    beliefs = g.infer(schedule=dma.Schedule(forward, [("played[0]", 2)]))
    assert beliefs.messages_sent == 6 + 40 + 40 + 1
    assert (
        g.text(dma.Schedule(forward, [])).splitlines()[2] == "forward  played[0] ... played[39] -> edge 1 (x)"
    )
    with pytest.raises(ValueError, match="has edges 0 to 2, got 3"):
        g.infer(schedule=dma.Schedule([(played, 3)], []))
    with pytest.raises(TypeError, match="names the number of an edge"):
        g.infer(schedule=dma.Schedule([(played, "lead")], []))


def test_what_is_wrong_with_rows():
    g, skill, lead, played, seen = ratings()
    first, second, goals = matches()
    count = g.factor_count
    difference = dma.WeightedSum([1, -1])
    with pytest.raises(
        ValueError, match=r"row 7, edge 2 \(x\): the index 6 is not one of 0 to 5, .* 'skill'"
    ):
        g.add(difference, lead, skill[first], skill[np.where(np.arange(40) == 7, 6, second)])
    with pytest.raises(ValueError, match=r"row 0, edge 1 \(x\): the index -1"):
        g.add(difference, lead, skill[np.full(40, -1)], skill[second])
    with pytest.raises(ValueError, match="'skill.*' is on two of its edges"):
        g.add(difference, lead, skill[first], skill[first])
    with pytest.raises(ValueError, match="edges have 40 and 3 rows"):
        g.add(difference, lead, skill[first], skill[[1, 2, 3]])
    with pytest.raises(ValueError, match=r"factor 86 \(observation\), row 2: .* nan"):
        g.add(dma.Observation, lead, value=np.where(np.arange(40) == 2, np.nan, goals), variance=1)
    with pytest.raises(ValueError, match="value has 3 rows, the edges have 40"):
        g.add(dma.Observation, lead, value=[1, 2, 3], variance=1)
    with pytest.raises(ValueError, match="winner, row 0: must be a whole number, got 0.5"):
        g.add(dma.Argmax, skill[first], skill[second], winner=0.5)
    with pytest.raises(ValueError, match="value must have 0 or 1 dimensions, got 2"):
        g.add(dma.Observation, lead, value=np.ones((40, 2)), variance=1)
    with pytest.raises(TypeError, match="takes value, variance; missing: variance"):
        g.add(dma.Observation, lead, value=goals)
    with pytest.raises(TypeError, match="unknown: noise"):
        g.add(dma.Observation, lead, value=goals, variance=1, noise=2)
    with pytest.raises(TypeError, match="parameters by name follow a type"):
        g.add(dma.Prior(0, 1), skill, mean=3)
    with pytest.raises(TypeError, match="whole numbers"):
        skill[np.array([0.5])]
    with pytest.raises(ValueError, match="rows that follow each other"):
        skill[::2]
    with pytest.raises(IndexError, match="no element 6,0"):
        skill[6]
    with pytest.raises(ValueError, match="belongs to another graph"):
        g.add(dma.Prior(0, 1), dma.Graph().variables("other", 3))
    with pytest.raises(ValueError, match="at least one variable"):
        g.variables("none", 0)
    with pytest.raises(ValueError, match="already a factor called 'played'"):
        g.add(dma.Prior(0, 1), skill, name="played")
    with pytest.raises(TypeError, match="a prior needs an array"):
        g.variables("a", "b", prior=dma.Prior(0, 1))
    assert g.factor_count == count
    beliefs = g.sweep()
    with pytest.raises(KeyError, match="newer"):
        beliefs[g.variables("late", 3)]


# Evidence


def test_evidence_of_a_product_is_its_integral():
    beliefs = product_graph().sweep()
    x, step = np.linspace(-5, 12, 2001, retstep=True)
    y = x[:, None]
    density = lambda at, mean, variance: np.exp(-((at - mean) ** 2) / variance / 2) / np.sqrt(
        2 * np.pi * variance
    )
    exact = np.log((density(x, 3, 1) * density(y, 4, 1) * density(10, x * y, 5)).sum() * step**2)
    assert beliefs.log_evidence() == pytest.approx(exact, abs=1e-9)


def test_evidence_of_a_python_function():
    g = function_graph(dma.factor(lambda x: 2 * x + 1, name="line"))
    g.add(dma.Observation(4, 2), "y")
    assert g.sweep().log_evidence() == pytest.approx(-0.5 * (9 / 6 + np.log(2 * np.pi * 6)), abs=1e-9)


def test_why_there_is_no_evidence():
    with pytest.raises(ValueError, match="needs beliefs of the engine direct or ep"):
        product_graph().infer(engine="vmp").log_evidence()


def test_ratings_are_inner_products_of_vectors():
    users, items, ratings = np.array([0, 1, 2, 0]), np.array([1, 0, 1, 0]), np.array([3.0, -1.0, 2.0, 0.5])
    g = dma.Graph()
    user = g.variables("user", (3, 2), prior=dma.Prior(0.5, 1))
    item = g.variables("item", (2, 2), prior=dma.Prior(1, 1))
    rating = g.variables("rating", 4)
    fused = g.add(dma.InnerProduct(variance=0.1), rating, user[users], item[items])
    g.add(dma.Observation, rating, value=ratings, variance=0.5)
    assert [one.name for one in fused[1].variables] == [
        "rating[1]",
        "user[1,0]",
        "user[1,1]",
        "item[0,0]",
        "item[0,1]",
    ]
    beliefs = g.infer(rule="linear", sweeps=50)
    assert beliefs[user].mean.shape == (3, 2) and np.all(beliefs[user].variance < 1)
    with pytest.raises(ValueError, match="two vectors of the same length, got 4 variables"):
        g.add(dma.InnerProduct(), rating, user[users], skill_of(g, 4))


def skill_of(g, count):
    return g.variables("skill", count)


def test_wins_draws_and_losses_by_row():
    g = dma.Graph()
    skill = g.variables("skill", 3, prior=dma.Prior(0, 1))
    g.add(dma.WinDrawLoss, skill[[0, 1, 2]], skill[[1, 2, 0]], result=[1, 0, -1], margin=0.5, variance=0.3)
    mean = g.infer(engine="ep", sweeps=100)[skill].mean
    assert mean[0] > mean[1] and mean[0] > mean[2]
    with pytest.raises(ValueError, match="row 2: the result must be 1"):
        g.add(dma.WinDrawLoss, skill[[0, 1, 2]], skill[[1, 2, 0]], result=[1, 0, 2], margin=0.5)


# Convergence


def test_convergence_is_known_per_variable():
    g, skill, lead, played, seen = ratings()
    few = g.infer(sweeps=3, tolerance=1e-12)
    assert few.converged is False and few.damping == 0
    assert few.changes(skill).max() <= few.last_change
    assert set(few.moving) >= {f"skill[{p}]" for p in range(6) if few.changes(skill)[p] > 1e-12}
    many = g.infer(sweeps=2000, tolerance=1e-9, damping=0.3)
    assert many.converged and many.moving == [] and many.damping == 0.3
    assert np.all(many.changes(skill) <= 1e-9)
    with pytest.raises(ValueError, match="damping must be at least 0 and below 1, got 1"):
        g.infer(damping=1)


# Inference that goes on


def walk_that_is_seen(values):
    """Prior, walk and what is seen of it."""
    g = dma.Graph()
    x = g.variables("x", len(values) + 1)
    start = g.add(dma.Prior(0, 1), x[0])
    walk = g.add(dma.WeightedSum([1], variance=0.1), x[1:], x[: len(values)])
    seen = g.add(dma.Observation, x[1:], value=values, variance=1)
    return g, x, start, walk, seen


def test_steps_row_by_row():
    g, x, start, walk, seen = walk_that_is_seen([1, 2, 3])
    in_time = dma.Schedule([(start, x[0]), [(walk, 0), (seen, 0)]], [[(walk, 1)]])
    one_by_one = dma.Schedule(
        [(start, x[0])] + [step for k in range(3) for step in ((walk[k], x[k + 1]), (seen[k], x[k + 1]))],
        [(walk[k], x[k]) for k in (2, 1, 0)],
    )
    assert g.text(in_time) == g.text(one_by_one)
    exact = g.sweep()[x]  # a chain
    found = g.infer(schedule=in_time)[x]
    assert found.mean == pytest.approx(exact.mean, abs=1e-14)
    assert found.variance == pytest.approx(exact.variance, abs=1e-14)
    for wrong, message in (
        ([[(walk, 0), (seen[1:], 0)]], "as many rows"),
        ([[(walk, 0), ("x", 0)]], "array of factors"),
        ([[(walk, 5)]], "edges 0 to 1"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            g.infer(schedule=dma.Schedule(wrong, []))
    with pytest.raises(ValueError, match="follow each other"):
        seen[::2]


def test_inference_goes_on_from_beliefs():
    g, x, start, walk, seen = walk_that_is_seen([1, 2, 3])
    known = g.infer(tolerance=1e-12)
    again = g.infer(tolerance=1e-12, start=known)
    assert again.converged and again.sweeps == 1 and again.last_change == 0
    more = g.add(dma.Observation(4, 1), x[3])
    only_this = dma.Schedule([(more, x[3])], [])
    grown = g.infer(schedule=only_this, start=known)
    assert grown[x[3]] == known[x[3]] * dma.Gaussian(4, 1)
    assert grown[x[1]] == known[x[1]]
    g.forget(more)
    forgotten = g.infer(start=grown)[x]
    assert forgotten.mean == pytest.approx(known[x].mean, abs=1e-14)
    assert forgotten.variance == pytest.approx(known[x].variance, abs=1e-14)
    with pytest.raises(ValueError, match="forgotten already"):
        g.forget(more)
    with pytest.raises(ValueError, match="another graph"):
        walk_that_is_seen([1])[0].infer(start=known)


def test_acceleration_saves_sweeps():
    """A ring whose level is known from one loose prior alone."""
    g = dma.Graph()
    x = g.variables("x", 30)
    g.add(dma.Prior(3, 25), x[0])
    ring = np.arange(30)
    g.add(dma.WeightedSum([1], variance=1), x[ring], x[(ring + 1) % 30])
    g.add(dma.WeightedSum([1], offset=0.1, variance=1), x[ring], x[(ring + 7) % 30])
    plain = g.infer(sweeps=10_000, tolerance=1e-10)
    fast = g.infer(sweeps=10_000, tolerance=1e-10, acceleration=8)
    assert plain.converged and fast.converged
    assert fast.sweeps < plain.sweeps / 3
    assert fast[x].mean == pytest.approx(plain[x].mean, abs=1e-6)
    assert fast[x].variance == pytest.approx(plain[x].variance, rel=1e-9)
    with pytest.raises(ValueError, match="acceleration needs a tolerance"):
        g.infer(acceleration=3)


def test_beliefs_are_saved_and_gone_on_from(tmp_path):
    path = tmp_path / "walk.safetensors"
    before, x, *_ = walk_that_is_seen([1, 2, 4])
    known = before.infer(sweeps=3, tolerance=1e-12)
    known.save(path)
    again, y, *_ = walk_that_is_seen([1, 2, 4])
    loaded = again.load(str(path))
    assert np.array_equal(loaded[y].mean, known[x].mean)
    assert np.array_equal(loaded.changes(y), known.changes(x))
    assert (loaded.sweeps, loaded.converged, loaded.last_change) == (
        known.sweeps,
        known.converged,
        known.last_change,
    )
    assert loaded.log_evidence() == known.log_evidence()
    again.add(dma.Observation(3, 1), y[0])
    before.add(dma.Observation(3, 1), x[0])
    assert np.array_equal(again.infer(start=loaded)[y].mean, before.infer(start=known)[x].mean)
    with pytest.raises(ValueError, match="walk.safetensors: these beliefs are of another graph"):
        walk_that_is_seen([1])[0].load(path)
    with pytest.raises(ValueError, match="nothing.safetensors"):
        again.load(tmp_path / "nothing.safetensors")
    with pytest.raises(OSError, match="no-folder"):
        known.save(tmp_path / "no-folder" / "walk.safetensors")


def test_a_precision_is_a_gamma_variable():
    """Known values about a known mean: the conjugate posterior."""
    g = dma.Graph()
    seen = np.array([1.2, 2.1, 0.4])
    x = g.variables("x", 3)
    mean, precision = g.variables("mean", "precision")
    g.add(dma.Prior(1, 0), mean)
    prior = g.add(dma.GammaPrior(2, rate=0.5), precision)
    g.add(dma.Observation, x, value=seen, variance=0)
    rows = g.add(dma.GaussianPrecision(), x, mean, precision)
    beliefs = g.sweep()
    found = beliefs[precision]
    assert isinstance(found, dma.Gamma)
    assert found.shape == pytest.approx(3.5)
    assert found.rate == pytest.approx(0.5 + ((seen - 1) ** 2).sum() / 2)
    assert found.mean == pytest.approx(found.shape / found.rate) and found.std == found.variance**0.5
    assert beliefs.message(prior, precision) == dma.Gamma(2, 0.5)
    assert beliefs.messages(rows, 2).rate == pytest.approx((seen - 1) ** 2 / 2)
    assert beliefs.messages(rows, 2).gamma_shape == pytest.approx(np.full(3, 1.5))
    assert isinstance(beliefs.messages(rows, 0), dma.Gaussians)
    assert set(beliefs.means()) == {"x", "mean", "precision"}
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(ValueError, match=r"takes a Gaussian variable, but 'precision' is a Gamma variable"):
        g.add(dma.Prior(0, 1), precision)


def test_precisions_of_an_array():
    g = dma.Graph()
    precision = g.variables("precision", (2, 3), prior=dma.GammaPrior(3, 2))
    found = g.sweep()[precision]
    assert isinstance(found, dma.Gammas) and found.shape == (2, 3)
    assert found.mean == pytest.approx(np.full((2, 3), 1.5))
    assert found[1, 2] == dma.Gamma(3, 2)
    assert len(found[0]) == 3
