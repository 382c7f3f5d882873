//! Axes: their range, their ticks, and numbers beside these.

use std::ops::Range;

use plotters::coord::ranged1d::{BoldPoints, Ranged};
use plotters::coord::types::RangedCoordf64;

use super::figure::Scale;

/// Values beyond this are drawn in smaller units: their differences could be infinite.
const LARGE: f64 = 1e300;
const SMALL_UNIT: f64 = 1e-100;

/// An axis with its range, in the units in which it is drawn: logarithms to base 10 where it is
/// logarithmic.
pub(super) struct Ruler {
    pub(super) log: bool,
    /// The factor of values before they are drawn: 1, or less where their differences would
    /// overflow.
    pub(super) unit: f64,
    pub(super) range: Range<f64>,
    pub(super) ticks: Vec<f64>,
    /// Names of the places 0, 1, … of an axis of levels.
    pub(super) names: Vec<String>,
    /// The number 0 and the length 1 of the axis, as they are written at ticks.
    pub(super) written: (f64, f64),
}

impl Ruler {
    /// An axis that holds some values, and about so many ticks.
    pub(super) fn new(scale: &Scale, values: impl Iterator<Item = f64>, ticks: usize) -> Self {
        let (low, high) = values
            .filter_map(|value| placed(scale.log, value))
            .fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let unit = if low.abs().max(high.abs()) > LARGE { SMALL_UNIT } else { 1.0 };
        let (low, high) = (unit * low, unit * high);
        let room = room(scale, unit, (low, high));
        let range = low - room..high + room;
        let written = scale.scaled_by.unwrap_or((0.0, 1.0));
        let ticks = match (scale.log, scale.scaled_by) {
            (true, _) => log_ticks(&range, ticks),
            (false, None) => linear_ticks(&range, ticks),
            (false, Some((zero, one))) => {
                let own = zero + one * range.start..zero + one * range.end;
                linear_ticks(&own, ticks).into_iter().map(|tick| (tick - zero) / one).collect()
            }
        };
        // A value beyond the largest number has no name.
        let ticks: Vec<f64> = ticks.into_iter().filter(|tick| (tick / unit).is_finite()).collect();
        let ticks = if scale.names.is_empty() { ticks } else { level_ticks(scale.names.len()) };
        Self { log: scale.log, unit, range, ticks, names: scale.names.clone(), written }
    }

    /// Place at which a value is drawn; none if it cannot be.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        placed(self.log, value).map(|value| self.unit * value)
    }

    /// The place of a value as a share of the axis; none if it cannot be drawn.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        let place = self.place(value)?;
        Some((place - self.range.start) / (self.range.end - self.range.start))
    }

    /// True if all ticks are powers of ten, and some of them written as such.
    fn in_powers(&self) -> bool {
        let power = |tick: &f64| (tick - tick.round()).abs() < 1e-6;
        let is_plain = |tick: &f64| PLAIN.contains(&(tick.round() as i32));
        self.ticks.iter().all(power) && !self.ticks.iter().all(is_plain)
    }

    /// The words at a tick; a long name is shortened.
    pub(super) fn label(&self, tick: f64) -> String {
        self.label_within(tick, &|_| false)
    }

    /// The same, where a name that fits stands whole.
    pub(super) fn label_within(&self, tick: f64, fits: &dyn Fn(&str) -> bool) -> String {
        if !self.names.is_empty() {
            let name = self.names.get(tick.round() as usize);
            let whole = |name: &String| if fits(name) { name.clone() } else { shortened(name) };
            return name.map(whole).unwrap_or_default();
        }
        if self.log {
            return power_label(tick, self.in_powers());
        }
        let step = self.ticks.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::MAX, f64::min);
        let step = if step < f64::MAX { step } else { tick.abs() };
        let (zero, one) = self.written;
        let of = |tick: f64| zero + one * (tick / self.unit);
        let most = self.ticks.iter().map(|tick| of(*tick).abs()).fold(0.0, f64::max);
        linear_label(of(tick), one * (step / self.unit), most)
    }
}

/// Values that differ by less than this share of their size are the same.
const SAME: f64 = 1e-9;

/// The room beyond the least and the largest value. What is constant but for rounding is shown in the middle, and has
/// numbers beside it from which it can be read.
fn room(scale: &Scale, unit: f64, (low, high): (f64, f64)) -> f64 {
    let size = low.abs().max(high.abs());
    // Of values of unknown origin, those below 1e-9 may be rounding.
    let rounding = scale.rounding.map_or(SAME, |rounding| unit * rounding);
    match high - low {
        length if length > (SAME * size).max(rounding) => 0.05 * length,
        _ if scale.log || size <= rounding => 0.5,
        _ => 0.5 * size,
    }
}

/// Most levels whose names stand below an axis, and most characters of each.
const MOST_NAMES: usize = 12;
const MOST_CHARACTERS: usize = 10;

/// Places of some of so many levels, all of them where they are few.
fn level_ticks(levels: usize) -> Vec<f64> {
    let step = levels.div_ceil(MOST_NAMES).max(1);
    (0..levels).step_by(step).map(|place| place as f64).collect()
}

/// A name that fits below an axis.
fn shortened(name: &str) -> String {
    if name.chars().count() <= MOST_CHARACTERS {
        return name.to_owned();
    }
    name.chars().take(MOST_CHARACTERS - 1).chain(['…']).collect()
}

fn placed(log: bool, value: f64) -> Option<f64> {
    let value = if log { value.log10() } else { value };
    value.is_finite().then_some(value)
}

fn linear_ticks(range: &Range<f64>, ticks: usize) -> Vec<f64> {
    RangedCoordf64::from(range.clone()).key_points(BoldPoints(ticks))
}

/// Powers of ten; twice and five times these where there are few.
fn log_ticks(range: &Range<f64>, ticks: usize) -> Vec<f64> {
    let (first, last) = (range.start.floor() as i32, range.end.ceil() as i32);
    let within = |tick: &f64| range.contains(tick);
    let powers: Vec<f64> = (first..=last).map(f64::from).filter(within).collect();
    if powers.len() > 2 {
        let every = powers.len().div_ceil(ticks.max(2));
        return powers.into_iter().step_by(every).collect();
    }
    let multiples = [1.0, 2.0, 5.0_f64].map(f64::log10);
    let fine: Vec<f64> = (first..=last)
        .flat_map(|power| multiples.map(|multiple| f64::from(power) + multiple))
        .filter(within)
        .collect();
    // Less than from 1 to 2: evenly spaced values do.
    if fine.len() < 2 {
        let plain = 10_f64.powf(range.start)..10_f64.powf(range.end);
        return linear_ticks(&plain, ticks).into_iter().map(f64::log10).filter(within).collect();
    }
    fine
}

/// Numbers are written out on an axis where all of them are smaller.
const PLAIN_BELOW: f64 = 2e6;

/// The number at a tick of an axis with steps of a size, whose largest number is given: all of them are written in one way.
fn linear_label(tick: f64, step: f64, most: f64) -> String {
    let decimals = |step: f64| (-(step.abs() * 1.000_001).log10().floor()).max(0.0) as usize;
    let text = if tick.abs() < 1e-9 * step.abs() || tick == 0.0 {
        "0".to_owned()
    } else if (1e-4..1e6).contains(&step.abs()) && most < PLAIN_BELOW {
        format!("{tick:.0$}", decimals(step))
    } else {
        let power = most.log10().floor();
        let size = 10_f64.powf(power);
        let digits = format!("{:.1$}", tick / size, decimals(step / size));
        format!("{digits}·10{}", superscript(&power.to_string()))
    };
    text.replace('-', "−")
}

/// Powers of ten of numbers that are written without one.
const PLAIN: std::ops::RangeInclusive<i32> = -3..=4;

/// The value of a logarithm.
fn power_label(tick: f64, in_powers: bool) -> String {
    let power = (tick + 1e-9).floor() as i32;
    let digits = 10_f64.powf(tick - f64::from(power));
    if PLAIN.contains(&power) && !in_powers {
        let decimals = (3 - power).max(0) as usize;
        let text = format!("{:.decimals$}", 10_f64.powf(tick));
        let short = if text.contains('.') { text.trim_end_matches('0') } else { &text };
        return short.trim_end_matches('.').to_owned();
    }
    let power = superscript(&power.to_string());
    if (digits - 1.0).abs() < 1e-6 {
        format!("10{power}")
    } else {
        let text = format!("{digits:.3}");
        format!("{}·10{power}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

fn superscript(number: &str) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let one = |c: char| match c.to_digit(10) {
        Some(digit) => DIGITS[digit as usize],
        None => '⁻',
    };
    number.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(log: bool, low: f64, high: f64) -> Vec<String> {
        let scale = Scale { log, ..Scale::default() };
        let ruler = Ruler::new(&scale, [low, high].into_iter(), 6);
        ruler.ticks.iter().map(|&tick| ruler.label(tick)).collect()
    }

    #[test]
    fn numbers_are_short_and_differ() {
        assert_eq!(labels(false, -1.0, 1.0), ["−1.0", "−0.5", "0", "0.5", "1.0"]);
        assert_eq!(labels(true, 10.0, 10_000.0), ["10", "100", "1000", "10000"]);
        assert_eq!(labels(true, 1e-7, 1e-4), ["10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴"]);
        // One way of writing along an axis.
        assert_eq!(labels(true, 1.0, 1e6), ["10⁰", "10²", "10⁴", "10⁶"]);
        assert_eq!(labels(true, 2.0, 40.0), ["2", "5", "10", "20"]);
        assert_eq!(labels(true, 2e-6, 4e-5), ["2·10⁻⁶", "5·10⁻⁶", "10⁻⁵", "2·10⁻⁵"]);
        assert_eq!(
            labels(false, 0.0, 1e6),
            ["0", "200000", "400000", "600000", "800000", "1000000"]
        );
        let large = labels(false, 0.0, 4e6);
        assert!(large[1..].iter().all(|label| label.ends_with("·10⁶")), "{large:?}");
        for (low, high) in [(0.1, 0.1), (1e-9, 2e-9), (1e8, 1.1e8), (0.0, 1e-300), (3.1, 3.2)] {
            for log in [false, true] {
                let labels = labels(log, low, high);
                let distinct: std::collections::BTreeSet<&String> = labels.iter().collect();
                assert_eq!(distinct.len(), labels.len(), "{low} to {high}: {labels:?}");
            }
        }
    }

    #[test]
    fn numbers_that_were_scaled_are_written_as_they_were() {
        let scale = Scale { scaled_by: Some((15.0, 10.0)), ..Scale::default() };
        let ruler = Ruler::new(&scale, [-1.5, 1.5].into_iter(), 6);
        let labels: Vec<String> = ruler.ticks.iter().map(|&tick| ruler.label(tick)).collect();
        assert_eq!(labels, ["0", "10", "20", "30"]);
        assert!((ruler.ticks[0] + 1.5).abs() < 1e-12);
    }

    #[test]
    fn a_constant_can_be_read_from_its_axis() {
        let ticks = |values: [f64; 2], rounding: Option<f64>| {
            let scale = Scale { rounding, ..Scale::default() };
            let ruler = Ruler::new(&scale, values.into_iter(), 6);
            let labels: Vec<String> = ruler.ticks.iter().map(|&tick| ruler.label(tick)).collect();
            (ruler.share(values[0]).unwrap(), labels)
        };
        // A constant is in the middle, among numbers of its size.
        for constant in [0.003, 5.0, -2e5, 1e-12] {
            let (share, labels) = ticks([constant, constant], Some(1e-9 * constant.abs()));
            assert!((share - 0.5).abs() < 1e-9 && labels.len() > 2, "{constant}: {labels:?}");
        }
        assert_eq!(ticks([0.003, 0.003], None).1, ["0.002", "0.003", "0.004"]);
        // Rounding of 0 is 0, whatever the size of the function.
        for (noise, rounding) in [(1e-17, None), (1e-17, Some(1e-8)), (1e-5, Some(1e-3))] {
            let (share, labels) = ticks([-noise, noise], rounding);
            assert!((share - 0.5).abs() < 1e-4 && labels[2] == "0", "{noise}: {labels:?}");
        }
        // What is small is drawn where the function is small.
        assert!(ticks([0.0, 1e-12], Some(1e-21)).0 < 0.1);
    }

    #[test]
    fn nothing_finite_still_has_a_range() {
        let scale = Scale { log: true, ..Scale::default() };
        let ruler = Ruler::new(&scale, [f64::NAN, 0.0, -1.0].into_iter(), 6);
        assert!(ruler.range.start < ruler.range.end);
    }
}
