"""Effects of two features and indices from Python: the numbers of the program, their truths and scores."""

import pickle

import numpy as np
import pytest

import feature_effects_bench as fe

PAIR = ("x1", "x2")


def poly():
    scenario = fe.scenario("poly3")  # x1² + x1 x2 + ½ x3
    return scenario, scenario.sample(n=300, seed=3)[0]


def test_surfaces_are_those_of_the_program(fe_bench):
    scenario, _ = poly()
    X, _ = scenario.sample(n=200, seed=5)
    for estimator, flags, options in (
        ("pdp", ["--grid", "5x7"], {"grid": (5, 7)}),
        ("pdp", ["--grid", "4", "--interaction"], {"grid": 4, "interaction": True}),
        ("ale", ["--bins", "3"], {"bins": 3}),
    ):
        command = ["effect", "poly3", "--n", "200", "--seed", "5", "--estimator", estimator]
        (told,) = fe_bench(*command, "--feature", "x1:x2", *flags)
        found = fe.estimate(estimator, X, scenario, PAIR, **options)
        assert found.x.tolist() == told["x"] and found.x2.tolist() == told["x2"]
        assert found.effect.tolist() == told["effect"] and found.counts.tolist() == told["counts"]
        assert found.names == PAIR and found.features == (1, 2) and found.estimator == estimator


def test_a_function_of_python_has_the_same_surface():
    scenario, X = poly()

    def f(rows):
        return rows[:, 0] ** 2 + rows[:, 0] * rows[:, 1] + 0.5 * rows[:, 2]

    own = fe.ale(X, f, PAIR, bins=4, axis=scenario)
    known = fe.ale(X, scenario, (1, 2), bins=4, axis="scenario")
    np.testing.assert_allclose(own.effect, known.effect, atol=1e-12)
    assert own.record["cells"] == known.record["cells"]
    # Bilinear between the points: x1 x2 is.
    at = np.array([-0.3, 0.2]), np.array([0.9, -0.5])
    inner = fe.pdp(X, f, PAIR, grid=3, interaction=True)
    slope = inner(*at)
    assert slope.shape == (2,)
    whole = fe.pdp(X, f, PAIR, points=([-1.0, -0.3, 0.2, 1.0], [-1.0, -0.5, 0.9, 1.0]), interaction=True)
    assert whole.x.tolist() == [-1.0, -0.3, 0.2, 1.0]
    difference = whole(*at) - slope
    np.testing.assert_allclose(difference, difference[0], atol=1e-12)


def test_truths_of_surfaces_are_exact():
    scenario, X = poly()
    u, v = [-1.0, 0.0, 1.0], [-0.5, 0.5]
    product = np.outer(u, v)
    ale = scenario.truth("ale", PAIR, (u, v))
    np.testing.assert_allclose(ale.value, product, atol=1e-9)
    assert ale.value.shape == (3, 2) and len(ale.method) == 6 and (ale.abs_error < 1e-8).all()
    pd = scenario.truth("pd", PAIR, (u, v))
    np.testing.assert_allclose(pd.value, product + np.square(u)[:, None], atol=1e-9)
    inner = scenario.truth("pd", PAIR, (u, v), interaction=True)
    np.testing.assert_allclose(inner.value, product, atol=1e-9)
    estimate = fe.ale(X, scenario, PAIR, bins=5, axis="scenario")
    beside = scenario.truth_of(estimate)
    assert beside.value.shape == estimate.effect.shape
    assert abs(estimate.effect - beside.value).max() < 0.5


def test_scores_of_surfaces_are_those_by_hand():
    scenario, X = poly()
    estimate = fe.ale(X, scenario, PAIR, bins=5, axis="scenario")
    points = [-1.0, -0.2, 0.6], [0.0, 1.0]
    found = fe.score(estimate, scenario, points=points)
    u, v = np.meshgrid(*points, indexing="ij")
    difference = estimate(u, v) - u * v
    difference -= difference.mean()
    assert found["mse"] == pytest.approx((difference**2).mean(), rel=1e-9)
    assert found["max"] == pytest.approx(abs(difference).max(), rel=1e-9)
    assert found.compared == 6 and found.left_out == 0
    as_it_is = fe.score(estimate, scenario, points=points, compare="Err", metrics=["mse"])
    known = estimate(u, v) - scenario.truth_of(estimate, points).value
    assert as_it_is["mse"] == pytest.approx((known**2).mean(), rel=1e-9)
    assert fe.score(estimate, scenario).compared == 21 * 21
    inside = fe.ale(X, scenario, PAIR, bins=5)
    with pytest.warns(fe.FeatureEffectsWarning, match="left out"):
        assert fe.score(inside, scenario).left_out > 0


def test_indices_are_those_of_the_program(fe_bench):
    scenario = fe.scenario("poly3")
    command = ["effect", "poly3", "--n", "150", "--seed", "2", "--outer", "50", "--bins", "4"]
    told = fe_bench(*command, "--indices", "h2.pair,ale.sd,additive.r2.pd")
    X, _ = scenario.sample(n=150, seed=2)
    found = fe.indices(X, scenario, ["h2.pair", "ale.sd", "additive.r2.pd"], outer=50, bins=4)
    assert len(found) == len(told) == 3 + 3 + 1
    for ours, theirs in zip(found, told, strict=True):
        of = tuple(theirs[key] for key in ("feature", "feature2") if theirs[key] is not None)
        assert (ours.name, ours.features) == (theirs["name"], of)
        assert (ours.value, ours.standard_error) == (theirs["value"], theirs["standard_error"])
        assert ours.lower == theirs["lower"] and ours.refused is None


def test_true_indices_are_exact():
    scenario, X = poly()
    (h,) = scenario.indices("h2.pair", [PAIR])
    # x1² has the variance 4/45 and x1 x2 has 1/9.
    assert h.value == pytest.approx((1 / 9) / (1 / 9 + 4 / 45), abs=h.abs_error + 1e-12)
    assert (h.name, h.features, h.refused) == ("h2.pair", PAIR, None)
    assert len(scenario.indices(["sobol.total"])) == 3
    dependent = fe.scenario("liu-product", rho=0.5)
    (sobol,) = dependent.indices("sobol.first", ["x1"])
    assert np.isnan(sobol.value) and "independent" in sobol.refused
    (estimate,) = fe.indices(dependent.sample(n=500, seed=1)[0], dependent, "sobol.first", ["x1"])
    assert np.isnan(estimate.value) and "independent" in estimate.refused


def test_surfaces_are_kept_and_shown():
    scenario, X = poly()
    found = fe.pdp(X, scenario, PAIR, grid=4)
    assert pickle.loads(pickle.dumps(found)) == found == fe.Surface.from_json(found.to_json())
    assert hash(found) == hash(pickle.loads(pickle.dumps(found)))
    assert "x1 and x2" in repr(found) and "4 × 4" in repr(found)
    pytest.importorskip("matplotlib").use("agg")
    axes = found.plot()
    assert axes.get_xlabel() == "x1" and axes.get_ylabel() == "x2"
    assert found._repr_png_()[:4] == b"\x89PNG"
    pandas = pytest.importorskip("pandas")
    table = found.to_frame()
    assert isinstance(table, pandas.DataFrame) and list(table.columns) == ["x", "x2", "effect"]
    row = table.iloc[4]
    assert row["x"] == found.x[1] and row["x2"] == found.x2[0] and row["effect"] == found.effect[1, 0]


def test_bands_have_the_shape_of_the_surface():
    pytest.importorskip("pandas")
    scenario = fe.scenario(f="x1*x2 + x1*x3", law={name: "uniform(-1, 1)" for name in ("x1", "x2", "x3")})
    X, _ = scenario.sample(n=200, seed=1)
    assert fe.pdp(X, scenario, PAIR, grid=3).band is None
    for surface in (
        fe.pdp(X, scenario, PAIR, grid=(3, 4), band="analytic", level=0.9),
        fe.ale(X, scenario, PAIR, bins=(2, 3), band="bootstrap", resamples=60, level=0.9),
    ):
        band = surface.band
        assert band is not None
        assert band["record"]["level"] == 0.9
        limits = [band[name] for name in ("simultaneous_lower", "lower", "upper", "simultaneous_upper")]
        assert all(limit.shape == surface.effect.shape for limit in limits)
        widths = [limits[2] - limits[1], limits[3] - limits[0]]
        assert 0 < widths[0].mean() < widths[1].mean()
        assert fe.Surface.from_json(surface.to_json()) == surface
        table = fe.Surface.from_json(surface.to_json()).to_frame()
        assert list(table.columns)[3:] == ["lower", "simultaneous_lower", "simultaneous_upper", "upper"]
        with pytest.warns(fe.FeatureEffectsWarning, match="80 of 441 points are left out"):
            found = fe.score(surface, scenario, metrics=["coverage", "simultaneous_width"])
        assert 0 <= found["coverage"] <= 1 and found["simultaneous_width"] > 0


def test_presets_of_pairs():
    scenario, X = poly()
    surface = fe.ale(X, scenario, PAIR, bins=(4, 3), preset="pyale-1.2")
    assert surface.record["centring"] == "bins" and surface.effect.shape == (5, 4)
    same = fe.ale(
        X, scenario, PAIR, bins=(4, 3), binning="quantile", quantiles="type-1-below", closed="right", center="bins"
    )
    assert (surface.effect == same.effect).all()
    surface = fe.pdp(X, scenario, PAIR, grid=4, preset="sklearn-1.9")
    assert surface.record["centring"] == "none" and surface.x[0] > X[:, 0].min()


def test_what_means_nothing_is_refused():
    scenario, X = poly()
    surface = fe.pdp(X, scenario, PAIR, grid=3)
    for work, why in (
        (lambda: fe.pdp(X, scenario, ("x1", "x1")), "named twice"),
        (lambda: fe.pdp(X, scenario, ("x1", "x2", "x3")), "of one feature or of two"),
        (lambda: fe.pdp(X, scenario, ("x1", "x9")), "`x9`"),
        (lambda: fe.rhale(X, scenario, PAIR), "`rhale` is of one feature"),
        (lambda: fe.pdp(X, scenario, PAIR, bins=3), "takes no option `bins`"),
        (lambda: fe.ale(X, scenario, PAIR, preset="alibi-0.9"), "the ALE of alibi 0.9 is of one feature"),
        (lambda: fe.ale(X, scenario, PAIR, band="analytic"), "take the band bootstrap"),
        (lambda: fe.score(surface, scenario, "pd"), "says it itself"),
        (lambda: fe.score(surface, scenario, metrics=["L_mu"]), "no `L_mu` of effects of pairs"),
        (lambda: scenario.truth("ale", PAIR, [0.0]), "one of each feature"),
        (lambda: scenario.truth("ale", "x1", [0.0], interaction=True), "of two features"),
        (lambda: scenario.truth("mplot", PAIR, ([0.0], [0.0])), "mplot"),
        (lambda: fe.indices(X, scenario, "h2pair"), "did you mean `h2.pair`"),
        (lambda: fe.indices(X, scenario, "h2.pair", "x1"), "must be a list"),
        (lambda: surface([0.0], [0.0, 1.0]), "same"),
        (lambda: surface([9.0], [0.0]), "9"),
    ):
        with pytest.raises(fe.FeatureEffectsError, match=why):
            work()
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": ["u", "v", "u", "v"]})
    with pytest.raises(fe.FeatureEffectsError, match="has levels"):
        fe.pdp(table, lambda rows: rows["a"], ("a", "b"))
