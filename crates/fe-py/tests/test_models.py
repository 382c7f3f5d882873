"""Models that are Python functions: what they are asked, and what becomes of what they raise."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import feature_effects_bench as fe

Array = np.ndarray

RNG = np.random.default_rng(1)
X = RNG.uniform(-1, 1, size=(3000, 3))


def product(X: Array) -> Array:
    value: Array = X[:, 0] * X[:, 1] + X[:, 2]
    return value


def gradient(X: Array) -> Array:
    return np.column_stack([X[:, 1], X[:, 0], np.ones(len(X))])


def test_rows_come_as_arrays_and_in_batches() -> None:
    seen: list[Array] = []

    def model(rows: Array) -> Array:
        assert rows.dtype == np.float64
        assert rows.flags.c_contiguous
        assert rows.flags.writeable
        seen.append(rows)
        return product(rows)

    effect = fe.pdp(X, model, 1, grid=20)
    probe, *batches = seen
    assert probe.tolist() == X[:2].tolist()
    sizes = [len(rows) for rows in batches]
    assert sum(sizes) == effect.record["model_rows"] == 20 * 3000
    assert max(sizes) <= 8192
    assert len(sizes) <= 10
    small: list[int] = []
    again = fe.pdp(X, lambda X: (small.append(len(X)), product(X))[1], 1, grid=20, batch_size=500)
    assert max(small) <= 500
    assert again.effect.tolist() == effect.effect.tolist()


def test_batches_are_the_same_every_time() -> None:
    def sizes() -> list[int]:
        seen: list[int] = []

        def model(rows: Array) -> Array:
            seen.append(len(rows))
            return product(rows)

        fe.shapdp(X[:200], model, 2, background=20)
        return seen

    first = sizes()
    assert all(sizes() == first for _ in range(3))


def test_models_may_write_to_their_rows() -> None:
    def model(rows: Array) -> Array:
        answer = product(rows)
        rows[:] = np.nan
        return answer

    before = X.copy()
    assert fe.ale(X, model, 1).effect.tolist() == fe.ale(X, product, 1).effect.tolist()
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    "model",
    [
        lambda X: product(X).astype(np.float32),
        lambda X: product(X)[:, None],
        lambda X: product(X).tolist(),
        lambda X: np.asfortranarray(product(X)[:, None]),
        lambda X: np.repeat(product(X), 2)[::2],
        lambda X: (product(X) > 0).astype(int),
    ],
)
def test_answers_may_be_any_numbers(model: Callable[[Array], Array]) -> None:
    effect = fe.ale(X, model, 1)
    same = fe.ale(X, lambda X: np.asarray(model(X), dtype=np.float64).ravel(), 1)
    assert effect.effect.tolist() == same.effect.tolist()


def test_a_single_row_at_a_time() -> None:
    squeezed = fe.pdp(X[:5], lambda X: np.squeeze(product(X)[:, None]), 1, grid=3, batch_size=1)
    assert squeezed.effect.tolist() == fe.pdp(X[:5], product, 1, grid=3).effect.tolist()


def test_derivatives_come_from_the_jacobian_or_from_differences() -> None:
    exact = fe.dale(X, product, 1, jacobian=gradient, bins=5)
    assert exact.record["derivatives"] == "model"
    assert exact.record["jacobian_rows"] == 3000
    assert exact.record["model_rows"] == 0
    numeric = fe.dale(X, product, 1, bins=5)
    assert numeric.record["derivatives"].startswith("central differences")
    np.testing.assert_allclose(numeric.effect, exact.effect, atol=1e-9)
    told = fe.dale(X, product, 1, jacobian="numeric", bins=5)
    assert told.effect.tolist() == numeric.effect.tolist()
    with pytest.raises(fe.ModelError, match="no derivative with respect to feature x1"):
        fe.dale(X, product, 1, jacobian="model", bins=5)


def test_what_a_model_raises_is_the_cause() -> None:
    calls = 0

    def model(rows: Array) -> Array:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise KeyError("no such thing")
        return product(rows)

    with pytest.raises(fe.ModelError, match="the model failed: KeyError: 'no such thing'") as caught:
        fe.pdp(X, model, 1)
    assert isinstance(caught.value, ValueError)
    assert type(caught.value.__cause__) is KeyError
    assert caught.value.__cause__.__traceback__ is not None
    assert calls == 3, "a model that failed is not asked again"

    def broken(rows: Array) -> Array:
        raise ZeroDivisionError

    with pytest.raises(fe.ModelError) as caught:
        fe.dale(X, product, 1, jacobian=broken)
    assert type(caught.value.__cause__) is ZeroDivisionError
    with pytest.raises(fe.ModelError) as caught:
        fe.dale(X, broken, 1)
    assert type(caught.value.__cause__) is ZeroDivisionError


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda X: product(X)[:-1], r"shape \(1,\) where \(2,\) is needed"),
        (lambda X: np.float64(1), r"shape \(\) where \(2,\) is needed"),
        (lambda X: product(X) if len(X) == 2 else product(X)[1:], r"shape \(\d+,\) where"),
        (lambda X: X if len(X) == 2 else X[:, :2], r"shape \(\d+, 2\) where \(\d+, 3\)"),
        (lambda X: np.where(X[:, 0] > 0.9, np.nan, 1.0), r"returned NaN for the row \("),
        (lambda X: np.full(len(X), np.inf), r"returned inf for the row \("),
        (lambda X: ["a"] * len(X), "must be real numbers"),
        (lambda X: product(X) + 1j, "must be real numbers, not complex128"),
        (lambda X: None, "what the model returned: must be real numbers, not None"),
    ],
)
def test_answers_that_are_wrong(answer: Callable[[Array], Array], message: str) -> None:
    with pytest.raises(fe.ModelError, match=message):
        fe.ale(X, answer, 1)


def test_jacobians_that_are_wrong() -> None:
    with pytest.raises(fe.ModelError, match=r"Jacobian .* shape \(\d+,\) where \(\d+, 3\)"):
        fe.dale(X, product, 1, jacobian=lambda X: X[:, 0])


WRONG_JACOBIANS: list[tuple[str, Callable[[Array], Array]]] = [
    ("of the wrong sign", lambda X: -gradient(X)),
    ("with its columns in another order", lambda X: gradient(X)[:, ::-1]),
    ("of a scaled feature", lambda X: gradient(X) * 1.5),
    ("of nothing", lambda X: np.zeros_like(X)),
]


@pytest.mark.parametrize(("what", "jacobian"), WRONG_JACOBIANS)
@pytest.mark.parametrize("estimator", ["dale", "rhale", "dpdp", "dice", "regional-rhale"])
def test_jacobians_that_are_those_of_something_else(
    estimator: str, what: str, jacobian: Callable[[Array], Array]
) -> None:
    own = getattr(fe, estimator.replace("-", "_"))
    with pytest.raises(fe.FeatureEffectsError, match="jacobian: at row 0 of X .* along a is .* say") as caught:
        own(X, product, "a", names=["a", "b", "c"], jacobian=jacobian)
    ((said, found),) = re.findall(r"is (\S+), but differences of the model say (\S+);", str(caught.value))
    assert float(said) == pytest.approx(jacobian(X[:1])[0, 0], rel=1e-5)
    assert float(found) == pytest.approx(X[0, 1], rel=1e-5)


def test_jacobians_of_several_outputs_are_looked_at_one_by_one() -> None:
    def two(X: Array) -> Array:
        return np.column_stack([X[:, 0] ** 2, X[:, 0] * X[:, 1]])

    def partials(X: Array) -> Array:
        zero = np.zeros(len(X))
        return np.stack([np.column_stack([2 * X[:, 0], zero, zero]),
                         np.column_stack([X[:, 1], X[:, 0], zero])], axis=1)  # fmt: skip

    assert len(fe.effects("dale", X, two, jacobian=partials)) == 6
    with pytest.raises(fe.FeatureEffectsError, match="derivative of output 1 along x1 is"):
        fe.effects("dale", X, two, jacobian=lambda X: partials(X)[:, ::-1])


SMOOTH_ENOUGH: list[tuple[str, Callable[[Array], Array], Callable[[Array], Array]]] = [
    ("a kink", lambda x: np.abs(x), np.sign),
    ("a jump", lambda x: np.floor(40 * x) + x, np.ones_like),
    ("a wave", lambda x: np.sin(60 * x), lambda x: 60 * np.cos(60 * x)),
    ("far from zero", lambda x: 1e9 + x, np.ones_like),
    ("tiny", lambda x: 1e-200 * x, lambda x: np.full_like(x, 1e-200)),
    ("single precision", lambda x: np.tanh(x.astype(np.float32)), lambda x: 1 - np.tanh(x) ** 2),
    ("an end of its range", lambda x: np.sqrt(1.0 + x - X[:, 0].min() - 1.0), lambda x: x * np.nan),
]


@pytest.mark.parametrize(("what", "f", "derivative"), SMOOTH_ENOUGH)
def test_jacobians_that_are_right_are_taken(
    what: str, f: Callable[[Array], Array], derivative: Callable[[Array], Array]
) -> None:
    data = X.copy()
    if what == "a kink":
        data[0, 0] = 0.0

    def jacobian(rows: Array) -> Array:
        if what == "an end of its range":
            inside = np.maximum(rows[:, 0] - X[:, 0].min(), 1e-300)
            return np.column_stack([np.minimum(0.5 / np.sqrt(inside), 1e6), np.zeros((len(rows), 2))])
        return np.column_stack([derivative(rows[:, 0]), np.zeros((len(rows), 2))])

    assert fe.dale(data, lambda rows: f(rows[:, 0]), 1, jacobian=jacobian).counts is not None


@pytest.mark.parametrize("estimator", ["dale", "rhale"])
def test_a_jacobian_is_asked_once_for_all_features(estimator: str) -> None:
    rows: list[Array] = []

    def jacobian(X: Array) -> Array:
        rows.append(X.copy())
        return gradient(X)

    found = fe.effects(estimator, X, product, jacobian=jacobian, bins=5)
    looked_at, *batches = rows
    assert len(looked_at) == 5
    assert np.concatenate(batches).tolist() == X.tolist()
    for effect in found:
        alone = fe.estimate(estimator, X, product, effect.feature, jacobian=gradient, bins=5)
        assert effect == alone
        assert effect.record["jacobian_rows"] == len(X)
    # Of two outputs too, and one batch after the other.
    rows.clear()
    small = fe.effects(
        estimator, X, lambda X: np.column_stack([product(X), -product(X)]), bins=5, batch_size=700,
        jacobian=lambda X: np.stack([jacobian(X), -gradient(X)], axis=1),
    )  # fmt: skip
    assert max(map(len, rows)) <= 700
    assert sum(map(len, rows[1:])) == len(X)
    for effect, one in zip(small[::2], found, strict=True):
        assert effect.effect.tolist() == one.effect.tolist()
        assert (-small[effect.feature * 2 - 1].effect).tolist() == one.effect.tolist()


@pytest.mark.parametrize("estimator", ["dale", "rhale", "regional-rhale"])
def test_a_jacobian_may_be_an_array(estimator: str) -> None:
    partials = gradient(X)
    own = fe.regional if estimator.startswith("regional") else fe.estimate
    assert own(estimator, X, product, 1, jacobian=partials) == own(estimator, X, product, 1, jacobian=gradient)
    if not estimator.startswith("regional"):
        assert fe.effects(estimator, X, product, jacobian=partials) == fe.effects(
            estimator, X, product, jacobian=gradient
        )
        found = fe.effects(
            estimator, X, lambda X: np.column_stack([product(X)] * 2), [3], jacobian=np.stack([partials] * 2, axis=1)
        )
        assert [effect.output for effect in found] == [1, 2]


def test_arrays_of_derivatives_that_cannot_be_used() -> None:
    partials = gradient(X)
    for wrong, message in (
        (partials[:-1], r"array of shape \(3000, 3\); this one has the shape \(2999, 3\)"),
        (partials[:, 0], r"the shape \(3000,\)"),
        (-partials, "at row 0 of X"),
        (np.where(np.arange(3000)[:, None] == 7, np.nan, partials), "NaN"),
    ):
        with pytest.raises(fe.FeatureEffectsError, match=message):
            fe.dale(X, product, 1, jacobian=wrong)
    for name in ("dpdp", "dice"):
        with pytest.raises(fe.FeatureEffectsError, match="at the rows of X, and this estimate needs them elsewhere"):
            fe.estimate(name, X, product, 1, jacobian=partials)
    with pytest.raises(fe.FeatureEffectsError, match="elsewhere; give a function"):
        fe.dale(X, product, 1, jacobian=partials, subsample=100)


def test_rows_that_a_model_keeps_stay_as_they_were() -> None:
    kept: list[Array] = []

    def model(rows: Array) -> Array:
        # A view holds the rows as well.
        kept.append(rows if len(kept) % 2 else rows[:, ::-1][:, ::-1])
        return product(rows)

    fe.pdp(X, model, 1, grid=30, batch_size=1000)
    asked: list[Array] = []

    def copying(rows: Array) -> Array:
        asked.append(rows.copy())
        return product(rows)

    fe.pdp(X, copying, 1, grid=30, batch_size=1000)
    assert len(kept) == len(asked) > 50
    for one, other in zip(kept, asked, strict=True):
        assert one.tolist() == other.tolist()


def test_models_may_do_anything_to_their_rows() -> None:
    expected = fe.pdp(X, product, 1, grid=30, batch_size=1000)
    changes: list[Callable[[Array], object]] = [
        lambda rows: rows.fill(np.nan),
        lambda rows: rows.setflags(write=False),
        lambda rows: rows.shape.__class__ and setattr(rows, "shape", (rows.shape[1], rows.shape[0])),
        lambda rows: setattr(rows, "dtype", np.int64),
        lambda rows: rows.sort(axis=0),
    ]
    for change in changes:

        def model(rows: Array, change: Callable[[Array], object] = change) -> Array:
            answer = product(rows)
            change(rows)
            return answer

        assert fe.pdp(X, model, 1, grid=30, batch_size=1000) == expected


@pytest.mark.parametrize(
    ("estimator", "options"), [(fe.pdp, {"grid": 12}), (fe.ice, {"grid": 12}), (fe.shapdp, {"background": 8})]
)
def test_models_may_change_their_rows_at_any_call(
    estimator: Callable[..., fe.Effect], options: dict[str, int]
) -> None:
    """Rows that stay where they are between calls are asked about as they were, whatever became of them when."""

    def effect(model: Callable[[Array], Array]) -> fe.Effect:
        return estimator(X[:1000], model, 1, batch_size=300, **options)

    expected = effect(product)
    kept: list[Array] = []
    for number in range(2, 60, 3):
        for keeps in (False, True):
            calls = 0

            def model(rows: Array, number: int = number, keeps: bool = keeps) -> Array:
                nonlocal calls
                answer = product(rows)
                calls += 1
                if calls == number:
                    rows[:, [0, 2]] = 7.0
                if keeps and calls == number + 1:
                    kept.append(rows)
                return answer

            assert effect(model).effect.tolist() == expected.effect.tolist()


def test_batches_have_no_more_rows_than_was_said() -> None:
    sizes: list[int] = []

    def model(rows: Array) -> Array:
        sizes.append(len(rows))
        return product(rows)

    effect = fe.ale(X[:300], model, 1, bins=5, batch_size=7)
    assert max(sizes) == 7
    assert effect == fe.ale(X[:300], product, 1, bins=5)


def test_a_jacobian_that_has_no_effect_is_refused_before_it_is_asked() -> None:
    def jacobian(rows: Array) -> Array:
        raise AssertionError("asked")

    with pytest.raises(fe.FeatureEffectsError, match="jacobian: `ale` asks for no derivatives"):
        fe.ale(X, product, 1, jacobian=jacobian)


def test_models_that_are_none() -> None:
    class Fitted:
        def predict(self, X: Array) -> Array:
            return product(X)

    with pytest.raises(fe.FeatureEffectsError, match="model: must be a function .*; `int` is neither"):
        fe.ale(X, 3, 1)
    with pytest.raises(fe.FeatureEffectsError, match="`type` is neither|model failed"):
        fe.ale(X, Fitted, 1)
    assert fe.ale(X, Fitted(), 1) == fe.ale(X, Fitted().predict, 1) == fe.ale(X, product, 1)
    with pytest.raises(fe.FeatureEffectsError, match="jacobian: must be a function"):
        fe.dale(X, product, 1, jacobian=3)
    with pytest.raises(fe.FeatureEffectsError, match="a scenario has its own"):
        fe.dale(X, fe.scenario("poly3"), 1, jacobian=gradient)
    with pytest.raises(fe.ModelError, match="takes 3 features and the data have 2"):
        fe.ale(X[:, :2], fe.scenario("poly3"), 1)


def test_models_are_called_by_the_calling_thread() -> None:
    threads = set()

    def model(rows: Array) -> Array:
        threads.add(threading.get_ident())
        return product(rows)

    fe.pdp(X, model, 1)
    assert threads == {threading.get_ident()}


def test_a_model_may_estimate() -> None:
    inner = []

    def model(rows: Array) -> Array:
        inner.append(fe.ale(X[:50], product, 1, bins=2).effect.tolist())
        return product(rows)

    fe.ale(X[:100], model, 2, bins=3)
    assert len(inner) >= 2
    assert all(effect == inner[0] for effect in inner)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process that can be interrupted: one that was started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_arrives() -> None:
    def model(rows: Array) -> Array:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.001)
        return product(rows)

    with pytest.raises(KeyboardInterrupt):
        fe.pdp(X, model, 1)

    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        for _ in range(100_000):
            fe.ale(X, product, 1)


def test_the_lock_is_released() -> None:
    scenario = fe.scenario("friedman1")
    rows, _ = scenario.sample(200_000, seed=1)
    steps = 0
    over = threading.Event()

    def count() -> None:
        nonlocal steps
        while not over.is_set():
            steps += 1
            time.sleep(1e-4)

    counting = threading.Thread(target=count)
    counting.start()
    before = steps
    fe.pdp(rows, scenario, 1)
    during = steps - before
    over.set()
    counting.join()
    # 20 million evaluations take far longer than a few turns of the other thread.
    assert during >= 5


def test_threads_estimate_at_the_same_time() -> None:
    expected = fe.pdp(X, product, 1, grid=9).effect.tolist()
    both = threading.Barrier(2, timeout=60)
    found: list[list[float]] = []

    def work() -> None:
        met = False

        def model(rows: Array) -> Array:
            nonlocal met
            if not met:
                # Each waits inside its model for the other: neither holds what the other needs.
                both.wait()
                met = True
            return product(rows)

        found.append(fe.pdp(X, model, 1, grid=9).effect.tolist())

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected, expected]


def _estimate(_: int) -> list[float]:
    scenario = fe.scenario("friedman1")
    rows, _y = scenario.sample(20_000, seed=1)
    return fe.pdp(rows, scenario, 1, grid=3).effect.tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_processes_estimate_too() -> None:
    expected = _estimate(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(_estimate, range(2)).get(timeout=60) == [expected, expected]
