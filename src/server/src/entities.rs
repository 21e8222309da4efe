//! The interface to the code that builds an edited world: with a robot added, with a robot or an
//! object removed, or with other parameters.

use simpartner_description::World;
use simpartner_simulation::sim::Simulation;
use simpartner_wire::{ports_file::PortsFile, protocol::Spawn};

/// Builder of edited worlds, which replace the running world. The server knows neither files nor the log, so the code
/// that assembles a run passes an implementation in. Its errors are one line each.
pub trait Entities: Send + Sync + std::fmt::Debug {
    /// Builds `world` with a robot added, as world number `number`. Returns the simulation and the robot's name. No new
    /// device has one of the ports `taken`.
    ///
    /// # Errors
    /// The fault of the robot, as a line for the client.
    fn with_robot(
        &self,
        world: &World,
        number: u32,
        spawn: &Spawn,
        taken: &[u16],
    ) -> Result<(Simulation, String), String>;

    /// Builds `world` without the robot or object `name`, as world number `number`.
    ///
    /// # Errors
    /// Nothing has this name, or something else depends on it.
    fn without(&self, world: &World, number: u32, name: &str) -> Result<Simulation, String>;

    /// Builds `world` with a value of its model replaced, as world number `number`.
    ///
    /// # Errors
    /// The path leads nowhere, or the world is none with the value.
    fn with_parameter(&self, world: &World, number: u32, path: &str, value: &str) -> Result<Simulation, String>;

    /// Names of the robot files that can be spawned.
    fn spawnable(&self, world: &World) -> Vec<String>;

    /// Registers an edited world for the log, before the clock is asked to continue in it. If the clock refuses,
    /// nothing has to be undone: the next edit has the same world number, and its registration replaces this one.
    fn register_world(&self, simulation: &Simulation);

    /// Rewrites the file that lists the ports.
    fn write_ports(&self, ports: &PortsFile);
}
