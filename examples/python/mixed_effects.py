"""A regression whose groups have intercepts of their own (random effects), in ten lines.

    y = intercept + slope x + effect of the group + noise

The deviations of the effects and of the noise are those under which the rows are most probable. The graph has cycles:
what it says is compared with the joint Gaussian of all coefficients.

    python3 examples/python/mixed_effects.py
"""

import argparse

import numpy as np
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import dma


def fit(x, group, y, effect, noise):
    g = dma.Graph()
    line = g.variables("line", 2, prior=dma.Prior(0, 100))
    own = g.variables("own", group.max() + 1, prior=dma.Prior(0, effect))
    fitted = g.variables("fitted", len(y))
    columns = np.column_stack([np.ones(len(y)), x, np.ones(len(y))])
    g.add(dma.WeightedSum, fitted, line[0], line[1], own[group], coefficients=columns)
    g.add(dma.Observation, fitted, value=y, variance=noise)
    beliefs = g.infer(sweeps=1000, tolerance=1e-10)
    return beliefs[line], beliefs[own], beliefs.log_evidence()


def learn(x, group, y):
    best = minimize(lambda logs: -fit(x, group, y, *np.exp(logs))[2], [0, 0], method="Nelder-Mead", tol=1e-4)
    return np.exp(best.x)


def exact(x, group, y, effect, noise):
    """Means, deviations and the log evidence, from the joint Gaussian."""
    design = np.column_stack([np.ones(len(y)), x, np.eye(group.max() + 1)[group]])
    prior = np.diag([100, 100, *np.full(group.max() + 1, effect)])
    covariance = design @ prior @ design.T + noise * np.eye(len(y))
    gain = prior @ design.T @ np.linalg.inv(covariance)
    evidence = multivariate_normal.logpdf(y, np.zeros(len(y)), covariance)
    return gain @ y, np.sqrt(np.diag(prior - gain @ design @ prior)), evidence


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    random = np.random.default_rng(1)
    groups, rows = 30, 300
    group = random.integers(0, groups, rows)
    x = random.normal(size=rows)
    y = 2 + 0.5 * x + random.normal(0, 1.5, groups)[group] + random.normal(0, 0.7, rows)
    effect, noise = learn(x, group, y)
    line, own, evidence = fit(x, group, y, effect, noise)
    mean, deviation, exact_evidence = exact(x, group, y, effect, noise)
    means, deviations = (np.concatenate(pair) for pair in ((line.mean, own.mean), (line.std, own.std)))
    print(f"deviation of effects     {np.sqrt(effect):.3f} (true 1.500)")
    print(f"deviation of noise       {np.sqrt(noise):.3f} (true 0.700)")
    print(
        f"slope                    {line.mean[1]:.3f} ± {line.std[1]:.3f}, exact {mean[1]:.3f} ± {deviation[1]:.3f}"
    )
    print(f"furthest mean from exact {np.abs(means - mean).max():.1e}")
    ratio = deviations / deviation
    print(
        f"deviations beside exact  slope {ratio[1]:.3f}, intercept {ratio[0]:.3f}, effects {ratio[2:].min():.3f} to {ratio[2:].max():.3f}"
    )
    print(f"log evidence             {evidence:.3f} (Bethe), exact {exact_evidence:.3f}")


if __name__ == "__main__":
    main()
