//! The viewer's page and its data over real sockets: from our page, and from foreign ones.

mod bounds;
mod client;
mod docs;
mod grasp;
mod live;
mod runs;
mod ruts;

use std::{net::SocketAddr, sync::Arc, thread::JoinHandle};

use bevy_math::DVec3;
use serde_json::{Value, json};
use simpartner::{
    realtime::{self, Control, Handle, Mode, Outputs, PhysicsThread, channel},
    server::{Archive, Server, Settings, Viewer},
    sim::Simulation,
};
use simpartner_description::{Actuator, Device, Law, Scanner, Sensor, World};
use simpartner_model::{BodyId, Color, JointId, JointKind, Look, Placed, Pose, RobotId, Shape, Timestep, Visual};
use simpartner_wire::signal::{DeviceKind, Port, StepRecord};
use tokio::sync::oneshot;

use self::client::get;
use crate::{
    needs::{Need, met},
    scene::{self, as_robot, body, cube, joint},
};

/// A robot that falls and spins a rotor.
fn robot() -> World {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("trunk", 20.0, cube(1.0), DVec3::ZERO));
    world.mechanism.bodies.push(body("rotor", 1.0, cube(0.2), DVec3::new(0.0, 1.0, 0.0)));
    let disc = Shape::Cylinder { radius: 0.3, length: 0.1 };
    let color = Some(Color { red: 0x20, green: 0x60, blue: 0xa0, alpha: 0x33 });
    world.mechanism.bodies[1].visuals =
        vec![Visual { placed: Placed { pose: Pose::IDENTITY, shape: disc }, color, look: Look::default() }];
    world.mechanism.joints.push(joint("axle", JointKind::Hinge, 0, 1, DVec3::new(0.0, 1.0, 0.0)));
    let mut world = as_robot(world);
    let trunk = BodyId::new(0);
    let scanner = Scanner { rays: 3, half_angle: 0.5, ..Scanner::default() };
    world.devices = [
        ("Position", Sensor::on(trunk, Pose::IDENTITY, DeviceKind::PositionSensor).into()),
        ("Motor", Actuator::new(JointId::new(0), Law::Velocity).into()),
        ("Eyes", Sensor::on(trunk, Pose::IDENTITY, DeviceKind::ScannerSensor).with_rays(scanner).into()),
    ]
    .into_iter()
    .map(|(name, spec)| Device {
        name: name.into(),
        robot: RobotId::new(0),
        port: Port::ANY,
        spec,
        source: "robot.xml:12".into(),
    })
    .collect();
    world
}

fn settings() -> Settings {
    Settings::default()
}

/// A server with its page and its physics thread, paused at step 0.
struct Rig {
    runtime: tokio::runtime::Runtime,
    handle: Handle,
    page: SocketAddr,
    devices: Vec<SocketAddr>,
    stop: Option<oneshot::Sender<()>>,
    server: Option<tokio::task::JoinHandle<()>>,
    thread: Option<PhysicsThread>,
    log: JoinHandle<Vec<Arc<StepRecord>>>,
}

impl Rig {
    fn start(settings: Settings, archive: Option<Arc<dyn Archive>>) -> Self {
        Self::of(robot(), settings, archive)
    }

    fn of(world: World, settings: Settings, archive: Option<Arc<dyn Archive>>) -> Self {
        let world = Arc::new(world);
        let simulation = Simulation::new(Arc::clone(&world), Timestep::MILLISECOND, scene::settings()).unwrap();
        let (handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
        let clock =
            realtime::ClockSettings { mode: Mode::Fast, start_paused: true, ..realtime::ClockSettings::default() };
        let (mut thread, _) = PhysicsThread::prepare(simulation, inbox, clock).unwrap();
        let (log, logged) = realtime::log_queue(1000);
        let log_thread = std::thread::spawn(move || logged.iter().collect());
        thread.start(Outputs { log: Some(log), log_flags: Arc::default() }).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let server = runtime.block_on(async {
            let server = Server::bind(settings, handle.clone()).await.unwrap();
            server
                .with_viewer(Viewer { port: 0, world, archive, documentation: Some(simpartner_book::file) })
                .await
                .unwrap()
        });
        let (page, devices) = (server.viewer_address().unwrap(), server.devices().map(|(_, at)| at).collect());
        let (stop, stopped) = oneshot::channel();
        let server = runtime.spawn(server.run(stopped));
        Self {
            runtime,
            handle,
            page,
            devices,
            stop: Some(stop),
            server: Some(server),
            thread: Some(thread),
            log: log_thread,
        }
    }

    /// Makes a number of steps at once.
    fn step(&self, count: u64) {
        self.runtime.block_on(self.handle.control(Control::Step { count })).unwrap();
    }

    /// Ends everything in order and returns the logged steps.
    fn end(mut self) -> Vec<Arc<StepRecord>> {
        // The run may have been ended by a page.
        let _ = self.runtime.block_on(self.handle.control(Control::Quit));
        self.thread.take().unwrap().join().unwrap().unwrap();
        drop(self.stop.take());
        self.runtime.block_on(self.server.take().unwrap()).unwrap();
        self.log.join().unwrap().into_iter().filter(|record| record.is_step).collect()
    }
}

#[test]
fn every_answer_says_what_the_page_may_do() {
    let rig = Rig::start(settings(), None);
    for path in ["/", "/scene.json", "/runs.json", "/runs/1/scene.json", "/nothing/../here"] {
        let answer = get(rig.page, path, &[]);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; "), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
    }
    assert_eq!(get(rig.page, "/nothing", &[]).status, 404);
    assert_eq!(get(rig.page, "/runs/1/scene.json", &[]).status, 404);
    assert_eq!(get(rig.page, "/runs/one/scene.json", &[]).status, 400);
    assert_eq!(get(rig.page, "/runs.json", &[]).json(), json!({ "runs": [] }));
    rig.end();
}

#[test]
fn there_is_a_page_with_and_without_node() {
    let rig = Rig::start(settings(), None);
    let page = get(rig.page, "/", &[]);
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let text = String::from_utf8(page.body).unwrap();
    let script = get(rig.page, "/viewer.js", &[]);
    match script.status {
        200 => {
            assert!(text.contains("viewer.js") && get(rig.page, "/viewer.css", &[]).status == 200, "{text}");
            assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
        }
        // Built without Node, or without the page's sources: the page reports that, and everything else works.
        _ => assert!(text.contains("npm") || text.contains("clients/viewer"), "{text}"),
    }
    rig.end();
    met(Need::Node, if script.status == 200 { Ok(()) } else { Err("the server was built without its page") });
}

#[test]
fn foreign_pages_are_refused() {
    let rig = Rig::start(settings(), None);
    let here = rig.page.to_string();
    let own = format!("http://{here}");
    let local = format!("localhost:{}", rig.page.port());
    let status = |headers: &[(&str, &str)]| get(rig.page, "/scene.json", headers).status;
    assert_eq!(status(&[("Host", &here), ("Origin", &own)]), 200);
    assert_eq!(status(&[("Host", &local), ("Origin", &format!("http://{local}"))]), 200);
    // A foreign name that resolves to this address.
    assert_eq!(status(&[("Host", "evil.example:6580")]), 403);
    assert_eq!(status(&[("Host", "")]), 403);
    // A foreign page, or one of another server on this machine.
    for origin in ["http://evil.example", "null", "http://localhost:1", &format!("https://{here}")] {
        assert_eq!(status(&[("Host", &here), ("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(get(rig.page, "/", &[("Host", "evil.example")]).status, 403);
    // A page that a browser did not name may not have the socket.
    let upgrade = client::upgrade_headers(&[]);
    let refused = |extra: &[(&str, &str)]| {
        let headers: Vec<_> = upgrade.iter().chain(extra).copied().collect();
        get(rig.page, "/live", &headers).status
    };
    assert_eq!(refused(&[("Host", &here)]), 403);
    assert_eq!(refused(&[("Host", &here), ("Origin", "http://evil.example")]), 403);
    assert_eq!(refused(&[("Host", &here), ("Origin", &own)]), 400, "it named no subprotocol");
    rig.end();
}

#[test]
fn the_token_is_wanted_for_all_but_the_page() {
    let rig = Rig::start(Settings { token: Some("open sesame".into()), ..settings() }, None);
    assert_eq!(get(rig.page, "/", &[]).status, 200);
    for path in ["/scene.json", "/runs.json", "/runs/1/frames?from=1", "/nothing"] {
        assert_eq!(get(rig.page, path, &[]).status, 401, "{path}");
        assert_eq!(get(rig.page, path, &[("Authorization", "Bearer open simsim")]).status, 401, "{path}");
    }
    assert_eq!(get(rig.page, "/scene.json", &[("Authorization", "Bearer open sesame")]).status, 200);
    let mut page = client::Page::with_token(rig.page, "b3BlbiBzZXNhbWU");
    assert_eq!(page.frame().step, 0);
    assert_eq!(client::Page::refused(rig.page, &[("Sec-WebSocket-Protocol", "simpartner.1, token.b3Blbg")]), 401);
    rig.end();
}

#[test]
fn the_scene_is_the_world_with_its_devices() {
    let rig = Rig::start(settings(), None);
    let answer = get(rig.page, "/scene.json", &[]);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let scene = answer.json();
    assert_eq!((&scene["protocol"], &scene["timestep"]), (&json!(1), &json!(0.001)));
    assert_eq!((&scene["plane"], &scene["gravity"]), (&Value::Null, &json!([0.0, -9.81, 0.0])));
    let names = |list: &str| -> Vec<String> {
        scene[list].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("bodies"), ["robot/trunk", "robot/rotor"]);
    let trunk = &scene["bodies"][0];
    assert_eq!((&trunk["mass"], &trunk["robot"], &trunk["collision"]), (&json!(20.0), &json!("robot"), &Value::Null));
    assert_eq!(trunk["shape"]["kind"], "box");
    assert_eq!(trunk["shape"]["size"], json!([1.0, 1.0, 1.0]));
    let (visual, none) = (&scene["bodies"][1]["visuals"][0], json!([]));
    assert_eq!((&visual["kind"], &visual["radius"], &trunk["visuals"]), (&json!("cylinder"), &json!(0.3), &none));
    assert_eq!((&visual["color"], &visual["opacity"]), (&json!("#2060a0"), &json!(0.2)));
    let axes = json!([{
        "axis": 3, "linear": false, "direction": [0.0, 0.0, 1.0], "lower": null, "upper": null, "initial": 0.0,
        "max_effort": 1e9, "max_rate": 1e4, "damping": 0.0, "friction": 0.0
    }]);
    // Of a cube of 20 kg: m a² / 6.
    let moment = 20.0 / 6.0;
    let inertia: Vec<f64> = trunk["inertia"].as_array().unwrap().iter().map(|entry| entry.as_f64().unwrap()).collect();
    assert!(
        inertia.iter().zip([moment, moment, moment, 0.0, 0.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-12),
        "{inertia:?}"
    );
    assert_eq!((&scene["joints"][0]["axes"], &scene["joints"][0]["child"]), (&axes, &json!(1)));
    let [position, motor, eyes] = &scene["devices"].as_array().unwrap()[..] else { panic!("{scene}") };
    assert_eq!((&position["body"], &position["joint"]), (&json!(0), &Value::Null));
    assert_eq!(position["command_lengths"], json!([]));
    assert_eq!(
        (&motor["joint"], &motor["command_lengths"], &motor["actuator"]),
        (&json!(0), &json!([6]), &json!(true))
    );
    assert_eq!(motor["port"], json!(rig.devices[1].port()));
    assert_eq!(motor["fields"][5]["name"], "velocity_3");
    // The middle one of three rays faces z, the outer ones half a radian to its sides.
    let directions = eyes["rays"]["directions"].as_array().unwrap();
    assert_eq!((directions.len(), &directions[1], &eyes["rays"]["range"]), (3, &json!([0.0, 0.0, 1.0]), &json!(10.0)));
    assert_eq!(eyes["rays"]["layers"], json!(1));
    assert_eq!(directions[2], json!([libm::sin(0.5), 0.0, libm::cos(0.5)]));
    let other = Rig::start(settings(), None);
    assert_ne!(get(other.page, "/scene.json", &[]).json()["id"], scene["id"]);
    other.end();
    rig.end();
}
