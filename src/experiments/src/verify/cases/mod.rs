//! The cases, a file for each group. A new case is a [`Case`](super::Case) in the list of its group, with name,
//! physics, source, tolerance, and a function that measures.

mod ballistics;
mod constants;
mod contact;
mod driving;
mod friction;
mod joints;
mod nonsmooth;
mod patches;
mod rolling;
mod rotation;
mod seams;
mod walking;
mod work;

use constants::{CONTACT_LAYER, G, SOLVED_SPEED};

use super::{Bench, Case, Findings, Row, Trouble};

/// All groups, in the order in which they are shown.
pub(super) const GROUPS: &[&[Case]] = &[
    ballistics::CASES,
    friction::CASES,
    rolling::CASES,
    seams::CASES,
    contact::CASES,
    patches::CASES,
    nonsmooth::CASES,
    rotation::CASES,
    joints::CASES,
    driving::CASES,
    work::CASES,
    walking::CASES,
];
