#!/usr/bin/env python3
"""Writes the seeds that the fuzz targets start from: fuzz/corpus/<target>/seed_*.

usage: tools/fuzz_corpus.py DMA     (DMA: the command, for the model files)

Inputs found by a fuzzer are in the same folders, named by their digest; they are not touched.
"""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz" / "corpus"

# The first byte chooses delimiter (3 bits), header, block size (2 bits), compression (top bit); the second the
# rows of a piece.
CSV = {
    "plain": b"\x00\x01a,b,y\n1,2,3\n4,5.5,6\n-7e3,.5,+9\n",
    "text": b"\x00\x02name,y\nred,1\nblue,2\n,3\nred,\n",
    "quoted": b'\x10\x01a;"b ""c"" d"\r\n"1";"two\nlines"\r\n2;"x;y"\r\n',
    "empty_cells": b"\x00\x03a\tb\nNA\t1\n?\tnull\nNaN\t-nan\n n/a \t none \n",
    "turns": b"\x20\x01a,b\n1,1\n2,2\n3,x\ny,4\n",
    "commas": b"\x00\x02a;b\n1,5;2,5\n3,5;4,25\n",
    "no_header": b"\x08\x021|2\n3|4\n",
    "mark": b"\x00\x00\xef\xbb\xbfa,b\n1,2\n\n \n3,4",
    "compressed": b"\x80\x01a,b\n1,2\n3,4\n",
    "gzip": b"\x10\x01" + gzip.compress(b"a,b\n1,2\n", mtime=0) + gzip.compress(b"3,4\n", mtime=0),
    "large": b"\x30\x07a,b\n1e300,inf\n1e301,2\n0x10,1_000\n",
}

SPLITS = {
    "two": b'\x0a{"test": [[0, 3], [1, 2]]}',
    "one": b'\x03{"test": [[2]], "about": "x"}',
    "wrong": b'\x05{"test": [[-1, 1.5, true, 1e300, 18446744073709551615]]}',
    "empty": b'\x05{"test": [[], {}]}',
}

ARGUMENTS = {
    "fit": "fit\ndata.csv\n--target\ny\nz\n--hidden\n50,50\n--slope\n0.1\n--seed\n7\n--threads\n2",
    "fit_numbers": "fit\nd\n--epochs\n10\n--tolerance\n1e-4\n--patience\n3\n--batch-size\n5\n--ensemble\n4",
    "fit_words": "fit\nd\n--noise\n0.5\n--belief\njoint\n--rule\nlinear\n--ledger\nfull\n--holdout\n0.1\n--json",
    "predict": "predict\nm\ndata.csv\n-o\nout.csv\n--level\n0.9\n--delimiter\n;\n--no-header",
    "forget": "forget\nm\n--batch\n3\n--data\na\nb\n--compare",
    "infer": "infer\ng.json\n--engine\nep\n--sweeps\n10\n--tolerance\n1e-6\n--on-improper\nskip",
    "gap": "benchmark\ngap\nd.csv\n--target\ny\n--where\nlow\nhigh\n--seed\n1",
    "benchmark": "benchmark\n--data\nuci\n--sets\nboston\n--splits\n3\n--epochs\n9\n--threads\n1",
    "others": "reproduce\ncopy\n--tasks\n2\n--out\nx",
    "sample": "sample\nwave\n--seed=18446744073709551615",
    "wrong": "fit\nd\n--seed\n-1\n--slope\nnan\n--epochs\n99999999999999999999\n--threads\n010",
}


def graphs():
    about = {"variables": ["x", "y", "z"]}
    yield "product", 0, {
        **about,
        "factors": [
            {"factor": "prior", "edges": ["x"], "mean": 1, "variance": 2},
            {"factor": "prior", "edges": ["y"], "mean": -1, "variance": 0.5},
            {"factor": "product", "edges": ["z", "x", "y"], "name": "times"},
            {"factor": "observation", "edges": ["z"], "value": 0.3, "variance": 0.1},
        ],
    }
    yield "sum", 1, {
        **about,
        "factors": [
            {"factor": "prior", "edges": ["x"], "mean": 1, "variance": 2},
            {"factor": "prior", "edges": ["y"], "mean": -1, "variance": 0.5},
            {"factor": "sum", "edges": ["z", "x", "y"], "coefficients": [1, -2], "variance": 0.1},
            {"factor": "greater_than", "edges": ["z"], "threshold": 0},
        ],
    }
    yield "schedule", 2, {
        "variables": ["x", "y"],
        "factors": [
            {"factor": "prior", "edges": ["x"], "mean": 0, "variance": 1},
            {"factor": "leaky_relu", "edges": ["y", "x"], "slope": 0.1, "name": "unit"},
            {"factor": "observation", "edges": ["y"], "value": 2, "variance": 0.1},
        ],
        "schedule": {"forward": [["unit", "y"]], "backward": [["unit", "x"]]},
    }
    for name in ("product", "trueskill", "trueskill_draws", "network"):
        text = json.loads((ROOT / "examples" / f"{name}.json").read_text())
        if len(text["factors"]) <= 12:
            yield "example_" + name, 3, text


def write(target, name, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed_{name}").write_bytes(content)


def write_models(dma):
    """One input or three, one hidden unit, both beliefs, and a model without its ledger."""
    plain = "x,y\n1,1\n2,3\n3,2\n4,5\n"
    mixed = "a,b,c,y\n1,red,yes,1\n,blue,no,3\n3,red,yes,2\n4,blue,no,5\n2,red,no,1\n"
    common = ["--target", "y", "--hidden", "1", "--epochs", "1", "--ensemble", "1"]
    models = {
        "independent": (plain, ["--belief", "independent", "--batch-size", "2"]),
        "float": (plain, ["--belief", "independent", "--batch-size", "3", "--float"]),
        "joint": (plain, ["--belief", "joint", "--noise", "constant"]),
        "slim": (mixed, ["--belief", "joint", "--noise", "0.5", "--slim"]),
        "mixed": (mixed, ["--belief", "independent", "--ledger", "none"]),
        "noise": (plain, ["--belief", "joint", "--slim"]),
    }
    with tempfile.TemporaryDirectory() as scratch:
        data, model = pathlib.Path(scratch) / "data.csv", pathlib.Path(scratch) / "model"
        for name, (text, options) in models.items():
            data.write_text(text)
            command = [dma, "fit", data, "--model", model, "--json", *common, *options]
            subprocess.run(command, check=True, capture_output=True)
            write("model", name, model.read_bytes())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, content in CSV.items():
        write("csv", name, content)
    for name, content in SPLITS.items():
        write("splits", name, content)
    for name, content in ARGUMENTS.items():
        write("arguments", name, content.encode())
    for name, engine, graph in graphs():
        write("graph", name, bytes([engine]) + json.dumps(graph).encode())
    write_models(sys.argv[1])


if __name__ == "__main__":
    main()
