//! Simulation of robot mechanisms behind one trait: [`build`] makes an [`Engine`] from a [`Mechanism`], and
//! [`Engine::step`] advances it.
//!
//! Two engines exist ([`EngineKind`]): SimPartner's articulated dynamics, with robots in reduced coordinates and exact
//! Coulomb friction, and, with the feature `rapier`, [rapier](https://rapier.rs). The equations of the first are in
//! `src/engine/mod.rs`, its symbols and sources in `src/engine/NOTATION.md`. Callers need not distinguish the engines,
//! and no engine depends on devices, file formats, clocks or sockets. Frames: world axes, right-handed, y up. Units:
//! SI, radians.
//!
//! # Example
//!
//! A ball of 2 kg falls onto a plane. After 1 s it rests there, and the contact force equals its weight.
//!
//! ```
//! use bevy_math::DVec3;
//! use simpartner_dynamics::{Settings, build};
//! use simpartner_model::{Body, BodyId, Material, Mechanism, Placed, Plane, Pose, Shape, Timestep};
//!
//! let ball = Body {
//!     name: "ball".into(),
//!     mass: 2.0,
//!     pose: Pose { translation: DVec3::new(0.0, 1.0, 0.0), ..Pose::default() },
//!     shape: Some(Placed { pose: Pose::default(), shape: Shape::Sphere { radius: 0.1 } }),
//!     ..Body::default()
//! };
//! let mechanism = Mechanism {
//!     gravity: DVec3::new(0.0, -9.81, 0.0),
//!     grounds: vec![Plane { normal: DVec3::Y, distance: 0.0, material: Material::default() }.into()],
//!     bodies: vec![ball],
//!     ..Mechanism::default()
//! };
//! let mut engine = build(&mechanism, Timestep::MILLISECOND, &Settings::default())?;
//! for _ in 0..1000 {
//!     engine.step();
//! }
//! let ball = engine.body(BodyId::new(0));
//! assert!((ball.pose.translation.y - 0.1).abs() < 1e-5, "its radius above the plane");
//! assert!((ball.force.y - 2.0 * 9.81).abs() < 1e-9, "its weight");
//! # Ok::<(), simpartner_dynamics::BuildError>(())
//! ```

mod ellipsoid;
mod engine;
mod engine_trait;
mod error;
mod mass;
mod motor;
#[cfg(feature = "rapier")]
mod rapier;
mod rays;
mod settings;
mod shape;
pub mod soil;
mod state;
mod step_event;

pub use engine::{Equations, Probe};
pub use engine_trait::{Engine, EngineIdentity, PreviousIds, Snapshot};
pub use error::{BuildError, SnapshotError};
pub use mass::{MassProperties, give_inertias, mass_properties, volume};
pub use motor::{Motor, Servo};
pub use rays::{Ray, RayScene, RaySceneState};
pub use settings::{DynamicsSettings, EngineKind, ImpactLaw, Integrator, RapierSettings, Settings};
pub use shape::{RayTarget, convex_parts, hull_surface};
pub use state::{
    BodyState, ContactPoint, EnergyBalance, JointLoad, JointState, Rut, RutChanges, RutTile, SoilReading, Wrench,
    rut_axes,
};
pub use step_event::{StepCheck, StepEvent};

use parry3d_f64 as parry;
use simpartner_model::{Mechanism, Timestep};
pub use simpartner_model::{RUT_CELL, RUT_TILE, RutDepths};

/// Builds another engine at step 0 of the model of `engine`, equal to one that [`build`] builds, bit for bit. Where the
/// engine supports it, both share what never changes, such as terrain and hulls. `mechanism` and `settings` are those
/// of `engine`.
///
/// # Errors
/// As those of [`build`].
pub fn build_again(
    engine: &dyn Engine,
    mechanism: &Mechanism,
    timestep: Timestep,
    settings: &Settings,
) -> Result<Box<dyn Engine>, BuildError> {
    match engine.build_sharing(mechanism, timestep, settings)? {
        Some(engine) => Ok(engine),
        None => build(mechanism, timestep, settings),
    }
}

/// Builds the engine selected by `settings`, at step 0 of the world.
///
/// # Errors
/// If the engine cannot represent an element of the world. The message names the element and its place in the file.
pub fn build(mechanism: &Mechanism, timestep: Timestep, settings: &Settings) -> Result<Box<dyn Engine>, BuildError> {
    match settings.engine {
        EngineKind::Dynamics => Ok(Box::new(engine::Dynamics::build(mechanism, timestep, settings, None)?)),
        #[cfg(feature = "rapier")]
        EngineKind::Rapier => Ok(Box::new(rapier::Rapier::build(mechanism, timestep, settings)?)),
        #[cfg(not(feature = "rapier"))]
        EngineKind::Rapier => Err(BuildError {
            place: "physics.engine".into(),
            what:
                "this program was built without rapier; choose the engine dynamics, or build it with the feature rapier"
                    .into(),
        }),
    }
}
