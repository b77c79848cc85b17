"""TrueSkill with draws as a factor graph, beside the exact posterior.

Three players, six matches. Players perform as well as their skills, with noise; the better performance wins, unless the
two are so close that the match is a draw. In a graph, a win says that the difference of performances is greater than a
margin, a draw that it lies between -margin and margin.

With one variable per player the graph has cycles: what a match says comes back through the others, and the skills seem
surer than they are. If the variables are the skills along the principal axes of the matches instead, one of which is
the level of all players that no match says anything about, the matches say nearly independent things about them. The
prior is the same, because it is a rotation, and a skill is a weighted sum: a factor more.

It prints both, and the exact posterior by a sum over a grid.

    python3 examples/python/trueskill_draws.py
"""

import argparse
import math

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

import dma

MEAN, DEVIATION = 25, 25 / 3  # of a new player's skill
NOISE = math.sqrt(2) * 25 / 6  # of the difference of two performances
MARGIN = norm.ppf((1 + 0.10) / 2) * NOISE  # one in ten matches between equals is a draw
PLAYERS = ["Ada", "Blaise", "Carl"]
MATCHES = [
    ("Ada", "Blaise", "win"),
    ("Blaise", "Carl", "draw"),
    ("Carl", "Ada", "loss"),
    ("Ada", "Blaise", "draw"),
    ("Blaise", "Carl", "win"),
    ("Blaise", "Ada", "loss"),
]


def differences(matches):
    """One row per match: 1 for the first player, -1 for the second."""
    rows = np.zeros((len(matches), len(PLAYERS)))
    for row, (first, second, _) in zip(rows, matches):
        row[PLAYERS.index(first)], row[PLAYERS.index(second)] = 1, -1
    return rows


def skill_graph(matches, axes):
    """The variables Ada, Blaise and Carl are the skills: axes u, with independent u; axes is a rotation."""
    graph = dma.Graph()
    along = graph.variables(*(f"u{k}" for k in range(len(PLAYERS))))
    for variable, mean in zip(along, MEAN * axes.sum(axis=0)):
        graph.add(dma.Prior(mean, DEVIATION**2), variable)
    for row, (_, _, outcome) in zip(differences(matches) @ axes, matches):
        difference = graph.variable()
        sign = -1 if outcome == "loss" else 1
        graph.add(dma.WeightedSum(sign * row, variance=NOISE**2), difference, *along)
        seen = dma.Between(-MARGIN, MARGIN) if outcome == "draw" else dma.GreaterThan(MARGIN)
        graph.add(seen, difference)
    for player, row in zip(PLAYERS, axes):
        graph.add(dma.WeightedSum(row), graph.variable(player), *along)
    return graph


def principal_axes(matches):
    return np.linalg.svd(differences(matches))[2].T


def skills_of(graph, engine):
    beliefs = graph.infer(engine=engine, sweeps=100, tolerance=1e-9)
    assert beliefs.converged
    return np.array([(beliefs[player].mean, beliefs[player].std) for player in PLAYERS])


def probability(outcome, difference):
    """Of an outcome, given the difference of skills."""
    if outcome == "win":
        return ndtr((difference - MARGIN) / NOISE)
    if outcome == "loss":
        return ndtr((-difference - MARGIN) / NOISE)
    return ndtr((MARGIN - difference) / NOISE) - ndtr((-MARGIN - difference) / NOISE)


def exact_skills(matches, points=81):
    """Mean and standard deviation of every skill, by a sum over a grid of all three."""
    axis = np.linspace(MEAN - 7 * DEVIATION, MEAN + 7 * DEVIATION, points)
    skills = np.meshgrid(axis, axis, axis, indexing="ij", sparse=True)
    weight = math.prod(norm.pdf(skill, MEAN, DEVIATION) for skill in skills)
    for first, second, outcome in matches:
        difference = skills[PLAYERS.index(first)] - skills[PLAYERS.index(second)]
        weight = weight * probability(outcome, difference)
    weight /= weight.sum()
    means = [np.sum(weight * skill) for skill in skills]
    deviations = [math.sqrt(np.sum(weight * (skill - mean) ** 2)) for skill, mean in zip(skills, means)]
    return np.column_stack([means, deviations])


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    plain = skill_graph(MATCHES, np.eye(len(PLAYERS)))
    rotated = skill_graph(MATCHES, principal_axes(MATCHES))
    ways = {
        "exact": exact_skills(MATCHES),
        "skills, EP": skills_of(plain, "ep"),
        "axes, EP": skills_of(rotated, "ep"),
        "axes, direct": skills_of(rotated, "direct"),
    }
    print("                       Ada         Blaise           Carl")
    for name, moments in ways.items():
        print(f"{name:12s}", *(f"{mean:7.3f} ±{deviation:6.3f}" for mean, deviation in moments))


if __name__ == "__main__":
    main()
