"""Probit regression as a factor graph, beside the exact posterior.

Forty rows of an intercept and two columns that are strongly correlated: y = 1 if w . x + noise > 0, else -1. The weights
have independent priors N(0, 1).

The graph has one variable per weight and one per row. It has cycles: all rows share the weights. Where columns are
correlated, the messages of one row come back through another, and the weights seem surer than they are. If the
variables are the weights along the principal axes of the columns instead, the rows say nearly independent things about
them. The prior is the same, because it is a rotation, and a weight is a weighted sum: a factor more.

It prints both, and the exact posterior by a sum over a grid.

    python3 examples/python/probit_regression.py
"""

import argparse

import numpy as np
from scipy.special import log_ndtr

import dma

WEIGHTS = np.array([0.3, 1.0, -0.7])  # the first is the intercept
CORRELATION = 0.8


def rows_of_two_classes(count, seed):
    random = np.random.default_rng(seed)
    first, other = random.normal(size=(2, count))
    second = CORRELATION * first + np.sqrt(1 - CORRELATION**2) * other
    X = np.column_stack([np.ones(count), first, second])
    return X, np.where(X @ WEIGHTS + random.normal(size=count) > 0, 1, -1)


def probit_graph(X, y, axes):
    """The variables w0, w1, ... are the weights: w = axes u, with independent u; axes is a rotation."""
    graph = dma.Graph()
    along = graph.variables(*(f"u{k}" for k in range(X.shape[1])))
    for variable in along:
        graph.add(dma.Prior(0, 1), variable)
    for row, sign in zip(X @ axes, y):
        product = graph.variable()
        graph.add(dma.WeightedSum(row), product, *along)
        graph.add(dma.Probit(sign), product)
    for k, row in enumerate(axes):
        graph.add(dma.WeightedSum(row), graph.variable(f"w{k}"), *along)
    return graph


def posterior_of(graph, engine, rule="direct"):
    beliefs = graph.infer(engine=engine, rule=rule, sweeps=200, tolerance=1e-9)
    assert beliefs.converged
    return np.array([(beliefs[f"w{k}"].mean, beliefs[f"w{k}"].std) for k in range(len(WEIGHTS))])


def exact_posterior(X, y, points=61):
    """Mean and standard deviation of every weight, by a sum over a grid of all three."""
    axis = np.linspace(-4, 4, points)
    weights = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    log_density = -np.sum(weights**2, axis=1) / 2
    for row, sign in zip(X, y):
        log_density += log_ndtr(sign * (weights @ row))
    share = np.exp(log_density - log_density.max())
    share /= share.sum()
    mean = share @ weights
    return np.column_stack([mean, np.sqrt(share @ (weights - mean) ** 2)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=40, help="number of rows (default: %(default)s)")
    X, y = rows_of_two_classes(parser.parse_args().rows, seed=0)
    plain = probit_graph(X, y, np.eye(3))
    rotated = probit_graph(X, y, np.linalg.svd(X)[2].T)
    ways = {
        "exact": exact_posterior(X, y),
        "weights, EP": posterior_of(plain, "ep"),
        "axes, EP": posterior_of(rotated, "ep"),
        "axes, linear": posterior_of(rotated, "direct", "linear"),
    }
    print("                 intercept       weight 1       weight 2")
    for name, moments in ways.items():
        print(f"{name:12s}", *(f"{mean:7.3f} ±{deviation:6.3f}" for mean, deviation in moments))


if __name__ == "__main__":
    main()
