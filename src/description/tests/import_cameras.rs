//! Cameras of other formats as ours: where they look, their optics and noise, and what is left out.

use bevy_math::DVec3;
use simpartner_description::{
    DeviceSpec, Mount, Sensor, World,
    xml::{self, Document, ExportFormat, ImportOptions, Wanted},
};
use simpartner_model::Pose;
use simpartner_wire::signal::{CameraOptics, DeviceKind, Lens};

fn read(name: &str, text: &str) -> World {
    match xml::read_text(name, text) {
        Ok(Document::World(world) | Document::Robot(world)) => world,
        Ok(_) => panic!("neither a world nor a robot"),
        Err(problems) => panic!("{problems}"),
    }
}

fn mjcf(cameras: &str) -> World {
    read(
        "model.xml",
        &format!(
            "<mujoco><worldbody><body name=\"head\" pos=\"1 2 3\"><geom size=\"0.1\"/><joint/>{cameras}</body></worldbody></mujoco>"
        ),
    )
}

/// A model whose link has a sensor of a type with this `<camera>`.
fn sdf(kind: &str, camera: &str) -> World {
    let link = "<inertial><mass>1</mass></inertial><collision name=\"c\"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>";
    read(
        "model.sdf",
        &format!(
            "<sdf version=\"1.9\"><model name=\"m\"><link name=\"head\">{link}\n<sensor name=\"eye\" type=\"{kind}\">\
             <update_rate>15</update_rate><pose>0.1 0 0.2 0 0 0</pose>{camera}</sensor></link></model></sdf>"
        ),
    )
}

fn sensor<'w>(world: &'w World, name: &str) -> &'w Sensor {
    let names: Vec<&str> = world.devices.iter().map(|device| device.name.as_str()).collect();
    let device = world.devices.iter().find(|device| device.name == name);
    let device = device.unwrap_or_else(|| panic!("no {name} among {names:?}\n{}", told(world)));
    let DeviceSpec::Sensor(sensor) = &device.spec else { panic!("{name} is no sensor") };
    sensor
}

fn optics(world: &World, name: &str) -> CameraOptics {
    sensor(world, name).camera().expect("a camera").optics
}

/// The pose of a device on its body.
fn pose(sensor: &Sensor) -> Pose {
    let Mount::Body { pose, .. } = sensor.mount else { panic!("on a joint") };
    pose
}

fn told(world: &World) -> String {
    world.warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

#[track_caller]
fn close(found: DVec3, expected: DVec3) {
    assert!((found - expected).length() < 1e-12, "{found} is not {expected}");
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} is not {expected}");
}

/// MuJoCo's cameras look along -z, with y up and x to the right; ours along z, with y up and x to the left.
#[test]
fn mjcf_cameras_look_where_they_do_in_mujoco() {
    let world = mjcf("<camera name=\"ahead\" pos=\"0.1 0.2 0.3\" xyaxes=\"0 -1 0 0 0 1\"/><camera name=\"plain\"/>");
    let ahead = pose(sensor(&world, "ahead"));
    close(ahead.translation, DVec3::new(0.1, 0.2, 0.3));
    close(ahead.direction(DVec3::Z), DVec3::X);
    close(ahead.direction(DVec3::Y), DVec3::Z);
    close(ahead.direction(DVec3::X), DVec3::Y);
    let plain = pose(sensor(&world, "plain"));
    close(plain.direction(DVec3::Z), DVec3::NEG_Z);
    close(plain.direction(DVec3::Y), DVec3::Y);
    assert_eq!(sensor(&world, "plain").kind, DeviceKind::Camera);
    assert_eq!(sensor(&world, "plain").rate_hz, Some(30.0));
    assert_eq!(told(&world), "");
}

/// The vertical field of view is in degrees, whatever the unit of angles; without a resolution images are 640 x 480.
#[test]
fn mjcf_fields_of_view_and_sensors_become_focal_lengths() {
    let world = mjcf(
        "<camera name=\"plain\"/><camera name=\"wide\" fovy=\"90\" resolution=\"200 100\"/>
         <camera name=\"chip\" resolution=\"640 480\" sensorsize=\"0.0064 0.0048\" focal=\"0.005 0.006\" principal=\"0.0001 0.0002\"/>
         <camera name=\"pixels\" resolution=\"640 480\" sensorsize=\"0.0064 0.0048\" focalpixel=\"500 600\" principalpixel=\"10 20\"/>",
    );
    let plain = optics(&world, "plain");
    assert_eq!([plain.width, plain.height], [640, 480]);
    near(plain.focal[1], 240.0 / 22.5_f64.to_radians().tan());
    let wide = optics(&world, "wide");
    assert_eq!([wide.width, wide.height], [200, 100]);
    near(wide.focal[0], 50.0);
    for name in ["chip", "pixels"] {
        let chip = optics(&world, name);
        near(chip.focal[0], 500.0);
        near(chip.focal[1], 600.0);
        // A sensor that is shifted to the right and up has the axis at a column to the left and at a row further down.
        near(chip.principal_point[0], 319.5 - 10.0);
        near(chip.principal_point[1], 239.5 + 20.0);
    }
    let kinds = mjcf(
        "<camera name=\"d\" output=\"depth\"/><camera name=\"s\" output=\"segmentation\"/><camera name=\"b\" output=\"rgb depth\"/>
         <camera name=\"n\" output=\"rgb normal\"/>",
    );
    let kind = |name: &str| sensor(&kinds, name).kind;
    assert_eq!((kind("d"), kind("s")), (DeviceKind::DepthCamera, DeviceKind::SegmentationCamera));
    assert_eq!((kind("b"), kind("n")), (DeviceKind::RgbdCamera, DeviceKind::Camera));
    assert!(told(&kinds).contains("the images 'normal' of a camera are left out"), "{}", told(&kinds));
}

#[test]
fn mjcf_cameras_have_classes_and_frames() {
    let text = "<mujoco><default><camera fovy=\"60\"/><default class=\"small\"><camera resolution=\"64 48\"/></default></default><worldbody>
        <body name=\"head\" childclass=\"small\"><geom size=\"0.1\"/><joint/><frame pos=\"0 0 1\"><camera name=\"eye\" pos=\"0 1 0\"/></frame></body>
        </worldbody></mujoco>";
    let world = read("model.xml", text);
    let eye = optics(&world, "eye");
    assert_eq!([eye.width, eye.height], [64, 48]);
    near(eye.focal[1], 24.0 / 30_f64.to_radians().tan());
    close(pose(sensor(&world, "eye")).translation, DVec3::new(0.0, 1.0, 1.0));
}

#[test]
fn mjcf_cameras_that_follow_or_are_flat_are_notes() {
    let world = mjcf(
        "\n<camera name=\"track\" mode=\"trackcom\"/>\n<camera name=\"flat\" orthographic=\"true\"/>\n<camera name=\"huge\" resolution=\"9000 1\"/>
         <camera name=\"odd\" focal=\"1 1\"/>",
    );
    let told = told(&world);
    for what in [
        "model.xml:2:1: a camera with the mode trackcom is left out",
        "model.xml:3:1: an orthographic camera is left out",
        "a camera with images of 9000 x 1 pixels is left out",
        "'focal' of a camera is left out",
    ] {
        assert!(told.contains(what), "{what}\n{told}");
    }
    assert_eq!(world.devices.iter().filter(|device| device.spec.kind().is_camera()).count(), 1);
}

/// Cameras of the world stand on a fixed body of their own, and a robot remains a robot.
#[test]
fn mjcf_cameras_of_the_world_stand_in_it() {
    let text = "<mujoco model=\"arm\"><worldbody><camera name=\"hall\" pos=\"0 -3 1\" xyaxes=\"1 0 0 0 0 1\"/>
        <body name=\"link\"><geom size=\"0.1\"/><joint/><camera name=\"eye\"/></body></worldbody></mujoco>";
    let Document::Robot(robot) = xml::read_text("arm.xml", text).unwrap() else { panic!("no robot") };
    assert!(told(&robot).contains("the camera 'hall', which stands in the world, is left out"), "{}", told(&robot));
    assert!(robot.devices.iter().all(|device| device.name != "hall"));
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("arm.xml");
    std::fs::write(&path, text).unwrap();
    let options = ImportOptions { wanted: Wanted::World, ..ImportOptions::default() };
    let imported = xml::import(&path, &options).unwrap();
    let Document::World(world) = xml::read_text("world.xml", &imported.text).unwrap() else { panic!("no world") };
    let Mount::Body { body, pose } = sensor(&world, "hall").mount else { panic!("not on a body") };
    let stand = world.mechanism.body(body);
    assert!(stand.fixed && stand.collision_shape().is_none());
    let seen = stand.pose.then(&pose);
    close(seen.translation, DVec3::new(0.0, 1.0, 3.0));
    close(seen.direction(DVec3::Z), DVec3::NEG_Z);
    close(seen.direction(DVec3::Y), DVec3::Y);
    assert_eq!(world.mechanism.robots[0].name, "arm", "the camera's stand is no robot of the file");
}

/// SDF's cameras look along x with z up.
#[test]
fn sdf_cameras_have_optics_noise_and_pose() {
    let world = sdf(
        "camera",
        "<camera name=\"c\"><pose>0 0 0.3 0 0 0</pose><horizontal_fov>1.2</horizontal_fov>
         <image><width>320</width><height>200</height><format>L8</format><anti_aliasing>4</anti_aliasing></image>
         <clip><near>0.05</near><far>30</far></clip><noise><type>gaussian</type><mean>0</mean><stddev>0.007</stddev></noise>
         <distortion><k1>0.1</k1><k2>-0.02</k2><k3>0.003</k3><p1>0.0004</p1><p2>-0.0005</p2><center>0.5 0.5</center></distortion></camera>",
    );
    let eye = sensor(&world, "eye");
    assert_eq!((eye.kind, eye.rate_hz), (DeviceKind::Camera, Some(15.0)));
    let at = pose(eye);
    close(at.translation, DVec3::new(0.1, 0.0, 0.5));
    close(at.direction(DVec3::Z), DVec3::X);
    close(at.direction(DVec3::Y), DVec3::Z);
    let camera = eye.camera().unwrap();
    let optics = camera.optics;
    assert_eq!(([optics.width, optics.height], optics.is_grey, camera.samples_per_side), ([320, 200], true, 2));
    near(optics.focal[0], 160.0 / 0.6_f64.tan());
    assert_eq!((optics.near, optics.far, camera.noise.standard_deviation), (0.05, 30.0, 0.007));
    let lens = Lens::BrownConrady { radial: [0.1, -0.02, 0.003], tangential: [0.0004, -0.0005] };
    assert_eq!(optics.lens, lens);
    assert_eq!(told(&world), "");
}

/// SDF counts pixels from the edge of the image.
#[test]
fn sdf_intrinsics_are_focal_lengths_and_principal_point() {
    let image = "<image><width>320</width><height>240</height></image>";
    let world = sdf(
        "camera",
        &format!(
            "<camera>{image}<lens><intrinsics><fx>300</fx><fy>310</fy><cx>150</cx><cy>130</cy><s>0</s></intrinsics></lens></camera>"
        ),
    );
    let eye = optics(&world, "eye");
    assert_eq!((eye.focal, eye.principal_point), ([300.0, 310.0], [149.5, 129.5]));
    assert_eq!((eye.near, eye.far), (0.1, 100.0), "those that SDF has without <clip>");
}

#[test]
fn sdf_kinds_of_cameras_are_ours() {
    let clip = "<camera><clip><near>0.1</near><far>10</far></clip><depth_camera><clip><near>0.4</near><far>5</far></clip></depth_camera>\
        <image><format>R_FLOAT32</format></image></camera>";
    for (kind, ours, range) in [
        ("depth", DeviceKind::DepthCamera, (0.4, 5.0)),
        ("depth_camera", DeviceKind::DepthCamera, (0.4, 5.0)),
        ("rgbd_camera", DeviceKind::RgbdCamera, (0.4, 5.0)),
        ("segmentation_camera", DeviceKind::SegmentationCamera, (0.1, 10.0)),
        ("camera", DeviceKind::Camera, (0.1, 10.0)),
    ] {
        let world = sdf(kind, clip);
        let eye = sensor(&world, "eye");
        let optics = optics(&world, "eye");
        assert_eq!((eye.kind, (optics.near, optics.far)), (ours, range), "{kind}");
        assert_eq!(told(&world), "", "{kind}");
    }
    let pair = sdf("multicamera", "<camera name=\"left\"/><camera name=\"right\"><pose>0 -0.1 0 0 0 0</pose></camera>");
    close(pose(sensor(&pair, "eye_left")).translation, DVec3::new(0.1, 0.0, 0.2));
    close(pose(sensor(&pair, "eye_right")).translation, DVec3::new(0.1, -0.1, 0.2));
    let bare = sdf("camera", "");
    assert_eq!((optics(&bare, "eye").width, optics(&bare, "eye").height), (320, 240));
}

/// Distance of a ray from the middle of the image by its angle from the axis, rad.
type Formula = fn(f64) -> f64;

/// Rays of wide-angle cameras at all angles of the image, compared with SDF's formula.
#[test]
fn sdf_wide_angle_lenses_are_fisheyes() {
    let lens = |name: &str, field: f64| {
        sdf(
            "wideanglecamera",
            &format!(
                "<camera><horizontal_fov>{field}</horizontal_fov><image><width>400</width><height>400</height></image>
                 <lens><type>{name}</type></lens></camera>"
            ),
        )
    };
    let radius = |optics: &CameraOptics, angle: f64| {
        let Lens::Fisheye(k) = optics.lens else { panic!("no fisheye") };
        let square = angle * angle;
        optics.focal[0] * angle * (1.0 + square * (k[0] + square * (k[1] + square * (k[2] + square * k[3]))))
    };
    let same = |angle: f64| angle;
    let formulas: [(&str, f64, Formula); 3] = [
        ("equidistant", 3.0, same),
        ("equisolid_angle", 3.0, |angle| (0.5 * angle).sin()),
        ("orthographic", 2.0, f64::sin),
    ];
    for (name, field, formula) in formulas {
        let world = lens(name, field);
        let optics = optics(&world, "eye");
        for part in 1..=10 {
            let angle = 0.05 * field * f64::from(part);
            let expected = 200.0 * formula(angle) / formula(0.5 * field);
            assert!((radius(&optics, angle) - expected).abs() < 0.01, "{name} at {angle}");
        }
        assert_eq!(told(&world), "", "{name}");
    }
    let flat = lens("gnomonical", 1.2);
    assert_eq!(optics(&flat, "eye").lens, Lens::Pinhole);
    near(optics(&flat, "eye").focal[0], 200.0 / 0.6_f64.tan());
    let rough = told(&lens("stereographic", 3.0));
    assert!(rough.contains("a lens of the type stereographic is a fisheye, up to"), "{rough}");
    let none = told(&lens("gnomonical", 3.3));
    assert!(none.contains("a camera with a lens of the type gnomonical and 3.3 rad is left out"), "{none}");
}

#[test]
fn what_sdf_cameras_have_beyond_ours_is_a_note() {
    let world = sdf(
        "camera",
        "<camera>\n<horizontal_fov>4</horizontal_fov><image><format>BAYER_RGGB8</format></image>\n<clip><near>5</near><far>1</far></clip>
         <distortion><k1>-0.1</k1><center>0.4 0.5</center></distortion><noise><type>gaussian</type><mean>0.1</mean><stddev>0</stddev></noise>
         <visibility_mask>1</visibility_mask></camera>",
    );
    let found = told(&world);
    for what in [
        "model.sdf:3:1: a field of view of 4 rad becomes one of 3.139 rad",
        "the format BAYER_RGGB8 of images is left out",
        "model.sdf:4:1: <clip> from 5 m to 1 m is left out",
        "<center> of a distortion is left out",
        "the cropping of distorted images is left out",
        "the mean of the noise of images is left out",
        "<visibility_mask> of <camera> is left out",
    ] {
        assert!(found.contains(what), "{what}\n{found}");
    }
    let thermal = sdf("thermal_camera", "<camera/>");
    assert!(told(&thermal).contains("a sensor of the type 'thermal_camera' is left out"), "{}", told(&thermal));
    let huge = sdf("camera", "<camera><image><width>5000</width><height>1</height></image></camera>");
    assert!(told(&huge).contains("a camera with images of 5000 x 1 pixels is left out"), "{}", told(&huge));
}

/// The plugin Label gives what a segmentation camera sees its class.
#[test]
fn sdf_labels_are_classes_of_bodies() {
    let plugin = |label: u32| {
        format!(
            "<plugin filename=\"gz-sim-label-system\" name=\"gz::sim::systems::Label\"><label>{label}</label></plugin>"
        )
    };
    let sphere = "<geometry><sphere><radius>0.1</radius></sphere></geometry>";
    let text = format!(
        "<sdf version=\"1.9\"><world name=\"w\"><model name=\"a\">{}<link name=\"one\"><visual name=\"v\">{sphere}</visual></link>
         <link name=\"two\"><visual name=\"v\">{sphere}{}</visual></link></model>
         <model name=\"b\"><link name=\"three\"><visual name=\"v\">{sphere}</visual></link></model></world></sdf>",
        plugin(7),
        plugin(300)
    );
    let world = read("labels.sdf", &text);
    let mut classes: Vec<u16> = world.mechanism.bodies.iter().map(|body| body.class).collect();
    classes.sort_unstable();
    assert_eq!(classes, [0, 7, 300]);
    assert_eq!(told(&world), "");
}

/// A camera of a URDF file, on a link that becomes part of another one.
#[test]
fn urdf_cameras_stand_in_gazebo_elements() {
    let link = "<inertial><mass value=\"2\"/><inertia ixx=\"0.1\" iyy=\"0.1\" izz=\"0.1\"/></inertial>\
        <collision><geometry><sphere radius=\"0.1\"/></geometry></collision>";
    let text = format!(
        "<robot name=\"cart\"><link name=\"base\">{link}</link><link name=\"head\">{link}</link>
         <joint name=\"neck\" type=\"fixed\"><parent link=\"base\"/><child link=\"head\"/><origin xyz=\"0 0 1\"/></joint>
         <gazebo reference=\"head\"><sensor name=\"eye\" type=\"depth\"><update_rate>10</update_rate><pose>0.1 0 0 0 0 0</pose>
           <camera><horizontal_fov>1.0</horizontal_fov><image><width>64</width><height>48</height><format>B8G8R8</format></image>
           <clip><near>0.2</near><far>8</far></clip></camera><plugin name=\"p\" filename=\"libgazebo_ros_openni_kinect.so\"/></sensor>
         <sensor name=\"scan\" type=\"gpu_ray\"/></gazebo></robot>"
    );
    let world = read("cart.urdf", &text);
    let eye = sensor(&world, "eye");
    assert_eq!((eye.kind, eye.rate_hz), (DeviceKind::DepthCamera, Some(10.0)));
    close(pose(eye).translation, DVec3::new(0.1, 0.0, 1.0));
    close(pose(eye).direction(DVec3::Z), DVec3::X);
    assert_eq!((optics(&world, "eye").near, optics(&world, "eye").far), (0.2, 8.0));
    assert_eq!(sensor(&world, "scan").kind, DeviceKind::ScannerSensor);
    assert!(told(&world).contains("the plugin of a sensor is left out"), "{}", told(&world));
    let ports: Vec<u16> = ["scan", "eye"].map(|name| port(&world, name)).into();
    assert!(ports[0] < ports[1], "cameras have the last ports: {ports:?}");
}

fn port(world: &World, name: &str) -> u16 {
    world.devices.iter().find(|device| device.name == name).expect("a device").port.number()
}

/// The cameras that `convert` writes for MuJoCo are read again as the same cameras.
#[test]
fn mjcf_exports_keep_cameras() {
    let text = "<robot name=\"r\"><body name=\"b\"><mass>1</mass><sphere radius=\"0.1\"/></body>
        <sensor type=\"Camera\" name=\"plain\" body=\"b\" port=\"0\" width=\"320\" height=\"240\" fieldOfView=\"1.1\"><pose x=\"1\" yaw=\"0.4\" pitch=\"0.2\"/></sensor>
        <sensor type=\"RgbdCamera\" name=\"lens\" body=\"b\" port=\"0\" width=\"64\" height=\"48\" far=\"8\">
          <lens model=\"brownConrady\" focalX=\"60\" focalY=\"62\" principalX=\"30\" principalY=\"25\" k1=\"0.1\"/><imageNoise salt=\"0.1\"/></sensor></robot>";
    let world = read("robot.xml", text);
    let exported = xml::export(&world, ExportFormat::Mjcf, "meshes").unwrap();
    let again = read("again.xml", &exported.text);
    for name in ["plain", "lens"] {
        let (before, after) = (optics(&world, name), optics(&again, name));
        assert_eq!([before.width, before.height], [after.width, after.height]);
        for axis in 0..2 {
            near(after.focal[axis], before.focal[axis]);
            near(after.principal_point[axis], before.principal_point[axis]);
        }
        let [was, is] = [&world, &again].map(|world| pose(sensor(world, name)));
        close(is.translation, was.translation);
        assert!(is.rotation.angle_between(was.rotation) < 1e-7);
        assert_eq!(sensor(&again, name).kind, sensor(&world, name).kind);
    }
    let told: String = exported.warnings.iter().map(|warning| format!("{warning}\n")).collect();
    for what in
        ["the lens of 'lens' is left out", "the noise of 'lens' is left out", "near and far of 'lens' are left out"]
    {
        assert!(told.contains(what), "{what}\n{told}");
    }
}

/// The file that `import` writes has the cameras as they were read.
#[test]
fn written_imports_have_the_same_cameras() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("model.xml");
    let text = "<mujoco><worldbody><body name=\"head\"><geom size=\"0.1\"/><joint/>
        <camera name=\"eye\" resolution=\"100 50\" sensorsize=\"0.01 0.005\" focal=\"0.02 0.02\" quat=\"0.5 0.5 0.1 0.2\"/></body></worldbody></mujoco>";
    std::fs::write(&path, text).unwrap();
    let direct = read("model.xml", text);
    let imported = xml::import(&path, &ImportOptions::default()).unwrap();
    let again = read("robot.xml", &imported.text);
    assert_eq!(optics(&again, "eye"), optics(&direct, "eye"));
    let [was, is] = [&direct, &again].map(|world| pose(sensor(world, "eye")));
    assert!(is.rotation.angle_between(was.rotation) < 1e-7);
}
