#!/usr/bin/env python3
"""Writes tests/special/tables/*.csv: 30-digit references for special/normal.h, by mpmath.

Arguments are doubles that float holds too (multiples of 1/8, or powers of two times such), so that
one table serves both types. All integrals are evaluated with 400 digits from the textbook forms:
what cancels in double does not cancel there.

    tools/special_tables.py            writes the tables
    tools/special_tables.py --check    exit status 1 if a table in the tree differs
"""
import functools
import numbers
import struct
import sys

import mpmath as mp

from generated import deliver

mp.mp.dps = 400
DIGITS = 30


def single(x):
    """The float nearest to x."""
    return struct.unpack("f", struct.pack("f", x))[0]


ARGUMENTS = sorted(
    {k / 8 for k in range(-40, 41)}
    | {float(k) for k in range(-40, 41)}
    | {s * (k + 0.375) for k in range(5, 40) for s in (-1, 1)}
    | {s * 2.0**-k for k in (4, 6, 9, 14, 20, 30) for s in (-1, 1)}
)
SLOPES = [single(s) for s in (1e-6, 1e-4, 0.01, 0.1, 0.4, 0.8, 0.999, 1.0)]
PROBABILITIES = sorted(
    {10.0**-k for k in (300, 200, 100, 50, 37, 30, 20, 15, 12, 10, 8, 6, 5, 4, 3)}
    | {k / 64 for k in range(1, 64)}
    | {1 - 2.0**-k for k in (7, 9, 12, 15, 20, 24, 30, 40, 52)}
    | {0.5 + s * 2.0**-k for k in (8, 12, 20, 24, 30, 40, 50) for s in (-1, 1)}
)
SMALL = sorted(
    {s * 2.0**-k * f for k in (0, 1, 2, 3, 4, 6, 8, 10, 14, 18, 23, 30) for f in (1, 0.75) for s in (-1, 1)}
    - {-1.0}
    | {float(k) for k in (2, 3, 10, 1000, 1000000)}
)


def pdf(u):
    return mp.exp(-u * u / 2) / mp.sqrt(2 * mp.pi)


def cdf(u):
    return mp.erfc(-u / mp.sqrt(2)) / 2


@functools.lru_cache(maxsize=None)
def partial(u):
    """E[X^n; X > 0], n = 0, 1, 2, X ~ N(u, 1)."""
    return cdf(u), u * cdf(u) + pdf(u), (1 + u * u) * cdf(u) + u * pdf(u)


def univariate(u):
    i0, i1, i2 = partial(u)
    lower = [i / pdf(u) for i in partial(-abs(u))]
    mean = i1 / i0
    return [pdf(u), i0, mp.log(i0), pdf(u) / i0, *lower, mean, i2 / i0 - mean * mean]


def leaky_relu(u, a):
    i0, i1, i2 = partial(u)
    j0, j1, j2 = partial(-u)  # E[|X|^n; X < 0]
    mean = i1 - a * j1
    gain = i0 + a * j0
    variance = i2 + a * a * j2 - mean * mean
    residual = variance - gain * gain
    scale = abs(u) + (1 - a) * i1 if u >= 0 else a * abs(u) + (1 - a) * i1
    mass = i0 + j0 / a
    inverse_mean = (i1 - j1 / a**2) / mass
    inverse_variance = (i2 + j2 / a**3) / mass - inverse_mean**2
    inverse_scale = (i1 + j1 / a**2) / mass
    return [
        mean,
        scale,
        variance,
        gain,
        0 if a == 1 else residual,
        inverse_mean,
        inverse_scale,
        inverse_variance,
    ]


@mp.workdps(80)
def quantile(p):
    p = mp.mpf(p)
    if p == mp.mpf(0.5):
        return mp.mpf(0)
    if p < 0.5:
        target = mp.log(p)
        u = -mp.sqrt(-2 * target) if p < 0.01 else (p - 0.5) * mp.sqrt(2 * mp.pi)
        for _ in range(200):
            step = (mp.log(cdf(u)) - target) * cdf(u) / pdf(u)
            u -= step
            if abs(step) < mp.mpf(10) ** -60 * abs(u):
                return u
        raise ArithmeticError(f"no quantile for {p}")
    return -quantile(1 - p)


def table(header, rows):
    def cell(value):
        if isinstance(value, numbers.Real) and not isinstance(value, mp.mpf):
            return repr(float(value))
        return mp.nstr(value, DIGITS, min_fixed=0, max_fixed=0)

    return "\n".join([header, *(",".join(cell(v) for v in row) for row in rows)]) + "\n"


def tables():
    mpf = mp.mpf
    return {
        "tests/special/tables/univariate.csv": table(
            "u,pdf,cdf,log_cdf,mills,tail0,tail1,tail2,truncated_mean,truncated_variance",
            [[u, *univariate(mpf(u))] for u in ARGUMENTS],
        ),
        "tests/special/tables/leaky_relu.csv": table(
            "u,slope,mean,mean_scale,variance,gain,residual,inverse_mean,inverse_mean_scale,inverse_variance",
            [[u, a, *leaky_relu(mpf(u), mpf(a))] for a in SLOPES for u in ARGUMENTS],
        ),
        "tests/special/tables/quantile.csv": table("p,quantile", [[p, quantile(p)] for p in PROBABILITIES]),
        "tests/special/tables/minus_log1p.csv": table(
            "t,minus_log1p", [[t, mpf(t) - mp.log1p(mpf(t))] for t in SMALL]
        ),
    }


if __name__ == "__main__":
    sys.exit(deliver(tables()))
