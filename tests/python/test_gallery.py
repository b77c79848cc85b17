"""Every script of the gallery runs, draws a picture, and what it prints is what the gallery says it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*.py"))


def run(name, *arguments):
    return subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", *map(str, arguments)],
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def printed(name, picture, *arguments):
    """What the script printed, after it ran well and drew."""
    result = run(name, *arguments, "-o", picture)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    return result.stdout


def numbers(text, start):
    """Numbers of the first line that begins so."""
    line = next(line for line in text.splitlines() if line.strip().startswith(start))
    return [float(word) for word in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", line.strip()[len(start) :])]


def test_the_band_widens_in_the_gap(tmp_path):
    text = printed("gap", tmp_path / "gap.png")
    seen, gap, outside = (numbers(text, place) for place in ("where rows are", "in the gap", "outside"))
    assert gap[0] > 4 * seen[0] and outside[0] > gap[0]  # epistemic
    assert abs(gap[1] - seen[1]) < 0.05  # the noise stays


def test_active_learning_compares_the_same_start(tmp_path):
    text = printed("active_learning", tmp_path / "active.png", "--quick")
    active, _, random, _ = numbers(text, "20 ")[:4]
    assert active == random
    after = numbers(text, "30 ")
    assert after[0] < active  # two repeats say little about ten more labels at random


def test_active_learning_reads_a_table(tmp_path):
    rows = ["a,b,y"] + [f"{k % 7},{k % 11},{k % 7 + 0.1 * (k % 5)}" for k in range(120)]
    (tmp_path / "uci").mkdir()
    (tmp_path / "uci" / "own.csv").write_text("\n".join(rows))
    arguments = ["--data", tmp_path, "--set", "own", "--quick", "--choice", "diverse"]
    assert "own: 120 rows, 2 columns" in printed("active_learning", tmp_path / "own.png", *arguments)


def test_active_learning_names_a_missing_table(tmp_path):
    result = run("active_learning", "--data", tmp_path, "--set", "nothing")
    assert result.returncode == 1
    assert "there is no nothing.csv" in result.stderr


def test_outliers_are_reported(tmp_path):
    text = printed("outliers", tmp_path / "outliers.png", "--quick")
    with_errors, clean = numbers(text, "with the errors"), numbers(text, "never saw an error")
    assert with_errors[0] > clean[0] and with_errors[-1] > clean[-1]  # RMSE, width
    assert numbers(text, "a model of other rows")[0] <= 9


def test_what_came_and_went_leaves_nothing(tmp_path):
    text = printed("forgetting", tmp_path / "forgetting.png", "--quick")
    for belief in ("joint", "independent"):
        assert max(numbers(text, f"{belief}: learnt and forgotten again:")) < 1e-7


def test_streaming_blocks_are_judged_before_they_are_learnt(tmp_path):
    text = printed("streaming", tmp_path / "streaming.png", "--quick")
    first_block = {numbers(text, way)[0] for way in ("never", "partial_fit", "refit")}
    assert len(first_block) == 1


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_unknown_option_is_an_error(name):
    result = run(name, "table.csv", "--no-such-option")  # some need a table
    assert result.returncode == 2
    assert "unrecognized arguments" in result.stderr
