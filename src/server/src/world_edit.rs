//! Robots that come, and robots and objects that go, while the server runs.
//!
//! The next world is read and built beside the running one, its new ports are opened, and only then the clock is asked to go on in it. Whatever fails
//! before has changed nothing; the clock cannot fail.

use std::{io, sync::Arc};

use simpartner_wire::{
    protocol::{Refusal, Spawn},
    signal::{Event, EventKind, Renumbering, StepIndex},
};

use super::{
    bind,
    entities::Entities,
    error::{ServerError, refusal},
    ports_file::describe,
    served::Served,
    shared::Shared,
};
use simpartner_simulation::sim::Simulation;

/// How often another port offset is tried where another program has a port of the first.
const ATTEMPTS: usize = 20;

/// What changes.
pub(super) enum Change {
    Spawn(Box<Spawn>),
    Remove(String),
}

/// Carries a change out, even if who asked for it does not wait for the end. Returns the name of the robot that came, or of what has gone.
pub(super) async fn change(shared: &Arc<Shared>, change: Change) -> Result<String, Refusal> {
    let shared = Arc::clone(shared);
    let work = tokio::spawn(async move { carry_out(&shared, change).await });
    work.await.unwrap_or_else(|_| Err(Refusal::State("this has gone wrong; please report it".into())))
}

async fn carry_out(shared: &Arc<Shared>, change: Change) -> Result<String, Refusal> {
    // One after the other: each begins with the world that the one before has left.
    let _alone = shared.changing.lock().await;
    let served = shared.newest();
    let (entities, world) = (shared.entities()?, served.world.get().cloned());
    let world = world.ok_or_else(|| Refusal::State("the server was given no world that it could change".into()))?;
    let number = served.layout.world() + 1;
    let mut taken = vec![shared.settings.control_port];
    taken.extend(shared.viewer.get().map(|(port, _)| *port));
    let is_free = matches!(&change, Change::Spawn(spawn) if spawn.port_offset.is_none());
    let change = Arc::new(change);
    for attempt in 1.. {
        let (work, given) = (Arc::clone(&entities), (Arc::clone(&world), taken.clone(), Arc::clone(&change)));
        let built = tokio::task::spawn_blocking(move || {
            let (world, taken, change) = given;
            match &*change {
                Change::Spawn(spawn) => work.with_robot(&world, number, spawn, &taken),
                Change::Remove(name) => Ok((work.without(&world, number, name)?, name.clone())),
            }
        });
        let built = built.await.map_err(|_| Refusal::State("this has gone wrong; please report it".into()))?;
        let (simulation, name) = built.map_err(Refusal::Parameter)?;
        match bind_newcomers(shared, &served, &simulation) {
            Ok((next, listeners)) => {
                let kind = match &*change {
                    Change::Spawn(_) => EventKind::Spawn,
                    Change::Remove(_) => EventKind::Remove,
                };
                exchange(shared, &*entities, simulation, (next, listeners), (kind, &name)).await?;
                return Ok(name);
            }
            Err(ServerError::Bind { address, cause, .. })
                if is_free && attempt < ATTEMPTS && cause.kind() == io::ErrorKind::AddrInUse =>
            {
                taken.push(shared.settings.ports.named(address.port()));
            }
            Err(error) => return Err(Refusal::State(error.to_string().replace('\n', "; "))),
        }
    }
    unreachable!("the last attempt returns")
}

/// Opens the ports of what is new.
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

/// The clock goes on in the next world, and the server with it.
async fn exchange(
    shared: &Arc<Shared>,
    entities: &dyn Entities,
    simulation: Simulation,
    (next, listeners): (Served, Vec<bind::Opened>),
    (kind, name): (EventKind, &str),
) -> Result<(), Refusal> {
    let number = next.layout.world();
    entities.announce(&simulation);
    // Records of the next world may come before the clock's answer, and find it here.
    shared.add_served(next);
    let text = match kind {
        EventKind::Spawn => "a robot has come".to_owned(),
        _ => "it has gone".to_owned(),
    };
    let event = Event { step: StepIndex(0), kind, subject: name.to_owned(), text, value: None };
    if let Err(error) = shared.handle.exchange(simulation, event).await {
        shared.remove_served(number);
        return Err(refusal(error));
    }
    for opened in listeners {
        // After the end of the run nobody serves them.
        let _ = shared.opened.send(opened);
    }
    shared.changes.send_replace(number);
    let viewer = shared.viewer.get().map(|(_, address)| *address);
    entities.write_ports(&describe(&shared.newest(), shared.control_address, viewer));
    Ok(())
}
