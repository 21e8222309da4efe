//! The images of cameras, made anew from the logged poses of the bodies.
//!
//! A camera's reading is the step of its newest image. The images are those of the steps that its readings name, as PNG
//! files with the time of that step.

use std::collections::{BTreeSet, HashMap, VecDeque};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bevy_math::DVec3;
use serde_json::{Value, json};
use simpartner_description::{DeviceSpec, Mount, World};
use simpartner_model::{DeviceId, Pose, StepIndex};
use simpartner_recorder::{
    Inquiry,
    inquiry::{Component, ComponentKind, Selection, Value as LogValue},
};
use simpartner_render::Scene;
use simpartner_simulation::camera::{CameraImage, CameraModel};
use simpartner_wire::signal::{CameraOptics, Encoding, Lens};

use super::schema;
use crate::{AnalysisError, export::Order, find_table, orientation};

/// A message for the file.
pub(super) struct CameraMessage {
    pub(super) step: u64,
    pub(super) topic: String,
    /// Name and text of its schema.
    pub(super) schema: fn() -> (String, Value),
    pub(super) text: String,
}

/// The cameras of a run, and the images that have yet to be made.
pub(super) struct Cameras {
    scene: Scene,
    cameras: Vec<LoggedCamera>,
    /// Steps of images and indices in `cameras`, in the order of time.
    wanted: VecDeque<(u64, usize)>,
    /// Poses of the bodies in the step in progress.
    poses: Vec<Pose>,
    /// Index of each body in `poses`, by the number of its component.
    bodies: HashMap<i64, usize>,
    threads: usize,
}

struct LoggedCamera {
    model: CameraModel,
    optics: CameraOptics,
    /// Name, with the robot's before it.
    name: String,
    /// Name of the body's frame.
    body: String,
    /// Body from optical frame.
    pose: Pose,
}

impl Cameras {
    /// The cameras of a run; `None` if the order wants no images or there is no camera.
    pub(super) fn of_order(
        inquiry: &mut Inquiry,
        order: &Order<'_>,
        world: &World,
        components: &[Component],
    ) -> Result<Option<Self>, AnalysisError> {
        let Some(seed) = order.images else { return Ok(None) };
        // The log has bodies and devices in the order of the model.
        let of_kind = |kind| components.iter().filter(move |part| part.kind == kind);
        let bodies: Vec<&Component> = of_kind(ComponentKind::Body).collect();
        let (mut cameras, mut numbers_of_cameras) = (Vec::new(), Vec::new());
        for (index, part) in of_kind(ComponentKind::Device).enumerate().take(world.devices.len()) {
            if let Some(camera) = LoggedCamera::of_device(world, index, seed, &bodies)? {
                cameras.push(camera);
                numbers_of_cameras.push(part.number);
            }
        }
        if cameras.is_empty() {
            return Ok(None);
        }
        let scene = Scene::new(&world.mechanism).map_err(|error| AnalysisError::Question(error.to_string()))?;
        Ok(Some(Self {
            scene,
            cameras,
            wanted: wanted_images(inquiry, order, &numbers_of_cameras)?,
            poses: world.mechanism.bodies.iter().map(|body| body.pose).collect(),
            bodies: bodies.iter().enumerate().map(|(index, part)| (part.number, index)).collect(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }))
    }
}

impl LoggedCamera {
    /// The camera of a device; `None` if it is none.
    fn of_device(world: &World, index: usize, seed: u64, bodies: &[&Component]) -> Result<Option<Self>, AnalysisError> {
        let device = &world.devices[index];
        let DeviceSpec::Sensor(sensor) = &device.spec else { return Ok(None) };
        let (Some(options), Mount::Body { body, pose }) = (sensor.camera(), sensor.mount) else { return Ok(None) };
        let Some(model) = CameraModel::new(world, DeviceId::new(index), seed) else { return Ok(None) };
        let model = model.map_err(|error| AnalysisError::Question(error.to_string()))?;
        // The optical frame is the sensor's frame, turned by half a turn about z.
        let half_turn = Pose { translation: DVec3::ZERO, rotation: bevy_math::DQuat::from_xyzw(0.0, 0.0, 1.0, 0.0) };
        Ok(Some(Self {
            model,
            optics: options.optics,
            name: format!("{}/{}", world.mechanism.robot(device.robot).name, device.name),
            body: bodies.get(body.index()).map_or_else(String::new, |part| part.name.clone()),
            pose: pose.then(&half_turn),
        }))
    }

    fn frame_id(&self) -> String {
        format!("{}_optical_frame", self.name)
    }
}

/// Steps and indices of the images of cameras with these numbers, in the order of time: those whose steps are logged.
fn wanted_images(
    inquiry: &mut Inquiry,
    order: &Order<'_>,
    cameras: &[i64],
) -> Result<VecDeque<(u64, usize)>, AnalysisError> {
    let mut wanted = BTreeSet::new();
    let all = Selection::all(find_table("sensorReading")?, order.run.simulation_id);
    let selection = Selection { among: Some(("componentID", cameras.to_vec())), ..all };
    inquiry.rows::<AnalysisError>(&selection, &["step", "componentID", "value"], |row| {
        let camera = row[1].integer().and_then(|number| cameras.iter().position(|camera| *camera == number));
        if let (Some(camera), Some(image)) = (camera, row[2].number()) {
            // A camera with the fault `garbage` reads any number.
            let is_real = image >= 0.0 && image <= step_of(row) as f64;
            let step = image as u64;
            // No log has step 0, in which bodies are where the model has them, unless the run continues another.
            let is_logged = if step == 0 { order.run.origin.is_none() } else { order.run.cadence.is_logged(step) };
            if is_real && is_logged && (order.steps.0..=order.steps.1).contains(&step) {
                wanted.insert((step, camera));
            }
        }
        Ok(())
    })?;
    Ok(wanted.into_iter().collect())
}

impl Cameras {
    /// The frames in which the images are.
    pub(super) fn optical_frames(&self, order: &Order<'_>) -> CameraMessage {
        let step = order.steps.0;
        let frames = self.cameras.iter().map(|camera| {
            let Pose { translation: t, rotation: r } = camera.pose;
            json!({ "timestamp": time_of_step(order, step), "parent_frame_id": camera.body,
                "child_frame_id": camera.frame_id(), "translation": { "x": t.x, "y": t.y, "z": t.z },
                "rotation": { "x": r.x, "y": r.y, "z": r.z, "w": r.w } })
        });
        let text = json!({ "transforms": frames.collect::<Vec<_>>() }).to_string();
        CameraMessage { step, topic: "/tf".into(), schema: schema::transforms, text }
    }

    /// The messages of a range of steps. The ranges follow each other.
    pub(super) fn messages_of_steps(
        &mut self,
        inquiry: &mut Inquiry,
        order: &Order<'_>,
        (first, last): (u64, u64),
    ) -> Result<Vec<CameraMessage>, AnalysisError> {
        let mut messages = Vec::new();
        // Rows of bodies that did not move are left out; the first range needs those from before it.
        let before = if first == order.steps.0 { order.run.reach() } else { 0 };
        let steps = (first.saturating_sub(before), last);
        let all = Selection::all(find_table("body_state")?, order.run.simulation_id);
        let columns = ["step", "bodyID", "x", "y", "z", "axis_x", "axis_y", "axis_z", "angle"];
        inquiry.rows::<AnalysisError>(&Selection { steps: Some(steps), ..all }, &columns, |row| {
            self.make_images(order, |step| step < step_of(row), &mut messages)?;
            let body = row[1].integer().and_then(|number| self.bodies.get(&number).copied());
            let numbers: Option<Vec<f64>> = row[2..].iter().map(LogValue::number).collect();
            if let (Some(pose), Some(numbers)) = (body.and_then(|body| self.poses.get_mut(body)), numbers) {
                pose.translation = DVec3::new(numbers[0], numbers[1], numbers[2]);
                pose.rotation = orientation::to_quaternion([numbers[3], numbers[4], numbers[5], numbers[6]]);
            }
            Ok(())
        })?;
        self.make_images(order, |step| step <= last, &mut messages)?;
        Ok(messages)
    }

    /// Makes the next images while their steps are past, from the present poses.
    fn make_images(
        &mut self,
        order: &Order<'_>,
        is_past: impl Fn(u64) -> bool,
        messages: &mut Vec<CameraMessage>,
    ) -> Result<(), AnalysisError> {
        while let Some(&(step, index)) = self.wanted.front().filter(|(step, _)| is_past(*step)) {
            self.wanted.pop_front();
            let camera = &self.cameras[index];
            let time = time_of_step(order, step);
            let images = camera.model.images(&self.scene, &self.poses, StepIndex(step), self.threads);
            let images = images.map_err(|error| AnalysisError::Question(format!("{}: {error}", camera.name)))?;
            for image in &images {
                messages.push(image_message(camera, step, &time, image)?);
            }
            messages.push(CameraMessage {
                step,
                topic: format!("/camera/{}/calibration", camera.name),
                schema: schema::camera_calibration,
                text: camera_calibration(camera, &time).to_string(),
            });
        }
        Ok(())
    }
}

fn step_of(row: &[LogValue]) -> u64 {
    row[0].integer().unwrap_or(0) as u64
}

/// Simulated time of a step, as Foxglove's JSON.
fn time_of_step(order: &Order<'_>, step: u64) -> Value {
    let time = step * order.run.timestep.nanoseconds();
    json!({ "sec": time / 1_000_000_000, "nsec": time % 1_000_000_000 })
}

fn image_message(
    camera: &LoggedCamera,
    step: u64,
    time: &Value,
    image: &CameraImage,
) -> Result<CameraMessage, AnalysisError> {
    let file = image.png().map_err(|error| AnalysisError::Question(format!("{}: {error}", camera.name)))?;
    let kind = match image.encoding() {
        Encoding::Rgb8 | Encoding::Mono8 => "color",
        Encoding::Depth => "depth",
        Encoding::Segmentation => "segmentation",
    };
    let text = json!({ "timestamp": time, "frame_id": camera.frame_id(), "format": "png",
        "data": BASE64_STANDARD.encode(file) });
    let topic = format!("/camera/{}/{kind}", camera.name);
    Ok(CameraMessage { step, topic, schema: schema::compressed_image, text: text.to_string() })
}

/// The calibration as a CameraCalibration of Foxglove.
fn camera_calibration(camera: &LoggedCamera, timestamp: &Value) -> Value {
    let CameraOptics { width, height, focal: [fx, fy], principal_point: [cx, cy], lens, .. } = camera.optics;
    let model = match lens {
        Lens::Fisheye(_) => "kannala_brandt",
        Lens::Pinhole | Lens::BrownConrady { .. } => "plumb_bob",
    };
    let coefficients: Vec<f64> = lens.coefficients().into_iter().map(|(_, value)| value).collect();
    json!({ "timestamp": timestamp, "frame_id": camera.frame_id(), "width": width, "height": height,
        "distortion_model": model, "D": coefficients, "K": [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        "R": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        "P": [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0] })
}
