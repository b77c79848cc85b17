"""Turns arrays and frames into the columns that the library reads in place."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from dma import _core

Column = Any  # a vector of float32 or float64, or (int32 codes, values) for text


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "iloc")


def numbered(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{k}" for k in range(count)]


def columns_of_matrix(X: np.ndarray) -> list[Column]:
    return [X[:, k] for k in range(X.shape[1])]


def columns_of_frame(frame: Any) -> list[Column]:
    return [_column(frame.iloc[:, k]) for k in range(frame.shape[1])]


def categories_of_frame(frame: Any) -> list[int]:
    """Positions of the columns whose type says that they are categories."""
    return [k for k, dtype in enumerate(frame.dtypes) if dtype.name == "category"]


def _column(series: Any) -> Column:
    kind = series.dtype.name
    if kind == "float32":
        return series.to_numpy()
    if kind in ("bool", "boolean", "category", "string") or kind.startswith("datetime"):
        return _text(series)
    if series.dtype.kind in "iuf":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind == "object" and all(_is_number(value) for value in series.dropna()):
        return series.astype(np.float64).to_numpy()
    if kind == "object":
        return _text(series)
    raise ValueError(
        f"X, column '{series.name}': the type {series.dtype} is not supported; convert it to numbers, text, "
        "categories, booleans or dates"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))


def _text(series: Any) -> Column:
    codes, values = series.factorize()
    return np.asarray(codes, dtype=np.int32), [_as_text(value) for value in values]


def _as_text(value: Any) -> str:
    """As pandas writes it to a file: rows are recognised by the contents of their cells."""
    text = str(value)
    return text.removesuffix(" 00:00:00") if hasattr(value, "isoformat") else text


def target_names(y: Any, count: int, taken: Sequence[str]) -> list[str]:
    """Names of the targets from the series or frame, else y or y0, y1, ...; never a feature's name."""
    if is_frame(y):
        names = [str(name) for name in y.columns]
    elif getattr(y, "name", None) is not None:
        names = [str(y.name)]
    else:
        names = ["y"] if count == 1 else numbered("y", count)
    while set(names) & set(taken):
        names = [name + "_" for name in names]
    return names


def rows(
    source: str, names: Sequence[str], columns: Sequence[Column], weights: np.ndarray | None = None
) -> _core.Rows:
    return _core.Rows(source, list(names), list(columns), [] if weights is None else weights.tolist())
