#!/usr/bin/env bash
# Times all kinds of estimates of studies by criterion and puts them beside the errors, in tables and figures.
# usage: scripts/timings.sh [FOLDER [STUDY…]]
#   FOLDER  where results go, a folder for each study, which must not exist [default: results/runs/timings]
#   STUDY   names of studies in scenarios/ [default: friedman1 rhale-bins-piecewise]
# The machine should have nothing else to do.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-results/runs/timings}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- friedman1 rhale-bins-piecewise
cargo build --release --locked --quiet -p fe-bench
program=${CARGO_TARGET_DIR:-target}/release/fe-bench
for study in "$@"; do
    here=$folder/$study
    "$program" run "scenarios/$study.toml" --out "$here" > /dev/null
    cargo bench --workspace --bench sweep --locked -- "scenarios/$study.toml" --out "$folder.times"
    times=$folder.times/$study/timings.csv
    "$program" table "$here" --timings "$times" --where feature=x1 \
        --caption "$study: errors, and seconds for one estimate" > "$here/tables.md"
    "$program" plot "$here" --timings "$times" --where feature=x1 --kind error-by-time --out "$here.figures" > /dev/null
    # Times of the run itself are those of busy cores.
    mv "$times" "$here/timings.csv"
    mv "$here.figures"/* "$here/"
    rmdir "$here.figures"
done
rm -r "$folder.times"
