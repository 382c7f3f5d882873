"""Networks of PyTorch as models: their predictions, and their derivatives by automatic differentiation."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._native import FeatureEffectsError

Array = NDArray[np.float64]


def is_module(model: Any) -> bool:
    """Whether a model is a ``torch.nn.Module``, which is told without importing torch."""
    return any(kind.__name__ == "Module" and kind.__module__.startswith("torch.nn") for kind in type(model).__mro__)


class Network:
    """A copy of a module as a function of rows, in double precision and in its evaluation mode.

    In single precision differences of predictions would be rounding noise.
    """

    def __init__(self, module: Any) -> None:
        self._module = copy.deepcopy(module).double().eval()
        parameter = next(iter(self._module.parameters()), None)
        self._device = None if parameter is None else parameter.device

    def __call__(self, rows: Array) -> Array:
        """Predictions, of shape (m,) or, for Q outputs, (m, Q)."""
        import torch

        with torch.no_grad():
            return _plain(self._of(rows)[1])

    def jacobian(self, rows: Array) -> Array:
        """All partial derivatives, of shape (m, D) or, for Q outputs, (m, Q, D)."""
        import torch

        inputs, outputs = self._of(rows, True)
        each = [outputs] if outputs.ndim == 1 else [outputs[:, q] for q in range(outputs.shape[1])]
        # A row of the output depends on its own row of the input alone, so that the sum has all of their gradients.
        partials = [
            torch.autograd.grad(output.sum(), inputs, retain_graph=True)[0]
            if output.requires_grad
            else torch.zeros_like(inputs)
            for output in each
        ]
        return _plain(partials[0] if outputs.ndim == 1 else torch.stack(partials, dim=1))

    def _of(self, rows: Array, differentiable: bool = False) -> tuple[Any, Any]:
        import torch

        inputs = torch.tensor(rows, dtype=torch.float64, device=self._device, requires_grad=differentiable)
        outputs = self._module(inputs)
        if not isinstance(outputs, torch.Tensor):
            raise FeatureEffectsError(f"model: the module returned {type(outputs).__name__}, not a tensor")
        outputs = outputs.reshape(len(rows), -1)
        return inputs, outputs[:, 0] if outputs.shape[1] == 1 else outputs


def _plain(tensor: Any) -> Array:
    found: Array = tensor.detach().cpu().numpy()
    return found
