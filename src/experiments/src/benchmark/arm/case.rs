//! Cases of the arm: masses, controller and initial state.

use serde::Serialize;

/// Target motion and gains of one joint.
pub(super) struct Swing {
    /// Amplitude A, rad; also the largest target of the rate, rad/s.
    pub(super) rate: f64,
    /// Angular frequency k, rad/s.
    pub(super) frequency: f64,
    /// Gain Kp, N m/rad.
    pub(super) stiffness: f64,
    /// Gain Kv, N m s/rad.
    pub(super) damping: f64,
}

const fn swing(rate: f64, frequency: f64, stiffness: f64, damping: f64) -> Swing {
    Swing { rate, frequency, stiffness, damping }
}

/// The joints from the base to the hand. A is 2.5 k, but for the second joint, whose A is 0.25 k.
pub(super) const SWINGS: [Swing; 6] = [
    swing(2.5, 1.0, 300.0, 120.0),
    swing(0.5, 2.0, 300.0, 120.0),
    swing(2.5 * 2.0 / 3.0, 2.0 / 3.0, 60.0, 24.0),
    swing(2.5 / 7.0, 1.0 / 7.0, 15.0, 6.0),
    swing(2.5 * 2.0 / 11.0, 2.0 / 11.0, 15.0, 6.0),
    swing(2.5 * 3.0 / 13.0, 3.0 / 13.0, 15.0, 6.0),
];

impl Swing {
    /// Target of the angle, rad, and of the rate, rad/s, at a time, s.
    pub(super) fn target(&self, time: f64) -> (f64, f64) {
        let phase = self.frequency * time;
        (self.rate * libm::sin(phase), self.rate * libm::cos(phase))
    }
}

/// Masses and inertias of the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Inertias {
    /// The masses and inertias of the benchmark's arm.
    Published,
    /// For this number b: mass in kg and all moments in kg m² of the i-th link from the base are b to the power of -i.
    Powers(u32),
}

/// State from which the controller's torque in a step is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Control {
    /// The state at the end of the step.
    Implicit,
    /// The state at the start of the step, as published.
    Explicit,
}

/// Initial state of fingers and block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Start {
    /// The fingers touch the block, and the block moves with the hand: the grasp has been made.
    Held,
    /// As published: the fingers are 0.5 mm away on each side, and the block is at rest while the hand starts at 3 m/s.
    Published,
}

/// A case of the arm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Arm {
    /// True if hand and pads are triangle meshes in place of boxes.
    pub polygonal_hand: bool,
    /// True if the block is a triangle mesh in place of a box.
    pub polygonal_block: bool,
    /// Masses of the links.
    pub inertias: Inertias,
    /// Coulomb's coefficient of pads and block.
    pub friction: f64,
    /// State from which torques are computed.
    pub control: Control,
    /// Initial state.
    pub start: Start,
}
