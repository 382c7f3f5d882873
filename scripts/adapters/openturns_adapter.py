"""OpenTURNS: Sobol' indices by Saltelli's estimator.

OpenTURNS draws from laws, and an adapter has rows: the law of each feature is that of its values, each as likely as the
others, and the features are independent.
"""

import numpy as np
import openturns as ot

from fe_adapter import Indices, serve


def indices(task):
    count = task.options.take("samples", 1024)
    level = task.options.take("level", 0.95)
    seed = task.options.take("seed", 0)
    task.options.refuse_rest()
    ot.RandomGenerator.SetSeed(seed)
    with_pairs = any(name == "sobol.pair" for name, _ in task.indices)
    features = task.X.shape[1]
    laws = [ot.UserDefined(ot.Sample.BuildFromPoint(task.X[:, s].tolist())) for s in range(features)]
    design = ot.SobolIndicesExperiment(ot.JointDistribution(laws), count, with_pairs).generate()
    values = task.model(np.array(design))
    found = ot.SaltelliSensitivityAlgorithm(design, ot.Sample.BuildFromPoint(values.tolist()), count)
    found.setConfidenceLevel(level)
    told, lower, upper = [], [], []
    intervals = {"sobol.first": found.getFirstOrderIndicesInterval, "sobol.total": found.getTotalOrderIndicesInterval}
    values = {"sobol.first": found.getFirstOrderIndices, "sobol.total": found.getTotalOrderIndices}
    values = {name: values[name]() for name in {name for name, _ in task.indices} & values.keys()}
    intervals = {name: intervals[name]() for name in values}
    for name, of in task.indices:
        if name == "sobol.pair":
            # It has no interval of those.
            told.append(found.getSecondOrderIndices()[of[0], of[1]])
            lower.append(np.nan)
            upper.append(np.nan)
        else:
            told.append(values[name][of[0]])
            lower.append(intervals[name].getLowerBound()[of[0]])
            upper.append(intervals[name].getUpperBound()[of[0]])
    return Indices(np.array(told), np.array(lower), np.array(upper), level)


if __name__ == "__main__":
    serve({"indices": indices})
