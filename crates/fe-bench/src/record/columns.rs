//! The columns of each file of results, behind the key: a new one is a line here.
//!
//! A line says the name, what fields hold, and how they are written; files that are read back say where a
//! number belongs, too. What fields are made of: [`Cell`], [`Estimated`], [`CurvePoint`], [`BinRow`],
//! [`CurveErrors`], [`TreeNode`], [`LeafPoint`].

use fe_core::Effect;
use fe_core::regional::RuleKind;
use fe_core::replicates::FreshCurves;
use fe_truth::RegionTruth;

use super::lines::{count, optional};
use crate::output::exact;
use crate::output::formulas::guarded;
use crate::score::{CurvePoint, Score};
use crate::study::key::Column;
use crate::system::clock::Taken;
use crate::system::say::visible;

/// Contents of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// A number that may be missing.
    Number,
    /// A whole number that may be missing.
    Count,
    /// Numbers, of which some may be missing.
    List,
    /// Anything.
    Text,
}

impl Holds {
    /// Refuses a field that holds something else.
    pub(super) fn check(self, field: &str) -> Result<(), String> {
        match self {
            Self::Number => optional(field).map(|_| ()),
            Self::Count => count(field).map(|_| ()),
            Self::List => {
                let words = field.split_whitespace().filter(|word| *word != MISSING);
                words.map(optional).try_for_each(|number| number.map(|_| ()))
            }
            Self::Text => Ok(()),
        }
    }
}

/// A column whose fields are made of a `T`.
pub(super) struct Written<T> {
    pub(super) name: &'static str,
    holds: Holds,
    pub(super) text: fn(&T) -> String,
}

/// A column of numbers that are made of a `T`, and read back into an `R`.
pub(super) struct Numeric<T, R> {
    pub(super) name: &'static str,
    pub(super) number: fn(&T) -> Option<f64>,
    pub(super) put: fn(&mut R, f64),
}

/// A value of a metric.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The value, with what is known of its truth.
    pub score: Score,
    /// Number of rows that the model was asked for, if that is known.
    pub model_rows: Option<u64>,
}

/// A bin with its truth.
#[derive(Debug, Clone, Copy)]
pub struct BinRow {
    /// Its number, counted from 1.
    pub number: usize,
    /// Its lower and upper limit.
    pub ends: (f64, f64),
    /// Instances, or their weight.
    pub count: f64,
    /// The estimated slope, or level for `mplot`.
    pub effect: f64,
    /// The estimated variance of the same.
    pub variance: Option<f64>,
    /// The true effect and variance.
    pub truth: Option<(f64, f64)>,
}

/// A point of a kept curve; what is missing is NaN.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KeptPoint {
    /// The place.
    pub x: f64,
    /// The estimate, centred as it was compared.
    pub effect: f64,
    /// The estimated variance.
    pub heterogeneity: f64,
    /// The truth, centred as it was compared.
    pub truth: f64,
    /// The pointwise confidence limits, lower and upper, moved with the estimate.
    pub pointwise: (f64, f64),
    /// The simultaneous ones.
    pub simultaneous: (f64, f64),
}

/// A kept bin; what is missing is NaN.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KeptBin {
    /// Its lower and upper limit.
    pub ends: (f64, f64),
    /// The estimated slope, or level for `mplot`, and its variance.
    pub effect: f64,
    /// The estimated variance of the same.
    pub variance: f64,
    /// The true effect.
    pub true_effect: f64,
    /// The true variance.
    pub true_variance: f64,
}

/// The errors of a curve from which bias and variance are computed.
#[derive(Debug, Clone)]
pub struct CurveErrors {
    /// The points.
    pub x: Vec<f64>,
    /// The difference of the two curves of the pair at each of them.
    pub error: Vec<f64>,
    /// Of curves of the same model on fresh data: how many, and their moments.
    pub fresh: Option<(usize, FreshCurves)>,
}

/// `cells.csv`, a line per value. The value stands first and its status last.
pub(super) const VALUES: &[Written<Cell>] = &[
    Written { name: "value", holds: Holds::Number, text: |cell| number(cell.score.value) },
    Written {
        name: "truth_method",
        holds: Holds::Text,
        text: |cell| cell.score.truth_method.clone(),
    },
    Written {
        name: "truth_abs_error",
        holds: Holds::Number,
        text: |cell| number(cell.score.truth_abs_error),
    },
    Written { name: "compared", holds: Holds::Count, text: |cell| cell.score.compared.to_string() },
    Written { name: "left_out", holds: Holds::Count, text: |cell| cell.score.left_out.to_string() },
    Written { name: "model_rows", holds: Holds::Count, text: |cell| counted(cell.model_rows) },
    Written {
        name: "status",
        holds: Holds::Text,
        text: |cell| guarded(&visible(&cell.score.status).replace('\n', " ")).into_owned(),
    },
];

/// An estimate: what it took, and the bins that it was made on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimated {
    /// Its cost.
    pub taken: Taken,
    /// Its bins, if it has any.
    pub bins: Option<BinCount>,
}

/// Numbers of bins of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinCount {
    /// All of them.
    pub bins: usize,
    /// Those without instances.
    pub empty: usize,
}

impl BinCount {
    /// The bins of an effect; of several effects, of the one with the largest share of empty ones.
    #[must_use]
    pub fn of<'a>(effects: impl IntoIterator<Item = &'a Effect>) -> Option<Self> {
        let counts = effects.into_iter().filter_map(|effect| {
            let record = effect.record.binning.as_ref()?;
            Some(Self { bins: record.bins, empty: record.empty })
        });
        counts.max_by_key(|count| (count.empty * 1_000_000 / count.bins.max(1), count.bins))
    }
}

/// `timings.csv`, a line per estimate.
pub(super) const TIMINGS: &[Written<Estimated>] = &[
    Written { name: "seconds", holds: Holds::Number, text: |of| exact(of.taken.seconds) },
    Written {
        name: "model_seconds",
        holds: Holds::Number,
        text: |of| exact(of.taken.model_seconds),
    },
    Written { name: "peak_bytes", holds: Holds::Number, text: |of| counted(of.taken.peak_bytes) },
    Written {
        name: "bins",
        holds: Holds::Count,
        text: |of| counted(of.bins.map(|count| count.bins as u64)),
    },
    Written {
        name: "bins_empty",
        holds: Holds::Count,
        text: |of| counted(of.bins.map(|count| count.empty as u64)),
    },
];

/// `curves.csv`, a line per point of a curve that is kept.
pub(super) const CURVES: &[Numeric<CurvePoint, KeptPoint>] = &[
    Numeric { name: "x", number: |point| Some(point.x), put: |kept, x| kept.x = x },
    Numeric { name: "effect", number: |point| point.effect, put: |kept, y| kept.effect = y },
    Numeric {
        name: "heterogeneity",
        number: |point| point.heterogeneity,
        put: |kept, variance| kept.heterogeneity = variance,
    },
    Numeric { name: "truth", number: |point| point.truth, put: |kept, truth| kept.truth = truth },
    Numeric { name: "truth_abs_error", number: |point| point.truth_abs_error, put: |_, _| () },
    Numeric {
        name: "lower",
        number: |point| point.confidence[0],
        put: |kept, limit| kept.pointwise.0 = limit,
    },
    Numeric {
        name: "upper",
        number: |point| point.confidence[1],
        put: |kept, limit| kept.pointwise.1 = limit,
    },
    Numeric {
        name: "simultaneous_lower",
        number: |point| point.confidence[2],
        put: |kept, limit| kept.simultaneous.0 = limit,
    },
    Numeric {
        name: "simultaneous_upper",
        number: |point| point.confidence[3],
        put: |kept, limit| kept.simultaneous.1 = limit,
    },
];

/// `bins.csv`, a line per bin that is kept.
pub(super) const BINS: &[Numeric<BinRow, KeptBin>] = &[
    Numeric { name: "bin", number: |bin| Some(bin.number as f64), put: |_, _| () },
    Numeric { name: "z_lo", number: |bin| Some(bin.ends.0), put: |kept, z| kept.ends.0 = z },
    Numeric { name: "z_hi", number: |bin| Some(bin.ends.1), put: |kept, z| kept.ends.1 = z },
    Numeric { name: "count", number: |bin| Some(bin.count), put: |_, _| () },
    Numeric { name: "effect", number: |bin| Some(bin.effect), put: |kept, y| kept.effect = y },
    Numeric { name: "variance", number: |bin| bin.variance, put: |kept, y| kept.variance = y },
    Numeric {
        name: "true_effect",
        number: |bin| Some(bin.truth?.0),
        put: |kept, y| kept.true_effect = y,
    },
    Numeric {
        name: "true_variance",
        number: |bin| Some(bin.truth?.1),
        put: |kept, y| kept.true_variance = y,
    },
];

/// A node of a tree of regions, with its truth.
#[derive(Debug, Clone)]
pub struct TreeNode {
    /// Its number, counted from 0: parents stand before children.
    pub number: usize,
    /// The number of its parent; none for all rows.
    pub parent: Option<usize>,
    /// Number of rules from all rows down to here.
    pub depth: usize,
    /// The rule that sets it apart within its parent: a feature and what is asked of it.
    pub rule: Option<(String, RuleKind)>,
    /// True if it is not split.
    pub is_leaf: bool,
    /// Number of its rows.
    pub rows: usize,
    /// Its share of the weight of all rows.
    pub share: f64,
    /// The heterogeneity there.
    pub heterogeneity: Option<f64>,
    /// The true probability and heterogeneity.
    pub truth: Option<RegionTruth>,
}

/// A point of the curve in a leaf.
#[derive(Debug, Clone, Copy)]
pub struct LeafPoint {
    /// The node.
    pub node: usize,
    /// The place.
    pub x: f64,
    /// The estimate, centred as it is compared.
    pub effect: f64,
    /// The estimated heterogeneity.
    pub heterogeneity: Option<f64>,
    /// The truth in the leaf's region, centred alike.
    pub truth: Option<f64>,
    /// A bound on the error of the truth.
    pub truth_abs_error: Option<f64>,
}

/// `trees.csv`, a line per node of a tree that is kept.
pub(super) const TREES: &[Written<TreeNode>] = &[
    Written { name: "node", holds: Holds::Count, text: |node| node.number.to_string() },
    Written {
        name: "parent",
        holds: Holds::Count,
        text: |node| counted(node.parent.map(|parent| parent as u64)),
    },
    Written { name: "depth", holds: Holds::Count, text: |node| node.depth.to_string() },
    Written {
        name: "rule_feature",
        holds: Holds::Text,
        text: |node| {
            node.rule
                .as_ref()
                .map_or_else(String::new, |(feature, _)| guarded(feature).into_owned())
        },
    },
    Written {
        name: "rule",
        holds: Holds::Text,
        text: |node| {
            match node.rule.as_ref().map(|(_, kind)| kind) {
                None => "",
                Some(RuleKind::AtMost(_)) => "at-most",
                Some(RuleKind::Above(_)) => "above",
                Some(RuleKind::Is(_)) => "is",
                Some(RuleKind::IsNot(_)) => "is-not",
                Some(RuleKind::Among(_)) => "among",
                Some(RuleKind::NotAmong(_)) => "not-among",
            }
            .to_owned()
        },
    },
    Written {
        name: "position",
        holds: Holds::List,
        text: |node| {
            let values = node.rule.as_ref().map_or(&[][..], |(_, kind)| kind.values());
            values.iter().map(|x| exact(*x)).collect::<Vec<_>>().join(" ")
        },
    },
    Written { name: "leaf", holds: Holds::Count, text: |node| u8::from(node.is_leaf).to_string() },
    Written { name: "rows", holds: Holds::Count, text: |node| node.rows.to_string() },
    Written { name: "share", holds: Holds::Number, text: |node| number(Some(node.share)) },
    Written {
        name: "probability",
        holds: Holds::Number,
        text: |node| number(node.truth.map(|truth| truth.share)),
    },
    Written {
        name: "heterogeneity",
        holds: Holds::Number,
        text: |node| number(node.heterogeneity),
    },
    Written {
        name: "true_heterogeneity",
        holds: Holds::Number,
        text: |node| number(node.truth.map(|truth| truth.heterogeneity.value)),
    },
];

/// `leaves.csv`, a line per point of a leaf's curve that is kept.
pub(super) const LEAVES: &[Written<LeafPoint>] = &[
    Written { name: "node", holds: Holds::Count, text: |point| point.node.to_string() },
    Written { name: "x", holds: Holds::Number, text: |point| number(Some(point.x)) },
    Written { name: "effect", holds: Holds::Number, text: |point| number(Some(point.effect)) },
    Written {
        name: "heterogeneity",
        holds: Holds::Number,
        text: |point| number(point.heterogeneity),
    },
    Written { name: "truth", holds: Holds::Number, text: |point| number(point.truth) },
    Written {
        name: "truth_abs_error",
        holds: Holds::Number,
        text: |point| number(point.truth_abs_error),
    },
];

/// `errors.csv`, a line per curve that is decomposed; only shards have one. But for the number of fresh
/// curves, an entry is a list: a number for each point, `-` where there is none.
pub(super) const ERRORS: &[Written<CurveErrors>] = &[
    Written { name: "x", holds: Holds::List, text: |of| list(of.x.iter().copied().map(Some)) },
    Written {
        name: "error",
        holds: Holds::List,
        text: |of| list(of.error.iter().copied().map(Some)),
    },
    Written {
        name: "fresh",
        holds: Holds::List,
        text: |of| of.fresh.as_ref().map_or_else(String::new, |(count, _)| count.to_string()),
    },
    Written {
        name: "fresh_mean",
        holds: Holds::List,
        text: |of| of.fresh.as_ref().map_or_else(String::new, |(_, of)| list(of.means())),
    },
    Written {
        name: "fresh_variance",
        holds: Holds::List,
        text: |of| of.fresh.as_ref().map_or_else(String::new, |(_, of)| list(of.variances())),
    },
];

/// Means over datasets.
pub(super) const SUMMARY: &str = "summary.csv";

/// Bias and variance at each point, for studies that ask for it.
pub(super) const DECOMPOSITION: &str = "decomposition.csv";

/// A file with a line or more for every estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultFile {
    Cells,
    Timings,
    Curves,
    Bins,
    Errors,
    Trees,
    Leaves,
}

/// The lines of a dataset in each [`ResultFile`].
pub(crate) type TaskLines = [Vec<u8>; ResultFile::ALL.len()];

impl ResultFile {
    /// All of them; [`TaskLines`] are in this order.
    pub(super) const ALL: [Self; 7] = [
        Self::Cells,
        Self::Timings,
        Self::Curves,
        Self::Bins,
        Self::Errors,
        Self::Trees,
        Self::Leaves,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cells => "cells.csv",
            Self::Timings => "timings.csv",
            Self::Curves => "curves.csv",
            Self::Bins => "bins.csv",
            Self::Errors => "errors.csv",
            Self::Trees => "trees.csv",
            Self::Leaves => "leaves.csv",
        }
    }

    /// The columns of its keys.
    pub(super) fn keys(self) -> impl Iterator<Item = Column> + Clone {
        let has_metric = self == Self::Cells;
        Column::ALL.into_iter().filter(move |column| has_metric || *column != Column::Metric)
    }

    /// Columns behind the keys: names, and what fields hold.
    pub(super) fn values(self) -> Vec<(&'static str, Holds)> {
        fn written<T>(columns: &[Written<T>]) -> Vec<(&'static str, Holds)> {
            columns.iter().map(|column| (column.name, column.holds)).collect()
        }
        fn kept<T, R>(columns: &[Numeric<T, R>]) -> Vec<(&'static str, Holds)> {
            columns.iter().map(|column| (column.name, Holds::Number)).collect()
        }
        match self {
            Self::Cells => written(VALUES),
            Self::Timings => written(TIMINGS),
            Self::Curves => kept(CURVES),
            Self::Bins => kept(BINS),
            Self::Errors => written(ERRORS),
            Self::Trees => written(TREES),
            Self::Leaves => written(LEAVES),
        }
    }

    /// The names of all its columns.
    pub(super) fn columns(self) -> Vec<&'static str> {
        let values = self.values();
        self.keys().map(Column::name).chain(values.iter().map(|(name, _)| *name)).collect()
    }
}

/// The value of a line of `cells.csv`, and its status, by their places.
pub(super) fn value_and_status(record: &csv::StringRecord) -> Result<(Option<f64>, &str), String> {
    let (first, last) = (Column::ALL.len(), Column::ALL.len() + VALUES.len() - 1);
    match (record.get(first), record.get(last)) {
        (Some(value), Some(status)) if record.len() == last + 1 => Ok((optional(value)?, status)),
        _ => Err(format!("{} fields in a line", record.len())),
    }
}

/// Stands in a list for a number that is missing.
pub(super) const MISSING: &str = "-";

fn list(values: impl IntoIterator<Item = Option<f64>>) -> String {
    let text = |value: Option<f64>| {
        value.filter(|value| value.is_finite()).map_or_else(|| MISSING.to_owned(), exact)
    };
    values.into_iter().map(text).collect::<Vec<_>>().join(" ")
}

/// A number in the shortest form that parses back; nothing for what is missing or not a number.
pub(super) fn number(value: Option<f64>) -> String {
    value.filter(|value| !value.is_nan()).map(exact).unwrap_or_default()
}

fn counted(count: Option<u64>) -> String {
    count.map_or(String::new(), |count| count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_stands_first_and_its_status_last() {
        let names: Vec<&str> = VALUES.iter().map(|column| column.name).collect();
        assert_eq!((names[0], names[names.len() - 1]), ("value", "status"));
    }
}
