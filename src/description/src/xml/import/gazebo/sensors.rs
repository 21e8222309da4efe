//! `<sensor>` on a link or on a joint.

use bevy_math::DVec3;
use simpartner_model::Pose;
use simpartner_wire::signal::DeviceKind;

use super::{
    super::{
        attributes::attribute,
        model::{Device, Motion, Mount, Noise},
    },
    Gazebo,
    axes::x_ahead,
    cameras::camera_kind,
    number, text,
};
use crate::{
    text::{numbers::shorten, tree::child},
    xml::node::Node,
};

/// Minimum range of a lidar, m, above which the importer warns that ours has none. Nearer than that is its own housing.
const WARNED_MINIMUM_RANGE: f64 = 0.05;

/// Sensors on a link: our word for each.
const ON_LINKS: [(&str, DeviceKind); 13] = [
    ("imu", DeviceKind::ImuSensor),
    ("magnetometer", DeviceKind::MagnetometerSensor),
    ("gps", DeviceKind::GnssSensor),
    ("navsat", DeviceKind::GnssSensor),
    ("altimeter", DeviceKind::AltimeterSensor),
    ("air_pressure", DeviceKind::BarometerSensor),
    ("air_speed", DeviceKind::AirSpeedSensor),
    ("contact", DeviceKind::ContactSensor),
    ("ray", DeviceKind::ScannerSensor),
    ("gpu_ray", DeviceKind::ScannerSensor),
    ("lidar", DeviceKind::ScannerSensor),
    ("gpu_lidar", DeviceKind::ScannerSensor),
    ("sonar", DeviceKind::DistanceSensor),
];
impl Gazebo<'_, '_, '_> {
    /// A sensor on a link, at a pose of the link.
    pub(in super::super) fn read_link_sensor(&mut self, node: &Node, link: usize, mut pose: Pose) {
        let kind = attribute(node, "type").unwrap_or_default();
        self.tell_plugins(node);
        if let Some(kind) = camera_kind(kind) {
            return self.read_cameras(node, kind, link, pose);
        }
        let Some((_, ours)) = ON_LINKS.iter().find(|(theirs, _)| *theirs == kind) else {
            let what = format!("a sensor of the type '{}' is left out", shorten(kind));
            return self.notes.add(node.offset, what, worth_of(kind));
        };
        let (mut attributes, mut noise) = (Vec::new(), Vec::new());
        let rays = ["ray", "lidar"].into_iter().find_map(|tag| child(node, tag));
        match *ours {
            DeviceKind::ScannerSensor => pose = pose.then(&self.set_rays(rays, &mut attributes)),
            // Along x there, along z here.
            DeviceKind::DistanceSensor => {
                pose = pose.then(&x_ahead(0.0));
                let range = child(node, "sonar").and_then(|sonar| number(self.reading, sonar, "max"));
                attributes.extend(range.map(|range| ("range", range.to_string())));
            }
            DeviceKind::AirSpeedSensor => pose = pose.then(&x_ahead(0.0)),
            DeviceKind::ImuSensor => noise = self.imu_noise(node),
            DeviceKind::GnssSensor => noise = self.navsat_noise(node),
            _ => {}
        }
        if let Some(rays) = rays {
            noise.extend(child(rays, "noise").and_then(|node| self.noise(node, None)));
        }
        if kind == "contact" {
            let what = format!("a sensor of the type {kind} becomes a {}", ours.name());
            self.notes.add(node.offset, what, "it reads the sum of the contacts of its body");
        }
        if *ours == DeviceKind::ContactSensor {
            pose = Pose::IDENTITY;
        }
        self.add_sensor(node, *ours, Mount::Link { link, pose }, attributes, noise);
    }

    /// A sensor on a joint, if the joint is there.
    pub(in super::super) fn read_joint_sensor(&mut self, node: &Node, joint: Option<usize>) {
        self.tell_plugins(node);
        if attribute(node, "type") != Some("force_torque") {
            let kind = shorten(attribute(node, "type").unwrap_or_default());
            let what = format!("a sensor of the type '{kind}' on a joint is left out");
            return self.notes.add(node.offset, what, "no sensor here reads that");
        }
        let Some(joint) = joint.filter(|joint| self.keep_joint(*joint)) else {
            let what = "a sensor on a joint that fixes a link to the world is left out";
            return self.notes.add(node.offset, what, "put it on another joint");
        };
        let inner = child(node, "force_torque");
        let frame = inner.and_then(|node| text(node, "frame")).unwrap_or("child");
        let attributes = ["child", "parent"]
            .iter()
            .filter(|known| **known == frame)
            .map(|known| ("frame", (*known).to_owned()))
            .collect();
        if inner.and_then(|node| text(node, "measure_direction")) == Some("child_to_parent") {
            let meaning = "it reads what the parent exerts on the child: the same figures with the other sign";
            self.notes.add(node.offset, "<measure_direction> child_to_parent is left out", meaning);
        }
        self.add_sensor(node, DeviceKind::ForceTorqueSensor, Mount::Joint(joint), attributes, Vec::new());
    }

    /// Keeps the links of a joint separate even if it is fixed, so that a sensor can measure between them. A link that
    /// is fixed to the world has no joint.
    pub(super) fn keep_joint(&mut self, place: usize) -> bool {
        let Some(joint) = self.model.joints.get_mut(place) else { return false };
        joint.keeps_links = true;
        joint.motion != Motion::Fixed || Some(joint.parent) != self.world
    }

    /// Warns of a sensor's plugins: its port replaces them.
    fn tell_plugins(&self, node: &Node) {
        if let Some(plugin) = node.children.iter().find(|child| child.name == "plugin") {
            let meaning = "the sensor has a port of its own, and clients/ros2 publishes it under a topic of its name";
            self.notes.add(plugin.offset, "the plugin of a sensor is left out", meaning);
        }
    }

    fn add_sensor(
        &mut self,
        node: &Node,
        kind: DeviceKind,
        mount: Mount,
        mut attributes: Vec<(&'static str, String)>,
        noise: Vec<Noise>,
    ) {
        let rate = self.positive(node, "update_rate").filter(|rate| *rate <= 1e6);
        attributes.extend(rate.map(|rate| ("rate", rate.to_string())));
        let name = attribute(node, "name").unwrap_or("sensor").to_owned();
        let parts = Vec::new();
        self.model.devices.push(Device { kind, name, offset: node.offset, mount, attributes, noise, parts });
    }

    /// Sets the rays of a lidar, and returns the rotation of its frame: rays here fan out about z towards x.
    fn set_rays(&self, rays: Option<&Node>, attributes: &mut Vec<(&'static str, String)>) -> Pose {
        let scan = rays.and_then(|rays| child(rays, "scan"));
        let fan = |tag: &str| {
            let fan = scan.and_then(|scan| child(scan, tag))?;
            let number = |tag, default| number(self.reading, fan, tag).unwrap_or(default);
            Some((number("samples", 1.0).max(1.0), number("min_angle", 0.0), number("max_angle", 0.0)))
        };
        let (samples, low, high) = fan("horizontal").unwrap_or((640.0, 0.0, 0.0));
        attributes.push(("rays", (samples as i64).to_string()));
        let half = (0.5 * (high - low)).clamp(1e-6, std::f64::consts::PI);
        attributes.push(("halfAngle", half.to_string()));
        let mut pose = x_ahead(0.5 * (low + high));
        if let Some((layers, low, high)) = fan("vertical").filter(|(layers, ..)| *layers > 1.0) {
            attributes.push(("layers", (layers as i64).to_string()));
            attributes
                .push(("verticalHalfAngle", (0.5 * (high - low)).clamp(1e-6, std::f64::consts::FRAC_PI_2).to_string()));
            // Turned up about our x axis, against its sense.
            pose = pose.then(&Pose::from_xyz_rpy(DVec3::ZERO, DVec3::new(-0.5 * (low + high), 0.0, 0.0)));
        }
        let range_node = rays.and_then(|rays| child(rays, "range"));
        let range = range_node.and_then(|range| number(self.reading, range, "max"));
        let least = range_node.and_then(|range| number(self.reading, range, "min")).unwrap_or(0.0);
        if let Some(node) = range_node.filter(|_| least > WARNED_MINIMUM_RANGE) {
            let what = format!("the minimum range of a lidar, {least} m, is left out");
            self.notes.add(node.offset, what, "it reads nearer distances too; a client has to drop them");
        }
        attributes
            .extend(range.filter(|range| *range > 0.0 && *range <= 1e6).map(|range| ("range", range.to_string())));
        pose
    }

    /// Noise of the axes of an IMU: that of x stands for all, with a warning if y or z differ.
    fn imu_noise(&self, node: &Node) -> Vec<Noise> {
        let of = |tag: &str, quantity: &'static str| {
            let vector = child(child(node, "imu")?, tag)?;
            let of_axis = |axis: &str| self.noise(child(child(vector, axis)?, "noise")?, Some(quantity));
            let axes = ["x", "y", "z"].map(of_axis);
            if axes[0] != axes[1] || axes[0] != axes[2] {
                let what = format!("noise of <{tag}> that differs between axes");
                self.notes.add(vector.offset, what, "each axis has that of the x axis");
            }
            let [first, ..] = axes;
            first
        };
        [("angular_velocity", "angularVelocity"), ("linear_acceleration", "specificForce")]
            .into_iter()
            .filter_map(|(tag, quantity)| of(tag, quantity))
            .collect()
    }

    /// Noise of a satellite receiver's place: that of its height is in metres in both worlds.
    fn navsat_noise(&self, node: &Node) -> Vec<Noise> {
        let sensing = ["navsat", "gps"].into_iter().find_map(|tag| child(child(node, tag)?, "position_sensing"));
        let noise = |direction: &str| child(child(sensing?, direction)?, "noise");
        if let Some(horizontal) = noise("horizontal") {
            let meaning =
                "give the sensor a <noise> of its latitude and longitude, in degrees: 9e-6 of them are a metre";
            self.notes.add(horizontal.offset, "the horizontal noise of a satellite receiver is left out", meaning);
        }
        noise("vertical").and_then(|noise| self.noise(noise, Some("altitude"))).into_iter().collect()
    }

    fn noise(&self, node: &Node, of: Option<&'static str>) -> Option<Noise> {
        let standard_deviation = number(self.reading, node, "stddev").unwrap_or(0.0).abs();
        let bias = number(self.reading, node, "bias_mean").unwrap_or(0.0);
        (standard_deviation > 0.0 || bias != 0.0).then_some(Noise { of, standard_deviation, bias })
    }
}

/// Effect of leaving out a sensor that has no counterpart here.
fn worth_of(kind: &str) -> &'static str {
    match kind {
        "thermal" | "thermal_camera" => "temperatures are not simulated; a Camera makes images of colours",
        "boundingbox" | "boundingbox_camera" | "logical_camera" => {
            "a SegmentationCamera has the body in each of its pixels"
        }
        "wireless_receiver" | "wireless_transmitter" | "rfid" | "rfidtag" => "no waves are simulated",
        _ => "no sensor here reads that",
    }
}
