//! The answers to `SCENE` and `TRUTH`: the elements of a world, and their state.

use anyhow::{Context, Result, bail, ensure};
use bevy_math::{DQuat, DVec3};
use serde::Deserialize;
use simpartner_wire::protocol::{TRUTH_OF_BODY, TRUTH_OF_JOINT, read_numbers, word};

use crate::frames::{Axes, Pose};

/// The version of `SCENE` that this bridge reads.
const SCENE_VERSION: u32 = 1;

/// The world that a server simulates.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "clients/viewer/PROTOCOL.md documents the fields")]
pub struct Scene {
    pub protocol: u32,
    pub name: String,
    pub timestep: f64,
    pub bodies: Vec<Body>,
    pub joints: Vec<Joint>,
    pub devices: Vec<Device>,
}

/// A body; those of a robot have its name before theirs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "clients/viewer/PROTOCOL.md documents the fields")]
pub struct Body {
    pub name: String,
    pub robot: Option<String>,
    pub fixed: bool,
    pub pose: Placement,
    pub mass: f64,
    pub centre_of_mass: [f64; 3],
    pub inertia: [f64; 6],
    pub shape: Option<Shape>,
    pub visuals: Vec<Visual>,
    pub collision: Option<Shape>,
}

/// A visible shape of a body.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "clients/viewer/PROTOCOL.md documents the fields")]
pub struct Visual {
    #[serde(flatten)]
    pub shape: Shape,
    pub color: Option<String>,
    pub opacity: f64,
}

/// A pose as JSON has it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "clients/viewer/PROTOCOL.md documents the fields")]
pub struct Placement {
    pub position: [f64; 3],
    pub rotation: [f64; 4],
}

/// A shape on its body.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "clients/viewer/PROTOCOL.md documents the fields")]
pub struct Shape {
    #[serde(flatten)]
    pub pose: Placement,
    pub kind: String,
    pub size: Option<[f64; 3]>,
    pub radius: Option<f64>,
    pub radii: Option<[f64; 3]>,
    pub length: Option<f64>,
    /// Corners: of a mesh, of a hull, or none.
    #[serde(default, alias = "points")]
    pub vertices: Vec<[f32; 3]>,
    #[serde(default)]
    pub triangles: Vec<[u32; 3]>,
    #[serde(default)]
    pub parts: Vec<Shape>,
}

/// A joint.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "clients/viewer/PROTOCOL.md documents the fields")]
pub struct Joint {
    pub name: String,
    pub kind: String,
    pub parent: usize,
    pub child: usize,
    pub anchor: [f64; 3],
    pub axes: Vec<Axis>,
}

/// A coordinate of a joint that is free.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "clients/viewer/PROTOCOL.md documents the fields")]
pub struct Axis {
    pub axis: usize,
    pub linear: bool,
    pub direction: [f64; 3],
    pub lower: Option<f64>,
    pub upper: Option<f64>,
    pub initial: f64,
    pub max_effort: Option<f64>,
    pub max_rate: Option<f64>,
    pub damping: f64,
    pub friction: f64,
}

/// A sensor or an actuator.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "clients/viewer/PROTOCOL.md documents the fields")]
pub struct Device {
    pub name: String,
    pub robot: String,
    pub kind: String,
    pub actuator: bool,
    pub port: u16,
    pub body: Option<usize>,
    pub pose: Option<Placement>,
    pub joint: Option<usize>,
    pub frame: Option<String>,
    pub interval_steps: u64,
    pub fields: Vec<Field>,
    pub rays: Option<Rays>,
}

/// A number of a reading.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "clients/viewer/PROTOCOL.md documents the fields")]
pub struct Field {
    pub name: String,
}

/// Ray directions of a scanner, in the frame of its body.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "clients/viewer/PROTOCOL.md documents the fields")]
pub struct Rays {
    pub directions: Vec<[f64; 3]>,
    pub range: f64,
    pub layers: usize,
}

impl From<Placement> for Pose {
    fn from(placement: Placement) -> Self {
        let Placement { position, rotation } = placement;
        Self { position: DVec3::from_array(position), rotation: DQuat::from_array(rotation) }
    }
}

impl Scene {
    /// Reads the answer to `SCENE`.
    ///
    /// # Errors
    /// The server refuses, or its version differs.
    pub fn read(answer: &str) -> Result<Self> {
        let Some(json) = answer.strip_prefix("OK ") else {
            bail!("the server does not describe its world: '{answer}'; it has to be of the same version as this bridge")
        };
        let scene: Self = serde_json::from_str(json).context("the answer to SCENE is not what this bridge reads")?;
        ensure!(
            scene.protocol == SCENE_VERSION,
            "SCENE is of version {}, this bridge reads {SCENE_VERSION}",
            scene.protocol
        );
        ensure!(scene.timestep > 0.0, "SCENE has a timestep of {}", scene.timestep);
        let bodies = scene.bodies.len();
        let joints = scene.joints.iter().all(|joint| joint.parent.max(joint.child) < bodies);
        let devices = scene.devices.iter().all(|device| {
            device.body.is_none_or(|body| body < bodies) && device.joint.is_none_or(|joint| joint < scene.joints.len())
        });
        ensure!(joints && devices, "SCENE names a body or a joint that it does not have");
        Ok(scene)
    }

    /// The robots with a body or a device, in the order of the answer.
    pub fn robots(&self) -> Vec<String> {
        let mut robots: Vec<String> = Vec::new();
        let names = self.bodies.iter().filter_map(|body| body.robot.as_ref());
        for name in names.chain(self.devices.iter().map(|device| &device.robot)) {
            if !robots.contains(name) {
                robots.push(name.clone());
            }
        }
        robots
    }

    /// Which axis of a robot's links points up: that of its first body which is nearer to the world's y axis in the
    /// model.
    pub fn axes_of(&self, robot: &str) -> Axes {
        let root = self.bodies.iter().find(|body| body.robot.as_deref() == Some(robot));
        let rotation = root.map_or(DQuat::IDENTITY, |root| DQuat::from_array(root.pose.rotation));
        match (rotation * DVec3::Z).y.abs() > (rotation * DVec3::Y).y.abs() {
            true => Axes::ZUp,
            false => Axes::YUp,
        }
    }

    /// A time in steps, at least one.
    pub fn steps_in(&self, seconds: f64) -> u64 {
        // A float beyond the range becomes the largest integer.
        (seconds / self.timestep).round().max(1.0) as u64
    }
}

/// A name without the robot's before it.
pub fn own_name<'a>(name: &'a str, robot: Option<&str>) -> &'a str {
    robot.and_then(|robot| name.strip_prefix(robot)?.strip_prefix('/')).unwrap_or(name)
}

/// Pose and velocity of a body, world axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyState {
    /// `world_from_body`.
    pub pose: Pose,
    /// Velocity of the centre of mass, m/s.
    pub velocity: DVec3,
    /// Angular velocity, rad/s.
    pub spin: DVec3,
}

/// The coordinates of a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointCoordinates {
    /// rad or m.
    pub position: [f64; 3],
    /// rad/s or m/s.
    pub rate: [f64; 3],
    /// N m or N.
    pub effort: [f64; 3],
}

/// State of all bodies and joints after a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// Number of the world: the count of entities that were spawned or removed.
    pub world: u64,
    /// The step.
    pub step: u64,
    /// Simulated time, s.
    pub time: f64,
    /// In the order of the scene.
    pub bodies: Vec<BodyState>,
    /// In the order of the scene.
    pub joints: Vec<JointCoordinates>,
}

/// The server has switched to another world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("TRUTH is about another world than SCENE was")]
pub struct OtherWorld;

impl Truth {
    /// Reads the answer to `TRUTH` about a scene.
    ///
    /// # Errors
    /// When it is another answer, or about another world.
    pub fn read(answer: &str, scene: &Scene) -> Result<Self> {
        let what = || format!("expected the answer to TRUTH, got '{:.100}'", answer);
        let number = |name| word(answer, name).and_then(|text| text.parse::<f64>().ok());
        let list = |name| match word(answer, name) {
            Some("") => Ok(Vec::new()),
            Some(text) => read_numbers(text).map_err(|refusal| anyhow::anyhow!("{refusal}")),
            None => bail!("{name}= is missing"),
        };
        let step = word(answer, "step").and_then(|text| text.parse().ok()).with_context(what)?;
        // Servers of earlier versions have one world.
        let world = word(answer, "world").map_or(Ok(0), str::parse).with_context(what)?;
        let time = number("time").with_context(what)?;
        let (bodies, joints) = (list("bodies").with_context(what)?, list("joints").with_context(what)?);
        let fits =
            bodies.len() == scene.bodies.len() * TRUTH_OF_BODY && joints.len() == scene.joints.len() * TRUTH_OF_JOINT;
        if !fits {
            bail!(OtherWorld);
        }
        let bodies = bodies.chunks_exact(TRUTH_OF_BODY).map(|v| BodyState {
            pose: Pose { position: DVec3::new(v[0], v[1], v[2]), rotation: DQuat::from_xyzw(v[3], v[4], v[5], v[6]) },
            velocity: DVec3::new(v[7], v[8], v[9]),
            spin: DVec3::new(v[10], v[11], v[12]),
        });
        let joints = joints.chunks_exact(TRUTH_OF_JOINT).map(|v| JointCoordinates {
            position: [v[0], v[1], v[2]],
            rate: [v[3], v[4], v[5]],
            effort: [v[6], v[7], v[8]],
        });
        Ok(Self { world, step, time, bodies: bodies.collect(), joints: joints.collect() })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A base with an arm on a hinge about z, and a ball beside it.
    pub fn pendulum() -> Scene {
        let body = |name: &str, robot: &str| {
            format!(
                r#"{{"name":"{name}","robot":{robot},"fixed":false,"mass":1,"centre_of_mass":[0,0,0],"inertia":[1,2,3,0,0,0],
                "visuals":[],"collision":null,"pose":{{"position":[0,0,0],"rotation":[0,0,0,1]}},
                "shape":{{"kind":"box","size":[1,2,3],"position":[0,0,0],"rotation":[0,0,0,1]}}}}"#
            )
        };
        let bodies = [body("P/Base", "\"P\""), body("P/Arm", "\"P\""), body("Ball", "null")].join(",");
        let axis = r#"{"axis":3,"linear":false,"direction":[0,0,1],"lower":-1,"upper":2,"initial":0,"max_effort":50,"max_rate":3,
            "damping":0.5,"friction":0}"#;
        let joints =
            format!(r#"{{"name":"P/Shoulder","kind":"hinge","parent":0,"child":1,"anchor":[0,0,0],"axes":[{axis}]}}"#);
        let device = |name: &str, kind: &str, fields: usize| {
            let fields = vec![r#"{"name":"f"}"#; fields].join(",");
            format!(
                r#"{{"name":"{name}","robot":"P","kind":"{kind}","actuator":{},"port":1,"joint":0,"interval_steps":1,
                "fields":[{fields}]}}"#,
                kind.ends_with("Controller")
            )
        };
        let devices = [
            device("Encoder", "JointEncoder", 6),
            device("Motor", "PositionController", 6),
            device("Wheel", "JointController", 6),
            device("Force", "EffortController", 3),
        ];
        let text = format!(
            r#"OK {{"protocol":1,"name":"w","timestep":0.001,"bodies":[{bodies}],"joints":[{joints}],"devices":[{}]}}"#,
            devices.join(",")
        );
        Scene::read(&text).unwrap()
    }

    #[test]
    fn what_is_no_scene_is_refused() {
        for (answer, expected) in [
            ("ERR 1 no verb SCENE", "the server does not describe its world"),
            ("OK {}", "the answer to SCENE is not what this bridge reads"),
            (
                r#"OK {"protocol":2,"name":"w","timestep":0.001,"bodies":[],"joints":[],"devices":[]}"#,
                "SCENE is of version 2",
            ),
            (
                r#"OK {"protocol":1,"name":"w","timestep":0,"bodies":[],"joints":[],"devices":[]}"#,
                "SCENE has a timestep of 0",
            ),
        ] {
            let error = Scene::read(answer).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn truth_that_is_cut_short_is_refused() {
        let scene = pendulum();
        let (bodies, joints) = (["1"; 39].join(","), ["2"; 9].join(","));
        let whole = format!("OK step=3 time=0.003 epoch=0 bodies={bodies} joints={joints}");
        let truth = Truth::read(&whole, &scene).unwrap();
        assert_eq!((truth.step, truth.time, truth.bodies.len(), truth.joints[0].rate), (3, 0.003, 3, [2.0; 3]));
        for text in ["", "ERR 1 x", "OK step=3", &whole[..whole.len() - 2], "OK step=3 time=x epoch=0 bodies= joints="]
        {
            assert!(Truth::read(text, &scene).is_err(), "{text}");
        }
    }
}
