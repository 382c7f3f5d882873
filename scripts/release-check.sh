#!/usr/bin/env bash
# Whether everything could be released as it is: packages, licences, versions, the Python wheel and its sources. It
# publishes nothing. With --quick only what takes seconds; else each package is compiled from what would be published,
# and the wheel is built and tested on every Python from 3.10 on that is there. Tools that are missing are named.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; "$@"; }
has() { command -v "$1" > /dev/null || { echo "$1: not there, skipped ($2)"; return 1; }; }

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
for file in CITATION.cff codemeta.json; do
    grep -Eq "version\"?: \"?$version\"?" "$file" || { echo "$file does not say version $version" >&2; exit 1; }
done
grep -q "^## " CHANGELOG.md

step scripts/third-party.py --check
step cargo package --workspace --exclude fe-py --exclude fe-benches --locked --allow-dirty --no-verify --quiet
if cargo deny --version > /dev/null 2>&1; then step cargo deny --offline check licenses bans sources
else echo "cargo deny: not there, skipped (cargo install cargo-deny)"; fi
has actionlint "go install github.com/rhysd/actionlint/cmd/actionlint@latest" && step actionlint
[ "${1:-}" != --quick ] || exit 0

step cargo publish --workspace --dry-run --locked --allow-dirty
tag=$(git describe --tags --abbrev=0 2> /dev/null || true)
if [ -z "$tag" ]; then echo "cargo semver-checks: there is no release to compare with yet"
elif cargo semver-checks --version > /dev/null 2>&1; then step cargo semver-checks --baseline-rev "$tag"
else echo "cargo semver-checks: not there, skipped (cargo install cargo-semver-checks)"; fi

has cargo rust || exit 1
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
python3 -m venv "$wheels/build"
"$wheels/build/bin/pip" install --quiet --disable-pip-version-check "maturin>=1.9,<2"
step "$wheels/build/bin/maturin" sdist -m crates/fe-py/Cargo.toml --out "$wheels"
# The wheel is built from them, where nothing of the workspace is. Their lock file also has what only benches need, which
# are not among them; versions are those of the lock file, as others cannot be had.
mkdir "$wheels/empty"
tar xf "$wheels"/*.tar.gz -C "$wheels/empty"
(cd "$wheels"/empty/feature_effects_bench-* && step "$wheels/build/bin/maturin" build --release --offline --quiet --out "$wheels")
ls -l "$wheels"/*.whl "$wheels"/*.tar.gz
unzip -l "$wheels"/*.whl | grep -q THIRD-PARTY.txt
for python in python3.10 python3.11 python3.12 python3.13 python3.14 python3; do
    command -v "$python" > /dev/null && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2> /dev/null || continue
    echo "== the wheel on $("$python" --version)"
    "$python" -m venv "$wheels/$python"
    "$wheels/$python/bin/pip" install --quiet --disable-pip-version-check "$wheels"/*.whl
    (cd "$wheels/empty" && "$wheels/$python/bin/fe-bench" truth poly3 --effect ale --feature x1 --grid 3 &&
        "$wheels/$python/bin/python" -m feature_effects_bench check --quick | tail -n 1)
done
