"""A network of PyTorch, with its Jacobian by automatic differentiation: RHALE and DALE.

RHALE asks for all derivatives at the rows once; differences would ask for the network twice a row.
"""

import numpy as np
import torch

import feature_effects_bench as fe

torch.manual_seed(0)
scenario = fe.scenario("piecewise-linear")
X, y = scenario.sample(n=2000, seed=1, snr=10.0)

inputs, target = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
network = torch.nn.Sequential(
    torch.nn.Linear(X.shape[1], 64), torch.nn.Tanh(),
    torch.nn.Linear(64, 64), torch.nn.Tanh(),
    torch.nn.Linear(64, 1),
)  # fmt: skip
optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
for _ in range(500):
    optimiser.zero_grad()
    loss = torch.nn.functional.mse_loss(network(inputs).squeeze(1), target)
    loss.backward()
    optimiser.step()


def predict(rows: np.ndarray) -> np.ndarray:
    """Predictions, one for each row."""
    with torch.no_grad():
        values: np.ndarray = network(torch.as_tensor(rows, dtype=torch.float32)).squeeze(1).numpy()
    return values


def jacobian(rows: np.ndarray) -> np.ndarray:
    """All partial derivatives, a row of them for each row."""
    at = torch.as_tensor(rows, dtype=torch.float32).requires_grad_()
    partials: np.ndarray = torch.autograd.grad(network(at).sum(), at)[0].numpy()
    return partials


def rmse(effect: fe.Effect) -> float:
    """How far an effect is from the truth of the function."""
    return fe.score(effect, scenario, "ale-derivative")["rmse"]


of_network = fe.rhale(X, predict, feature=1, jacobian=jacobian, axis=scenario)
print(f"rhale: rmse {rmse(of_network):.4f}, of the function itself {rmse(fe.rhale(X, scenario, axis=scenario)):.4f}")
of_network = fe.dale(X, predict, feature=1, jacobian=jacobian, bins=20, axis=scenario)
of_function = fe.dale(X, scenario, feature=1, bins=20, axis=scenario)
print(f"dale:  rmse {rmse(of_network):.4f}, of the function itself {rmse(of_function):.4f}")
