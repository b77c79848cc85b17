#!/usr/bin/env python3
"""Compares ways to learn a text column with many values.

    bench/effects.py [--dma build/release/dma] [--values 50 500 ...] [--seeds 3] [--methods NAME...] [--kind number]
    bench/effects.py --table rows.csv --target y [--seeds 3]          a table with such columns

The first draws tables of a known truth:

    y = sin(2 a) + b / 2 + u_city + e,   a, b, u_city ~ N(0, 1),   e ~ N(0, 0.5^2)

and of classes whether y > 0. A city has k rows or more, up to 100, with probability 1 / k (with more than 1,000 cities
1 / k^2). Scored are two new rows of each city and as many of new cities as are a tenth of that; of a table a tenth of its
rows. Rare values have at most 3 rows that are learnt, frequent ones 30 or more.

    effect      dma fit, with one network shape, --hidden 20 (so have the next two)
    inputs      one yes/no column per value, of the 50 most frequent, and one for all others: what dma did before
    dropped     dma without the columns
    boosting    scikit-learn's HistGradientBoosting; its inputs are the target's means by value, shrunk by empirical Bayes
                and learnt in five folds (what its TargetEncoder does from version 1.3 on). Its noise is one number, from
                five folds; of classes its probabilities

Needs python3-sklearn and python3-pandas.
"""
import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.stats
import sklearn.ensemble
import sklearn.model_selection

MOST_INPUTS = 50
FOLDS = sklearn.model_selection.KFold(5, shuffle=True, random_state=1)


# ---------------------------------------------------------------------------------------------- tables


def drawn(values, seed, classes):
    """Rows to learn, rows to score."""
    draw = np.random.default_rng([seed, values])
    power = 1 if values <= 1000 else 2
    rows_of = np.minimum(100, np.floor(draw.uniform(size=values) ** (-1 / power))).astype(int)
    effects = draw.normal(size=values + max(1, values // 10))
    new = np.arange(values, len(effects))

    def rows(city):
        a, b, e = draw.normal(size=(3, len(city)))
        y = np.sin(2 * a) + b / 2 + effects[city] + 0.5 * e
        if classes:
            y = np.where(y > 0, "high", "low")
        return pd.DataFrame({"a": a, "b": b, "city": [f"city{c}" for c in city], "y": y})

    learnt = rows(draw.permutation(np.repeat(np.arange(values), rows_of)))
    return learnt, rows(np.concatenate([np.repeat(np.arange(values), 2), np.repeat(new, 2)]))


def split(table, seed):
    order = np.random.default_rng(seed).permutation(len(table))
    count = len(table) // 10
    return table.iloc[order[count:]], table.iloc[order[:count]]


def many_valued(table, target):
    return [
        name
        for name in table.columns
        if name != target and table[name].dtype == object and table[name].nunique() > MOST_INPUTS
    ]


# --------------------------------------------------------------------------------------------- methods


def fit_dma(dma, learnt, new, target, kind):
    """Of numbers log density, error and whether it is in the 95 % interval; of classes log probability and error."""
    with tempfile.TemporaryDirectory() as folder:
        train, test, model, out = (
            Path(folder) / name for name in ("train.csv", "test.csv", "model", "out.csv")
        )
        learnt.to_csv(train, index=False)
        new.to_csv(test, index=False)
        command = [
            dma,
            "fit",
            train,
            "--target",
            target,
            "--kind",
            kind,
            "--hidden",
            "20",
            "--model",
            model,
            "--json",
        ]
        if "city" in learnt.columns:  # most of 5,000 have one row, and would be left out like names
            command += ["--categorical", "city"]
        fitted = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        subprocess.run(
            [dma, "predict", model, test, "-o", out, "--digits", "all"], check=True, capture_output=True
        )
        said = pd.read_csv(out)
        y = new[target].to_numpy()
        if kind == "class":
            of_true = np.array([said[f"p_{name}"][n] for n, name in enumerate(y)])
            return np.log(of_true), (said["class"] != y).to_numpy(float), None, None, fitted["seconds"]
        inside = (said["lower"] <= y) & (y <= said["upper"])
        # Row by row: what dma evaluate says of one row.
        densities = log_densities(dma, model, new, Path(folder))
        return (
            densities,
            y - said["mean"],
            inside.to_numpy(),
            (said["upper"] - said["lower"]).to_numpy(),
            fitted["seconds"],
        )


def log_densities(dma, model, new, folder):
    """Mean log density of each group, given to all its rows: dma evaluate scores files."""
    densities = np.empty(len(new))
    groups = new["group"].to_numpy()
    for group in np.unique(groups):
        one = folder / "group.csv"
        new[groups == group].to_csv(one, index=False)
        said = subprocess.run(
            [dma, "evaluate", model, one, "--json"], check=True, capture_output=True, text=True
        )
        densities[groups == group] = -json.loads(said.stdout)["nll"]
    return densities


def as_inputs(learnt, new, columns):
    learnt, new = learnt.copy(), new.copy()
    for column in columns:
        kept = list(learnt[column].value_counts().index[:MOST_INPUTS])
        for table in (learnt, new):
            flags = {
                f"{column} {k}": np.where(table[column] == value, "yes", "no") for k, value in enumerate(kept)
            }
            flags[f"{column} other"] = np.where(table[column].isin(kept), "no", "yes")
            for name, cells in flags.items():
                table[name] = cells
    return learnt.drop(columns=columns), new.drop(columns=columns)


def shrunk_means(values, y, of):
    """Mean by value, shrunk as much as the variances within and between values say; of others the mean of all."""
    by_value = pd.Series(y).groupby(np.asarray(values))
    count, mean, within = by_value.size(), by_value.mean(), by_value.var(ddof=0)
    weight = count * y.var() / (count * y.var() + within)
    means = weight * mean + (1 - weight) * y.mean()
    return pd.Series(np.asarray(of)).map(means).fillna(y.mean()).to_numpy()


def encoded(learnt, new, columns, target, y):
    own, other = learnt.drop(columns=target).copy(), new.drop(columns=target).copy()
    for column in columns:
        own[column] = 0.0
        for train, held in FOLDS.split(learnt):
            means = shrunk_means(learnt[column].iloc[train], y[train], learnt[column].iloc[held])
            own.iloc[held, own.columns.get_loc(column)] = means
        other[column] = shrunk_means(learnt[column], y, new[column])
    text = [name for name in own.columns if own[name].dtype == object]
    both = pd.get_dummies(pd.concat([own, other]), columns=text).astype(float)
    return both.iloc[: len(own)].to_numpy(), both.iloc[len(own) :].to_numpy()


def fit_boosting(learnt, new, columns, target, kind):
    begun = time.time()
    if kind == "class":
        names = sorted(learnt[target].unique())
        y = (learnt[target] == names[1]).to_numpy(float)
        x, x_new = encoded(learnt, new, columns, target, y)
        said = sklearn.ensemble.HistGradientBoostingClassifier(random_state=1).fit(x, y).predict_proba(x_new)
        true = (new[target] == names[1]).to_numpy(int)
        of_true = said[np.arange(len(true)), true]
        return np.log(of_true.clip(1e-15)), (of_true < 0.5).astype(float), None, None, time.time() - begun
    y = learnt[target].to_numpy(float)
    x, x_new = encoded(learnt, new, columns, target, y)
    boosting = sklearn.ensemble.HistGradientBoostingRegressor(random_state=1)
    held_out = sklearn.model_selection.cross_val_predict(boosting, x, y, cv=FOLDS)
    noise = np.sqrt(np.mean((y - held_out) ** 2))
    error = new[target].to_numpy(float) - boosting.fit(x, y).predict(x_new)
    width = np.full(len(error), 2 * 1.96 * noise)
    density = scipy.stats.norm.logpdf(error, scale=noise)
    return density, error, np.abs(error) < 1.96 * noise, width, time.time() - begun


# ---------------------------------------------------------------------------------------------- scores


def groups_of(learnt, new, columns):
    """By the rarest of a row's values."""
    counts = np.min([new[c].map(learnt[c].value_counts()).fillna(0).to_numpy() for c in columns], axis=0)
    names = np.array(["new", "rare", "some", "frequent"])
    return names[np.searchsorted([1, 4, 30], counts, side="right")]


def run(arguments, learnt, new, target, kind):
    columns = many_valued(learnt, target) or ["city"]
    new = new.reset_index(drop=True)
    groups = groups_of(learnt, new, columns)
    scores = {}
    for method in arguments.methods:
        if method == "boosting":
            result = fit_boosting(learnt, new, columns, target, kind)
        else:
            rows = (learnt, new)
            if method == "inputs":
                rows = as_inputs(learnt, new, columns)
            if method == "dropped":
                rows = (learnt.drop(columns=columns), new.drop(columns=columns))
            result = fit_dma(arguments.dma, rows[0], rows[1].assign(group=groups), target, kind)
        density, error, inside, width, seconds = result
        for group in ["all", *np.unique(groups)]:
            of = np.ones(len(groups), bool) if group == "all" else groups == group
            scores[method, group] = [
                density[of].mean(),
                np.mean(error[of]) if kind == "class" else np.sqrt(np.mean(error[of] ** 2)),
                np.nan if inside is None else inside[of].mean(),
                np.nan if width is None else width[of].mean(),
                seconds,
                of.sum(),
            ]
    return pd.DataFrame(scores, index=["log-likelihood", "error", "coverage", "width", "seconds", "rows"]).T


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dma", default="build/release/dma")
    parser.add_argument("--values", type=int, nargs="+", default=[50, 500, 5000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kind", default="number", choices=["number", "class"])
    parser.add_argument("--methods", nargs="+", default=["effect", "inputs", "dropped", "boosting"])
    parser.add_argument("--table")
    parser.add_argument("--target")
    arguments = parser.parse_args()
    tasks = {f"{values} values": values for values in arguments.values}
    if arguments.table:
        table = pd.read_csv(arguments.table)
        tasks = {arguments.table: None}
    for name, values in tasks.items():
        results = []
        for seed in range(1, arguments.seeds + 1):
            if values is None:
                rows, target = split(table, seed), arguments.target
            else:
                rows, target = drawn(values, seed, arguments.kind == "class"), "y"
            results.append(run(arguments, *rows, target, arguments.kind))
        mean = pd.concat(results).groupby(level=[0, 1], sort=False).mean()
        print(f"{name}, {len(rows[0])} rows\n{mean.round(3).to_string()}\n", flush=True)


if __name__ == "__main__":
    main()
