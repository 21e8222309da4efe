//! Kinds of components that rows describe.

/// Kind of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComponentKind {
    /// A body of a robot, or an object.
    Body,
    /// A joint.
    Joint,
    /// A sensor or an actuator.
    Device,
}
