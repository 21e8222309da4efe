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
mod error;
mod grasp;
mod holder;
mod ports_file;
mod scene;
mod settings;
mod web;

use std::{
    net::SocketAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use simpartner_description::World;
use simpartner_model::{DeviceId, RobotId};
use simpartner_wire::{
    protocol::CommandBoard,
    signal::{ClientId, DeviceInfo, RobotInfo},
};
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch},
    task::JoinSet,
};

pub use descriptors::raise_descriptor_limit;
pub use error::ServerError;
pub use grasp::grasp_scene;
pub use settings::{Limits, PortChoice, Settings};
pub use web::{
    Answer, Archive, ArchiveError, GraspServer, LoggedCommands, LoggedEvent, LoggedRun, RunModel, Viewer, grasp_page,
};

use self::connections::Connections;
use crate::realtime::Handle;

/// All ports, bound but not yet served.
#[derive(Debug)]
pub struct Server {
    control: TcpListener,
    devices: Vec<TcpListener>,
    robots: Vec<TcpListener>,
    page: Option<web::PageListener>,
    shared: Arc<Shared>,
}

/// What all connections have in common.
#[derive(Debug)]
struct Shared {
    handle: Handle,
    board: Arc<CommandBoard>,
    settings: Settings,
    control_address: SocketAddr,
    addresses: Addresses,
    connections: Arc<Connections>,
    clients: AtomicU64,
    log: OnceLock<Arc<dyn LogFigures>>,
    world: OnceLock<Arc<World>>,
    scene: OnceLock<Arc<str>>,
}

/// The figures of the log in `STATE`. The server knows no log: the code that assembles a run passes an implementation in.
pub trait LogFigures: Send + Sync + std::fmt::Debug {
    /// How much the database has grown in this run, bytes.
    fn bytes(&self) -> u64;

    /// How much is written in a second at present, bytes.
    fn bytes_per_second(&self) -> f64;
}

/// The addresses that are listened on, each list in the order of ids.
#[derive(Debug)]
struct Addresses {
    devices: Vec<SocketAddr>,
    robots: Vec<SocketAddr>,
}

impl Shared {
    /// A number for a client that has just connected.
    fn next_client(&self) -> ClientId {
        ClientId(self.clients.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The scene of the world that runs, described when it is first asked for; `None` if the server was given no world.
    fn scene(&self) -> Option<Arc<str>> {
        let world = self.world.get()?;
        Some(Arc::clone(self.scene.get_or_init(|| scene::of_running(world, self).into())))
    }
}

/// What a port is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    Control,
    Device(DeviceId),
    Robot(RobotId),
    Page,
}

impl Server {
    /// Binds the control port, the ports of all devices and the combined ports of all robots, or none.
    ///
    /// # Errors
    /// When a port cannot be bound, two devices want the same one, or the address needs a token and there is none.
    pub async fn bind(settings: Settings, handle: Handle) -> Result<Self, ServerError> {
        let bound = bind::bind_all(&settings, handle.layout())?;
        let (limits, descriptors) = (&settings.limits, descriptors::for_connections());
        if descriptors < limits.connections {
            tracing::warn!(
                "server.connections: {descriptors} instead of {}, since this process may not open more files; raise \
                 `ulimit -n`",
                limits.connections
            );
        }
        let shared = Shared {
            board: Arc::new(CommandBoard::new(handle.layout())),
            control_address: bound.control_address,
            addresses: Addresses { devices: bound.devices.1, robots: bound.robots.1 },
            connections: Connections::new(limits, descriptors, settings.bind.is_loopback()),
            clients: AtomicU64::new(0),
            log: OnceLock::new(),
            world: OnceLock::new(),
            scene: OnceLock::new(),
            handle,
            settings,
        };
        Ok(Self {
            control: bound.control,
            devices: bound.devices.0,
            robots: bound.robots.0,
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

    /// Lets the control port describe the world that runs, which `SCENE` asks for.
    #[must_use]
    pub fn with_world(self, world: Arc<World>) -> Self {
        let _ = self.shared.world.set(world);
        self
    }

    /// Binds the port of the viewer's page as well.
    ///
    /// # Errors
    /// When it cannot be bound; then no port is open.
    pub async fn with_viewer(mut self, viewer: Viewer) -> Result<Self, ServerError> {
        let _ = self.shared.world.set(Arc::clone(&viewer.world));
        self.page = Some(web::PageListener::bind(viewer, &self.shared)?);
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
        self.shared.handle.layout().devices().iter().zip(self.shared.addresses.devices.iter().copied())
    }

    /// All robots and where their combined ports are.
    pub fn robots(&self) -> impl Iterator<Item = (&RobotInfo, SocketAddr)> {
        self.shared.handle.layout().robots().iter().zip(self.shared.addresses.robots.iter().copied())
    }

    /// Serves all ports until `stop` is sent or dropped, and returns when the last connection is closed.
    pub async fn run(self, stop: oneshot::Receiver<()>) {
        let (closing, closed) = watch::channel(false);
        let mut endpoints = JoinSet::new();
        endpoints.spawn(accept::accept(self.control, Endpoint::Control, Arc::clone(&self.shared), closed.clone()));
        for (index, listener) in self.devices.into_iter().enumerate() {
            let endpoint = Endpoint::Device(DeviceId::new(index));
            endpoints.spawn(accept::accept(listener, endpoint, Arc::clone(&self.shared), closed.clone()));
        }
        for (index, listener) in self.robots.into_iter().enumerate() {
            let endpoint = Endpoint::Robot(RobotId::new(index));
            endpoints.spawn(accept::accept(listener, endpoint, Arc::clone(&self.shared), closed.clone()));
        }
        if let Some(page) = self.page {
            endpoints.spawn(web::serve(page, Arc::clone(&self.shared), closed.clone()));
        }
        // A sender that was dropped means the same as one that has sent.
        let _ = stop.await;
        closing.send_replace(true);
        while endpoints.join_next().await.is_some() {}
    }
}
