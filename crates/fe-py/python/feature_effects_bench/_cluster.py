"""Studies on the workers of a Dask cluster, to the same bytes as on one machine.

A study is divided into shards, which the program runs anywhere. Studies go to the workers as text and results come back
as bytes, so that workers need the package and nothing else: no common disk, no file of the client. A shard that has come
back is kept in ``DIR.shards`` until all are there and are merged; it is never computed again.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ._native import FeatureEffectsError

__all__ = ["run_on"]

SHARDS_PER_THREAD = 16
"""Shards for each thread of the cluster: few enough to cost little, enough for none to wait long at the end."""

MOST_SHARDS = 1000

ATTEMPTS = 3
"""How often a shard may fail, or be lost by a scheduler that restarts."""

IN_FLIGHT = 256
"""Shards that the scheduler knows of at once, or four for each thread: its memory does not grow with their number."""

FETCHED = 64
"""Results that are fetched at once: each costs a message otherwise."""

SIGNS_OF_LIFE = 30.0
"""Seconds between two lines about what is done, where standard error is no terminal."""


def run_on(
    client: Any,
    studies: Sequence[Path],
    out: Path,
    *,
    seed: int,
    resume: bool,
    engines: Path | None,
    shards: int | None,
    quiet: bool,
    run: Callable[..., str],
) -> None:
    """Runs studies on the workers of a client, and merges what they send into a results folder.

    ``run`` runs the program in this process's environment.

    Raises
    ------
    FeatureEffectsError
        A folder that exists, or an unfinished run without ``resume`` or of other studies; what the program says of a
        study; a shard that could not be run three times, all others being kept.
    """
    if out.exists():
        raise FeatureEffectsError(f"{out}: exists already")
    files = _files(studies, engines)
    kept = out.with_name(out.name + ".shards")
    of = _begin(kept, files, seed, resume, shards or _default_shards(client))
    missing, suspected = _missing(kept, of)
    adapted = shards is None
    names = [study.name for study in studies]
    cells = sum(_cells(kept / shard.folder) for shard in _arrived(kept))
    progress = _Progress(of, of - len(missing) - len(suspected), cells, quiet)
    task = {"files": files, "studies": names, "engines": engines is not None, "seed": seed}
    cluster = _Cluster(client, task, of, lambda shard, sent: _keep(kept, shard, sent), progress)

    def abandon(shard: Shard, folder: Path) -> int:
        """Writes a shard whose values have all failed; the number of its datasets."""
        words = ["run", *map(os.fspath, studies), "--seed", str(seed), "--shard", str(shard), "--out", os.fspath(folder)]
        words += ["--jobs", "1", "--abandon", "ended every process that computed it"]
        if engines is not None:
            words += ["--engines", os.fspath(engines)]
        try:
            run(words, True)
        except FeatureEffectsError:
            if not (folder / "manifest.json").is_file():
                raise
        return len((folder / "tasks.csv").read_bytes().splitlines()) - 1

    try:
        threads = _threads(client)
        if adapted:
            # The first tell what each part costs beside its datasets.
            first, missing = missing[:threads], missing[threads:]
            suspected += cluster.gather(first, threads)
            arrived = [shard for shard in first if (kept / shard.folder).is_dir()]
            missing = _coarser(missing, of, _fewest(arrived, kept, of, threads))
        suspected += cluster.gather(missing, max(IN_FLIGHT, 4 * threads))
        # One by one: who dies beside the culprit is suspected as well.
        while suspected:
            shard = suspected.pop()
            if shard.of < of:
                suspected += [Shard(number, of) for number in range(shard.number, of + 1, shard.of)]
                continue
            with tempfile.TemporaryDirectory(dir=kept, prefix=".abandoned-") as folder:
                results = Path(folder) / "results"
                datasets = abandon(shard, results)
                if datasets > 1:
                    pieces = [Shard(shard.number + part * shard.of, shard.of * datasets) for part in range(datasets)]
                    pieces = [piece for piece in pieces if not (kept / piece.folder).is_dir()]
                    progress.more(len(pieces) - 1)
                    suspected += pieces
                elif cluster.gather([shard], 1):
                    results.rename(kept / shard.folder)
                    progress.say(f"a dataset of shard {shard} has failed: it ended every process that computed it")
                    progress.one_more(_cells(kept / shard.folder))
    except BaseException:
        if next(_arrived(kept), None) is not None:
            progress.say(f"stopped; what has come back is in {kept}: go on with resume")
        else:
            shutil.rmtree(kept, ignore_errors=True)
        raise
    if cluster.lost:
        told = "; ".join(f"shard {shard}: {reason}" for shard, reason in sorted(cluster.lost.items()))
        raise FeatureEffectsError(
            f"run: {told}. All else is kept in {kept}; the same again with resume tries what is missing."
        )
    run(["merge", *(os.fspath(kept / shard.folder) for shard in _arrived(kept)), "--out", os.fspath(out)], quiet)
    shutil.rmtree(kept, ignore_errors=True)


class Shard(NamedTuple):
    """Every ``of``-th dataset, from that of a number, counted from 1, on."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def folder(self) -> str:
        return f"{self.number}-of-{self.of}"


def _arrived(kept: Path) -> Iterator[Shard]:
    """The shards that have come back."""
    for path in kept.iterdir():
        index, _, of = path.name.partition("-of-")
        if index.isdecimal() and of.isdecimal():
            yield Shard(int(index), int(of))


def _missing(kept: Path, of: int) -> tuple[list[Shard], list[Shard]]:
    """The shards that have not come back, and those of which some datasets have that were run one by one."""
    arrived = list(_arrived(kept))
    whole = {number for shard in arrived if of % shard.of == 0 for number in range(shard.number, of + 1, shard.of)}
    begun = {(shard.number - 1) % of + 1 for shard in arrived if of % shard.of != 0}
    missing = [Shard(index, of) for index in range(1, of + 1) if index not in whole]
    return [shard for shard in missing if shard.number not in begun], [shard for shard in missing if shard.number in begun]


def _coarser(shards: Sequence[Shard], of: int, fewest: int) -> list[Shard]:
    """The same datasets in fewer shards, of which there would be ``fewest`` in all if none were done; the largest first."""
    left = {shard.number for shard in shards}
    found: list[Shard] = []
    while fewest < of:
        for number in range(1, fewest + 1):
            parts = range(number, of + 1, fewest)
            if left.issuperset(parts):
                found.append(Shard(number, fewest))
                left.difference_update(parts)
        fewest *= 2
    return found + [Shard(number, of) for number in sorted(left)]


def _fewest(arrived: Sequence[Shard], kept: Path, of: int, threads: int) -> int:
    """In how many shards a run is divided that ends first: each costs something beside its datasets, as truths that all need."""
    if not arrived:
        return of
    walls = [float(json.loads((kept / shard.folder / "manifest.json").read_text("utf-8"))["wall_seconds"]) for shard in arrived]
    estimates = [_estimating(kept / shard.folder) for shard in arrived]
    beside = max(0.0, sum(walls) - sum(estimates)) / len(arrived)
    work = of * sum(estimates) / len(arrived)

    def until(shards: int) -> float:
        # All threads are at work but for the last part.
        return (shards * beside + work) / threads + beside + work / shards

    halves = [of]
    while halves[-1] % 2 == 0 and halves[-1] // 2 >= threads:
        halves.append(halves[-1] // 2)
    return min(halves, key=until)


def _estimating(shard: Path) -> float:
    """Seconds that the estimates of a shard took."""
    with (shard / "timings.csv").open(newline="", encoding="utf-8") as rows:
        return sum(float(row["seconds"] or 0) for row in csv.DictReader(rows))


def _default_shards(client: Any) -> int:
    return max(1, min(MOST_SHARDS, SHARDS_PER_THREAD * max(1, _threads(client))))


def _threads(client: Any) -> int:
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return sum(int(worker["nthreads"]) for worker in workers)


def _files(studies: Sequence[Path], engines: Path | None) -> dict[str, bytes]:
    """All that workers need, by its path beside a study: studies, problem files that these name, and engines."""
    files: dict[str, bytes] = {}
    for study in studies:
        if study.name in files:
            raise FeatureEffectsError(f"run: two studies are called {study.name}")
        files[study.name] = _read(study)
    for study in studies:
        for name in _named(files[study.name]):
            path = study.parent / name
            if not Path(name).is_absolute() and ".." not in Path(name).parts and path.is_file():
                files.setdefault(name, _read(path))
    if engines is not None:
        files["engines.toml"] = _read(engines)
    return files


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FeatureEffectsError(f"{path}: {error.strerror}") from error


def _named(study: bytes) -> Iterator[str]:
    """Words between quotes in a study that may be files: those that end as problem files do."""
    for line in study.decode("utf-8", "replace").splitlines():
        for quote in "\"'":
            for word in line.split(quote)[1::2]:
                if word.endswith(".toml"):
                    yield word


def _begin(kept: Path, files: Mapping[str, bytes], seed: int, resume: bool, shards: int) -> int:
    """Makes the folder of the shards, or takes up the one there is; returns the number of shards."""
    told = {"files": {name: content.decode("utf-8", "replace") for name, content in sorted(files.items())}, "seed": seed}
    head = kept / "run.json"
    if not kept.exists():
        kept.mkdir(parents=True)
        head.write_text(json.dumps(told | {"shards": shards}), encoding="utf-8")
        return shards
    if not resume:
        raise FeatureEffectsError(f"{kept}: a run that is not finished: continue it with resume, or remove it")
    try:
        earlier = json.loads(head.read_text(encoding="utf-8"))
        number = int(earlier.pop("shards"))
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise FeatureEffectsError(f"{kept}: is no unfinished run of a cluster") from error
    if earlier != told:
        raise FeatureEffectsError(f"{kept}: cannot be resumed: it is of other studies, engines or another seed")
    return number


def _keep(kept: Path, shard: Shard, sent: bytes) -> int:
    """Unpacks a shard beside its place, and moves it there once it is whole; the number of its cells."""
    with tempfile.TemporaryDirectory(dir=kept, prefix=".arriving-") as arriving:
        with tarfile.open(fileobj=io.BytesIO(sent), mode="r:gz") as archive:
            for member in archive:
                source = archive.extractfile(member)
                if source is not None and "/" not in member.name:
                    (Path(arriving) / member.name).write_bytes(source.read())
        place = Path(arriving)
        place.rename(kept / shard.folder)
        place.mkdir()
    return _cells(kept / shard.folder)


def _cells(shard: Path) -> int:
    """The number of values in a shard."""
    with (shard / "cells.csv").open("rb") as cells:
        return max(0, sum(1 for _ in cells) - 1)


def _shard(task: Mapping[str, Any], shard: str) -> tuple[str | None, bytes]:
    """Runs a shard on a worker: what the program says of an error, or the results."""
    from feature_effects_bench._program import _run

    with tempfile.TemporaryDirectory(prefix="feature-effects-") as folder:
        place = Path(folder) / "studies"
        for name, content in task["files"].items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        results = Path(folder) / "results"
        flags = ["--seed", str(task["seed"]), "--jobs", "1", "--shard", shard, "--out", os.fspath(results)]
        if task["engines"]:
            flags += ["--engines", os.fspath(place / "engines.toml")]
        try:
            _run(["run", *(os.fspath(place / name) for name in task["studies"]), *flags])
        except FeatureEffectsError as error:
            # Where no value could be computed there are results that say why.
            if not (results / "manifest.json").is_file():
                return str(error).replace(os.fspath(place) + os.sep, ""), b""
        sent = io.BytesIO()
        with tarfile.open(fileobj=sent, mode="w:gz", compresslevel=1) as archive:
            for path in sorted(results.iterdir()):
                archive.add(path, arcname=path.name)
        return None, sent.getvalue()


class _Cluster:
    """The workers of a client, and what becomes of the shards that are sent to them."""

    def __init__(
        self, client: Any, task: Mapping[str, Any], of: int, keep: Callable[[Shard, bytes], int], progress: _Progress
    ) -> None:
        self._client, self._task, self._of, self._keep, self._progress = client, task, of, keep, progress
        self.lost: dict[Shard, str] = {}
        """Why some never came back."""

    def gather(self, shards: Iterable[Shard], at_once: int) -> list[Shard]:
        """Runs shards and keeps each as it comes back; those that ended all workers that ran them."""
        suspected: list[Shard] = []
        attempts = dict.fromkeys(shards, 0)
        while attempts:
            reasons: dict[Shard, str] = {}
            for shard, outcome in self._finished(list(attempts), at_once):
                if isinstance(outcome, BaseException):
                    reasons[shard] = f"{type(outcome).__name__}: {outcome}"
                    if _ended_its_workers(outcome):
                        suspected.append(shard)
                        del attempts[shard]
                    continue
                refusal, sent = outcome
                if refusal is not None:
                    raise FeatureEffectsError(refusal)
                cells = self._keep(shard, sent)
                del attempts[shard]
                self._progress.one_more(cells, max(1, self._of // shard.of))
            # What is left failed on its worker, or the scheduler was restarted and knows nothing of it.
            for shard in list(attempts):
                attempts[shard] += 1
                if attempts[shard] >= ATTEMPTS:
                    self.lost[shard] = reasons.get(shard, "was lost by the scheduler")
                    del attempts[shard]
            if attempts:
                _wait_for_workers(self._client)
        return suspected

    def _finished(self, shards: Sequence[Shard], at_once: int) -> Iterator[tuple[Shard, Any]]:
        """Shards as they end, with their results, or with what they failed of; so many are under way at once."""
        from distributed import as_completed

        waiting = iter(shards)
        running: dict[Any, Shard] = {}

        def submit() -> Iterator[Any]:
            for shard in waiting:
                # With all they need: what is scattered beforehand goes with the worker that has it.
                future = self._client.submit(_shard, self._task, str(shard), pure=False)
                running[future] = shard
                yield future
                return

        try:
            ended = as_completed([future for _ in range(at_once) for future in submit()])
            for batch in ended.batches():
                for start in range(0, len(batch), FETCHED):
                    for future, outcome in self._outcomes(batch[start : start + FETCHED]):
                        shard = running.pop(future)
                        future.release()
                        yield shard, outcome
                        for further in submit():
                            ended.add(further)
        finally:
            if running:
                self._client.cancel(list(running), force=True)

    def _outcomes(self, futures: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """What came of some that have ended, fetched together where all of them can be."""
        fetched: dict[Any, Any] = {}
        done = [future for future in futures if future.status == "finished"]
        with contextlib.suppress(Exception):
            fetched = dict(zip(done, self._client.gather(done), strict=True))
        for future in futures:
            try:
                outcome = fetched.pop(future) if future in fetched else future.result()
            except Exception as error:  # noqa: BLE001, one shard's failure is no reason to stop the others
                outcome = error
            yield future, outcome


def _ended_its_workers(error: BaseException) -> bool:
    from distributed.scheduler import KilledWorker

    return isinstance(error, KilledWorker)


def _wait_for_workers(client: Any, seconds: float = 60.0) -> None:
    try:
        client.wait_for_workers(1, timeout=seconds)
    except TimeoutError as error:
        raise FeatureEffectsError(f"run: the cluster has had no worker for {seconds:.0f} seconds") from error


class _Progress:
    """Lines about how many shards have come back, with how many values, on standard error."""

    def __init__(self, of: int, done: int, cells: int, quiet: bool) -> None:
        self._of, self._done, self._before, self._cells, self._quiet = of, done, done, cells, quiet
        self._began = self._said = time.monotonic()

    def more(self, shards: int) -> None:
        """There are so many more than was known."""
        self._of += shards

    def one_more(self, cells: int, shards: int = 1) -> None:
        self._done += shards
        self._cells += cells
        now = time.monotonic()
        if not sys.stderr.isatty() and now - self._said < SIGNS_OF_LIFE and self._done < self._of:
            return
        self._said = now
        left = (now - self._began) / (self._done - self._before) * (self._of - self._done)
        done = f"{self._done} of {self._of} shards, {self._cells} values"
        self.say(f"{done}, {left:.0f} s left" if left else done)

    def say(self, line: str) -> None:
        if not self._quiet:
            print(f"fe-bench: {line}", file=sys.stderr, flush=True)
