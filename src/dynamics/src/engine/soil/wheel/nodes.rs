//! The nodes of a wheel: those that turn with its rim, and those along its way, which stay in place.

use crate::engine::soil::lanes::{LANES, Lanes};

/// Number of nodes around the rim. Shear stress is linear between them: with nodes at each degree its error is 1e-3 on
/// the stiffest soils.
pub(super) const RIM_NODES: usize = 360;
pub(super) const NODE_GROUPS: usize = RIM_NODES / LANES;
pub(super) const NODE_ANGLE: f64 = std::f64::consts::TAU / RIM_NODES as f64;
/// Number of nodes along the way for each radius, and in all: the wheel is over at most half of them.
pub(super) const NODES_PER_RADIUS: f64 = 32.0;
pub(super) const WAY_NODES: usize = 128;

/// Cosines and sines of the angles of two nodes from the first.
pub(super) fn node_directions(group: usize) -> [Lanes; 2] {
    let angles: [f64; LANES] = std::array::from_fn(|lane| (group * LANES + lane) as f64 * NODE_ANGLE);
    [angles.map(libm::cos), angles.map(libm::sin)].map(Lanes::new)
}
