//! Logged runs as worlds whose bodies are where a step has them. A log has no ruts: where soil can have some, the run
//! is repeated beside it.

use bevy_math::{DQuat, DVec3};
use simpartner_description::{World, xml};
use simpartner_model::{BodyId, Moment, Pose, RutDepths, StepIndex};
use simpartner_terminal::output::note;
use simpartner_wire::signal::Layout;

use super::super::{
    exit::CliError,
    logged::{Bar, LogArguments, RunName},
};
use crate::{
    device,
    recorder::{Reader, RecordedRun},
    replay::{Replay, ReplayError},
};

/// A run in a log, with its world.
pub(super) struct LoggedWorld {
    runtime: tokio::runtime::Runtime,
    reader: Reader,
    run: RecordedRun,
    layout: Layout,
    /// Poses of the bodies before the first step.
    start: Vec<Pose>,
    /// The run once more, in a world with soil.
    replay: Option<Replay>,
    /// The world; its bodies are where the last step that was read has them.
    pub(super) world: World,
}

impl LoggedWorld {
    /// Opens a run.
    pub(super) fn open_run(name: &RunName, log: &LogArguments) -> Result<Self, CliError> {
        let (inquiry, run) = log.open(name)?;
        let reader = Reader::new(inquiry.database());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let sources = runtime.block_on(reader.sources(run.simulation_id))?;
        let world = xml::read_kept(&sources)?;
        let devices = world.devices.iter().map(|spec| device::describe(spec, &world, run.timestep)).collect();
        let layout = Layout::new(world.mechanism.bodies.len(), world.mechanism.joints.len(), devices);
        let start = world.mechanism.bodies.iter().map(|body| body.pose).collect();
        let has_soil = world.mechanism.grounds.iter().any(|ground| ground.material().soil.is_some());
        let mut logged = Self { runtime, reader, run, layout, start, replay: None, world };
        if has_soil {
            let (inquiry, run) = log.open(name)?;
            match Replay::open(inquiry, run) {
                Ok(replay) => logged.replay = Some(replay),
                Err(error) => logged.leave_out_ruts(&error),
            }
        }
        Ok(logged)
    }

    /// The ruts in the step that was read last.
    pub(super) fn present_ruts(&self) -> Vec<(usize, RutDepths)> {
        self.replay.as_ref().map_or_else(Vec::new, |replay| replay.simulation().rut_depths())
    }

    fn leave_out_ruts(&mut self, error: &ReplayError) {
        note(format_args!("warning: the pictures show no ruts, because the run cannot be repeated: {error}"));
        self.replay = None;
    }

    /// Number of the run.
    pub(super) fn run_number(&self) -> i64 {
        self.run.simulation_id
    }

    /// The step of a time, which must be logged, or stand for one that the log leaves out.
    pub(super) fn step_of(&self, moment: Moment) -> u64 {
        moment.nanoseconds(self.run.timestep) / self.run.timestep.nanoseconds()
    }

    /// Number of steps in a second.
    pub(super) fn steps_per_second(&self) -> f64 {
        1.0 / self.run.timestep.seconds()
    }

    /// Puts the bodies where a step of the run has them. No log has step 0: at the beginning of a run that starts from
    /// its model, they are where the model has them.
    pub(super) fn go_to(&mut self, step: u64) -> Result<(), CliError> {
        if step == 0 && self.run.origin.is_none() {
            for (body, pose) in self.world.mechanism.bodies.iter_mut().zip(&self.start) {
                body.pose = *pose;
            }
            return Ok(());
        }
        let steps = self.reader.steps(self.run.simulation_id, &self.layout, step, 1, 1);
        let record = self.runtime.block_on(steps)?.into_iter().next();
        let number = self.run.simulation_id;
        let record = record.ok_or_else(|| {
            let time = |step: u64| step as f64 * self.run.timestep.seconds();
            let range = self.run.steps.map_or("it has no logged steps".into(), |(first, last)| {
                format!("its log has steps {first} to {last}, {} to {} s", time(first), time(last))
            });
            CliError::Usage(format!("--at: run {number} has no step {step}: {range}"))
        })?;
        for (index, body) in self.world.mechanism.bodies.iter_mut().enumerate() {
            let [x, y, z, qx, qy, qz, qw] = record.values[self.layout.pose(BodyId::new(index))] else { continue };
            let pose = Pose { translation: DVec3::new(x, y, z), rotation: DQuat::from_xyzw(qx, qy, qz, qw) };
            if !(pose.translation.is_finite() && pose.rotation.is_finite()) {
                let name = &body.name;
                return Err(CliError::Input(format!(
                    "run {number} has no pose of the body '{name}' in its log; record it with log.bodies = \"*\""
                )));
            }
            body.pose = pose;
        }
        self.repeat_up_to(step);
        Ok(())
    }

    fn repeat_up_to(&mut self, step: u64) {
        if let Some(replay) = &mut self.replay
            && let Err(error) = replay.go_to(StepIndex(step), &mut Bar::new())
        {
            self.leave_out_ruts(&error);
        }
    }
}
