"""dma.plot: what is drawn is what the model says."""

from __future__ import annotations

import subprocess
import sys
from statistics import NormalDist

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from scipy.stats import binom
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import dma

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(80, 3))
y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=80)
Y = np.column_stack([y, 10 * X[:, 1] + rng.normal(size=80)])
amounts = 1000 * np.exp(y)
counts = np.random.default_rng(2).poisson(np.exp(y))
labels = np.array(["grade 10", "grade 2", "none"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]
of_both = (dma.plot.hinton, dma.plot.learning_curve)
of_numbers = (dma.plot.band, dma.plot.calibration, dma.plot.pit)
of_classes = (dma.plot.reliability, dma.plot.confusion, dma.plot.probability, dma.plot.probability_map)
DRAWINGS = [(function, "model") for function in of_numbers + of_both]
DRAWINGS += [(function, "classifier") for function in of_classes + of_both]
NAMES = [f"{function.__name__}-{whose}" for function, whose in DRAWINGS]


@pytest.fixture(scope="module")
def model() -> dma.DMARegressor:
    return dma.DMARegressor(random_state=1, noise=0.1, hidden=20, ensemble=4).fit(X, y)


@pytest.fixture(scope="module")
def of_shapes() -> dma.DMARegressor:
    return dma.DMARegressor(random_state=1, noise=0.1, ensemble=1).fit(X, y)


@pytest.fixture(scope="module")
def two_outputs() -> dma.DMARegressor:
    return dma.DMARegressor(random_state=1, ensemble=2).fit(X, Y)


@pytest.fixture(scope="module")
def of_amounts() -> dma.DMARegressor:
    return dma.DMARegressor(random_state=1, ensemble=2, kind="amount").fit(X, amounts)


@pytest.fixture(scope="module")
def of_counts() -> dma.DMARegressor:
    return dma.DMARegressor(random_state=1, ensemble=2, kind="count").fit(X, counts)


@pytest.fixture(scope="module")
def classifier() -> dma.DMAClassifier:
    """The library has the classes in another order: that of the numbers in their names."""
    return dma.DMAClassifier(random_state=1, hidden=8, ensemble=2).fit(X, labels)


@pytest.fixture(scope="module")
def of_two() -> dma.DMAClassifier:
    """Classes that overlap."""
    return dma.DMAClassifier(random_state=1, hidden=5, ensemble=2).fit(X, y + rng.normal(size=80) > 0)


@pytest.fixture(scope="module")
def of_many() -> dma.DMAClassifier:
    sectors = np.digitize(X[:, 0], np.linspace(-2, 2, 12)[1:-1])
    return dma.DMAClassifier(random_state=1, hidden=5, belief="independent").fit(X[:, :2], sectors)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "size": X[:, 0],
            "town": np.where(X[:, 1] > 0.5, "Ulm", "Jena"),
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(80), unit="D"),
            "floors": rng.integers(1, 5, size=80),
            "garden": X[:, 2] > 0,
            "age": np.where(rng.random(80) < 0.2, np.nan, X[:, 2]),
        }
    )


@pytest.fixture(scope="module")
def of_frame(frame) -> dma.DMARegressor:
    return dma.DMARegressor(random_state=1, ensemble=2).fit(frame, pd.Series(y, name="price"))


@pytest.fixture(scope="module")
def classes_of_frame(frame) -> dma.DMAClassifier:
    return dma.DMAClassifier(random_state=1, hidden=5, ensemble=1).fit(frame, pd.Series(y > 0, name="sunny"))


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def draw(function, model, **options):
    """Any of the functions, with rows where it needs them."""
    needs = (dma.plot.band, dma.plot.probability, dma.plot.probability_map)
    return function(model, *([X] if function in needs else []), **options)


def labelled(artists, label):
    return next(artist for artist in artists if str(artist.get_label()).startswith(label))


def ends(polygon, at):
    """Lowest and highest ordinate of what fill_between drew at these places."""
    vertices = polygon.get_paths()[0].vertices
    return np.array(
        [
            [v[np.isclose(vertices[:, 0], x)].min(), v[np.isclose(vertices[:, 0], x)].max()]
            for x in at
            for v in [vertices[:, 1]]
        ]
    ).T


# ------------------------------------------------------------------------------------------------ all of them


every_drawing = pytest.mark.parametrize("function, whose", DRAWINGS, ids=NAMES)


@every_drawing
def test_draws_on_the_axes_given_and_touches_no_other(request, function, whose):
    figure, axes = plt.subplots(1, 2)
    figures, current, settings = plt.get_fignums(), plt.gca(), dict(matplotlib.rcParams)
    assert draw(function, request.getfixturevalue(whose), ax=axes[0]) is axes[0]
    assert plt.get_fignums() == figures and plt.gca() is current
    assert dict(matplotlib.rcParams) == settings
    assert axes[0].has_data() and not axes[1].has_data()
    figure.canvas.draw()


@every_drawing
def test_makes_a_figure_without_axes(request, function, whose):
    before = len(plt.get_fignums())
    assert isinstance(draw(function, request.getfixturevalue(whose)), plt.Axes)
    assert len(plt.get_fignums()) == before + 1


@every_drawing
def test_not_fitted(function, whose):
    with pytest.raises(NotFittedError):
        draw(function, dma.DMARegressor() if whose == "model" else dma.DMAClassifier())
    assert plt.get_fignums() == []


@every_drawing
def test_other_estimators_are_refused(function, whose):
    with pytest.raises(TypeError, match="not a LinearRegression; for a Pipeline, pass its last step"):
        draw(function, LinearRegression().fit(X, y))


@pytest.mark.parametrize(
    "function, instead",
    [
        (dma.plot.band, "of a DMAClassifier draw probability"),
        (dma.plot.calibration, "of a DMAClassifier draw reliability"),
        (dma.plot.pit, "of a DMAClassifier draw reliability"),
        (dma.plot.reliability, "of a DMARegressor draw calibration"),
        (dma.plot.probability, "of a DMARegressor draw band"),
        (dma.plot.probability_map, "of a DMARegressor draw band"),
        (dma.plot.confusion, "confusion draws a DMAClassifier"),
    ],
)
def test_the_other_kind_of_model_is_refused(model, classifier, function, instead):
    with pytest.raises(TypeError, match=instead):
        draw(function, classifier if function in of_numbers else model)


SIZES = pytest.mark.parametrize("size", [(3, 2.5), (8, 6)])


@pytest.mark.parametrize("function", of_numbers + of_both)
@SIZES
def test_texts_do_not_overlap(model, of_amounts, of_counts, of_frame, frame, function, size):
    with plt.rc_context({"figure.figsize": size}):
        for one in (model, of_amounts, of_counts):
            require_readable(draw(function, one))
        if function is dma.plot.band:
            require_readable(dma.plot.band(of_frame, frame, feature="sold"))
        else:
            require_readable(function(of_frame))
        if function is dma.plot.hinton:
            require_readable(function(model, 1))


@pytest.mark.parametrize("function", of_classes + of_both)
@SIZES
def test_texts_of_classes_do_not_overlap(
    classifier, of_two, of_many, classes_of_frame, frame, function, size
):
    with plt.rc_context({"figure.figsize": size}):
        for one in (classifier, of_two):
            require_readable(draw(function, one))
        if function is dma.plot.probability:
            require_readable(function(classes_of_frame, frame, y > 0, feature="sold"))
            require_readable(function(of_many, X[:, :2]))
        elif function is dma.plot.probability_map:
            require_readable(function(classes_of_frame, frame, y > 0, features=("size", "sold"), points=5))
            require_readable(function(of_two, X, y > 0, label=True, points=5))
            require_readable(function(of_many, X[:, :2], points=5))
        else:
            require_readable(function(of_many))
            if function is dma.plot.hinton:
                require_readable(function(classifier, 1))


def require_readable(ax):
    ax.figure.canvas.draw()
    texts = [ax.xaxis.label, ax.yaxis.label]
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())  # ticks beyond are not drawn
        labels = zip(axis.get_ticklocs(), axis.get_ticklabels())
        texts += [label for place, label in labels if low <= place <= high]
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    if ax.get_legend():  # a confusion matrix has none
        boxes.append(ax.get_legend().get_window_extent())
    assert not [(a, b) for k, a in enumerate(boxes) for b in boxes[:k] if a.shrunk(0.97, 0.97).overlaps(b)]
    canvas = ax.figure.bbox.padded(2)
    assert all(canvas.contains(box.x0, box.y0) and canvas.contains(box.x1, box.y1) for box in boxes)


def test_import_of_dma_leaves_matplotlib_alone():
    code = (
        "import sys, dma; assert 'matplotlib' not in sys.modules; dma.plot.band; "
        "assert 'matplotlib' in sys.modules; assert not hasattr(dma, 'nonsense')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ------------------------------------------------------------------------------------------------------- band


def test_band_is_what_the_model_predicts(model):
    ax = dma.plot.band(model, X, y, feature=1, level=0.8, points=50)
    along, mean = labelled(ax.lines, "mean").get_data()
    table = np.tile(np.median(X, axis=0), (50, 1))
    table[:, 1] = along
    expected, epistemic, _ = model.predict(table, return_cov_parts=True)
    np.testing.assert_array_equal(mean, expected)
    np.testing.assert_allclose(
        ends(labelled(ax.collections, "80 %"), along), model.predict_interval(table, 0.8), rtol=1e-12
    )
    width = NormalDist().inv_cdf(0.9) * np.sqrt(epistemic)
    np.testing.assert_allclose(
        ends(labelled(ax.collections, "epistemic"), along), [mean - width, mean + width], rtol=1e-12
    )
    np.testing.assert_array_equal(labelled(ax.lines, "rows").get_xydata(), np.column_stack([X[:, 1], y]))
    span = np.ptp(X[:, 1])
    np.testing.assert_allclose(along[[0, -1]], [X[:, 1].min() - span / 4, X[:, 1].max() + span / 4])
    assert ax.get_xlabel() == "x1\n(other features at their median)" and ax.get_ylabel() == "y"


def test_band_holds_the_epistemic_part_inside_the_interval(of_shapes):
    for level in (0.05, 0.5, 0.99):
        ax = dma.plot.band(of_shapes, X, level=level)
        along = ax.lines[0].get_xdata()
        outer = ends(labelled(ax.collections, f"{100 * level:g} %"), along)
        inner = ends(labelled(ax.collections, "epistemic"), along)
        assert (outer[0] <= inner[0]).all() and (inner[1] <= outer[1]).all()


def test_band_of_one_feature_has_a_plain_label():
    ax = dma.plot.band(dma.DMARegressor(random_state=1).fit(X[:, :1], y), X[:, :1])
    assert ax.get_xlabel() == "x0"
    np.testing.assert_array_equal(labelled(ax.lines, "rows").get_xdata(), X[:, 0])  # marks at the lower edge


def test_band_of_the_second_output(two_outputs):
    ax = dma.plot.band(two_outputs, X, Y, feature=0, output=1)
    along, mean = labelled(ax.lines, "mean").get_data()
    table = np.tile(np.median(X, axis=0), (200, 1))
    table[:, 0] = along
    np.testing.assert_array_equal(mean, two_outputs.predict(table)[:, 1])
    np.testing.assert_array_equal(labelled(ax.lines, "rows").get_ydata(), Y[:, 1])
    assert ax.get_ylabel() == "y1"


def along_first(model, points):
    """Where a band along the first feature predicts."""
    table = np.tile(np.median(X, axis=0), (points, 1))
    table[:, 0] = labelled(dma.plot.band(model, X, points=points).lines, "me").get_xdata()
    return table


def test_band_of_an_amount_is_positive(of_amounts):
    table = along_first(of_amounts, 40)
    ax = dma.plot.band(of_amounts, X, amounts, level=0.8, points=40)
    along, median = labelled(ax.lines, "median").get_data()
    np.testing.assert_allclose(median, of_amounts.predict_quantile(table, 0.5), rtol=1e-9)
    outer = ends(labelled(ax.collections, "80 %"), along)
    np.testing.assert_allclose(outer, of_amounts.predict_interval(table, 0.8), rtol=1e-12)
    lower, upper = ends(labelled(ax.collections, "epistemic"), along)
    assert (0 < outer[0]).all() and (outer[0] <= lower).all() and (upper <= outer[1]).all()
    inside = (outer[0] < lower) & (upper < outer[1])
    assert inside.sum() > 10
    functions = of_amounts.sample_y(table[inside], 4000, noise=False)
    found = [((functions <= end[inside, None]).mean(axis=1)).mean() for end in (lower, upper)]
    np.testing.assert_allclose(found, [0.1, 0.9], atol=0.03)
    assert ax.get_yscale() == "log" and labelled(ax.lines, "rows").get_ydata().min() > ax.get_ylim()[0]


def test_band_of_a_count_has_steps(of_counts):
    table = along_first(of_counts, 40)
    ax = dma.plot.band(of_counts, X, counts, level=0.8, points=40)
    along, mean = labelled(ax.lines, "mean").get_data()
    np.testing.assert_array_equal(mean, of_counts.predict(table))
    steps = labelled(ax.collections, "80 %")
    assert (np.diff(steps.get_paths()[0].vertices, axis=0) == 0).any(axis=1).all()  # level or upright
    least, most = of_counts.predict_interval(table, 0.8)
    between = ends(steps, (along[1:] + along[:-1]) / 2)
    np.testing.assert_array_equal(between[0], np.minimum(least[1:], least[:-1]))
    np.testing.assert_array_equal(between[1], np.maximum(most[1:], most[:-1]))
    lower, upper = ends(labelled(ax.collections, "epistemic"), along)
    assert (0 < lower).all() and (lower < mean).all() and (mean < upper).all()
    functions = of_counts.sample_y(table, 4000, noise=False)
    found = [((functions <= end[:, None]).mean(axis=1)).mean() for end in (lower, upper)]
    np.testing.assert_allclose(found, [0.1, 0.9], atol=0.03)


@pytest.mark.parametrize("feature", ["size", "sold", "floors", "age", 0, 5])
def test_band_of_a_frame(of_frame, frame, feature):
    ax = dma.plot.band(of_frame, frame, y, feature=feature)
    name = feature if isinstance(feature, str) else frame.columns[feature]
    assert ax.get_xlabel().startswith(name) and ax.get_ylabel() == "price"
    ax.figure.canvas.draw()
    line = labelled(ax.lines, "mean")
    along = line.get_xdata(orig=True)
    table = pd.DataFrame(
        {
            "size": np.median(frame["size"]),
            "town": frame["town"].mode()[0],
            "sold": frame["sold"].median(),
            "floors": frame["floors"].median(),
            "garden": frame["garden"].mode()[0],
            "age": frame["age"].median(),
        },
        index=range(len(along)),
    )
    table[name] = along
    np.testing.assert_array_equal(line.get_ydata(), of_frame.predict(table))


@pytest.mark.parametrize("feature", ["town", "garden"])
def test_band_refuses_what_has_no_range(of_frame, frame, feature):
    with pytest.raises(ValueError, match=f"'{feature}' holds neither numbers nor dates"):
        dma.plot.band(of_frame, frame, feature=feature)


def test_band_refuses_numbers_that_are_names():
    codes = np.column_stack([X[:, 0], rng.integers(1, 4, size=80)])
    model = dma.DMARegressor(random_state=1, categorical_features=[1]).fit(codes, y)
    with pytest.raises(ValueError, match="'x1' holds neither numbers"):
        dma.plot.band(model, codes, feature=1)
    ax = dma.plot.band(model, codes)
    values, counts = np.unique(codes[:, 1], return_counts=True)
    along, mean = labelled(ax.lines, "mean").get_data()
    most_frequent = np.full_like(along, values[np.argmax(counts)])
    np.testing.assert_array_equal(mean, model.predict(np.column_stack([along, most_frequent])))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"feature": 3}, "X has no feature 3; it has 3"),
        ({"feature": -1}, "X has no feature -1"),
        ({"feature": "size"}, "X has no feature 'size'"),
        ({"output": 1}, "there is no output 1: the model has 1"),
        ({"level": 1.0}, "level must be between 0 and 1"),
        ({"points": 1}, "points must be at least 2"),
        ({"y": y[:5]}, "y has shape"),
    ],
)
def test_band_says_what_is_wrong(model, options, message):
    with pytest.raises(ValueError, match=message):
        dma.plot.band(model, X, **options)
    assert plt.get_fignums() == []


# ---------------------------------------------------------------------------------------- calibration and PIT


@pytest.mark.parametrize("rows", [None, (X[:40], Y[:40])])
@pytest.mark.parametrize("output", [0, 1])
def test_calibration_is_the_coverage_curve(two_outputs, rows, output):
    ax = dma.plot.calibration(two_outputs, *(rows or ()), output=output)
    scores = (two_outputs.report_["cavity"] if rows is None else two_outputs.evaluate(*rows))[output]
    label = "40 rows" if rows else f"cavity of {scores['rows']} rows"
    points = labelled(ax.lines, label).get_xydata()
    np.testing.assert_array_equal(points, list(scores["coverage_curve"].items()))
    assert len(points) == 19
    np.testing.assert_array_equal(labelled(ax.lines, "calibrated").get_xydata(), [[0, 0], [1, 1]])
    low, high = ends(labelled(ax.collections, "chance"), points[:, 0])
    n = scores["rows"]
    np.testing.assert_allclose(low, binom.ppf(0.025, n, points[:, 0]) / n)
    np.testing.assert_allclose(high, binom.ppf(0.975, n, points[:, 0]) / n)


@pytest.mark.parametrize("rows", [None, (X[:40], Y[:40])])
def test_pit_is_the_histogram(two_outputs, rows):
    ax = dma.plot.pit(two_outputs, *(rows or ()), output=1)
    scores = (two_outputs.report_["cavity"] if rows is None else two_outputs.evaluate(*rows))[1]
    bars = ax.containers[0]
    assert [bar.get_height() for bar in bars] == scores["pit"]
    np.testing.assert_allclose([bar.get_x() for bar in bars], np.arange(20) / 20)
    n = scores["rows"]
    band = labelled(ax.patches, "chance").get_extents().transformed(ax.transData.inverted())
    np.testing.assert_allclose([band.y0, band.y1], binom.ppf([0.025, 0.975], n, 1 / 20), atol=1e-9)
    assert labelled(ax.lines, "flat").get_ydata()[0] == n / 20


def test_weights_count_as_so_many_rows():
    """A row may count as a part of one, or as several."""
    weights = np.random.default_rng(3).uniform(0.2, 2.5, size=80)
    of_weights = dma.DMARegressor(random_state=1, hidden=5, ensemble=4).fit(X, y, sample_weight=weights)
    ax = dma.plot.pit(of_weights)
    bars = np.array([bar.get_height() for bar in ax.containers[0]])
    assert labelled(ax.lines, "flat").get_ydata()[0] == pytest.approx(bars.mean())
    assert np.isfinite(labelled(ax.patches, "chance").get_extents().bounds).all()
    classes = dma.DMAClassifier(random_state=1, hidden=5, ensemble=2).fit(X, labels, sample_weight=weights)
    ax = dma.plot.reliability(classes)
    assert np.isfinite(labelled(ax.collections, "chance").get_segments()).all()
    expected = np.rint(classes.cavity_scores_["confusion"]).astype(int)
    assert [int(text.get_text()) for text in dma.plot.confusion(classes).texts] == expected.ravel().tolist()


@pytest.mark.parametrize("function", [dma.plot.calibration, dma.plot.pit])
def test_scores_say_what_is_wrong(model, function):
    with pytest.raises(ValueError, match="give both X and y"):
        function(model, X)
    with pytest.raises(ValueError, match="there is no output 2: the model has 1, counted from 0"):
        function(model, output=2)


# ----------------------------------------------------------------------------------------------------- hinton


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("member", [0, 3])
def test_hinton_draws_the_weights(model, layer, member):
    ax = dma.plot.hinton(model, layer, member)
    mean = np.vstack([model.coefs_mean_[layer][member], model.intercepts_mean_[layer][member]])
    std = np.vstack([model.coefs_std_[layer][member], model.intercepts_std_[layer][member]])
    squares = ax.collections[0]
    vertices = np.array([path.vertices[:4] for path in squares.get_paths()])
    areas = np.prod(np.ptp(vertices, axis=1), axis=1).reshape(mean.shape)
    np.testing.assert_allclose(areas / areas.max(), np.abs(mean) / np.abs(mean).max(), atol=1e-12)
    centres = vertices.mean(axis=1).reshape(*mean.shape, 2)
    rows, columns = np.indices(mean.shape)
    np.testing.assert_allclose(centres, np.stack([columns, rows], axis=-1), atol=1e-12)

    ground = np.mean(ax.get_facecolor()[:3])
    contrast = squares.get_facecolors()[:, :3].mean(axis=1).reshape(mean.shape) - ground
    assert (np.sign(contrast) == np.sign(mean)).all()  # light is positive, also in grey
    ratio = np.clip((np.abs(mean) / std) / 3, 0.15, 1)
    for sign in (mean > 0, mean < 0):
        if sign.any():
            shares = np.abs(contrast[sign])
            np.testing.assert_allclose(shares / shares.max(), ratio[sign] / ratio[sign].max(), rtol=1e-9)


def test_hinton_draws_members_of_every_shape(of_shapes):
    kept = [shape for shape in of_shapes.shapes_ if shape["weight"] > 0]
    assert len(kept) > 1
    for member, shape in enumerate(kept):
        last = len(shape["hidden"])
        assert dma.plot.hinton(of_shapes, 0, member).get_xlim()[1] == shape["hidden"][0] - 0.5
        assert dma.plot.hinton(of_shapes, last, member).get_xlabel() == "output"
        with pytest.raises(ValueError, match=f"there is no layer {last + 1}: the member has {last + 1}"):
            dma.plot.hinton(of_shapes, last + 1, member)


def test_hinton_names_the_inputs(of_frame):
    labels = [label.get_text() for label in dma.plot.hinton(of_frame).get_yticklabels()]
    names = [*of_frame.input_names_, "bias"]
    assert labels == [name if len(name) <= 16 else name[:15] + "…" for name in names]


def test_hinton_names_the_outputs(classifier):
    ax = dma.plot.hinton(classifier, 1)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["grade 2", "grade 10", "none"]
    assert classifier._model.classes == ["grade 2", "grade 10", "none"]


def test_hinton_of_many_inputs_names_some():
    many = rng.normal(size=(60, 120))
    model = dma.DMARegressor(random_state=1, hidden=3, ensemble=1, max_epochs=2, tol=0).fit(many, many[:, 0])
    ax = dma.plot.hinton(model)
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert len(boxes) > 10 and all(a.y0 >= b.y1 - 1 for a, b in zip(boxes, boxes[1:]))


@pytest.mark.parametrize(
    "place, message",
    [
        ({"layer": 2}, "there is no layer 2: the member has 2"),
        ({"layer": -1}, "there is no layer -1"),
        ({"member": 4}, "there is no member 4: the model has 4"),
        ({"member": "a"}, "there is no member 'a'"),
    ],
)
def test_hinton_says_what_is_wrong(model, place, message):
    with pytest.raises(ValueError, match=message):
        dma.plot.hinton(model, **place)


# --------------------------------------------------------------------------------------------- learning curve


def test_learning_curve_is_the_models(model):
    ax = dma.plot.learning_curve(model)
    for member, curve in enumerate(model.train_nll_curve_):
        epochs, nll = labelled(ax.lines, f"member {member}").get_data()
        np.testing.assert_array_equal(nll, curve)
        np.testing.assert_array_equal(epochs, np.arange(1, len(curve) + 1))
    assert set(labelled(ax.lines, "cavity").get_ydata()) == {model.cavity_nll_}
    low, high = ax.get_ylim()
    assert low < model.cavity_nll_ < high
    assert all(low < curve[-1] < high for curve in model.train_nll_curve_)


def test_learning_curve_of_many_members_has_one_label():
    model = dma.DMARegressor(random_state=1, hidden=3, ensemble=9).fit(X, y)
    ax = dma.plot.learning_curve(model)
    assert len(ax.lines) == 10
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["members", "cavity, all together"]


def test_learning_curve_of_a_classifier_is_the_log_loss(classifier):
    ax = dma.plot.learning_curve(classifier)
    for member, curve in enumerate(classifier.train_nll_curve_):
        np.testing.assert_array_equal(labelled(ax.lines, f"member {member}").get_ydata(), curve)
    assert set(labelled(ax.lines, "cavity").get_ydata()) == {classifier.cavity_log_loss_}
    assert ax.get_ylabel() == "log loss"


# ------------------------------------------------------------------------------------------------ reliability


@pytest.mark.parametrize("rows", [(), (X[:40], labels[:40])])
def test_reliability_is_what_evaluate_says(classifier, rows):
    ax = dma.plot.reliability(classifier, *rows)
    scores = classifier.evaluate(*rows) if rows else classifier.cavity_scores_
    bins = [one for one in scores["reliability"] if one["rows"]]
    label = "40 rows" if rows else f"cavity of {scores['rows']} rows"
    points = labelled(ax.lines, label).get_xydata()
    np.testing.assert_array_equal(points, [[one["confidence"], one["accuracy"]] for one in bins])
    heights = [bar.get_height() for bar in ax.containers[0]]
    np.testing.assert_allclose(heights, [one["rows"] / scores["rows"] for one in scores["reliability"]])
    lines = labelled(ax.collections, "chance").get_segments()
    for one, line in zip(bins, lines):
        chance = binom.ppf([0.025, 0.975], one["rows"], one["confidence"]) / one["rows"]
        np.testing.assert_allclose(line, [[one["confidence"], end] for end in chance])
    assert len(lines) == len(bins) and ax.get_xlim()[0] == 5 / 15  # no less than a third


@pytest.mark.parametrize("label", ["grade 10", "grade 2"])
def test_reliability_of_one_class(classifier, label):
    ax = dma.plot.reliability(classifier, X, labels, label=label)
    stated = classifier.predict_proba(X)[:, list(classifier.classes_).index(label)]
    stated_here, share = labelled(ax.lines, "80 rows").get_data()
    heights = np.array([bar.get_height() for bar in ax.containers[0]])
    expected = np.histogram(stated, 15, (0, 1))[0]
    np.testing.assert_allclose(80 * heights, expected)
    np.testing.assert_allclose(share @ expected[expected > 0], np.sum(labels == label))
    np.testing.assert_allclose(stated_here @ expected[expected > 0], stated.sum())
    assert ax.get_xlabel() == f"probability of {label}" and ax.get_xlim() == (0, 1)


def test_reliability_says_what_is_wrong(classifier):
    with pytest.raises(ValueError, match="give both X and y"):
        dma.plot.reliability(classifier, X)
    with pytest.raises(ValueError, match="the reliability of one class needs X and y"):
        dma.plot.reliability(classifier, label="none")
    with pytest.raises(
        ValueError, match="there is no class 'grade 3'; the classes are 'grade 10', 'grade 2', 'none'"
    ):
        dma.plot.reliability(classifier, X, labels, label="grade 3")
    assert plt.get_fignums() == []


# -------------------------------------------------------------------------------------------------- confusion


@pytest.mark.parametrize("rows", [(), (X[:40], labels[:40])])
def test_confusion_is_what_evaluate_says(classifier, rows):
    ax = dma.plot.confusion(classifier, *rows)
    scores = classifier.evaluate(*rows) if rows else classifier.cavity_scores_
    expected = scores["confusion"]
    numbers = {text.get_position(): int(text.get_text()) for text in ax.texts}
    assert numbers == {(column, row): count for (row, column), count in np.ndenumerate(expected)}
    np.testing.assert_allclose(ax.images[0].get_array(), expected / expected.sum(axis=1, keepdims=True))
    for axis in (ax.xaxis, ax.yaxis):
        assert [label.get_text() for label in axis.get_ticklabels()] == list(classifier.classes_)
    assert f"{scores['rows']} rows" in ax.get_xlabel()


def test_confusion_of_many_classes_leaves_the_numbers_out(of_many):
    with plt.rc_context({"figure.figsize": (1.2, 1.2)}):
        ax = dma.plot.confusion(of_many)
    assert not ax.texts and len(ax.get_xticks()) < len(of_many.classes_)


def test_confusion_of_a_class_without_rows(classifier):
    ax = dma.plot.confusion(classifier, X[labels != "none"], labels[labels != "none"])
    np.testing.assert_array_equal(ax.images[0].get_array()[2], 0)


# ------------------------------------------------------------------------------------------------ probability


def test_probability_is_what_the_model_predicts(classifier):
    ax = dma.plot.probability(classifier, X, labels, feature=1, points=30)
    along = ax.lines[0].get_xdata()
    table = np.tile(np.median(X, axis=0), (30, 1))
    table[:, 1] = along
    expected = classifier.predict_proba(table)
    for k, name in enumerate(classifier.classes_):
        line = labelled(ax.lines, name)
        np.testing.assert_array_equal(line.get_ydata(), expected[:, k])
        marks = next(
            one for one in ax.lines if one.get_marker() == "|" and one.get_color() == line.get_color()
        )
        np.testing.assert_array_equal(marks.get_xdata(), X[labels == name, 1])
        assert (marks.get_ydata() < 0).all()
    doubt = ends(labelled(ax.collections, "doubt / log 3"), along)
    np.testing.assert_allclose(doubt[1], classifier.doubt(table) / np.log(3), atol=1e-12)
    assert ax.get_xlabel() == "x1\n(other features at their median)" and ax.get_ylabel() == "probability"


def test_probability_of_one_class(of_two):
    ax = dma.plot.probability(of_two, X, label=True)
    drawn, rows = ax.lines
    table = np.tile(np.median(X, axis=0), (200, 1))
    table[:, 0] = drawn.get_xdata()
    np.testing.assert_array_equal(drawn.get_ydata(), of_two.predict_proba(table)[:, 1])
    np.testing.assert_array_equal(rows.get_xdata(), X[:, 0])


def test_probability_of_many_classes_draws_those_that_win(of_many):
    ax = dma.plot.probability(of_many, X[:, :2], points=300)
    names = [line.get_label() for line in ax.lines if line.get_marker() == "None"]
    table = np.tile(np.median(X[:, :2], axis=0), (300, 1))
    table[:, 0] = ax.lines[0].get_xdata()
    winners, counts = np.unique(of_many.predict(table), return_counts=True)
    assert len(of_many.classes_) > 8 == len(names)
    assert set(winners[np.argsort(-counts)][:8].astype(str)) <= set(names)


@pytest.mark.parametrize("feature", ["size", "sold"])
def test_probability_of_a_frame(classes_of_frame, frame, feature):
    ax = dma.plot.probability(classes_of_frame, frame, pd.Series(y > 0), feature=feature)
    ax.figure.canvas.draw()
    assert ax.get_xlabel().startswith(feature) and ax.get_ylabel() == "probability (sunny)"
    marks = [line for line in ax.lines if line.get_marker() == "|"]
    assert [len(line.get_xdata()) for line in marks] == [np.sum(y <= 0), np.sum(y > 0)]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"feature": 3}, "X has no feature 3; it has 3"),
        ({"label": "grade 3"}, "there is no class 'grade 3'"),
        ({"points": 1}, "points must be at least 2"),
        ({"y": labels[:5]}, "y has 5 rows, but X has 80"),
        ({"y": ["grade 3"] * 80}, "'grade 3' is not one of the classes"),
    ],
)
def test_probability_says_what_is_wrong(classifier, options, message):
    for function in (dma.plot.probability, dma.plot.probability_map):
        if function is dma.plot.probability_map and "feature" in options:
            options = {"features": (0, 3)}
        with pytest.raises(ValueError, match=message):
            function(classifier, X, **options)
    assert plt.get_fignums() == []


# ------------------------------------------------------------------------------------------------------- maps


def grid_of(ax, points):
    """Where a map of the last two features predicts, from its lower left on; the first is at its median."""
    left, right, bottom, top = ax.images[0].get_extent()
    centres = (np.arange(points) + 0.5) / points
    across, upwards = left + (right - left) * centres, bottom + (top - bottom) * centres
    first = np.full(points**2, np.median(X[:, 0]))
    return np.column_stack([first, np.tile(across, points), np.repeat(upwards, points)])


def test_map_of_one_class_is_its_probability(classifier):
    ax = dma.plot.probability_map(classifier, X, labels, features=(1, 2), label="grade 2", points=12)
    expected = classifier.predict_proba(grid_of(ax, 12))[:, 1].reshape(12, 12)
    np.testing.assert_allclose(ax.images[0].get_array(), expected, atol=1e-9)
    np.testing.assert_array_equal(labelled(ax.lines, "grade 2").get_xydata(), X[labels == "grade 2", 1:])
    np.testing.assert_array_equal(labelled(ax.lines, "others").get_xydata(), X[labels != "grade 2", 1:])
    assert ax.get_xlabel() == "x1\n(other features at their median)" and ax.get_ylabel() == "x2"
    bar = next(one for one in ax.figure.axes if one is not ax)
    assert bar.get_ylabel() == "probability of grade 2"


def test_map_shows_the_most_probable_class(classifier):
    ax = dma.plot.probability_map(classifier, X, labels, features=(1, 2), points=12)
    probabilities = classifier.predict_proba(grid_of(ax, 12))
    picture = np.asarray(ax.images[0].get_array()).reshape(-1, 3)
    depth = 0.1 + 0.5 * (probabilities.max(axis=1) - 1 / 3) / (1 - 1 / 3)
    for k, name in enumerate(classifier.classes_):
        dots = labelled(ax.lines, name)
        np.testing.assert_array_equal(dots.get_xydata(), X[labels == name, 1:])
        colour = np.array(matplotlib.colors.to_rgb(dots.get_color()))
        won = probabilities.argmax(axis=1) == k
        paled = 1 - depth[won, None] * (1 - colour)
        np.testing.assert_allclose(picture[won], paled, atol=1e-6)
    left, right, bottom, top = ax.images[0].get_extent()
    assert left < X[:, 1].min() and top > X[:, 2].max()


def test_map_of_many_classes_has_grey_ones(of_many):
    sectors = np.digitize(X[:, 0], np.linspace(-2, 2, 12)[1:-1])
    ax = dma.plot.probability_map(of_many, X[:, :2], sectors, points=5)
    names = [line.get_label() for line in ax.lines]
    assert len(names) == 9 and names[-1] == "others"
    assert sum(len(line.get_xdata()) for line in ax.lines) == 80


def test_map_of_dates(classes_of_frame, frame):
    ax = dma.plot.probability_map(classes_of_frame, frame, features=("sold", "age"), label=True, points=5)
    ax.figure.canvas.draw()
    first, last = matplotlib.dates.date2num([frame["sold"].min(), frame["sold"].max()])
    left, right = ax.get_xlim()
    assert left < first and last < right and right - left < 2 * (last - first)
    assert any(
        "2020" in text for text in [ax.xaxis.get_offset_text().get_text(), *map(str, ax.get_xticklabels())]
    )


@pytest.mark.parametrize(
    "features, message",
    [
        ((0, 0), "a map needs two features, not 'x0' twice"),
        ((0, 1, 2), "features must be two of them"),
        ("x0", "features must be two of them"),
        ((0, "size"), "X has no feature 'size'"),
    ],
)
def test_map_says_what_is_wrong(classifier, features, message):
    with pytest.raises(ValueError, match=message):
        dma.plot.probability_map(classifier, X, features=features)
    assert plt.get_fignums() == []
