//! The simulator states its accuracy: experiments with a known outcome, run and set beside their references.
//!
//! A [`Case`] is an experiment: it builds a world, lets it run and returns rows (what theory says, what the thesis's
//! simulator did, what the best of other engines did, what this one does, how far off it may be and why so far) and plots. Worlds are the XML that a user would
//! write; robots and sequences are the shipped ones. The module knows no clock, socket, database or command line. Start at
//! [`case`], then take one of `cases` as the pattern for a new one.

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

/// A case that has been run.
#[derive(Debug)]
pub struct Report {
    /// Which.
    pub case: &'static Case,
    /// What came of it.
    pub findings: Findings,
}

/// What a whole call found.
#[derive(Debug)]
pub struct Verification {
    /// The engine that was asked.
    pub engine: EngineIdentity,
    /// The cases, in their order.
    pub reports: Vec<Report>,
}

/// A case that does not exist.
#[derive(Debug, Error)]
#[error("there is no case '{name}'{}; `simpartner verify --list` shows all", nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default())]
pub struct UnknownCase {
    /// What was asked for.
    pub name: String,
    /// The name that comes nearest, if one does.
    pub nearest: Option<&'static str>,
}

/// All cases, in the order in which they are shown.
pub fn all() -> impl Iterator<Item = &'static Case> {
    cases::GROUPS.iter().flat_map(|group| group.iter())
}

/// The cases of these names; without names, all of them, or the quick ones.
///
/// # Errors
/// When a name is that of no case.
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

/// Runs a case. What the engine cannot do becomes a row that says so.
///
/// # Errors
/// When a robot or a sequence that the case needs cannot be read.
pub fn run(case: &'static Case, bench: &Bench) -> Result<Report, Diagnostics> {
    let mut findings = Findings::new(bench.settings.engine);
    match (case.run)(bench, &mut findings) {
        Ok(()) => {}
        Err(Trouble::Files(problems)) => return Err(problems),
        Err(Trouble::Engine(why)) => findings.could_not(&why),
    }
    let peers = peers::all();
    for row in &mut findings.rows {
        row.peer = peers::best(&peers, &format!("{}/{}", case.name, row.name), row.reference);
    }
    Ok(Report { case, findings })
}

impl Verification {
    /// All rows, each with the name of its case before its own.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Case, &Row)> {
        self.reports.iter().flat_map(|report| report.findings.rows.iter().map(|row| (report.case, row)))
    }

    /// How many rows passed, and how many there are.
    pub fn score(&self) -> (usize, usize) {
        (self.rows().filter(|(_, row)| row.passes()).count(), self.rows().count())
    }
}
