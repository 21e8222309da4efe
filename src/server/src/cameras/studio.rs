//! The thread that makes images. It never has real-time priority.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Weak,
        atomic::Ordering,
        mpsc::{self, TryRecvError},
    },
    thread,
};

use simpartner_model::{DeviceId, StepIndex};
use simpartner_realtime::{BackgroundNiceness, now_ns};
use simpartner_render::Scene;
use simpartner_simulation::camera::{CameraModel, poses_of};
use simpartner_wire::signal::{Event, EventKind, StepRecord};
use tokio::sync::oneshot;

use super::{Cameras, Frame, NoImage};
use crate::{served::Served, shared::Shared};

/// Largest number of steps whose poses are kept for images that arrive later: a camera with a latency of 10 s, the
/// longest, and 100 images per second.
const MAX_KEPT_STEPS: usize = 1000;

/// Largest memory of these steps, bytes.
const MAX_KEPT_BYTES: usize = 64_000_000;

/// Shortest time between two events that say how many images of a camera were left out, nanoseconds.
const REPORT_INTERVAL_NS: u64 = 1_000_000_000;

/// Work for the studio.
#[derive(Debug)]
pub(crate) enum Work {
    /// Images are taken or arrive.
    Record(Arc<StepRecord>),
    /// A client wants the image that has arrived last.
    Newest {
        /// The camera's port.
        camera: u32,
        /// For the image.
        answer: oneshot::Sender<Result<Arc<Frame>, NoImage>>,
    },
    /// The server is closing.
    End,
}

/// The image of a camera that has arrived last.
struct Arrival {
    served: Arc<Served>,
    device: DeviceId,
    epoch: u32,
    step: StepIndex,
    source: Source,
    /// Number of images that have arrived from the camera.
    number: u64,
    /// True if the camera had a subscriber when it arrived.
    is_due: bool,
    /// The image, once it is made.
    made: Option<Result<Arc<Frame>, NoImage>>,
    /// Clients that wait for it.
    waiting: Vec<oneshot::Sender<Result<Arc<Frame>, NoImage>>>,
    /// Number of images that were due and not made, since the last event about them.
    left_out: u64,
    /// Time of that event, monotonic nanoseconds.
    reported_ns: u64,
    /// The studio's turn in which an image of the camera was made last.
    turn: u64,
}

/// What an image is made from.
enum Source {
    /// The record of its step.
    Record(Arc<StepRecord>),
    /// The random number that a camera with the fault `garbage` reads.
    Garbage(f64),
    /// Nothing: the record of its step is no longer kept.
    Lost,
}

/// What images of a world need.
struct Stage {
    world: u32,
    scene: Result<Scene, NoImage>,
    models: HashMap<DeviceId, Result<CameraModel, NoImage>>,
}

/// The state of the thread.
pub(in crate::cameras) struct Studio {
    shared: Weak<Shared>,
    cameras: Arc<Cameras>,
    threads: usize,
    stage: Option<Stage>,
    /// Records of steps of which images have yet to arrive.
    kept: BTreeMap<StepIndex, Arc<StepRecord>>,
    kept_epoch: u32,
    arrivals: HashMap<u32, Arrival>,
    /// Number of images made.
    turns: u64,
    niceness: BackgroundNiceness,
}

impl Studio {
    pub(super) fn new(shared: Weak<Shared>, cameras: Arc<Cameras>) -> Self {
        // One core is left to the physics.
        let threads = thread::available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1).max(1));
        Self {
            shared,
            cameras,
            threads,
            stage: None,
            kept: BTreeMap::new(),
            kept_epoch: 0,
            arrivals: HashMap::new(),
            turns: 0,
            niceness: BackgroundNiceness::new(),
        }
    }

    /// Makes images until the server closes. `first` is the record that was published last.
    pub(super) fn run(mut self, first: &Arc<StepRecord>, work: &mpsc::Receiver<Work>) {
        self.take_record(first);
        let mut next = work.recv().ok();
        while let Some(item) = next
            && self.take(item).is_some()
        {
            next = self.next_item(work);
        }
    }

    /// Waits for an item, and makes images meanwhile. With deadlines, a camera's newest image replaces one that is not
    /// made yet; without them, all are made before the next item.
    fn next_item(&mut self, work: &mpsc::Receiver<Work>) -> Option<Work> {
        if self.shared.upgrade().is_none_or(|shared| !shared.handle.has_deadlines()) {
            while self.make_next() {}
        }
        loop {
            match work.try_recv() {
                Ok(item) => return Some(item),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) if self.make_next() => {}
                Err(TryRecvError::Empty) => return work.recv().ok(),
            }
        }
    }

    /// Takes in one item. `None` at the end.
    fn take(&mut self, item: Work) -> Option<()> {
        match item {
            Work::Record(record) => {
                self.take_record(&record);
                self.cameras.waiting.fetch_sub(1, Ordering::AcqRel);
            }
            Work::Newest { camera, answer } => self.wait_for(camera, answer),
            Work::End => return None,
        }
        Some(())
    }

    /// Notes the images that a record takes, and those that arrive in it.
    fn take_record(&mut self, record: &Arc<StepRecord>) {
        let Some(served) = self.shared.upgrade().and_then(|shared| shared.served_as(record.world)) else { return };
        if self.kept_epoch != record.epoch {
            self.kept.clear();
            self.kept_epoch = record.epoch;
        }
        let is_late = |device: &DeviceId| {
            !record.arrived.contains(device) || record.device(&served.layout, *device) != [record.step.0 as f64]
        };
        if record.exposed.iter().any(is_late) {
            self.kept.insert(record.step, Arc::clone(record));
            let most = (MAX_KEPT_BYTES / (size_of::<f64>() * served.layout.len().max(1))).clamp(1, MAX_KEPT_STEPS);
            while self.kept.len() > most {
                self.kept.pop_first();
            }
        }
        for device in &record.arrived {
            self.take_arrival(record, &served, *device);
        }
    }

    fn take_arrival(&mut self, record: &Arc<StepRecord>, served: &Arc<Served>, device: DeviceId) {
        let Some(camera) = served.devices.get(device.index()).map(|port| port.number) else { return };
        let reading = record.device(&served.layout, device).first().copied().unwrap_or_default();
        let step = StepIndex(reading as u64);
        if let Some(known) = self.arrivals.get(&camera).filter(|old| (old.epoch, old.step) == (record.epoch, step)) {
            // A camera that is stuck, or a world edit: no image is new. Another world has other ids.
            if known.served.layout.world() == record.world {
                return;
            }
        }
        let source = match step {
            _ if step > record.step => Source::Garbage(reading),
            _ if step == record.step => Source::Record(Arc::clone(record)),
            _ => self.kept.get(&step).cloned().map_or(Source::Lost, Source::Record),
        };
        let is_due = self.cameras.outlet(camera).is_wanted();
        let place = self.arrivals.entry(camera).or_insert_with(|| Arrival::none(served, device));
        place.left_out += u64::from(place.is_due && place.made.is_none());
        *place = Arrival {
            served: Arc::clone(served),
            device,
            epoch: record.epoch,
            step: step.min(record.step),
            source,
            number: place.number + 1,
            is_due,
            made: None,
            waiting: std::mem::take(&mut place.waiting),
            ..*place
        };
        self.report_left_out(camera);
    }

    fn wait_for(&mut self, camera: u32, answer: oneshot::Sender<Result<Arc<Frame>, NoImage>>) {
        // A client that does not take the answer is gone.
        let _ = match self.arrivals.get_mut(&camera) {
            Some(Arrival { made: Some(made), .. }) => answer.send(made.clone()),
            Some(arrival) => return arrival.waiting.push(answer),
            None => answer.send(Err("no image of this camera has arrived yet".into())),
        };
    }

    /// Makes one image that somebody wants. False if nobody wants one.
    fn make_next(&mut self) -> bool {
        let is_wanted = |arrival: &Arrival| arrival.made.is_none() && (arrival.is_due || !arrival.waiting.is_empty());
        let wanted = self.arrivals.iter().filter(|(_, arrival)| is_wanted(arrival));
        // The camera whose turn is longest ago, so that none is passed over.
        let Some((&camera, _)) = wanted.min_by_key(|(camera, arrival)| (arrival.turn, **camera)) else { return false };
        let made = self.frame_of(camera);
        self.turns += 1;
        if let Some(arrival) = self.arrivals.get_mut(&camera) {
            if let (Ok(frame), true) = (&made, arrival.is_due) {
                self.cameras.outlet(camera).newest.send_replace(Some(Arc::clone(frame)));
            }
            // A client may be gone.
            arrival.waiting.drain(..).for_each(|answer| drop(answer.send(made.clone())));
            (arrival.made, arrival.turn) = (Some(made), self.turns);
        }
        true
    }

    fn frame_of(&mut self, camera: u32) -> Result<Arc<Frame>, NoImage> {
        self.niceness.apply();
        let ended = || "the server is closing".to_owned();
        let shared = self.shared.upgrade().ok_or_else(ended)?;
        let arrival = self.arrivals.get(&camera).ok_or_else(ended)?;
        if self.stage.as_ref().is_none_or(|stage| stage.world != arrival.served.layout.world()) {
            self.stage = Some(Stage::of(&arrival.served)?);
        }
        let stage = self.stage.as_ref().ok_or_else(ended)?;
        let model = stage.models.get(&arrival.device).ok_or("this device is no camera")?.as_ref()?;
        let images = match &arrival.source {
            Source::Garbage(reading) => model.garbage(*reading),
            Source::Lost => return Err("its latency is too long: the poses of its step are no longer in memory".into()),
            Source::Record(record) => {
                let (scene, poses) = (stage.scene.as_ref()?, poses_of(record, &arrival.served.layout));
                let images = model.images(scene, &poses, arrival.step, self.threads);
                images.map_err(|error| error.to_string())?
            }
        };
        Ok(Arc::new(Frame::new(arrival.number, arrival.step, shared.handle.timestep(), images)))
    }

    /// Logs the number of images of a camera that were left out, at most once in a second.
    fn report_left_out(&mut self, camera: u32) {
        let Some(arrival) = self.arrivals.get_mut(&camera) else { return };
        if arrival.left_out == 0 || now_ns() - arrival.reported_ns < REPORT_INTERVAL_NS {
            return;
        }
        let Some(shared) = self.shared.upgrade() else { return };
        let info = arrival.served.layout.device_info(arrival.device);
        let text =
            format!("{} images of {} were not made, since the processor has no time", arrival.left_out, info.name);
        let value = Some(arrival.left_out as f64);
        let event =
            Event { step: StepIndex(0), kind: EventKind::ImagesLeftOut, subject: info.name.clone(), text, value };
        // While the queue is full, the number grows until the next image.
        if shared.handle.note(event).is_ok() {
            (arrival.left_out, arrival.reported_ns) = (0, now_ns());
        }
    }
}

impl Arrival {
    /// The state of a camera from which no image has arrived.
    fn none(served: &Arc<Served>, device: DeviceId) -> Self {
        Self {
            served: Arc::clone(served),
            device,
            epoch: 0,
            step: StepIndex(0),
            source: Source::Lost,
            number: 0,
            is_due: false,
            made: None,
            waiting: Vec::new(),
            left_out: 0,
            reported_ns: now_ns(),
            turn: 0,
        }
    }
}

impl Stage {
    fn of(served: &Served) -> Result<Self, NoImage> {
        let world = served.world.get().ok_or("the server was given no world to look at")?;
        let scene = Scene::new(&world.mechanism).map_err(|error| error.to_string());
        let seed = served.layout.seed();
        let devices = (0..world.devices.len()).map(DeviceId::new);
        let models = devices.filter_map(|id| Some((id, CameraModel::new(world, id, seed)?)));
        let models = models.map(|(id, model)| (id, model.map_err(|error| error.to_string())));
        Ok(Self { world: served.layout.world(), scene, models: models.collect() })
    }
}
