//! Properties that every law of one variable has, for tests to hold laws against.

use super::Univariate;
use crate::numeric::quadrature::{Estimate, integrate, within};

/// Checks that the density, the distribution function, quantiles, probabilities of intervals and the
/// coordinate are those of one law, to a tolerance on probabilities.
#[track_caller]
pub(crate) fn assert_is_a_law(law: &dyn Univariate, tolerance: f64, what: &str) {
    let near = |found: f64, known: f64, of: &str| {
        assert!((found - known).abs() <= tolerance, "{what}, {of}: {found}, not {known}");
    };
    let alike = |found: f64, known: f64, relative: f64, of: &str| {
        let off = (found / known - 1.0).abs();
        assert!(off <= relative, "{what}, {of}: {found}, not {known}");
    };
    let panels = law.panels();
    let (first, last) = (panels[0], panels[panels.len() - 1]);
    assert!(panels.is_sorted(), "{what}: {panels:?}");
    let (low, high) = law.support();
    assert!(low < high, "{what}: [{low}, {high}]");
    let weighed = |to: f64| {
        let at = |u: f64| [Estimate::exact(law.weight(u))];
        integrate(&within(&panels, first, to), 0.0, at)[0].value
    };
    near(weighed(last), 1.0, "all of the density");
    near(law.mass(low, high), 1.0, "all of the mass");
    let shares = [0.02, 0.2, 0.5, 0.83, 0.98];
    let places = shares.map(|p| law.quantile(p));
    let width = places[3] - places[1];
    let step = 1e-4 * width;
    for (p, x) in shares.into_iter().zip(places) {
        let of = |kind: &str| format!("{kind} at {x}");
        near(law.cdf(x), p, &of("cdf"));
        near(law.mass(low, x), p, &of("mass below"));
        near(law.mass(x, high), 1.0 - p, &of("mass above"));
        let u = law.coordinate(x);
        near(weighed(u), p, &of("density below"));
        assert!((law.place(u) - x).abs() <= 1e-9 * width, "{what}: {u} is {x}");
        let slope = (law.cdf(x + step) - law.cdf(x - step)) / (2.0 * step);
        alike(law.pdf(x), slope, 1e-5, &of("pdf"));
        let wide = law.coordinate(x + step) - law.coordinate(x - step);
        alike(law.stretch(u), 2.0 * step / wide, 1e-5, &of("stretch"));
        alike(law.weight(u), law.pdf(x) * law.stretch(u), 1e-9, &of("weight"));
    }
    for (shares, places) in shares.windows(2).zip(places.windows(2)) {
        near(law.mass(places[0], places[1]), shares[1] - shares[0], "mass between");
    }
    if low.is_finite() {
        let (pdf, cdf) = (law.pdf(low - width), law.cdf(low - width));
        assert!(!(pdf > 0.0 || cdf > 0.0), "{what}, below: {pdf}, {cdf}");
    }
    if high.is_finite() {
        let (pdf, cdf) = (law.pdf(high + width), law.cdf(high + width));
        assert!(!(pdf > 0.0 || cdf < 1.0 - tolerance), "{what}, above: {pdf}, {cdf}");
    }
}
