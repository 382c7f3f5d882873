"""Stored models with their predictions, for the tests of fe-models.

    python -m venv venv && venv/bin/pip install -r scripts/models/requirements-stored.txt
    venv/bin/python scripts/models/record_stored.py

Writes crates/fe-models/tests/stored/: the models, and predictions.json with the rows and what each library
predicts for them (its own double-precision prediction, or that of onnxruntime where it says so).
"""

import json
import warnings
from pathlib import Path

import lightgbm as lgb
import numpy as np
import onnx
import onnxruntime
import xgboost as xgb
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")
FOLDER = Path(__file__).resolve().parents[2] / "crates/fe-models/tests/stored"

random = np.random.default_rng(7)
# In single precision, so that libraries that round their input see what the others see.
X = random.normal(size=(400, 3)).astype(np.float32).astype(np.float64)
X[::9, 1] = 0.0
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 2]
Y = SIGNAL + 0.1 * random.normal(size=400)
BINARY = (Y > 0).astype(int)
THREE = np.digitize(Y, [-0.5, 0.7])
COUNTS = random.poisson(np.exp(0.5 * SIGNAL))
ROWS = X[:30]

predictions = {}


def record(name, values):
    values = np.asarray(values, dtype=float)
    predictions[name] = values.reshape(len(ROWS), -1).tolist()


def record_onnx(name, model):
    """What onnxruntime predicts: the last output."""
    path = FOLDER / name
    path.write_bytes(model.SerializeToString())
    session = onnxruntime.InferenceSession(str(path))
    given = session.get_inputs()[0]
    kind = np.float64 if "double" in given.type else np.float32
    values = session.run(None, {given.name: ROWS.astype(kind)})[-1]
    record(name, values)


def from_sklearn(name, model, target, kind=np.float32, **options):
    model.fit(X, target)
    if hasattr(model, "predict_proba"):
        options["options"] = {id(model): {"zipmap": False}}
    record_onnx(name, to_onnx(model, X[:1].astype(kind), **options))


def network(**options):
    return MLPRegressor(hidden_layer_sizes=(6, 4), max_iter=40, random_state=1, **options)


def sklearn_models():
    from_sklearn("linear.onnx", LinearRegression(), Y)
    from_sklearn("linear-double.onnx", LinearRegression(), Y, np.float64)
    from_sklearn("scaled-network.onnx", make_pipeline(StandardScaler(), network()), Y)
    from_sklearn("network-tanh-double.onnx", network(activation="tanh"), Y, np.float64)
    from_sklearn("network-classes.onnx", MLPClassifier(hidden_layer_sizes=(5,), max_iter=30, random_state=1), THREE)
    from_sklearn("logistic-three.onnx", LogisticRegression(), THREE)
    from_sklearn("logistic-two.onnx", LogisticRegression(), BINARY)
    forest = {"n_estimators": 4, "max_depth": 3, "random_state": 1}
    from_sklearn("forest.onnx", RandomForestRegressor(**forest), Y)
    from_sklearn("forest-classes.onnx", RandomForestClassifier(**forest), THREE)
    from_sklearn("boosting.onnx", GradientBoostingRegressor(**forest), Y)
    from_sklearn("boosting-two.onnx", GradientBoostingClassifier(**forest), BINARY)
    # As scikit-learn's users get it unless they ask otherwise: probabilities in a map.
    model = LogisticRegression().fit(X, THREE)
    (FOLDER / "logistic-map.onnx").write_bytes(to_onnx(model, X[:1].astype(np.float32)).SerializeToString())
    record("logistic-map.onnx", model.predict_proba(ROWS))


def like_torch():
    """A graph as the exporter of PyTorch writes it for Linear, Tanh, Linear, BatchNorm1d, Softplus, Linear."""
    tensors, nodes, at = [], [], "x"

    def weight(name, *shape, positive=False):
        values = random.normal(size=shape).astype(np.float32)
        values = np.abs(values) + 0.5 if positive else values
        tensors.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def add(kind, inputs, **attributes):
        nonlocal at
        after = f"{kind}_{len(nodes)}"
        nodes.append(helper.make_node(kind, [at, *inputs], [after], **attributes))
        at = after

    add("Gemm", [weight("w1", 5, 3), weight("b1", 5)], alpha=1.0, beta=1.0, transB=1)
    add("Tanh", [])
    add("Gemm", [weight("w2", 4, 5), weight("b2", 4)], alpha=1.0, beta=1.0, transB=1)
    norm = [weight("g", 4), weight("h", 4), weight("m", 4), weight("v", 4, positive=True)]
    add("BatchNormalization", norm, epsilon=1e-5)
    add("Softplus", [])
    add("Gemm", [weight("w3", 1, 4), weight("b3", 1)], alpha=1.0, beta=1.0, transB=1)
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
    record_onnx("torch.onnx", model)


def unreadable():
    """A valid model of an operator that is not read."""
    value = helper.make_tensor_value_info
    node = helper.make_node("Sin", ["x"], ["y"])
    x, y = (value(name, TensorProto.FLOAT, [None, 3]) for name in "xy")
    graph = helper.make_graph([node], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    (FOLDER / "sine.onnx").write_bytes(model.SerializeToString())


def xgboost_models():
    def fit(name, target, objective, names=None, **options):
        options = {"max_depth": 3, "objective": objective, "seed": 1, **options}
        data = xgb.DMatrix(X, target, feature_names=names)
        model = xgb.train(options, data, num_boost_round=4)
        model.save_model(FOLDER / name)
        record(name, model.predict(xgb.DMatrix(ROWS, feature_names=names)))

    fit("xgboost.json", Y, "reg:squarederror", names=["width", "height", "depth"])
    fit("xgboost-dart.json", Y, "reg:squarederror", booster="dart", rate_drop=0.5)
    fit("xgboost-poisson.json", COUNTS, "count:poisson")
    fit("xgboost-three.json", THREE, "multi:softprob", num_class=3)
    fit("xgboost-two.json", BINARY, "binary:logistic")
    # One column here, one for each class in the file's own terms.
    predictions["xgboost-two.json"] = [[1 - p, p] for (p,) in predictions["xgboost-two.json"]]


def stopped_models():
    """Fits that were stopped early: the file has more trees than the package's `predict` takes."""

    def fit(name, model, target, values):
        # A few rows only, so that it soon stops.
        model.fit(X[:60], target[:60], eval_set=[(X[60:], target[60:])], verbose=False)
        assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
        model.save_model(FOLDER / name)
        record(name, values(model))

    options = {"n_estimators": 60, "max_depth": 2, "early_stopping_rounds": 2, "random_state": 1}
    fit("xgboost-stopped.json", xgb.XGBRegressor(**options), Y, lambda model: model.predict(ROWS))
    forests = xgb.XGBClassifier(num_parallel_tree=2, subsample=0.7, **options)
    fit("xgboost-stopped-three.json", forests, THREE, lambda model: model.predict_proba(ROWS))


def torch_external():
    """The same graph with its weights in a file of their own, as `torch.onnx.export` writes them by default."""
    model = onnx.load(FOLDER / "torch.onnx")
    name = "torch-external.onnx"
    data = f"{name}.data"
    (FOLDER / data).unlink(missing_ok=True)
    onnx.save_model(model, FOLDER / name, save_as_external_data=True, location=data, size_threshold=0)
    predictions[name] = predictions["torch.onnx"]


def lightgbm_models():
    def fit(name, target, objective, data=X, **options):
        options = {"num_leaves": 6, "objective": objective, "verbose": -1, "seed": 1, **options}
        dataset = lgb.Dataset(data, target, feature_name=["width", "height", "depth"])
        model = lgb.train(options, dataset, num_boost_round=4)
        text = model.model_to_string()
        # What follows the trees says how they were fitted, and nothing of the model.
        (FOLDER / name).write_text(text[: text.index("end of trees")] + "end of trees\n")
        record(name, model.predict(ROWS))

    fit("lightgbm.txt", Y, "regression")
    fit("lightgbm-sqrt.txt", Y, "regression", reg_sqrt=True)
    fit("lightgbm-zeros.txt", Y, "regression", zero_as_missing=True)
    fit("lightgbm-forest.txt", Y, "regression", boosting="rf", bagging_fraction=0.5, bagging_freq=1)
    fit("lightgbm-poisson.txt", COUNTS, "poisson")
    fit("lightgbm-three.txt", THREE, "multiclass", num_class=3)
    fit("lightgbm-two.txt", BINARY, "binary")
    predictions["lightgbm-two.txt"] = [[1 - p, p] for (p,) in predictions["lightgbm-two.txt"]]


FOLDER.mkdir(parents=True, exist_ok=True)
sklearn_models()
like_torch()
torch_external()
unreadable()
xgboost_models()
stopped_models()
lightgbm_models()
text = json.dumps({"rows": ROWS.tolist(), "predictions": predictions})
(FOLDER / "predictions.json").write_text(text.replace("], [", "],\n[") + "\n")
