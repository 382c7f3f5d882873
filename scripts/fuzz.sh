#!/usr/bin/env bash
# Fuzzes what reads files and what engines say: each target of crates/fe-bench/tests/fuzz.rs for so many seconds
# [default: 60], with at most 4 GiB of addresses, by the engine of bolero that runs on stable Rust.
#
#     scripts/fuzz.sh [SECONDS] [TARGET]
#
# A failure prints the changed seed and BOLERO_RANDOM_SEED=…, with which it comes again. Put the smallest input that
# shows it among the seeds of its target.
set -euo pipefail
cd "$(dirname "$0")/.."

# Compiled as all other tests are.
cargo test --workspace --locked --test fuzz --no-run
ulimit -v $((4 * 1024 * 1024))
BOLERO_RANDOM_TEST_TIME_MS=$((${1:-60} * 1000)) cargo test --workspace --locked --test fuzz -- ${2:+"$2"}
