//! With which exponent the work of estimators grows, over N and over K: by instructions where valgrind is
//! installed, and by the least processor time of several turns. Fails where instructions grow faster
//! than they may; times depend on caches and on what else the machine does, and are only shown.

use std::process::ExitCode;

use fe_benches::callgrind::{counted_work, instructions, version};
use fe_benches::clock::{exponent, processor};
use fe_benches::process::{after, finish};
use fe_benches::work::settings;
use fe_benches::{Piece, Result, data, friedman1, is_test, on_threads};
use fe_core::Settings;
use fe_core::model::{Model, Rows};
use fe_models::{FittedModel, Learner};
use fe_truth::Scenario;

const FEATURES: usize = 7;
const TURNS: usize = 9;

/// The size that is varied.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Over {
    Rows,
    Bins,
}

/// A series of sizes of a work, and the largest exponent that it may have. Logarithms count as rows:
/// over a factor of 16 from 2^12 on, N log N grows as N^1.10.
struct Series {
    estimator: &'static str,
    options: &'static str,
    over: Over,
    /// The sizes that are not varied.
    fixed: usize,
    counted: [usize; 3],
    timed: [usize; 4],
    most: f64,
    /// True if the model is a sum of trees, which tells by its structure what is asked; a native function otherwise.
    trees: bool,
}

const ROWS: [usize; 3] = [1 << 12, 1 << 14, 1 << 16];
const MANY_ROWS: [usize; 4] = [1 << 14, 1 << 16, 1 << 18, 1 << 20];

const SERIES: &[Series] = &[
    over_rows("ale", "", 100, 1.05),
    over_rows("ale", "binning = 'quantile'", 100, 1.10),
    over_rows("ale", "binning = 'quantile-min', min_points = 100.0", 0, 1.10),
    over_rows("dale", "", 100, 1.05),
    over_rows("rhale", "", 20, 1.05),
    Series {
        counted: [1 << 8, 1 << 10, 1 << 12],
        timed: [1 << 10, 1 << 12, 1 << 14, 1 << 16],
        ..over_rows("pdp", "", 100, 1.05)
    },
    over_bins("rhale", "min_points = 2.0", 1_000, [100, 400, 1_600], [100, 250, 600, 1_600], 2.05),
    over_bins("ale", "", 1 << 16, [10, 100, 1_000], [10, 50, 200, 1_000], 0.05),
    over_bins("dale", "", 1 << 16, [10, 100, 1_000], [10, 50, 200, 1_000], 0.05),
    over_bins("pdp", "", 1 << 10, [10, 100, 1_000], [10, 50, 200, 1_000], 1.05),
    Series {
        counted: [1 << 10, 1 << 12, 1 << 14],
        timed: [1 << 11, 1 << 13, 1 << 15, 1 << 17],
        trees: true,
        ..over_rows("ale", "", 50, 1.05)
    },
    Series {
        counted: [1 << 8, 1 << 10, 1 << 12],
        timed: [1 << 8, 1 << 10, 1 << 12, 1 << 14],
        trees: true,
        ..over_rows("pdp", "", 100, 1.05)
    },
    Series {
        trees: true,
        ..over_bins("ale", "", 1 << 12, [10, 100, 1_000], [10, 50, 200, 1_000], 0.25)
    },
    // Nodes are visited once for all points, but there is a value for each.
    Series {
        trees: true,
        ..over_bins("pdp", "", 1 << 10, [10, 100, 1_000], [10, 50, 200, 1_000], 0.60)
    },
];

/// Boosted trees, fitted to rows of their own.
fn trees(scenario: &Scenario) -> Result<Box<dyn FittedModel>> {
    let data = data(scenario, 2_000)?;
    let mut y = vec![0.0; data.len()];
    scenario.model().predict(&Rows::new(&data.columns(0..data.len()), data.len()), &mut y)?;
    Ok(Learner::new("gbdt", &[])?.fit(&data, &y, 0)?)
}

const fn over_rows(
    estimator: &'static str,
    options: &'static str,
    bins: usize,
    most: f64,
) -> Series {
    let (over, fixed) = (Over::Rows, bins);
    Series { estimator, options, over, fixed, counted: ROWS, timed: MANY_ROWS, most, trees: false }
}

const fn over_bins(
    estimator: &'static str,
    options: &'static str,
    rows: usize,
    counted: [usize; 3],
    timed: [usize; 4],
    most: f64,
) -> Series {
    let over = Over::Bins;
    Series { estimator, options, over, fixed: rows, counted, timed, most, trees: false }
}

impl Series {
    fn name(&self) -> String {
        let of = if self.trees { " of trees" } else { "" };
        let comma = if self.options.is_empty() { "" } else { ", " };
        format!("`{}`{of}{comma}{}", self.estimator, self.options)
    }

    fn rows_and_bins(&self, size: usize) -> (usize, usize) {
        match self.over {
            Over::Rows => (size, self.fixed),
            Over::Bins => (self.fixed, size),
        }
    }

    fn piece(&self, bins: usize) -> Result<Piece> {
        let given = settings(self.options)?;
        let size = Some(bins).filter(|bins| *bins > 0);
        let given = match self.estimator {
            "pdp" => Settings { grid: size, ..given },
            _ => Settings { bins: size, ..given },
        };
        Piece::new(self.estimator, None, given)
    }

    /// Does the work once, and then `turns` times with a call of `with` around each.
    fn work(
        &self,
        size: usize,
        turns: usize,
        mut with: impl FnMut(&mut dyn FnMut() -> Result<()>) -> Result<()> + Send,
    ) -> Result<()> {
        let (rows, bins) = self.rows_and_bins(size);
        let (scenario, piece) = (friedman1(FEATURES)?, self.piece(bins)?);
        let data = data(&scenario, rows)?;
        let fitted = self.trees.then(|| trees(&scenario)).transpose()?;
        let model =
            fitted.as_ref().map_or(scenario.model(), |fitted| fitted.as_ref() as &dyn Model);
        on_threads(1, || {
            let mut estimate = || piece.estimate(&data, model, 0).map(|_| ());
            estimate()?;
            (0..turns).try_for_each(|_| with(&mut estimate))
        })
    }

    fn seconds(&self, size: usize) -> Result<f64> {
        let mut least = f64::INFINITY;
        self.work(size, TURNS, |estimate| {
            least = least.min(processor(estimate)?.0);
            Ok(())
        })?;
        Ok(least)
    }
}

fn main() -> ExitCode {
    finish(match after("--counted") {
        Some(which) => child(&which),
        None if is_test() => SERIES
            .iter()
            .try_for_each(|series| {
                series.work(series.counted[0].min(512), 1, |estimate| estimate())
            })
            .map(|()| true),
        None => parent(),
    })
}

/// One size of one series, for callgrind to count.
fn child(which: &[String]) -> Result<bool> {
    let [series, size, ..] = which else { return Err("a series and a size are needed".into()) };
    let series = SERIES.get(series.parse::<usize>()?).ok_or("no such series")?;
    series.work(size.parse()?, 1, |estimate| counted_work(estimate))?;
    Ok(true)
}

fn parent() -> Result<bool> {
    let counts = version().is_some();
    if !counts {
        eprintln!("valgrind is not installed: processor times only");
    }
    println!("| work | over | sizes | instructions | processor time | at most |");
    println!("|---|---|---|---|---|---|");
    let mut holds = true;
    // Only works whose name has this in it, as in `-- trees`.
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_asked = |series: &Series| only.as_ref().is_none_or(|of| series.name().contains(of));
    for (number, series) in SERIES.iter().enumerate().filter(|(_, series)| is_asked(series)) {
        let counted = series.counted.map(|size| size as f64);
        let counted = if counts {
            let count = |size: &usize| {
                let which =
                    ["--counted", &number.to_string(), &size.to_string()].map(str::to_owned);
                Ok(instructions(&which)? as f64)
            };
            let found = series.counted.iter().map(count).collect::<Result<Vec<f64>>>()?;
            Some(exponent(&counted, &found))
        } else {
            None
        };
        let places = series.timed.map(|size| size as f64);
        let times = series.timed.iter().map(|&size| series.seconds(size));
        let timed = exponent(&places, &times.collect::<Result<Vec<f64>>>()?);
        let above = counted.is_some_and(|counted| counted > series.most);
        holds &= !above;
        println!(
            "| {} | {} | {} to {} | {}{} | {timed:.3} | {:.2} |",
            series.name(),
            if series.over == Over::Rows { "N" } else { "K" },
            series.timed[0],
            series.timed[series.timed.len() - 1],
            counted.map_or_else(|| "–".to_owned(), |counted| format!("{counted:.3}")),
            if above { " **above**" } else { "" },
            series.most
        );
    }
    Ok(holds)
}
