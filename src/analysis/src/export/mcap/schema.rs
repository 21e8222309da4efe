//! JSON schemas of the channels: schemas of Foxglove and ROS, and objects of plain numbers.

use serde_json::{Map, Value, json};

fn object(title: &str, properties: Value) -> Value {
    json!({ "title": title, "type": "object", "properties": properties })
}

fn numbers_of(names: &[&str]) -> Value {
    let properties = names.iter().map(|name| ((*name).to_owned(), json!({ "type": "number" })));
    json!({ "type": "object", "properties": properties.collect::<Map<_, _>>() })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn time() -> Value {
    json!({ "type": "object", "title": "time",
        "properties": { "sec": { "type": "integer", "minimum": 0 }, "nsec": { "type": "integer", "minimum": 0 } } })
}

fn vector() -> Value {
    numbers_of(&["x", "y", "z"])
}

fn quaternion() -> Value {
    numbers_of(&["x", "y", "z", "w"])
}

/// Schema of frames of bodies: its name and text.
pub(super) fn transforms() -> (String, Value) {
    let text = || json!({ "type": "string" });
    let transform = object(
        "foxglove.FrameTransform",
        json!({ "timestamp": time(), "parent_frame_id": text(), "child_frame_id": text(),
            "translation": vector(), "rotation": quaternion() }),
    );
    let name = "foxglove.FrameTransforms";
    (name.into(), object(name, json!({ "transforms": list(transform) })))
}

/// Schema of the images of cameras.
pub(super) fn compressed_image() -> (String, Value) {
    let text = || json!({ "type": "string" });
    let name = "foxglove.CompressedImage";
    let data = json!({ "type": "string", "contentEncoding": "base64" });
    (name.into(), object(name, json!({ "timestamp": time(), "frame_id": text(), "data": data, "format": text() })))
}

/// Schema of the calibrations of cameras.
pub(super) fn camera_calibration() -> (String, Value) {
    let (text, whole) = (|| json!({ "type": "string" }), || json!({ "type": "integer", "minimum": 0 }));
    let numbers = || list(json!({ "type": "number" }));
    let name = "foxglove.CameraCalibration";
    let properties = json!({ "timestamp": time(), "frame_id": text(), "width": whole(), "height": whole(),
        "distortion_model": text(), "D": numbers(), "K": numbers(), "R": numbers(), "P": numbers() });
    (name.into(), object(name, properties))
}

/// Schema of shapes of bodies.
pub(super) fn scene() -> (String, Value) {
    let color = || numbers_of(&["r", "g", "b", "a"]);
    let solid = |title: &str| object(title, json!({ "pose": pose(), "size": vector(), "color": color() }));
    let cylinder = json!({ "pose": pose(), "size": vector(), "bottom_scale": { "type": "number" },
        "top_scale": { "type": "number" }, "color": color() });
    let triangles = json!({ "pose": pose(), "points": list(vector()), "color": color(), "colors": list(color()),
        "indices": list(json!({ "type": "integer" })) });
    let (text, nothing) = (json!({ "type": "string" }), list(json!({ "type": "object" })));
    let entity = object(
        "foxglove.SceneEntity",
        json!({ "timestamp": time(), "frame_id": text, "id": text, "lifetime": time(),
            "frame_locked": { "type": "boolean" }, "metadata": nothing, "arrows": nothing,
            "cubes": list(solid("foxglove.CubePrimitive")), "spheres": list(solid("foxglove.SpherePrimitive")),
            "cylinders": list(object("foxglove.CylinderPrimitive", cylinder)), "lines": nothing,
            "triangles": list(object("foxglove.TriangleListPrimitive", triangles)), "texts": nothing,
            "models": nothing }),
    );
    let name = "foxglove.SceneUpdate";
    (name.into(), object(name, json!({ "deletions": nothing, "entities": list(entity) })))
}

/// Schema of events.
pub(super) fn log() -> (String, Value) {
    let text = || json!({ "type": "string" });
    let number = || json!({ "type": "integer" });
    let name = "foxglove.Log";
    let properties = json!({ "timestamp": time(), "level": number(), "message": text(), "name": text(),
        "file": text(), "line": number() });
    (name.into(), object(name, properties))
}

/// Schema of commands.
pub(super) fn command() -> (String, Value) {
    let text = || json!({ "type": "string" });
    let properties = json!({ "device": text(), "client": { "type": "integer" }, "text": text(), "reply": text() });
    ("simpartner.Command".into(), object("simpartner.Command", properties))
}

/// Schema text of plain numbers, each with its unit.
pub(super) fn numbers<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Value {
    json!({ "type": "object", "properties": properties(fields) })
}

fn properties<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Map<String, Value> {
    let property =
        |(name, unit): (&str, &str)| (name.to_owned(), json!({ "type": ["number", "null"], "description": unit }));
    fields.map(property).collect()
}

fn pose() -> Value {
    object("foxglove.Pose", json!({ "position": vector(), "orientation": quaternion() }))
}

/// Schema of an object with a time, the name of a frame, the properties `rest`, and the plain numbers `fields`.
fn in_frame<'a>(name: &str, rest: Value, fields: impl Iterator<Item = (&'a str, &'a str)>) -> (String, Value) {
    let mut all = properties(fields);
    all.extend([("timestamp".to_owned(), time()), ("frame_id".to_owned(), json!({ "type": "string" }))]);
    if let Value::Object(rest) = rest {
        all.extend(rest);
    }
    (name.into(), object(name, Value::Object(all)))
}

/// Schema of a planar fan of rays.
pub(super) fn laser_scan() -> (String, Value) {
    let number = || json!({ "type": "number" });
    let rest = json!({ "pose": pose(), "start_angle": number(), "end_angle": number(), "ranges": list(number()),
        "intensities": list(number()) });
    in_frame("foxglove.LaserScan", rest, std::iter::empty())
}

/// Schema of points.
pub(super) fn point_cloud() -> (String, Value) {
    let integer = || json!({ "type": "integer", "minimum": 0 });
    let field = json!({ "name": { "type": "string" }, "offset": integer(), "type": integer() });
    let rest = json!({ "pose": pose(), "point_stride": integer(),
        "fields": list(object("foxglove.PackedElementField", field)),
        "data": { "type": "string", "contentEncoding": "base64" } });
    in_frame("foxglove.PointCloud", rest, std::iter::empty())
}

/// Schema of a pose with the reading's own numbers.
pub(super) fn pose_in_frame<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> (String, Value) {
    in_frame("foxglove.PoseInFrame", json!({ "pose": pose() }), fields)
}

/// Schema of a geographic position.
pub(super) fn location_fix() -> (String, Value) {
    let number = || json!({ "type": "number" });
    let rest = json!({ "latitude": number(), "longitude": number(), "altitude": number(),
        "position_covariance": list(number()), "position_covariance_type": { "type": "integer" } });
    in_frame("foxglove.LocationFix", rest, std::iter::empty())
}

/// Schema of a reading of an inertial measurement unit, in the layout of ROS, with the reading's own numbers.
pub(super) fn imu<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> (String, Value) {
    let covariance = || list(json!({ "type": "number" }));
    let mut all = properties(fields);
    let header = json!({ "type": "object", "properties": { "stamp": time(), "frame_id": { "type": "string" } } });
    all.insert("header".into(), header);
    for (name, numbers) in
        [("orientation", quaternion()), ("angular_velocity", vector()), ("linear_acceleration", vector())]
    {
        all.extend([(name.to_owned(), numbers), (format!("{name}_covariance"), covariance())]);
    }
    let name = "sensor_msgs/Imu";
    (name.into(), object(name, Value::Object(all)))
}
