"""The program that the package brings along, and its results as frames."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import feature_effects_bench as fe

pytest.importorskip("pandas")

STUDY = """
about = "two estimators"
[[block]]
scenario = "poly3"
features = ["x1"]
N = [60, 120]
replicates = 3
metrics = ["mse"]
keep = ["curves"]
estimator = [{ name = "pdp" }, { name = "ale", bins = 5 }]
"""


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "feature_effects_bench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_program_is_that_of_the_workspace(program: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY, encoding="utf-8")
    for name, command in [("one", [str(program)]), ("two", [sys.executable, "-m", "feature_effects_bench"])]:
        done = subprocess.run([*command, "run", study, "--out", tmp_path / name], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    for file in ("cells.csv", "summary.csv", "curves.csv"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert run("--version").stdout == subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    assert fe.Results(tmp_path / "two").manifest["command"][:2] == ["fe-bench", "run"]


def test_statuses_and_streams_are_those_of_the_program() -> None:
    done = run("truth", "no-such-scenario", "--values")
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("fe-bench: ")
    assert run("effect", "poly3", "--n", "ten").returncode == 2
    done = run("list", "metrics")
    assert done.returncode == 0 and "rmse" in done.stdout and done.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_it_as_it_ends_the_program(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY.replace("replicates = 3", "replicates = 200000"), encoding="utf-8")
    command = [sys.executable, "-m", "feature_effects_bench", "run", str(study), "--out", str(tmp_path / "out")]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        while not (tmp_path / "out.unfinished").exists():
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "SIGINT" in said and "--resume" in said


def test_a_study_is_frames(tmp_path: Path) -> None:
    results = fe.run_study(STUDY, quiet=True)
    assert results.is_temporary and "study" in repr(results)
    assert len(results.cells) == 12 and len(results.summary) == 4
    assert results.cells["N"].tolist() == [60] * 6 + [120] * 6
    assert results.cells["value"].dtype == float and results.cells["preset"].isna().all()
    assert set(results.curves["estimator"]) == {"pdp", "ale"}
    assert results.timings["seconds"].gt(0).all()
    with pytest.raises(fe.FeatureEffectsError, match='keep = \\["bins"\\]'):
        _ = results.bins
    with pytest.raises(fe.FeatureEffectsError, match="out="):
        results.report()
    page = results.report(tmp_path / "page.html")
    assert page.is_file() and "<html" in page.read_text(encoding="utf-8")[:200]
    assert results._repr_html_().startswith("<pre>")

    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    kept = fe.run_study(path, out=tmp_path / "kept", jobs=1, quiet=True)
    assert not kept.is_temporary and kept.folder == tmp_path / "kept"
    assert kept.cells.equals(results.cells) and fe.Results(kept.folder).summary.equals(kept.summary)
    other = fe.run_study([path], seed=1, quiet=True)
    assert not other.cells.equals(kept.cells)


def test_tables_take_the_options_of_the_program() -> None:
    results = fe.run_study(STUDY, quiet=True)
    text = fe.table(results, rows="estimator", cols=["N"], where={"metric": "mse"})
    assert "| pdp " in text and "N\xa0=\xa060" in text and "N\xa0=\xa0120" in text
    assert r"\toprule" in results.table(format="latex")
    with pytest.raises(fe.FeatureEffectsError, match="fe-bench table: .*--no-such"):
        fe.table(results, no_such=1)


def test_what_the_program_refuses_is_raised(tmp_path: Path) -> None:
    with pytest.raises(fe.FeatureEffectsError, match="unknown metric `no-such`"):
        fe.run_study(STUDY.replace('"mse"', '"no-such"'), quiet=True)
    with pytest.raises(fe.FeatureEffectsError, match="no-such.toml"):
        fe.run_study(tmp_path / "no-such.toml", quiet=True)
    fe.run_study(STUDY, out=tmp_path / "out", quiet=True)
    with pytest.raises(fe.FeatureEffectsError, match="exist"):
        fe.run_study(STUDY, out=tmp_path / "out", quiet=True)


def test_a_file_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert run("new", path).returncode == 0
    findings = fe.check(path, quick=True)
    assert (findings["result"] == "ok").all() and len(findings) > 0
