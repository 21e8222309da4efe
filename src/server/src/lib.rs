//! The ports: one for every device, one for every robot, one for the clock, one for the viewer's page. This module moves bytes;
//! [`protocol`](simpartner_wire::protocol) defines what they mean.
//!
//! Everything is bounded: connections (`connections`), what one of them may send in a turn, what waits for it, how long it may
//! leave a message unfinished or an answer unread. A client that breaks a bound is disconnected and costs the others nothing; the
//! physics never waits for a client.
//! The module knows nothing of the log and of how steps are computed. Start at [`Server`].

mod accept;
mod bind;
mod connection;
mod connections;
mod control;
mod descriptors;
mod device;
mod entities;
mod error;
mod grasp;
mod holder;
mod outward;
mod ports_file;
mod scene;
mod served;
mod settings;
mod token_attempts;
mod web;

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{
        Arc, OnceLock, PoisonError, RwLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use simpartner_description::World;
use simpartner_wire::{
    protocol::{CommandBoard, Refusal},
    signal::{ClientId, DeviceInfo, RobotInfo, StepRecord},
};
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc, oneshot, watch},
    task::JoinSet,
};

pub use descriptors::raise_descriptor_limit;
pub use entities::Entities;
pub use error::ServerError;
pub use grasp::grasp_scene;
pub use outward::reachable;
pub use settings::{Limits, PortChoice, Settings};
pub use web::{
    Answer, Archive, ArchiveError, GraspServer, LoggedCommands, LoggedEvent, LoggedRun, RunModel, Viewer, grasp_page,
};

use self::{connections::Connections, served::Served, token_attempts::TokenAttempts};
use simpartner_realtime::Handle;

/// The least length of a token without a warning, bytes. At an attempt a second, 16 letters of a word list already take longer than a run.
const ADVISED_TOKEN: usize = 16;

/// How many worlds are known: records of those before the newest may be under way.
const KNOWN: usize = 8;

/// All ports, bound but not yet served.
#[derive(Debug)]
pub struct Server {
    control: TcpListener,
    listeners: Vec<bind::Opened>,
    /// Ports that are opened while it runs.
    opened: mpsc::UnboundedReceiver<bind::Opened>,
    /// What is served at the start.
    start: Arc<Served>,
    page: Option<web::PageListener>,
    shared: Arc<Shared>,
}

/// What all connections have in common.
#[derive(Debug)]
struct Shared {
    handle: Handle,
    settings: Settings,
    control_address: SocketAddr,
    /// The newest worlds, the newest last.
    served: RwLock<VecDeque<Arc<Served>>>,
    /// The number of the newest world that the clock has gone on in.
    changes: watch::Sender<u32>,
    /// Held while the world is being changed.
    changing: Mutex<()>,
    opened: mpsc::UnboundedSender<bind::Opened>,
    /// The number of the next port.
    ports: AtomicU32,
    connections: Arc<Connections>,
    token_attempts: TokenAttempts,
    clients: AtomicU64,
    log: OnceLock<Arc<dyn LogFigures>>,
    entities: OnceLock<Arc<dyn Entities>>,
    /// The port that the viewer's page asks for, and its address.
    viewer: OnceLock<(u16, SocketAddr)>,
}

/// The figures of the log in `STATE`. The server knows no log: the code that assembles a run passes an implementation in.
pub trait LogFigures: Send + Sync + std::fmt::Debug {
    /// How much the database has grown in this run, bytes.
    fn bytes(&self) -> u64;

    /// How much is written in a second at present, bytes.
    fn bytes_per_second(&self) -> f64;
}

impl Shared {
    /// A number for a client that has just connected.
    fn next_client(&self) -> ClientId {
        ClientId(self.clients.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The scene of the world that runs, described when it is first asked for; `None` if the server was given no world.
    fn scene(&self) -> Option<Arc<str>> {
        let served = self.current();
        let world = served.world.get()?;
        let describe = || scene::of_running(world, &served, self.handle.timestep()).into();
        Some(Arc::clone(served.scene.get_or_init(describe)))
    }

    /// What is served of the world of a record.
    fn served(&self, record: &StepRecord) -> Arc<Served> {
        self.served_as(record.world).unwrap_or_else(|| self.newest())
    }

    /// What is served of the world of a number, if it is one of the last.
    fn served_as(&self, world: u32) -> Option<Arc<Served>> {
        let known = self.served.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().rfind(|served| served.layout.world() == world).cloned()
    }

    /// What is served of the world of the newest record.
    fn current(&self) -> Arc<Served> {
        let record = self.handle.latest().borrow().clone();
        self.served(&record)
    }

    /// What is served of the newest world, in which the clock may have yet to go on.
    fn newest(&self) -> Arc<Served> {
        let known = self.served.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.back().expect("the newest world is never removed"))
    }

    fn add_served(&self, next: Served) {
        let mut known = self.served.write().unwrap_or_else(PoisonError::into_inner);
        known.push_back(Arc::new(next));
        let excess = known.len().saturating_sub(KNOWN);
        known.drain(..excess);
    }

    /// Forgets a world in which the clock has not gone on.
    fn remove_served(&self, world: u32) {
        let mut known = self.served.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|served| served.layout.world() != world);
    }

    /// What makes other worlds, if that is allowed.
    fn entities(&self) -> Result<Arc<dyn Entities>, Refusal> {
        let why = "robots come and go only where server.spawn allows it, which is \"local\" by default: on a loopback address";
        let entities = self.entities.get().filter(|_| self.settings.spawn).cloned();
        entities.ok_or_else(|| Refusal::State(why.into()))
    }
}

/// What a port is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    Control,
    /// Of a device, by the number of its port.
    Device(u32),
    /// Of a robot, likewise.
    Robot(u32),
    Page,
}

impl Server {
    /// Binds the control port, the ports of all devices and the combined ports of all robots, or none.
    ///
    /// # Errors
    /// When a port cannot be bound, two devices want the same one, or the address needs a token and there is none.
    pub async fn bind(settings: Settings, handle: Handle) -> Result<Self, ServerError> {
        let layout = handle.layout();
        let ports = AtomicU32::new(0);
        let bound = bind::bind_all(&settings, &layout, &ports)?;
        let (limits, descriptors) = (&settings.limits, descriptors::for_connections());
        if descriptors < limits.connections {
            tracing::warn!(
                "server.connections: {descriptors} instead of {}, since this process may not open more files; raise \
                 `ulimit -n`",
                limits.connections
            );
        }
        if settings.token.as_ref().is_some_and(|token| token.len() < ADVISED_TOKEN) {
            tracing::warn!(
                "server.token: a token of less than {ADVISED_TOKEN} bytes can be guessed; `openssl rand -hex 16` makes a longer one"
            );
        }
        let board = CommandBoard::new(&layout);
        let start = Arc::new(Served::new(Arc::clone(&layout), board, bound.ports, None));
        let (opened, to_open) = mpsc::unbounded_channel();
        let shared = Shared {
            control_address: bound.control_address,
            served: RwLock::new([Arc::clone(&start)].into()),
            changes: watch::Sender::new(layout.world()),
            changing: Mutex::default(),
            opened,
            ports,
            connections: Connections::new(limits, descriptors, settings.bind.is_loopback()),
            token_attempts: TokenAttempts::default(),
            clients: AtomicU64::new(0),
            log: OnceLock::new(),
            entities: OnceLock::new(),
            viewer: OnceLock::new(),
            handle,
            settings,
        };
        Ok(Self {
            control: bound.control,
            listeners: bound.opened,
            opened: to_open,
            start,
            page: None,
            shared: Arc::new(shared),
        })
    }

    /// Adds the figures of the log to `STATE`.
    #[must_use]
    pub fn with_log(self, log: Arc<dyn LogFigures>) -> Self {
        // Of two, the first stays.
        let _ = self.shared.log.set(log);
        self
    }

    /// Lets robots come and go, where `server.spawn` allows it.
    #[must_use]
    pub fn with_entities(self, entities: Arc<dyn Entities>) -> Self {
        let _ = self.shared.entities.set(entities);
        self
    }

    /// Lets the control port describe the world that runs, which `SCENE` asks for.
    #[must_use]
    pub fn with_world(self, world: Arc<World>) -> Self {
        let _ = self.start.world.set(world);
        self
    }

    /// Binds the port of the viewer's page as well.
    ///
    /// # Errors
    /// When it cannot be bound; then no port is open.
    pub async fn with_viewer(mut self, viewer: Viewer) -> Result<Self, ServerError> {
        let _ = self.start.world.set(Arc::clone(&viewer.world));
        let port = viewer.port;
        let page = self.page.insert(web::PageListener::bind(viewer, &self.shared)?);
        let _ = self.shared.viewer.set((port, page.address()));
        Ok(self)
    }

    /// Where the viewer's page is, if there is one.
    pub fn viewer_address(&self) -> Option<SocketAddr> {
        self.page.as_ref().map(web::PageListener::address)
    }

    /// Where the control port is.
    pub fn control_address(&self) -> SocketAddr {
        self.shared.control_address
    }

    /// All devices and where they listen.
    pub fn devices(&self) -> impl Iterator<Item = (&DeviceInfo, SocketAddr)> {
        self.start.layout.devices().iter().zip(self.start.devices.iter().map(|port| port.address))
    }

    /// All robots and where their combined ports are.
    pub fn robots(&self) -> impl Iterator<Item = (&RobotInfo, SocketAddr)> {
        self.start.layout.robots().iter().zip(self.start.robots.iter().map(|port| port.address))
    }

    /// Serves all ports until `stop` is sent or dropped, and returns when the last connection is closed.
    pub async fn run(mut self, mut stop: oneshot::Receiver<()>) {
        let (closing, closed) = watch::channel(false);
        let mut endpoints = JoinSet::new();
        endpoints.spawn(accept::accept(self.control, Endpoint::Control, Arc::clone(&self.shared), closed.clone()));
        for (listener, endpoint) in self.listeners {
            endpoints.spawn(accept::accept(listener, endpoint, Arc::clone(&self.shared), closed.clone()));
        }
        if let Some(page) = self.page {
            endpoints.spawn(web::serve(page, Arc::clone(&self.shared), closed.clone()));
        }
        loop {
            tokio::select! {
                // A sender that was dropped means the same as one that has sent.
                _ = &mut stop => break,
                Some((listener, endpoint)) = self.opened.recv() => {
                    endpoints.spawn(accept::accept(listener, endpoint, Arc::clone(&self.shared), closed.clone()));
                }
                // Ports of what was deleted.
                Some(_) = endpoints.join_next() => {}
            }
        }
        closing.send_replace(true);
        while endpoints.join_next().await.is_some() {}
    }
}
