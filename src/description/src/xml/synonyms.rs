//! Names that other formats have for our elements, attributes and words: URDF, SDF, MJCF and ROS messages.

/// Foreign names in lower case, and the names here that they may mean. Of several, the first that fits at a position is
/// suggested.
const SYNONYMS: &[(&str, &[&str])] = &[
    // Joints.
    ("continuous", &["hinge"]),
    ("revolute", &["hinge"]),
    ("rotational", &["hinge"]),
    ("gimbal", &["universal"]),
    ("revolute2", &["universal"]),
    ("prismatic", &["slider"]),
    ("linear", &["slider"]),
    ("slide", &["slider"]),
    ("translational", &["slider"]),
    ("screw", &["cylindrical"]),
    ("spherical", &["ball"]),
    ("rigid", &["fixed"]),
    ("weld", &["fixed"]),
    // Sensors.
    ("camera_depth", &["DepthCamera"]),
    ("depth_camera", &["DepthCamera"]),
    ("rgbd", &["RgbdCamera"]),
    ("rgbd_camera", &["RgbdCamera"]),
    ("segmentation_camera", &["SegmentationCamera"]),
    ("wideanglecamera", &["Camera"]),
    ("gpu_lidar", &["ScannerSensor"]),
    ("gpu_ray", &["ScannerSensor"]),
    ("laser", &["ScannerSensor"]),
    ("laserscan", &["ScannerSensor"]),
    ("lidar", &["ScannerSensor"]),
    ("lidarsensor", &["ScannerSensor"]),
    ("scanner", &["ScannerSensor"]),
    ("ray", &["ScannerSensor", "DistanceSensor"]),
    ("range", &["DistanceSensor"]),
    ("rangefinder", &["DistanceSensor"]),
    ("sonar", &["DistanceSensor"]),
    ("ultrasound", &["DistanceSensor"]),
    ("gyro", &["Gyroscope"]),
    ("imu", &["ImuSensor"]),
    ("inertialunit", &["ImuSensor"]),
    ("gps", &["GnssSensor"]),
    ("navsat", &["GnssSensor"]),
    ("magnetometer", &["MagnetometerSensor"]),
    ("bumper", &["BumperSensor"]),
    ("touch", &["BumperSensor", "ContactSensor"]),
    ("touchsensor", &["BumperSensor", "ContactSensor"]),
    ("contact", &["ContactSensor"]),
    ("encoder", &["JointEncoder"]),
    ("jointpos", &["JointEncoder"]),
    ("jointstate", &["JointEncoder"]),
    ("positionencoder", &["JointEncoder"]),
    ("force_torque", &["ForceTorqueSensor"]),
    ("force", &["ForceTorqueSensor", "ForceActuator"]),
    ("odometry", &["OdometrySensor"]),
    ("odom", &["OdometrySensor"]),
    ("groundtruth", &["PoseSensor"]),
    // Actuators.
    ("motor", &["JointController", "actuator"]),
    ("velocitycontroller", &["JointController"]),
    ("velocity", &["JointController", "VelocitySensor", "translationalVelocity"]),
    ("servo", &["PositionController"]),
    ("position", &["PositionController", "PositionSensor", "pose"]),
    ("effort", &["EffortController", "maxEffort"]),
    ("torque", &["EffortController"]),
    ("thruster", &["PropellerController"]),
    ("propeller", &["PropellerController"]),
    ("rotor", &["PropellerController"]),
    ("altimeter", &["AltimeterSensor"]),
    ("barometer", &["BarometerSensor"]),
    ("airspeed", &["AirSpeedSensor"]),
    ("wind", &["air"]),
    ("atmosphere", &["air"]),
    ("conveyor", &["ConveyorController"]),
    ("diffdrive", &["DifferentialDriveController"]),
    ("differentialdrive", &["DifferentialDriveController"]),
    ("skidsteer", &["DifferentialDriveController"]),
    ("ackermann", &["AckermannController"]),
    ("ackermannsteering", &["AckermannController"]),
    ("mecanum", &["OmnidirectionalController"]),
    ("mecanumdrive", &["OmnidirectionalController"]),
    ("omnidrive", &["OmnidirectionalController"]),
    ("trackedvehicle", &["TrackController"]),
    // Elements and attributes.
    ("link", &["body"]),
    ("model", &["robot"]),
    ("include", &["robot"]),
    ("origin", &["pose"]),
    ("inertial", &["inertia", "mass"]),
    ("ground_plane", &["surface"]),
    ("plane", &["surface"]),
    ("floor", &["surface"]),
    ("heightmap", &["heightfield"]),
    ("hfield", &["heightfield"]),
    ("terrain", &["heightfield"]),
    ("mesh", &["triangleMesh"]),
    ("mimic", &["coupling"]),
    ("equality", &["coupling"]),
    ("fixed", &["static"]),
    ("mu", &["friction"]),
    ("mu1", &["friction"]),
    ("color", &["visual"]),
    ("filename", &["file"]),
    ("uri", &["file"]),
    ("update_rate", &["rate"]),
    ("hz", &["rate"]),
    ("samples", &["rays"]),
    ("gravitation", &["gravity"]),
    ("density", &["mass"]),
];

/// The known name that another format's name means. Case is ignored.
pub(super) fn synonym<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let name = name.to_ascii_lowercase();
    let (_, ours) = SYNONYMS.iter().find(|(theirs, _)| *theirs == name)?;
    ours.iter().find_map(|ours| known.iter().find(|known| **known == *ours).copied())
}

#[cfg(test)]
mod tests {
    use simpartner_model::JointKind;
    use simpartner_wire::signal::DeviceKind;

    use super::{super::schema::ELEMENTS, *};

    #[test]
    fn every_synonym_stands_for_a_name_that_there_is_and_is_none_itself() {
        let elements = ELEMENTS.iter().map(|element| element.tag);
        let attributes = ELEMENTS.iter().flat_map(|element| element.attributes).map(|attribute| attribute.name);
        let words = JointKind::NAMES.iter().chain(DeviceKind::SENSORS).chain(DeviceKind::ACTUATORS).copied();
        let known: Vec<&str> = elements.chain(attributes).chain(words).collect();
        for (index, (theirs, ours)) in SYNONYMS.iter().enumerate() {
            assert!(ours.iter().all(|ours| known.contains(ours)), "{theirs}: {ours:?}");
            assert_eq!(*theirs, theirs.to_ascii_lowercase());
            assert!(SYNONYMS[..index].iter().all(|(other, _)| other != theirs), "{theirs} stands there twice");
        }
    }

    #[test]
    fn a_word_of_another_format_is_understood_where_ours_fits() {
        assert_eq!(synonym("Revolute", &JointKind::NAMES), Some("hinge"));
        assert_eq!(synonym("Lidar", DeviceKind::SENSORS), Some("ScannerSensor"));
        assert_eq!(synonym("Motor", DeviceKind::ACTUATORS), Some("JointController"));
        assert_eq!(synonym("Motor", DeviceKind::SENSORS), None);
        assert_eq!(synonym("link", &["body", "joint"]), Some("body"));
    }
}
