#!/usr/bin/env bash
# Makes docs/scenarios.md and docs/pictures from the registered scenarios.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run --release --locked -p fe-bench --example scenario_pictures
