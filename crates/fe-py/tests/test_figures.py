"""What is shown of effects: frames, figures, notebooks."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import feature_effects_bench as fe

S = fe.scenario("friedman1")
X, _ = S.sample(200, seed=4)


@pytest.fixture
def axes() -> Any:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    yield ax
    pyplot.close(figure)


def test_an_effect_is_drawn_with_its_band_and_its_truth(axes: Any) -> None:
    effect = fe.ale(X, S, 4, bins=8, band="analytic")
    assert effect.plot(axes, truth=S, label="mine") is axes
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["mine"].get_xdata().tolist() == effect.x.tolist()
    assert lines["mine"].get_ydata().tolist() == effect.effect.tolist()
    truth = lines["truth"]
    assert truth.get_ydata().tolist() == S.truth_of(effect, truth.get_xdata()).value.tolist()
    # Both bands.
    assert len(axes.collections) == 2
    assert axes.get_xlabel() == "x4"
    axes.figure.canvas.draw()


def test_several_effects_share_a_picture(axes: Any) -> None:
    effects = [fe.pdp(X, S, 1), fe.ale(X, S, 1), fe.ice(X, S, 1, grid=5)]
    assert fe.plot(effects, axes) is axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["pdp", "ale", "ice"]
    with pytest.raises(fe.FeatureEffectsError, match="share an axis; these are of x1, x2"):
        fe.plot([fe.pdp(X, S, 1), fe.pdp(X, S, 2)])
    with pytest.raises(fe.FeatureEffectsError, match="there are no effects"):
        fe.plot([])
    with pytest.raises(fe.FeatureEffectsError, match="`plot`|regional-ale of x1"):
        fe.plot([fe.regional_ale(X, S, 1)])
    assert len(fe.plot(effects[0], axes).lines) > 2
    with pytest.raises(fe.FeatureEffectsError, match="labels: 1 given, 3 needed"):
        fe.plot(effects, axes, labels=["a"])


def test_regions_are_drawn_by_their_rules(axes: Any) -> None:
    scenario = fe.scenario("effector-regional")
    rows, _ = scenario.sample(200, seed=3)
    regional = fe.regional_rhale(rows, scenario, 1, depth=1)
    assert regional.plot(axes) is axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [node["rule"]["text"] for node in regional.nodes[1:]]
    frame = pytest.importorskip("pandas") and regional.to_frame()
    assert list(dict.fromkeys(frame["region"])) == labels
    leaf = regional.nodes[1]["effect"]
    assert frame[frame["region"] == labels[0]]["effect"].tolist() == leaf.effect.tolist()
    assert "x3" in regional._repr_html_()


def test_new_axes_where_there_are_none(axes: Any) -> None:
    from matplotlib import pyplot

    drawn = fe.pdp(X, S, 1).plot()
    assert drawn is not axes
    pyplot.close(drawn.figure)


def test_curves_become_frames() -> None:
    pd = pytest.importorskip("pandas")
    effect = fe.ale(X, S, 4, bins=5, band="analytic")
    frame = effect.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == [
        "x", "effect", "heterogeneity", "lower", "simultaneous_lower", "simultaneous_upper", "upper",
    ]  # fmt: skip
    for name in ("x", "effect", "heterogeneity"):
        np.testing.assert_array_equal(frame[name], getattr(effect, name))
    assert effect.band is not None
    assert frame["upper"].tolist() == effect.band["upper"].tolist()
    words = fe.pdp(pd.DataFrame({"word": ["b", "a", "c", "a"]}), lambda rows: rows["word"] == "a", "word")
    assert words.to_frame()["level"].tolist() == ["a", "b", "c"]


def test_polars_where_there_is_no_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    pl = pytest.importorskip("polars")
    monkeypatch.setitem(sys.modules, "pandas", None)
    effect = fe.pdp(X, S, 1)
    assert isinstance(effect.to_frame(), pl.DataFrame)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(fe.FeatureEffectsError, match="needs pandas or polars"):
        effect.to_frame()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(fe.FeatureEffectsError, match="plot: needs matplotlib"):
        effect.plot()


def test_notebooks_show_a_table_that_is_safe() -> None:
    effect = fe.ale(X, S, 1, bins=40, names=["<script>", *"bcdefg"])
    shown = effect._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown
    assert shown.count("<tr>") == 9
    assert f"{effect.effect[0]:.6g}" in shown and f"{effect.effect[-1]:.6g}" in shown
    assert "8 of 41 points" in shown
    assert fe.pdp(X, S, 1, grid=2)._repr_html_().count("<tr>") == 3


def test_a_notebook_shows_a_picture() -> None:
    pytest.importorskip("matplotlib")
    scenario = fe.scenario("effector-regional")
    rows, _ = scenario.sample(200, seed=3)
    for thing in (fe.ale(X, S, 4, bins=8), fe.regional_pdp(rows, scenario, 1)):
        picture = thing._repr_png_()
        assert picture is not None and picture.startswith(b"\x89PNG")


def test_without_matplotlib_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert fe.ale(X, S, 4, bins=8)._repr_png_() is None
