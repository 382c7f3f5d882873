//! Lines that coincide: those that are the same, and those that cannot be told apart at the resolution of a figure.

use super::figure::{Layer, Mark, Panel, Scale};
use super::scale::Ruler;
use super::style::{MarkStyle, Marker};

/// Numbers that differ by less than this share of their size are the same.
pub(super) const SAME: f64 = 1e-9;
/// The sign between the names of lines that are not the same and are drawn as one.
const CLOSE: &str = " ≈ ";
/// Its explanation, in a legend that has it.
const MEANING: &str = "≈: lines that cannot be told apart here";
/// Lines that are nowhere further from each other than this share of an axis, about a pixel and half their width, are seen as one.
const RESOLUTION: f64 = 0.005;

/// Likeness of two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    /// They are the same.
    Same,
    /// They are not, but cannot be told apart.
    Close,
}

impl Likeness {
    /// The sign between the names of such lines.
    fn sign(self) -> &'static str {
        match self {
            Self::Same => " = ",
            Self::Close => CLOSE,
        }
    }
}

/// The explanation that a legend with some names needs.
pub(super) fn explanation<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    names.any(|name| name.contains(CLOSE)).then_some(MEANING)
}

/// A point of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spot {
    /// The panel in which it is.
    pub(super) panel: usize,
    /// Its numbers.
    pub(super) values: [f64; 3],
    /// Its place, with the ends of its error bar, as shares of the axes.
    pub(super) shares: [f64; 4],
}

impl Spot {
    fn is_same(&self, other: &Self, rounding: f64) -> bool {
        let pairs = self.values.iter().zip(&other.values);
        let mut alike = pairs.map(|(a, b)| is_same(*a, *b) || (a - b).abs() <= rounding);
        self.panel == other.panel && alike.all(|is_alike| is_alike)
    }

    fn is_close(&self, other: &Self) -> bool {
        let pairs = self.shares.iter().zip(&other.shares);
        self.panel == other.panel && pairs.into_iter().all(|(a, b)| (a - b).abs() <= RESOLUTION)
    }
}

fn is_same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a - b).abs() <= SAME * a.abs().max(b.abs())
}

/// A name: the head and details of a line, and a note on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<'a> {
    pub(super) pieces: &'a [String],
    pub(super) note: &'a str,
}

impl<'a> Name<'a> {
    fn head(&self) -> &'a str {
        self.pieces.first().map_or("", String::as_str)
    }

    fn details(&self) -> &'a [String] {
        self.pieces.get(1..).unwrap_or_default()
    }

    /// All pieces in a row.
    pub(super) fn words(&self) -> String {
        self.pieces.join(", ")
    }

    fn in_parentheses(&self) -> String {
        match self.details() {
            [] => self.head().to_owned(),
            details => format!("{} ({})", self.head(), details.join(", ")),
        }
    }

    /// Words with the note behind them, if there is one.
    fn noted(&self, words: &str) -> String {
        if self.note.is_empty() { words.to_owned() } else { format!("{words}: {}", self.note) }
    }
}

/// A line that is drawn, and the others that coincide with it, the same ones first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// Its place among all lines.
    pub(super) drawn: usize,
    /// The places of the others.
    pub(super) others: Vec<(Likeness, usize)>,
}

impl Group {
    /// The names of its lines, with signs between. The details that they share, and what is noted of them, stand once.
    pub(super) fn named<'a>(&self, of: impl Fn(usize) -> Name<'a>) -> String {
        let first = of(self.drawn);
        if self.others.is_empty() {
            return first.noted(&first.words());
        }
        let all = |is: &dyn Fn(&Name<'a>) -> bool| self.others.iter().all(|(_, i)| is(&of(*i)));
        let is_head_alone = all(&|other| other.details() == first.details());
        let is_noted_once = all(&|other| other.note == first.note);
        let one = |name: Name<'a>| {
            let words = if is_head_alone { name.head().to_owned() } else { name.in_parentheses() };
            if is_noted_once { words } else { name.noted(&words) }
        };
        let mut text = one(of(self.drawn));
        for (likeness, other) in &self.others {
            text.push_str(likeness.sign());
            text.push_str(&one(of(*other)));
        }
        if is_head_alone {
            text = first.details().iter().fold(text, |text, detail| format!("{text}, {detail}"));
        }
        if is_noted_once { first.noted(&text) } else { text }
    }
}

/// A curve with its name and look, through its points in each of several panels in which it is.
pub(super) struct Curve<'a> {
    pub(super) name: &'a str,
    pub(super) look: MarkStyle,
    pub(super) of_panels: Vec<Vec<(f64, f64)>>,
}

/// The layers of panels with the given axes: curves that coincide in all of them are drawn and named once, and values that
/// differ by no more than rounding are the same.
pub(super) fn layers(
    curves: &[Curve<'_>],
    axes: &[(Scale, Scale)],
    rounding: f64,
) -> Vec<Vec<Layer>> {
    let ruler = |(panel, (x, y)): (usize, &(Scale, Scale))| {
        let points = || curves.iter().flat_map(move |curve| &curve.of_panels[panel]);
        let across = Ruler::new(x, points().map(|point| point.0), 2);
        (across, Ruler::new(y, points().map(|point| point.1), 2))
    };
    let rulers: Vec<(Ruler, Ruler)> = axes.iter().enumerate().map(ruler).collect();
    let spot = |panel: usize, &(x, y): &(f64, f64)| {
        let share = |ruler: &Ruler, value: f64| ruler.share(value).unwrap_or(f64::NAN);
        let (across, up) = (share(&rulers[panel].0, x), share(&rulers[panel].1, y));
        Spot { panel, values: [x, y, 0.0], shares: [across, up, up, up] }
    };
    let spots = |curve: &Curve<'_>| -> Vec<Spot> {
        let panels = curve.of_panels.iter().enumerate();
        panels.flat_map(|(panel, points)| points.iter().map(move |at| spot(panel, at))).collect()
    };
    let groups = groups_but_for(rounding, &curves.iter().map(spots).collect::<Vec<_>>());
    let pieces: Vec<[String; 1]> = curves.iter().map(|curve| [curve.name.to_owned()]).collect();
    let layer = |panel: usize, group: &Group| {
        let Curve { look, of_panels, .. } = &curves[group.drawn];
        let name = group.named(|curve| Name { pieces: &pieces[curve], note: "" });
        let points = of_panels[panel].clone();
        (!points.is_empty()).then(|| Layer::named(name, *look, Mark::Line(points)))
    };
    let of_panel = |panel| groups.iter().filter_map(|group| layer(panel, group)).collect();
    (0..axes.len()).map(of_panel).collect()
}

/// A panel of lines through points, each with its name; those that coincide are drawn and named once.
#[must_use]
pub fn panel(x: Scale, y: Scale, lines: &[(String, Vec<(f64, f64)>)]) -> Panel {
    let curves = lines.iter().enumerate().map(|(place, (name, points))| Curve {
        name,
        look: MarkStyle { marker: Marker::None, ..MarkStyle::of_series(place) },
        of_panels: vec![points.clone()],
    });
    let curves: Vec<Curve<'_>> = curves.collect();
    let axes = [(x, y)];
    let layers = layers(&curves, &axes, 0.0).concat();
    let [(x, y)] = axes;
    Panel { x, y, layers, ..Panel::default() }
}

/// Lines by those that coincide, in the order of the first of each; lines without a point are in no group.
pub(super) fn groups(lines: &[Vec<Spot>]) -> Vec<Group> {
    groups_but_for(0.0, lines)
}

/// The same where numbers that differ by no more than rounding are the same.
fn groups_but_for(rounding: f64, lines: &[Vec<Spot>]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (place, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let like = |group: &Group| likeness(&lines[group.drawn], line, rounding);
        let found = groups.iter().enumerate().filter_map(|(at, group)| Some((like(group)?, at)));
        match found.min() {
            Some((likeness, at)) => groups[at].others.push((likeness, place)),
            None => groups.push(Group { drawn: place, others: Vec::new() }),
        }
    }
    groups.iter_mut().for_each(|group| group.others.sort_unstable());
    groups
}

fn likeness(a: &[Spot], b: &[Spot], rounding: f64) -> Option<Likeness> {
    if a.len() != b.len() {
        return None;
    }
    let mut pairs = a.iter().zip(b);
    if pairs.clone().all(|(a, b)| a.is_same(b, rounding)) {
        return Some(Likeness::Same);
    }
    pairs.all(|(a, b)| a.is_close(b)).then_some(Likeness::Close)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(shift: f64) -> Vec<Spot> {
        let spot = |i: i32| {
            let (x, y) = (f64::from(i) / 4.0, 0.5 + shift);
            Spot { panel: 0, values: [x, 3.0 * y, 0.1], shares: [x, y, y - 0.02, y + 0.02] }
        };
        (0..5).map(spot).collect()
    }

    #[test]
    fn lines_are_joined_where_no_eye_tells_them_apart() {
        let lines = [0.0, 0.1, 1e-12, 0.004, 0.104, 0.02].map(line);
        let groups = groups(&lines);
        let of = |drawn, others: &[(Likeness, usize)]| Group { drawn, others: others.to_vec() };
        let expected = [
            of(0, &[(Likeness::Same, 2), (Likeness::Close, 3)]),
            of(1, &[(Likeness::Close, 4)]),
            of(5, &[]),
        ];
        assert_eq!(groups, expected);
        let pieces = ["a", "b", "c", "d", "e", "f"].map(|name| [name.to_owned()]);
        let named = |i: usize| Name { pieces: &pieces[i], note: if i == 4 { "2" } else { "1" } };
        let names: Vec<String> = groups.iter().map(|group| group.named(named)).collect();
        assert_eq!(names, ["a = c ≈ d: 1", "b: 1 ≈ e: 2", "f: 1"]);
    }

    #[test]
    fn curves_are_joined_only_where_they_coincide_in_all_panels() {
        let curve = |name, of_panels: [f64; 2]| Curve {
            name,
            look: MarkStyle::of_series(0),
            of_panels: of_panels.map(|y| vec![(0.0, y), (1.0, y + 1.0)]).into(),
        };
        let axes = [(); 2].map(|()| (Scale::linear("x"), Scale::linear("y")));
        let names = |second: [f64; 2]| {
            let curves = [curve("a", [0.0, 1.0]), curve("b", second), curve("c", [0.5, 0.5])];
            let layers = layers(&curves, &axes, 1e-9);
            let names = |layers: Vec<Layer>| layers.into_iter().filter_map(|layer| layer.name);
            let names: Vec<Vec<String>> =
                layers.into_iter().map(|layers| names(layers).collect()).collect();
            assert_eq!(names[0], names[1]);
            let is_explained = explanation(names[0].iter().map(String::as_str)).is_some();
            (names[0].clone(), is_explained)
        };
        let named = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        // Rounding of 0 is 0.
        assert_eq!(names([1e-12, 1.0]), (named(&["a = b", "c"]), false));
        assert_eq!(names([0.002, 1.0]), (named(&["a ≈ b", "c"]), true));
        assert_eq!(names([0.0, 0.9]), (named(&["a", "b", "c"]), false));
    }

    #[test]
    fn names_say_once_what_lines_share() {
        let group = Group { drawn: 0, others: vec![(Likeness::Same, 1)] };
        let named = |details: [&[&str]; 2]| {
            let pieces = [("ale", details[0]), ("dale", details[1])].map(|(head, details)| {
                [head].iter().chain(details).map(|&word| word.to_owned()).collect::<Vec<String>>()
            });
            group.named(|i| Name { pieces: &pieces[i], note: "" })
        };
        assert_eq!(named([&["K = 5"], &["K = 5"]]), "ale = dale, K = 5");
        assert_eq!(named([&["K = 5"], &["K = 8"]]), "ale (K = 5) = dale (K = 8)");
        assert_eq!(named([&["K = 5"], &[]]), "ale (K = 5) = dale");
    }

    #[test]
    fn lines_of_other_panels_and_of_other_lengths_stay_apart() {
        let mut elsewhere = line(0.0);
        elsewhere.iter_mut().for_each(|spot| spot.panel = 1);
        let mut wide = line(0.0);
        wide[2].shares[3] += 0.1;
        wide[2].values[2] += 0.3;
        let shorter = line(0.0)[..4].to_vec();
        assert_eq!(groups(&[line(0.0), elsewhere, wide, shorter, vec![]]).len(), 4);
    }
}
