#!/usr/bin/env bash
# How well the tests of fe-core and fe-truth bite: cargo-mutants breaks the code in many small ways, and tells
# which of them no test notices. Weekly, and before a large change lands.
#
#     scripts/mutants.sh [--since REVISION] [--random N] [--seed S]
#     scripts/mutants.sh --file crates/fe-truth/src/scenario/liu.rs
#
# Tries every mutant of what changed since REVISION [default: main], then N [default: 1000] of the others, drawn by
# the seed S [default: the day, as in 20261123; it is printed and recorded]; with --file every mutant of a file and no
# other. Prints the share that was caught and the survivors, and ends with status 1 where under 90 % were caught. All is
# kept in target/mutants/. A mutant takes the time of compiling and testing its package: about a minute.
#
# Each mutant runs the tests of its own package alone, without examples in documentation, with few cases of
# property tests, and in this folder, where everything else is compiled already: it must have no changes that are
# not committed, and `git checkout crates` brings it back should the machine stop half-way.
set -euo pipefail
cd "$(dirname "$0")/.."

since=main random=1000 seed=$(date +%Y%m%d) file=
usage="scripts/mutants.sh [--since REVISION] [--random N] [--seed S] | --file FILE"
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || { echo "$usage" >&2 && exit 2; }
    case $1 in
        --since) since=$2 ;;
        --random) random=$2 ;;
        --seed) seed=$2 ;;
        --file) file=$2 ;;
        *) echo "$usage" >&2 && exit 2 ;;
    esac
    shift 2
done
if [ -n "$file" ] && [ ! -f "$file" ]; then
    echo "there is no file $file" >&2
    exit 2
fi
cargo mutants --version > /dev/null 2>&1 || {
    echo "cargo-mutants is not installed: cargo install --locked cargo-mutants" >&2
    exit 2
}
git diff --quiet HEAD -- crates || {
    echo "crates/ has changes that are not committed: mutants are made in place" >&2
    exit 2
}

packages=(--package fe-core --package fe-truth)
out=target/mutants
rm -rf "$out"
mkdir -p "$out"
# What breaks a property is no case to keep: it was the mutant.
export PROPTEST_CASES=${PROPTEST_CASES:-32} PROPTEST_RNG_SEED=20261121 PROPTEST_DISABLE_FAILURE_PERSISTENCE=1

# try NAME OPTION…: tries mutants, which may survive.
try() {
    local name=$1 status=0
    shift
    cargo mutants "${packages[@]}" --in-place --test-workspace=false --no-shuffle --timeout 300 \
        --output "$out/$name" "$@" -- --lib --tests || status=$?
    # 2 says that some survived, 3 that some did not end: anything else is a failure of the tool.
    case $status in 0 | 2 | 3) ;; *) exit "$status" ;; esac
}

if [ -n "$file" ]; then
    try file --file "$file"
    random=0
else
    git diff "$since" -- crates/fe-core/src crates/fe-truth/src > "$out/changes.diff"
fi
if [ -s "$out/changes.diff" ]; then
    try changed --in-diff "$out/changes.diff"
fi

if [ "$random" -gt 0 ]; then
    cargo mutants "${packages[@]}" --list > "$out/all.txt"
    : > "$out/changed.txt"
    if [ -s "$out/changes.diff" ]; then
        cargo mutants "${packages[@]}" --list --in-diff "$out/changes.diff" > "$out/changed.txt"
    fi
    python3 - "$out" "$random" "$seed" << 'PYTHON'
import json, random, re, sys
from pathlib import Path

out, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
lines = lambda name: (out / name).read_text().splitlines()
others = sorted(set(lines("all.txt")) - set(lines("changed.txt")))
drawn = random.Random(seed).sample(others, min(count, len(others)))
(out / "seed.txt").write_text(f"{seed}: {len(drawn)} of {len(others)}\n")
exactly = ["^" + re.sub(r"([\\.+*?()|\[\]{}^$&~#-])", r"\\\1", name) + "$" for name in drawn]
(out / "drawn.toml").write_text("examine_re = " + json.dumps(exactly, ensure_ascii=False) + "\n")
PYTHON
    try drawn --config "$out/drawn.toml"
fi

python3 - "$out" "$seed" << 'PYTHON'
import sys
from pathlib import Path

out, seed = Path(sys.argv[1]), sys.argv[2]
total = {"caught": 0, "timeout": 0, "missed": 0}
survivors = []
for part in ("file", "changed", "drawn"):
    for kind in total:
        path = out / part / "mutants.out" / f"{kind}.txt"
        found = path.read_text().splitlines() if path.exists() else []
        total[kind] += len(found)
        survivors += found if kind == "missed" else []
caught = total["caught"] + total["timeout"]
tried = caught + total["missed"]
drawn = f"seed {seed}: " if (out / "seed.txt").exists() else ""
print(f"{drawn}{caught} of {tried} mutants caught ({total['timeout']} of them by the time limit)")
print("\n".join(["survivors:", *survivors] if survivors else []))
share = caught / tried if tried else 1.0
print(f"share caught: {share:.1%}")
sys.exit(share < 0.9)
PYTHON
