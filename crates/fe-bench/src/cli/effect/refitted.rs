//! Refits of a learner, and the tests that come with them, in words.

use fe_core::effect::{RefitRecord, Surface};

/// Those of the effect of a feature.
pub(super) fn of_feature(refits: &RefitRecord) -> String {
    described(refits, "it is flat", "permutations")
}

/// Those of the effect of two features, whose interaction part is flat where they do not interact.
pub(super) fn of_pair(refits: &RefitRecord, surface: &Surface) -> String {
    let [first, second] = &surface.names;
    let flat = match surface.record.interaction || surface.record.cells.is_some() {
        true => format!("{first} and {second} do not interact"),
        false => "it is flat".to_owned(),
    };
    described(refits, &flat, "permutations of the residuals of an additive fit")
}

fn described(refits: &RefitRecord, flat: &str, permutations: &str) -> String {
    let RefitRecord { refits, resampling, fitted_rows, left_out_rows, p_flat, p_permuted, .. } =
        refits;
    let p_flat = p_flat.map_or_else(
        || format!("no test of whether {flat}, as refits do not differ"),
        |p| match p < 0.001 {
            true => format!("p < 0.001 that {flat}"),
            false => format!("p = {p:.3} that {flat}"),
        },
    );
    let p_flat = match p_permuted {
        Some(p) => format!("{p_flat}; p = {p:.3} by {permutations}"),
        None => p_flat,
    };
    format!(
        "{refits} refits ({resampling}), each to about {fitted_rows:.0} different rows and explained on {left_out_rows:.0} \
         others; {p_flat}"
    )
}
