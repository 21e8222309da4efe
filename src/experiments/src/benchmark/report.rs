//! Cases, each run by our engine and those beside it.

use serde::Serialize;
use simpartner_dynamics::Settings;

use super::{
    BenchmarkError, Clock, OURS, Outcome,
    blocks::Blocks,
    peers::{PEERS, Peers},
};

/// A case and what engines made of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// What the published results call it.
    pub case: String,
    /// What it is.
    pub title: String,
    /// Coulomb's coefficient.
    pub friction: f64,
    /// s.
    pub timestep_s: f64,
    /// How long it was to last, s.
    pub seconds: f64,
    /// What is not as published.
    pub note: String,
    /// What came of it: ours first.
    pub outcomes: Vec<Outcome>,
    /// Engines without a figure, and why.
    pub missing: Vec<(String, String)>,
}

impl Row {
    /// What our engine made of it.
    pub fn ours(&self) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.engine == OURS)
    }
}

/// All cases of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// In the order in which they were run.
    pub rows: Vec<Row>,
}

/// Rows of blocks: each number with each coefficient at each timestep.
#[derive(Debug, Clone)]
pub struct BlocksStudy {
    /// How many blocks.
    pub blocks: Vec<u32>,
    /// Coulomb's coefficients.
    pub frictions: Vec<f64>,
    /// s.
    pub timesteps_s: Vec<f64>,
    /// How long each is held, s.
    pub seconds: f64,
    /// Our engine's settings.
    pub settings: Settings,
    /// Other engines, if they are wanted.
    pub peers: Option<Peers>,
}

impl BlocksStudy {
    /// All cases, in turn. `told` hears what is being done, and how much of all is done, 0 to 1.
    ///
    /// # Errors
    /// When a world cannot be built.
    pub fn run(&self, clock: Clock, told: &mut dyn FnMut(&str, f64)) -> Result<Report, BenchmarkError> {
        let mut rows = Vec::new();
        let cases = self.blocks.len() * self.frictions.len() * self.timesteps_s.len();
        for &blocks in &self.blocks {
            for &friction in &self.frictions {
                for &timestep_s in &self.timesteps_s {
                    let share = rows.len() as f64 / cases as f64;
                    let mut told = |engine: &str| told(&format!("{blocks} blocks, {engine}"), share);
                    rows.push(self.row(Blocks { blocks, friction }, timestep_s, clock, &mut told)?);
                }
            }
        }
        Ok(Report { rows })
    }

    fn row(
        &self,
        case: Blocks,
        timestep_s: f64,
        clock: Clock,
        told: &mut dyn FnMut(&str),
    ) -> Result<Row, BenchmarkError> {
        told(OURS);
        let mut outcomes = vec![case.run(timestep_s, self.seconds, &self.settings, clock)?];
        let (mut missing, world) = (Vec::new(), case.world()?);
        if let Some(peers) = &self.peers {
            for peer in PEERS {
                told(peer);
                match peers.blocks(peer, &world.mechanism, timestep_s, self.seconds) {
                    Ok(Some(outcome)) => outcomes.push(outcome),
                    Ok(None) => missing.push((peer.to_owned(), "not installed, or it could not start".to_owned())),
                    Err(error) => missing.push((peer.to_owned(), error.to_string())),
                }
            }
        }
        Ok(Row {
            case: format!("blocks {}", case.blocks),
            title: format!("{} block{}", case.blocks, if case.blocks == 1 { "" } else { "s" }),
            friction: case.friction,
            timestep_s,
            seconds: self.seconds,
            note: String::new(),
            outcomes,
            missing,
        })
    }
}
