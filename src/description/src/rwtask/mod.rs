//! Grasp tasks of RobWork: `.rwtask.xml`.
//!
//! A file is a `<CartesianTask>` with properties of the gripper, and nested subtasks. A subtask has targets, poses of
//! the tool in a frame, and each tried target has the properties of its result. Rotations may be matrices, roll, pitch
//! and yaw, axis times angle, or quaternions; RobWork's units are supported. [`write()`] writes matrices and no units.

mod write;

use std::path::Path;

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_model::Pose;

pub use write::write;

use crate::{
    text::{
        diagnostic::Diagnostic,
        numbers::read_numbers,
        tree::{Node, child, parse as parse_tree},
    },
    xml,
};

/// The largest file, bytes, as for our own.
const MAX_FILE: usize = 16 << 20;
/// A matrix whose columns are off by more than this is no rotation.
const ROTATION_TOLERANCE: f64 = 1e-3;

/// A file of grasp tasks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RwTask {
    /// The gripper's name.
    pub gripper: String,
    /// The frame of the tool.
    pub tcp: String,
    /// The controller that closes the gripper.
    pub controller: String,
    /// The subtasks.
    pub subtasks: Vec<RwSubtask>,
}

/// Targets with one set of gripper settings.
#[derive(Debug, Clone, PartialEq)]
pub struct RwSubtask {
    /// Its name.
    pub id: String,
    /// The frame that the offset is in.
    pub reference: String,
    /// `reference_from_targets`.
    pub offset: Pose,
    /// Displacement of the tool from its start to its target, in the frame of the start.
    pub approach: Pose,
    /// Its translation is the way of the lift, world frame.
    pub retract: Pose,
    /// Coordinates of the gripper when open.
    pub open: Vec<f64>,
    /// When closed.
    pub closed: Vec<f64>,
    /// Its largest efforts.
    pub max_effort: Vec<f64>,
    /// The object's name.
    pub object: String,
    /// The targets.
    pub targets: Vec<RwTarget>,
}

/// A target.
#[derive(Debug, Clone, PartialEq)]
pub struct RwTarget {
    /// Target pose of the tool.
    pub pose: Pose,
    /// Its result.
    pub result: Option<RwResult>,
}

/// Result of a target. Poses are `object_from_tcp`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RwResult {
    /// A number of RobWork's `GraspResult`.
    pub status: i64,
    /// 1 for no slip, 0 for 2 cm and more.
    pub lift_result: Option<f64>,
    /// Coordinates of the gripper before the lift,
    pub configuration: Vec<f64>,
    /// and after it.
    pub configuration_after: Vec<f64>,
    /// Quality before the lift,
    pub quality: Vec<f64>,
    /// and after it.
    pub quality_after: Vec<f64>,
    /// At the target, after the approach, before and after the lift.
    pub poses: [Option<Pose>; 4],
    /// Place, normal and force of each contact before the lift,
    pub contacts: Vec<[f64; 9]>,
    /// and after it.
    pub contacts_after: Vec<[f64; 9]>,
}

/// The names of the poses of a result; the first is spelled as RobWork spells it.
const POSE_NAMES: [&str; 4] = ["ObjectTtcptTarget", "ObjectTtcpApproach", "ObjectTtcpGrasp", "ObjectTtcpLift"];

/// Reads a file.
///
/// # Errors
/// The fault and its position.
pub fn read(path: &Path) -> Result<RwTask, Diagnostic> {
    let path = path.to_string_lossy();
    read_text(&path, &xml::read_file(&path, MAX_FILE)?)
}

/// Reads the text of a file.
///
/// # Errors
/// The fault and its position.
pub fn read_text(path: &str, text: &str) -> Result<RwTask, Diagnostic> {
    let file = File { path, text };
    let roots = parse_tree(path, text)?.roots;
    let [root] = &roots[..] else {
        return Err(file.problem(roots.get(1), "a file has one root element"));
    };
    if root.name != "CartesianTask" {
        return Err(file.problem(Some(root), &format!("expected <CartesianTask>, got <{}>", root.name)));
    }
    let property = |name| Ok(file.property(root, name)?.map(|node| node.text.trim().to_owned()).unwrap_or_default());
    let nested = child(root, "Entities").map_or(&[][..], |entities| &entities.children);
    let nested = nested.iter().filter(|node| node.name == "CartesianTask");
    Ok(RwTask {
        gripper: property("Gripper")?,
        tcp: property("TCP")?,
        controller: property("GraspController")?,
        subtasks: nested.map(|node| file.subtask(node)).collect::<Result<_, _>>()?,
    })
}

struct File<'a> {
    path: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn problem(&self, node: Option<&Node>, what: &str) -> Diagnostic {
        Diagnostic::at(self.path, self.text, node.map_or(0, |node| node.offset), what)
    }

    /// The value of a property, the element within its `<Value>`.
    fn property<'n>(&self, node: &'n Node, name: &str) -> Result<Option<&'n Node>, Diagnostic> {
        let Some(map) = child(node, "PropertyMap") else { return Ok(None) };
        let is_it = |property: &&Node| child(property, "Name").is_some_and(|found| found.text.trim() == name);
        let Some(property) = map.children.iter().find(is_it) else { return Ok(None) };
        match child(property, "Value").map(|value| &value.children[..]) {
            Some([value]) => Ok(Some(value)),
            _ => Err(self.problem(Some(property), &format!("the property '{name}' has no single value"))),
        }
    }

    fn numbers(&self, node: &Node) -> Result<Vec<f64>, Diagnostic> {
        read_numbers(node.text.trim(), 1_000_000)
            .map_err(|(_, what)| self.problem(Some(node), &format!("<{}>: {what}", node.name)))
    }

    fn read_exactly<const N: usize>(&self, node: &Node) -> Result<[f64; N], Diagnostic> {
        let numbers = self.numbers(node)?;
        let count = numbers.len();
        numbers
            .try_into()
            .map_err(|_| self.problem(Some(node), &format!("<{}> has {N} numbers, not {count}", node.name)))
    }

    fn list(&self, node: &Node, name: &str) -> Result<Vec<f64>, Diagnostic> {
        self.property(node, name)?.map_or(Ok(Vec::new()), |value| self.numbers(value))
    }

    fn single(&self, node: &Node, name: &str) -> Result<Option<f64>, Diagnostic> {
        self.property(node, name)?.map(|value| self.read_exactly::<1>(value).map(|[value]| value)).transpose()
    }

    fn transform(&self, node: &Node, name: &str) -> Result<Option<Pose>, Diagnostic> {
        self.property(node, name)?.map(|value| self.pose(value)).transpose()
    }

    fn subtask(&self, node: &Node) -> Result<RwSubtask, Diagnostic> {
        let word = |name| Ok(self.property(node, name)?.map(|value| value.text.trim().to_owned()).unwrap_or_default());
        let pose = |name| Ok(self.transform(node, name)?.unwrap_or_default());
        let targets = child(node, "Targets").map_or(&[][..], |targets| &targets.children);
        let targets = targets.iter().filter(|target| target.name == "CartesianTarget");
        Ok(RwSubtask {
            id: child(node, "Id").map(|id| id.text.trim().to_owned()).unwrap_or_default(),
            reference: word("refframe")?,
            offset: pose("Offset")?,
            approach: pose("Approach")?,
            retract: pose("Retract")?,
            open: self.list(node, "OpenQ")?,
            closed: self.list(node, "CloseQ")?,
            max_effort: self.list(node, "TauMax")?,
            object: word("ObjectID")?,
            targets: targets.map(|target| self.target(target)).collect::<Result<_, _>>()?,
        })
    }

    fn target(&self, node: &Node) -> Result<RwTarget, Diagnostic> {
        let pose =
            child(node, "Transform3D").ok_or_else(|| self.problem(Some(node), "the target lacks <Transform3D>"))?;
        let status = self.single(node, "TestStatus")?;
        let result = match status {
            None => None,
            Some(status) => Some(RwResult {
                status: status as i64,
                lift_result: self.single(node, "LiftResult")?,
                configuration: self.list(node, "GripperConfiguration")?,
                configuration_after: self.list(node, "GripperConfigurationPost")?,
                quality: self.list(node, "QualityBeforeLifting")?,
                quality_after: self.list(node, "QualityAfterLifting")?,
                poses: [
                    self.transform(node, POSE_NAMES[0])?,
                    self.transform(node, POSE_NAMES[1])?,
                    self.transform(node, POSE_NAMES[2])?,
                    self.transform(node, POSE_NAMES[3])?,
                ],
                contacts: self.contacts(node, "ContactsGrasp")?,
                contacts_after: self.contacts(node, "ContactsLift")?,
            }),
        };
        Ok(RwTarget { pose: self.pose(pose)?, result })
    }

    fn contacts(&self, node: &Node, name: &str) -> Result<Vec<[f64; 9]>, Diagnostic> {
        let numbers = self.list(node, name)?;
        let (contacts, rest) = numbers.as_chunks::<9>();
        if !rest.is_empty() {
            return Err(self.problem(Some(node), &format!("'{name}' has nine numbers for each contact")));
        }
        Ok(contacts.to_vec())
    }

    /// A `<Transform3D>`.
    fn pose(&self, node: &Node) -> Result<Pose, Diagnostic> {
        let mut pose = Pose::IDENTITY;
        for part in &node.children {
            match part.name.as_str() {
                "Pos" => pose.translation = DVec3::from(self.read_exactly::<3>(part)?) * self.unit(part)?,
                "Rotation3D" => pose.rotation = self.rotation(part, self.read_exactly(part)?)?,
                "Matrix" => {
                    let [a, b, c, x, d, e, f, y, g, h, i, z] = self.read_exactly(part)?;
                    pose.translation = DVec3::new(x, y, z);
                    pose.rotation = self.rotation(part, [a, b, c, d, e, f, g, h, i])?;
                }
                "RPY" => {
                    // About z, then y, then x, of axes that turn along.
                    let [roll, pitch, yaw] = self.read_exactly::<3>(part)?;
                    let turn = DVec3::new(yaw, pitch, roll) * self.unit(part)?;
                    pose.rotation = Pose::from_xyz_rpy(DVec3::ZERO, turn).rotation;
                }
                "EAA" => {
                    let vector = DVec3::from(self.read_exactly::<3>(part)?) * self.unit(part)?;
                    let (angle, axis) = (vector.length(), vector.normalize_or_zero());
                    let (sine, cosine) = libm::sincos(angle / 2.0);
                    pose.rotation = DQuat::from_xyzw(axis.x * sine, axis.y * sine, axis.z * sine, cosine);
                }
                "Quaternion" => {
                    let quaternion = DQuat::from_array(self.read_exactly(part)?);
                    if quaternion.length() < f64::MIN_POSITIVE.sqrt() {
                        return Err(self.problem(Some(part), "a quaternion of zeros is no rotation"));
                    }
                    pose.rotation = quaternion.normalize();
                }
                other => {
                    let what = format!(
                        "<{other}> is no part of a transform: it has Pos, Rotation3D, RPY, EAA, Quaternion or Matrix"
                    );
                    return Err(self.problem(Some(part), &what));
                }
            }
        }
        Ok(pose)
    }

    /// A matrix by rows.
    fn rotation(&self, node: &Node, rows: [f64; 9]) -> Result<DQuat, Diagnostic> {
        let matrix = DMat3::from_cols_array(&rows).transpose();
        let off = matrix.transpose() * matrix - DMat3::IDENTITY;
        let off = off.to_cols_array().into_iter().fold(0.0, |most: f64, entry| most.max(entry.abs()));
        if off > ROTATION_TOLERANCE || matrix.determinant() < 0.0 {
            let what =
                "the matrix is no rotation: its rows are to be unit vectors, square to each other and right-handed";
            return Err(self.problem(Some(node), what));
        }
        Ok(Pose::from_matrix(matrix, DVec3::ZERO).rotation)
    }

    /// The factor of an element's unit.
    fn unit(&self, node: &Node) -> Result<f64, Diagnostic> {
        let Some(unit) = node.attributes.iter().find(|attribute| attribute.name == "unit") else { return Ok(1.0) };
        match unit.value.as_str() {
            "m" | "rad" => Ok(1.0),
            "cm" => Ok(0.01),
            "mm" => Ok(0.001),
            "inch" => Ok(0.0254),
            "deg" => Ok(std::f64::consts::PI / 180.0),
            other => Err(self.problem(Some(node), &format!("the unit '{other}' is none of m, cm, mm, inch, rad, deg"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn of 90 degrees about z in every way of saying it.
    #[test]
    fn every_kind_of_rotation_is_the_same_turn() {
        let expected = DVec3::Y;
        for rotation in [
            "<Rotation3D>0 -1 0 1 0 0 0 0 1</Rotation3D>",
            "<RPY unit=\"deg\">90 0 0</RPY>",
            "<EAA>0 0 1.5707963267948966</EAA>",
            "<Quaternion>0 0 0.70710678 0.70710678</Quaternion>",
            "<Matrix>0 -1 0 0.1 1 0 0 0 0 0 1 0</Matrix>",
        ] {
            let text = format!(
                "<CartesianTask><Entities><CartesianTask><Targets><CartesianTarget id=\"0\"><Transform3D>{}{rotation}\
                 </Transform3D></CartesianTarget></Targets></CartesianTask></Entities></CartesianTask>",
                if rotation.starts_with("<Matrix") { "" } else { "<Pos unit=\"cm\">10 0 0</Pos>" }
            );
            let task = read_text("t.rwtask.xml", &text).unwrap_or_else(|problem| panic!("{problem}"));
            let pose = task.subtasks[0].targets[0].pose;
            assert!(pose.direction(DVec3::X).distance(expected) < 1e-8, "{rotation}: {pose:?}");
            assert!(pose.translation.distance(DVec3::X * 0.1) < 1e-12);
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let of = |transform: &str| {
            let text = format!(
                "<CartesianTask><Entities><CartesianTask><Targets>\n<CartesianTarget id=\"0\">{transform}\
                 </CartesianTarget></Targets></CartesianTask></Entities></CartesianTask>"
            );
            read_text("t.rwtask.xml", &text).map(|_| ()).unwrap_err().to_string()
        };
        for (transform, told) in [
            ("", "lacks <Transform3D>"),
            ("<Transform3D><Pos>1 2</Pos></Transform3D>", "3 numbers, not 2"),
            ("<Transform3D><Pos>1 2 z</Pos></Transform3D>", "expected a finite number, got 'z'"),
            ("<Transform3D><Pos unit=\"ell\">1 2 3</Pos></Transform3D>", "the unit 'ell'"),
            ("<Transform3D><Rotation3D>1 0 0 0 1 0 0 0 2</Rotation3D></Transform3D>", "no rotation"),
            ("<Transform3D><Rotation3D>1 0 0 0 1 0 0 0 -1</Rotation3D></Transform3D>", "no rotation"),
            ("<Transform3D><Spin>1</Spin></Transform3D>", "no part of a transform"),
        ] {
            let problem = of(transform);
            assert!(problem.contains(told) && problem.contains(":2:"), "{transform}: {problem}");
        }
        assert!(read_text("t", "<QTask/>").unwrap_err().to_string().contains("expected <CartesianTask>"));
    }
}
