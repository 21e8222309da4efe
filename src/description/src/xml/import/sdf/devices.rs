//! Sensors, and the plugins that drive joints.

use bevy_math::{DMat3, DVec3};
use simpartner_model::Pose;

use super::{
    super::{
        attributes::attribute,
        model::{Drive, DriveKind, Motion, Mount, Noise, Sensor},
    },
    Node, Scope, Sdf, child,
    frames::Frames,
    shorten,
};

/// Sensors on a link: our word for each.
const ON_LINKS: [(&str, &str); 11] = [
    ("imu", "ImuSensor"),
    ("magnetometer", "CompassSensor"),
    ("gps", "GnssSensor"),
    ("navsat", "GnssSensor"),
    ("altimeter", "PositionSensor"),
    ("contact", "ContactSensor"),
    ("ray", "ScannerSensor"),
    ("gpu_ray", "ScannerSensor"),
    ("lidar", "ScannerSensor"),
    ("gpu_lidar", "ScannerSensor"),
    ("sonar", "DistanceSensor"),
];
/// Parts of the names of plugins that drive joints, the tags by which they name them, and how.
const DRIVING: [(&str, &[&str], DriveKind); 8] = [
    ("position-controller", &["joint_name"], DriveKind::Position),
    ("position_controller", &["joint_name"], DriveKind::Position),
    ("joint-trajectory", &["joint_name"], DriveKind::Position),
    ("diff-drive", &["left_joint", "right_joint"], DriveKind::Velocity),
    ("diff_drive", &["left_joint", "right_joint", "leftJoint", "rightJoint"], DriveKind::Velocity),
    ("skid_steer", &["leftFrontJoint", "rightFrontJoint", "leftRearJoint", "rightRearJoint"], DriveKind::Velocity),
    ("joint-controller", &["joint_name"], DriveKind::Velocity),
    ("apply-joint-force", &["joint_name"], DriveKind::Effort),
];

impl Sdf<'_, '_> {
    /// The sensors of a model and what drives its joints, which are those from a place on.
    pub(super) fn read_devices(&mut self, node: &Node, scope: &Scope, first_joint: usize) {
        for link in node.children.iter().filter(|child| child.name == "link") {
            let place = attribute(link, "name").and_then(|name| scope.links.get(name)).copied();
            for sensor in link.children.iter().filter(|child| child.name == "sensor") {
                self.read_link_sensor(sensor, place.unwrap_or_default());
            }
        }
        for joint in node.children.iter().filter(|child| child.name == "joint") {
            let name = attribute(joint, "name").unwrap_or_default();
            let place = (first_joint..self.model.joints.len()).find(|&place| self.model.joints[place].name == name);
            for sensor in joint.children.iter().filter(|child| child.name == "sensor") {
                match place {
                    Some(place) if self.model.joints[place].motion != Motion::Fixed => {
                        self.read_joint_sensor(sensor, place)
                    }
                    _ => self.notes.add(
                        sensor.offset,
                        "a sensor on a joint that does not move is left out",
                        "keep the joint, or put it on another one",
                    ),
                }
            }
        }
        let plugins: Vec<&Node> = node.children.iter().filter(|child| child.name == "plugin").collect();
        let drives: Vec<bool> = plugins.iter().map(|plugin| self.read_plugin(plugin, first_joint)).collect();
        if drives.contains(&true) {
            return;
        }
        // As for a URDF file, each joint can be driven where the file does not say which can.
        for joint in self.model.joints[first_joint..]
            .iter_mut()
            .filter(|joint| [Motion::Turning, Motion::Sliding].contains(&joint.motion))
        {
            let kind = if joint.limits.is_some() { DriveKind::Position } else { DriveKind::Velocity };
            joint.drive.get_or_insert(Drive { kind, name: None, offset: joint.offset });
        }
    }

    /// Whether a plugin drives joints; then they have their drives.
    fn read_plugin(&mut self, node: &Node, first_joint: usize) -> bool {
        let named = [attribute(node, "filename"), attribute(node, "name")]
            .map(|text| text.unwrap_or_default().to_ascii_lowercase().replace("system", ""));
        let simple = |text: &str| text.replace(['-', '_'], "");
        let driving = DRIVING.iter().find(|(part, ..)| named.iter().any(|text| simple(text).contains(&simple(part))));
        let Some((_, tags, kind)) = driving else {
            self.tell_plugin(node);
            return false;
        };
        let names: Vec<&str> = node
            .children
            .iter()
            .filter(|child| tags.contains(&child.name.as_str()))
            .map(|child| child.text.trim())
            .collect();
        for joint in self.model.joints[first_joint..].iter_mut() {
            let moves = [Motion::Turning, Motion::Sliding].contains(&joint.motion);
            if moves && (names.contains(&joint.name.as_str()) || names.is_empty()) {
                joint.drive = Some(Drive { kind: *kind, name: None, offset: node.offset });
            }
        }
        let what = format!(
            "a plugin that drives {} is a controller on each joint",
            if names.is_empty() { "all joints" } else { "joints" }
        );
        self.notes.add(node.offset, what, "its topics and gains are not taken over; each joint has a port");
        true
    }

    pub(super) fn tell_plugin(&self, node: &Node) {
        let name = attribute(node, "filename").or(attribute(node, "name")).unwrap_or("without a name");
        self.notes.add(
            node.offset,
            format!("the plugin {} is left out", shorten(name)),
            "what it does has to be described as a device of ours",
        );
    }

    fn read_link_sensor(&mut self, node: &Node, link: usize) {
        let kind = attribute(node, "type").unwrap_or_default();
        let ours = ON_LINKS.iter().find(|(theirs, _)| *theirs == kind);
        let Some((_, ours)) = ours else {
            let what = format!("a sensor of the type '{}' is left out", shorten(kind));
            return self.notes.add(node.offset, what, "no sensor here reads that");
        };
        let mut pose = Frames::default().pose_of(self.reading, node, "__model__");
        let (mut attributes, mut noise) = (Vec::new(), Vec::new());
        let rays = ["ray", "lidar"].into_iter().find_map(|tag| child(node, tag));
        match *ours {
            "ScannerSensor" => pose = pose.then(&self.set_rays(rays, &mut attributes)),
            // Along x, where ours looks along z.
            "DistanceSensor" => {
                pose = pose.then(&x_ahead(0.0));
                let range = child(node, "sonar").and_then(|sonar| self.number(sonar, "max"));
                attributes.extend(range.map(|range| ("range", range.to_string())));
            }
            "ImuSensor" => noise = self.imu_noise(node),
            _ => {}
        }
        if let Some(rays) = rays {
            noise.extend(child(rays, "noise").and_then(|node| self.noise(node, None)));
        }
        if ["altimeter", "contact"].contains(&kind) {
            let what = format!("a sensor of the type {kind} becomes a {ours}");
            let meaning =
                if kind == "contact" { "it reads the sum of the contacts of its body" } else { "its y is the height" };
            self.notes.add(node.offset, what, meaning);
        }
        if *ours == "ContactSensor" {
            pose = Pose::IDENTITY;
        }
        self.add_sensor(node, ours, Mount::Link { link, pose }, attributes, noise);
    }

    fn read_joint_sensor(&mut self, node: &Node, joint: usize) {
        if attribute(node, "type") != Some("force_torque") {
            let what = format!(
                "a sensor of the type '{}' on a joint is left out",
                shorten(attribute(node, "type").unwrap_or_default())
            );
            return self.notes.add(node.offset, what, "no sensor here reads that");
        }
        let frame = child(node, "force_torque").and_then(|node| self.text(node, "frame")).unwrap_or("child");
        let attributes = ["child", "parent"]
            .iter()
            .filter(|known| **known == frame)
            .map(|known| ("frame", (*known).to_owned()))
            .collect();
        self.add_sensor(node, "ForceTorqueSensor", Mount::Joint(joint), attributes, Vec::new());
    }

    fn add_sensor(
        &mut self,
        node: &Node,
        kind: &'static str,
        mount: Mount,
        mut attributes: Vec<(&'static str, String)>,
        noise: Vec<Noise>,
    ) {
        let rate = self.number(node, "update_rate").filter(|rate| *rate > 0.0 && *rate <= 1e6);
        attributes.extend(rate.map(|rate| ("rate", rate.to_string())));
        let name = attribute(node, "name").unwrap_or("sensor").to_owned();
        self.model.sensors.push(Sensor { kind, name, offset: node.offset, mount, attributes, noise });
    }

    /// The rays of a lidar, and how its frame has to be turned: ours fan out about z towards x.
    fn set_rays(&self, rays: Option<&Node>, attributes: &mut Vec<(&'static str, String)>) -> Pose {
        let scan = rays.and_then(|rays| child(rays, "scan"));
        let fan = |tag: &str| {
            let fan = scan.and_then(|scan| child(scan, tag))?;
            let number = |tag, default| self.number(fan, tag).unwrap_or(default);
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
        let range = rays.and_then(|rays| child(rays, "range")).and_then(|range| self.number(range, "max"));
        attributes
            .extend(range.filter(|range| *range > 0.0 && *range <= 1e6).map(|range| ("range", range.to_string())));
        pose
    }

    /// Noise of the axes of an IMU: the first axis stands for all.
    fn imu_noise(&self, node: &Node) -> Vec<Noise> {
        let of = |tag: &str, quantity: &'static str| {
            let vector = child(child(node, "imu")?, tag)?;
            self.noise(child(child(vector, "x")?, "noise")?, Some(quantity))
        };
        [("angular_velocity", "angularVelocity"), ("linear_acceleration", "specificForce")]
            .into_iter()
            .filter_map(|(tag, quantity)| of(tag, quantity))
            .collect()
    }

    fn noise(&self, node: &Node, of: Option<&'static str>) -> Option<Noise> {
        let standard_deviation = self.number(node, "stddev").unwrap_or(0.0).abs();
        let bias = self.number(node, "bias_mean").unwrap_or(0.0);
        (standard_deviation > 0.0 || bias != 0.0).then_some(Noise { of, standard_deviation, bias })
    }
}

/// Our sensor's frame in one that looks along x with z up: turned about z by an angle, z ahead and x to the left.
fn x_ahead(angle: f64) -> Pose {
    let turn = DMat3::from_cols(DVec3::Y, DVec3::Z, DVec3::X);
    Pose::from_xyz_rpy(DVec3::ZERO, DVec3::new(0.0, 0.0, angle)).then(&Pose::from_matrix(turn, DVec3::ZERO))
}
