"""Tables as people have them go through the command with nothing but their target."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tables"))
from tables import TABLES  # noqa: E402

COMMAND = os.environ.get("DMA_COMMAND")
pytestmark = pytest.mark.skipif(not COMMAND, reason="DMA_COMMAND does not name the dma command")
QUICK = ["--hidden", "4", "--ensemble", "1", "--epochs", "6"]


def dma(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def fitted(table, folder, *options):
    data, model = folder / f"{table.name}.csv", folder / "m.safetensors"
    data.write_bytes(table.bytes)
    done = dma("fit", data, "--target", table.target, "--model", model, *table.options, *options, *QUICK)
    return data, model, done


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_goes_through(table, tmp_path):
    data, model, done = fitted(table, tmp_path)
    for words in table.says:
        assert words in done.stderr + done.stdout
    predicted = dma("predict", model, data, *table.options).stdout
    rows = len(table.text.splitlines()) - 1
    assert len(predicted.splitlines()) == 1 + rows
    scores = json.loads(dma("evaluate", model, data, *table.options, "--json").stdout)
    stray = sum("cells are numbers" in words for words in table.says)
    without_target = sum(f"{table.target}: 59" in words for words in table.says)
    assert scores["rows"] == rows - without_target
    assert scores["stray_cells"] == stray
    assert table.target in dma("inspect", model).stdout
    if table.name not in ("dates", "times"):  # plot draws along a number
        along = ["--input", "x0"] if table.name == "wide" else []
        assert f"{table.target} by " in dma("plot", model, data, *along, *table.options).stdout
    dma("report", model, "--data", data, *table.options, "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_takes_new_rows_and_forgets_them(table, tmp_path):
    _, model, _ = fitted(table, tmp_path)
    new = tmp_path / "new.csv"
    text = table.new or "".join(table.text.splitlines(True)[:6])
    new.write_bytes(text.encode(table.encoding))
    predicted = dma("predict", model, new, *table.options)
    for words in table.says_of_new:
        assert words in predicted.stderr
    rows = json.loads(dma("inspect", model, "--json").stdout)["rows"]
    updated = json.loads(dma("update", model, new, *table.options, "--json").stdout)
    assert updated["rows_known"] == (0 if table.new else updated["rows_added"])
    forgotten = json.loads(dma("forget", model, "--rows", new, *table.options, "--json").stdout)
    assert forgotten["rows_removed"] == updated["rows_added"]
    assert (forgotten["copies_left"] == 0) == bool(table.new)
    assert json.loads(dma("inspect", model, "--json").stdout)["rows"] == rows


def test_a_model_reads_its_own_decimal_mark(tmp_path):
    table = next(table for table in TABLES if table.name == "decimal_comma")
    data, model, _ = fitted(table, tmp_path)
    own = dma("predict", model, data).stdout
    points = tmp_path / "points.csv"
    points.write_text(table.text.replace(".", "").replace(",", "."))
    asked = [COMMAND, "predict", str(model), str(points)]
    refused = subprocess.run(asked, capture_output=True, text=True)
    assert refused.returncode == 1 and "use --decimal ." in refused.stderr
    assert subprocess.run([*asked, "--decimal", "."], capture_output=True, text=True).stdout == own


def test_dates_are_learnt_as_weekdays(tmp_path):
    table = next(table for table in TABLES if table.name == "dates")
    data, model = tmp_path / "dates.csv", tmp_path / "m.safetensors"
    data.write_bytes(table.bytes)
    dma("fit", data, "--target", table.target, "--model", model, "--hidden", "5", "--ensemble", "2")
    scores = json.loads(dma("evaluate", model, data, "--json").stdout)
    assert scores["rmse"] < 0.2  # its standard deviation is 2.3
    dma("report", model, "--json")


def test_ids_are_kept_on_request(tmp_path):
    table = next(table for table in TABLES if table.name == "ids")
    said = fitted(table, tmp_path, "--keep-ids")[2].stderr
    assert "an id:" not in said and "PID, c1, size" in said
