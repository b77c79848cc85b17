"""Models that learnt different rows from one start become one: Start and merge."""

import multiprocessing
import pickle
import warnings

import numpy as np
import pytest

import dma


def wave(count, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] / 2 + 0.2 * rng.normal(size=count)


X, y = wave(160, 1)
fresh = wave(40, 2)[0]


@pytest.fixture(scope="module")
def sample():
    return dma.DMARegressor(random_state=1, hidden=8, ensemble=2, max_epochs=20).fit(X[:50], y[:50])


@pytest.fixture(scope="module")
def start(sample):
    return dma.Start.of(sample)


def assert_same(a, b):
    (left, deviation), right = a.predict(fresh, return_std=True), b.predict(fresh)
    assert np.max(np.abs(left - right) / deviation) < 1e-9


def fit_part(job):
    start, rows = job
    return start.fit(X[rows], y[rows])


def test_processes_fit_parts_of_the_model_of_all_rows(start):
    parts = [slice(0, 70), slice(70, 160)]
    with multiprocessing.Pool(2) as places:
        fitted = places.map(fit_part, [(start, rows) for rows in parts])
    merged = dma.merge(fitted)
    assert_same(merged, start.fit(X, y))
    assert merged.report_["rows"] == 160
    assert [part["rows"] for part in merged.report_["start"]["parts"]] == [70, 90]
    assert merged.report_["start"]["digest"] == start.digest
    assert merged.score(X, y) > 0.8


def test_merged_model_forgets_and_learns(start):
    merged = dma.merge([start.fit(X[:70], y[:70]), start.fit(X[70:], y[70:])])
    merged.forget(X[60:80], y[60:80])
    assert merged.change_["rows_removed"] == 20
    assert_same(merged, start.fit(np.delete(X, range(60, 80), axis=0), np.delete(y, range(60, 80))))
    merged.partial_fit(X[60:80], y[60:80])
    assert_same(merged, start.fit(X, y))
    with pytest.raises(ValueError, match="leave --data out"):
        merged.forget(X[:5], y[:5], data=(X, y))


def test_files_and_pickles(start, tmp_path):
    start.save(tmp_path / "s.start")
    again = dma.Start.load(tmp_path / "s.start")
    assert (again.digest, again.round) == (start.digest, 1)
    assert pickle.dumps(again) == pickle.dumps(pickle.loads(pickle.dumps(start)))
    start.fit(X[:70], y[:70]).save(tmp_path / "p.dma")
    part = dma.DMARegressor.load(tmp_path / "p.dma")
    assert_same(dma.merge([part, again.fit(X[70:], y[70:])]), start.fit(X, y))
    second = dma.Start.of(part)
    assert second.round == 2 and "round=2" in repr(second)
    with pytest.raises(ValueError, match="not a start"):
        dma.Start.load(tmp_path / "p.dma")
    with pytest.raises(ValueError, match="which has learnt no rows"):
        dma.DMARegressor.load(tmp_path / "s.start")
    with pytest.raises(FileNotFoundError):
        dma.Start.load(tmp_path / "none.start")


def test_weights_count(start):
    twice = start.fit(np.vstack([X, X]), np.concatenate([y, y]))
    assert_same(twice, start.fit(X, y, sample_weight=np.full(160, 2.0)))


def test_refusals(start, sample):
    part = start.fit(X[:70], y[:70])
    with pytest.raises(ValueError, match="two models at least"):
        dma.merge([part])
    with pytest.raises(ValueError, match="count twice"):
        dma.merge([part, part])
    with pytest.raises(ValueError, match="not fitted from a start"):
        dma.merge([part, sample])
    with pytest.raises(ValueError, match="X has 3 features"):
        start.fit(np.ones((5, 3)), np.ones(5))
    with pytest.warns(UserWarning, match="10 rows are alike"):
        dma.merge([part, start.fit(X[60:], y[60:])])


def test_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "color": np.where(X[:, 1] > 0, "red", "blue")})
    model = dma.DMARegressor(random_state=1, hidden=4, ensemble=1, max_epochs=12)
    start = dma.Start.of(model.fit(frame[:60], y[:60]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        merged = dma.merge([start.fit(frame[:80], y[:80]), start.fit(frame[80:], y[80:])])
        assert merged.predict(frame[:3]).shape == (3,)
    assert list(merged.feature_names_in_) == ["a", "color"]
