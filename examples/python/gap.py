"""A gap in the data: the band widens where there are no rows.

Eighty rows of a noisy wave of one input, none of them between -1 and 1.5 or beyond ±4. The model gets only the rows:
it finds the noise level, the smoothness of the wave and when to stop by itself.

It prints the epistemic standard deviation (which more rows could remove) and the noise (which none can) where there are
rows, in the gap and outside, and how much of the true wave lies in the band of the function alone. With -o it draws the
mean, the 95 % interval, its epistemic part, and a few functions that the model considers possible.

    python3 examples/python/gap.py -o gap.png
"""

import argparse

import numpy as np

from dma import DMARegressor

NOISE = 0.15
PLACES = {"where rows are": ((-4, -1), (1.5, 4)), "in the gap": ((-1, 1.5),), "outside": ((-6, -4), (4, 6))}


def wave(x):
    return np.sin(1.5 * x) + 0.2 * x


def rows_with_a_gap(count, seed):
    random = np.random.default_rng(seed)
    x = np.where(random.random(count) < 0.5, random.uniform(-4, -1, count), random.uniform(1.5, 4, count))
    return x[:, None], wave(x) + NOISE * random.normal(size=count)


def print_widths(model):
    print(f"learnt noise {model.noise_std_:.3f}, true noise {NOISE}")
    print("                epistemic   noise   interval   wave within ±1.96 epistemic")
    for name, ranges in PLACES.items():
        x = np.concatenate([np.linspace(low, high, 200) for low, high in ranges])
        mean, epistemic_variance, noise_variance = model.predict(x[:, None], return_cov_parts=True)
        lower, upper = model.predict_interval(x[:, None])
        inside = np.abs(wave(x) - mean) < 1.96 * np.sqrt(epistemic_variance)
        print(
            f"{name:15s} {np.sqrt(epistemic_variance.mean()):9.3f} {np.sqrt(noise_variance.mean()):7.3f}"
            f" {np.mean(upper - lower):10.3f} {100 * inside.mean():16.0f} %"
        )


def draw(path, model, X, y):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    grid = np.linspace(-6, 6, 400)[:, None]
    mean, epistemic_variance, _ = model.predict(grid, return_cov_parts=True)
    lower, upper = model.predict_interval(grid)
    epistemic = 1.96 * np.sqrt(epistemic_variance)
    figure, axis = plt.subplots(figsize=(7, 3.7), dpi=100, constrained_layout=True)
    x = grid[:, 0]
    axis.fill_between(x, lower, upper, color="#d6e4f0", label="95 % interval of a new value")
    axis.fill_between(
        x, mean - epistemic, mean + epistemic, color="#8fb8da", label="95 % of the function (epistemic)"
    )
    functions = model.sample_y(grid, n_samples=5, random_state=0, noise=False)
    axis.plot(x, functions, color="#5a5a5a", linewidth=0.7, label=["functions drawn"] + ["_"] * 4)
    axis.plot(x, mean, color="#003a70", linewidth=2, label="mean")
    axis.plot(x, wave(x), color="#d95f02", linestyle="--", linewidth=1.5, label="the true wave")
    axis.plot(X[:, 0], y, "o", color="black", markersize=3, label="rows")
    axis.set(xlabel="x", ylabel="y", xlim=(-6, 6), ylim=(-6, 6))
    axis.legend(fontsize=8, ncol=2, loc="upper left", frameon=False)
    figure.savefig(path, pil_kwargs={"optimize": True})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=80, help="number of rows (default: %(default)s)")
    parser.add_argument("-o", metavar="PNG", help="also draw a picture")
    options = parser.parse_args()
    X, y = rows_with_a_gap(options.rows, seed=0)
    model = DMARegressor(random_state=0).fit(X, y)
    print_widths(model)
    if options.o:
        draw(options.o, model, X, y)


if __name__ == "__main__":
    main()
