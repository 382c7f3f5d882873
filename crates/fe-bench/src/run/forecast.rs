//! Forecast of a run: the number of everything that it computes, and the time by a few of its own datasets.
//!
//! Groups of a block with the same scenario and number of rows are a kind. The datasets of a kind take about the same
//! time, but for its first, which finds no truths: these are computed once for a group, unless they are of bins that every
//! dataset chooses anew, and then they are in the time of each.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fe_core::settings::{self, BandKind};

use super::context::Task;
use super::learner;
use super::prepared::Prepared;
use crate::engines::Engines;
use crate::error::{Error, Result};
use crate::record::ResultFile;
use crate::study::Group;
use crate::study::models::Fitting;
use crate::study::tasks::{Plan, Planned, Shard};

/// Number of what is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Datasets.
    pub datasets: u64,
    /// Estimates of an effect, or of an index.
    pub estimates: u64,
    /// Rows that models are asked for.
    pub model_rows: u64,
    /// True if further rows are not known beforehand.
    pub is_open: bool,
    /// Fits of models.
    pub fits: u64,
    /// Confidence bands.
    pub bands: u64,
    /// Resamples of the rows, for bands.
    pub resamples: u64,
    /// Bands whose width along the whole curve is simulated.
    pub simulated: u64,
}

/// Time of the datasets of a kind, in seconds of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Seconds {
    /// Time of the truths that all datasets of a group share.
    pub truths: f64,
    /// Time of a dataset that finds them.
    pub dataset: f64,
    /// Time of what is written of a dataset, and of what becomes of it in tables: of one thread, whatever their number.
    pub after: f64,
}

/// Groups of a block with the same scenario and number of rows.
#[derive(Debug, Clone)]
pub struct Kind {
    /// Name of the study.
    pub study: String,
    /// Number of the block, counted from 1.
    pub block: usize,
    /// The scenario with its version.
    pub scenario: String,
    /// Number of rows of a dataset.
    pub rows: usize,
    /// Number of its groups: combinations of parameters, ratios and grids.
    pub groups: u64,
    /// Number of what all of them compute.
    pub work: Work,
    /// Time of one of its datasets, once that is known.
    pub seconds: Option<Seconds>,
    /// True if one of its datasets was computed; otherwise its time is that of another kind of the block, by their rows.
    pub is_timed: bool,
    /// True if its truths are shared by groups of other numbers of rows.
    shares_truths: bool,
    /// The group that stands for all.
    group: usize,
}

/// Forecast of a run.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// Kinds in the order of the studies.
    pub kinds: Vec<Kind>,
    /// Threads.
    pub jobs: usize,
    /// Time that it took to read the studies.
    pub reading: f64,
}

/// Fewer datasets of a kind are computed once they took so long.
const LONG_ENOUGH: Duration = Duration::from_millis(200);
/// A dataset that took so long has no second one beside it, which would tell whether it was held up.
const LONG_FOR_ONE: Duration = Duration::from_secs(2);
/// The most datasets of a kind that are computed.
const MOST_DATASETS: usize = 5;

/// Time of a start and an end.
const BESIDE: f64 = 0.04;
/// Number of times that a run reads its studies with all their scenarios: for the datasets, and for tables.
const TIMES_READ: f64 = 2.0;
/// Time of a byte of results: it is written to a journal and from there to files.
const WRITING: f64 = 5e-9;
/// Time of a value: it is read again, summed up and laid out in a table.
const TABULATING: f64 = 6e-6;

/// Rows of a model that take about as long as a simulated band, whatever its number of rows: some milliseconds.
const ROWS_OF_BAND: u64 = 1_000_000;

/// Number of resamples where no study says it.
fn usual_resamples() -> Option<usize> {
    settings::info("resamples")?.option.default.parse().ok()
}

impl Work {
    /// Of so many datasets of a group.
    #[must_use]
    pub fn of(group: &Group, datasets: u64) -> Self {
        let (rows, is_open) = Prepared::new(group).cost(group);
        let of_f = Fitting::of_f();
        let fitting = group.fitting.as_ref().unwrap_or(&of_f);
        let (parts, subjects) = match &group.fitting {
            None => (1, 1),
            Some(_) => (fitting.sizes(group.rows).len() as u64, fitting.subjects() as u64),
        };
        let effects = (group.subjects.features.len() + group.subjects.pairs.len()) as u64;
        let banded = group.variants.iter().filter(|variant| variant.settings.band.is_some());
        let (mut bands, mut resamples, mut simulated) = (0, 0, 0);
        for variant in banded {
            bands += 1;
            match variant.settings.band {
                Some(BandKind::Bootstrap) => {
                    let own = variant.settings.resamples.or_else(usual_resamples);
                    resamples += own.unwrap_or_default() as u64;
                }
                Some(BandKind::Analytic | BandKind::Refit) => simulated += 1,
                Some(BandKind::Bins) | None => {}
            }
        }
        let each = effects * parts * subjects;
        let refits: u64 = learner::options(group).iter().map(|of| of.refits as u64).sum();
        let expected = fitting.learners() as u64 * fitting.expected as u64;
        Self {
            datasets,
            estimates: datasets * group.estimates() as u64,
            model_rows: datasets.saturating_mul(rows),
            is_open,
            fits: datasets * fitting.models.len() as u64 * (parts + refits) + expected,
            bands: datasets * bands * each,
            resamples: datasets * resamples * each,
            simulated: datasets * simulated * each,
        }
    }

    /// Weight beside other work, in rows of a model, before anything is known of the time: the rows that models are asked
    /// for, as far as known, those that are resampled, bands, and the datasets, of so many rows each.
    #[must_use]
    pub fn weight(&self, rows: usize) -> u64 {
        let of_rows = (self.datasets + self.resamples).saturating_mul(rows as u64);
        let of_bands = self.simulated.saturating_mul(ROWS_OF_BAND);
        self.model_rows.saturating_add(of_rows).saturating_add(of_bands)
    }
}

/// True if the groups of a scenario with other numbers of rows find truths of this one.
fn shares_truths(group: &Group) -> bool {
    let has_regions = group.variants.iter().any(|variant| variant.regional().is_some());
    has_regions || !group.subjects.pairs.is_empty() || !group.indices.is_empty()
}

impl std::ops::Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            datasets: self.datasets + other.datasets,
            estimates: self.estimates + other.estimates,
            model_rows: self.model_rows.saturating_add(other.model_rows),
            is_open: self.is_open || other.is_open,
            fits: self.fits + other.fits,
            bands: self.bands + other.bands,
            resamples: self.resamples + other.resamples,
            simulated: self.simulated + other.simulated,
        }
    }
}

impl std::iter::Sum for Work {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| sum + one)
    }
}

impl Kind {
    /// Weight of a dataset beside those of other kinds of the block, before anything is known of the time.
    fn weight(&self) -> f64 {
        self.work.weight(self.rows) as f64 / self.work.datasets.max(1) as f64
    }

    fn is_of_block(&self, other: &Self) -> bool {
        (&self.study, self.block) == (&other.study, other.block)
    }

    /// Datasets of a group.
    fn replicates(&self) -> f64 {
        self.work.datasets as f64 / self.groups.max(1) as f64
    }

    /// Time of all its truths on so many threads, where all of these wait for the truths of a group.
    #[must_use]
    pub fn seconds_of_truths(&self, jobs: usize) -> f64 {
        let waiting = self.replicates().min(jobs as f64).max(1.0);
        let truths = self.seconds.unwrap_or_default().truths;
        truths * self.groups as f64 * waiting / jobs as f64
    }

    /// Time of all its datasets on so many threads, and of what is written of them.
    #[must_use]
    pub fn seconds_of_datasets(&self, jobs: usize) -> f64 {
        let Seconds { dataset, after, .. } = self.seconds.unwrap_or_default();
        (dataset / jobs as f64 + after) * self.work.datasets as f64
    }
}

impl Forecast {
    /// The numbers of a run, or of a shard of it, without any time.
    #[must_use]
    pub fn new(plan: &Plan<'_>, shard: Option<Shard>, jobs: usize, reading: Duration) -> Self {
        let mut tasks = vec![0_u64; plan.groups.len()];
        for task in plan.asked(shard) {
            tasks[plan.locate(task).0] += 1;
        }
        let mut kinds: Vec<Kind> = Vec::new();
        for (place, (Planned { study, group, scenario, .. }, datasets)) in
            plan.groups.iter().zip(tasks).enumerate()
        {
            if datasets == 0 {
                continue;
            }
            let work = Work::of(group, datasets);
            let is_same = |kind: &&mut Kind| {
                (kind.study.as_str(), kind.block, kind.rows) == (study, group.block, group.rows)
                    && kind.scenario == *scenario
            };
            match kinds.iter_mut().find(is_same) {
                Some(kind) => {
                    kind.groups += 1;
                    kind.work = kind.work + work;
                }
                None => kinds.push(Kind {
                    study: (*study).to_owned(),
                    block: group.block,
                    scenario: scenario.clone(),
                    rows: group.rows,
                    groups: 1,
                    work,
                    seconds: None,
                    is_timed: false,
                    shares_truths: shares_truths(group),
                    group: place,
                }),
            }
        }
        Self { kinds, jobs, reading: reading.as_secs_f64() }
    }

    /// Number of everything.
    #[must_use]
    pub fn work(&self) -> Work {
        self.kinds.iter().map(|kind| kind.work).sum()
    }

    /// Time of the whole run.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        let of =
            |kind: &Kind| kind.seconds_of_truths(self.jobs) + kind.seconds_of_datasets(self.jobs);
        let longest = self.kinds.iter().filter_map(|kind| kind.seconds);
        let longest = longest.map(|of| of.truths + of.dataset).fold(0.0, f64::max);
        BESIDE + TIMES_READ * self.reading + self.kinds.iter().map(of).sum::<f64>().max(longest)
    }

    /// Computes some datasets of each kind on the threads of the run, for about so long, and takes the others' times from
    /// theirs. What was computed is forgotten.
    ///
    /// # Errors
    /// Threads that cannot be started; an estimate that fails takes its time all the same.
    pub fn time(
        &mut self,
        plan: &Plan<'_>,
        (engines, seed): (&Engines, u64),
        within: Duration,
    ) -> Result<()> {
        let until = Instant::now() + within;
        let kinds = &self.kinds;
        let turns = Mutex::new(Turns::new(kinds));
        let turns = || turns.lock().unwrap_or_else(PoisonError::into_inner);
        let threads = self.jobs.min(self.work().datasets as usize);
        let at_work = AtomicUsize::new(threads);
        let turn = || -> Result<()> {
            loop {
                let left = until.saturating_duration_since(Instant::now()).as_secs_f64();
                let Some(kind) = turns().next(kinds, left) else { return Ok(()) };
                let timed = timed(&plan.groups[kinds[kind].group], engines, seed)?;
                turns().known[kind] = Some(timed);
            }
        };
        let work = || -> Result<()> {
            let done = turn();
            at_work.fetch_sub(1, Ordering::AcqRel);
            // Until all are done, all share the processors, as they do in a run.
            while at_work.load(Ordering::Acquire) > 0 && done.is_ok() {
                let cheapest = turns().cheapest();
                let Some(kind) = cheapest else { break };
                timed(&plan.groups[kinds[kind].group], engines, seed)?;
            }
            done
        };
        // As in a run: each thread has a pool of its own, and all are at work.
        let alone = || rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let done: Vec<Result<()>> = std::thread::scope(|scope| {
            let spawn = |_| {
                std::thread::Builder::new().spawn_scoped(scope, || match alone() {
                    Ok(pool) => pool.install(work),
                    Err(_) => work(),
                })
            };
            let workers: Vec<_> = (0..threads).map(spawn).collect();
            let failed = |what: String| Err(Error::Argument(what));
            let join = |worker: std::io::Result<Worker<'_>>| match worker {
                Ok(worker) => worker.join().unwrap_or_else(|_| {
                    failed("a thread of the forecast ended too early".to_owned())
                }),
                Err(e) => failed(format!("a thread of the forecast cannot be started: {e}")),
            };
            workers.into_iter().map(join).collect()
        });
        done.into_iter().collect::<Result<()>>()?;
        let known = turns().known.clone();
        let slopes = &Slopes::new(kinds, &known);
        let all = (0..kinds.len()).map(|kind| foretold((kinds, &known), slopes, kind));
        let all: Vec<Option<Seconds>> = all.collect();
        for (kind, (own, seconds)) in self.kinds.iter_mut().zip(known.iter().zip(all)) {
            kind.is_timed = own.is_some();
            kind.seconds = seconds;
        }
        Ok(())
    }
}

type Worker<'scope> = std::thread::ScopedJoinHandle<'scope, Result<()>>;

/// The kinds that are still to be timed, and what is known.
struct Turns {
    /// The cheapest of each scenario in each block, in an order that begins with all sorts of them.
    first: VecDeque<usize>,
    /// The others, those of which there is most before the others.
    rest: Vec<usize>,
    known: Vec<Option<Seconds>>,
}

impl Turns {
    /// The kind that takes the least time, of those that are known.
    fn cheapest(&self) -> Option<usize> {
        let known = self.known.iter().enumerate();
        let known = known.filter_map(|(kind, known)| Some((kind, known.as_ref()?)));
        let all = known.map(|(kind, of)| (kind, of.truths + of.dataset));
        Some(all.min_by(|(_, a), (_, b)| a.total_cmp(b))?.0)
    }

    fn new(kinds: &[Kind]) -> Self {
        let mut all: Vec<usize> = (0..kinds.len()).collect();
        all.sort_by(|a, b| kinds[*a].weight().total_cmp(&kinds[*b].weight()));
        let mut first: VecDeque<usize> = VecDeque::new();
        for &kind in &all {
            let is_like = |known: &&usize| {
                kinds[**known].is_of_block(&kinds[kind])
                    && kinds[**known].scenario == kinds[kind].scenario
            };
            if !first.iter().any(|known| is_like(&known)) {
                first.push_back(kind);
            }
        }
        // The cheapest, then those that divide the others evenly: if time is up early, the rest is told from all sorts.
        let mut places: Vec<u32> = (0..first.len() as u32).collect();
        places.sort_by_key(|place| place.reverse_bits());
        let first: VecDeque<usize> = places.iter().map(|place| first[*place as usize]).collect();
        let share = |kind: &usize| kinds[*kind].weight() * kinds[*kind].work.datasets as f64;
        all.retain(|kind| !first.contains(kind));
        all.sort_by(|a, b| share(b).total_cmp(&share(a)));
        Self { first, rest: all, known: vec![None; kinds.len()] }
    }

    /// The place among the rest of the most work of a block of which one number of rows is known, and not yet how times grow
    /// with it: of those that take a small share of the time that is left, even if they grow with all of the work.
    fn second(&self, kinds: &[Kind], left: f64) -> Option<usize> {
        let slopes = &Slopes::new(kinds, &self.known);
        let is_begun = |kind: &Kind| {
            let known = kinds.iter().zip(&self.known).filter(|(_, of)| of.is_some());
            known
                .into_iter()
                .any(|(other, _)| other.is_of_block(kind) && other.scenario == kind.scenario)
        };
        let is_open = |kind: &Kind| slopes.of_block(kind).is_none() && is_begun(kind);
        let is_short = |kind: usize| {
            foretold((kinds, &self.known), slopes, kind)
                .is_some_and(|of| of.truths + of.dataset < SECOND * left)
        };
        let fits = |(_, kind): &(usize, &usize)| is_open(&kinds[**kind]) && is_short(**kind);
        let by_work = |(_, a): &(usize, &usize), (_, b): &(usize, &usize)| {
            kinds[**a].weight().total_cmp(&kinds[**b].weight())
        };
        Some(self.rest.iter().enumerate().filter(fits).max_by(by_work)?.0)
    }

    /// The next kind whose datasets take less than the time that is left, as far as is known; of each block there is one.
    fn next(&mut self, kinds: &[Kind], left: f64) -> Option<usize> {
        if let Some(place) = self.second(kinds, left) {
            return Some(self.rest.remove(place));
        }
        let slopes = &Slopes::new(kinds, &self.known);
        let is_known = |kind: usize, known: &[Option<Seconds>]| {
            foretold((kinds, known), slopes, kind).is_some()
        };
        while let Some(kind) = self.first.pop_front() {
            if left > 0.0 || !is_known(kind, &self.known) {
                return Some(kind);
            }
        }
        let is_short = |kind: &usize| {
            let foretold = foretold((kinds, &self.known), slopes, *kind);
            foretold.is_some_and(|of| of.truths + 2.0 * of.dataset < left)
        };
        let place = self.rest.iter().position(is_short)?;
        Some(self.rest.remove(place))
    }
}

/// The time of a kind. Where it is not known, that of its datasets grows with the work as a power: from the nearest number of
/// rows of the same scenario in the block or, where none of these is known, from all other scenarios in it, of which the mean
/// is taken.
fn foretold(
    (kinds, known): (&[Kind], &[Option<Seconds>]),
    slopes: &Slopes<'_>,
    kind: usize,
) -> Option<Seconds> {
    if known[kind].is_some() {
        return known[kind];
    }
    let own = &kinds[kind];
    let distance = |other: &Kind| own.weight().ln() - other.weight().ln();
    let of_block = kinds.iter().zip(known).filter(|(other, _)| other.is_of_block(own));
    let of_block = of_block.filter_map(|(other, known)| Some((other, (*known)?)));
    let (mut alike, others): (Vec<_>, Vec<_>) =
        of_block.partition(|(other, _)| other.scenario == own.scenario);
    let slope = slope(&alike).or_else(|| slopes.of(own)).unwrap_or(1.0);
    let at_own = |(other, of): &Timed<'_>| {
        let dataset = of.dataset * (slope * distance(other)).exp();
        Seconds { dataset, ..*of }
    };
    alike.sort_by(|(a, _), (b, _)| distance(a).abs().total_cmp(&distance(b).abs()));
    if let Some(nearest) = alike.first() {
        // Those of regions, pairs and indices are found by the datasets of other numbers of rows.
        let truths = if own.shares_truths { 0.0 } else { nearest.1.truths };
        return Some(Seconds { truths, ..at_own(nearest) });
    }
    let is_own = |other: &Kind| other.is_of_block(own) && other.scenario == own.scenario;
    let finds_truths = !own.shares_truths || !kinds[..kind].iter().any(is_own);
    let scenarios: HashSet<&str> =
        others.iter().map(|(other, _)| other.scenario.as_str()).collect();
    let times_found = if own.shares_truths { scenarios.len() } else { others.len() };
    let sum = |of: fn(&Seconds) -> f64| others.iter().map(|other| of(&at_own(other))).sum::<f64>();
    let mean = |of: fn(&Seconds) -> f64| sum(of) / others.len() as f64;
    let means = || Seconds {
        truths: if finds_truths { sum(|of| of.truths) / times_found as f64 } else { 0.0 },
        dataset: mean(|of| of.dataset),
        after: mean(|of| of.after),
    };
    (!others.is_empty()).then(means)
}

/// A kind whose time is known.
type Timed<'a> = (&'a Kind, Seconds);

/// The power of the work with which times of datasets grow, between the least and the most work of some kinds.
fn slope(kinds: &[Timed<'_>]) -> Option<f64> {
    let by_work = |(a, _): &&Timed<'_>, (b, _): &&Timed<'_>| a.weight().total_cmp(&b.weight());
    let (least, most) = (kinds.iter().min_by(by_work)?, kinds.iter().max_by(by_work)?);
    let distance = (most.0.weight() / least.0.weight()).ln();
    let slope = (most.1.dataset / least.1.dataset).ln() / distance;
    let is_told = distance > LEAST_DISTANCE && slope.is_finite();
    is_told.then(|| slope.clamp(0.0, MOST_SLOPE))
}

/// The powers with which times are known to grow: the medians over the scenarios of a block, and over all.
#[derive(Debug, Default)]
struct Slopes<'a> {
    of_blocks: HashMap<(&'a str, usize), f64>,
    of_all: Option<f64>,
}

impl<'a> Slopes<'a> {
    fn new(kinds: &'a [Kind], known: &[Option<Seconds>]) -> Self {
        let mut of_scenarios: HashMap<(&str, usize, &str), Vec<Timed<'_>>> = HashMap::new();
        for (kind, of) in kinds.iter().zip(known) {
            let own = (kind.study.as_str(), kind.block, kind.scenario.as_str());
            of_scenarios.entry(own).or_default().extend(of.map(|of| (kind, of)));
        }
        let mut of_blocks: HashMap<(&str, usize), Vec<f64>> = HashMap::new();
        for ((study, block, _), group) in of_scenarios {
            let slope = slope(&group);
            of_blocks.entry((study, block)).or_default().extend(slope);
        }
        let of_all = median(of_blocks.values().flatten().copied().collect());
        let of_blocks =
            of_blocks.into_iter().filter_map(|(block, slopes)| Some((block, median(slopes)?)));
        Self { of_blocks: of_blocks.collect(), of_all }
    }

    /// The power of the block of a kind; none if nothing of it is known.
    fn of_block(&self, kind: &Kind) -> Option<f64> {
        self.of_blocks.get(&(kind.study.as_str(), kind.block)).copied()
    }

    fn of(&self, kind: &Kind) -> Option<f64> {
        self.of_block(kind).or(self.of_all)
    }
}

/// The middle one, or the mean of both that are in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some((values[last / 2] + values[last.div_ceil(2)]) / 2.0)
}

/// The most of the time that is left that a second number of rows may take.
const SECOND: f64 = 0.1;
/// Least distance of two kinds, in logarithms, between which a line is drawn.
const LEAST_DISTANCE: f64 = 0.1;
/// The most that times grow with the work, as a power: sorting takes a little more.
const MOST_SLOPE: f64 = 1.2;

/// The time of the datasets of a group, by the first of them.
fn timed(planned: &Planned<'_>, engines: &Engines, seed: u64) -> Result<Seconds> {
    let (prepared, of_f) = (&Prepared::new(planned.group), &Fitting::of_f());
    let fitting = planned.group.fitting.as_ref().unwrap_or(of_f);
    let mut after = 0.0;
    let mut one = |replicate: usize| -> Result<f64> {
        let started = Instant::now();
        let task = Task { planned, prepared, engines, seed, replicate, fitting, abandoned: None };
        let lines = task.run().map_err(|e| Error::Argument(e.to_string()))?;
        let bytes: usize = lines.iter().map(|lines| lines.len()).sum();
        let values = &lines[ResultFile::Cells as usize];
        let values = values.iter().filter(|byte| **byte == b'\n').count();
        after = bytes as f64 * WRITING + values as f64 * TABULATING;
        Ok(started.elapsed().as_secs_f64())
    };
    let first = one(0)?;
    let mut others = Vec::new();
    let most = planned.group.replicates.most.min(MOST_DATASETS);
    for replicate in 1..most {
        others.push(one(replicate)?);
        let took: f64 = others.iter().sum();
        let is_one_enough = took >= LONG_FOR_ONE.as_secs_f64();
        if took >= LONG_ENOUGH.as_secs_f64() && (others.len() > 1 || is_one_enough) {
            break;
        }
    }
    Ok(Seconds { after, ..told_apart(first, &others) })
}

/// The time of the truths, and that of a dataset, from those of the first dataset and of some others.
fn told_apart(first: f64, others: &[f64]) -> Seconds {
    let of = |dataset: f64| Seconds { truths: (first - dataset).max(0.0), dataset, after: 0.0 };
    match others {
        // One dataset: nothing is shared.
        [] => Seconds { dataset: first, ..Seconds::default() },
        // What else is at work holds some of them up, and makes none faster.
        [one, other] => of(one.min(*other)),
        _ => of(median(others.to_vec()).unwrap_or(first)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Study, file};

    fn study(blocks: &str) -> Study {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.toml");
        std::fs::write(&path, format!("about = 'small'\n{blocks}")).unwrap();
        Study::new("small".to_owned(), file::read(&path).unwrap()).unwrap()
    }

    const BANDS: &str = "[[block]]\nscenario = 'sin-indicator'\nset = { noise_sd = [0.1, 0.2] }\n\
        features = ['x1', 'x2']\nN = [20, 200]\nreplicates = 7\nmetrics = ['coverage']\n\
        [[block.estimator]]\nname = 'ale'\nbins = [2, 5]\nband = 'bootstrap'\nresamples = 40\n\
        [[block.estimator]]\nname = 'ale'\nbins = 3\nband = 'analytic'\n\
        [[block.estimator]]\nname = 'ale'\nbins = 4\n";

    #[test]
    fn everything_is_counted() {
        let studies = [study(BANDS)];
        let plan = Plan::new(&studies);
        let forecast = Forecast::new(&plan, None, 2, Duration::ZERO);
        let sizes: Vec<(usize, u64)> =
            forecast.kinds.iter().map(|kind| (kind.rows, kind.groups)).collect();
        assert_eq!(sizes, [(20, 2), (200, 2)]);
        let datasets = 2 * 2 * 7;
        let expected = Work {
            datasets,
            estimates: datasets * 2 * 4,
            // Two values of each row.
            model_rows: 2 * 7 * (20 + 200) * 2 * 4 * 2,
            is_open: false,
            fits: 0,
            bands: datasets * 2 * 3,
            resamples: datasets * 2 * 2 * 40,
            simulated: datasets * 2,
        };
        assert_eq!(forecast.work(), expected);
        // All shards do it together.
        let shards = (1..=3)
            .map(|index| Forecast::new(&plan, Some(Shard { index, of: 3 }), 2, Duration::ZERO));
        assert_eq!(shards.map(|shard| shard.work()).sum::<Work>(), expected);
    }

    #[test]
    fn a_simulated_band_weighs_more_than_its_few_rows() {
        let weight = |band: &str, rows| {
            let text = format!(
                "[[block]]\nscenario = 'poly3'\nfeatures = ['x1']\nN = {rows}\nreplicates = 1\n\
                 [[block.estimator]]\nname = 'ale'\nbins = 5\n{band}"
            );
            let forecast = Forecast::new(&Plan::new(&[study(&text)]), None, 1, Duration::ZERO);
            forecast.work().weight(rows)
        };
        assert!(weight("", 100) * 90 < weight("", 10_000));
        // Small datasets take about as long as large ones.
        assert!(weight("band = 'analytic'", 100) * 2 > weight("band = 'analytic'", 10_000));
        let resampled = "band = 'bootstrap'\nresamples = 40";
        assert!(weight(resampled, 100) * 90 < weight(resampled, 10_000));
        assert!(weight(resampled, 100) > weight("", 100) + 39 * 100);
    }

    #[test]
    fn fits_are_those_of_all_parts() {
        let text = "[[block]]\nscenario = 'friedman1'\nfeatures = ['x1', 'x4']\nN = 40\nreplicates = 3\n\
            metrics = ['mse']\nsnr = 3\nsplit = ['cv:4', 'train']\npairs = ['model:theoretical']\n\
            [[block.model]]\nname = 'linear'\n[[block.estimator]]\nname = 'pdp'\n";
        let work = Forecast::new(&Plan::new(&[study(text)]), None, 1, Duration::ZERO).work();
        assert_eq!((work.datasets, work.fits), (3, 3 * 5));
    }

    fn told(kinds: &[Kind], known: &[Option<Seconds>], kind: usize) -> Option<Seconds> {
        foretold((kinds, known), &Slopes::new(kinds, known), kind)
    }

    fn kind(rows: usize, groups: u64, replicates: u64) -> Kind {
        let datasets = groups * replicates;
        let model_rows = datasets * rows as u64;
        Kind {
            study: String::new(),
            block: 1,
            scenario: "poly3@1".to_owned(),
            rows,
            groups,
            work: Work { datasets, model_rows, ..Work::default() },
            seconds: None,
            is_timed: false,
            shares_truths: false,
            group: 0,
        }
    }

    #[test]
    fn truths_are_counted_once_for_a_group() {
        let seconds = told_apart(5.0, &[1.0, 3.0, 2.0]);
        assert_eq!(seconds, Seconds { truths: 3.0, dataset: 2.0, after: 0.0 });
        // One that was held up counts as the other.
        assert_eq!(told_apart(5.0, &[9.0, 2.0]), seconds);
        assert_eq!(told_apart(5.0, &[2.0]), seconds);
        assert_eq!(told_apart(5.0, &[]), Seconds { dataset: 5.0, ..Seconds::default() });
        assert_eq!(median(vec![3.0, 1.0]), Some(2.0));
        assert_eq!(median(Vec::new()), None);
        let kind = Kind { seconds: Some(seconds), ..kind(100, 4, 50) };
        // All threads wait for the truths of a group.
        assert_eq!([1, 2].map(|jobs| kind.seconds_of_truths(jobs)), [12.0, 12.0]);
        assert_eq!([1, 2].map(|jobs| kind.seconds_of_datasets(jobs)), [400.0, 200.0]);
        let alone = Kind { work: Work { datasets: 4, ..Work::default() }, ..kind };
        assert_eq!(alone.seconds_of_truths(2), 6.0);
    }

    #[test]
    fn other_sizes_lie_on_a_line_through_known_ones() {
        let kinds: Vec<Kind> = [100, 1000, 10_000, 100_000].map(|rows| kind(rows, 1, 9)).into();
        let of = |truths, dataset| Some(Seconds { truths, dataset, after: 0.0 });
        let dataset = |known: &[Option<Seconds>], at| told(&kinds, known, at).unwrap().dataset;
        // One is known: as the work.
        let one = [of(1.0, 0.1), None, None, None];
        assert!((dataset(&one, 2) / 10.0 - 1.0).abs() < 1e-9);
        // Two are: a tenth of the power.
        let two = [of(1.0, 0.1), of(1.0, 0.1 * 10_f64.powf(0.1)), None, None];
        assert!((dataset(&two, 3) / (0.1 * 10_f64.powf(0.3)) - 1.0).abs() < 1e-9);
        assert_eq!(told(&kinds, &two, 2).unwrap().truths, 1.0);
        let mut shared = kinds.clone();
        shared.iter_mut().for_each(|kind| kind.shares_truths = true);
        assert_eq!(told(&shared, &two, 2).unwrap().truths, 0.0);
        assert_eq!(told(&kinds, &[None; 4], 2), None);
    }

    #[test]
    fn what_is_not_known_of_a_scenario_is_told_from_the_others() {
        let mut kinds: Vec<Kind> = [100, 10_000, 100, 10_000].map(|rows| kind(rows, 1, 9)).into();
        kinds[2].scenario = "goldstein@1".to_owned();
        kinds[3].scenario = "goldstein@1".to_owned();
        let of = |truths, dataset| Some(Seconds { truths, dataset, after: 0.0 });
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        // Times grow as those of the other scenario do, by the root of the work.
        let known = [of(1.0, 0.1), of(1.0, 1.0), of(3.0, 0.4), None];
        assert!(near(told(&kinds, &known, 3).unwrap().dataset, 4.0));
        // Nothing is known of it: the mean of the others.
        let known = [of(1.0, 0.1), of(3.0, 1.0), None, None];
        let unknown = told(&kinds, &known, 2).unwrap();
        assert!(near(unknown.dataset, 0.1) && near(unknown.truths, 2.0), "{unknown:?}");
        // Truths that other numbers of rows find as well are found once.
        kinds.iter_mut().for_each(|kind| kind.shares_truths = true);
        let known = [of(1.0, 0.1), of(0.0, 1.0), None, None];
        assert!(near(told(&kinds, &known, 2).unwrap().truths, 1.0));
        assert_eq!(told(&kinds, &known, 3).unwrap().truths, 0.0);
    }

    #[test]
    fn scenarios_are_timed_in_an_order_that_begins_with_all_sorts() {
        let of = |place: usize| Kind { scenario: format!("s{place}@1"), ..kind(100 + place, 1, 9) };
        let kinds: Vec<Kind> = (0..8).map(of).collect();
        assert_eq!(Turns::new(&kinds).first, [0, 4, 2, 6, 1, 5, 3, 7]);
    }

    #[test]
    fn a_second_number_of_rows_follows_the_first() {
        let mut kinds: Vec<Kind> = [100, 1000, 10_000, 200].map(|rows| kind(rows, 1, 9)).into();
        kinds[3].scenario = "goldstein@1".to_owned();
        let mut turns = Turns::new(&kinds);
        assert_eq!(turns.next(&kinds, 60.0), Some(0));
        turns.known[0] = Some(Seconds { truths: 0.0, dataset: 0.1, after: 0.0 });
        // That of 10 000 rows may take 10 s.
        assert_eq!(turns.next(&kinds, 60.0), Some(1));
        turns.known[1] = Some(Seconds { truths: 0.0, dataset: 0.2, after: 0.0 });
        assert_eq!(turns.next(&kinds, 60.0), Some(3));
    }

    #[test]
    fn cheap_ones_come_first_and_long_ones_not_at_all() {
        let kinds: Vec<Kind> = [1000, 100, 10_000].map(|rows| kind(rows, 1, 9)).into();
        let mut turns = Turns::new(&kinds);
        assert_eq!(turns.next(&kinds, 0.0), Some(1));
        // Nothing is known yet of any.
        assert_eq!(turns.next(&kinds, 10.0), None);
        turns.known[1] = Some(Seconds { truths: 0.0, dataset: 1.0, after: 0.0 });
        assert_eq!(turns.next(&kinds, 30.0), Some(0));
        turns.known[0] = Some(Seconds { truths: 0.0, dataset: 1.1, after: 0.0 });
        assert_eq!(turns.next(&kinds, 30.0), Some(2));
        assert_eq!(turns.next(&kinds, 30.0), None);
    }
}
