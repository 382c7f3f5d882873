#!/usr/bin/env python3
"""Records what XGBoost fits without drawing rows or features, for the tests of the crate fe-models.

Run as `record.py` beside it; writes crates/fe-models/tests/fixtures/boosting.json.
"""

import numpy as np
import xgboost
from record import case, friedman, write


def boosting():
    random = np.random.default_rng(4)
    x, y = friedman(random, 250)
    fresh, _ = friedman(random, 100)
    weights = np.round(random.uniform(0.1, 3, size=250), 4)
    settings = [
        ("default", None, {}),
        ("weighted", weights, {"n_estimators": 60, "learning_rate": 0.1}),
        # The tuned trees of Heiß et al., but for what they draw.
        (
            "tuned", None,
            {
                "n_estimators": 300, "max_depth": 5, "learning_rate": 0.05, "min_child_weight": 3.93,
                "lambda": 18.05, "alpha": 5.13,
            },
        ),
        ("stumps", None, {"max_depth": 1, "gamma": 4.0, "lambda": 0.5}),
    ]
    for name, weights, options in settings:
        given = {"reg_" + key if key in ("lambda", "alpha") else key: o for key, o in options.items()}
        fit = xgboost.XGBRegressor(**{"n_estimators": 100, "tree_method": "hist", "n_jobs": 1, **given})
        fit.fit(x, y, sample_weight=weights)
        yield case(
            name, x, y, weights, options=[f"{key}={value}" for key, value in options.items()],
            fresh=fresh.tolist(), predictions=fit.predict(x).astype(float).tolist(),
            predictions_fresh=fit.predict(fresh).astype(float).tolist(),
        )


if __name__ == "__main__":
    write("boosting", boosting())
