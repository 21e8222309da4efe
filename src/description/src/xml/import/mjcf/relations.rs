//! What holds between bodies and joints beside the tree: contacts, equalities, tendons; and where a keyframe begins.

use bevy_math::{DQuat, DVec3};
use simpartner_model::Pose;

use super::{
    super::{
        super::{
            reading::{read_numbers, shorten},
            tree::Node,
        },
        attributes::{attribute, number, numbers},
        model::{Apart, Joint, Mimic, Motion},
        scene::WORLD,
    },
    Mjcf,
};

/// Bodies that a loop holds together may be apart by so much at the start, metres: what rounding in a file with four digits leaves.
const OPEN: f64 = 1e-3;

impl Mjcf<'_, '_> {
    /// Contacts, equalities and what of tendons couples joints.
    pub(super) fn read_relations(&mut self, root: &Node) {
        let of = |name: &'static str| {
            root.children.iter().filter(move |child| child.name == name).flat_map(|section| &section.children)
        };
        for node in of("contact") {
            match node.name.as_str() {
                "exclude" => {
                    let [one, other] = ["body1", "body2"].map(|name| self.named(node, name, "body", &self.bodies));
                    let (Some(one), Some(other)) = (one, other) else { continue };
                    self.model.apart.push(Apart { links: [one, other], offset: node.offset });
                }
                _ => {
                    self.notes.add(node.offset, "<pair> is left out", "bodies collide by contype and conaffinity alone")
                }
            }
        }
        self.model.place();
        for node in of("equality") {
            self.read_equality(&self.resolve(node, None), root);
        }
        let is_used = |node: &Node| {
            let name = attribute(node, "name").unwrap_or_default();
            of("equality").any(|equality| attribute(equality, "tendon1") == Some(name))
        };
        for node in of("tendon").filter(|node| !is_used(node)) {
            let what = format!("<{}> of <tendon> is left out", node.name);
            self.notes.add(node.offset, what, "nothing pulls along it; couple two joints by an <equality> instead");
        }
    }

    fn read_equality(&mut self, node: &Node, root: &Node) {
        if attribute(node, "active") == Some("false") {
            return self.notes.add(
                node.offset,
                "an <equality> that is not active is left out",
                "nothing can make it active",
            );
        }
        match node.name.as_str() {
            "connect" => self.read_loop(node, Motion::Ball),
            "weld" => self.read_loop(node, Motion::Fixed),
            "joint" => self.read_coupling(node),
            "tendon" => self.read_tendon_equality(node, root),
            other => self.notes.add(node.offset, format!("<{other}> of <equality> is left out"), "nothing holds there"),
        }
    }

    /// Two bodies held together at a point, or altogether, as they stand.
    fn read_loop(&mut self, node: &Node, motion: Motion) {
        let ends = if attribute(node, "site1").is_some() {
            let [one, other] = ["site1", "site2"].map(|name| self.named(node, name, "site", &self.sites));
            let (Some((one, at)), Some((other, also))) = (one, other) else { return };
            let pose = |link: usize, site: &Pose| self.model.links[link].pose.then(site).translation;
            let gap = (pose(one, &at) - pose(other, &also)).length();
            if gap > OPEN {
                let what = format!("a <{}> of sites that are {gap:.2e} m apart is left out", node.name);
                return self.notes.add(node.offset, what, "it is no loop that is closed at the start");
            }
            (one, other, at.translation)
        } else {
            let Some(one) = self.named(node, "body1", "body", &self.bodies) else { return };
            let other = match attribute(node, "body2") {
                Some(_) => self.named(node, "body2", "body", &self.bodies),
                None => Some(WORLD),
            };
            let Some(other) = other else { return };
            (one, other, numbers::<3>(self.reading, node, "anchor").map_or(DVec3::ZERO, DVec3::from_array))
        };
        let (one, other, anchor) = ends;
        let all = || self.model.joints.iter().chain(&self.model.loops);
        let has_joint = all().any(|joint| [(one, other), (other, one)].contains(&(joint.parent, joint.child)));
        if one == other || has_joint {
            let what = format!("a <{}> of bodies that a joint connects already is left out", node.name);
            return self.notes.add(node.offset, what, "two bodies have one joint at most");
        }
        let name = attribute(node, "name")
            .map_or_else(|| format!("{}_{}", node.name, self.model.loops.len() + 1), str::to_owned);
        self.model.loops.push(Joint { anchor, ..Joint::new(name, node.offset, motion, [other, one]) });
    }

    /// One joint follows another along a line.
    fn read_coupling(&mut self, node: &Node) {
        let follower = self.named(node, "joint1", "joint", &self.joints);
        let leader = match attribute(node, "joint2") {
            Some(_) => self.named(node, "joint2", "joint", &self.joints),
            None => {
                let what = "an <equality> that holds a joint in place is left out";
                return self.notes.add(node.offset, what, "the joint moves; drive it with a position controller");
            }
        };
        let (Some(follower), Some(leader)) = (follower, leader) else { return };
        let given = attribute(node, "polycoef").and_then(|text| read_numbers(text, 5).ok()).unwrap_or_default();
        let term = |index: usize| given.get(index).copied().unwrap_or(if index == 1 { 1.0 } else { 0.0 });
        if (2..5).any(|index| term(index) != 0.0) {
            let what = "curved terms of a joint <equality> are left out";
            self.notes.add(
                self.reading.place(node, "polycoef"),
                what,
                "the joint follows along the line that touches the curve",
            );
        }
        // Both are counted from where the file has them.
        let [follows, leads] = [follower, leader].map(|place| self.model.joints[place].initial);
        self.couple(node, [leader, follower], term(1), follows + term(0) - term(1) * leads);
    }

    /// A fixed tendon of two joints, held at its length.
    fn read_tendon_equality(&mut self, node: &Node, root: &Node) {
        let name = attribute(node, "tendon1").unwrap_or_default();
        let sections = root.children.iter().filter(|child| child.name == "tendon");
        let tendon =
            sections.flat_map(|section| &section.children).find(|tendon| attribute(tendon, "name") == Some(name));
        let Some(tendon) = tendon else {
            let message = format!("there is no tendon '{}'", shorten(name));
            return self.reading.problem(self.reading.place(node, "tendon1"), message);
        };
        let parts: Vec<&Node> = tendon.children.iter().filter(|part| part.name == "joint").collect();
        let ([one, other], None) = (&parts[..], attribute(node, "tendon2")) else {
            let what = "an <equality> of tendons that is not one of two joints is left out";
            return self.notes.add(node.offset, what, "the joints move by themselves");
        };
        let places = [*one, *other].map(|part| self.named(part, "joint", "joint", &self.joints));
        let (Some(leader), Some(follower)) = (places[0], places[1]) else { return };
        let [leads, follows] = [*one, *other].map(|part| number(self.reading, part, "coef").unwrap_or(0.0));
        let start = |place: usize| self.model.joints[place].initial;
        let ratio = -leads / follows;
        if ratio.is_finite() {
            self.couple(node, [leader, follower], ratio, start(follower) - ratio * start(leader));
        }
    }

    fn couple(&mut self, node: &Node, [leader, follower]: [usize; 2], ratio: f64, constant: f64) {
        let moves = |place: usize| [Motion::Turning, Motion::Sliding].contains(&self.model.joints[place].motion);
        let is_taken = self.model.couplings.iter().any(|known| known.follower == follower);
        if ratio == 0.0 || leader == follower || is_taken || !moves(leader) || !moves(follower) {
            let help = "a coupling ties two different joints, each with one axis, in a ratio other than 0";
            return self.notes.add(node.offset, "an <equality> of joints is left out", help);
        }
        self.model.couplings.push(Mimic { leader, follower, ratio, constant, offset: node.offset });
    }

    /// The coordinates of a keyframe: where its robots begin.
    pub(super) fn read_keyframe(&mut self, root: &Node, wanted: Option<&str>) {
        let sections = root.children.iter().filter(|child| child.name == "keyframe");
        let keys: Vec<&Node> =
            sections.flat_map(|section| &section.children).filter(|node| node.name == "key").collect();
        let name = |node: &Node| attribute(node, "name").unwrap_or_default().to_owned();
        let Some(wanted) = wanted else {
            if let Some(first) = keys.first() {
                self.notes.add(
                    first.offset,
                    "<keyframe> is left out",
                    "choose where to begin with --keyframe and its name",
                );
            }
            return;
        };
        let names: Vec<String> = keys.iter().map(|node| name(node)).collect();
        let Some(key) = keys.iter().find(|node| name(node) == wanted) else {
            let message = format!("there is no keyframe '{}'", shorten(wanted));
            return self.reading.problem_with_help(root.offset, message, format!("there are: {}", names.join(", ")));
        };
        let Some(text) = attribute(key, "qpos") else { return };
        let place = self.reading.place(key, "qpos");
        let values = match read_numbers(text, usize::MAX) {
            Ok(values) => values,
            Err((_, what)) => return self.reading.problem(place, format!("attribute 'qpos': {what}")),
        };
        let width = |motion: Motion| match motion {
            Motion::Free => 7,
            Motion::Ball => 4,
            _ => 1,
        };
        let count: usize = self.order.iter().map(|&joint| width(self.model.joints[joint].motion)).sum();
        if count != values.len() {
            return self.reading.problem(
                place,
                format!("attribute 'qpos' has {} numbers, the model {count} coordinates", values.len()),
            );
        }
        let mut rest = &values[..];
        for &joint in &self.order {
            let joint = &mut self.model.joints[joint];
            let (own, others) = rest.split_at(width(joint.motion));
            rest = others;
            let turn = |at: &[f64]| {
                let turn = DQuat::from_xyzw(at[1], at[2], at[3], at[0]);
                if turn.length_squared() > 0.0 { turn.normalize() } else { DQuat::IDENTITY }
            };
            match joint.motion {
                Motion::Free => joint.pose = Pose { translation: DVec3::from_slice(own), rotation: turn(&own[3..]) },
                Motion::Ball => {
                    let rotation = turn(own);
                    let about = Pose { translation: joint.anchor - rotation * joint.anchor, rotation };
                    joint.pose = joint.pose.then(&about);
                }
                _ => joint.initial = own[0],
            }
        }
    }
}
