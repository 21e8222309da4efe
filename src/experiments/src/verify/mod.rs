//! Verification of the simulator's accuracy: experiments with a known outcome, compared with their references.
//!
//! A [`Case`] is an experiment: it builds a world, simulates it and returns plots and rows. A row has the reference,
//! the figure of the thesis's simulator, the best figure of other engines, ours, and the tolerance with its reason.
//! Worlds are the XML that a user would write; robots and sequences are the shipped ones. The module knows no clock,
//! socket, database or command line. Start at [`case`], then take one of `cases` as the pattern for a new one.

pub mod bench;
pub mod case;
mod cases;
pub mod json;
pub mod math;
pub mod page;
mod peers;
pub mod table;
mod trouble;

use simpartner_description::xml::Diagnostics;
use simpartner_dynamics::EngineIdentity;
use simpartner_wire::near;
use thiserror::Error;

pub use bench::Bench;
pub use case::{Case, Findings, Row};
pub use peers::Peer;
pub use trouble::Trouble;

/// Report of a case that has been run.
#[derive(Debug)]
pub struct Report {
    /// The case.
    pub case: &'static Case,
    /// Its findings.
    pub findings: Findings,
}

/// Reports of all cases that were run.
#[derive(Debug)]
pub struct Verification {
    /// The engine that was verified.
    pub engine: EngineIdentity,
    /// Reports, in the order of the cases.
    pub reports: Vec<Report>,
}

/// Error: there is no case with this name.
#[derive(Debug, Error)]
#[error("there is no case '{name}'{}; `simpartner verify --list` shows all", nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default())]
pub struct UnknownCase {
    /// The name that was requested.
    pub name: String,
    /// The most similar name of a case, if there is a similar one.
    pub nearest: Option<&'static str>,
}

/// All cases, in the order in which they are shown.
pub fn all() -> impl Iterator<Item = &'static Case> {
    cases::GROUPS.iter().flat_map(|group| group.iter())
}

/// The cases with these names; without names, all cases, or only the quick ones.
///
/// # Errors
/// There is no case with one of the names.
pub fn select(names: &[String], quick: bool) -> Result<Vec<&'static Case>, UnknownCase> {
    for name in names {
        if !all().any(|case| case.name == name) {
            let nearest = near::nearest(name, all().map(|case| case.name));
            return Err(UnknownCase { name: name.clone(), nearest });
        }
    }
    let wanted = |case: &&Case| match names.is_empty() {
        true => case.quick || !quick,
        false => names.iter().any(|name| name == case.name),
    };
    Ok(all().filter(wanted).collect())
}

/// Runs a case. If the engine cannot run it, the report has a row with the reason.
///
/// # Errors
/// A robot or a sequence that the case needs cannot be read.
pub fn run(case: &'static Case, bench: &Bench) -> Result<Report, Diagnostics> {
    let mut findings = Findings::new(bench.settings.engine);
    match (case.run)(bench, &mut findings) {
        Ok(()) => {}
        Err(Trouble::Files(problems)) => return Err(problems),
        Err(Trouble::Engine(why)) => findings.add_failure(&why),
    }
    let peers = peers::all();
    for row in &mut findings.rows {
        row.peer = peers::best_figure(&peers, &format!("{}/{}", case.name, row.name), row.reference);
    }
    Ok(Report { case, findings })
}

impl Verification {
    /// All rows, each with its case.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Case, &Row)> {
        self.reports.iter().flat_map(|report| report.findings.rows.iter().map(|row| (report.case, row)))
    }

    /// Number of rows that passed, and of all rows.
    pub fn score(&self) -> (usize, usize) {
        (self.rows().filter(|(_, row)| row.passes()).count(), self.rows().count())
    }
}
