//! The messages of ROS that the bridge sends and receives, field by field as their packages define them.

use bevy_math::{DQuat, DVec3};
use ros2_client::Message;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::frames;

/// A message that has a name in ROS.
pub trait RosMessage: Message + Serialize + DeserializeOwned + Clone + 'static {
    /// Its package, such as `sensor_msgs`.
    const PACKAGE: &'static str;
    /// Its name there, such as `Imu`.
    const NAME: &'static str;
}

macro_rules! messages {
    ($($package:literal: $($name:ident { $($field:ident: $type:ty),* $(,)? })*;)*) => {
        $($(
            #[doc = concat!("`", $package, "/", stringify!($name), "`")]
            #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
            #[expect(missing_docs, reason = "the fields are those of the package, which documents them")]
            pub struct $name { $(pub $field: $type,)* }
            impl Message for $name {}
            impl RosMessage for $name {
                const PACKAGE: &'static str = $package;
                const NAME: &'static str = stringify!($name);
            }
        )*)*
    };
}

messages! {
    "builtin_interfaces":
        Time { sec: i32, nanosec: u32 }
        Duration { sec: i32, nanosec: u32 };
    "std_msgs":
        Header { stamp: Time, frame_id: String }
        String_ { data: String }
        Bool { data: bool }
        MultiArrayDimension { label: String, size: u32, stride: u32 }
        MultiArrayLayout { dim: Vec<MultiArrayDimension>, data_offset: u32 }
        Float64MultiArray { layout: MultiArrayLayout, data: Vec<f64> };
    "rosgraph_msgs":
        Clock { clock: Time };
    "geometry_msgs":
        Vector3 { x: f64, y: f64, z: f64 }
        Point { x: f64, y: f64, z: f64 }
        Pose { position: Point, orientation: Quaternion }
        Transform { translation: Vector3, rotation: Quaternion }
        Twist { linear: Vector3, angular: Vector3 }
        Accel { linear: Vector3, angular: Vector3 }
        Wrench { force: Vector3, torque: Vector3 }
        PointStamped { header: Header, point: Point }
        PoseStamped { header: Header, pose: Pose }
        Vector3Stamped { header: Header, vector: Vector3 }
        TwistStamped { header: Header, twist: Twist }
        WrenchStamped { header: Header, wrench: Wrench }
        TransformStamped { header: Header, child_frame_id: String, transform: Transform }
        PoseWithCovariance { pose: Pose, covariance: [[f64; 6]; 6] }
        TwistWithCovariance { twist: Twist, covariance: [[f64; 6]; 6] };
    "tf2_msgs":
        TFMessage { transforms: Vec<TransformStamped> };
    "nav_msgs":
        Odometry { header: Header, child_frame_id: String, pose: PoseWithCovariance, twist: TwistWithCovariance };
    "sensor_msgs":
        JointState { header: Header, name: Vec<String>, position: Vec<f64>, velocity: Vec<f64>, effort: Vec<f64> }
        Imu {
            header: Header, orientation: Quaternion, orientation_covariance: [f64; 9],
            angular_velocity: Vector3, angular_velocity_covariance: [f64; 9],
            linear_acceleration: Vector3, linear_acceleration_covariance: [f64; 9],
        }
        LaserScan {
            header: Header, angle_min: f32, angle_max: f32, angle_increment: f32, time_increment: f32, scan_time: f32,
            range_min: f32, range_max: f32, ranges: Vec<f32>, intensities: Vec<f32>,
        }
        PointField { name: String, offset: u32, datatype: u8, count: u32 }
        PointCloud2 {
            header: Header, height: u32, width: u32, fields: Vec<PointField>, is_bigendian: bool, point_step: u32,
            row_step: u32, data: Vec<u8>, is_dense: bool,
        }
        Image {
            header: Header, height: u32, width: u32, encoding: String, is_bigendian: u8, step: u32, data: Vec<u8>,
        }
        CompressedImage { header: Header, format: String, data: Vec<u8> }
        RegionOfInterest { x_offset: u32, y_offset: u32, height: u32, width: u32, do_rectify: bool }
        CameraInfo {
            header: Header, height: u32, width: u32, distortion_model: String, d: Vec<f64>, k: [f64; 9], r: [f64; 9],
            p: [f64; 12], binning_x: u32, binning_y: u32, roi: RegionOfInterest,
        }
        NavSatStatus { status: i8, service: u16 }
        NavSatFix {
            header: Header, status: NavSatStatus, latitude: f64, longitude: f64, altitude: f64,
            position_covariance: [f64; 9], position_covariance_type: u8,
        }
        MagneticField { header: Header, magnetic_field: Vector3, magnetic_field_covariance: [f64; 9] }
        FluidPressure { header: Header, fluid_pressure: f64, variance: f64 }
        Range {
            header: Header, radiation_type: u8, field_of_view: f32, min_range: f32, max_range: f32, range: f32,
            variance: f32,
        };
    "trajectory_msgs":
        JointTrajectoryPoint {
            positions: Vec<f64>, velocities: Vec<f64>, accelerations: Vec<f64>, effort: Vec<f64>,
            time_from_start: Duration,
        }
        JointTrajectory { header: Header, joint_names: Vec<String>, points: Vec<JointTrajectoryPoint> };
}

/// `geometry_msgs/Quaternion`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the package, which documents them")]
pub struct Quaternion {
    pub x: f64,
    pub y: f64,
    pub z: f64,
    pub w: f64,
}

impl Default for Quaternion {
    fn default() -> Self {
        DQuat::IDENTITY.into()
    }
}

/// Name of a message type in ROS, if it differs from the name here: `String` is Rust's own.
pub fn type_name<M: RosMessage>() -> &'static str {
    M::NAME.trim_end_matches('_')
}

impl Time {
    /// Simulated time in seconds, to the nanosecond. Times out of range become the latest possible time.
    pub fn from_seconds(seconds: f64) -> Self {
        let nanoseconds = (seconds * 1e9).round() as i64;
        match i32::try_from(nanoseconds.div_euclid(1_000_000_000)) {
            Ok(sec) => Self { sec, nanosec: nanoseconds.rem_euclid(1_000_000_000) as u32 },
            Err(_) => Self { sec: i32::MAX, nanosec: 999_999_999 },
        }
    }

    /// Seconds.
    pub fn seconds(&self) -> f64 {
        f64::from(self.sec) + f64::from(self.nanosec) * 1e-9
    }
}

impl Duration {
    /// Seconds.
    pub fn seconds(&self) -> f64 {
        f64::from(self.sec) + f64::from(self.nanosec) * 1e-9
    }
}

impl Header {
    /// A header with this time and frame.
    pub fn new(stamp: &Time, frame_id: &str) -> Self {
        Self { stamp: stamp.clone(), frame_id: frame_id.to_owned() }
    }
}

impl From<DVec3> for Vector3 {
    fn from(DVec3 { x, y, z }: DVec3) -> Self {
        Self { x, y, z }
    }
}

impl From<DVec3> for Point {
    fn from(DVec3 { x, y, z }: DVec3) -> Self {
        Self { x, y, z }
    }
}

impl From<DQuat> for Quaternion {
    fn from(DQuat { x, y, z, w }: DQuat) -> Self {
        Self { x, y, z, w }
    }
}

impl From<frames::Pose> for Pose {
    fn from(pose: frames::Pose) -> Self {
        Self { position: pose.position.into(), orientation: pose.rotation.into() }
    }
}

impl From<frames::Pose> for Transform {
    fn from(pose: frames::Pose) -> Self {
        Self { translation: pose.position.into(), rotation: pose.rotation.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_exact_to_the_nanosecond() {
        assert_eq!(Time::from_seconds(0.001), Time { sec: 0, nanosec: 1_000_000 });
        assert_eq!(Time::from_seconds(12345.678901234), Time { sec: 12345, nanosec: 678_901_234 });
        assert_eq!(Time::from_seconds(1.9999999999), Time { sec: 2, nanosec: 0 });
        assert_eq!(Time::from_seconds(1e300), Time { sec: i32::MAX, nanosec: 999_999_999 });
    }
}
