"""Plots of a fitted DMARegressor.

Each function draws on the given Axes, or on a new figure, and returns the Axes; nothing is shown.
Shades differ in lightness, so they can be told apart in grey too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from scipy.stats import binom

from dma import _columns, _compat
from dma.regressor import DMARegressor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["band", "calibration", "hinton", "learning_curve", "pit"]

_INK = "#08306b"  # means and observations
_MIDDLE = "#7fb2d9"  # the epistemic part
_PALE = "#d5e5f2"  # the whole interval
_CHANCE = "0.85"  # what chance allows
_ROWS = "#d55e00"

_MARGIN = 0.25  # of the range of X, on either side of a band
_CHANCE_LEVEL = 0.95

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
    _check(model, output)
    _require_points(points)
    X = _table_of(model, X)
    place = _place(model, X, feature)
    seen = _column(X, place)
    observed = None if y is None else model._observed(y, len(seen))[:, output]
    along = _range(_numbers(model, seen, place), points)
    table = _others_at_median(model, X, place, along)

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
    others = "\n(other features at their median)" if X.shape[1] > 1 else ""
    ax.set_xlabel(model._names()[place] + others)
    ax.set_ylabel(_target(model, output))
    ax.margins(x=0)
    if along.dtype.kind == "M":
        _date_axis(ax)
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
    scores, what = _scores(model, X, y, output)
    stated = np.array(list(scores["coverage_curve"]))
    observed = np.array(list(scores["coverage_curve"].values()))
    least, most = _chance(scores["rows"], stated) / scores["rows"]

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
    scores, what = _scores(model, X, y, output)
    counts = np.asarray(scores["pit"])
    bins = len(counts)
    least, most = _chance(scores["rows"], 1 / bins)

    ax = _axes(ax)
    ax.bar(
        np.arange(bins) / bins, counts, 1 / bins, align="edge", color=_MIDDLE, edgecolor="white", label=what
    )
    # Drawn over the bars and transparent: what lies outside it is what matters.
    ax.axhspan(least, most, color="0.3", alpha=0.25, linewidth=0, label=_chance_label(model))
    ax.axhline(scores["rows"] / bins, color="0.2", linewidth=1, linestyle="--", label="flat")
    ax.set(xlabel="predicted probability below", ylabel="rows", xlim=(0, 1))
    ax.set_ylim(0, 1.05 * max(counts.max(), most))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    _legend_above(ax)
    return ax


def hinton(model: DMARegressor, layer: int = 0, member: int = 0, ax: Axes | None = None) -> Axes:
    """The weights of one layer of one network: area is the size of the mean, light positive, dark negative.

    A weight has its full colour if its mean is three standard deviations or more from zero; one that may as
    well be zero fades into the background. Weights are those of standardised inputs and y. The last row holds
    the biases.

    Parameters
    ----------
    model : DMARegressor
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
    _label_cells(ax, _input_names(model, layer, inputs - 1) + ["bias"], units)
    _hinton_legend(ax, np.abs(mean).max(), beside=inputs > units and _inches(ax)[0] >= 4)
    return ax


def learning_curve(model: DMARegressor, ax: Axes | None = None) -> Axes:
    """Training NLL of every member by epoch, and the cavity NLL of all members together.

    For a joint belief the NLL is that of the mean weights: first of a search that leaves some rows out, and in
    a large table begins with few of them, then of all rows, with another noise. The vertical axis leaves out
    the first epochs where they would hide the rest.

    Parameters
    ----------
    model : DMARegressor
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
    _check(model)
    curves = model.train_nll_curve_
    if not any(len(curve) for curve in curves):
        raise ValueError("the model file comes from a version that did not keep the training curve")

    ax = _axes(ax)
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.75, len(curves)))
    styles = ("-", "--", "-.", ":")
    for member, (curve, shade) in enumerate(zip(curves, shades)):
        label = f"member {member}" if len(curves) <= 8 else "members" if member == 0 else None
        style = styles[member % len(styles)]
        ax.plot(np.arange(1, len(curve) + 1), curve, color=shade, linestyle=style, linewidth=1.2, label=label)
    ax.axhline(model.cavity_nll_, color=_ROWS, linewidth=2, label="cavity, all together")
    ax.set(xlabel="epoch", ylabel="NLL")
    ax.set_ylim(*_interesting(curves, model.cavity_nll_))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    _legend_above(ax)
    return ax


# -------------------------------------------------------------------------------------------------- the model


def _check(model: Any, output: int = 0) -> None:
    if not isinstance(model, DMARegressor):
        raise TypeError(
            f"dma.plot draws a DMARegressor, not a {type(model).__name__}; for a Pipeline, pass its last step "
            "and X as that step sees it"
        )
    model._require_fitted()
    _require_number("output", output, model.n_outputs_)


def _require_number(what: str, value: Any, count: int, whole: str = "the model") -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value < count:
        raise ValueError(f"there is no {what} {value!r}: {whole} has {count}, counted from 0")


def _require_points(points: int) -> None:
    if points < 2:
        raise ValueError(f"points must be at least 2, not {points!r}")


def _target(model: DMARegressor, output: int) -> str:
    return model._model.options.target[output]


def _function_interval(model: DMARegressor, table: Any, level: float) -> tuple[np.ndarray, ...]:
    """Where the function may be, without noise: a number, the median of an amount or the mean of a count."""
    return model._shaped(model._model.function_interval(model._inputs(table), level, model._threads()))


def _chance_label(model: DMARegressor) -> str:
    return "chance (95 % or more)" if model.kind_ == "count" else "chance (95 %)"


def _output(values: np.ndarray, output: int) -> np.ndarray:
    return values if values.ndim == 1 else values[:, output]


def _scores(model: DMARegressor, X: Any, y: Any, output: int) -> tuple[dict[str, Any], str]:
    """Scores of one output, and a label for their rows."""
    _check(model, output)
    if (X is None) != (y is None):
        raise ValueError("give both X and y, or neither for the training rows (the cavity)")
    if X is None:
        scores = model.report_["cavity"]
        if not scores or not scores[output]["coverage_curve"]:
            raise ValueError(
                "the model file comes from a version that did not keep the calibration; give X and y"
            )
    else:
        scores = model.evaluate(X, y)
        scores = scores if isinstance(scores, list) else [scores]
    whose = "cavity of " if X is None else ""
    return scores[output], f"{whose}{scores[output]['rows']} rows"


def _member(model: DMARegressor, member: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Means and standard deviations of its weights, layer by layer."""
    _check(model)
    members = model._weights()
    _require_number("member", member, len(members))
    return members[member]


def _input_names(model: DMARegressor, layer: int, count: int) -> list[str]:
    return list(model.input_names_) if layer == 0 else [f"unit {k}" for k in range(count)]


# ---------------------------------------------------------------------------------------------- the rows of X


def _table_of(model: DMARegressor, X: Any) -> Any:
    """X with the columns that the model has, in its order."""
    if not _columns.is_frame(X):
        return _compat.check_array(X, allow_nan=True, dtype=np.float64)
    return X[model._names()] if model._finds_columns and set(model._names()) <= set(X.columns) else X


def _place(model: DMARegressor, X: Any, feature: int | str) -> int:
    names = model._names()
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, (int, np.integer)) and not isinstance(feature, bool) and 0 <= feature < X.shape[1]:
        return int(feature)
    raise ValueError(f"X has no feature {feature!r}; it has {X.shape[1]}, counted from 0")


def _column(X: Any, place: int) -> Any:
    return X.iloc[:, place] if _columns.is_frame(X) else X[:, place]


def _numbers(model: DMARegressor, column: Any, place: int) -> np.ndarray:
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


def _is_category(model: DMARegressor, column: Any, place: int) -> bool:
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


def _others_at_median(model: DMARegressor, X: Any, place: int, along: np.ndarray) -> Any:
    """A table like X in which one column varies and the others are constant."""
    columns = [
        along if k == place else np.repeat(_typical(model, _column(X, k), k), len(along))
        for k in range(X.shape[1])
    ]
    if not _columns.is_frame(X):
        return np.column_stack(columns)
    return type(X)(dict(zip(X.columns, columns)))


def _typical(model: DMARegressor, column: Any, place: int) -> Any:
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


def _date_axis(ax: Axes) -> None:
    locator = AutoDateLocator(maxticks=int(np.clip(2 * _inches(ax)[0], 3, 8)))
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _log_axis(ax: Axes) -> None:
    """Logarithms upwards, with plain numbers beside the ticks: 1, 2, 5 and so on, if there is room."""
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    roomy = np.log10(high / low) < 1.2 * _inches(ax)[1]
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if roomy else (1,)))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _chance(rows: int, probability: Any) -> np.ndarray:
    """Bounds between which a binomial count falls with probability 95 %."""
    tail = (1 - _CHANCE_LEVEL) / 2
    return np.array([binom.ppf(tail, rows, probability), binom.ppf(1 - tail, rows, probability)])


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


def _label_cells(ax: Axes, rows: Sequence[str], columns: int) -> None:
    """Names beside the rows and numbers above the columns; if there are many, only some, to avoid overlap."""
    width, height = _inches(ax)
    longest = max(len(_short(name)) for name in rows)
    cell = min((72 * width - 4 * longest) / columns, 72 * height / len(rows))  # in points
    size = float(np.clip(0.9 * cell, 5, 9))
    shown = range(0, len(rows), int(np.ceil(size / cell)))
    ax.set_yticks(list(shown))
    ax.set_yticklabels([_short(rows[k]) for k in shown], fontsize=size)
    ax.set_xticks(range(0, columns, int(np.ceil(2.5 * size / cell))))
    ax.tick_params(axis="x", labelsize=size)


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
    share = min((1.4 * lines + 1.2) * size / 72 / _inches(ax)[1], 0.6)
    scale = ax.yaxis.get_transform()
    low, high = scale.transform(ax.get_ylim())
    ax.set_ylim(*scale.inverted().transform([low, high + (high - low) * share / (1 - share)]))
    ax.legend(
        handles, labels, loc="upper center", ncol=columns, fontsize=size, columnspacing=1, borderpad=0.3
    )


def _short(name: str) -> str:
    return name if len(name) <= 16 else name[:15] + "…"


def _interesting(curves: Sequence[np.ndarray], cavity: float) -> tuple[float, float]:
    """Ends of the vertical axis, so that all but the first fifth of the epochs is inside."""
    late = np.concatenate([curve[len(curve) // 5 :] for curve in curves] + [[cavity]])
    margin = 0.1 * (late.max() - late.min()) or 0.1
    return late.min() - margin, late.max() + 2 * margin
