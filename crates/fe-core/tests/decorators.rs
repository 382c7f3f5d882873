//! What watches a model passes on every way of answering.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};

use fe_core::ModelError;
use fe_core::model::{
    Answered, Ask, Asked, Background, Column, Decorator, Model, Question, Reach, Rows,
};

/// A model that has something of its own for every method of the trait.
struct Special;

impl Model for Special {
    fn dimension(&self) -> usize {
        7
    }
    fn outputs(&self) -> usize {
        2
    }
    fn predict(&self, _: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        values.fill(1.0);
        Ok(())
    }
    fn predicts_along(&self) -> bool {
        true
    }
    fn predict_along(
        &self,
        feature: usize,
        places: &[f64],
        _: &Rows<'_>,
        values: &mut [f64],
    ) -> Result<(), ModelError> {
        values.fill((10 * feature + places.len()) as f64);
        Ok(())
    }
    fn reach(&self) -> Reach {
        Reach::Planned
    }
    fn predicts_changes(&self) -> bool {
        true
    }
    fn predict_changes(
        &self,
        feature: usize,
        [from, to]: [&[f64]; 2],
        _: &Rows<'_>,
        values: &mut [f64],
    ) -> Answered {
        values.fill(43.0 + feature as f64 + to[0] - from[0]);
        Ok(())
    }
    fn knows_shapley_values(&self) -> bool {
        true
    }
    fn shapley_values(
        &self,
        _: &Rows<'_>,
        (_, shares): (&Rows<'_>, &[f64]),
        values: &mut [f64],
    ) -> Answered {
        values.fill(50.0 + shares.iter().sum::<f64>());
        Ok(())
    }
    fn knows_partial_dependences(&self) -> bool {
        true
    }
    fn partial_dependences(
        &self,
        features: &[usize],
        _: &Rows<'_>,
        background: &Background<'_>,
        sums: &mut [f64],
    ) -> Answered {
        sums.fill(60.0 + (features.len() + background.count) as f64);
        Ok(())
    }
    fn has_partial(&self) -> bool {
        true
    }
    fn partial(&self, feature: usize, _: &Rows<'_>, values: &mut [f64]) -> Result<(), ModelError> {
        values.fill(100.0 + feature as f64);
        Ok(())
    }
}

/// Counts values and derivatives that were asked of rows.
struct Counted<M>(M, [AtomicUsize; 2]);

impl<M: Model> Decorator for Counted<M> {
    fn decorated(&self) -> &dyn Model {
        &self.0
    }

    fn pass_on(&self, question: Question, values: &mut [f64], ask: &mut Ask<'_>) -> Answered {
        let place = usize::from(question.of == Asked::Partial);
        self.1[place].fetch_add(question.rows * question.times, Ordering::Relaxed);
        ask(values)
    }
}

#[test]
fn every_method_of_a_model_comes_through_two_decorators() {
    let inner = Counted(Special, [AtomicUsize::new(0), AtomicUsize::new(0)]);
    let model = Counted(inner, [AtomicUsize::new(0), AtomicUsize::new(0)]);
    assert_eq!((model.dimension(), model.outputs()), (7, 2));
    assert!(model.predicts_along() && model.has_partial());
    assert_eq!(model.reach(), Reach::Planned);
    let columns = [Column::Constant(0.0); 7];
    let rows = Rows::new(&columns, 3);
    let mut values = [0.0; 6];
    model.predict(&rows, &mut values).unwrap();
    assert_eq!(values, [1.0; 6]);
    model.partial(4, &rows, &mut values).unwrap();
    assert_eq!(values, [104.0; 6]);
    let mut values = [0.0; 12];
    model.predict_along(3, &[0.5, 0.7], &rows, &mut values).unwrap();
    assert_eq!(values, [32.0; 12]);
    assert!(model.predicts_changes() && model.knows_shapley_values());
    let mut values = [0.0; 6];
    model.predict_changes(3, [&[0.0; 3], &[1.0; 3]], &rows, &mut values).unwrap();
    assert_eq!(values, [47.0; 6]);
    let mut values = [0.0; 42];
    model.shapley_values(&rows, (&rows, &[0.5, 0.25, 0.25]), &mut values).unwrap();
    assert_eq!(values, [51.0; 42]);
    let background = Background { rows, weights: &[1.0; 3], groups: &[0, 1, 1], count: 2 };
    assert!(model.knows_partial_dependences());
    let mut sums = [0.0; 12];
    model.partial_dependences(&[2, 3, 5], &rows, &background, &mut sums).unwrap();
    assert_eq!(sums, [65.0; 12]);
    for counts in [model.1, model.0.1] {
        assert_eq!(counts.map(AtomicUsize::into_inner), [3 + 6 + 6 + 21 + 6, 3]);
    }
}
