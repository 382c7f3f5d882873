"""A fitted model of scikit-learn: its effects, and how far they are from those of the function.

What a model adds to the error of an effect is seen beside the same estimator on the function itself.
"""

from sklearn.ensemble import HistGradientBoostingRegressor

import feature_effects_bench as fe

scenario = fe.scenario("friedman1", noise_features=0)
X, y = scenario.sample(n=500, seed=1, snr=5.0)
model = HistGradientBoostingRegressor(max_iter=50, random_state=0).fit(X, y)

print("feature  estimator  rmse of the model's effect  of the function's")
for feature in range(1, scenario.dimension + 1):
    for estimator, truth in (("pdp", "pd"), ("ale", "ale")):
        fitted = fe.estimate(estimator, X, model.predict, feature, axis=scenario)
        exact = fe.estimate(estimator, X, scenario, feature, axis=scenario)
        rmse = [fe.score(effect, scenario, truth)["rmse"] for effect in (fitted, exact)]
        print(f"x{feature:<7} {estimator:<10} {rmse[0]:<27.4f} {rmse[1]:.4f}")

# Where the effect of x1 differs: by the value of x2, with which it interacts.
print(fe.regional_pdp(X, model.predict, feature=1, depth=1))
