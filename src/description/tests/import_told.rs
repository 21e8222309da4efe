//! Statements of foreign files that are read in another way than they are written, or left out: each is a warning.

use bevy_math::DVec3;
use simpartner_description::{
    World,
    xml::{self, Document},
};

fn read(name: &str, text: &str) -> World {
    match xml::read_text(name, text) {
        Ok(Document::World(world) | Document::Robot(world)) => world,
        Ok(_) => panic!("no world"),
        Err(problems) => panic!("{problems}"),
    }
}

fn told(world: &World) -> String {
    world.warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

/// The direction that a wheel's own axis of rotation has in the world.
fn axle(name: &str, text: &str) -> (DVec3, String) {
    let world = read(name, text);
    let wheel = world.mechanism.bodies.iter().find(|body| body.name.ends_with("wheel")).expect("a wheel");
    let shape = wheel.shape.as_ref().expect("its shape");
    (wheel.pose.then(&shape.pose).direction(DVec3::Y), told(&world))
}

/// A wheel whose cylinder is turned by some decimals of a quarter turn lies exactly on its side; another angle stays.
#[test]
fn decimals_of_quarter_turns_are_quarter_turns() {
    let sdf = |angle: &str| {
        format!(
            "<sdf version=\"1.9\"><world name=\"w\"><model name=\"m\"><link name=\"wheel\"><pose>0 0 1 {angle} 0 0</pose>\
             <collision name=\"c\"><geometry><cylinder><radius>0.1</radius><length>0.05</length></cylinder></geometry></collision>\
             </link></model></world></sdf>"
        )
    };
    let urdf = |angle: &str| {
        format!(
            "<robot name=\"m\"><link name=\"wheel\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial>\
             <collision><origin rpy=\"{angle} 0 0\"/><geometry><cylinder radius=\"0.1\" length=\"0.05\"/></geometry></collision>\
             </link></robot>"
        )
    };
    for (name, text) in [("w.sdf", &sdf as &dyn Fn(&str) -> String), ("m.urdf", &urdf)] {
        for (angle, is_told) in
            [("-1.57", true), ("1.5707", true), ("1.5708", false), ("-1.570796", false), ("4.71", true)]
        {
            let (axle, said) = axle(name, &text(angle));
            assert!(axle.y.abs() < 1e-14, "{name} {angle}: {axle}");
            assert_eq!(said.contains("are taken as quarter turns"), is_told, "{name} {angle}: {said}");
        }
        for angle in ["1.56", "1.58", "1.5704", "1.6", "0.0005", "1.5", "3.13", "1.5707123456789"] {
            let (axle, said) = axle(name, &text(angle));
            let exact = angle.parse::<f64>().unwrap().cos().abs();
            assert!((axle.y.abs() - exact).abs() < 1e-12, "{name} {angle}: {axle}");
            assert!(!said.contains("are taken as quarter turns"), "{name} {angle}: {said}");
        }
    }
}

/// Statements of a Gazebo world that change what it does, and that have no counterpart here.
#[test]
fn what_an_sdf_file_says_and_is_left_out_is_told() {
    let world = |of_world: &str, of_link: &str| {
        let text = format!(
            "<sdf version=\"1.9\"><world name=\"w\">{of_world}<model name=\"m\"><link name=\"body\"><collision name=\"c\">\
             <geometry><sphere><radius>0.1</radius></sphere></geometry></collision>{of_link}</link></model></world></sdf>"
        );
        told(&read("w.sdf", &text))
    };
    let imu = |y: &str| {
        let noise = |value: &str| format!("<noise type=\"gaussian\"><stddev>{value}</stddev></noise>");
        format!(
            "<sensor name=\"i\" type=\"imu\"><imu><angular_velocity><x>{0}</x><y>{1}</y><z>{0}</z></angular_velocity></imu></sensor>",
            noise("0.1"),
            if y.is_empty() { String::new() } else { noise(y) }
        )
    };
    let lidar = |least: &str| {
        format!(
            "<sensor name=\"l\" type=\"gpu_lidar\"><lidar><scan><horizontal><samples>9</samples><min_angle>-1</min_angle>\
             <max_angle>1</max_angle></horizontal></scan><range><min>{least}</min><max>9</max></range></lidar></sensor>"
        )
    };
    let script = "<visual name=\"v\"><geometry><sphere><radius>0.1</radius></sphere></geometry><material><script>\
                  <name>Gazebo/Blue</name></script>";
    for (of_world, of_link, part) in [
        (
            "<physics type=\"x\"><max_step_size>0.005</max_step_size></physics>",
            "",
            "<max_step_size> of 0.005 s is left out",
        ),
        ("<wind><linear_velocity>1 0 0</linear_velocity></wind>", "", "<wind> is left out"),
        ("", "<enable_wind>true</enable_wind>", "<enable_wind> of <link> is left out"),
        ("", "<colision name=\"d\"/>", "did you mean <collision>?"),
        ("", &imu("0.2"), "noise of <angular_velocity> that differs between axes"),
        ("", &imu(""), "noise of <angular_velocity> that differs between axes"),
        ("", &lidar("0.3"), "the minimum range of a lidar, 0.3 m, is left out"),
        ("", &format!("{script}</material></visual>"), "a <script> of a <material> is left out"),
    ] {
        let said = world(of_world, of_link);
        assert!(said.contains(part), "{of_world}{of_link}:\n{said}");
    }
    let colored = format!("{script}<diffuse>0 0 1 1</diffuse></material></visual>");
    for (of_world, of_link) in [
        ("<physics type=\"x\"><max_step_size>0.001</max_step_size></physics>", ""),
        ("<wind><linear_velocity>0 0 0</linear_velocity></wind>", "<enable_wind>false</enable_wind>"),
        ("", "<gravity>true</gravity><kinematic>false</kinematic><self_collide>false</self_collide>"),
        ("", &imu("0.1")),
        ("", &lidar("0.01")),
        ("", &colored),
    ] {
        let said = world(of_world, of_link);
        assert!(!said.contains("left out") && !said.contains("differs"), "{of_world}{of_link}:\n{said}");
    }
}
