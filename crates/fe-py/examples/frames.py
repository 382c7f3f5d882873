"""A frame of words and numbers, a pipeline of scikit-learn, and the effects of both in one figure."""

import sys

import numpy as np
import pandas as pd
from matplotlib import pyplot
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import feature_effects_bench as fe

random = np.random.default_rng(1)
homes = pd.DataFrame(
    {
        "size": random.uniform(20, 120, 1000),
        "rooms": random.integers(1, 6, 1000),
        "city": random.choice(["Ulm", "Aue", "Bonn"], 1000),
    }
)
worth = homes["city"].map({"Ulm": 60.0, "Aue": 0.0, "Bonn": 120.0})
price = 3 * homes["size"] + 10 * homes["rooms"] + worth + random.normal(0, 10, 1000)

words = ColumnTransformer([("words", OneHotEncoder(), ["city"])], remainder="passthrough")
model = make_pipeline(words, GradientBoostingRegressor(random_state=0)).fit(homes, price)

figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for ax, feature in zip(axes, ["size", "city"], strict=True):
    fe.plot([fe.ale(homes, model, feature), fe.pdp(homes, model, feature)], ax)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1])
print(fe.pdp(homes, model, "city", center="start").to_frame()[["level", "effect"]].round(0))
