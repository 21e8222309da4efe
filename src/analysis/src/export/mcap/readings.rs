//! Converts readings to messages in schemas that Foxglove draws: scans, point clouds, poses and locations on a map.
//! Messages also have the plain numbers under their own names, for plots, except for scans and point clouds, which may
//! have thousands.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bevy_math::{DMat3, DVec3};
use simpartner_description::{DeviceSpec, Mount, Sensor, World};
use simpartner_model::Pose;
use simpartner_wire::signal::DeviceKind;

use super::{json, schema};
use simpartner_recorder::inquiry::Component;
use simpartner_simulation::device::{self, RayBundle};

/// Formats the readings of a device as messages.
#[derive(Debug)]
pub(super) struct ReadingFormatter {
    /// Name of the frame of the messages, quoted: the body that the sensor is mounted on, or the world.
    frame: String,
    /// Names of the device's fields in their order, quoted.
    names: Vec<String>,
    form: MessageForm,
}

#[derive(Debug)]
enum MessageForm {
    /// A planar fan of rays. `pose` is the fan's pose on the body; the fan lies in its x-y plane, and x is the middle
    /// ray. `half_angle` is half of the fan's angle, rad.
    Scan { pose: [Option<f64>; 7], half_angle: f64 },
    /// A point cloud of a scanner with several fans.
    Points(RayBundle),
    /// A position x, y, z, m.
    Position,
    /// A position x, y, z, m, and a quaternion.
    Pose,
    /// Latitude, longitude and altitude.
    Location,
    /// A quaternion, an angular velocity and a specific force.
    Inertial,
    /// Numbers for which Foxglove has no schema.
    Plain,
}

/// Quaternion x, y, z, w of the world axes, for positions without an orientation.
const IDENTITY_QUATERNION: [Option<f64>; 4] = [Some(0.0), Some(0.0), Some(0.0), Some(1.0)];

impl ReadingFormatter {
    /// Formatter for a device of the world, `device`, which the log has as `component`.
    pub(super) fn new(world: &World, device: &simpartner_description::Device, component: &Component) -> Self {
        let (mut frame, mut form) = ("world".to_owned(), MessageForm::Plain);
        if let DeviceSpec::Sensor(sensor) = &device.spec {
            form = MessageForm::of_sensor(sensor);
            if let Mount::Body { body, .. } = sensor.mount
                && !matches!(form, MessageForm::Position | MessageForm::Pose)
            {
                frame = format!("{}/{}", world.mechanism.robot(device.robot).name, world.mechanism.body(body).name);
            }
        }
        let names = component.fields.iter().map(|(name, _)| json::quote(name)).collect();
        Self { frame: json::quote(&frame), names, form }
    }

    /// Name and text of the messages' schema.
    pub(super) fn schema(&self, component: &Component) -> (String, serde_json::Value) {
        let fields = component.fields.iter().map(|(field, unit)| (field.as_str(), unit.as_str()));
        match self.form {
            MessageForm::Scan { .. } => schema::laser_scan(),
            MessageForm::Points(_) => schema::point_cloud(),
            MessageForm::Position | MessageForm::Pose => schema::pose_in_frame(fields),
            MessageForm::Location => schema::location_fix(),
            MessageForm::Inertial => schema::imu(fields),
            MessageForm::Plain => (format!("simpartner.Reading {}", component.name), schema::numbers(fields)),
        }
    }

    /// Formats the message of a reading, whose numbers are in the order of the fields. `time` is JSON.
    pub(super) fn format_message(&self, time: &str, reading: &[Option<f64>]) -> String {
        let mut text = String::from("{");
        match &self.form {
            MessageForm::Plain => self.push_plain(&mut text, reading, ""),
            MessageForm::Inertial => self.push_inertial(&mut text, time, reading),
            _ => self.push_in_frame(&mut text, time, reading),
        }
        text.push('}');
        text
    }

    /// Adds the members of a message with a time and a frame.
    fn push_in_frame(&self, text: &mut String, time: &str, reading: &[Option<f64>]) {
        *text += &format!(r#""timestamp":{time},"frame_id":{},"#, self.frame);
        match &self.form {
            MessageForm::Scan { pose, half_angle } => {
                text.push_str(r#""pose":"#);
                json::push_pose(text, pose);
                *text += &format!(r#","start_angle":{:?},"end_angle":{half_angle:?},"ranges":"#, -half_angle);
                json::push_list(text, reading.iter().copied());
                text.push_str(r#","intensities":[]"#);
            }
            MessageForm::Points(rays) => push_points(text, rays, reading),
            MessageForm::Location => {
                self.push_plain(text, reading, "");
                text.push_str(r#","position_covariance":[0,0,0,0,0,0,0,0,0],"position_covariance_type":0"#);
            }
            MessageForm::Position | MessageForm::Pose | MessageForm::Inertial | MessageForm::Plain => {
                let mut numbers = reading.to_vec();
                numbers.extend(IDENTITY_QUATERNION.iter().skip(reading.len().saturating_sub(3)));
                numbers.resize(7, None);
                text.push_str(r#""pose":"#);
                json::push_pose(text, &numbers);
                self.push_plain(text, reading, ",");
            }
        }
    }

    /// Adds the members of an inertial reading in the schema of ROS, because Foxglove has none.
    fn push_inertial(&self, text: &mut String, time: &str, reading: &[Option<f64>]) {
        *text += &format!(r#""header":{{"stamp":{time},"frame_id":{}}}"#, self.frame);
        for (name, numbers) in
            ["orientation", "angular_velocity", "linear_acceleration"].iter().zip([0..4, 4..7, 7..10])
        {
            *text += &format!(r#","{name}":"#);
            json::push_axes(text, reading.get(numbers).unwrap_or_default());
            *text += &format!(r#","{name}_covariance":[0,0,0,0,0,0,0,0,0]"#);
        }
        self.push_plain(text, reading, ",");
    }

    /// Adds the plain numbers under their names, with the separator `before` in front.
    fn push_plain(&self, text: &mut String, reading: &[Option<f64>], before: &str) {
        if !self.names.is_empty() {
            text.push_str(before);
        }
        json::push_members(text, self.names.iter().map(String::as_str).zip(reading.iter().copied()));
    }
}

impl MessageForm {
    fn of_sensor(sensor: &Sensor) -> Self {
        let scanner = sensor.options.rays;
        match (sensor.kind, sensor.mount) {
            (DeviceKind::ScannerSensor, Mount::Body { pose, .. }) if scanner.layers == 1 => {
                // The sensor's fan lies in its z-x plane, with the middle ray along z. Foxglove's lies in x-y, with the
                // middle ray along x.
                let sensor_from_scan = Pose::from_matrix(DMat3::from_cols(DVec3::Z, DVec3::X, DVec3::Y), DVec3::ZERO);
                let pose = pose.then(&sensor_from_scan).to_array().map(Some);
                // A single ray is the middle ray.
                Self::Scan { pose, half_angle: if scanner.rays == 1 { 0.0 } else { scanner.half_angle } }
            }
            (DeviceKind::ScannerSensor, _) => device::rays(sensor).map_or(Self::Plain, Self::Points),
            (DeviceKind::PositionSensor, _) => Self::Position,
            (DeviceKind::PoseSensor, _) => Self::Pose,
            (DeviceKind::GnssSensor, _) => Self::Location,
            (DeviceKind::ImuSensor, _) => Self::Inertial,
            _ => Self::Plain,
        }
    }
}

/// Adds the points that the rays have hit, in the body's frame. A ray without a hit has no point.
fn push_points(text: &mut String, rays: &RayBundle, reading: &[Option<f64>]) {
    let mut data = Vec::with_capacity(reading.len() * 12);
    let hit = |distance: &Option<f64>| distance.filter(|distance| *distance < rays.range);
    for (direction, distance) in rays.directions.iter().zip(reading.iter().map(hit)) {
        let Some(distance) = distance else { continue };
        for axis in (rays.origin + *direction * distance).to_array() {
            data.extend((axis as f32).to_le_bytes());
        }
    }
    text.push_str(r#""pose":"#);
    json::push_pose(text, &Pose::IDENTITY.to_array().map(Some));
    // Type 7 is a 32-bit float.
    let field = |(name, offset): (&str, u32)| format!(r#"{{"name":"{name}","offset":{offset},"type":7}}"#);
    let fields = [("x", 0), ("y", 4), ("z", 8)].map(field).join(",");
    *text += &format!(r#","point_stride":12,"fields":[{fields}],"data":"{}""#, BASE64_STANDARD.encode(data));
}

#[cfg(test)]
mod tests {
    use super::*;
    use simpartner_description::Scanner;
    use simpartner_model::BodyId;

    /// A scanner that is turned and moved on its body.
    fn scanner(layers: usize) -> Sensor {
        let pose = Pose::from_xyz_rpy(DVec3::new(1.0, 2.0, 3.0), DVec3::new(0.3, -0.7, 1.1));
        let scanner = Scanner { rays: 5, half_angle: 0.8, layers, vertical_half_angle: 0.2, range: 10.0 };
        Sensor::on(BodyId::new(0), pose, DeviceKind::ScannerSensor).with_rays(scanner)
    }

    fn message(form: MessageForm, reading: &[Option<f64>]) -> serde_json::Value {
        let readings = ReadingFormatter { frame: r#""b""#.into(), names: Vec::new(), form };
        serde_json::from_str(&readings.format_message(r#"{"sec":1,"nsec":2}"#, reading)).unwrap()
    }

    #[test]
    fn a_scan_as_foxglove_lays_it_out_has_its_rays_where_the_sensor_has_them() {
        let sensor = scanner(1);
        let said = message(MessageForm::of_sensor(&sensor), &[1.0, 2.0, 3.0, 4.0, 10.0].map(Some));
        let number = |path: &str| said.pointer(path).and_then(serde_json::Value::as_f64).unwrap();
        let at = |name: &str| ["x", "y", "z"].map(|axis| number(&format!("/pose/{name}/{axis}")));
        let [x, y, z] = at("orientation");
        let rotation = bevy_math::DQuat::from_xyzw(x, y, z, number("/pose/orientation/w"));
        let rays = device::rays(&sensor).unwrap();
        assert!((DVec3::from_array(at("position")) - rays.origin).length() < 1e-12);
        let (start, end) = (number("/start_angle"), number("/end_angle"));
        for (index, direction) in rays.directions.iter().enumerate() {
            let (sine, cosine) = libm::sincos(start + (end - start) * index as f64 / 4.0);
            let drawn = rotation * DVec3::new(cosine, sine, 0.0);
            assert!((drawn - *direction).length() < 1e-12, "{index}: {drawn} {direction}");
        }
        assert_eq!(said["ranges"], serde_json::json!([1.0, 2.0, 3.0, 4.0, 10.0]));
    }

    #[test]
    fn a_cloud_has_the_points_that_were_met() {
        let sensor = scanner(2);
        let mut reading = [Some(10.0); 10];
        (reading[3], reading[7], reading[8]) = (Some(2.0), None, Some(4.0));
        let said = message(MessageForm::of_sensor(&sensor), &reading);
        let data = BASE64_STANDARD.decode(said["data"].as_str().unwrap()).unwrap();
        let numbers: Vec<f32> = data.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
        let rays = device::rays(&sensor).unwrap();
        let expected = [(3, 2.0), (8, 4.0)].map(|(ray, distance)| rays.origin + rays.directions[ray] * distance);
        let expected: Vec<f32> = expected.iter().flat_map(|point| point.to_array().map(|axis| axis as f32)).collect();
        assert_eq!(numbers, expected);
        assert_eq!(said["point_stride"], 12);
    }

    #[test]
    fn a_place_is_a_pose_and_keeps_its_numbers() {
        let readings = ReadingFormatter {
            frame: r#""world""#.into(),
            names: ["x", "y", "z"].map(json::quote).into(),
            form: MessageForm::Position,
        };
        let said = readings.format_message(r#"{"sec":1,"nsec":2}"#, &[Some(1.0), Some(2.0), None]);
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["pose"]["position"], serde_json::json!({ "x": 1.0, "y": 2.0, "z": null }));
        assert_eq!((&said["pose"]["orientation"]["w"], &said["x"]), (&1.0.into(), &1.0.into()));
    }
}
