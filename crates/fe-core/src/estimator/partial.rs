//! Effects of data that come in parts: sums over some rows, merged with those over others, and finished.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::parts::{PartSums, not_in_parts};
use super::{from_settings, info};
use crate::data::{AxisChoice, Dataset};
use crate::effect::Effect;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::model::structure::Structured;
use crate::settings::{EmptyBins, Jacobian, Settings};

pub use crate::numeric::blocks::STRETCH;

/// Settings that need all rows at once, with the reason.
type Refusal = (&'static str, &'static str, fn(&Settings) -> bool);

const REFUSED: &[Refusal] = &[
    ("subsample", "rows are drawn from all of them", |s| s.subsample.is_some()),
    ("band", "bands are made of all rows", |s| s.band.is_some()),
    ("importance", "it is a deviation of the finished curve over all rows", |s| {
        s.importance == Some(true)
    }),
    ("mean_prediction", "take `mplot`, which has it, or the mean of the predictions", |s| {
        s.mean_prediction == Some(true)
    }),
    ("nearest", "which instances are nearest depends on all positions", |s| s.nearest.is_some()),
    ("empty = merge", "bins would differ from part to part", |s| s.empty == Some(EmptyBins::Merge)),
];

/// The effect of a feature as far as some rows tell it: what can be computed where these rows are, sent, merged with
/// what other rows tell, and finished to the effects of all of them.
///
/// Rows are known by their place among all of them, so that parts may be merged in any order: sums are kept for each
/// [`STRETCH`] of rows and added up in the order of the rows in the end. Where every part begins at a multiple of
/// [`STRETCH`], effects are those of [`Estimator::estimate`](super::Estimator::estimate) on all rows to the last bit; of other parts
/// sums are added up in another order, and effects are equal to rounding. (So it is for `mplot` too where rows have
/// weight 0, as it leaves these out first.)
///
/// Estimators are `pdp`, `dpdp`, `ale`, `dale`, `rhale` and `mplot`, on an axis that is given, with bins that the axis
/// tells, or that are chosen when all is known, from the local effects in equal cells.
///
/// ```
/// use fe_core::estimator::{Estimator, PartialEffect, from_settings};
/// use fe_core::model::FunctionModel;
/// use fe_core::{AxisChoice, Dataset, Settings};
///
/// let rows = |from: usize, to: usize| {
///     let value = |i: usize, j: usize| ((from + i) * (7 + 4 * j) % 101) as f64 / 100.0;
///     Dataset::from_rows(&ndarray::Array2::from_shape_fn((to - from, 2), |(i, j)| value(i, j)).view())
/// };
/// let model = FunctionModel::new(2, |x| x[0] * x[1]);
/// let settings = Settings { axis: Some(AxisChoice::Given(0.0, 1.0)), ..Settings::default() };
/// let part = |from, to| PartialEffect::of("ale", &settings, (&rows(from, to)?, from), &model, 0);
/// let both = part(150, 400)?.merge(part(0, 150)?)?;
/// let whole = from_settings("ale", &settings)?.estimate(&rows(0, 400)?, &model, 0)?;
/// let (parts, whole) = (both.finish()?[0].curve.at(1.0)?, whole[0].curve.at(1.0)?);
/// assert!((parts - whole).abs() < 1e-14);
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartialEffect {
    estimator: String,
    settings: Settings,
    feature: usize,
    name: String,
    /// True if the structure of the model told values; none if it has no such structure.
    by_structure: Option<bool>,
    /// Sums by the first of their rows.
    sums: BTreeMap<usize, PartSums>,
}

impl PartialEffect {
    /// The effect as far as some rows tell it, the first of which, of all rows, is given by its number from 0.
    ///
    /// # Errors
    /// As [`Estimator::estimate`](super::Estimator::estimate), and [`Error::Incompatible`] for what cannot be known from a part.
    pub fn of(
        estimator: &str,
        settings: &Settings,
        (part, first): (&Dataset, usize),
        model: &dyn Model,
        feature: usize,
    ) -> Result<Self> {
        part.check_model(model, feature)?;
        if let Some((option, reason, _)) =
            REFUSED.iter().find(|(_, _, is_given)| is_given(settings))
        {
            return Err(not_in_parts(estimator, &format!("`{option}`: {reason}")));
        }
        if part.has_levels(feature) {
            return Err(not_in_parts(estimator, "the levels of a feature are those of all rows"));
        }
        let settings = on_known_axis(estimator, settings, model)?;
        let built = from_settings(estimator, &settings)?;
        let structured = Structured::of(model, settings.brute.unwrap_or_default());
        let asked = structured.as_ref().map_or(model, |structured| structured as &dyn Model);
        let mut sums = BTreeMap::new();
        for (start, rows) in pieces(part, first) {
            let of_piece = built.sums(&rows, asked, feature)?;
            if !of_piece.are_finite() {
                let name = part.names()[feature].clone();
                return Err(Error::Overflow { what: "sums over the rows", name });
            }
            sums.insert(start, of_piece);
        }
        Ok(Self {
            estimator: built.name().to_owned(),
            settings,
            feature,
            name: part.names()[feature].clone(),
            by_structure: structured.map(|structured| structured.was_used()),
            sums,
        })
    }

    /// Name of the estimator.
    #[must_use]
    pub fn estimator(&self) -> &str {
        &self.estimator
    }

    /// The feature's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.sums.values().map(|sums| sums.rows).sum()
    }

    /// Both together; in which order does not matter.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if they are not of the same effect, or rows would count twice.
    pub fn merge(mut self, other: Self) -> Result<Self> {
        let of = |part: &Self| {
            let bins = part.sums.values().next().map(PartSums::none_like);
            (part.estimator.clone(), part.settings.clone(), part.feature, part.name.clone(), bins)
        };
        let alike =
            of(&self) == of(&other) && self.by_structure.is_some() == other.by_structure.is_some();
        if !alike {
            return Err(Error::Incompatible(
                "parts of different effects do not merge: estimator, options, feature, its name and the model must be \
                 the same"
                    .to_owned(),
            ));
        }
        if let Some(&first) = other.sums.keys().find(|first| self.sums.contains_key(first)) {
            return Err(twice(first));
        }
        let used = |part: &Self| part.by_structure == Some(true);
        self.by_structure = self.by_structure.map(|_| used(&self) || used(&other));
        self.sums.extend(other.sums);
        let ends = self.sums.iter().map(|(first, sums)| (first, first + sums.rows));
        let mut reached = 0;
        for (&first, end) in ends {
            if first < reached {
                return Err(twice(first));
            }
            reached = end;
        }
        Ok(self)
    }

    /// The effects of all rows, one for each output of the model.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if rows are missing before others, and as [`Estimator::estimate`](super::Estimator::estimate).
    pub fn finish(&self) -> Result<Vec<Effect>> {
        let estimator = from_settings(&self.estimator, &self.settings)?;
        let mut total: Option<PartSums> = None;
        for (&first, sums) in &self.sums {
            let total = total.get_or_insert_with(|| sums.none_like());
            if total.rows != first {
                return Err(Error::Incompatible(format!(
                    "rows {} to {first} are in no part",
                    total.rows + 1
                )));
            }
            if !total.is_like(sums) {
                return Err(Error::Incompatible("parts are not of the same bins".to_owned()));
            }
            total.merge(sums);
        }
        let Some(total) = total else { return Err(Error::EmptyData { rows: 0, columns: 0 }) };
        let mut effects = estimator.of_sums((self.feature, &self.name), &total)?;
        for effect in &mut effects {
            effect.record.by_structure = self.by_structure;
        }
        Ok(effects)
    }
}

fn twice(first: usize) -> Error {
    Error::Incompatible(format!(
        "row {} is in two parts: `first` says how many rows come before those of a part",
        first + 1
    ))
}

/// The settings with an axis, which the limits of bins are if there is no other.
fn on_known_axis(estimator: &str, settings: &Settings, model: &dyn Model) -> Result<Settings> {
    let has_bins = info(estimator)?.takes("limits");
    let given = match (settings.axis, settings.limits.as_deref()) {
        (Some(AxisChoice::Given(..)), _) => return Ok(settings.clone()),
        (None, Some([first, .., last])) if has_bins => AxisChoice::Given(*first, *last),
        _ => {
            let limits = if has_bins { ", or `limits`" } else { "" };
            let reason = format!(
                "the axis would be that of the rows at hand; give `axis` as lo, hi{limits}"
            );
            return Err(not_in_parts(estimator, &reason));
        }
    };
    let numeric = match settings.jacobian.unwrap_or_default() {
        Jacobian::Model => false,
        Jacobian::Auto => !model.has_partial(),
        Jacobian::Numeric => true,
    };
    if numeric && info(estimator)?.takes("jacobian") {
        let reason =
            "the steps of differences are a share of the axis; give `axis` beside `limits`";
        return Err(not_in_parts(estimator, reason));
    }
    Ok(Settings { axis: Some(given), ..settings.clone() })
}

/// The rows of a part, cut where a stretch of all rows ends: the number of the first of each piece, and the piece.
fn pieces(part: &Dataset, first: usize) -> impl Iterator<Item = (usize, Cow<'_, Dataset>)> {
    let end = first + part.len();
    let starts = std::iter::successors(Some(first), |start| Some((start / STRETCH + 1) * STRETCH));
    starts.take_while(move |&start| start < end).map(move |start| {
        let to = end.min((start / STRETCH + 1) * STRETCH);
        if (start, to) == (first, end) {
            return (start, Cow::Borrowed(part));
        }
        let rows: Vec<usize> = (start - first..to - first).collect();
        (start, Cow::Owned(part.select(&rows)))
    })
}
