"""SALib: Sobol' indices by Saltelli's design.

SALib draws from laws, and an adapter has rows: each coordinate of its design picks one of the values of a feature, each as
likely as the others and independently of the other features.
"""

import numpy as np
from SALib.analyze import sobol as analyze
from SALib.sample import sobol as sample

from fe_adapter import Indices, serve

# Index: what SALib calls it.
NAMES = {"sobol.first": "S1", "sobol.total": "ST", "sobol.pair": "S2"}


def indices(task):
    count = task.options.take("samples", 1024)
    level = task.options.take("level", 0.95)
    seed = task.options.take("seed", 0)
    task.options.refuse_rest()
    rows, features = task.X.shape
    with_pairs = any(name == "sobol.pair" for name, _ in task.indices)
    problem = {
        "num_vars": features,
        "names": [f"x{s + 1}" for s in range(features)],
        "bounds": [[0.0, 1.0]] * features,
    }
    design = sample.sample(problem, count, calc_second_order=with_pairs, seed=seed)
    places = np.minimum((design * rows).astype(int), rows - 1)
    values = np.sort(task.X, axis=0)
    drawn = np.take_along_axis(values, places, axis=0)
    found = analyze.analyze(
        problem,
        task.model(drawn),
        calc_second_order=with_pairs,
        conf_level=level,
        seed=seed,
    )
    # Of a pair SALib tells the upper half of a matrix.
    place = lambda of: tuple(sorted(of)) if len(of) == 2 else of[0]
    told = [found[NAMES[name]][place(of)] for name, of in task.indices]
    half = [found[NAMES[name] + "_conf"][place(of)] for name, of in task.indices]
    told, half = np.array(told, dtype=float), np.array(half, dtype=float)
    return Indices(told, told - half, told + half, level)


if __name__ == "__main__":
    serve({"indices": indices})
