//! Tables as LaTeX: headings that span their columns, one power of ten a column, and parts that fit on a page.

use std::ops::Range;

use super::number::{Signs, Written, exponent};
use super::style::{ErrorStyle, Mark, Style};
use super::{Rendered, TableEntry, TableRow, width};

/// The part of a document before its tables. What it says of siunitx does no harm without.
const PREAMBLE: &str = "\\documentclass{article}
\\usepackage[T1]{fontenc}
\\usepackage[utf8]{inputenc}
\\usepackage{lmodern}
\\usepackage[a4paper,margin=2.5cm]{geometry}
\\usepackage{booktabs}
\\usepackage{longtable}
";
/// Bold and italic numbers are set as such in text alone.
const SIUNITX: &str = "\\usepackage{siunitx}
\\sisetup{mode=text,reset-text-series=false,reset-text-shape=false}
";

/// Longer tables are set over several pages.
const MOST_ROWS: usize = 40;
/// Widths in points: of the space between two columns, of a power of ten, and of what siunitx keeps free for a sign.
const GAP: f64 = 12.0;
const POWER: f64 = 29.0;
const SIGN: f64 = 10.0;

impl Rendered {
    /// The table in LaTeX, for a document that uses the packages booktabs, longtable (for more than 40 rows), siunitx (if
    /// asked for) and, for `|`, `<` and `>` in text, fontenc with T1; with a label to refer to if there is one.
    #[must_use]
    pub fn latex(&self, style: Style, label: Option<&str>) -> String {
        table(self, style, label)
    }
}

/// A whole document with some tables.
#[must_use]
pub fn document(tables: &str, style: Style) -> String {
    let siunitx = if style.siunitx { SIUNITX } else { "" };
    format!("{PREAMBLE}{siunitx}\\begin{{document}}\n{tables}\\end{{document}}\n")
}

/// A column of values: their power of ten if they have one in common, and how wide it is in points.
struct ValueColumn {
    exponent: Option<i32>,
    width: f64,
}

impl ValueColumn {
    fn of(table: &Rendered, column: usize, style: Style) -> Self {
        let entries = || table.rows.iter().filter_map(|row| row.entries[column].as_ref());
        let exponent = common_exponent(entries(), style);
        let own = Self { exponent, width: 0.0 };
        let is_power = |entry: &TableEntry| {
            own.written(entry, style).is_some_and(|written| written.places()[3] > 0)
        };
        let power = if entries().any(is_power) { POWER } else { 0.0 };
        // A column of numbers has room for all that one of them has.
        let kept = if is_of_numbers(style) { SIGN } else { 0.0 };
        let of_entry = |entry: &TableEntry| {
            let is_bold = entry.mark(style) == Mark::Bold;
            let star = if entry.better { "*" } else { "" };
            let number = own.written(entry, style).map_or_else(
                || width::of_text(entry.word().unwrap_or_default()),
                |number| width::of_number(&number.text(&PLAIN), is_bold),
            );
            kept + number + width::of_text(&format!("{}{star}", entry.remarks()))
        };
        let heading = table.columns[column].last().map_or(0.0, |text| width::of_text(text));
        let in_heading = exponent.filter(|power| *power != 0).map_or(0.0, |_| POWER);
        let width = entries().map(of_entry).fold(0.0, f64::max) + power;
        Self { exponent, width: width.max(heading + in_heading) }
    }

    /// The number of an entry; none where a word stands for it.
    fn written(&self, entry: &TableEntry, style: Style) -> Option<Written> {
        if entry.word().is_some() {
            return None;
        }
        match self.exponent {
            // The power stands in the heading.
            Some(power) => {
                let scale = 10_f64.powi(-power);
                Written::with_exponent(&entry.summary.scaled(scale), style, None)
            }
            None => Written::of(&entry.summary, style),
        }
    }
}

/// The signs in a number without its power, whose width is known.
const PLAIN: Signs = Signs { pm: "±", power: ("", "") };

/// The power of ten in which all numbers of a column are written, if one needs one and they differ by less than a factor of
/// about a thousand.
fn common_exponent<'a>(
    entries: impl Iterator<Item = &'a TableEntry> + Clone,
    style: Style,
) -> Option<i32> {
    let entries = entries.filter(|entry| entry.word().is_none());
    let needed = entries.clone().any(|entry| exponent(&entry.summary, style).flatten().is_some());
    let means = entries.filter_map(|entry| entry.summary.mean).filter(|mean| *mean != 0.0);
    let powers: Vec<i32> = means.map(|mean| mean.abs().log10().floor() as i32).collect();
    let (least, most) = (powers.iter().min()?, powers.iter().max()?);
    // Tenths need none.
    let power = if *most == -1 { 0 } else { *most };
    (needed && most - least <= 2).then_some(power)
}

pub(super) fn table(table: &Rendered, style: Style, label: Option<&str>) -> String {
    let columns: Vec<ValueColumn> =
        (0..table.columns.len()).map(|column| ValueColumn::of(table, column, style)).collect();
    let (parts, is_small) = parts(table, &columns, f64::from(style.text_width));
    let mut notes = table.explanations(style).into_iter();
    let first = notes.next().unwrap_or_default();
    let caption = match table.title.trim() {
        "" => escape(&first),
        title => escape(&format!("{}. {first}", title.trim_end_matches('.'))),
    };
    let set = Set { table, columns: &columns, style, caption, label };
    let notes: Vec<String> =
        notes.map(|note| format!("{{\\footnotesize {}}}", escape(&note))).collect();
    match table.rows.len() > MOST_ROWS {
        true => set.long(&parts, is_small, &notes),
        false => set.float(&parts, is_small, &notes),
    }
}

/// True if columns are set by siunitx.
fn is_of_numbers(style: Style) -> bool {
    style.siunitx && style.errors != ErrorStyle::Interval
}

/// Runs of columns that fit on a page, and whether they do so in small print only.
fn parts(table: &Rendered, columns: &[ValueColumn], page: f64) -> (Vec<Range<usize>>, bool) {
    let label = |i: usize| {
        let entries = table.rows.iter().map(|row| width::of_text(&row.labels[i]));
        entries.fold(width::of_text(&table.labels[i]), f64::max)
    };
    let labels: Vec<f64> = (0..table.labels.len()).map(label).collect();
    let wide =
        |widths: &[f64], size: f64| widths.iter().map(|width| size * width + GAP).sum::<f64>();
    let of_columns: Vec<f64> = columns.iter().map(|column| column.width).collect();
    let fits_at = |size: f64, part: Range<usize>| {
        let by_headings = widened_by_headings(table, &of_columns, part.clone());
        wide(&labels, size) + wide(&of_columns[part], size) + size * by_headings <= page
    };
    let all = || std::iter::once(0..columns.len()).collect();
    if fits_at(1.0, 0..columns.len()) || columns.is_empty() {
        return (all(), false);
    }
    let fits = |part: Range<usize>| fits_at(width::SMALL, part);
    if fits(0..columns.len()) {
        return (all(), true);
    }
    let groups = spans(table, 0..columns.len(), 0);
    let mut parts: Vec<Range<usize>> = Vec::new();
    for i in 0..columns.len() {
        match parts.last_mut() {
            Some(part) if fits(part.start..i + 1) => part.end = i + 1,
            Some(part) => {
                // Columns under one heading stay together where there is room for them.
                let whole = groups.iter().find(|group| group.contains(&i));
                let whole =
                    whole.filter(|group| part.start < group.start && fits((*group).clone()));
                let start = whole.map_or(i, |group| group.start);
                part.end = start;
                parts.push(start..i + 1);
            }
            None => parts.push(i..i + 1),
        }
    }
    (parts, true)
}

/// By how many points headings are wider than the columns that they span, at the level where they are so most.
fn widened_by_headings(table: &Rendered, columns: &[f64], part: Range<usize>) -> f64 {
    let levels = table.columns.first().map_or(0, Vec::len).saturating_sub(1);
    let at_level = |level: usize| -> f64 {
        let beyond = |span: Range<usize>| {
            let heading = width::of_text(&table.columns[span.start][level]);
            let gaps = GAP * (span.len() - 1) as f64;
            (heading - columns[span].iter().sum::<f64>() - gaps).max(0.0)
        };
        spans(table, part.clone(), level).into_iter().map(beyond).sum()
    };
    (0..levels).map(at_level).fold(0.0, f64::max)
}

/// Runs of columns whose headings are the same down to a level.
fn spans(table: &Rendered, columns: Range<usize>, level: usize) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let path = |column: usize| table.columns[column].get(..=level);
    for column in columns {
        match spans.last_mut() {
            Some(span) if path(span.start) == path(column) => span.end = column + 1,
            _ => spans.push(column..column + 1),
        }
    }
    spans
}

/// A table on its way into LaTeX.
struct Set<'a> {
    table: &'a Rendered,
    columns: &'a [ValueColumn],
    style: Style,
    caption: String,
    label: Option<&'a str>,
}

impl Set<'_> {
    /// A table that floats, its parts below each other.
    fn float(&self, parts: &[Range<usize>], is_small: bool, notes: &[String]) -> String {
        let mut text = vec!["\\begin{table}[htbp]".to_owned(), "\\centering".to_owned()];
        text.push("\\setlength{\\belowcaptionskip}{6pt}".to_owned());
        text.push(format!("\\caption{{{}}}", self.caption));
        text.extend(self.label.map(|label| format!("\\label{{{label}}}")));
        text.extend(is_small.then(|| "\\footnotesize".to_owned()));
        for (i, part) in parts.iter().enumerate() {
            text.extend((i > 0).then(|| "\\par\\medskip".to_owned()));
            text.push(format!("\\begin{{tabular}}{{{}}}", self.alignment(part)));
            text.push("\\toprule".to_owned());
            text.extend(self.head(part));
            text.push("\\midrule".to_owned());
            text.extend(self.table.rows.iter().map(|row| self.row(row, part)));
            text.extend(["\\bottomrule".to_owned(), "\\end{tabular}".to_owned()]);
        }
        for note in notes {
            text.extend(["\\par\\smallskip".to_owned(), note.clone()]);
        }
        text.push("\\end{table}".to_owned());
        text.join("\n") + "\n"
    }

    /// A table over several pages, its parts behind each other.
    fn long(&self, parts: &[Range<usize>], is_small: bool, notes: &[String]) -> String {
        let mut text = vec!["\\begingroup".to_owned()];
        text.extend(is_small.then(|| "\\footnotesize".to_owned()));
        for (i, part) in parts.iter().enumerate() {
            text.push(format!("\\begin{{longtable}}{{{}}}", self.alignment(part)));
            if i == 0 {
                let label = self.label.map_or(String::new(), |label| format!("\\label{{{label}}}"));
                text.push(format!("\\caption{{{}}}{label} \\\\", self.caption));
            }
            let head = || {
                [vec!["\\toprule".to_owned()], self.head(part), vec!["\\midrule".to_owned()]]
                    .concat()
            };
            text.extend(head());
            text.push("\\endfirsthead".to_owned());
            text.extend(head());
            text.extend([
                "\\endhead".to_owned(),
                "\\bottomrule".to_owned(),
                "\\endfoot".to_owned(),
            ]);
            text.extend(self.table.rows.iter().map(|row| self.row(row, part)));
            text.push("\\end{longtable}".to_owned());
        }
        text.extend(notes.iter().map(|note| format!("\\noindent {note}\\par")));
        text.push("\\endgroup".to_owned());
        text.join("\n") + "\n"
    }

    fn alignment(&self, part: &Range<usize>) -> String {
        let values = part.clone().map(|column| match is_of_numbers(self.style) {
            true => self.number_column(column),
            false => "r".to_owned(),
        });
        "l".repeat(self.table.labels.len()) + &values.collect::<String>()
    }

    /// A column that siunitx aligns: as many digits before and behind the point as its numbers have at the most.
    fn number_column(&self, column: usize) -> String {
        let entries = self.table.rows.iter().filter_map(|row| row.entries[column].as_ref());
        let written = entries.filter_map(|entry| self.columns[column].written(entry, self.style));
        let most = |a: [usize; 4], b: [usize; 4]| std::array::from_fn(|i| a[i].max(b[i]));
        let [whole, decimals, error, power] =
            written.map(|written| written.places()).fold([1, 0, 0, 0], most);
        let error = if error > 0 { format!("({error})") } else { String::new() };
        let power = if power > 0 { format!("e-{power}") } else { String::new() };
        let separate = self.style.errors == ErrorStyle::Pm;
        format!("S[table-format=-{whole}.{decimals}{error}{power},separate-uncertainty={separate}]")
    }

    /// Lines of headings: one for each key, over the columns that share its value.
    fn head(&self, part: &Range<usize>) -> Vec<String> {
        let labels = self.table.labels.len();
        let levels = self.table.columns.first().map_or(0, Vec::len);
        let mut lines = Vec::new();
        for level in 0..levels.saturating_sub(1) {
            let groups = spans(self.table, part.clone(), level);
            let heads = groups.iter().map(|group| {
                let text = escape(&self.table.columns[group.start][level]);
                match group.len() {
                    1 => self.in_braces(text),
                    span => format!("\\multicolumn{{{span}}}{{c}}{{{text}}}"),
                }
            });
            let cells = vec![String::new(); labels].into_iter().chain(heads);
            lines.push(line(cells));
            let rules = groups.iter().filter(|group| group.len() > 1).map(|group| {
                let first = labels + 1 + group.start - part.start;
                format!("\\cmidrule(lr){{{first}-{}}}", first + group.len() - 1)
            });
            let rules: Vec<String> = rules.collect();
            lines.extend((!rules.is_empty()).then(|| rules.join(" ")));
        }
        let names = self.table.labels.iter().map(|name| escape(name));
        let last = part.clone().map(|column| {
            let name = self.table.columns[column].last().map_or("", String::as_str);
            let power = self.columns[column].exponent.filter(|power| *power != 0);
            // Not a factor: N = 100 × 10⁻² would be read as N = 1.
            let power = power.map(|power| format!("in $10^{{{power}}}$"));
            let words = [Some(escape(name)), power];
            let words = words.into_iter().flatten().filter(|word| !word.is_empty());
            self.in_braces(words.collect::<Vec<_>>().join(", "))
        });
        lines.push(line(names.chain(last)));
        lines
    }

    /// Words in a column of numbers are in braces.
    fn in_braces(&self, text: String) -> String {
        if is_of_numbers(self.style) { format!("{{{text}}}") } else { text }
    }

    fn row(&self, row: &TableRow, part: &Range<usize>) -> String {
        let labels = row.labels.iter().map(|label| escape(label));
        let entries = part.clone().map(|column| {
            row.entries[column].as_ref().map_or(String::new(), |entry| self.entry(entry, column))
        });
        line(labels.chain(entries))
    }

    fn entry(&self, entry: &TableEntry, column: usize) -> String {
        const SIGNS: Signs = Signs { pm: "\\pm", power: (" \\cdot 10^{", "}") };
        let star = if entry.better { "$^*$" } else { "" };
        let remarks = entry.remarks();
        let mark = entry.mark(self.style);
        let Some(written) = self.columns[column].written(entry, self.style) else {
            let word = escape(entry.word().unwrap_or_default());
            let word = match mark {
                Mark::Bold => format!("\\textbf{{{word}}}"),
                Mark::Italic => format!("\\textit{{{word}}}"),
                Mark::Dagger => format!("{word}$^\\dagger$"),
                Mark::None => word,
            };
            return self.in_braces(format!("{word}{star}{remarks}"));
        };
        let plain = is_of_numbers(self.style) && remarks.is_empty() && !entry.better;
        if let (true, Some(number)) = (plain && mark != Mark::Dagger, written.siunitx()) {
            return match mark {
                Mark::Bold => format!("\\bfseries {number}"),
                Mark::Italic => format!("\\itshape {number}"),
                Mark::Dagger | Mark::None => number,
            };
        }
        let digits = written.text(&SIGNS);
        let text = match mark {
            Mark::Bold => format!("$\\mathbf{{{digits}}}$"),
            Mark::Italic => format!("$\\mathit{{{digits}}}$"),
            Mark::Dagger => format!("${digits}{{}}^\\dagger$"),
            Mark::None => format!("${digits}$"),
        };
        self.in_braces(format!("{text}{star}{remarks}"))
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("{} \\\\", cells.collect::<Vec<_>>().join(" & "))
}

/// Letters and signs of formulas, and their commands.
const SYMBOLS: [(char, &str); 42] = [
    ('α', "alpha"),
    ('β', "beta"),
    ('γ', "gamma"),
    ('δ', "delta"),
    ('ε', "varepsilon"),
    ('ζ', "zeta"),
    ('η', "eta"),
    ('θ', "theta"),
    ('κ', "kappa"),
    ('λ', "lambda"),
    ('μ', "mu"),
    ('µ', "mu"),
    ('ν', "nu"),
    ('ξ', "xi"),
    ('π', "pi"),
    ('ρ', "rho"),
    ('σ', "sigma"),
    ('τ', "tau"),
    ('φ', "varphi"),
    ('χ', "chi"),
    ('ψ', "psi"),
    ('ω', "omega"),
    ('Γ', "Gamma"),
    ('Δ', "Delta"),
    ('Θ', "Theta"),
    ('Λ', "Lambda"),
    ('Π', "Pi"),
    ('Σ', "Sigma"),
    ('Φ', "Phi"),
    ('Ψ', "Psi"),
    ('Ω', "Omega"),
    ('†', "dagger"),
    ('≈', "approx"),
    ('≠', "ne"),
    ('∞', "infty"),
    ('∈', "in"),
    ('∑', "sum"),
    ('∂', "partial"),
    ('∇', "nabla"),
    ('√', "surd"),
    ('→', "to"),
    ('′', "prime"),
];

/// Text in which LaTeX sees no commands. What the usual fonts lack is written as its code point.
fn escape(text: &str) -> String {
    let one = |c: char| match c {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{c}"),
        // At the start of a row it would be an argument of the line break before.
        '[' => "{[}".to_owned(),
        '\\' => "\\textbackslash{}".to_owned(),
        '^' => "\\^{}".to_owned(),
        '~' => "\\~{}".to_owned(),
        '"' => "\\textquotedbl{}".to_owned(),
        '±' => "$\\pm$".to_owned(),
        '·' => "$\\cdot$".to_owned(),
        '×' => "$\\times$".to_owned(),
        '−' => "$-$".to_owned(),
        '≤' => "$\\le$".to_owned(),
        '≥' => "$\\ge$".to_owned(),
        '²' => "$^2$".to_owned(),
        '³' => "$^3$".to_owned(),
        '½' => "$\\frac12$".to_owned(),
        '₀'..='₉' => format!("$_{}$", u32::from(c) - u32::from('₀')),
        '–' => "--".to_owned(),
        '—' => "---".to_owned(),
        '…' => "\\dots{}".to_owned(),
        '<' | '>' | '|' | '*' => format!("${c}$"),
        '\u{a0}' => "~".to_owned(),
        c if c.is_control() => " ".to_owned(),
        c if c < '\u{250}' && c != 'µ' => c.to_string(),
        c => match SYMBOLS.iter().find(|(symbol, _)| *symbol == c) {
            Some((_, command)) => format!("$\\{command}$"),
            None => format!("U+{:04X}", u32::from(c)),
        },
    };
    text.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_in_a_text_is_a_command() {
        assert_eq!(escape("a_b & 5 % of $x^2$"), "a\\_b \\& 5 \\% of \\$x\\^{}2\\$");
        assert_eq!(escape("[a]"), "{[}a]");
        assert_eq!(escape("\\input{x}~#"), "\\textbackslash{}input\\{x\\}\\~{}\\#");
        assert_eq!(escape("σ² < ½|ρ|\n中ß"), "$\\sigma$$^2$ $<$ $\\frac12$$|$$\\rho$$|$ U+4E2Dß");
        assert_eq!(escape("β₁ → ∞"), "$\\beta$$_1$ $\\to$ $\\infty$");
    }
}
