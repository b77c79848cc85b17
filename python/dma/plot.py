"""Plots of a fitted DMARegressor or DMAClassifier.

Each function draws on the given Axes, or on a new figure, and returns the Axes; nothing is shown.
Shades differ in lightness, so they can be told apart in grey too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from scipy.stats import binom

from dma import _columns, _compat
from dma._estimator import Estimator
from dma.classifier import DMAClassifier, _checked_labels, _listed, _places_of
from dma.regressor import DMARegressor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = [
    "band",
    "calibration",
    "confusion",
    "hinton",
    "learning_curve",
    "pit",
    "probability",
    "probability_map",
    "reliability",
]

_INK = "#08306b"  # means and observations
_MIDDLE = "#7fb2d9"  # the epistemic part
_PALE = "#d5e5f2"  # the whole interval
_CHANCE = "0.85"  # what chance allows
_ROWS = "#d55e00"

_MARGIN = 0.25  # of the range of X, on either side of a band
_CHANCE_LEVEL = 0.95

# Of classes. Neighbours differ in lightness; those beyond the eighth share a grey.
_CLASSES = ("#08306b", "#e69f00", "#00795c", "#cc79a7", "#7f2704", "#56b4e9", "#6a3d9a", "#a6a832")
_OTHERS = "0.7"
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_STYLES = ("-", "--", "-.", ":")
_SHARES = LinearSegmentedColormap.from_list("shares", ["white", _PALE, _MIDDLE, _INK])

# Hinton: the lightness of the background is between those of the two signs.
_GROUND, _POSITIVE, _NEGATIVE = "0.66", "#fff0a0", "#08306b"
_SURE = 3.0  # |mean| / std from which a weight has its full colour
_FAINTEST = 0.15


def band(
    model: DMARegressor,
    X: Any,
    y: Any = None,
    *,
    feature: int | str = 0,
    level: float = 0.95,
    output: int = 0,
    points: int = 200,
    ax: Axes | None = None,
) -> Axes:
    """Mean and interval along one feature, and the part of the interval that more rows could remove.

    The part is ``mean +- z`` epistemic standard deviations, as far as it lies inside the interval. An amount has a
    median, and the part is that of its logarithm, which the axis shows; of a count it is where the mean may be,
    and the interval has steps.
    The other features are held at their median; text, categories and booleans at their most frequent value.
    The plot extends a quarter of the range of X beyond either end.

    Parameters
    ----------
    model : DMARegressor
        Fitted.
    X : array-like or frame of shape (n_samples, n_features)
        Rows that give the range of the feature and the medians of the others.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
        If given, the rows are drawn as dots; if not, as marks at the lower edge.
    feature : int or str, default=0
        Position of the feature, or its name if X is a frame. It must hold numbers or dates.
    level : float, default=0.95
    output : int, default=0
        Which column of y.
    points : int, default=200
        Number of places to predict at.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import dma
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> model = dma.DMARegressor(random_state=1, noise=0.1).fit(X, np.sin(X[:, 0]))
    >>> ax = dma.plot.band(model, X, np.sin(X[:, 0]))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x0', 'y')
    """
    _check(model, "band", output)
    _require_points(points)
    X = _table_of(model, X)
    place = _place(model, X, feature)
    seen = _column(X, place)
    observed = None if y is None else model._observed(y, len(seen))[:, output]
    along = _range(_numbers(model, seen, place), points)
    table = _others_at_median(model, X, {place: along})

    mean = _output(model.predict(table), output)
    lower, upper = (_output(end, output) for end in model.predict_interval(table, level))
    known = [_output(end, output) for end in _function_interval(model, table, level)]
    count = model.kind_ == "count"
    if not count:  # whose intervals need not contain the mean
        known = [np.clip(end, lower, upper) for end in known]

    ax = _axes(ax)
    ax.fill_between(
        along,
        lower,
        upper,
        step="mid" if count else None,
        color=_PALE,
        linewidth=0,
        label=f"{100 * level:g} % interval",
    )
    ax.fill_between(along, *known, color=_MIDDLE, linewidth=0, label="epistemic part")
    ax.plot(along, mean, color=_INK, label="median" if model.kind_ == "amount" else "mean")
    _rows(ax, seen, observed)
    if model.kind_ == "amount":
        _log_axis(ax)
    if count:
        ax.yaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    ax.set_xlabel(model._names()[place] + _others_note(X, 1))
    ax.set_ylabel(_target(model, output))
    ax.margins(x=0)
    if along.dtype.kind == "M":
        _date_axis(ax, ax.xaxis)
    _legend_above(ax)
    return ax


def calibration(
    model: DMARegressor, X: Any = None, y: Any = None, *, output: int = 0, ax: Axes | None = None
) -> Axes:
    """Share of rows inside the intervals of level 5, 10, ..., 95 %: on the diagonal if these are right.

    The grey band is where 95 % of the points would fall by chance, level by level, if every row were
    independently inside with the stated probability. A count at the end of an interval counts in part, so that
    chance matters less to counts than the band says.

    Parameters
    ----------
    model : DMARegressor
        Fitted.
    X, y : as in fit, optional
        Rows to look at. Without them: the training rows as the fit predicted them without what they taught (the
        cavity). Of a joint belief these are the rows that some member had not learnt yet: all, unless the
        ensemble is small or the table large.
    output : int, default=0
        Which column of y.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import dma
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> model = dma.DMARegressor(random_state=1, noise=0.1).fit(X, np.sin(X[:, 0]))
    >>> len(dma.plot.calibration(model).lines[-1].get_xdata())
    19
    """
    scores, what = _scores(model, "calibration", X, y, output)
    stated = np.array(list(scores["coverage_curve"]))
    observed = np.array(list(scores["coverage_curve"].values()))
    least, most = _chance(scores["rows"], stated)

    ax = _axes(ax)
    everywhere, least, most = (np.concatenate([[0], part, [1]]) for part in (stated, least, most))
    ax.fill_between(everywhere, least, most, color=_CHANCE, linewidth=0, label=_chance_label(model))
    ax.plot([0, 1], [0, 1], color="0.4", linewidth=1, linestyle="--", label="calibrated")
    ax.plot(stated, observed, color=_INK, marker="o", markersize=3.5, linewidth=1.2, label=what)
    ax.set(
        xlabel="stated probability", ylabel="share of rows inside", xlim=(0, 1), ylim=(0, 1), aspect="equal"
    )
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.legend(fontsize=_legend_size(ax), loc="upper left", borderpad=0.3)
    return ax


def pit(
    model: DMARegressor, X: Any = None, y: Any = None, *, output: int = 0, ax: Axes | None = None
) -> Axes:
    """How many rows fall in each twentieth of their predicted distribution: flat if the model is calibrated.

    Too many in the middle: intervals are too wide; at both ends: too narrow; at one end: the mean is off. The
    grey band is where 95 % of the bars would end by chance, bar by bar. A count is spread over all bars between the
    probability below it and the probability up to it, so that chance matters less to counts than the band says.

    Parameters
    ----------
    model : DMARegressor
        Fitted.
    X, y : as in fit, optional
        Rows to look at. Without them: the training rows as the fit predicted them without what they taught (the
        cavity). Of a joint belief these are the rows that some member had not learnt yet: all, unless the
        ensemble is small or the table large.
    output : int, default=0
        Which column of y.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import dma
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> model = dma.DMARegressor(random_state=1, noise=0.1).fit(X, np.sin(X[:, 0]))
    >>> int(sum(bar.get_height() for bar in dma.plot.pit(model).containers[0]))
    60
    """
    scores, what = _scores(model, "pit", X, y, output)
    counts = np.asarray(scores["pit"])
    bins, rows = len(counts), counts.sum()  # with weights, what they sum to
    least, most = rows * _chance(rows, 1 / bins)

    ax = _axes(ax)
    ax.bar(
        np.arange(bins) / bins, counts, 1 / bins, align="edge", color=_MIDDLE, edgecolor="white", label=what
    )
    # Drawn over the bars and transparent: what lies outside it is what matters.
    ax.axhspan(least, most, color="0.3", alpha=0.25, linewidth=0, label=_chance_label(model))
    ax.axhline(rows / bins, color="0.2", linewidth=1, linestyle="--", label="flat")
    ax.set(xlabel="predicted probability below", ylabel="rows", xlim=(0, 1))
    ax.set_ylim(0, 1.05 * max(counts.max(), most))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    _legend_above(ax)
    return ax


def reliability(
    model: DMAClassifier, X: Any = None, y: Any = None, *, label: Any = None, ax: Axes | None = None
) -> Axes:
    """Share of rows that are right, by how sure the model was: on the diagonal if the probabilities are right.

    Rows are put together by the probability of their most probable class, in fifteenths. The grey bars are where
    95 % of the points would fall by chance, point by point; the pale ones are the share of the rows that a point
    stands for.

    Parameters
    ----------
    model : DMAClassifier
        Fitted.
    X, y : as in fit, optional
        Rows to look at. Without them: the training rows as the fit predicted them without what they taught (the
        cavity). Of a joint belief these are the rows that some member had not learnt yet: all, unless the
        ensemble is small or the table large.
    label : a class, optional
        Look at the probability of this class instead, and at the share of rows that are of it. It needs X and y.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import dma
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(120, 1))
    >>> y = np.where(X[:, 0] + rng.normal(size=120) > 0, "right", "left")
    >>> model = dma.DMAClassifier(random_state=1, hidden=5, ensemble=2).fit(X, y)
    >>> dma.plot.reliability(model).get_xlabel()
    'largest probability'
    >>> dma.plot.reliability(model, X, y, label="left").get_ylabel()
    'share of left'
    """
    if label is None:
        scores, what = _class_scores(model, "reliability", X, y)
        bins = scores["reliability"]
        begin = np.floor(len(bins) / len(model.classes_)) / len(
            bins
        )  # no class is the most probable with less
        names = "largest probability", "accuracy"
    else:
        _check_classes(model, "reliability")
        place = _place_of_class(model, label)
        if X is None or y is None:
            raise ValueError("the reliability of one class needs X and y")
        own = _places(model, y) == place
        bins = _binned(model.predict_proba(X)[:, place], own)
        what, begin = f"{len(own)} rows", 0.0
        names = f"probability of {label}", f"share of {label}"
    edges = np.arange(len(bins)) / len(bins)
    rows, stated, observed = (
        np.array([one[part] for one in bins]) for part in ("rows", "confidence", "accuracy")
    )
    seen = rows > 0
    least, most = _chance(rows[seen], stated[seen])

    ax = _axes(ax)
    ax.bar(
        edges,
        rows / rows.sum(),
        1 / len(bins),
        align="edge",
        color=_PALE,
        edgecolor="white",
        label="share of rows",
    )
    ax.vlines(stated[seen], least, most, color=_CHANCE, linewidth=6, label="chance (95 %)")
    ax.plot([0, 1], [0, 1], color="0.4", linewidth=1, linestyle="--", label="calibrated")
    ax.plot(stated[seen], observed[seen], "o", color=_INK, markersize=4.5, label=what)
    ax.set(xlabel=names[0], ylabel=names[1], xlim=(begin, 1), ylim=(0, 1))
    _legend_above(ax)
    ax.set_yticks(np.linspace(0, 1, 6))
    return ax


def confusion(model: DMAClassifier, X: Any = None, y: Any = None, *, ax: Axes | None = None) -> Axes:
    """Rows by class and most probable class: what is off the diagonal was taken for another class.

    The darker, the larger the share of the rows of that class. Numbers are left out where there is no room.

    Parameters
    ----------
    model : DMAClassifier
        Fitted.
    X, y : as in fit, optional
        Rows to look at. Without them: the training rows as in ``reliability``.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import dma
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> y = np.where(np.abs(X[:, 0]) < 1, "inside", "outside")
    >>> model = dma.DMAClassifier(random_state=1, hidden=5, ensemble=2).fit(X, y)
    >>> ax = dma.plot.confusion(model, X, y)
    >>> sum(int(text.get_text()) for text in ax.texts)
    60
    """
    scores, what = _class_scores(model, "confusion", X, y)
    rows = scores["confusion"]
    shares = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    names = [str(name) for name in model.classes_.tolist()]

    ax = _axes(ax)
    ax.imshow(shares, cmap=_SHARES, vmin=0, vmax=1)
    ax.set(xlabel=f"most probable class\n({what})", ylabel="class")
    size = _label_cells(ax, names, len(names), names)
    _number_cells(ax, rows, shares, size)
    return ax


def probability(
    model: DMAClassifier,
    X: Any,
    y: Any = None,
    *,
    feature: int | str = 0,
    label: Any = None,
    points: int = 200,
    ax: Axes | None = None,
) -> Axes:
    """Probability of each class along one feature, and the doubt that more rows could remove.

    The doubt (``DMAClassifier.doubt``) is drawn as a share of the largest entropy, the logarithm of the number of
    classes. The other features are held at their median; text, categories and booleans at their most frequent
    value. The plot extends a quarter of the range of X beyond either end. Of more than eight classes those are
    drawn that are the most probable somewhere.

    Parameters
    ----------
    model : DMAClassifier
        Fitted.
    X : array-like or frame of shape (n_samples, n_features)
        Rows that give the range of the feature and the medians of the others. They are drawn as marks at the
        lower edge.
    y : array-like of shape (n_samples,), optional
        If given, the rows of each class have a line of marks of their own.
    feature : int or str, default=0
        Position of the feature, or its name if X is a frame. It must hold numbers or dates.
    label : a class, optional
        Draw this class alone.
    points : int, default=200
        Number of places to predict at.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import dma
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> model = dma.DMAClassifier(random_state=1, hidden=5, ensemble=2).fit(X, y)
    >>> ax = dma.plot.probability(model, X, y)
    >>> [line.get_label() for line in ax.lines[:2]]
    ['left', 'right']
    """
    _check_classes(model, "probability")
    _require_points(points)
    X = _table_of(model, X)
    place = _place(model, X, feature)
    seen = _column(X, place)
    observed = None if y is None else _places(model, y, len(seen))
    along = _range(_numbers(model, seen, place), points)
    table = _others_at_median(model, X, {place: along})

    probabilities, doubt = model.predict_proba(table), model.doubt(table)
    drawn = _drawn_classes(probabilities) if label is None else [_place_of_class(model, label)]

    ax = _axes(ax)
    share = doubt / np.log(len(model.classes_))
    for k, which in enumerate(drawn):
        ax.plot(
            along,
            probabilities[:, which],
            color=_CLASSES[k],
            linestyle=_STYLES[k % len(_STYLES)],
            label=str(model.classes_[which]),
        )
    ax.fill_between(along, 0, share, color=_CHANCE, linewidth=0, label=f"doubt / log {len(model.classes_)}")
    low = _class_marks(ax, seen, observed, drawn)
    ax.set_ylim(low, 1.02)
    ax.set_xlabel(model._names()[place] + _others_note(X, 1))
    ax.set_ylabel(_of_target(model, "probability"))
    ax.margins(x=0)
    if along.dtype.kind == "M":
        _date_axis(ax, ax.xaxis)
    _legend_above(ax)
    ax.set_yticks(np.linspace(0, 1, 6))
    return ax


def probability_map(
    model: DMAClassifier,
    X: Any,
    y: Any = None,
    *,
    features: Sequence[int | str] = (0, 1),
    label: Any = None,
    points: int = 50,
    ax: Axes | None = None,
) -> Axes:
    """The most probable class over two features, the paler the less probable; or the probability of one class.

    The other features are held at their median; text, categories and booleans at their most frequent value. The
    plot extends a quarter of the range of X beyond either end. Of more than eight classes, those that are the most
    probable in few places are grey.

    Parameters
    ----------
    model : DMAClassifier
        Fitted.
    X : array-like or frame of shape (n_samples, n_features)
        Rows that give the ranges of the features and the medians of the others. They are drawn as dots.
    y : array-like of shape (n_samples,), optional
        If given, the dots say which class a row is of.
    features : two of int or str, default=(0, 1)
        Positions of the features, or their names if X is a frame. They must hold numbers or dates.
    label : a class, optional
        Draw the probability of this class, and a line where it is one half.
    points : int, default=50
        Number of places to predict at, in each direction.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import dma
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(80, 2))
    >>> y = np.where(X[:, 0] > X[:, 1], "below", "above")
    >>> model = dma.DMAClassifier(random_state=1, hidden=5, ensemble=2).fit(X, y)
    >>> ax = dma.plot.probability_map(model, X, y, points=10)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x0', 'x1')
    """
    _check_classes(model, "probability_map")
    _require_points(points)
    X = _table_of(model, X)
    across, upwards = _two_places(model, X, features)
    seen = [_column(X, place) for place in (across, upwards)]
    observed = None if y is None else _places(model, y, len(seen[0]))
    ranges = [
        _range(_numbers(model, column, place), points) for column, place in zip(seen, (across, upwards))
    ]
    table = _others_at_median(
        model, X, {across: np.tile(ranges[0], points), upwards: np.repeat(ranges[1], points)}
    )
    which = None if label is None else _place_of_class(model, label)
    probabilities = model.predict_proba(table).reshape(points, points, -1)

    ax = _axes(ax)
    if which is None:
        drawn = _draw_most_probable(ax, probabilities, ranges)
    else:
        drawn = [which]
        _draw_probability(ax, probabilities[:, :, which], ranges, f"probability of {label}")
    if which is None and observed is None:
        for k, one in enumerate(drawn):
            ax.plot([], [], "s", color=_CLASSES[k], label=str(model.classes_[one]))
    x, up = map(_plain_numbers, seen)
    for rows, marker, colour, name in _kinds_of_rows(model, observed, which, drawn):
        _draw_dots(ax, x[rows], up[rows], marker, colour, name)
    ax.set_xlabel(model._names()[across] + _others_note(X, 2))
    ax.set_ylabel(model._names()[upwards])
    for axis, ends in ((ax.xaxis, ranges[0]), (ax.yaxis, ranges[1])):
        if ends.dtype.kind == "M":
            _date_axis(ax, axis)
    _legend_over(ax, title="paler: less probable" if which is None else None)
    return ax


def hinton(model: Estimator, layer: int = 0, member: int = 0, ax: Axes | None = None) -> Axes:
    """The weights of one layer of one network: area is the size of the mean, light positive, dark negative.

    A weight has its full colour if its mean is three standard deviations or more from zero; one that may as
    well be zero fades into the background. Weights are those of standardised inputs and y. The last row holds
    the biases.

    Parameters
    ----------
    model : DMARegressor or DMAClassifier
        Fitted.
    layer : int, default=0
        0 is the layer from the inputs to the first hidden layer.
    member : int, default=0
        Those of the heaviest shape come first. A joint belief has members of its own for each output, one output
        after the other.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import dma
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = dma.DMARegressor(random_state=1, noise=0.1).fit(X, X[:, 0])
    >>> [label.get_text() for label in dma.plot.hinton(model).get_yticklabels()]
    ['x0', 'x1', 'bias']
    """
    layers = _member(model, member)
    _require_number("layer", layer, len(layers), "the member")
    mean, std = (part.T for part in layers[layer])
    sides = 0.92 * np.sqrt(np.abs(mean) / (np.abs(mean).max() or 1.0))
    squares = [_square(column, row, sides[row, column]) for row, column in np.ndindex(mean.shape)]

    ax = _axes(ax)
    ax.set_facecolor(_GROUND)
    ax.add_collection(PolyCollection(squares, facecolors=_shades(mean, std).reshape(-1, 3), linewidths=0))
    inputs, units = mean.shape
    ax.set(xlim=(-0.5, units - 0.5), ylim=(inputs - 0.5, -0.5), aspect="equal")
    ax.xaxis.set_label_position("top")  # below is the legend
    ax.xaxis.tick_top()
    ax.set_xlabel("output" if layer == len(layers) - 1 else f"unit of hidden layer {layer + 1}")
    outputs = _output_names(model, units) if layer == len(layers) - 1 else []
    beside = inputs > units and _inches(ax)[0] >= 4
    taken = 0 if beside else 9 * _legend_size(ax)
    _label_cells(ax, _input_names(model, layer, inputs - 1) + ["bias"], units, outputs, taken=taken)
    _hinton_legend(ax, np.abs(mean).max(), beside=beside)
    return ax


def learning_curve(model: Estimator, ax: Axes | None = None) -> Axes:
    """Training NLL of every member by epoch, and the cavity NLL of all members together.

    Of classes the NLL is the log loss. For a joint belief the NLL is that of the mean weights: first of a search that leaves some rows out, and in
    a large table begins with few of them, then of all rows, with another noise. The vertical axis leaves out
    the first epochs where they would hide the rest.

    Parameters
    ----------
    model : DMARegressor or DMAClassifier
        Fitted.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import dma
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> model = dma.DMARegressor(hidden=20, ensemble=2, noise=0.1, random_state=1).fit(X, np.sin(X[:, 0]))
    >>> len(dma.plot.learning_curve(model).lines)     # two members and the cavity
    3
    """
    _check_any(model)
    curves = model.train_nll_curve_
    cavity = model.cavity_log_loss_ if isinstance(model, DMAClassifier) else model.report_["cavity_nll"]
    if not any(len(curve) for curve in curves):
        raise ValueError("the model file comes from a version that did not keep the training curve")

    ax = _axes(ax)
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.75, len(curves)))
    for member, (curve, shade) in enumerate(zip(curves, shades)):
        label = f"member {member}" if len(curves) <= 8 else "members" if member == 0 else None
        style = _STYLES[member % len(_STYLES)]
        ax.plot(np.arange(1, len(curve) + 1), curve, color=shade, linestyle=style, linewidth=1.2, label=label)
    ax.axhline(cavity, color=_ROWS, linewidth=2, label="cavity, all together")
    ax.set(xlabel="epoch", ylabel="log loss" if isinstance(model, DMAClassifier) else "NLL")
    ax.set_ylim(*_interesting(curves, cavity))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    _legend_above(ax)
    return ax


# -------------------------------------------------------------------------------------------------- the model


_OF_CLASSES = {"band": "probability", "calibration": "reliability", "pit": "reliability"}
_OF_NUMBERS = {"probability": "band", "probability_map": "band", "reliability": "calibration"}


def _check_any(model: Any) -> None:
    if not isinstance(model, (DMARegressor, DMAClassifier)):
        raise TypeError(
            f"dma.plot draws a DMARegressor or a DMAClassifier, not a {type(model).__name__}; for a Pipeline, pass "
            "its last step and X as that step sees it"
        )
    model._require_fitted()


def _check(model: Any, drawing: str, output: int = 0) -> None:
    if isinstance(model, DMAClassifier):
        raise TypeError(f"{drawing} draws a DMARegressor; of a DMAClassifier draw {_OF_CLASSES[drawing]}")
    _check_any(model)
    _require_number("output", output, model.n_outputs_)


def _check_classes(model: Any, drawing: str) -> None:
    if isinstance(model, DMARegressor):
        instead = f"; of a DMARegressor draw {_OF_NUMBERS[drawing]}" if drawing in _OF_NUMBERS else ""
        raise TypeError(f"{drawing} draws a DMAClassifier{instead}")
    _check_any(model)


def _require_number(what: str, value: Any, count: int, whole: str = "the model") -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value < count:
        raise ValueError(f"there is no {what} {value!r}: {whole} has {count}, counted from 0")


def _require_points(points: int) -> None:
    if points < 2:
        raise ValueError(f"points must be at least 2, not {points!r}")


def _target(model: Estimator, output: int) -> str:
    return model._model.options.target[output]


def _of_target(model: DMAClassifier, what: str) -> str:
    """Only where y had a name."""
    name = _target(model, 0)
    return what if name == "y" else f"{what} ({name})"


def _function_interval(model: DMARegressor, table: Any, level: float) -> tuple[np.ndarray, ...]:
    """Where the function may be, without noise: a number, the median of an amount or the mean of a count."""
    return model._shaped(model._model.function_interval(model._inputs(table), level, model._threads()))


def _chance_label(model: DMARegressor) -> str:
    return "chance (95 % or more)" if model.kind_ == "count" else "chance (95 %)"


def _output(values: np.ndarray, output: int) -> np.ndarray:
    return values if values.ndim == 1 else values[:, output]


def _scores(model: DMARegressor, drawing: str, X: Any, y: Any, output: int) -> tuple[dict[str, Any], str]:
    """Scores of one output, and a label for their rows."""
    _check(model, drawing, output)
    _require_both(X, y)
    if X is None:
        scores = model.report_["cavity"]
        if not scores or not scores[output]["coverage_curve"]:
            raise ValueError(
                "the model file comes from a version that did not keep the calibration; give X and y"
            )
    else:
        scores = model.evaluate(X, y)
        scores = scores if isinstance(scores, list) else [scores]
    return scores[output], _whose(X, scores[output])


def _class_scores(model: DMAClassifier, drawing: str, X: Any, y: Any) -> tuple[dict[str, Any], str]:
    """Scores of the classes, and a label for their rows."""
    _check_classes(model, drawing)
    _require_both(X, y)
    scores = model.cavity_scores_ if X is None else model.evaluate(X, y)
    if scores["rows"] == 0:
        raise ValueError("the fit was stopped before it could score its rows; give X and y")
    return scores, _whose(X, scores)


def _require_both(X: Any, y: Any) -> None:
    if (X is None) != (y is None):
        raise ValueError("give both X and y, or neither for the training rows (the cavity)")


def _whose(X: Any, scores: dict[str, Any]) -> str:
    return f"{'cavity of ' if X is None else ''}{scores['rows']} rows"


def _place_of_class(model: DMAClassifier, label: Any) -> int:
    classes = model.classes_.tolist()
    if label not in classes:
        raise ValueError(f"there is no class {label!r}; the classes are {_listed(model.classes_)}")
    return classes.index(label)


def _places(model: DMAClassifier, y: Any, rows: int | None = None) -> np.ndarray:
    """The place of each row's class among the classes."""
    places = _places_of(_checked_labels(y), model.classes_)
    if rows is not None and len(places) != rows:
        raise ValueError(f"y has {len(places)} rows, but X has {rows}")
    return places


def _binned(stated: np.ndarray, own: np.ndarray, bins: int = 15) -> list[dict[str, float]]:
    """Rows in ranges of a probability, as evaluate() has them."""
    which = np.minimum((stated * bins).astype(int), bins - 1)
    return [
        {
            "rows": int(here.sum()),
            "confidence": float(stated[here].mean()) if here.any() else 0.0,
            "accuracy": float(own[here].mean()) if here.any() else 0.0,
        }
        for here in (which == k for k in range(bins))
    ]


def _member(model: Estimator, member: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Means and standard deviations of its weights, layer by layer."""
    _check_any(model)
    members = model._weights()
    _require_number("member", member, len(members))
    return members[member]


def _output_names(model: Estimator, count: int) -> list[str]:
    """Classes or targets, in the order of the network; none if it has one output."""
    classes = [str(name) for name in model.classes_.tolist()] if isinstance(model, DMAClassifier) else []
    if count < 2:
        return []
    if classes:
        return [classes[k] for k in np.argsort(model._model_places())]
    return list(model._model.options.target)


def _input_names(model: Estimator, layer: int, count: int) -> list[str]:
    return list(model.input_names_) if layer == 0 else [f"unit {k}" for k in range(count)]


# ---------------------------------------------------------------------------------------------- the rows of X


def _table_of(model: Estimator, X: Any) -> Any:
    """X with the columns that the model has, in its order."""
    if not _columns.is_frame(X):
        return _compat.check_array(X, allow_nan=True, dtype=np.float64)
    return X[model._names()] if model._finds_columns and set(model._names()) <= set(X.columns) else X


def _place(model: Estimator, X: Any, feature: int | str) -> int:
    names = model._names()
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, (int, np.integer)) and not isinstance(feature, bool) and 0 <= feature < X.shape[1]:
        return int(feature)
    raise ValueError(f"X has no feature {feature!r}; it has {X.shape[1]}, counted from 0")


def _two_places(model: Estimator, X: Any, features: Sequence[int | str]) -> tuple[int, int]:
    if isinstance(features, str) or len(features) != 2:
        raise ValueError(f"features must be two of them, not {features!r}")
    across, upwards = (_place(model, X, feature) for feature in features)
    if across == upwards:
        raise ValueError(f"a map needs two features, not {model._names()[across]!r} twice")
    return across, upwards


def _column(X: Any, place: int) -> Any:
    return X.iloc[:, place] if _columns.is_frame(X) else X[:, place]


def _numbers(model: Estimator, column: Any, place: int) -> np.ndarray:
    """The values of a column that are not empty; only numbers and dates can be an axis."""
    if _is_category(model, column, place):
        raise ValueError(
            f"feature {model._names()[place]!r} holds neither numbers nor dates, so it has no range to draw"
        )
    values = np.asarray(column.dropna() if hasattr(column, "dropna") else column[~np.isnan(column)])
    if values.dtype.kind != "M":
        values = values.astype(np.float64)
    if len(values) == 0:
        raise ValueError(f"feature {model._names()[place]!r} is empty")
    return values


def _is_category(model: Estimator, column: Any, place: int) -> bool:
    named = model.categorical_features
    if named is not None and (place in named or model._names()[place] in named):
        return True
    if isinstance(column, np.ndarray):
        return False
    kind = column.dtype.name
    if kind == "object":
        return not all(_columns._is_number(value) for value in column.dropna())
    return kind in ("bool", "boolean", "category", "string")


def _range(values: np.ndarray, points: int) -> np.ndarray:
    """Evenly spaced places over the range of the values and a margin."""
    begin, end = values.min(), values.max()
    if values.dtype.kind == "M":
        steps = np.linspace(-_MARGIN, 1 + _MARGIN, points)
        return begin + (steps * (end - begin).astype("timedelta64[s]").astype(np.int64)).astype(
            "timedelta64[s]"
        )
    margin = _MARGIN * (end - begin) or 1.0
    return np.linspace(begin - margin, end + margin, points)


def _others_at_median(model: Estimator, X: Any, varied: dict[int, np.ndarray]) -> Any:
    """A table like X in which these columns vary and the others are constant."""
    rows = len(next(iter(varied.values())))
    columns = [
        varied[k] if k in varied else np.repeat(_typical(model, _column(X, k), k), rows)
        for k in range(X.shape[1])
    ]
    if not _columns.is_frame(X):
        return np.column_stack(columns)
    return type(X)(dict(zip(X.columns, columns)))


def _others_note(X: Any, varied: int) -> str:
    return "\n(other features at their median)" if X.shape[1] > varied else ""


def _typical(model: Estimator, column: Any, place: int) -> Any:
    """Median of numbers and dates, most frequent value of anything else; empty if all cells are."""
    category = _is_category(model, column, place)
    if isinstance(column, np.ndarray):
        numbers = column[~np.isnan(column)]
        if len(numbers) == 0:
            return np.nan
        values, counts = np.unique(numbers, return_counts=True)
        return values[np.argmax(counts)] if category else np.median(numbers)
    there = column.dropna()
    if len(there) == 0:
        return np.nan
    return there.mode().iloc[0] if category else there.infer_objects().median()


# ------------------------------------------------------------------------------------------------ the picture


def _axes(ax: Axes | None) -> Axes:
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _rows(ax: Axes, seen: Any, y: np.ndarray | None) -> None:
    """Rows as dots, or marks at the lower edge."""
    if y is None:
        ax.plot(seen, np.zeros(len(seen)), "|", color="0.2", transform=ax.get_xaxis_transform(), label="rows")
    else:
        ax.plot(
            seen,
            y,
            "o",
            markersize=3,
            color=_ROWS,
            markeredgecolor="white",
            markeredgewidth=0.3,
            label="rows",
        )


def _date_axis(ax: Axes, axis: Axis) -> None:
    # Of one unit there are never too many for the ticks: from two of the next larger one on, it is that.
    locator = AutoDateLocator(minticks=2, maxticks=int(np.clip(2 * _inches(ax)[0], 5, 8)))
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))


def _drawn_classes(probabilities: np.ndarray) -> list[int]:
    """All classes in their order; of too many to tell apart those that are the most probable in most places."""
    count = probabilities.shape[-1]
    if count <= len(_CLASSES):
        return list(range(count))
    best = np.bincount(probabilities.argmax(axis=-1).ravel(), minlength=count)
    order = np.lexsort((-probabilities.reshape(-1, count).max(axis=0), -best))
    return sorted(order[: len(_CLASSES)].tolist())


def _class_marks(ax: Axes, seen: Any, observed: np.ndarray | None, drawn: Sequence[int]) -> float:
    """Rows below 0, in a line of marks for each class that is drawn; returns how far down they reach."""
    lane = 0.05
    size = float(np.clip(72 * _inches(ax)[1] * lane / 1.8, 2, 6))  # the picture is about 1.8 high
    if observed is None:
        ax.plot(seen, np.full(len(seen), -lane), "|", color="0.2", markersize=size, label="rows")
        return -2 * lane
    for k, which in enumerate(drawn):
        own = np.flatnonzero(observed == which)
        rows = seen.iloc[own] if hasattr(seen, "iloc") else seen[own]
        ax.plot(rows, np.full(len(own), -lane * (k + 1)), "|", color=_CLASSES[k], markersize=size)
    return -lane * (len(drawn) + 1)


def _plain_numbers(values: Any) -> np.ndarray:
    """Dates as matplotlib counts them; NaN where a cell is empty."""
    if values.dtype.kind == "M":
        return date2num(np.asarray(values))
    if hasattr(values, "to_numpy"):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    return values.astype(np.float64)


def _extent(ranges: Sequence[np.ndarray]) -> tuple[float, float, float, float]:
    """Ends of a picture whose pixels are centred at these places."""
    ends = []
    for along in map(_plain_numbers, ranges):
        half = (along[1] - along[0]) / 2
        ends += [along[0] - half, along[-1] + half]
    return ends[0], ends[1], ends[2], ends[3]


def _draw_most_probable(ax: Axes, probabilities: np.ndarray, ranges: Sequence[np.ndarray]) -> list[int]:
    """Returns the classes that have a colour of their own."""
    drawn = _drawn_classes(probabilities)
    colours = np.tile(to_rgb(_OTHERS), (probabilities.shape[2], 1))
    colours[drawn] = [to_rgb(colour) for colour in _CLASSES[: len(drawn)]]
    best = probabilities.argmax(axis=2)
    least = 1 / probabilities.shape[2]  # of the most probable one
    depth = 0.1 + 0.5 * (probabilities.max(axis=2, keepdims=True) - least) / (1 - least)
    ax.imshow(
        depth * colours[best] + (1 - depth),
        extent=_extent(ranges),
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
    )
    return drawn


def _draw_probability(ax: Axes, probability: np.ndarray, ranges: Sequence[np.ndarray], name: str) -> None:
    image = ax.imshow(
        probability,
        extent=_extent(ranges),
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        cmap=_SHARES,
        vmin=0,
        vmax=1,
    )
    if probability.min() < 0.5 < probability.max():
        ax.contour(*map(_plain_numbers, ranges), probability, levels=[0.5], colors="0.2", linewidths=1)
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label(name)


def _kinds_of_rows(
    model: DMAClassifier, observed: np.ndarray | None, which: int | None, drawn: Sequence[int]
) -> list[tuple[Any, str, str, str]]:
    """Rows that are drawn alike on a map: which ones, marker, colour and name."""
    if observed is None:
        return [(slice(None), "o", "0.2", "rows")]
    names = [str(name) for name in model.classes_.tolist()]
    if which is not None:
        others = names[1 - which] if len(names) == 2 else "others"
        return [(observed == which, "o", _ROWS, names[which]), (observed != which, "s", "white", others)]
    kinds = [(observed == k, *look, names[k]) for k, look in zip(drawn, zip(_MARKERS, _CLASSES))]
    rest = ~np.isin(observed, drawn)
    return kinds + ([(rest, "o", _OTHERS, "others")] if rest.any() else [])


def _draw_dots(ax: Axes, x: np.ndarray, y: np.ndarray, marker: str, colour: str, name: str) -> None:
    ax.plot(
        x,
        y,
        marker,
        markersize=float(np.clip(1.1 * _inches(ax)[0], 3, 4.5)),
        color=colour,
        markeredgecolor="0.2" if colour == "white" else "white",
        markeredgewidth=0.4,
        label=name,
    )


def _number_cells(ax: Axes, rows: np.ndarray, shares: np.ndarray, size: float) -> None:
    """The number of rows in each cell, if all fit."""
    cell = min(72 * inches / len(rows) for inches in _inches(ax))
    texts = {place: f"{count:.0f}" for place, count in np.ndenumerate(rows)}
    if cell < size * max(1.1, 0.62 * max(map(len, texts.values()))):
        return
    for (row, column), text in texts.items():
        colour = "white" if shares[row, column] > 0.6 else "0.1" if rows[row, column] > 0 else "0.6"
        ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=size)


def _log_axis(ax: Axes) -> None:
    """Logarithms upwards, with plain numbers beside the ticks: 1, 2, 5 and so on, if there is room."""
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    roomy = np.log10(high / low) < 1.2 * _inches(ax)[1]
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if roomy else (1,)))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _chance(rows: Any, probability: Any) -> np.ndarray:
    """Bounds between which the share of rows falls with probability 95 %. Weights count as so many rows."""
    tail = (1 - _CHANCE_LEVEL) / 2
    whole = np.maximum(np.rint(rows), 1)
    return np.array([binom.ppf(end, whole, probability) for end in (tail, 1 - tail)]) / whole


def _square(column: int, row: int, side: float) -> list[tuple[float, float]]:
    h = side / 2
    return [(column - h, row - h), (column + h, row - h), (column + h, row + h), (column - h, row + h)]


def _shades(mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        certainty = np.nan_to_num(np.abs(mean) / std, nan=0.0, posinf=_SURE)
    shares = np.clip(certainty / _SURE, _FAINTEST, 1)
    return np.array([_shade(sign, share) for sign, share in zip(mean.ravel(), shares.ravel())])


def _shade(sign: float, share: float) -> np.ndarray:
    """The colour of a sign, mixed with the background."""
    full, ground = to_rgb(_POSITIVE if sign > 0 else _NEGATIVE), to_rgb(_GROUND)
    return share * np.array(full) + (1 - share) * np.array(ground)


def _label_cells(
    ax: Axes, rows: Sequence[str], columns: int, names: Sequence[str] = (), *, taken: float = 0
) -> float:
    """Names beside the rows and names or numbers along the columns; if there are many, only some, to avoid overlap.

    Something else takes so many points of the height. Returns the size of the font.
    """
    width, height = (72 * inches for inches in _inches(ax))
    width -= 4 * max(len(_short(name)) for name in rows)
    widest = max([len(_short(name)) for name in names], default=0)
    cell = min(width / columns, (height - taken) / len(rows))  # in points
    upright = 0.62 * float(np.clip(0.9 * cell, 5, 9)) * widest > cell
    if upright:
        cell = min(cell, max(height - taken - 5 * widest, 20) / len(rows))
    size = float(np.clip(0.9 * cell, 5, 9))
    shown = range(0, len(rows), int(np.ceil(size / cell)))
    ax.set_yticks(list(shown))
    ax.set_yticklabels([_short(rows[k]) for k in shown], fontsize=size)
    shown = range(0, columns, int(np.ceil((1.2 if names else 2.5) * size / cell)))
    ax.set_xticks(list(shown))
    if names:
        ax.set_xticklabels([_short(names[k]) for k in shown])
    ax.tick_params(axis="x", labelsize=size, labelrotation=90 if upright else 0)
    return size


def _hinton_legend(ax: Axes, largest: float, *, beside: bool) -> None:
    entries = (
        (1, 1, "positive"),
        (-1, 1, "negative"),
        (1, 1 / _SURE, "positive, |mean| = std"),
        (-1, 1 / _SURE, "negative, |mean| = std"),
    )
    size = _legend_size(ax)
    between = "\n" if beside or _inches(ax)[0] < 4 else "; "
    ax.legend(
        handles=[
            Patch(facecolor=_shade(sign, share), edgecolor="0.4", linewidth=0.5, label=label)
            for sign, share, label in entries
        ],
        title=f"area: |mean|, at most {largest:.2g}{between}full colour: |mean| ≥ {_SURE:g} std",
        fontsize=size,
        title_fontsize=size,
        facecolor=_GROUND,
        framealpha=1,
        ncol=1 if beside else 2,
        columnspacing=1,
        loc="upper left" if beside else "upper center",
        bbox_to_anchor=(1, 1) if beside else (0.5, 0),
        borderaxespad=1,
    )


def _inches(ax: Axes) -> tuple[float, float]:
    """Current width and height of the Axes; a layout may still change them a little."""
    width, height = ax.figure.get_size_inches()
    box = ax.get_position(original=True)
    return width * box.width, height * box.height


def _legend_size(ax: Axes) -> float:
    """Font size of the legend in points: smaller in a small picture."""
    return float(np.clip(2.5 * _inches(ax)[0], 6, 9))


def _legend_above(ax: Axes) -> None:
    """A legend inside the Axes, and room for it above what is drawn."""
    size = _legend_size(ax)
    handles, labels = ax.get_legend_handles_labels()
    columns = 2 if _inches(ax)[0] < 4 else 3
    lines = -(-len(labels) // columns)
    share = min((1.5 * lines + 1.2) * size / 72 / _inches(ax)[1], 0.6)
    scale = ax.yaxis.get_transform()
    low, high = scale.transform(ax.get_ylim())
    ax.set_ylim(*scale.inverted().transform([low, high + (high - low) * share / (1 - share)]))
    ax.legend(
        handles, labels, loc="upper center", ncol=columns, fontsize=size, columnspacing=1, borderpad=0.3
    )


def _legend_over(ax: Axes, title: str | None) -> None:
    """A legend above the Axes: inside it would hide a map."""
    size = _legend_size(ax)
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncol=2 if _inches(ax)[0] < 4 else 4,
        fontsize=size,
        title=title,
        title_fontsize=size,
        columnspacing=1,
        borderpad=0.3,
    )


def _short(name: str) -> str:
    return name if len(name) <= 16 else name[:15] + "…"


def _interesting(curves: Sequence[np.ndarray], cavity: float) -> tuple[float, float]:
    """Ends of the vertical axis, so that all but the first fifth of the epochs is inside."""
    late = np.concatenate([curve[len(curve) // 5 :] for curve in curves] + [[cavity]])
    margin = 0.1 * (late.max() - late.min()) or 0.1
    return late.min() - margin, late.max() + 2 * margin
