//! Functions as trees, against their native form.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::{Sample, all};
use fe_core::model::{Column, Rows};
use fe_truth::{Scenario, problem};

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

/// A function of x and y on (0, 1) from its text.
fn of_text(f: &str) -> fe_truth::Expression {
    let text = format!("f = \"{f}\"\n[law]\nx = \"uniform(0, 1)\"\ny = \"uniform(0, 1)\"\n");
    problem("mine", &text, &[]).unwrap_or_else(|error| panic!("{error}")).expression().clone()
}

type Exact = fn(f64, f64) -> f64;

/// Functions, and their derivatives along x and y.
const DERIVATIVES: &[(&str, Exact, Exact)] = &[
    ("sin(2*x)*y", |x, y| 2.0 * (2.0 * x).cos() * y, |x, _| (2.0 * x).sin()),
    ("cos(2*x)*y", |x, y| -2.0 * (2.0 * x).sin() * y, |x, _| (2.0 * x).cos()),
    ("exp(x*y)", |x, y| y * (x * y).exp(), |x, y| x * (x * y).exp()),
    ("sqrt(4*x + y)", |x, y| 2.0 / (4.0 * x + y).sqrt(), |x, y| 0.5 / (4.0 * x + y).sqrt()),
    ("tan(x) - tan(2*y/3)", |x, _| x.cos().powi(-2), |_, y| -(2.0 * y / 3.0).cos().powi(-2) / 1.5),
    ("asin(x*y)", |x, y| y / (1.0 - x * x * y * y).sqrt(), |x, y| x / (1.0 - x * x * y * y).sqrt()),
    ("acos(x/2)", |x, _| -1.0 / (4.0 - x * x).sqrt(), |_, _| 0.0),
    ("atan(2*x)", |x, _| 2.0 / (1.0 + 4.0 * x * x), |_, _| 0.0),
    ("sinh(x)*cosh(y)", |x, y| x.cosh() * y.cosh(), |x, y| x.sinh() * y.sinh()),
    ("tanh(3*x)", |x, _| 3.0 / (3.0 * x).cosh().powi(2), |_, _| 0.0),
    ("ln(3*x + y)", |x, y| 3.0 / (3.0 * x + y), |x, y| 1.0 / (3.0 * x + y)),
    ("log10(x)", |x, _| 1.0 / (x * 10_f64.ln()), |_, _| 0.0),
    ("abs(x - y)", |x, y| (x - y).signum(), |x, y| (y - x).signum()),
    ("sign(x - y) + floor(3*x)", |_, _| 0.0, |_, _| 0.0),
    ("x^3 - 1/x^2", |x, _| 3.0 * x * x + 2.0 * x.powi(-3), |_, _| 0.0),
    ("2^x", |x, _| 2_f64.ln() * 2_f64.powf(x), |_, _| 0.0),
    ("x^y", |x, y| y * x.powf(y - 1.0), |x, y| x.powf(y) * x.ln()),
    (
        "(1 + 3*x)^(2*x)",
        |x, _| {
            (1.0 + 3.0 * x).powf(2.0 * x) * (2.0 * (1.0 + 3.0 * x).ln() + 6.0 * x / (1.0 + 3.0 * x))
        },
        |_, _| 0.0,
    ),
    (
        "(2*x)^y",
        |x, y| 2.0 * y * (2.0 * x).powf(y - 1.0),
        |x, y| (2.0 * x).powf(y) * (2.0 * x).ln(),
    ),
    ("min(x, y^2)", |x, y| f64::from(x < y * y), |x, y| if x < y * y { 0.0 } else { 2.0 * y }),
    ("max(x, y^2)", |x, y| f64::from(x > y * y), |x, y| if x > y * y { 0.0 } else { 2.0 * y }),
    (
        "atan2(x, 2*y)",
        |x, y| 2.0 * y / (x * x + 4.0 * y * y),
        |x, y| -2.0 * x / (x * x + 4.0 * y * y),
    ),
    ("x/(1 + x*y)", |x, y| (1.0 + x * y).powi(-2), |x, y| -x * x * (1.0 + x * y).powi(-2)),
    ("if(x < y, x^2, 3*x)", |x, y| if x < y { 2.0 * x } else { 3.0 }, |_, _| 0.0),
    (
        "if(x >= y, x*y, y)",
        |x, y| if x >= y { y } else { 0.0 },
        |x, y| if x >= y { x } else { 1.0 },
    ),
    ("if(y < 0.5, x, 3*x)", |_, y| if y < 0.5 { 1.0 } else { 3.0 }, |_, _| 0.0),
];

#[test]
fn derivatives_of_every_function_are_known() {
    for (f, along_x, along_y) in DERIVATIVES {
        let tree = of_text(f);
        for row in [[0.3, 0.7], [0.81, 0.45], [0.1, 0.2], [0.62, 0.9]] {
            for (s, exact) in [along_x(row[0], row[1]), along_y(row[0], row[1])].iter().enumerate()
            {
                let found = tree.partial(s).value(&row);
                let off = (found - exact).abs();
                assert!(
                    off <= 4e-15 * (1.0 + exact.abs()),
                    "{f} along {s} at {row:?}: {found}, {exact}"
                );
            }
        }
    }
}

#[test]
fn the_derivative_at_a_kink_is_the_mean_of_both_sides_or_that_of_the_branch() {
    for (f, x, slope) in [
        ("abs(x - 0.5)", 0.5, 0.0),
        ("max(x, 0.5)", 0.5, 0.5),
        ("min(3*x, 2*x + 0.5)", 0.5, 2.5),
        ("if(x < 0.25, x, 4*x)", 0.25, 4.0),
        ("if(x >= 0.25, x, 4*x)", 0.25, 1.0),
        ("if(x == 0.25, 7*x, 4*x)", 0.25, 7.0),
        ("if(x == 0.5, 1, sin(x - 0.5)/(x - 0.5))", 0.5, 0.0),
    ] {
        assert_eq!(of_text(f).partial(0).value(&[x, 0.5]), slope, "{f}");
    }
}

/// Of a negative base too, where the logarithm is not a number.
#[test]
fn powers_of_negative_bases_have_slopes() {
    assert_eq!(of_text("x^y").partial(0).value(&[-0.5, 2.0]), -1.0);
}

#[test]
fn what_is_not_a_number_stays_so() {
    for f in ["min(x, y)", "max(x, y)", "x + y", "x*y", "atan2(x, y)", "x^y"] {
        let tree = of_text(f);
        for row in [[f64::NAN, 0.5], [0.5, f64::NAN]] {
            assert!(tree.value(&row).is_nan(), "{f} at {row:?}");
        }
    }
}
