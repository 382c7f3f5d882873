"""Ten lines that score an ALE of one's own against the exact truth."""

import numpy as np

import feature_effects_bench as fe

s = fe.scenario("sin-indicator", noise_sd=0.1)
X, _ = s.sample(n=2000, seed=7)
z = np.quantile(X[:, 0], np.linspace(0, 1, 21))
k = np.clip(np.searchsorted(z, X[:, 0], side="right") - 1, 0, 19)
low, high = X.copy(), X.copy()
low[:, 0], high[:, 0] = z[k], z[k + 1]
steps = np.bincount(k, s.predict(high) - s.predict(low)) / np.bincount(k)
ale = np.concatenate([[0], np.cumsum(steps)])
x = np.linspace(z[0], z[-1], 100)
print("own ALE:", fe.score((x, np.interp(x, z, ale)), s, effect="ale", feature=1))

# The library's, on the same bins and compared at the same points:
effect = fe.ale(X, s, 1, binning="quantile", bins=20)
print("fe.ale: ", fe.score(effect, s, effect="ale", points=x))
