//! `SpawnEntity` as the server's `SPAWN`: z up becomes y up.

use bevy_math::{DQuat, DVec3};
use simpartner_wire::protocol::{frame, word};

use crate::{
    frames::{Axes, Pose},
    interfaces::{Outcome, Spawn, Spawned, result},
    links::MAP,
    ros::parse,
};

/// The line for the control port.
///
/// # Errors
/// Nothing is named, or a name, a namespace or the pose is invalid.
pub fn line(request: &Spawn) -> Result<String, Outcome> {
    let Spawn { name, allow_renaming, entity_resource, entity_namespace, initial_pose } = request;
    if name.contains(char::is_whitespace) || name.contains('=') {
        return Err(Outcome::failed(
            result::NAME_INVALID,
            format!("expected a name without blanks and '=', got '{name:.100}'"),
        ));
    }
    let mut line = "SPAWN".to_owned();
    if !entity_namespace.is_empty() {
        parse(&namespace(entity_namespace))
            .map_err(|error| Outcome::failed(result::NAMESPACE_INVALID, format!("{error:#}")))?;
    }
    if !name.is_empty() {
        line += &format!(" name={name}");
    }
    // Without a name, that of the model is used, which may be in use already.
    if *allow_renaming {
        line += " rename=true";
    }
    line += &place(initial_pose)?;
    let (uri, text) = (&entity_resource.uri, &entity_resource.resource_string);
    match (uri.is_empty(), text.is_empty()) {
        (false, _) if uri.contains(char::is_whitespace) => Err(Outcome::failed(
            result::RESOURCE_PARSE_ERROR,
            "expected a uri without blanks; GetSpawnables lists them",
        )),
        (false, _) => Ok(format!("{line} file={uri}")),
        (true, false) => Ok(format!("{line} text={}", serde_json::Value::from(text.as_str()))),
        (true, true) => Err(Outcome::failed(
            result::NO_RESOURCE,
            "expected a uri, as GetSpawnables lists them, or a resource_string",
        )),
    }
}

/// A namespace as topics have it in front.
pub fn namespace(given: &str) -> String {
    format!("/{}", given.trim_matches('/'))
}

fn place(given: &crate::messages::PoseStamped) -> Result<String, Outcome> {
    let invalid = |what: String| Outcome::failed(result::INVALID_POSE, what);
    let in_frame = given.header.frame_id.as_str();
    if !matches!(in_frame, "" | "world" | MAP) {
        return Err(invalid(format!("poses are in the frame '{MAP}' (or ''), got '{in_frame:.100}'")));
    }
    let (p, q) = (&given.pose.position, &given.pose.orientation);
    // An unset quaternion has four zeros.
    let rotation = match [q.x, q.y, q.z, q.w] {
        [0.0, 0.0, 0.0, 0.0] => DQuat::IDENTITY,
        numbers => DQuat::from_array(numbers),
    };
    let asked = Pose { position: DVec3::new(p.x, p.y, p.z), rotation };
    if !(asked.position.is_finite() && asked.rotation.is_finite()) {
        return Err(invalid("the pose has numbers that are not finite".into()));
    }
    // A robot's own frame is turned like the world, whatever the axes of its links.
    let asked = asked.turned_back(Axes::YUp, Axes::YUp);
    // Adding zero turns negative zero into zero.
    let numbers = |numbers: &[f64]| frame(&numbers.iter().map(|number| number + 0.0).collect::<Vec<_>>());
    let (position, turn) = (numbers(&asked.position.to_array()), numbers(&asked.rotation.to_array()));
    let bare = |frame: &str| frame.trim_matches(['<', '>']).to_owned();
    Ok(format!(" position={} orientation={}", bare(&position), bare(&turn)))
}

/// The outcome of the server's answer, with the name that the robot got.
pub fn outcome(answer: &str) -> Spawned {
    if let Some(name) = word(answer, "name").filter(|_| answer.starts_with("OK")) {
        return Spawned { result: Outcome::ok(), entity_name: name.to_owned() };
    }
    let out_of_range = |key: &str| answer.starts_with(&format!("ERR 4 {key}:"));
    let code = match answer {
        _ if out_of_range("position") || out_of_range("orientation") => result::INVALID_POSE,
        _ if !answer.starts_with("ERR 8") => result::OPERATION_FAILED,
        _ if answer.contains("' already; give this one another name") => result::NAME_NOT_UNIQUE,
        _ if answer.contains("attribute 'name': expected a name") => result::NAME_INVALID,
        _ => result::RESOURCE_PARSE_ERROR,
    };
    Spawned { result: Outcome::failed(code, answer), entity_name: String::new() }
}

#[cfg(test)]
mod tests {
    use simpartner_wire::protocol::{ControlRequest, SpawnSource, read_control};

    use super::*;
    use crate::{
        interfaces::Resource,
        messages::{Header, PoseStamped, Quaternion, Time},
    };

    fn request(uri: &str, text: &str) -> Spawn {
        let entity_resource = Resource { uri: uri.into(), resource_string: text.into() };
        Spawn { entity_resource, ..Spawn::default() }
    }

    #[test]
    fn z_up_becomes_y_up() {
        let mut asked = request("", "<robot name=\"a\">\n</robot>");
        let half = std::f64::consts::FRAC_1_SQRT_2;
        asked.initial_pose = PoseStamped {
            header: Header::new(&Time::default(), MAP),
            pose: Pose { position: DVec3::new(1.0, 2.0, 3.0), rotation: DQuat::from_xyzw(0.0, 0.0, half, half) }.into(),
        };
        (asked.name, asked.allow_renaming) = ("Arm".into(), true);
        let line = line(&asked).unwrap();
        let Ok(ControlRequest::Spawn(spawn)) = read_control(&line) else { panic!("{line}") };
        assert_eq!((spawn.name.as_deref(), spawn.may_rename), (Some("Arm"), true));
        assert_eq!(spawn.source, SpawnSource::Text(asked.entity_resource.resource_string));
        assert_eq!(spawn.placement.position, Some([1.0, 3.0, -2.0]));
        // About z by a quarter: about our y by a quarter.
        let turned = DQuat::from_array(spawn.placement.orientation.unwrap());
        assert!(turned.dot(DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2)).abs() > 1.0 - 1e-14, "{line}");
    }

    #[test]
    fn what_cannot_come_has_its_code() {
        let code = |request: &Spawn| match line(request) {
            Ok(line) => match read_control(&line) {
                Ok(_) => result::OK,
                Err(refusal) => outcome(&refusal.to_string()).result.result,
            },
            Err(outcome) => outcome.result,
        };
        assert_eq!(code(&request("rover.xml", "")), result::OK);
        assert_eq!(code(&request("", "")), result::NO_RESOURCE);
        assert_eq!(code(&Spawn { name: "a b".into(), ..request("x", "") }), result::NAME_INVALID);
        assert_eq!(code(&Spawn { entity_namespace: "1 2".into(), ..request("x", "") }), result::NAMESPACE_INVALID);
        let mut posed = request("rover.xml", "");
        posed.initial_pose.pose.position.x = f64::NAN;
        assert_eq!(code(&posed), result::INVALID_POSE);
        posed.initial_pose.pose.position.x = 1e9;
        assert_eq!(code(&posed), result::INVALID_POSE);
        posed.initial_pose.pose.position.x = 0.0;
        posed.initial_pose.pose.orientation = Quaternion { x: 2.0, y: 0.0, z: 0.0, w: 0.0 };
        assert_eq!(code(&posed), result::INVALID_POSE);
        posed.initial_pose.pose.orientation = Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 0.0 };
        assert_eq!(code(&posed), result::OK);
        posed.initial_pose.header.frame_id = "base".into();
        assert_eq!(code(&posed), result::INVALID_POSE);
        assert_eq!(
            outcome("ERR 8 w.xml:0:0: there is a robot or an object 'a' already; give this one another name")
                .result
                .result,
            result::NAME_NOT_UNIQUE
        );
        assert_eq!(outcome("OK name=a_1").entity_name, "a_1");
    }
}
