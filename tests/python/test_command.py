"""The command line and Python are two doors of one house: same table, same seed, same bits."""

import json
import os
import subprocess
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from dma import DMAClassifier, DMARegressor
from test_classifier import quick, ring, same_everywhere

COMMAND = os.environ.get("DMA_COMMAND")
pytestmark = pytest.mark.skipif(not COMMAND, reason="DMA_COMMAND does not name the dma command")


def dma(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, check=True)
    return done.stdout


def table(rows=200):
    random = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "size": random.uniform(20, 200, rows),
            "town": random.choice(["Bonn", "Köln", "Ulm"], rows),
            "garden": random.choice([True, False], rows),
            "sold": pd.Timestamp("2021-03-04 05:06:07")
            + pd.to_timedelta(random.integers(0, 9000, rows), unit="h"),
            "rooms": random.choice([1.0, 2.0, np.nan], rows),
        }
    )
    frame["price"] = 3 * frame["size"] + 40.0 * frame["garden"] + 10 * random.normal(size=rows)
    return frame


@pytest.fixture
def files(tmp_path):
    frame = table()
    frame.to_csv(tmp_path / "houses.csv", index=False)
    return frame, tmp_path / "houses.csv", tmp_path / "model.safetensors"


@pytest.mark.parametrize("options", [[], ["--belief", "independent"], ["--ensemble", "2", "--hidden", "6,4"]])
def test_same_bits(files, options):
    frame, csv, path = files
    said = json.loads(dma("fit", csv, "--target", "price", "--seed", 3, "--model", path, "--json", *options))
    X, y = frame.drop(columns="price"), frame["price"]
    arguments = dict(zip(options[::2], options[1::2]))
    model = DMARegressor(
        random_state=3,
        belief=arguments.get("--belief", "auto"),
        ensemble=int(arguments["--ensemble"]) if "--ensemble" in arguments else "auto",
        hidden=tuple(map(int, arguments["--hidden"].split(","))) if "--hidden" in arguments else "auto",
        n_jobs=2,
    ).fit(X, y)
    assert said["cavity_nll"] == model.cavity_nll_
    assert said["noise_std"] == model.noise_std_
    assert said["epochs"] == model.n_iter_
    assert said["members"] == model.report_["members"]
    assert said["shapes"] == [{**shape, "hidden": list(shape["hidden"])} for shape in model.shapes_]
    assert said["certificate"] == model.certificate_
    loaded = DMARegressor.load(path)
    # A model of the command line finds its columns by their names; it knows them in the order of its inputs.
    assert list(loaded.feature_names_in_) == sorted(X.columns)
    assert_array_equal(loaded.predict(frame, return_std=True), model.predict(X, return_std=True))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X.drop(columns="town"))
    assert_array_equal(loaded.predict(X), model.predict(X))
    for one, other in zip(loaded.coefs_mean_ + loaded.coefs_std_, model.coefs_mean_ + model.coefs_std_):
        assert_array_equal(one, other)
    assert loaded.batch_rows_ == model.batch_rows_


def test_the_order_of_columns_does_not_matter(files):
    frame, csv, path = files
    X, y = frame.drop(columns="price"), frame["price"]
    moved = X[X.columns[::-1]]
    model = DMARegressor(random_state=3, max_epochs=5).fit(X, y)
    other = DMARegressor(random_state=3, max_epochs=5).fit(moved, y)
    assert list(other.feature_names_in_) == list(moved.columns)
    assert other.input_names_ == model.input_names_
    assert_array_equal(other.predict(moved, return_std=True), model.predict(X, return_std=True))
    frame[frame.columns[::-1]].to_csv(csv, index=False)
    dma("fit", csv, "--target", "price", "--seed", 3, "--epochs", 5, "--model", path)
    loaded = DMARegressor.load(path)
    assert_array_equal(loaded.predict(X), model.predict(X))
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    from dma.plot import band

    for drawn in (frame, moved):  # neither has the order of the file
        line = band(loaded, drawn, feature="size").lines[0]
        assert_array_equal(line.get_xydata(), band(model, X, feature="size").lines[0].get_xydata())
    plt.close("all")


@pytest.mark.parametrize("belief", ["joint", "independent"])
def test_a_model_of_python_serves_the_command(files, tmp_path, belief):
    frame, csv, path = files
    X, y = frame.drop(columns="price"), frame["price"]
    model = DMARegressor(random_state=3, max_epochs=10, belief=belief, batch_size=1).fit(X, y)
    model.save(path)
    dma("predict", path, csv, "-o", tmp_path / "predicted.csv", "--level", 0.9, "--digits", "all")
    written = pd.read_csv(tmp_path / "predicted.csv", float_precision="round_trip")
    mean, std, epistemic, noise = model.predict(X, return_std=True, return_cov_parts=True)
    lower, upper = model.predict_interval(X, 0.9)
    assert_array_equal(written["mean"], mean)
    assert_array_equal(written["std"], std)
    np.testing.assert_allclose(written["epistemic_std"], np.sqrt(epistemic), rtol=1e-14)
    np.testing.assert_allclose(written["noise_std"], np.sqrt(noise), rtol=1e-14)
    assert_array_equal(written["lower"], lower)
    assert_array_equal(written["upper"], upper)
    scores = json.loads(dma("evaluate", path, csv, "--json"))
    np.testing.assert_allclose(scores["nll"], model.evaluate(X, y)["nll"], rtol=1e-13)
    # Rows are known by what stands in their cells, whoever learnt them.
    frame[:3].to_csv(tmp_path / "three.csv", index=False)
    dma("forget", path, "--rows", tmp_path / "three.csv")
    model.forget(X[:3], y[:3])
    assert_array_equal(DMARegressor.load(path).predict(X), model.predict(X))
    dma("update", path, tmp_path / "three.csv")
    model.partial_fit(X[:3], y[:3])
    assert_array_equal(DMARegressor.load(path).predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore")
def test_the_way_through_python_costs_next_to_nothing():
    """A fit's own clock, which the command line shows, against the clock on Python's wall; the best of five."""
    X = np.random.default_rng(0).normal(size=(500, 13))
    y = X[:, 0] + np.sin(X[:, 1])
    shares = []
    for _ in range(5):
        start = time.perf_counter()
        model = DMARegressor(hidden=50, ensemble=2, random_state=1).fit(X, y)
        shares.append((time.perf_counter() - start) / model.report_["seconds"])
    assert min(shares) < 1.03


CLASSES = {
    "text": np.array(["row9", "row10", "b"]),
    "numbers": np.array([2, 10, -1]),
    "booleans": np.array([False, True, True]),
}


@pytest.mark.parametrize("belief", ["joint", "independent"])
@pytest.mark.parametrize("labels", CLASSES.values(), ids=CLASSES)
def test_same_bits_of_classes(tmp_path, labels, belief):
    X, y = ring()
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(word=np.array(["u", "v"])[(X[:, 0] > 1).astype(int)])
    rows = frame.assign(kind=labels[y])
    csv, path = tmp_path / "rows.csv", tmp_path / "model.safetensors"
    rows.to_csv(csv, index=False)
    options = ["--belief", belief, "--hidden", 6, "--ensemble", 2, "--epochs", 15, "--tolerance", 0]
    said = json.loads(
        dma(
            "fit",
            csv,
            "--target",
            "kind",
            "--kind",
            "class",
            "--seed",
            3,
            "--model",
            path,
            "--json",
            *options,
        )
    )
    model = quick(belief=belief, hidden=6, ensemble=2, max_epochs=15, random_state=3).fit(frame, rows["kind"])
    assert said["cavity"]["log_loss"] == model.cavity_log_loss_
    assert said["epochs"] == model.n_iter_
    assert said["certificate"] == model.certificate_
    loaded = DMAClassifier.load(path)
    same_everywhere(loaded, model, frame)
    for one, other in zip(loaded.coefs_mean_ + loaded.coefs_std_, model.coefs_mean_ + model.coefs_std_):
        assert_array_equal(one, other)
    # What the command predicts with the model of Python.
    model.save(path)
    dma("predict", path, csv, "-o", tmp_path / "predicted.csv", "--digits", "all")
    written = pd.read_csv(tmp_path / "predicted.csv", float_precision="round_trip")
    assert_array_equal(written[[f"p_{name}" for name in model.classes_]], model.predict_proba(frame))
    assert_array_equal(written["doubt"], model.doubt(frame))
    assert_array_equal(written["class"], model.predict(frame))
    scores = json.loads(dma("evaluate", path, csv, "--json"))
    assert scores["log_loss"] == model.evaluate(frame, rows["kind"])["log_loss"]
    # Rows are known by what stands in their cells, whoever learnt them.
    rows[:3].to_csv(tmp_path / "three.csv", index=False)
    dma("forget", path, "--rows", tmp_path / "three.csv")
    model.forget(frame[:3], rows["kind"][:3])
    assert_array_equal(DMAClassifier.load(path).predict_proba(frame), model.predict_proba(frame))
    dma("update", path, tmp_path / "three.csv")
    model.partial_fit(frame[:3], rows["kind"][:3])
    assert_array_equal(DMAClassifier.load(path).predict_proba(frame), model.predict_proba(frame))
