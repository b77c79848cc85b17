"""What Python adds to the cost: fit compared with the command line, and predicting a million rows.

    ./dev python bench/python_speed.py --command build/release/dma [--data boston.csv]

Fits are interleaved, one thread each, and compared pair by pair: the time of DMARegressor.fit on Python's clock with
the time that `dma fit` reports (without reading the file and writing the model).
"""

import argparse
import json
import resource
import statistics
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from dma import DMARegressor


def generated(rows, columns):
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, columns))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * random.normal(size=rows)
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(columns)]).assign(y=y)


def fit_by_command(command, csv, target, model):
    arguments = [command, "fit", csv, "--target", target, "--threads", "1", "--model", model, "--json"]
    said = subprocess.run(list(map(str, arguments)), capture_output=True, check=True, text=True)
    return json.loads(said.stdout)["seconds"]


def fit_by_python(frame, target):
    X, y = frame.drop(columns=target).to_numpy(), frame[target].to_numpy()
    start = time.perf_counter()
    DMARegressor(random_state=1, n_jobs=1).fit(X, y)
    return time.perf_counter() - start


def compare_fits(command, frame, repeats):
    target = frame.columns[-1]
    with tempfile.TemporaryDirectory() as folder:
        csv, model = Path(folder, "table.csv"), Path(folder, "model")
        frame.to_csv(csv, index=False)
        pairs = [
            (fit_by_python(frame, target), fit_by_command(command, csv, target, model))
            for _ in range(repeats)
        ]
    ratios = sorted(python / other for python, other in pairs)
    print(
        f"fit of {len(frame)} rows: Python {statistics.median(p for p, _ in pairs):.3f} s, command "
        f"{statistics.median(c for _, c in pairs):.3f} s, ratio {statistics.median(ratios):.3f} "
        f"[{ratios[0]:.3f} to {ratios[-1]:.3f}] over {repeats} pairs"
    )


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def predict_many(frame, rows):
    X = frame.iloc[:, :-1].to_numpy()
    y = frame.iloc[:, -1].to_numpy()
    for belief in ("joint", "independent"):
        model = DMARegressor(random_state=1, belief=belief).fit(X, y)
        many = np.empty((rows, X.shape[1]), dtype=np.float32)
        for first in range(0, rows, len(X)):
            many[first : first + len(X)] = X[: rows - first]
        before = peak_megabytes()
        start = time.perf_counter()
        model.predict(many, return_std=True)
        seconds = time.perf_counter() - start
        print(
            f"predict of {rows} rows, {belief}: {rows / seconds:,.0f} rows/s; input {many.nbytes / 1e6:.0f} MB, peak "
            f"memory grew by {peak_megabytes() - before:.0f} MB (results: {6 * 8 * rows / 1e6:.0f} MB)"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--command", default="build/release/dma", help="the dma command")
    parser.add_argument("--data", help="a CSV file, target last (default: a generated table, 506 x 13)")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    frame = pd.read_csv(arguments.data) if arguments.data else generated(506, 13)
    compare_fits(arguments.command, frame, arguments.repeats)
    predict_many(frame, arguments.rows)


if __name__ == "__main__":
    main()
