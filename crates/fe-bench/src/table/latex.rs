//! Tables as LaTeX.

use super::number::{Signs, Written};
use super::style::{Mark, Style};
use super::{Rendered, TableEntry, TableRow};

/// The part of a document before its tables.
const PREAMBLE: &str = "\\documentclass{article}
\\usepackage[T1]{fontenc}
\\usepackage[utf8]{inputenc}
\\usepackage[landscape,margin=1.5cm]{geometry}
\\usepackage{booktabs}
\\begin{document}
";

impl Rendered {
    /// The table in LaTeX, for a document that uses the packages booktabs and, for `|`, `<` and `>`
    /// in text, fontenc with T1; with a label to refer to if there is one.
    #[must_use]
    pub fn latex(&self, style: Style, label: Option<&str>) -> String {
        table(self, style, label)
    }
}

/// A whole document with some tables.
#[must_use]
pub fn document(tables: &str) -> String {
    format!("{PREAMBLE}{tables}\\end{{document}}\n")
}

pub(super) fn table(table: &Rendered, style: Style, label: Option<&str>) -> String {
    let line = |cells: Vec<String>| format!("{} \\\\", cells.join(" & "));
    let header = table.header().iter().map(|text| escape(text)).collect();
    let alignment = "l".repeat(table.labels.len()) + &"r".repeat(table.columns.len());
    let row = |row: &TableRow| {
        let labels = row.labels.iter().map(|label| escape(label));
        let entries = row
            .entries
            .iter()
            .map(|entry| entry.as_ref().map_or(String::new(), |entry| latex_entry(entry, style)));
        line(labels.chain(entries).collect())
    };
    let mut text = vec![
        "\\begin{table}[htbp]".to_owned(),
        "\\centering".to_owned(),
        format!("\\caption{{{}}}", escape(&table.title)),
    ];
    text.extend(label.map(|label| format!("\\label{{{label}}}")));
    text.extend([
        format!("\\begin{{tabular}}{{{alignment}}}"),
        "\\toprule".to_owned(),
        line(header),
        "\\midrule".to_owned(),
    ]);
    text.extend(table.rows.iter().map(row));
    text.extend(["\\bottomrule".to_owned(), "\\end{tabular}".to_owned()]);
    for note in table.explanations(style) {
        text.extend([
            "\\par\\smallskip".to_owned(),
            format!("{{\\footnotesize {}}}", escape(&note)),
        ]);
    }
    text.push("\\end{table}".to_owned());
    text.join("\n") + "\n"
}

fn latex_entry(entry: &TableEntry, style: Style) -> String {
    const SIGNS: Signs = Signs { pm: "\\pm", power: (" \\cdot 10^{", "}") };
    let text = match Written::of(&entry.summary, style) {
        None => "--".to_owned(),
        Some(written) => {
            let digits = written.text(&SIGNS);
            match entry.mark(style) {
                Mark::Bold => format!("$\\mathbf{{{digits}}}$"),
                Mark::Italic => format!("$\\mathit{{{digits}}}$"),
                Mark::Dagger => format!("${digits}{{}}^\\dagger$"),
                Mark::None => format!("${digits}$"),
            }
        }
    };
    let star = if entry.better { "$^*$" } else { "" };
    format!("{text}{star}{}", entry.remarks())
}

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
        'α' => "$\\alpha$".to_owned(),
        'ε' => "$\\varepsilon$".to_owned(),
        'μ' | 'µ' => "$\\mu$".to_owned(),
        'π' => "$\\pi$".to_owned(),
        'ρ' => "$\\rho$".to_owned(),
        'σ' => "$\\sigma$".to_owned(),
        'φ' => "$\\varphi$".to_owned(),
        'Δ' => "$\\Delta$".to_owned(),
        '†' => "$\\dagger$".to_owned(),
        '–' => "--".to_owned(),
        '—' => "---".to_owned(),
        '…' => "\\dots{}".to_owned(),
        '<' | '>' | '|' | '*' => format!("${c}$"),
        '\u{a0}' => "~".to_owned(),
        c if c.is_control() => " ".to_owned(),
        c if c < '\u{250}' => c.to_string(),
        c => format!("U+{:04X}", u32::from(c)),
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
    }
}
