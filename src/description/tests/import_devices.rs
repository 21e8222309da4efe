//! What actuators and sensors of other formats become: gains, and the magnetic field that a sensor measures.

use bevy_math::DVec3;
use simpartner_description::{
    DeviceSpec, Law, World,
    xml::{self, Document},
};
use simpartner_wire::signal::DeviceKind;

fn read(name: &str, text: &str) -> World {
    match xml::read_text(name, text) {
        Ok(Document::World(world) | Document::Robot(world)) => world,
        Ok(_) => panic!("neither a world nor a robot"),
        Err(problems) => panic!("{problems}"),
    }
}

/// Gains of actuators are those at the joint: behind a gear, with MuJoCo's defaults, in each of its spellings.
#[test]
fn gains_of_actuators_are_taken_over() {
    let gains = |actuator: &str| {
        let world = read(
            "model.xml",
            &format!(
                "<mujoco><worldbody><body name='b'><joint name='j'/><geom size='0.1'/></body></worldbody>\
             <actuator>{actuator}</actuator></mujoco>"
            ),
        );
        let driven = world.devices.iter().find_map(|device| match &device.spec {
            DeviceSpec::Actuator(actuator) => Some(actuator.clone()),
            _ => None,
        });
        let actuator = driven.unwrap();
        (actuator.law, actuator.gains.map(|gains| [gains.stiffness, gains.damping, gains.integral]))
    };
    for (actuator, law, expected) in [
        ("<position joint='j'/>", Law::Position, Some([1.0, 0.0, 0.0])),
        ("<position joint='j' kp='80' kv='3'/>", Law::Position, Some([80.0, 3.0, 0.0])),
        ("<position joint='j' kp='80' kv='3' gear='5'/>", Law::Position, Some([2000.0, 75.0, 0.0])),
        ("<velocity joint='j'/>", Law::Velocity, Some([0.0, 1.0, 0.0])),
        ("<velocity joint='j' kv='7' gear='-2'/>", Law::Velocity, Some([0.0, 28.0, 0.0])),
        (
            "<general joint='j' gainprm='40' biastype='affine' biasprm='0 -40 -2'/>",
            Law::Position,
            Some([40.0, 2.0, 0.0]),
        ),
        ("<general joint='j' gainprm='9' biastype='affine' biasprm='0 0 -9'/>", Law::Velocity, Some([0.0, 9.0, 0.0])),
        ("<motor joint='j' gear='5'/>", Law::Effort, None),
        ("<general joint='j' biastype='affine' biasprm='0 40 0'/>", Law::Position, None),
    ] {
        assert_eq!(gains(actuator), (law, expected), "{actuator}");
    }
}

const SDF_SENSOR: &str = "<model name='m'><link name='l'><inertial><mass>1</mass></inertial>\
     <sensor name='compass' type='magnetometer'><update_rate>10</update_rate></sensor></link></model>";

/// A magnetometer measures the field of its file, or that which its format has by default.
#[test]
fn the_magnetic_field_is_that_of_the_file() {
    let sdf =
        |more: &str| read("w.sdf", &format!("<sdf version='1.9'><world name='w'>{SDF_SENSOR}{more}</world></sdf>"));
    let world = sdf("<magnetic_field>1e-5 2e-5 -3e-5</magnetic_field>");
    // z is up there, y here.
    assert_eq!(world.magnetic_field, Some(DVec3::new(1e-5, -3e-5, -2e-5)));
    assert!(world.devices.iter().any(|device| device.spec.kind() == DeviceKind::MagnetometerSensor));
    let default = sdf("").magnetic_field.unwrap();
    assert!(default.distance(DVec3::new(5.5645e-6, -42.3884e-6, -22.8758e-6)) < 1e-15, "{default}");
    let mjcf = |options: &str| {
        let text = format!(
            "<mujoco>{options}<worldbody><body><freejoint/><geom size='1'/><site name='s'/></body></worldbody>\
             <sensor><magnetometer site='s'/></sensor></mujoco>"
        );
        read("m.xml", &text).magnetic_field
    };
    assert_eq!(mjcf("<option magnetic='0.2 0 -0.4'/>"), Some(DVec3::new(0.2, -0.4, 0.0)));
    assert_eq!(mjcf(""), None, "the earth's")
}

/// The x axis of Gazebo's worlds points east; `heading_deg` turns it to the north.
#[test]
fn the_place_on_the_earth_is_that_of_the_file() {
    let at = |heading: &str| {
        let text = format!(
            "<sdf version='1.9'><world name='w'>{SDF_SENSOR}<spherical_coordinates><surface_model>EARTH_WGS84</surface_model>\
             <latitude_deg>60.2</latitude_deg><longitude_deg>204.8</longitude_deg><elevation>25</elevation>\
             <heading_deg>{heading}</heading_deg></spherical_coordinates></world></sdf>"
        );
        read("w.sdf", &text).geographic_origin
    };
    let origin = at("0");
    let numbers = [origin.latitude.to_degrees(), origin.longitude.to_degrees(), origin.altitude];
    assert!(numbers.iter().zip([60.2, -155.2, 25.0]).all(|(one, other)| (one - other).abs() < 1e-9), "{numbers:?}");
    assert!((origin.heading.to_degrees() - 90.0).abs() < 1e-9, "{}", origin.heading);
    assert!(at("90").heading.abs() < 1e-9);
}
