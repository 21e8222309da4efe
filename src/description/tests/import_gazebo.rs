//! Additions of Gazebo and ROS controllers to a URDF file: sensors, plugins, surfaces, and joint drives.

use bevy_math::DVec3;
use simpartner_description::{
    DeviceSpec, Law, Mount, Sensor, World,
    xml::{self, Document},
};
use simpartner_model::{Axis, Body, FreeAxis, FrictionDirection};
use simpartner_wire::signal::DeviceKind;

const LINK: &str = "<inertial><mass value=\"2\"/><inertia ixx=\"0.1\" iyy=\"0.1\" izz=\"0.1\"/></inertial>\
    <visual><geometry><sphere radius=\"0.1\"/></geometry></visual><collision><geometry><sphere radius=\"0.1\"/></geometry></collision>";

/// A base with a head that is fixed to it, an arm, and two wheels.
fn cart(more: &str) -> World {
    let joint = |name: &str, kind: &str, child: &str| {
        format!(
            "<joint name=\"{name}\" type=\"{kind}\"><parent link=\"base\"/><child link=\"{child}\"/><origin xyz=\"0 0 1\"/>\
             <axis xyz=\"0 1 0\"/><limit lower=\"-1\" upper=\"1\" effort=\"9\" velocity=\"2\"/></joint><link name=\"{child}\">{LINK}</link>"
        )
    };
    let joints = [
        joint("neck", "fixed", "head"),
        joint("shoulder", "revolute", "arm"),
        joint("left", "continuous", "left_wheel"),
        joint("right", "continuous", "right_wheel"),
    ];
    let text = format!("<robot name=\"cart\"><link name=\"base\">{LINK}</link>{}\n{more}</robot>", joints.concat());
    match xml::read_text("cart.urdf", &text) {
        Ok(Document::Robot(world)) => world,
        Ok(_) => panic!("no robot"),
        Err(problems) => panic!("{problems}"),
    }
}

fn told(world: &World) -> String {
    world.warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

fn body<'w>(world: &'w World, name: &str) -> &'w Body {
    world.mechanism.bodies.iter().find(|body| body.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn axis(world: &World, name: &str) -> FreeAxis {
    let joint = world.mechanism.joints.iter().find(|joint| joint.name == name).unwrap_or_else(|| panic!("no {name}"));
    let Axis::Free(axis) = joint.axes[2] else { panic!("{name} is locked") };
    axis
}

fn sensor<'w>(world: &'w World, name: &str) -> &'w Sensor {
    let device = world.devices.iter().find(|device| device.name == name).unwrap_or_else(|| panic!("no {name}"));
    let DeviceSpec::Sensor(sensor) = &device.spec else { panic!("{name} is no sensor") };
    sensor
}

/// The law by which a joint is driven, if it is.
fn law(world: &World, joint: &str) -> Option<Law> {
    world.devices.iter().find_map(|device| match &device.spec {
        DeviceSpec::Actuator(actuator) => match actuator.mount {
            Mount::Joint(id) if world.mechanism.joint(id).name == joint => Some(actuator.law),
            _ => None,
        },
        DeviceSpec::Sensor(_) => None,
    })
}

#[test]
fn sensors_of_links_sit_where_their_links_went() {
    let world = cart(
        "<gazebo reference=\"head\"><sensor name=\"eye\" type=\"ray\"><pose>0.1 0 0 0 0 0</pose><update_rate>20</update_rate>
           <ray><scan><horizontal><samples>7</samples><min_angle>-1</min_angle><max_angle>1</max_angle></horizontal></scan>
           <range><max>6</max></range><noise><stddev>0.01</stddev></noise></ray><plugin name=\"p\" filename=\"libgazebo_ros_laser.so\"/></sensor>
         <sensor name=\"imu\" type=\"imu\"><imu><angular_velocity><x><noise><stddev>0.002</stddev></noise></x></angular_velocity></imu></sensor>
         <sensor name=\"fix\" type=\"gps\"/><sensor name=\"touch\" type=\"contact\"/><sensor name=\"film\" type=\"thermal_camera\"/></gazebo>",
    );
    // The head has become part of the base, 1 m above its middle.
    assert!(!world.mechanism.bodies.iter().any(|body| body.name == "head"));
    let eye = sensor(&world, "eye");
    let Mount::Body { body: base, pose } = eye.mount else { panic!("not on a body") };
    assert_eq!(world.mechanism.body(base).name, "base");
    assert!((pose.translation - DVec3::new(0.1, 0.0, 1.0)).length() < 1e-12);
    assert!((pose.rotation * DVec3::Z - DVec3::X).length() < 1e-12, "it looks ahead");
    assert_eq!((eye.kind, eye.rate_hz, eye.options.rays.rays), (DeviceKind::ScannerSensor, Some(20.0), 7));
    assert_eq!(sensor(&world, "imu").kind, DeviceKind::ImuSensor);
    assert_eq!(sensor(&world, "fix").kind, DeviceKind::GnssSensor);
    assert_eq!(sensor(&world, "touch").kind, DeviceKind::ContactSensor);
    let told = told(&world);
    assert!(
        told.contains("cart.urdf:6:") && told.contains("a sensor of the type 'thermal_camera' is left out"),
        "{told}"
    );
    assert!(told.contains("the plugin of a sensor is left out"), "{told}");
}

#[test]
fn surfaces_and_flags_of_links_are_taken_over() {
    let world = cart(
        "<gazebo reference=\"base\"><mu1>0.3</mu1><mu2>0.9</mu2><fdir1>0 1 0</fdir1><kp>20000</kp><kd>40</kd>
           <material>Gazebo/Red</material><selfCollide>true</selfCollide></gazebo>
         <gazebo reference=\"arm\"><mu1 value=\"0.5\"/><mu2>0.2</mu2><kp value=\"1e9\"/><kd>1</kd><gravity>false</gravity><selfCollide>true</selfCollide></gazebo>
         <gazebo reference=\"shoulder\"><springStiffness>4</springStiffness><springReference>0.2</springReference><stopErp>0.1</stopErp></gazebo>
         <gazebo reference=\"neck\"><preserveFixedJoint>true</preserveFixedJoint></gazebo>",
    );
    let base = &body(&world, "base").material;
    assert_eq!((base.friction, base.stiffness, base.damping), (0.3, 20000.0, 40.0));
    let across = base.across.unwrap();
    assert_eq!((across.coefficient, across.direction), (0.9, FrictionDirection::Along(DVec3::Y)));
    let arm = &body(&world, "arm").material;
    assert_eq!((arm.friction, arm.across, arm.stiffness), (0.5, None, f64::INFINITY));
    let seen: Vec<_> = body(&world, "base").seen().map(|(_, color)| color.map(|color| color.to_string())).collect();
    assert!(seen.contains(&Some("#ff0000".into())), "{seen:?}");
    let spring = axis(&world, "shoulder");
    assert_eq!((spring.stiffness, spring.spring_position), (4.0, 0.2));
    assert!(world.mechanism.bodies.iter().any(|body| body.name == "head"), "the joint is preserved");
    // Base and arm collide with each other (but for their joint), no other two links do.
    assert!(world.mechanism.robots[0].self_collision);
    let named = |id: simpartner_model::BodyId| world.mechanism.body(id).name.as_str();
    let apart: Vec<[&str; 2]> = world.mechanism.apart.iter().map(|[one, other]| [named(*one), named(*other)]).collect();
    assert!(apart.contains(&["arm", "left_wheel"]) && apart.contains(&["left_wheel", "right_wheel"]), "{apart:?}");
    assert!(!apart.contains(&["base", "arm"]), "{apart:?}");
    let told = told(&world);
    for what in ["(mu2) is left out", "a link without gravity has it here", "<stopErp> is left out"] {
        assert!(told.contains(what), "{what}\n{told}");
    }
}

#[test]
fn plugins_drive_couple_measure_and_push() {
    let world = cart(
        "<gazebo><plugin name=\"drive\" filename=\"libgazebo_ros_diff_drive.so\"><left_joint>left</left_joint><right_joint>right</right_joint>
           <max_wheel_torque>5</max_wheel_torque></plugin>
         <plugin name=\"truth\" filename=\"libgazebo_ros_p3d.so\"><bodyName>base</bodyName><updateRate>50</updateRate></plugin>
         <plugin name=\"wind\" filename=\"libgazebo_ros_force.so\"><bodyName>arm</bodyName></plugin>
         <plugin name=\"wrist\" filename=\"libgazebo_ros_ft_sensor.so\"><jointName>neck</jointName></plugin>
         <plugin name=\"gz::sim::systems::JointTrajectoryController\" filename=\"gz-sim-joint-trajectory-controller-system\">
           <joint_name>shoulder</joint_name></plugin>
         <plugin name=\"states\" filename=\"libgazebo_ros_joint_state_publisher.so\"/>
         <plugin name=\"odd\" filename=\"libmine.so\"/></gazebo>",
    );
    assert!(matches!(law(&world, "left"), Some(Law::Velocity)) && matches!(law(&world, "right"), Some(Law::Velocity)));
    assert_eq!(axis(&world, "left").max_effort, 5.0, "the lower bound counts");
    assert!(matches!(law(&world, "shoulder"), Some(Law::Position)));
    assert_eq!((sensor(&world, "truth").kind, sensor(&world, "truth").rate_hz), (DeviceKind::PoseSensor, Some(50.0)));
    let wrist = sensor(&world, "wrist");
    let Mount::Joint(joint) = wrist.mount else { panic!("not on a joint") };
    assert_eq!((wrist.kind, world.mechanism.joint(joint).name.as_str()), (DeviceKind::ForceTorqueSensor, "neck"));
    let wind = world.devices.iter().find(|device| device.name == "wind").unwrap();
    assert!(matches!(&wind.spec, DeviceSpec::Actuator(actuator) if matches!(actuator.law, Law::Force(_))));
    let told = told(&world);
    assert!(told.contains("the plugin libmine.so is left out"), "{told}");
    assert!(!told.contains("joint_state"), "{told}");
}

#[test]
fn mimic_plugins_couple_joints() {
    let world = cart(
        "<gazebo><plugin name=\"m\" filename=\"libroboticsgroup_gazebo_mimic_joint_plugin.so\"><joint>right</joint><mimicJoint>left</mimicJoint>
           <multiplier>-2</multiplier><offset>0.5</offset></plugin></gazebo>",
    );
    let [coupling] = &world.mechanism.couplings[..] else { panic!("one coupling") };
    assert_eq!((coupling.ratio, coupling.offset), (-2.0, 0.5));
    assert!(law(&world, "right").is_none(), "what follows is not driven");
}

#[test]
fn ros2_control_says_what_drives_a_joint() {
    let world = cart(
        "<ros2_control name=\"c\" type=\"system\"><hardware><plugin>mock_components/GenericSystem</plugin></hardware>
         <joint name=\"shoulder\"><command_interface name=\"effort\"><param name=\"max\">3</param></command_interface>
           <command_interface name=\"position\"/><state_interface name=\"position\"><param name=\"initial_value\">0.4</param></state_interface></joint>
         <joint name=\"left\"><command_interface name=\"velocity\"/></joint>
         <joint name=\"right\"><state_interface name=\"velocity\"/></joint>
         <joint name=\"elbow\"/><gpio name=\"lamp\"/></ros2_control>",
    );
    assert!(matches!(law(&world, "shoulder"), Some(Law::Effort)));
    assert!(matches!(law(&world, "left"), Some(Law::Velocity)));
    assert!(law(&world, "right").is_none(), "a joint without a command turns by itself");
    let shoulder = axis(&world, "shoulder");
    assert_eq!((shoulder.max_effort, shoulder.initial_position), (3.0, 0.4));
    let told = told(&world);
    for what in ["several command interfaces", "'elbow' is to be driven and is no joint", "<gpio> of <ros2_control>"] {
        assert!(told.contains(what), "{what}\n{told}");
    }
}

#[test]
fn transmissions_say_what_drives_a_joint() {
    let transmission = |joint: &str, interface: &str| {
        format!(
            "<transmission name=\"t_{joint}\"><type>transmission_interface/SimpleTransmission</type><joint name=\"{joint}\">\
             <hardwareInterface>hardware_interface/{interface}</hardwareInterface></joint><actuator name=\"m\">\
             <mechanicalReduction>1.0</mechanicalReduction></actuator></transmission>"
        )
    };
    let world = cart(
        &[
            transmission("shoulder", "EffortJointInterface"),
            transmission("left", "PositionJointInterface"),
            transmission("right", "PosVelJointInterface"),
        ]
        .concat(),
    );
    assert!(matches!(law(&world, "shoulder"), Some(Law::Effort)));
    assert!(matches!(law(&world, "left"), Some(Law::Position)));
    assert!(matches!(law(&world, "right"), Some(Law::Velocity)));
    let told = told(&world);
    assert!(told.contains("'PosVelJointInterface' is left out") && !told.contains("mechanicalReduction"), "{told}");
}
