//! The cases, a file for each group. A new case is a [`Case`](super::Case) in the list of its group: name, physics, source,
//! tolerance, and a function that measures.

mod ballistics;
mod contact;
mod driving;
mod friction;
mod joints;
mod nonsmooth;
mod rolling;
mod rotation;
mod walking;
mod work;

use super::{Bench, Case, Findings, Row, Trouble};

/// All groups, in the order in which they are shown.
pub(super) const GROUPS: &[&[Case]] = &[
    ballistics::CASES,
    friction::CASES,
    rolling::CASES,
    contact::CASES,
    nonsmooth::CASES,
    rotation::CASES,
    joints::CASES,
    driving::CASES,
    work::CASES,
    walking::CASES,
];

/// The thesis's gravity, m/s².
const G: f64 = 9.81;

/// A contact whose points move by no more than this where they are to rest counts as solved, m/s.
const SOLVED: f64 = 1e-6;

/// Depth to which rigid bodies may sink into each other without being pushed apart, m.
const LAYER: f64 = 1e-6;
