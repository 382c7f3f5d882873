#!/usr/bin/env bash
# Runs studies on a cluster of Slurm: an array job of M shards, and a job after it that merges them into DIR.
#
#     scripts/slurm/submit.sh M DIR STUDY.toml... [options of fe-bench run]
#
# DIR must be seen by all nodes, and so must fe-bench, as FE_BENCH=/path/to/fe-bench if it is not on their PATH. Options
# for Slurm go into SBATCH, as in SBATCH="--partition=short --time=30 --cpus-per-task=4". It prints the number of the
# job that merges; where a shard failed for good that one never starts, and the same command again does what is missing.
set -euo pipefail
[ $# -ge 3 ] && [[ $1 =~ ^[1-9][0-9]*$ ]] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2; }
shards=$1
out=${2%/}
shift 2
[ ! -e "$out" ] || { echo "submit.sh: $out: exists already" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out.shards"
# Options stand apart in SBATCH, as the words of a command do.
read -ra options <<< "${SBATCH:-}"
array=$(sbatch --parsable --array="1-$shards" --output="$out.shards/%a.log" "${options[@]}" \
    "$here/array.sh" "$out" "$@")
folders=()
for shard in $(seq "$shards"); do folders+=("$out.shards/$shard"); done
merge=$(printf '%q ' "${FE_BENCH:-fe-bench}" merge "${folders[@]}" --out "$out")
sbatch --parsable --job-name=fe-bench-merge --dependency="afterok:$array" --kill-on-invalid-dep=yes \
    --output="$out.shards/merge.log" "${options[@]}" --wrap "$merge"
