#!/bin/sh
# Installs what the adapters in Python call, with pinned versions, into the folder .venv beside this file:
#   scripts/adapters/install.sh                all of them
#   scripts/adapters/install.sh effector shap  some of them
# PYTHON names the interpreter (3.11 is what the versions are tested with).
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- effector alibi pyale scikit-learn shap
requirements=""
for engine in "$@"; do
  [ -f "requirements/$engine.txt" ] || { echo "install.sh: no engine $engine" >&2; exit 2; }
  requirements="$requirements -r requirements/$engine.txt"
done
[ -x .venv/bin/python ] || "${PYTHON:-python3}" -m venv .venv
# shellcheck disable=SC2086
.venv/bin/python -m pip install --quiet --disable-pip-version-check $requirements
