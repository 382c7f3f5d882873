# What is done again and again; `just` lists it. Each line can be typed without just as well.

# What there is.
default:
    @just --list

# Seconds to a minute: formatting, lints and the libraries' own tests.
quick:
    cargo fmt --all --check
    cargo clippy --workspace --locked -- -D warnings
    FE_BENCH_ADAPTERS=skip cargo test --locked -p fe-core -p fe-truth --lib

# All that must pass before a change lands.
ci:
    .ci/run

# The command line's golden files, written anew from what the program prints; look at the difference.
snapshots:
    TRYCMD=overwrite cargo test --locked -p fe-bench --test golden
    git diff --stat crates/fe-bench/tests/cmd

# The README's first command: the short studies, results in results/runs/.
studies:
    cargo run --release -- run scenarios/*.toml

# The papers' studies once more, and which file differs from the committed one.
reproduce:
    scripts/reproduce.sh

# The libraries' documentation.
docs:
    cargo doc --workspace --no-deps --open
