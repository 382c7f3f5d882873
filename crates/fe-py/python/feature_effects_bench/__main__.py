"""The program ``fe-bench``: ``python -m feature_effects_bench --help``.

Here ``run`` takes two more options, for a cluster of Dask: ``--workers N`` starts one of N processes on this machine,
``--scheduler ADDRESS`` is one that there is.
"""

from __future__ import annotations

import sys

from . import _native

CLUSTER = ("--workers", "--scheduler")


def main() -> int:
    """Runs the program on the arguments of this process, and returns its exit status."""
    words = sys.argv[1:]
    command = next((word for word in words if not word.startswith("-")), None)
    if command == "run" and any(word.partition("=")[0] in CLUSTER for word in words):
        words.remove("run")
        return run_on_cluster(words)
    return _native.program(["fe-bench", *words], [sys.executable, "-m", "feature_effects_bench"])


def worker_environment() -> dict[str, object]:
    """Variables of worker processes: Dask's own, but for one that has them give memory back as soon as it is free.

    Rows that come and go then cost a tenth more time.
    """
    import dask
    import distributed  # noqa: F401, whose settings are asked for

    preset = dask.config.get("distributed.nanny.pre-spawn-environ")
    return {name: value for name, value in preset.items() if name != "MALLOC_TRIM_THRESHOLD_"}


def run_on_cluster(words: list[str]) -> int:
    """``run`` with a cluster: 0, or 2 and what is wrong on standard error."""
    import argparse
    import time
    from pathlib import Path

    from ._program import run_study

    parser = argparse.ArgumentParser("fe-bench run", description="Runs studies on a cluster of Dask.")
    parser.add_argument("studies", nargs="+", metavar="STUDY.toml", help="study files")
    parser.add_argument("--out", type=Path, metavar="DIR", help="results folder; must not exist")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="master seed, from which all datasets are drawn")
    parser.add_argument("--resume", action="store_true", help="go on where an earlier run into the same --out was stopped")
    parser.add_argument("--engines", type=Path, metavar="FILE.toml", help="file that declares engines")
    parser.add_argument("--shards", type=int, metavar="M", help="in how many parts the cluster runs it")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but what goes wrong")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--workers", type=int, metavar="N", help="start so many worker processes on this machine")
    where.add_argument("--scheduler", metavar="ADDRESS", help="take the cluster of this scheduler")
    given = parser.parse_args(words)
    if given.resume and given.out is None:
        parser.error("--resume needs --out")
    if given.workers is not None and given.workers < 1:
        parser.error("--workers must be at least 1")
    out = given.out or Path("results/runs") / time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime())
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        print("fe-bench: run: a cluster needs Dask: pip install 'feature-effects-bench[dask]'", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    try:
        if given.scheduler is not None:
            cluster = None
            client = Client(given.scheduler)
        else:
            # A task that has ended three workers is not given to a fourth.
            dask.config.set({"distributed.scheduler.allowed-failures": 2})
            dask.config.set({"distributed.nanny.pre-spawn-environ": worker_environment()})
            # A worker waits for the program: to look a hundred times a second what it is at would slow that down.
            dask.config.set({"distributed.worker.profile.enabled": False})
            # Its pages are not shown, yet are served: at any free port, as another cluster may hold the usual one.
            cluster = LocalCluster(
                n_workers=given.workers,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
            )
            client = Client(cluster)
        with client:
            results = run_study(
                given.studies,
                out,
                seed=given.seed,
                resume=given.resume,
                engines=given.engines,
                client=client,
                shards=given.shards,
                quiet=given.quiet,
            )
        if cluster is not None:
            cluster.close()
    except (_native.FeatureEffectsError, OSError, ValueError) as error:
        print(f"fe-bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(results.table(), end="")
    if not given.quiet:
        print(f"fe-bench: {out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
