"""A whole adapter: copy it, and put your estimator where `pdp` is. docs/protocol.md explains it."""

import json
import sys
import time

import numpy as np


def evaluate(tree, X):
    """The value of a tree at rows X, (n, D)."""
    if isinstance(tree, (int, float)):
        return tree
    if isinstance(tree, str):
        return X[:, int(tree[1:]) - 1]
    name, parts = tree[0], [evaluate(part, X) for part in tree[1:]]
    if name in ("add", "multiply"):
        return sum(parts) if name == "add" else np.prod(np.broadcast_arrays(*parts), axis=0)
    binary = {"subtract": np.subtract, "divide": np.divide, "power": np.power}
    binary |= {"less": np.less, "less_equal": np.less_equal, "equal": np.equal}
    binary |= {"min": np.minimum, "max": np.maximum, "atan2": np.arctan2}
    if name in binary:
        return 1.0 * binary[name](*parts)
    if name == "if":
        return np.where(parts[0] != 0, parts[1], parts[2])
    other = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "ln": np.log}
    return other.get(name, getattr(np, name, None))(*parts)


def pdp(X, model, feature, grid):
    """Your estimator: increasing points, and the curve at them."""
    def at(x):
        return model(np.column_stack([X[:, :feature], np.full(len(X), x), X[:, feature + 1 :]]))

    return grid, np.array([at(x).mean() for x in grid])


def answer(request):
    spent = {"rows": 0, "seconds": 0.0}

    def model(X):
        started = time.perf_counter()
        values = np.zeros(len(X)) + evaluate(request["model"], X)
        spent["seconds"] += time.perf_counter() - started
        spent["rows"] += len(X)
        return values

    if request["effect"] != "pdp" or request["options"]:
        return {"status": "unsupported", "message": "only pdp, without options"}
    X = np.fromfile(request["data"], "<f8").reshape(request["features"], request["rows"]).T
    grid = np.fromfile(request["grid"], "<f8")
    started = time.perf_counter()
    x, effect = pdp(X, model, int(request["feature"][1:]) - 1, grid)
    reply = {"status": "ok", "samples": [time.perf_counter() - started]}
    reply |= {"model_samples": [spent["seconds"]], "model_rows": spent["rows"]}
    probe = model(np.array(request["probe"]))
    return reply | {"x": x.tolist(), "effect": effect.tolist(), "probe": probe.tolist()}


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"protocol": 1, "id": request["id"]} | answer(request)), flush=True)
