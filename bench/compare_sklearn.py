#!/usr/bin/env python3
"""Compares DMARegressor with three regressors of scikit-learn that have (or can be given) an interval.

    PYTHONPATH=build/release/python python3 bench/compare_sklearn.py
    PYTHONPATH=build/release/python python3 bench/compare_sklearn.py --data DIR --sets boston yacht --splits 5

DIR has <set>.csv (a header, the target last) and <set>.splits.json ({"test": [[row, ...], ...]}, counted from
0), either of them possibly with .gz; all other rows of a split are for training. scikit-learn's diabetes needs no
file. A Markdown table goes to standard output, or JSON with the figures of every split; progress goes to standard
error.
"""

from __future__ import annotations

import os

# Set before NumPy reads them: all methods get one thread.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import gzip
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Callable, Iterator, NamedTuple

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dma import DMARegressor

UCI_SETS = ("boston", "concrete", "energy", "wine-quality-red", "yacht", "kin8nm", "power-plant")
DIABETES_SPLITS = 20
Z95 = 1.959963984540054


class Split(NamedTuple):
    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    number: int


class Scores(NamedTuple):
    rmse: float
    nll: float
    coverage: float
    seconds: float


# ---------------------------------------------------------------------------------------------------- methods


def dma(split: Split) -> tuple[float, float, float]:
    model = DMARegressor(random_state=split.number, n_jobs=1).fit(split.train_x, split.train_y)
    scores = model.evaluate(split.test_x, split.test_y)
    return scores["rmse"], scores["nll"], scores["coverage"][0.95]


def gaussian_process(split: Split, rows: int) -> tuple[float, float, float]:
    """Starts from unit scales and does not restart; learns from a sample of the rows if there are more."""
    split = _sample(split, rows)
    kernel = ConstantKernel() * RBF(np.ones(split.train_x.shape[1])) + WhiteKernel()
    model = GaussianProcessRegressor(
        kernel, normalize_y=True, n_restarts_optimizer=0, random_state=split.number
    )
    return _gaussian(
        split, *make_pipeline(StandardScaler(), model).fit(*split[:2]).predict(split.test_x, return_std=True)
    )


def mlp(split: Split) -> tuple[float, float, float]:
    """It has no interval, so it gets a Gaussian with the variance of its errors on rows that it did not see."""
    network = make_pipeline(StandardScaler(), MLPRegressor(random_state=split.number))
    model = TransformedTargetRegressor(network, transformer=StandardScaler())
    folds = KFold(5, shuffle=True, random_state=split.number)
    unseen = cross_val_predict(model, split.train_x, split.train_y, cv=folds)
    std = np.sqrt(np.mean((unseen - split.train_y) ** 2))
    return _gaussian(split, model.fit(*split[:2]).predict(split.test_x), std)


def bayesian_ridge(split: Split) -> tuple[float, float, float]:
    inputs, target = StandardScaler().fit(split.train_x), StandardScaler().fit(split.train_y[:, None])
    model = BayesianRidge()
    model.fit(inputs.transform(split.train_x), target.transform(split.train_y[:, None])[:, 0])
    mean, std = model.predict(inputs.transform(split.test_x), return_std=True)
    return _gaussian(split, target.inverse_transform(mean[:, None])[:, 0], std * target.scale_[0])


def _sample(split: Split, rows: int) -> Split:
    if len(split.train_y) <= rows:
        return split
    chosen = np.random.default_rng(split.number).choice(len(split.train_y), rows, replace=False)
    return split._replace(train_x=split.train_x[chosen], train_y=split.train_y[chosen])


def _gaussian(split: Split, mean: np.ndarray, std: np.ndarray | float) -> tuple[float, float, float]:
    z = (split.test_y - mean) / std
    nll = np.mean(0.5 * z**2 + np.log(std) + 0.5 * np.log(2 * np.pi))
    return float(np.sqrt(np.mean((split.test_y - mean) ** 2))), float(nll), float(np.mean(np.abs(z) <= Z95))


# ------------------------------------------------------------------------------------------------------- data


def diabetes() -> Iterator[Split]:
    x, y = load_diabetes(return_X_y=True)
    for number in range(DIABETES_SPLITS):
        order = np.random.default_rng(number).permutation(len(y))
        yield _split(x, y, order[: len(y) // 10], number)


def uci(directory: Path, name: str) -> Iterator[Split]:
    with _open(directory, f"{name}.csv") as file:
        table = np.genfromtxt(file, delimiter=",", skip_header=1)
    with _open(directory, f"{name}.splits.json") as file:
        tests = json.load(file)["test"]
    for number, test in enumerate(tests):
        yield _split(table[:, :-1], table[:, -1], np.asarray(test), number)


def _split(x: np.ndarray, y: np.ndarray, test: np.ndarray, number: int) -> Split:
    train = np.setdiff1d(np.arange(len(y)), test)
    return Split(x[train], y[train], x[test], y[test], number)


def _open(directory: Path, name: str):
    path = directory / name
    return path.open() if path.exists() else gzip.open(directory / f"{name}.gz", "rt")


# ---------------------------------------------------------------------------------------------------- running


def measure(method: Callable[[Split], tuple[float, float, float]], split: Split) -> Scores:
    begin = time.process_time()  # one thread, so that this is what a free core would need
    scores = method(split)
    return Scores(*scores, time.process_time() - begin)


def compare(name: str, splits: Iterator[Split], count: int | None, gp_rows: int) -> dict[str, list[Scores]]:
    methods: dict[str, Callable] = {"DMARegressor": dma}
    if gp_rows > 0:
        methods["GaussianProcessRegressor"] = lambda split: gaussian_process(split, gp_rows)
    methods |= {"MLPRegressor": mlp, "BayesianRidge": bayesian_ridge}
    results: dict[str, list[Scores]] = {}
    for split in splits:
        if split.number == count:
            break
        for method, run in methods.items():
            label = method
            if method == "GaussianProcessRegressor" and len(split.train_y) > gp_rows:
                label = f"{method}, {gp_rows} rows"
            scores = measure(run, split)
            results.setdefault(label, []).append(scores)
            print(
                f"{name} {split.number}: {label} " + " ".join(f"{x:.4g}" for x in scores),
                file=sys.stderr,
                flush=True,
            )
    return results


def mean_and_error(values: list[float], digits: int) -> str:
    if len(values) < 2:
        return f"{values[0]:.{digits}f}"
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f}"


def table(name: str, results: dict[str, list[Scores]]) -> str:
    ours = results["DMARegressor"]
    digits = int(np.clip(2 - np.floor(np.log10(ours[0].rmse)), 2, 5))
    lines = [
        f"| {name}, {len(ours)} split{'s' * (len(ours) > 1)} | RMSE | NLL | % in the 95 % interval | seconds "
        "| DMARegressor ahead: RMSE, NLL |",
        "|---|---|---|---|---|---|",
    ]
    for method, scores in results.items():
        columns = [list(column) for column in zip(*scores)]
        ahead = [sum(mine[k] < its[k] for mine, its in zip(ours, scores)) for k in (0, 1)]
        cells = [
            method,
            mean_and_error(columns[0], digits),
            mean_and_error(columns[1], 3),
            mean_and_error([100 * share for share in columns[2]], 1),
            f"{np.mean(columns[3]):.3g}",
            "" if scores is ours else f"{ahead[0]}, {ahead[1]}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--data", type=Path, help="folder with the UCI sets")
    parser.add_argument("--sets", nargs="+", help=f"diabetes, and with --data: {', '.join(UCI_SETS)}")
    parser.add_argument("--splits", type=int, help="number of splits to run of each set, from the first")
    parser.add_argument(
        "--gp-rows", type=int, default=2000, help="maximum training rows of the GP; 0: leave it out"
    )
    parser.add_argument("--json", action="store_true", help="print the figures of every split as JSON")
    arguments = parser.parse_args()

    names = arguments.sets or ["diabetes", *(UCI_SETS if arguments.data else ())]
    unknown = sorted(set(names) - {"diabetes", *UCI_SETS})
    if unknown:
        parser.error(f"unknown set {unknown[0]}; the sets are diabetes, {', '.join(UCI_SETS)}")
    if arguments.data is None and set(names) != {"diabetes"}:
        parser.error("sets other than diabetes need --data DIR")
    # The other methods at their defaults warn that they stopped at a bound (iterations, length scale).
    warnings.simplefilter("ignore", ConvergenceWarning)
    collected = {}
    for name in names:
        splits = diabetes() if name == "diabetes" else uci(arguments.data, name)
        collected[name] = compare(name, splits, arguments.splits, arguments.gp_rows)
        if not arguments.json:
            print(table(name, collected[name]), end="\n\n", flush=True)
    if arguments.json:
        print(
            json.dumps({n: {m: [s._asdict() for s in v] for m, v in r.items()} for n, r in collected.items()})
        )


if __name__ == "__main__":
    main()
