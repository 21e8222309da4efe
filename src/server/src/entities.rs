//! The interface to the maker of worlds with a robot more, or with a robot or an object less.

use simpartner_description::World;
use simpartner_simulation::sim::Simulation;
use simpartner_wire::{ports_file::PortsFile, protocol::Spawn};

/// Makes the world that replaces the running one. The server knows neither files nor the log: the code that assembles a run passes an implementation
/// in. Its errors are one line each.
pub trait Entities: Send + Sync + std::fmt::Debug {
    /// The world of this number, which is the given one with a robot more, and the robot's name. No device has one of the ports `taken`.
    ///
    /// # Errors
    /// What is wrong with the robot.
    fn with_robot(
        &self,
        world: &World,
        number: u32,
        spawn: &Spawn,
        taken: &[u16],
    ) -> Result<(Simulation, String), String>;

    /// The world of this number, which is the given one without a robot or an object.
    ///
    /// # Errors
    /// That there is none of this name, or that something needs it.
    fn without(&self, world: &World, number: u32, name: &str) -> Result<Simulation, String>;

    /// The robot files that can be named.
    fn spawnable(&self, world: &World) -> Vec<String>;

    /// The clock is about to be asked to go on in this world.
    fn announce(&self, simulation: &Simulation);

    /// The ports are now these.
    fn write_ports(&self, ports: &PortsFile);
}
