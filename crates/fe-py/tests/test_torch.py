"""Networks of PyTorch as models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import feature_effects_bench as fe

torch = pytest.importorskip("torch")

X = np.random.default_rng(5).uniform(-1, 1, size=(300, 3))


def network(outputs: int = 1) -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(16, outputs)
    )  # fmt: skip


def by_hand(module: Any) -> tuple[Any, Any]:
    first, last = (layer.double() for layer in (module[0], module[3]))
    weights = [first.weight, first.bias, last.weight, last.bias]
    w, b, v, c = (np.array(tensor.detach().tolist()) for tensor in weights)

    def predict(rows: Any) -> Any:
        values = np.tanh(rows @ w.T + b) @ v.T + c
        return values[:, 0] if len(v) == 1 else values

    def jacobian(rows: Any) -> Any:
        partials = np.einsum("nh,qh,hd->nqd", 1 - np.tanh(rows @ w.T + b) ** 2, v, w)
        return partials[:, 0] if len(v) == 1 else partials

    return predict, jacobian


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("estimator", ["pdp", "ale", "dale", "rhale", "dpdp", "ice"])
def test_a_module_is_asked_in_double_precision_and_without_dropout(estimator: str, outputs: int) -> None:
    module = network(outputs)
    found = fe.effects(estimator, X, module, [2])
    assert module[0].weight.dtype == torch.float32 and module.training
    predict, jacobian = by_hand(network(outputs))
    if estimator in ("pdp", "ale", "ice"):
        jacobian = None
    expected = fe.effects(estimator, X, predict, [2], jacobian=jacobian)
    assert len(found) == outputs
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.effect, other.effect, atol=1e-12)
        if estimator in ("dale", "rhale"):
            assert one.record["jacobian_rows"] == len(X)


def test_derivatives_are_differences_where_it_is_asked() -> None:
    effect = fe.dale(X, network(), 1, jacobian="numeric")
    assert effect.record["jacobian_rows"] == 0
    np.testing.assert_allclose(effect.effect, fe.dale(X, network(), 1).effect, atol=1e-6)


def test_regions_and_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    assert fe.rhale(frame, network(), "b") == fe.rhale(X, network(), "b", names=["a", "b", "c"])
    assert len(fe.regional_rhale(frame, network(), "b").nodes) >= 1
    with pytest.raises(fe.FeatureEffectsError, match="`c` has levels"):
        fe.pdp(frame.assign(c=["u", "v"] * 150), network(), "b")


def test_what_is_no_tensor_is_refused() -> None:
    class Pair(torch.nn.Module):
        def forward(self, rows: Any) -> Any:
            return rows, rows

    with pytest.raises(fe.ModelError):
        fe.pdp(X, Pair(), 1)
