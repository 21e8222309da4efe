//! `<camera>`: cameras that are fixed to their bodies.

use simpartner_model::Pose;
use simpartner_wire::signal::DeviceKind;

use super::{
    super::{
        attributes::{attribute, number, numbers},
        camera::{DEFAULT_RATE, FROM_OPENGL, MAX_FIELD_OF_VIEW, MIN_FIELD_OF_VIEW, image_size, lens, size_attributes},
        model::{Device, Joint, Link, Motion, Mount, Part as Element},
        scene::WORLD,
    },
    body::Part,
    importer::Mjcf,
};
use crate::{text::numbers::shorten, xml::node::Node};

/// Columns and rows of a camera without `resolution`: those of MuJoCo's buffer for images without a window.
const DEFAULT_SIZE: [u32; 2] = [640, 480];
/// MuJoCo's vertical field of view, degrees.
const DEFAULT_FIELD_OF_VIEW: f64 = 45.0;
/// Name of the body that carries the cameras of the world.
const STAND_NAME: &str = "cameras";

impl Mjcf<'_, '_> {
    /// A camera on a body or in the world.
    pub(super) fn read_camera(&mut self, link: usize, part: &Part) {
        let node = self.resolve(&part.node, part.class());
        let mode = attribute(&node, "mode").unwrap_or("fixed");
        if mode != "fixed" {
            let what = format!("a camera with the mode {} is left out", shorten(mode));
            return self.notes.add(node.offset, what, "cameras here are fixed to their bodies");
        }
        let is_flat = attribute(&node, "orthographic") == Some("true");
        if is_flat || attribute(&node, "projection").is_some_and(|projection| projection != "perspective") {
            let meaning = "cameras here have a perspective";
            return self.notes.add(node.offset, "an orthographic camera is left out", meaning);
        }
        let size = match numbers::<2>(self.reading, &node, "resolution").filter(|size| *size != [1.0, 1.0]) {
            None => DEFAULT_SIZE,
            Some(given) => match image_size(given) {
                Some(size) => size,
                None => {
                    let what = format!("a camera with images of {} x {} pixels is left out", given[0], given[1]);
                    let meaning = "an image has 1 to 4096 columns and rows";
                    return self.notes.add(self.reading.attribute_offset(&node, "resolution"), what, meaning);
                }
            },
        };
        let name = attribute(&node, "name").filter(|name| !name.is_empty());
        let name = name.map_or_else(|| format!("camera_{}", self.cameras.len() + 1), str::to_owned);
        let mut attributes = size_attributes(size);
        let parts: Vec<Element> = self.lens_of_camera(&node, size, &mut attributes).into_iter().collect();
        attributes.push(("rate", DEFAULT_RATE.to_string()));
        let pose = part.frame.then(&self.compiler.pose(self.reading, &node)).then(&FROM_OPENGL);
        self.cameras.push(Device {
            kind: self.kind_of_camera(&node),
            name,
            offset: node.offset,
            mount: Mount::Link { link, pose },
            attributes,
            noise: Vec::new(),
            parts,
        });
    }

    /// The kind of a camera by the images that it makes.
    fn kind_of_camera(&self, node: &Node) -> DeviceKind {
        let Some(output) = attribute(node, "output") else { return DeviceKind::Camera };
        let has = |word: &str| output.split_whitespace().any(|given| given == word);
        for left_out in output.split_whitespace().filter(|word| !["rgb", "depth", "segmentation"].contains(word)) {
            let what = format!("the images '{}' of a camera are left out", shorten(left_out));
            self.notes.add(self.reading.attribute_offset(node, "output"), what, "no camera here makes them");
        }
        if has("segmentation") && (has("rgb") || has("depth")) {
            let meaning = "a SegmentationCamera at the same place makes them";
            let place = self.reading.attribute_offset(node, "output");
            self.notes.add(place, "the segmentation of a camera with other images is left out", meaning);
        }
        match (has("rgb"), has("depth"), has("segmentation")) {
            (true, true, _) => DeviceKind::RgbdCamera,
            (false, true, _) => DeviceKind::DepthCamera,
            (false, false, true) => DeviceKind::SegmentationCamera,
            _ => DeviceKind::Camera,
        }
    }

    /// The field of view as an attribute, or the lens of a camera with a sensor of a given size.
    fn lens_of_camera(
        &self,
        node: &Node,
        size: [u32; 2],
        attributes: &mut Vec<(&'static str, String)>,
    ) -> Option<Element> {
        let [width, height] = size.map(f64::from);
        let pair = |name: &str| numbers::<2>(self.reading, node, name);
        let sensor = pair("sensorsize").filter(|size| size.iter().all(|side| *side > 0.0));
        let density = sensor.map(|[x, y]| [width / x, height / y]);
        let in_pixels = |length: &str, pixel: &str| {
            let of_length = |[x, y]: [f64; 2]| density.map(|[along, across]| [x * along, y * across]);
            pair(length).and_then(of_length).or(density.and(pair(pixel)))
        };
        let focal = in_pixels("focal", "focalpixel").filter(|focal| focal.iter().all(|length| *length > 0.0));
        let Some([fx, fy]) = focal else {
            if let Some(given) = ["focal", "focalpixel"].into_iter().find(|name| attribute(node, name).is_some()) {
                let what = format!("'{given}' of a camera is left out");
                let meaning = "it counts with 'sensorsize' and 'resolution', and with lengths above 0";
                self.notes.add(self.reading.attribute_offset(node, given), what, meaning);
            }
            attributes.push(("fieldOfView", self.field_of_view(node, [width, height]).to_string()));
            return None;
        };
        let mut numbers = vec![("focalX", fx), ("focalY", fy)];
        if let Some([x, y]) = in_pixels("principal", "principalpixel").filter(|point| *point != [0.0; 2]) {
            // MuJoCo shifts the sensor to the right and up, and we count columns to the right and rows down.
            numbers.extend([("principalX", 0.5 * (width - 1.0) - x), ("principalY", 0.5 * (height - 1.0) + y)]);
        }
        Some(lens("pinhole", numbers))
    }

    /// Horizontal field of view in rad, of the vertical one in degrees, whatever unit the file has for angles.
    fn field_of_view(&self, node: &Node, [width, height]: [f64; 2]) -> f64 {
        let given = number(self.reading, node, "fovy").unwrap_or(DEFAULT_FIELD_OF_VIEW);
        let vertical = if given > 0.0 && given < 180.0 { given } else { DEFAULT_FIELD_OF_VIEW };
        let angle = 2.0 * libm::atan(libm::tan(0.5 * vertical.to_radians()) * width / height);
        let horizontal = angle.clamp(MIN_FIELD_OF_VIEW, MAX_FIELD_OF_VIEW);
        if vertical != given || horizontal != angle {
            let what = format!("a field of view of {given} degrees is left out");
            let place = self.reading.attribute_offset(node, "fovy");
            self.notes.add(place, what, "the camera has the closest one, or one of 45 degrees");
        }
        horizontal
    }

    /// Adds the cameras to the devices, those of the world on a fixed body of their own.
    pub(super) fn mount_cameras(&mut self) {
        let mut cameras = std::mem::take(&mut self.cameras);
        let in_world = |camera: &&mut Device| matches!(camera.mount, Mount::Link { link: WORLD, .. });
        let mut standing = cameras.iter_mut().filter(in_world).peekable();
        if let Some(first) = standing.peek() {
            let stand = self.model.links.len();
            let offset = first.offset;
            let fixed = Joint::new(format!("{STAND_NAME}_fixed"), offset, Motion::Fixed, [WORLD, stand]);
            self.model.joints.push(Joint { pose: Pose::IDENTITY, ..fixed });
            self.model.links.push(Link { name: STAND_NAME.into(), offset, ..Link::default() });
            for camera in standing {
                if let Mount::Link { link, .. } = &mut camera.mount {
                    *link = stand;
                }
            }
        }
        self.model.devices.extend(cameras);
    }
}
