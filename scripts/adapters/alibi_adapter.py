"""alibi: ALE on its own quantile grid, or on limits that are given."""

import numpy as np
from alibi.explainers import ALE

from fe_adapter import Effect, Unsupported, serve


def ale(task):
    name = task.options.take("binning", "quantile-min")
    points, limits = task.options.take("min_points", 4), None
    if name == "fixed":
        column, count = task.column, task.options.take("bins", 20)
        limits = {task.feature: np.linspace(column.min(), column.max(), count + 1)}
    elif name != "quantile-min":
        raise Unsupported(f"no binning `{name}`")
    task.options.refuse_rest()
    explainer = ALE(task.model)
    answer = explainer.explain(
        task.X, features=[task.feature], min_bin_points=points, grid_points=limits
    )
    return Effect(answer.feature_values[0], answer.ale_values[0][:, 0])


if __name__ == "__main__":
    serve({"ale": ale})
