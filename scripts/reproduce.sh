#!/usr/bin/env bash
# Runs the papers' studies again, with their tables and figures, and says what differs from the committed
# results.
# usage: scripts/reproduce.sh [--only NAME]… [FOLDER]
#   NAME    a study of scenarios/papers/, effector-fig-8-13 or effector-table-1 [default: all]
#   FOLDER  where the new results go, one folder per study [default: results/runs/papers]
# The environment: FE_BENCH, a program to be used instead of building it; COMMITTED, a folder to be compared
# with instead of results/papers.
# Exit status: 0 all the same, 1 something differs, 2 bad input.
set -euo pipefail
cd "$(dirname "$0")/.."

complain() {
    echo "reproduce.sh: $*" >&2
    exit 2
}

# The regional effects of EFFECTOR are no study: trees are printed, not scored.
trees=effector-fig-8-13
# What adapters declare is no study either.
declared=effector-table-1
names=()
folder=
while [ $# -gt 0 ]; do
    case $1 in
        --only)
            [ $# -gt 1 ] || complain "--only needs the name of a study"
            [ "$2" = $trees ] || [ "$2" = $declared ] || [ -e "scenarios/papers/$2.toml" ] ||
                complain "--only $2: there is no scenarios/papers/$2.toml"
            names+=("$2")
            shift 2
            ;;
        -*) complain "unknown option $1: see the head of this script" ;;
        *)
            [ -z "$folder" ] || complain "two folders are named: $folder and $1"
            folder=$1
            shift
            ;;
    esac
done
folder=${folder:-results/runs/papers}
committed=${COMMITTED:-results/papers}
[ ! -e "$folder" ] ||
    complain "$folder exists already, and results are never overwritten: name another folder"
if [ ${#names[@]} -eq 0 ]; then
    for study in scenarios/papers/*.toml; do
        names+=("$(basename "$study" .toml)")
    done
    names+=($trees $declared)
fi

if [ -n "${FE_BENCH:-}" ]; then
    program=$FE_BENCH
    [ -x "$program" ] || complain "FE_BENCH=$program is no program"
else
    cargo build --release --locked --quiet -p fe-bench
    program=${CARGO_TARGET_DIR:-target}/release/fe-bench
fi
# The manifest records the command as it was given: without the place of the program.
PATH=$(cd "$(dirname "$program")" && pwd):$PATH

# draw FILE ARGUMENTS…: the figure FILE.svg of one effect.
draw() {
    local file=$1
    shift
    fe-bench effect "$@" --plot "$here/$file.svg" > "$here/$file.json"
    rm "$here/$file.json"
}

# plots ARGUMENTS…: what the study kept of its curves, and its errors.
plots() {
    # Nothing is written into results that are read.
    fe-bench plot "$here" --out "$here.figures" "$@" > /dev/null
    mv "$here.figures"/* "$here/"
    rmdir "$here.figures"
}

# figures NAME: what is drawn of a study, and of single datasets with the instances in them.
figures() {
    local goldstein=(goldstein --n 100 --seed 0)
    local running=(sin-indicator --set noise_sd=0.01 --n 60 --seed 0 --feature x1)
    local noisy=(sin-indicator --set noise_sd=0.1 --n 1000 --seed 0 --feature x1)
    local threshold=(threshold-linear --n 500 --seed 0 --axis scenario)
    local feature
    case $1 in
        rhale-fig-1-2)
            plots
            draw fig-1-equal-bins "${goldstein[@]}" --feature x2 --estimator dale --bins 20 --axis scenario
            draw fig-1-rhale "${goldstein[@]}" --feature x2 --estimator rhale --axis scenario
            draw fig-1-ice "${goldstein[@]}" --feature x2 --estimator pdp
            draw fig-2-rhale "${goldstein[@]}" --feature x3 --estimator rhale --axis scenario
            ;;
        rhale-fig-3-4)
            plots
            draw fig-3-pdp "${running[@]}" --estimator pdp
            draw fig-4-5-bins "${running[@]}" --estimator dale --bins 5 --axis scenario
            draw fig-4-50-bins "${running[@]}" --estimator dale --bins 50 --axis scenario
            draw fig-3-rhale "${running[@]}" --estimator rhale --axis scenario
            ;;
        rhale-fig-5-6)
            plots
            draw fig-5-rhale "${threshold[@]}" --feature x1 --estimator rhale
            draw fig-5-ice "${threshold[@]}" --feature x1 --estimator pdp
            for feature in x1 x2 x3; do
                draw fig-6-rhale-$feature "${threshold[@]}" --set alpha=1 --feature $feature --estimator rhale
                draw fig-6-ice-$feature "${threshold[@]}" --set alpha=1 --feature $feature --estimator pdp
            done
            ;;
        rhale-supplement-case-b)
            plots
            for feature in x1 x2; do
                draw case-b-rhale-$feature "${threshold[@]}" --set a1=2 --set a2=0.5 --feature $feature \
                    --estimator rhale
                draw case-b-ice-$feature "${threshold[@]}" --set a1=2 --set a2=0.5 --feature $feature \
                    --estimator pdp
            done
            ;;
        effector-fig-2-3)
            plots
            draw fig-3-5-bins "${noisy[@]}" --estimator ale --bins 5 --axis scenario
            draw fig-3-20-bins "${noisy[@]}" --estimator ale --bins 20 --axis scenario
            ;;
        effector-fig-4)
            plots
            draw fig-4-dp "${noisy[@]}" --estimator rhale --min-points 10 --axis scenario
            draw fig-4-greedy "${noisy[@]}" --estimator rhale --binning greedy --bins 100 \
                --min-points 10 --axis scenario
            ;;
        effector-fig-5-6)
            plots
            draw fig-6-pdp "${noisy[@]}" --estimator pdp
            draw fig-6-dpdp "${noisy[@]}" --estimator dpdp
            ;;
        effector-fig-7)
            plots
            draw fig-7-shapdp "${noisy[@]}" --estimator shapdp --background 200
            ;;
        rhale-fig-7)
            plots
            draw fig-7-rhale piecewise-linear --n 500 --seed 0 --feature x1 --axis scenario \
                --estimator rhale --bins 40 --min-points 10
            ;;
        rhale-fig-8)
            plots
            draw fig-8-rhale nonlinear --set sigma2=0.4 --n 500 --seed 0 --feature x1 --axis scenario \
                --estimator rhale --bins 40 --min-points 10
            ;;
        effector-regions) plots --where metric=region_regret ;;
        rhale-cost-of-bins) plots --where metric=mse ;;
        orders)
            plots
            local order
            for order in a,b,c a,c,b b,a,c; do
                draw "along-${order//,/-}" scenarios/levels/slopes.toml --n 1000 --seed 0 --feature group \
                    --estimator ale --levels group=$order
            done
            ;;
        errors-liu)
            draw product-ale liu-product --set rho=0.9 --n 1000 --seed 0 --feature x1 \
                --estimator ale --binning quantile --bins 20
            draw product-pdp liu-product --set rho=0.9 --n 1000 --seed 0 --feature x1 --estimator pdp
            distances
            ;;
        alibi-example)
            draw ale alibi-additive --n 1000 --seed 0 --feature x2 --estimator ale --preset alibi-0.9 \
                --center data
            draw null-ale null-feature --set rho=0.8 --n 1000 --seed 0 --feature x1 \
                --estimator ale --preset alibi-0.9 --center data
            draw null-mplot null-feature --set rho=0.8 --n 1000 --seed 0 --feature x1 --estimator mplot
            ;;
    esac
}

# distances: how far the truths of partial dependence and of accumulated effects are apart as ρ grows.
distances() {
    local scenario head=1
    for scenario in liu-additive liu-product liu-quadratic; do
        fe-bench truth $scenario --distance pd,ale \
            --over rho=-0.9,-0.7,-0.5,-0.3,-0.1,0,0.1,0.3,0.5,0.7,0.9 | tail -n +$head
        head=2
    done > "$here/distances.csv"
    fe-bench truth liu-product --distance pd,ale --plot "$here/distance-product.svg" \
        --over rho=-0.95,-0.9,-0.8,-0.7,-0.6,-0.5,-0.4,-0.3,-0.2,-0.1,0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,0.95 \
        > "$here/drawn.csv" 2> /dev/null
    rm "$here/drawn.csv"
}

# regional NAME ARGUMENTS…: a tree as text and as a figure.
regional() {
    local file=$1
    shift
    fe-bench effect effector-regional --seed 0 --candidates 11 --depth 1 "$@" --format table \
        --plot "$here/$file.svg" > "$here/$file.txt"
}

# What listings 6 to 8 ask for, with 11 equal bins, 10 points, and 100 instances.
all_trees() {
    local rhale=(--estimator regional-rhale --n 1000 --drop 0.6 --binning fixed --bins 11 --ddof 0
        --axis=-1,1 --heterogeneity integral_sd)
    local pdp=(--estimator regional-pdp --n 1000 --drop 0.3 --grid 10 --heterogeneity mean_grid_sd)
    local shap=(--estimator regional-shapdp --n 100 --drop 0.6)
    regional fig-8-listing-6-rhale-x1 "${rhale[@]}" --feature x1
    regional fig-9-rhale-x2-x3 "${rhale[@]}" --feature x2 --feature x3
    regional fig-10-listing-7-pdp-x1 "${pdp[@]}" --feature x1
    regional fig-11-listing-7-pdp-x3 "${pdp[@]}" --feature x3
    regional fig-12-listing-8-shapdp-x1 "${shap[@]}" --feature x1
    regional fig-13-shapdp-x2-x3 "${shap[@]}" --feature x2 --feature x3
    # C.3 and C.4 name these two in place of RHALE and PDP, and print nothing of them.
    local ale=("${rhale[@]/regional-rhale/regional-ale}") dpdp=("${pdp[@]/regional-pdp/regional-dpdp}")
    regional c3-regional-ale-x1 "${ale[@]}" --feature x1
    regional c3-regional-ale-x3 "${ale[@]}" --feature x3
    regional c4-regional-dpdp-x1 "${dpdp[@]}" --feature x1
}

# compare NAME: whether all that is committed came out again, and nothing else.
compare() {
    local old=$committed/$1 new=$folder/$1 file is_same=1
    if [ ! -d "$old" ]; then
        echo "differs  $1: nothing is committed"
        return 1
    fi
    for file in $({ ls "$old" && ls "$new"; } | sort -u); do
        case $file in
            # Where and when it was run, and what is too large to be committed.
            manifest.json | timings.csv | cells.csv | curves.csv | bins.csv) continue ;;
        esac
        if [ ! -e "$old/$file" ]; then
            echo "differs  $1/$file: is not committed"
        elif [ ! -e "$new/$file" ]; then
            echo "differs  $1/$file: did not come out again"
        elif ! cmp -s "$old/$file" "$new/$file"; then
            echo "differs  $1/$file"
            case $file in
                *.csv | *.md | *.txt) diff "$old/$file" "$new/$file" | cut -c1-160 | head -6 || true ;;
            esac
        else
            continue
        fi
        is_same=0
    done
    [ $is_same = 1 ] && echo "same     $1"
}

differing=0
mkdir -p "$folder"
for name in "${names[@]}"; do
    here=$folder/$name
    if [ "$name" = $trees ]; then
        mkdir "$here"
        all_trees
    elif [ "$name" = $declared ]; then
        mkdir "$here"
        fe-bench engines --capabilities --format csv > "$here/capabilities.csv"
    else
        fe-bench run "scenarios/papers/$name.toml" --out "$here" > "$here.md"
        mv "$here.md" "$here/tables.md"
        figures "$name"
    fi
    compare "$name" || differing=1
done
exit $differing
