#!/bin/sh
# Installs what the adapters in Python call, with pinned versions, into the folder .venv beside this file, and artemis, which
# needs an older pandas than the others, into .venv-artemis:
#   scripts/adapters/install.sh                all of them
#   scripts/adapters/install.sh effector shap  some of them
# PYTHON names the interpreter (3.11 is what the versions are tested with), VENV another folder.
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- effector alibi pyale scikit-learn shap salib openturns shapleyx artemis
venv=${VENV:-.venv}

# Installs the requirements of some engines: FOLDER VERSIONS -r FILE...
into() {
  folder=$1 versions=$2
  shift 2
  [ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
  # All versions are given, so that nothing is resolved; no sources are built, and nothing is compiled that is
  # never imported.
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-compile \
    -c "requirements/$versions.txt" "$@"
}

requirements=""
for engine in "$@"; do
  [ -f "requirements/$engine.txt" ] || { echo "install.sh: no engine $engine" >&2; exit 2; }
  case $engine in
    artemis) into "$venv-artemis" versions-artemis -r requirements/artemis.txt ;;
    *) requirements="$requirements -r requirements/$engine.txt" ;;
  esac
done
# shellcheck disable=SC2086
[ -z "$requirements" ] || into "$venv" versions $requirements
