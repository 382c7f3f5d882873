#!/usr/bin/env bash
# Makes docs/scenarios.md and docs/pictures from the registered scenarios.
# The environment: PROFILE, the profile of cargo that it is built with [default: release].
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run --profile "${PROFILE:-release}" --locked -p fe-bench --example scenario_pictures
