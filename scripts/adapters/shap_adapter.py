"""shap: Shapley values of the feature at its values, as its dependence plot shows them.

The package draws the points and no curve: the answer joins their means over values that are equal.
"""

import numpy as np
import shap

from fe_adapter import Effect, serve


def shapdp(task):
    background = task.options.take("background", 100)
    explained = task.options.take("subsample", 1000)
    seed = task.options.take("seed", 0)
    task.options.refuse_rest()
    generator = np.random.default_rng(seed)
    chosen = generator.permutation(len(task.X))[:explained]
    masker = shap.maskers.Independent(task.X, max_samples=background)
    values = shap.Explainer(task.model, masker, seed=seed)(task.X[chosen], silent=True).values
    x, place = np.unique(task.column[chosen], return_inverse=True)
    sums = np.bincount(place, weights=values[:, task.feature])
    return Effect(x, sums / np.bincount(place))


if __name__ == "__main__":
    serve({"shapdp": shapdp})
