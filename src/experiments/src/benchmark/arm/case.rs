//! A case of the arm: masses, controller and start.

use serde::Serialize;

/// How one joint is swung.
pub(super) struct Swing {
    /// A, rad; also the largest target of the rate, rad/s.
    pub(super) rate: f64,
    /// k, rad/s.
    pub(super) frequency: f64,
    /// Kp, N m/rad.
    pub(super) stiffness: f64,
    /// Kv, N m s/rad.
    pub(super) damping: f64,
}

const fn swing(rate: f64, frequency: f64, stiffness: f64, damping: f64) -> Swing {
    Swing { rate, frequency, stiffness, damping }
}

/// From the base to the hand: A = 2.5 k, but for the first two, which are 2.5 and 0.25 k.
pub(super) const SWINGS: [Swing; 6] = [
    swing(2.5, 1.0, 300.0, 120.0),
    swing(0.5, 2.0, 300.0, 120.0),
    swing(2.5 * 2.0 / 3.0, 2.0 / 3.0, 60.0, 24.0),
    swing(2.5 / 7.0, 1.0 / 7.0, 15.0, 6.0),
    swing(2.5 * 2.0 / 11.0, 2.0 / 11.0, 15.0, 6.0),
    swing(2.5 * 3.0 / 13.0, 3.0 / 13.0, 15.0, 6.0),
];

impl Swing {
    pub(super) fn target(&self, time: f64) -> (f64, f64) {
        let phase = self.frequency * time;
        (self.rate * libm::sin(phase), self.rate * libm::cos(phase))
    }
}

/// Which masses the links have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Inertias {
    /// Those of the benchmark's arm.
    Published,
    /// Mass in kg and all moments in kg m² of the i-th link from the base on are the i-th power of one over this number.
    Powers(u32),
}

/// When the torque of a step is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Control {
    /// At its end.
    Implicit,
    /// At its start, as published.
    Explicit,
}

/// How it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Start {
    /// The fingers touch the block, and the block moves with the hand: a grasp that has been made.
    Held,
    /// As published: the fingers are 0.5 mm away on each side, and the block is at rest while the hand starts at 3 m/s.
    Published,
}

/// A case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Arm {
    /// Whether hand and pads are meshes of triangles in place of boxes.
    pub polygonal_hand: bool,
    /// Whether the block is one.
    pub polygonal_block: bool,
    /// The masses.
    pub inertias: Inertias,
    /// Coulomb's coefficient of pads and block.
    pub friction: f64,
    /// When torques are taken.
    pub control: Control,
    /// How it begins.
    pub start: Start,
}
