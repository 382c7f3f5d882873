# What is done again and again; `just` lists it. Each line can be typed without just as well.

# The list of recipes.
default:
    @just --list

# Formatting, lints, unit tests and the order of imports, in seconds once all is compiled; no adapters, no valgrind.
quick:
    cargo fmt --all --check
    cargo clippy --workspace --locked -- -D warnings
    FE_BENCH_ADAPTERS=skip cargo test --workspace --locked --lib
    cargo test --workspace --locked --test suite layers

# All that must pass before a change lands.
ci:
    .ci/run

# The command line's golden files, written anew from what the program prints; look at the difference.
snapshots:
    TRYCMD=overwrite cargo test --workspace --locked --test golden
    git diff --stat crates/fe-bench/tests/cmd

# The README's first command: the short studies, results in results/runs/.
studies:
    cargo run --release -- run scenarios/*.toml

# The papers' studies once more, and which file differs from the committed one.
reproduce:
    scripts/reproduce.sh

# The libraries' documentation, in target/doc; `just docs --open` shows it.
docs *options:
    cargo doc --workspace --no-deps --locked {{options}}

# The check before a release: packages, licences, versions, the wheel; publishes nothing.
release-check *options:
    scripts/release-check.sh {{options}}
