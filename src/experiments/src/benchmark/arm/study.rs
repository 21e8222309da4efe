//! Variants of the arm, each run by our engine and, if requested, by MuJoCo.

use simpartner_dynamics::Settings;

use super::case::{Arm, Control, Start};
use crate::benchmark::{
    BenchmarkError, Clock, Outcome,
    peers::Peers,
    report::{Report, Row},
};

/// A study of the arm: every case at every timestep.
#[derive(Debug, Clone)]
pub struct ArmStudy {
    /// The cases.
    pub cases: Vec<Arm>,
    /// Timesteps, s.
    pub timesteps_s: Vec<f64>,
    /// Duration of each case, s.
    pub seconds: f64,
    /// Settings of our engine.
    pub settings: Settings,
    /// Other engines, if they are to run as well.
    pub peers: Option<Peers>,
}

impl ArmStudy {
    /// Runs all cases, one after another. `told` is called with the present activity and the progress, 0 to 1.
    ///
    /// # Errors
    /// A world cannot be built.
    pub fn run(&self, clock: Clock, told: &mut dyn FnMut(&str, f64)) -> Result<Report, BenchmarkError> {
        let mut rows = Vec::new();
        for arm in &self.cases {
            for &timestep_s in &self.timesteps_s {
                let share = rows.len() as f64 / (self.cases.len() * self.timesteps_s.len()) as f64;
                told(&arm.name(), share);
                rows.push(self.run_case(arm, timestep_s, clock)?);
            }
        }
        Ok(Report { rows })
    }

    fn run_case(&self, arm: &Arm, timestep_s: f64, clock: Clock) -> Result<Row, BenchmarkError> {
        let (ours, angles) = arm.run(timestep_s, self.seconds, &self.settings, clock)?;
        let (mut outcomes, mut missing) = (vec![ours], Vec::new());
        if let Some(peers) = &self.peers {
            match peers.arm(arm, timestep_s, self.seconds) {
                Ok(Some((outcome, own))) => {
                    outcomes.push(Outcome { joints: own.tracking_errors(Some(&angles)), ..outcome })
                }
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
