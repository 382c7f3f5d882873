"""Frames of pandas and polars: what models get of them, and what becomes of words."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import feature_effects_bench as fe

N = 300
RNG = np.random.default_rng(2)
CITY = RNG.choice(["Ulm", "Aue", "Bonn"], N)
COLUMNS: dict[str, Any] = {
    "size": RNG.uniform(20, 120, N),
    "rooms": RNG.integers(1, 6, N),
    "new": RNG.random(N) < 0.3,
    "city": CITY,
    "floor": RNG.choice(["low", "middle", "high"], N),
}
WORTH = {"Ulm": 10.0, "Aue": -5.0, "Bonn": 30.0}
HEIGHT = {"low": 0.0, "middle": 1.0, "high": 4.0}


def pandas_frame() -> Any:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(COLUMNS)
    frame["floor"] = pd.Categorical(frame["floor"], ["low", "middle", "high", "roof"], ordered=True)
    frame["size"] = frame["size"].astype("float32")
    return frame


def polars_frame() -> Any:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(COLUMNS)
    floors = pl.Enum(["low", "middle", "high", "roof"])
    return frame.with_columns(pl.col("floor").cast(floors), pl.col("size").cast(pl.Float32), pl.col("rooms").cast(pl.Int8))


FRAMES = pytest.mark.parametrize("make", [pandas_frame, polars_frame])


def price(frame: Any) -> Any:
    """By name, as models of frames do."""
    city = np.array([WORTH[str(name)] for name in frame["city"]])
    floor = np.array([HEIGHT[str(name)] for name in frame["floor"]])
    size, rooms = frame["size"].to_numpy().astype(float), frame["rooms"].to_numpy().astype(float)
    return 2.0 * size + 3.0 * rooms + city + floor * frame["new"].to_numpy()


@FRAMES
def test_models_get_frames_like_the_one_that_was_given(make: Callable[[], Any]) -> None:
    frame = make()
    seen: list[Any] = []

    def model(rows: Any) -> Any:
        seen.append(rows)
        return price(rows)

    for feature in ("city", "floor"):
        seen.clear()
        fe.pdp(frame, model, feature)
        for rows in seen:
            assert type(rows) is type(frame)
            assert list(rows.columns) == list(frame.columns)
            assert list(rows.dtypes) == list(frame.dtypes)
    first = seen[0]
    for name in frame.columns:
        assert first[name].to_list() == frame[name].to_list()[:2]
    # Between whole numbers they are no longer such.
    seen.clear()
    fe.pdp(frame, model, "rooms", grid=4)
    kinds = {str(rows["rooms"].dtype).lower() for rows in seen}
    assert kinds >= {"float64"}
    assert {str(rows["size"].dtype).lower() for rows in seen} == {"float32"}


@FRAMES
def test_features_are_called_as_their_columns_are(make: Callable[[], Any]) -> None:
    frame = make()
    effect = fe.ale(frame, price, "size", bins=4)
    assert (effect.feature, effect.name, effect.levels) == (1, "size", None)
    np.testing.assert_allclose(np.diff(effect.effect), 2.0 * np.diff(effect.x), rtol=1e-5)
    assert [effect.name for effect in fe.effects("pdp", frame, price)] == list(COLUMNS)
    assert fe.ale(frame, price, 2).name == "rooms"
    with pytest.raises(fe.FeatureEffectsError, match="`town` does not exist.*size, rooms, new, city, floor"):
        fe.ale(frame, price, "town")


@FRAMES
@pytest.mark.parametrize("estimator", ["pdp", "ale", "ice"])
def test_effects_of_words_are_at_their_levels(make: Callable[[], Any], estimator: str) -> None:
    frame = make()
    effect = fe.estimate(estimator, frame, price, "city", center="none")
    assert effect.levels == ["Aue", "Bonn", "Ulm"]
    assert effect.x.tolist() == [0.0, 1.0, 2.0]
    np.testing.assert_allclose(np.diff(effect.effect), [35.0, -20.0], rtol=1e-9)
    centred = fe.estimate(estimator, frame, price, "city")
    counts = [(COLUMNS["city"] == level).mean() for level in effect.levels]
    assert np.dot(counts, centred.effect) == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(np.diff(centred.effect), [35.0, -20.0], rtol=1e-9)
    ordered = fe.estimate(estimator, frame, price, "floor", center="none")
    # Only those that occur, in the order of the categories.
    assert ordered.levels == ["low", "middle", "high"]
    share = COLUMNS["new"].mean()
    if estimator != "ale":
        np.testing.assert_allclose(np.diff(ordered.effect), [share, 3 * share], rtol=1e-9)
    for again in (pickle.loads(pickle.dumps(effect)), copy.deepcopy(effect), fe.Effect.from_json(effect.to_json())):
        assert again == effect
        assert again.levels == effect.levels
    order = [effect.name for effect in fe.effects(estimator, frame, price, ["city", "size", 2, "floor"])]
    assert order == ["city", "size", "rooms", "floor"]


@FRAMES
def test_words_split_regions(make: Callable[[], Any]) -> None:
    frame = make()

    def model(rows: Any) -> Any:
        here = np.array([str(name) == "Bonn" for name in rows["city"]])
        return rows["size"].to_numpy().astype(float) * np.where(here, 3.0, -1.0)

    regional = fe.regional_pdp(frame, model, "size", depth=1)
    rule = regional.nodes[1]["rule"]
    assert rule["name"] == "city"
    assert rule["text"] in ("city = Bonn", "city != Bonn")
    # As it is told otherwise, the levels are in order.
    ordered = fe.regional_pdp(frame, model, "size", depth=1, kinds={"city": "ordinal"})
    assert "=" not in ordered.nodes[1]["rule"]["text"].replace("<=", "")


@FRAMES
def test_what_cannot_be_said_of_words_is_refused(make: Callable[[], Any]) -> None:
    frame = make()
    for ask, message in (
        (lambda: fe.dale(frame, price, "city"), "`dale` is made of derivatives, and city, which is nominal"),
        (lambda: fe.mplot(frame, price, "city", nearest=3), "nearest: `city` has levels"),
        (lambda: fe.ale(frame, price, "city", bins=3), "bins: `city` has levels"),
        (lambda: fe.pdp(frame, price, "city", points=[0.5]), "points: `city` has levels"),
        (lambda: fe.pdp(frame, price, "city", distinct=9), "distinct: `city` has levels"),
        (lambda: fe.regional_dpdp(frame, price, "city"), "`regional-dpdp` is made of derivatives"),
        (lambda: fe.ale(frame, price, "size", names=list("abcde")), "names: a frame has its own"),
        (lambda: fe.ale(frame[:0], price, "size"), "0 rows|holds nothing"),
        (lambda: fe.ale(frame[["size"]], lambda rows: rows["size"], 2), "feature `2` does not exist"),
    ):
        with pytest.raises(fe.FeatureEffectsError, match=message):
            ask()


def test_missing_values_are_refused_by_row_and_column() -> None:
    frame = pandas_frame()
    frame.loc[4, "size"] = np.nan
    with pytest.raises(fe.FeatureEffectsError, match="row 5, column .*: NaN is not a finite number"):
        fe.ale(frame, price, "rooms")
    frame = pandas_frame()
    frame.loc[6, "city"] = None
    with pytest.raises(fe.FeatureEffectsError, match="row 7, column .*: NaN is not a finite number"):
        fe.ale(frame, price, "rooms")
    frame = pandas_frame()
    frame["rooms"] = frame["rooms"].astype("Int64")
    assert fe.pdp(frame, price, "city").levels is not None
    frame.loc[2, "rooms"] = None
    with pytest.raises(fe.FeatureEffectsError, match="row 3, column"):
        fe.ale(frame, price, "size")
    pl = pytest.importorskip("polars")
    frame = polars_frame().with_columns(pl.when(pl.col("city") == "Ulm").then(None).otherwise(pl.col("city")).alias("city"))
    with pytest.raises(fe.FeatureEffectsError, match="NaN is not a finite number"):
        fe.ale(frame, price, "size")


def test_other_columns_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(fe.FeatureEffectsError, match="X: two columns are called a"):
        fe.ale(pd.DataFrame(np.eye(3), columns=["a", "b", "a"]), lambda rows: np.zeros(len(rows)))
    with pytest.raises(fe.FeatureEffectsError, match="X: the frame has no columns"):
        fe.ale(pd.DataFrame(index=range(3)), lambda rows: np.zeros(len(rows)))
    for values in (pd.date_range("2020", periods=3), [1 + 1j, 2, 3], [{}, {}, {}]):
        with pytest.raises(fe.FeatureEffectsError, match="X: the column `when` is of type .*: must be numbers"):
            fe.ale(pd.DataFrame({"when": values}), lambda rows: np.zeros(len(rows)))


def test_jacobians_get_frames_too() -> None:
    frame = pandas_frame()[["size", "rooms"]].astype(float)

    def model(rows: Any) -> Any:
        return rows["size"] * rows["rooms"]

    def jacobian(rows: Any) -> Any:
        return np.column_stack([rows["rooms"], rows["size"]])

    effect = fe.rhale(frame, model, "rooms", jacobian=jacobian)
    assert effect == fe.rhale(frame, model, "rooms", jacobian=jacobian(frame))
    assert effect.effect.tolist() == fe.rhale(
        frame.to_numpy(), lambda X: X[:, 0] * X[:, 1], 2, jacobian=lambda X: X[:, ::-1]
    ).effect.tolist()


def test_a_pipeline_of_words_and_numbers() -> None:
    pytest.importorskip("sklearn")
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    frame = pandas_frame()
    words = ColumnTransformer([("words", OneHotEncoder(), ["city", "floor"])], remainder="passthrough")
    pipeline = make_pipeline(words, GradientBoostingRegressor(random_state=0)).fit(frame, price(frame))
    found = fe.effects("pdp", frame, pipeline)
    assert [effect.name for effect in found] == list(COLUMNS)
    city = found[3]
    assert city.levels == ["Aue", "Bonn", "Ulm"]
    assert city.effect[1] > city.effect[2] > city.effect[0]


def test_classifiers_have_an_output_for_each_class() -> None:
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.tree import DecisionTreeRegressor

    X = np.column_stack([COLUMNS["size"] / 100, COLUMNS["rooms"]])
    labels = np.array(["cheap", "dear", "fair"])[np.digitize(X[:, 0] + 0.1 * X[:, 1], [0.7, 1.1])]
    model = LogisticRegression().fit(X, labels)
    found = fe.effects("pdp", X, model, [1], center="none")
    assert [effect.output for effect in found] == [1, 2, 3]
    np.testing.assert_allclose(sum(effect.effect for effect in found), 1.0)
    assert found[1] == fe.effects("pdp", X, model.predict_proba, [1], center="none")[1]
    with pytest.raises(fe.FeatureEffectsError, match="has 3 outputs: give output=1 to output=3"):
        fe.pdp(X, model, 1)
    with pytest.raises(fe.FeatureEffectsError, match="`RidgeClassifier` tells classes and has no `predict_proba`"):
        fe.pdp(X, RidgeClassifier().fit(X, labels), 1)
    tree = DecisionTreeRegressor(random_state=0).fit(X, X[:, 0])
    assert fe.pdp(X, tree, 1) == fe.pdp(X, tree.predict, 1)
    with pytest.raises(fe.ModelError, match="not fitted yet"):
        fe.pdp(X, DecisionTreeRegressor(), 1)
