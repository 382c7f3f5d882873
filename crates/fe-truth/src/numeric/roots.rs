//! Roots of a function of one variable: bracketed on given points, then regula falsi with halving.

/// Ascending roots of a function between ascending points: one wherever it changes its sign from one
/// to the next.
pub(crate) fn scan(points: &[f64], at: &mut dyn FnMut(f64) -> f64) -> Vec<f64> {
    let mut found = Vec::new();
    let mut before = (points[0], at(points[0]));
    for &x in &points[1..] {
        let here = (x, at(x));
        if before.1 == 0.0 {
            found.push(before.0);
        } else if before.1 * here.1 < 0.0 {
            found.push(between(before, here, at));
        }
        before = here;
    }
    if before.1 == 0.0 {
        found.push(before.0);
    }
    // Where it is 0 all along, there is no root to stop at.
    if found.len() * 2 > points.len() { Vec::new() } else { found }
}

/// The root between two places of opposite signs, to rounding: by regula falsi with halving.
fn between(mut a: (f64, f64), mut b: (f64, f64), at: &mut dyn FnMut(f64) -> f64) -> f64 {
    for step in 0..200 {
        let middle = 0.5 * (a.0 + b.0);
        if middle <= a.0 || middle >= b.0 {
            break;
        }
        let secant = b.0 - b.1 * (b.0 - a.0) / (b.1 - a.1);
        let inside = a.0 < secant && secant < b.0;
        let x = if step % 3 != 2 && inside { secant } else { middle };
        let value = at(x);
        if value == 0.0 {
            return x;
        }
        if value * a.1 < 0.0 { b = (x, value) } else { a = (x, value) }
    }
    if a.1.abs() <= b.1.abs() { a.0 } else { b.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_found_once_each() {
        let line = |x: f64| x - 1.0;
        assert_eq!(scan(&[0.0, 2.0], &mut |x| line(x)), [1.0]);
        // At a point itself, and at the last one.
        assert_eq!(scan(&[0.0, 1.0, 2.0, 3.0], &mut |x| line(x)), [1.0]);
        assert_eq!(scan(&[-2.0, -1.0, 0.0, 1.0], &mut |x| line(x)), [1.0]);
        assert!(scan(&[2.0, 3.0], &mut |x| line(x)).is_empty());
        let found = scan(&[-3.0, -1.0, 0.5, 2.0], &mut |x| x * x - 2.0);
        let root = std::f64::consts::SQRT_2;
        assert_eq!(found.len(), 2);
        assert!((found[0] + root).abs() < 1e-15 && (found[1] - root).abs() < 1e-15, "{found:?}");
    }

    #[test]
    fn what_is_0_all_along_has_no_root_to_stop_at() {
        assert!(scan(&[0.0, 1.0, 2.0], &mut |_| 0.0).is_empty());
        assert!(scan(&[0.0, 1.0], &mut |_| 0.0).is_empty());
    }
}
