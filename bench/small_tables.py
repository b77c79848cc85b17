"""Few rows: log-likelihood and coverage of default fits to 5 to 100 rows of the training parts of real sets.

    ./dev python bench/small_tables.py ../shared/data

Every set is standardised, three draws of the rows each; scored on 200 other rows of the first split's training part.
"""

import argparse
import gzip
import itertools
import json
import multiprocessing
import warnings
from pathlib import Path

import numpy as np

from dma import DMARegressor

SETS = (
    "uci/boston.csv",
    "uci/concrete.csv",
    "uci/energy.csv",
    "uci/wine-quality-red.csv",
    "uci/yacht.csv",
    "regression/airfoil.csv.gz",
    "regression/stock.csv.gz",
    "regression/skillcraft.csv.gz",
)
ROWS, SEEDS, SCORED = (5, 10, 25, 50, 100), (1, 2, 3), 200
SETTINGS = {
    "default": {},
    "one noise": {"noise": "constant"},
    "5 units": {"hidden": 5},
    "20 units": {"hidden": 20},
}


def opened(path):
    return gzip.open(path, "rt") if path.suffix == ".gz" else open(path)


def training_part(path):
    with opened(path) as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
    with opened(path.with_name(path.name.replace(".csv", ".splits.json"))) as file:
        return np.delete(table, json.load(file)["test"][0], axis=0)


def score(job):
    path, rows, seed, setting = job
    table = np.random.default_rng(seed).permutation(training_part(path))
    learnt, others = table[:rows], table[rows : rows + SCORED]
    warnings.simplefilter("ignore")
    model = DMARegressor(random_state=seed, **SETTINGS[setting]).fit(learnt[:, :-1], learnt[:, -1])
    X, y = others[:, :-1], others[:, -1]
    lower, upper = model.predict_interval(X)
    likelihood = model.log_prob(X, y).mean() + np.log(table[:, -1].std())
    return rows, setting, likelihood, np.mean((lower <= y) & (y <= upper))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder that holds uci and regression")
    data = parser.parse_args().data
    jobs = [(data / name, *rest) for name in SETS for rest in itertools.product(ROWS, SEEDS, SETTINGS)]
    with multiprocessing.Pool() as pool:
        scores = pool.map(score, jobs, chunksize=4)
    print(f"{'rows':>5} {'':12} log-likelihood   worst   in the 95 % interval")
    for rows in ROWS:
        for setting in SETTINGS:
            likelihood, inside = np.array([s[2:] for s in scores if s[:2] == (rows, setting)]).T
            print(
                f"{rows:5} {setting:12} {likelihood.mean():14.2f} {likelihood.min():7.2f} {100 * inside.mean():12.1f} %"
            )


if __name__ == "__main__":
    main()
