//! The figures of the verification as a table for a terminal.

use super::{Case, Row, Verification};

/// Titles of the columns.
const COLUMN_TITLES: [&str; 8] = ["case", "unit", "reference", "thesis", "best peer", "ours", "tolerance", ""];
/// Index of the column that says whether a row passes.
const VERDICT_COLUMN: usize = 7;

/// The table: a line for each row under the name of its case, and the score. With `colours` it has escape sequences for
/// a terminal.
pub fn table(verification: &Verification, colours: bool) -> String {
    let rows: Vec<(&Case, &Row, [String; 8])> =
        verification.rows().map(|(case, row)| (case, row, row_cells(row))).collect();
    let widths: [usize; 8] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|(_, _, cells)| cells[column].chars().count());
        cells.max().unwrap_or(0).max(COLUMN_TITLES[column].len())
    });
    let paint = |code: &str, text: String| if colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text };
    let mut out = paint("1", table_line(&COLUMN_TITLES.map(str::to_owned), &widths, "note"));
    out.push('\n');
    let mut last = "";
    for (case, row, cells) in &rows {
        if case.name != last {
            out.push_str(&paint("1;36", case.name.to_owned()));
            out.push('\n');
            last = case.name;
        }
        let mut text = table_line(cells, &widths, &row.note);
        if colours {
            let code = if row.passes() { "32" } else { "1;31" };
            text = text.replacen(&cells[VERDICT_COLUMN], &paint(code, cells[VERDICT_COLUMN].clone()), 1);
        }
        out.push_str(&text);
        out.push('\n');
    }
    let (passed, all) = verification.score();
    let engine = &verification.engine;
    out.push_str(&format!("{passed} of {all} within tolerance, on {} {}\n", engine.name, engine.version));
    out
}

/// Texts of a row's columns.
fn row_cells(row: &Row) -> [String; 8] {
    [
        format!("  {}", row.name),
        row.unit.to_owned(),
        figure(Some(row.reference)),
        figure(row.thesis),
        figure(row.peer.as_ref().map(|peer| peer.figure)),
        figure(row.measured),
        tolerance(row),
        if row.passes() { "pass".to_owned() } else { "MISS".to_owned() },
    ]
}

/// Text of a row's tolerance, or `or more` if its reference is a lower bound.
pub fn tolerance(row: &Row) -> String {
    if row.is_bound() { "or more".into() } else { figure(Some(row.tolerance)) }
}

/// A line of the table: words are left-aligned, figures right-aligned.
fn table_line(cells: &[String; 8], widths: &[usize; 8], note: &str) -> String {
    let mut out = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        match column {
            0 | 1 | VERDICT_COLUMN => out.push_str(&format!("{cell:<width$}  ")),
            _ => out.push_str(&format!("{cell:>width$}  ")),
        }
    }
    out.push_str(note);
    out.trim_end().to_owned()
}

/// A figure with six digits, in powers of ten if it is very small or large; a dash if there is none.
pub fn figure(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return "-".into() };
    match value.abs() {
        0.0 => "0".into(),
        size if !(1e-3..1e6).contains(&size) => {
            let text = format!("{value:.2e}");
            text.replace(".00e", "e").replace("0e", "e")
        }
        size => {
            let digits = (5 - size.log10().floor() as i32).max(0) as usize;
            let text = format!("{value:.digits$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_true() {
        let shown = |value: f64| figure(Some(value));
        assert_eq!(shown(0.0), "0");
        assert_eq!(shown(4.905), "4.905");
        assert_eq!(shown(176.58), "176.58");
        assert_eq!(shown(1e-9), "1e-9");
        assert_eq!(shown(-1.25e-7), "-1.25e-7");
        assert_eq!(shown(10.0), "10");
        assert_eq!(shown(0.235_000_1), "0.235");
        assert_eq!(figure(None), "-");
        assert_eq!(shown(f64::NAN), "-");
    }
}
