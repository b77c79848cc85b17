"""Predictions that say how sure they are, and inference on factor graphs."""

from importlib import import_module
from typing import Any

from dma._core import __version__
from dma.classifier import DMAClassifier
from dma.graph import (
    Argmax,
    Beliefs,
    Between,
    Equality,
    FactorArray,
    FactorCheck,
    FactorId,
    FactorReport,
    FailedMessage,
    Function,
    Gamma,
    GammaPrior,
    Gammas,
    Gaussian,
    GaussianPrecision,
    Gaussians,
    Graph,
    GreaterThan,
    ImproperMessage,
    InnerProduct,
    LeakyRelu,
    LogNormalCopy,
    LogNormalObservation,
    NegativeBinomial,
    Observation,
    Ordinal,
    Poisson,
    Prior,
    Probit,
    Product,
    Schedule,
    Softmax,
    Step,
    Variable,
    VariableArray,
    VariableRows,
    WeightedSum,
    WinDrawLoss,
    check_factor,
    factor,
)
from dma.merging import Start, merge
from dma.regressor import DMARegressor

__all__ = [
    "Argmax",
    "Beliefs",
    "Between",
    "DMAClassifier",
    "DMARegressor",
    "Equality",
    "FactorArray",
    "FactorCheck",
    "FactorId",
    "FactorReport",
    "FailedMessage",
    "Function",
    "Gamma",
    "GammaPrior",
    "Gammas",
    "Gaussian",
    "GaussianPrecision",
    "Gaussians",
    "Graph",
    "GreaterThan",
    "ImproperMessage",
    "InnerProduct",
    "LeakyRelu",
    "LogNormalCopy",
    "LogNormalObservation",
    "NegativeBinomial",
    "Observation",
    "Ordinal",
    "Poisson",
    "Prior",
    "Probit",
    "Product",
    "Schedule",
    "Softmax",
    "Start",
    "Step",
    "Variable",
    "VariableArray",
    "VariableRows",
    "WeightedSum",
    "WinDrawLoss",
    "__version__",
    "check_factor",
    "factor",
    "merge",
]


def __getattr__(name: str) -> Any:
    """``dma.plot`` on first use: matplotlib takes time to import, and not everyone has it."""
    if name == "plot":
        return import_module("dma.plot")
    raise AttributeError(f"module 'dma' has no attribute {name!r}")
