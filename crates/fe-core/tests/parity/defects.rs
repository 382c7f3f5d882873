//! Where recorded results differ from those here for a reason that has a name, and the evidence.

use fe_core::model::{Column, Model, Rows};
use fe_core::{Axis, AxisChoice, Settings};

use super::compare::{
    Binned, compare, effector_bins, effector_ordinal, estimate, is_ordinal_to_effector, range,
    settings,
};
use super::record::Case;
use super::regional::{self, Scores};
use super::shapley;

/// A way in which another library departs from its own definition, or from any that is useful.
pub struct Defect {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether it explains a result: with nothing but the defect added, everything recorded comes out.
    pub explains: fn(Case<'_>) -> bool,
}

/// All of them; the first that explains a result names it.
pub const ALL: &[Defect] = &[
    Defect {
        name: "regional-rules",
        about: "effector splits regions by its score, a standard deviation in units of the output, and \
                by rules of its own: x < t and x ≥ t, weights n + 1 where the best split is looked for, \
                none of a node that scores less than 0.03",
        explains: |case| regional::grown(case, Scores::Estimators).is_ok(),
    },
    Defect {
        name: "regional-shifted-limit",
        about: "the same by scores of effector's ALE with its shifted-limit",
        explains: |case| regional::grown(case, Scores::ShiftedLimit).is_ok(),
    },
    Defect {
        name: "regional-shapley-bins",
        about: "the same by scores of effector's ShapDP, which are about bins-of-shapley-values",
        explains: |case| regional::grown(case, Scores::BinsOfShapleyValues).is_ok(),
    },
    Defect {
        name: "bins-of-shapley-values",
        about: "effector's ShapDP is not the spline of its paper: it joins the means of Shapley values \
                in bins at their centres, and calls their variance in the bins, which contains the \
                slope, heterogeneity",
        explains: |case| is_effector(case, "ShapDP") && shapley::joined_bins(case).is_ok(),
    },
    Defect {
        name: "changes-as-slopes",
        about: "effector takes the changes between the levels of an ordinal feature for slopes over the \
                limits of its quantile bins, which lie between levels: the curve leaves out half a change",
        explains: |case| {
            is_ordinal_to_effector(case)
                && is_effector(case, "RHALE")
                && effector_ordinal(case, true).is_ok()
        },
    },
    Defect {
        name: "close-is-equal",
        about: "shap takes a value for that of a background row if they differ by no more than 1e-5 of \
                it, and does not ask the model for the difference",
        explains: |case| {
            case.text("method") == "SHAP values" && shapley::close_taken_as_equal(case)
        },
    },
    Defect {
        name: "slope-from-1e8",
        about: "effector's curves go on constantly beyond the last limit, but from 1e8 on with the \
                slope of the last bin",
        explains: slope_from_1e8,
    },
    Defect {
        name: "shifted-limit",
        about: "effector moves the last limit of its ALE by 1e-8, asks the model there, and divides \
                every difference by the width of the first bin",
        explains: shifted_limit,
    },
    Defect {
        name: "limits-by-steps",
        about: "effector's equal limits, and those that are given to alibi, are min + k·((max − \
                min)/K), which may miss a value that min + k·(max − min)/K meets; instances on it \
                then lie in the bin before or after",
        explains: limits_by_steps,
    },
    Defect {
        name: "shift-lost",
        about: "effector adds 1e-8 to the last limit so that the greatest value lies below it; where \
                values are so large that rounding loses it, it stops with an error",
        explains: shift_lost,
    },
    Defect {
        name: "cells-by-division",
        about: "effector costs bins of RHALE by ⌊(x − min)/Δ⌋ and not by its limits, so instances on a \
                limit are counted in another bin than they end up in",
        explains: |case| costed_by_division(case) && moved_by_division(case),
    },
    Defect {
        name: "finite-penalty",
        about: "effector's cost of a bin with too few instances is 1e8: where allowed bins cost more, \
                it prefers those that are not",
        explains: finite_penalty,
    },
    Defect {
        name: "ties-by-rounding",
        about: "effector's variance q/n − mean² rounds costs that are equal, and so decides between \
                equally good bins, or stops merging before bins that cost no more",
        explains: |case| costed_by_division(case) && !moved_by_division(case),
    },
    Defect {
        name: "close-is-constant",
        about: "effector makes a single bin, and scikit-learn refuses the grid, where the ends of the \
                axis differ by less than 1e-8 and 1e-5 of their size, whatever the scale",
        explains: close_is_constant,
    },
    Defect {
        name: "limits-counted-twice",
        about: "effector counts an instance on a limit in both bins when it looks for quantile bins \
                with too few, and keeps bins that have too few",
        explains: limits_counted_twice,
    },
    Defect {
        name: "few-refused",
        about: "effector and alibi stop with an error where there are fewer instances than a bin must \
                have; here there is one bin, and the record says that it is not feasible",
        explains: few_refused,
    },
    Defect {
        name: "variance-or-nothing",
        about: "effector refuses an effect if no bin has two instances, though its curve is defined",
        explains: variance_or_nothing,
    },
    Defect {
        name: "constant-widened",
        about: "alibi draws a constant feature on an interval around its value that no instance is in",
        explains: constant_widened,
    },
    Defect {
        name: "constant-nan",
        about: "PyALE answers NaN for a constant feature without a word",
        explains: constant_nan,
    },
    Defect {
        name: "constant-point",
        about: "scikit-learn answers a constant feature with a single point; here an axis has a length",
        explains: constant_point,
    },
];

fn is_effector(case: Case<'_>, method: &str) -> bool {
    (case.text("peer"), case.text("method"), case.text("status")) == ("effector", method, "ok")
}

fn on_limits(case: Case<'_>, limits: Vec<f64>) -> Settings {
    let grid = Settings {
        binning: Some("grid".to_owned()),
        axis: Some(AxisChoice::Given(limits[0], limits[limits.len() - 1])),
        limits: Some(limits),
        ..Settings::default()
    };
    grid.or(&settings(case))
}

/// The recorded limits, with the ends where the data end.
fn recorded_limits(case: Case<'_>) -> Vec<f64> {
    let mut limits = case.numbers("limits");
    let last = limits.len() - 1;
    let (lo, hi) = range(case);
    (limits[0], limits[last]) = (lo, limits[last].max(hi));
    limits
}

/// The limits here, if there are any.
fn own_limits(case: Case<'_>) -> Option<Vec<f64>> {
    let bins = estimate(case, &settings(case)).ok()?.bins?;
    Some(bins.partition.limits().to_vec())
}

/// Whether limits differ by no more than rounding.
fn differ_by_rounding(case: Case<'_>, limits: &[f64], recorded: &[f64]) -> bool {
    let (lo, hi) = range(case);
    let rounding = 4.0 * f64::EPSILON * lo.abs().max(hi.abs()).max(hi - lo);
    limits.len() == recorded.len()
        && limits.iter().zip(recorded).all(|(a, b)| (a - b).abs() <= rounding)
}

fn shifted_limit(case: Case<'_>) -> bool {
    if !is_effector(case, "ALE") {
        return false;
    }
    let Some(mut limits) = own_limits(case) else { return false };
    *limits.last_mut().unwrap() += 1e-8;
    explained_on(case, limits)
}

fn slope_from_1e8(case: Case<'_>) -> bool {
    if !(is_effector(case, "ALE") || is_effector(case, "RHALE")) {
        return false;
    }
    let beyond = case.numbers("x_outside").iter().any(|&x| x > LARGEST_PLACE);
    beyond && explained_on(case, recorded_limits(case))
}

fn explained_on(case: Case<'_>, limits: Vec<f64>) -> bool {
    let settings = on_limits(case, limits);
    let ours = if case.text("method") == "ALE" {
        Binned::divided_by_first_width(case, &settings)
    } else {
        Binned::estimate(case, &settings)
    };
    ours.is_ok_and(|ours| effector_bins(case, &ours.steep_from(LARGEST_PLACE)).is_ok())
}

/// min + k·((max − min)/K), as numpy's `linspace` has it.
fn by_steps(case: Case<'_>, bins: usize) -> Vec<f64> {
    let (lo, hi) = range(case);
    let step = (hi - lo) / bins as f64;
    let inner = (0..bins).map(|k| lo + k as f64 * step);
    inner.chain([hi]).collect()
}

/// Whether some instance is on one of two limits that ought to be the same, or between them.
fn any_between(case: Case<'_>, limits: &[f64], others: &[f64]) -> bool {
    let mut different = limits.iter().zip(others).filter(|(a, b)| a != b);
    different.any(|(a, b)| case.positions().iter().any(|x| (a.min(*b)..=a.max(*b)).contains(x)))
}

/// Equal limits that are given to alibi: with those of `linspace` its result comes out.
fn given_by_steps(case: Case<'_>) -> bool {
    let settings = settings(case);
    let Some(bins) = settings.bins else { return false };
    let (lo, hi) = range(case);
    let Ok(axis) = Axis::new(lo, hi) else { return false };
    let (limits, ours) = (by_steps(case, bins), axis.divide(bins));
    let between = any_between(case, &limits, &ours);
    let given = Settings {
        binning: Some("grid".to_owned()),
        bins: None,
        distinct: None,
        limits: Some(limits),
        ..settings
    };
    between && compare(case, &given).is_ok()
}

fn limits_by_steps(case: Case<'_>) -> bool {
    if case.text("peer") == "alibi" {
        return given_by_steps(case);
    }
    if !(is_effector(case, "ALE") || is_effector(case, "RHALE")) {
        return false;
    }
    let Some(mut limits) = own_limits(case) else { return false };
    if case.text("method") == "ALE" {
        *limits.last_mut().unwrap() += 1e-8;
    }
    let recorded = case.numbers("limits");
    // Rounding is all that differs.
    differ_by_rounding(case, &limits, &recorded)
        && any_between(case, &limits, &recorded)
        && explained_on(case, recorded_limits(case))
}

/// Whether the bins are those that the cost as effector computes it leads to, and all else follows.
fn costed_by_division(case: Case<'_>) -> bool {
    if !is_effector(case, "RHALE") {
        return false;
    }
    let Some(costs) = Costs::of(case) else { return false };
    let kept = match case.option_text("binning") {
        "dp" => costs.dynamic_programming(),
        _ => costs.agglomerative(),
    };
    let limits: Vec<f64> = kept.iter().map(|&k| costs.start + k as f64 * costs.width).collect();
    differ_by_rounding(case, &limits, &case.numbers("limits"))
        && explained_on(case, recorded_limits(case))
}

fn finite_penalty(case: Case<'_>) -> bool {
    costed_by_division(case) && !moved_by_division(case) && poorer_than_allowed(case)
}

/// Whether a recorded bin has too few instances, though there are bins that all have enough.
fn poorer_than_allowed(case: Case<'_>) -> bool {
    let least = case.option_number("min_points_per_bin").unwrap_or_default().max(2.0);
    let poor = case.numbers("points_per_bin").iter().any(|&count| count < least);
    poor && is_feasible(case) == Some(true)
}

/// Whether the bins here meet the constraints.
fn is_feasible(case: Case<'_>) -> Option<bool> {
    Some(estimate(case, &settings(case)).ok()?.record.binning?.feasible)
}

/// Whether some instance is in another cell by division than by comparison with the limits of cells.
fn moved_by_division(case: Case<'_>) -> bool {
    let Some(costs) = Costs::of(case) else { return false };
    let (lo, hi) = range(case);
    let limit = |k: usize| lo + (hi - lo) * k as f64 / costs.cells as f64;
    case.positions().iter().any(|&x| {
        let cell = costs.cell(x);
        x < limit(cell) || (cell + 1 < costs.cells && limit(cell + 1) <= x)
    })
}

/// What every bin made of equal cells costs, as effector computes it: cells by division, variance as
/// the mean square less the squared mean, and 1e8 for a bin with too few instances.
pub struct Costs {
    pub start: f64,
    pub width: f64,
    pub cells: usize,
    cost: Vec<Vec<f64>>,
}

const TOO_FEW: f64 = 1e8;
/// Beyond the last limit effector measures from here.
const LARGEST_PLACE: f64 = 1e8;

impl Costs {
    fn of(case: Case<'_>) -> Option<Self> {
        let cells =
            ["max_nof_bins", "init_nof_bins"].iter().find_map(|key| case.option_count(key))?;
        let least = case.option_number("min_points_per_bin")?.max(2.0);
        let discount = case.option_number("discount")?;
        Some(Self::new(range(case), case.positions(), &slopes(case), cells, (least, discount)))
    }

    /// Of local effects at some positions between the ends of an axis, with the least number of
    /// instances and the discount.
    pub fn new(
        (lo, hi): (f64, f64),
        positions: &[f64],
        local_effects: &[f64],
        cells: usize,
        (least, discount): (f64, f64),
    ) -> Self {
        let mut costs =
            Self { start: lo, width: (hi - lo) / cells as f64, cells, cost: Vec::new() };
        let mut sums = vec![[0.0; 3]; cells];
        for (&x, slope) in positions.iter().zip(local_effects) {
            let cell = &mut sums[costs.cell(x)];
            for (sum, term) in cell.iter_mut().zip([1.0, *slope, slope * slope]) {
                *sum += term;
            }
        }
        let mut below = vec![[0.0; 3]];
        for cell in &sums {
            let last = below[below.len() - 1];
            below.push([last[0] + cell[0], last[1] + cell[1], last[2] + cell[2]]);
        }
        let total = local_effects.len() as f64;
        let cost = |i: usize, j: usize| {
            if i == j {
                return 0.0;
            }
            let [n, sum, squares] = [0, 1, 2].map(|k| below[j][k] - below[i][k]);
            if i > j || n < least {
                return TOO_FEW;
            }
            let mean = sum / n;
            let variance = (squares / n - mean * mean).max(0.0);
            let width = (j as f64 - i as f64) * costs.width;
            variance * width * (1.0 - discount * n / total)
        };
        costs.cost = (0..=cells).map(|i| (0..=cells).map(|j| cost(i, j)).collect()).collect();
        costs
    }

    /// What bins cost together, given the cells at which they start and end.
    pub fn total(&self, kept: &[usize]) -> f64 {
        kept.windows(2).map(|ends| self.cost[ends[0]][ends[1]]).sum()
    }

    fn cell(&self, x: f64) -> usize {
        (((x - self.start) / self.width) as usize).min(self.cells - 1)
    }

    /// As many stages as cells, moves of no width for free, the leftmost of equal predecessors.
    pub fn dynamic_programming(&self) -> Vec<usize> {
        let count = self.cells + 1;
        let mut least: Vec<f64> = self.cost[0].clone();
        let mut from: Vec<Vec<usize>> = Vec::new();
        for _ in 1..self.cells {
            let to = |end: usize| {
                let totals = (0..count).map(|start| least[start] + self.cost[start][end]);
                let better = |best: (usize, f64), next: (usize, f64)| {
                    if next.1 < best.1 { next } else { best }
                };
                totals.enumerate().reduce(better).unwrap()
            };
            let best: Vec<(usize, f64)> = (0..count).map(to).collect();
            from.push(best.iter().map(|(start, _)| *start).collect());
            least = best.iter().map(|(_, cost)| *cost).collect();
        }
        let mut path = vec![self.cells];
        for stage in from.iter().rev() {
            path.push(stage[path[path.len() - 1]]);
        }
        path.push(0);
        path.reverse();
        path.dedup();
        path
    }

    fn agglomerative(&self) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..=self.cells).collect();
        while kept.len() > 2 {
            let change = |m: usize| {
                let [a, e, b] = [kept[m - 1], kept[m], kept[m + 1]];
                self.cost[a][b] - self.cost[a][e] - self.cost[e][b]
            };
            let changes = (1..kept.len() - 1).map(|m| (m, change(m)));
            let (m, least) = changes.reduce(|x, y| if y.1 < x.1 { y } else { x }).unwrap();
            if least > 0.0 {
                break;
            }
            kept.remove(m);
        }
        kept
    }
}

fn slopes(case: Case<'_>) -> Vec<f64> {
    let data = &case.record.data;
    let columns: Vec<Column<'_>> =
        (0..data.dimension()).map(|j| Column::Values(data.feature(j))).collect();
    let mut slopes = vec![0.0; data.len()];
    case.record
        .model
        .partial(case.feature(), &Rows::new(&columns, data.len()), &mut slopes)
        .unwrap();
    slopes
}

fn is_effector_error(case: Case<'_>) -> bool {
    (case.text("peer"), case.text("status")) == ("effector", "error")
}

fn shift_lost(case: Case<'_>) -> bool {
    let (_, hi) = range(case);
    let out_of_bins = ["operands could not be broadcast", "IndexError: index", "AssertionError: "]
        .iter()
        .any(|message| case.text("error").contains(message));
    is_effector_error(case) && out_of_bins && hi + 1e-8 == hi && is_feasible(case).is_some()
}

/// Whether numbers are the same to numpy's `allclose`.
fn are_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-8 + 1e-5 * b.abs()
}

fn close_is_constant(case: Case<'_>) -> bool {
    let (lo, hi) = range(case);
    match case.text("peer") {
        _ if !are_close(lo, hi) || lo == hi => false,
        "scikit-learn" => case.text("error").contains("percentiles are too close to each other"),
        "effector" => {
            is_effector(case, "RHALE")
                && case.numbers("limits") == [lo, hi]
                && explained_on(case, vec![lo, hi])
        }
        _ => false,
    }
}

fn limits_counted_twice(case: Case<'_>) -> bool {
    if !is_effector(case, "RHALE") || case.option_text("binning") != "quantile" {
        return false;
    }
    let settings = settings(case);
    let all = Settings { min_points: None, ..settings.clone() };
    let Some(bins) = estimate(case, &all).ok().and_then(|effect| effect.bins) else { return false };
    let mut limits = bins.partition.limits().to_vec();
    let least = settings.min_points.unwrap_or_default();
    while limits.len() > 2 {
        let within = |z: &[f64]| {
            let inside = case.positions().iter().filter(|x| (z[0]..=z[1]).contains(x));
            inside.count()
        };
        let counts: Vec<usize> = limits.windows(2).map(within).collect();
        let poorest = (0..counts.len()).reduce(|a, b| if counts[b] < counts[a] { b } else { a });
        let poorest = poorest.unwrap();
        if counts[poorest] as f64 >= least {
            break;
        }
        limits.remove((poorest + 1).min(limits.len() - 2));
    }
    differ_by_rounding(case, &limits, &case.numbers("limits")) && explained_on(case, limits)
}

fn few_refused(case: Case<'_>) -> bool {
    let refused = match case.text("peer") {
        "effector" => case.text("error").contains("(fewer points than min_points_per_bin)"),
        "alibi" => case.text("error").contains("Number of samples, -1, must be non-negative"),
        _ => false,
    };
    refused && is_feasible(case) == Some(false)
}

fn variance_or_nothing(case: Case<'_>) -> bool {
    if case.text("status") != "error" {
        return false;
    }
    let Ok(effect) = estimate(case, &settings(case)) else { return false };
    let undefined = |bins: &fe_core::effect::Bins| bins.variance.iter().all(Option::is_none);
    case.text("error").starts_with("AllBinsHaveAtMostOnePointError")
        && effect.bins.as_ref().is_some_and(undefined)
        && effect.curve.y().iter().all(|y| y.is_finite())
        && effect.heterogeneity_values.values().all(Option::is_none)
}

/// Whether the feature is constant, and that is an error here.
fn is_refused_constant(case: Case<'_>, peer: &str) -> bool {
    let refused = || estimate(case, &settings(case)).is_err_and(|e| e.contains("is constant ("));
    case.text("peer") == peer && case.distinct() == 1 && refused()
}

fn constant_widened(case: Case<'_>) -> bool {
    if !is_refused_constant(case, "alibi") {
        return false;
    }
    let limits = case.numbers("limits");
    let value = case.positions()[0];
    let reach = (0.1 * value).max(0.1);
    differ_by_rounding(case, &limits, &[value - reach, value + reach])
        && compare(case, &on_limits(case, limits)).is_ok()
}

fn constant_nan(case: Case<'_>) -> bool {
    is_refused_constant(case, "PyALE") && case.numbers("effect_centred").iter().all(|y| y.is_nan())
}

fn constant_point(case: Case<'_>) -> bool {
    if !is_refused_constant(case, "scikit-learn") {
        return false;
    }
    let x = case.numbers("x");
    let wider = Settings {
        axis: Some(AxisChoice::Given(x[0] - 1.0, x[0] + 1.0)),
        grid: Some(2),
        points: Some(x.clone()),
        ..settings(case)
    };
    let Ok(effect) = estimate(case, &wider) else { return false };
    let close = |ours: f64, key: &str| {
        let theirs = case.number_in(key, 0);
        (ours - theirs).abs() <= 1e-9 * theirs.abs()
    };
    x.len() == 1
        && close(effect.curve.at(x[0]).unwrap(), "effect_uncentred")
        && close(effect.heterogeneity.at(x[0]).unwrap(), "ice_variance_raw_ddof0")
}
