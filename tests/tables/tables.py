"""Small tables as people have them. To add one, write a function that returns a Table and put it into TABLES.

    python3 tests/tables/tables.py FOLDER     writes them all

tests/python/test_tables.py takes each through fit, predict, evaluate, inspect, plot, report, update and forget with
nothing but its target.
"""

from __future__ import annotations

import datetime
import math
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Table:
    name: str
    target: str
    text: str
    encoding: str = "utf-8"
    says: list[str] = field(default_factory=list)  # parts of what fit prints
    options: list[str] = field(default_factory=list)  # of every command: those of reading
    new: str = ""  # later rows, with the header; none: the first ones again
    says_of_new: list[str] = field(default_factory=list)  # parts of what predict prints of them

    @property
    def bytes(self) -> bytes:
        return self.text.encode(self.encoding)


ROWS = 60


def _lines(header: str, rows: list[str]) -> str:
    return "\n".join([header, *rows]) + "\n" if header else "\n".join(rows) + "\n"


def _sizes(seed: int) -> list[tuple[float, float]]:
    """A size and a price that depends on it."""
    draw = random.Random(seed)
    sizes = [draw.uniform(20, 200) for _ in range(ROWS)]
    return [(size, 1000 * size + draw.gauss(0, 3000)) for size in sizes]


def _german(number: float, digits: int) -> str:
    return f"{number:,.{digits}f}".replace(",", " ").replace(".", ",").replace(" ", ".")


def stray_cell() -> Table:
    rows = [f"{size:.1f},{price:.0f}" for size, price in _sizes(1)]
    rows[48] = "unknown,9e4"
    says = ["size: 59 of 60 cells are numbers, line 50 has 'unknown'; it counts as empty"]
    return Table("stray_cell", "price", _lines("size,price", rows), says=says)


def stray_first() -> Table:
    rows = [f"{size:.1f},{price:.0f}" for size, price in _sizes(2)]
    rows[:2] = ["see note,9e4", "12,ask"]
    says = [
        "size: 59 of 60 cells are numbers, line 2 has 'see note'",
        "price: 59 of 60 cells are numbers, line 3 has 'ask'",
    ]
    return Table("stray_first", "price", _lines("size,price", rows), says=says)


def empty_names() -> Table:
    names = ["-", "--", "n/a", "#N/A", "N.A.", "null", "NaN", "missing", "?", "None", "<NA>", "."]
    rows = [f"{size:.1f},{price:.0f}" for size, price in _sizes(3)]
    for k, name in enumerate(names):
        rows[3 * k] = f"{name},{rows[3 * k].split(',')[1]}"
    return Table("empty_names", "price", _lines("size,price", rows), says=["numeric, with empty cells"])


def decimal_comma() -> Table:
    rows = [f"{_german(size, 1)};{_german(price, 2)}" for size, price in _sizes(4)]
    says = ["have a decimal comma", ", column price, is read as "]
    return Table("decimal_comma", "price", _lines("size;price", rows), says=says)


def decimal_comma_said() -> Table:
    rows = [f"{size:.3f};{price:.0f}".replace(".", ",") for size, price in _sizes(4)]
    return Table("decimal_comma_said", "price", _lines("size;price", rows), options=["--decimal", ","])


def thousands() -> Table:
    rows = [f'"{size:.1f} %","${price:,.0f}"' for size, price in _sizes(5)]
    return Table("thousands", "price", _lines("share,price", rows), says=["is read as"])


def swiss() -> Table:
    rows = [f"{size:.1f}\t" + f"CHF {price:,.2f}".replace(",", "'") for size, price in _sizes(6)]
    return Table("swiss", "price", _lines("size\tprice", rows), says=["is read as"])


def latin_1() -> Table:
    towns = ["Köln", "Ulm", "Münster"]
    rows = [f"{size:.1f};{towns[k % 3]};{price:.0f}" for k, (size, price) in enumerate(_sizes(7))]
    says = ["Windows-1252: some bytes are not UTF-8", "Größe"]
    return Table("latin_1", "Preis", _lines("Größe;Ort;Preis", rows), "latin-1", says)


def utf_16() -> Table:
    rows = [f"{size:.1f}\t{price:.0f}" for size, price in _sizes(8)]
    return Table("utf_16", "Preis", _lines("Größe\tPreis", rows), "utf-16", ["UTF-16", "Größe"])


def ids() -> Table:
    sizes = _sizes(9)
    numbers = random.Random(9).sample(range(10000, 99999), ROWS)
    rows = [f"{k},{numbers[k]},person {k},{size:.1f},{price:.0f}" for k, (size, price) in enumerate(sizes)]
    says = ["2 columns, an id", "PID, c1", "name: text that differs in almost every row"]
    return Table("ids", "price", _lines(",PID,name,size,price", rows), says=says)


def no_header() -> Table:
    rows = [f"{size:.1f},{price:.0f}" for size, price in _sizes(10)]
    target = rows[0].split(",")[1]
    says = ["the first line was read as column names although it has numbers"]
    return Table("no_header", target, _lines("", rows), says=says)


def dates() -> Table:
    draw = random.Random(11)
    days = [datetime.date(2023, 1, 1) + datetime.timedelta(k) for k in range(120)]
    rows = [f"{day},{5 * (day.weekday() >= 5) + draw.gauss(0, 0.1):.2f}" for day in days]
    return Table(
        "dates",
        "visitors",
        _lines("day,visitors", rows),
        says=["day: also place in the year, month, weekday"],
    )


def times() -> Table:
    draw = random.Random(12)
    hours = [datetime.datetime(2023, 5, 1) + datetime.timedelta(hours=k) for k in range(100)]
    rows = [f"{hour:%d.%m.%Y %H:%M};{(8 <= hour.hour < 18) + draw.gauss(0, 0.1):.3f}" for hour in hours]
    return Table("times", "load", _lines("when;load", rows), says=["when: also weekday, time of day"])


def duplicates() -> Table:
    rows = [f"{size:.1f},{price:.0f}" for size, price in _sizes(13) for _ in range(4)]
    says = ["240, of which 180 repeat another and count with it"]
    return Table("duplicates", "price", _lines("size,price", rows), says=says)


def unseen() -> Table:
    draw = random.Random(14)
    regions = {"north": 0, "east": 5, "south": 9}
    sizes = _sizes(14)
    names = [draw.choice(list(regions)) for _ in sizes]
    header = "size,region,smoker,price"
    rows = [
        f"{size:.1f},{name},{draw.choice(['yes', 'no'])},{price / 1000 + regions[name]:.2f}"
        for (size, price), name in zip(sizes, names)
    ]
    new = ["80,West,yes,90", "90,North,no,100", "120,south,perhaps,130", "130,,yes,150"]
    says = [
        "region             1 cell is new: 'West' in line 2",
        "region             1 cell counts as 'north': 'North' in line 3",
        "smoker             1 cell is new: 'perhaps' in line 4",
        "region             1 cell is empty (none was in training) in line 5",
    ]
    return Table("unseen", "price", _lines(header, rows), new=_lines(header, new), says_of_new=says)


def skewed() -> Table:
    draw = random.Random(15)
    rows = [f"{x:.3f},{math.exp(x + draw.gauss(0, 1)):.4f}" for x in (draw.gauss(0, 1) for _ in range(ROWS))]
    return Table("skewed", "claim", _lines("x,claim", rows), says=["claim: amount"])


def percentages() -> Table:
    draw = random.Random(16)
    shares = [(draw.uniform(0, 1), draw.gauss(0, 3)) for _ in range(ROWS)]
    rows = [f"{x:.3f},{min(100, max(0, 100 * x + noise)):.1f}" for x, noise in shares]
    return Table(
        "percentages", "share", _lines("x,share", rows), says=["assumed to be from 0 to 100, as in all rows"]
    )


def wide() -> Table:
    draw = random.Random(17)
    header = ",".join([f"c{k}" for k in range(56)] + [f"x{k}" for k in range(40)] + ["y"])
    rows = []
    for _ in range(40):
        numbers = [draw.gauss(0, 1) for _ in range(40)]
        rows.append(",".join(["7"] * 56 + [f"{x:.3f}" for x in numbers] + [f"{sum(numbers[:3]):.3f}"]))
    return Table("wide", "y", _lines(header, rows), says=["56 columns, constant: "])


def many_values() -> Table:
    draw = random.Random(18)
    effects = [draw.gauss(0, 3) for _ in range(90)]
    towns = [k if k < 90 else draw.randrange(9) for k in range(300)]
    rows = [
        f"{x:.3f},town {k},{x + effects[k] + draw.gauss(0, 1):.3f}"
        for k, x in ((k, draw.gauss(0, 1)) for k in towns)
    ]
    header = "x,town,y"
    new = ["0.5,town 3,1", "0.1,Town 7,2", "0.2,nowhere,3"]
    says = [
        "town               1 cell is new: 'nowhere' in line 4",
        "town               1 cell counts as 'town 7': 'Town 7' in line 3",
    ]
    return Table(
        "many_values",
        "y",
        _lines(header, rows),
        says=["categorical, 90 values, learnt as one effect town"],
        new=_lines(header, new),
        says_of_new=says,
    )


TABLES = [
    stray_cell(),
    stray_first(),
    empty_names(),
    decimal_comma(),
    decimal_comma_said(),
    thousands(),
    swiss(),
    latin_1(),
    utf_16(),
    ids(),
    no_header(),
    dates(),
    times(),
    duplicates(),
    unseen(),
    skewed(),
    percentages(),
    wide(),
    many_values(),
]


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        (folder / f"{table.name}.csv").write_bytes(table.bytes)


if __name__ == "__main__":
    main()
