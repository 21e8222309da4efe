//! `PLACE`: sets the pose and velocity of a robot or an object.

use simpartner_model::BodyId;

use super::{
    Refusal,
    number::{excerpt, read_numbers},
    unknown_name::unknown_name,
};
use crate::signal::{BodyInfo, BodyPlacement, Layout};

/// Largest coordinate of a placed body, m: rounding there is still 1e-11 m. A tenth of the engine's bound.
pub(super) const MAX_POSITION: f64 = 1e5;
/// Largest velocity of a placed body, m/s and rad/s: a tenth and a hundredth of the engine's bounds, and the limit of
/// joints' axes by default.
const MAX_VELOCITY: f64 = 1e4;
/// Tolerance for the length of a unit quaternion; four decimals are enough.
const UNIT_TOLERANCE: f64 = 1e-3;

/// The expected parameters, for errors.
pub(super) const PLACEMENT_KEYS: &str =
    "one or more of position=X,Y,Z, orientation=QX,QY,QZ,QW, linearVelocity=X,Y,Z and angularVelocity=X,Y,Z, each once";

/// The keys that set the pose, not the velocity.
pub(super) const PLACED_BY: [&str; 2] = ["position", "orientation"];

/// Reads the parameters after the name in `PLACE name key=numbers ...`.
///
/// # Errors
/// A key is unknown, missing or repeated, or its numbers are too few, too many, not finite or out of range.
pub(super) fn read_placement(text: &str) -> Result<BodyPlacement, Refusal> {
    let mut placement = BodyPlacement::default();
    for word in text.split_ascii_whitespace() {
        let (key, numbers) = word.split_once('=').unwrap_or((word, ""));
        let vector =
            |place: &mut Option<[f64; 3]>, highest| set(place, key, numbers, |value| value.abs() <= highest, highest);
        match key {
            "position" => vector(&mut placement.position, MAX_POSITION)?,
            "orientation" => set(&mut placement.orientation, key, numbers, |_| true, 1.0)?,
            "linearVelocity" => vector(&mut placement.linear_velocity, MAX_VELOCITY)?,
            "angularVelocity" => vector(&mut placement.angular_velocity, MAX_VELOCITY)?,
            _ => return Err(unexpected(word)),
        }
    }
    if placement == BodyPlacement::default() {
        return Err(unexpected(text));
    }
    placement.orientation = placement.orientation.map(unit).transpose()?;
    Ok(placement)
}

fn unexpected(got: &str) -> Refusal {
    Refusal::Parameter(format!("expected {PLACEMENT_KEYS}, got '{}'", excerpt(got)))
}

/// Fills a place that must be empty with numbers in their range.
fn set<const N: usize>(
    place: &mut Option<[f64; N]>,
    key: &str,
    text: &str,
    fits: impl Fn(f64) -> bool,
    highest: f64,
) -> Result<(), Refusal> {
    let read = read_fixed(key, text, fits, highest)?;
    match place.replace(read) {
        None => Ok(()),
        Some(_) => Err(Refusal::Parameter(format!("{key} is there twice; expected {PLACEMENT_KEYS}"))),
    }
}

/// Reads the numbers of a key, each of which has to fit. `highest` is the bound of both signs that the error names.
pub(super) fn read_fixed<const N: usize>(
    key: &str,
    text: &str,
    fits: impl Fn(f64) -> bool,
    highest: f64,
) -> Result<[f64; N], Refusal> {
    let numbers = read_numbers(text)?;
    let read = <[f64; N]>::try_from(&numbers[..])
        .map_err(|_| Refusal::Count { expected: format!("{N} {key}"), got: numbers.len() })?;
    if let Some(got) = read.into_iter().find(|&value| !fits(value)) {
        return Err(Refusal::Range { name: key.to_owned(), expected: format!("{} to {highest}", -highest), got });
    }
    Ok(read)
}

/// The quaternion at length 1, which it has nearly.
fn unit(quaternion: [f64; 4]) -> Result<[f64; 4], Refusal> {
    let length = quaternion.iter().map(|number| number * number).sum::<f64>().sqrt();
    match (length - 1.0).abs() <= UNIT_TOLERANCE {
        true => Ok(quaternion.map(|number| number / length)),
        false => Err(Refusal::Range {
            name: "orientation".into(),
            expected: format!("a quaternion x, y, z, w of length 1 (within {UNIT_TOLERANCE})"),
            got: length,
        }),
    }
}

/// The body that `PLACE` names: a robot's first for `robot`, one of its others for `robot/body`, otherwise an object.
///
/// # Errors
/// There is none of this name, or its pose cannot be set; the text has the reason, or lists the names.
pub fn placeable_body(layout: &Layout, name: &str) -> Result<BodyId, Refusal> {
    let body = body_named(layout, name, |info| info.set_pose_obstacle.is_none())?;
    match layout.body_infos()[body.index()].set_pose_obstacle {
        Some(why) => Err(Refusal::State(format!("'{name}' cannot be placed: {why}"))),
        None => Ok(body),
    }
}

/// The body of a name: a robot's first for `robot`, one of its others for `robot/body`, otherwise an object. The error
/// lists the robots, and those objects that `can_be_meant`.
pub(super) fn body_named(
    layout: &Layout,
    name: &str,
    can_be_meant: impl Fn(&BodyInfo) -> bool,
) -> Result<BodyId, Refusal> {
    let infos = layout.body_infos();
    let robot = layout.robots().iter().position(|robot| robot.name == name);
    let first_of = |robot: usize| infos.iter().position(|info| info.robot.is_some_and(|of| of.index() == robot));
    let body = robot.and_then(first_of).or_else(|| infos.iter().position(|info| info.name == name));
    body.map(BodyId::new).ok_or_else(|| {
        let robots = layout.robots().iter().map(|robot| robot.name.clone());
        let objects = infos.iter().filter(|info| info.robot.is_none() && can_be_meant(info));
        let known: Vec<String> = robots.chain(objects.map(|info| info.name.clone())).collect();
        unknown_name(&known, name, "SCENE")
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{protocol::number::frame, signal::Port};
    use simpartner_model::RobotId;

    #[test]
    fn what_is_named_is_set_and_the_rest_stays() {
        let read = |text| read_placement(text).unwrap();
        assert_eq!(
            read("position=1,2,-3.5"),
            BodyPlacement { position: Some([1.0, 2.0, -3.5]), ..BodyPlacement::default() }
        );
        let all = read("angularVelocity=0,0,1  linearVelocity=1e3,0,0 orientation=0,0.6,0,0.8 position=0,0,0");
        assert_eq!(all.orientation, Some([0.0, 0.6, 0.0, 0.8]));
        assert_eq!((all.linear_velocity, all.angular_velocity), (Some([1e3, 0.0, 0.0]), Some([0.0, 0.0, 1.0])));
        // Four decimals are enough.
        let turned = read("orientation=0,0.7071,0,0.7071").orientation.unwrap();
        assert!((turned[1] - 0.5f64.sqrt()).abs() < 1e-15, "{turned:?}");
    }

    #[test]
    fn nonsense_is_refused_with_what_was_expected() {
        for (text, code, part) in [
            ("", 8, "expected one or more of position=X,Y,Z"),
            ("1,2,3", 8, "got '1,2,3'"),
            ("pose=1,2,3", 8, "got 'pose=1,2,3'"),
            ("position", 3, "number 1"),
            ("position=1,2", 2, "expected 3 position numbers, got 2"),
            ("position=1,2,3,4", 2, "got 4"),
            ("position=1,nan,3", 3, "number 2: expected a finite decimal, got 'nan'"),
            ("position=inf,0,0", 3, "'inf'"),
            ("position=1e999,0,0", 3, "'1e999'"),
            ("position=0,100001,0", 4, "position: expected -100000 to 100000, got 100001"),
            ("linearVelocity=0,0,-20000", 4, "linearVelocity: expected -10000 to 10000"),
            ("angularVelocity=1e300,0,0", 4, "angularVelocity"),
            ("orientation=0,0,0,0", 4, "length 1 (within 0.001), got 0"),
            ("orientation=0,0,0,2", 4, "got 2"),
            ("orientation=1e200,0,0,0", 4, "got inf"),
            ("position=1,2,3 position=1,2,3", 8, "position is there twice"),
        ] {
            let refusal = read_placement(text).unwrap_err();
            assert_eq!(refusal.code(), code, "{text}: {refusal}");
            assert!(refusal.to_string().contains(part), "{text}: {refusal}");
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_is_finite_and_in_its_bounds(text in "(position|orientation|linearVelocity)=[-0-9.e,]{0,20}( [a-z=,0-9]{0,9})?") {
            if let Ok(placement) = read_placement(&text) {
                let numbers = placement.position.into_iter().chain(placement.linear_velocity).flatten();
                prop_assert!(numbers.chain(placement.orientation.into_iter().flatten()).all(|number| number.abs() <= MAX_POSITION));
            }
        }

        #[test]
        fn numbers_as_the_server_writes_them_read_back(x in -1e5..1e5, y in -1e-9..1e-9, z in -1.0..1.0) {
            let numbers = frame(&[x, y, z]);
            let text = format!("position={}", numbers.trim_matches(['<', '>']));
            prop_assert_eq!(read_placement(&text).unwrap().position, Some([x, y, z]));
        }
    }

    #[test]
    fn a_robot_stands_for_its_first_body() {
        let info = |name: &str, robot: Option<usize>, set_pose_obstacle| BodyInfo {
            name: name.into(),
            robot: robot.map(RobotId::new),
            set_pose_obstacle,
            is_fixed: false,
        };
        let held = Some("it is static");
        let layout = Layout::new(4, 0, Vec::new())
            .with_robots([("Cart".to_owned(), Port::ANY, String::new()), ("Arm".to_owned(), Port::ANY, String::new())])
            .with_bodies(vec![
                info("Box", None, None),
                info("Cart/Base", Some(0), None),
                info("Cart/Wheel", Some(0), None),
                info("Arm/Foot", Some(1), held),
            ]);
        let body = |name| placeable_body(&layout, name).map(BodyId::index);
        assert_eq!(["Box", "Cart", "Cart/Base", "Cart/Wheel"].map(|name| body(name).unwrap()), [0, 1, 1, 2]);
        assert_eq!(body("Arm").unwrap_err().to_string(), "ERR 7 'Arm' cannot be placed: it is static");
        assert_eq!(body("Wheel").unwrap_err().to_string(), "ERR 8 expected one of Cart, Arm, Box, got 'Wheel'");
    }
}
