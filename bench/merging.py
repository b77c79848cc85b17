#!/usr/bin/env python3
"""What models that merge lose against one that is fitted to all rows.

    bench/merging.py ../shared/data [--sets yacht boston ...] [--dma build/release/dma] [--places 4] [--share 0.25]
                     [--rounds 3]

Of each set the training rows of the first split, shuffled, are dealt out to the places. A start is prepared from the rows
of the first so many (--share), every place fits its own, and the models are merged; then `dma prepare --from` begins
another round. Prints, for the test rows of that split, the mean log-likelihood and the RMSE of a fit to all rows, of a fit to
the sample alone, and of the merged model after each round. Needs nothing but Python.
"""
import argparse
import csv
import gzip
import json
import random
import subprocess
import tempfile
import time
from pathlib import Path

SETS = ["yacht", "servo", "machine", "autompg", "boston", "energy", "concrete"]


def read(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        return file.read()


def found(data, name, ending):
    for folder in ("uci", "regression"):
        for packed in ("", ".gz"):
            path = data / folder / f"{name}{ending}{packed}"
            if path.exists():
                return path
    raise SystemExit(f"{data}: there is no {name}{ending}")


def split_rows(data, name):
    """Header, training rows in a random order, test rows."""
    header, *rows = csv.reader(read(found(data, name, ".csv")).splitlines())
    test = set(json.loads(read(found(data, name, ".splits.json")))["test"][0])
    learnt = [row for n, row in enumerate(rows) if n not in test]
    random.Random(1).shuffle(learnt)
    return header, learnt, [row for n, row in enumerate(rows) if n in test]


class Run:
    """One set in a folder of its own."""

    def __init__(self, command, folder, header):
        self.command, self.folder, self.header = command, Path(folder), header

    def write(self, name, rows):
        with open(self.folder / name, "w", newline="") as file:
            csv.writer(file).writerows([self.header, *rows])

    def dma(self, *words):
        """What a command says, and its seconds."""
        begun = time.monotonic()
        done = subprocess.run(
            [self.command, *map(str, words), "--json"], cwd=self.folder, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise SystemExit(f"dma {' '.join(map(str, words))}: {done.stderr}")
        return json.loads(done.stdout), time.monotonic() - begun

    def score(self, model):
        scores, _ = self.dma("evaluate", model, "test.csv")
        return f"{-scores['nll']:.3f}, {scores['rmse']:.3g}"


def measure(run, learnt, places, sample_rows, rounds):
    """Cells of the table: scores and seconds."""
    target = run.header[-1]
    run.write("all.csv", learnt)
    run.write("sample.csv", learnt[:sample_rows])
    for place in range(places):
        run.write(f"{place}.csv", learnt[place::places])
    _, seconds = run.dma("fit", "all.csv", "--target", target, "--kind", "number", "-o", "full.dma")
    cells = [f"{run.score('full.dma')} ({seconds:.0f} s)"]
    run.dma("fit", "sample.csv", "--target", target, "--kind", "number", "-o", "merged.dma")
    cells.append(run.score("merged.dma"))
    for _ in range(rounds):
        begun = time.monotonic()
        run.dma("prepare", "--from", "merged.dma", "-o", "start.dma")
        for place in range(places):
            run.dma("fit", f"{place}.csv", "--start", "start.dma", "-o", f"{place}.dma")
        run.dma("merge", *(f"{place}.dma" for place in range(places)), "-o", "merged.dma")
        cells.append(f"{run.score('merged.dma')} ({time.monotonic() - begun:.0f} s)")
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--dma", default="build/release/dma")
    parser.add_argument("--places", type=int, default=4)
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    rounds = [f"round {n + 1}" for n in range(given.rounds)]
    print("| set | rows | all rows | sample alone | " + " | ".join(rounds) + " |")
    print("|---|---|---|---|" + "---|" * given.rounds, flush=True)
    for name in given.sets:
        header, learnt, test = split_rows(given.data, name)
        with tempfile.TemporaryDirectory() as folder:
            run = Run(str(Path(given.dma).resolve()), folder, header)
            run.write("test.csv", test)
            sample_rows = int(given.share * len(learnt))
            cells = measure(run, learnt, given.places, sample_rows, given.rounds)
        print(f"| {name} | {len(learnt)} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
