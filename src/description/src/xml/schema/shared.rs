//! Names, ranges and attributes that several parts of the table share.

use bevy_math::DVec3;

use super::{
    builders::{default, required},
    element::Attribute,
    kind::{
        Kind,
        Kind::{Name, ObjectName, Positive, Real, Whole, Within},
    },
};

/// Root of a world file.
pub(in crate::xml) const WORLD: &str = "world";
/// Root of a robot file.
pub(in crate::xml) const ROBOT: &str = "robot";
/// Root of a file of assemblies.
pub(in crate::xml) const ASSEMBLIES: &str = "assemblies";
/// Root of a sequence file.
pub(in crate::xml) const SEQUENCE: &str = "sequence";
/// Root of a grasp file.
pub(in crate::xml) const GRASP: &str = "grasp";
/// Root of a file of grasp tasks.
pub(in crate::xml) const GRASP_TASK: &str = "graspTask";

/// A length of a body, metres.
pub(super) const LENGTH: Kind = Positive(1e6);
/// Twice the distance to the moon; the resolution of numbers there is a nanometre.
pub(in crate::xml) const FARTHEST: f64 = 1e9;
/// A coordinate of a point, metres.
pub(super) const COORDINATE: Kind = Within(-FARTHEST, FARTHEST);
/// The number of a port; 0 for any free one.
pub(super) const PORT: Kind = Whole(0, 65_535);

/// The components of a vector without a unit.
pub(super) const VECTOR: &[Attribute] = &[
    default("x", Real, "", "0", "component along x"),
    default("y", Real, "", "0", "component along y"),
    default("z", Real, "", "0", "component along z"),
];
/// The name of anything that others refer to.
pub(super) const NAME: Attribute = required("name", Name, "", "name, unique among elements of this kind in the file");
/// The name of an object.
pub(super) const OBJECT_NAME: Attribute = required(
    "name",
    ObjectName,
    "",
    "name, unique among the objects of the file; slashes may divide it, as in `model/link`",
);

/// Class of a body in segmentation images.
pub(super) const CLASS_ATTRIBUTE: Attribute = default(
    "class",
    Whole(0, 65_535),
    "",
    "0",
    "class in the images of a SegmentationCamera; several bodies may have the same",
);

/// Earth's gravity, m/s², the default.
pub(in crate::xml) const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);
