#!/usr/bin/env bash
# Makes docs/problems.md and docs/pictures/problems from the files in scenarios/problems.
# The environment: PROFILE, the profile of cargo that it is built with [default: release].
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run --profile "${PROFILE:-release}" --locked -p fe-bench --example problem_pictures -- "$@"
