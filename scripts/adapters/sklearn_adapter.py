"""scikit-learn: partial dependence of one and of two features by brute force, with the variance of centred ICE curves."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.inspection import partial_dependence

from fe_adapter import Effect, Surface, serve


class Predictor(RegressorMixin, BaseEstimator):
    """What scikit-learn asks: an estimator that says it was fitted."""

    def __init__(self, model=None):
        self.model = model
        self.fitted_ = True

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.model(X)


def pdp(task):
    grid = task.options.take("grid", 100)
    percentiles = tuple(task.options.take("percentiles", (0.05, 0.95)))
    with_ice = task.options.take("ice", False)
    task.options.refuse_rest()
    answer = partial_dependence(
        Predictor(task.model),
        task.X,
        [task.feature],
        grid_resolution=grid,
        percentiles=percentiles,
        kind="both" if with_ice else "average",
    )
    x, spread = answer["grid_values"][0], None
    if with_ice:
        curves = answer["individual"][0]
        spread = np.var(curves - curves.mean(axis=1, keepdims=True), axis=0)
    return Effect(x, answer["average"][0], spread)


def pdp_of_pair(task):
    grid = task.options.take("grid", 100)
    percentiles = tuple(task.options.take("percentiles", (0.05, 0.95)))
    task.options.refuse_rest()
    answer = partial_dependence(
        Predictor(task.model),
        task.X,
        [(task.feature, task.feature2)],
        grid_resolution=grid,
        percentiles=percentiles,
        kind="average",
    )
    return Surface(*answer["grid_values"], answer["average"][0])


if __name__ == "__main__":
    serve({"pdp": pdp}, {"pdp": pdp_of_pair})
