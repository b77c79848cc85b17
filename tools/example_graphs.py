#!/usr/bin/env python3
"""Writes examples/*.json, graphs for `dma infer`, and the tables of those on plates.

    tools/example_graphs.py            writes them
    tools/example_graphs.py --check    exit status 1 if one in the tree differs
"""
import json
import math
import random
import sys

from generated import deliver


def graph(about, variables, factors, schedule=None):
    """One factor per line, so that a file can be read and compared."""
    lines = [
        "{",
        f'  "about": {json.dumps(about)},',
        f'  "variables": {json.dumps(variables)},',
        '  "factors": [',
    ]
    lines.append(",\n".join(f"    {json.dumps(f)}" for f in factors))
    if schedule is None:
        lines += ["  ]", "}"]
    else:
        lines += ["  ],", '  "schedule": {']
        for i, (direction, steps) in enumerate(schedule.items()):
            lines.append(f'    "{direction}": [')
            lines.append(",\n".join(f"      {json.dumps(s)}" for s in steps))
            lines.append("    ]," if i == 0 else "    ]")
        lines += ["  }", "}"]
    return "\n".join(lines) + "\n"


def factor(kind, edges, name=None, **parameters):
    named = {} if name is None else {"name": name}
    return {"factor": kind, **named, "edges": edges, **parameters}


def product():
    return graph(
        "z = x y with z observed: the paper's nominal product setting (App. C)",
        ["x", "y", "z"],
        [
            factor("prior", ["x"], mean=3, variance=1),
            factor("prior", ["y"], mean=4, variance=1),
            factor("product", ["z", "x", "y"]),
            factor("observation", ["z"], value=10, variance=5),
        ],
    )


def kalman(steps=100):
    """A damped random walk, seen through noise; every tenth observation is missing."""
    rng = random.Random(1)
    names = [f"x{t}" for t in range(steps)]
    factors = [factor("prior", ["x0"], mean=0, variance=1)]
    state = rng.gauss(0, 1)
    for t in range(steps):
        if t > 0:
            state = 0.95 * state + rng.gauss(0, 0.3)
            factors.append(factor("sum", [names[t], names[t - 1]], coefficients=[0.95], variance=0.09))
        if t % 10 != 9:
            factors.append(
                factor("observation", [names[t]], value=round(state + rng.gauss(0, 0.5), 6), variance=0.25)
            )
    return graph(
        "a 100-step Kalman smoother: x_t = 0.95 x_(t-1) + N(0, 0.09), y_t = x_t + N(0, 0.25)", names, factors
    )


def quantile(p):
    """Of the standard normal, by bisection."""
    low, high = -10.0, 10.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(-middle / math.sqrt(2)) / 2 < p else (low, middle)
    return low


def draw_margin(beta):
    """So that one in ten matches between equals is a draw."""
    return round(quantile((0.10 + 1) / 2) * math.sqrt(2) * beta, 12)


def trueskill():
    beta, tau = 25 / 6, 25 / 300
    variables, factors = [], []
    for player in ("winner", "loser"):
        variables += [f"{player} skill", f"{player} performance"]
        factors.append(factor("prior", [f"{player} skill"], mean=25, variance=(25 / 3) ** 2 + tau**2))
        factors.append(
            factor("sum", [f"{player} performance", f"{player} skill"], coefficients=[1], variance=beta**2)
        )
    variables.append("difference")
    factors.append(
        factor("sum", ["difference", "winner performance", "loser performance"], coefficients=[1, -1])
    )
    factors.append(factor("greater_than", ["difference"], threshold=draw_margin(beta)))
    return graph("TrueSkill, one match between two new players: run with --engine ep", variables, factors)


def trueskill_draws():
    beta = 25 / 6
    margin = draw_margin(beta)
    players = ["Ada", "Blaise", "Carl", "Daniel"]
    factors = [factor("prior", [player], mean=25, variance=(25 / 3) ** 2) for player in players]
    matches = [("Ada", "Blaise", "win"), ("Blaise", "Carl", "draw"), ("Carl", "Daniel", "loss")]
    differences = []
    for first, second, outcome in matches:
        better, other = (second, first) if outcome == "loss" else (first, second)
        difference = f"{better} - {other}"
        differences.append(difference)
        factors.append(
            factor("sum", [difference, better, other], coefficients=[1, -1], variance=2 * beta**2)
        )
        if outcome == "draw":
            factors.append(factor("between", [difference], lower=-margin, upper=margin))
        else:
            factors.append(factor("greater_than", [difference], threshold=margin))
    return graph(
        "TrueSkill with draws: Ada beats Blaise, Blaise draws with Carl, Carl loses to Daniel: "
        "run with --engine ep --tolerance 1e-9",
        players + differences,
        factors,
    )


def probit_regression(rows=20):
    """Which of twenty doses had an effect: dose + noise is above a threshold."""
    rng = random.Random(1)
    weights = ["intercept", "slope"]
    factors = [factor("prior", [weight], mean=0, variance=1) for weight in weights]
    products = []
    for n in range(rows):
        x = round(-2 + 4 * n / (rows - 1), 6)
        effect = -0.3 + 0.9 * x + rng.gauss(0, 1) > 0
        products.append(f"z{n}")
        factors.append(factor("sum", [f"z{n}", *weights], coefficients=[1, x]))
        factors.append(factor("probit", [f"z{n}"], sign=1 if effect else -1))
    return graph(
        "probit regression: y = 1 if intercept + slope x + N(0, 1) > 0, else -1: "
        "run with --engine ep --tolerance 1e-9",
        weights + products,
        factors,
    )


def network():
    """One training example of the paper's 8-6-5-1 network (App. D, E), its schedule written out so that
    every message is the one of Algorithm 1."""
    rng = random.Random(1)
    widths, slopes, beta = [8, 6, 5, 1], [0.4, 0.8], 0.2
    x, y = -0.7, 0.9
    features = [x, *(math.exp(-((x - c) ** 2)) for c in (-2, -1, 0, 1, 2)), math.sin(x)]
    grid = [-5 + 10 * i / 10000 for i in range(10001)]
    maps = [lambda t: t, *((lambda t, c=c: math.exp(-((t - c) ** 2))) for c in (-2, -1, 0, 1, 2)), math.sin]
    standard = []
    for value, function in zip(features, maps):
        values = [function(t) for t in grid]
        mean = sum(values) / len(values)
        deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
        standard.append((value - mean) / deviation)
    inputs = standard + [1.0]
    variables = [f"a0_{j}" for j in range(8)]
    factors = [
        factor("observation", [f"a0_{j}"], f"input_{j}", value=round(inputs[j], 9), variance=0)
        for j in range(8)
    ]
    forward = [[f"input_{j}", f"a0_{j}"] for j in range(8)]
    backward = []
    for layer in range(1, 4):
        fan_in, width = widths[layer - 1], widths[layer]
        to_parts, to_weights, to_copies, to_units, to_sums = [], [], [], [], []
        # A hidden unit reaches each of its products through a copy, so that the message of one product does not
        # change the point around which the next one linearises.
        for j in range(fan_in if layer > 1 else 0):
            copies = [f"a{layer - 1}_{j}_{i}" for i in range(width)]
            variables += copies
            factors.append(factor("equality", [f"a{layer - 1}_{j}", *copies], f"copy_{layer - 1}_{j}"))
            forward += [[f"copy_{layer - 1}_{j}", name] for name in copies]
            to_units.append([f"copy_{layer - 1}_{j}", f"a{layer - 1}_{j}"])
        for i in range(width):
            for j in range(fan_in):
                tag = f"{layer}_{i}_{j}"
                variables += [f"w{tag}", f"z{tag}"]
                mean = round(rng.gauss(0, math.sqrt(1 / fan_in)), 9)
                factors.append(
                    factor("prior", [f"w{tag}"], f"prior_{tag}", mean=mean, variance=1 / (3 * fan_in))
                )
                unit = f"a{layer - 1}_{j}" if layer == 1 else f"a{layer - 1}_{j}_{i}"
                factors.append(factor("product", [f"z{tag}", f"w{tag}", unit], f"product_{tag}"))
                forward += [[f"prior_{tag}", f"w{tag}"], [f"product_{tag}", f"z{tag}"]]
                to_parts.append([f"sum_{layer}_{i}", f"z{tag}"])
                to_weights.append([f"product_{tag}", f"w{tag}"])
                to_copies.append([f"product_{tag}", unit])
            parts = [f"z{layer}_{i}_{j}" for j in range(fan_in)]
            variables.append(f"z{layer}_{i}")
            factors.append(
                factor("sum", [f"z{layer}_{i}", *parts], f"sum_{layer}_{i}", coefficients=[1] * fan_in)
            )
            forward.append([f"sum_{layer}_{i}", f"z{layer}_{i}"])
            if layer < 3:
                variables.append(f"a{layer}_{i}")
                factors.append(
                    factor(
                        "leaky_relu",
                        [f"a{layer}_{i}", f"z{layer}_{i}"],
                        f"relu_{layer}_{i}",
                        slope=slopes[layer - 1],
                    )
                )
                forward.append([f"relu_{layer}_{i}", f"a{layer}_{i}"])
                to_sums.append([f"relu_{layer}_{i}", f"z{layer}_{i}"])
        backward = to_sums + to_parts + to_weights + (to_copies if layer > 1 else []) + to_units + backward
    factors.append(factor("observation", ["z3_0"], "likelihood", value=y, variance=round(beta**2, 9)))
    backward = [["likelihood", "z3_0"]] + backward
    return graph(
        "one training example of the 8-6-5-1 network, scheduled as Algorithm 1",
        variables,
        factors,
        {"forward": forward, "backward": backward},
    )


def on_plates(about, plates, variables, factors):
    """The same for a model whose rows are in a table."""
    plated = [{"name": name, "plate": plate} for name, plate in variables.items() if plate]
    single = [name for name, plate in variables.items() if not plate]
    text = graph(about, single + plated, factors)
    return text.replace('  "variables"', f'  "plates": {json.dumps(plates)},\n  "variables"', 1)


def table(columns):
    return "\n".join([",".join(columns)] + [",".join(map(str, row)) for row in zip(*columns.values())]) + "\n"


def walk(steps=60):
    """A random walk, seen through noise: state 0 is the start, and row t leads from state t to state t + 1."""
    rng = random.Random(2)
    level, seen = 0.0, []
    for _ in range(steps):
        level += rng.gauss(0, 0.3)
        seen.append(round(level + rng.gauss(0, 1), 3))
    model = on_plates(
        "a level that walks at random, seen through noise, and the precisions of its steps and of the noise: "
        "dma infer walk.json --data walk.csv --tolerance 1e-6",
        {"row": "rows", "state": steps + 1},
        {"step": None, "noise": None, "level": "state", "value": "row"},
        [
            factor("gamma_prior", ["step"], shape=2, rate=0.2),
            factor("gamma_prior", ["noise"], shape=2, rate=2),
            factor("prior", ["level[0]"], mean=0, variance=1),
            factor("observation", ["value"], plate="row", value="seen", variance=0),
            factor("gaussian_precision", ["value", "level[now]", "noise"], "seen", plate="row"),
            factor("gaussian_precision", ["level[now]", "level[before]", "step"], "walk", plate="row"),
        ],
    )
    return model, table({"before": range(steps), "now": range(1, steps + 1), "seen": seen})


def mixed_effects(groups=8, rows=64):
    """A line whose height differs from group to group."""
    rng = random.Random(3)
    effects = [rng.gauss(0, 1.5) for _ in range(groups)]
    group = [rng.randrange(groups) for _ in range(rows)]
    x = [round(rng.gauss(0, 1), 3) for _ in range(rows)]
    y = [round(2 + 0.6 * a + effects[g] + rng.gauss(0, 0.7), 3) for a, g in zip(x, group)]
    model = on_plates(
        "y = intercept + slope x + effect of the group + noise, and the precisions of effects and noise: "
        "dma infer mixed_effects.json --data mixed_effects.csv --tolerance 1e-6 --sweeps 1000",
        {"row": "rows", "group": {"values": ["group"]}},
        {
            "precision of effects": None,
            "precision of noise": None,
            "no effect": None,
            "intercept": None,
            "slope": None,
            "effect": "group",
            "mean": "row",
            "value": "row",
        },
        [
            factor("gamma_prior", ["precision of effects"], shape=1.5, rate=1.5),
            factor("gamma_prior", ["precision of noise"], shape=1.5, rate=1.5),
            factor("prior", ["no effect"], mean=0, variance=0),
            factor("prior", ["intercept"], mean=0, variance=100),
            factor("prior", ["slope"], mean=0, variance=100),
            factor("gaussian_precision", ["effect", "no effect", "precision of effects"], plate="group"),
            factor(
                "sum", ["mean", "intercept", "slope", "effect[group]"], plate="row", coefficients=[1, "x", 1]
            ),
            factor("observation", ["value"], plate="row", value="y", variance=0),
            factor("gaussian_precision", ["value", "mean", "precision of noise"], plate="row"),
        ],
    )
    return model, table({"group": [f"group {g}" for g in group], "x": x, "y": y})


def cup(teams=6, matches=40):
    """TrueSkill on a table of matches; a result of 1: the first won, 0: a draw, -1: the second won."""
    rng = random.Random(4)
    names = ["Ashford", "Brenton", "Carrow", "Denby", "Eastwick", "Farley"][:teams]
    skill = [rng.gauss(0, 1) for _ in names]
    rows = []
    for _ in range(matches):
        one, two = rng.sample(range(teams), 2)
        lead = skill[one] - skill[two] + rng.gauss(0, math.sqrt(2))
        rows.append((names[one], names[two], 1 if lead > 0.5 else -1 if lead < -0.5 else 0))
    model = on_plates(
        "TrueSkill with draws on a table of matches: "
        "dma infer cup.json --data cup.csv --engine ep --tolerance 1e-9",
        {"match": "rows", "team": {"values": ["first", "second"]}},
        {"skill": "team"},
        [
            factor("prior", ["skill"], plate="team", mean=0, variance=1),
            factor(
                "win_draw_loss",
                ["skill[first]", "skill[second]"],
                "match",
                plate="match",
                result="result",
                margin=0.5,
                variance=2,
            ),
        ],
    )
    first, second, result = zip(*rows)
    return model, table({"first": first, "second": second, "result": result})


def clicks(rows=80):
    """adPredictor: a weight for each value of each column, and noise decides whether their sum is above 0."""
    rng = random.Random(5)
    values = {
        "device": ["phone", "laptop", "tablet"],
        "hour": ["morning", "noon", "evening", "night"],
        "topic": ["travel", "sport", "news"],
    }
    weights = {name: [rng.gauss(0, 1) for _ in of] for name, of in values.items()}
    columns = {name: [rng.randrange(len(of)) for _ in range(rows)] for name, of in values.items()}
    score = [-0.5 + sum(weights[name][columns[name][n]] for name in values) for n in range(rows)]
    clicked = [1 if one + rng.gauss(0, 1) > 0 else -1 for one in score]
    model = on_plates(
        "adPredictor, clicks (1) and none (-1) from three columns: "
        "dma infer clicks.json --data clicks.csv --engine ep --tolerance 1e-6",
        {"view": "rows", **{name: {"values": [name]} for name in values}},
        {"bias": None, **{f"weight of {name}": name for name in values}, "score": "view"},
        [
            factor("prior", ["bias"], mean=0, variance=1),
            *(factor("prior", [f"weight of {name}"], plate=name, mean=0, variance=1) for name in values),
            factor(
                "sum",
                ["score", "bias", *(f"weight of {name}[{name}]" for name in values)],
                plate="view",
                coefficients=[1, 1, 1, 1],
            ),
            factor("probit", ["score"], plate="view", sign="clicked"),
        ],
    )
    cells = {name: [values[name][k] for k in column] for name, column in columns.items()}
    return model, table({**cells, "clicked": clicked})


def ratings(users=12, items=10, rows=90):
    """Matchbox with two traits. Were all means 0, nothing would tell one trait from the other."""
    rng = random.Random(6)
    of_users = [[rng.gauss(0, 1) for _ in range(2)] for _ in range(users)]
    of_items = [[rng.gauss(0, 1) for _ in range(2)] for _ in range(items)]
    biases = [rng.gauss(0, 0.5) for _ in range(items)]
    pairs = rng.sample([(u, i) for u in range(users) for i in range(items)], rows)
    rating = [
        round(sum(a * b for a, b in zip(of_users[u], of_items[i])) + biases[i] + rng.gauss(0, 0.5), 2)
        for u, i in pairs
    ]
    traits = ("first trait", "second trait")
    model = on_plates(
        "Matchbox, ratings as inner products of two traits, and a bias of the item: "
        "dma infer ratings.json --data ratings.csv --rule linear --tolerance 1e-2",
        {"rating": "rows", "user": {"values": ["user"]}, "item": {"values": ["item"]}},
        {
            **{f"{trait} of user": "user" for trait in traits},
            **{f"{trait} of item": "item" for trait in traits},
            "bias": "item",
            "match": "rating",
            "score": "rating",
        },
        [
            *(
                factor("prior", [f"{trait} of user"], plate="user", mean=mean, variance=1)
                for trait, mean in zip(traits, (0.5, 0))
            ),
            *(
                factor("prior", [f"{trait} of item"], plate="item", mean=mean, variance=1)
                for trait, mean in zip(traits, (0, 0.5))
            ),
            factor("prior", ["bias"], plate="item", mean=0, variance=0.25),
            factor(
                "inner_product",
                [
                    "match",
                    *(f"{trait} of user[user]" for trait in traits),
                    *(f"{trait} of item[item]" for trait in traits),
                ],
                plate="rating",
            ),
            factor("sum", ["score", "match", "bias[item]"], plate="rating", coefficients=[1, 1]),
            factor("observation", ["score"], plate="rating", value="rating", variance=0.25),
        ],
    )
    return model, table(
        {"user": [f"user {u}" for u, _ in pairs], "item": [f"item {i}" for _, i in pairs], "rating": rating}
    )


def with_tables(**models):
    """Files of models on plates and of their tables."""
    files = {}
    for name, (model, rows) in models.items():
        files[f"examples/{name}.json"] = model
        files[f"examples/{name}.csv"] = rows
    return files


if __name__ == "__main__":
    sys.exit(
        deliver(
            {
                "examples/product.json": product(),
                "examples/kalman.json": kalman(),
                "examples/trueskill.json": trueskill(),
                "examples/trueskill_draws.json": trueskill_draws(),
                "examples/probit_regression.json": probit_regression(),
                "examples/network.json": network(),
                **with_tables(
                    walk=walk(),
                    mixed_effects=mixed_effects(),
                    cup=cup(),
                    clicks=clicks(),
                    ratings=ratings(),
                ),
            }
        )
    )
