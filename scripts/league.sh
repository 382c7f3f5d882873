#!/usr/bin/env bash
# Puts every engine that can run here under the truths, and ranks them.
# usage: scripts/league.sh [FOLDER [STUDY...]]
#   FOLDER  where the results go, which must not exist [default: results/runs/league]
#   STUDY   files of studies [default: all of scenarios/league]
# The environment: FE_BENCH, a program to be used instead of building it.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-results/runs/league}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- scenarios/league/*.toml
if [ -z "${FE_BENCH:-}" ]; then
    cargo build --release --bin fe-bench
    FE_BENCH=target/release/fe-bench
fi
"$FE_BENCH" estimators
# One job: times matter.
"$FE_BENCH" run "$@" --jobs 1 --out "$folder" > /dev/null
"$FE_BENCH" league "$folder" --format csv > "$folder/league.csv"

# The same to read, a table for each study.
awk -F, '
    function shown(value) { return value ~ /^-?[0-9.]+(e-?[0-9]+)?$/ ? sprintf("%.3g", value) : value }
    NR == 1 { for (i = 2; i <= NF; i++) name[i] = $i; next }
    $1 != study {
        study = $1
        printf "%s## %s\n\n", (NR > 2 ? "\n" : ""), study
        for (i = 2; i <= NF; i++) printf "| %s ", name[i]
        print "|"
        for (i = 2; i <= NF; i++) printf "|---"
        print "|"
    }
    { for (i = 2; i <= NF; i++) printf "| %s ", i == 2 ? $i : shown($i); print "|" }
' "$folder/league.csv" > "$folder/league.md"
