//! Local effects of `shapdp`: Shapley values, held per instance.

use crate::data::Dataset;
use crate::effect::Effect;
use crate::error::Result;
use crate::estimator::ShapDependence;
use crate::estimator::shap::Cloud;
use crate::estimator::shapley::ShapleyValues;
use crate::model::Model;
use crate::model::magnitude::MagnitudeProbe;
use crate::numeric::axis::Axis;

use super::criterion::{Criterion, noise_of_value};

/// The Shapley values of all instances, computed once against one background.
pub(super) struct Explained<'a> {
    estimator: &'a ShapDependence,
    data: &'a Dataset,
    feature: usize,
    axis: Axis,
    values: ShapleyValues,
    /// The place of each row among those that are explained; 0 for others.
    place_of: Vec<usize>,
}

impl<'a> Explained<'a> {
    /// Explains the rows: all that the model is ever asked for.
    pub(super) fn new(
        estimator: &'a ShapDependence,
        data: &'a Dataset,
        model: &dyn Model,
        feature: usize,
    ) -> Result<Self> {
        let (axis, values) = estimator.explain(data, model, feature)?;
        let mut place_of = vec![0; data.len()];
        for (place, &row) in values.rows.iter().enumerate() {
            place_of[row] = place;
        }
        Ok(Self { estimator, data, feature, axis, values, place_of })
    }

    /// Rows whose value the model was asked for.
    pub(super) fn model_rows(&self) -> u64 {
        self.values.model_rows
    }

    fn places(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().map(|&row| self.place_of[row]).collect()
    }
}

/// The Shapley values on one output.
pub(super) struct Dependence<'a> {
    explained: &'a Explained<'a>,
    output: usize,
    cloud: Cloud,
    floor: f64,
}

impl<'a> Dependence<'a> {
    pub(super) fn new(
        explained: &'a Explained<'a>,
        output: usize,
        probe: &MagnitudeProbe<'_>,
    ) -> Result<Self> {
        let Explained { data, values, feature, axis, .. } = explained;
        let cloud = Cloud::new(data, values, *feature, *axis, output)?;
        let floor = noise_of_value(probe, output).powi(2);
        Ok(Self { explained, output, cloud, floor })
    }
}

impl Criterion for Dependence<'_> {
    /// Places of the instances among those that are explained: a spline is not made of two others,
    /// so each region fits its own.
    type Summary = Vec<usize>;

    fn rows(&self) -> &[usize] {
        &self.explained.values.rows
    }

    fn summarise(&self, rows: &[usize]) -> Vec<usize> {
        self.explained.places(rows)
    }

    fn merge(&self, a: &Vec<usize>, b: &Vec<usize>) -> Vec<usize> {
        a.iter().chain(b).copied().collect()
    }

    fn heterogeneity(&self, places: &Vec<usize>) -> Result<Option<f64>> {
        self.explained.estimator.mean_residual(&self.cloud.select(places))
    }

    fn floor(&self) -> f64 {
        self.floor
    }

    fn effect(&self, rows: &[usize]) -> Result<Effect> {
        let Explained { estimator, data, feature, axis, values, .. } = self.explained;
        let values = values.select(&self.explained.places(rows));
        estimator.effect(&data.select(rows), &values, *feature, *axis, self.output)
    }
}
