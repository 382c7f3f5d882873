"""artemis: Friedman's H of pairs of features, and of a feature and the rest."""

import numpy as np
import pandas as pd
from artemis.interactions_methods.model_agnostic import FriedmanHStatisticMethod

from fe_adapter import Indices, serve


def indices(task):
    rows = task.options.take("rows")
    seed = task.options.take("seed", 0)
    task.options.refuse_rest()
    names = [f"x{s + 1}" for s in range(task.X.shape[1])]
    asked = sorted({s for _, of in task.indices for s in of})
    method = FriedmanHStatisticMethod(random_state=seed)
    method.fit(
        None,
        pd.DataFrame(task.X, columns=names),
        n=rows,
        predict_function=lambda _, frame: task.model(np.asarray(frame)),
        features=[names[s] for s in asked],
        calculate_ova=any(name == "h2.overall" for name, _ in task.indices),
    )
    pairs = {frozenset(row[:2]): row[2] for row in method.ovo.itertuples(index=False)}
    alone = {} if method.ova is None else dict(method.ova.itertuples(index=False))
    of_names = lambda of: [names[s] for s in of]
    told = [
        pairs[frozenset(of_names(of))] if name == "h2.pair" else alone[of_names(of)[0]]
        for name, of in task.indices
    ]
    return Indices(np.array(told, dtype=float))


if __name__ == "__main__":
    serve({"indices": indices})
