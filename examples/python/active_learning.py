"""Active learning: label the rows that the model is least sure about.

Inputs are cheap, labels are not. Both arms start with the same 20 labelled rows and label ten more at a time, up to
120: "active" labels the candidates with the largest epistemic standard deviation, "random" any. Noise does not count
for the choice, because no label can remove it. After each step the model is fitted again with its defaults, and scored
on rows that neither arm may label. Repeat r draws held-out rows, candidates and start with seed r.

The plain rule may choose ten rows that resemble each other. --choice diverse takes them one by one, each where the
functions that the model considers possible (sample_y) still differ most, given the values of those before.

It prints RMSE and NLL on the held-out rows by number of labels, the paired comparison of the two arms, and how
many random labels are as good as the active ones. With -o it draws both curves.

    python3 examples/python/active_learning.py --data DIR --set energy -o active_learning.png

DIR holds NAME.csv or NAME.csv.gz (a header, numbers, the target last), or a folder uci/ with them. Without
--data it uses scikit-learn's diabetes table.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

from dma import DMARegressor

START, STEP = 20, 10


def read_table(folder, name):
    if folder is None:
        return load_diabetes(return_X_y=True)
    places = [folder / part / (name + end) for part in ("", "uci") for end in (".csv", ".csv.gz")]
    path = next((place for place in places if place.exists()), None)
    if path is None:
        raise SystemExit(f"there is no {name}.csv or {name}.csv.gz in {folder} or {folder / 'uci'}")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


def most_unsure(model, X, candidates):
    _, epistemic_variance, _ = model.predict(X[candidates], return_cov_parts=True)
    return candidates[np.argsort(-epistemic_variance, kind="stable")[:STEP]]


def most_unsure_together(model, X, candidates):
    functions = model.sample_y(X[candidates], n_samples=200, noise=False)
    covariance = np.cov(functions)
    _, _, noise_variance = model.predict(X[candidates], return_cov_parts=True)
    chosen = []
    for _ in range(STEP):
        remaining = np.diag(covariance).copy()
        remaining[chosen] = -np.inf
        best = np.argmax(remaining)
        chosen.append(best)
        column = covariance[:, best]
        covariance = covariance - np.outer(column, column) / (column[best] + noise_variance[best])
    return candidates[chosen]


def at_random(model, X, candidates):
    return candidates[:STEP]  # they are in random order


CHOICES = {"largest": most_unsure, "diverse": most_unsure_together}


def learn(X, y, order, held_out, labels, seed, choose):
    """RMSE and NLL on the held-out rows after each step."""
    known, candidates = order[:START], order[START:]
    scores = []
    while True:
        model = DMARegressor(random_state=seed).fit(X[known], y[known])
        score = model.evaluate(X[held_out], y[held_out])
        scores.append((score["rmse"], score["nll"]))
        if len(known) >= labels:
            return scores
        chosen = choose(model, X, candidates)
        known = np.concatenate([known, chosen])
        candidates = candidates[~np.isin(candidates, chosen)]


def repeat(X, y, labels, seed, choose):
    order = np.random.default_rng(seed).permutation(len(y))
    tested = min(500, len(y) // 4)
    held_out, rest = order[:tested], order[tested : tested + 1500]
    return [learn(X, y, rest, held_out, labels, seed, how) for how in (choose, at_random)]


def mean_and_error(values):
    return np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / np.sqrt(len(values))


def print_comparison(rows, scores):
    """scores: repeats x 2 arms x steps x (RMSE, NLL)."""
    mean, error = mean_and_error(scores)
    print("labels        RMSE active          random      NLL active          random")
    for k, count in enumerate(rows):
        cells = [
            f"{mean[arm, k, what]:8.3f} ± {error[arm, k, what]:.3f}" for what in (0, 1) for arm in (0, 1)
        ]
        print(f"{count:6d}  " + " ".join(cells))
    (active, random), repeats = np.moveaxis(scores, 1, 0), len(scores)
    for k, when in ((len(rows) // 2, f"{rows[len(rows) // 2]} labels"), (-1, f"{rows[-1]} labels")):
        ratio, spread = mean_and_error(np.log(active[:, k, 0] / random[:, k, 0]))
        gain, doubt = mean_and_error(active[:, k, 1] - random[:, k, 1])
        print(
            f"{when}: active RMSE {100 * np.expm1(ratio):+.1f} % (standard error {100 * spread:.1f}), lower in "
            f"{np.sum(active[:, k, 0] < random[:, k, 0])} of {repeats}; NLL {gain:+.3f} ± {doubt:.3f}, lower in "
            f"{np.sum(active[:, k, 1] < random[:, k, 1])} of {repeats}"
        )
    reached = next(
        count for count, rmse in zip(rows, mean[0, :, 0]) if rmse <= mean[1, -1, 0] or count == rows[-1]
    )
    print(
        f"mean RMSE of {rows[-1]} random labels: {mean[1, -1, 0]:.3f}, of {reached} active ones: "
        f"{mean[0, rows.index(reached), 0]:.3f}"
    )


def draw(path, title, rows, scores):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    mean, error = mean_and_error(scores)
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), dpi=100, constrained_layout=True)
    for what, (axis, label) in enumerate(zip(axes, ("RMSE", "NLL (nats per row)"))):
        for arm, (choice, style, colour) in enumerate(
            (("active", "o-", "#0060a8"), ("random", "s--", "#d98200"))
        ):
            middle, spread = mean[arm, :, what], error[arm, :, what]
            axis.plot(rows, middle, style, color=colour, markersize=4, label=choice)
            axis.fill_between(rows, middle - spread, middle + spread, color=colour, alpha=0.2, linewidth=0)
        axis.set(xlabel="labelled rows", ylabel=f"{label}, held-out rows")
    axes[0].set_yscale("log")
    axes[0].yaxis.set_major_formatter("{x:g}")
    axes[0].yaxis.set_minor_formatter("{x:g}")
    axes[0].tick_params(axis="y", which="minor", labelsize=7)
    axes[0].legend(frameon=False)
    figure.suptitle(f"{title}: mean of {len(scores)} repeats ± standard error", fontsize=10)
    figure.savefig(path, pil_kwargs={"optimize": True})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with NAME.csv (default: diabetes)")
    parser.add_argument("--set", default="energy", metavar="NAME", help="table in DIR (default: %(default)s)")
    parser.add_argument("--choice", choices=CHOICES, default="largest", help="rule of the active arm")
    parser.add_argument(
        "--repeats", type=int, default=20, help="number of repeats, at least 2 (default: %(default)s)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="two repeats, up to 30 labels: only a quick look"
    )
    parser.add_argument("-o", metavar="PNG", help="also draw a picture")
    options = parser.parse_args()
    if options.repeats < 2:
        parser.error("--repeats must be at least 2: a single one has no spread")
    X, y = read_table(options.data, options.set)
    name = options.set if options.data else "diabetes"
    labels, repeats = (30, 2) if options.quick else (120, options.repeats)
    rows = list(range(START, labels + 1, STEP))
    scores = np.array([repeat(X, y, labels, seed, CHOICES[options.choice]) for seed in range(repeats)])
    print(f"{name}: {len(y)} rows, {X.shape[1]} columns, {repeats} repeats, choice: {options.choice}")
    print_comparison(rows, scores)
    if options.o:
        draw(options.o, f"{name}, choice: {options.choice}", rows, scores)


if __name__ == "__main__":
    main()
