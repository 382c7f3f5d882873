"""The program: studies, their results, tables and pages.

Each call runs the program in a process of its own, so that Ctrl-C, exit statuses and files are
those of the program. Its progress goes to standard error.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ._native import FeatureEffectsError
from ._results import frame
from ._start import STARTER

__all__ = ["Results", "check", "report", "run_study", "table"]

Name = str | os.PathLike[str]

_FAILED = 1
"""The status where a check failed."""


def run_study(
    study: Name | Sequence[Name],
    out: Name | None = None,
    *,
    seed: int = 0,
    jobs: int | None = None,
    resume: bool = False,
    shard: str | None = None,
    engines: Name | None = None,
    client: Any = None,
    shards: int | None = None,
    quiet: bool = False,
) -> Results:
    """Runs a study, or several, and returns their results as frames.

    Parameters
    ----------
    study
        Path of a study file, or several; or the text of one, which is told by its line breaks.
    out
        Folder of the results, which must not exist. Unless it is given, results are kept in a temporary folder for
        as long as the object that is returned.
    seed
        Master seed, from which all datasets are drawn.
    jobs
        Threads that run cells; as many as there are processors, unless given. They change no bit of a result.
    resume
        Go on where an earlier run into the same folder was stopped.
    shard
        Such as "1/4": only the first of four shards.
    engines
        File that declares engines, for studies that name any.
    client
        A client of a Dask cluster (``pip install 'feature-effects-bench[dask]'``), whose workers run the study, to the
        same bytes. They need this package and nothing else; ``jobs`` and ``shard`` have no meaning there.
    shards
        In how many parts the cluster runs it; 16 for each of its threads, unless given.
    quiet
        Show no progress.

    Raises
    ------
    FeatureEffectsError
        What the program says of a study that it refuses.

    >>> import feature_effects_bench as fe
    >>> results = fe.run_study('''
    ... about = "ALE of an additive feature"
    ... [[block]]
    ... scenario = "poly3"
    ... features = ["x1"]
    ... N = [100, 1000]
    ... replicates = 5
    ... metrics = ["rmse"]
    ... estimator = [{ name = "ale", bins = [5, 20] }]
    ... ''', quiet=True)
    >>> results.summary[["K", "N", "n_ok"]].to_dict("list")
    {'K': [5, 20, 5, 20], 'N': [100, 100, 1000, 1000], 'n_ok': [5, 5, 5, 5]}
    """
    studies = [study] if isinstance(study, str | os.PathLike) else list(study)
    temporary = None if out is not None else Path(tempfile.mkdtemp(prefix="feature-effects-"))
    folder = Path(out) if out is not None else Path(str(temporary)) / "results"
    flags = {"out": folder, "seed": seed, "jobs": jobs, "resume": resume, "shard": shard, "engines": engines}
    try:
        with tempfile.TemporaryDirectory(prefix="feature-effects-") as written:
            paths = [_path(given, Path(written) / "study.toml") for given in studies]
            if client is None:
                if shards is not None:
                    raise FeatureEffectsError("run_study: shards= is for a cluster, named as client=")
                _run(["run", *paths, *_flags(flags)], quiet)
            else:
                _run_on_cluster(client, paths, folder, flags, shards, quiet)
        results = Results(folder)
    except BaseException:
        _remove(temporary)
        raise
    if temporary is not None:
        results._keeper = weakref.finalize(results, _remove, temporary)
    return results


def _run_on_cluster(
    client: Any, paths: Sequence[str], folder: Path, flags: Mapping[str, Any], shards: int | None, quiet: bool
) -> None:
    from ._cluster import run_on

    for name in ("jobs", "shard"):
        if flags[name] is not None:
            raise FeatureEffectsError(f"run_study: {name}= has no meaning on a cluster; shards= is the number of parts")
    if shards is not None and shards < 1:
        raise FeatureEffectsError(f"run_study: shards= must be at least 1, not {shards}")
    engines = None if flags["engines"] is None else Path(flags["engines"])
    run_on(
        client,
        [Path(path) for path in paths],
        folder,
        seed=int(flags["seed"]),
        resume=bool(flags["resume"]),
        engines=engines,
        shards=shards,
        quiet=quiet,
        run=_run,
    )


def _remove(folder: Path | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def table(results: Results | Name, **options: Any) -> str:
    """The tables of a results folder, as text.

    ``options`` are those of ``fe-bench table``: ``rows="estimator"``, ``cols=["N"]``, ``where="metric=rmse"``,
    ``format="latex"``; ``fe.table(results, format="csv")`` has all digits.
    """
    return _run(["table", _folder(results), *_flags(options)])


def report(results: Results | Name, out: Name | None = None) -> Path:
    """Writes the page about a results folder, one HTML file that needs no network, and returns its path."""
    folder = _folder(results)
    if out is None and isinstance(results, Results) and results.is_temporary:
        raise FeatureEffectsError("report: these results are in a temporary folder; say where the page is to go, as out=")
    said = _run(["report", folder, *_flags({"out": out})])
    return Path(said.strip().splitlines()[-1])


def check(scenario: Name | None = None, **options: Any) -> Any:
    """Holds every estimator to the exact truth of every scenario, or of the one in a file; a frame of all findings.

    ``options`` are those of ``fe-bench check``: ``quick=True`` is done in seconds. Its column ``result`` is "ok" where
    nothing is wrong.
    """
    given = [] if scenario is None else [os.fspath(scenario)]
    found = json.loads(_run(["check", *given, *_flags(options), "--format", "json"], allowed=(0, _FAILED)))
    return frame({name: [row[name] for row in found] for name in found[0]})


class Results:
    """A folder of results: what ``fe-bench run`` writes, as frames of pandas or, where there is none, of polars.

    >>> import feature_effects_bench as fe
    >>> fe.Results("no-such-folder")
    Traceback (most recent call last):
    ...
    feature_effects_bench.FeatureEffectsError: no-such-folder: holds no results, there is no manifest.json in it
    """

    def __init__(self, folder: Name) -> None:
        self._folder = Path(folder)
        self._keeper: object | None = None
        if not (self._folder / "manifest.json").is_file():
            raise FeatureEffectsError(f"{self._folder}: holds no results, there is no manifest.json in it")

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self._folder

    @property
    def is_temporary(self) -> bool:
        """Whether the folder goes with this object."""
        return self._keeper is not None

    @property
    def manifest(self) -> dict[str, Any]:
        """Everything needed to know where the results come from and to get them again."""
        found: dict[str, Any] = json.loads((self._folder / "manifest.json").read_text(encoding="utf-8"))
        return found

    @property
    def summary(self) -> Any:
        """Means over replicates with their standard errors: a row for each value of each cell."""
        return self._read("summary.csv")

    @property
    def cells(self) -> Any:
        """A row for each value of each dataset."""
        return self._read("cells.csv")

    @property
    def timings(self) -> Any:
        """How long each estimate took."""
        return self._read("timings.csv")

    @property
    def curves(self) -> Any:
        """The curves, of studies that keep them."""
        return self._read("curves.csv")

    @property
    def bins(self) -> Any:
        """The bins, of studies that keep them."""
        return self._read("bins.csv")

    def table(self, **options: Any) -> str:
        """The tables as text; see :func:`table`."""
        return table(self, **options)

    def report(self, out: Name | None = None) -> Path:
        """Writes the page; see :func:`report`."""
        return report(self, out)

    def _read(self, file: str) -> Any:
        path = self._folder / file
        if not path.is_file():
            kept = file.removesuffix(".csv")
            raise FeatureEffectsError(f'{path}: is not there; a study writes it where it says keep = ["{kept}"]')
        with path.open(encoding="utf-8", newline="") as lines:
            return frame(_columns(lines))

    def __repr__(self) -> str:
        names = ", ".join(str(study["name"]) for study in self.manifest["studies"])
        return f"<Results of {names} in {self._folder}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.table())}</pre>"


def _columns(lines: Iterable[str]) -> dict[str, list[Any]]:
    """The columns of comma-separated values, as numbers where all entries are."""
    rows = list(csv.reader(lines))
    columns = zip(*rows[1:], strict=True) if len(rows) > 1 else ([] for _ in rows[0])
    return {name: _typed([_unguarded(text) for text in column]) for name, column in zip(rows[0], columns, strict=True)}


def _typed(texts: list[str]) -> list[Any]:
    """Whole numbers, numbers, or words; what is missing is none."""
    if not any(texts):
        return [None] * len(texts)
    for kind in (int, float):
        try:
            return [kind(text) if text else None for text in texts]
        except ValueError:
            continue
    return [text or None for text in texts]


def _unguarded(text: str) -> str:
    """A word without the apostrophe that keeps spreadsheets from computing it."""
    return text[1:] if re.match(r"'+[=+\-@\t\r]", text) else text


def _path(study: Name, written: Path) -> str:
    """The path of a study file, which is written first where its text is given."""
    if isinstance(study, str) and "\n" in study:
        written.write_text(study, encoding="utf-8")
        return os.fspath(written)
    return os.fspath(study)


def _folder(results: Results | Name) -> str:
    return os.fspath(results.folder if isinstance(results, Results) else results)


def _flags(options: Mapping[str, Any]) -> list[str]:
    """Options as the program takes them: lists by commas, but for those that are given several times."""
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            words += [word for key, text in value.items() for word in (flag, f"{key}={text}")]
        elif isinstance(value, str | os.PathLike) or not isinstance(value, Iterable):
            words += [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
        else:
            words += [flag, ",".join(map(str, value))]
    return words


def _run(words: Sequence[str], quiet: bool = True, allowed: tuple[int, ...] = (0,)) -> str:
    """What the program prints; what it says of an error is raised."""
    command = [*STARTER, *words]
    said = io.StringIO()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", env=_environment()
    ) as process:
        assert process.stdout is not None and process.stderr is not None

        # Both are read at once, or a full one would stop the program.
        def listen(stream: Any) -> None:
            for line in stream:
                said.write(line)
                if not quiet:
                    print(line, end="", file=sys.stderr)

        listener = threading.Thread(target=listen, args=(process.stderr,), daemon=True)
        listener.start()
        try:
            printed = process.stdout.read()
        except BaseException:
            process.terminate()
            raise
        listener.join()
    if process.returncode not in allowed:
        message = re.sub(r"(?m)^fe-bench: ", "", said.getvalue().strip()) or f"it ended with status {process.returncode}"
        raise FeatureEffectsError(f"fe-bench {words[0]}: {message}")
    return printed


def _environment() -> dict[str, str]:
    """That of this process, in which the package is found where it is found here."""
    package = Path(__file__).resolve().parents[1]
    known = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": f"{package}{os.pathsep}{known}" if known else str(package)}
