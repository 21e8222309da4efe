//! The served state of a world: the ports of its devices and robots, the commands under way, and its description. Each
//! world edit makes a new one.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use simpartner_description::World;
use simpartner_model::{DeviceId, RobotId};
use simpartner_wire::{
    protocol::CommandBoard,
    signal::{Layout, Renumbering},
};

use super::endpoint::Endpoint;

/// A port on which the server listens.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenPort {
    /// Serial number of the port. Unlike the device's id, it stays the same after a world edit.
    pub(super) number: u32,
    pub(super) address: SocketAddr,
}

/// The served state of a world.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) layout: Arc<Layout>,
    pub(super) board: Arc<CommandBoard>,
    /// Ports of the devices, in the order of ids.
    pub(super) devices: Vec<OpenPort>,
    /// Combined ports of the robots, in the order of ids.
    pub(super) robots: Vec<OpenPort>,
    /// The model of the world, if the server was given it.
    pub(super) world: OnceLock<Arc<World>>,
    /// JSON description of the world, built at the first request.
    pub(super) scene: OnceLock<Arc<str>>,
}

impl Served {
    pub(super) fn new(
        layout: Arc<Layout>,
        board: CommandBoard,
        [devices, robots]: [Vec<OpenPort>; 2],
        world: Option<Arc<World>>,
    ) -> Self {
        let board = Arc::new(board);
        let world = world.map_or_else(OnceLock::new, OnceLock::from);
        Self { layout, board, devices, robots, world, scene: OnceLock::new() }
    }

    /// The ports for the devices and robots of the next world, by id: those of this world are kept, new ones have none
    /// yet.
    pub(super) fn ports_in(&self, layout: &Layout, numbers: &Renumbering) -> [Vec<Option<OpenPort>>; 2] {
        let (mut devices, mut robots) = (vec![None; layout.devices().len()], vec![None; layout.robots().len()]);
        for (index, port) in self.devices.iter().enumerate() {
            numbers.device(DeviceId::new(index)).into_iter().for_each(|id| devices[id.index()] = Some(*port));
        }
        for (index, port) in self.robots.iter().enumerate() {
            numbers.robot(RobotId::new(index)).into_iter().for_each(|id| robots[id.index()] = Some(*port));
        }
        [devices, robots]
    }

    /// The device whose port has this number.
    pub(super) fn device_at(&self, number: u32) -> Option<DeviceId> {
        self.devices.iter().position(|port| port.number == number).map(DeviceId::new)
    }

    /// The robot whose combined port has this number.
    pub(super) fn robot_at(&self, number: u32) -> Option<RobotId> {
        self.robots.iter().position(|port| port.number == number).map(RobotId::new)
    }

    /// True if the world has the device or robot of an endpoint.
    pub(super) fn has_endpoint(&self, endpoint: Endpoint) -> bool {
        match endpoint {
            Endpoint::Device(number) => self.device_at(number).is_some(),
            Endpoint::Robot(number) => self.robot_at(number).is_some(),
            Endpoint::Control | Endpoint::Page => true,
        }
    }

    /// Name of an endpoint in the log.
    pub(super) fn name_of(&self, endpoint: Endpoint) -> String {
        let name = match endpoint {
            Endpoint::Device(number) => self.device_at(number).map(|id| self.layout.device_info(id).name.clone()),
            Endpoint::Robot(number) => self.robot_at(number).map(|id| self.layout.robot_info(id).name.clone()),
            Endpoint::Control => Some("control".into()),
            Endpoint::Page => Some("viewer".into()),
        };
        name.unwrap_or_default()
    }
}
