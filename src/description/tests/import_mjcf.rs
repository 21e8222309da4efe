//! MJCF models as ours: frames, classes, masses, joints, equalities, devices, keyframes.

use std::fs;

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_description::{
    DeviceSpec, World,
    xml::{self, Document, ImportOptions, Wanted},
};
use simpartner_model::{Axis, Body, FreeAxis, JointKind, Shape};

const WALKER: &str = r#"<mujoco model="walker">
  <compiler angle="degree"/>
  <option gravity="0 0 -3"/>
  <default>
    <geom friction="0.7 0.01 0.01" density="500"/>
    <default class="leg">
      <joint axis="0 1 0" damping="2" range="-90 30"/>
      <geom type="capsule" size="0.05" contype="2" conaffinity="1"/>
    </default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <geom name="step" type="box" size="1 1 0.1" pos="3 0 0.1"/>
    <body name="torso" pos="0 0 1.2">
      <freejoint name="root"/>
      <geom type="box" size="0.1 0.2 0.3" mass="12"/>
      <site name="imu" pos="0 0 0.3" euler="0 0 90"/>
      <body name="thigh" pos="0 0.1 -0.3" childclass="leg">
        <joint name="hip_x" axis="1 0 0" range="-20 20"/>
        <joint name="hip_y" stiffness="5" springref="-10" armature="0.2"/>
        <geom fromto="0 0 0 0 0 -0.4"/>
        <frame pos="0 0 -0.4">
          <body name="shin">
            <joint name="knee" ref="-30"/>
            <geom fromto="0 0 0 0 0 -0.4"/>
            <body name="foot" pos="0 0 -0.4"><geom type="sphere" size="0.06"/></body>
          </body>
        </frame>
      </body>
      <body name="arm" pos="0 -0.3 0">
        <joint name="shoulder" type="ball" damping="0.3"/>
        <inertial pos="0 0 -0.2" mass="2" diaginertia="0.2 0.3 0.4" quat="0.70710678118654752 0.70710678118654752 0 0"/>
      </body>
    </body>
  </worldbody>
  <contact><exclude body1="torso" body2="shin"/></contact>
  <actuator>
    <motor name="hip" joint="hip_x" gear="50" ctrlrange="-1 1"/>
    <position name="knee_servo" joint="knee" kp="100" forcerange="-30 40"/>
  </actuator>
  <sensor><gyro name="spin" site="imu"/><jointpos joint="knee"/></sensor>
  <keyframe><key name="squat" qpos="0 0 1 1 0 0 0  0.1 -0.5 -1.2  1 0 0 0"/></keyframe>
</mujoco>"#;

fn read(text: &str) -> World {
    match xml::read_text("model.xml", text) {
        Ok(Document::World(world) | Document::Robot(world)) => world,
        Ok(_) => panic!("neither a world nor a robot"),
        Err(problems) => panic!("{problems}"),
    }
}

fn body<'w>(world: &'w World, name: &str) -> &'w Body {
    world.mechanism.bodies.iter().find(|body| body.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn axis(world: &World, name: &str) -> FreeAxis {
    let joint = world.mechanism.joints.iter().find(|joint| joint.name == name).unwrap_or_else(|| panic!("no {name}"));
    *joint.axes[2].free().unwrap_or_else(|| panic!("{name} is locked"))
}

fn close(found: DVec3, expected: DVec3) {
    assert!((found - expected).length() < 1e-12, "{found} is not {expected}");
}

/// A point of the file in our frame.
fn y_up(point: DVec3) -> DVec3 {
    DVec3::new(point.x, point.z, -point.y)
}

#[test]
fn a_model_is_a_world_with_its_robots() {
    let world = read(WALKER);
    assert_eq!(world.mechanism.gravity, DVec3::new(0.0, -3.0, 0.0));
    let plane = world.mechanism.planes().next().expect("the floor");
    assert_eq!((plane.normal, plane.distance, plane.material.friction), (DVec3::Y, 0.0, 0.7));
    let step = body(&world, "step");
    assert!(step.fixed && step.robot.is_none());
    close(step.pose.translation, y_up(DVec3::new(3.0, 0.0, 0.1)));
    let [robot] = &world.mechanism.robots[..] else { panic!("one robot") };
    assert_eq!((robot.name.as_str(), robot.self_collision), ("walker", true));
    assert!(!body(&world, "torso").fixed);
    close(body(&world, "torso").pose.translation, y_up(DVec3::new(0.0, 0.0, 1.2)));
}

/// Classes are taken over from outside in, and by the bodies around.
#[test]
fn joints_have_what_their_classes_say() {
    let world = read(WALKER);
    let hip = axis(&world, "hip_y");
    assert_eq!((hip.damping, hip.stiffness, hip.armature), (2.0, 5.0, 0.2));
    let degrees = |angle: f64| angle.to_radians();
    assert_eq!((hip.lower, hip.upper, hip.spring_position), (degrees(-90.0), degrees(30.0), degrees(-10.0)));
    assert_eq!(axis(&world, "hip_x").upper, degrees(20.0));
    assert_eq!(axis(&world, "hip_x").max_effort, 50.0);
    assert_eq!(axis(&world, "knee").max_effort, 40.0);
    let shoulder = world.mechanism.joints.iter().find(|joint| joint.name == "shoulder").unwrap();
    assert_eq!(shoulder.kind, JointKind::Ball);
    assert_eq!(shoulder.axes[0].free().unwrap().damping, 0.3);
    let thigh = body(&world, "thigh");
    assert_eq!((thigh.filter.category, thigh.filter.collides_with), (2, 1));
}

/// Several joints of a body are a chain over links without mass; the body and its parent still do not collide.
#[test]
fn several_joints_of_a_body_are_a_chain() {
    let world = read(WALKER);
    let carrier = body(&world, "thigh_carrier_1");
    assert!(carrier.mass < 1e-11 && carrier.collision_shape().is_none());
    let name = |id: simpartner_model::BodyId| world.mechanism.body(id).name.as_str();
    let of = |name: &str| world.mechanism.joints.iter().find(|joint| joint.name == name).unwrap();
    assert_eq!((name(of("hip_x").parent), name(of("hip_x").child)), ("torso", "thigh_carrier_1"));
    assert_eq!((name(of("hip_y").parent), name(of("hip_y").child)), ("thigh_carrier_1", "thigh"));
    close(of("hip_y").anchor, y_up(DVec3::new(0.0, 0.1, 0.9)));
    let apart: Vec<[&str; 2]> = world.mechanism.apart.iter().map(|pair| pair.map(name)).collect();
    assert_eq!(apart, [["torso", "thigh"], ["torso", "shin"]]);
}

/// At `ref` the bodies have the poses of the file.
#[test]
fn a_joint_begins_at_its_reference() {
    let world = read(WALKER);
    assert_eq!(axis(&world, "knee").initial_position, (-30f64).to_radians());
    close(body(&world, "shin").pose.translation, y_up(DVec3::new(0.0, 0.1, 0.5)));
    let upright = DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2);
    close(body(&world, "shin").pose.rotation * DVec3::X, upright * DVec3::X);
}

/// Mass by density and by number, the foot welded to the shin, and a given inertia.
#[test]
fn masses_follow_from_geoms_or_are_given() {
    use std::f64::consts::PI;
    let world = read(WALKER);
    let torso = body(&world, "torso");
    assert_eq!(torso.mass, 12.0);
    let edge = DVec3::new(0.2, 0.4, 0.6);
    let tensor = torso.inertia.unwrap().tensor;
    close(tensor.x_axis, DVec3::X * (edge.y * edge.y + edge.z * edge.z));
    let capsule = 500.0 * PI * 0.0025 * (0.4 + 4.0 / 3.0 * 0.05);
    let ball = 500.0 * 4.0 / 3.0 * PI * 0.06f64.powi(3);
    let shin = body(&world, "shin");
    assert!((shin.mass - capsule - ball).abs() < 1e-12);
    close(shin.inertia.unwrap().centre_of_mass, DVec3::NEG_Z * ((capsule * 0.2 + ball * 0.4) / (capsule + ball)));
    assert!(matches!(&shin.shape.as_ref().unwrap().shape, Shape::Compound { parts } if parts.len() == 2));
    let arm = body(&world, "arm").inertia.unwrap();
    close(arm.centre_of_mass, DVec3::new(0.0, 0.0, -0.2));
    // Turned by a quarter about x, the second and third moment change places.
    for column in 0..3 {
        close(arm.tensor.col(column), DMat3::from_diagonal(DVec3::new(0.2, 0.4, 0.3)).col(column));
    }
}

#[test]
fn devices_are_those_of_the_file_and_an_encoder_on_each_joint() {
    let world = read(WALKER);
    let kinds: Vec<(&str, bool)> = world
        .devices
        .iter()
        .map(|device| (device.name.as_str(), matches!(device.spec, DeviceSpec::Actuator(_))))
        .collect();
    assert_eq!(
        kinds,
        [
            ("hip_x_encoder", false),
            ("hip", true),
            ("hip_y_encoder", false),
            ("knee_encoder", false),
            ("knee_servo", true),
            ("shoulder_encoder", false),
            ("spin", false)
        ]
    );
}

fn import(text: &str, options: &ImportOptions) -> Result<xml::Imported, String> {
    let scratch = tempfile::tempdir().expect("a scratch file");
    let path = scratch.path().join("model.xml");
    fs::write(&path, text).expect("a scratch file");
    xml::import(&path, options).map_err(|problems| problems.to_string())
}

#[test]
fn a_keyframe_is_where_it_begins_if_it_is_chosen() {
    let options = ImportOptions { keyframe: Some("squat".into()), ..ImportOptions::default() };
    let imported = import(WALKER, &options).unwrap();
    let world = read(&imported.text);
    assert_eq!([axis(&world, "hip_x").initial_position, axis(&world, "knee").initial_position], [0.1, -1.2]);
    close(body(&world, "torso").pose.translation, y_up(DVec3::Z));
    assert!(!imported.warnings.iter().any(|warning| warning.what.contains("keyframe")));
    let other = ImportOptions { keyframe: Some("jump".into()), ..ImportOptions::default() };
    assert!(import(WALKER, &other).unwrap_err().contains("there are: squat"));
}

/// The robot of a model for the user's own world; omitted elements are reported with their line.
#[test]
fn a_model_gives_its_robot_to_another_world() {
    let options = ImportOptions { wanted: Wanted::Robot, ..ImportOptions::default() };
    let imported = import(WALKER, &options).unwrap();
    assert!(imported.text.contains("<robot name=\"walker\" selfCollision=\"true\">"), "{}", imported.text);
    let said: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    assert!(
        said.iter().any(|line| line.contains("model.xml:12:5") && line.contains("the ground is left out")),
        "{said:?}"
    );
    let two =
        WALKER.replace("</worldbody>", "<body name=\"other\"><freejoint/><geom size=\"0.1\"/></body></worldbody>");
    assert!(import(&two, &options).unwrap_err().contains("holds 2 robots, not one: torso, other"));
    let world = read(&two);
    assert!(body(&world, "other").robot.is_none(), "a single body is an object");
}

#[test]
fn equalities_are_couplings_and_loops() {
    let text = r#"<mujoco><compiler angle="radian"/><worldbody>
        <body name="a"><joint name="one" axis="0 1 0"/><geom size="0.1"/>
          <body name="b" pos="1 0 0"><joint name="two" axis="0 1 0" ref="0.5"/><geom size="0.1"/></body></body>
        <body name="c" pos="1 0 -1"><joint name="three" axis="0 1 0"/><geom size="0.1"/></body>
      </worldbody><equality>
        <joint joint1="two" joint2="one" polycoef="0.1 -2 0 0 0"/>
        <connect body1="c" body2="b" anchor="0 0 1"/>
      </equality></mujoco>"#;
    let world = read(text);
    let [coupling] = &world.mechanism.couplings[..] else { panic!("one coupling") };
    assert_eq!((coupling.ratio, coupling.offset), (-2.0, 0.6));
    let closing = world.mechanism.joints.last().unwrap();
    assert_eq!(closing.kind, JointKind::Ball);
    close(closing.anchor, y_up(DVec3::X));
    assert_eq!(world.mechanism.robots.len(), 1, "the loop holds both parts together");
}

/// Frames of every kind turn a body alike.
#[test]
fn all_ways_to_turn_a_frame_agree() {
    let turned = |how: &str| {
        let text = format!(
            "<mujoco><worldbody><body name=\"b\" {how}><geom type=\"box\" size=\"1 1 1\"/><freejoint/></body></worldbody></mujoco>"
        );
        body(&read(&text), "b").pose.rotation
    };
    let upright = DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2);
    let expected = upright * DQuat::from_rotation_z(0.5);
    let ways = [
        "quat=\"0.96891242171064478 0 0 0.24740395925452292\"",
        "axisangle=\"0 0 2 28.64788975654116\"",
        "euler=\"0 0 28.64788975654116\"",
        "xyaxes=\"0.87758256189037276 0.47942553860420301 0 -1 1 0\"",
    ];
    for way in ways {
        assert!(turned(way).angle_between(expected) < 1e-12, "{way}");
    }
    close(turned("zaxis=\"3 0 0\"") * DVec3::Z, upright * DVec3::X);
}

#[test]
fn included_files_are_part_of_the_model_and_kept_with_the_run() {
    let scratch = tempfile::tempdir().unwrap();
    let main = scratch.path().join("main.xml");
    let text = "<mujoco><include file=\"parts.xml\"/><worldbody><include file=\"leg.xml\"/></worldbody></mujoco>";
    fs::write(&main, text).unwrap();
    fs::write(
        scratch.path().join("parts.xml"),
        "<mujocoinclude><default><geom density=\"2000\"/></default></mujocoinclude>",
    )
    .unwrap();
    let leg = "<x>\n <body name=\"leg\"><joint axis=\"1 0 0\"/>\n <geom type=\"box\" size=\"0.5 0.5 0.5\"/><light pos=\"1 2\"/></body></x>";
    fs::write(scratch.path().join("leg.xml"), leg).unwrap();
    let Document::Robot(world) = xml::read_any(&main).unwrap() else { panic!("a robot alone") };
    assert_eq!(body(&world, "leg").mass, 2000.0);
    assert!(body(&world, "leg").source.contains("leg.xml:2:2"), "{}", body(&world, "leg").source);
    fs::remove_dir_all(scratch.path()).unwrap();
    let again = xml::read_kept(&world.sources).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(body(&again, "leg").mass, 2000.0);
}

/// A fan of copies, each rotated relative to the one before.
#[test]
fn replicas_are_bodies_of_their_own() {
    let text = r#"<mujoco><worldbody><replicate count="3" offset="1 0 0" euler="0 0 90" sep="-">
        <body name="post" pos="0 2 0"><joint axis="0 0 1"/><geom type="box" size="0.1 0.1 0.1"/></body></replicate></worldbody></mujoco>"#;
    let world = read(text);
    close(body(&world, "post-0").pose.translation, y_up(DVec3::new(0.0, 2.0, 0.0)));
    close(body(&world, "post-1").pose.translation, y_up(DVec3::new(-1.0, 0.0, 0.0)));
    close(body(&world, "post-2").pose.translation, y_up(DVec3::new(1.0, -1.0, 0.0)));
    assert!(matches!(world.mechanism.joints[0].axes[2], Axis::Free(_)));
}

fn told(world: &World) -> String {
    world.warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

/// A pair makes two geoms without collision bits collide with each other and with nothing else.
#[test]
fn pairs_collide_in_spite_of_their_bits() {
    let geom = "contype=\"0\" conaffinity=\"0\" type=\"sphere\" size=\"0.1\"";
    let text = format!(
        r#"<mujoco><worldbody><geom name="post" pos="0 0 9" {geom}/>
        <body name="a"><freejoint/><geom name="ga" {geom}/></body><body name="b" pos="0 0 1"><freejoint/><geom name="gb" {geom}/></body>
        <body name="c" pos="0 0 2"><freejoint/><geom name="gc" {geom}/></body></worldbody>
        <contact><pair geom1="ga" geom2="gb" friction="0.4 0.4"/><pair geom1="post" geom2="ga" friction="0.3 0.3"/></contact></mujoco>"#
    );
    let world = read(&text);
    let filter = |name: &str| body(&world, name).filter;
    let meet = |one: &str, other: &str| {
        let [one, other] = [filter(one), filter(other)];
        one.category & other.collides_with != 0 || other.category & one.collides_with != 0
    };
    assert!(meet("a", "b") && meet("a", "post"));
    assert!(!meet("b", "post") && !meet("b", "b"));
    assert!(body(&world, "c").collision_shape().is_none_or(|_| filter("c").category == 0));
    // Surfaces that meet in pairs alone have the smaller of two frictions: 0.4 and 0.3.
    assert_eq!(body(&world, "a").material.friction.min(body(&world, "b").material.friction), 0.4);
    assert_eq!(body(&world, "a").material.friction.min(body(&world, "post").material.friction), 0.3);
}

#[test]
fn ball_joints_have_cones_for_ranges() {
    let text = r#"<mujoco><worldbody><body name="a"><joint name="j" type="ball" range="0 60" damping="0.5"/><geom size="0.1"/></body></worldbody></mujoco>"#;
    let world = read(text);
    let joint = &world.mechanism.joints[0];
    let Axis::Free(twist) = joint.axes[2] else { panic!("free") };
    let most = 60f64.to_radians();
    assert_eq!((joint.kind, joint.swing, twist.lower, twist.upper), (JointKind::Ball, most, -most, most));
    assert_eq!(twist.damping, 0.5);
}

/// The drive of a tendon drives the joint that the others follow, with the sum of the tendon's arms.
#[test]
fn actuators_reach_joints_by_tendons_and_bodies_by_sites() {
    let text = r#"<mujoco><worldbody><body name="hand">
          <body name="l" pos="0 1 0"><joint name="left" type="slide" axis="0 1 0" range="0 1"/><geom size="0.1"/></body>
          <body name="r" pos="0 -1 0"><joint name="right" type="slide" axis="0 -1 0" range="0 1"/><geom size="0.1"/></body>
        <geom size="0.1"/><site name="tip" pos="0 0 0.2" euler="90 0 0"/></body></worldbody>
      <tendon><fixed name="split"><joint joint="left" coef="0.5"/><joint joint="right" coef="0.25"/></fixed>
        <spatial name="rope"><site site="tip"/><site site="tip"/></spatial></tendon>
      <equality><joint joint1="right" joint2="left" polycoef="0 2 0 0 0"/></equality>
      <actuator><position name="grip" tendon="split" forcerange="-10 10"/><motor name="jet" site="tip" gear="0 0 3 0 0 0"/>
        <motor name="pull" tendon="rope"/></actuator></mujoco>"#;
    let world = read(text);
    let named = |name: &str| world.devices.iter().find(|device| device.name == name);
    let joint = world.mechanism.joints.iter().find(|joint| joint.name == "left").unwrap();
    let Axis::Free(axis) = joint.axes[2] else { panic!("free") };
    // 0.5 of its own, and 0.25 of the other one, which moves twice as far.
    assert_eq!(axis.max_effort, 10.0);
    assert!(named("grip").is_some());
    let jet = named("jet").unwrap();
    let DeviceSpec::Actuator(actuator) = &jet.spec else { panic!("an actuator") };
    let simpartner_description::Mount::Body { pose, .. } = actuator.mount else { panic!("on a body") };
    assert!((pose.rotation * DVec3::Z - DVec3::NEG_Y).length() < 1e-12);
    let told = told(&world);
    for what in ["an actuator on a tendon is left out", "<spatial> of <tendon> is left out", "force and torque"] {
        assert!(told.contains(what), "{what}\n{told}");
    }
    assert!(!told.contains("<fixed> of <tendon>"), "{told}");
}

/// Two points of the same two bodies are a hinge; a weld that is open is reported.
#[test]
fn two_points_of_two_bodies_make_a_hinge() {
    let text = r#"<mujoco><compiler angle="radian"/><worldbody>
        <body name="a"><joint name="one" axis="0 1 0"/><geom size="0.1"/></body>
        <body name="b" pos="1 0 0"><joint name="two" axis="0 1 0"/><geom size="0.1"/></body>
        <body name="c" pos="0 0 1"><joint name="held" type="slide" axis="0 0 1" ref="0.5"/><geom size="0.1"/></body>
      </worldbody><equality>
        <connect body1="a" body2="b" anchor="0.5 0 0"/><connect body1="b" body2="a" anchor="-0.5 1 0"/>
        <weld body1="a" body2="c" relpose="0 0 2 1 0 0 0"/><joint joint1="held" polycoef="0.25 0 0 0 0"/>
      </equality></mujoco>"#;
    let world = read(text);
    let closing = world.mechanism.joints.last().unwrap();
    assert_eq!(closing.kind, JointKind::Hinge);
    close(closing.anchor, y_up(DVec3::X * 0.5));
    assert!((closing.frame * DVec3::Z).cross(y_up(DVec3::Y)).length() < 1e-12);
    // 0.25 m above the place that the file has it at.
    close(body(&world, "c").pose.translation, y_up(DVec3::Z * 1.25));
    assert!(told(&world).contains("a <weld> that is 1.00e0 m and 0.00e0 rad open is left out"), "{}", told(&world));
}

#[test]
fn softness_is_told_once() {
    let text = r#"<mujoco><default><geom solref="0.01 1" margin="0.001"/></default><worldbody><geom type="plane" size="1 1 1" solimp="0.9 0.9 0.01"/>
        <body name="a" pos="0 0 1"><freejoint/><geom size="0.1" friction="0.5"/></body></worldbody></mujoco>"#;
    let told = told(&read(text));
    assert_eq!(told.matches("softness ('solref', 'solimp') is left out").count(), 1, "{told}");
    assert_eq!(told.matches("'margin' and 'gap' are left out").count(), 1, "{told}");
}

/// An image from the largest y down, MuJoCo's own files from the smallest up; the lowest is 0 and the highest 1.
#[test]
fn what_a_class_of_joints_gives_to_a_free_one_is_told() {
    let model = |free: &str| {
        read(&format!(
            "<mujoco><default><joint armature='0.1' damping='1'/></default><worldbody>
               <body name='b'>{free}<geom size='1'/></body></worldbody></mujoco>"
        ))
    };
    let text = told(&model("<joint type='free'/>"));
    for name in ["armature", "damping"] {
        assert!(text.contains(&format!("'{name}' of a free joint is left out")), "{text}");
    }
    assert!(!text.contains("frictionloss"), "{text}");
    // A <freejoint> inherits nothing from classes.
    let text = told(&model("<freejoint/>"));
    assert!(!text.contains("free joint"), "{text}");
}

#[test]
fn fields_of_heights_are_read_from_files() {
    let scratch = tempfile::tempdir().unwrap();
    let model = |file: &str| {
        format!(
            r#"<mujoco><asset><hfield name="f" file="{file}" size="5 4 2 0.1"/></asset><worldbody><geom type="hfield" hfield="f"/></worldbody></mujoco>"#
        )
    };
    let mut image = Vec::new();
    let mut encoder = png::Encoder::new(&mut image, 3, 2);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Sixteen);
    let pixels: Vec<u8> = [1100u16, 1000, 1200, 1000, 1400, 1000].into_iter().flat_map(u16::to_be_bytes).collect();
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    fs::write(scratch.path().join("f.png"), image).unwrap();
    let mut binary: Vec<u8> = [2i32, 3].into_iter().flat_map(i32::to_le_bytes).collect();
    binary.extend([0.0f32, 4.0, 0.0, 1.0, 0.0, 2.0].into_iter().flat_map(f32::to_le_bytes));
    fs::write(scratch.path().join("f.bin"), binary).unwrap();
    for file in ["f.png", "f.bin"] {
        let path = scratch.path().join("model.mjcf");
        fs::write(&path, model(file)).unwrap();
        let world = xml::read_world(&path).unwrap_or_else(|problems| panic!("{problems}"));
        let field = world.mechanism.heightfields().next().unwrap();
        assert_eq!((field.points_x, field.points_z, field.width, field.depth), (3, 2, 10.0, 8.0));
        assert_eq!(*field.heights, [0.5, 0.0, 0.0, 2.0, 1.0, 0.0], "{file}");
        let again = xml::read_kept(&world.sources).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(again.mechanism.heightfields().next().unwrap().heights, field.heights);
    }
}

/// Visuals with their colours, and a hinge that closes a loop, are exported to MJCF and read back.
#[test]
fn visuals_colours_and_hinges_of_loops_are_written() {
    let text = r##"<robot name="ring">
      <body name="a"><static>true</static><box x="1" y="1" z="1"/></body>
      <body name="b"><mass>1</mass><inertia ixx="1" iyy="1" izz="1"/><pose x="1"/><box x="0.1" y="0.1" z="0.1"/>
        <visual color="#ff8000"><triangleMesh><vertices>0 0 0 1 0 0 0 1 0 0 0 1</vertices>
          <triangles>0 2 1 0 1 3 0 3 2 1 2 3</triangles></triangleMesh></visual></body>
      <body name="c"><mass>1</mass><inertia ixx="1" iyy="1" izz="1"/><pose x="1" z="1"/><sphere radius="0.1"/></body>
      <joint type="hinge" name="one"><parent>a</parent><child>b</child><anchor x="0.5" y="0" z="0"/><axis y="1"/><free damping="2"/></joint>
      <joint type="hinge" name="two"><parent>b</parent><child>c</child><anchor x="1" y="0" z="0.5"/><axis y="1"/><free damping="2"/></joint>
      <joint type="hinge" name="three"><parent>a</parent><child>c</child><anchor x="0" y="0.25" z="1"/><axis y="1"/><free damping="2"/></joint>
    </robot>"##;
    let Document::Robot(own) = xml::read_text("ring.xml", text).unwrap_or_else(|problems| panic!("{problems}")) else {
        panic!("a robot")
    };
    let written = xml::export(&own, xml::ExportFormat::Mjcf, "meshes").unwrap();
    assert!(
        written.text.contains("Not as it was:") && written.text.contains("which closes a loop, are left out"),
        "{}",
        written.text
    );
    let Document::Robot(again) =
        xml::read_text("again.mjcf", &written.text).unwrap_or_else(|problems| panic!("{problems}\n{}", written.text))
    else {
        panic!("a robot\n{}", written.text)
    };
    let seen: Vec<_> = body(&again, "b").seen().collect();
    let [(placed, Some(color))] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(color.to_string(), "#ff8000");
    assert!(matches!(&placed.shape, Shape::TriangleMesh { triangles, .. } if triangles.len() == 4), "{placed:?}");
    assert!(matches!(body(&again, "b").collision_shape().unwrap().shape, Shape::Box { .. }));
    // One of the three hinges closes the ring, and is a hinge again, about the same line.
    let closing = again.mechanism.joints.iter().filter(|joint| joint.kind == JointKind::Hinge).count();
    assert_eq!((closing, again.mechanism.joints.len()), (3, 3));
    for hinge in &again.mechanism.joints {
        assert!((hinge.frame * DVec3::Z).cross(DVec3::Y).length() < 1e-12, "{}", hinge.name);
    }
}
