"""A regression whose groups have intercepts of their own (random effects), in ten lines.

    y = intercept + slope x + effect of the group + noise

By the evidence, the deviations of the effects and of the noise are those under which the rows are most probable. In the graph,
their precisions are variables, and one inference finds them beside the coefficients. The graph has cycles: what it says is
compared with the joint Gaussian of all coefficients, on a grid of both precisions.

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


EFFECT, NOISE = dma.GammaPrior(1.5, 1.5), dma.GammaPrior(1.5, 1.5)


def fit_and_learn(x, group, y, **options):
    """Coefficients, and what is known of the precisions of the effects and of the noise."""
    g = dma.Graph()
    effect, noise = g.variables("effect", "noise")
    line = g.variables("line", 2, prior=dma.Prior(0, 100))
    own, fitted, value = (
        g.variables("own", group.max() + 1),
        g.variables("fitted", len(y)),
        g.variables("value", len(y)),
    )
    zero = g.variable("zero")
    g.add(dma.Prior(0, 0), zero)
    g.add(EFFECT, effect)
    g.add(NOISE, noise)
    g.add(dma.GaussianPrecision(), own, zero, effect)
    columns = np.column_stack([np.ones(len(y)), x, np.ones(len(y))])
    g.add(dma.WeightedSum, fitted, line[0], line[1], own[group], coefficients=columns)
    g.add(dma.Observation, value, value=y, variance=0)
    g.add(dma.GaussianPrecision(), value, fitted, noise)
    beliefs = g.infer(**{"sweeps": 2000, "tolerance": 1e-6, **options})
    return beliefs[line], beliefs[own], beliefs[effect], beliefs[noise], beliefs


def on_grid(x, group, y, points=50):
    """Mean and deviation of both precisions, and of all coefficients, from the joint Gaussian at every point of a grid."""
    design = np.column_stack([np.ones(len(y)), x, np.eye(group.max() + 1)[group]])
    square, product = design.T @ design, design.T @ y
    logs, found = [], []
    for effect in np.exp(np.linspace(-2.5, 2.5, points)):
        for noise in np.exp(np.linspace(-1.6, 0.8, points)):
            prior = np.array([100, 100, *np.full(group.max() + 1, effect)])
            covariance = np.linalg.inv(square / noise + np.diag(1 / prior))
            mean = covariance @ product / noise
            evidence = np.linalg.slogdet(covariance)[1] - np.log(prior).sum() - len(y) * np.log(noise)
            evidence = (evidence - (y @ y - product @ mean) / noise) / 2
            precisions = np.array([1 / effect, 1 / noise])
            priors = [one.shape * np.log(p) - one.rate * p for one, p in zip((EFFECT, NOISE), precisions)]
            logs.append(evidence + sum(priors))  # of the logarithms
            found.append([precisions, mean, np.diag(covariance)])
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    precisions, means, variances = (np.array([row[k] for row in found]) for k in range(3))
    mean, coefficients = weights @ precisions, weights @ means
    spread = weights @ (variances + means**2) - coefficients**2
    return mean, np.sqrt(weights @ precisions**2 - mean**2), coefficients, np.sqrt(spread)


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
    (grid_effect, grid_noise), (effect_spread, noise_spread), mean, deviation = on_grid(x, group, y)
    print()
    print(
        "                      precision of effects   of the noise   slope           furthest mean, in deviations"
    )
    print(
        f"on a grid             {grid_effect:8.3f} ± {effect_spread:.3f}   {grid_noise:6.3f} ± {noise_spread:.3f}   {mean[1]:.3f} ± {deviation[1]:.3f}"
    )
    for name, options in {
        "in the graph, direct": dict(rule="direct"),
        "in the graph, linear": dict(rule="linear"),
        "in the graph, EP": dict(engine="ep"),
    }.items():
        line, own, effect, noise, beliefs = fit_and_learn(x, group, y, **options)
        means = np.concatenate([line.mean, own.mean])
        print(
            f"{name:20s}  {effect.mean:8.3f} ± {effect.std:.3f}   {noise.mean:6.3f} ± {noise.std:.3f}   {line.mean[1]:.3f} ± {line.std[1]:.3f}"
            f" {np.abs((means - mean) / deviation).max():9.3f}   {beliefs.sweeps} sweeps"
        )


if __name__ == "__main__":
    main()
