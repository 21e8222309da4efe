//! Cameras of MJCF.

use bevy_math::{DQuat, DVec3};
use simpartner_model::Pose;
use simpartner_wire::signal::{CameraOptics, DeviceKind, Lens};

use super::{
    super::{import::element::node, node::Node},
    mjcf_element::{push, set_pose},
    writer::{Writer, join},
};
use crate::device::{Device, Sensor};

/// Side of a pixel of a camera's sensor, m: 10 µm, as on large sensors. Only its ratio to the focal length counts.
const PIXEL_SIDE: f64 = 1e-5;
/// MuJoCo's camera (z backwards, y up) in ours (z forwards, y up): half a turn about y.
const TO_OPENGL: Pose = Pose { translation: DVec3::ZERO, rotation: DQuat::from_xyzw(0.0, 1.0, 0.0, 0.0) };

/// A `<camera>` for a device on a body, at a pose of the body.
pub(super) fn camera_element(writer: &mut Writer, device: &Device, sensor: &Sensor, pose: &Pose) -> Option<Node> {
    let camera = sensor.camera()?;
    let optics = camera.optics;
    let mut element = node("camera", 0, &[("name", device.name.clone())]);
    set_pose(&mut element, &pose.then(&TO_OPENGL));
    push(&mut element, "resolution", format!("{} {}", optics.width, optics.height));
    set_lens(&mut element, &optics);
    match sensor.kind {
        DeviceKind::DepthCamera => push(&mut element, "output", "depth".into()),
        DeviceKind::SegmentationCamera => push(&mut element, "output", "segmentation".into()),
        DeviceKind::RgbdCamera => push(&mut element, "output", "rgb depth".into()),
        _ => {}
    }
    let name = &device.name;
    if optics.lens != Lens::Pinhole {
        writer.warn(&device.source, format!("the lens of '{name}' is left out"), "MuJoCo's cameras are pinholes");
    }
    let noise = camera.noise;
    if noise.standard_deviation > 0.0 || noise.shot > 0.0 || noise.salt > 0.0 {
        writer.warn(&device.source, format!("the noise of '{name}' is left out"), "MuJoCo's images have none");
    }
    if optics.far.is_finite() {
        let what = format!("near and far of '{name}' are left out");
        writer.warn(&device.source, what, "<visual> has those of all of MuJoCo's cameras");
    }
    Some(element)
}

/// A vertical field of view, or a sensor and a focal length where pixels are not square or not about the middle.
fn set_lens(element: &mut Node, optics: &CameraOptics) {
    let size = [optics.width, optics.height].map(f64::from);
    let [fx, fy] = optics.focal;
    let [cx, cy] = optics.principal_point;
    let shift = [0.5 * (size[0] - 1.0) - cx, cy - 0.5 * (size[1] - 1.0)];
    if fx == fy && shift == [0.0; 2] {
        let angle = 2.0 * libm::atan2(0.5 * size[1], fy);
        return push(element, "fovy", angle.to_degrees().to_string());
    }
    push(element, "sensorsize", join(&size.map(|side| side * PIXEL_SIDE)));
    push(element, "focal", join(&[fx * PIXEL_SIDE, fy * PIXEL_SIDE]));
    if shift != [0.0; 2] {
        push(element, "principal", join(&shift.map(|side| side * PIXEL_SIDE)));
    }
}
