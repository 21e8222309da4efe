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
    bind, connections::Connections, entities::Entities, scene, served::Served, settings::Settings,
    token_attempts::TokenAttempts,
};

/// Number of worlds that are kept. Records of those before the newest may be under way.
const KEPT_WORLDS: usize = 8;

/// State that all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) handle: Handle,
    pub(super) settings: Settings,
    pub(super) control_address: SocketAddr,
    /// The newest worlds, the newest last.
    pub(super) served: RwLock<VecDeque<Arc<Served>>>,
    /// The number of the newest world that the clock has gone on in.
    pub(super) changes: watch::Sender<u32>,
    /// Held while the world is being changed.
    pub(super) changing: Mutex<()>,
    pub(super) opened: mpsc::UnboundedSender<bind::Opened>,
    /// The number of the next port.
    pub(super) ports: AtomicU32,
    pub(super) connections: Arc<Connections>,
    pub(super) token_attempts: TokenAttempts,
    pub(super) clients: AtomicU64,
    pub(super) log: OnceLock<Arc<dyn LogFigures>>,
    pub(super) entities: OnceLock<Arc<dyn Entities>>,
    /// The port that the viewer's page asks for, and its address.
    pub(super) viewer: OnceLock<(u16, SocketAddr)>,
}

impl Shared {
    /// A number for a client that has just connected.
    pub(super) fn next_client(&self) -> ClientId {
        ClientId(self.clients.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The scene of the world that runs, described when it is first asked for; `None` if the server was given no world.
    pub(super) fn scene(&self) -> Option<Arc<str>> {
        let served = self.current();
        let world = served.world.get()?;
        let describe = || scene::of_running(world, &served, self.handle.timestep()).into();
        Some(Arc::clone(served.scene.get_or_init(describe)))
    }

    /// What is served of the world of a record.
    pub(super) fn served(&self, record: &StepRecord) -> Arc<Served> {
        self.served_as(record.world).unwrap_or_else(|| self.newest())
    }

    /// What is served of the world of a number, if it is one of the last.
    pub(super) fn served_as(&self, world: u32) -> Option<Arc<Served>> {
        let known = self.served.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().rfind(|served| served.layout.world() == world).cloned()
    }

    /// What is served of the world of the newest record.
    pub(super) fn current(&self) -> Arc<Served> {
        let record = self.handle.latest().borrow().clone();
        self.served(&record)
    }

    /// What is served of the newest world, in which the clock may have yet to go on.
    pub(super) fn newest(&self) -> Arc<Served> {
        let known = self.served.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.back().expect("the newest world is never removed"))
    }

    pub(super) fn add_served(&self, next: Served) {
        let mut known = self.served.write().unwrap_or_else(PoisonError::into_inner);
        known.push_back(Arc::new(next));
        let excess = known.len().saturating_sub(KEPT_WORLDS);
        known.drain(..excess);
    }

    /// Forgets a world in which the clock has not gone on.
    pub(super) fn remove_served(&self, world: u32) {
        let mut known = self.served.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|served| served.layout.world() != world);
    }

    /// What makes other worlds, if that is allowed.
    pub(super) fn entities(&self) -> Result<Arc<dyn Entities>, Refusal> {
        let why = "robots come and go only where server.spawn allows it, which is \"local\" by default: on a loopback address";
        let entities = self.entities.get().filter(|_| self.settings.spawn).cloned();
        entities.ok_or_else(|| Refusal::State(why.into()))
    }
}

/// The figures of the log in `STATE`. The server knows no log: the code that assembles a run passes an implementation in.
pub trait LogFigures: Send + Sync + std::fmt::Debug {
    /// How much the database has grown in this run, bytes.
    fn bytes(&self) -> u64;

    /// How much is written in a second at present, bytes.
    fn bytes_per_second(&self) -> f64;
}
