//! JSON schemas of the channels: four that Foxglove knows by name, and objects of plain numbers.

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

/// Frames of bodies.
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

/// Shapes of bodies.
pub(super) fn scene() -> (String, Value) {
    let pose = || object("foxglove.Pose", json!({ "position": vector(), "orientation": quaternion() }));
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

/// What happened.
pub(super) fn log() -> (String, Value) {
    let text = || json!({ "type": "string" });
    let number = || json!({ "type": "integer" });
    let name = "foxglove.Log";
    let properties = json!({ "timestamp": time(), "level": number(), "message": text(), "name": text(),
        "file": text(), "line": number() });
    (name.into(), object(name, properties))
}

/// What was commanded.
pub(super) fn command() -> (String, Value) {
    let text = || json!({ "type": "string" });
    let properties = json!({ "device": text(), "client": { "type": "integer" }, "text": text(), "reply": text() });
    ("simpartner.Command".into(), object("simpartner.Command", properties))
}

/// Plain numbers, each with its unit.
pub(super) fn numbers<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Value {
    let property =
        |(name, unit): (&str, &str)| (name.to_owned(), json!({ "type": ["number", "null"], "description": unit }));
    json!({ "type": "object", "properties": fields.map(property).collect::<Map<_, _>>() })
}
