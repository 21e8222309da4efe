//! SDF models and worlds as ours: frames, nested and included models, joints, surfaces, devices.

use std::fs;

use bevy_math::{DQuat, DVec3};
use simpartner_description::{
    DeviceSpec, World,
    xml::{self, Document},
};
use simpartner_model::{Axis, Body, FreeAxis, Joint, JointKind};

/// An inertia of 2 kg.
const INERTIAL: &str = "<inertial><pose>0 0 0.1 0 0 0</pose><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.25</izz></inertia></inertial>";

fn cart() -> String {
    format!(
        r#"<sdf version="1.9"><world name="hall">
  <gravity>0 0 -5</gravity>
  <model name="ground"><static>true</static><link name="link"><collision name="c">
    <geometry><plane><normal>0 0 1</normal></plane></geometry><surface><friction><ode><mu>0.6</mu></ode></friction></surface>
  </collision></link></model>
  <model name="wall"><static>1</static><pose>4 0 1 0 0 0</pose><link name="link"><collision name="c">
    <geometry><box><size>0.2 5 2</size></box></geometry></collision></link></model>
  <model name="cart">
    <pose>1 0 0.5 0 0 1.5707963267948966</pose>
    <frame name="axle"><pose>0 0.3 -0.2 0 0 0</pose></frame>
    <link name="chassis">{INERTIAL}<collision name="c"><geometry><box><size>1 0.4 0.2</size></box></geometry></collision>
      <sensor name="eye" type="lidar"><pose>0.5 0 0.2 0 0 0</pose><update_rate>10</update_rate><lidar><scan><horizontal><samples>5</samples>
        <min_angle>-1</min_angle><max_angle>1</max_angle></horizontal></scan><range><max>8</max></range></lidar></sensor>
    </link>
    <link name="wheel"><pose relative_to="axle">0 0.1 0 1.5707963267948966 0 0</pose>{INERTIAL}
      <collision name="c"><geometry><cylinder><radius>0.2</radius><length>0.1</length></cylinder></geometry></collision></link>
    <joint name="turn" type="continuous"><parent>chassis</parent><child>wheel</child>
      <axis><xyz expressed_in="__model__">0 1 0</xyz><dynamics><damping>0.3</damping></dynamics></axis></joint>
    <model name="mast"><pose relative_to="chassis">0 0 0.1 0 0 0</pose><link name="pole">{INERTIAL}</link></model>
    <joint name="tilt" type="revolute"><pose>0 0 0.05 0 0 0</pose><parent>chassis</parent><child>mast::pole</child>
      <axis><xyz>1 0 0</xyz><limit><lower>-0.5</lower><upper>0.5</upper><effort>7</effort><velocity>2</velocity></limit></axis></joint>
    <plugin filename="gz-sim-diff-drive-system" name="gz::sim::systems::DiffDrive"><left_joint>turn</left_joint></plugin>
  </model></world></sdf>"#
    )
}

fn read(text: &str) -> World {
    match xml::read_text("hall.sdf", text) {
        Ok(Document::World(world) | Document::Robot(world)) => world,
        Ok(_) => panic!("neither a world nor a robot"),
        Err(problems) => panic!("{problems}"),
    }
}

fn body<'w>(world: &'w World, name: &str) -> &'w Body {
    world.mechanism.bodies.iter().find(|body| body.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn joint<'w>(world: &'w World, name: &str) -> &'w Joint {
    world.mechanism.joints.iter().find(|joint| joint.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn axis(world: &World, name: &str) -> FreeAxis {
    let Axis::Free(axis) = joint(world, name).axes[2] else { panic!("{name} is locked") };
    axis
}

fn close(found: DVec3, expected: DVec3) {
    assert!((found - expected).length() < 1e-12, "{found} is not {expected}");
}

/// A point of the file in our frame.
fn y_up(point: DVec3) -> DVec3 {
    DVec3::new(point.x, point.z, -point.y)
}

#[test]
fn a_world_has_ground_fixtures_and_robots() {
    let world = read(&cart());
    assert_eq!(world.name, "hall");
    assert_eq!(world.mechanism.gravity, DVec3::new(0.0, -5.0, 0.0));
    let ground = world.mechanism.planes().next().unwrap();
    assert_eq!((ground.normal, ground.material.friction), (DVec3::Y, 0.6));
    assert!(world.mechanism.bodies[0].fixed && world.mechanism.bodies[0].robot.is_none());
    let [robot] = &world.mechanism.robots[..] else { panic!("one robot") };
    assert_eq!(robot.name, "cart", "of several models each has its own name");
    assert_eq!(world.mechanism.bodies[1].name, "wall/link");
}

/// The model is turned by a quarter about z: its x is the world's y, its y the world's -x.
#[test]
fn poses_are_relative_to_the_frames_they_name() {
    let world = read(&cart());
    close(body(&world, "chassis").pose.translation, y_up(DVec3::new(1.0, 0.0, 0.5)));
    close(body(&world, "wheel").pose.translation, y_up(DVec3::new(0.6, 0.0, 0.3)));
    close(body(&world, "pole").pose.translation, y_up(DVec3::new(1.0, 0.0, 0.6)));
    close(body(&world, "pole").inertia.unwrap().centre_of_mass, DVec3::new(0.0, 0.0, 0.1));
    close(joint(&world, "tilt").anchor, y_up(DVec3::new(1.0, 0.0, 0.65)));
    close(joint(&world, "tilt").frame * DVec3::Z, y_up(DVec3::Y));
    // The wheel is rotated, but its axis is in the model's frame.
    close(joint(&world, "turn").frame * DVec3::Z, y_up(DVec3::NEG_X));
}

#[test]
fn joints_have_limits_losses_and_what_drives_them() {
    let world = read(&cart());
    let tilt = axis(&world, "tilt");
    assert_eq!([tilt.lower, tilt.upper, tilt.max_effort, tilt.max_rate], [-0.5, 0.5, 7.0, 2.0]);
    assert_eq!(axis(&world, "turn").damping, 0.3);
    let motors: Vec<&str> = world
        .devices
        .iter()
        .filter(|device| matches!(device.spec, DeviceSpec::Actuator(_)))
        .map(|device| device.name.as_str())
        .collect();
    assert_eq!(motors, ["turn_motor"], "the plugin names the one joint that is driven");
    let passive = cart().replace("gz-sim-diff-drive-system", "other").replace("DiffDrive", "Other");
    let motors = read(&passive).devices.iter().filter(|device| matches!(device.spec, DeviceSpec::Actuator(_))).count();
    assert_eq!(motors, 2);
}

/// A lidar faces x; the scanner here faces z, with the fan from the right to the left.
#[test]
fn a_lidar_is_a_scanner_that_looks_ahead() {
    let world = read(&cart());
    let eye = world.devices.iter().find(|device| device.name == "eye").unwrap();
    let DeviceSpec::Sensor(sensor) = &eye.spec else { panic!("a sensor") };
    assert_eq!((sensor.rate_hz, sensor.options.rays.rays), (Some(10.0), 5));
    assert_eq!((sensor.options.rays.half_angle, sensor.options.rays.range), (1.0, 8.0));
    let simpartner_description::Mount::Body { pose, .. } = sensor.mount else { panic!("on a body") };
    close(pose.translation, DVec3::new(0.5, 0.0, 0.2));
    close(pose.rotation * DVec3::Z, DVec3::X);
    close(pose.rotation * DVec3::X, DVec3::Y);
}

/// Universal joints are two hinges over a link without mass, a screw is a hinge and a slider that follows it.
#[test]
fn joints_with_two_axes_are_chains() {
    let text = |kind: &str, more: &str| {
        format!(
            r#"<sdf version="1.7"><model name="m"><link name="a">{INERTIAL}</link><link name="b"><pose>0 0 1 0 0 0</pose>{INERTIAL}</link>
            <joint name="j" type="{kind}"><parent>a</parent><child>b</child><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>{more}</joint>
            </model></sdf>"#
        )
    };
    let world = read(&text("universal", ""));
    assert_eq!([joint(&world, "j_1").kind, joint(&world, "j_2").kind], [JointKind::Hinge; 2]);
    close(joint(&world, "j_2").frame * DVec3::Z, y_up(DVec3::Y));
    assert!(body(&world, "j_1_carrier").mass < 1e-11);
    let world = read(&text("screw", "<screw_thread_pitch>0.5</screw_thread_pitch>"));
    assert_eq!([joint(&world, "j_1").kind, joint(&world, "j_2").kind], [JointKind::Hinge, JointKind::Slider]);
    let [coupling] = &world.mechanism.couplings[..] else { panic!("one coupling") };
    assert_eq!(coupling.ratio, 0.5 / std::f64::consts::TAU);
}

/// Before 1.5 an axis is in the model's frame, from then on in the joint's.
#[test]
fn the_frame_of_an_axis_follows_the_version() {
    let text = |version: &str| {
        format!(
            r#"<sdf version="{version}"><model name="m"><link name="a">{INERTIAL}</link>
            <link name="b"><pose>0 0 1 0 0 1.5707963267948966</pose>{INERTIAL}</link>
            <joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>1 0 0</xyz></axis></joint></model></sdf>"#
        )
    };
    let direction = |version: &str| joint(&read(&text(version)), "j").frame * DVec3::Z;
    close(direction("1.4"), y_up(DVec3::X));
    close(direction("1.6"), y_up(DVec3::Y));
}

#[test]
fn models_are_included_from_beside_the_file_and_kept_with_the_run() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("models/box");
    fs::create_dir_all(&folder).unwrap();
    let config = "<model><sdf version=\"1.4\">old.sdf</sdf><sdf version=\"1.9\">new.sdf</sdf></model>";
    fs::write(folder.join("model.config"), config).unwrap();
    fs::write(
        folder.join("new.sdf"),
        format!("<sdf version=\"1.9\"><model name=\"box\"><link name=\"link\">{INERTIAL}</link></model></sdf>"),
    )
    .unwrap();
    let main = scratch.path().join("two.sdf");
    let include = |name: &str, x: f64| {
        format!("<include><uri>model://box</uri><name>{name}</name><pose>{x} 0 0 0 0 0.5</pose></include>")
    };
    fs::write(
        &main,
        format!("<sdf version=\"1.9\"><world name=\"w\">{}{}</world></sdf>", include("one", 1.0), include("two", 2.0)),
    )
    .unwrap();
    let world = xml::read_world(&main).unwrap_or_else(|problems| panic!("{problems}"));
    let [one, two] = &world.mechanism.bodies[..] else { panic!("two bodies") };
    close(one.pose.translation, DVec3::X);
    close(two.pose.translation, DVec3::X * 2.0);
    assert!(
        one.pose
            .rotation
            .angle_between(DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2) * DQuat::from_rotation_z(0.5))
            < 1e-12
    );
    assert!(one.source.contains("new.sdf:1:"), "{}", one.source);
    fs::remove_dir_all(scratch.path()).unwrap();
    let again = xml::read_kept(&world.sources).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(again.mechanism.bodies.len(), 2);
}

/// follower = multiplier (leader - reference) + offset.
#[test]
fn mimics_and_gearboxes_are_couplings() {
    let joint = |name: &str, kind: &str, ends: [&str; 2], more: &str| {
        format!(
            "<joint name=\"{name}\" type=\"{kind}\"><parent>{}</parent><child>{}</child><axis><xyz>0 0 1</xyz>{more}</axis>\
             <axis2><xyz>0 0 1</xyz></axis2>{}</joint>",
            ends[0], ends[1], "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body>"
        )
    };
    let links: String =
        ["base", "a", "b", "c"].iter().map(|name| format!("<link name=\"{name}\">{INERTIAL}</link>")).collect();
    let mimic = "<mimic joint=\"one\" axis=\"axis\"><multiplier>-2</multiplier><offset>0.5</offset><reference>0.25</reference></mimic>";
    let joints = [
        joint("two", "revolute", ["base", "b"], mimic),
        joint("one", "revolute", ["base", "a"], ""),
        joint("three", "revolute", ["base", "c"], ""),
        joint("gear", "gearbox", ["a", "c"], ""),
    ];
    let world = read(&format!("<sdf version=\"1.11\"><model name=\"m\">{links}{}</model></sdf>", joints.concat()));
    let [mimic, gear] = &world.mechanism.couplings[..] else { panic!("two couplings") };
    let name = |axis: simpartner_model::JointAxis| world.mechanism.joint(axis.joint).name.as_str();
    assert_eq!((name(mimic.leader), name(mimic.follower), mimic.ratio, mimic.offset), ("one", "two", -2.0, 1.0));
    assert_eq!((name(gear.leader), name(gear.follower), gear.ratio), ("one", "three", -3.0));
}

/// Links, nested models and frames may be relative to each other, in any order.
#[test]
fn frames_lead_into_nested_models_and_out_of_them() {
    let world = read(&format!(
        r#"<sdf version="1.11"><model name="m">
        <link name="top"><pose relative_to="mast::pole">0 0 1 0 0 0</pose>{INERTIAL}</link>
        <link name="base"><pose>1 0 0 0 0 0</pose>{INERTIAL}</link>
        <model name="mast"><pose relative_to="base">0 0 2 0 0 0</pose><link name="pole"><pose>0 0 0.5 0 0 0</pose>{INERTIAL}</link>
          <frame name="tip" attached_to="pole"><pose>0 0 0.25 0 0 0</pose></frame></model>
        <joint name="lift" type="prismatic"><parent>mast::tip</parent><child>top</child><axis><xyz>0 0 1</xyz></axis></joint>
        <joint name="turn" type="revolute"><parent>base</parent><child>mast</child><axis><xyz>0 0 1</xyz></axis></joint>
        </model></sdf>"#
    ));
    close(body(&world, "pole").pose.translation, y_up(DVec3::new(1.0, 0.0, 2.5)));
    close(body(&world, "top").pose.translation, y_up(DVec3::new(1.0, 0.0, 3.5)));
    let parent = world.mechanism.body(joint(&world, "lift").parent);
    assert_eq!(parent.name, "pole", "a frame stands for the link that it is fixed to");
    assert_eq!(world.mechanism.body(joint(&world, "turn").child).name, "pole", "a model for its first link");
}

/// Elements of a link may be relative to another frame.
#[test]
fn parts_of_a_link_stand_in_the_frames_that_they_name() {
    let world = read(
        r#"<sdf version="1.9"><model name="m"><frame name="f"><pose>0 0 3 0 0 0</pose></frame>
        <link name="a"><pose>0 0 1 0 0 0</pose><inertial><mass>1</mass><pose relative_to="f">0 0 0 0 0 0</pose></inertial>
          <sensor name="imu" type="imu"><pose relative_to="f">1 0 0 0 0 0</pose></sensor></link>
        <link name="b"/><joint name="j" type="revolute"><parent>a</parent><child>b</child><axis/></joint></model></sdf>"#,
    );
    close(body(&world, "a").inertia.unwrap().centre_of_mass, DVec3::Z * 2.0);
    let imu = world.devices.iter().find(|device| device.name == "imu").unwrap();
    let DeviceSpec::Sensor(sensor) = &imu.spec else { panic!("a sensor") };
    let simpartner_description::Mount::Body { pose, .. } = sensor.mount else { panic!("on a body") };
    close(pose.translation, DVec3::new(1.0, 0.0, 2.0));
}

/// A merged model gives its links to the outer model, under their own names.
#[test]
fn merged_models_are_part_of_the_one_around_them() {
    let scratch = tempfile::tempdir().unwrap();
    let wheel = format!(
        "<sdf version=\"1.9\"><model name=\"w\"><link name=\"wheel\">{INERTIAL}</link><frame name=\"rim\" attached_to=\"wheel\"/></model></sdf>"
    );
    fs::write(scratch.path().join("wheel.sdf"), wheel).unwrap();
    let main = scratch.path().join("cart.sdf");
    let text = |link: &str| {
        format!(
            r#"<sdf version="1.9"><model name="cart"><link name="{link}">{INERTIAL}</link>
            <include merge="true"><uri>wheel.sdf</uri><pose>0 1 0 0 0 0</pose></include>
            <joint name="turn" type="revolute"><parent>{link}</parent><child>rim</child><axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"#
        )
    };
    fs::write(&main, text("base")).unwrap();
    let Document::Robot(world) = xml::read_any(&main).unwrap_or_else(|problems| panic!("{problems}")) else {
        panic!("a robot")
    };
    close(body(&world, "wheel").pose.translation, y_up(DVec3::Y));
    assert_eq!(world.mechanism.body(joint(&world, "turn").child).name, "wheel");
    fs::write(&main, text("wheel")).unwrap();
    let problems = xml::read_any(&main).unwrap_err().to_string();
    assert!(problems.contains("brings a second 'wheel'"), "{problems}");
}

/// The brightest pixel has the height of the size; the image's top is at the largest y.
#[test]
fn heightmaps_are_the_terrain_and_kept_with_the_run() {
    let scratch = tempfile::tempdir().unwrap();
    let mut encoder_bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut encoder_bytes, 2, 3);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header().unwrap().write_image_data(&[200, 100, 0, 0, 0, 50]).unwrap();
    fs::write(scratch.path().join("hill.png"), encoder_bytes).unwrap();
    let main = scratch.path().join("hall.sdf");
    let text = r#"<sdf version="1.9"><world name="w"><model name="g"><static>true</static><link name="l"><collision name="c"><geometry>
        <heightmap><uri>hill.png</uri><size>10 20 4</size><pos>0 0 -1</pos></heightmap></geometry></collision></link></model></world></sdf>"#;
    fs::write(&main, text).unwrap();
    let world = xml::read_world(&main).unwrap_or_else(|problems| panic!("{problems}"));
    let field = world.mechanism.heightfields().next().unwrap();
    assert_eq!((field.points_x, field.points_z, field.width, field.depth), (2, 3, 10.0, 20.0));
    // Along x, and in each line along z, which is -y: the top of the image first.
    assert_eq!(*field.heights, [3.0, -1.0, -1.0, 1.0, -1.0, 0.0]);
    fs::remove_dir_all(scratch.path()).unwrap();
    let again = xml::read_kept(&world.sources).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(again.mechanism.heightfields().next().unwrap().heights, field.heights);
}

/// Without a size, a map has the extent and heights of its file; missing samples have the lowest height, with a
/// warning.
#[test]
fn heightmaps_may_be_elevation_models() {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(
        scratch.path().join("map.asc"),
        "ncols 3\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 2\nnodata_value -9\n1 2 8\n4 -9 6\n",
    )
    .unwrap();
    let read = |size: &str| {
        let main = scratch.path().join("hall.sdf");
        let text = format!(
            "<sdf version='1.9'><world name='w'><model name='g'><static>true</static><link name='l'><collision name='c'><geometry>\
             <heightmap><uri>map.asc</uri>{size}</heightmap></geometry></collision></link></model></world></sdf>"
        );
        fs::write(&main, text).unwrap();
        xml::read_world(&main).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let world = read("");
    let field = world.mechanism.heightfields().next().unwrap();
    assert_eq!((field.points_x, field.points_z, field.width, field.depth), (3, 2, 4.0, 2.0));
    assert_eq!(*field.heights, [1.0, 4.0, 2.0, 1.0, 8.0, 6.0]);
    let told = world.warnings.iter().map(|warning| warning.what.as_str()).collect::<String>();
    assert!(told.contains("map.asc: 1 of 6 samples are without data"), "{told}");
    let world = read("<size>30 20 4</size>");
    let field = world.mechanism.heightfields().next().unwrap();
    assert_eq!((field.width, field.depth, field.heights[4]), (30.0, 20.0, 4.0));
}

/// A parallelogram of links on pins about y: it is closed with all four pins at 0, and at t, -t, t, -t.
fn linkage(crank: &str, coupler: &str) -> String {
    let link = |name: &str, at: &str| format!("<link name='{name}'><pose>{at} 0 0 0</pose>{INERTIAL}</link>");
    let pin = |name: &str, parent: &str, child: &str, at: &str, limit: &str| {
        format!(
            "<joint name='{name}' type='revolute'><pose relative_to='__model__'>{at} 0 0 0</pose><parent>{parent}</parent><child>{child}</child>
             <axis><xyz>0 1 0</xyz>{limit}</axis></joint>"
        )
    };
    let parts = [
        link("crank", "0 0 0.5"),
        link("coupler", "1 0 1"),
        link("rocker", "2 0 0.5"),
        pin("p", "world", "crank", "0 0 0", crank),
        pin("q", "crank", "coupler", "0 0 1", coupler),
        pin("r", "coupler", "rocker", "2 0 1", ""),
        pin("s", "world", "rocker", "2 0 0", ""),
    ];
    format!("<sdf version='1.9'><model name='linkage'>{}</model></sdf>", parts.concat())
}

#[test]
fn a_loop_whose_stops_leave_out_zero_begins_closed_within_them() {
    let world = read(&linkage("<limit><lower>0.3</lower><upper>0.5\"</upper></limit>", ""));
    for (name, expected) in [("p", 0.3), ("q", -0.3), ("r", 0.3), ("s", 0.3)] {
        let found = axis(&world, name).initial_position;
        assert!((found - expected).abs() < 1e-9, "{name}: {found}");
    }
    assert_eq!((axis(&world, "p").lower, axis(&world, "p").upper), (0.3, 0.5));
    assert!(world.warnings.iter().any(|told| told.to_string().contains("<upper> has a quote")), "{:?}", world.warnings);
}

#[test]
fn a_loop_that_its_stops_keep_open_is_named() {
    let text = linkage(
        "<limit><lower>0.3</lower><upper>0.5</upper></limit>",
        "<limit><lower>-0.1</lower><upper>0.1</upper></limit>",
    );
    let Err(problems) = xml::read_text("hall.sdf", &text) else { panic!("the loop is open") };
    let told = problems.to_string();
    assert!(told.contains("the loop at joint 'r' cannot be closed: it stays open by"), "{told}");
}
