#!/usr/bin/env bash
# Times a study as one process of one thread and of two, on one worker of Dask and on two of one thread each, in turns,
# and prints a line for each run: seconds on the wall and of processors, the start of the program or the cluster
# included. All runs must give the same values. Nothing else should be at work meanwhile.
#
#     scripts/cluster-timings.sh PYTHON [TURNS [DATASETS]] > results/timings/cluster.csv
#
# PYTHON is an interpreter with the package and its extra `dask`; there are 12 datasets of 0.08 s in each part.
set -euo pipefail

python=$1 turns=${2:-3} datasets=${3:-720}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > study.toml << STUDY
about = "Parts of a second: datasets that cost some hundredths of one."
[[block]]
scenario = "friedman1"
N = 100000
features = ["x1", "x4"]
replicates = $datasets
[[block.estimator]]
name = "pdp"
[[block.estimator]]
name = "ale"
STUDY

timed() {
    local run=$1
    shift
    TIMEFORMAT='%R %U %S'
    local taken
    taken=$({ time "$python" -m feature_effects_bench -q run study.toml --out "$run" "$@" > /dev/null 2> "$run.log"; } 2>&1) ||
        { cat "$run.log" >&2; exit 1; }
    awk -v run="$run" '{ printf "%s,%.2f,%.2f\n", run, $1, $2 + $3 }' <<< "$taken"
}

parts=$((datasets / 12))
echo run,seconds,processor_seconds
for turn in $(seq "$turns"); do
    timed "one-$turn" --jobs 1
    timed "two-threads-$turn" --jobs 2
    timed "one-worker-$turn" --workers 1 --shards "$parts"
    timed "two-workers-$turn" --workers 2 --shards "$parts"
    for other in "two-threads-$turn" "one-worker-$turn" "two-workers-$turn"; do
        cmp "one-$turn/cells.csv" "$other/cells.csv" >&2
    done
done
