"""Forgetting: customers ask for their rows to be forgotten.

scikit-learn's diabetes table: a model learns 400 patients and predicts the other 42. It keeps what every row told the
weights (the ledger), so that a row can be divided out without a refit. Three questions, for the default belief
(one Gaussian over all weights, "joint") and for independent weights:
  - What is exact? Rows added by partial_fit and then forgotten leave the model as it was, and forgetting in two steps
    is the same as in one; both to rounding.
  - What is approximate? Rows that the fit itself has seen, because the other rows' messages were computed while they
    were there. The distance to a new fit without them, on the 42 patients, by number of rows forgotten: with the
    ledger alone, and with the remaining rows given again (data=...). For comparison, the distance between two fits
    that differ only in the seed.
  - What does it cost, compared with that refit?

It prints all three. The distance is the mean of |difference of means| / std, and the mean ratio of the stds. With -o
it draws the distances.

    python3 examples/python/forgetting.py -o forgetting.png
"""

import argparse
import copy
import time
import warnings

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

from dma import DMARegressor

BELIEFS = ("joint", "independent")


def distance(model, other, X):
    """Mean shift in the other's standard deviations, and mean ratio of the standard deviations."""
    (mean, std), (other_mean, other_std) = (m.predict(X, return_std=True) for m in (model, other))
    return np.mean(np.abs(mean - other_mean) / other_std), np.mean(std / other_std)


def largest_difference(model, other, X):
    pairs = zip(model.predict(X, return_std=True), other.predict(X, return_std=True))
    return max(np.max(np.abs(a - b) / np.abs(b)) for a, b in pairs)


def timed(call):
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def check_exactness(belief, X, y, probes):
    """Rows that come and go again; and two steps against one."""
    model = DMARegressor(belief=belief, random_state=0).fit(X[20:], y[20:])
    there_and_back = copy.deepcopy(model).partial_fit(X[:20], y[:20]).forget(X[:20], y[:20])
    at_once = copy.deepcopy(model).forget(X[20:40], y[20:40])
    in_two = copy.deepcopy(model).forget(X[30:40], y[30:40]).forget(X[20:30], y[20:30])
    back, steps = largest_difference(there_and_back, model, probes), largest_difference(
        in_two, at_once, probes
    )
    print(
        f"{belief}: learnt and forgotten again: as before to {back:.0e}; "
        f"in two steps as in one to {steps:.0e} (relative)"
    )


def measure(belief, X, y, probes, counts):
    """Distances to the refit and seconds, by number of rows forgotten; three ways: ledger, data, other seed."""
    model = DMARegressor(belief=belief, random_state=0).fit(X, y)
    results = []
    for count in counts:
        gone, rest = slice(0, count), slice(count, None)
        anew, refit_seconds = timed(lambda: DMARegressor(belief=belief, random_state=0).fit(X[rest], y[rest]))
        other = DMARegressor(belief=belief, random_state=1).fit(X[rest], y[rest])
        ledger, ledger_seconds = timed(lambda: copy.deepcopy(model).forget(X[gone], y[gone]))
        swept, swept_seconds = timed(lambda: copy.deepcopy(model).forget(X[gone], y[gone], data=(X, y)))
        distances = [distance(way, anew, probes) for way in (ledger, swept, other)]
        results.append((distances, (ledger_seconds, swept_seconds, refit_seconds)))
    return results


def print_distances(belief, counts, results):
    print(f"{belief}: distance to the refit (shift in stds, ratio of stds), seconds of CPU")
    print("  forgotten    ledger alone       with data=        another seed     ledger    data=    refit")
    for count, (distances, seconds) in zip(counts, results):
        cells = "".join(f"{shift:8.3f} {ratio:8.3f} " for shift, ratio in distances)
        print(f"  {count:9d} {cells}" + "".join(f"{part:9.3f}" for part in seconds))


def draw(path, counts, all_results):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ways = (
        ("ledger alone", "o-", "#d95f02"),
        ("with data=", "s--", "#0060a8"),
        ("another seed", "^:", "#444444"),
    )
    figure, axes = plt.subplots(
        2, 2, figsize=(7, 4.6), dpi=100, sharex=True, sharey="row", constrained_layout=True
    )
    for column, (belief, results) in enumerate(all_results.items()):
        distances = np.array([row[0] for row in results])  # counts x ways x (shift, ratio)
        for what in (0, 1):
            for way, (name, style, colour) in enumerate(ways):
                axes[what, column].plot(
                    counts, distances[:, way, what], style, color=colour, markersize=4, label=name
                )
        axes[0, column].set_title(f"{belief} belief", fontsize=10)
        axes[1, column].set(xlabel="rows forgotten", xscale="log")
        axes[1, column].set_xticks(counts, counts)
        axes[1, column].minorticks_off()
    axes[0, 0].set(ylabel="shift of means / std", ylim=(0, None))
    axes[1, 0].set(ylabel="ratio of stds", ylim=(0, None))
    axes[0, 0].legend(fontsize=8, frameon=False)
    figure.suptitle("Distance to a model fitted anew without the rows", fontsize=10)
    figure.savefig(path, pil_kwargs={"optimize": True})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="60 rows, 1 or 5 forgotten: only a quick look")
    parser.add_argument("-o", metavar="PNG", help="also draw a picture")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # the defaults are meant to be tested
    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y, probes = X[order[42:]], y[order[42:]], X[order[:42]]
    X, y, counts = (X[:60], y[:60], [1, 5]) if options.quick else (X, y, [1, 3, 10, 30, 100])
    for belief in BELIEFS:
        check_exactness(belief, X, y, probes)
    results = {belief: measure(belief, X, y, probes, counts) for belief in BELIEFS}
    for belief in BELIEFS:
        print_distances(belief, counts, results[belief])
    if options.o:
        draw(options.o, counts, results)


if __name__ == "__main__":
    main()
