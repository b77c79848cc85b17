"""Rows that arrive in blocks: learning them as they come, and when to learn everything again.

It starts with a hundred rows of Friedman's function (noise 1); then blocks of thirty arrive. Each block is predicted
before it is learnt (prequential error), so no model is scored on rows it has seen. In one stream nothing changes; in
the other the function drifts from the fifth block on: another column gradually takes over from the first. Six ways to
keep up:
  - never: keep the first model
  - partial_fit: add only the new rows
  - data= each fifth: partial_fit, every fifth time with the old rows given again (data=...)
  - data= each time: partial_fit with the old rows given again
  - refit: fit to everything again after each block
  - last 150 rows: fit to these only

It prints RMSE and NLL over the blocks, early and late, and the CPU time of each way, as means over the seeds 0, 1, ....
With -o it draws the errors of both streams block by block.

    python3 examples/python/streaming.py -o streaming.png
"""

import argparse
import copy
import time
import warnings

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning

from dma import DMARegressor

FIRST, BLOCK, DRIFT_FROM = 100, 30, 5


def stream(blocks, seed, drifts):
    """Blocks of (X, y); in a drift the column 0 hands over to the column 5."""
    X, _ = make_friedman1(FIRST + blocks * BLOCK, random_state=seed)
    noise = np.random.default_rng(seed).normal(size=len(X))
    block = np.maximum(0, (np.arange(len(X)) - FIRST) // BLOCK + 1)
    handed = np.clip((block - DRIFT_FROM + 1) / 6, 0, 1) if drifts else np.zeros(len(X))
    first = (1 - handed) * X[:, 0] + handed * X[:, 5]
    y = 10 * np.sin(np.pi * first * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4] + noise
    return [(X[block == k], y[block == k]) for k in range(blocks + 1)]


def together(blocks):
    return tuple(np.concatenate(part) for part in zip(*blocks))


def never(model, known, block):
    return model


def partial_fit(model, known, block):
    return model.partial_fit(*block)


def every_fifth(model, known, block):
    return model.partial_fit(*block, data=together(known) if len(known) % 5 == 0 else None)


def every_time(model, known, block):
    return model.partial_fit(*block, data=together(known))


def refit(model, known, block):
    return model.fit(*together(known + [block]))


def last_rows(model, known, block):
    return model.fit(*together((known + [block])[-5:]))


WAYS = {
    "never": (never, "#777777", ":"),
    "partial_fit": (partial_fit, "#d95f02", "-"),
    "data= each fifth": (every_fifth, "#0060a8", "--"),
    "data= each time": (every_time, "#56b4e9", "-"),
    "refit": (refit, "#000000", "-."),
    "last 150 rows": (last_rows, "#2a9d6f", (0, (1, 1))),
}


def follow(model, blocks, learn):
    """RMSE and NLL of each block before it is learnt, and the seconds of learning after the first."""
    scores, seconds = [], 0.0
    for k in range(1, len(blocks)):
        if k > 1:
            start = time.process_time()
            model = learn(model, blocks[: k - 1], blocks[k - 1])
            seconds += time.process_time() - start
        score = model.evaluate(*blocks[k])
        scores.append((score["rmse"], score["nll"]))
    return np.array(scores), seconds


def print_scores(name, scores, seconds):
    half = next(iter(scores.values())).shape[1] // 2
    print(f"{name:20s} RMSE first half  second half    NLL first half  second half    seconds")
    for way, values in scores.items():
        early, late = values[:, :half].mean(axis=(0, 1)), values[:, half:].mean(axis=(0, 1))
        cells = f"{early[0]:15.2f} {late[0]:12.2f} {early[1]:17.2f} {late[1]:12.2f}"
        print(f"  {way:18s} {cells} {np.mean(seconds[way]):10.2f}")


def draw(path, results):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2, 2, figsize=(7, 5), dpi=100, sharex=True, sharey="row", constrained_layout=True
    )
    for column, (name, scores) in enumerate(results.items()):
        for way, values in scores.items():
            _, colour, style = WAYS[way]
            mean = values.mean(axis=0)
            for what in (0, 1):
                axes[what, column].plot(
                    range(1, len(mean) + 1), mean[:, what], color=colour, linestyle=style, label=way
                )
        axes[0, column].set_title(name, fontsize=10)
        axes[1, column].set_xlabel("block")
    axes[0, 0].set(ylabel="RMSE before learning it", yscale="log")
    axes[0, 0].set_yticks([1, 2, 4, 8], [1, 2, 4, 8])
    axes[0, 0].minorticks_off()
    axes[1, 0].set_ylabel("NLL before learning it")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, fontsize=7.5, ncol=6, loc="upper center", bbox_to_anchor=(0.5, 0.0), frameon=False
    )
    figure.savefig(path, bbox_inches="tight", pil_kwargs={"optimize": True})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeats", type=int, default=3, help="number of seeds 0, 1, ... (default: %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="one repeat of two blocks: only a quick look")
    parser.add_argument("-o", metavar="PNG", help="also draw a picture")
    options = parser.parse_args()
    repeats, blocks = (1, 2) if options.quick else (options.repeats, 10)
    warnings.simplefilter("ignore", ConvergenceWarning)  # the defaults are meant to be tested
    results = {}
    for name, drifts in (("nothing changes", False), ("drift from block 5", True)):
        runs = {way: [] for way in WAYS}
        for seed in range(repeats):
            rows = stream(blocks, seed, drifts)
            first = DMARegressor(random_state=seed).fit(*rows[0])
            for way, (learn, _, _) in WAYS.items():
                runs[way].append(follow(copy.deepcopy(first), rows, learn))
        results[name] = {way: np.array([scores for scores, _ in run]) for way, run in runs.items()}
        print_scores(name, results[name], {way: [seconds for _, seconds in run] for way, run in runs.items()})
    if options.o:
        draw(options.o, results)


if __name__ == "__main__":
    main()
