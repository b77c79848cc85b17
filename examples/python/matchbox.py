"""Matchbox: ratings of items by users, as inner products of their traits.

    rating = traits of the user . traits of the item + bias of the user + bias of the item + noise

    python3 examples/python/matchbox.py                     # generated ratings, whose truth is known
    python3 examples/python/matchbox.py --csv ratings.csv   # columns user, item, rating; features: user ..., item ...
    python3 examples/python/matchbox.py --features          # users and items of whom something is known
    python3 examples/python/matchbox.py --ordinal           # ratings of five stars, whose ends are learnt
    python3 examples/python/matchbox.py --speed 1000000     # a sweep over so many ratings of rank 10

A user's vector is the bias, the traits and a 1, an item's a 1, the traits and the bias, so that one factor is the whole
rating. The engines are compared on a tenth of the ratings that is held out.

Features are categories: the vector of a user or item is then its own plus one for each of its values, shared by all who have
that value, so that something is known of who has not rated yet.

An ordinal rating k says that the score, with its noise, is between the cut points k and k + 1. They are variables: a rating is
two factors, "the score is above the one" and "the other is above the score". The outermost are known and far away.
"""

import argparse
import resource
import time

import numpy as np
import pandas as pd
from scipy.special import ndtr

import dma

ENGINES = {
    "direct": dict(engine="direct", rule="direct"),
    "linear": dict(engine="direct", rule="linear"),
    "EP": dict(engine="ep"),
    "VMP": dict(engine="vmp"),
}


class Ratings:
    """features: for users and for items an array with a row each and a column of numbered values per feature, or None."""

    def __init__(self, user, item, rating, features=(None, None)):
        self.user, self.item, self.rating, self.features = user, item, rating, features

    def __len__(self):
        return len(self.rating)

    def __getitem__(self, rows):
        return Ratings(self.user[rows], self.item[rows], self.rating[rows], self.features)


def generated(users, items, rank, count, noise=0.5, seed=1, values=None):
    """With `values`, users and items have two features of so many values, which make up half of the variance of traits."""
    random = np.random.default_rng(seed)
    of_users, of_items = random.normal(size=(users, rank)), random.normal(size=(items, rank))
    user, item = random.integers(0, users, count), random.integers(0, items, count)
    features = (None, None)
    if values:
        features = tuple(random.integers(0, values, (side, 2)) for side in (users, items))
        for traits, known in zip((of_users, of_items), features):
            of_values = 0.5 * random.normal(size=(2, values, rank))
            traits[:] = np.sqrt(0.5) * traits + sum(of_values[f, known[:, f]] for f in range(2))
    biases = 0.5 * random.normal(size=users)[user] + 0.5 * random.normal(size=items)[item]
    exact = (of_users[user] * of_items[item]).sum(axis=1) + biases
    return Ratings(user, item, exact + noise * random.normal(size=count), features)


def features_of(table, side):
    """Of columns such as "user age", which say the same in all rows of a user."""
    columns = [name for name in table.columns if name.startswith(side + " ")]
    if not columns:
        return None
    known = table.drop_duplicates(side)[columns]
    return np.column_stack([pd.factorize(known[name], use_na_sentinel=False)[0] for name in columns])


def read(path, ordinal):
    table = pd.read_csv(path)
    codes = [pd.factorize(table[name])[0] for name in ("user", "item")]
    features = tuple(features_of(table, side) for side in ("user", "item"))
    if ordinal:
        return Ratings(*codes, pd.factorize(table.rating, sort=True)[0], features)
    spread = table.rating.std()
    return Ratings(*codes, ((table.rating - table.rating.mean()) / spread).to_numpy(), features)


FAR = 1000.0


class Matchbox:
    """levels: None for ratings that are numbers, else how many there are, 0, 1, ..."""

    def __init__(self, ratings, users, items, rank, noise=0.5, seed=1, levels=None):
        random = np.random.default_rng(seed)
        self.graph = g = dma.Graph()
        self.noise = noise**2
        # Were all means 0, nothing would tell one trait from another.
        means = [np.zeros((users, rank + 1)), 0.3 * random.normal(size=(items, rank + 1))]
        means[1][:, rank] = 0  # the bias
        self.vectors, priors, sums = [], [], []
        for name, mean, features in zip(("user", "item"), means, ratings.features):
            vectors = g.variables(name, mean.shape)
            self.vectors.append(vectors)
            if features is None:
                priors.append(self.add_prior(vectors, mean, 1))
                continue
            # Together they have variance 1, as a vector without features has.
            variance = 1 / (1 + features.shape[1])
            own = g.variables(name + "'s own", mean.shape)
            priors.append(self.add_prior(own, mean, variance))
            parts = [self.flat(own)]
            for feature, codes in enumerate(features.T):
                values = g.variables(f"{name} feature {feature}", (codes.max() + 1, rank + 1))
                priors.append(self.add_prior(values, np.zeros(values.shape), variance))
                entries = (codes[:, None] * (rank + 1) + np.arange(rank + 1)).ravel()
                parts.append(self.flat(values)[entries])
            total = g.add(dma.WeightedSum(np.ones(len(parts))), self.flat(vectors), *parts)
            sums.append((total, len(parts)))
        user, item = self.vectors
        one = g.known("one", 1)
        product = dma.InnerProduct(0, self.noise)
        vectors = (user[ratings.user], one, one, item[ratings.item])
        # All edges but the known ones: the rating, the 1 of the user and that of the item.
        entries = [1 + k for k in range(2 * rank + 4) if k not in (rank + 1, rank + 2)]
        if levels is None:
            inner = g.add(product, g.known("rating", ratings.rating), *vectors)
            rows = [(inner, entry) for entry in entries]
        else:
            score = g.variables("score", len(ratings))
            inner = g.add(product, score, *vectors)
            self.cut = g.variables("cut", levels + 1)
            middle = 1.0 * np.arange(levels + 1) - levels / 2
            middle[0], middle[-1] = -FAR, FAR
            variance = np.where(np.abs(middle) == FAR, 0.0, 1.0)
            priors.append(g.add(dma.Prior, self.cut, mean=middle, variance=variance))
            above = g.add(dma.WinDrawLoss(1), score, self.cut[ratings.rating])
            below = g.add(dma.WinDrawLoss(1), self.cut[ratings.rating + 1], score)
            rows = [(inner, 0), (above, 0), (below, 1)]
            rows += [*((inner, entry) for entry in entries), (above, 1), (below, 0)]
        self.schedule = dma.Schedule(
            [*((prior, 0) for prior in priors), *((total, 0) for total, _ in sums), rows],
            [(total, 1 + part) for total, parts in sums for part in range(parts)],
        )

    def flat(self, vectors):
        return dma.VariableArray(self.graph, vectors.first, vectors.rows * vectors.columns)

    def add_prior(self, vectors, mean, variance):
        return self.graph.add(dma.Prior, self.flat(vectors), mean=mean.ravel(), variance=variance)

    def learn(self, sweeps, tolerance=0.0, **engine):
        return self.graph.infer(sweeps=sweeps, tolerance=tolerance, schedule=self.schedule, **engine)

    def foretell(self, beliefs, ratings):
        """Mean and variance of new ratings."""
        user, item = (
            (beliefs[vectors].mean[rows], beliefs[vectors].variance[rows])
            for vectors, rows in zip(self.vectors, (ratings.user, ratings.item))
        )
        m, v, n, w = user[0][:, 1:], user[1][:, 1:], item[0][:, :-1], item[1][:, :-1]
        mean = (m * n).sum(axis=1) + user[0][:, 0] + item[0][:, -1]
        variance = (v * w + m**2 * w + n**2 * v).sum(axis=1) + user[1][:, 0] + item[1][:, -1]
        return mean, variance + self.noise

    def foretell_levels(self, beliefs, ratings):
        """The probability of every level, for new ratings."""
        mean, variance = self.foretell(beliefs, ratings)
        cut = beliefs[self.cut]
        below = ndtr((cut.mean - mean[:, None]) / np.sqrt(variance[:, None] + cut.variance))
        return np.diff(below, axis=1)


def log_likelihood(mean, variance, seen):
    return -((seen - mean) ** 2 / variance + np.log(2 * np.pi * variance)).mean() / 2


def compare(ratings, users, items, rank, sweeps):
    held_out = np.arange(len(ratings)) % 10 == 0
    train, test = ratings[~held_out], ratings[held_out]
    model = Matchbox(train, users, items, rank)
    print(f"{len(train)} ratings, {users} users, {items} items, rank {rank}; {len(test)} held out")
    print("           log-likelihood   RMSE   in 90 %   negative precisions   seconds a sweep")
    for name, engine in ENGINES.items():
        begin = time.perf_counter()
        try:
            beliefs = model.learn(sweeps, **engine)
        except ValueError as error:
            print(f"{name:8s}   {error}")
            continue
        seconds = (time.perf_counter() - begin) / sweeps
        mean, variance = model.foretell(beliefs, test)
        inside = np.abs(test.rating - mean) < 1.6449 * np.sqrt(variance)
        share = len(beliefs.improper) / beliefs.messages_sent
        rmse = np.sqrt(np.mean((test.rating - mean) ** 2))
        print(
            f"{name:8s} {log_likelihood(mean, variance, test.rating):14.3f} {rmse:9.3f} {100 * inside.mean():7.1f} %"
            f" {100 * share:17.2f} % {seconds:15.2f}"
        )
    mean, deviation = train.rating.mean(), train.rating.std()
    print(f"{'nothing':8s} {log_likelihood(mean, deviation**2, test.rating):14.3f} {test.rating.std():9.3f}")


def compare_features(ratings, users, items, rank, sweeps):
    """With and without features, also of users none of whose ratings is learnt: every tenth."""
    is_new = ratings.user % 10 == 0
    held_out = is_new | (np.arange(len(ratings)) % 10 == 0)
    train = ratings[~held_out]
    print(
        f"{len(train)} ratings, {users} users, {items} items, rank {rank}; log-likelihood, and share in 90 %"
    )
    print("                    known users           new users")
    plain = Ratings(train.user, train.item, train.rating)
    for name, learnt in (("with features", train), ("without", plain)):
        model = Matchbox(learnt, users, items, rank)
        beliefs = model.learn(sweeps, **ENGINES["linear"])
        line = f"{name:14s}"
        for test in (ratings[held_out & ~is_new], ratings[is_new]):
            mean, variance = model.foretell(beliefs, test)
            inside = np.abs(test.rating - mean) < 1.6449 * np.sqrt(variance)
            line += f"{log_likelihood(mean, variance, test.rating):11.3f} {100 * inside.mean():6.1f} %"
        print(line)


def as_levels(ratings, ends):
    """Ratings 0, 1, ... by which of these ends they are above."""
    return Ratings(ratings.user, ratings.item, np.searchsorted(ends, ratings.rating), ratings.features)


def compare_levels(ratings, users, items, rank, sweeps):
    """Levels as ordinals beside the same levels as numbers with Gaussian noise, each normalised over the levels."""
    held_out = np.arange(len(ratings)) % 10 == 0
    train, test = ratings[~held_out], ratings[held_out]
    levels = int(ratings.rating.max()) + 1
    shares = np.bincount(train.rating, minlength=levels) / len(train)
    rows = np.arange(len(test))
    print(
        f"{len(train)} ratings, {users} users, {items} items, rank {rank}, {levels} levels; {len(test)} held out"
    )
    print("                 log-likelihood   right   seconds a sweep")

    def show(name, probabilities, seconds=None):
        score = np.log(probabilities[rows, test.rating]).mean()
        right = 100 * np.mean(probabilities.argmax(axis=1) == test.rating)
        print(f"{name:15s} {score:15.3f} {right:6.1f} %" + (f" {seconds:12.2f}" if seconds else ""))

    model = Matchbox(train, users, items, rank, levels=levels)
    for engine in ("linear", "EP"):
        begin = time.perf_counter()
        beliefs = model.learn(sweeps, **ENGINES[engine])
        seconds = (time.perf_counter() - begin) / sweeps
        show(f"ordinal, {engine}", model.foretell_levels(beliefs, test), seconds)
        cut = beliefs[model.cut]
        inner = slice(1, levels)
        found = ", ".join(f"{m:.2f} ± {s:.2f}" for m, s in zip(cut.mean[inner], cut.std[inner]))
        print(f"                cut points {found}")
    centre, spread = train.rating.mean(), train.rating.std()
    numbers = Ratings(train.user, train.item, (train.rating - centre) / spread, train.features)
    for noise in (0.3, 0.5, 0.7):
        model = Matchbox(numbers, users, items, rank, noise=noise)
        mean, variance = model.foretell(model.learn(sweeps, **ENGINES["linear"]), test)
        ends = (np.arange(levels + 1) - 0.5 - centre) / spread
        ends[0], ends[-1] = -FAR, FAR
        below = ndtr((ends - mean[:, None]) / np.sqrt(variance[:, None]))
        show(f"number, {noise:.1f}", np.maximum(np.diff(below, axis=1), 1e-300))
    show("shares", np.tile(shares, (len(test), 1)))


def resident_bytes():
    """Of this process now (Linux); the most it ever had is that of getrusage."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def measure_speed(count, threads, rank=10):
    users, items = max(10, count // 100), max(10, count // 500)
    ratings = generated(users, items, rank, count)
    before = resident_bytes()
    model = Matchbox(ratings, users, items, rank)
    times = []
    for sweeps in (1, 2):
        begin = np.array([time.perf_counter(), time.process_time()])
        sent = model.learn(sweeps, threads=threads, **ENGINES["linear"]).messages_sent
        times.append(np.array([time.perf_counter(), time.process_time()]) - begin)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    seconds, processor = times[1] - times[0]
    print(
        f"{count} ratings of rank {rank}: {seconds:.2f} s a sweep, {processor:.2f} s of processor time;"
        f" {used / count:.0f} bytes a rating"
    )
    print(f"{sent} messages in two sweeps")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv")
    parser.add_argument("--rank", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument(
        "--ordinal", action="store_true", help="the ratings are levels, whose ends are learnt"
    )
    parser.add_argument("--features", action="store_true", help="of users and items; compare without")
    parser.add_argument("--speed", type=int, help="measure a sweep over so many ratings")
    parser.add_argument("--threads", type=int, default=1, help="of that sweep; 0: all cores")
    arguments = parser.parse_args()
    if arguments.speed:
        measure_speed(arguments.speed, arguments.threads)
        return
    users, items = 300, 200
    if arguments.csv:
        ratings = read(arguments.csv, arguments.ordinal)
        users, items = ratings.user.max() + 1, ratings.item.max() + 1
        if arguments.features and all(known is None for known in ratings.features):
            parser.error(f"{arguments.csv} has no column whose name begins with 'user ' or 'item '")
    else:
        values = 5 if arguments.features else None
        ratings = generated(users, items, arguments.rank, 10_000, values=values)
        if arguments.ordinal:
            ratings = as_levels(ratings, [-2.5, -1, 0.2, 1])
    show = compare_levels if arguments.ordinal else compare_features if arguments.features else compare
    show(ratings, users, items, arguments.rank, arguments.sweeps)


if __name__ == "__main__":
    main()
