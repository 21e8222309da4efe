//! Variants of the arm, each run by our engine and, where wanted, by MuJoCo.

use simpartner_dynamics::Settings;

use super::case::{Arm, Control, Start};
use crate::benchmark::{
    BenchmarkError, Clock, Outcome,
    peers::Peers,
    report::{Report, Row},
};

/// The cases of a call.
#[derive(Debug, Clone)]
pub struct ArmStudy {
    /// The cases.
    pub cases: Vec<Arm>,
    /// s.
    pub timesteps_s: Vec<f64>,
    /// How long each is held, s.
    pub seconds: f64,
    /// Our engine's settings.
    pub settings: Settings,
    /// Other engines, if they are wanted.
    pub peers: Option<Peers>,
}

impl ArmStudy {
    /// All cases, in turn. `told` hears what is being done, and how much of all is done, 0 to 1.
    ///
    /// # Errors
    /// When a world cannot be built.
    pub fn run(&self, clock: Clock, told: &mut dyn FnMut(&str, f64)) -> Result<Report, BenchmarkError> {
        let mut rows = Vec::new();
        for arm in &self.cases {
            for &timestep_s in &self.timesteps_s {
                let share = rows.len() as f64 / (self.cases.len() * self.timesteps_s.len()) as f64;
                told(&arm.name(), share);
                rows.push(self.row(arm, timestep_s, clock)?);
            }
        }
        Ok(Report { rows })
    }

    fn row(&self, arm: &Arm, timestep_s: f64, clock: Clock) -> Result<Row, BenchmarkError> {
        let (ours, angles) = arm.run(timestep_s, self.seconds, &self.settings, clock)?;
        let (mut outcomes, mut missing) = (vec![ours], Vec::new());
        if let Some(peers) = &self.peers {
            match peers.arm(arm, timestep_s, self.seconds) {
                Ok(Some((outcome, own))) => outcomes.push(Outcome { joints: own.errors(Some(&angles)), ..outcome }),
                Ok(None) => missing.push(("mujoco".to_owned(), "not installed, or it could not start".to_owned())),
                Err(error) => missing.push(("mujoco".to_owned(), error.to_string())),
            }
        }
        let mut notes = Vec::new();
        if arm.control == Control::Explicit {
            notes.push("torques of the start of each step");
        }
        if arm.start == Start::Published {
            notes.push("starts 0.5 mm from the fingers, at rest");
        }
        Ok(Row {
            case: format!("arm {}", arm.name()),
            title: format!("arm {}", arm.name()),
            friction: arm.friction,
            timestep_s,
            seconds: self.seconds,
            note: notes.join("; "),
            outcomes,
            missing,
        })
    }
}
