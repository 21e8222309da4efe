//! The purpose of a port.

/// Purpose of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    Control,
    /// Of a device, by the number of its port.
    Device(u32),
    /// Of a robot, likewise.
    Robot(u32),
    Page,
}
