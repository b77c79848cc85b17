"""A Kalman smoother that learns its noises, in ten lines, in two ways.

A level walks at random and is seen with noise. By the evidence, the variances of its steps and of what is seen are those
under which the series is most probable: the graph is a chain, so that its evidence and its marginals are exact, and they are
compared with the joint Gaussian. In the graph, both precisions are variables, and one inference finds them beside the
levels; they are compared with their posterior on a grid.

    python3 examples/python/kalman.py
"""

import argparse

import numpy as np
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import dma


def smooth(seen, step, noise):
    g = dma.Graph()
    level = g.variables("level", len(seen))
    g.add(dma.Prior(0, 100), level[0])
    g.add(dma.WeightedSum([1], variance=step), level[1:], level[: len(seen) - 1])
    g.add(dma.Observation, level, value=seen, variance=noise)
    beliefs = g.sweep()
    return beliefs[level], beliefs.log_evidence()


def learn(seen):
    best = minimize(lambda logs: -smooth(seen, *np.exp(logs))[1], [0, 0], method="Nelder-Mead", tol=1e-6)
    return np.exp(best.x)


STEP, NOISE = dma.GammaPrior(2, 0.2), dma.GammaPrior(2, 2)  # precisions of about 10 and 1


def smooth_and_learn(seen, **options):
    """Levels, and what is known of the precisions of a step and of the noise."""
    g = dma.Graph()
    step, noise = g.variables("step", "noise")
    level, value = g.variables("level", len(seen)), g.variables("value", len(seen))
    g.add(STEP, step)
    g.add(NOISE, noise)
    g.add(dma.Prior(0, 100), level[0])
    g.add(dma.Observation, value, value=seen, variance=0)
    g.add(dma.GaussianPrecision(), value, level, noise)
    g.add(dma.GaussianPrecision(), level[1:], level[: len(seen) - 1], step)
    beliefs = g.infer(**{"sweeps": 500, "tolerance": 1e-6, **options})
    return beliefs[level], beliefs[step], beliefs[noise], beliefs


def on_grid(seen, points=30):
    """Mean and deviation of both precisions, levels and their deviations, from the exact Gaussian at every point of a grid."""
    steps, noises = np.exp(np.linspace(-5, -0.3, points)), np.exp(np.linspace(-0.9, 0.9, points))
    logs, found = [], []
    for step in steps:
        for noise in noises:
            smoothed, evidence = smooth(seen, step, noise)
            precisions = np.array([1 / step, 1 / noise])
            priors = [prior.shape * np.log(p) - prior.rate * p for prior, p in zip((STEP, NOISE), precisions)]
            logs.append(evidence + sum(priors))  # of the logarithms
            found.append([precisions, smoothed.mean, smoothed.variance])
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    precisions, means, variances = (np.array([row[k] for row in found]) for k in range(3))
    level = weights @ means
    spread = weights @ (variances + means**2) - level**2
    mean = weights @ precisions
    return mean, np.sqrt(weights @ precisions**2 - mean**2), level, np.sqrt(spread)


def exact(seen, step, noise):
    """The same from the joint Gaussian of all levels."""
    rows = np.arange(len(seen))
    prior = 100 + step * np.minimum(rows[:, None], rows)
    covariance = prior + noise * np.eye(len(seen))
    gain = prior @ np.linalg.inv(covariance)
    evidence = multivariate_normal.logpdf(seen, np.zeros(len(seen)), covariance)
    return gain @ seen, np.sqrt(np.diag(prior - gain @ prior)), evidence


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    random = np.random.default_rng(1)
    level = np.cumsum(random.normal(0, 0.3, 500))
    seen = level + random.normal(0, 1, 500)
    step, noise = learn(seen)
    smoothed, evidence = smooth(seen, step, noise)
    mean, deviation, exact_evidence = exact(seen, step, noise)

    def inside(levels):
        return 100 * np.mean(np.abs(level - levels.mean) < 1.96 * levels.std)

    print(f"deviation of a step   {np.sqrt(step):.3f} (true 0.300)")
    print(f"deviation of noise    {np.sqrt(noise):.3f} (true 1.000)")
    print(f"levels in their 95 %  {inside(smoothed):.1f} %")
    print(f"log evidence          {evidence:.6f}, exact {exact_evidence:.6f}")
    print(
        f"furthest from exact   {np.abs(smoothed.mean - mean).max():.1e}, deviations {np.abs(smoothed.std - deviation).max():.1e}"
    )
    (grid_step, grid_noise), (step_spread, noise_spread), grid_level, grid_deviation = on_grid(seen)
    print()
    print(
        "                      precision of a step   of the noise    levels in 95 %   furthest level   deviations"
    )
    print(
        f"on a grid             {grid_step:8.2f} ± {step_spread:5.2f}   {grid_noise:6.3f} ± {noise_spread:.3f}"
    )
    for name, options in {
        "in the graph, direct": dict(rule="direct"),
        "in the graph, linear": dict(rule="linear"),
        "in the graph, EP": dict(engine="ep"),
        "in the graph, VMP": dict(engine="vmp", sweeps=5000),
    }.items():
        levels, step, noise, beliefs = smooth_and_learn(seen, **options)
        ratio = levels.std / grid_deviation
        print(
            f"{name:20s}  {step.mean:8.2f} ± {step.std:5.2f}   {noise.mean:6.3f} ± {noise.std:.3f} {inside(levels):12.1f} %"
            f" {np.abs((levels.mean - grid_level) / grid_deviation).max():12.3f} {ratio.min():10.3f} to {ratio.max():.3f}"
            f"   {beliefs.sweeps} sweeps"
        )


if __name__ == "__main__":
    main()
