//! Cameras over real sockets: what their images show, when they arrive, and that everybody gets the same bits.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    thread::{self, JoinHandle},
};

use bevy_math::{DQuat, DVec3};
use simpartner::{
    config::Config,
    realtime::{ClockSettings, Mode},
    recorder::{Database, Inquiry},
    replay::Replay,
    run::{self, Job, Observer, Started},
};
use simpartner_description::{Camera, Device, ImageNoise, Sensor, World, dem::Dem};
use simpartner_model::{Body, BodyId, Ground, Material, Plane, Pose, RobotId};
use simpartner_wire::signal::{CameraOptics, DeviceKind, Port};

use crate::{
    cli::{Scratch, output, text},
    scene::{self, as_robot, body, cube},
    server::{Client, Rig, settings},
};

/// Gravity, m/s².
const G: f64 = 9.81;

/// A paused server without deadlines.
fn paused(world: World) -> Rig {
    let clock = ClockSettings { mode: Mode::Fast, start_paused: true, ..ClockSettings::default() };
    Rig::with(world, settings(), clock)
}

fn small() -> Camera {
    Camera { optics: CameraOptics::pinhole([32, 24], 1.0), ..Camera::default() }
}

fn camera(name: &str, sensor: Sensor) -> Device {
    Device { name: name.into(), robot: RobotId::new(0), port: Port::ANY, spec: sensor.into(), source: String::new() }
}

fn on(body: usize, pose: Pose, kind: DeviceKind) -> Sensor {
    Sensor::on(BodyId::new(body), pose, kind).with_camera(small())
}

/// An image as a client gets it.
#[derive(Debug, PartialEq)]
struct Image {
    step: u64,
    size: [usize; 2],
    encoding: String,
    dropped: u64,
    bytes: Vec<u8>,
}

impl Image {
    /// The numbers of a pixel of a depth image.
    fn depth(&self, column: usize, row: usize) -> f32 {
        let at = 4 * (row * self.size[0] + column);
        f32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap())
    }

    /// Number and class of the body at a pixel of a segmentation image.
    fn body(&self, column: usize, row: usize) -> [i32; 2] {
        let at = 8 * (row * self.size[0] + column);
        [at, at + 4].map(|at| i32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap()))
    }
}

/// A client of a camera, after its greeting.
fn viewer(rig: &Rig, device: usize) -> Client {
    let mut client = Client::connect(rig.devices[device]);
    assert!(client.line().starts_with('<'));
    client
}

/// Reads an image that is sent raw.
fn image(client: &mut Client) -> Image {
    let header = client.line();
    let words: Vec<&str> = header.split(' ').collect();
    assert_eq!(words[0], "F", "{header}");
    let number = |word: usize| words[word].parse().unwrap();
    let mut bytes = vec![0; number(6)];
    client.reader().read_exact(&mut bytes).unwrap();
    let dropped = words.get(7).map_or(0, |word| word.strip_prefix("dropped=").unwrap().parse().unwrap());
    Image { step: number(1) as u64, size: [number(3), number(4)], encoding: words[5].into(), dropped, bytes }
}

fn newest(client: &mut Client) -> Image {
    client.write(b"GET raw\n");
    image(client)
}

/// A fixed base at the origin, and balls before it: 1 m to the left and 1 m up, each 5 m away along z.
fn balls() -> World {
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    let base = Body { fixed: true, ..body("base", 1.0, cube(0.1), DVec3::new(0.0, 0.0, -1.0)) };
    let ball =
        |name: &str, class, at| Body { robot: None, fixed: true, class, ..body(name, 1.0, scene::ball(0.4), at) };
    world.mechanism.bodies.push(base);
    let mut world = as_robot(world);
    world.mechanism.bodies.push(ball("left", 7, DVec3::new(1.0, 0.0, 4.0)));
    world.mechanism.bodies.push(ball("up", 300, DVec3::new(0.0, 1.0, 4.0)));
    world
}

/// Sensor axes: z forwards, y up, x to the left. 1 m at 5 m is a fifth of the focal length from the middle.
#[test]
fn a_camera_sees_left_what_is_on_its_x_axis_and_above_what_is_on_its_y_axis() {
    let mut world = balls();
    world.devices = vec![camera("parts", on(0, Pose::IDENTITY, DeviceKind::SegmentationCamera))];
    let rig = paused(world);
    let mut client = viewer(&rig, 0);
    let seen = newest(&mut client);
    assert_eq!((seen.size, seen.encoding.as_str(), seen.step), ([32, 24], "32SC2", 0));
    let focal = 16.0 / 0.5_f64.tan();
    let (across, up) = ((15.5 - focal / 5.0).round() as usize, (11.5 - focal / 5.0).round() as usize);
    assert_eq!((seen.body(across, 11), seen.body(15, up)), ([2, 7], [3, 300]));
    assert_eq!(seen.body(31 - across, 11), [0, 0], "the sky");
    rig.end();
}

#[test]
fn depths_are_along_the_optical_axis_and_infinite_outside_of_the_range() {
    let mut world = balls();
    let wall = body("wall", 1.0, cube(20.0), DVec3::new(0.0, 0.0, 14.0));
    world.mechanism.bodies[1] = Body { robot: None, fixed: true, ..wall };
    let optics = |near, far| Camera { optics: CameraOptics { near, far, ..small().optics }, ..small() };
    let depth = |near, far| on(0, Pose::IDENTITY, DeviceKind::DepthCamera).with_camera(optics(near, far));
    world.devices = vec![camera("a", depth(0.01, 9.0)), camera("b", depth(0.01, 4.9)), camera("c", depth(5.1, 9.0))];
    let rig = paused(world);
    let seen = [0, 1, 2].map(|device| newest(&mut viewer(&rig, device)));
    // The face of the box is 5 m ahead of the camera, everywhere in the image.
    for (column, row) in [(0, 0), (31, 0), (16, 12), (31, 23)] {
        assert!((seen[0].depth(column, row) - 5.0).abs() < 1e-6, "{}", seen[0].depth(column, row));
    }
    assert_eq!((seen[1].depth(16, 18), seen[2].depth(16, 18)), (f32::INFINITY, f32::NEG_INFINITY));
    rig.end();
}

/// A cube that falls from 50 m onto a plane, with a depth camera that looks down.
fn falling(sensor: impl Fn(Sensor) -> Sensor) -> World {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("cube", 1.0, cube(0.2), DVec3::new(0.0, 50.0, 0.0)));
    let mut world = as_robot(world);
    let plane = Plane { normal: DVec3::Y, distance: 0.0, material: Material::default() };
    world.mechanism.grounds.push(Ground::Plane(plane));
    let down = Pose { translation: -0.2 * DVec3::Y, rotation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2) };
    world.devices = vec![camera("down", sensor(on(0, down, DeviceKind::DepthCamera)))];
    world
}

/// Height of the camera above the plane, m: the engine integrates a constant acceleration exactly.
fn height(step: u64) -> f64 {
    let time = 1e-3 * step as f64;
    49.8 - 0.5 * G * time * time
}

#[test]
fn a_subscriber_gets_every_image_of_an_unpaced_clock_and_each_shows_its_step() {
    for latency_s in [0.0, 0.025] {
        let rig = paused(falling(|sensor| Sensor { rate_hz: Some(100.0), latency_s, ..sensor }));
        let (mut control, mut one, mut other) = (Client::connect(rig.control), viewer(&rig, 0), viewer(&rig, 0));
        assert_eq!((one.ask("SUB 1 raw"), other.ask("SUB 3 raw")), ("OK".into(), "OK".into()));
        assert!(control.ask("STEP 400").contains("step=400 "));
        // With a latency of 25 ms the image of step 370 arrives in step 395.
        let last = if latency_s > 0.0 { 37 } else { 40 };
        let all: Vec<Image> = (1..=last).map(|_| image(&mut one)).collect();
        for (seen, expected) in all.iter().zip((10..).step_by(10)) {
            assert_eq!((seen.step, seen.dropped), (expected, 0));
            let depth = f64::from(seen.depth(16, 12));
            assert!((depth - height(expected)).abs() < 1e-6 * depth, "step {expected}: {depth}");
        }
        let thirds: Vec<Image> = all.into_iter().step_by(3).collect();
        assert!(thirds.iter().all(|expected| image(&mut other) == *expected));
        // Whoever asks gets the image that arrived last.
        assert_eq!(newest(&mut viewer(&rig, 0)).step, 10 * last);
        rig.end();
    }
}

#[test]
fn images_begin_again_with_a_reset() {
    let rig = paused(falling(|sensor| Sensor { rate_hz: Some(100.0), latency_s: 0.015, ..sensor }));
    let (mut control, mut client) = (Client::connect(rig.control), viewer(&rig, 0));
    let first = newest(&mut client);
    control.ask("STEP 50");
    assert_eq!((first.step, newest(&mut client).step), (0, 30));
    control.ask("RESET");
    assert_eq!(newest(&mut client), first);
    control.ask("STEP 50");
    assert_eq!(newest(&mut client).step, 30);
    rig.end();
}

#[test]
fn faults_act_on_images() {
    let rig = paused(falling(|sensor| Sensor { rate_hz: Some(100.0), ..sensor }));
    let (mut control, mut client) = (Client::connect(rig.control), viewer(&rig, 0));
    let mut step_with = |client: &mut Client, fault: &str| {
        assert_eq!(client.ask(&format!("FAULT {fault}")), "OK");
        control.ask("STEP 10");
    };
    step_with(&mut client, "ok");
    step_with(&mut client, "stuck");
    assert_eq!(newest(&mut client).step, 10);
    step_with(&mut client, "garbage");
    let noise = newest(&mut client);
    let values: std::collections::HashSet<u32> = (0..32).map(|column| noise.depth(column, 3).to_bits()).collect();
    assert!(noise.step == 30 && values.len() == 32, "{noise:?}");
    step_with(&mut client, "off");
    assert!(client.ask("GET raw").starts_with("ERR "));
    step_with(&mut client, "ok");
    assert_eq!(newest(&mut client).step, 50);
    rig.end();
}

#[test]
fn text_is_a_png_in_base64_and_an_rgbd_camera_sends_two_images() {
    let mut world = balls();
    let grey = Camera { optics: CameraOptics { is_grey: true, ..small().optics }, ..small() };
    world.devices = vec![camera("both", on(0, Pose::IDENTITY, DeviceKind::RgbdCamera).with_camera(grey))];
    let rig = paused(world);
    let mut client = viewer(&rig, 0);
    let info = client.ask("INFO");
    assert!(
        info.contains(" width=32 height=24 encodings=mono8,32FC1 fx=29.28") && info.ends_with("lens=pinhole"),
        "{info}"
    );
    for encoding in ["mono8", "32FC1"] {
        let header = if encoding == "mono8" { client.ask("GET") } else { client.line() };
        let words: Vec<&str> = header.split(' ').collect();
        assert_eq!(words[..6], ["F", "0", "0", "32", "24", encoding]);
        let data = client.line();
        let length: usize = words[6].parse().unwrap();
        assert_eq!(data.len(), length.div_ceil(3) * 4);
        // The signature of PNG.
        assert!(data.starts_with("iVBORw0KGgo"), "{data}");
    }
    let (first, second) = (newest(&mut client), image(&mut client));
    assert_eq!((first.bytes.len(), second.bytes.len()), (32 * 24, 4 * 32 * 24));
    for (wrong, remedy) in [("GET rwa", "GET raw"), ("SUB x", "whole number"), ("SUB 1 all", "SUB n raw")] {
        let refused = client.ask(wrong);
        assert!(refused.starts_with("ERR 8") && refused.contains(remedy), "{refused}");
    }
    rig.end();
}

const WORLD: &str = r#"<world name="watched"><surface a="0" b="1" c="0" d="0"/><gravity y="-9.81"/>
  <object name="ball" type="Body"><mass>1</mass><pose x="0.1" y="2" z="3"/><sphere radius="0.3"/></object>
  <robot name="mast"><body name="head"><static/><mass>1</mass><pose y="1"/></body>
    <sensor type="Camera" name="Eye" body="head" port="0" rate="50" width="40" height="30" latency="0.03" dropout="0.2">
      <imageNoise standardDeviation="0.02" shot="0.01" salt="0.01"/></sensor>
    <sensor type="RgbdCamera" name="Kinect" body="head" port="0" rate="20" width="24" height="16" samples="2"/>
  </robot></world>"#;

/// Ends the run when the script does, also by a failure.
struct QuitAtEnd(SocketAddr);

impl Drop for QuitAtEnd {
    fn drop(&mut self) {
        let asked = TcpStream::connect(self.0).and_then(|mut control| {
            control.write_all(b"QUIT\n")?;
            control.read_to_end(&mut Vec::new())
        });
        // A run that has ended already takes no request.
        drop(asked);
    }
}

/// Runs a script as a client of a paused run. It is given the addresses of the control port and of the first device.
struct Script<T> {
    script: Option<Box<dyn FnOnce(SocketAddr, SocketAddr) -> T + Send>>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Observer for Script<T> {
    fn started(&mut self, started: &Started<'_>) {
        let server = started.server.unwrap();
        let (control, device) = (server.control_address(), server.devices().next().unwrap().1);
        let script = self.script.take().unwrap();
        self.thread = Some(thread::spawn(move || {
            let _end = QuitAtEnd(control);
            script(control, device)
        }));
    }
}

/// Runs `WORLD` without deadlines, with a log and with hashes of images, until the script ends.
fn run_with<T: Send + 'static>(
    scratch: &Scratch,
    world: &str,
    script: impl FnOnce(SocketAddr, SocketAddr) -> T + Send + 'static,
) -> T {
    let world = scratch.write("watched.xml", world);
    let properties = format!(
        "[simulation]\nmode = 'fast'\nseed = 9\nstart_paused = true\nworld_file = '{world}'\n[server]\nfree_ports = true\n\
         [viewer]\nenabled = false\n[log]\ndatabase = '{}'\nimages = 'hash'\nspill_folder = '{}'\n",
        scratch.database("run.db"),
        scratch.path("").display()
    );
    let job = Job::read(Config::from_text(&properties).unwrap(), None).unwrap();
    let mut observer = Script { script: Some(Box::new(script)), thread: None };
    run::run(job, &mut observer).unwrap();
    observer.thread.unwrap().join().unwrap()
}

fn eye_of(client: &mut Client) -> Client {
    let address = client.reader().get_ref().peer_addr().unwrap();
    let mut other = Client::connect(address);
    other.line();
    other
}

/// The images of the first camera that a client gets in the first steps of a run. Those that `render` makes of its log
/// are the same, and `replay` compares their hashes.
fn images_of_run(scratch: &Scratch, world: &str, steps: u64) -> Vec<Image> {
    let images = run_with(scratch, world, move |control, eye| {
        let (mut control, mut eye) = (Client::connect(control), Client::connect(eye));
        eye.line();
        assert_eq!(eye.ask("SUB 1 raw"), "OK");
        assert!(control.ask(&format!("STEP {steps}")).contains(&format!("step={steps} ")));
        // The newest image, from another client: nothing is made a second time.
        let last = newest(&mut eye_of(&mut eye)).step;
        let mut images = vec![image(&mut eye)];
        while images.last().unwrap().step < last {
            images.push(image(&mut eye));
        }
        images
    });
    let database = scratch.database("run.db");
    let mut inquiry = Inquiry::open(&Database::parse(&database).unwrap()).unwrap();
    let run = inquiry.runs().unwrap().remove(0);
    let report = Replay::open(inquiry, run).unwrap().run(None, &mut ()).unwrap();
    assert_eq!((report.images, &report.image_mismatch), (images.len() as u64, &None));

    let folder = scratch.path("images").display().to_string();
    let flags = ["--database", &database, "--camera", "Eye", "--raw", "-o", &folder];
    let until = (steps as f64 * 1e-3).to_string();
    let made = output(&[&["render", "last", "--until", &until, "--at", "0.001"], &flags[..]].concat());
    assert!(made.status.success(), "{}", text(&made.stderr));
    for image in &images {
        let file = Path::new(&folder).join(format!("{:08}.raw", image.step));
        assert!(std::fs::read(&file).unwrap() == image.bytes, "{} differs", file.display());
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), images.len());
    images
}

#[test]
fn images_of_a_logged_run_have_the_same_bits_afterwards() {
    let scratch = Scratch::new();
    let images = images_of_run(&scratch, WORLD, 600);
    assert!((15..30).contains(&images.len()), "a fifth of 30 images is lost: {}", images.len());
    assert!(images.iter().all(|image| image.dropped == 0));
    let database = scratch.database("run.db");
    let unknown = output(&["render", "last", "--database", &database, "--camera", "Eey", "--at", "0.1"]);
    let said = text(&unknown.stderr);
    assert!(unknown.status.code() == Some(2) && said.contains("did you mean 'Eye'"), "{said}");
}

/// A roller on sand, seen from 1 m above the sand along its normal: nothing but a rut is deeper than 1 m. The image of
/// a step has the rut of that step, also if it arrives later, and `render --at` shows the same one from the same place.
#[test]
fn images_show_the_rut_of_their_step_and_the_same_one_afterwards() {
    let world = r#"<world name="sand"><surface a="0" b="1" c="0" d="0" soil="drySand"/><gravity x="3" y="-9.81"/>
      <robot name="mast"><body name="head"><static/><mass>1</mass><pose y="1" roll="1.5707963267948966"/></body>
        <sensor type="DepthCamera" name="Eye" body="head" port="0" rate="20" width="80" height="60" latency="0.07"/></robot>
      <robot name="roller"><body name="drum"><mass>12</mass><pose x="-0.1" y="0.1"/>
        <cylinder radius="0.1" length="0.3" axis="z"/></body></robot></world>"#;
    let scratch = Scratch::new();
    let images = images_of_run(&scratch, world, 1000);
    let deepest = |image: &Image| (0..80 * 60).map(|at| image.depth(at % 80, at / 80)).fold(0.0, f32::max);
    let pressed = |image: &Image| (0..80 * 60).filter(|at| image.depth(at % 80, at / 80) > 1.001).count();
    // It first sinks in, so that it hides its pit, and then leaves it and pulls a rut.
    let (early, last) = (images.iter().find(|image| image.step == 600).unwrap(), images.last().unwrap());
    assert!(pressed(&images[0]) == 0 && (1.002..1.05).contains(&deepest(last)), "{}", deepest(last));
    assert!(2 * pressed(early) < pressed(last), "{} and then {} pixels of the rut", pressed(early), pressed(last));

    let file = scratch.path("depth.png").display().to_string();
    let at = format!("{}steps", last.step);
    let (database, place) = (scratch.database("run.db"), ["--from", "0,1,0", "--look", "0,0,0"]);
    let flags = ["--database", &database, "--at", &at, "--size", "80x60", "--depth", "-o", &file];
    let made = output(&[&["render", "last"], &place[..], &flags[..]].concat());
    assert!(made.status.success(), "{}", text(&made.stderr));
    let picture = Dem::open(Path::new(&file)).unwrap();
    // Another field of view, and whole millimetres. In the corner there is no rut.
    let level = picture.heights[0];
    let sunk = picture.heights.iter().filter(|depth| **depth > 1.0015 * level).count();
    assert!(sunk > 100, "{sunk} pixels of the rut");
}

/// A robot is added while an image is under way: the image is of the world before, and later ones show the robot.
#[test]
fn an_image_that_is_under_way_when_the_world_changes_arrives_as_it_was_taken() {
    let world = WORLD.replace("rate=\"50\"", "rate=\"50\" near=\"0.1\"").replace(" dropout=\"0.2\"", "");
    let images = |is_edited: bool| {
        let scratch = Scratch::new();
        run_with(&scratch, &world, move |control, eye| {
            let (mut control, mut eye) = (Client::connect(control), Client::connect(eye));
            eye.line();
            control.ask("STEP 100");
            if is_edited {
                let answer = control.ask("SPAWN file=rover.xml position=0,0.5,4");
                assert!(answer.starts_with("OK name="), "{answer}");
            }
            let mut images = vec![newest(&mut eye)];
            for _ in 0..2 {
                control.ask("STEP 25");
                images.push(newest(&mut eye));
            }
            images
        })
    };
    let (edited, plain) = (images(true), images(false));
    // After 100, 125 and 150 steps the images of 30 ms before have arrived.
    assert_eq!(edited.iter().map(|image| image.step).collect::<Vec<_>>(), [60, 80, 120]);
    assert!(edited[..2] == plain[..2] && edited[2].bytes != plain[2].bytes);
}

#[test]
fn a_camera_of_a_world_is_rendered_without_a_run() {
    let scratch = Scratch::new();
    let world = scratch.write("watched.xml", WORLD);
    let path = scratch.path("kinect.png");
    let made = output(&["render", &world, "--camera", "mast/Kinect", "-o", &path.display().to_string()]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    for file in ["kinect.png", "kinect-depth.png"] {
        assert!(std::fs::read(scratch.path(file)).unwrap().starts_with(b"\x89PNG"), "{file}");
    }
}

/// Noise has the standard deviation that the file says, and is another one in each image.
#[test]
fn noise_of_images_has_its_standard_deviation() {
    let noise = ImageNoise { standard_deviation: 0.05, shot: 0.0, salt: 0.0 };
    let noisy = Camera { noise, optics: CameraOptics::pinhole([64, 64], 0.5), ..small() };
    let rig = paused(falling(|sensor| sensor.with_camera(noisy)));
    let (mut control, mut client) = (Client::connect(rig.control), viewer(&rig, 0));
    let mut images = vec![newest(&mut client)];
    control.ask("STEP 1");
    images.push(newest(&mut client));
    for (step, seen) in images.iter().enumerate() {
        let errors: Vec<f64> =
            (0..64 * 64).map(|pixel| f64::from(seen.depth(pixel % 64, pixel / 64)) - height(step as u64)).collect();
        let count = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / count;
        let deviation = (errors.iter().map(|error| error * error).sum::<f64>() / count).sqrt();
        // Four standard errors: of the mean, and of the standard deviation.
        assert!(mean.abs() < 4.0 * 0.05 / count.sqrt(), "{mean}");
        assert!((deviation - 0.05).abs() < 4.0 * 0.05 / (2.0 * count).sqrt(), "{deviation}");
    }
    assert_ne!(images[0].bytes, images[1].bytes);
    rig.end();
}
