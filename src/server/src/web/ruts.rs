//! The ruts of the running world for all pages. One task queries them, several times a second and only while a page
//! wants them, and caches them for pages that open later.
//!
//! The physics thread returns each change once. A changed tile is cached under a revision number, which grows by one
//! with each. A page is sent the tiles that are newer than its last revision: in time all of them, and a tile that
//! changes fast only as often as the page's rate allows.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use simpartner_dynamics::{RUT_TILE, RutChanges, RutTile};
use tokio::{
    sync::watch,
    time::{Interval, sleep},
};

use super::timing::{changed, skipping_interval, tick};
use simpartner_realtime::{ChangedRuts, ControlError, Handle};

/// Interval between queries to the physics thread.
const QUERY_INTERVAL: Duration = Duration::from_millis(100);

/// Interval to the next query if more tiles have changed than fitted into an answer.
const FOLLOW_UP_INTERVAL: Duration = Duration::from_millis(20);

/// Largest number of tiles in an answer: copying them takes the physics thread about 10 us.
const TILES_PER_QUERY: usize = 16;

/// Largest number of tiles in a message to a page, so that the message does not delay frames for long.
const TILES_PER_MESSAGE: usize = 64;

/// Highest message rate that a page can request, Hz: the rate of [`QUERY_INTERVAL`].
const MAX_HZ: f64 = 10.0;

/// Length of a message's header, bytes.
const HEADER_BYTES: usize = 24;

/// Length of a tile in a message, bytes.
const TILE_BYTES: usize = 16 + 4 * RUT_TILE * RUT_TILE;

/// Length of the longest message, bytes.
pub(super) const LONGEST: usize = HEADER_BYTES + TILES_PER_MESSAGE * TILE_BYTES;

/// Index of the ground, and the tile's numbers along the ground's two axes.
type TileKey = (usize, [i32; 2]);

/// All ruts of the running world.
#[derive(Default)]
struct RutCache {
    /// Revision of the newest tile.
    revision: u64,
    /// Revision at the last start over (a new world, or a reset). A page at an older revision has outdated tiles.
    first_revision: u64,
    /// All tiles, each with its revision.
    tiles: BTreeMap<TileKey, (u64, RutTile)>,
    /// The same tiles in the order of their revisions.
    by_revision: BTreeMap<u64, TileKey>,
}

/// The ruts of the running world.
pub(super) struct Ruts {
    known: Mutex<RutCache>,
    /// The newest revision.
    newest: watch::Sender<u64>,
    /// Number of pages that want ruts.
    readers: watch::Sender<u32>,
}

impl RutCache {
    /// Adds the physics thread's answer.
    fn update(&mut self, tiles: &[RutTile], changes: RutChanges) {
        if changes.is_new_record {
            self.tiles.clear();
            self.by_revision.clear();
            self.revision += 1;
            self.first_revision = self.revision;
        }
        for tile in tiles {
            let key = (tile.ground, tile.tile);
            // A change below single precision leaves the tile equal; it would not be visible.
            let old = self.tiles.get(&key).filter(|(_, old)| old == tile);
            if old.is_none() {
                self.revision += 1;
                self.by_revision.insert(self.revision, key);
                let old = self.tiles.insert(key, (self.revision, tile.clone()));
                if let Some((revision, _)) = old {
                    self.by_revision.remove(&revision);
                }
            }
        }
    }

    /// The message with this number for a page at revision `page` (`None`: it has no tiles yet). Also returns the
    /// page's revision after the message.
    fn message(&self, number: u32, page: Option<u64>) -> (Vec<u8>, u64) {
        let page = page.filter(|page| *page >= self.first_revision);
        let next = page.map_or(0, |page| page + 1);
        let news: Vec<_> = self.by_revision.range(next..).take(TILES_PER_MESSAGE).collect();
        let length = HEADER_BYTES + news.len() * TILE_BYTES;
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(b"SPR1");
        for word in [length as u32, number, u32::from(page.is_none()), RUT_TILE as u32, news.len() as u32] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for key in news.iter().map(|(_, key)| *key) {
            let (ground, [first, second]) = key;
            bytes.extend_from_slice(&(*ground as u32).to_le_bytes());
            bytes.extend_from_slice(&first.to_le_bytes());
            bytes.extend_from_slice(&second.to_le_bytes());
            bytes.extend_from_slice(&[0; 4]);
            self.tiles[key].1.depths.iter().for_each(|depth| bytes.extend_from_slice(&depth.to_le_bytes()));
        }
        debug_assert_eq!(bytes.len(), length);
        (bytes, news.last().map_or(self.revision, |(revision, _)| **revision))
    }
}

impl Ruts {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { known: Mutex::default(), newest: watch::Sender::new(0), readers: watch::Sender::new(0) })
    }

    fn lock(&self) -> MutexGuard<'_, RutCache> {
        // The cache is consistent between any two statements, so a panic elsewhere does not corrupt it.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Queries the ruts until the run is over.
pub(super) async fn gather(ruts: Arc<Ruts>, handle: Handle) {
    let mut readers = ruts.readers.subscribe();
    let mut room = Vec::with_capacity(TILES_PER_QUERY);
    while readers.wait_for(|readers| *readers > 0).await.is_ok() {
        let more = match handle.changed_ruts(room).await {
            Ok(ChangedRuts { tiles, changes }) => {
                let revision = {
                    let mut known = ruts.lock();
                    known.update(&tiles, changes);
                    known.revision
                };
                ruts.newest.send_if_modified(|newest| std::mem::replace(newest, revision) != revision);
                room = tiles;
                room.clear();
                changes.more
            }
            Err(ControlError::Over) => return,
            // The queue is full: the next query will succeed.
            Err(ControlError::Full(_) | ControlError::WrongState(_)) => {
                room = Vec::with_capacity(TILES_PER_QUERY);
                false
            }
        };
        sleep(if more { FOLLOW_UP_INTERVAL } else { QUERY_INTERVAL }).await;
    }
}

/// A page's reader of the ruts.
pub(super) struct RutReader {
    ruts: Arc<Ruts>,
    newest: watch::Receiver<u64>,
    /// Timer that permits the next message; `None` while the page wants no ruts.
    pace: Option<Interval>,
    /// The page's revision; `None` before the first message.
    page: Option<u64>,
}

impl RutReader {
    pub(super) fn new(ruts: &Arc<Ruts>) -> Self {
        Self { newest: ruts.newest.subscribe(), ruts: Arc::clone(ruts), pace: None, page: None }
    }

    /// Sets the message rate that the page requests, Hz; at most 0.001 stops the messages.
    pub(super) fn set_rate(&mut self, hz: f64) {
        let wants = hz > 1e-3;
        let wanted = self.pace.is_some();
        self.ruts.readers.send_if_modified(|readers| {
            *readers = *readers + u32::from(wants) - u32::from(wanted);
            wants != wanted
        });
        self.pace = wants.then(|| skipping_interval(Duration::from_secs_f64(1.0 / hz.min(MAX_HZ))));
        // Cached tiles are sent at once.
        if wants && *self.newest.borrow() > 0 {
            self.newest.mark_changed();
        }
    }

    /// Waits until a message is permitted and there are new tiles. Cancel-safe.
    pub(super) async fn wait(&mut self) {
        tick(&mut self.pace).await;
        changed(&mut self.newest).await;
    }

    /// The next message to the page, with this number.
    pub(super) fn message(&mut self, number: u32) -> Vec<u8> {
        let known = self.ruts.lock();
        let (bytes, page) = known.message(number, self.page);
        self.page = Some(page);
        if page < known.revision {
            self.newest.mark_changed();
        }
        bytes
    }
}

impl Drop for RutReader {
    fn drop(&mut self) {
        if self.pace.is_some() {
            self.ruts.readers.send_modify(|readers| *readers -= 1);
        }
    }
}
