//! Couplings of joint axes: gears, belts, mimic joints.

use simpartner_model::{Coupling, Joint, JointAxis, JointId};

use super::{
    name_table::NameTable,
    node::Node,
    reading::{Reading, is_given},
};

/// Reads a `<coupling>` between joints of the same file. `None` if something is invalid.
pub(super) fn read(reading: &Reading, node: &Node, joints: (&NameTable, &[Joint])) -> Option<Coupling> {
    let leader = joint_axis(reading, node, joints, "leader", "leaderAxis");
    let follower = joint_axis(reading, node, joints, "follower", "followerAxis");
    let (leader, follower) = (leader?, follower?);
    if leader == follower {
        reading.problem(reading.attribute_offset(node, "follower"), "an axis cannot follow itself");
        return None;
    }
    let ratio = reading.attribute_real(node, "ratio")?;
    if ratio == 0.0 {
        let help = "a ratio of 0 would lock the follower; use a fixed joint";
        reading.problem_with_help(reading.attribute_offset(node, "ratio"), "attribute 'ratio' is 0", help);
        return None;
    }
    Some(Coupling {
        leader,
        follower,
        ratio,
        offset: reading.attribute_real(node, "offset")?,
        source: reading.source(node),
    })
}

/// An axis of a joint: the named one, or the only free one.
pub(super) fn joint_axis(
    reading: &Reading,
    node: &Node,
    (names, joints): (&NameTable, &[Joint]),
    joint: &str,
    axis: &str,
) -> Option<JointAxis> {
    let place = reading.attribute_offset(node, joint);
    let index = names.index(reading, place, reading.attribute_text(node, joint)?)?;
    let found = &joints[index];
    if !found.kind.has_axes() && found.kind.moves() {
        let message = format!(
            "joint '{}' is a {} joint, none of whose coordinates moves by itself",
            found.name,
            found.kind.name()
        );
        reading.problem_with_help(place, message, "name another joint");
        return None;
    }
    let free: Vec<usize> = (0..3).filter(|&axis| found.axes[axis].free().is_some()).collect();
    let number = if is_given(node, axis) { Some(reading.attribute_whole(node, axis)? as usize - 1) } else { None };
    let axis = match (number, &free[..]) {
        (None, [only]) => *only,
        (Some(number), _) if free.contains(&number) => number,
        (number, _) => {
            let name = &found.name;
            let message = match number {
                Some(number) => format!("axis {} of joint '{name}' is not free", number + 1),
                None => format!("joint '{name}' has {} free axes: which is meant?", free.len()),
            };
            let numbers: Vec<String> = free.iter().map(|axis| (axis + 1).to_string()).collect();
            let help = match numbers.is_empty() {
                true => "name a joint that moves".to_owned(),
                false => format!("give {axis}: {}", numbers.join(", ")),
            };
            reading.problem_with_help(place, message, help);
            return None;
        }
    };
    Some(JointAxis { joint: JointId::new(index), axis })
}
