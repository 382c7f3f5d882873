#!/usr/bin/env bash
# The examples of the papers on real data, again: figures and numbers under results/real/. Run it from anywhere with
# the program on the PATH; docs/real-data.md says where the two files come from.
#
#     scripts/real-data.sh california california_housing.csv
#     scripts/real-data.sh bike hour.csv
set -euo pipefail

case "${1:-}-${2:-}" in
california-?* | bike-?*) ;;
*)
    echo "usage: $0 california|bike FILE.csv" >&2
    exit 2
    ;;
esac
data=$(realpath "$2")
cd "$(dirname "$0")/.."
out=results/real/$1
mkdir -p "$out"

california() {
    # RHALE section 5 and supplement B.3.
    local model=(
        --data "$data" --target median_house_value --ignore ocean_proximity --missing drop
        --outliers 3 --standardize --test 0.2 --explain train
        --model mlp --set hidden=256,128,36 --set learning_rate=0.02 --set epochs=15
    )
    fe-bench effect "${model[@]}" --estimator rhale --format csv --plot "$out/rhale.svg" \
        > "$out/rhale.csv" 2> "$out/fit.txt"
    fe-bench effect "${model[@]}" --estimator pdp --grid 50 --subsample 1000 --format csv --plot "$out/pdp.svg" \
        > "$out/pdp.csv" 2> /dev/null
    fe-bench agree "${model[@]}" --n 1000 --runs 30 --reference-bins 80 --format csv --plot "$out/agree.svg" \
        > "$out/agree.csv" 2> /dev/null
}

bike() {
    # EFFECTOR appendix D.
    local model=(
        --data "$data" --target cnt --ignore instant,dteday,atemp,casual,registered --test 0.2
        --model mlp --set hidden=1024,512,256 --set learning_rate=0.001 --set epochs=20 --set batch=512
    )
    fe-bench effect "${model[@]}" --estimator rhale --format csv --plot "$out/rhale.svg" \
        > "$out/rhale.csv" 2> "$out/fit.txt"
    fe-bench effect "${model[@]}" --estimator pdp --grid 24 --subsample 1000 --format csv --plot "$out/pdp.svg" \
        > "$out/pdp.csv" 2> /dev/null
    local feature
    for feature in hr temp; do
        fe-bench effect "${model[@]}" --estimator regional-pdp --feature "$feature" --grid 24 --subsample 1000 \
            --depth 1 --kind workingday=nominal,holiday=nominal,yr=nominal --format table \
            --plot "$out/regional-pdp-$feature.svg" > "$out/regional-pdp-$feature.txt" 2> /dev/null
        fe-bench effect "${model[@]}" --estimator regional-rhale --feature "$feature" --depth 1 \
            --kind workingday=nominal,holiday=nominal,yr=nominal --format table \
            --plot "$out/regional-rhale-$feature.svg" > "$out/regional-rhale-$feature.txt" 2> /dev/null
    done
}

"$1"
