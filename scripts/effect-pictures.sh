#!/usr/bin/env bash
# Makes the pictures of README.md, docs/binning.md and docs/data.md by the commands that stand there.
# The environment: FE_BENCH, a program to be used instead of building it.
set -euo pipefail
cd "$(dirname "$0")/.."

program=${FE_BENCH:-}
if [ -z "$program" ]; then
    cargo build --release --locked --quiet -p fe-bench
    program=${CARGO_TARGET_DIR:-target}/release/fe-bench
fi

# draw NAME ARGUMENTS…: the figure docs/pictures/NAME.svg of an effect.
draw() {
    local name=$1
    shift
    "$program" effect "$@" --plot "docs/pictures/$name.svg" > /dev/null
}

draw effect-rhale piecewise-linear --n 500 --seed 1 --estimator rhale --bins 20 --feature x1
draw binning-rhale sin-indicator --n 50000 --seed 1 --estimator rhale --feature x1
draw effect-iris --data docs/iris.csv --target species --model logistic --estimator ale --bins 10 --feature petal_length
