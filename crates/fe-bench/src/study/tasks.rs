//! Tasks of a run: datasets, numbered in the order of the studies.

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

impl Shard {
    /// True if a dataset is its own.
    #[must_use]
    pub fn has(self, task: usize) -> bool {
        task % self.of == self.index - 1
    }
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

/// The datasets of some studies. A dataset and all that is estimated from it is a task.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Groups that share their datasets, study after study.
    pub groups: Vec<Planned<'a>>,
    /// Number of the first task of each group.
    starts: Vec<usize>,
    /// Number of tasks.
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
        let mut plan = Self { groups: Vec::new(), starts: Vec::new(), tasks: 0 };
        for study in studies {
            for group in &study.groups {
                plan.starts.push(plan.tasks);
                plan.tasks += group.replicates;
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

    /// True if something is to be written beside the values.
    #[must_use]
    pub fn keeps(&self, what: Keep) -> bool {
        self.groups.iter().any(|planned| planned.group.keep.contains(&what))
    }
}
