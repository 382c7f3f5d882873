"""Features with levels: those of scenarios of one's own, of arrays that are told to have some, and of frames."""

from __future__ import annotations

import json
import pickle

import feature_effects_bench as fe
import numpy as np
import pytest

pd = pytest.importorskip("pandas")

OWN = fe.scenario(
    f="level(season, winter: -1, summer: 2, mild: 0.5)*temp + 3*rain + 0.5*count",
    law={
        "season": "categorical(winter: 0.3, summer: 0.5, mild: 0.2)",
        "temp": "level(season, winter: -1, summer: 1, mild: 0) + normal(0, 0.5)",
        "rain": "bernoulli(0.4)",
        "count": "poisson(1.5)",
    },
)
X, _ = OWN.sample(n=3000, seed=3)


def test_scenarios_say_the_levels_of_their_laws() -> None:
    season = OWN.levels("season")
    assert season is not None
    assert [(value, name) for value, name, _ in season] == [(0.0, "winter"), (1.0, "summer"), (2.0, "mild")]
    np.testing.assert_allclose([probability for *_, probability in season], [0.3, 0.5, 0.2], rtol=1e-12)
    assert OWN.levels("temp") is None
    rain = OWN.levels(3)
    assert rain is not None
    assert [name for _, name, _ in rain] == ["0", "1"]
    count = OWN.levels("count")
    assert count is not None
    # The 0.9999 quantile of a Poisson law of mean 1.5: up to 7 there are 0.99983.
    assert count[-1][:2] == (8.0, "8")


@pytest.mark.parametrize("estimator", ["pdp", "ice", "ale", "mplot", "shapdp"])
def test_estimates_at_levels_are_near_their_truths(estimator: str) -> None:
    options = {"background": 100} if estimator == "shapdp" else {}
    rows = X[:500] if estimator == "shapdp" else X
    for feature, names in (("season", ["winter", "summer", "mild"]), ("rain", ["0", "1"])):
        effect = fe.estimate(estimator, rows, OWN, feature, **options)
        assert effect.levels == names
        assert effect.x.tolist() == list(range(len(names)))
        assert effect.record["levels"]["kind"] == ("nominal" if feature == "season" else "ordinal")
        truth = OWN.truth_of(effect)
        assert np.abs(truth.value).max() > 0.3
        most = 0.3 if estimator == "shapdp" else 0.15
        np.testing.assert_allclose(effect.effect, truth.value, atol=most)
        word = {"ice": "pd", "pdp": "pd", "shapdp": "shap"}.get(estimator, estimator)
        assert fe.score(effect, OWN, word)["max"] < 2 * most
        frame = effect.to_frame()
        assert frame["level"].tolist() == names
        with pytest.raises(fe.FeatureEffectsError, match="none of the levels"):
            effect(0.5)
        for again in (pickle.loads(pickle.dumps(effect)), fe.Effect.from_json(effect.to_json())):
            assert (again.levels, again == effect) == (names, True)


def test_counts_have_the_levels_that_occur() -> None:
    effect = fe.pdp(X, OWN, "count")
    assert effect.levels == [str(int(x)) for x in np.unique(X[:, 3])]
    known = OWN.levels("count")
    assert known is not None
    here = [value for value, *_ in known if value in effect.x]
    truth = OWN.truth_of(effect, here)
    np.testing.assert_allclose(truth.value, effect.effect[: len(here)], atol=0.1)


def test_ale_goes_along_an_order_and_so_does_its_truth() -> None:
    effect = fe.ale(X, OWN, "season", order="response", band="analytic")
    order = effect.record["levels"]["order"]
    assert (order["rule"], order["names"]) == ("response", ["mild", "winter", "summer"])
    truth = OWN.truth_of(effect)
    assert effect.band is not None
    assert np.all((effect.band["lower"] < truth.value) & (truth.value < effect.band["upper"]))
    given = OWN.truth_of(fe.ale(X, OWN, "season"))
    assert np.abs(given.value - truth.value).max() > 0.4
    # Scores go along the effect's own order as well.
    assert fe.score(effect, OWN, "ale")["max"] < 0.15


@pytest.mark.parametrize("estimator", ["mplot", "shapdp"])
def test_bands_at_levels(estimator: str) -> None:
    options = {"background": 60} if estimator == "shapdp" else {}
    effect = fe.estimate(estimator, X[:300], OWN, "season", band="analytic", **options)
    assert effect.band is not None
    assert np.all(effect.band["lower"] < effect.effect)
    assert np.all(effect.band["simultaneous_upper"] >= effect.band["upper"])


def test_regions_of_a_feature_with_levels() -> None:
    for found in (fe.regional_pdp(X, OWN, "season"), fe.regional_ale(X, OWN, "season")):
        assert found.nodes[1]["rule"]["name"] == "temp"
        leaves = [node["effect"] for node in found.nodes if node["effect"] is not None]
        assert all(leaf.levels == ["winter", "summer", "mild"] for leaf in leaves)
        assert set(found.to_frame()["level"]) == {"winter", "summer", "mild"}
    # Of other features regions have the words of levels.
    words = fe.regional_pdp(X, OWN, "temp").nodes[1]["rule"]["text"]
    assert words.split()[0] == "season"
    assert words.split()[-1] in ("winter", "summer", "mild")
    assert fe.RegionalEffect.from_json(found.to_json()) == found


def test_what_levels_do_not_have_is_refused() -> None:
    for ask, message in (
        (lambda: fe.dale(X, OWN, "season"), "`dale` is made of derivatives, and season, which is nominal"),
        (lambda: fe.rhale(X, OWN, "rain"), "`rhale` is made of derivatives, and rain, which is ordinal"),
        (lambda: fe.regional_rhale(X, OWN, "season"), "`regional-rhale` is made of derivatives"),
        (lambda: fe.pdp(X, OWN, "season", center="integral"), "levels of season"),
        (lambda: fe.mplot(X, OWN, "temp", band="analytic"), "temp is a number"),
        (lambda: fe.scenario(f="x", law={"x": "categorical(a: 0.5, b: 0.6)"}), "categorical"),
        (lambda: fe.scenario(f="x", law={"x": "bernoulli(1.5)"}), "bernoulli"),
        (lambda: fe.pdp(X + 0.5, OWN, "season"), "none of its levels"),
    ):
        with pytest.raises(fe.FeatureEffectsError, match=message):
            ask()


def test_arrays_have_levels_where_they_are_told_to() -> None:
    values = np.array([1.0, 3.0, 7.0])[np.arange(60) % 3]
    rows = np.column_stack([values, np.linspace(0, 1, 60)])

    def model(rows: np.ndarray) -> np.ndarray:
        assert set(rows[:, 0]) <= {1.0, 3.0, 7.0}
        return rows[:, 0] ** 2 + rows[:, 1]

    effect = fe.ale(rows, model, 1, kinds={1: "nominal"}, center="start")
    assert (effect.x.tolist(), effect.levels) == ([1.0, 3.0, 7.0], ["1", "3", "7"])
    np.testing.assert_allclose(effect.effect, [0.0, 8.0, 48.0], atol=1e-12)
    assert effect.to_frame()["level"].tolist() == ["1", "3", "7"]


def test_the_ale_of_words_is_over_the_rows_at_either_level() -> None:
    # Winter is warm once in four rows, summer three times in four: the change is over both.
    frame = pd.DataFrame({"season": ["winter"] * 4 + ["summer"] * 4, "warm": [1, 0, 0, 0, 1, 1, 1, 0]})

    def model(rows: pd.DataFrame) -> np.ndarray:
        return (rows["season"] == "summer").to_numpy() * (1.0 + 2.0 * rows["warm"].to_numpy())

    ale = fe.ale(frame, model, "season", center="none")
    assert ale.levels == ["summer", "winter"]
    np.testing.assert_allclose(ale.effect, [0.0, -2.0], atol=1e-12)
    assert json.loads(ale.to_json())["effect"]["record"]["levels"]["kind"] == "nominal"
    mplot = fe.mplot(frame, model, "season", center="none")
    np.testing.assert_allclose(mplot.effect, [2.5, 0.0], atol=1e-12)
    # As it is told, words are numbers all the same.
    with pytest.raises(fe.FeatureEffectsError, match="between them"):
        fe.pdp(frame, model, "season", kinds={"season": "continuous"})
