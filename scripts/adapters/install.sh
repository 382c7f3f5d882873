#!/bin/sh
# Installs what the adapters in Python call, with pinned versions, into the folder .venv beside this file:
#   scripts/adapters/install.sh                all of them
#   scripts/adapters/install.sh effector shap  some of them
# PYTHON names the interpreter (3.11 is what the versions are tested with), VENV another folder.
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- effector alibi pyale scikit-learn shap
requirements=""
for engine in "$@"; do
  [ -f "requirements/$engine.txt" ] || { echo "install.sh: no engine $engine" >&2; exit 2; }
  requirements="$requirements -r requirements/$engine.txt"
done
venv=${VENV:-.venv}
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
# All versions are given, so that nothing is resolved; no sources are built, and nothing is compiled that is
# never imported.
# shellcheck disable=SC2086
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-compile \
  -c requirements/versions.txt $requirements
