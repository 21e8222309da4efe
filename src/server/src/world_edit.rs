//! World edits: adding a robot, removing a robot or an object, or changing a parameter, while the server runs.
//!
//! The edited world is read and built beside the running one, and its new ports are opened. Only then the clock is
//! asked to replace the running world. A failure before that changes nothing. The clock replaces the world as a whole
//! or refuses, and the running world then stays.

use std::{io, sync::Arc};

use simpartner_wire::{
    protocol::{Refusal, Spawn},
    signal::{Event, EventKind, Renumbering, StepIndex},
};

use super::{
    bind,
    entities::Entities,
    error::{ServerError, refusal},
    ports_file::describe_ports,
    served::Served,
    shared::Shared,
};
use simpartner_simulation::sim::Simulation;

/// Largest number of port offsets that are tried when other programs hold ports.
const MAX_BIND_ATTEMPTS: usize = 20;

/// An edit of the running world.
pub(super) enum WorldEdit {
    Spawn(Box<Spawn>),
    Remove(String),
    /// The path and the value of a parameter.
    Parameter(String, String),
}

impl WorldEdit {
    /// The event that tells of the edit, without its step. `name` is what was added, removed or changed.
    fn event_of_edit(&self, name: &str) -> Event {
        let (kind, text, value) = match self {
            Self::Spawn(_) => (EventKind::Spawn, "the robot was added".to_owned(), None),
            Self::Remove(_) => (EventKind::Remove, "it was removed".to_owned(), None),
            Self::Parameter(_, value) => (EventKind::Parameter, value.clone(), value.parse().ok()),
        };
        Event { step: StepIndex(0), kind, subject: name.to_owned(), text, value }
    }
}

/// Carries out a world edit, even if the client does not wait for the end. Returns the name of the robot that was
/// added, or of the robot or object that was removed.
pub(super) async fn edit_world(shared: &Arc<Shared>, change: WorldEdit) -> Result<String, Refusal> {
    let shared = Arc::clone(shared);
    let work = tokio::spawn(async move { build_and_switch(&shared, change).await });
    work.await.unwrap_or_else(|_| {
        Err(Refusal::State("the edit failed because of an error in the server; please report it".into()))
    })
}

/// Builds the edited world, opens its new ports and switches to it. Returns as [`edit_world`].
async fn build_and_switch(shared: &Arc<Shared>, change: WorldEdit) -> Result<String, Refusal> {
    // Edits happen one after the other, each on the result of the previous one.
    let _lock = shared.changing.lock().await;
    let served = shared.newest();
    let (entities, world) = (shared.entities()?, served.world.get().cloned());
    let world = world.ok_or_else(|| Refusal::State("the server has no world that it could change".into()))?;
    let number = served.layout.world() + 1;
    let mut taken = vec![shared.settings.control_port];
    taken.extend(shared.viewer.get().map(|(port, _)| *port));
    let is_free = matches!(&change, WorldEdit::Spawn(spawn) if spawn.port_offset.is_none());
    let change = Arc::new(change);
    for attempt in 1.. {
        let (work, given) = (Arc::clone(&entities), (Arc::clone(&world), taken.clone(), Arc::clone(&change)));
        let built = tokio::task::spawn_blocking(move || {
            let (world, taken, change) = given;
            match &*change {
                WorldEdit::Spawn(spawn) => work.with_robot(&world, number, spawn, &taken),
                WorldEdit::Remove(name) => Ok((work.without(&world, number, name)?, name.clone())),
                WorldEdit::Parameter(path, value) => {
                    Ok((work.with_parameter(&world, number, path, value)?, path.clone()))
                }
            }
        });
        let built = built.await.map_err(|_| {
            Refusal::State("the edit failed because of an error in the server; please report it".into())
        })?;
        let (simulation, name) = built.map_err(Refusal::Parameter)?;
        match bind_newcomers(shared, &served, &simulation) {
            Ok((next, listeners)) => {
                let event = change.event_of_edit(&name);
                switch_world(shared, &*entities, simulation, (next, listeners), event).await?;
                return Ok(name);
            }
            Err(ServerError::Bind { address, cause, .. })
                if is_free && attempt < MAX_BIND_ATTEMPTS && cause.kind() == io::ErrorKind::AddrInUse =>
            {
                taken.push(shared.settings.ports.named(address.port()));
            }
            Err(error) => return Err(Refusal::State(error.to_string().replace('\n', "; "))),
        }
    }
    unreachable!("the last attempt returns")
}

/// Opens the ports of new devices and robots. Returns the served state of the edited world, with its new listeners.
fn bind_newcomers(
    shared: &Shared,
    served: &Served,
    simulation: &Simulation,
) -> Result<(Served, Vec<bind::Opened>), ServerError> {
    let layout = simulation.layout();
    let numbers = Renumbering::new(&served.layout, layout);
    let (ports, opened) =
        bind::bind_missing(&shared.settings, layout, served.ports_in(layout, &numbers), &shared.ports)?;
    let board = served.board.of_next(layout, &numbers);
    Ok((Served::new(Arc::clone(layout), board, ports, Some(Arc::clone(simulation.world()))), opened))
}

/// Makes clock and server switch to the edited world.
async fn switch_world(
    shared: &Arc<Shared>,
    entities: &dyn Entities,
    simulation: Simulation,
    (next, listeners): (Served, Vec<bind::Opened>),
    event: Event,
) -> Result<(), Refusal> {
    let number = next.layout.world();
    entities.register_world(&simulation);
    // Added first, because records of the edited world may come before the clock's answer.
    shared.add_served(next);
    if let Err(error) = shared.handle.exchange(simulation, event).await {
        shared.remove_served(number);
        return Err(refusal(error));
    }
    for opened in listeners {
        // Fails only after the end of the run, when no port is served.
        let _ = shared.opened.send(opened);
    }
    shared.changes.send_replace(number);
    let viewer = shared.viewer.get().map(|(_, address)| *address);
    entities.write_ports(&describe_ports(&shared.newest(), shared.control_address, viewer));
    Ok(())
}
