//! Additions of Gazebo and ROS controllers to a URDF file: sensors, plugins, surfaces, and joint drives.

use bevy_math::DVec3;
use simpartner_description::{
    DeviceSpec, Law, Mount, Parameters, Sensor, Vehicle, World,
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
        DeviceSpec::Sensor(_) | DeviceSpec::Vehicle(_) => None,
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
fn gains_of_joint_controllers_are_taken_over() {
    for (plugin, inside, expected) in [
        ("JointPositionController", "<p_gain>30</p_gain><i_gain>4</i_gain><d_gain>2</d_gain>", Some([30.0, 2.0, 4.0])),
        ("JointPositionController", "<use_velocity_commands>true</use_velocity_commands>", None),
        ("JointPositionController", "", Some([1.0, 0.01, 0.0])),
        ("JointController", "<use_force_commands>true</use_force_commands><p_gain>6</p_gain>", Some([0.0, 6.0, 0.0])),
        ("JointController", "<initial_velocity>5</initial_velocity>", None),
    ] {
        let text = format!(
            "<gazebo><plugin filename=\"gz-sim-system\" name=\"gz::sim::systems::{plugin}\">\
             <joint_name>shoulder</joint_name>{inside}</plugin></gazebo>"
        );
        let world = cart(&text);
        let mut actuators = world.devices.iter().filter_map(|device| match &device.spec {
            DeviceSpec::Actuator(actuator) => Some(actuator.gains),
            _ => None,
        });
        let gains = actuators.next().unwrap().map(|gains| [gains.stiffness, gains.damping, gains.integral]);
        assert_eq!(gains, expected, "{plugin} {inside}");
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
    // The two wheels are in one place, so they are no vehicle.
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

fn vehicle(world: &World) -> &Vehicle {
    let vehicles = world.devices.iter().filter_map(|device| match &device.spec {
        DeviceSpec::Vehicle(vehicle) => Some(vehicle),
        _ => None,
    });
    vehicles.into_iter().next().expect("a vehicle controller")
}

/// A car of Gazebo, its wheels and knuckles of these kinds of joint.
fn car(plugin: &str) -> World {
    let wheel = |name: &str, x: f64, y: f64, on: &str| {
        format!(
            "<link name='{name}'><pose>{x} {y} 0.3 -1.570796326794897 0 0</pose><inertial><mass>10</mass></inertial>
             <collision name='c'><geometry><cylinder><radius>0.3</radius><length>0.1</length></cylinder></geometry></collision></link>
             <joint name='{name}_axle' type='revolute'><parent>{on}</parent><child>{name}</child><axis><xyz>0 0 1</xyz></axis></joint>"
        )
    };
    let knuckle = |name: &str, y: f64| {
        format!(
            "<link name='{name}'><pose>2 {y} 0.3 0 0 0</pose><inertial><mass>2</mass></inertial></link>
             <joint name='{name}_steering' type='revolute'><parent>chassis</parent><child>{name}</child><axis><xyz>0 0 1</xyz>
             <limit><lower>-0.5</lower><upper>0.5</upper></limit></axis></joint>"
        )
    };
    let parts = [
        wheel("rl", 0.0, 0.7, "chassis"),
        wheel("rr", 0.0, -0.7, "chassis"),
        knuckle("kl", 0.7),
        knuckle("kr", -0.7),
        wheel("fl", 2.0, 0.7, "kl"),
        wheel("fr", 2.0, -0.7, "kr"),
    ];
    let text = format!(
        "<sdf version='1.9'><model name='car'><link name='chassis'><pose>1 0 0.5 0 0 0</pose><inertial><mass>500</mass></inertial></link>
         {}{plugin}</model></sdf>",
        parts.concat()
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("car.sdf");
    std::fs::write(&path, text).expect("the file is written");
    xml::read_world_or_robot(&path, false, &Parameters::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Wheels are at their places ahead and to the left, whichever way their joints turn, and keep the limits of the
/// plugin.
#[test]
fn an_ackermann_plugin_is_a_vehicle() {
    let world = car(
        "<plugin filename='gz-sim-ackermann-steering-system' name='gz::sim::systems::AckermannSteering'>
         <left_joint>rl_axle</left_joint><left_joint>fl_axle</left_joint><right_joint>rr_axle</right_joint><right_joint>fr_axle</right_joint>
         <left_steering_joint>kl_steering</left_steering_joint><right_steering_joint>kr_steering</right_steering_joint>
         <wheel_separation>1.4</wheel_separation><wheel_base>2</wheel_base><steering_limit>0.5</steering_limit>
         <max_velocity>3</max_velocity><max_acceleration>2</max_acceleration></plugin>",
    );
    let vehicle = vehicle(&world);
    assert_eq!(vehicle.kind, DeviceKind::AckermannController);
    let places: Vec<[f64; 2]> =
        vehicle.wheels.iter().map(|wheel| (wheel.centre * 1e9).round().to_array().map(|v| v / 1e9)).collect();
    // In the frame of the chassis, 1 m ahead of the rear axle.
    assert_eq!(places, [[-1.0, 0.7], [1.0, 0.7], [-1.0, -0.7], [1.0, -0.7]]);
    assert!(vehicle.wheels.iter().all(|wheel| (wheel.rolling.x - 1.0).abs() < 1e-12 && wheel.radius == 0.3));
    let steered: Vec<bool> = vehicle.wheels.iter().map(|wheel| wheel.steering.is_some()).collect();
    assert_eq!(steered, [false, true, false, true]);
    assert_eq!((vehicle.linear.speed, vehicle.linear.acceleration), (3.0, 2.0));
    assert_eq!(vehicle.wheels[1].steering.unwrap().stops, [-0.5, 0.5]);
    let odometry = world.devices.iter().filter(|device| device.spec.kind() == DeviceKind::OdometrySensor).count();
    assert_eq!(odometry, 1);
    assert!(law(&world, "kl_steering").is_none());
}

/// The separation and radius of a plugin that differ from the model's hold for commands and odometry, as in Gazebo.
#[test]
fn a_drive_plugin_keeps_its_own_separation() {
    let world = car(
        "<plugin filename='gz-sim-diff-drive-system' name='gz::sim::systems::DiffDrive'><left_joint>rl_axle</left_joint>
         <right_joint>rr_axle</right_joint><wheel_separation>2.1</wheel_separation><wheel_radius>0.25</wheel_radius></plugin>",
    );
    let [left, right] = &vehicle(&world).wheels[..] else { panic!("two wheels") };
    assert!((left.centre.y - 1.05).abs() < 1e-12 && (right.centre.y + 1.05).abs() < 1e-12 && left.radius == 0.25);
    assert!(law(&world, "kl_steering").is_none() && law(&world, "fl_axle").is_none(), "the file names what is driven");
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
