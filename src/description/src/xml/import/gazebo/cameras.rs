//! `<camera>` of a sensor: size, clipping distances, lens and noise of its images.

use simpartner_model::Pose;
use simpartner_wire::signal::DeviceKind;

use super::{
    super::{
        attributes::attribute,
        camera::{DEFAULT_RATE, MAX_FIELD_OF_VIEW, MIN_FIELD_OF_VIEW, image_size, lens, size_attributes},
        model::{Device, Mount, Part},
        sdf::read_pose,
    },
    Gazebo,
    axes::x_ahead,
    number, numbers, text,
    wide_angle::Mapping,
};
use crate::{
    text::{numbers::shorten, tree::child},
    xml::node::Node,
};

/// Types of sensors with `<camera>`: our word for each.
const CAMERA_KINDS: [(&str, DeviceKind); 12] = [
    ("camera", DeviceKind::Camera),
    ("multicamera", DeviceKind::Camera),
    ("wideanglecamera", DeviceKind::Camera),
    ("wideangle_camera", DeviceKind::Camera),
    ("wide_angle_camera", DeviceKind::Camera),
    ("depth", DeviceKind::DepthCamera),
    ("depthcamera", DeviceKind::DepthCamera),
    ("depth_camera", DeviceKind::DepthCamera),
    ("rgbd", DeviceKind::RgbdCamera),
    ("rgbd_camera", DeviceKind::RgbdCamera),
    ("segmentation", DeviceKind::SegmentationCamera),
    ("segmentation_camera", DeviceKind::SegmentationCamera),
];
/// Defaults of SDF: field of view, rad; columns and rows; clipping distances, m.
const DEFAULT_FIELD_OF_VIEW: f64 = 1.047;
const DEFAULT_SIZE: [f64; 2] = [320.0, 240.0];
const DEFAULT_CLIP: [f64; 2] = [0.1, 100.0];
/// Defaults of SDF for `<intrinsics>`: focal lengths and principal point, pixels.
const DEFAULT_INTRINSICS: [(&str, f64); 4] = [("fx", 277.0), ("fy", 277.0), ("cx", 160.0), ("cy", 120.0)];
/// Elements without effect on an image.
const SILENT_TAGS: [&str; 20] = [
    "pose",
    "horizontal_fov",
    "image",
    "clip",
    "noise",
    "distortion",
    "lens",
    "depth_camera",
    "save",
    "optical_frame_id",
    "camera_info_topic",
    "trigger_topic",
    "segmentation_type",
    "visualize",
    "topic",
    "always_on",
    "update_rate",
    "frame",
    "box_type",
    "points",
];

/// Images of a camera: attributes and elements of the sensor.
type Images = (Vec<(&'static str, String)>, Vec<Part>);

/// Our kind of a sensor whose type makes images.
pub(super) fn camera_kind(kind: &str) -> Option<DeviceKind> {
    CAMERA_KINDS.iter().find(|(theirs, _)| *theirs == kind).map(|(_, ours)| *ours)
}

impl Gazebo<'_, '_, '_> {
    /// The cameras of a sensor: a multicamera has several, each a device of its own.
    pub(super) fn read_cameras(&mut self, node: &Node, kind: DeviceKind, link: usize, pose: Pose) {
        let rate = self.positive(node, "update_rate").filter(|rate| *rate <= 1e6).unwrap_or(DEFAULT_RATE);
        let own: Vec<Option<&Node>> = node.children.iter().filter(|child| child.name == "camera").map(Some).collect();
        let sensor = attribute(node, "name").unwrap_or("camera");
        for (index, camera) in own.iter().copied().chain([None]).take(own.len().max(1)).enumerate() {
            let Some((mut attributes, parts)) = self.read_images(node, camera, kind) else { continue };
            let name = match camera.and_then(|camera| attribute(camera, "name")) {
                _ if own.len() < 2 => sensor.to_owned(),
                Some(name) => format!("{sensor}_{name}"),
                None => format!("{sensor}_{}", index + 1),
            };
            let inner = camera.and_then(|camera| child(camera, "pose"));
            let pose = inner.map_or(pose, |inner| pose.then(&read_pose(self.reading, inner)));
            attributes.push(("rate", rate.to_string()));
            let mount = Mount::Link { link, pose: pose.then(&x_ahead(0.0)) };
            let offset = camera.unwrap_or(node).offset;
            self.model.devices.push(Device { kind, name, offset, mount, attributes, noise: Vec::new(), parts });
        }
    }

    /// The images of a camera; `None`, with a note, if they are too large or its lens is unknown.
    fn read_images(&self, sensor: &Node, camera: Option<&Node>, kind: DeviceKind) -> Option<Images> {
        let Some(camera) = camera else {
            let size = size_attributes(DEFAULT_SIZE.map(|side| side as u32));
            return Some((
                with_numbers(
                    size,
                    [("fieldOfView", DEFAULT_FIELD_OF_VIEW), ("near", DEFAULT_CLIP[0]), ("far", DEFAULT_CLIP[1])],
                ),
                Vec::new(),
            ));
        };
        let image = child(camera, "image");
        let side = |tag, default| image.and_then(|image| number(self.reading, image, tag)).unwrap_or(default);
        let given = [side("width", DEFAULT_SIZE[0]), side("height", DEFAULT_SIZE[1])];
        let Some(size) = image_size(given) else {
            let what = format!("a camera with images of {} x {} pixels is left out", given[0], given[1]);
            self.notes.add(image.unwrap_or(camera).offset, what, "an image has 1 to 4096 columns and rows");
            return None;
        };
        let mut attributes = size_attributes(size);
        if [DeviceKind::Camera, DeviceKind::RgbdCamera].contains(&kind) {
            attributes.extend(image.and_then(|image| self.encoding_attribute(image)));
            attributes.extend(image.and_then(|image| self.samples_attribute(image)));
        }
        attributes.extend(self.clip_distances(camera, kind));
        let is_wide = attribute(sensor, "type").is_some_and(|kind| kind.starts_with("wide"));
        let mut parts = match is_wide {
            true => vec![self.wide_lens(camera, size)?],
            false => self.narrow_lens(camera, size, &mut attributes),
        };
        parts.extend(child(camera, "noise").and_then(|noise| self.image_noise(noise, kind)));
        for other in camera.children.iter().filter(|node| !SILENT_TAGS.contains(&node.name.as_str())) {
            let meaning = match other.name.as_str() {
                "visibility_mask" => "the camera sees everything",
                "triggered" => "it makes images at its rate",
                _ => "it has no effect on the images",
            };
            self.notes.add(other.offset, format!("<{}> of <camera> is left out", shorten(&other.name)), meaning);
        }
        Some((attributes, parts))
    }

    fn encoding_attribute(&self, image: &Node) -> Option<(&'static str, String)> {
        let format = child(image, "format")?;
        let name = format.text.trim();
        match name {
            "L8" | "L_INT8" => return Some(("encoding", "mono8".into())),
            "" | "R8G8B8" | "RGB_INT8" | "R_FLOAT16" | "R_FLOAT32" => return None,
            _ => {}
        }
        let meaning = if name.starts_with('L') { "images are mono8" } else { "images are rgb8" };
        self.notes.add(format.offset, format!("the format {} of images is left out", shorten(name)), meaning);
        name.starts_with('L').then(|| ("encoding", "mono8".into()))
    }

    /// Samples along each side of a pixel, whose square is closest to the number of samples of a pixel.
    fn samples_attribute(&self, image: &Node) -> Option<(&'static str, String)> {
        let count = number(self.reading, image, "anti_aliasing").filter(|count| *count > 1.0)?;
        Some(("samples", libm::sqrt(count).round().clamp(1.0, 8.0).to_string()))
    }

    /// Clipping distances; those of `<depth_camera>` replace the others for a camera of depths.
    fn clip_distances(&self, camera: &Node, kind: DeviceKind) -> Vec<(&'static str, String)> {
        let of_depths = child(camera, "depth_camera").and_then(|depth| child(depth, "clip"));
        let of_depths = of_depths.filter(|_| [DeviceKind::DepthCamera, DeviceKind::RgbdCamera].contains(&kind));
        let clips = [of_depths, child(camera, "clip")];
        let value = |tag: &str| clips.iter().flatten().find_map(|clip| number(self.reading, clip, tag));
        let [near, far] = [value("near").unwrap_or(DEFAULT_CLIP[0]), value("far").unwrap_or(DEFAULT_CLIP[1])];
        if !(near >= 0.0 && near < far && far <= 1e9) {
            let place = clips.into_iter().flatten().next().unwrap_or(camera).offset;
            let what = format!("<clip> from {near} m to {far} m is left out");
            self.notes.add(place, what, "the camera sees from 0.01 m to any distance");
            return Vec::new();
        }
        with_numbers(Vec::new(), [("near", near), ("far", far)])
    }

    /// A lens without great angles: intrinsics or field of view, and distortion.
    fn narrow_lens(&self, camera: &Node, size: [u32; 2], attributes: &mut Vec<(&'static str, String)>) -> Vec<Part> {
        let intrinsics = child(camera, "lens").and_then(|lens| child(lens, "intrinsics"));
        let mut numbers = intrinsics.map_or(Vec::new(), |intrinsics| self.read_intrinsics(intrinsics, size));
        if let Some(projection) = child(camera, "lens").and_then(|lens| child(lens, "projection")) {
            let meaning = "it concerns images that are rectified later";
            self.notes.add(projection.offset, "<projection> of a lens is left out", meaning);
        }
        if numbers.is_empty() {
            let given = number(self.reading, camera, "horizontal_fov").unwrap_or(DEFAULT_FIELD_OF_VIEW);
            let field_of_view =
                if given > 0.0 { given.clamp(MIN_FIELD_OF_VIEW, MAX_FIELD_OF_VIEW) } else { DEFAULT_FIELD_OF_VIEW };
            if field_of_view != given {
                let place = child(camera, "horizontal_fov").unwrap_or(camera).offset;
                let what = format!("a field of view of {given} rad becomes one of {field_of_view} rad");
                self.notes.add(place, what, "a camera without a fisheye sees less than half a turn");
            }
            attributes.push(("fieldOfView", field_of_view.to_string()));
        }
        let distortion =
            child(camera, "distortion").map_or(Vec::new(), |node| self.read_distortion(node, size, &numbers));
        let model = if distortion.is_empty() { "pinhole" } else { "brownConrady" };
        numbers.extend(distortion);
        if numbers.is_empty() { Vec::new() } else { vec![lens(model, numbers)] }
    }

    /// Focal lengths and principal point. SDF counts pixels from the edge of the image, and we from the centre of the
    /// first pixel.
    fn read_intrinsics(&self, node: &Node, [width, height]: [u32; 2]) -> Vec<(&'static str, f64)> {
        let [fx, fy, cx, cy] =
            DEFAULT_INTRINSICS.map(|(tag, default)| number(self.reading, node, tag).unwrap_or(default));
        if number(self.reading, node, "s").is_some_and(|skew| skew != 0.0) {
            self.notes.add(node.offset, "the skew of a lens is left out", "its rows and columns are perpendicular");
        }
        if fx <= 0.0 || fy <= 0.0 {
            let meaning = "its focal length follows from <horizontal_fov>";
            self.notes.add(node.offset, "<intrinsics> without a focal length are left out", meaning);
            return Vec::new();
        }
        let middle = [cx, cy] == [0.5 * f64::from(width), 0.5 * f64::from(height)];
        let mut numbers = vec![("focalX", fx), ("focalY", fy)];
        if !middle {
            numbers.extend([("principalX", cx - 0.5), ("principalY", cy - 0.5)]);
        }
        numbers
    }

    /// Distortion; empty without one.
    fn read_distortion(&self, node: &Node, size: [u32; 2], numbers_so_far: &[(&str, f64)]) -> Vec<(&'static str, f64)> {
        let value = |tag: &'static str| number(self.reading, node, tag).map(|value| (tag, value));
        let given = ["k1", "k2", "p1", "p2", "k3"].into_iter().filter_map(value).filter(|(_, value)| *value != 0.0);
        let given: Vec<_> = given.collect();
        let principal = |name: &str, side: u32| {
            let own = numbers_so_far.iter().find(|(known, _)| *known == name).map(|(_, value)| value + 0.5);
            own.map_or(0.5, |own| own / f64::from(side))
        };
        let principal = [principal("principalX", size[0]), principal("principalY", size[1])];
        let centre = child(node, "center").and_then(|centre| numbers::<2>(self.reading, centre)).unwrap_or([0.5; 2]);
        // Half a pixel of the largest image.
        if !given.is_empty() && (0..2).any(|axis| (centre[axis] - principal[axis]).abs() > 1e-4) {
            let meaning = "distortion is about the principal point of the lens";
            self.notes.add(node.offset, "<center> of a distortion is left out", meaning);
        }
        if given.iter().any(|(name, value)| *name == "k1" && *value < 0.0) {
            let meaning = "Gazebo enlarges images whose k1 is below 0 until their corners are filled";
            self.notes.add(node.offset, "the cropping of distorted images is left out", meaning);
        }
        given
    }

    /// The lens of a wide-angle camera.
    fn wide_lens(&self, camera: &Node, size: [u32; 2]) -> Option<Part> {
        let field_of_view = number(self.reading, camera, "horizontal_fov").unwrap_or(DEFAULT_FIELD_OF_VIEW);
        let node = child(camera, "lens");
        let place = node.unwrap_or(camera).offset;
        let kind = node.and_then(|lens| text(lens, "type")).unwrap_or("stereographic");
        let custom = node.and_then(|lens| child(lens, "custom_function")).filter(|_| kind == "custom");
        let of = |tag: &str, default: f64| custom.and_then(|node| number(self.reading, node, tag)).unwrap_or(default);
        let mapping = match custom {
            Some(node) if of("c3", 0.0) == 0.0 => Mapping::new(text(node, "fun").unwrap_or("tan"), of("c2", 1.0)),
            Some(_) => None,
            None => Mapping::named(kind),
        };
        let made = mapping.and_then(|mapping| mapping.lens(f64::from(size[0]), field_of_view));
        let Some((part, error)) = made else {
            let what =
                format!("a camera with a lens of the type {} and {field_of_view} rad is left out", shorten(kind));
            self.notes.add(place, what, "no lens here shows its rays there");
            return None;
        };
        /// Difference of a ray's place that nobody sees, pixels.
        const NEGLIGIBLE_ERROR: f64 = 0.05;
        if error > NEGLIGIBLE_ERROR {
            let what = format!("a lens of the type {} is a fisheye, up to {error:.1} pixels off", shorten(kind));
            self.notes.add(place, what, "the polynomial of a fisheye has four coefficients");
        }
        if node.is_some_and(|lens| text(lens, "scale_to_hfov").is_some_and(|text| ["false", "0"].contains(&text))) {
            let meaning = "the field of view fills the width of the image";
            self.notes.add(place, "<scale_to_hfov> false is left out", meaning);
        }
        let cutoff = node.and_then(|lens| number(self.reading, lens, "cutoff_angle"));
        if cutoff.is_some_and(|cutoff| cutoff < 0.5 * field_of_view) {
            self.notes.add(place, "<cutoff_angle> is left out", "the lens shows its whole field of view");
        }
        Some(part)
    }

    fn image_noise(&self, node: &Node, kind: DeviceKind) -> Option<Part> {
        let of = |tag: &str| number(self.reading, node, tag).unwrap_or(0.0);
        let is_none = ["none", ""].contains(&text(node, "type").or(attribute(node, "type")).unwrap_or("gaussian"));
        let (deviation, mean) = (of("stddev").abs(), of("mean"));
        if is_none || (deviation == 0.0 && mean == 0.0) {
            return None;
        }
        if kind == DeviceKind::SegmentationCamera {
            let meaning = "its values are numbers of bodies";
            self.notes.add(node.offset, "the noise of a segmentation camera is left out", meaning);
            return None;
        }
        if mean != 0.0 {
            self.notes.add(node.offset, "the mean of the noise of images is left out", "it is 0");
        }
        (deviation > 0.0).then(|| ("imageNoise", vec![("standardDeviation", deviation.to_string())]))
    }
}

fn with_numbers<const N: usize>(
    mut attributes: Vec<(&'static str, String)>,
    numbers: [(&'static str, f64); N],
) -> Vec<(&'static str, String)> {
    attributes.extend(numbers.map(|(name, value)| (name, value.to_string())));
    attributes
}
