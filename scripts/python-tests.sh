#!/usr/bin/env bash
# Tests the Python package against the program, in an environment under target/. Where there is no Python, or
# the packages it needs cannot be had, it says so and is done.
#
# The wheel is built and installed. With --module the module is taken from the workspace as it is compiled for the
# other tests, which spares compiling all of it once more. With --packages nothing is tested: only what the tests need
# is installed, which can be done while other things are compiled.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-$PWD/target}
environment=$target/python
python=$environment/bin/python
requirements=crates/fe-py/requirements-test.txt

skip() { echo "Python bindings: not tested, $*"; exit 0; }

command -v python3 > /dev/null || skip "there is no python3"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "Python 3.11 or later is needed"
[ -x "$python" ] || python3 -m venv "$environment" 2> /dev/null || skip "python3 has no venv"
"$python" -m pip install --quiet --disable-pip-version-check -r "$requirements" ||
    skip "its packages could not be installed"
"$python" -m pip install --quiet --disable-pip-version-check -r crates/fe-py/requirements-optional.txt ||
    echo "Python bindings: frames and figures are not tested, their packages could not be installed"

[ "${1:-}" != --packages ] || exit 0

# In the profile of the other tests: what they have compiled with the same features is taken.
if [ "${1:-}" = --module ]; then
    # With the features of the tests, or all would be compiled again.
    cargo build --locked --workspace --lib --tests
    export PYTHONPATH=$target/python-package
    rm -rf "$PYTHONPATH"
    cp -r crates/fe-py/python "$PYTHONPATH"
    for library in "$target"/debug/libfeature_effects_bench.{so,dylib}; do
        [ ! -e "$library" ] || cp "$library" "$PYTHONPATH/feature_effects_bench/_native.abi3.so"
    done
else
    cargo build --locked --workspace --bins
    rm -rf "$target/wheels"
    "$environment/bin/maturin" build --profile dev --locked --quiet -m crates/fe-py/Cargo.toml \
        --interpreter "$python" --out "$target/wheels"
    "$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps \
        "$target"/wheels/*.whl
fi
FE_BENCH=$target/debug/fe-bench "$python" -m pytest -n auto crates/fe-py
