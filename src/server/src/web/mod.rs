//! The viewer's page and its data, over HTTP and a WebSocket. `clients/viewer/PROTOCOL.md` documents the messages.
//!
//! A page is a client like any other: a command takes the same path as on a device's port, a line for the clock that of
//! the control port, and the page is sent the newest record only, when it has taken up those before. Connections are
//! bounded, and nothing waits for a slow one. `docs` serves the documentation. Start at [`serve`]; `guard` decides
//! which requests are let in, `live` is the connection of an open page.

pub(crate) mod archive;
mod cameras;
mod clock;
mod context;
mod docs;
mod document;
mod files;
mod frame;
mod grasp;
mod guard;
mod json;
mod live;
mod permitted;
mod runs;
mod ruts;
mod timing;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::{
        Request, State, WebSocketUpgrade,
        connect_info::{ConnectInfo, Connected},
    },
    http::{HeaderValue, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
    serve::{IncomingStream, Listener},
};
use simpartner_description::World;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    time::{sleep, timeout},
};

pub use self::{
    archive::{Answer, Archive, ArchiveError, LoggedCommands, LoggedEvent, LoggedRun, RunModel},
    document::FindDocument,
    grasp::{GraspServer, grasp_page},
};

use self::{context::Web, guard::Shown, json::json, permitted::Permitted};
use super::{bind, client_events::judge_token, endpoint::Endpoint, error::ServerError, shared::Shared};
use simpartner_realtime::now_ns;

/// Largest number of requests to the log that are answered at the same time.
const LOOKUPS: usize = 2;

/// The longest message a page may send, bytes.
const LONGEST: usize = 64 * 1024;

/// Pause before the next `accept` when the system has no free sockets.
const BACK_OFF: Duration = Duration::from_millis(50);

/// Contents of the page.
#[derive(Clone)]
pub struct Viewer {
    /// Its port; 0 asks for a free one, and so does one that is taken.
    pub port: u16,
    /// The world that is simulated.
    pub world: Arc<World>,
    /// The runs of the log, where there is one.
    pub archive: Option<Arc<dyn Archive>>,
    /// The documentation at `/docs`, where the program has one.
    pub documentation: Option<FindDocument>,
}

/// The page's port, bound but not yet served.
pub(super) struct PageListener {
    listener: TcpListener,
    address: SocketAddr,
    viewer: Viewer,
}

impl std::fmt::Debug for PageListener {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PageListener").field("address", &self.address).finish_non_exhaustive()
    }
}

impl PageListener {
    pub(super) fn bind(viewer: Viewer, shared: &Shared) -> Result<Self, ServerError> {
        let listen = |port| bind::listen_for_page(&shared.settings, port, "viewer.port", "the viewer's page");
        let (listener, address) = listen(viewer.port).or_else(|error| match &error {
            // Nothing but a bookmark depends on this port, so a second server takes another.
            ServerError::Bind { address, cause, .. } if cause.kind() == io::ErrorKind::AddrInUse => {
                tracing::warn!("viewer.port: {} is taken; the page is on another port", address.port());
                listen(0)
            }
            _ => Err(error),
        })?;
        Ok(Self { listener, address, viewer })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves the page until the server closes, and returns when the last page is closed.
pub(super) async fn serve(page: PageListener, shared: Arc<Shared>, closed: watch::Receiver<bool>) {
    let PageListener { listener, viewer, .. } = page;
    let patience = shared.settings.limits.unread;
    let (pages, watched) = watch::channel(0);
    let (asker, status) = clock::Asker::new();
    let asking = tokio::spawn(clock::ask(Arc::clone(&asker), shared.handle.clone(), watched.clone()));
    let listener = Limited { listener, shared: Arc::clone(&shared) };
    let web = Arc::new(Web {
        archive: viewer.archive,
        documentation: viewer.documentation,
        lookups: Semaphore::new(LOOKUPS),
        guard: guard::Guard::new(&shared.settings),
        status,
        asker,
        ruts: ruts::Ruts::new(),
        pages,
        closed: closed.clone(),
        shared,
    });
    // Nothing but soil has ruts.
    let has_soil = viewer.world.mechanism.grounds.iter().any(|ground| ground.material().soil.is_some());
    let gathering = has_soil.then(|| tokio::spawn(ruts::gather(Arc::clone(&web.ruts), web.shared.handle.clone())));
    let mut closing = closed.clone();
    let stop = async move {
        // An error means that the server is gone altogether.
        let _ = closing.wait_for(|closed| *closed).await;
    };
    let app = routes(web).into_make_service_with_connect_info::<Peer>();
    let serving = tokio::spawn(axum::serve(listener, app).with_graceful_shutdown(stop).into_future());
    let mut closing = closed;
    let _ = closing.wait_for(|closed| *closed).await;
    // Answers under way have as long as any client has to take one.
    let mut watched = watched;
    let _ = timeout(patience, async {
        let _ = watched.wait_for(|pages| *pages == 0).await;
        let _ = serving.await;
    })
    .await;
    asking.abort();
    gathering.iter().for_each(tokio::task::JoinHandle::abort);
}

fn routes(web: Arc<Web>) -> Router {
    Router::new()
        .route("/scene.json", get(scene))
        .route("/runs.json", get(runs::list))
        .route("/runs/{id}/scene.json", get(runs::scene))
        .route("/runs/{id}/frames", get(runs::frames))
        .route("/runs/{id}/events.json", get(runs::events))
        .route("/runs/{id}/commands.json", get(runs::commands))
        .route("/cameras", get(cameras::list_cameras))
        .route("/cameras/{robot}/{file}", get(cameras::camera_image))
        .route("/live", get(open_live))
        .route("/docs", get(docs::redirect))
        .route("/docs/", get(docs::answer))
        .route("/docs/{*path}", get(docs::answer))
        .fallback(get(files::answer))
        .layer(middleware::from_fn_with_state(Arc::clone(&web), watch_over))
        .with_state(web)
}

/// The scene of the running world, whose text all answers share.
async fn scene(State(web): State<Arc<Web>>) -> Response {
    match web.shared.scene() {
        Some(scene) => json(Bytes::from_owner(Arc::<[u8]>::from(scene))),
        None => (StatusCode::NOT_FOUND, "the server was given no world\n").into_response(),
    }
}

async fn open_live(
    State(web): State<Arc<Web>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let upgrade = upgrade
        .max_message_size(LONGEST)
        .max_frame_size(LONGEST)
        .max_write_buffer_size(web.unread_bytes())
        .protocols([guard::SUBPROTOCOL]);
    if upgrade.selected_protocol().is_none() {
        let text = format!("expected the subprotocol {}\n", guard::SUBPROTOCOL);
        return (StatusCode::BAD_REQUEST, text).into_response();
    }
    upgrade.on_upgrade(move |socket| live::talk(socket, web, peer.0))
}

/// Lets a request in or refuses it, and gives every answer its headers.
async fn watch_over(
    State(web): State<Arc<Web>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let refusal = match web.guard.refuse(request.uri().path(), request.headers()) {
        Some(refusal) => Some(refusal),
        None => {
            let is_admitted = match web.guard.shown(request.uri().path(), request.headers()) {
                // Without a token in the settings there is nothing to guess.
                Shown::Right if !web.guard.asks_for_token() => true,
                Shown::Nothing => false,
                shown => judge_token(&web.shared, peer.0.ip(), shown == Shown::Right).await,
            };
            (!is_admitted).then_some((StatusCode::UNAUTHORIZED, "expected the server's token"))
        }
    };
    let mut response = match refusal {
        Some((status, why)) => (status, format!("{why}\n")).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in guard::HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Where a connection comes from, for the log.
#[derive(Debug, Clone, Copy)]
struct Peer(SocketAddr);

impl Connected<IncomingStream<'_, Limited>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Limited>) -> Self {
        Self(*stream.remote_addr())
    }
}

/// A listener that lets in a bounded number; others are closed at once.
struct Limited {
    listener: TcpListener,
    shared: Arc<Shared>,
}

impl Listener for Limited {
    type Io = Permitted;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Permitted, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    if let Ok(place) = self.shared.connections.admit(Endpoint::Page, address.ip(), now_ns()) {
                        // Frames are to leave at once; without it they only leave later.
                        let _ = stream.set_nodelay(true);
                        return (Permitted::new(stream, place, &self.shared.settings.limits), address);
                    }
                }
                // Out of descriptors, most likely; those in use go on.
                Err(_) => sleep(BACK_OFF).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}
