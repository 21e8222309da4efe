//! Collision filters of MJCF: two masks for each geom, and excluded pairs of bodies.

use std::collections::BTreeSet;

use simpartner_model::{Body, CollisionFilter, Mechanism, RobotId, SpanningForest};

use super::{
    super::{import::element::node, node::Node},
    mjcf_element::name_of,
    writer::Writer,
};

/// All categories. A ground has them.
pub(super) const ALL_CATEGORIES: u32 = u16::MAX as u32;

/// Number of robots with their own bit: one bit remains for all others.
const ROBOT_BITS: usize = u16::BITS as usize - 1;

/// Category and affinity. Bodies of a robot without self-collision have their own bit, which none of them accepts.
pub(super) fn masks(mechanism: &Mechanism, body: &Body) -> [u32; 2] {
    match body.robot.and_then(|robot| own_bit(mechanism, robot)) {
        Some(bit) => [bit, ALL_CATEGORIES & !bit],
        None => [u32::from(body.filter.category), u32::from(body.filter.collides_with)],
    }
}

/// The bit of a robot without self-collision, if one is left and none of its bodies has a filter.
fn own_bit(mechanism: &Mechanism, robot: RobotId) -> Option<u32> {
    let is_apart = !mechanism.robot(robot).self_collision && robot.index() < ROBOT_BITS;
    // With an explicit filter, another mask would change the result.
    let is_free = || mechanism.bodies.iter().all(|body| body.filter == CollisionFilter::default());
    (is_apart && is_free()).then(|| 1 << robot.index())
}

/// The pairs that neither masks nor MuJoCo's own rule exclude: it lets two bodies with a common joint collide if one of
/// them is fixed, or if the joint closes a loop.
pub(super) fn excluded(writer: &Writer, forest: &SpanningForest) -> Vec<Node> {
    let mechanism = writer.mechanism;
    let is_own = |[one, other]: [usize; 2]| {
        let robot = mechanism.bodies[one].robot;
        robot.is_some_and(|robot| own_bit(mechanism, robot).is_some()) && mechanism.bodies[other].robot == robot
    };
    let sorted = |[one, other]: [usize; 2]| [one.min(other), one.max(other)];
    let mut pairs: BTreeSet<[usize; 2]> =
        mechanism.apart.iter().map(|pair| sorted(pair.map(|body| body.index()))).collect();
    let closing: BTreeSet<usize> =
        forest.trees.iter().flat_map(|tree| &tree.loops).map(|joint| joint.index()).collect();
    for (id, joint) in mechanism.joints() {
        let ends = [joint.parent, joint.child];
        if closing.contains(&id.index()) || ends.iter().any(|body| mechanism.body(*body).fixed) {
            pairs.insert(sorted(ends.map(|body| body.index())));
        }
    }
    for tree in &forest.trees {
        let outer = tree.edges.iter().map(|edge| edge.outer.index());
        let bodies: Vec<usize> = [tree.root.index()].into_iter().chain(outer).collect();
        let robot = mechanism.body(tree.root).robot;
        if robot.is_some_and(|robot| !mechanism.robot(robot).self_collision) {
            let later =
                bodies.iter().enumerate().flat_map(|(place, one)| bodies[place + 1..].iter().map(|o| [*one, *o]));
            pairs.extend(later.map(sorted));
        }
    }
    let is_solid = |body: &usize| mechanism.bodies[*body].collision_shape().is_some();
    let pairs = pairs.into_iter().filter(|pair| pair.iter().all(is_solid) && !is_own(*pair));
    let element = |[one, other]: [usize; 2]| {
        node("exclude", 0, &[("body1", name_of(writer, one)), ("body2", name_of(writer, other))])
    };
    pairs.map(element).collect()
}
