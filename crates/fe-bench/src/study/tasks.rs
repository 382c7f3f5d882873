//! Tasks of a run: datasets, numbered in the order of the studies.

use std::ops::Range;
use std::str::FromStr;

use super::file::Keep;
use super::{Group, Study};

/// One of several runs that share the datasets of some studies among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Shard {
    /// Its number, counted from 1.
    pub index: usize,
    /// Number of shards.
    pub of: usize,
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').map(|(index, of)| (index.parse(), of.parse()));
        match parts {
            Some((Ok(index), Ok(of))) if (1..=of).contains(&index) => Ok(Self { index, of }),
            _ => Err("must be I/M, the I-th of M shards, with I from 1 to M".to_owned()),
        }
    }
}

/// The datasets of some studies. A dataset and all that is estimated from it is a task. Where a precision says how many
/// there are, some are asked for, and further ones later; numbers are kept for all that there can be.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Groups that share their datasets, study after study.
    pub groups: Vec<Planned<'a>>,
    /// Number of the first task of each group.
    starts: Vec<usize>,
    /// Number of tasks of each group that are asked for.
    asked: Vec<usize>,
    /// Number of tasks that there can be.
    pub tasks: usize,
}

/// A group with the words that its records begin with.
#[derive(Debug)]
pub struct Planned<'a> {
    /// Name of the study.
    pub study: &'a str,
    /// The group.
    pub group: &'a Group,
    /// The scenario with its version.
    pub scenario: String,
    /// Its parameters.
    pub parameters: String,
    /// Number of rows.
    pub rows: String,
}

impl<'a> Plan<'a> {
    /// Of all groups of some studies.
    #[must_use]
    pub fn new(studies: &'a [Study]) -> Self {
        let mut plan = Self { groups: Vec::new(), starts: Vec::new(), asked: Vec::new(), tasks: 0 };
        for study in studies {
            for group in &study.groups {
                plan.starts.push(plan.tasks);
                plan.asked.push(group.replicates.least);
                plan.tasks += group.replicates.most;
                plan.groups.push(Planned {
                    study: &study.name,
                    group,
                    scenario: group.scenario.id(),
                    parameters: group.scenario.parameters(),
                    rows: group.rows.to_string(),
                });
            }
        }
        plan
    }

    /// The group and the replicate of a task.
    #[must_use]
    pub fn locate(&self, task: usize) -> (usize, usize) {
        let group = self.starts.partition_point(|&start| start <= task) - 1;
        (group, task - self.starts[group])
    }

    /// The tasks of a group that are asked for.
    #[must_use]
    pub fn asked_of(&self, group: usize) -> Range<usize> {
        self.starts[group]..self.starts[group] + self.asked[group]
    }

    /// All tasks that are asked for, of the whole run or of a shard.
    pub fn asked(&self, shard: Option<Shard>) -> impl Iterator<Item = usize> {
        let all = (0..self.groups.len()).flat_map(|group| self.asked_of(group));
        all.filter(move |&task| shard.is_none_or(|shard| self.index(task, shard.of) == shard.index))
    }

    /// The number of the shard that has a task, of so many. A group whose datasets are added until its means are precise
    /// enough is one shard's, which alone sees them all.
    #[must_use]
    pub fn index(&self, task: usize, of: usize) -> usize {
        let (group, _) = self.locate(task);
        let until = self.groups[group].group.replicates.until;
        until.map_or(task, |_| group) % of + 1
    }

    /// Asks for all that there can be.
    pub fn ask_all(&mut self) {
        self.asked = self.groups.iter().map(|planned| planned.group.replicates.most).collect();
    }

    /// Asks for another batch of a group; false if there is none.
    pub fn ask_more(&mut self, group: usize) -> bool {
        let of = self.groups[group].group.replicates;
        let more = self.asked[group] + of.until.map_or(0, |until| until.batch);
        let is_more = more > self.asked[group] && more <= of.most;
        if is_more {
            self.asked[group] = more;
        }
        is_more
    }

    /// True if something is to be written beside the values.
    #[must_use]
    pub fn keeps(&self, what: Keep) -> bool {
        self.groups.iter().any(|planned| planned.group.keep.contains(&what))
    }
}
