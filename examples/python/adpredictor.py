"""adPredictor: the probability of a click, or of any yes or no, from many sparse categories, in one pass.

Every value of every column has a weight; the score of a row is the sum of the weights of its values, and noise of
deviation 1 decides whether it is above 0. Rows are learnt one after the other, and never seen again. Numbers count as
their tenths. The deviation of the weights is that under which the rows were foretold best while they were learnt.

    python3 examples/python/adpredictor.py adult.csv.gz --target income --splits adult.splits.json.gz
    python3 examples/python/adpredictor.py --rows 1000000    # generated rows of 20 categories, with the time
"""

import argparse
import gzip
import json
import time

import numpy as np
import pandas as pd
from scipy.special import log_ndtr, ndtr

import dma

DEVIATIONS = [0.1, 0.2, 0.4, 0.8]  # of a weight, to choose from


class Categories:
    """Numbers for the values of each column: the same value in two columns has two. Unseen values share one.

    A number counts as the tenth it is in, of the rows and of the different values: a column that is mostly 0 has few
    tenths of rows.
    """

    def __init__(self, table):
        tenths = np.linspace(0.1, 0.9, 9)
        self.edges, self.numbers, self.first, count = {}, {}, {}, 0
        for name, column in table.items():
            if pd.api.types.is_numeric_dtype(column):
                different = np.unique(column)
                self.edges[name] = np.unique(
                    np.quantile(column, tenths).tolist() + np.quantile(different, tenths).tolist()
                )
            values = self._values(name, column).unique()
            self.numbers[name] = {value: count + place for place, value in enumerate(values)}
            self.first[name] = count + len(values)  # of unseen values
            count += len(values) + 1
        self.count = count

    def _values(self, name, column):
        if name in self.edges:
            return pd.Series(np.searchsorted(self.edges[name], column.to_numpy()), index=column.index)
        return column.astype(str)

    def __call__(self, table):
        columns = [
            self._values(name, table[name]).map(self.numbers[name]).fillna(self.first[name])
            for name in self.numbers
        ]
        return np.column_stack(columns).astype(np.int64)


def learn(categories, clicked, values, deviation):
    """Beliefs about the weights after one pass, and what each row was foretold before it was learnt."""
    g = dma.Graph()
    weight = g.variables("weight", values + 1)
    prior = g.add(dma.Prior(0, deviation**2), weight)
    score = g.variables("score", len(clicked))
    constant = np.full(len(clicked), values)
    edges = [weight[column] for column in (*categories.T, constant)]
    total = g.add(dma.WeightedSum(np.ones(len(edges))), score, *edges)
    seen = g.add(dma.Probit, score, sign=np.where(clicked, 1, -1))
    row = [(total, 0), (seen, 0), *((total, 1 + edge) for edge in range(len(edges)))]
    beliefs = g.infer(engine="ep", schedule=dma.Schedule([(prior, 0), row], []))
    before = beliefs.messages(total, 0)
    return beliefs[weight], log_probability(before.mean, before.variance, clicked)


def fit(table, yes):
    """With the deviation of the weights under which one pass foretells the rows best."""
    categories = Categories(table)
    rows = categories(table)
    passes = {deviation: learn(rows, yes, categories.count, deviation) for deviation in DEVIATIONS}
    best = max(passes, key=lambda deviation: passes[deviation][1].mean())
    weight, foretold = passes[best]
    return best, foretold.mean(), weight, categories


def log_probability(mean, variance, clicked):
    return log_ndtr(np.where(clicked, mean, -mean) / np.sqrt(1 + variance))


def log_loss(weight, categories, clicked):
    rows = np.column_stack([categories, np.full(len(categories), len(weight) - 1)])
    return -log_probability(weight.mean[rows].sum(axis=1), weight.variance[rows].sum(axis=1), clicked).mean()


def generated(rows, columns=20, values=1000):
    random = np.random.default_rng(1)
    # A few values of a column are frequent, and most are rare.
    chosen = np.minimum(random.zipf(1.3, size=(rows, columns)) - 1, values - 1)
    weights = random.normal(0, 0.4, (columns, values))
    score = weights[np.arange(columns), chosen].sum(axis=1) - 1
    return chosen + values * np.arange(columns), score + random.normal(size=rows) > 0, columns * values


def measure_speed(rows):
    categories, clicked, values = generated(rows + 100_000)
    begin, processor = time.perf_counter(), time.process_time()
    weight, foretold = learn(categories[:rows], clicked[:rows], values, 0.4)
    seconds, processor = time.perf_counter() - begin, time.process_time() - processor
    print(
        f"{rows} rows of {categories.shape[1]} categories with {values} values: {seconds:.2f} s,"
        f" {processor:.2f} s of processor time"
    )
    print(f"log loss of 100000 new rows {log_loss(weight, categories[rows:], clicked[rows:]):.4f}")
    share = clicked[:rows].mean()
    print(f"of the share of clicks      {-(share * np.log(share) + (1 - share) * np.log(1 - share)):.4f}")


def logistic_regression(table, yes, train, test):
    """scikit-learn's, cross-validated, of the same columns: categories one-hot, numbers standardised."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.metrics import log_loss as sklearn_log_loss
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include=object)),
        (StandardScaler(), make_column_selector(dtype_exclude=object)),
    )
    model = make_pipeline(columns, LogisticRegressionCV(max_iter=1000, scoring="neg_log_loss"))
    model.fit(table.iloc[train].fillna("?"), yes[train])
    return sklearn_log_loss(yes[test], model.predict_proba(table.iloc[test].fillna("?"))[:, 1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("csv", nargs="?")
    parser.add_argument("--target")
    parser.add_argument("--splits", help="JSON with the test rows of each split")
    parser.add_argument("--first", type=int, help="only so many splits")
    parser.add_argument("--rows", type=int, help="generate so many rows instead")
    parser.add_argument("--rival", action="store_true", help="fit a logistic regression too")
    arguments = parser.parse_args()
    if arguments.rows:
        measure_speed(arguments.rows)
        return
    table = pd.read_csv(arguments.csv)
    yes = table.pop(arguments.target)
    yes = (yes == sorted(yes.unique())[1]).to_numpy()
    with gzip.open(arguments.splits) as file:
        splits = json.load(file)["test"]
    for number, test in enumerate(splits[: arguments.first]):
        train = np.setdiff1d(np.arange(len(table)), test)
        begin = time.perf_counter()
        deviation, foretold, weight, categories = fit(table.iloc[train], yes[train])
        seconds = time.perf_counter() - begin
        loss = log_loss(weight, categories(table.iloc[test]), yes[test])
        print(
            f"split {number}: weights of deviation {deviation}, rows foretold {-foretold:.4f}, {seconds:.1f} s"
        )
        print(f"  log loss {loss:.4f}")
        if arguments.rival:
            print(
                f"  logistic regression, cross-validated {logistic_regression(table, yes, train, test):.4f}"
            )


if __name__ == "__main__":
    main()
