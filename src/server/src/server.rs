//! The server: binds all ports of a run, then serves them until the run ends.

use std::{
    net::SocketAddr,
    sync::{
        Arc, OnceLock, RwLock,
        atomic::{AtomicU32, AtomicU64},
        mpsc as threads,
    },
};

use simpartner_description::World;
use simpartner_realtime::Handle;
use simpartner_wire::{
    ports_file::PortsFile,
    protocol::CommandBoard,
    signal::{DeviceInfo, RobotInfo},
};
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc, oneshot, watch},
    task::JoinSet,
};

use super::{
    accept, bind,
    cameras::{Cameras, Work, start_studio},
    connections::Connections,
    descriptors,
    endpoint::Endpoint,
    entities::Entities,
    error::ServerError,
    ports_file::describe_ports,
    served::Served,
    settings::Settings,
    shared::{LogFigures, Shared},
    token_attempts::TokenAttempts,
    web::{self, Viewer},
};

/// Length below which a token causes a warning, bytes. At one attempt per second, guessing 16 letters from a word list
/// already takes longer than a run.
const ADVISED_TOKEN_BYTES: usize = 16;

/// All ports, bound but not yet served.
#[derive(Debug)]
pub struct Server {
    control: TcpListener,
    listeners: Vec<bind::Opened>,
    /// Ports that world edits open while the server runs.
    opened: mpsc::UnboundedReceiver<bind::Opened>,
    /// The served state of the first world.
    start: Arc<Served>,
    page: Option<web::PageListener>,
    /// Work for the thread that makes images.
    images: threads::Receiver<Work>,
    shared: Arc<Shared>,
}

impl Server {
    /// Binds the control port, the ports of all devices and the combined ports of all robots: all of them or none.
    ///
    /// # Errors
    /// When a port cannot be bound, two devices request the same port, or the address needs a token and there is none.
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
        if settings.token.as_ref().is_some_and(|token| token.len() < ADVISED_TOKEN_BYTES) {
            tracing::warn!(
                "server.token: a token of less than {ADVISED_TOKEN_BYTES} bytes can be guessed; `openssl rand -hex 16` makes a longer one"
            );
        }
        let board = CommandBoard::new(&layout);
        let start = Arc::new(Served::new(Arc::clone(&layout), board, bound.ports, None));
        let (opened, newly_opened) = mpsc::unbounded_channel();
        let (cameras, images) = Cameras::with_queue();
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
            cameras,
            viewer: OnceLock::new(),
            handle,
            settings,
        };
        Ok(Self {
            control: bound.control,
            listeners: bound.opened,
            opened: newly_opened,
            start,
            page: None,
            images,
            shared: Arc::new(shared),
        })
    }

    /// Adds the figures of the log to `STATE`.
    #[must_use]
    pub fn with_log(self, log: Arc<dyn LogFigures>) -> Self {
        // A second call has no effect.
        let _ = self.shared.log.set(log);
        self
    }

    /// Enables world edits (adding and removing robots), if `server.spawn` allows them.
    #[must_use]
    pub fn with_entities(self, entities: Arc<dyn Entities>) -> Self {
        let _ = self.shared.entities.set(entities);
        self
    }

    /// Provides the model of the running world, which the control port describes in the answer to `SCENE`.
    #[must_use]
    pub fn with_world(self, world: Arc<World>) -> Self {
        let _ = self.start.world.set(world);
        self
    }

    /// Binds the port of the viewer's page as well.
    ///
    /// # Errors
    /// When the port cannot be bound; no port is open then.
    pub async fn with_viewer(mut self, viewer: Viewer) -> Result<Self, ServerError> {
        let _ = self.start.world.set(Arc::clone(&viewer.world));
        let port = viewer.port;
        let page = self.page.insert(web::PageListener::bind(viewer, &self.shared)?);
        let _ = self.shared.viewer.set((port, page.address()));
        Ok(self)
    }

    /// Address of the viewer's page, if there is one.
    pub fn viewer_address(&self) -> Option<SocketAddr> {
        self.page.as_ref().map(web::PageListener::address)
    }

    /// Address of the control port.
    pub fn control_address(&self) -> SocketAddr {
        self.shared.control_address
    }

    /// All devices with the addresses of their ports.
    pub fn devices(&self) -> impl Iterator<Item = (&DeviceInfo, SocketAddr)> {
        self.start.layout.devices().iter().zip(self.start.devices.iter().map(|port| port.address))
    }

    /// All robots with the addresses of their combined ports.
    pub fn robots(&self) -> impl Iterator<Item = (&RobotInfo, SocketAddr)> {
        self.start.layout.robots().iter().zip(self.start.robots.iter().map(|port| port.address))
    }

    /// Content of the file that lists the ports.
    pub fn ports_file(&self) -> PortsFile {
        describe_ports(&self.start, self.control_address(), self.viewer_address())
    }

    /// Serves all ports until `stop` is sent or dropped, and returns when the last connection is closed.
    pub async fn run(mut self, mut stop: oneshot::Receiver<()>) {
        let (closing, closed) = watch::channel(false);
        if let Err(error) = start_studio(&self.shared, self.images) {
            tracing::warn!("cameras have no images: the thread that makes them cannot be started: {error}");
        }
        let mut endpoints = JoinSet::new();
        endpoints.spawn(accept::accept_clients(
            self.control,
            Endpoint::Control,
            Arc::clone(&self.shared),
            closed.clone(),
        ));
        for (listener, endpoint) in self.listeners {
            endpoints.spawn(accept::accept_clients(listener, endpoint, Arc::clone(&self.shared), closed.clone()));
        }
        if let Some(page) = self.page {
            endpoints.spawn(web::serve(page, Arc::clone(&self.shared), closed.clone()));
        }
        loop {
            tokio::select! {
                // Dropping the sender stops the server, too.
                _ = &mut stop => break,
                Some((listener, endpoint)) = self.opened.recv() => {
                    let shared = Arc::clone(&self.shared);
                    endpoints.spawn(accept::accept_clients(listener, endpoint, shared, closed.clone()));
                }
                // A port whose device or robot was deleted.
                Some(_) = endpoints.join_next() => {}
            }
        }
        closing.send_replace(true);
        self.shared.cameras.end_studio();
        while endpoints.join_next().await.is_some() {}
    }
}
