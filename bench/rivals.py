#!/usr/bin/env python3
"""Fits the rivals to the sets of a folder, on the splits of `dma benchmark`, and writes what --compare reads.

    bench/rivals.py --data DIR --out rivals.json [--sets NAME...] [--methods NAME...] [--splits N] [--processes N]
                    [--device cuda]
    dma benchmark --data DIR --compare rivals.json

Each is used as its users would, with default settings and no tuning:

    GP                  exact Gaussian process: Matérn 5/2, a length per column and noise by the evidence (L-BFGS); lengths
                        and noise are learnt from at most --gp-rows rows, predictions are made with all; on --device
    deep ensemble       five networks of two layers of 128 with a noise head, Adam, early stopping on a tenth
    boosting            scikit-learn's HistGradientBoosting; the spread is that of the misses in 5 folds
    boosting, quantiles the same with a model per quantile; it has no density, so no log-likelihood
    forest              scikit-learn's RandomForest; the spread is that of the out-of-bag misses

Needs python3-sklearn and python3-torch.
"""
import collections
import json
import math
import time

import numpy as np
import sklearn.ensemble
import sklearn.model_selection
import torch

import rival_runs

LEVELS = (0.5, 0.8, 0.9, 0.95)
PROBABILITIES = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)
# dma benchmark shows these under the names they are published with.
PUBLISHED = {
    "naval-propulsion-plant": "naval",
    "power-plant": "power",
    "protein-tertiary-structure": "protein",
    "wine-quality-red": "wine",
}

# Predictions of a split: a mixture of Gaussians per row (components x rows), or quantiles (rows x PROBABILITIES).
Mixture = collections.namedtuple("Mixture", "mean deviation")
Quantiles = collections.namedtuple("Quantiles", "mean values")


# ---------------------------------------------------------------------------------------------- scores


def normal_cdf(x):
    return torch.special.ndtr(torch.as_tensor(x)).numpy()


def normal_density(x):
    return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def expected_distance(mean, deviation):
    """E|x| of a Gaussian."""
    z = mean / deviation
    return 2 * deviation * normal_density(z) + mean * (2 * normal_cdf(z) - 1)


def mixture_scores(y, mixture):
    """CRPS: E|x - y| - E|x - x'| / 2 (Gneiting and Raftery 2007)."""
    mean, deviation = mixture
    z = (y - mean) / deviation
    log_density = -(z**2) / 2 - np.log(deviation) - math.log(2 * math.pi) / 2
    highest = log_density.max(0)
    below = normal_cdf(z).mean(0)
    between = expected_distance(
        mean[:, None] - mean[None], np.sqrt(deviation[:, None] ** 2 + deviation[None] ** 2)
    ).mean((0, 1))
    return {
        "ll": np.mean(highest + np.log(np.exp(log_density - highest).mean(0))),
        "rmse": math.sqrt(np.mean((y - mean.mean(0)) ** 2)),
        "crps": np.mean(expected_distance(y - mean, deviation).mean(0) - between / 2),
        "coverage": [np.mean(np.abs(below - 0.5) < level / 2) for level in LEVELS],
    }


def trapezoidal(x, values):
    """NumPy's own has another name from version 2 on."""
    return np.sum(np.diff(x) * (values[1:] + values[:-1]) / 2)


def quantile_scores(y, quantiles):
    """CRPS: twice the mean pinball loss over the probabilities, by the trapezoidal rule."""
    mean, values = quantiles
    probabilities = np.array(PROBABILITIES)
    miss = y[:, None] - values
    pinball = np.maximum(probabilities * miss, (probabilities - 1) * miss).mean(0)
    place = {p: k for k, p in enumerate(PROBABILITIES)}
    inside = []
    for level in LEVELS:
        low, high = place[round((1 - level) / 2, 3)], place[round((1 + level) / 2, 3)]
        inside.append(np.mean((y > values[:, low]) & (y < values[:, high])))
    return {
        "rmse": math.sqrt(np.mean((y - mean) ** 2)),
        "crps": 2 * trapezoidal(np.r_[0, probabilities, 1], np.r_[0, pinball, 0]),
        "coverage": inside,
    }


# --------------------------------------------------------------------------------------------- rivals


def one_gaussian(mean, deviation):
    return Mixture(mean[None], np.full_like(mean, deviation)[None])


def matern(x, z, lengths):
    distance = torch.cdist(x / lengths, z / lengths, compute_mode="donot_use_mm_for_euclid_dist")
    r = math.sqrt(5) * distance.clamp_min(1e-12)
    return (1 + r + r**2 / 3) * torch.exp(-r)


def gaussian_process(x, y, new, seed, options):
    generator = torch.Generator().manual_seed(seed)
    kind = {"dtype": torch.float64, "device": options.device}
    x, y, new = (torch.as_tensor(array, **kind) for array in (x, y, new))
    some = torch.randperm(len(y), generator=generator)[: options.gp_rows]
    start = [math.log(math.sqrt(x.shape[1]))] * x.shape[1] + [0.0, math.log(0.1)]
    logs = torch.tensor(start, requires_grad=True, **kind)  # lengths, signal, noise

    def covariance(rows):
        noise = torch.exp(logs[-1]) + 1e-6
        return torch.exp(logs[-2]) * matern(x[rows], x[rows], torch.exp(logs[:-2])) + noise * torch.eye(
            len(rows), **kind
        )

    def loss():
        optimiser.zero_grad()
        factor, failed = torch.linalg.cholesky_ex(covariance(some))
        if failed:
            return torch.tensor(math.inf)
        white = torch.linalg.solve_triangular(factor, y[some, None], upper=False)
        value = ((white**2).sum() / 2 + factor.diagonal().log().sum()) / len(some)
        value.backward()
        return value

    optimiser = torch.optim.LBFGS([logs], max_iter=100, line_search_fn="strong_wolfe")
    optimiser.step(loss)
    with torch.no_grad():
        factor = torch.linalg.cholesky(covariance(torch.arange(len(y))))
        across = torch.exp(logs[-2]) * matern(x, new, torch.exp(logs[:-2]))
        white = torch.linalg.solve_triangular(factor, across, upper=False)
        mean = white.T @ torch.linalg.solve_triangular(factor, y[:, None], upper=False)
        variance = torch.exp(logs[-2]) + torch.exp(logs[-1]) + 1e-6 - (white**2).sum(0)
    return Mixture(mean.T.cpu().numpy(), variance.clamp_min(1e-12).sqrt()[None].cpu().numpy())


def network_of(width):
    layers = [torch.nn.Linear(width, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(128, 2))


def mean_and_variance(network, x):
    output = network(x)
    return output[:, 0], torch.nn.functional.softplus(output[:, 1]) + 1e-6


def train_network(x, y):
    """Until 50 epochs in a row were no better on the tenth that is held out; the best is kept."""
    order = torch.randperm(len(y))
    held, rest = order[: max(1, len(y) // 10)], order[max(1, len(y) // 10) :]
    network = network_of(x.shape[1])
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    density = torch.nn.GaussianNLLLoss()
    best, best_loss, since = None, math.inf, 0
    for _ in range(1000):
        for batch in rest[torch.randperm(len(rest))].split(100):
            optimiser.zero_grad()
            mean, variance = mean_and_variance(network, x[batch])
            density(mean, y[batch], variance).backward()
            optimiser.step()
        with torch.no_grad():
            mean, variance = mean_and_variance(network, x[held])
            loss = density(mean, y[held], variance).item()
        since += 1
        if loss < best_loss:
            best, best_loss, since = {k: v.clone() for k, v in network.state_dict().items()}, loss, 0
        if since == 50:
            break
    network.load_state_dict(best)
    return network


def deep_ensemble(x, y, new, seed, options):
    del options
    torch.manual_seed(seed)
    x, y, new = (torch.as_tensor(array, dtype=torch.float32) for array in (x, y, new))
    members = [train_network(x, y) for _ in range(5)]
    with torch.no_grad():
        predicted = [mean_and_variance(network, new) for network in members]
    mean, variance = (torch.stack(part).double().numpy() for part in zip(*predicted))
    return Mixture(mean, np.sqrt(variance))


def boosting(x, y, new, seed, options):
    del options
    model = sklearn.ensemble.HistGradientBoostingRegressor(random_state=seed)
    folds = sklearn.model_selection.KFold(5, shuffle=True, random_state=seed)
    misses = y - sklearn.model_selection.cross_val_predict(model, x, y, cv=folds)
    return one_gaussian(model.fit(x, y).predict(new), misses.std())


def boosting_quantiles(x, y, new, seed, options):
    del options

    def fitted(**loss):
        return (
            sklearn.ensemble.HistGradientBoostingRegressor(random_state=seed, **loss).fit(x, y).predict(new)
        )

    values = np.stack([fitted(loss="quantile", quantile=p) for p in PROBABILITIES], 1)
    return Quantiles(fitted(), np.sort(values, 1))


def forest(x, y, new, seed, options):
    del options
    model = sklearn.ensemble.RandomForestRegressor(oob_score=True, random_state=seed).fit(x, y)
    known = np.isfinite(model.oob_prediction_)
    return one_gaussian(model.predict(new), (y - model.oob_prediction_)[known].std())


METHODS = {
    "GP": gaussian_process,
    "deep ensemble": deep_ensemble,
    "boosting": boosting,
    "boosting, quantiles": boosting_quantiles,
    "forest": forest,
}


# ----------------------------------------------------------------------------------------------- sets


def read_set(folder, file):
    with rival_runs.opened(folder, file + ".csv") as table:
        return np.loadtxt(table, delimiter=",", skiprows=1)


def run_split(folder, file, split, name, options):
    """Everything is standardised by the training rows; the scores are in the target's unit."""
    torch.set_num_threads(1)
    rows = read_set(folder, file)
    is_test = np.zeros(len(rows), bool)
    is_test[rival_runs.read_splits(folder, file)[split]] = True
    train, test = rows[~is_test], rows[is_test]
    shift, scale = train.mean(0), train.std(0)
    scale[scale == 0] = 1
    x, new = (train[:, :-1] - shift[:-1]) / scale[:-1], (test[:, :-1] - shift[:-1]) / scale[:-1]
    begin = time.perf_counter()
    predicted = METHODS[name](x, (train[:, -1] - shift[-1]) / scale[-1], new, split + 1, options)
    seconds = time.perf_counter() - begin
    unit, zero = scale[-1], shift[-1]
    if isinstance(predicted, Mixture):
        scores = mixture_scores(
            test[:, -1], Mixture(predicted.mean * unit + zero, predicted.deviation * unit)
        )
    else:
        scores = quantile_scores(test[:, -1], Quantiles(*(part * unit + zero for part in predicted)))
    return {**scores, "seconds": seconds}


def summary(name, scores):
    result = {"name": name, "splits": len(scores)}
    for key in scores[0]:
        values = np.array([score[key] for score in scores])
        if key == "coverage":
            result[key] = {f"{level:g}": share for level, share in zip(LEVELS, values.mean(0).tolist())}
            continue
        result.update(rival_runs.mean_and_error(key, values))
    return result


def arguments():
    parser = rival_runs.option_parser(__doc__, METHODS)
    parser.add_argument("--device", default="cpu", metavar="NAME", help="for the GP; default: %(default)s")
    return parser.parse_args()


def main():
    options = arguments()
    known = {PUBLISHED.get(file, file): file for file in rival_runs.set_names(options.data)}
    files = [known[shown] for shown in rival_runs.chosen_sets(options, known)]
    report = {name: {"sets": []} for name in options.methods}
    for file, name, scores in rival_runs.run_all(run_split, files, options):
        shown = PUBLISHED.get(file, file)
        result = summary(shown, scores)
        report[name]["sets"].append(result)
        likelihood = f"LL {result['ll']:.3f}" if "ll" in result else ""
        print(f"{shown:<10} {name:<20} RMSE {result['rmse']:<9.4g} {likelihood}", flush=True)
        options.out.write_text(json.dumps({"settings": report}))


if __name__ == "__main__":
    main()
