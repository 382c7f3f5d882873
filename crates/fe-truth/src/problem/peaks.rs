//! Panels that resolve a density, found from its logarithm, however narrow it is.

/// Depth below its maximum, in logarithms, at which a density no longer counts.
pub(super) const DEPTH: f64 = 52.0;
/// Points looked at between neighbouring start points.
const BETWEEN: usize = 12;
/// Fewest points between neighbours that are looked at first, and in all.
const FIRST_BETWEEN: usize = 3;
const FIRST: usize = 24;
/// Largest bend of a logarithm over the distance of neighbouring points, which is the square of that distance in standard
/// deviations where it is that of a normal law: what is integrated by many nodes between start points sees such a peak.
const BENT: f64 = 4.0;

/// Ascending points between which a density is smooth on its own scale, and beyond which it has no
/// weight, from the logarithm of the density. The start points are ascending; there is no weight
/// outside of them, and where several maxima lie closer than a twelfth of their distances, one is
/// found.
pub(super) fn resolve(start: &[f64], mut ln_density: impl FnMut(f64) -> f64) -> Vec<f64> {
    let mut at = |u: f64| {
        let value = ln_density(u);
        if value.is_nan() { f64::NEG_INFINITY } else { value }
    };
    let few = (FIRST / start.len().saturating_sub(1).max(1)).clamp(FIRST_BETWEEN, BETWEEN);
    let mut grid = looked_at(start, few, &mut at);
    // Most integrals are of a law that its start points resolve, times one that is as wide.
    if let Some(weighty) = smooth(&grid) {
        let from = start.partition_point(|u| *u <= weighty.0).saturating_sub(1);
        let to = start.partition_point(|u| *u < weighty.1).min(start.len() - 1);
        return start[from..=to].to_vec();
    }
    if few < BETWEEN {
        grid = looked_at(start, BETWEEN, &mut at);
    }
    let (first, last) = (start[0], start[start.len() - 1]);
    let mut peaks = Vec::new();
    for i in 0..grid.len() {
        let here = grid[i].1;
        let (low, high) = (i.saturating_sub(1), (i + 1).min(grid.len() - 1));
        if here > f64::NEG_INFINITY && here >= grid[low].1 && here >= grid[high].1 {
            peaks.push(climb((grid[low].0, grid[high].0), grid[i], &mut at));
        }
    }
    let highest = peaks.iter().map(|peak| peak.1).fold(f64::NEG_INFINITY, f64::max);
    peaks.retain(|peak| peak.1 > highest - DEPTH);
    if peaks.is_empty() {
        return start.to_vec();
    }
    let mut points: Vec<Point> = Vec::new();
    let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
    for &(peak, height) in &peaks {
        let below = highest - height;
        let depths = [1.5, 6.0, 18.0, DEPTH].map(|drop: f64| drop.min(DEPTH - below));
        // What is too low for places of its own still tells where there is any weight.
        let depths = if below <= SEEN { &depths[..] } else { &depths[3..] };
        let mut own = vec![0.0];
        for (side, end) in [(-1.0, first), (1.0, last)] {
            let room = (end - peak).abs();
            // Distances by which the density falls from one scale to the next.
            let mut before = 0.0;
            for &drop in depths {
                before = falls_by(drop, peak, height, side, room, before, &mut at);
                own.push(side * before);
            }
            from = from.min(peak + side * before);
            to = to.max(peak + side * before);
        }
        own.sort_by(f64::total_cmp);
        own.dedup();
        if below <= SEEN {
            points.extend(Point::all(&own.iter().map(|d| peak + d).collect::<Vec<_>>()));
        }
    }
    let (from, to) = (from.max(first), to.min(last));
    points.retain(|point| from < point.at && point.at < to);
    let inner = start.iter().copied().filter(|u| from < *u && *u < to);
    let kept = apart(&points, [from, to].into_iter().chain(inner).collect());
    if kept.len() < 2 { vec![first, last] } else { kept }
}

/// Depth below the highest maximum at which others are too low for places of their own.
const SEEN: f64 = 40.0;

/// A place beside a maximum, and the distance to the nearest of those around the same one.
struct Point {
    at: f64,
    gap: f64,
}

impl Point {
    /// Ascending places, each with its distance to the nearest other.
    fn all(places: &[f64]) -> impl Iterator<Item = Self> {
        (0..places.len()).map(|i| {
            let before = i.checked_sub(1).map_or(f64::INFINITY, |k| places[i] - places[k]);
            let after = places.get(i + 1).map_or(f64::INFINITY, |next| next - places[i]);
            Self { at: places[i], gap: before.min(after) }
        })
    }
}

/// Places that are kept, a density may have a corner there, with those of several maxima that are not much closer to
/// others than to their own neighbours, ascending.
fn apart(points: &[Point], mut kept: Vec<f64>) -> Vec<f64> {
    kept.sort_by(f64::total_cmp);
    kept.dedup();
    let mut narrow_first: Vec<&Point> = points.iter().collect();
    narrow_first.sort_by(|a, b| a.gap.total_cmp(&b.gap).then(a.at.total_cmp(&b.at)));
    for point in narrow_first {
        let next = kept.partition_point(|other| *other < point.at);
        let near = kept[next.saturating_sub(1)..kept.len().min(next + 1)].iter();
        if near.map(|other| (point.at - other).abs()).all(|d| d > CLOSE * point.gap) {
            kept.insert(next, point.at);
        }
    }
    kept
}

/// Share of the distance to its neighbours at which a place is too close to another.
const CLOSE: f64 = 0.5;

/// The part of a grid outside of which there is no weight, if the logarithm is hardly bent from any of its points to the
/// next.
fn smooth(grid: &[(f64, f64)]) -> Option<(f64, f64)> {
    let highest = grid.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    let counts = |point: &(f64, f64)| point.1 > highest - DEPTH;
    let is_straight = |three: &[(f64, f64)]| {
        let [before, here, after] = three else { return true };
        let (left, right) = (here.0 - before.0, after.0 - here.0);
        let bend = (after.1 - here.1) / right - (here.1 - before.1) / left;
        !three.iter().any(counts) || (bend * left.max(right)).abs() <= BENT
    };
    let first = grid.iter().position(counts)?;
    let last = grid.iter().rposition(counts)?;
    let (from, to) = (first.saturating_sub(1), (last + 1).min(grid.len() - 1));
    grid.windows(3).all(is_straight).then(|| (grid[from].0, grid[to].0))
}

/// Points between neighbouring start points, and these, with the logarithm of the density there.
fn looked_at(start: &[f64], between: usize, at: &mut dyn FnMut(f64) -> f64) -> Vec<(f64, f64)> {
    let inner = |ends: &[f64]| {
        let (from, width) = (ends[0], ends[1] - ends[0]);
        (0..between).map(move |k| from + width * k as f64 / between as f64)
    };
    let all = start.windows(2).flat_map(inner).chain(start.last().copied());
    all.map(|u| (u, at(u))).collect()
}

/// The maximum between two places, by golden section.
pub(super) fn climb(
    (mut from, mut to): (f64, f64),
    best: (f64, f64),
    at: &mut dyn FnMut(f64) -> f64,
) -> (f64, f64) {
    const RATIO: f64 = 0.618_033_988_749_894_8;
    let mut best = best;
    let mut inner = [to - RATIO * (to - from), from + RATIO * (to - from)].map(|u| (u, at(u)));
    for _ in 0..90 {
        for probe in inner {
            if probe.1 > best.1 {
                best = probe;
            }
        }
        if inner[0].1 >= inner[1].1 {
            to = inner[1].0;
            inner[1] = inner[0];
            let u = to - RATIO * (to - from);
            inner[0] = (u, at(u));
        } else {
            from = inner[0].0;
            inner[0] = inner[1];
            let u = from + RATIO * (to - from);
            inner[1] = (u, at(u));
        }
        if (inner[0].1 - inner[1].1).abs() < 1e-3 && (best.1 - inner[0].1).abs() < 1e-3 {
            break;
        }
    }
    best
}

/// The distance from a peak at which the logarithm of a density has fallen by so much, to a tenth;
/// the room that there is, if it does not fall that far.
pub(super) fn falls_by(
    drop: f64,
    peak: f64,
    height: f64,
    side: f64,
    room: f64,
    least: f64,
    at: &mut dyn FnMut(f64) -> f64,
) -> f64 {
    if room == 0.0 {
        return 0.0;
    }
    let mut fallen = |distance: f64| height - at(peak + side * distance) > drop;
    let mut high = if least > 0.0 { 1.5 * least } else { 1e-3 * room };
    // Down to where it has not fallen, then up to where it has.
    while least == 0.0 && fallen(high) && high > 1e-13 * room {
        high *= 1e-2;
    }
    while high < room && !fallen(high) {
        high *= 2.0;
    }
    if high >= room {
        if !fallen(room) {
            return room;
        }
        high = room;
    }
    let mut low = least.max(0.0);
    for _ in 0..5 {
        let middle = 0.5 * (low + high);
        if fallen(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::quadrature::{Estimate, integrate};

    #[test]
    fn a_narrow_peak_in_a_wide_range_is_found() {
        for sd in [1.0, 1e-3, 1e-6, 1e-8] {
            for mean in [0.0, 0.3777, 90.0] {
                let ln = |u: f64| -0.5 * ((u - mean) / sd).powi(2);
                let points = resolve(&[-1000.0, 0.0, 1000.0], ln);
                let [total] = integrate(&points, 0.0, |u| [Estimate::exact(ln(u).exp())]);
                let exact = sd * std::f64::consts::TAU.sqrt();
                assert!((total.value / exact - 1.0).abs() < 1e-6, "{sd} {mean} {points:?}");
            }
        }
    }

    /// A normal density cut off next to a start point, at which it has no corner.
    #[test]
    fn a_corner_is_kept_however_close_it_is_to_others() {
        let ln = |u: f64| if u < CORNER { -0.5 * u * u } else { f64::NEG_INFINITY };
        const CORNER: f64 = 2.0 + 1e-5;
        let points = resolve(&[-10.0, -5.0, -2.0, 0.0, 2.0, CORNER, 5.0, 10.0], ln);
        assert!(points.contains(&CORNER) && points.contains(&2.0), "{points:?}");
        let [total] = integrate(&points, 0.0, |u| [Estimate::exact(ln(u).exp())]);
        let known = std::f64::consts::TAU.sqrt() * crate::numeric::special::normal_cdf(CORNER);
        assert!((total.value / known - 1.0).abs() < 1e-13, "{} {known}", total.value);
    }

    /// What start points resolve already is looked at a few times only, and where there is weight.
    #[test]
    fn a_wide_density_is_looked_at_less() {
        let start: Vec<f64> = (-9..10).map(|k| 1.5 * f64::from(k)).collect();
        let asked = |sd: f64| {
            let mut count = 0;
            let points = resolve(&start, |u| {
                count += 1;
                -0.5 * (u / sd).powi(2)
            });
            let [total] =
                integrate(&points, 0.0, |u| [Estimate::exact((-0.5 * (u / sd).powi(2)).exp())]);
            let known = sd * std::f64::consts::TAU.sqrt();
            assert!((total.value / known - 1.0).abs() < 1e-12, "{sd}: {} {points:?}", total.value);
            (count, points)
        };
        let (few, points) = asked(1.0);
        assert!(few < 60 && points.len() < start.len(), "{few} {points:?}");
        let (many, _) = asked(0.1);
        assert!(many > 200, "{many}");
    }

    #[test]
    fn places_of_wide_peaks_give_way_to_those_of_narrow_ones() {
        let wide = [0.0, 1.0, 2.0, 3.0, 4.0];
        let narrow = [1.9, 1.95, 2.04];
        let points: Vec<Point> = Point::all(&wide).chain(Point::all(&narrow)).collect();
        let kept = apart(&points, vec![5.0, 0.0, 3.2]);
        assert_eq!(kept, [0.0, 1.0, 1.9, 1.95, 2.04, 3.2, 4.0, 5.0]);
    }

    /// Normal densities, the second e^-30 and the third e^-45 of the first.
    #[test]
    fn low_maxima_have_places_only_where_they_count() {
        let places = |depth: f64| {
            let ln = |u: f64| {
                let low = -50.0 * (u - 30.0_f64).powi(2) - depth;
                let high = -50.0 * u * u;
                high.max(low) + (-(high - low).abs()).exp().ln_1p()
            };
            let points = resolve(&[-10.0, 40.0], ln);
            points.iter().filter(|u| (29.0..31.0).contains(*u)).count()
        };
        assert!(places(30.0) >= 7, "{}", places(30.0));
        assert!(places(45.0) <= 2, "{}", places(45.0));
    }

    #[test]
    fn two_peaks_and_ends() {
        let ln = |u: f64| {
            let parts =
                [0.5 * (-8e4 * (u - 0.2_f64).powi(2)).exp(), (-8e4 * (u - 0.7_f64).powi(2)).exp()];
            (parts[0] + parts[1]).ln()
        };
        let points = resolve(&[0.0, 1.0], ln);
        let [total] = integrate(&points, 0.0, |u| [Estimate::exact(ln(u).exp())]);
        let exact = 1.5 * (std::f64::consts::PI / 8e4).sqrt();
        assert!((total.value / exact - 1.0).abs() < 1e-12, "{points:?}");
        let at_an_end = resolve(&[0.0, 1.0], |u| -1e5 * u);
        let [total] = integrate(&at_an_end, 0.0, |u| [Estimate::exact((-1e5 * u).exp())]);
        assert!((total.value * 1e5 - 1.0).abs() < 1e-12, "{at_an_end:?}");
    }
}
