#!/usr/bin/env bash
# The speed of the estimators against an earlier one: criterion's times against a saved baseline, and instruction counts
# against those recorded in benches/instructions.toml.
# usage: scripts/bench-history.sh save NAME [BENCH…]      times of this commit, saved as NAME
#        scripts/bench-history.sh compare NAME [BENCH…]   times of this commit against NAME, and instruction counts
#   BENCH  a bench of criterion [default: estimators automatic_bins]
# The environment: LEAST, the change in percent from which a bench is reported [default: 5]; INSTRUCTIONS=0 leaves out
# the counts, which need valgrind.
# Exit status: 0 nothing is slower, 1 something is, 2 bad input. Baselines lie in the folder target/criterion, and are
# of one machine.
set -euo pipefail
cd "$(dirname "$0")/.."

complain() {
    echo "bench-history.sh: $*" >&2
    exit 2
}

[ $# -ge 2 ] || complain "two arguments or more are needed: see the head of this script"
what=$1 name=$2
shift 2
case $what in save | compare) ;; *) complain "$what: must be save or compare" ;; esac
[[ $name =~ ^[A-Za-z0-9_.-]+$ ]] || complain "$name: a baseline is called by letters, digits, _, . and -"
[ "$name" != new ] && [ "$name" != change ] && [ "$name" != base ] ||
    complain "$name: this name is criterion's own"
least=${LEAST:-5}
[[ $least =~ ^[0-9]+(\.[0-9]+)?$ ]] || complain "LEAST=$least: must be a number of percent"
benches=("$@")
[ ${#benches[@]} -gt 0 ] || benches=(estimators automatic_bins)
for bench in "${benches[@]}"; do
    grep -q "^name = \"$bench\"\$" benches/Cargo.toml || complain "$bench: there is no such bench"
done
kept=${CARGO_TARGET_DIR:-target}/criterion
if [ "$what" = compare ]; then
    [ -n "$(find "$kept" -type d -name "$name" -print -quit 2>/dev/null)" ] ||
        complain "$name: no baseline of this name is saved in $kept"
fi

flags=()
for bench in "${benches[@]}"; do
    flags+=(--bench "$bench")
done
if [ "$what" = save ]; then
    cargo bench --locked --quiet -p fe-benches "${flags[@]}" -- --noplot --save-baseline "$name"
    exit 0
fi
started=$(mktemp)
trap 'rm -f "$started"' EXIT
cargo bench --locked --quiet -p fe-benches "${flags[@]}" -- --noplot --baseline-lenient "$name"

# The changes that criterion wrote just now: medians, with the lower end of their interval.
status=0
python3 - "$kept" "$started" "$least" <<'END' || status=1
import json, os, pathlib, sys

kept, started, least = pathlib.Path(sys.argv[1]), os.stat(sys.argv[2]).st_mtime, float(sys.argv[3])
changes = []
for file in kept.glob("**/change/estimates.json"):
    if file.stat().st_mtime < started:
        continue
    median = json.loads(file.read_text())["median"]
    interval = median["confidence_interval"]
    name = str(file.parent.parent.relative_to(kept))
    changes.append((100 * median["point_estimate"], 100 * interval["lower_bound"], 100 * interval["upper_bound"], name))
changes.sort(reverse=True)
slower = [change for change in changes if change[1] > least]
faster = [change for change in changes if change[2] < -least]
print(f"{len(changes)} benches compared: {len(slower)} slower and {len(faster)} faster by more than {least:g} %")
for change, low, high, name in slower + faster:
    print(f"{change:+7.1f} % ({low:+.1f} to {high:+.1f})  {name}")
sys.exit(bool(slower) or not changes)
END

if [ "${INSTRUCTIONS:-1}" != 0 ]; then
    if command -v valgrind > /dev/null; then
        cargo bench --locked --quiet -p fe-benches --bench instructions || status=1
    else
        echo "bench-history.sh: there is no valgrind, and no instructions are counted" >&2
    fi
fi
exit $status
