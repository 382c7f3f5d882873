"""A network of Keras on JAX, with its Jacobian by automatic differentiation: RHALE beside partial dependence.

Any backend of Keras predicts; derivatives are those of the backend, here `jax.grad`.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import keras
import numpy as np

import feature_effects_bench as fe

keras.utils.set_random_seed(0)
scenario = fe.scenario("piecewise-linear")
X, y = scenario.sample(n=2000, seed=1, snr=10.0)

network = keras.Sequential([
    keras.Input((X.shape[1],)),
    keras.layers.Dense(64, activation="tanh"),
    keras.layers.Dense(64, activation="tanh"),
    keras.layers.Dense(1),
])  # fmt: skip
network.compile(optimizer=keras.optimizers.Adam(1e-2), loss="mse")
network.fit(X, y, batch_size=256, epochs=60, verbose=0)


def predict(rows: np.ndarray) -> np.ndarray:
    """Predictions, one for each row."""
    values: np.ndarray = network.predict(rows, batch_size=4096, verbose=0)[:, 0]
    return values


of_each = jax.jit(jax.vmap(jax.grad(lambda row: network(row[None])[0, 0])))


def jacobian(rows: np.ndarray) -> np.ndarray:
    """All partial derivatives, a row of them for each row."""
    return np.asarray(of_each(rows.astype("float32")))


def rmse(effect: fe.Effect, name: str) -> float:
    """How far an effect is from the truth of the function."""
    return fe.score(effect, scenario, name)["rmse"]


of_network = fe.rhale(X, predict, feature=1, jacobian=jacobian, axis=scenario)
print(f"rhale: rmse {rmse(of_network, 'ale-derivative'):.4f} of the network")
of_network = fe.pdp(X, predict, feature=1, axis=scenario)
print(f"pdp:   rmse {rmse(of_network, 'pd'):.4f} of the network")
