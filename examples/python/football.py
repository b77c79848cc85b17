"""TrueSkill through time: the skills of national football teams, 1872 to 2015, and how well they foretell results.

    python3 examples/python/football.py football.csv.gz

A team's skill walks at random from match to match. A lead is the difference of two skills, the home team's advantage
unless the ground is neutral, and noise of deviation 1; it is seen as an interval: a draw lies between -c1 and c1, a
win by one goal between c1 and c2, and so on. The cut points c1, c2, ..., the step of the walk and the deviation of new
teams are those under which the results until 2010 are most probable (log evidence); the advantage is a variable.

Every match from 2011 on is predicted from what was known before it, beside Elo ratings and skills that do not change.
"""

import argparse
import gzip
import time

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import ndtr

import dma

FIRST_PREDICTED = pd.Timestamp("2011-01-01")
MOST_GOALS = 5  # a lead of so many goals or more is one interval
TEAMS_SHOWN = ["Brazil", "Germany", "Spain", "Hungary", "England"]


class Matches:
    """Matches in the order of their dates, and each team's match before."""

    def __init__(self, table):
        table = table.sort_values("date", kind="stable").reset_index(drop=True)
        self.dates = table.date
        pairs = table[["home_team", "away_team"]].to_numpy()
        names, codes = np.unique(pairs, return_inverse=True)
        self.teams, self.pairs = names.tolist(), codes.reshape(-1, 2)
        self.goals_ahead = (table.home_score - table.away_score).to_numpy()
        self.at_home = (~table.neutral.astype(bool)).to_numpy(dtype=float)
        # Appearance 2 m is the home team's in match m, 2 m + 1 the away team's.
        self.days = (table.date - table.date[0]).dt.days.to_numpy()
        last = {}
        self.before, self.years_since = np.empty((2, len(table), 2))
        for match, teams in enumerate(self.pairs.tolist()):
            for side, team in enumerate(teams):
                at, day = last.get(team, (-1, self.days[match]))
                self.before[match, side] = at
                self.years_since[match, side] = (self.days[match] - day) / 365.25
            for side, team in enumerate(teams):
                last[team] = (2 * match + side, self.days[match])
        self.before = self.before.astype(int)

    def __len__(self):
        return len(self.dates)


def ends_of(cuts, goals_ahead):
    """The interval of each lead."""
    ends = np.concatenate([[-np.inf], -cuts[::-1], cuts, [np.inf]])
    level = np.clip(goals_ahead, -MOST_GOALS, MOST_GOALS) + MOST_GOALS
    return ends[level], ends[level + 1]


def overlap(apart, variance):
    """log N(apart; 0, variance)"""
    return -(apart**2 / variance + np.log(2 * np.pi * variance)) / 2


class Model:
    """Its parameters are logarithms of the walk's variance per year, of a new team's deviation and of the widths of the
    intervals."""

    START = np.log([0.05, 1.0, 0.4] + [0.5] * (MOST_GOALS - 1))

    def __init__(self, matches, parameters):
        self.matches = matches
        step, new, *widths = np.exp(parameters)
        cuts = np.cumsum(widths)
        rows = len(matches)
        teams = len(matches.teams)
        appearance = teams + np.arange(2 * rows).reshape(rows, 2)
        previous = np.where(matches.before >= 0, teams + matches.before, matches.pairs)

        self.graph = g = dma.Graph()
        self.home = g.variable("home advantage")
        priors = [g.add(dma.Prior(0, 1), self.home)]
        self.skill = g.variables("skill", teams + 2 * rows)
        lead = g.variables("lead", rows)
        priors.append(g.add(dma.Prior(0, new**2), self.skill[:teams], name="new team"))
        self.walks = [
            g.add(
                dma.WeightedSum,
                self.skill[appearance[:, side]],
                self.skill[previous[:, side]],
                coefficients=[1],
                variance=step * matches.years_since[:, side],
            )
            for side in (0, 1)
        ]
        self.match = g.add(
            dma.WeightedSum,
            lead,
            self.home,
            self.skill[appearance[:, 0]],
            self.skill[appearance[:, 1]],
            coefficients=np.column_stack([matches.at_home, np.ones(rows), -np.ones(rows)]),
            variance=1,
        )
        lower, upper = ends_of(cuts, matches.goals_ahead)
        self.result = g.add(dma.Between, lead, lower=lower, upper=upper)
        self.first = [(priors[0], self.home), (priors[1], 0)]
        self.new_team = priors[1]
        self.appearance, self.previous, self.draw = appearance, previous, cuts[0]

    def in_time(self, begin, end):
        """These matches forward in time and back."""
        home, away, match, result = (one[begin:end] for one in (*self.walks, self.match, self.result))
        forward = [(home, 0), (away, 0), (match, 0), (result, 0), (match, 1), (match, 2), (match, 3)]
        backward = [(match, 0), (result, 0), (match, 2), (match, 3), (home, 1), (away, 1)]
        return dma.Schedule([*self.first, forward], [backward])

    def settle(self, end, start=None, tolerance=1e-3):
        """What the first matches say of all skills, then and later."""
        return self.graph.infer(
            engine="ep",
            schedule=self.in_time(0, end),
            sweeps=100,
            tolerance=tolerance,
            acceleration=5,
            start=start,
        )

    def explicit_evidence(self, beliefs):
        """What the parameters add to the log evidence while all messages stay, as a function of them.

        Where messages have converged, the evidence does not change with them to first order, so that this has its
        gradient.
        """

        def arrives(variables, factors, edge):
            """Mean and variance of the messages to these factors."""
            belief, sent = beliefs[self.skill][variables], beliefs.messages(factors, edge)
            rho = belief.rho - sent.rho
            return (belief.tau - sent.tau) / rho, 1 / rho

        walks = []
        for side, walk in enumerate(self.walks):
            (now, now_variance), (then, then_variance) = (
                arrives(self.appearance[:, side], walk, 0),
                arrives(self.previous[:, side], walk, 1),
            )
            walks.append((now - then, now_variance + then_variance, self.matches.years_since[:, side]))
        new_mean, new_variance = arrives(np.arange(len(self.matches.teams)), self.new_team, 0)
        lead = beliefs.messages(self.match, 0)

        def evidence(parameters):
            step, new, *widths = np.exp(parameters)
            lower, upper = ends_of(np.cumsum(widths), self.matches.goals_ahead)
            inside = ndtr((upper - lead.mean) / lead.std) - ndtr((lower - lead.mean) / lead.std)
            return (
                sum(overlap(apart, variance + step * years).sum() for apart, variance, years in walks)
                + overlap(new_mean, new_variance + new**2).sum()
                + np.log(inside).sum()
            )

        return evidence

    def foretell(self, known, begin, end):
        """The probabilities of a win, a draw and a loss in each match, from what was known before it."""
        one_by_one = dma.Schedule(self.in_time(begin, end).forward, [])
        lead = self.graph.infer(engine="ep", schedule=one_by_one, start=known).messages(
            self.match[begin:end], 0
        )
        loss, not_win = (ndtr((cut - lead.mean) / lead.std) for cut in (-self.draw, self.draw))
        return np.column_stack([1 - not_win, not_win - loss, loss])


def learn(matches, without_time=False):
    """The parameters under which the results are most probable, and how probable."""

    def with_step(rest):
        return np.concatenate([[-np.inf], rest]) if without_time else rest

    def cost(rest):
        parameters = with_step(rest)
        model = Model(matches, parameters)
        beliefs = model.settle(len(matches))
        explicit = model.explicit_evidence(beliefs)
        slopes = [
            explicit(with_step(rest + h)) - explicit(with_step(rest - h)) for h in 1e-4 * np.eye(len(rest))
        ]
        return -beliefs.log_evidence() / len(matches), -np.array(slopes) / 2e-4 / len(matches)

    start = Model.START[1:] if without_time else Model.START
    best = minimize(cost, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-9, "gtol": 1e-6})
    return with_step(best.x), -best.fun * len(matches), best.nfev


def foretell_by_skills(matches, parameters, through_time):
    """Year by year: what came before is settled; then match by match."""
    model = Model(matches, parameters)
    years = matches.dates.dt.year.to_numpy()
    known, all_probabilities = None, []
    for year in range(FIRST_PREDICTED.year, years[-1] + 1):
        begin, end = np.searchsorted(years, [year, year + 1])
        known = model.settle(begin, known)
        all_probabilities.append(model.foretell(known, begin, end))
    return np.concatenate(all_probabilities)


def elo_differences(matches, gain, advantage, by_goals):
    """The difference of ratings before each match."""
    ratings = [1500.0] * len(matches.teams)
    differences = np.empty(len(matches))
    weights = np.where(by_goals, np.log1p(np.maximum(1, np.abs(matches.goals_ahead))) / np.log(2), 1)
    scores = (np.sign(matches.goals_ahead) + 1) / 2
    rows = zip(
        matches.pairs.tolist(), (advantage * matches.at_home).tolist(), scores.tolist(), weights.tolist()
    )
    for match, ((home, away), extra, score, weight) in enumerate(rows):
        difference = ratings[home] + extra - ratings[away]
        differences[match] = difference
        change = gain * weight * (score - 1 / (1 + 10 ** (-difference / 400)))
        ratings[home] += change
        ratings[away] -= change
    return differences


def elo_probabilities(differences, draw, scale):
    win, not_loss = (1 / (1 + np.exp(-(differences + shift) / scale)) for shift in (-draw, draw))
    return np.column_stack([win, not_loss - win, 1 - not_loss])


def outcomes(matches):
    """0: the home team won, 1: a draw, 2: it lost."""
    return 1 - np.sign(matches.goals_ahead).astype(int)


def log_loss(probabilities, seen):
    return -np.log(probabilities[np.arange(len(seen)), seen]).mean()


def foretell_by_elo(matches, predicted, by_goals):
    """With the gain, advantage, margin and scale that foretold the matches from 1980 to 2010 best."""
    tuned = (matches.dates.dt.year >= 1980).to_numpy() & ~predicted
    seen = outcomes(matches)

    def probabilities(parameters):
        gain, advantage, draw, scale = np.exp(parameters)
        return elo_probabilities(elo_differences(matches, gain, advantage, by_goals), draw, scale)

    def cost(parameters):
        return log_loss(probabilities(parameters)[tuned], seen[tuned])

    best = minimize(
        cost, np.log([30, 80, 60, 150]), method="Nelder-Mead", options={"xatol": 0.01, "fatol": 1e-6}
    )
    return probabilities(best.x)[predicted]


def calibration_error(probabilities, seen, ranges=15):
    """Of all three probabilities: the mean of |mean probability - share that came true| over equal ranges."""
    came_true = (np.arange(3) == seen[:, None]).ravel()
    said = probabilities.ravel()
    places = np.minimum((said * ranges).astype(int), ranges - 1)
    apart = np.bincount(places, said - came_true, ranges)
    return np.abs(apart).sum() / len(said)


def draw_skills(model, matches, beliefs, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 5))
    skills = beliefs[model.skill]
    for name in TEAMS_SHOWN:
        team = matches.teams.index(name)
        at = np.flatnonzero((matches.pairs == team).ravel())
        mean, std = (values[len(matches.teams) + at] for values in (skills.mean, skills.std))
        (line,) = axes.plot(matches.dates.to_numpy()[at // 2], mean, lw=1, label=name)
        axes.fill_between(
            matches.dates.to_numpy()[at // 2],
            mean - 2 * std,
            mean + 2 * std,
            alpha=0.15,
            color=line.get_color(),
            lw=0,
        )
    axes.set(ylabel="skill, ± 2 deviations", title="Skills through time")
    axes.legend(frameon=False, ncols=len(TEAMS_SHOWN), loc="lower right")
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("csv")
    parser.add_argument("--figure", help="draw some teams' skills into this file")
    parser.add_argument("--parameters", type=float, nargs="+", help="do not learn them")
    arguments = parser.parse_args()
    table = pd.read_csv(arguments.csv, parse_dates=["date"])
    matches = Matches(table)
    past = Matches(table[table.date < FIRST_PREDICTED])
    predicted = (matches.dates >= FIRST_PREDICTED).to_numpy()
    seen = outcomes(matches)[predicted]

    begin = time.perf_counter()
    if arguments.parameters:
        parameters = np.array(arguments.parameters)
    else:
        parameters, evidence, fits = learn(past)
        print(
            f"log evidence until 2010 {evidence:.1f}, found in {fits} fits, {time.perf_counter() - begin:.0f} s"
        )
    step, new, *widths = np.exp(parameters)
    cuts = ", ".join(f"{cut:.3f}" for cut in np.cumsum(widths))
    print(f"walk: variance {step:.4f} a year; new teams: deviation {new:.2f}; cut points {cuts}")
    print("parameters", *np.round(parameters, 4))

    begin = time.perf_counter()
    model = Model(matches, parameters)
    beliefs = model.settle(len(matches))
    home = beliefs[model.home]
    print(
        f"all {len(matches)} matches: {beliefs.sweeps} sweeps, {time.perf_counter() - begin:.1f} s; "
        f"home advantage {home.mean:.3f} ± {home.std:.3f}"
    )
    if arguments.figure:
        draw_skills(model, matches, beliefs, arguments.figure)

    static, static_evidence, _ = learn(past, without_time=True)
    print(f"without time: log evidence {static_evidence:.1f}")
    ways = {
        "skills through time": foretell_by_skills(matches, parameters, True),
        "skills without time": foretell_by_skills(matches, static, False),
        "Elo": foretell_by_elo(matches, predicted, False),
        "Elo by goals": foretell_by_elo(matches, predicted, True),
        "shares": np.tile(np.bincount(outcomes(past), minlength=3) / len(past), (len(seen), 1)),
    }
    print(f"\n{len(seen)} matches from 2011 on   log loss   calibration error   right")
    for name, probabilities in ways.items():
        right = (probabilities.argmax(axis=1) == seen).mean()
        print(
            f"{name:28s} {log_loss(probabilities, seen):9.4f} {calibration_error(probabilities, seen):17.4f} {right:11.3f}"
        )


if __name__ == "__main__":
    main()
