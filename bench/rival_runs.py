"""What rivals.py and class_rivals.py share: a folder's sets and splits, the options, a process per fit."""
import argparse
import concurrent.futures
import gzip
import json
import math
import multiprocessing
import os
import pathlib
import sys


def opened(folder, name):
    """The plain file or the packed one, whichever is there."""
    plain = folder / name
    return (
        open(plain, encoding="utf-8") if plain.exists() else gzip.open(f"{plain}.gz", "rt", encoding="utf-8")
    )


def set_names(folder):
    endings = (".splits.json", ".splits.json.gz")
    return sorted(
        {path.name.split(".splits.json")[0] for path in folder.iterdir() if path.name.endswith(endings)}
    )


def read_splits(folder, name):
    """The test rows of each."""
    with opened(folder, name + ".splits.json") as file:
        return json.load(file)["test"]


def option_parser(description, methods):
    parser = argparse.ArgumentParser(
        description=description.split("\n", maxsplit=1)[0], epilog="More at the top of this file."
    )
    parser.add_argument("--data", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="default: all in the folder")
    parser.add_argument("--methods", nargs="+", metavar="NAME", choices=methods, default=list(methods))
    parser.add_argument("--splits", type=int, metavar="N", help="only the first N of each set")
    parser.add_argument("--processes", type=int, metavar="N", help="default: one per core")
    parser.add_argument(
        "--gp-rows",
        type=int,
        default=2000,
        metavar="N",
        help="most rows the GP learns from; default: %(default)s",
    )
    return parser


def chosen_sets(options, known):
    unknown = set(options.sets or ()) - set(known)
    if unknown or not known:
        program = pathlib.Path(sys.argv[0]).name
        raise SystemExit(
            f"{program}: {options.data} has no set {', '.join(sorted(unknown))}; it has {', '.join(known)}"
        )
    return options.sets or list(known)


def run_all(run_split, names, options):
    """Yields each set and method, in this order, with what run_split gave for its splits."""
    os.environ["OMP_NUM_THREADS"] = "1"  # of each process; scikit-learn would start one per core in each
    # A process that is forked cannot use CUDA.
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.processes, spawn) as pool:
        jobs = {}
        for name in names:
            splits = len(read_splits(options.data, name))
            for method in options.methods:
                jobs[name, method] = [
                    pool.submit(run_split, options.data, name, split, method, options)
                    for split in range(min(splits, options.splits or splits))
                ]
        for (name, method), splits in jobs.items():
            yield name, method, [job.result() for job in splits]


def mean_and_error(key, values):
    """As dma benchmark --json has them."""
    result = {key: float(values.mean())}
    if len(values) > 1:
        result[key + "_se"] = float(values.std(ddof=1) / math.sqrt(len(values)))
    return result
