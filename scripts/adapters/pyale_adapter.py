"""PyALE: ALE of one feature on quantile bins, with its band, and of two."""

import pandas as pd
from PyALE import ale as package_ale

from fe_adapter import Effect, Surface, serve


class Predictor:
    """What PyALE asks: frames in, values out."""

    def __init__(self, model):
        self._model = model

    def predict(self, frame):
        return self._model(frame.to_numpy())


def ale(task):
    bins, level = task.options.take("bins", 20), task.options.take("level", 0.95)
    task.options.refuse_rest()
    names = [f"x{s + 1}" for s in range(task.X.shape[1])]
    frame = pd.DataFrame(task.X, columns=names)
    answer = package_ale(
        X=frame,
        model=Predictor(task.model),
        feature=[names[task.feature]],
        feature_type="continuous",
        grid_size=bins,
        include_CI=True,
        C=level,
        plot=False,
    )
    percent = f"{int(level * 100)}%"
    return Effect(
        answer.index.to_numpy(dtype=float),
        answer["eff"].to_numpy(),
        lower=answer[f"lowerCI_{percent}"].to_numpy(),
        upper=answer[f"upperCI_{percent}"].to_numpy(),
        level=level,
    )


def ale_of_pair(task):
    bins = task.options.take("bins", 20)
    task.options.refuse_rest()
    names = [f"x{s + 1}" for s in range(task.X.shape[1])]
    answer = package_ale(
        X=pd.DataFrame(task.X, columns=names),
        model=Predictor(task.model),
        feature=[names[task.feature], names[task.feature2]],
        feature_type="continuous",
        grid_size=bins,
        plot=False,
    )
    x, x2 = answer.index.to_numpy(dtype=float), answer.columns.to_numpy(dtype=float)
    return Surface(x, x2, answer.to_numpy())


if __name__ == "__main__":
    serve({"ale": ale}, {"ale": ale_of_pair})
