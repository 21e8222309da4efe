//! The report as one self-contained HTML file: it has no scripts, and loads no fonts or pictures.

use std::fmt::Write;

use super::{
    Report, Row, Verification,
    table::{figure, tolerance},
};
use simpartner_plot::escape;

/// Style sheet of the page and of the plots in it, with a dark variant for systems that prefer it.
const STYLE_SHEET: &str = include_str!("page.css");

/// The report as an HTML page.
pub fn page(verification: &Verification) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_page(verification, &mut out);
    out
}

fn write_page(verification: &Verification, out: &mut String) -> std::fmt::Result {
    let (passed, all) = verification.score();
    let engine = &verification.engine;
    write!(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")?;
    writeln!(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
    write!(out, "<title>SimPartner: verification</title>\n<style>\n{STYLE_SHEET}</style>\n</head>\n<body>\n<main>\n")?;
    write!(
        out,
        "<header><h1>What SimPartner measures of itself</h1>\n<p class=\"lead\">Engine <b>{}</b> {} ",
        escape(engine.name),
        escape(engine.version)
    )?;
    writeln!(out, "<span class=\"quiet\">{}</span></p>", escape(engine.features))?;
    write!(out, "<p class=\"score\"><b>{passed}</b> of {all} figures within tolerance")?;
    if passed < all {
        write!(out, ", <b class=\"miss\">{} missed</b>", all - passed)?;
    }
    writeln!(
        out,
        "</p>\n<p class=\"quiet\">Each experiment has an outcome that is known from theory or measurement. The thesis is P. Heiskanen, <i>Development of a dynamic simulator of a mobile robot for astronaut assistance</i>, 2008, whose chapter 4 made most of them first, with the engine ODE.</p></header>"
    )?;
    write_contents(verification, out)?;
    for report in &verification.reports {
        write_case(report, out)?;
    }
    writeln!(out, "</main>\n</body>\n</html>")
}

fn write_contents(verification: &Verification, out: &mut String) -> std::fmt::Result {
    writeln!(out, "<nav>\n<ul>")?;
    for report in &verification.reports {
        let missed = report.findings.rows.iter().filter(|row| !row.passes()).count();
        let (class, mark) =
            if missed == 0 { ("pass", "\u{2713}".to_owned()) } else { ("miss", format!("{missed} missed")) };
        writeln!(out, "<li><a href=\"#{0}\">{0}</a> <span class=\"{class}\">{mark}</span></li>", report.case.name)?;
    }
    writeln!(out, "</ul>\n</nav>")
}

fn write_case(report: &Report, out: &mut String) -> std::fmt::Result {
    let (case, findings) = (report.case, &report.findings);
    writeln!(
        out,
        "<section id=\"{0}\">\n<h2><a href=\"#{0}\">{0}</a></h2>\n<p class=\"physics\">{1}</p>",
        case.name,
        escape(case.physics)
    )?;
    writeln!(
        out,
        "<dl><dt>Reference</dt><dd>{}</dd><dt>Tolerance</dt><dd>{}</dd></dl>",
        escape(case.source),
        escape(case.tolerance)
    )?;
    writeln!(
        out,
        "<div class=\"table\"><table>\n<thead><tr><th>figure</th><th>unit</th><th class=\"n\">reference</th><th class=\"n\">thesis</th><th class=\"n\">best peer</th><th class=\"n\">ours</th><th class=\"n\">tolerance</th><th></th><th>note</th></tr></thead>\n<tbody>"
    )?;
    for row in &findings.rows {
        write_row(row, out)?;
    }
    writeln!(out, "</tbody></table></div>")?;
    if !findings.plots.is_empty() {
        let figures: Vec<String> =
            findings.plots.iter().map(|plot| format!("<figure>{}</figure>", plot.svg())).collect();
        writeln!(out, "<div class=\"plots\">\n{}\n</div>", figures.join("\n"))?;
    }
    for (title, text) in &findings.worlds {
        writeln!(out, "<details><summary>{}</summary><pre>{}</pre></details>", escape(title), escape(text))?;
    }
    writeln!(out, "</section>")
}

fn write_row(row: &Row, out: &mut String) -> std::fmt::Result {
    let (class, verdict) = if row.passes() { ("pass", "pass") } else { ("miss", "MISS") };
    write!(out, "<tr class=\"{class}\"><td>{}</td><td>{}</td>", escape(&row.name), escape(row.unit))?;
    for value in [Some(row.reference), row.thesis] {
        write!(out, "<td class=\"n\">{}</td>", figure(value))?;
    }
    match &row.peer {
        Some(peer) => write!(
            out,
            "<td class=\"n\">{}<br><span class=\"quiet\">{}</span></td>",
            figure(Some(peer.figure)),
            escape(&peer.name)
        )?,
        None => write!(out, "<td class=\"n\">-</td>")?,
    }
    write!(out, "<td class=\"n\">{}</td>", figure(row.measured))?;
    write!(out, "<td class=\"n\">{}</td>", tolerance(row))?;
    writeln!(out, "<td class=\"verdict\">{verdict}</td><td class=\"note\">{}</td></tr>", escape(&row.note))
}
