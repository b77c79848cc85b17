#!/usr/bin/env python3
"""Fits the rivals to the sets of a folder whose target is a class, and writes what dma benchmark --compare reads.

    bench/class_rivals.py --data DIR --out rivals.json [--sets NAME...] [--methods NAME...] [--splits N]
                          [--processes N] [--gp-rows N]

Each is scikit-learn's, used as its users would, untuned, with the default settings but where others are named:

    logistic           logistic regression; the penalty is the best of ten by the log loss in 5 folds
    forest             RandomForest: 100 trees grown to the last row, so that a class may get a probability of 0
    forest, 500        the same with 500 trees and two rows or more in a leaf
    boosting           HistGradientBoosting: 100 rounds, early stopping from 10,000 rows on
    boosting, stopped  the same with early stopping on a tenth of any table
    GP                 GaussianProcess with an RBF kernel, its length and amplitude by the evidence (Laplace), a class
                       against the rest; from at most --gp-rows rows
    ensemble           five networks of one layer of 50, Adam, early stopping on a tenth

What is not a default was set to come near earlier figures on five splits of nine tables, not to have the least loss:
the two variants, the length that the GP starts from, the seeds of the ensemble.

Text is one-hot encoded and a missing text is a category; numbers are standardised, and a missing one is the median
with a column that says so. Boosting gets numbers as they are. All of it is learnt from the training rows.

"ll" is what dma benchmark ranks by: the mean log-probability of the true class, so minus "log_loss". Probabilities
below 1e-15 count as 1e-15, "clipped" says how many. "calibration_error" has 15 bins (Guo et al. 2017), each with the
rows of all splits, since one split has few.

Needs python3-sklearn and python3-pandas.
"""
import json
import math
import time
import warnings

import numpy as np
import pandas as pd
import scipy.stats
import sklearn.compose
import sklearn.ensemble
import sklearn.gaussian_process
import sklearn.impute
import sklearn.linear_model
import sklearn.metrics
import sklearn.model_selection
import sklearn.neural_network
import sklearn.pipeline
import sklearn.preprocessing

import rival_runs

TARGETS = {"titanic": "survived"}  # elsewhere the last column
SMALLEST = 1e-15
BINS = 15


# ---------------------------------------------------------------------------------------------- scores


def bin_sums(right, confidence):
    """Of 1 - confidence where the class is right, else of -confidence. An edge belongs to the bin above, as dma's do."""
    bins = (confidence * BINS).astype(int).clip(max=BINS - 1)
    return np.bincount(bins, right - confidence, BINS)


def calibration_error(splits):
    """Mean over rows of |share of right ones - mean confidence| in the row's bin, all splits together."""
    sums = np.sum([split["bin_sums"] for split in splits], axis=0)
    return float(np.abs(sums).sum() / sum(split["test_rows"] for split in splits))


def class_scores(y, probabilities):
    """Of rows whose class is column y."""
    true = np.eye(probabilities.shape[1])[y]
    of_true = probabilities[np.arange(len(y)), y]
    right = probabilities.argmax(1) == y
    log_loss = -np.log(of_true.clip(SMALLEST)).mean()
    scores = {
        "ll": -log_loss,
        "log_loss": log_loss,
        "brier": ((probabilities - true) ** 2).sum(1).mean(),
        "accuracy": right.mean(),
        "balanced_accuracy": np.mean([right[y == k].mean() for k in np.unique(y)]),
    }
    if probabilities.shape[1] == 2 and len(np.unique(y)) == 2:
        scores["auc"] = sklearn.metrics.roc_auc_score(y, probabilities[:, 1])
    return {
        **{key: float(value) for key, value in scores.items()},
        "clipped": int((of_true < SMALLEST).sum()),
        "test_rows": len(y),
        "bin_sums": bin_sums(right, probabilities.max(1)).tolist(),
    }


# --------------------------------------------------------------------------------------------- rivals


def log_score(model, x, y):
    return -sklearn.metrics.log_loss(y, model.predict_proba(x), labels=model.classes_)


def rows_alone(y):
    """Those that are the only one of their class."""
    _, first, count = np.unique(y, return_index=True, return_counts=True)
    return first[count == 1]


def folds(x, y):
    """scikit-learn's own, but a row alone in its class is always learnt: the model of a fold must know every class."""
    alone = rows_alone(y)
    for learnt, held in sklearn.model_selection.StratifiedKFold(5).split(x, y):
        yield np.union1d(learnt, alone), np.setdiff1d(held, alone)


def two_of_each_class(x, y):
    """A row alone in its class is there twice: scikit-learn cannot hold out a share of one row to stop early."""
    alone = rows_alone(y)
    return np.r_[x, x[alone]], np.r_[y, y[alone]]


def logistic(x, y, seed):
    model = sklearn.linear_model.LogisticRegressionCV(
        cv=list(folds(x, y)), scoring=log_score, random_state=seed
    )
    return model.fit(x, y)


def forest(x, y, seed):
    return sklearn.ensemble.RandomForestClassifier(random_state=seed).fit(x, y)


def large_forest(x, y, seed):
    return sklearn.ensemble.RandomForestClassifier(500, min_samples_leaf=2, random_state=seed).fit(x, y)


def boosting(x, y, seed):
    return sklearn.ensemble.HistGradientBoostingClassifier(random_state=seed).fit(x, y)


def stopped_boosting(x, y, seed):
    model = sklearn.ensemble.HistGradientBoostingClassifier(early_stopping=True, random_state=seed)
    return model.fit(*two_of_each_class(x, y))


def gaussian_process(x, y, seed):
    """The search for the length starts at a usual distance between rows."""
    kernel = 1.0 * sklearn.gaussian_process.kernels.RBF(math.sqrt(x.shape[1]))
    return sklearn.gaussian_process.GaussianProcessClassifier(kernel, random_state=seed).fit(x, y)


def ensemble(x, y, seed):
    del seed
    members = [
        (str(k), sklearn.neural_network.MLPClassifier(50, early_stopping=True, random_state=k))
        for k in range(5)
    ]
    return sklearn.ensemble.VotingClassifier(members, voting="soft").fit(x, y)


METHODS = {
    "logistic": logistic,
    "forest": forest,
    "forest, 500": large_forest,
    "boosting": boosting,
    "boosting, stopped": stopped_boosting,
    "GP": gaussian_process,
    "ensemble": ensemble,
}


# ----------------------------------------------------------------------------------------------- sets


def read_set(folder, name):
    """Inputs, and the number of each row's class."""
    with rival_runs.opened(folder, name + ".csv") as file:
        table = pd.read_csv(file)
    target = table.pop(TARGETS.get(name, table.columns[-1]))
    return table, np.unique(target.astype(str), return_inverse=True)[1]


def sets_in(folder):
    """Small ones first."""
    return sorted(rival_runs.set_names(folder), key=lambda name: len(read_set(folder, name)[1]))


def encoder(table, fills_gaps):
    text = table.select_dtypes(object).columns
    numbers = table.columns.difference(text, sort=False)
    of_text = sklearn.preprocessing.OneHotEncoder(handle_unknown="ignore")
    of_numbers = sklearn.pipeline.make_pipeline(
        sklearn.impute.SimpleImputer(strategy="median", add_indicator=True),
        sklearn.preprocessing.StandardScaler(),
    )
    return sklearn.compose.make_column_transformer(
        (of_numbers if fills_gaps else "passthrough", numbers), (of_text, text), sparse_threshold=0
    )


def some_rows(rows, most, seed):
    return rows if len(rows) <= most else np.sort(np.random.default_rng(seed).permutation(rows)[:most])


def run_split(folder, name, split, method, options):
    # They are about the default limit of iterations, and classes with few rows.
    warnings.simplefilter("ignore")
    table, y = read_set(folder, name)
    test = np.array(rival_runs.read_splits(folder, name)[split])
    train = np.setdiff1d(np.arange(len(y)), test)
    seed = split + 1
    if method == "GP":
        train = some_rows(train, options.gp_rows, seed)
    encode = encoder(table, fills_gaps="boosting" not in method).fit(table.iloc[train])
    x, new = encode.transform(table.iloc[train]), encode.transform(table.iloc[test])
    begin = time.perf_counter()
    model = METHODS[method](x, y[train], seed)
    known = model.predict_proba(new)
    seconds = time.perf_counter() - begin
    probabilities = np.zeros((len(test), y.max() + 1))  # of a class without training rows: 0
    probabilities[:, model.classes_] = known
    return {**class_scores(y[test], probabilities), "rows": len(train), "seconds": seconds}


# --------------------------------------------------------------------------------------------- report


def summary(name, splits):
    result = {"name": name, "splits": len(splits), "per_split": splits}
    for key in ("ll", "log_loss", "brier", "accuracy", "balanced_accuracy", "auc", "seconds"):
        if all(key in split for split in splits):
            result.update(rival_runs.mean_and_error(key, np.array([split[key] for split in splits])))
    result["calibration_error"] = calibration_error(splits)
    result["clipped"] = sum(split["clipped"] for split in splits)
    result["rows"] = max(split["rows"] for split in splits)
    return result


def cell(result, key):
    if key not in result:
        return ""
    return f"{result[key]:.3f}" + (f" ± {result[key + '_se']:.3f}" if key + "_se" in result else "")


def print_table(title, key, results, sets, methods):
    print(f"\n{title}\n  {'':<12}" + "".join(f"{method:>19}" for method in methods))
    for name in sets:
        print(f"  {name:<12}" + "".join(f"{cell(results[name, method], key):>19}" for method in methods))


def print_ranks(results, sets, methods):
    losses = [[round(results[name, method]["log_loss"], 3) for method in methods] for name in sets]
    places = scipy.stats.rankdata(losses, axis=1).mean(0)
    shown = ", ".join(f"{method} {place:.2f}" for method, place in zip(methods, places))
    print(f"\naverage rank in log loss over {len(sets)} sets (1 is best): {shown}")


def print_notes(results, sets, methods):
    print(f"\ntest rows whose class had a probability below {SMALLEST:g}:")
    clipped = [f"{name}, {method}: {results[name, method]['clipped']}" for name, method in results]
    print("  " + ("; ".join(text for text in clipped if not text.endswith(": 0")) or "none"))
    for name in sets:
        rows = {method: results[name, method]["rows"] for method in methods}
        for method in methods:
            if rows[method] < max(rows.values()):
                print(f"{name}: the {method} had {rows[method]} of {max(rows.values())} training rows")


def print_summary(results, sets, methods):
    print(f"\nmean over splits ± standard error, scikit-learn {sklearn.__version__}")
    titles = {
        "log_loss": "log loss of test rows",
        "brier": "Brier score",
        "accuracy": "accuracy",
        "balanced_accuracy": "balanced accuracy",
        "calibration_error": f"expected calibration error, {BINS} bins, all splits together",
        "auc": "area under the curve, two classes",
        "seconds": "seconds per fit",
    }
    for key, title in titles.items():
        print_table(title, key, results, sets, methods)
    print_ranks(results, sets, methods)
    print_notes(results, sets, methods)


def write_report(path, results, methods):
    settings = {method: {"sets": []} for method in methods}
    for (_, method), result in results.items():
        settings[method]["sets"].append(result)
    path.write_text(json.dumps({"settings": settings}))


def main():
    options = rival_runs.option_parser(__doc__, METHODS).parse_args()
    sets, methods = rival_runs.chosen_sets(options, sets_in(options.data)), options.methods
    results = {}
    for name, method, splits in rival_runs.run_all(run_split, sets, options):
        results[name, method] = summary(name, splits)
        print(f"{name:<12} {method:<18} log loss {cell(results[name, method], 'log_loss')}", flush=True)
        write_report(options.out, results, methods)
    print_summary(results, sets, methods)


if __name__ == "__main__":
    main()
