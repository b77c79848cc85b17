"""bench/class_rivals.py: its scores against scikit-learn's, and every rival on rows whose truth is known."""

import importlib
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import sklearn.metrics

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "class_rivals.py"
sys.path.insert(0, str(SCRIPT.parent))
rivals = importlib.import_module("class_rivals")


def test_scores_are_scikit_learns():
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 50)
    second = random.uniform(size=50)
    probabilities = np.c_[1 - second, second]
    guess = probabilities.argmax(1)
    scores = rivals.class_scores(y, probabilities)
    assert scores["log_loss"] == pytest.approx(sklearn.metrics.log_loss(y, probabilities))
    assert scores["ll"] == -scores["log_loss"]
    assert scores["brier"] == pytest.approx(2 * sklearn.metrics.brier_score_loss(y, second))
    assert scores["accuracy"] == pytest.approx(sklearn.metrics.accuracy_score(y, guess))
    assert scores["balanced_accuracy"] == pytest.approx(sklearn.metrics.balanced_accuracy_score(y, guess))
    assert scores["auc"] == pytest.approx(sklearn.metrics.roc_auc_score(y, second))


def split_of(right, confidence):
    return {"test_rows": len(right), "bin_sums": rivals.bin_sums(np.array(right), np.array(confidence))}


def test_calibration_error_is_that_of_the_bins():
    # The second and the third share the bin from 10 / 15 on, the edge included; the others are in one each.
    split = split_of([1, 0, 1, 1], [0.65, 10 / 15, 0.7, 1.0])
    assert rivals.calibration_error([split]) == pytest.approx((0.35 + abs(1 - 10 / 15 - 0.7) + 0) / 4)


def test_the_splits_share_their_bins():
    # Each split alone misses by 0.5; in one bin the two make up for each other.
    splits = [split_of([1], [0.5]), split_of([0, 1], [0.5, 0.8])]
    assert rivals.calibration_error(splits) == pytest.approx(0.2 / 3)


def test_a_probability_of_zero_is_counted():
    scores = rivals.class_scores(np.array([2, 0]), np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]))
    assert scores["clipped"] == 1
    assert scores["log_loss"] == pytest.approx(-np.log(1e-15) / 2)
    assert "auc" not in scores


def three_classes(rows):
    """A class per third of the line, with gaps and text that say nothing; one row of a fourth class at the end."""
    random = np.random.default_rng(2)
    lines = ["x,gaps,colour,class"]
    for _ in range(rows - 1):
        x = random.uniform(-3, 3)
        gap = random.choice(["", "1", "2.5"])
        lines.append(f"{x:.3f},{gap},{random.choice(['red', 'blue', ''])},{'abc'[int((x + 3) // 2)]}")
    return "\n".join([*lines, "9,,green,d"]) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sets")
    (path / "thirds.csv").write_text(three_classes(600))
    # The row of the fourth class is in the training rows of the first split and in the test rows of the second.
    splits = [list(range(100)), [*range(100, 199), 599]]
    (path / "thirds.splits.json").write_text(json.dumps({"test": splits}))
    return path


class Options:
    gp_rows = 80


@pytest.mark.parametrize("method", rivals.METHODS)
def test_a_rival_learns_thirds(folder, method):
    scores = rivals.run_split(folder, "thirds", 0, method, Options)
    assert scores["accuracy"] > (0.6 if method == "ensemble" else 0.85)
    assert scores["rows"] == (80 if method == "GP" else 500)
    assert scores["clipped"] == 0


def test_a_class_that_was_not_learnt_has_no_probability(folder):
    assert rivals.run_split(folder, "thirds", 1, "logistic", Options)["clipped"] == 1


def test_the_report_has_a_figure_per_method_and_set(folder, tmp_path):
    report = tmp_path / "rivals.json"
    command = [sys.executable, SCRIPT, "--data", folder, "--out", report, "--methods", "boosting", "forest"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "average rank in log loss over 1 sets" in printed
    assert "thirds, forest: 1" in printed  # clipped
    settings = json.loads(report.read_text())["settings"]
    assert list(settings) == ["boosting", "forest"]
    for method in settings.values():
        (figures,) = method["sets"]
        assert (figures["name"], figures["splits"]) == ("thirds", 2)
        each = [split["log_loss"] for split in figures["per_split"]]
        assert figures["ll"] == pytest.approx(-np.mean(each))
        assert figures["calibration_error"] == rivals.calibration_error(figures["per_split"])
        assert figures["ll_se"] == pytest.approx(abs(each[0] - each[1]) / 2)
    wrong = subprocess.run([*command, "--sets", "none"], capture_output=True, text=True)
    assert wrong.returncode == 1
    assert "has no set none; it has thirds" in wrong.stderr
