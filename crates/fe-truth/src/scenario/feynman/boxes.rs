//! Heterogeneity of the third side in a box of lengths and angles: the criterion of regions, by integrals of two dimensions at
//! most.
//!
//! The features are independent. Of local curves h over x_s, with r in the box, the mean over x_s of the variance over r is
//! E_r Q − E_s A², where Q(r) is the mean square along x_s and A(x_s) the mean over the box. Along a length Q is elementary;
//! along an angle whose whole turn is averaged over, it is one of the lengths alone, and A is an even function of the angle
//! averaged over a window. The side is homogeneous: over a box of lengths what depends on their ratio alone, times a power of
//! the first, is an integral over the ratio.

use std::f64::consts::PI;
use std::sync::Arc;

use super::along_angle::AlongAngle;
use super::along_length::AlongLength;
use super::background::{Background, over_length};
use super::length::{Ends, INNER, Length, Lengths, over_bins};
use super::means::{Mean, OF_SHAPLEY, Parts};
use super::memory::{Known, Memory};
use super::quadratic::{Asked, Quadratic, Without};
use super::turn::{Even, Turn, is_whole};
use crate::numeric::quadrature::Estimate;
use crate::numeric::triangle::Opening;
use crate::quantity::Quantity;
use crate::scenario::closed_forms::Spread;

/// Bound of a mean from which on it is integrated over the features themselves.
const PROMISED: f64 = 1e-10;

/// A criterion along a length by its name, its axis, the other length, the angle and, of Shapley values, the background.
type CriterionKey = (u8, Vec<u64>, [u64; 2], [u64; 3], [u64; 4]);

/// Criteria of boxes, and parts of them, as they were asked for.
#[derive(Default)]
pub(super) struct Boxes {
    along_lengths: Known<CriterionKey, Option<Estimate>>,
    memory: Memory,
    wholes: Known<[u64; 4], Arc<Background>>,
}

impl Boxes {
    /// The spread of a local effect in a box of the features, over an axis or bins or, of Shapley values, the law: none of these
    /// where the background has part of a turn, or where the feature has another law than there.
    pub(super) fn spread(
        &self,
        spread: Spread<'_>,
        s: usize,
        axis: Ends,
        [rows, background]: [[Ends; 4]; 2],
    ) -> Option<Estimate> {
        let is_turned = is_whole(background[2]) && is_whole(background[3]);
        let is_known = spread == Spread::Shapley && is_turned && rows[s] == background[s];
        match s {
            0 | 1 => {
                let (other, turn) = (Length::new(rows[1 - s]), Turn::new([rows[2], rows[3]]));
                let whole = is_known.then(|| self.whole([background[0], background[1]]));
                let along = AlongLength { other, turn };
                self.along_length(&along, spread, (s, axis), whole.as_deref())
            }
            2 | 3 => self
                .along_angle(s, [rows, background], is_known, |along| along.spread(spread, axis)),
            _ => None,
        }
    }

    /// An effect at a value.
    pub(super) fn at(
        &self,
        effect: Quantity,
        (s, x): (usize, f64),
        axis: Ends,
        [rows, background]: [[Ends; 4]; 2],
    ) -> Option<Estimate> {
        let is_turned = is_whole(background[2]) && is_whole(background[3]);
        let is_known = effect == Quantity::ShapVariance && is_turned;
        let is_of_rows = rows == background;
        if effect == Quantity::Shap && s < 4 {
            // Of independent features all coalitions with this one have the same mean.
            let known = is_of_rows.then(|| self.at(Quantity::Pd, (s, x), axis, [rows; 2]));
            let shapley = known.flatten().map(|here| here.minus(self.mean(rows)));
            // In a narrow box rounding of its ends shows.
            return shapley.filter(|shapley| shapley.error < PROMISED);
        }
        match s {
            0 | 1 => {
                let (other, turn) = (Length::new(rows[1 - s]), Turn::new([rows[2], rows[3]]));
                let along = AlongLength { other, turn };
                match effect {
                    Quantity::Pd | Quantity::Mplot => Some(along.mean_side(x)),
                    Quantity::Dpd | Quantity::Mu => Some(along.mean_slope(x)),
                    Quantity::HDpdp | Quantity::Sigma => Some(along.variance_of_slope(x)),
                    Quantity::HPdp => {
                        let mean = |x2: f64, o: &Opening| AlongLength::over_axis(x2, o, axis);
                        let key = (Parts::Centred, Length::new(axis));
                        let integrated = |x: f64| along.centred_at(x, axis);
                        Some(self.by_forms(key, (s, x), rows, &mean, integrated))
                    }
                    Quantity::ShapVariance if is_known => {
                        let whole = self.whole([background[0], background[1]]);
                        Some(along.shapley_at(&whole, s, x))
                    }
                    Quantity::ShapVariance if is_of_rows => {
                        let (own, side) = (Length::new(rows[s]), self.mean_given_angles(rows));
                        let mean = |x2: f64, o: &Opening| over_length(x2, o, own);
                        let windows = [rows[2], rows[3]];
                        let integrated = |x: f64| along.shapley_of_rows(own, windows, &side, x);
                        let key = (Parts::Shapley, own);
                        Some(self.by_forms(key, (s, x), rows, &mean, integrated))
                    }
                    _ => None,
                }
            }
            2 | 3 if effect == Quantity::ShapVariance && !is_turned => {
                let at = |along: &AlongAngle<'_>| along.spread_at(Parts::Shapley, rows[s], x);
                is_of_rows.then(|| self.along_angle(s, [rows; 2], false, at))
            }
            2 | 3 => {
                self.along_angle(s, [rows, background], is_known, |along| along.at(effect, x, axis))
            }
            _ => None,
        }
    }

    /// A spread at a value of a length, by forms where these make what is integrated.
    fn by_forms(
        &self,
        (parts, own): (Parts, Length),
        (s, x): (usize, f64),
        rows: [Ends; 4],
        without: Without<'_>,
        integrated: impl Fn(f64) -> Estimate,
    ) -> Estimate {
        let shares = match parts {
            Parts::Centred => [1.0, 0.0, 0.0, -1.0],
            Parts::Shapley => OF_SHAPLEY,
        };
        let range = Length::new((rows[s].0.min(own.from), rows[s].1.max(own.to)));
        let (other, windows) = (Length::new(rows[1 - s]), [rows[2], rows[3]]);
        let asked = Asked { own, range, other, windows, without, shares };
        let ends = [own.ends(), range.ends(), other.ends(), windows[0], windows[1]];
        let ends: [(u64, u64); 5] = ends.map(|(from, to)| (from.to_bits(), to.to_bits()));
        let forms = self
            .memory
            .forms
            .of((parts, ends), || Quadratic::of(&asked, &integrated).map(Arc::new));
        forms.map_or_else(|| integrated(x), |forms| forms.at(&asked, x))
    }

    /// The mean of f.
    fn mean(&self, rows: [Ends; 4]) -> Estimate {
        let side = self.mean_given_angles(rows);
        Turn::new([rows[2], rows[3]]).mean(INNER, |distance| [side.at(PI - distance)])[0]
    }

    /// The mean over the lengths.
    fn mean_given_angles(&self, rows: [Ends; 4]) -> Arc<Even> {
        self.along_angle(2, [rows; 2], false, |along| along.curve(Mean::Side))
    }

    /// An answer along an angle, with the background where it is known.
    fn along_angle<T>(
        &self,
        s: usize,
        [rows, background]: [[Ends; 4]; 2],
        is_known: bool,
        asked: impl FnOnce(&AlongAngle<'_>) -> T,
    ) -> T {
        let is_ordered = rows[0] <= rows[1];
        let [own, all] = [rows, background].map(|law| ordered([law[0], law[1]], is_ordered));
        let whole = is_known.then(|| self.whole(all));
        let (lengths, window) = (Lengths::new(own), rows[5 - s]);
        asked(&AlongAngle { lengths, window, memory: &self.memory, whole: whole.as_deref() })
    }

    fn whole(&self, ends: [Ends; 2]) -> Arc<Background> {
        let lengths = Lengths::new(ends);
        self.wholes.of(lengths.bits(), || Arc::new(Background::new(lengths)))
    }

    fn along_length(
        &self,
        along: &AlongLength,
        spread: Spread<'_>,
        (s, axis): (usize, Ends),
        whole: Option<&Background>,
    ) -> Option<Estimate> {
        let limits =
            if let Spread::Difference(limits) = spread { limits } else { &[axis.0, axis.1] };
        let other = along.other;
        let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        let background = whole.map_or([0; 4], |whole| {
            let [own, other] = [whole.lengths.0[s], whole.lengths.0[1 - s]];
            Lengths([own, other]).bits()
        });
        let ends = [other.from.to_bits(), other.to.to_bits()];
        let key = (number(spread), bits(limits), ends, along.turn.key(), background);
        self.along_lengths.of(key, || match spread {
            Spread::Centred => Some(along.centred(axis)),
            Spread::Slope => Some(along.slope(axis, |variance| variance)),
            Spread::SlopeRoot => Some(along.slope(axis, Estimate::sqrt)),
            Spread::Shapley => whole.map(|whole| along.shapley(whole, s)),
            Spread::Difference(limits) => {
                Some(over_bins(limits, |lo, hi| along.difference(lo, hi)))
            }
        })
    }
}

/// Lengths, which may change places.
fn ordered([first, second]: [Ends; 2], is_ordered: bool) -> [Ends; 2] {
    if is_ordered { [first, second] } else { [second, first] }
}

/// A number for each spread.
fn number(spread: Spread<'_>) -> u8 {
    match spread {
        Spread::Centred => 0,
        Spread::Slope => 1,
        Spread::SlopeRoot => 2,
        Spread::Shapley => 3,
        Spread::Difference(_) => 4,
    }
}
