"""Matchbox: ratings of items by users, as inner products of their traits.

    rating = traits of the user . traits of the item + bias of the user + bias of the item + noise

    python3 examples/python/matchbox.py                     # generated ratings, whose truth is known
    python3 examples/python/matchbox.py --csv ratings.csv   # columns user, item, rating
    python3 examples/python/matchbox.py --ordinal           # ratings of five stars, whose ends are learnt
    python3 examples/python/matchbox.py --speed 1000000     # a sweep over so many ratings of rank 10

A user's vector is the bias, the traits and a 1, an item's a 1, the traits and the bias, so that one factor is the whole
rating. The engines are compared on a tenth of the ratings that is held out.

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
    def __init__(self, user, item, rating):
        self.user, self.item, self.rating = user, item, rating

    def __len__(self):
        return len(self.rating)

    def __getitem__(self, rows):
        return Ratings(self.user[rows], self.item[rows], self.rating[rows])


def generated(users, items, rank, count, noise=0.5, seed=1):
    random = np.random.default_rng(seed)
    of_users, of_items = random.normal(size=(users, rank)), random.normal(size=(items, rank))
    user, item = random.integers(0, users, count), random.integers(0, items, count)
    biases = 0.5 * random.normal(size=users)[user] + 0.5 * random.normal(size=items)[item]
    exact = (of_users[user] * of_items[item]).sum(axis=1) + biases
    return Ratings(user, item, exact + noise * random.normal(size=count))


def read(path, ordinal):
    table = pd.read_csv(path)
    codes = [pd.factorize(table[name])[0] for name in ("user", "item")]
    if ordinal:
        return Ratings(*codes, pd.factorize(table.rating, sort=True)[0])
    spread = table.rating.std()
    return Ratings(*codes, ((table.rating - table.rating.mean()) / spread).to_numpy())


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
        self.vectors, priors = [], []
        for name, mean in zip(("user", "item"), means):
            vectors = g.variables(name, mean.shape)
            flat = dma.VariableArray(g, vectors.first, mean.size)
            priors.append(g.add(dma.Prior, flat, mean=mean.ravel(), variance=1))
            self.vectors.append(vectors)
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
        self.schedule = dma.Schedule([*((prior, 0) for prior in priors), rows], [])

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


def as_levels(ratings, ends):
    """Ratings 0, 1, ... by which of these ends they are above."""
    return Ratings(ratings.user, ratings.item, np.searchsorted(ends, ratings.rating))


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
    numbers = Ratings(train.user, train.item, (train.rating - centre) / spread)
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
    else:
        ratings = generated(users, items, arguments.rank, 10_000)
        if arguments.ordinal:
            ratings = as_levels(ratings, [-2.5, -1, 0.2, 1])
    (compare_levels if arguments.ordinal else compare)(
        ratings, users, items, arguments.rank, arguments.sweeps
    )


if __name__ == "__main__":
    main()
