"""Studies on the workers of a cluster of Dask."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import feature_effects_bench as fe

distributed = pytest.importorskip("distributed")
pytest.importorskip("pandas")

STUDY = """
about = "two estimators"
[[block]]
scenario = "poly3"
features = ["x1"]
N = [60, 120]
replicates = 12
metrics = ["mse"]
keep = ["curves"]
estimator = [{ name = "pdp" }, { name = "ale", bins = 5 }]
"""

# The pages of a scheduler are served at any free port: another cluster of this machine may hold the usual one.
QUIET: dict[str, Any] = {
    "dashboard_address": "127.0.0.1:0",
    "scheduler_kwargs": {"dashboard": False},
    "silence_logs": 50,
}

FILES = ("cells.csv", "summary.csv", "curves.csv")


@pytest.fixture
def client() -> Iterator[Any]:
    """Two worker processes, each in a folder of its own."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as workers, distributed.Client(workers) as client:
        yield client


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def read(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def test_a_cluster_writes_the_bytes_of_one_process(client: Any, study: Path, tmp_path: Path) -> None:
    fe.run_study(study, tmp_path / "one", seed=3, quiet=True)
    results = fe.run_study(study, tmp_path / "many", seed=3, client=client, shards=5, quiet=True)
    assert read(tmp_path / "many") == read(tmp_path / "one")
    assert len(results.manifest["merged"]) == 5
    assert not (tmp_path / "many.shards").exists()


def test_problem_files_go_with_their_study(client: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('f = "a*b"\n[law]\na = "uniform(0, 1)"\nb = "normal(0, 1)"\n', encoding="utf-8")
    study = tmp_path / "own.toml"
    study.write_text(STUDY.replace('"poly3"', '"mine.toml"').replace('"x1"', '"a"'), encoding="utf-8")
    fe.run_study(study, tmp_path / "one", quiet=True)
    fe.run_study(study, tmp_path / "many", client=client, shards=3, quiet=True)
    assert read(tmp_path / "many") == read(tmp_path / "one")


def test_fitted_models_are_fitted_on_workers(client: Any, tmp_path: Path) -> None:
    study = tmp_path / "fitted.toml"
    study.write_text(STUDY + '[[block.model]]\nname = ["linear", "gbdt"]\n', encoding="utf-8")
    fe.run_study(study, tmp_path / "one", quiet=True)
    fe.run_study(study, tmp_path / "many", client=client, shards=4, quiet=True)
    assert read(tmp_path / "many") == read(tmp_path / "one")
    assert b"gbdt" in (tmp_path / "many" / "cells.csv").read_bytes()


ENGINES = """
[[engine]]
name = "here"
about = "this program"
version = ["{fe-bench}", "--version"]
run = ["{fe-bench}", "serve"]
[engine.effects.ale]
truth = "ale"

[[engine]]
name = "nowhere"
about = "a program that is not there"
version = ["no-such-program"]
run = ["no-such-program"]
[engine.effects.ale]
truth = "ale"
"""


def test_engines_run_on_workers_and_those_that_are_not_there_are_unsupported(client: Any, tmp_path: Path) -> None:
    study, engines = tmp_path / "engines-study.toml", tmp_path / "declared.toml"
    names = '[{ name = "here:ale" }, { name = "nowhere:ale" }]'
    study.write_text(STUDY.partition("keep")[0] + f"estimator = {names}\n", encoding="utf-8")
    engines.write_text(ENGINES, encoding="utf-8")
    results = fe.run_study(study, tmp_path / "many", client=client, shards=3, engines=engines, quiet=True)
    status = {name: set(rows["status"].str.partition(":")[0]) for name, rows in results.cells.groupby("estimator")}
    assert status["here:ale"] == {"ok"}, status
    assert all("unsupported" in told for told in status["nowhere:ale"]), status


def test_workers_that_die_cost_nothing(client: Any, study: Path, tmp_path: Path) -> None:
    fe.run_study(study, tmp_path / "one", quiet=True)

    def kill() -> None:
        for _ in range(2):
            time.sleep(0.5)
            for pid in list(client.run(os.getpid).values())[:1]:
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    fe.run_study(study, tmp_path / "many", client=client, shards=12, quiet=True)
    killer.join()
    assert read(tmp_path / "many") == read(tmp_path / "one")


def test_what_was_finished_is_not_computed_again(client: Any, study: Path, tmp_path: Path) -> None:
    fe.run_study(study, tmp_path / "one", quiet=True)
    fe.run_study(study, tmp_path / "shard", shard="2/3", quiet=True)
    kept = tmp_path / "many.shards"
    from feature_effects_bench import _cluster

    _cluster._begin(kept, _cluster._files([study], None), 0, False, 3)
    (tmp_path / "shard").rename(kept / "2-of-3")
    before = (kept / "2-of-3" / "timings.csv").read_bytes().splitlines()[1:]
    with pytest.raises(fe.FeatureEffectsError, match="continue it with resume"):
        fe.run_study(study, tmp_path / "many", client=client, quiet=True)
    with pytest.raises(fe.FeatureEffectsError, match="of other studies, engines or another seed"):
        fe.run_study(study, tmp_path / "many", seed=4, client=client, resume=True, quiet=True)
    fe.run_study(study, tmp_path / "many", client=client, resume=True, quiet=True)
    assert read(tmp_path / "many") == read(tmp_path / "one")
    # The times are those of the shard that was there.
    timings = (tmp_path / "many" / "timings.csv").read_bytes().splitlines()
    assert all(line in timings for line in before)


def fatal_for(monkeypatch: pytest.MonkeyPatch, dataset: int) -> None:
    """Has each worker end that computes a dataset, by its number from 0."""
    from feature_effects_bench import _cluster

    def fatal(task: Any, shard: str) -> Any:
        index, of = map(int, shard.split("/"))
        if dataset % of == index - 1:
            os._exit(1)
        from feature_effects_bench._cluster import _shard

        return _shard(task, shard)

    # By value: workers know no tests.
    fatal.__module__ = "__main__"
    monkeypatch.setattr(_cluster, "_shard", fatal)


def test_a_dataset_that_ends_its_workers_has_failed_and_no_other(
    client: Any, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # Of 24 datasets in 6 shards the fifth with N = 120.
    fatal_for(monkeypatch, 16)
    results = fe.run_study(study, tmp_path / "many", client=client, shards=6)
    said = capfd.readouterr().err
    assert "a dataset of shard 17/24 has failed: it ended every process that computed it" in said, said
    assert "(2 failed)" in said, said
    fe.run_study(study, tmp_path / "one", quiet=True)
    one, many = ((tmp_path / name / "cells.csv").read_text().splitlines() for name in ("one", "many"))
    different = [line for line, other in zip(many, one, strict=True) if line != other]
    assert len(different) == 2 and all("ended every process that computed it" in line for line in different)
    assert all(",120,,4," in line for line in different), different
    # The shard is divided into its four datasets; so is another one that was lost along with the same process.
    assert (len(results.manifest["merged"]) - 5 - 4) % 3 == 0


def test_what_fails_is_kept_and_tried_again(
    client: Any, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from feature_effects_bench import _cluster

    def failing(task: Any, shard: str) -> Any:
        if shard == "2/3":
            raise OSError("no space left")
        from feature_effects_bench._cluster import _shard

        return _shard(task, shard)

    failing.__module__ = "__main__"
    monkeypatch.setattr(_cluster, "_shard", failing)
    with pytest.raises(fe.FeatureEffectsError, match=r"shard 2/3: OSError: no space left.*many.shards"):
        fe.run_study(study, tmp_path / "many", client=client, shards=3, quiet=True)
    monkeypatch.undo()
    assert sorted(path.name for path in (tmp_path / "many.shards").iterdir()) == ["1-of-3", "3-of-3", "run.json"]
    fe.run_study(study, tmp_path / "one", quiet=True)
    fe.run_study(study, tmp_path / "many", client=client, resume=True, quiet=True)
    assert read(tmp_path / "many") == read(tmp_path / "one")


def test_one_by_one_goes_on_where_it_was_stopped(client: Any, study: Path, tmp_path: Path) -> None:
    """Of a shard that was divided, the datasets that have come back are taken as they are."""
    fe.run_study(study, tmp_path / "one", quiet=True)
    from feature_effects_bench import _cluster

    kept = tmp_path / "many.shards"
    _cluster._begin(kept, _cluster._files([study], None), 0, False, 6)
    for index in (5, 11):
        fe.run_study(study, kept / f"{index}-of-24", shard=f"{index}/24", quiet=True)
    fe.run_study(study, tmp_path / "many", client=client, resume=True, quiet=True)
    assert read(tmp_path / "many") == read(tmp_path / "one")


def test_other_instructions_and_other_threads_give_the_same_bytes(study: Path, tmp_path: Path) -> None:
    """One worker without the wide instructions of its processor, the other with four threads."""
    fe.run_study(study, tmp_path / "one", quiet=True)
    command = [sys.executable, "-m", "feature_effects_bench", "--verbose", "list", "metrics"]
    environment = os.environ | {"FE_BENCH_SIMD": "off"}
    told = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "no wide instructions" in told.stderr
    with distributed.LocalCluster(n_workers=0, **QUIET) as workers:
        address = workers.scheduler_address
        start = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard", "--local-directory", str(tmp_path)]
        held = subprocess.Popen([*start, "--nthreads", "1"], env=os.environ | {"FE_BENCH_SIMD": "off"}, stderr=subprocess.DEVNULL)
        free = subprocess.Popen([*start, "--nthreads", "4"], env=os.environ | {"RAYON_NUM_THREADS": "3"}, stderr=subprocess.DEVNULL)
        try:
            with distributed.Client(workers) as client:
                client.wait_for_workers(2, timeout=60)
                fe.run_study(study, tmp_path / "many", client=client, shards=12, quiet=True)
                ran = client.run(lambda: os.environ.get("FE_BENCH_SIMD"))
        finally:
            for process in (held, free):
                process.terminate()
                process.wait()
    assert sorted(map(str, ran.values())) == ["None", "off"]
    assert read(tmp_path / "many") == read(tmp_path / "one")


def test_a_scheduler_that_restarts_loses_nothing(client: Any, study: Path, tmp_path: Path) -> None:
    fe.run_study(study, tmp_path / "one", quiet=True)
    restart = threading.Timer(0.8, client.restart)
    restart.start()
    fe.run_study(study, tmp_path / "many", client=client, shards=12, quiet=True)
    restart.join()
    assert read(tmp_path / "many") == read(tmp_path / "one")


@pytest.mark.skipif("CLUSTER_KILLS" not in os.environ, reason="takes minutes; CLUSTER_KILLS=20 runs it")
def test_many_deaths_cost_nothing_that_was_finished(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many random kills of workers, and one of the scheduler: the bytes of one process, nothing kept is run again."""
    import random
    import socket

    from feature_effects_bench import _cluster

    log = tmp_path / "log"
    told = str(log)

    def noting(task: Any, shard: str) -> Any:
        with open(told, "a") as lines:
            lines.write(f"begun {shard}\n")
        from feature_effects_bench._cluster import _shard

        return _shard(task, shard)

    keep = _cluster._keep

    def noted(kept: Path, shard: Any, sent: bytes) -> None:
        keep(kept, shard, sent)
        with open(told, "a") as lines:
            lines.write(f"kept {shard}\n")

    noting.__module__ = "__main__"
    monkeypatch.setattr(_cluster, "_shard", noting)
    monkeypatch.setattr(_cluster, "_keep", noted)
    study.write_text(STUDY.replace("replicates = 12", "replicates = 400").replace("[60, 120]", "[3000, 4000]"), encoding="utf-8")
    fe.run_study(study, tmp_path / "one", quiet=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def start(what: str, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", f"distributed.cli.dask_{what}", *words], **quiet)

    def start_scheduler() -> subprocess.Popen[bytes]:
        return start("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")

    def start_worker() -> subprocess.Popen[bytes]:
        return start("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path))

    scheduler, workers = [start_scheduler()], [start_worker(), start_worker()]
    over = threading.Event()
    kills = [0, 0]

    def kill() -> None:
        chance = random.Random(5)
        for turn in range(int(os.environ["CLUSTER_KILLS"])):
            if over.wait(chance.uniform(0.5, 3.0)):
                return
            if turn == 10:
                scheduler[0].kill()
                scheduler[0].wait()
                scheduler[0] = start_scheduler()
                kills[1] += 1
            place = chance.randrange(2)
            workers[place].kill()
            kills[0] += 1
            for at, worker in enumerate(workers):
                if worker.poll() is not None or turn == 10:
                    worker.kill()
                    worker.wait()
                    workers[at] = start_worker()

    killer = threading.Thread(target=kill)
    resumed = 0
    try:
        killer.start()
        while True:
            try:
                with distributed.Client(address, timeout=60) as client:
                    client.wait_for_workers(1, timeout=60)
                    fe.run_study(study, tmp_path / "many", client=client, shards=200, quiet=True, resume=resumed > 0)
                break
            except Exception:  # noqa: BLE001, a client that lost its scheduler is resumed
                resumed += 1
                assert resumed < 4
    finally:
        over.set()
        killer.join()
        for process in [*scheduler, *workers]:
            process.kill()
            process.wait()
    assert read(tmp_path / "many") == read(tmp_path / "one")
    lines = log.read_text(encoding="utf-8").split("\n")
    kept = [line.removeprefix("kept ") for line in lines if line.startswith("kept ")]
    assert len(kept) == len(set(kept))
    again = [line for at, line in enumerate(lines) if line.startswith("begun ") and f"kept {line[6:]}" in lines[:at]]
    begun = sum(line.startswith("begun ") for line in lines)
    print(f"{kills[0]} workers and {kills[1]} schedulers killed, client resumed {resumed} times, {begun} begun, {len(kept)} kept")
    assert again == []


def test_what_makes_no_sense_is_refused(client: Any, study: Path, tmp_path: Path) -> None:
    def refused(match: str, given: Any = study, **options: Any) -> None:
        with pytest.raises(fe.FeatureEffectsError, match=match):
            fe.run_study(given, tmp_path / "out", quiet=True, **{"client": client, **options})

    refused("jobs= has no meaning on a cluster", jobs=2)
    refused("shard= has no meaning on a cluster", shard="1/2")
    refused("shards= must be at least 1", shards=0)
    refused("shards= is for a cluster", client=None, shards=2)
    refused("no-such.toml: No such file", given=tmp_path / "no-such.toml")
    (tmp_path / "out").mkdir()
    refused("out: exists already")
    (tmp_path / "out").rmdir()
    study.write_text(STUDY.replace('"ale"', '"all"'), encoding="utf-8")
    refused("estimator = all: must be one of", shards=2)
    assert list(tmp_path.iterdir()) == [study]


def test_the_command_starts_workers_of_its_own(study: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "feature_effects_bench", "run", str(study), "--workers", "1", "--shards", "2"]
    done = subprocess.run([*command, "--out", str(tmp_path / "out")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| ale " in done.stdout and "2 shards" in done.stderr
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--resume needs --out" in done.stderr


def test_flags_of_the_program_may_stand_before_the_command(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "feature_effects_bench", "-q", "run", str(study), "--workers", "1", "--shards", "2"]
    done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "pdp" in done.stdout
    assert (out / "cells.csv").is_file()


def test_the_usual_port_of_another_cluster_is_left_alone(study: Path, tmp_path: Path) -> None:
    import contextlib
    import socket

    command = [sys.executable, "-W", "error", "-m", "feature_effects_bench", "--quiet", "run", str(study), "--workers", "1"]
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # held by another program already
            held.bind(("", 8787))
            held.listen()
        done = subprocess.run([*command, "--out", str(tmp_path / "out")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_workers_keep_memory_that_is_free() -> None:
    """Rows come and go; to give back their memory each time costs a tenth of the time."""
    from feature_effects_bench.__main__ import worker_environment

    assert "MALLOC_TRIM_THRESHOLD_" not in worker_environment()


def test_fewer_shards_have_the_same_datasets() -> None:
    from feature_effects_bench._cluster import Shard, _coarser

    for of, fewest, done in [(8, 2, 2), (32, 4, 3), (12, 3, 0), (6, 6, 1), (16, 1, 1)]:
        left = [Shard(number, of) for number in range(done + 1, of + 1)]
        found = _coarser(left, of, fewest)
        numbers = [number for shard in found for number in range(shard.number, of + 1, shard.of)]
        assert sorted(numbers) == list(range(done + 1, of + 1))
        assert len(found) <= len(left)
    assert _coarser([Shard(number, 8) for number in range(2, 9)], 8, 2) == [(2, 2), (3, 4), (5, 8)]


def test_parts_that_cost_much_beside_their_datasets_are_few(tmp_path: Path) -> None:
    """As where each works out the same truths: the first of each thread tell, by what it took and what its estimates took."""
    from feature_effects_bench._cluster import Shard, _fewest

    def part(seconds: float, estimates: float) -> int:
        folder = tmp_path / "1-of-32"
        folder.mkdir(exist_ok=True)
        (folder / "manifest.json").write_text(f'{{"wall_seconds": {seconds}}}')
        (folder / "timings.csv").write_text(f"seconds\n{estimates / 2}\n{estimates / 2}\n")
        return _fewest([Shard(1, 32)], tmp_path, 32, 2)

    assert part(1.01, 1.0) == 32
    assert part(40.0, 1.0) == 2
    assert 2 < part(1.2, 1.0) < 32


def test_a_run_without_a_number_of_shards_has_the_same_bytes(client: Any, study: Path, tmp_path: Path) -> None:
    fe.run_study(study, tmp_path / "one", seed=3, quiet=True)
    fe.run_study(study, tmp_path / "many", seed=3, client=client, quiet=True)
    assert read(tmp_path / "many") == read(tmp_path / "one")
