//! Slip in the engine of this workspace: the grasp becomes a [`world`](super::world()), which is simulated until the
//! object rests or leaves a finger.

use simpartner_dynamics::{Engine, Settings, StepCheck, Wrench, build};
use simpartner_model::{ContactKind, Grasp, Timestep};

use super::{
    FingerLines, Outcome, REST_SPEED, Slip, SlipOptions,
    world::{Softness, World, world},
};
use crate::{GraspError, Section, Statics};

/// Time for which the object has to be slow before it counts as at rest, s; at most half of the slip's duration. It is
/// longer than a swinging object is slow where it turns back.
const REST_DURATION: f64 = 0.1;
/// Largest path of an object that rests and still counts as held, in lengths of the grasp. The engine lets touching
/// surfaces approach each other by a micrometre.
const MAX_HELD_PATH: f64 = 1e-3;

/// The slip of a grasp, simulated in the engine.
#[derive(Debug, Clone)]
pub struct EngineSlip {
    /// Slip with the outer bound of soft fingers. It is exact if there are no soft fingers.
    pub slip: Slip,
    /// Slip with the inner bound; `None` if there are no soft fingers.
    pub inner: Option<Slip>,
}

impl EngineSlip {
    /// The outcome; `None` if the two bounds of soft fingers disagree.
    pub fn outcome(&self) -> Option<Outcome> {
        let agrees = self.inner.as_ref().is_none_or(|inner| inner.outcome.same_kind(self.slip.outcome));
        agrees.then_some(self.slip.outcome)
    }
}

/// Releases the object in the engine.
///
/// # Errors
/// The engine cannot represent the grasp, or its state diverges.
pub fn slip_in_engine(grasp: &Grasp, options: &SlipOptions) -> Result<EngineSlip, GraspError> {
    let is_soft = grasp.contacts.iter().any(|contact| matches!(contact.kind, ContactKind::Soft { .. }));
    let run = |softness| simulate_slip(grasp, &world(grasp, options, softness)?, options);
    Ok(EngineSlip { slip: run(Softness::Outer)?, inner: if is_soft { Some(run(Softness::Inner)?) } else { None } })
}

/// Simulates the world of a grasp until the slip ends.
fn simulate_slip(grasp: &Grasp, world: &World, options: &SlipOptions) -> Result<Slip, GraspError> {
    let timestep =
        Timestep::from_seconds(options.timestep).map_err(|error| GraspError::Unrepresentable(error.to_string()))?;
    let refused = |error: simpartner_dynamics::BuildError| GraspError::Unrepresentable(error.what);
    let mut engine = build(&world.mechanism, timestep, &Settings::default()).map_err(refused)?;
    let length = Statics::new(grasp, Section::Disc)?.length;
    let lines = FingerLines::new(grasp)?;
    let centre = world.mechanism.body(world.object).inertia.map_or(bevy_math::DVec3::ZERO, |it| it.centre_of_mass);
    let mut place = grasp.object.pose.point(centre);
    let mut found = Slip {
        outcome: Outcome::TimeOut,
        time: 0.0,
        pose: grasp.object.pose,
        path: 0.0,
        trace: vec![(0.0, place)],
        programs: 0,
    };
    let mut slow_since = None;
    let steps = (options.duration / options.timestep).ceil() as usize;
    for step in 1..=steps {
        let wrench = Wrench { force: grasp.force, torque: grasp.torque };
        engine.apply_wrench(world.object, centre, wrench);
        engine.step();
        check_divergence(engine.as_ref())?;
        let state = engine.body(world.object);
        let time = step as f64 * options.timestep;
        let now = state.pose.point(centre);
        found.path += place.distance(now);
        (place, found.time, found.pose) = (now, time, state.pose);
        found.trace.push((time, now));
        if let Err(outcome) = lines.contact_points(&state.pose) {
            return Ok(Slip { outcome, ..found });
        }
        let slow = state.linear_velocity.length() < REST_SPEED * length && state.angular_velocity.length() < REST_SPEED;
        let since = *slow_since.get_or_insert(time - options.timestep);
        if !slow {
            slow_since = None;
        } else if time - since >= REST_DURATION.min(options.duration / 2.0) {
            let (outcome, time) =
                if found.path < MAX_HELD_PATH * length { (Outcome::Holds, 0.0) } else { (Outcome::Rests, since) };
            return Ok(Slip { outcome, time, ..found });
        }
    }
    Ok(found)
}

/// Returns an error if the engine's state has diverged, because it then says nothing about the grasp.
fn check_divergence(engine: &dyn Engine) -> Result<(), GraspError> {
    match engine.step_events().iter().find(|event| event.check == StepCheck::Divergence) {
        Some(event) => Err(GraspError::Unrepresentable(event.text.clone())),
        None => Ok(()),
    }
}
