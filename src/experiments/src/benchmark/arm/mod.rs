//! An arm that swings a block in its hand for 100 s, with the controller of the benchmark.
//!
//! The targets of the six joints are q = A sin(k t) for the angles and A cos(k t) for the rates. The authors' code
//! leaves out the factor k, so that angles and rates contradict each other for all joints but the first; this is kept.
//! The torques are Kp (target - q) + Kv (target' - q') without compensation of gravity, bounded by the joint's largest
//! torque. Each finger presses with 100 N.
//!
//! As published ([`Control::Explicit`]) the torque of a step is computed from the state at its start. At 1 ms that is
//! unstable for the wrist of the real arm: Kv h is 6e-3, 4.5 times the inertia behind the last joint. Beyond a ratio of
//! 2 the oscillation grows until the torque's bound limits it. With [`Control::Implicit`] the law holds at the end of
//! the step, as for a controller on a faster clock.

mod case;
mod model;
mod study;

use simpartner_description::World;
use simpartner_dynamics::{Engine, Motor, Servo, Settings};
use simpartner_model::{JointId, Mechanism};

pub use case::{Arm, Control, Inertias, Start};
pub use study::ArmStudy;

use case::{SWINGS, Swing};

use super::{BenchmarkError, Clock, Controller, Grip, JointError, Outcome};

/// Force of each finger, N.
pub const FINGER_FORCE: f64 = 100.0;

/// Names of the variants in the published results.
pub const VARIANTS: [&str; 9] = [
    "primitiveall",
    "polygonalblock",
    "polygonalhand",
    "polygonalall",
    "inertialmod_1x",
    "inertialmod_2x",
    "inertialmod_3x",
    "inertialmod_4x",
    "inertialmod_10x",
];

impl Arm {
    /// The variant with this name, if there is one.
    pub fn variant(name: &str, friction: f64, control: Control, start: Start) -> Option<Self> {
        if !VARIANTS.contains(&name) {
            return None;
        }
        let power = name.strip_prefix("inertialmod_").and_then(|rest| rest.strip_suffix('x')?.parse().ok());
        Some(Self {
            polygonal_hand: matches!(name, "polygonalhand" | "polygonalall"),
            polygonal_block: matches!(name, "polygonalblock" | "polygonalall"),
            inertias: power.map_or(Inertias::Published, Inertias::Powers),
            friction,
            control,
            start,
        })
    }

    /// Name of the variant.
    pub fn name(&self) -> String {
        match (self.inertias, self.polygonal_hand, self.polygonal_block) {
            (Inertias::Powers(base), ..) => format!("inertialmod_{base}x"),
            (_, false, false) => "primitiveall".into(),
            (_, false, true) => "polygonalblock".into(),
            (_, true, false) => "polygonalhand".into(),
            (_, true, true) => "polygonalall".into(),
        }
    }

    /// The XML text of the case's world.
    pub fn text(&self) -> String {
        model::world_text(self)
    }

    /// The controller as text for other engines: a line for each joint with the amplitude, frequency, gains and bound
    /// of its controller and its initial rate, a line for each finger with its force, and the bodies to report.
    pub(super) fn control_plan(&self) -> String {
        let joint = |(hinge, swing): (&model::Hinge, &Swing)| {
            let Swing { rate, frequency, stiffness, damping } = swing;
            format!("swing {} {rate} {frequency} {stiffness} {damping} {} {rate}\n", hinge.name, hinge.max_effort)
        };
        let swings: String = model::HINGES.iter().zip(&SWINGS).map(joint).collect();
        let fingers = model::SLIDERS.map(|(name, _, closes)| format!("push {name} {}\n", closes * FINGER_FORCE));
        let carried = if self.start == Start::Held { "carried Block FingerLeft\n" } else { "" };
        let explicit = if self.control == Control::Explicit { "explicit\n" } else { "" };
        let watched = REPORTED_BODIES.map(|name| format!("watch {name}\n")).concat();
        swings + &fingers.concat() + carried + explicit + &watched
    }

    /// The case's world, read from its text.
    ///
    /// # Errors
    /// The reader refuses it, for example because of a coefficient below zero.
    pub fn world(&self) -> Result<World, BenchmarkError> {
        super::read_world(&self.text())
    }

    /// Simulates the case in our engine for this time, s. Also returns the angles of the joints, sampled every
    /// [`SAMPLE`].
    ///
    /// # Errors
    /// The engine refuses the world or the timestep.
    pub fn run(
        &self,
        timestep_s: f64,
        seconds: f64,
        settings: &Settings,
        clock: Clock,
    ) -> Result<(Outcome, Angles), BenchmarkError> {
        let world = self.world()?;
        let mut grip = Grip::new(&world, timestep_s, settings, is_finger, is_block)?;
        // The hand moves, so the height of the block has no meaning.
        grip.gravity = None;
        let mut driver = ArmController::new(&world.mechanism, self.control, timestep_s);
        let outcome = grip.run(seconds, clock, &mut driver);
        Ok((Outcome { joints: driver.angles.tracking_errors(None), ..outcome }, driver.angles))
    }
}

pub(super) fn is_finger(name: &str) -> bool {
    name.starts_with("Finger")
}

/// Names of the bodies whose motion a peer reports.
pub(super) const REPORTED_BODIES: [&str; 3] = ["FingerLeft", "FingerRight", "Block"];
/// Number of joints of the arm.
pub(super) const JOINT_COUNT: usize = SWINGS.len();

fn is_block(name: &str) -> bool {
    name == "Block"
}

/// Sampling interval of the angles, s.
pub const SAMPLE: f64 = 0.01;

/// Samples of the joints' angles: time, s, and angles, rad.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Angles(Vec<(f64, [f64; JOINT_COUNT])>);

impl Angles {
    pub(super) fn add_sample(&mut self, time: f64, angles: [f64; JOINT_COUNT]) {
        self.0.push((time, angles));
    }

    /// Differences of the angles from the controller's targets, and from our engine's angles at the same times.
    pub(super) fn tracking_errors(&self, ours: Option<&Self>) -> Vec<JointError> {
        let each = model::HINGES.iter().zip(&SWINGS).enumerate().map(|(index, (hinge, swing))| {
            let errors = self.0.iter().map(|(time, angles)| swing.target(*time).0 - angles[index]);
            let squares = errors.clone().map(|error| error * error).sum::<f64>();
            let apart = |others: &Self| {
                let pairs = self.0.iter().zip(&others.0);
                pairs.map(|((_, a), (_, b))| (a[index] - b[index]).abs()).fold(0.0, f64::max)
            };
            JointError {
                joint: hinge.name.into(),
                largest_rad: errors.map(f64::abs).fold(0.0, f64::max),
                rms_rad: (squares / self.0.len().max(1) as f64).sqrt(),
                apart_rad: ours.map(apart),
            }
        });
        each.collect()
    }
}

/// The benchmark's controller.
struct ArmController {
    control: Control,
    /// Timestep, s.
    timestep: f64,
    joints: Vec<JointId>,
    /// Sliders of the fingers, with their forces, N.
    fingers: Vec<(JointId, f64)>,
    angles: Angles,
}

impl ArmController {
    fn new(mechanism: &Mechanism, control: Control, timestep: f64) -> Self {
        let named = |name: &str| {
            let found = mechanism.joints().find(|(_, joint)| joint.name == name);
            found.map(|(id, _)| id).expect("the benchmark's own world has the joints of its arm")
        };
        Self {
            control,
            timestep,
            joints: model::HINGES.iter().map(|hinge| named(hinge.name)).collect(),
            fingers: model::SLIDERS.iter().map(|(name, _, closes)| (named(name), closes * FINGER_FORCE)).collect(),
            angles: Angles::default(),
        }
    }
}

impl Controller for ArmController {
    fn set_motors(&mut self, engine: &mut dyn Engine, time: f64) {
        for ((joint, swing), hinge) in self.joints.iter().zip(&SWINGS).zip(&model::HINGES) {
            let motor = match self.control {
                Control::Implicit => {
                    let (position, rate) = swing.target(time + self.timestep);
                    let Swing { stiffness, damping, .. } = *swing;
                    Motor::Servo(Servo { position, rate, stiffness, damping, max_effort: hinge.max_effort })
                }
                Control::Explicit => {
                    let (position, rate) = swing.target(time);
                    let state = engine.joint(*joint);
                    let effort =
                        swing.stiffness * (position - state.position[2]) + swing.damping * (rate - state.rate[2]);
                    Motor::Effort(effort.clamp(-hinge.max_effort, hinge.max_effort))
                }
            };
            engine.set_motor(*joint, 2, motor);
        }
        for (joint, force) in &self.fingers {
            engine.set_motor(*joint, 2, Motor::Effort(*force));
        }
    }

    fn read_state(&mut self, engine: &dyn Engine, time: f64) {
        let samples = self.angles.0.len() as f64;
        if time + 1e-9 >= (samples + 1.0) * SAMPLE {
            let mut angles = [0.0; JOINT_COUNT];
            for (angle, joint) in angles.iter_mut().zip(&self.joints) {
                *angle = engine.joint(*joint).position[2];
            }
            self.angles.add_sample(time, angles);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_has_a_world_and_its_name_back() {
        for name in VARIANTS {
            let arm = Arm::variant(name, 1.0, Control::Implicit, Start::Held).expect("a known name");
            assert_eq!(arm.name(), name);
            let world = arm.world().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(world.mechanism.joints.len(), 9, "{name}");
        }
        assert_eq!(Arm::variant("inertialmod_5x", 1.0, Control::Implicit, Start::Held), None);
    }
}
