//! Records as lines of CSV, without a header.

use fe_core::effect::Bins;
use fe_core::replicates::FreshCurves;

use super::{BIN_COLUMNS, ERROR_COLUMNS, Parts, TIMING_COLUMNS, VALUE_COLUMNS};
use crate::say::visible;
use crate::score::Score;
use crate::sheet::exact;
use crate::spreadsheet::guarded;

/// What the records of an estimate have in common.
#[derive(Debug, Clone, Copy)]
pub struct Label<'a> {
    /// Name of the study.
    pub study: &'a str,
    /// The scenario with its version.
    pub scenario: &'a str,
    /// Its parameters.
    pub parameters: &'a str,
    /// Name of the feature.
    pub feature: &'a str,
    /// The columns `estimator` to `options`.
    pub variant: &'a [String],
    /// Number of rows.
    pub rows: &'a str,
    /// Ratio of signal to noise of the target; empty where nothing reads one.
    pub snr: &'a str,
    /// Number of the dataset.
    pub replicate: &'a str,
    /// Which two effects are compared.
    pub pair: &'a str,
    /// On which rows a model is fitted and explained; empty without a model.
    pub split: &'a str,
}

impl<'a> Label<'a> {
    /// An entry for each of [`KEYS`](super::KEYS) but the metric.
    pub(crate) fn keys(&self, output: &'a str) -> impl Iterator<Item = &'a str> {
        let head = [self.study, self.scenario, self.parameters, self.feature, "", output];
        let tail = [self.rows, self.snr, self.replicate, self.pair, self.split];
        head.into_iter().chain(self.variant.iter().map(String::as_str)).chain(tail)
    }
}

/// What an estimate took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Taken {
    /// Wall time of the estimator, its model included.
    pub seconds: f64,
    /// Wall time spent in the model.
    pub model_seconds: f64,
    /// The most memory that the process of an external estimator held.
    pub peak_bytes: Option<u64>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy)]
pub struct CurvePoint {
    /// The place.
    pub x: f64,
    /// The estimate, centred as it is compared.
    pub effect: Option<f64>,
    /// The estimated heterogeneity.
    pub heterogeneity: Option<f64>,
    /// The truth, centred alike.
    pub truth: Option<f64>,
    /// A bound on the error of the truth.
    pub truth_abs_error: Option<f64>,
    /// The limits of a confidence band, lower and upper, pointwise and simultaneous; they move with the
    /// estimate when it is centred.
    pub confidence: [Option<f64>; 4],
}

/// The errors of a curve from which bias and variance are computed.
#[derive(Debug, Clone, Copy)]
pub struct CurveErrors<'a> {
    /// The points.
    pub x: &'a [f64],
    /// The difference of the two curves of the pair at each of them.
    pub error: &'a [f64],
    /// Of curves of the same model on fresh data: how many, and their moments.
    pub fresh: Option<(usize, &'a FreshCurves)>,
}

/// Lines of one file. There is a writer once there is a line: making one takes as long as some lines.
#[derive(Debug, Default)]
struct Lines(Option<csv::Writer<Vec<u8>>>);

impl Lines {
    /// Keys are words, and values numbers or lists of them.
    fn write<'a>(
        &mut self,
        keys: impl Iterator<Item = &'a str>,
        values: &[String],
    ) -> csv::Result<()> {
        let writer = self.0.get_or_insert_with(|| csv::Writer::from_writer(Vec::new()));
        for key in keys {
            writer.write_field(guarded(key).as_bytes())?;
        }
        writer.write_record(values)
    }

    fn into_bytes(self) -> csv::Result<Vec<u8>> {
        let bytes = |writer: csv::Writer<Vec<u8>>| {
            writer.into_inner().map_err(|e| csv::Error::from(e.into_error()))
        };
        self.0.map_or(Ok(Vec::new()), bytes)
    }
}

/// Gathers the records of a dataset.
#[derive(Debug, Default)]
pub struct Encoder {
    cells: Lines,
    timings: Lines,
    curves: Lines,
    bins: Lines,
    errors: Lines,
}

impl Encoder {
    /// Without records.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A value of a metric for an output, counted from 0.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn cell(
        &mut self,
        label: &Label<'_>,
        output: usize,
        metric: &str,
        score: &Score,
        model_rows: Option<u64>,
    ) -> csv::Result<()> {
        let values: [String; VALUE_COLUMNS.len()] = [
            number(score.value),
            score.truth_method.clone(),
            number(score.truth_abs_error),
            score.compared.to_string(),
            score.left_out.to_string(),
            model_rows.map_or(String::new(), |rows| rows.to_string()),
            guarded(&visible(&score.status).replace('\n', " ")).into_owned(),
        ];
        let output = (output + 1).to_string();
        self.cells.write(label.keys(&output).chain([metric]), &values)
    }

    /// How long an estimate took, and how long of that the model.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn timing(&mut self, label: &Label<'_>, taken: Taken) -> csv::Result<()> {
        let peak = taken.peak_bytes.map_or(String::new(), |bytes| bytes.to_string());
        let values: [String; TIMING_COLUMNS.len()] =
            [exact(taken.seconds), exact(taken.model_seconds), peak];
        self.timings.write(label.keys("1"), &values)
    }

    /// A point of the curve of an output, counted from 0.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn curve(
        &mut self,
        label: &Label<'_>,
        output: usize,
        point: &CurvePoint,
    ) -> csv::Result<()> {
        let known = [point.effect, point.heterogeneity, point.truth, point.truth_abs_error];
        let values = known.into_iter().chain(point.confidence).map(number);
        let values: Vec<String> = std::iter::once(exact(point.x)).chain(values).collect();
        let output = (output + 1).to_string();
        self.curves.write(label.keys(&output), &values)
    }

    /// The bins of an output, counted from 0, with the true effect and variance of each.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn bins(
        &mut self,
        label: &Label<'_>,
        output: usize,
        bins: &Bins,
        truths: Option<&[(f64, f64)]>,
    ) -> csv::Result<()> {
        let output = (output + 1).to_string();
        for (k, limits) in bins.partition.limits().windows(2).enumerate() {
            let truth = truths.map(|truths| truths[k]);
            let values: [String; BIN_COLUMNS.len()] = [
                (k + 1).to_string(),
                exact(limits[0]),
                exact(limits[1]),
                exact(bins.counts[k]),
                exact(bins.effect[k]),
                number(bins.variance[k]),
                number(truth.map(|(effect, _)| effect)),
                number(truth.map(|(_, variance)| variance)),
            ];
            self.bins.write(label.keys(&output), &values)?;
        }
        Ok(())
    }

    /// The errors of the curve of an output, counted from 0.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn errors(
        &mut self,
        label: &Label<'_>,
        output: usize,
        errors: &CurveErrors<'_>,
    ) -> csv::Result<()> {
        let all = |values: &[f64]| list(values.iter().copied().map(Some));
        let (count, means, variances) = match errors.fresh {
            Some((count, fresh)) => {
                (count.to_string(), list(fresh.means()), list(fresh.variances()))
            }
            None => Default::default(),
        };
        let values: [String; ERROR_COLUMNS.len()] =
            [all(errors.x), all(errors.error), count, means, variances];
        let output = (output + 1).to_string();
        self.errors.write(label.keys(&output), &values)
    }

    /// The lines of each of [`FILES`](super::FILES).
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn into_parts(self) -> csv::Result<Parts> {
        Ok([
            self.cells.into_bytes()?,
            self.timings.into_bytes()?,
            self.curves.into_bytes()?,
            self.bins.into_bytes()?,
            self.errors.into_bytes()?,
        ])
    }
}

/// What stands in a list for a number that is missing.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::KEYS;

    #[test]
    fn a_label_has_every_key_in_its_place() {
        let variant: Vec<String> = (0..7).map(|i| KEYS[6 + i].to_owned()).collect();
        let label = Label {
            study: "study",
            scenario: "scenario",
            parameters: "parameters",
            feature: "feature",
            variant: &variant,
            rows: "N",
            snr: "snr",
            replicate: "replicate",
            pair: "pair",
            split: "split",
        };
        let keys: Vec<&str> = label.keys("output").chain(["metric"]).collect();
        assert_eq!(keys.len(), KEYS.len());
        for (key, name) in keys.iter().zip(KEYS) {
            assert!(*key == name || name == "feature2", "{name}");
        }
    }
}
