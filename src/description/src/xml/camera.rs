//! The images of a camera: its attributes, its `<lens>` and its `<imageNoise>`.

use simpartner_wire::signal::{CameraOptics, DeviceKind, Lens};

use super::{
    node::Node,
    reading::{Reading, is_given},
};
use crate::{
    device::{Camera, ImageNoise},
    text::tree::child,
};

/// Reads the images of a sensor; the defaults for one that is no camera.
pub(super) fn read_camera(reading: &Reading, node: &Node, kind: DeviceKind) -> Option<Camera> {
    if !kind.is_camera() {
        if let Some(misplaced) = ["lens", "imageNoise"].into_iter().find_map(|tag| child(node, tag)) {
            let message = format!("{} {kind} has no <{}>", kind.article(), misplaced.name);
            reading.problem_with_help(misplaced.offset, message, "cameras have it");
            return None;
        }
        return Some(Camera::default());
    }
    let optics = read_optics(reading, node)?;
    if optics.far <= optics.near {
        let message = format!("the camera sees from {} m to {} m", optics.near, optics.far);
        let place = reading.attribute_offset(node, if is_given(node, "far") { "far" } else { "near" });
        reading.problem_with_help(place, message, "far is larger than near");
        return None;
    }
    let noise =
        child(node, "imageNoise").map_or(Some(ImageNoise::default()), |given| read_noise(reading, given, kind))?;
    Some(Camera { optics, samples_per_side: reading.attribute_whole(node, "samples")? as u32, noise })
}

fn read_optics(reading: &Reading, node: &Node) -> Option<CameraOptics> {
    let size = [reading.attribute_whole(node, "width")? as u32, reading.attribute_whole(node, "height")? as u32];
    let pinhole = CameraOptics {
        near: reading.attribute_real(node, "near")?,
        far: match is_given(node, "far") {
            true => reading.attribute_real(node, "far")?,
            false => f64::INFINITY,
        },
        is_grey: reading.attribute_text(node, "encoding")? == "mono8",
        ..CameraOptics::pinhole(size, reading.attribute_real(node, "fieldOfView")?)
    };
    let Some(given) = child(node, "lens") else { return Some(pinhole) };
    let number = |name: &str| match is_given(given, name) {
        true => reading.attribute_real(given, name).map(Some),
        false => Some(None),
    };
    let focal_x = number("focalX")?;
    if focal_x.is_some() && is_given(node, "fieldOfView") {
        let place = reading.attribute_offset(given, "focalX");
        let message = "focalX and fieldOfView both determine the focal length";
        reading.problem_with_help(place, message, "give one of them");
        return None;
    }
    let [fx, _] = pinhole.focal;
    let fx = focal_x.unwrap_or(fx);
    let [cx, cy] = pinhole.principal_point;
    Some(CameraOptics {
        focal: [fx, number("focalY")?.unwrap_or(fx)],
        principal_point: [number("principalX")?.unwrap_or(cx), number("principalY")?.unwrap_or(cy)],
        lens: read_lens(reading, given)?,
        ..pinhole
    })
}

fn read_lens(reading: &Reading, node: &Node) -> Option<Lens> {
    let coefficient = |name: &str| reading.attribute_real(node, name);
    let model = reading.attribute_text(node, "model")?;
    let known: &[&str] = match model {
        "brownConrady" => &["k1", "k2", "p1", "p2", "k3"],
        "fisheye" => &["k1", "k2", "k3", "k4"],
        _ => &[],
    };
    let all = ["k1", "k2", "k3", "k4", "p1", "p2"];
    if let Some(misplaced) = all.into_iter().find(|name| is_given(node, name) && !known.contains(name)) {
        let message = format!("a lens of the model {model} has no coefficient {misplaced}");
        let help = match known {
            [] => "models with coefficients are brownConrady and fisheye".into(),
            known => format!("it has {}", known.join(", ")),
        };
        reading.problem_with_help(reading.attribute_offset(node, misplaced), message, help);
        return None;
    }
    Some(match model {
        "brownConrady" => Lens::BrownConrady {
            radial: [coefficient("k1")?, coefficient("k2")?, coefficient("k3")?],
            tangential: [coefficient("p1")?, coefficient("p2")?],
        },
        "fisheye" => Lens::Fisheye([coefficient("k1")?, coefficient("k2")?, coefficient("k3")?, coefficient("k4")?]),
        _ => Lens::Pinhole,
    })
}

fn read_noise(reading: &Reading, node: &Node, kind: DeviceKind) -> Option<ImageNoise> {
    if kind == DeviceKind::SegmentationCamera {
        reading.problem(node.offset, "a SegmentationCamera has no noise: its values are numbers of bodies");
        return None;
    }
    let noise = ImageNoise {
        standard_deviation: reading.attribute_real(node, "standardDeviation")?,
        shot: reading.attribute_real(node, "shot")?,
        salt: reading.attribute_real(node, "salt")?,
    };
    if kind == DeviceKind::DepthCamera && noise.shot > 0.0 {
        let message = "a DepthCamera has no shot noise";
        reading.problem_with_help(reading.attribute_offset(node, "shot"), message, "use standardDeviation, in metres");
        return None;
    }
    Some(noise)
}
