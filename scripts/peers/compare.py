#!/usr/bin/env python3
"""Times this workspace beside the libraries of requirements.txt and prints a table.

Same data (of `fe-bench sample friedman1`), same options, one thread each, in turns; from an array of numbers to the
curves. Of several turns the median and, in brackets, the least and the most: milliseconds of a processor, and ratios
of these and of the clock on the wall. A turn is a batch of runs that takes a millisecond at least, after 5 ms of the
same work: clocks may stand still for tens of microseconds, and a processor that was just woken is slow.

Rows of "our function" and "our Python" differ in who evaluates the model: this workspace, its function in Rust being
that of the peer in numpy, or the same Python function that the peer asks. The latter need the Python package
(`pip install ./crates/fe-py`). Run it in an environment that has the libraries:

    python3.11 -m venv target/peers && target/peers/bin/pip install -r scripts/peers/requirements.txt
    target/peers/bin/python scripts/peers/compare.py            # all rows: about five minutes
    target/peers/bin/python scripts/peers/compare.py --only pdp --turns 3

artemis needs an older pandas than the others; `scripts/adapters/install.sh artemis` has it in an environment of its own:

    scripts/adapters/.venv-artemis/bin/python scripts/peers/compare.py --only "pair: H"
"""

import argparse
import contextlib
import io
import json
import logging
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import warnings

for variable in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "VECLIB"):
    os.environ[f"{variable}_NUM_THREADS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]


def programs():
    """Builds the two programs of this workspace that are asked: `fe-bench` and `answer`."""
    told = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    told = subprocess.run(told, capture_output=True, check=True, cwd=ROOT).stdout
    release = pathlib.Path(json.loads(told)["target_directory"]) / "release"
    build = ["cargo", "build", "--quiet", "--release", "--locked", "--workspace"]
    subprocess.run([*build, "--bin", "fe-bench", "--example", "answer"], check=True, cwd=ROOT)
    return release / "fe-bench", release / "examples" / "answer"


def model(x):
    """Friedman's function, as in fe-truth."""
    wave = 10 * np.sin(np.pi * x[:, 0] * x[:, 1])
    return wave + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]


def jacobian(x):
    slopes = np.zeros_like(x)
    cosine = 10 * np.pi * np.cos(np.pi * x[:, 0] * x[:, 1])
    slopes[:, 0] = cosine * x[:, 1]
    slopes[:, 1] = cosine * x[:, 0]
    slopes[:, 2] = 40 * (x[:, 2] - 0.5)
    slopes[:, 3] = 10
    slopes[:, 4] = 5
    return slopes


class Regressor:
    """The function as scikit-learn wants it: made once the library is there."""

    def __new__(cls):
        from sklearn.base import BaseEstimator, RegressorMixin

        class Friedman(RegressorMixin, BaseEstimator):
            def fit(self, x, y=None):
                return self

            def __sklearn_is_fitted__(self):
                return True

            def predict(self, x):
                return model(np.asarray(x))

        return Friedman()


def grid(x, feature, points=100):
    return np.linspace(x[:, feature].min(), x[:, feature].max(), points)


# What a peer does: from an array to curves, a list of arrays, and where they are.


def effector_ale(bins):
    def work(x):
        import effector
        from effector.axis_partitioning import Fixed

        ale = effector.ALE(x, model, nof_instances="all")
        ale.fit("all", binning_method=Fixed(nof_bins=bins), centering=True)
        at = [grid(x, j) for j in range(x.shape[1])]
        return at, [ale.eval(j, at[j], centering=True) for j in range(x.shape[1])]

    return work


def effector_rhale(cells):
    def work(x):
        import effector
        from effector.axis_partitioning import DynamicProgramming

        binning = DynamicProgramming(max_nof_bins=cells, min_points_per_bin=2, discount=0.3)
        rhale = effector.RHALE(x, model, jacobian, nof_instances="all")
        rhale.fit(0, binning_method=binning, centering=True)
        at = grid(x, 0)
        return [at], [rhale.eval(0, at, centering=True)]

    return work


def effector_pdp(x):
    import effector

    pdp = effector.PDP(x, model, nof_instances="all")
    pdp.fit(0, centering=True)
    at = grid(x, 0)
    pdp.eval_heter(0, at)
    return [at], [pdp.eval(0, at, centering=True)]


def effector_regional(kind):
    def work(x):
        import effector
        from effector.space_partitioning import Best

        more = [jacobian] if kind == "RHALE" else []
        effect = getattr(effector, kind)(x, model, *more, nof_instances="all")
        effect.fit(0, centering=True)
        tree = effect.find_regions(0, finder=Best(numerical_features_grid_size=20))
        return None, tree

    return work


def alibi_ale(**options):
    def work(x):
        from alibi.explainers import ALE

        names = [f"x{j + 1}" for j in range(x.shape[1])]
        chosen = dict(options)
        if bins := chosen.pop("equal", None):
            chosen["grid_points"] = {j: grid(x, j, bins + 1) for j in range(x.shape[1])}
        ale = ALE(model, feature_names=names).explain(x, **chosen)
        return list(ale.feature_values), [values[:, 0] for values in ale.ale_values]

    return work


def sklearn_pdp(x):
    from sklearn.inspection import partial_dependence

    found = partial_dependence(Regressor(), x, [0], grid_resolution=100, method="brute")
    return [found["grid_values"][0]], [found["average"][0]]


def shap_exact(x):
    import shap

    masker = shap.maskers.Independent(x, max_samples=len(x))
    values = shap.explainers.Exact(model, masker)(x, silent=True).values
    return None, [values[:, j] for j in range(x.shape[1])]


def alibi_pdp(points):
    def work(x):
        from alibi.explainers import PartialDependence

        found = PartialDependence(model).explain(
            x, features=[0], grid_resolution=points, kind="average"
        )
        return [found.feature_values[0]], [found.pd_values[0][0]]

    return work


def sklearn_pdp_of(points):
    def work(x):
        from sklearn.inspection import partial_dependence

        options = {"grid_resolution": points, "method": "brute", "percentiles": (0, 1)}
        found = partial_dependence(Regressor(), x, [0], **options)
        return [found["grid_values"][0]], [found["average"][0]]

    return work


def sklearn_pdp_of_pair(points):
    def work(x):
        from sklearn.inspection import partial_dependence

        options = {"grid_resolution": points, "method": "brute", "percentiles": (0, 1)}
        found = partial_dependence(Regressor(), x, [(0, 1)], **options)
        return found["grid_values"], [np.ravel(found["average"][0])]

    return work


def pyale_of_pair(bins):
    def work(x):
        import pandas as pd
        from PyALE import ale

        class Frames:
            def predict(self, frame):
                return model(frame.to_numpy())

        names = [f"x{j + 1}" for j in range(x.shape[1])]
        options = {"feature_type": "continuous", "grid_size": bins, "plot": False}
        found = ale(X=pd.DataFrame(x, columns=names), model=Frames(), feature=names[:2], **options)
        return [found.index.to_numpy(), found.columns.to_numpy()], [np.ravel(found.to_numpy())]

    return work


def artemis_h(pairs_of):
    """H of all pairs of some features, from the environment of the adapter that has it."""

    def work(x):
        import pandas as pd
        from artemis.interactions_methods.model_agnostic import FriedmanHStatisticMethod

        names = [f"x{j + 1}" for j in range(x.shape[1])]
        method = FriedmanHStatisticMethod()
        method.fit(
            None,
            pd.DataFrame(x, columns=names),
            predict_function=lambda _, frame: model(np.asarray(frame)),
            features=names[:pairs_of],
            calculate_ova=False,
        )
        told = {frozenset(row[:2]): row[2] for row in method.ovo.itertuples(index=False)}
        pairs = [(a, b) for a in range(pairs_of) for b in range(a + 1, pairs_of)]
        return None, [np.array([told[frozenset((names[a], names[b]))] for a, b in pairs])]

    return work


def effector_rhale_of_all(x):
    import effector
    from effector.axis_partitioning import Fixed

    rhale = effector.RHALE(x, model, jacobian, nof_instances="all")
    rhale.fit("all", binning_method=Fixed(nof_bins=20), centering=True)
    at = [grid(x, j) for j in range(x.shape[1])]
    return at, [rhale.eval(j, at[j], centering=True) for j in range(x.shape[1])]


# Trees: a model of LightGBM, which a peer asks and whose file is read here.

TREES = {"n_estimators": 500, "num_leaves": 31, "n_jobs": 1, "verbose": -1, "deterministic": True}


class Trees:
    """A model of LightGBM, fitted once to 50 000 rows of noisy data of 20 features."""

    def __init__(self, folder):
        self.path, self.features = folder / "trees.txt", 20
        self.folder = folder

    def fitted(self):
        import lightgbm

        if not self.path.exists():
            random = np.random.default_rng(1)
            x = random.uniform(size=(50_000, self.features))
            y = model(x) + 5 * x[:, 6] * x[:, 7] + x[:, 8:].sum(axis=1) + random.normal(size=len(x))
            found = lightgbm.LGBMRegressor(**TREES).fit(x, y)
            found.booster_.save_model(self.path)
        return lightgbm.Booster(model_file=self.path)

    def regressor(self):
        from sklearn.base import BaseEstimator, RegressorMixin

        booster = self.fitted()

        class Stored(RegressorMixin, BaseEstimator):
            def fit(self, x, y=None):
                return self

            def __sklearn_is_fitted__(self):
                return True

            def predict(self, x):
                return booster.predict(x, num_threads=1)

        return Stored()

    def pdp(self, x):
        from sklearn.inspection import partial_dependence

        options = {"grid_resolution": 100, "method": "brute"}
        found = partial_dependence(self.regressor(), x, [0], **options)
        return [found["grid_values"][0]], [found["average"][0]]

    def ale(self, x):
        import effector
        from effector.axis_partitioning import Fixed

        ale = effector.ALE(x, self.regressor().predict, nof_instances="all")
        ale.fit("all", binning_method=Fixed(nof_bins=50), centering=True)
        at = [grid(x, j) for j in range(x.shape[1])]
        return at, [ale.eval(j, at[j], centering=True) for j in range(x.shape[1])]

    def shapley(self, x):
        import shap

        # It would take a hundred of the background's rows.
        masker = shap.maskers.Independent(x, max_samples=len(x))
        explainer = shap.TreeExplainer(self.fitted(), masker, feature_perturbation="interventional")
        values = explainer.shap_values(x, check_additivity=False)
        return None, [values[:, j] for j in range(x.shape[1])]

    def h(self, pairs_of):
        """H of all pairs of some features, from LightGBM's predictions of each row with values of each other."""
        booster = self.fitted()

        def means(x, fixed):
            rows = np.tile(x, (len(x), 1))
            for j in fixed:
                rows[:, j] = np.repeat(x[:, j], len(x))
            found = booster.predict(rows, num_threads=1).reshape(len(x), len(x)).mean(axis=1)
            return found - found.mean()

        def work(x):
            single = [means(x, [j]) for j in range(pairs_of)]
            found = []
            for a, b in ((a, b) for a in range(pairs_of) for b in range(a + 1, pairs_of)):
                both = means(x, [a, b])
                found.append(((both - single[a] - single[b]) ** 2).sum() / (both**2).sum())
            return None, [np.array(found)]

        return work


# The Python package, with the same functions of Python as the peers.


def own_pdp(points):
    def work(x):
        import feature_effects_bench as fe

        found = fe.pdp(x, model, 1, grid=points, center="none", curve_only=True)
        return [found.x], [found.effect]

    return work


def own_effects(estimator, bins, points=100, **options):
    def work(x):
        import feature_effects_bench as fe

        found = fe.effects(estimator, x, model, binning="fixed", bins=bins, **options)
        at = [grid(x, j, points) for j in range(x.shape[1])]
        return at, [effect(places) for effect, places in zip(found, at)]

    return work


# Seconds for which short work is repeated before a turn, and that a turn takes at least.
STEADY, BATCH = 0.005, 0.001

EFFECTOR, ALIBI, SKLEARN = "effector-0.6", "alibi-0.9", "sklearn-1.9"


def request(estimator, features=(0,), preset=None, model=None, **options):
    return {
        "model": model,
        "estimator": estimator,
        "preset": preset,
        "features": list(features),
        "options": options,
    }


def rows(folder):
    """Name, rows, features, peer, its work, our request, and the ratio to be reached."""
    ten = range(10)
    found = []
    for n in (100_000, 1_000_000):
        name = "ALE, K = 100, all features"
        ours = request("ale", ten, EFFECTOR, bins=100)
        found.append((name, n, 10, "effector", effector_ale(100), ours, 80))
        ours = request("ale", ten, ALIBI, binning="fixed", bins=100)
        found.append((name, n, 10, "alibi", alibi_ale(equal=100), ours, 25))
    name = "ALE, default bins, all features"
    found.append((name, 50_000, 10, "alibi", alibi_ale(), request("ale", ten, ALIBI), 1000))
    for n, cells, least in ((1000, 100, 200), (1000, 400, 1000), (1000, 1000, 3000), (100_000, 100, 80)):
        ours = request("rhale", (0,), EFFECTOR, bins=cells)
        name = f"RHALE, dp of {cells} cells"
        found.append((name, n, 5, "effector", effector_rhale(cells), ours, least))
    name = "PDP, 100 points"
    # Its grid is asked for point by point; the own one would differ in the last digits of some points.
    ours = request("pdp", (0,), SKLEARN, grid=2)
    found.append((name, 100_000, 5, "scikit-learn", sklearn_pdp, ours, 10))
    found.append((name, 100_000, 5, "effector", effector_pdp, request("pdp", (0,), EFFECTOR), 25))
    regions = {"partition": "cart", "candidates": 19, "depth": 2, "drop": 0.05, "leaf": 10.0}
    dp = {"bins": 20, "discount": 0.3, "min_points": 2.0, "ddof": 0}
    for kind, least, options in (
        ("RHALE", 100, dp | {"heterogeneity": "integral"}),
        ("ALE", 50, {"bins": 20, "heterogeneity": "integral"}),
        ("PDP", 20, {"grid": 30, "heterogeneity": "mean_grid"}),
    ):
        ours = request(f"regional-{kind.lower()}", (0,), None, **regions, **options)
        name = f"regional {kind}, 19 candidates"
        found.append((name, 100_000, 5, "effector", effector_regional(kind), ours, least))
    found.append(("exact SHAP, all rows", 1000, 5, "shap", shap_exact, request("shapley"), 30))
    # Its grid is its own, and so is ours: on the range of the data both are the same points.
    ours = request("pdp", (0, 1), None, grid=20, center="none") | {"pair": True}
    name = "pair: PD, 20 x 20 points"
    found.append((name, 10_000, 5, "scikit-learn", sklearn_pdp_of_pair(20), ours, 10))
    ours = request("ale", (0, 1), "pyale-1.2", bins=20) | {"pair": True}
    for n in (100_000, 1_000_000):
        found.append(("pair: ALE, 20 x 20 bins", n, 5, "PyALE", pyale_of_pair(20), ours, 100))
    ours = request("h2.pair", range(3))
    found.append(("pair: H of three features", 200, 5, "artemis", artemis_h(3), ours, 10))
    name = "PDP, 20 points, our Python"
    for library, work in (("scikit-learn", sklearn_pdp_of(20)), ("alibi", alibi_pdp(20))):
        found.append((name, 50_000, 20, library, work, own_pdp(20), 1))
    name = "ALE, K = 20, all features, our Python"
    works = (("effector", effector_ale(20), 100, EFFECTOR), ("alibi", alibi_ale(equal=20), 21, ALIBI))
    for library, work, points, preset in works:
        ours = own_effects("ale", 20, points, preset=preset)
        found.append((name, 50_000, 20, library, work, ours, 2))
    name = "RHALE, K = 20, all features, our Python"
    ours = own_effects("rhale", 20, jacobian=jacobian, preset=EFFECTOR)
    found.append((name, 50_000, 20, "effector", effector_rhale_of_all, ours, 1))
    trees = Trees(folder)
    path = str(trees.path)
    ours = request("pdp", (0,), SKLEARN, path, grid=2)
    found.append(("trees: PDP, 100 points", 50_000, 20, "scikit-learn", trees.pdp, ours, 50))
    ours = request("ale", range(20), EFFECTOR, path, bins=50)
    found.append(("trees: ALE, K = 50, all features", 50_000, 20, "effector", trees.ale, ours, 20))
    ours = request("h2.pair", range(3), None, path)
    found.append(("trees: H of three features", 200, 20, "LightGBM", trees.h(3), ours, 50))
    ours = request("shapley", (0,), None, path)
    found.append(("trees: SHAP, all rows", 1000, 20, "shap", trees.shapley, ours, 5))
    return found


class Ours:
    """The program that answers for this workspace, while it runs."""

    def __init__(self, folder):
        self.folder = folder
        self.program, answer = programs()
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([answer], stdin=pipe, stdout=pipe, text=True)

    def data(self, n, features):
        """A file of data, and the numbers in it."""
        path = self.folder / f"friedman1-{n}-{features}.csv"
        if not path.exists():
            options = ["--set", f"noise_features={features - 5}", "--n", str(n), "--seed", "1"]
            partial = path.with_suffix(".partial")
            with partial.open("w") as out:
                subprocess.run([self.program, "sample", "friedman1", *options], stdout=out, check=True)
            partial.rename(path)
        return path, numbers(path)

    def ask(self, path, asked, at):
        at = [] if at is None else [np.asarray(points).tolist() for points in at]
        line = json.dumps(asked | {"data": str(path), "at": at})
        print(line, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("the program that answers for this workspace has ended")
        return json.loads(answer)


def numbers(path):
    """The features in a file of data."""
    import pandas as pd

    table = pd.read_csv(path, float_precision="round_trip").drop(columns="y")
    return np.ascontiguousarray(table.to_numpy())


def timed(work, x):
    """Seconds of a processor and of the clock on the wall, and what comes out; a library's messages are not shown."""
    runs, spent = 1, 0.0
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        while True:
            before, start = time.perf_counter(), time.process_time()
            for _ in range(runs):
                found = work(x)
            seconds, wall = time.process_time() - start, time.perf_counter() - before
            spent += wall
            if spent >= STEADY and wall >= BATCH and seconds > 0:
                return seconds / runs, wall / runs, found
            if wall < BATCH or seconds <= 0:
                runs *= 2


def shown(times):
    """Median and range of some times, in milliseconds."""
    middle, least, most = (1000 * value for value in (statistics.median(times), min(times), max(times)))
    return f"{middle:.3g} ({least:.3g} to {most:.3g})"


def difference(peer, answer):
    """How far the results are apart: largest difference of curves, or the first splits."""
    values = peer[1]
    if not isinstance(values, list):
        theirs, ours = first_split(values), answer["splits"][0]
        if theirs is None or ours is None:
            return f"first split: {theirs}, {ours}"
        place = lambda split: f"x{split[0] + 1} at {split[1]:.3f}"
        return place(theirs) if place(theirs) == place(ours) else f"{place(theirs)}, {place(ours)}"
    pairs = zip(values, answer["values"])
    return f"{max(np.max(np.abs(np.asarray(a) - np.asarray(b))) for a, b in pairs):.0e}"


def first_split(partition):
    """The feature, counted from 0, and the position of the first split of effector's tree."""
    if len(partition.regions) < 2:
        return None
    [(feature, interval)] = partition.regions[1].rule.conditions.items()
    return feature, min(abs(interval.lo), abs(interval.hi))


def memory(path):
    """The peak of effector's PDP in a process of its own, in bytes."""
    code = [sys.executable, __file__, "--peak-of-pdp", str(path)]
    return int(subprocess.run(code, capture_output=True, text=True, check=True).stdout)


def peak_of_pdp(path):
    import effector  # noqa: F401

    x = numbers(path)
    timed(effector_pdp, x[:100])
    before = own_peak()
    timed(effector_pdp, x)
    print(own_peak() - before)


def own_peak():
    """The peak of this process, in bytes; `getrusage` may tell that of the one that started it."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--turns", type=int, default=5, help="turns of each, fewer for what takes long")
    parser.add_argument("--peak-of-pdp", metavar="DATA", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak_of_pdp:
        peak_of_pdp(arguments.peak_of_pdp)
        return
    logging.disable(logging.WARNING)
    folder = ROOT / "target" / "peers-data"
    folder.mkdir(parents=True, exist_ok=True)
    ours = Ours(folder)
    print("| work | N | D | library | its time, ms | here, ms | ratio | on the wall | to be reached | difference |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for name, n, features, library, work, asked, least in rows(folder):
        if arguments.only.lower() not in name.lower():
            continue
        path, x = ours.data(n, features)
        try:
            timed(work, x[:100])
        except ModuleNotFoundError as missing:
            print(f"| {name} | {n} | {features} | {library} | not here: {missing.name} | | | | | |", flush=True)
            continue
        theirs, mine = [], []
        spent = 0
        # What is short is repeated for a second: how soon memory is at hand differs from turn to turn.
        while not theirs or (len(theirs) < arguments.turns and spent < 20) or (len(theirs) < 100 and spent < 1):
            seconds, wall, peer = timed(work, x)
            theirs.append((seconds, wall))
            if callable(asked):
                own, own_wall, (_, values) = timed(asked, x)
                answer = {"seconds": own, "wall": own_wall, "values": values}
            else:
                answer = ours.ask(path, asked, peer[0])
            mine.append((answer["seconds"], answer["wall"]))
            spent += wall
        (theirs, their_wall), (mine, own_wall) = zip(*theirs), zip(*mine)
        ratio = statistics.median(theirs) / statistics.median(mine)
        on_the_wall = statistics.median(their_wall) / statistics.median(own_wall)
        missed = "" if ratio >= least else " (missed)"
        print(
            f"| {name} | {n} | {features} | {library} | {shown(theirs)} | {shown(mine)} | {ratio:.2g} |"
            f" {on_the_wall:.2g} | {least}{missed} | {difference(peer, answer)} |",
            flush=True,
        )
        if name.startswith("PDP") and library == "effector":
            peak = memory(path)
            # In a process that holds nothing of former requests.
            mine = Ours(folder).ask(path, asked, peer[0])["peak"] or 0
            print(f"\nMemory of that PDP: effector {peak / 2**20:.0f} MiB,"
                  f" here {mine / 2**20:.1f} MiB.\n", flush=True)


if __name__ == "__main__":
    main()
