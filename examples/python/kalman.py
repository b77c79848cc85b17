"""A Kalman smoother that learns its noises, in ten lines.

A level walks at random and is seen with noise. The variances of its steps and of what is seen are those under which
the series is most probable. The graph is a chain, so that its evidence and its marginals are exact: they are compared
with the joint Gaussian.

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
    inside = np.mean(np.abs(level - smoothed.mean) < 1.96 * smoothed.std)
    print(f"deviation of a step   {np.sqrt(step):.3f} (true 0.300)")
    print(f"deviation of noise    {np.sqrt(noise):.3f} (true 1.000)")
    print(f"levels in their 95 %  {100 * inside:.1f} %")
    print(f"log evidence          {evidence:.6f}, exact {exact_evidence:.6f}")
    print(
        f"furthest from exact   {np.abs(smoothed.mean - mean).max():.1e}, deviations {np.abs(smoothed.std - deviation).max():.1e}"
    )


if __name__ == "__main__":
    main()
