//! Vehicle controllers as the model describes them: the geometry of wheels and tracks, and limits of motion.
//!
//! A vehicle has a frame on its body: x forward, y up, z to the right. Wheels roll on the plane of x and z. A vector in
//! this plane has two components, forward and to the left, and angles count to the left.

use bevy_math::{DVec2, DVec3};
use simpartner_model::{BodyId, JointId, Pose};
use simpartner_wire::signal::DeviceKind;

use crate::watchdog::Watchdog;

/// A controller that turns commanded velocities of a vehicle into those of its wheels or tracks.
#[derive(Debug, Clone, PartialEq)]
pub struct Vehicle {
    /// Its kind, which is that of a vehicle controller.
    pub kind: DeviceKind,
    /// The body whose velocity is commanded.
    pub body: BodyId,
    /// `body_from_vehicle`.
    pub pose: Pose,
    /// Its wheels; empty for a tracked vehicle.
    pub wheels: Vec<VehicleWheel>,
    /// Its tracks; empty for a vehicle with wheels.
    pub tracks: Vec<Track>,
    /// Limits of the speed, m/s.
    pub linear: MotionLimits,
    /// Limits of the turn rate, rad/s.
    pub angular: MotionLimits,
    /// Largest rate of its steerings, rad/s.
    pub max_steering_rate: f64,
    /// Largest effort of each wheel and steering motor, N m.
    pub max_effort: f64,
    /// Its watchdog, for the time when no command arrives any more.
    pub watchdog: Option<Watchdog>,
}

/// Limits of a commanded velocity, per second and power of a second; infinite without a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MotionLimits {
    /// Largest magnitude.
    pub speed: f64,
    /// Largest rate of change.
    pub acceleration: f64,
    /// Largest rate of change of the acceleration.
    pub jerk: f64,
}

/// A wheel of a vehicle, in the vehicle's frame with every joint at its initial position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VehicleWheel {
    /// Its joint.
    pub joint: JointId,
    /// The coordinate of that joint about the axle.
    pub coordinate: usize,
    /// Radius, m.
    pub radius: f64,
    /// The middle of the wheel, m.
    pub centre: DVec2,
    /// Unit vector in which the vehicle rolls if the coordinate grows.
    pub rolling: DVec2,
    /// Unit vector along which the wheel holds the ground: the direction of rolling, or the axis of the roller that
    /// touches the ground.
    pub grip: DVec2,
    /// False for a wheel that rolls freely.
    pub is_driven: bool,
    /// Its steering; `None` for a wheel whose axle is fixed.
    pub steering: Option<Steering>,
}

/// A joint that steers a wheel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steering {
    /// The joint.
    pub joint: JointId,
    /// Its coordinate.
    pub coordinate: usize,
    /// The place of its axis, m.
    pub pivot: DVec2,
    /// 1 if a growing coordinate steers to the left, -1 if to the right.
    pub sense: f64,
    /// Coordinate at which the wheel has the given direction, rad.
    pub initial: f64,
    /// Stops, rad.
    pub stops: [f64; 2],
}

/// A body whose surface is a belt that drives the vehicle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Track {
    /// The body.
    pub body: BodyId,
    /// Its middle, m.
    pub centre: DVec2,
    /// Unit vector in the body's axes: a surface velocity along it drives the vehicle forward.
    pub axle: DVec3,
}

impl Vehicle {
    /// The joints that it drives: those of driven wheels, and steerings.
    pub fn driven_joints(&self) -> impl Iterator<Item = JointId> {
        let wheels = self.wheels.iter().filter(|wheel| wheel.is_driven).map(|wheel| wheel.joint);
        wheels.chain(self.wheels.iter().filter_map(|wheel| Some(wheel.steering?.joint)))
    }

    /// The same vehicle on other bodies and joints.
    pub fn moved(mut self, body_id: impl Fn(BodyId) -> BodyId, joint_id: impl Fn(JointId) -> JointId) -> Self {
        self.body = body_id(self.body);
        for wheel in &mut self.wheels {
            wheel.joint = joint_id(wheel.joint);
            if let Some(steering) = &mut wheel.steering {
                steering.joint = joint_id(steering.joint);
            }
        }
        for track in &mut self.tracks {
            track.body = body_id(track.body);
        }
        self
    }
}
