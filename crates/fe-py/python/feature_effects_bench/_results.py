"""What is shown of results: tables, figures, and what a notebook prints."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from ._native import Effect, FeatureEffectsError, RegionalEffect, Scenario, Surface

_SHOWN = 8
"""Rows of a table in a notebook."""


def columns(effect: Effect) -> dict[str, Any]:
    """The curve at its knots, column by column, with the limits of its band where there is one."""
    found: dict[str, Any] = {"x": effect.x}
    if effect.levels is not None:
        found["level"] = effect.levels
    found |= {"effect": effect.effect, "heterogeneity": effect.heterogeneity}
    band = effect.band or {}
    return found | {name: limits for name, limits in band.items() if name != "record"}


def to_frame(effect: Effect) -> Any:
    """A frame of pandas or, where there is none, of polars."""
    return frame(columns(effect))


def regional_to_frame(regional: RegionalEffect) -> Any:
    """The curves of all leaves, one below the other, with the region that each is of."""
    parts = []
    for name, effect in _leaves(regional):
        of_leaf = columns(effect)
        parts.append({"region": [name] * len(effect.x)} | of_leaf)
    return frame({key: np.concatenate([part[key] for part in parts]) for key in parts[0]})


def frame(table: dict[str, Any]) -> Any:
    """Columns as a frame of pandas or, where there is none, of polars."""
    for library in ("pandas", "polars"):
        try:
            module = __import__(library)
        except ImportError:
            continue
        return module.DataFrame(table)
    raise FeatureEffectsError("to_frame: needs pandas or polars")


def _leaves(regional: RegionalEffect) -> list[tuple[str, Effect]]:
    """The effects of the leaves, by the rules that lead to them."""
    nodes = regional.nodes

    def name(place: int | None) -> list[str]:
        if place is None or nodes[place]["rule"] is None:
            return []
        return [*name(nodes[place]["parent"]), str(nodes[place]["rule"]["text"])]

    split = {node["parent"] for node in nodes}
    leaves = [(place, node["effect"]) for place, node in enumerate(nodes) if place not in split]
    return [(" and ".join(name(place)) or "all", effect) for place, effect in leaves]


# The colours of the program's figures come from the palette of Okabe and Ito.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def _axes(ax: Any) -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise FeatureEffectsError("plot: needs matplotlib") from error
    return pyplot.subplots()[1] if ax is None else ax


def plot_effect(effect: Effect, ax: Any = None, *, truth: Scenario | None = None, label: str | None = None) -> Any:
    """Draws one effect."""
    return plot([effect], ax, truth=truth, labels=None if label is None else [label])


def plot_regional(regional: RegionalEffect, ax: Any = None) -> Any:
    """Draws the effects of all leaves into one picture."""
    leaves = _leaves(regional)
    return plot([effect for _, effect in leaves], ax, labels=[name for name, _ in leaves])


def plot(
    effects: Effect | Iterable[Effect],
    ax: Any = None,
    *,
    truth: Scenario | None = None,
    labels: Iterable[str] | None = None,
) -> Any:
    """Draws effects of one feature into one picture, and returns its axes.

    Each with its confidence band, the wider one where it is simultaneous too, and the curves of instances where the
    estimator keeps them; below, the deciles of the feature.

    Parameters
    ----------
    effects
        Effects of the same feature, by any estimators; or one.
    ax
        Axes of matplotlib; new ones unless given.
    truth
        A scenario, whose exact truth of what the first effect estimates is drawn too, centred as that is.
    labels
        What they are called in the legend; the names of the estimators unless given.
    """
    effects = [effects] if isinstance(effects, Effect) else list(effects)
    if not effects:
        raise FeatureEffectsError("plot: there are no effects")
    if other := [thing for thing in effects if not isinstance(thing, Effect)]:
        raise FeatureEffectsError(f"plot: {other[0]!r} is no effect; a regional one draws itself, by its method `plot`")
    if len({effect.name for effect in effects}) > 1:
        names = ", ".join(sorted({effect.name for effect in effects}))
        raise FeatureEffectsError(f"plot: effects of one feature share an axis; these are of {names}")
    named = [_label(effect) for effect in effects] if labels is None else [str(label) for label in labels]
    if len(named) != len(effects):
        raise FeatureEffectsError(f"labels: {len(named)} given, {len(effects)} needed")
    ax = _axes(ax)
    for place, (effect, label) in enumerate(zip(effects, named, strict=True)):
        _draw(ax, effect, label, _COLOURS[place % len(_COLOURS)])
    if truth is not None:
        x = effects[0].x
        at = x if effects[0].levels is not None else np.linspace(x[0], x[-1], 400)
        known = truth.truth_of(effects[0], at)  # type: ignore[attr-defined]
        ax.plot(at, known.value, color="black", linestyle="--", linewidth=1, label="truth")
    first = effects[0]
    if first.levels is not None:
        ax.set_xticks(first.x, first.levels)
    elif first.deciles is not None:
        # Lengths of ticks are in shares of the height, wherever the curves are.
        ax.plot(first.deciles, np.full(11, 0.015), "|", color="grey", transform=ax.get_xaxis_transform())
    ax.set_xlabel(first.name)
    ax.set_ylabel("effect")
    if len(effects) > 1 or truth is not None:
        ax.legend()
    return ax


def _label(effect: Effect) -> str:
    return effect.estimator if effect.output == 1 else f"{effect.estimator}, output {effect.output}"


def _draw(ax: Any, effect: Effect, label: str, colour: str) -> None:
    if effect.curves is not None:
        # More than a few hundred make one area of them.
        every = max(1, len(effect.curves.rows) // 200)
        ax.plot(effect.curves.x, effect.curves.values[::every].T, color=colour, alpha=0.1, linewidth=0.5)
    band = effect.band or {}
    for kind, alpha in (("simultaneous_", 0.12), ("", 0.25)):
        if f"{kind}lower" in band:
            limits = band[f"{kind}lower"], band[f"{kind}upper"]
            ax.fill_between(effect.x, *limits, color=colour, alpha=alpha, linewidth=0)
    mark = "o-" if effect.levels is not None else "-"
    ax.plot(effect.x, effect.effect, mark, color=colour, label=label)


def surface_to_frame(surface: Surface) -> Any:
    """A row for each pair of points, with the limits of its band where there is one."""
    x, x2 = np.meshgrid(surface.x, surface.x2, indexing="ij")
    limits = {name: limits.ravel() for name, limits in (surface.band or {}).items() if name != "record"}
    return frame({"x": x.ravel(), "x2": x2.ravel(), "effect": surface.effect.ravel()} | limits)


def plot_surface(surface: Surface, ax: Any = None) -> Any:
    """Draws the effect of two features: colours that are as strong on either side of 0, and contours."""
    ax = _axes(ax)
    most = float(abs(surface.effect).max()) or 1.0
    drawn = ax.pcolormesh(
        surface.x, surface.x2, surface.effect.T, cmap="RdBu_r", vmin=-most, vmax=most, shading="gouraud"
    )
    ax.contour(surface.x, surface.x2, surface.effect.T, colors="black", linewidths=0.5)
    first, second = surface.names
    ax.set_xlabel(first)
    ax.set_ylabel(second)
    ax.figure.colorbar(drawn, ax=ax, label="effect")
    return ax


def png(draw: Any) -> bytes | None:
    """A picture for a notebook, by something that draws into axes; none without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return None
    from io import BytesIO

    figure = Figure(figsize=(5, 3.5), layout="constrained")
    FigureCanvasAgg(figure)
    draw(ax=figure.subplots())
    written = BytesIO()
    figure.savefig(written, format="png", dpi=100)
    return written.getvalue()


def html(effect: Effect) -> str:
    """What a notebook shows of an effect."""
    table = columns(effect)
    count = len(effect.x)
    every = sorted({round(place * (count - 1) / (min(count, _SHOWN) - 1)) for place in range(min(count, _SHOWN))}
                   ) if count > 1 else [0]  # fmt: skip
    head = "".join(f"<th>{escape(name)}</th>" for name in table)
    rows = ("".join(f"<td>{_cell(values[place])}</td>" for values in table.values()) for place in every)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    caption = f"{escape(repr(effect)[1:-1])}; {len(every)} of {count} points"
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def regional_html(regional: RegionalEffect) -> str:
    """What a notebook shows of a regional effect."""
    return f"<pre>{escape(str(regional))}</pre>"


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))
