//! The ruts of the running world for all pages: asked for by one task, a few times a second and only while a page wants them, and kept for
//! pages that come late.
//!
//! The physics thread gives tiles out once. They are kept here under a revision that grows with each tile that comes, and a page is sent the
//! tiles that are newer than what it has: in time all of them, and a tile that changes fast only as often as the page's pace allows.

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

use super::timing::{changed, grid, tick};
use simpartner_realtime::{ChangedRuts, ControlError, Handle};

/// How often the physics thread is asked, and how soon again if it had more to tell than fitted.
const EVERY: Duration = Duration::from_millis(100);
const SOON: Duration = Duration::from_millis(20);

/// How many tiles are asked for at a time: the copying takes the physics thread about 10 us.
const TILES: usize = 16;

/// The most tiles in a message, so that it holds up no frame for long.
const TILES_A_MESSAGE: usize = 64;

/// The most messages a second that a page may ask for; nothing is known more often.
const HIGHEST_HZ: f64 = 10.0;

/// Length of the head and of a tile, bytes.
const HEAD: usize = 24;
const TILE: usize = 16 + 4 * RUT_TILE * RUT_TILE;

/// Length of the longest message, bytes.
pub(super) const LONGEST: usize = HEAD + TILES_A_MESSAGE * TILE;

type Key = (usize, [i32; 2]);

/// What is known of the ruts.
#[derive(Default)]
struct Known {
    /// Of the newest tile.
    revision: u64,
    /// When the world was built: a page that has only older tiles has those of another world.
    beginning: u64,
    tiles: BTreeMap<Key, (u64, RutTile)>,
    by_revision: BTreeMap<u64, Key>,
}

/// The ruts of the running world.
pub(super) struct Ruts {
    known: Mutex<Known>,
    /// The newest revision.
    newest: watch::Sender<u64>,
    /// How many pages want them.
    readers: watch::Sender<u32>,
}

impl Known {
    /// Takes in what the physics thread has told.
    fn take(&mut self, tiles: &[RutTile], changes: RutChanges) {
        if changes.anew {
            self.tiles.clear();
            self.by_revision.clear();
            self.revision += 1;
            self.beginning = self.revision;
        }
        for tile in tiles {
            let key = (tile.ground, tile.tile);
            // What has become deeper by less than a single tells is nothing to see.
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

    /// The message of that number for a page that has what was known at a revision, or nothing yet, and the revision that it then has.
    fn message(&self, number: u32, page: Option<u64>) -> (Vec<u8>, u64) {
        let page = page.filter(|page| *page >= self.beginning);
        let next = page.map_or(0, |page| page + 1);
        let news: Vec<_> = self.by_revision.range(next..).take(TILES_A_MESSAGE).collect();
        let length = HEAD + news.len() * TILE;
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

    fn lock(&self) -> MutexGuard<'_, Known> {
        // What is known is consistent between any two statements, so a panic elsewhere does not corrupt it.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks for the ruts until the run is over.
pub(super) async fn gather(ruts: Arc<Ruts>, handle: Handle) {
    let mut readers = ruts.readers.subscribe();
    let mut room = Vec::with_capacity(TILES);
    while readers.wait_for(|readers| *readers > 0).await.is_ok() {
        let more = match handle.changed_ruts(room).await {
            Ok(ChangedRuts { tiles, changes }) => {
                let revision = {
                    let mut known = ruts.lock();
                    known.take(&tiles, changes);
                    known.revision
                };
                ruts.newest.send_if_modified(|newest| std::mem::replace(newest, revision) != revision);
                room = tiles;
                room.clear();
                changes.more
            }
            Err(ControlError::Over) => return,
            // The queue is full: the next answer will do.
            Err(ControlError::Full(_) | ControlError::WrongState(_)) => {
                room = Vec::with_capacity(TILES);
                false
            }
        };
        sleep(if more { SOON } else { EVERY }).await;
    }
}

/// What a page knows of the ruts.
pub(super) struct RutReader {
    ruts: Arc<Ruts>,
    newest: watch::Receiver<u64>,
    /// Ticks when the next message may be made; `None` while none is wanted.
    pace: Option<Interval>,
    page: Option<u64>,
}

impl RutReader {
    pub(super) fn new(ruts: &Arc<Ruts>) -> Self {
        Self { newest: ruts.newest.subscribe(), ruts: Arc::clone(ruts), pace: None, page: None }
    }

    /// The page wants so many messages a second, or none.
    pub(super) fn want(&mut self, hz: f64) {
        let wants = hz > 1e-3;
        let wanted = self.pace.is_some();
        self.ruts.readers.send_if_modified(|readers| {
            *readers = *readers + u32::from(wants) - u32::from(wanted);
            wants != wanted
        });
        self.pace = wants.then(|| grid(Duration::from_secs_f64(1.0 / hz.min(HIGHEST_HZ))));
        // What is known already is sent at once.
        if wants && *self.newest.borrow() > 0 {
            self.newest.mark_changed();
        }
    }

    /// Waits until a message is due that tells something new. Cancelling it loses nothing.
    pub(super) async fn wait(&mut self) {
        tick(&mut self.pace).await;
        changed(&mut self.newest).await;
    }

    /// The message of that number.
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
