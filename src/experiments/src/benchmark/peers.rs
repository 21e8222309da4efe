//! Runs of the benchmark's worlds in other engines.
//!
//! Each engine runs in a process of its own: a script of `tests/bench/peers` that needs Python and the engine's
//! package, or a program that needs ODE's library and a C compiler. The process reads the scene as text ([`scene`]),
//! and reports the motion of the bodies at samples and the wall time of its steps. The figures are computed here, by
//! the same code as those of our engine.

use std::{
    fmt::Write,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_description::xml::{self, ExportFormat};
use simpartner_dynamics::mass_properties;
use simpartner_model::{Body, BodyId, Joint, JointKind, Mechanism, Placed, Pose, Shape};

use super::{
    BenchmarkError, Outcome,
    arm::{self, Angles, Arm},
    blocks::is_jaw,
    hold::{HoldMonitor, Motion, Object},
};

/// Names of the other engines in `grasp_peer.py`, each with the settings that held the blocks best.
pub const PEERS: [&str; 5] = ["physx-10-1", "physx-50-4", "mujoco", "dart", "ode"];

/// Sampling interval of a peer's report, s. Creep needs at least two samples in the shortest run.
const SAMPLE_INTERVAL: f64 = 0.1;

/// Folders of the other engines.
#[derive(Debug, Clone)]
pub struct Peers {
    /// Folder of `grasp_peer.py` and `ode_peer.c`.
    pub scripts: PathBuf,
    /// Folder for scenes and for the program of ODE's peer.
    pub scratch: PathBuf,
}

/// A mechanism as lines of text, each a word and numbers. It may have free bodies, and bodies on sliders from the world
/// that soft springs push. Quaternions are w x y z; the axes of cylinders and capsules are their z axes, as in the
/// peers.
pub fn scene(mechanism: &Mechanism) -> String {
    let mut text = String::new();
    let mut line = |word: &str, numbers: &[f64]| {
        let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{word} {}", numbers.join(" "));
    };
    line("gravity", &mechanism.gravity.to_array());
    if let Some(plane) = mechanism.planes().next() {
        line("plane", &[plane.material.friction]);
    }
    if let Some(field) = mechanism.heightfields().next() {
        line("field", &[field.points_x as f64, field.points_z as f64, field.width, field.depth]);
        line("heights", &field.heights);
    }
    let moving: Vec<BodyId> = mechanism.bodies().filter(|(_, body)| !body.fixed).map(|(id, _)| id).collect();
    let mut numbers = vec![-1.0; mechanism.bodies.len()];
    moving.iter().enumerate().for_each(|(place, id)| numbers[id.index()] = place as f64);
    let number = |id: BodyId| numbers[id.index()];
    for &id in &moving {
        let body = mechanism.body(id);
        let mass = inertia_tensor(body);
        let robot = body.robot.map_or(-1.0, |robot| robot.index() as f64);
        let mut numbers = vec![number(id), robot, body.mass];
        numbers.extend([mass.x_axis.x, mass.y_axis.y, mass.z_axis.z]);
        numbers.extend(pose_numbers(body.pose.translation, body.pose.rotation));
        line("body", &numbers);
        if let Some((word, size, at, rotation)) = body.collision_shape().and_then(peer_shape) {
            let mut numbers = vec![number(id)];
            numbers.extend(size);
            numbers.extend(pose_numbers(at, rotation));
            numbers.push(body.material.friction);
            line(word, &numbers);
        }
    }
    for (_, joint) in mechanism.joints() {
        if let Some(force) = spring_force(mechanism, joint) {
            let mut numbers = vec![number(joint.parent), number(joint.child)];
            numbers.extend(joint.anchor.to_array());
            numbers.extend((joint.frame * DVec3::Z).to_array());
            numbers.push(force);
            line("slider", &numbers);
        }
    }
    text
}

/// Inertia tensor of a body, kg m²; zero for a body without mass properties.
fn inertia_tensor(body: &Body) -> DMat3 {
    mass_properties(body).map_or(DMat3::ZERO, |mass| mass.tensor)
}

/// Word, sizes, position and rotation of a shape; `None` for shapes that the peers do not have.
fn peer_shape(Placed { pose, shape }: &Placed) -> Option<(&'static str, [f64; 3], DVec3, DQuat)> {
    let upright = pose.rotation * DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2);
    let (word, size, rotation) = match shape {
        Shape::Sphere { radius } => ("sphere", [*radius, 0.0, 0.0], pose.rotation),
        Shape::Box { size } => ("box", (*size * 0.5).to_array(), pose.rotation),
        Shape::Cylinder { radius, length } => ("cylinder", [*radius, 0.5 * length, 0.0], upright),
        Shape::Capsule { radius, length } => ("capsule", [*radius, 0.5 * length, 0.0], upright),
        _ => return None,
    };
    Some((word, size, pose.translation, rotation))
}

/// Force, N, of the spring of a slider at the start; `None` for joints other than sliders from the world.
fn spring_force(mechanism: &Mechanism, joint: &Joint) -> Option<f64> {
    let slides = joint.kind == JointKind::Slider && mechanism.body(joint.parent).fixed;
    let axis = joint.axes[2].free().filter(|_| slides)?;
    Some(axis.stiffness * (axis.spring_position - axis.initial_position))
}

/// Position, and quaternion as w x y z.
fn pose_numbers(at: DVec3, rotation: DQuat) -> [f64; 7] {
    [at.x, at.y, at.z, rotation.w, rotation.x, rotation.y, rotation.z]
}

/// Parameters of a peer's run, and the roles of the bodies that it reports.
struct PeerRun<'q> {
    bodies: &'q [(Role, Object)],
    /// Number of joint angles that follow the bodies in a sample.
    angles: usize,
    gravity: Option<DVec3>,
    timestep_s: f64,
    seconds: f64,
    /// Sampling interval, s.
    sample_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Jaw,
    Object,
}

impl PeerRun<'_> {
    /// Number of steps between samples. The interval is shortened if fewer than four samples would fit.
    fn steps_per_sample(&self) -> f64 {
        (self.sample_s.min(0.25 * self.seconds) / self.timestep_s).round().max(1.0)
    }
}

fn object_of(body: &Body) -> Object {
    Object { mass: body.mass, tensor: inertia_tensor(body) }
}

impl Peers {
    /// Runs a row of blocks in a peer. `None` if the peer is not installed.
    ///
    /// # Errors
    /// The peer started but did not finish.
    pub fn blocks(
        &self,
        peer: &str,
        mechanism: &Mechanism,
        timestep_s: f64,
        seconds: f64,
    ) -> Result<Option<Outcome>, BenchmarkError> {
        let moving = mechanism.bodies().filter(|(_, body)| !body.fixed);
        let role = |body: &Body| if is_jaw(&body.name) { Role::Jaw } else { Role::Object };
        let bodies: Vec<_> = moving.map(|(_, body)| (role(body), object_of(body))).collect();
        let gravity = Some(mechanism.gravity);
        let run = PeerRun { bodies: &bodies, angles: 0, gravity, timestep_s, seconds, sample_s: SAMPLE_INTERVAL };
        let Some(command) = self.peer_command(peer) else { return Ok(None) };
        Ok(self.run_peer(peer, command, &scene(mechanism), &run)?.map(|(outcome, _)| outcome))
    }

    /// Runs the arm in MuJoCo. Returns the result of the hold and the angles of the joints; `None` if MuJoCo is not
    /// installed.
    ///
    /// # Errors
    /// The world cannot be written for MuJoCo, or MuJoCo started but did not finish.
    pub fn arm(&self, arm: &Arm, timestep_s: f64, seconds: f64) -> Result<Option<(Outcome, Angles)>, BenchmarkError> {
        let world = arm.world()?;
        let bodies: Vec<_> = arm::REPORTED_BODIES
            .iter()
            .filter_map(|name| world.mechanism.bodies().find(|(_, body)| body.name == *name))
            .map(|(_, body)| (if arm::is_finger(&body.name) { Role::Jaw } else { Role::Object }, object_of(body)))
            .collect();
        let exported = xml::export(&world, ExportFormat::Mjcf, "meshes").map_err(BenchmarkError::Peer)?;
        for (path, text) in &exported.meshes {
            let path = self.scratch.join(path);
            let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, text));
            made.map_err(|error| BenchmarkError::Peer(format!("{}: {error}", path.display())))?;
        }
        let plan = self.scratch.join("plan.txt");
        std::fs::write(&plan, arm.control_plan())
            .map_err(|error| BenchmarkError::Peer(format!("{}: {error}", plan.display())))?;
        let sample_s = arm::SAMPLE;
        let run = PeerRun { bodies: &bodies, angles: arm::JOINT_COUNT, gravity: None, timestep_s, seconds, sample_s };
        let mut command = Command::new("python3");
        command.arg("-B").arg(self.scripts.join("arm_peer.py")).arg(&plan);
        self.run_peer("mujoco", command, &exported.text, &run)
    }

    /// Runs a scene in a peer's process. `None` if the process cannot be started or reports nothing.
    fn run_peer(
        &self,
        peer: &str,
        mut command: Command,
        scene: &str,
        run: &PeerRun,
    ) -> Result<Option<(Outcome, Angles)>, BenchmarkError> {
        // MuJoCo recognises its models by the file name's extension.
        let file = self.scratch.join(if scene.starts_with('<') { "scene.xml" } else { "scene.txt" });
        let failed = |what: String| BenchmarkError::Peer(format!("{peer}: {what}"));
        std::fs::write(&file, scene).map_err(|error| failed(format!("{}: {error}", file.display())))?;
        let steps = (run.seconds / run.timestep_s).round();
        command.arg(&file).args([run.timestep_s, steps, run.steps_per_sample()].map(|number| number.to_string()));
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut child) = child else { return Ok(None) };
        let output = child.stdout.take().map(BufReader::new);
        let report = output.map_or(Ok(None), |output| read_report(output, run));
        // The process has ended, or its report is invalid and the rest is not needed.
        let _ = child.kill();
        let _ = child.wait();
        report.map_err(failed)
    }

    /// The command that starts a peer; `None` for ODE if its program cannot be compiled.
    fn peer_command(&self, peer: &str) -> Option<Command> {
        if peer == "ode" {
            let program = self.scratch.join("ode_peer");
            if !program.exists() {
                let source = self.scripts.join("ode_peer.c");
                let mut compiler = Command::new("cc");
                compiler.args(["-O2", "-DdDOUBLE", "-o"]).arg(&program).arg(&source);
                compiler.args(["-lode", "-lm", "-lstdc++", "-lpthread"]).stdout(Stdio::null()).stderr(Stdio::null());
                compiler.status().ok().filter(std::process::ExitStatus::success)?;
            }
            return Some(Command::new(program));
        }
        let mut command = Command::new("python3");
        command.arg("-B").arg(self.scripts.join("grasp_peer.py")).arg(peer);
        Some(command)
    }
}

/// Reads a peer's report: a line with the engine's name, a line for each sample with thirteen numbers per body and then
/// the angles, and a last line with the wall time of the steps. The first sample is the state before any step. `None`
/// if the report is empty, as it is if the engine is not installed.
fn read_report(output: impl BufRead, run: &PeerRun) -> Result<Option<(Outcome, Angles)>, String> {
    let mut lines = output.lines().map_while(Result::ok);
    let Some(engine) = lines.next().and_then(|line| line.strip_prefix("engine ").map(str::to_owned)) else {
        return Ok(None);
    };
    let count = 13 * run.bodies.len();
    let (mut hold, mut samples, mut wall_s, mut angles) = (None::<HoldMonitor>, 0u32, None, Angles::default());
    for line in lines {
        if let Some(wall) = line.strip_prefix("wall ") {
            wall_s = wall.parse().ok();
            continue;
        }
        let numbers: Vec<f64> = line.split_ascii_whitespace().map(|word| word.parse().unwrap_or(f64::NAN)).collect();
        if numbers.len() != count + run.angles {
            return Err(format!("said '{}' in place of {} numbers", line.trim(), count + run.angles));
        }
        let all: Vec<Motion> = numbers[..count].chunks(13).map(motion_from).collect();
        let of = |role: Role| {
            let own = run.bodies.iter().zip(&all).filter(move |((own, _), _)| *own == role);
            own.map(|((_, object), motion)| (*object, *motion)).collect::<Vec<_>>()
        };
        let only = |all: Vec<(Object, Motion)>| all.into_iter().map(|(_, motion)| motion).collect::<Vec<_>>();
        let time = f64::from(samples) * run.steps_per_sample() * run.timestep_s;
        match &mut hold {
            None => hold = Some(HoldMonitor::new(&only(of(Role::Jaw)), &of(Role::Object), run.gravity, run.seconds)),
            Some(hold) => hold.observe(time, &only(of(Role::Jaw)), &only(of(Role::Object))),
        }
        if samples > 0
            && let Ok(found) = numbers[count..].try_into()
        {
            angles.add_sample(time, found);
        }
        samples += 1;
    }
    let (Some(hold), Some(wall_s)) = (hold, wall_s) else {
        return Err(format!("{engine} ended after {samples} samples"));
    };
    let outcome = Outcome { engine, figures: hold.figures(), wall_s, events: Vec::new(), joints: Vec::new() };
    Ok(Some((outcome, angles)))
}

/// A motion from thirteen numbers: position, quaternion as w x y z, velocity and angular velocity.
fn motion_from(numbers: &[f64]) -> Motion {
    let rotation = DQuat::from_xyzw(numbers[4], numbers[5], numbers[6], numbers[3]).normalize();
    let pose = Pose { translation: DVec3::from_slice(&numbers[..3]), rotation };
    Motion { pose, velocity: DVec3::from_slice(&numbers[7..10]), spin: DVec3::from_slice(&numbers[10..13]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::blocks::Blocks;

    const BODY: Object = Object { mass: 1.0, tensor: DMat3::IDENTITY };

    fn ask(said: &str) -> Result<Option<(Outcome, Angles)>, String> {
        let bodies = [(Role::Jaw, BODY), (Role::Object, BODY)];
        let gravity = Some(DVec3::NEG_Y);
        let run = PeerRun { bodies: &bodies, angles: 0, gravity, timestep_s: 0.1, seconds: 1.0, sample_s: 0.5 };
        assert_eq!(run.steps_per_sample(), 3.0, "four samples in ten steps");
        read_report(said.as_bytes(), &run)
    }

    #[test]
    fn what_a_peer_says_becomes_figures() {
        let jaw = "0 0 0 1 0 0 0 0 0 0 0 0 0";
        let at = |y: f64| format!("{jaw} 0 {y} 0.5 1 0 0 0 0 0 0 0 0 0\n");
        let said = format!("engine Tester 1.0\n{}{}{}wall 2.5\n", at(0.0), at(-0.002), at(-0.004));
        let (outcome, _) = ask(&said).unwrap().unwrap();
        let figures = &outcome.figures;
        assert_eq!((outcome.engine.as_str(), outcome.wall_s), ("Tester 1.0", 2.5));
        assert!(
            (figures.drop_m.unwrap() - 0.004).abs() < 1e-15 && (figures.seconds - 0.6).abs() < 1e-12,
            "{figures:?}"
        );
        assert!((figures.reached_1_mm_s.unwrap() - 0.3).abs() < 1e-12, "{figures:?}");
    }

    #[test]
    fn a_peer_that_is_missing_or_breaks_off_is_told_apart() {
        assert_eq!(ask(""), Ok(None));
        assert_eq!(ask("Traceback"), Ok(None));
        assert_eq!(ask("engine E\n1 2 3\n"), Err("said '1 2 3' in place of 26 numbers".into()));
        assert_eq!(ask("engine E\n"), Err("E ended after 0 samples".into()));
    }

    #[test]
    fn a_scene_has_a_line_for_every_body_and_the_push_of_each_jaw() {
        let world = Blocks { blocks: 2, friction: 1.0 }.world().unwrap();
        let text = scene(&world.mechanism);
        let lines = |word: &str| text.lines().filter(|line| line.starts_with(word)).count();
        assert_eq!((lines("gravity"), lines("body"), lines("box"), lines("slider")), (1, 4, 4, 2), "{text}");
        let pushes: Vec<f64> = text
            .lines()
            .filter(|line| line.starts_with("slider"))
            .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
            .collect();
        assert!((pushes[0] - 200.0).abs() < 1e-9 && (pushes[1] + 200.0).abs() < 1e-9, "{pushes:?}");
    }
}
