//! The plugins of Gazebo, and their counterparts here. The page of importers has these tables.
//!
//! A plugin is known by a part of its name, without regard to case and to anything that is no letter or digit, so that
//! `libgazebo_ros_diff_drive.so`, `gz-sim-diff-drive-system` and `gz::sim::systems::DiffDrive` are one.

use simpartner_wire::signal::DeviceKind;

use super::{super::model::DriveKind, fluids::FLUID_PLUGINS};

/// The tags by which a plugin names its driven joints, and the kind of drive.
pub(super) type Driven = (&'static [&'static str], DriveKind);

pub(super) const JOINT_NAME: &[&str] = &["joint_name"];
const POSITION_DRIVE: &[Driven] = &[(JOINT_NAME, DriveKind::Position)];
/// Tags of the joints of driven wheels.
pub(super) const WHEEL_TAGS: &[&str] = &[
    "left_joint",
    "right_joint",
    "leftJoint",
    "rightJoint",
    "leftFrontJoint",
    "rightFrontJoint",
    "leftRearJoint",
    "rightRearJoint",
    "front_left_joint",
    "front_right_joint",
    "back_left_joint",
    "back_right_joint",
    "rear_left_joint",
    "rear_right_joint",
    "actuatedWheelJoint",
    "actuated_wheel_joint",
];
/// Tags of the joints of steerings.
pub(super) const STEERING_TAGS: &[&str] =
    &["left_steering_joint", "right_steering_joint", "steering_joint", "steeringJoint", "steering_wheel_joint"];
const WHEEL_DRIVES: &[Driven] = &[(WHEEL_TAGS, DriveKind::Velocity)];
const STEERED_DRIVES: &[Driven] = &[(WHEEL_TAGS, DriveKind::Velocity), (STEERING_TAGS, DriveKind::Position)];
const DIFFERENTIAL_DRIVE: Option<DeviceKind> = Some(DeviceKind::DifferentialDriveController);
const ACKERMANN_DRIVE: Option<DeviceKind> = Some(DeviceKind::AckermannController);
const MECANUM_DRIVE: Option<DeviceKind> = Some(DeviceKind::OmnidirectionalController);
/// Parts of the names of plugins that drive joints, their drives, and the vehicle that they drive as a whole. The first
/// match applies.
pub(super) const DRIVE_PLUGINS: [(&str, &[Driven], Option<DeviceKind>); 12] = [
    ("PositionController", POSITION_DRIVE, None),
    ("JointTrajectory", POSITION_DRIVE, None),
    ("JointPoseTrajectory", POSITION_DRIVE, None),
    ("DiffDrive", WHEEL_DRIVES, DIFFERENTIAL_DRIVE),
    ("SkidSteer", WHEEL_DRIVES, DIFFERENTIAL_DRIVE),
    ("MecanumDrive", WHEEL_DRIVES, MECANUM_DRIVE),
    ("AckermannSteering", STEERED_DRIVES, ACKERMANN_DRIVE),
    ("AckermannDrive", STEERED_DRIVES, ACKERMANN_DRIVE),
    ("TricycleDrive", STEERED_DRIVES, None),
    ("TrackedVehicle", WHEEL_DRIVES, None),
    ("JointController", &[(JOINT_NAME, DriveKind::Velocity)], None),
    ("ApplyJointForce", &[(JOINT_NAME, DriveKind::Effort)], None),
];
/// Plugins that add a device to a link, which they name by one of `ON_LINK`, or to a joint.
pub(super) const DEVICE_PLUGINS: [(&str, DeviceKind); 8] = [
    ("RosImu", DeviceKind::ImuSensor),
    ("RosP3d", DeviceKind::PoseSensor),
    ("RosGps", DeviceKind::GnssSensor),
    ("RosMagnetic", DeviceKind::MagnetometerSensor),
    ("RosBumper", DeviceKind::ContactSensor),
    ("RosFtSensor", DeviceKind::ForceTorqueSensor),
    ("RosForce", DeviceKind::ForceActuator),
    ("ApplyLinkWrench", DeviceKind::ForceActuator),
];
/// Ends of the names of those whose work the server does anyway: physics, clock, and the ports of sensors and joints.
pub(super) const SILENT_PLUGINS: [&str; 19] = [
    "Physics",
    "UserCommands",
    "SceneBroadcaster",
    "Sensors",
    "Imu",
    "Contact",
    "NavSat",
    "ForceTorque",
    "Magnetometer",
    "Altimeter",
    "JointStatePublisher",
    "PosePublisher",
    "RosInit",
    "RosFactory",
    "RosState",
    "RosApi",
    "RosPathsPlugin",
    "RosControl",
    "Ros2Control",
];

/// Plugins that are left out, each with a warning of its effect. The first match applies.
pub(super) const LEFT_OUT_PLUGINS: [(&str, &str); 37] = [
    ("AdvancedLiftDrag", "no lift and no drag act on its link"),
    ("LiftDrag", "it needs a link, two directions and an area above 0"),
    ("MulticopterMotorModel", "it needs a joint and a motor constant"),
    ("MulticopterControl", "a client has to control the propellers"),
    ("Thruster", "it needs a joint"),
    ("BuoyancyEngine", "no fluid carries its link"),
    ("Hydrodynamics", "it needs a link"),
    ("WindEffects", "no wind blows"),
    ("LinearBattery", "no battery is emptied"),
    ("DetachableJoint", "its models are not joined"),
    ("WheelSlip", "wheels have the friction of their surfaces"),
    ("TrackController", "its belt does not move"),
    ("VelocityControl", "clients place the model by PLACE"),
    ("TrajectoryFollower", "a client has to follow the path"),
    ("DriveToPose", "a client has to follow the path"),
    ("OdometryPublisher", "a PoseSensor of its link has the pose"),
    ("LogicalCamera", "a SegmentationCamera has the body in each of its pixels"),
    ("AirPressure", "a sensor of the type air_pressure becomes a BarometerSensor"),
    ("Dvl", "a VelocitySensor has the velocity"),
    ("OpticalTactile", "a ContactSensor has force and torque"),
    ("TouchPlugin", "a BumperSensor tells of contacts"),
    ("PerformerDetector", "a client compares the poses"),
    ("CommsEndpoint", "no messages between robots are simulated"),
    ("Comms", "no messages between robots are simulated"),
    ("Thermal", "temperatures are not simulated"),
    ("ParticleEmitter", "smoke and dust are not shown"),
    ("FollowActor", "actors are left out"),
    ("TriggeredPublisher", "a client has to give the commands"),
    ("Breadcrumbs", "a client adds models by SPAWN"),
    ("LogicalAudio", "sounds are not simulated"),
    ("KineticEnergyMonitor", "the log has what an energy follows from"),
    ("LedPlugin", "its light does not change"),
    ("LensFlare", "lenses have no flares"),
    ("CameraVideoRecorder", "'simpartner render' makes films of logged runs"),
    ("LogSystem", "every run is logged"),
    ("LogRecord", "every run is logged"),
    ("Environment", "the environment has no data of its own"),
];

/// A row of the table of plugins: part of the name, and what becomes of it.
pub type PluginRow = (String, String);

/// The plugins of Gazebo that are known, by a part of their names, with their counterparts; any other is left out.
pub fn gazebo_plugins() -> Vec<PluginRow> {
    let kind = |kind: &DriveKind| match kind {
        DriveKind::Position => "PositionController",
        DriveKind::Velocity => "JointController",
        DriveKind::Effort => "EffortController",
    };
    let drives = DRIVE_PLUGINS.iter().map(|(name, driven, vehicle)| {
        let mut kinds: Vec<&str> = driven.iter().map(|(_, drive)| kind(drive)).collect();
        kinds.dedup();
        let joints = format!("a {} on each joint that it names", kinds.join(" or "));
        let what = match vehicle {
            Some(vehicle) => {
                format!("a {} and an OdometrySensor; or, if its wheels are not there, {joints}", vehicle.name())
            }
            None => joints,
        };
        ((*name).to_owned(), what)
    });
    let fluids = FLUID_PLUGINS.iter().map(|(name, _, what)| ((*name).to_owned(), (*what).to_owned()));
    let devices = DEVICE_PLUGINS.iter().map(|(name, kind)| ((*name).to_owned(), format!("a {}", kind.name())));
    let others = [("MimicJoint", "a coupling"), ("Label", "the `class` of bodies, for segmentation cameras")];
    let others = others.map(|(name, what)| (name.to_owned(), what.to_owned()));
    let silent = SILENT_PLUGINS.iter().map(|name| ((*name).to_owned(), "the server does this anyway".to_owned()));
    let is_read = |name: &str| FLUID_PLUGINS.iter().any(|(fluid, ..)| *fluid == name);
    let left = LEFT_OUT_PLUGINS.iter().filter(|(name, _)| !is_read(name));
    let left = left.map(|(name, effect)| ((*name).to_owned(), format!("left out: {effect}")));
    drives.chain(fluids).chain(devices).chain(others).chain(silent).chain(left).collect()
}
