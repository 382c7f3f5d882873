#!/usr/bin/env bash
# A task of an array job of Slurm: one shard of a run, under DIR.shards. submit.sh hands it over; by hand:
#
#     sbatch --array=1-20 --requeue scripts/slurm/array.sh DIR STUDY.toml... [options of fe-bench run]
#
# A task that is started anew, after its node was taken away or by `scontrol requeue`, goes on where it was.
#SBATCH --job-name=fe-bench
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
out=$1
shift
exec "${FE_BENCH:-fe-bench}" run --shard auto --resume --jobs "${SLURM_CPUS_PER_TASK:-1}" \
    --out "$out.shards/$SLURM_ARRAY_TASK_ID" "$@"
