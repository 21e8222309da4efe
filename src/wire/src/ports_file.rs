//! The ports file: all addresses of a running server, for programs that start one on any free ports.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The longest file that is read, in bytes: a thousand times that of WorkPartner.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// All addresses of a running server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortsFile {
    /// The server's version.
    pub simpartner: String,
    /// The server's process.
    pub process: u32,
    /// Address of the control port, as seen from this machine.
    pub control: SocketAddr,
    /// Address of the viewer's page, as seen from this machine; `None` without one.
    pub viewer: Option<SocketAddr>,
    /// The ports of all devices.
    pub devices: Vec<DevicePort>,
    /// The combined ports of all robots.
    pub robots: Vec<RobotPort>,
}

/// The port of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicePort {
    /// The device.
    pub name: String,
    /// Kind of the device, such as `PositionSensor`.
    pub kind: String,
    /// Its robot.
    pub robot: String,
    /// The port in the model, which sequences name; 0 is any.
    pub port: u16,
    /// The port it listens on.
    pub bound: u16,
}

/// The combined port of a robot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotPort {
    /// The robot.
    pub name: String,
    /// The port in the world's file; 0 is any.
    pub port: u16,
    /// The port it listens on.
    pub bound: u16,
}

/// Error of a ports file.
#[derive(Debug, Error)]
pub enum PortsFileError {
    /// The operating system refuses access.
    #[error("the ports file '{}' cannot be {what}: {cause}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        what: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// The file is no list of ports.
    #[error("'{}' is not a ports file: {why}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// The problem, as a sentence.
        why: String,
    },
}

impl PortsFile {
    /// Reads the file that a server has written.
    ///
    /// # Errors
    /// When there is none, or it is none.
    pub fn read(path: &Path) -> Result<Self, PortsFileError> {
        let system = |cause| PortsFileError::System { path: path.to_owned(), what: "read", cause };
        let other = |why: String| PortsFileError::Other { path: path.to_owned(), why };
        let metadata = fs::metadata(path).map_err(system)?;
        if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
            return Err(other(format!("expected a file of at most {MAX_FILE_BYTES} bytes")));
        }
        let bytes = fs::read(path).map_err(system)?;
        serde_json::from_slice(&bytes).map_err(|error| other(error.to_string()))
    }

    /// Writes the file atomically. It replaces nothing but a ports file.
    ///
    /// # Errors
    /// The path is another kind of file, or the operating system refuses access.
    pub fn write(&self, path: &Path) -> Result<(), PortsFileError> {
        if path.symlink_metadata().is_ok() {
            Self::read(path)?;
        }
        let mut new = path.as_os_str().to_owned();
        new.push(format!(".{}", self.process));
        let written = fs::write(&new, format!("{:#}\n", serde_json::json!(self)));
        written.and_then(|()| fs::rename(&new, path)).map_err(|cause| {
            // An incomplete file is useless.
            let _ = fs::remove_file(&new);
            PortsFileError::System { path: path.to_owned(), what: "written", cause }
        })
    }

    /// Removes it, unless another server has written its own there since.
    pub fn remove(&self, path: &Path) {
        if Self::read(path).is_ok_and(|present| present == *self) {
            let _ = fs::remove_file(path);
        }
    }
}
