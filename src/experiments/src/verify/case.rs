//! What a case is, and what it brings back.

use simpartner_dynamics::EngineKind;
use simpartner_plot::Plot;

use super::{Bench, Peer, trouble::Trouble};

/// An experiment with a known outcome.
#[derive(Debug)]
pub struct Case {
    /// Its name on the command line.
    pub name: &'static str,
    /// What physics it tests, in one line.
    pub physics: &'static str,
    /// Where its reference comes from, in one line.
    pub source: &'static str,
    /// How far off it may be, and why so far.
    pub tolerance: &'static str,
    /// Whether it is over in a moment, and so part of the tests.
    pub quick: bool,
    /// Runs it.
    pub run: fn(&Bench, &mut Findings) -> Result<(), Trouble>,
}

/// One figure beside its reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was measured; unique in its case.
    pub name: String,
    /// SI unit, `1` for a plain number.
    pub unit: &'static str,
    /// What theory or measurement says it must be; not a number where a case ended before it could say.
    pub reference: f64,
    /// The figure of the thesis, where it has one.
    pub thesis: Option<f64>,
    /// The figure of the best of other engines, where they were tried.
    pub peer: Option<Peer>,
    /// Our figure, if there is one.
    pub measured: Option<f64>,
    /// How far it may be from the reference; infinite where it only must not be below it.
    pub tolerance: f64,
    /// What a reader should know.
    pub note: String,
    /// Why a miss of an engine is a miss.
    reasons: Vec<(EngineKind, &'static str)>,
}

impl Row {
    /// A row still to be measured.
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

    /// A row still to be measured, whose reference is a bound from below.
    pub fn at_least(name: impl Into<String>, unit: &'static str, reference: f64) -> Self {
        Self::new(name, unit, reference, f64::INFINITY)
    }

    /// With the thesis's figure.
    pub fn thesis(self, figure: f64) -> Self {
        Self { thesis: Some(figure), ..self }
    }

    /// With a note.
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// With the reason, if it is known, for which this engine misses.
    pub fn if_missed_by(mut self, engine: EngineKind, reason: &'static str) -> Self {
        self.reasons.push((engine, reason));
        self
    }

    /// Whether the figure is there and near enough.
    pub fn passes(&self) -> bool {
        self.measured.is_some_and(|measured| match self.is_bound() {
            true => measured >= self.reference,
            false => (measured - self.reference).abs() <= self.tolerance,
        })
    }

    /// Whether the reference is a bound from below.
    pub fn is_bound(&self) -> bool {
        self.tolerance == f64::INFINITY
    }
}

/// What a case found.
#[derive(Debug)]
pub struct Findings {
    /// Figures.
    pub rows: Vec<Row>,
    /// Plots.
    pub plots: Vec<Plot>,
    /// The worlds it ran, as a user would write them, each with a title.
    pub worlds: Vec<(String, String)>,
    engine: EngineKind,
}

impl Findings {
    pub(super) fn new(engine: EngineKind) -> Self {
        Self { rows: Vec::new(), plots: Vec::new(), worlds: Vec::new(), engine }
    }

    /// Runs something and writes what it measured into rows, one figure each. Where the engine cannot do it the rows stay
    /// without figures and say why.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn measure<const N: usize>(
        &mut self,
        rows: [Row; N],
        run: impl FnOnce(&mut Self) -> Result<[f64; N], Trouble>,
    ) -> Result<(), Trouble> {
        match run(self) {
            Ok(figures) => {
                for (mut row, figure) in rows.into_iter().zip(figures) {
                    row.measured = figure.is_finite().then_some(figure);
                    self.push(row);
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

    /// Shows a world that was run.
    pub fn world(&mut self, title: impl Into<String>, text: &str) {
        self.worlds.push((title.into(), text.to_owned()));
    }

    /// The row of a case that ended before it could measure anything.
    pub(super) fn could_not(&mut self, why: &str) {
        self.rows.push(Row::new("run", "1", f64::NAN, f64::NAN).note(why));
    }

    fn push(&mut self, mut row: Row) {
        if !row.passes() {
            for (_, reason) in row.reasons.iter().filter(|(engine, _)| *engine == self.engine) {
                let gap = if row.note.is_empty() { "" } else { "; " };
                row.note = format!("{}{gap}{reason}", row.note);
            }
        }
        self.rows.push(row);
    }
}
