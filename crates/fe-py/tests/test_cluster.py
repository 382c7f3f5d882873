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

FILES = ("cells.csv", "summary.csv", "curves.csv")


@pytest.fixture
def client() -> Iterator[Any]:
    """Two worker processes, each in a folder of its own."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as workers, distributed.Client(workers) as client:
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
    (tmp_path / "shard").rename(kept / "2")
    before = (kept / "2" / "timings.csv").read_bytes().splitlines()[1:]
    with pytest.raises(fe.FeatureEffectsError, match="continue it with resume"):
        fe.run_study(study, tmp_path / "many", client=client, quiet=True)
    with pytest.raises(fe.FeatureEffectsError, match="of other studies, engines or another seed"):
        fe.run_study(study, tmp_path / "many", seed=4, client=client, resume=True, quiet=True)
    fe.run_study(study, tmp_path / "many", client=client, resume=True, quiet=True)
    assert read(tmp_path / "many") == read(tmp_path / "one")
    # The times are those of the shard that was there.
    timings = (tmp_path / "many" / "timings.csv").read_bytes().splitlines()
    assert all(line in timings for line in before)


def test_a_shard_that_ends_its_workers_leaves_the_others(
    client: Any, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from feature_effects_bench import _cluster

    def fatal(task: Any, index: int) -> Any:
        if index == 2:
            os._exit(1)
        from feature_effects_bench._cluster import _shard

        return _shard(task, index)

    # By value: workers know no tests.
    fatal.__module__ = "__main__"
    monkeypatch.setattr(_cluster, "_shard", fatal)
    with pytest.raises(fe.FeatureEffectsError, match=r"shard 2/3: ended every worker .*\n?.*many.shards"):
        fe.run_study(study, tmp_path / "many", client=client, shards=3, quiet=True)
    monkeypatch.undo()
    client.wait_for_workers(2, timeout=60)
    assert sorted(path.name for path in (tmp_path / "many.shards").iterdir()) == ["1", "3", "run.json"]
    fe.run_study(study, tmp_path / "one", quiet=True)
    fe.run_study(study, tmp_path / "many", client=client, resume=True, quiet=True)
    assert read(tmp_path / "many") == read(tmp_path / "one")


def test_a_scheduler_that_restarts_loses_nothing(client: Any, study: Path, tmp_path: Path) -> None:
    fe.run_study(study, tmp_path / "one", quiet=True)
    restart = threading.Timer(0.8, client.restart)
    restart.start()
    fe.run_study(study, tmp_path / "many", client=client, shards=12, quiet=True)
    restart.join()
    assert read(tmp_path / "many") == read(tmp_path / "one")


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
