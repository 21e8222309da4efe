//! The images of cameras. An image is a function of the world, the poses of its bodies and the ruts of its soils in a
//! step, and the seed of the run: whoever makes it, at any later time, gets the same bits.
//!
//! A camera's reading is the step of the image that has arrived last. Images are made only where somebody wants them:
//! a server's clients, or a program that reads a log. Start at [`CameraModel::images`].

mod arrivals;
mod image;
mod noise;

pub use arrivals::{Arrival, Arrivals, ImageSource};
pub use image::{CameraImage, ImageError, chained_hash, hash_text};

use bevy_math::{DQuat, DVec3};
use simpartner_description::{DeviceSpec, ImageNoise, Mount, World};
use simpartner_model::{BodyId, DeviceId, Pose, StepIndex, random::Stream};
use simpartner_render::{Camera, CameraError, Distortion, Optics, Rendering, Scene, SceneError, View};
use simpartner_wire::signal::{CameraOptics, DeviceKind, Encoding, Layout, Lens, POSE_WIDTH, StepRecord};

use self::noise::{add_color_noise, add_depth_noise, random_image};
use crate::device::StreamSeed;

/// A camera on a body of a world.
#[derive(Debug, Clone)]
pub struct CameraModel {
    kind: DeviceKind,
    camera: Camera,
    optics: CameraOptics,
    body: BodyId,
    /// Body from optical frame.
    pose_on_body: Pose,
    samples_per_side: u32,
    noise: ImageNoise,
    /// The state of the noise, which depends on the run's seed and the names of robot and camera.
    seed: Stream,
    /// Class of each body, for segmentation.
    classes: Vec<u16>,
}

impl CameraModel {
    /// The camera of a device; `None` if the device is none. `seed` is that of the run.
    ///
    /// # Errors
    /// Its numbers are no camera, which the reader of files refuses already.
    pub fn new(world: &World, device: DeviceId, seed: u64) -> Option<Result<Self, CameraError>> {
        let device = &world.devices[device.index()];
        let DeviceSpec::Sensor(sensor) = &device.spec else { return None };
        let (options, Mount::Body { body, pose }) = (sensor.camera()?, sensor.mount) else { return None };
        let robot = &world.mechanism.robot(device.robot).name;
        let seed = StreamSeed { seed, robot, device: &device.name }.stream("image");
        let classes = world.mechanism.bodies.iter().map(|body| body.class).collect();
        Some(Camera::new(render_optics(&options.optics)).map(|camera| Self {
            kind: sensor.kind,
            camera,
            optics: options.optics,
            body,
            pose_on_body: pose.then(&OPTICAL_FRAME),
            samples_per_side: options.samples_per_side,
            noise: options.noise,
            seed,
            classes,
        }))
    }

    /// Its images of a step, in the order of [`CameraOptics::encodings`]. `poses` are those of all bodies in that step;
    /// the scene has the ruts of that step. The number of threads changes no bit.
    ///
    /// # Errors
    /// A pose is not finite.
    pub fn images(
        &self,
        scene: &Scene,
        poses: &[Pose],
        step: StepIndex,
        threads: usize,
    ) -> Result<Vec<CameraImage>, SceneError> {
        let view = View::new(scene, poses, self.camera, poses[self.body.index()].then(&self.pose_on_body))?;
        let mut stream = self.stream_of(step.0);
        let make = |encoding: &Encoding| self.make_image(&view, *encoding, &mut stream, threads);
        Ok(self.encodings().iter().map(make).collect())
    }

    /// The images of the step of a record in which the camera takes some. The scene then has the ruts of that step.
    ///
    /// # Errors
    /// A pose is not finite.
    pub fn images_of_record(
        &self,
        record: &StepRecord,
        scene: &mut Scene,
        layout: &Layout,
        threads: usize,
    ) -> Result<Vec<CameraImage>, SceneError> {
        scene.set_ruts(&record.ruts);
        self.images(scene, &poses_of(record, layout), record.step, threads)
    }

    /// The images that are made from a source, as those of [`images_of_record`](Self::images_of_record).
    ///
    /// # Errors
    /// The record of the step is lost, or a pose is not finite, as a sentence.
    pub fn images_from(
        &self,
        source: &ImageSource,
        scene: &mut Scene,
        layout: &Layout,
        threads: usize,
    ) -> Result<Vec<CameraImage>, String> {
        match source {
            ImageSource::Garbage(reading) => Ok(self.garbage(*reading)),
            ImageSource::Lost => {
                Err("its latency is too long: the poses of its step are no longer in memory".to_owned())
            }
            ImageSource::Record(record) => {
                let images = self.images_of_record(record, scene, layout, threads);
                images.map_err(|error| error.to_string())
            }
        }
    }

    /// Images of a camera with the fault `garbage`: every pixel is random. `reading` is the random number that such a
    /// camera reads.
    pub fn garbage(&self, reading: f64) -> Vec<CameraImage> {
        let mut stream = self.stream_of(reading.to_bits());
        self.encodings().iter().map(|encoding| random_image(*encoding, &self.optics, &mut stream)).collect()
    }

    /// Encodings of its images.
    pub fn encodings(&self) -> &'static [Encoding] {
        self.optics.encodings(self.kind)
    }

    fn make_image(&self, view: &View<'_>, encoding: Encoding, stream: &mut Stream, threads: usize) -> CameraImage {
        let rendering = Rendering { samples_per_side: self.samples_per_side, ..Rendering::default() };
        match encoding {
            Encoding::Rgb8 | Encoding::Mono8 => {
                let mut color = view.color_image(&rendering, threads);
                if encoding == Encoding::Rgb8 {
                    add_color_noise(color.pixels.as_flattened_mut(), 3, &self.noise, stream);
                    return CameraImage::Color(color);
                }
                let mut grey = image::grey_of(&color);
                add_color_noise(&mut grey.pixels, 1, &self.noise, stream);
                CameraImage::Grey(grey)
            }
            Encoding::Depth => {
                let mut depth = view.depth_image(threads);
                add_depth_noise(&mut depth.pixels, &self.noise, stream);
                CameraImage::Depth(depth)
            }
            Encoding::Segmentation => CameraImage::of_owners(&view.segmentation_image(threads), &self.classes),
        }
    }

    /// The random numbers of an image.
    fn stream_of(&self, number: u64) -> Stream {
        let first = self.seed.clone().number();
        // An odd factor permutes the numbers, so that images of consecutive steps have unrelated seeds.
        Stream::from_number(first ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// A sensor's frame (z forwards, y up, x left) from the optical frame of REP 103 (z forwards, x right, y down): half a
/// turn about z.
const OPTICAL_FRAME: Pose = Pose { translation: DVec3::ZERO, rotation: DQuat::from_xyzw(0.0, 0.0, 1.0, 0.0) };

/// The optics as the renderer takes them.
pub fn render_optics(optics: &CameraOptics) -> Optics {
    Optics {
        width: optics.width,
        height: optics.height,
        focal: optics.focal,
        principal_point: optics.principal_point,
        distortion: match optics.lens {
            Lens::Pinhole => Distortion::None,
            Lens::BrownConrady { radial, tangential } => Distortion::BrownConrady { radial, tangential },
            Lens::Fisheye(coefficients) => Distortion::Fisheye { coefficients },
        },
        near: optics.near,
        far: optics.far,
    }
}

/// The poses of all bodies in a record.
pub fn poses_of(record: &StepRecord, layout: &Layout) -> Vec<Pose> {
    let pose = |body| {
        let mut numbers = [0.0; POSE_WIDTH];
        numbers.copy_from_slice(&record.values[layout.pose(BodyId::new(body))]);
        Pose::from_array(numbers)
    };
    (0..layout.bodies()).map(pose).collect()
}
