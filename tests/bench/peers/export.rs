//! The scenes of the bench in the peers' formats: MuJoCo reads the whole world as exported to MJCF, PhysX and DART read
//! robots from exported URDF, and ODE plain text. The joints are driven by the bench in all engines.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use bevy_math::{DQuat, DVec3};
use simpartner::benchmark::peers;
use simpartner_description::{
    World,
    xml::{self, ExportFormat},
};
use simpartner_dynamics::{Servo, give_inertias};
use simpartner_model::{Graph, Mechanism};

use super::{
    Scene,
    rover::{self, JOINTS, Rover},
};

/// The rate of the wheels, rad/s.
pub const RATE: f64 = 4.0;

/// A file for each way of reading.
#[derive(Debug)]
pub struct Files {
    /// The exported world for MuJoCo, and its drives.
    pub mjcf: PathBuf,
    /// The scene for PhysX and DART: bodies as text, robots by their URDF file. `None` for scenes without contacts,
    /// which are compared with MuJoCo only.
    pub urdf: Option<PathBuf>,
    /// The scene as text: a line for each element, numbers after its keyword. `None` likewise.
    pub plain: Option<PathBuf>,
}

/// Writes a scene into a folder.
pub fn write(folder: &Path, scene: &Scene) -> Files {
    let Scene { world, rovers, robot, is_free, .. } = scene;
    let [mjcf, urdf, plain] = ["scene_driven.xml", "scene_robots.txt", "scene.txt"].map(|name| folder.join(name));
    let save = |path: &Path, text: &str| fs::write(path, text).expect("the scene can be written");
    save(&folder.join("scene.xml"), &exported(world, ExportFormat::Mjcf));
    save(&mjcf, &driven(scene));
    if *is_free {
        return Files { mjcf, urdf: None, plain: None };
    }
    if let Some(robot) = robot {
        save(&folder.join("rover.urdf"), &exported(robot, ExportFormat::Urdf));
    }
    save(&urdf, &placed(world, rovers));
    save(&plain, &text(world, rovers));
    Files { mjcf, urdf: Some(urdf), plain: Some(plain) }
}

/// The exported world, which must be complete.
fn exported(world: &World, format: ExportFormat) -> String {
    let mut world = world.clone();
    give_inertias(&mut world.mechanism).expect("all bodies of the scenes have mass");
    let exported = xml::export(&world, format, "").expect("the format has what the scenes have");
    assert!(exported.warnings.is_empty() && exported.meshes.is_empty(), "{:?}", exported.warnings);
    exported.text
}

/// The servo of each joint of the rovers, with its number in the world.
fn servos(rovers: &[Rover]) -> impl Iterator<Item = (usize, Servo)> {
    rovers.iter().flat_map(|rover| (0..JOINTS).map(|index| (rover.first_joint + index, rover::servo(index, RATE))))
}

/// The exported world with the time step, the solver's settings and the motors of the bench around it.
fn driven(scene: &Scene) -> String {
    let Scene { world, rovers, timestep, is_free, .. } = scene;
    let (timestep, integrator) = (timestep.seconds(), if *is_free { "RK4" } else { "implicitfast" });
    let mut text = format!(
        "<mujoco>\n<include file=\"scene.xml\"/>\n<option timestep=\"{timestep}\" integrator=\"{integrator}\"/>\n<size memory=\"1G\"/>\n",
    );
    let (mut motors, mut targets) = (String::new(), String::new());
    for (number, servo) in servos(rovers) {
        let joint = &world.mechanism.joints[number];
        let prefix = if rovers.len() > 1 {
            joint.robot.map(|robot| format!("{}/", world.mechanism.robot(robot).name)).unwrap_or_default()
        } else {
            String::new()
        };
        let Servo { position, rate, stiffness, damping, max_effort } = servo;
        let (tag, gain, target) = match stiffness {
            0.0 => ("velocity", String::new(), rate),
            _ => ("position", format!(" kp=\"{stiffness}\""), position),
        };
        let bound = format!("forcelimited=\"true\" forcerange=\"-{max_effort} {max_effort}\"");
        let _ = writeln!(motors, "<{tag} joint=\"{prefix}{}\"{gain} kv=\"{damping}\" {bound}/>", joint.name);
        let _ = write!(targets, "{target} ");
    }
    if !motors.is_empty() {
        let _ = writeln!(text, "<actuator>\n{motors}</actuator>\n<keyframe><key ctrl=\"{targets}\"/></keyframe>");
    }
    text + "</mujoco>\n"
}

fn numbers(values: impl IntoIterator<Item = f64>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
}

/// The scene as text with the rovers by their file: the pose of each root link, and the drives of all joints.
fn placed(world: &World, rovers: &[Rover]) -> String {
    let Some(first) = rovers.first() else { return text(world, rovers) };
    let mechanism = &world.mechanism;
    let bare = Mechanism { bodies: Vec::new(), joints: Vec::new(), ..mechanism.clone() };
    let mut text = peers::scene(&bare);
    // The root link of a file of ours has its z axis up.
    let DQuat { x, y, z, w } = DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2);
    for tree in Graph::new(&mechanism.bodies, &mechanism.joints).spanning_forest().trees {
        let at = mechanism.body(tree.root).pose.translation.to_array();
        let _ = writeln!(text, "robot rover.urdf {}", numbers(at.into_iter().chain([w, x, y, z])));
    }
    for (number, servo) in servos(&[*first]) {
        let _ = writeln!(text, "motor {} {}", mechanism.joints[number].name, figures(servo));
    }
    text
}

fn figures(servo: Servo) -> String {
    numbers([servo.position, servo.rate, servo.stiffness, servo.damping, servo.max_effort])
}

/// The whole scene as text: bodies by [`peers::scene`], and the joints of the rovers with their motors.
fn text(world: &World, rovers: &[Rover]) -> String {
    let mut text = peers::scene(&world.mechanism);
    for (number, servo) in servos(rovers) {
        let joint = &world.mechanism.joints[number];
        let ends = [joint.parent.index() as f64, joint.child.index() as f64];
        let place = joint.anchor.to_array().into_iter().chain((joint.frame * DVec3::Z).to_array());
        let _ = writeln!(text, "hinge {} {}", numbers(ends.into_iter().chain(place)), figures(servo));
    }
    text
}
