"""Gross errors in y: what they do to the interval, which rows are suspicious, and what forgetting them gains.

Friedman's function of ten columns (five of them irrelevant), 300 rows with noise of standard deviation 1; in nine rows
y is wrong by 10 to 20. The noise is learnt with its tails, which a few gross errors widen. Then each row is checked:
is it outside the 99 % interval of
  - the model that learnt it,
  - the model after forgetting just this row (no refit, two hundredths of a second),
  - a model fitted to the other four fifths of the table (five refits)?
The rows that the last check suspects are forgotten, and the model learns the rest again (data=...).

It prints how many of the nine each check finds and how many good rows it blames; RMSE, coverage and width on 2000 clean
rows; and the coverage of mean ± z std and of predict_interval. All are means over the seeds 0, 1, .... With -o it draws
the third check for seed 0.

    python3 examples/python/outliers.py -o outliers.png
"""

import argparse
import copy
import warnings

import numpy as np
from scipy.stats import norm
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from dma import DMARegressor

WRONG, LEVEL = 9, 0.99


def table_with_errors(rows, seed):
    X, y = make_friedman1(rows, noise=1.0, random_state=seed)
    random = np.random.default_rng(seed)
    wrong = random.choice(rows, WRONG, replace=False)
    y[wrong] += random.choice([-1, 1], WRONG) * random.uniform(10, 20, WRONG)
    return X, y, wrong


def outside(model, X, y):
    lower, upper = model.predict_interval(X, LEVEL)
    return (y < lower) | (y > upper)


def outside_when_forgotten(model, X, y):
    def suspicious(row):
        return outside(copy.deepcopy(model).forget(X[[row]], y[[row]]), X[[row]], y[[row]])[0]

    return np.array([suspicious(row) for row in range(len(y))])


def fold_predictions(X, y, seed):
    """Mean and interval of every row by a model that has not seen it."""
    mean, lower, upper = np.empty((3, len(y)))
    for rest, fold in KFold(5, shuffle=True, random_state=seed).split(X):
        model = fit(X[rest], y[rest], seed)
        mean[fold] = model.predict(X[fold])
        lower[fold], upper[fold] = model.predict_interval(X[fold], LEVEL)
    return mean, lower, upper


def fit(X, y, seed):
    return DMARegressor(random_state=seed).fit(X, y)


def on_clean_rows(model, X, y):
    """RMSE, coverage of the 95 % interval and its mean width."""
    lower, upper = model.predict_interval(X)
    inside = (lower <= y) & (y <= upper)
    return np.sqrt(np.mean((model.predict(X) - y) ** 2)), 100 * inside.mean(), np.mean(upper - lower)


def two_readings(model, X, y, level):
    """Coverage and mean width of predict_interval and of mean ± z std, in turn."""
    mean, std = model.predict(X, return_std=True)
    lower, upper = model.predict_interval(X, level)
    z = norm.ppf((1 + level) / 2)
    return [
        100 * np.mean((lower <= y) & (y <= upper)), np.mean(upper - lower),
        100 * np.mean(np.abs(y - mean) <= z * std), np.mean(2 * z * std),
    ]  # fmt: skip


def experiment(seed, rows):
    X, y, wrong = table_with_errors(rows, seed)
    test = make_friedman1(2000, noise=1.0, random_state=1000 + seed)
    is_wrong = np.isin(np.arange(rows), wrong)
    model = fit(X, y, seed)
    _, lower, upper = fold_predictions(X, y, seed)
    found = {
        "the model that learnt it": outside(model, X, y),
        "that model without the row": outside_when_forgotten(model, X, y),
        "a model of other rows": (y < lower) | (y > upper),
    }
    caught = {name: (np.sum(rows & is_wrong), np.sum(rows & ~is_wrong)) for name, rows in found.items()}
    suspects = found["a model of other rows"]
    mended = copy.deepcopy(model).forget(X[suspects], y[suspects])
    settled = copy.deepcopy(model).forget(X[suspects], y[suspects], data=(X, y))
    quality = {
        "with the errors": on_clean_rows(model, *test),
        "suspects forgotten": on_clean_rows(mended, *test),
        "  ... and the rest learnt again": on_clean_rows(settled, *test),
        "new fit without suspects": on_clean_rows(fit(X[~suspects], y[~suspects], seed), *test),
        "never saw an error": on_clean_rows(
            fit(*make_friedman1(rows, noise=1.0, random_state=seed), seed), *test
        ),
    }
    readings = {level: two_readings(model, *test, level) for level in (0.5, 0.8, 0.95, 0.99)}
    return caught, quality, readings


def print_means(results):
    def means(part, name):
        return np.mean([result[part][name] for result in results], axis=0)

    print(f"outside of the {100 * LEVEL:g} % interval of    wrong rows found of {WRONG}   good rows blamed")
    for name in results[0][0]:
        print("  {:28s} {:18.1f} {:22.1f}".format(name, *means(0, name)))
    print("2000 clean rows                    RMSE   in the 95 % interval   its width")
    for name in results[0][1]:
        print("  {:30s} {:7.3f} {:15.1f} % {:15.2f}".format(name, *means(1, name)))
    print("the model with the errors, clean rows: predict_interval   mean ± z std")
    for level in results[0][2]:
        print(
            "  {:4.0f} %    {:14.1f} % width {:5.2f} {:9.1f} % width {:5.2f}".format(
                100 * level, *means(2, level)
            )
        )


def draw(path, rows):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X, y, wrong = table_with_errors(rows, seed=0)
    figure, axis = plt.subplots(figsize=(7, 3.6), dpi=100, constrained_layout=True)
    mean, lower, upper = fold_predictions(X, y, seed=0)
    order = np.argsort(upper - lower)
    place, residual, is_wrong = np.arange(rows), (y - mean)[order], np.isin(order, wrong)
    band = axis.fill_between(place, (lower - mean)[order], (upper - mean)[order], color="#c3d6e8", step="mid")
    (good,) = axis.plot(place[~is_wrong], residual[~is_wrong], "o", color="#003a70", markersize=2.5)
    (bad,) = axis.plot(
        place[is_wrong], residual[is_wrong], "X", color="#d95f02", markeredgecolor="black", markersize=7
    )
    axis.legend(
        [good, bad, band],
        ["good row", "wrong row", "99 % interval without the row's fifth"],
        fontsize=8,
        ncol=3,
        loc="upper center",
        bbox_to_anchor=(0.5, 1.12),
        frameon=False,
    )
    axis.set(xlabel="rows, by width of the interval", ylabel="y − mean", xlim=(-3, rows + 2))
    figure.savefig(path, pil_kwargs={"optimize": True})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeats", type=int, default=5, help="number of seeds 0, 1, ... (default: %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="one repeat of 60 rows: only a quick look")
    parser.add_argument("-o", metavar="PNG", help="also draw a picture")
    options = parser.parse_args()
    repeats, rows = (1, 60) if options.quick else (options.repeats, 300)
    # The default of 40 epochs often ends before the likelihood has settled to the last digit.
    warnings.simplefilter("ignore", ConvergenceWarning)
    print_means([experiment(seed, rows) for seed in range(repeats)])
    if options.o:
        draw(options.o, rows)


if __name__ == "__main__":
    main()
