//! What can be read of a world after a step.

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, Norm, Pose};

/// A body faster than this has run away, m/s: a hundred times what any robot or projectile does, and its square is far
/// from overflow.
pub(super) const RUNAWAY_SPEED: f64 = 1e5;
/// A body that spins faster than this has run away, rad/s: likewise.
pub(super) const RUNAWAY_SPIN: f64 = 1e6;
/// A body farther away than this has run away, m: a hundred times what any vehicle covers in a day, and near it
/// rounding is still far below a millimetre.
pub(super) const RUNAWAY_DISTANCE: f64 = 1e6;

/// The state of a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyState {
    /// `world_from_body`.
    pub pose: Pose,
    /// Velocity of the centre of mass, m/s.
    pub linear_velocity: DVec3,
    /// Angular velocity, rad/s.
    pub angular_velocity: DVec3,
    /// The sum of the contact forces on the body, mean over the step, N.
    pub force: DVec3,
    /// Their torque about the body's centre of mass, N m.
    pub torque: DVec3,
}

/// A force, and a torque about a point that goes with its name. World axes, N and N m.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Wrench {
    /// Force, N.
    pub force: DVec3,
    /// Torque, N m.
    pub torque: DVec3,
}

/// The energy of a world, J. What friction, dampers, stops and impacts take is lost: `stored` grows by less than
/// `given`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EnergyBalance {
    /// Kinetic energy of bodies and rotors, and what gravity and the springs of joints hold. A spring or a rotor of a
    /// joint that closes a loop is not in it.
    pub stored: f64,
    /// The kinetic part.
    pub kinetic: f64,
    /// What motors and pushes gave in the last step, and springs and rotors of joints that close loops.
    pub given: f64,
}

/// A point where two bodies touched in a step; forces are means over it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactPoint {
    /// The two bodies; `None` is the ground.
    pub bodies: [Option<BodyId>; 2],
    /// Where, world frame, metres.
    pub point: DVec3,
    /// Unit normal from the first body to the second.
    pub normal: DVec3,
    /// Distance of the two surfaces, metres, negative for penetration.
    pub gap: f64,
    /// What the first exerts on the second at the point: force, and torque of rolling and torsional friction.
    pub wrench: Wrench,
}

/// The state of a joint. Locked coordinates read zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointState {
    /// Where its origin is, which is fixed to the child, metres.
    pub anchor: DVec3,
    /// Its coordinates, rad or m.
    pub position: [f64; 3],
    /// Their rates, rad/s or m/s.
    pub rate: [f64; 3],
    /// What the motor of each coordinate exerts on the child about or along its axis, N m or N, mean over the step.
    pub effort: [f64; 3],
    /// What else the joint transmits; `None` from an engine that cannot tell.
    pub load: Option<JointLoad>,
}

/// What a joint transmits, means over the step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JointLoad {
    /// What the stops of each coordinate exert on the child, N m or N.
    pub stop: [f64; 3],
    /// What spring, damping, dry friction and the rotor's inertia of each coordinate exert on the child, N m or N.
    pub passive: [f64; 3],
    /// All that the parent exerts on the child through the joint, torque about the anchor. Its component along an axis
    /// is the sum of effort, stop and passive there.
    pub reaction: Wrench,
}

impl JointState {
    /// A joint at the origin that does nothing.
    pub const ZERO: Self =
        Self { anchor: DVec3::ZERO, position: [0.0; 3], rate: [0.0; 3], effort: [0.0; 3], load: None };
}

impl BodyState {
    /// Whether [`complaint`](Self::complaint) has nothing to say.
    #[inline]
    pub(super) fn is_sound(&self) -> bool {
        let (speed, spin) = (self.linear_velocity.length_squared(), self.angular_velocity.length_squared());
        let (distance, turn) = (self.pose.translation.length_squared(), self.pose.rotation.length_squared());
        let push = self.force.length_squared() + self.torque.length_squared();
        let near = distance <= RUNAWAY_DISTANCE * RUNAWAY_DISTANCE;
        let slow = speed <= RUNAWAY_SPEED * RUNAWAY_SPEED && spin <= RUNAWAY_SPIN * RUNAWAY_SPIN;
        near && slow && (turn + push).is_finite()
    }

    /// What is wrong with a state that nobody should read, and its figure.
    pub(super) fn complaint(&self) -> Option<(String, f64)> {
        if self.is_sound() {
            return None;
        }
        let sizes = [self.pose.translation, self.linear_velocity, self.angular_velocity, self.force, self.torque];
        let finite = sizes.iter().all(|size| size.length_squared().is_finite()) && self.pose.rotation.is_finite();
        let [distance, speed, spin, ..] = sizes.map(DVec3::length);
        Some(if !finite {
            ("is in no finite state".into(), f64::NAN)
        } else if speed > RUNAWAY_SPEED {
            (format!("has run away at {speed:.3e} m/s"), speed)
        } else if spin > RUNAWAY_SPIN {
            (format!("has run away at {spin:.3e} rad/s"), spin)
        } else {
            (format!("has run away to {distance:.3e} m from the origin"), distance)
        })
    }
}

/// Axis times angle of a rotation, the angle from 0 to pi.
pub(super) fn rotation_vector(rotation: DQuat) -> DVec3 {
    let rotation = if rotation.w < 0.0 { -rotation } else { rotation };
    let vector = DVec3::new(rotation.x, rotation.y, rotation.z);
    let sine = vector.norm();
    // Below this the angle is twice the sine to the last bit.
    if sine < 1e-9 { vector * 2.0 } else { vector * (2.0 * libm::atan2(sine, rotation.w) / sine) }
}

/// Side of the cells of soil whose depths are kept, m: a tenth of a rover's wheel.
pub const RUT_CELL: f64 = 0.01;

/// A cell of soil that was pressed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rut {
    /// x and z of its middle in the world, m. On ground steeper than 60 degrees, along two axes of the ground instead.
    pub place: [f64; 2],
    /// How deep it was left below the surface that was there at first, along the ground's normal, m; above 0.
    pub depth: f64,
}

/// Cells along the side of a tile of ruts.
pub const RUT_TILE: usize = 32;

/// A square of cells of soil, some of which were pressed.
#[derive(Debug, Clone, PartialEq)]
pub struct RutTile {
    /// The ground, by its number in the mechanism.
    pub ground: usize,
    /// Its number along each of the ground's [`rut_axes`]: it begins at so many times the side of a tile, [`RUT_TILE`]
    /// cells of [`RUT_CELL`].
    pub tile: [i32; 2],
    /// How deep each cell was left, m, as [`Rut::depth`]; 0 where nothing has been. Row by row: the first axis runs
    /// within a row.
    pub depths: [f32; RUT_TILE * RUT_TILE],
}

/// What [`Engine::take_changed_ruts`](crate::Engine::take_changed_ruts) has given out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RutChanges {
    /// True if these are the first: all tiles there are follow, and those of before mean nothing any more.
    pub anew: bool,
    /// True if there was no room for all of them.
    pub more: bool,
}

/// The axes along which the cells of a ground with this normal are counted: x and z of the world, or, where it is
/// steeper than 60 degrees, two axes in the ground.
pub fn rut_axes(normal: DVec3) -> [DVec3; 2] {
    if normal.y > 0.5 { [DVec3::X, DVec3::Z] } else { ground_axes(normal) }
}

/// The axes along a ground with this normal: x and z of the world where it is level.
pub(crate) fn ground_axes(normal: DVec3) -> [DVec3; 2] {
    let across = normal.cross(DVec3::Z);
    let first = if across.length_squared() > 1e-6 { across.normalized() } else { DVec3::X };
    [first, first.cross(normal)]
}

/// A wheel in soil, and what the soil did to it: means over the last step. Forwards is where it rolls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SoilReading {
    /// How deep it is below the surface that was there at first, m.
    pub sinkage: f64,
    /// 1 - v / (r omega) where it drives, r omega / v - 1 where it brakes; a mean over the length of its contact.
    pub slip: f64,
    /// From where it points to where it goes, rad; positive towards its axle.
    pub slip_angle: f64,
    /// The force of the soil along the ground's normal, forwards and along the axle, N.
    pub normal_force: f64,
    /// Forwards, N: thrust less resistance.
    pub drawbar_pull: f64,
    /// Along the axle, N.
    pub lateral_force: f64,
    /// What normal stress takes of the drawbar pull, N: the resistance of soil that is compacted.
    pub resistance: f64,
    /// Against its turning, about the axle, N m.
    pub torque: f64,
}

impl SoilReading {
    /// This and a share of another one.
    pub(crate) fn with(mut self, other: &Self, share: f64) -> Self {
        self.sinkage += share * other.sinkage;
        self.slip += share * other.slip;
        self.slip_angle += share * other.slip_angle;
        self.normal_force += share * other.normal_force;
        self.drawbar_pull += share * other.drawbar_pull;
        self.lateral_force += share * other.lateral_force;
        self.resistance += share * other.resistance;
        self.torque += share * other.torque;
        self
    }
}
