#!/usr/bin/env python3
"""How many times faster one build of the command fits and predicts than another, on generated tables.

    bench/compare_commands.py OLD_DMA NEW_DMA [--tables tiny boston-like ...] [--repetitions N]

Both run on one thread, in turn. Times are processor time, so waiting for other programs does not count. The likelihood
of both is printed, because a faster but different fit would be no gain.
"""

import argparse
import json
import math
import pathlib
import random
import resource
import subprocess
import tempfile

# name: rows, columns of numbers, numbers of categories
TABLES = {
    "tiny": (100, 3, []),
    "13-columns": (506, 13, []),
    "categories": (891, 9, [4, 5, 6, 8]),
    "800-weights": (1500, 38, []),
    "1400-weights": (1500, 67, []),
    "5000-rows": (5000, 7, [4, 5, 6]),
}


def write_table(path, rows, numbers, categories):
    draw = random.Random(rows + numbers)
    with open(path, "w", encoding="utf-8") as file:
        names = [f"x{j}" for j in range(numbers)] + [f"k{j}" for j in range(len(categories))]
        print(",".join(names + ["y"]), file=file)
        for _ in range(rows):
            x = [draw.gauss(0, 1) for _ in range(numbers)]
            k = [draw.randrange(count) for count in categories]
            y = math.sin(2 * x[0]) + x[1] * x[2] / 2 + 0.3 * sum(k) + draw.gauss(0, 0.2 + 0.1 * abs(x[0]))
            print(
                ",".join([f"{value:.6f}" for value in x] + [f"c{value}" for value in k] + [f"{y:.6f}"]),
                file=file,
            )


def seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, json.loads(done.stdout)


def compare(name, what, commands, repetitions, note):
    times = [[], []]
    for _ in range(repetitions):
        for k, command in enumerate(commands):
            spent, answer = seconds(*command)
            times[k].append(spent)
            note[k] = answer
    ratios = sorted(old / new for old, new in zip(*times))
    print(
        f"{name:13} {what:8} old {min(times[0]):8.3f} s  new {min(times[1]):8.3f} s  "
        f"old over new {ratios[0]:.2f} .. {ratios[-1]:.2f}",
        end="",
        flush=True,
    )
    return times


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    programs = [arguments.old, arguments.new]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in arguments.tables:
            table, models = folder / "table.csv", [folder / "old.safetensors", folder / "new.safetensors"]
            write_table(table, *TABLES[name])
            note = [{}, {}]
            compare(
                name,
                "fit",
                [
                    [program, "fit", table, "--target", "y", "--threads", "1", "--json", "--model", model]
                    for program, model in zip(programs, models)
                ],
                arguments.repetitions,
                note,
            )
            print(
                f"  {note[1]['weights']} weights, cavity NLL {note[0]['cavity_nll']:.6f} {note[1]['cavity_nll']:.6f}"
            )
            rows = folder / "rows.csv"
            count = 100_000
            write_table(rows, count, *TABLES[name][1:])
            # The same model for both.
            times = compare(
                name,
                "predict",
                [
                    [
                        program,
                        "predict",
                        models[0],
                        rows,
                        "--threads",
                        "1",
                        "--json",
                        "-o",
                        folder / "predictions.csv",
                    ]
                    for program in programs
                ],
                arguments.repetitions,
                note,
            )
            print(f"  {count / min(times[0]):.0f} and {count / min(times[1]):.0f} rows a second")


if __name__ == "__main__":
    main()
