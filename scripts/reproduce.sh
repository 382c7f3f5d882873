#!/usr/bin/env bash
# Runs the papers' studies again and says which results differ from the committed ones.
# usage: scripts/reproduce.sh [FOLDER]        new results go there, one folder per study
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-results/runs/papers}
if [ -e "$folder" ]; then
    echo "$folder exists already, and results are never overwritten: name another folder" >&2
    exit 2
fi
cargo build --release --locked --quiet -p fe-bench

differing=0
for study in scenarios/papers/*.toml; do
    name=$(basename "$study" .toml)
    mkdir -p "$folder"
    cargo run --release --locked --quiet -p fe-bench -- run "$study" --out "$folder/$name" > "$folder/$name.md"
    if cmp -s "results/papers/$name/summary.csv" "$folder/$name/summary.csv"; then
        echo "same     $name"
    else
        differing=1
        echo "differs  $name"
        diff "results/papers/$name/summary.csv" "$folder/$name/summary.csv" | head -6 || true
    fi
done
exit "$differing"
