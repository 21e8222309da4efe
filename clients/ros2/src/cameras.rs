//! Cameras: their topics, and the tasks that fetch images while somebody subscribes.
//!
//! A task waits for subscribers of its topics and subscribes to the camera's port then. It publishes the newest image
//! and drops those that came in the meantime.

use std::{cell::Cell, rc::Rc, time::Duration};

use anyhow::{Context, Result};
use simpartner_wire::signal::{CameraOptics, DeviceKind, Encoding};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{interval, sleep},
};

use crate::{
    images::{self, Form, Frame, read_frame},
    lens::{directions, read_optics},
    link::{Link, Reader, Server},
    messages::{CameraInfo, CompressedImage, Image, PointCloud2},
    ros::{Publish, Ros, Subscribers},
    scene::Device,
};

/// Subscribers come and go without a message to this side; they are looked for at this interval.
const SUBSCRIBER_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Wait after a connection to a camera has ended, until the next.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// A camera whose topics are to be opened.
#[derive(Debug)]
pub struct Camera<'a> {
    /// The device.
    pub device: &'a Device,
    /// Its optical frame.
    pub frame: String,
    /// The beginning of the names of its topics, such as `/eye`.
    pub topic: String,
    /// Number of images from one that is published to the next.
    pub every: u64,
    /// True if readers may ask for a message again.
    pub is_reliable: bool,
}

/// The topics of one image of a camera.
struct Outlet {
    image: Publish<Image>,
    info: Publish<CameraInfo>,
}

/// The publishers of a camera's pixels.
struct Outlets {
    optics: CameraOptics,
    frame: String,
    /// For each encoding of the camera.
    images: Vec<Outlet>,
    cloud: Option<(Publish<PointCloud2>, Vec<String>)>,
    directions: Vec<[f32; 2]>,
}

/// A subscription to a camera's port for some topics.
struct Source {
    server: Server,
    port: u16,
    every: u64,
    /// Number of images in a frame.
    count: usize,
    form: Form,
    topics: Vec<String>,
    missed: Rc<Cell<u64>>,
}

/// Opens the topics of a camera and starts the tasks that serve them. Returns the names of the topics. `missed` counts
/// the images that were left out since the bridge was too slow.
///
/// # Errors
/// A name is not valid in ROS, or the server does not answer.
pub async fn open(
    camera: &Camera<'_>,
    ros: &mut Ros,
    server: &Server,
    missed: &Rc<Cell<u64>>,
    tasks: &mut JoinSet<()>,
) -> Result<Vec<String>> {
    let optics = request_optics(server, camera.device.port).await;
    let optics = optics.with_context(|| format!("the camera '{}'", camera.device.name))?;
    let kind = DeviceKind::ALL.into_iter().find(|kind| kind.to_string() == camera.device.kind);
    let encodings = kind.map_or(&[][..], |kind| optics.encodings(kind));
    let bases = image_bases(&camera.topic, encodings);
    let source = |form, topics| Source {
        server: server.clone(),
        port: camera.device.port,
        every: camera.every,
        count: encodings.len(),
        form,
        topics,
        missed: Rc::clone(missed),
    };
    let mut topics = Vec::new();
    let outlets = Outlets::open_topics(camera, ros, optics, encodings, &bases, &mut topics)?;
    let (subscribers, raw) = (ros.subscribers(), source(Form::Raw, topics.clone()));
    let publish = {
        let subscribers = subscribers.clone();
        move |frame: &Frame| outlets.publish_frame(frame, &subscribers)
    };
    tasks.spawn_local(raw.serve_subscribers(subscribers.clone(), publish));
    if matches!(encodings.first(), Some(Encoding::Rgb8 | Encoding::Mono8)) {
        let name = format!("{}/image_raw/compressed", bases[0]);
        let publish: Publish<CompressedImage> = Box::new(ros.image_publisher(&name, camera.is_reliable)?);
        topics.push(name.clone());
        let id = camera.frame.clone();
        let publish = move |frame: &Frame| publish(images::compressed(&frame.images[0], images::header(frame, &id)));
        tasks.spawn_local(source(Form::File, vec![name]).serve_subscribers(subscribers, publish));
    }
    Ok(topics)
}

/// The optics of the camera at a port.
async fn request_optics(server: &Server, port: u16) -> Result<CameraOptics> {
    let mut link = server.port(port).await?;
    link.greeting().await?;
    read_optics(&link.request("INFO").await?)
}

/// The beginning of the topics' names of each image. A camera with two images has `color` and `depth`, as the drivers
/// of depth cameras have.
fn image_bases(topic: &str, encodings: &[Encoding]) -> Vec<String> {
    let base = |encoding: &Encoding| match (encodings.len(), encoding) {
        (1, _) => topic.to_owned(),
        (_, Encoding::Depth) => format!("{topic}/depth"),
        _ => format!("{topic}/color"),
    };
    encodings.iter().map(base).collect()
}

impl Outlets {
    /// Opens the topics of the pixels and adds their names to `topics`.
    fn open_topics(
        camera: &Camera<'_>,
        ros: &mut Ros,
        optics: CameraOptics,
        encodings: &[Encoding],
        bases: &[String],
        topics: &mut Vec<String>,
    ) -> Result<Self> {
        let (mut images, mut cloud) = (Vec::new(), None);
        for (base, encoding) in bases.iter().zip(encodings) {
            let name = if *encoding == Encoding::Depth { "image_rect_raw" } else { "image_raw" };
            let names = [format!("{base}/{name}"), format!("{base}/camera_info")];
            images.push(Outlet {
                image: Box::new(ros.image_publisher(&names[0], camera.is_reliable)?),
                info: Box::new(ros.image_publisher(&names[1], camera.is_reliable)?),
            });
            topics.extend(names);
            if *encoding == Encoding::Depth {
                let within = if encodings.len() > 1 { "/color" } else { "" };
                let name = format!("{base}{within}/points");
                let publish: Publish<PointCloud2> = Box::new(ros.image_publisher(&name, camera.is_reliable)?);
                topics.push(name.clone());
                cloud = Some((publish, vec![name]));
            }
        }
        Ok(Self { directions: directions(&optics), optics, frame: camera.frame.clone(), images, cloud })
    }

    fn publish_frame(&self, shot: &Frame, subscribers: &Subscribers) {
        let header = || images::header(shot, &self.frame);
        for (outlet, pixels) in self.images.iter().zip(&shot.images) {
            (outlet.image)(images::image(pixels, header()));
            (outlet.info)(images::camera_info(&self.optics, header()));
        }
        let Some((publish, topics)) = &self.cloud else { return };
        // A cloud is the most work, and often nobody wants it.
        if subscribers.is_any_on(topics) {
            let depth = shot.images.iter().find(|pixels| pixels.encoding == Encoding::Depth);
            let color = shot.images.iter().find(|pixels| pixels.encoding != Encoding::Depth);
            if let Some(depth) = depth {
                publish(images::points(depth, color, &self.directions, header()));
            }
        }
    }
}

impl Source {
    /// Publishes frames while somebody subscribes, without end.
    async fn serve_subscribers(self, subscribers: Subscribers, publish: impl Fn(&Frame)) {
        loop {
            self.wait_for_subscribers(&subscribers, true).await;
            tokio::select! {
                // After any end, such as the refusal of a camera that is off, the next attempt follows.
                _ = self.forward_frames(&publish) => sleep(RETRY_PAUSE).await,
                () = self.wait_for_subscribers(&subscribers, false) => {}
            }
        }
    }

    /// Waits until there are subscribers, or until there are none.
    async fn wait_for_subscribers(&self, subscribers: &Subscribers, wanted: bool) {
        let mut ticks = interval(SUBSCRIBER_POLL_INTERVAL);
        while subscribers.is_any_on(&self.topics) != wanted {
            ticks.tick().await;
        }
    }

    /// Publishes the frames of one connection until it ends.
    async fn forward_frames(&self, publish: &impl Fn(&Frame)) -> Result<()> {
        let mut link = self.server.port(self.port).await?;
        link.greeting().await?;
        let form = if self.form == Form::Raw { " raw" } else { "" };
        link.request(&format!("SUB {}{form}", self.every)).await?;
        let Link { reader, writer: _writer } = link;
        let (sender, mut newest) = watch::channel(None::<Frame>);
        let published = async {
            while newest.changed().await.is_ok() {
                if let Some(frame) = &*newest.borrow_and_update() {
                    publish(frame);
                }
            }
        };
        tokio::select! {
            end = self.read_frames(reader, &sender) => end,
            () = published => Ok(()),
        }
    }

    async fn read_frames(&self, mut reader: Reader, sender: &watch::Sender<Option<Frame>>) -> Result<()> {
        loop {
            let frame = read_frame(&mut reader, self.count, self.form).await?;
            self.missed.set(self.missed.get() + frame.dropped);
            sender.send_replace(Some(frame));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topics_are_those_of_depth_cameras() {
        assert_eq!(image_bases("/eye", &[Encoding::Rgb8]), ["/eye"]);
        assert_eq!(image_bases("/eye", &[Encoding::Depth]), ["/eye"]);
        assert_eq!(image_bases("/eye", &[Encoding::Mono8, Encoding::Depth]), ["/eye/color", "/eye/depth"]);
    }
}
