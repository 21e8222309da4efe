//! `SetEntityState` as the server's `PLACE`: z up becomes y up, a link's frame becomes its body's.

use bevy_math::{DQuat, DVec3};
use simpartner_wire::protocol::frame;

use crate::{
    frames::{Axes, Pose},
    interfaces::{Outcome, SetEntityState, result},
    links::{Link, MAP},
    scene::BodyState,
};

/// The line for the control port; `None` if nothing is to be set. `link` is that of the entity's body, `now` its
/// present state.
///
/// # Errors
/// The frame is not the world's, the pose is invalid, or only an acceleration is to be set.
pub fn line(
    request: &SetEntityState,
    name: &str,
    link: &Link,
    centre_of_mass: [f64; 3],
    now: &BodyState,
) -> Result<Option<String>, Outcome> {
    let SetEntityState { state, set_pose, set_twist, set_acceleration, .. } = request;
    if !matches!(state.header.frame_id.as_str(), "" | MAP) {
        let what = format!("states are set in the frame '{MAP}' (or ''), got '{:.100}'", state.header.frame_id);
        return Err(Outcome::failed(result::OPERATION_FAILED, what));
    }
    if *set_acceleration && !set_pose && !set_twist {
        let what = "accelerations follow from forces; set a pose or a twist";
        return Err(Outcome::failed(result::FEATURE_UNSUPPORTED, what));
    }
    let (p, q) = (&state.pose.position, &state.pose.orientation);
    let asked = Pose { position: DVec3::new(p.x, p.y, p.z), rotation: DQuat::from_xyzw(q.x, q.y, q.z, q.w) };
    if *set_pose && !(asked.position.is_finite() && asked.rotation.is_finite()) {
        return Err(Outcome::failed(result::INVALID_STATE_POSE, "the pose has numbers that are not finite"));
    }
    let asked = asked.turned_back(Axes::YUp, link.axes);
    let rotation = if *set_pose { asked.rotation } else { now.pose.rotation };
    let mut line = format!("PLACE {name}");
    let mut add = |key: &str, numbers: &[f64]| {
        // Adding zero turns negative zero into zero.
        let numbers: Vec<f64> = numbers.iter().map(|number| number + 0.0).collect();
        line.push_str(&format!(" {key}={}", frame(&numbers).trim_matches(['<', '>'])));
    };
    if *set_pose {
        add("position", &(asked.position - rotation * link.origin).to_array());
        add("orientation", &rotation.to_array());
    }
    if *set_twist {
        let (linear, angular) = (&state.twist.linear, &state.twist.angular);
        let [linear, angular] =
            [linear, angular].map(|vector| Axes::YUp.vector_back(DVec3::new(vector.x, vector.y, vector.z)));
        let lever = rotation * (DVec3::from_array(centre_of_mass) - link.origin);
        add("linearVelocity", &(linear + angular.cross(lever)).to_array());
        add("angularVelocity", &angular.to_array());
    }
    Ok((*set_pose || *set_twist).then_some(line))
}

/// The outcome of the server's answer.
pub fn outcome(answer: &str) -> Outcome {
    let out_of_range = |key: &str| answer.starts_with(&format!("ERR 4 {key}:"));
    match answer {
        _ if answer.starts_with("OK") => Outcome::ok(),
        _ if out_of_range("position") || out_of_range("orientation") => {
            Outcome::failed(result::INVALID_STATE_POSE, answer)
        }
        _ => Outcome::failed(result::OPERATION_FAILED, answer),
    }
}

#[cfg(test)]
mod tests {
    use simpartner_wire::protocol::{ControlRequest, read_control};

    use super::*;
    use crate::{
        interfaces::EntityState,
        links::{in_map, origin_velocity},
        messages::{self, Header, Time, Twist},
    };

    fn link(axes: Axes, origin: DVec3) -> Link {
        Link { frame: "base".into(), axes, origin, parent: None, joint: None, fixed: false }
    }

    fn state() -> BodyState {
        let rotation = DQuat::from_euler(bevy_math::EulerRot::XYZ, 0.3, -0.7, 1.1);
        let pose = Pose { position: DVec3::new(1.0, 2.0, -3.0), rotation };
        BodyState { pose, velocity: DVec3::new(0.1, -0.2, 0.3), spin: DVec3::new(1.0, 0.5, -2.0) }
    }

    #[test]
    fn what_is_got_is_put_back_where_it_was() {
        for axes in [Axes::YUp, Axes::ZUp] {
            for origin in [DVec3::ZERO, DVec3::new(0.1, -0.4, 0.2)] {
                let (link, centre, now) = (link(axes, origin), [0.3, 0.1, -0.2], state());
                let turn = |vector| messages::Vector3::from(Axes::YUp.vector(vector));
                let told = EntityState {
                    header: Header::new(&Time::default(), MAP),
                    pose: in_map(&link, &now).into(),
                    twist: Twist { linear: turn(origin_velocity(&link, &now, centre)), angular: turn(now.spin) },
                    ..EntityState::default()
                };
                let request =
                    SetEntityState { state: told, set_pose: true, set_twist: true, ..SetEntityState::default() };
                let line = line(&request, "Cart", &link, centre, &state()).unwrap().unwrap();
                let Ok(ControlRequest::Place { name, placement, .. }) = read_control(&line) else { panic!("{line}") };
                assert_eq!(name, "Cart");
                let near = |got: Option<[f64; 3]>, expected: DVec3| {
                    assert!((DVec3::from_array(got.unwrap()) - expected).length() < 1e-14, "{line}");
                };
                near(placement.position, now.pose.position);
                near(placement.linear_velocity, now.velocity);
                near(placement.angular_velocity, now.spin);
                let turned = DQuat::from_array(placement.orientation.unwrap());
                assert!(turned.dot(now.pose.rotation).abs() > 1.0 - 1e-14, "{line}");
            }
        }
    }

    #[test]
    fn what_is_not_to_be_set_is_left_out() {
        let ask = |set_pose, set_twist, set_acceleration| {
            let request = SetEntityState { set_pose, set_twist, set_acceleration, ..SetEntityState::default() };
            line(&request, "Cart", &link(Axes::YUp, DVec3::ZERO), [0.0; 3], &state())
        };
        assert_eq!(ask(false, false, false), Ok(None));
        assert_eq!(ask(false, true, true).unwrap().unwrap(), "PLACE Cart linearVelocity=0,0,0 angularVelocity=0,0,0");
        assert_eq!(ask(false, false, true).unwrap_err().result, result::FEATURE_UNSUPPORTED);
        let mut foreign = SetEntityState { set_pose: true, ..SetEntityState::default() };
        foreign.state.header.frame_id = "odom".into();
        let refused = line(&foreign, "Cart", &link(Axes::YUp, DVec3::ZERO), [0.0; 3], &state()).unwrap_err();
        assert_eq!((refused.result, refused.error_message.contains("'odom'")), (result::OPERATION_FAILED, true));
    }

    #[test]
    fn poses_that_are_none_are_refused() {
        let mut request = SetEntityState { set_pose: true, ..SetEntityState::default() };
        let mut ask = |x: f64, w: f64| {
            (request.state.pose.position.x, request.state.pose.orientation) =
                (x, messages::Quaternion { w, x: 0.0, y: 0.0, z: 0.0 });
            match line(&request, "Cart", &link(Axes::YUp, DVec3::ZERO), [0.0; 3], &state()) {
                Ok(line) => match read_control(&line.unwrap()) {
                    Ok(_) => result::OK,
                    Err(refusal) => outcome(&refusal.to_string()).result,
                },
                Err(outcome) => outcome.result,
            }
        };
        for (x, w) in [(f64::NAN, 1.0), (f64::INFINITY, 1.0), (1e7, 1.0), (0.0, 0.0), (0.0, 5.0), (0.0, f64::NAN)] {
            assert_eq!(ask(x, w), result::INVALID_STATE_POSE, "{x} {w}");
        }
        assert_eq!(ask(1.0, 1.0), result::OK);
        assert_eq!(outcome("ERR 7 'Cart' cannot be placed: it is static").result, result::OPERATION_FAILED);
    }
}
