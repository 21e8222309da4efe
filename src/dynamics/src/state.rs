//! State of a world after a step.

use bevy_math::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, Norm, Pose, RUT_TILE};

/// Largest meaningful speed of a body, m/s: a hundred times that of any robot or projectile, with a square far from
/// overflow.
pub(super) const RUNAWAY_SPEED: f64 = 1e5;
/// Largest meaningful angular speed of a body, rad/s; chosen likewise.
pub(super) const RUNAWAY_SPIN: f64 = 1e6;
/// Largest meaningful distance of a body from the origin, m: a hundred times a vehicle's daily distance. Rounding there
/// is still far below 1 mm.
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
    /// The torque of the contact forces about the body's centre of mass, mean over the step, N m.
    pub torque: DVec3,
}

/// A force, and a torque about a point that the field or function states. World axes, N and N m.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Wrench {
    /// Force, N.
    pub force: DVec3,
    /// Torque, N m.
    pub torque: DVec3,
}

/// The energy of a world, J. Friction, dampers, stops and impacts dissipate energy: `stored` grows by less than
/// `supplied`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EnergyBalance {
    /// Kinetic energy of bodies and rotors, and potential energy of gravity and joint springs. Springs and rotors of
    /// loop joints are not included.
    pub stored: f64,
    /// The kinetic part.
    pub kinetic: f64,
    /// The energy supplied in the last step by motors, external wrenches, and springs and rotors of loop joints.
    pub supplied: f64,
}

/// A contact point of two bodies in a step; forces are means over the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactPoint {
    /// The two bodies; `None` is the ground.
    pub bodies: [Option<BodyId>; 2],
    /// Position, world frame, m.
    pub point: DVec3,
    /// Unit normal from the first body to the second.
    pub normal: DVec3,
    /// Distance of the two surfaces, m, negative for penetration.
    pub gap: f64,
    /// The wrench of the first body on the second at the point: force, and torque of rolling and torsional friction.
    pub wrench: Wrench,
}

/// The state of a joint. Locked coordinates read zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointState {
    /// Position of the joint's origin, which is fixed to the child, world frame, m.
    pub anchor: DVec3,
    /// Its coordinates, rad or m.
    pub position: [f64; 3],
    /// The rates of its coordinates, rad/s or m/s.
    pub rate: [f64; 3],
    /// The motor effort of each coordinate on the child about or along its axis, N m or N, mean over the step.
    pub effort: [f64; 3],
    /// The other efforts of the joint; `None` from an engine that does not compute them.
    pub load: Option<JointLoad>,
}

/// The efforts and the reaction of a joint, means over the step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JointLoad {
    /// Effort of the stops of each coordinate on the child, N m or N.
    pub stop: [f64; 3],
    /// Effort of spring, damping, dry friction and rotor inertia of each coordinate on the child, N m or N.
    pub passive: [f64; 3],
    /// Wrench of the parent on the child through the joint, torque about the anchor. Its component along an axis is the
    /// sum of effort, stop and passive there.
    pub reaction: Wrench,
}

impl JointState {
    /// A joint at the origin at rest, without efforts.
    pub const ZERO: Self =
        Self { anchor: DVec3::ZERO, position: [0.0; 3], rate: [0.0; 3], effort: [0.0; 3], load: None };
}

impl BodyState {
    /// True if the state is finite and within the meaningful limits; [`find_defect`](Self::find_defect) is then `None`.
    #[inline]
    pub(super) fn is_meaningful(&self) -> bool {
        let (speed, spin) = (self.linear_velocity.length_squared(), self.angular_velocity.length_squared());
        let (distance, turn) = (self.pose.translation.length_squared(), self.pose.rotation.length_squared());
        let push = self.force.length_squared() + self.torque.length_squared();
        let near = distance <= RUNAWAY_DISTANCE * RUNAWAY_DISTANCE;
        let slow = speed <= RUNAWAY_SPEED * RUNAWAY_SPEED && spin <= RUNAWAY_SPIN * RUNAWAY_SPIN;
        near && slow && (turn + push).is_finite()
    }

    /// The defect of a state that is not finite or not meaningful, and its value.
    pub(super) fn find_defect(&self) -> Option<(String, f64)> {
        if self.is_meaningful() {
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

/// Rotation vector: axis times angle, rad, the angle from 0 to pi.
pub(super) fn rotation_vector(rotation: DQuat) -> DVec3 {
    let rotation = if rotation.w < 0.0 { -rotation } else { rotation };
    let vector = DVec3::new(rotation.x, rotation.y, rotation.z);
    let sine = vector.norm();
    // Below this the angle is twice the sine to the last bit.
    if sine < 1e-9 { vector * 2.0 } else { vector * (2.0 * libm::atan2(sine, rotation.w) / sine) }
}

/// A pressed soil cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rut {
    /// World coordinates x and z of its centre, m. On ground steeper than 60 degrees, coordinates along its
    /// [`rut_axes`].
    pub centre: [f64; 2],
    /// Remaining depth below the original surface, along the ground's normal, m; above 0.
    pub depth: f64,
}

/// A square of soil cells, some of them pressed.
#[derive(Debug, Clone, PartialEq)]
pub struct RutTile {
    /// Index of the ground in the mechanism.
    pub ground: usize,
    /// Index of the tile along each of the ground's [`rut_axes`]. The tile starts at this index times the side of a
    /// tile, [`RUT_TILE`] cells of [`RUT_CELL`](simpartner_model::RUT_CELL).
    pub tile: [i32; 2],
    /// Remaining depth of each cell, m, as [`Rut::depth`]; 0 where nothing pressed. Row by row: the first axis runs
    /// within a row.
    pub depths: [f32; RUT_TILE * RUT_TILE],
}

/// Result of [`Engine::take_changed_ruts`](crate::Engine::take_changed_ruts).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RutChanges {
    /// True if the record of changes starts here: all tiles follow, and the caller must discard earlier ones.
    pub is_new_record: bool,
    /// True if tiles remain because the buffer was full.
    pub more: bool,
}

/// The axes along which the cells of a ground with this normal are numbered: x and z of the world, or two axes in the
/// ground if it is steeper than 60 degrees.
pub fn rut_axes(normal: DVec3) -> [DVec3; 2] {
    if normal.y > 0.5 { [DVec3::X, DVec3::Z] } else { ground_axes(normal) }
}

/// Two axes in a ground with this normal: x and z of the world where the ground is level.
pub(crate) fn ground_axes(normal: DVec3) -> [DVec3; 2] {
    let across = normal.cross(DVec3::Z);
    let first = if across.length_squared() > 1e-6 { across.normalized() } else { DVec3::X };
    [first, first.cross(normal)]
}

/// State of a wheel in soil and the soil's effect on it, means over the last step. Forwards is the rolling direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SoilReading {
    /// Depth of the wheel below the original surface, m.
    pub sinkage: f64,
    /// Slip: 1 - v / (r omega) where it drives, r omega / v - 1 where it brakes; mean over the length of its contact.
    pub slip: f64,
    /// Angle from the wheel's heading to its direction of motion, rad; positive towards its axle.
    pub slip_angle: f64,
    /// Force of the soil along the ground's normal, N.
    pub normal_force: f64,
    /// Force of the soil forwards, N: thrust minus resistance.
    pub drawbar_pull: f64,
    /// Force of the soil along the axle, N.
    pub lateral_force: f64,
    /// The part of the drawbar pull due to normal stress, N: the resistance of soil compaction.
    pub resistance: f64,
    /// Torque of the soil about the axle, against the rotation, N m.
    pub torque: f64,
}

impl SoilReading {
    /// The sum of this reading and `share` times another one.
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
