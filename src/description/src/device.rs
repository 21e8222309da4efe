//! Sensors and actuators as the model describes them.

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};
use simpartner_model::{BodyId, JointId, Pose, RobotId};
use simpartner_wire::signal::{CameraOptics, DeviceKind, Port};

use crate::{vehicle::Vehicle, watchdog::Watchdog};

/// A sensor or an actuator.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Name, unique in its robot.
    pub name: String,
    /// The robot that carries it.
    pub robot: RobotId,
    /// Its TCP port, the robot's port offset included.
    pub port: Port,
    /// Sensor or actuator, with its settings.
    pub spec: DeviceSpec,
    /// `file:line:column` of its element, for messages.
    pub source: String,
}

/// The sorts of device.
#[derive(Debug, Clone, PartialEq)]
pub enum DeviceSpec {
    /// A device that measures.
    Sensor(Sensor),
    /// A device that drives a joint or pushes a body.
    Actuator(Actuator),
    /// A device that drives the wheels or tracks of a vehicle.
    Vehicle(Vehicle),
}

/// A sensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensor {
    /// Its kind, which is not that of an actuator.
    pub kind: DeviceKind,
    /// Its mount: a body or a joint, depending on the kind.
    pub mount: Mount,
    /// Reading options of its kind.
    pub options: SensorOptions,
    /// Fresh readings per second of simulated time; `None` for one in every step.
    pub rate_hz: Option<f64>,
    /// Latency of readings, seconds.
    pub latency_s: f64,
    /// Probability that a reading is lost.
    pub dropout: f64,
    /// Noise of each quantity of its kind, or empty.
    pub noise: Vec<Noise>,
    /// The vehicle whose odometry it is; `None` for all other kinds.
    pub vehicle: Option<Box<Vehicle>>,
}

/// Measurement errors of a quantity, in its unit; for a quaternion in radians about the
/// sensor's axes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Noise {
    /// Standard deviation of Gaussian noise, fresh in each reading, at least 0.
    pub standard_deviation: f64,
    /// A constant.
    pub bias: f64,
    /// A random walk from 0: its standard deviation after a second, growing with the root of time; at least 0.
    pub drift: f64,
    /// The step that readings are rounded to at last; 0 does not round.
    pub quantisation: f64,
}

/// Mount of a sensor or an actuator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mount {
    /// A body, at a place on it.
    Body {
        /// Which.
        body: BodyId,
        /// `body_from_device`.
        pose: Pose,
    },
    /// A joint.
    Joint(JointId),
}

/// Options of a sensor. [`DeviceKind`] determines which options a kind uses; the others have no effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SensorOptions {
    /// The axes of its vectors.
    pub frame: Frame,
    /// Its rays; a DistanceSensor has one, and uses their range.
    pub rays: Scanner,
    /// The force from which it is pressed, N.
    pub threshold: f64,
    /// Its images.
    pub camera: Camera,
}

/// The images of a camera.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// Their geometry.
    pub optics: CameraOptics,
    /// Samples of a pixel along each side in colour images.
    pub samples_per_side: u32,
    /// Their noise.
    pub noise: ImageNoise,
}

/// Noise of a camera's images.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ImageNoise {
    /// Standard deviation of Gaussian noise in each value: of colours as a fraction of white, of depths in m.
    pub standard_deviation: f64,
    /// Standard deviation of shot noise at white, as a fraction of white.
    pub shot: f64,
    /// Fraction of pixels without a measurement.
    pub salt: f64,
}

impl Default for Camera {
    /// 640 x 480 pixels and a horizontal field of view of 60 degrees, without noise.
    fn default() -> Self {
        let optics = CameraOptics::pinhole([640, 480], std::f64::consts::FRAC_PI_3);
        Self { optics, samples_per_side: 1, noise: ImageNoise::default() }
    }
}

/// The axes in which a vector is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// World axes.
    World,
    /// Axes of the sensor, or of an actuator's mount on its body.
    Sensor,
    /// Axes of the joint's parent body, which carries the joint's axes.
    Parent,
    /// Axes of the joint's child body.
    Child,
}

impl Frame {
    /// Name of the frame, as in [`Frame::named`].
    pub fn name(self) -> &'static str {
        match self {
            Self::World => "world",
            Self::Sensor => "sensor",
            Self::Parent => "parent",
            Self::Child => "child",
        }
    }

    /// The frame of this word.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "world" => Some(Self::World),
            "sensor" | "body" => Some(Self::Sensor),
            "parent" => Some(Self::Parent),
            "child" => Some(Self::Child),
            _ => None,
        }
    }
}

/// A fan of rays in the sensor's z-x plane, spread evenly about its z axis, or several such fans above each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scanner {
    /// Number of rays in a fan, at least 1.
    pub rays: usize,
    /// Angle of the outermost rays from the z axis towards plus and minus x, radians.
    pub half_angle: f64,
    /// Number of fans, at least 1.
    pub layers: usize,
    /// Angle of the outermost fans from the z-x plane towards plus and minus y, radians.
    pub vertical_half_angle: f64,
    /// Range, metres: the reading of a ray that hits nothing closer.
    pub range: f64,
}

impl SensorOptions {
    /// The defaults of a kind.
    pub fn of(kind: DeviceKind) -> Self {
        let frame = kind.description().frames.first().and_then(|name| Frame::named(name));
        Self {
            frame: frame.unwrap_or(Frame::World),
            rays: Scanner::default(),
            threshold: 1.0,
            camera: Camera::default(),
        }
    }
}

impl Default for Scanner {
    fn default() -> Self {
        Self { rays: 11, half_angle: 0.1, layers: 1, vertical_half_angle: 0.0, range: 10.0 }
    }
}

/// An actuator.
#[derive(Debug, Clone, PartialEq)]
pub struct Actuator {
    /// The driven joint or body.
    pub mount: Mount,
    /// Its control law.
    pub law: Law,
    /// Gains of a position or velocity controller. `None` for stiffness 1e5 and damping 1e3 of a position, and damping
    /// 1e8 of a velocity.
    pub gains: Option<ServoGains>,
    /// The limits of its motor; `None` for a motor without limits.
    pub motor: Option<MotorLimits>,
    /// Its watchdog, for the time when no command arrives any more.
    pub watchdog: Option<Watchdog>,
}

/// Torque-speed line of a motor with its gear, at the joint. A driving motor exerts at most efficiency times stall
/// effort at rest, and zero effort at its no-load rate; a driven one at most stall effort over efficiency, because
/// losses act in its favour. Its rotor and its friction are included in the joint's axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MotorLimits {
    /// Effort at rest without losses, N m or N.
    pub stall_effort: f64,
    /// Rate without load, rad/s or m/s.
    pub no_load_rate: f64,
    /// Share of the motor's power that reaches the joint, above 0 to 1.
    pub efficiency: f64,
}

/// Control law of an actuator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Velocity commands.
    Velocity,
    /// Angle commands, with a PID controller and these gains until a command changes them.
    Angle(PidGains),
    /// Position commands, with stiff control.
    Position,
    /// Effort commands.
    Effort,
    /// With a force and a torque on a body.
    Force(Push),
    /// Velocity commands of a body's surface, in the body's axes; this velocity until the first command, m/s.
    Surface(DVec3),
    /// Rate commands of a propeller.
    Propeller(Propeller),
}

/// A propeller, which pushes along the y axis of its mount.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Propeller {
    /// Thrust over the square of the rate, N s²/rad².
    pub thrust: f64,
    /// Torque over the square of the rate, N m s²/rad².
    pub torque: f64,
    /// Time constant of the rate, s; 0 for a rotor that follows at once.
    pub time_constant: f64,
    /// Largest rate, rad/s.
    pub max_rate: f64,
    /// 1 if a positive rate turns about the y axis, to the left seen from above; -1 for the other sense.
    pub sense: f64,
}

/// Push on a body until the first command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Push {
    /// The axes in which its commands are.
    pub frame: Frame,
    /// Force at its mount, N.
    pub force: DVec3,
    /// Torque, N m.
    pub torque: DVec3,
}

/// Gains of a PID controller whose output is a target velocity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PidGains {
    /// Velocity per error, 1/s.
    pub proportional: f64,
    /// Velocity per integrated error, 1/s².
    pub integral: f64,
    /// Velocity per rate of the error, 1.
    pub derivative: f64,
}

/// Gains of a controller whose output is an effort. With e the error of its target, a coordinate or a rate:
///
/// position: effort = stiffness e - damping q' + integral ∫e dt; velocity: effort = damping e + integral ∫e dt
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServoGains {
    /// Effort per error of the coordinate, N m/rad or N/m; not used by a velocity controller.
    pub stiffness: f64,
    /// Effort per rate, or per error of the rate, N m s/rad or N s/m.
    pub damping: f64,
    /// Effort per integrated error: N m/(rad s) or N/(m s) for a position, N m/rad or N/m for a velocity.
    pub integral: f64,
}

impl Default for PidGains {
    /// Time constant of a tenth of a second, without integral part.
    fn default() -> Self {
        Self { proportional: 10.0, integral: 0.0, derivative: 0.0 }
    }
}

impl Sensor {
    /// A perfect sensor on a body, which reads in every step.
    pub fn on(body: BodyId, pose: Pose, kind: DeviceKind) -> Self {
        Self::at(Mount::Body { body, pose }, kind)
    }

    /// A perfect sensor on a joint, which reads in every step.
    pub fn of(joint: JointId, kind: DeviceKind) -> Self {
        Self::at(Mount::Joint(joint), kind)
    }

    /// The same sensor, with its vectors in these axes.
    pub fn in_frame(mut self, frame: Frame) -> Self {
        self.options.frame = frame;
        self
    }

    /// The same sensor with these rays.
    pub fn with_rays(mut self, rays: Scanner) -> Self {
        self.options.rays = rays;
        self
    }

    /// The same sensor, pressed from this force on, N.
    pub fn with_threshold(mut self, threshold: f64) -> Self {
        self.options.threshold = threshold;
        self
    }

    /// The rays that it measures along; `None` if its kind has none.
    pub fn rays(&self) -> Option<Scanner> {
        match self.kind {
            DeviceKind::ScannerSensor => Some(self.options.rays),
            DeviceKind::DistanceSensor => {
                Some(Scanner { rays: 1, range: self.options.rays.range, ..Scanner::default() })
            }
            _ => None,
        }
    }

    /// Its images; `None` if it is no camera.
    pub fn camera(&self) -> Option<&Camera> {
        self.kind.is_camera().then_some(&self.options.camera)
    }

    /// The same sensor with these images.
    pub fn with_camera(mut self, camera: Camera) -> Self {
        self.options.camera = camera;
        self
    }

    fn at(mount: Mount, kind: DeviceKind) -> Self {
        Self {
            kind,
            mount,
            options: SensorOptions::of(kind),
            rate_hz: None,
            latency_s: 0.0,
            dropout: 0.0,
            noise: Vec::new(),
            vehicle: None,
        }
    }
}

impl Actuator {
    /// An actuator of a joint that is only its law.
    pub fn new(joint: JointId, law: Law) -> Self {
        Self { mount: Mount::Joint(joint), law, gains: None, motor: None, watchdog: None }
    }

    /// An actuator that pushes a body at a place on it.
    pub fn on(body: BodyId, pose: Pose, push: Push) -> Self {
        Self { mount: Mount::Body { body, pose }, law: Law::Force(push), gains: None, motor: None, watchdog: None }
    }
}

impl From<Sensor> for DeviceSpec {
    fn from(sensor: Sensor) -> Self {
        Self::Sensor(sensor)
    }
}

impl From<Actuator> for DeviceSpec {
    fn from(actuator: Actuator) -> Self {
        Self::Actuator(actuator)
    }
}

impl From<Vehicle> for DeviceSpec {
    fn from(vehicle: Vehicle) -> Self {
        Self::Vehicle(vehicle)
    }
}

impl DeviceSpec {
    /// Its kind.
    pub fn kind(&self) -> DeviceKind {
        match self {
            Self::Sensor(sensor) => sensor.kind,
            Self::Actuator(actuator) => match actuator.law {
                Law::Velocity => DeviceKind::JointController,
                Law::Angle(_) => DeviceKind::AngleController,
                Law::Position => DeviceKind::PositionController,
                Law::Effort => DeviceKind::EffortController,
                Law::Force(_) => DeviceKind::ForceActuator,
                Law::Surface(_) => DeviceKind::ConveyorController,
                Law::Propeller(_) => DeviceKind::PropellerController,
            },
            Self::Vehicle(vehicle) => vehicle.kind,
        }
    }

    /// The joint that it is on.
    pub fn joint(&self) -> Option<JointId> {
        match self.mount() {
            Mount::Body { .. } => None,
            Mount::Joint(joint) => Some(joint),
        }
    }

    /// The same device on other bodies and joints, for a robot that is placed in a world.
    pub fn moved(self, body_id: impl Fn(BodyId) -> BodyId, joint_id: impl Fn(JointId) -> JointId) -> Self {
        let moved = |mount| match mount {
            Mount::Body { body, pose } => Mount::Body { body: body_id(body), pose },
            Mount::Joint(joint) => Mount::Joint(joint_id(joint)),
        };
        match self {
            Self::Sensor(sensor) => Self::Sensor(Sensor {
                mount: moved(sensor.mount),
                vehicle: sensor.vehicle.map(|vehicle| Box::new(vehicle.moved(&body_id, &joint_id))),
                ..sensor
            }),
            Self::Actuator(actuator) => Self::Actuator(Actuator { mount: moved(actuator.mount), ..actuator }),
            Self::Vehicle(vehicle) => Self::Vehicle(vehicle.moved(&body_id, &joint_id)),
        }
    }

    /// Its mount.
    pub fn mount(&self) -> Mount {
        match self {
            Self::Sensor(sensor) => sensor.mount,
            Self::Actuator(actuator) => actuator.mount,
            Self::Vehicle(vehicle) => Mount::Body { body: vehicle.body, pose: vehicle.pose },
        }
    }

    /// Fresh readings per second of simulated time, for a sensor with a rate.
    pub fn rate_hz(&self) -> Option<f64> {
        match self {
            Self::Sensor(sensor) => sensor.rate_hz,
            Self::Actuator(_) | Self::Vehicle(_) => None,
        }
    }
}

/// Geographic position of the world's origin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GeographicOrigin {
    /// Geodetic latitude, radians, between the poles.
    pub latitude: f64,
    /// Longitude, radians.
    pub longitude: f64,
    /// Height above the ellipsoid, metres.
    pub altitude: f64,
    /// Heading of the world's x axis, clockwise from north, radians: at 0, x is north and z is east.
    pub heading: f64,
}
