#!/usr/bin/env bash
# Makes docs/problems.md and docs/pictures/problems from the files in scenarios/problems.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run --release --locked -p fe-bench --example problem_pictures -- "$@"
