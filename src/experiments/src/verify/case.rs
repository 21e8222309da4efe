//! Cases of the verification, and their findings.

use simpartner_dynamics::EngineKind;
use simpartner_plot::Plot;

use super::{Bench, Peer, trouble::Trouble};

/// An experiment with a known outcome.
#[derive(Debug)]
pub struct Case {
    /// Name on the command line.
    pub name: &'static str,
    /// The physics that is tested, in one line.
    pub physics: &'static str,
    /// Source of the reference, in one line.
    pub source: &'static str,
    /// Tolerances and their reasons.
    pub tolerance: &'static str,
    /// True if the case is quick enough to be part of the tests.
    pub quick: bool,
    /// Runs the case.
    pub run: fn(&Bench, &mut Findings) -> Result<(), Trouble>,
}

/// A figure and its reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name of the quantity, unique in its case.
    pub name: String,
    /// SI unit, `1` for a dimensionless number.
    pub unit: &'static str,
    /// Value by theory or measurement; NaN if the case ended before it was known.
    pub reference: f64,
    /// Figure of the thesis, if it has one.
    pub thesis: Option<f64>,
    /// Best figure of other engines, if they were tried.
    pub peer: Option<Peer>,
    /// Our figure, if there is one.
    pub measured: Option<f64>,
    /// Largest difference from the reference; infinite if the reference is a lower bound.
    pub tolerance: f64,
    /// Remark for the reader.
    pub note: String,
    /// Known reasons for which engines miss the reference.
    reasons: Vec<(EngineKind, &'static str)>,
}

impl Row {
    /// A row without a figure yet.
    pub fn new(name: impl Into<String>, unit: &'static str, reference: f64, tolerance: f64) -> Self {
        Self {
            name: name.into(),
            unit,
            reference,
            thesis: None,
            peer: None,
            measured: None,
            tolerance,
            note: String::new(),
            reasons: Vec::new(),
        }
    }

    /// A row without a figure yet, whose reference is a lower bound.
    pub fn at_least(name: impl Into<String>, unit: &'static str, reference: f64) -> Self {
        Self::new(name, unit, reference, f64::INFINITY)
    }

    /// Sets the thesis's figure.
    pub fn thesis(self, figure: f64) -> Self {
        Self { thesis: Some(figure), ..self }
    }

    /// Sets the note.
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Adds a known reason for which this engine misses the reference.
    pub fn if_missed_by(mut self, engine: EngineKind, reason: &'static str) -> Self {
        self.reasons.push((engine, reason));
        self
    }

    /// True if there is a figure and it is within the tolerance.
    pub fn passes(&self) -> bool {
        self.measured.is_some_and(|measured| match self.is_bound() {
            true => measured >= self.reference,
            false => (measured - self.reference).abs() <= self.tolerance,
        })
    }

    /// True if the reference is a lower bound.
    pub fn is_bound(&self) -> bool {
        self.tolerance == f64::INFINITY
    }
}

/// Findings of a case.
#[derive(Debug)]
pub struct Findings {
    /// Figures.
    pub rows: Vec<Row>,
    /// Plots.
    pub plots: Vec<Plot>,
    /// The worlds that were run, as a user would write them: title and XML text.
    pub worlds: Vec<(String, String)>,
    engine: EngineKind,
}

impl Findings {
    pub(super) fn new(engine: EngineKind) -> Self {
        Self { rows: Vec::new(), plots: Vec::new(), worlds: Vec::new(), engine }
    }

    /// Runs an experiment and enters its figures into the rows, one figure each. If the engine cannot run the
    /// experiment, the rows stay without figures and note the reason.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn measure<const N: usize>(
        &mut self,
        rows: [Row; N],
        run: impl FnOnce(&mut Self) -> Result<[f64; N], Trouble>,
    ) -> Result<(), Trouble> {
        match run(self) {
            Ok(figures) => {
                for (mut row, figure) in rows.into_iter().zip(figures) {
                    row.measured = figure.is_finite().then_some(figure);
                    self.add_row(row);
                }
            }
            Err(Trouble::Engine(why)) => {
                self.rows.extend(rows.into_iter().map(|row| {
                    let row = Row { reasons: Vec::new(), ..row };
                    row.note(why.clone())
                }));
            }
            Err(files @ Trouble::Files(_)) => return Err(files),
        }
        Ok(())
    }

    /// Adds a plot.
    pub fn plot(&mut self, plot: Plot) {
        self.plots.push(plot);
    }

    /// Adds a world that was run.
    pub fn world(&mut self, title: impl Into<String>, text: &str) {
        self.worlds.push((title.into(), text.to_owned()));
    }

    /// Adds the row of a case that ended before it could measure anything.
    pub(super) fn add_failure(&mut self, why: &str) {
        self.rows.push(Row::new("run", "1", f64::NAN, f64::NAN).note(why));
    }

    /// Adds a row. If it misses, the known reasons for the present engine are appended to its note.
    fn add_row(&mut self, mut row: Row) {
        if !row.passes() {
            for (_, reason) in row.reasons.iter().filter(|(engine, _)| *engine == self.engine) {
                let gap = if row.note.is_empty() { "" } else { "; " };
                row.note = format!("{}{gap}{reason}", row.note);
            }
        }
        self.rows.push(row);
    }
}
