//! Tables as HTML.

use maud::{Markup, html};

use super::style::{Mark, Style};
use super::{Rendered, TableEntry, TableRow};
use crate::output::exact;

impl Rendered {
    /// Its title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The remarks below it, but those on how its numbers are read.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The table as an HTML table whose rows can be sorted by the numbers behind their text.
    #[must_use]
    pub fn html(&self, style: Style) -> Markup {
        // On narrow screens the keys of a row are one cell, so that values are in sight.
        let class = |place: usize| (place < self.labels.len()).then_some("key");
        html! {
            table.sortable {
                caption { span { (self.title) } }
                thead { tr {
                    th.keys scope="col" { (self.labels.join(", ")) }
                    @for (place, name) in self.header().iter().enumerate() {
                        th scope="col" class=[class(place)] { (name) }
                    }
                } }
                tbody { @for row in &self.rows { tr {
                    td.keys { (self.keys_of(row)) }
                    @for label in &row.labels { td.key { (label) } }
                    @for entry in &row.entries { (entry_cell(entry.as_ref(), style)) }
                } } }
            }
        }
    }

    /// The keys of a row as a line: those that are numbers with their names, without those that are empty.
    fn keys_of(&self, row: &TableRow) -> String {
        let given = self.labels.iter().zip(&row.labels).filter(|(_, value)| !value.is_empty());
        let part = |(name, value): (&String, &String)| match value.parse::<f64>() {
            Ok(_) => format!("{name}\u{a0}=\u{a0}{value}"),
            Err(_) => value.clone(),
        };
        given.map(part).collect::<Vec<_>>().join(", ")
    }
}

fn entry_cell(entry: Option<&TableEntry>, style: Style) -> Markup {
    let Some(entry) = entry else { return html! { td {} } };
    let text = entry.plain(style);
    html! {
        td.number data-value=[entry.summary.mean.map(exact)] {
            @match entry.mark(style) {
                Mark::Bold => strong { (text) },
                Mark::Italic => em { (text) },
                Mark::Dagger => { (text) " †" },
                Mark::None => (text),
            }
            @if entry.better { " *" }
            (entry.remarks())
        }
    }
}
