//! Slip in the engine of this workspace: the grasp as a [`world`](super::world()), let go and watched.

use simpartner_dynamics::{Engine, Guard, Settings, Wrench, build};
use simpartner_model::{ContactKind, Grasp, Timestep};

use super::{
    Lines, Outcome, RESTING, Slip, SlipOptions,
    world::{Softness, World, world},
};
use crate::{GraspError, Section, Statics};

/// It rests once it has been slow for so long, s, or for half of a slip that is to take less: longer than what swings is slow where it turns.
const AT_REST: f64 = 0.1;
/// An object that rests after it has settled by less than this, in lengths of the grasp, has held: the engine lets surfaces that touch come
/// nearer by a micrometre.
const SETTLED: f64 = 1e-3;

/// What the engine makes of a grasp.
#[derive(Debug, Clone)]
pub struct EngineSlip {
    /// With the outer bound of soft fingers, which is exact without them.
    pub slip: Slip,
    /// With the inner bound, where there are soft fingers.
    pub inner: Option<Slip>,
}

impl EngineSlip {
    /// What becomes of the object; `None` where the two bounds of soft fingers disagree.
    pub fn outcome(&self) -> Option<Outcome> {
        let agrees = self.inner.as_ref().is_none_or(|inner| inner.outcome.same_kind(self.slip.outcome));
        agrees.then_some(self.slip.outcome)
    }
}

/// Lets the object go in the engine.
///
/// # Errors
/// Where the engine cannot represent the grasp, or loses it.
pub fn slip_in_engine(grasp: &Grasp, options: &SlipOptions) -> Result<EngineSlip, GraspError> {
    let is_soft = grasp.contacts.iter().any(|contact| matches!(contact.kind, ContactKind::Soft { .. }));
    let run = |softness| run(grasp, &world(grasp, options, softness)?, options);
    Ok(EngineSlip { slip: run(Softness::Outer)?, inner: if is_soft { Some(run(Softness::Inner)?) } else { None } })
}

fn run(grasp: &Grasp, world: &World, options: &SlipOptions) -> Result<Slip, GraspError> {
    let timestep =
        Timestep::from_seconds(options.timestep).map_err(|error| GraspError::Unrepresentable(error.to_string()))?;
    let refused = |error: simpartner_dynamics::BuildError| GraspError::Unrepresentable(error.what);
    let mut engine = build(&world.mechanism, timestep, &Settings::default()).map_err(refused)?;
    let length = Statics::new(grasp, Section::Disc)?.length;
    let lines = Lines::new(grasp)?;
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
        engine.push(world.object, centre, wrench);
        engine.step();
        watch(engine.as_ref())?;
        let state = engine.body(world.object);
        let time = step as f64 * options.timestep;
        let now = state.pose.point(centre);
        found.path += place.distance(now);
        (place, found.time, found.pose) = (now, time, state.pose);
        found.trace.push((time, now));
        if let Err(outcome) = lines.touch(&state.pose) {
            return Ok(Slip { outcome, ..found });
        }
        let slow = state.linear_velocity.length() < RESTING * length && state.angular_velocity.length() < RESTING;
        let since = *slow_since.get_or_insert(time - options.timestep);
        if !slow {
            slow_since = None;
        } else if time - since >= AT_REST.min(options.duration / 2.0) {
            let (outcome, time) =
                if found.path < SETTLED * length { (Outcome::Holds, 0.0) } else { (Outcome::Rests, since) };
            return Ok(Slip { outcome, time, ..found });
        }
    }
    Ok(found)
}

/// An engine that has lost the object says nothing about the grasp.
fn watch(engine: &dyn Engine) -> Result<(), GraspError> {
    match engine.notices().iter().find(|notice| notice.guard == Guard::Divergence) {
        Some(notice) => Err(GraspError::Unrepresentable(notice.text.clone())),
        None => Ok(()),
    }
}
