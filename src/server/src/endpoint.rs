//! The purpose of a port.

/// Purpose of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// The control port.
    Control,
    /// Port of a device, by [`OpenPort::number`](super::served::OpenPort::number).
    Device(u32),
    /// Combined port of a robot, by [`OpenPort::number`](super::served::OpenPort::number).
    Robot(u32),
    /// Port of the viewer's page.
    Page,
}
