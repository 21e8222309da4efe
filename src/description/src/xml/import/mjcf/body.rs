//! Bodies, the frames between them, and their sites.

use std::borrow::Cow;

use bevy_math::DVec3;
use simpartner_model::Pose;

use super::{
    super::{
        attributes::{attribute, number, numbers},
        model::{Apart, Joint, Link, Motion},
        scene::WORLD,
    },
    compiler::from_z,
    importer::Mjcf,
};
use crate::xml::node::Node;

/// Largest number of copies of `<replicate>`: the largest number of bodies of a world.
const MOST_COPIES: f64 = 10_000.0;

/// An element in a body, with the surrounding frames and their class.
pub(super) struct Part<'n> {
    pub(super) node: Cow<'n, Node>,
    /// In the body's frame.
    pub(super) frame: Pose,
    pub(super) class: Option<Cow<'n, str>>,
}

impl Part<'_> {
    pub(super) fn class(&self) -> Option<&str> {
        self.class.as_deref()
    }
}

impl Mjcf<'_, '_> {
    /// The world body: its elements are fixed, each geom separately.
    pub(super) fn read_world(&mut self, section: &Node) {
        let class = attribute(section, "childclass").map(Cow::Borrowed);
        for part in self.parts(section, class) {
            match part.node.name.as_str() {
                "geom" => self.read_world_geom(&part),
                "site" => self.read_site(WORLD, &part),
                "body" => self.read_body(WORLD, &part),
                "camera" => self.read_camera(WORLD, &part),
                _ => self.tell_part(&part),
            }
        }
    }

    /// The elements of a body, with frames resolved and replicas expanded.
    fn parts<'n>(&self, node: &'n Node, class: Option<Cow<'n, str>>) -> Vec<Part<'n>> {
        let mut parts = Vec::new();
        for child in &node.children {
            self.gather(Cow::Borrowed(child), Pose::IDENTITY, class.clone(), &mut parts);
        }
        parts
    }

    fn gather<'n>(&self, node: Cow<'n, Node>, frame: Pose, class: Option<Cow<'n, str>>, parts: &mut Vec<Part<'n>>) {
        match node.name.as_str() {
            "frame" => {
                let frame = frame.then(&self.compiler.pose(self.reading, &node));
                let class = attribute(&node, "childclass").map(|class| Cow::Owned(class.to_owned())).or(class);
                for child in &node.children {
                    self.gather(Cow::Owned(child.clone()), frame, class.clone(), parts);
                }
            }
            "replicate" => self.replicate(&node, frame, class.as_ref(), parts),
            _ => parts.push(Part { node, frame, class }),
        }
    }

    fn replicate<'n>(&self, node: &Node, mut frame: Pose, class: Option<&Cow<'n, str>>, parts: &mut Vec<Part<'n>>) {
        let count = number(self.reading, node, "count").unwrap_or(0.0);
        if !(1.0..=MOST_COPIES).contains(&count) || parts.len() as f64 + count > MOST_COPIES {
            let message = format!("<replicate> makes from 1 to {MOST_COPIES} copies, not {count}");
            return self.reading.problem(self.reading.attribute_offset(node, "count"), message);
        }
        let angles = numbers::<3>(self.reading, node, "euler").unwrap_or_default();
        let step = Pose {
            translation: numbers::<3>(self.reading, node, "offset").map_or(DVec3::ZERO, DVec3::from_array),
            rotation: self.compiler.euler(angles),
        };
        let separator = attribute(node, "sep").unwrap_or_default();
        for copy in 0..count as usize {
            for child in &node.children {
                let mut elements = 0;
                child.walk(&mut |_| elements += 1);
                if let Err(what) = self.reading.session.add_elements(elements) {
                    return self.reading.problem(node.offset, format!("<replicate>: {what}"));
                }
                let mut child = child.clone();
                let rename = &mut |node: &mut Node| {
                    for given in node.attributes.iter_mut().filter(|given| given.name == "name") {
                        given.value = format!("{}{separator}{copy}", given.value);
                    }
                };
                child.walk_mut(rename);
                self.gather(Cow::Owned(child), frame, class.cloned(), parts);
            }
            // Each copy is rotated and moved in the frame of the one before.
            frame = Pose {
                translation: frame.translation + frame.rotation * step.translation,
                rotation: frame.rotation * step.rotation,
            };
        }
    }

    /// A body and all that it carries.
    pub(super) fn read_body(&mut self, parent: usize, part: &Part) {
        let node = &part.node;
        let name = match attribute(node, "name").filter(|name| !name.is_empty()) {
            Some(name) => name.to_owned(),
            None => format!("body_{}", self.model.links.len()),
        };
        let pose = part.frame.then(&self.compiler.pose(self.reading, node));
        let class = attribute(node, "childclass").map(|class| Cow::Owned(class.to_owned())).or(part.class.clone());
        let parts = self.parts(node, class);
        self.read_joints(parent, pose, &name, node, &parts);
        let link = self.add_link(Link { name: name.clone(), offset: node.offset, ..Link::default() });
        if self.bodies.insert(name.clone(), link).is_some() {
            self.reading
                .problem(self.reading.attribute_offset(node, "name"), format!("there is a body '{name}' already"));
        }
        for (name, meaning) in
            [("mocap", "it stands where it is"), ("gravcomp", "gravity pulls on the body as on any other")]
        {
            if attribute(node, name).is_some_and(|value| value != "false" && value != "0") {
                self.notes.add(
                    self.reading.attribute_offset(node, name),
                    format!("'{name}' of <body> is left out"),
                    meaning,
                );
            }
        }
        self.read_geoms(link, node, &parts);
        for part in &parts {
            match part.node.name.as_str() {
                "site" => self.read_site(link, part),
                "body" => self.read_body(link, part),
                "camera" => self.read_camera(link, part),
                "geom" | "joint" | "freejoint" | "inertial" => {}
                _ => self.tell_part(part),
            }
        }
    }

    /// A link for the last joint to carry.
    fn add_link(&mut self, link: Link) -> usize {
        let place = self.model.links.len();
        self.model.links.push(link);
        if let Some(joint) = self.model.joints.last_mut() {
            joint.child = place;
        }
        place
    }

    /// Reads the joints of a body. The last one carries the body, and each before it a link without mass. Without
    /// joints the body is fixed.
    fn read_joints(&mut self, parent: usize, pose: Pose, name: &str, node: &Node, parts: &[Part]) {
        let joints: Vec<&Part> =
            parts.iter().filter(|part| ["joint", "freejoint"].contains(&part.node.name.as_str())).collect();
        if joints.is_empty() {
            let fixed = Joint::new(format!("{name}_fixed"), node.offset, Motion::Fixed, [parent, parent]);
            return self.model.joints.push(Joint { pose, ..fixed });
        }
        let (mut carrier, mut at) = (parent, pose);
        for (number, part) in joints.iter().enumerate() {
            if number > 0 {
                let name = format!("{name}_carrier_{number}");
                let link = Link { name, offset: part.node.offset, is_carrier: true, ..Link::default() };
                (carrier, at) = (self.add_link(link), Pose::IDENTITY);
            }
            let default =
                if joints.len() == 1 { format!("{name}_joint") } else { format!("{name}_joint_{}", number + 1) };
            self.read_joint([parent, carrier], at, default, part, joints.len());
        }
        // Bodies with a common joint in MuJoCo do not collide, regardless of the links in between.
        if joints.len() > 1 && parent != WORLD {
            let links = [parent, self.model.links.len()];
            self.model.apart.push(Apart { links, offset: node.offset });
        }
    }

    pub(super) fn read_site(&mut self, link: usize, part: &Part) {
        let node = self.resolve(&part.node, part.class());
        let mut pose = self.compiler.pose(self.reading, &node);
        if let Some(ends) = numbers::<6>(self.reading, &node, "fromto") {
            let (from, to) = (DVec3::from_slice(&ends[..3]), DVec3::from_slice(&ends[3..]));
            let turn = (from - to).try_normalize().map_or(pose.rotation, from_z);
            pose = Pose { translation: (from + to) * 0.5, rotation: turn };
        }
        if let Some(name) = attribute(&node, "name") {
            self.sites.insert(name.to_owned(), (link, part.frame.then(&pose)));
        }
    }

    fn tell_part(&self, part: &Part) {
        let name = part.node.name.as_str();
        let own = |name: &str| attribute(&part.node, name).unwrap_or_default();
        let lost = match name {
            "composite" => ["B", "J", "G", "S", "T"].map(|kind| format!("{}{kind}_", own("prefix"))).into(),
            "flexcomp" => vec![format!("{}_", own("name"))],
            "attach" if !own("prefix").is_empty() => vec![own("prefix").to_owned()],
            _ => Vec::new(),
        };
        self.lost.borrow_mut().extend(lost);
        let meaning = match name {
            "light" | "user" => return,
            "composite" | "flexcomp" => "only rigid bodies are simulated",
            "attach" => "the model that it names is not there; include its file",
            "joint" | "freejoint" | "inertial" => "the world does not move",
            _ => "nothing of it is simulated",
        };
        self.notes.add(part.node.offset, format!("<{name}> is left out"), meaning);
    }
}
