"""Stored models with splits of categories and missing values, and operators of networks, with their predictions, for
the tests of fe-models.

    python -m venv venv && venv/bin/pip install -r scripts/models/requirements-stored.txt
    venv/bin/python scripts/models/record_categories.py

Writes crates/fe-models/tests/stored/: categories*, gelu.onnx, and predictions-categories.json with the rows (null where
a value is missing) and what each library predicts for them. The rows have categories that no row of the fit has.
"""

import json
import warnings
from pathlib import Path

import lightgbm as lgb
import numpy as np
import onnx
import onnxruntime
import pandas as pd
import xgboost as xgb
from onnx import TensorProto, helper, numpy_helper

warnings.filterwarnings("ignore")
FOLDER = Path(__file__).resolve().parents[2] / "crates/fe-models/tests/stored"
WORDS = ["blue", "green", "red", "white", "yellow"]

random = np.random.default_rng(11)
# In single precision, so that libraries that round their input see what the others see.
WIDTH = random.normal(size=400).astype(np.float32).astype(np.float64)
WIDTH[::11] = np.nan
COLOUR = random.integers(0, 5, size=400)
DEPTH = np.round(random.normal(size=400)).astype(np.float64)
DEPTH[::7] = np.nan
Y = np.nan_to_num(WIDTH, nan=0.7) * (COLOUR % 3) + np.array([0, 2, 1, -1, 0.5])[COLOUR] + np.nan_to_num(DEPTH, nan=-2.0)
TABLE = pd.DataFrame({"width": WIDTH, "colour": pd.Categorical.from_codes(COLOUR, WORDS), "depth": DEPTH})
ROWS = np.column_stack([WIDTH, COLOUR, DEPTH])[:30]
NUMBERS = np.column_stack([WIDTH, COLOUR.astype(float), DEPTH])
# Categories that are missing, unknown, and no whole number.
ODD = ROWS[:6].copy()
ODD[:, 1] = [np.nan, 7, 40, -1, 2.5, 5]

predictions = {}


def record(name, values):
    values = np.asarray(values, dtype=float)
    predictions[name] = values.reshape(len(values), -1).tolist()


def xgboost_models():
    options = {"max_depth": 4, "seed": 1, "max_cat_to_onehot": 2}
    kinds = {"feature_types": ["q", "c", "q"], "enable_categorical": True}
    plain = xgb.train(options, xgb.DMatrix(NUMBERS, Y, **kinds), num_boost_round=5)
    worded = xgb.train(options, xgb.DMatrix(TABLE, Y, enable_categorical=True), num_boost_round=5)
    one_hot = xgb.train(
        {**options, "max_cat_to_onehot": 9}, xgb.DMatrix(NUMBERS, Y, **kinds), num_boost_round=5
    )
    rows = np.vstack([ROWS, ODD])
    for name, model in [("categories", plain), ("categories-one", one_hot)]:
        model.save_model(FOLDER / f"{name}.json")
        model.save_model(FOLDER / f"{name}.ubj")
        for ending in ["json", "ubj"]:
            record(f"{name}.{ending}", model.predict(xgb.DMatrix(rows, **kinds)))
    worded.save_model(FOLDER / "categories-words.json")
    worded.save_model(FOLDER / "categories-words.ubj")
    for ending in ["json", "ubj"]:
        record(f"categories-words.{ending}", worded.predict(xgb.DMatrix(TABLE[:30], enable_categorical=True)))


def lightgbm_models():
    options = {"num_leaves": 9, "verbose": -1, "seed": 1, "min_data_in_leaf": 5, "min_data_per_group": 5}

    def fit(name, data, rows, more=None, **kinds):
        model = lgb.train({**options, **(more or {})}, lgb.Dataset(data, Y, **kinds), num_boost_round=5)
        text = model.model_to_string()
        trees, rest = text.split("end of trees\n")
        words = [line for line in rest.splitlines() if line.startswith("pandas_categorical:")]
        (FOLDER / name).write_text(trees + "end of trees\n" + "\n".join(words) + "\n")
        record(name, model.predict(rows))

    names = ["width", "colour", "depth"]
    rows = np.vstack([ROWS, ODD])
    fit("categories.txt", NUMBERS, rows, categorical_feature=[1], feature_name=names)
    fit("categories-zero.txt", NUMBERS, rows, {"zero_as_missing": True}, categorical_feature=[1], feature_name=names)
    fit("categories-none.txt", NUMBERS, rows, {"use_missing": False}, categorical_feature=[1], feature_name=names)
    fit("categories-words.txt", TABLE, TABLE[:30])


def network():
    """Gelu by its operator, its approximation and the error function, as exporters write them."""
    tensors, nodes, at = [], [], "x"

    def weight(name, *shape):
        tensors.append(numpy_helper.from_array(random.normal(size=shape).astype(np.float32), name))
        return name

    def integers(name, *values):
        tensors.append(numpy_helper.from_array(np.array(values, dtype=np.int64), name))
        return name

    def number(name, value):
        tensors.append(numpy_helper.from_array(np.array(value, dtype=np.float32), name))
        return name

    def add(kind, inputs, after=None, **attributes):
        nonlocal at
        after = after or f"{kind}_{len(nodes)}"
        nodes.append(helper.make_node(kind, inputs, [after], **attributes))
        at = after
        return after

    first = add("Gemm", [at, weight("w1", 6, 3), weight("b1", 6)], transB=1)
    normal = add("LayerNormalization", [first, weight("g", 6), weight("h", 6)], axis=-1, epsilon=1e-5)
    gelu = add("Gelu", [normal])
    tanh = add("Gelu", [first], approximate="tanh")
    half = add("Div", [first, number("root", 2**0.5)])
    half = add("Erf", [half])
    half = add("Add", [half, number("one", 1.0)])
    half = add("Mul", [first, half])
    half = add("Mul", [half, number("half", 0.5)])
    add("Sum", [gelu, tanh, half])
    middle = at
    add("Slice", [middle, integers("from", 1), integers("to", -1), integers("axes", 1), integers("steps", 2)])
    short = at
    add("Slice", [middle, integers("from2", -3), integers("to2", 9223372036854775807), integers("axes2", -1)])
    add("Concat", [short, at], axis=1)
    add("Gemm", [at, weight("w2", 1, 5), weight("b2", 1)], transB=1)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "main_graph",
        [value("x", TensorProto.FLOAT, ["batch", 3])],
        [value(at, TensorProto.FLOAT, ["batch", 1])],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model)
    (FOLDER / "gelu.onnx").write_bytes(model.SerializeToString())
    session = onnxruntime.InferenceSession(str(FOLDER / "gelu.onnx"))
    record("gelu.onnx", session.run(None, {"x": np.nan_to_num(ROWS).astype(np.float32)})[0])


FOLDER.mkdir(parents=True, exist_ok=True)
xgboost_models()
lightgbm_models()
network()
rows = [[None if np.isnan(x) else x for x in row] for row in np.vstack([ROWS, ODD])]
text = json.dumps({"rows": rows, "predictions": predictions})
(FOLDER / "predictions-categories.json").write_text(text.replace("], [", "],\n[") + "\n")
