//! Functions as trees, against their native form.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Sample, all};
use fe_core::model::{Column, Rows};
use fe_truth::Scenario;

const ROWS: usize = 2000;

/// Rows of the law: column after column.
fn rows(scenario: &Scenario) -> Vec<Vec<f64>> {
    Sample::draw(scenario, ROWS, 11).columns
}

/// Both are within a few roundings of the exact value, relative to the largest of the values: where
/// summands cancel, and near zeros of a sine, rounding is not relative to the value itself.
fn assert_near(found: &[f64], native: &[f64], what: &str) {
    let size = native.iter().fold(0.0_f64, |size, value| size.max(value.abs()));
    for (i, (found, native)) in found.iter().zip(native).enumerate() {
        let off = (found - native).abs();
        assert!(off <= 1e-14 * size.max(native.abs()), "{what}, row {i}: {found}, {native}");
        // Where nothing cancels: in relation to the value.
        assert!(
            off <= 1e-12 * native.abs() || native.abs() < 0.01 * size,
            "{what}, row {i}: {found}, {native}"
        );
    }
}

#[test]
fn values_and_derivatives_are_those_of_the_native_form() {
    for scenario in all() {
        let columns = rows(&scenario);
        let row = |i: usize| -> Vec<f64> { columns.iter().map(|column| column[i]).collect() };
        let batch: Vec<Column<'_>> = columns.iter().map(|c| Column::Values(c)).collect();
        let batch = Rows::new(&batch, ROWS);
        let mut native = vec![0.0; ROWS];
        scenario.model().predict(&batch, &mut native).unwrap();
        let of = |tree: &fe_truth::Expression| -> Vec<f64> {
            (0..ROWS).map(|i| tree.value(&row(i))).collect()
        };
        assert_near(&of(scenario.expression()), &native, &format!("{scenario:?}"));
        for s in 0..scenario.dimension() {
            scenario.model().partial(s, &batch, &mut native).unwrap();
            let partial = scenario.expression().partial(s);
            assert_near(&of(&partial), &native, &format!("{scenario:?} along x{}", s + 1));
        }
    }
}

/// Jumps and kinks lie on the same side: at limits of pieces the trees say the same.
#[test]
fn at_breaks_as_well() {
    for scenario in all() {
        let columns = rows(&scenario);
        for s in 0..scenario.dimension() {
            for place in scenario.breaks(s) {
                for i in 0..20 {
                    let mut row: Vec<f64> = columns.iter().map(|column| column[i]).collect();
                    row[s] = place;
                    let batch: Vec<Column<'_>> = row.iter().map(|x| Column::Constant(*x)).collect();
                    let mut native = [0.0];
                    scenario.model().predict(&Rows::new(&batch, 1), &mut native).unwrap();
                    let off = (scenario.expression().value(&row) - native[0]).abs();
                    assert!(off <= 1e-13 * (1.0 + native[0].abs()), "{scenario:?} at {row:?}");
                }
            }
        }
    }
}

#[test]
fn json_gives_the_tree_back() {
    for scenario in all() {
        for tree in [scenario.expression().clone(), scenario.expression().partial(0)] {
            let text = serde_json::to_string(&tree).unwrap();
            assert_eq!(serde_json::from_str::<fe_truth::Expression>(&text).unwrap(), tree);
            assert!(tree.last_feature().is_none_or(|last| last < scenario.dimension()));
        }
    }
}
