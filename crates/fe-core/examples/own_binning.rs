//! A binning of one's own: one limit, at the median of the feature.

use fe_core::binning::{Binning, BinningRequest, Choice, SortedSample};
use fe_core::estimator::{Ale, Estimator};
use fe_core::model::FunctionModel;
use fe_core::{Dataset, Partition, Result};

#[derive(Debug)]
struct Halves;

impl Binning for Halves {
    fn describe(&self) -> String {
        "halves".to_owned()
    }

    fn bins(&self) -> Option<usize> {
        Some(2)
    }

    fn choose(&self, request: &BinningRequest<'_>) -> Result<Choice> {
        let weight = |row: usize| request.weights.map_or(1.0, |weights| weights[row]);
        let positions = request.positions.iter().enumerate();
        let median = SortedSample::new(positions.map(|(row, &x)| (x, weight(row)))).quantile(0.5);
        let limits = vec![request.axis.lo(), median, request.axis.hi()];
        Ok(Choice::new(Partition::new(limits, request.closed)?, true))
    }
}

/// Estimates the effect of a square on two bins.
///
/// # Errors
/// None with these data.
pub fn main() -> Result<()> {
    let data = Dataset::from_rows(&ndarray::array![[0.0], [0.1], [0.2], [0.7], [1.0]].view())?;
    let model = FunctionModel::new(1, |x| x[0] * x[0]);
    let effect = &Ale::with_bins(1)?.binned(Halves).estimate(&data, &model, 0)?[0];
    println!("{:?}", effect.bins);
    assert_eq!(effect.curve.x(), [0.0, 0.2, 1.0]);
    Ok(())
}
