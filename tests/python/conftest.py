"""What the tests of the Python package share."""

import numpy as np
import pytest


@pytest.fixture
def wave():
    """120 rows of a sine with noise 0.1, seen in [-3, 3]."""
    random = np.random.default_rng(0)
    X = random.uniform(-3, 3, size=(120, 1))
    y = np.sin(X[:, 0]) + 0.1 * random.normal(size=120)
    return X, y
