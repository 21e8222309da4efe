//! Sensors: the table from device kinds to messages.

use anyhow::{Result, ensure};
use bevy_math::{DQuat, DVec3};

use crate::{
    frames::{Axes, Pose},
    messages::{
        Bool, Float64MultiArray, FluidPressure, Header, Imu, LaserScan, MagneticField, NavSatFix, NavSatStatus,
        PointCloud2, PointField, PointStamped, PoseStamped, Range, RosMessage, Time, Twist, TwistStamped,
        Vector3Stamped, Wrench, WrenchStamped,
    },
    ros::{Profile, Ros},
    scene::{Device, Scene},
};

/// First entry of a covariance for a quantity that is not measured.
const NOT_MEASURED: f64 = -1.0;

/// `sensor_msgs/PointField` FLOAT32, and its size in bytes.
const FLOAT32: u8 = 7;
pub(crate) const FLOAT32_SIZE: u32 = 4;

/// `sensor_msgs/Range` INFRARED: a single ray, not a cone of sound.
const INFRARED: u8 = 1;

/// Which message a kind of sensor becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `geometry_msgs/PointStamped` in `map`
    Point,
    /// `geometry_msgs/PoseStamped` in `map`
    Pose,
    /// `geometry_msgs/TwistStamped`
    Twist,
    /// `sensor_msgs/Imu` with the specific force alone
    Accelerometer,
    /// `sensor_msgs/Imu` with the angular velocity alone
    Gyroscope,
    /// `sensor_msgs/Imu`
    Imu,
    /// `sensor_msgs/NavSatFix`
    NavSatFix,
    /// `geometry_msgs/Vector3Stamped`, the direction of north
    North,
    /// `sensor_msgs/Range`
    Range,
    /// `sensor_msgs/LaserScan`, or `sensor_msgs/PointCloud2` of a scanner with several layers
    Scan,
    /// `geometry_msgs/WrenchStamped`
    Wrench,
    /// `std_msgs/Bool`
    Pressed,
    /// `sensor_msgs/FluidPressure`
    Pressure,
    /// `sensor_msgs/MagneticField`
    Field,
    /// `std_msgs/Float64MultiArray`, all numbers: ROS has no message of a wheel in soil, of heights and of air speeds
    Numbers,
    /// `nav_msgs/Odometry`: see [`crate::odometry`]
    Odometry,
    /// Images and what goes with them, on several topics: see [`crate::cameras`]
    Camera,
    /// No topic of its own: its joint in `sensor_msgs/JointState`
    Joint,
}

impl Kind {
    /// Least number of fields for its message.
    fn fields(self) -> usize {
        match self {
            Self::Imu => 10,
            Self::Pose => 7,
            Self::Twist | Self::Wrench | Self::Joint | Self::Odometry => 6,
            Self::North => 4,
            Self::Point | Self::Field | Self::Accelerometer | Self::Gyroscope | Self::NavSatFix => 3,
            Self::Range | Self::Scan | Self::Pressed | Self::Pressure | Self::Numbers | Self::Camera => 1,
        }
    }
}

/// The table. A kind that is not here has no message: an EchoSensor reads no numbers.
pub const TABLE: &[(&str, Kind)] = &[
    ("PositionSensor", Kind::Point),
    ("PoseSensor", Kind::Pose),
    ("VelocitySensor", Kind::Twist),
    ("Accelerometer", Kind::Accelerometer),
    ("Gyroscope", Kind::Gyroscope),
    ("ImuSensor", Kind::Imu),
    ("GnssSensor", Kind::NavSatFix),
    ("CompassSensor", Kind::North),
    ("DistanceSensor", Kind::Range),
    ("ScannerSensor", Kind::Scan),
    ("Camera", Kind::Camera),
    ("DepthCamera", Kind::Camera),
    ("SegmentationCamera", Kind::Camera),
    ("RgbdCamera", Kind::Camera),
    ("ContactSensor", Kind::Wrench),
    ("ForceTorqueSensor", Kind::Wrench),
    ("BumperSensor", Kind::Pressed),
    ("SoilSensor", Kind::Numbers),
    ("AltimeterSensor", Kind::Numbers),
    ("AirSpeedSensor", Kind::Numbers),
    ("BarometerSensor", Kind::Pressure),
    ("MagnetometerSensor", Kind::Field),
    ("OdometrySensor", Kind::Odometry),
    ("JointEncoder", Kind::Joint),
];

/// The kind of a device.
pub fn kind_of(device: &Device) -> Option<Kind> {
    TABLE.iter().find(|(name, _)| *name == device.kind).map(|&(_, kind)| kind)
}

/// The kind of a device that has the numbers for its message.
fn checked_kind(device: &Device) -> Result<Option<Kind>> {
    let kind = kind_of(device);
    let (least, count) = (kind.map_or(0, Kind::fields), device.fields.len());
    ensure!(count >= least, "expected at least {least} numbers of '{}', a {}, got {count}", device.name, device.kind);
    Ok(kind)
}

/// A sensor's frame, which its messages refer to.
#[derive(Debug, Clone, PartialEq)]
pub struct Mount {
    /// The frame's name.
    pub frame: String,
    /// Its axes convention.
    pub axes: Axes,
}

/// A function that publishes a reading.
pub type Publish = Box<dyn Fn(&[f64], &Time)>;

/// The axes of a sensor on links with these axes: a sensor that faces its z axis has its own.
pub fn axes_of(device: &Device, links: Axes) -> Axes {
    if device.rays.is_some() || kind_of(device) == Some(Kind::Camera) { Axes::Rays } else { links }
}

/// Opens the topic of a sensor. `None` for a kind without a message of its own.
///
/// # Errors
/// The topic's name is not valid in ROS, or the sensor has fewer numbers than the message.
pub fn publisher(
    ros: &mut Ros,
    scene: &Scene,
    device: &Device,
    mount: &Mount,
    topic: &str,
    profile: Profile,
) -> Result<Option<Publish>> {
    let Mount { frame, axes } = mount.clone();
    Ok(match checked_kind(device)? {
        None | Some(Kind::Joint | Kind::Camera | Kind::Odometry) => None,
        Some(Kind::Point) => Some(open(ros, topic, profile, move |v, stamp| PointStamped {
            header: Header::new(stamp, &frame),
            point: Axes::YUp.vector(vector(v)).into(),
        })?),
        Some(Kind::Pose) => Some(open(ros, topic, profile, move |v, stamp| {
            let pose = Pose { position: vector(v), rotation: quaternion(&v[3..]) };
            PoseStamped { header: Header::new(stamp, &frame), pose: pose.turned(Axes::YUp, axes).into() }
        })?),
        Some(Kind::Twist) => Some(open(ros, topic, profile, move |v, stamp| {
            let turn = |v: &[f64]| axes.vector(vector(v)).into();
            let twist = Twist { linear: turn(v), angular: turn(&v[3..]) };
            TwistStamped { header: Header::new(stamp, &frame), twist }
        })?),
        Some(kind @ (Kind::Accelerometer | Kind::Gyroscope | Kind::Imu)) => {
            Some(open(ros, topic, profile, move |v, stamp| imu(kind, v, axes, Header::new(stamp, &frame)))?)
        }
        Some(Kind::NavSatFix) => {
            Some(open(ros, topic, profile, move |v, stamp| nav_sat_fix(v, Header::new(stamp, &frame)))?)
        }
        Some(Kind::North) => Some(open(ros, topic, profile, move |v, stamp| {
            let vector = axes.vector(vector(&v[1..])).into();
            Vector3Stamped { header: Header::new(stamp, &frame), vector }
        })?),
        Some(Kind::Wrench) => Some(open(ros, topic, profile, move |v, stamp| {
            let turn = |v: &[f64]| axes.vector(vector(v)).into();
            let wrench = Wrench { force: turn(v), torque: turn(&v[3..]) };
            WrenchStamped { header: Header::new(stamp, &frame), wrench }
        })?),
        Some(Kind::Pressed) => Some(open(ros, topic, profile, |v, _| Bool { data: v[0] != 0.0 })?),
        Some(Kind::Field) => {
            Some(open(ros, topic, profile, move |v, stamp| magnetic_field(v, axes, Header::new(stamp, &frame)))?)
        }
        Some(Kind::Pressure) => {
            Some(open(ros, topic, profile, move |v, stamp| fluid_pressure(v, Header::new(stamp, &frame)))?)
        }
        Some(Kind::Numbers) => Some(open(ros, topic, profile, |v, _| numbers(v))?),
        Some(Kind::Range) => {
            let range = device.rays.as_ref().map_or(f64::INFINITY, |rays| rays.range);
            Some(open(ros, topic, profile, move |v, stamp| Range {
                header: Header::new(stamp, &frame),
                radiation_type: INFRARED,
                max_range: range as f32,
                range: v[0] as f32,
                ..Range::default()
            })?)
        }
        Some(Kind::Scan) => scan(ros, scene, device, &frame, topic, profile)?,
    })
}

fn numbers(values: &[f64]) -> Float64MultiArray {
    Float64MultiArray { data: values.to_vec(), ..Float64MultiArray::default() }
}

/// A magnetic field, T, of unknown covariance.
fn magnetic_field(values: &[f64], axes: Axes, header: Header) -> MagneticField {
    MagneticField { header, magnetic_field: axes.vector(vector(values)).into(), magnetic_field_covariance: [0.0; 9] }
}

/// A pressure, Pa, of unknown variance.
fn fluid_pressure(values: &[f64], header: Header) -> FluidPressure {
    FluidPressure { header, fluid_pressure: values[0], variance: 0.0 }
}

/// A fix by GPS.
fn nav_sat_fix(values: &[f64], header: Header) -> NavSatFix {
    let status = NavSatStatus { status: 0, service: 1 };
    let [latitude, longitude, altitude] = [values[0], values[1], values[2]];
    NavSatFix { header, status, latitude, longitude, altitude, ..NavSatFix::default() }
}

fn open<M: RosMessage>(
    ros: &mut Ros,
    topic: &str,
    profile: Profile,
    message: impl Fn(&[f64], &Time) -> M + 'static,
) -> Result<Publish> {
    let publish = ros.publisher(topic, profile)?;
    Ok(Box::new(move |values, stamp| publish(message(values, stamp))))
}

fn vector(values: &[f64]) -> DVec3 {
    DVec3::new(values[0], values[1], values[2])
}

fn quaternion(values: &[f64]) -> DQuat {
    DQuat::from_xyzw(values[0], values[1], values[2], values[3])
}

/// Quantities of an Imu that the sensor measures; the others are marked unknown.
fn imu(kind: Kind, values: &[f64], axes: Axes, header: Header) -> Imu {
    let unknown = [NOT_MEASURED, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let turn = |v: &[f64]| axes.vector(vector(v)).into();
    let mut message = Imu {
        header,
        orientation_covariance: unknown,
        angular_velocity_covariance: unknown,
        linear_acceleration_covariance: unknown,
        ..Imu::default()
    };
    let (spin, force) = match kind {
        Kind::Accelerometer => (None, Some(0)),
        Kind::Gyroscope => (Some(0), None),
        _ => {
            let pose = Pose { position: DVec3::ZERO, rotation: quaternion(values) };
            message.orientation = pose.turned(Axes::YUp, axes).rotation.into();
            message.orientation_covariance = [0.0; 9];
            (Some(4), Some(7))
        }
    };
    if let Some(start) = spin {
        message.angular_velocity = turn(&values[start..]);
        message.angular_velocity_covariance = [0.0; 9];
    }
    if let Some(start) = force {
        message.linear_acceleration = turn(&values[start..]);
        message.linear_acceleration_covariance = [0.0; 9];
    }
    message
}

/// The topic of a scanner: a scan for one layer, a point cloud for several.
fn scan(
    ros: &mut Ros,
    scene: &Scene,
    device: &Device,
    frame: &str,
    topic: &str,
    profile: Profile,
) -> Result<Option<Publish>> {
    let (Some(rays), Some(mount)) = (&device.rays, device.pose) else { return Ok(None) };
    let sensor_from_body = Pose::from(mount).inverse().rotation;
    let turn = |direction: &[f64; 3]| Axes::Rays.vector(sensor_from_body * DVec3::from_array(*direction));
    let directions: Vec<DVec3> = rays.directions.iter().map(turn).collect();
    let (frame, range) = (frame.to_owned(), rays.range);
    let period = device.interval_steps as f64 * scene.timestep;
    if rays.layers > 1 {
        let publish =
            open(ros, topic, profile, move |v, stamp| cloud(v, &directions, range, Header::new(stamp, &frame)));
        return publish.map(Some);
    }
    let [first, step] = angles(&directions);
    let publish = open(ros, topic, profile, move |v, stamp| LaserScan {
        header: Header::new(stamp, &frame),
        angle_min: first as f32,
        angle_max: (first + step * (v.len() as f64 - 1.0)) as f32,
        angle_increment: step as f32,
        // All rays of a reading are of the same instant.
        time_increment: 0.0,
        scan_time: period as f32,
        range_min: 0.0,
        range_max: range as f32,
        // REP 117: a ray without an obstacle within the range reads infinity.
        ranges: v.iter().map(|&way| if way >= range { f32::INFINITY } else { way as f32 }).collect(),
        intensities: Vec::new(),
    });
    publish.map(Some)
}

/// Angle of the first ray from x towards y, and the increment.
fn angles(directions: &[DVec3]) -> [f64; 2] {
    let angle = |direction: &DVec3| direction.y.atan2(direction.x);
    let [Some(first), Some(second), Some(last)] = [directions.first(), directions.get(1), directions.last()] else {
        return [directions.first().map_or(0.0, angle), 0.0];
    };
    let steps = directions.len() as f64 - 1.0;
    // The whole fan gives the smallest error, but its angle is ambiguous by full turns; two neighbouring rays resolve
    // it.
    let about = first.angle_between(*second) * steps;
    let span = angle(last) - angle(first);
    let turns = ((about - span) / std::f64::consts::TAU).round();
    [angle(first), (span + turns * std::f64::consts::TAU) / steps]
}

/// A number of a point in a cloud.
pub(crate) fn point_field(index: u32, name: &str) -> PointField {
    PointField { name: name.to_owned(), offset: index * FLOAT32_SIZE, datatype: FLOAT32, count: 1 }
}

/// The points that rays met; the others are not there.
fn cloud(values: &[f64], directions: &[DVec3], range: f64, header: Header) -> PointCloud2 {
    let mut data = Vec::with_capacity(values.len() * 3 * FLOAT32_SIZE as usize);
    for (way, direction) in values.iter().zip(directions).filter(|(way, _)| **way < range) {
        for coordinate in (*direction * *way).to_array() {
            data.extend((coordinate as f32).to_le_bytes());
        }
    }
    let row_step = data.len() as u32;
    PointCloud2 {
        header,
        height: 1,
        width: row_step / (3 * FLOAT32_SIZE),
        fields: (0..).zip(["x", "y", "z"]).map(|(index, name)| point_field(index, name)).collect(),
        is_bigendian: false,
        point_step: 3 * FLOAT32_SIZE,
        row_step,
        data,
        is_dense: true,
    }
}

#[cfg(test)]
mod tests {
    use simpartner_wire::signal::DeviceKind;

    use super::*;
    use crate::scene::Rays;

    #[test]
    fn every_sensor_that_reads_numbers_has_a_message() {
        for kind in DeviceKind::ALL.into_iter().filter(|kind| !kind.is_actuator()) {
            let listed = TABLE.iter().filter(|(name, _)| *name == kind.to_string()).count();
            assert_eq!(listed, usize::from(kind != DeviceKind::EchoSensor), "{kind}");
            let message = TABLE.iter().find(|(name, _)| *name == kind.to_string()).map(|(_, message)| message.fields());
            let numbers = kind.description().quantities.iter().map(|quantity| quantity.fields.len()).sum::<usize>();
            assert!(message.unwrap_or(0) <= numbers, "{kind}");
        }
    }

    #[test]
    fn an_imu_at_rest_reads_g_along_z_and_says_what_it_does_not_measure() {
        let values = [0.0, 0.0, 0.0, 1.0, 0.1, 0.2, 0.3, 0.0, 9.81, 0.0];
        let message = imu(Kind::Imu, &values, Axes::YUp, Header::default());
        assert_eq!(message.linear_acceleration, DVec3::new(0.0, 0.0, 9.81).into());
        assert_eq!(message.angular_velocity, DVec3::new(0.1, -0.3, 0.2).into());
        assert!((message.orientation.w - 1.0).abs() < 1e-15);
        assert_eq!(message.orientation_covariance[0], 0.0);
        let message = imu(Kind::Accelerometer, &values[7..], Axes::ZUp, Header::default());
        assert_eq!(message.linear_acceleration, DVec3::new(0.0, 9.81, 0.0).into());
        assert_eq!((message.orientation_covariance[0], message.angular_velocity_covariance[0]), (-1.0, -1.0));
        assert_eq!(message.linear_acceleration_covariance[0], 0.0);
    }

    /// A fan as in the server: from minus to plus the half angle, from z towards x.
    fn fan(count: usize, half_angle: f64) -> Rays {
        let angle = |index: usize| -half_angle + 2.0 * half_angle * index as f64 / (count as f64 - 1.0);
        let direction = |index| [f64::sin(angle(index)), 0.0, f64::cos(angle(index))];
        Rays { directions: (0..count).map(direction).collect(), range: 10.0, layers: 1 }
    }

    #[test]
    fn a_fan_goes_from_right_to_left() {
        for (count, half_angle) in [(3, 0.5), (181, 1.5), (361, 3.0), (2, 0.7), (720, std::f64::consts::PI)] {
            let rays = fan(count, half_angle);
            let turned: Vec<DVec3> = rays.directions.iter().map(|d| Axes::Rays.vector(DVec3::from_array(*d))).collect();
            let [first, step] = angles(&turned);
            for (index, direction) in turned.iter().enumerate() {
                let angle = first + step * index as f64;
                let expected = DVec3::new(angle.cos(), angle.sin(), 0.0);
                assert!(
                    (*direction - expected).length() < 1e-9,
                    "{count} {half_angle} {index}: {direction} {expected}"
                );
            }
            // To the right is negative.
            assert!(step > 0.0 && (half_angle > 3.1 || first < 0.0), "{first} {step}");
        }
    }

    #[test]
    fn a_cloud_has_a_point_for_each_ray_that_meets_something() {
        let directions = [DVec3::X, DVec3::Y, DVec3::Z];
        let message = cloud(&[2.0, 10.0, 0.5], &directions, 10.0, Header::default());
        assert_eq!((message.width, message.row_step, message.data.len()), (2, 24, 24));
        let numbers: Vec<f32> =
            message.data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(numbers, [2.0, 0.0, 0.0, 0.0, 0.0, 0.5]);
    }
}
