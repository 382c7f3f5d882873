#!/usr/bin/env bash
# Runs the study of docs/article, makes its tables and figures, and compiles the article where there is LaTeX.
# usage: scripts/article.sh [FOLDER]
#   FOLDER  where all of it goes [default: results/runs/article]; it must not exist
# The environment: FE_BENCH, a program to be used instead of building it.
# Exit status: 0 done, 1 LaTeX refused the article, 2 bad input.
set -euo pipefail
cd "$(dirname "$0")/.."

complain() {
    echo "article.sh: $*" >&2
    exit 2
}

[ $# -le 1 ] || complain "at most a folder is named: see the head of this script"
folder=${1:-results/runs/article}
[ ! -e "$folder" ] || complain "$folder exists already: name another folder"
if [ -n "${FE_BENCH:-}" ]; then
    program=$FE_BENCH
    [ -x "$program" ] || complain "FE_BENCH=$program is no program"
else
    cargo build --release --locked --quiet -p fe-bench
    program=${CARGO_TARGET_DIR:-target}/release/fe-bench
fi
PATH=$(cd "$(dirname "$program")" && pwd):$PATH

results=$folder/results made=$folder/made
mkdir -p "$made"
fe-bench --quiet run scenarios/papers/example-article.toml --out "$results" > "$folder/tables.md"

# table NAME CAPTION CHOICE…: a table as LaTeX, with a label of its name.
table() {
    local name=$1 caption=$2
    shift 2
    fe-bench --quiet table "$results" --rows estimator,binning,K "$@" --format latex --caption "$caption" \
        --label "tab:$name" > "$made/$name.tex"
}

table friedman "Mean squared errors for the function of Friedman" --cols N --where scenario=friedman1 --metric mse
table normals "Mean squared errors for correlated normal features" --cols N --where scenario=snc --metric mse
table coverage "Coverage of pointwise 95 % bands" --cols scenario,N --metric coverage --where N=100 --where N=1000

# figure NAME KIND FILTER…: a figure of errors as a PDF file of a name of our own.
figure() {
    local name=$1 kind=$2
    shift 2
    fe-bench --quiet plot "$results" --kind "$kind" "$@" --pdf --no-title --width 3.1in --height 3.3in \
        --out "$folder/figures" > "$folder/drawn.txt"
    mv "$(cat "$folder/drawn.txt")" "$made/$name.pdf"
    rm "$folder/drawn.txt"
}

for scenario in friedman1 snc; do
    for metric in mse coverage; do
        figure "${scenario/1/}-$metric" error-by-N --where "scenario=$scenario" --where "metric=$metric" \
            --where K=5 --where K=20
    done
done
rmdir "$folder/figures"
fe-bench --quiet effect friedman1 --n 316 --seed 0 --feature x1 --estimator ale,rhale,pdp --bins 20 \
    --axis scenario --format csv --plot "$made/effect.pdf" --width 4.6in --height 5.4in --no-title > "$made/effect.csv"

cp docs/article/article.tex "$folder/"
if ! command -v pdflatex > /dev/null; then
    echo "there is no pdflatex: the article is not compiled; its tables and figures are in $made"
    exit 0
fi
cd "$folder"
# Twice, for references.
for _ in 1 2; do
    if ! pdflatex -interaction=nonstopmode -halt-on-error article.tex > article.out 2>&1; then
        tail -n 20 article.out
        exit 1
    fi
done
if grep -E "Overfull|undefined" article.log; then
    echo "article.sh: the article does not fit, or refers to what there is not"
    exit 1
fi
# As it is shown: the text, and all tables and figures on two further pages.
if ! grep -q "article.pdf (3 pages" article.log; then
    echo "article.sh: the article has not three pages"
    exit 1
fi
rm article.out article.aux article.log
echo "$folder/article.pdf"
