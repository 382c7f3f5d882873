//! A dataset of a group, and the estimates from it as they are compared.

use std::borrow::Cow;

use fe_core::Dataset;
use fe_core::effect::ConfidenceBand;
use fe_truth::FittedEffects;

use super::estimate::{Estimate, Subject};
use super::prepared::Prepared;
use crate::engines::Engines;
use crate::study::models::Fitting;
use crate::study::tasks::Planned;

/// A dataset of a group.
pub(super) struct Task<'a> {
    pub(super) planned: &'a Planned<'a>,
    pub(super) prepared: &'a Prepared,
    pub(super) engines: &'a Engines,
    pub(super) seed: u64,
    pub(super) replicate: usize,
    /// The models and pairs of the group; f and its truth where it has none.
    pub(super) fitting: &'a Fitting,
    /// The reason why nothing of it is computed, where that is so.
    pub(super) abandoned: Option<&'a str>,
}

/// A subject with the estimates of a feature by all variants.
pub(super) struct Seen<'a> {
    pub(super) split: &'a str,
    pub(super) fresh: &'a [Vec<Cow<'a, Dataset>>],
    pub(super) subject: &'a Subject<'a>,
    /// The exact effects of the models of its parts, where a pair asks for them.
    pub(super) exact: &'a Result<Vec<FittedEffects<'a>>, String>,
    /// One for each variant; none where no pair asks for it.
    pub(super) estimates: Vec<Option<Estimate>>,
    /// The band from refits beside each of them, where it is to have one.
    pub(super) bands: Vec<Option<Result<ConfidenceBand, String>>>,
}
