//! The TCP port of a device.

use std::fmt;

use thiserror::Error;

/// A TCP port of a device: above 1024 (thesis 3.7.1), or 0 for any free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(u16);

/// A number that cannot be a device's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected a port from 1025 to 65535, or 0 for a free one, got {0}")]
pub struct PortError(pub i64);

impl Port {
    /// Asks the system for a free port.
    pub const ANY: Self = Self(0);

    /// Checks the range.
    ///
    /// # Errors
    /// The number is neither 0 nor in 1025..=65535.
    pub fn new(number: i64) -> Result<Self, PortError> {
        match u16::try_from(number) {
            Ok(port) if port == 0 || port > 1024 => Ok(Self(port)),
            _ => Err(PortError(number)),
        }
    }

    /// The number, 0 for "any".
    pub fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Port {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_at_or_below_1024_are_refused() {
        for bad in [-1, 1, 80, 1024, 65_536] {
            assert_eq!(Port::new(bad), Err(PortError(bad)));
        }
        assert_eq!(Port::new(0), Ok(Port::ANY));
        assert_eq!(Port::new(1025).map(Port::number), Ok(1025));
    }
}
