//! The state that all connections share.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{
        Arc, OnceLock, PoisonError, RwLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use simpartner_realtime::Handle;
use simpartner_wire::{
    protocol::Refusal,
    signal::{ClientId, StepRecord},
};
use tokio::sync::{Mutex, mpsc, watch};

use super::{
    bind, cameras::Cameras, connections::Connections, entities::Entities, scene, served::Served, settings::Settings,
    token_attempts::TokenAttempts,
};

/// Largest number of worlds whose served state is kept. Records of worlds before the newest may still be under way.
const MAX_SERVED_WORLDS: usize = 8;

/// State that all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) handle: Handle,
    pub(super) settings: Settings,
    pub(super) control_address: SocketAddr,
    /// The served state of the last worlds, the newest last.
    pub(super) served: RwLock<VecDeque<Arc<Served>>>,
    /// Number of the world that the clock runs; changes after each world edit.
    pub(super) changes: watch::Sender<u32>,
    /// Locked during a world edit, so that edits happen one after the other.
    pub(super) changing: Mutex<()>,
    /// Passes ports that a world edit has opened to the server.
    pub(super) opened: mpsc::UnboundedSender<bind::Opened>,
    /// [`OpenPort::number`](super::served::OpenPort::number) of the next port.
    pub(super) ports: AtomicU32,
    pub(super) connections: Arc<Connections>,
    pub(super) token_attempts: TokenAttempts,
    /// Number of clients so far.
    pub(super) clients: AtomicU64,
    pub(super) log: OnceLock<Arc<dyn LogFigures>>,
    pub(super) entities: OnceLock<Arc<dyn Entities>>,
    /// The images of cameras.
    pub(super) cameras: Arc<Cameras>,
    /// The viewer's page: its port in the settings, and its bound address.
    pub(super) viewer: OnceLock<(u16, SocketAddr)>,
}

impl Shared {
    /// Assigns a number to a client that has just connected.
    pub(super) fn next_client(&self) -> ClientId {
        ClientId(self.clients.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// JSON description of the running world, built at the first request; `None` if the server was given no world.
    pub(super) fn scene(&self) -> Option<Arc<str>> {
        let served = self.current();
        let world = served.world.get()?;
        let describe = || scene::of_running(world, &served, self.handle.timestep()).into();
        Some(Arc::clone(served.scene.get_or_init(describe)))
    }

    /// The served state of the world of a record; of the newest world if the record's is too old.
    pub(super) fn served(&self, record: &StepRecord) -> Arc<Served> {
        self.served_as(record.world).unwrap_or_else(|| self.newest())
    }

    /// The served state of a world by its number; `None` if it is too old.
    pub(super) fn served_as(&self, world: u32) -> Option<Arc<Served>> {
        let known = self.served.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().rfind(|served| served.layout.world() == world).cloned()
    }

    /// The served state of the world of the newest record.
    pub(super) fn current(&self) -> Arc<Served> {
        let record = self.handle.latest().borrow().clone();
        self.served(&record)
    }

    /// The served state of the newest world. The clock may not run it yet.
    pub(super) fn newest(&self) -> Arc<Served> {
        let known = self.served.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.back().expect("the newest world is never removed"))
    }

    /// Adds the served state of a new world, and drops the oldest beyond [`MAX_SERVED_WORLDS`].
    pub(super) fn add_served(&self, next: Served) {
        let mut known = self.served.write().unwrap_or_else(PoisonError::into_inner);
        known.push_back(Arc::new(next));
        let excess = known.len().saturating_sub(MAX_SERVED_WORLDS);
        known.drain(..excess);
    }

    /// Drops the served state of a world that the clock has refused.
    pub(super) fn remove_served(&self, world: u32) {
        let mut known = self.served.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|served| served.layout.world() != world);
    }

    /// The builder of edited worlds.
    ///
    /// # Errors
    /// When the settings allow no world edits.
    pub(super) fn entities(&self) -> Result<Arc<dyn Entities>, Refusal> {
        let why = "robots come and go only where server.spawn allows it, which is \"local\" by default: on a loopback address";
        let entities = self.entities.get().filter(|_| self.settings.spawn).cloned();
        entities.ok_or_else(|| Refusal::State(why.into()))
    }
}

/// Figures of the log in `STATE`. The server knows no log, so the code that assembles a run passes an implementation
/// in.
pub trait LogFigures: Send + Sync + std::fmt::Debug {
    /// Growth of the database in this run, bytes.
    fn bytes(&self) -> u64;

    /// Present write rate, bytes per second.
    fn bytes_per_second(&self) -> f64;
}
