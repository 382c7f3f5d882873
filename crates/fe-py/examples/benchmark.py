"""How wrong is an estimator of one's own? Beside the reference estimators, over all scenarios."""

import numpy as np

import feature_effects_bench as fe


def own_ale(X: np.ndarray, scenario: fe.Scenario, feature: int) -> tuple[np.ndarray, np.ndarray]:
    """ALE on ten quantile bins."""
    j = feature - 1
    z = np.unique(np.quantile(X[:, j], np.linspace(0, 1, 11)))
    k = np.clip(np.searchsorted(z, X[:, j], side="left") - 1, 0, len(z) - 2)
    low, high = X.copy(), X.copy()
    low[:, j], high[:, j] = z[k], z[k + 1]
    steps = np.bincount(k, scenario.predict(high) - scenario.predict(low)) / np.bincount(k)
    return z, np.concatenate([[0], np.cumsum(steps)])


table = fe.benchmark(own_ale, "ale", n=500, replicates=5)
ok = table[table["status"] == "ok"]
print(f"{len(ok)} of {len(table)} features of {table['scenario'].nunique()} scenarios")
print(f"the best in {(ok['rank'] == 1).mean():.0%}, worse beyond chance in {(ok['p_worse'] < 0.05).mean():.0%}")
print(ok.sort_values("ratio").tail(5)[["scenario", "feature", "rmse", "reference_rmse", "floor", "ratio"]].to_string(index=False))
