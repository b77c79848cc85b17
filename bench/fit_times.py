"""How long default fits take, and how much memory, on made-up tables from 500 x 13 to 50,000 x 20.

    python3 bench/fit_times.py build/release/dma [ROWSxCOLUMNS...] [--threads 2]

The command may have arguments of its own, in quotes. A tenth of the rows is held out and scored.
"""

import argparse
import math
import os
import pathlib
import random
import subprocess
import tempfile
import time

SHAPES = ("500x13", "1500x10", "2000x130", "10000x20", "20000x20", "50000x20")


def row_of(columns, draws):
    """A function of seven columns, noise that grows with the eighth; the others only distract."""
    x = [draws.random() for _ in range(columns)]
    y = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    y += 3 * math.sin(6 * x[5] * x[6]) + (0.5 + x[7]) * draws.gauss(0, 1)
    return x + [y]


def write_table(path, rows, columns):
    draws = random.Random(rows * columns)
    with open(path, "w") as file:
        print(*(f"x{k}" for k in range(columns)), "y", sep=",", file=file)
        for _ in range(rows):
            print(*(f"{value:.5f}" for value in row_of(columns, draws)), sep=",", file=file)


def seconds_and_bytes(command):
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"fit_times.py: this failed: {' '.join(command)}")
    return time.perf_counter() - begin, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("dma", help="the command")
    parser.add_argument("shapes", nargs="*", default=SHAPES, metavar="ROWSxCOLUMNS")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table, model = pathlib.Path(folder, "table.csv"), pathlib.Path(folder, "model")
        for shape in options.shapes:
            rows, columns = map(int, shape.split("x"))
            write_table(table, rows, columns)
            command = [*options.dma.split(), "fit", str(table), "--target", "y", "--holdout", "0.1"]
            command += ["--threads", str(options.threads), "--model", str(model)]
            seconds, most = seconds_and_bytes(command)
            print(f"{shape:>10}  {seconds:7.1f} s  {most / 1e6:6.0f} MB", flush=True)


if __name__ == "__main__":
    main()
