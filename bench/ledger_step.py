"""How far the mean of a joint fit is from prior x ledger: how far one more linear step would move a weight.

    ./dev python bench/ledger_step.py

300 rows of Friedman's function, one member. Reads the model file, as any safetensors reader could.
"""

import json
import struct
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_friedman1

from dma import DMARegressor


def arrays_of(path):
    raw = path.read_bytes()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:start])
    del header["__metadata__"]
    types = {"F64": "<f8", "U64": "<u8"}
    return {
        name: np.frombuffer(
            raw[start:], types[entry["dtype"]], np.prod(entry["shape"]), entry["data_offsets"][0]
        )
        for name, entry in header.items()
    }


def largest_step(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.save(path)
        arrays = arrays_of(path)
    part = "member.0.function."
    prior = arrays[part + "prior_precision"]
    gradients = arrays[part + "ledger.gradients"].reshape(-1, len(prior))
    precision = np.diag(prior) + gradients.T @ gradients
    mean = np.linalg.solve(precision, gradients.T @ arrays[part + "ledger.shifts"])
    return np.abs(mean - arrays[part + "mean"]).max()


def main():
    warnings.simplefilter("ignore")
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    for noise in ("auto", "constant"):
        for epochs in (40, 4000):
            model = DMARegressor(random_state=0, ensemble=1, noise=noise, max_epochs=epochs).fit(X, y)
            print(f"noise {noise}: {model.n_iter_} epochs ({model.stopped_}): {largest_step(model):.2f}")


if __name__ == "__main__":
    main()
