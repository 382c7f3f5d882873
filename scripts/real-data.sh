#!/usr/bin/env bash
# The papers' examples on real data, again: RHALE section 5 and its supplement B.3, EFFECTOR appendix D, ALIBI's two.
# docs/real-data.md says where the files come from and what came out.
# usage: scripts/real-data.sh california|alibi|iris|bike FILE.csv [FOLDER]
#   FOLDER  where results go; what is there is overwritten [default: results/real/ and the name of the example]
# The environment: FE_BENCH, a program to be used instead of building it.
set -euo pipefail

complain() {
    echo "real-data.sh: $*" >&2
    exit 2
}

[ $# -ge 2 ] && [ $# -le 3 ] || complain "two or three arguments are needed: see the head of this script"
case $1 in
    california | alibi | iris | bike) ;;
    *) complain "$1: must be california, alibi, iris or bike" ;;
esac
[ -f "$2" ] || complain "$2: there is no such file"
example=$1
data=$(realpath "$2")
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${3:-$root/results/real/$example}
mkdir -p "$folder"

if [ -n "${FE_BENCH:-}" ]; then
    program=$FE_BENCH
    [ -x "$program" ] || complain "FE_BENCH=$program is no program"
else
    cargo build --manifest-path "$root/Cargo.toml" --release --locked --quiet --workspace --bins
    program=${CARGO_TARGET_DIR:-$root/target}/release/fe-bench
fi

# The same rows and the same network in every call: it is fitted from a seed.
california=(
    --data "$data" --target median_house_value --ignore ocean_proximity --missing drop --outliers 3
    --standardize --test 0.2 --explain train
    --model mlp --set hidden=256,128,36 --set learning_rate=0.02 --set epochs=15 --set batch=512
)
# Curves are centred as the papers do.
by_integral=(--center integral)
bike=(
    --data "$data" --target cnt --ignore instant,dteday,atemp,casual,registered --test 0.2
    --model mlp --set hidden=256,128,64 --set learning_rate=0.001 --set epochs=20 --set batch=512
)
alibi=(
    --data "$data" --target median_house_value --ignore ocean_proximity --missing drop --test 0.2 --explain train
    --model gbdt --estimator ale --preset alibi-0.9
)
# Its words are levels by themselves. The file is that of alibi's example, with one column more.
levels=(
    --data "$data" --target median_house_value --missing drop --test 0.2 --explain train
    --model gbdt --feature ocean_proximity
)
iris=(--data "$data" --target species --model logistic --estimator ale --preset alibi-0.9)
kinds=season=nominal,yr=nominal,holiday=nominal,weekday=nominal,workingday=nominal,weathersit=nominal

# estimate NAME ARGUMENTS…: effects as numbers and figures, NAME.json and NAME.svg.
estimate() {
    local name=$1
    shift
    "$program" effect "$@" --plot "$folder/$name.svg" > "$folder/$name.json"
}

# at_levels NAME ARGUMENTS…: effects of a feature with levels, NAME.csv and NAME.svg.
at_levels() {
    local name=$1
    shift
    "$program" effect "$@" --format csv --plot "$folder/$name.svg" > "$folder/$name.csv"
}

# add_up NAME ARGUMENTS…: the additive reconstruction and its R², NAME.csv and NAME.svg.
add_up() {
    local name=$1
    shift
    "$program" reconstruct "$@" --format csv --plot "$folder/$name.svg" > "$folder/$name.csv"
}

# regions NAME ARGUMENTS…: trees as text and figures, NAME.txt and NAME.svg.
regions() {
    local name=$1
    shift
    "$program" effect "$@" --depth 1 --format table --plot "$folder/$name.svg" > "$folder/$name.txt"
}

case $example in
    california)
        "$program" describe --data "$data" --target median_house_value --ignore ocean_proximity --missing drop \
            --outliers 3 --ddof 0 --format csv --plot "$folder/histograms.svg" > "$folder/describe.csv"
        estimate rhale "${california[@]}" "${by_integral[@]}" --estimator rhale
        estimate pdp "${california[@]}" "${by_integral[@]}" --estimator pdp --grid 24
        "$program" agree "${california[@]}" --n 1000 --runs 30 --reference-bins 80 --format csv \
            --plot "$folder/agree.svg" > "$folder/agree.csv"
        at_levels levels-ale "${levels[@]}" --estimator ale --band analytic
        at_levels levels-similarity "${levels[@]}" --estimator ale --order similarity --band analytic
        at_levels levels-pdp "${levels[@]}" --estimator pdp --band analytic
        ;;
    bike)
        estimate rhale "${bike[@]}" "${by_integral[@]}" --estimator rhale
        estimate pdp "${bike[@]}" "${by_integral[@]}" --estimator pdp --grid 24
        of_levels=(--kind "$kinds" --feature season,yr,holiday,weekday,workingday,weathersit)
        estimate levels-ale "${bike[@]}" "${of_levels[@]}" --estimator ale
        estimate levels-pdp "${bike[@]}" "${of_levels[@]}" --estimator pdp
        # With levels the network has columns of its own for them, and is another one.
        split=("${by_integral[@]}" --feature hr,temp)
        regions regional-rhale "${bike[@]}" "${split[@]}" --estimator regional-rhale
        regions regional-pdp "${bike[@]}" "${split[@]}" --estimator regional-pdp --grid 24
        regions levels-regional-rhale "${bike[@]}" --kind "$kinds" "${split[@]}" --estimator regional-rhale
        regions levels-regional-pdp "${bike[@]}" --kind "$kinds" "${split[@]}" --estimator regional-pdp --grid 24
        # The paper's network, fifteen times the work: PDP over a thousand rows.
        large=("${bike[@]/hidden=256,128,64/hidden=1024,512,256}")
        estimate large-rhale "${large[@]}" "${by_integral[@]}" --estimator rhale
        estimate large-pdp "${large[@]}" "${by_integral[@]}" --subsample 1000 --estimator pdp --grid 24
        regions large-regional-rhale "${large[@]}" "${split[@]}" --estimator regional-rhale
        regions large-regional-pdp "${large[@]}" "${split[@]}" --subsample 1000 --estimator regional-pdp --grid 24
        ;;
    alibi)
        estimate ale "${alibi[@]}"
        add_up sum "${alibi[@]}"
        # Its grid points for single features: income in steps of a quarter, age in decades.
        estimate ale-limits "${alibi[@]}" --feature median_income,housing_median_age \
            --limits median_income=0.4,1,1.5,2,2.5,3,4,5,6,8,16 --limits housing_median_age=1,10,20,30,40,52
        ;;
    iris)
        estimate ale "${iris[@]}"
        add_up sum "${iris[@]}"
        ;;
esac
