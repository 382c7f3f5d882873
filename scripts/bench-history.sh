#!/usr/bin/env bash
# Compares speed with that of another day: criterion's times with a saved baseline, and the instructions of the
# kernels with the recorded ones.
# usage: scripts/bench-history.sh save NAME [FILTER]      times now, kept under a name
#        scripts/bench-history.sh compare NAME [FILTER]   times now beside those, and instructions beside the recorded
#   FILTER  only benchmarks whose names contain it [default: all of `estimators`]
# Times are those of this machine, which should have nothing else to do; instructions need valgrind, and are
# compared where the compiler is that of benches/instructions.toml.
# The environment: BENCH, another bench than `estimators` (`automatic_bins`, `studies`); PROFILE, that of the
# instructions [default: release].
# Exit status: 0 nothing is slower, 1 something is, 2 bad input.
set -euo pipefail
cd "$(dirname "$0")/.."

complain() {
    echo "bench-history.sh: $*" >&2
    exit 2
}

[ $# -ge 2 ] && [ $# -le 3 ] || complain "usage: bench-history.sh save|compare NAME [FILTER]"
doing=$1 name=$2
shift 2
bench=${BENCH:-estimators}
[[ $name =~ ^[A-Za-z0-9._-]+$ ]] || complain "$name: a name has letters, digits and . _ -"
kept=${CARGO_TARGET_DIR:-target}/criterion

case $doing in
    save) exec cargo bench --workspace --bench "$bench" --locked -- --save-baseline "$name" "$@" ;;
    compare) ;;
    *) complain "$doing: save or compare" ;;
esac

has() { [ -n "$(find "$kept" -type d -name "$1" -print -quit 2> /dev/null)" ]; }
has "$name" || complain "$name: no baseline of this name in $kept; \`bench-history.sh save $name\` makes one"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cargo bench --workspace --bench "$bench" --locked -- --baseline "$name" "$@" | tee "$log"
status=0
if slower=$(grep -c 'Performance has regressed' "$log"); then
    echo "$slower benchmarks of $bench are slower than $name"
    status=1
fi
if command -v valgrind > /dev/null; then
    cargo bench --workspace --bench instructions --locked --profile "${PROFILE:-release}" || status=1
else
    echo "there is no valgrind: instructions are not counted"
fi
exit $status
