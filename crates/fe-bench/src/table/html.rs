//! Tables as HTML.

use maud::{Markup, html};

use super::style::{Mark, Style};
use super::{Rendered, TableEntry};
use crate::output::exact;

impl Rendered {
    /// Its title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The table as an HTML table whose rows can be sorted by the numbers behind their text.
    #[must_use]
    pub fn html(&self, style: Style) -> Markup {
        html! {
            table.sortable {
                caption { span { (self.title) } }
                thead { tr {
                    @for name in self.header() { th scope="col" { (name) } }
                } }
                tbody { @for row in &self.rows { tr {
                    @for label in &row.labels { td { (label) } }
                    @for entry in &row.entries { (entry_cell(entry.as_ref(), style)) }
                } } }
            }
        }
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
