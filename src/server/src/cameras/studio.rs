//! The thread that makes images. It never has real-time priority.

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::Ordering,
        mpsc::{self, TryRecvError},
    },
    thread,
    time::Duration,
};

use simpartner_model::{DeviceId, StepIndex};
use simpartner_realtime::{BackgroundNiceness, ControlError, ImageSink, now_ns};
use simpartner_render::Scene;
use simpartner_simulation::camera::{Arrival, Arrivals, CameraModel, ImageSource, hash_text};
use simpartner_wire::signal::{Event, EventKind, StepRecord};
use tokio::sync::oneshot;

use super::{
    exchange::{Cameras, NoImage, Work},
    frame::Frame,
};
use crate::{served::Served, shared::Shared};

/// Shortest time between two events that say how many images of a camera were left out, nanoseconds.
const REPORT_INTERVAL_NS: u64 = 1_000_000_000;

/// Pause before a retry while the queue to the physics thread is full.
const QUEUE_PAUSE: Duration = Duration::from_millis(1);

/// The image of a camera that has arrived last.
struct Newest {
    served: Arc<Served>,
    device: DeviceId,
    epoch: u32,
    step: StepIndex,
    source: ImageSource,
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

/// The scene and the cameras of a world.
struct Stage {
    world: u32,
    scene: Result<Scene, NoImage>,
    models: HashMap<DeviceId, Result<CameraModel, NoImage>>,
}

/// The state of the thread.
struct Studio {
    shared: Weak<Shared>,
    cameras: Arc<Cameras>,
    threads: usize,
    stage: Option<Stage>,
    /// Steps of which images have yet to arrive.
    expected: Arrivals,
    /// The image of each camera that has arrived last, by the serial number of its port.
    newest: HashMap<u32, Newest>,
    /// Number of images made.
    turns: u64,
    niceness: BackgroundNiceness,
}

/// Starts the thread, which ends with the server.
///
/// # Errors
/// The operating system refuses to start a thread.
pub(crate) fn start_studio(shared: &Arc<Shared>, work: mpsc::Receiver<Work>) -> std::io::Result<()> {
    let first = shared.handle.records().present();
    let studio = Studio::of_server(Arc::downgrade(shared), Arc::clone(&shared.cameras));
    thread::Builder::new().name("images".into()).spawn(move || studio.make_images(&first, &work))?;
    shared.handle.set_image_sink(Arc::clone(&shared.cameras) as Arc<dyn ImageSink>);
    Ok(())
}

impl Studio {
    fn of_server(shared: Weak<Shared>, cameras: Arc<Cameras>) -> Self {
        // One core is left to the physics.
        let threads = thread::available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1).max(1));
        Self {
            shared,
            cameras,
            threads,
            stage: None,
            expected: Arrivals::default(),
            newest: HashMap::new(),
            turns: 0,
            niceness: BackgroundNiceness::of_this_thread(),
        }
    }

    /// Makes images until the server closes. `first` is the record that was published last.
    fn make_images(mut self, first: &Arc<StepRecord>, work: &mpsc::Receiver<Work>) {
        self.take_record(first);
        // Images of before the start are for clients that ask, even if some have subscribed meanwhile.
        self.newest.values_mut().for_each(|newest| newest.is_due = false);
        let mut next = work.recv().ok();
        while let Some(item) = next
            && self.take_item(item).is_some()
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
    fn take_item(&mut self, item: Work) -> Option<()> {
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

    /// Notes the images that arrive in a record.
    fn take_record(&mut self, record: &Arc<StepRecord>) {
        let Some(served) = self.shared.upgrade().and_then(|shared| shared.served_as(record.world)) else { return };
        for arrival in self.expected.take(record, &served.layout) {
            self.take_arrival(record, &served, arrival);
        }
    }

    fn take_arrival(&mut self, record: &StepRecord, served: &Arc<Served>, arrival: Arrival) {
        let Arrival { device, step, source } = arrival;
        let Some(camera) = served.devices.get(device.index()).map(|port| port.number) else { return };
        let (served, device, source) = match source {
            // The image is of the world before an edit, in which bodies and devices have other ids.
            ImageSource::Record(of) if of.world != record.world => match self.device_in(of.world, camera) {
                Some((served, device)) => (served, device, ImageSource::Record(of)),
                None => (Arc::clone(served), device, ImageSource::Lost),
            },
            source => (Arc::clone(served), device, source),
        };
        let is_due = self.cameras.outlet_of(camera).is_wanted();
        let newest = self.newest.entry(camera).or_insert_with(|| Newest::before_first(&served, device));
        if newest.number > 0 && (newest.epoch, newest.step) == (record.epoch, step) {
            // A camera that is stuck has no new image, and a world edit makes none.
            return;
        }
        newest.left_out += u64::from(newest.is_due && newest.made.is_none());
        (newest.served, newest.device) = (served, device);
        (newest.epoch, newest.step, newest.source) = (record.epoch, step, source);
        (newest.number, newest.is_due, newest.made) = (newest.number + 1, is_due, None);
        self.report_left_out(camera);
    }

    /// The camera of a port in a world by its number, if the server still knows that world.
    fn device_in(&self, world: u32, camera: u32) -> Option<(Arc<Served>, DeviceId)> {
        let served = self.shared.upgrade()?.served_as(world)?;
        let device = served.device_at(camera)?;
        Some((served, device))
    }

    fn wait_for(&mut self, camera: u32, answer: oneshot::Sender<Result<Arc<Frame>, NoImage>>) {
        // A client that does not take the answer is gone.
        let _ = match self.newest.get_mut(&camera) {
            Some(Newest { made: Some(made), .. }) => answer.send(made.clone()),
            Some(newest) => return newest.waiting.push(answer),
            None => answer.send(Err("no image of this camera has arrived yet".into())),
        };
    }

    /// Makes one image that somebody wants. False if nobody wants one.
    fn make_next(&mut self) -> bool {
        let is_wanted = |newest: &Newest| newest.made.is_none() && (newest.is_due || !newest.waiting.is_empty());
        let wanted = self.newest.iter().filter(|(_, newest)| is_wanted(newest));
        // The camera whose turn is longest ago, so that none is passed over.
        let Some((&camera, _)) = wanted.min_by_key(|(camera, newest)| (newest.turn, **camera)) else { return false };
        let made = self.frame_of(camera);
        self.turns += 1;
        if let Ok(frame) = &made {
            self.log_image(camera, frame);
        }
        if let Some(newest) = self.newest.get_mut(&camera) {
            if let (Ok(frame), true) = (&made, newest.is_due) {
                let shared = self.shared.clone();
                let has_deadlines = || shared.upgrade().is_none_or(|shared| shared.handle.has_deadlines());
                self.cameras.outlet_of(camera).deliver_to_all(frame, has_deadlines);
            }
            // A client may be gone.
            newest.waiting.drain(..).for_each(|answer| drop(answer.send(made.clone())));
            (newest.made, newest.turn) = (Some(made), self.turns);
        }
        true
    }

    fn frame_of(&mut self, camera: u32) -> Result<Arc<Frame>, NoImage> {
        self.niceness.apply();
        let ended = || "the server is closing".to_owned();
        let shared = self.shared.upgrade().ok_or_else(ended)?;
        let newest = self.newest.get(&camera).ok_or_else(ended)?;
        if self.stage.as_ref().is_none_or(|stage| stage.world != newest.served.layout.world()) {
            self.stage = Some(Stage::of_world(&newest.served)?);
        }
        let stage = self.stage.as_mut().ok_or_else(ended)?;
        let model = stage.models.get(&newest.device).ok_or("this device is no camera")?.as_ref()?;
        let scene = stage.scene.as_mut().map_err(|error| error.clone())?;
        let images = model.images_from(&newest.source, scene, &newest.served.layout, self.threads)?;
        Ok(Arc::new(Frame::of_images(newest.number, newest.step, shared.handle.timestep(), images)))
    }

    /// Logs the hashes of a frame, if the settings say so. Without deadlines it waits for room in the queue.
    fn log_image(&self, camera: u32, frame: &Frame) {
        let (Some(shared), Some(newest)) = (self.shared.upgrade(), self.newest.get(&camera)) else { return };
        let ImageSource::Record(record) = &newest.source else { return };
        if !shared.settings.logs_images {
            return;
        }
        let info = newest.served.layout.device_info(newest.device);
        let event = Event {
            step: record.step,
            kind: EventKind::Image,
            subject: format!("{}/{}", info.robot, info.name),
            text: hash_text(&frame.images),
            value: Some(newest.step.0 as f64),
        };
        while let Err(ControlError::Full(_)) = shared.handle.note_of_run(event.clone(), record.epoch, record.world) {
            if shared.handle.has_deadlines() {
                break;
            }
            thread::sleep(QUEUE_PAUSE);
        }
    }

    /// Logs the number of images of a camera that were left out, at most once in a second.
    fn report_left_out(&mut self, camera: u32) {
        let Some(newest) = self.newest.get_mut(&camera) else { return };
        if newest.left_out == 0 || now_ns() - newest.reported_ns < REPORT_INTERVAL_NS {
            return;
        }
        let Some(shared) = self.shared.upgrade() else { return };
        let info = newest.served.layout.device_info(newest.device);
        let text =
            format!("{} images of {} were not made, since the processor has no time", newest.left_out, info.name);
        let value = Some(newest.left_out as f64);
        let event =
            Event { step: StepIndex(0), kind: EventKind::ImagesLeftOut, subject: info.name.clone(), text, value };
        // While the queue is full, the number grows until the next image.
        if shared.handle.note(event).is_ok() {
            (newest.left_out, newest.reported_ns) = (0, now_ns());
        }
    }
}

impl Drop for Studio {
    /// Nobody takes the waiting records any more, so the clock must not wait for that.
    fn drop(&mut self) {
        self.cameras.waiting.store(0, Ordering::Release);
    }
}

impl Newest {
    /// The state of a camera from which no image has arrived.
    fn before_first(served: &Arc<Served>, device: DeviceId) -> Self {
        Self {
            served: Arc::clone(served),
            device,
            epoch: 0,
            step: StepIndex(0),
            source: ImageSource::Lost,
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
    fn of_world(served: &Served) -> Result<Self, NoImage> {
        let world = served.world.get().ok_or("the server was given no world to look at")?;
        let scene = Scene::new(&world.mechanism).map_err(|error| error.to_string());
        let seed = served.layout.seed();
        let devices = (0..world.devices.len()).map(DeviceId::new);
        let models = devices.filter_map(|id| Some((id, CameraModel::new(world, id, seed)?)));
        let models = models.map(|(id, model)| (id, model.map_err(|error| error.to_string())));
        Ok(Self { world: served.layout.world(), scene, models: models.collect() })
    }
}
