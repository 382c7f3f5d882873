"""effector: PDP, derivative PDP, ALE, RHALE with each of its binnings, SHAP-DP, and their regions."""

from functools import partial

import effector
import effector.axis_partitioning as ap
import effector.space_partitioning as sp
import numpy as np

from fe_adapter import Effect, Unsupported, serve

BINNINGS = {
    "dp": (ap.DynamicProgramming, "max_nof_bins", True),
    "agglomerative": (ap.Agglomerative, "init_nof_bins", True),
    "fixed": (ap.Fixed, "nof_bins", False),
    "quantile": (ap.Quantile, "nof_bins", False),
}


def binning(options, default):
    """A binning from the options; effector's own defaults where they are silent."""
    name = options.take("binning", default)
    if name not in BINNINGS:
        raise Unsupported(f"no binning `{name}`")
    make, size, is_automatic = BINNINGS[name]
    given = {size: options.take("bins"), "min_points_per_bin": options.take("min_points")}
    if is_automatic:
        given["discount"] = options.take("discount")
    return make(**{key: value for key, value in given.items() if value is not None})


def schema(task):
    """All features are continuous, however few values they have; they are x1, x2, ... in rules."""
    features = range(1, task.X.shape[1] + 1)
    return {
        "feature_names": [f"x{s}" for s in features],
        "feature_types": ["continuous"] * len(features),
    }


def make(name, task, rows):
    """effector's object for an effect."""
    X = task.X
    shared = {"nof_instances": rows, "schema": schema(task)}
    if name in ("dpdp", "rhale"):
        kind = effector.DerPDP if name == "dpdp" else effector.RHALE
        return kind(X, task.model, task.model.jacobian, **shared)
    return {"pdp": effector.PDP, "ale": effector.ALE, "shapdp": effector.ShapDP}[name](
        X, task.model, **shared
    )


# effector's finders of regions, by its names, and how the population's tree grows that theirs is compared with.
FINDERS = {"best": (sp.Best, "cart"), "best_level_wise": (sp.BestLevelWise, "levelwise")}


def finder_of(options):
    """A finder from the options, and what is said of it in the tree; effector's defaults where they are silent."""
    name = options.take("finder", "best")
    if name not in FINDERS:
        raise Unsupported(f"no finder `{name}`")
    make, partition = FINDERS[name]
    depth, drop = options.take("depth", 2), options.take("drop", 0.05)
    size = options.take("candidates")
    given = {"max_depth": depth, "min_heterogeneity_decrease_pcg": drop}
    given |= {} if size is None else {"numerical_features_grid_size": size + 1}
    return make(**given), {"depth": depth, "drop": drop, "partition": partition}


def condition(rule, parent):
    """The condition by which a region is cut out of its parent."""
    for feature in rule.features:
        own, before = rule[feature], parent.get(feature)
        if before is not None and own == before:
            continue
        is_below = np.isfinite(own.hi) and (before is None or own.hi != before.hi)
        at = {"at-most": own.hi} if is_below else {"above": own.lo}
        return {"feature": f"x{feature + 1}"} | at
    raise ValueError(f"the region `{rule}` is its parent")


def tree_of(partition, x):
    """Regions as the harness scores them. What effector lowers is none of the named values, and stays with it."""
    nodes = []
    for region in partition:
        node = {"share": float(region.weight)}
        if region.parent_idx is not None:
            parent = partition[region.parent_idx].rule
            node |= {"parent": int(region.parent_idx), "rule": condition(region.rule, parent)}
        node |= {"x": x.tolist(), "effect": np.asarray(partition.eval(region.idx, x)).tolist()}
        nodes.append(node)
    return {"nodes": nodes}


def estimated(name, is_regional, task):
    """An effect at the points of the grid; with the regions that it is divided into, if asked for."""
    options = task.options
    default_binning = {"ale": "fixed", "rhale": "dp", "shapdp": "dp"}.get(name)
    chosen = {"binning_method": binning(options, default_binning)} if default_binning else {}
    # All rows, not a sample of them; but SHAP-DP takes a sample of as many as effector does.
    rows = options.take("subsample", 1000 if name == "shapdp" else "all")
    finder, growth = finder_of(options) if is_regional else (None, {})
    options.refuse_rest()
    effect = make(name, task, rows)
    effect.fit(features=task.feature, **chosen)
    x = task.points
    record, tree = {}, None
    if is_regional:
        partition = effect.find_regions(task.feature, finder=finder)
        tree = tree_of(partition, x) | growth
        if name == "ale":
            tree["limits"] = np.asarray(effect._ensure_local(task.feature)["limits"]).tolist()
        record["regions"] = [
            {
                "rule": str(region.rule),
                "heterogeneity": float(region.heterogeneity),
                "rows": int(region.nof_instances),
                "level": int(region.level),
                "parent": region.parent_idx,
            }
            for region in partition.regions
        ]
    curve, spread = effect.eval(task.feature, x), effect.eval_heter(task.feature, x)
    return Effect(x, curve, spread, record=record, tree=tree)


if __name__ == "__main__":
    names = ["pdp", "dpdp", "ale", "rhale", "shapdp"]
    plain = {name: partial(estimated, name, False) for name in names}
    regional = {f"regional-{name}": partial(estimated, name, True) for name in names}
    serve(plain | regional)
