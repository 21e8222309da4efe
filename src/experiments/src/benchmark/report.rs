//! Reports: cases that were run by our engine and by others.

use serde::Serialize;
use simpartner_dynamics::Settings;

use super::{
    BenchmarkError, Clock, OURS, Outcome,
    blocks::Blocks,
    peers::{PEERS, Peers},
};

/// A case and the results of the engines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Name of the case in the published results.
    pub case: String,
    /// Title of the case.
    pub title: String,
    /// Coulomb's coefficient.
    pub friction: f64,
    /// Timestep, s.
    pub timestep_s: f64,
    /// Planned duration, s.
    pub seconds: f64,
    /// Differences from the published case.
    pub note: String,
    /// Results, that of our engine first.
    pub outcomes: Vec<Outcome>,
    /// Engines without a result, each with the reason.
    pub missing: Vec<(String, String)>,
}

impl Row {
    /// Result of our engine.
    pub fn ours(&self) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.engine == OURS)
    }
}

/// All cases of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The cases in the order in which they were run.
    pub rows: Vec<Row>,
}

/// A study of rows of blocks: every number of blocks with every coefficient at every timestep.
#[derive(Debug, Clone)]
pub struct BlocksStudy {
    /// Numbers of blocks.
    pub blocks: Vec<u32>,
    /// Coulomb's coefficients.
    pub frictions: Vec<f64>,
    /// Timesteps, s.
    pub timesteps_s: Vec<f64>,
    /// Duration of each case, s.
    pub seconds: f64,
    /// Settings of our engine.
    pub settings: Settings,
    /// Other engines, if they are to run as well.
    pub peers: Option<Peers>,
}

impl BlocksStudy {
    /// Runs all cases, one after another. `told` is called with the present activity and the progress, 0 to 1.
    ///
    /// # Errors
    /// A world cannot be built.
    pub fn run(&self, clock: Clock, told: &mut dyn FnMut(&str, f64)) -> Result<Report, BenchmarkError> {
        let mut rows = Vec::new();
        let cases = self.blocks.len() * self.frictions.len() * self.timesteps_s.len();
        for &blocks in &self.blocks {
            for &friction in &self.frictions {
                for &timestep_s in &self.timesteps_s {
                    let share = rows.len() as f64 / cases as f64;
                    let mut told = |engine: &str| told(&format!("{blocks} blocks, {engine}"), share);
                    rows.push(self.run_case(Blocks { blocks, friction }, timestep_s, clock, &mut told)?);
                }
            }
        }
        Ok(Report { rows })
    }

    fn run_case(
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
