//! Precision of means: groups of which more datasets are needed, and means that did not become as precise as was asked for.

use std::collections::HashMap;

use fe_core::replicates::Summary;

use super::Key;
use super::columns::ResultFile;
use super::journal::Journal;
use super::manifest::NamedStudy;
use super::results::Results;
use super::store::GroupValues;
use super::summary::SummaryRow;
use crate::data::sizes::size;
use crate::error::{Error, Result};
use crate::study::Study;
use crate::study::replicates::Until;
use crate::study::tasks::{Plan, Shard};

/// The values on which it depends how many datasets there are, of each group as far as they were read.
#[derive(Debug)]
pub struct Precision {
    groups: Vec<(GroupValues, usize)>,
}

impl Precision {
    /// Of a plan of which nothing was read.
    #[must_use]
    pub fn new(plan: &Plan<'_>) -> Self {
        Self { groups: plan.groups.iter().map(|_| (GroupValues::default(), 0)).collect() }
    }

    /// Asks for another batch of every group whose means are not precise enough, once all that is asked for is in the
    /// journal; false if none is needed, or there may be no more.
    ///
    /// # Errors
    /// A journal that cannot be read.
    pub fn ask_more(&mut self, plan: &mut Plan<'_>, journal: &Journal) -> Result<bool> {
        let mut is_more = false;
        for group in open(plan, journal.manifest().shard) {
            let (values, seen) = &mut self.groups[group];
            let tasks = plan.asked_of(group);
            let metric = until(plan, group).map_or("", |until| until.metric.name());
            for parts in journal.lines(tasks.start + *seen..tasks.end)? {
                let lines = &parts[ResultFile::Cells as usize];
                values.add_all(lines, metric).map_err(|e| Error::content("cells.csv", e))?;
            }
            *seen = tasks.len();
            is_more |= !self.imprecise_of(plan, group).is_empty() && plan.ask_more(group);
        }
        Ok(is_more)
    }

    /// The keys of the means that are not precise enough.
    #[must_use]
    pub fn imprecise(&self, plan: &Plan<'_>) -> Vec<Key> {
        (0..self.groups.len()).flat_map(|group| self.imprecise_of(plan, group)).collect()
    }

    fn imprecise_of(&self, plan: &Plan<'_>, group: usize) -> Vec<Key> {
        let Some(until) = until(plan, group) else { return Vec::new() };
        let means: Vec<(Key, Summary)> = self.groups[group].0.means().collect();
        not_reached(&until, means, size(&plan.groups[group].group.scenario))
    }
}

fn until(plan: &Plan<'_>, group: usize) -> Option<Until> {
    plan.groups[group].group.replicates.until
}

/// The groups of a shard, or of all, whose number of datasets depends on their means.
fn open(plan: &Plan<'_>, shard: Option<Shard>) -> Vec<usize> {
    let is_own = |group: &usize| {
        let first = plan.asked_of(*group).start;
        shard.is_none_or(|shard| plan.index(first, shard.of) == shard.index)
    };
    (0..plan.groups.len()).filter(|&group| until(plan, group).is_some()).filter(is_own).collect()
}

fn not_reached(until: &Until, means: Vec<(Key, Summary)>, size: f64) -> Vec<Key> {
    let summaries: Vec<Summary> = means.iter().map(|(_, summary)| *summary).collect();
    until.imprecise(&summaries, size).into_iter().map(|place| means[place].0.clone()).collect()
}

/// The keys of the means of results that did not become as precise as their studies ask for; of a shard, nothing is known.
#[must_use]
pub fn imprecise_in(results: &Results) -> Vec<Key> {
    let studies = results.manifest.studies.iter();
    let with_until = studies.filter(|named| named.study.block.iter().any(|of| of.until.is_some()));
    let own = |named: &NamedStudy| {
        let values = results.values.iter().filter(|row| row.key.study == named.name);
        // Of a study that this program would not run any more, nothing is known.
        let study = Study::new(named.name.clone(), named.study.clone());
        study.map_or_else(|_| Vec::new(), |study| imprecise(&study, &values.collect::<Vec<_>>()))
    };
    match results.manifest.shard {
        None => with_until.flat_map(own).collect(),
        Some(_) => Vec::new(),
    }
}

/// The keys of the means of a study that did not become as precise as it asked for.
#[must_use]
pub fn imprecise(study: &Study, values: &[&SummaryRow]) -> Vec<Key> {
    let known: HashMap<u128, &SummaryRow> =
        values.iter().map(|row| (row.key.fingerprint(), *row)).collect();
    let of_group = |(until, keys, size): (Until, Vec<Key>, f64)| {
        let own = keys.into_iter().filter(|key| key.metric == until.metric.name());
        let mean = |key: Key| Some((known.get(&key.fingerprint())?.summary, key));
        not_reached(&until, own.filter_map(mean).map(|(of, key)| (key, of)).collect(), size)
    };
    let groups = study.groups.iter();
    let groups = groups
        .filter_map(|of| Some((of.replicates.until?, of.keys(&study.name), size(&of.scenario))));
    groups.flat_map(of_group).collect()
}
