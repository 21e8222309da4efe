//! A grasp as JSON for the viewer: object, contacts with their friction cones, contact forces and the wrench that
//! breaks the grasp, for each direction of gravity in its stability chart. `clients/viewer/PROTOCOL.md` documents the
//! JSON.

use bevy_math::{DQuat, DVec3};
use serde_json::{Value, json};
use simpartner_dynamics::mass_properties;
use simpartner_grasp::{
    Certificate, Forces, GraspError, Section, Statics, Vector6, Verdict,
    chart::{self, COLUMNS, ROWS},
    check,
};
use simpartner_model::{Body, Contact, ContactKind, Grasp};

use super::scene::{json_of_placed, json_of_pose, json_of_visual, vector};

/// Version of this JSON.
const PROTOCOL_VERSION: u32 = 1;

/// A grasp with the results of its checks, for gravity tilted by up to `tilt` radians. All vectors are in the world's
/// axes, torques about the centre of mass. Each of the chart's 801 directions is checked with
/// [`check`](simpartner_grasp::check), so the forces are the same.
///
/// # Errors
/// When the object has no mass properties, there is no contact, or a pyramid has too few edges.
pub fn grasp_scene(grasp: &Grasp, section: Section, tilt: f64) -> Result<Value, GraspError> {
    let statics = Statics::new(grasp, section)?;
    let mass = mass_properties(&grasp.object).map_err(GraspError::Object)?;
    let world = StaticsInWorld { rotation: grasp.object.pose.rotation, statics: &statics };
    let [force, torque] = world.force_and_torque(&statics.load);
    let chart = match json_of_chart(&world, tilt) {
        Ok(chart) => chart,
        Err(GraspError::NoGravity) => Value::Null,
        Err(error) => return Err(error),
    };
    Ok(json!({
        "protocol": PROTOCOL_VERSION,
        "name": grasp.name,
        "object": json_of_object(&grasp.object),
        "mass": mass.mass,
        "centre_of_mass": vector(grasp.object.pose.point(mass.centre_of_mass)),
        "load": { "force": vector(force), "torque": vector(torque) },
        "length": statics.length,
        "edges": match section { Section::Disc => None, Section::Polygon(edges) => Some(edges) },
        "contacts": grasp.contacts.iter().map(|contact| json_of_contact(contact, grasp)).collect::<Vec<_>>(),
        "check": world.check_result(&statics, |value| value),
        "chart": chart,
    }))
}

fn json_of_object(object: &Body) -> Value {
    json!({
        "name": object.name,
        "pose": json_of_pose(&object.pose),
        "shape": object.shape.as_ref().map(json_of_placed),
        "visuals": object.visuals.iter().map(json_of_visual).collect::<Vec<_>>(),
    })
}

fn json_of_contact(contact: &Contact, grasp: &Grasp) -> Value {
    let pose = &grasp.object.pose;
    let [first, second, normal] = contact.axes().map(|axis| vector(pose.direction(axis)));
    let radius = match contact.kind {
        ContactKind::Soft { radius, .. } => Some(radius),
        ContactKind::Frictionless | ContactKind::Frictional { .. } => None,
    };
    json!({
        "name": contact.name,
        "kind": contact.kind.word(),
        "position": vector(pose.point(contact.position())),
        "normal": normal,
        "tangents": [first, second],
        "friction": contact.kind.friction(),
        "half_angle": libm::atan(contact.kind.friction()),
        "torsion": contact.kind.torsion(),
        "radius": radius,
        "limits": contact.limits,
    })
}

/// The statics of the grasp, with the rotation from the object's frame to the world's axes.
struct StaticsInWorld<'a> {
    rotation: DQuat,
    statics: &'a Statics,
}

impl StaticsInWorld<'_> {
    /// The two parts of a wrench (or twist), rotated to the world's axes.
    fn force_and_torque(&self, wrench: &Vector6) -> [DVec3; 2] {
        [0, 3].map(|k| self.rotation * DVec3::new(wrench[k], wrench[k + 1], wrench[k + 2]))
    }

    /// Result of the check under a load, as JSON; `digits` rounds the numbers.
    fn check_result(&self, statics: &Statics, digits: impl Fn(f64) -> f64) -> Value {
        let rounded = |vector: DVec3| vector.to_array().map(&digits);
        let mut state = json!({ "weight": rounded(self.rotation * statics.weight) });
        let result = check(statics);
        match &result.verdict {
            Verdict::Holds(best) => {
                let least = result.least.as_ref().unwrap_or(best);
                state["verdict"] = json!("holds");
                state["margin"] = json!(digits(best.margin));
                state["squeeze"] = json!(digits(least.squeeze()));
                state["forces"] = json!(force_components(least).map(|force| force.map(&digits)).collect::<Vec<_>>());
            }
            Verdict::Impossible(certificate) => {
                let [velocity, turning] = self.force_and_torque(&certificate.twist);
                let [force, torque] = self.force_and_torque(&excess_wrench(statics, certificate));
                state["verdict"] = json!("impossible");
                state["motion"] = json!({ "velocity": rounded(velocity), "angular_velocity": rounded(turning) });
                state["excess"] = json!({ "force": rounded(force), "torque": rounded(torque) });
            }
            Verdict::Undecided => state["verdict"] = json!("undecided"),
        }
        state
    }
}

/// For each contact: normal force and the forces along the two tangents, N, and the torsional moment, N m.
fn force_components(forces: &Forces) -> impl Iterator<Item = [f64; 4]> {
    forces.contacts.iter().map(|force| [force.normal, force.tangent[0], force.tangent[1], force.torsion])
}

/// The part of the load that breaks the grasp, since no contact forces can balance it. The loads w that the contacts
/// can balance satisfy twist.w <= support(-twist): they lie on one side of a plane. The actual load lies beyond that
/// plane by the certificate's gap. The excess is the shortest wrench back to the plane, with torques divided by
/// [`Statics::length`].
fn excess_wrench(statics: &Statics, certificate: &Certificate) -> Vector6 {
    let (gap, twist) = (certificate.gap(statics), certificate.twist);
    let length = statics.length * statics.length;
    let dual = Vector6::from_fn(|row, _| twist[row] * if row < 3 { 1.0 } else { length });
    // The twist has length 1 up to rounding.
    dual * (gap / twist.dot(&dual))
}

/// The stability chart with the result for each direction: one direction in the middle row, [`COLUMNS`] in every other
/// row.
fn json_of_chart(world: &StaticsInWorld<'_>, tilt: f64) -> Result<Value, GraspError> {
    let statics = world.statics;
    let result = chart::chart(statics, tilt)?;
    let digits = |value: f64| format!("{value:.6e}").parse().unwrap_or(value);
    let state = |row: usize, column: usize| {
        let [tilt, azimuth] = [tilt * row as f64 / ROWS as f64, std::f64::consts::TAU * column as f64 / COLUMNS as f64];
        let weight = chart::tilted(statics.weight, tilt, azimuth);
        let change = weight - statics.weight;
        let mut load = statics.load;
        (0..3).for_each(|axis| load[axis] += change[axis]);
        world.check_result(&Statics { weight, ..statics.under(load) }, digits)
    };
    let rows = (0..=ROWS).map(|row| {
        let columns = if row == 0 { 1 } else { COLUMNS };
        (0..columns).map(|column| state(row, column)).collect::<Vec<_>>()
    });
    Ok(json!({
        "tilt": tilt,
        "rows": rows.collect::<Vec<_>>(),
        "safe": result.safe,
        "safe_tilt": result.safe_tilt(),
        "solid_angle": result.solid_angle(),
        "first_failure": result.first_failure.map(|[azimuth, tilt]| json!({ "azimuth": azimuth, "tilt": tilt })),
    }))
}

#[cfg(test)]
mod tests {
    use simpartner_model::{ContactKind, Placed, Pose, Shape};

    use super::*;

    /// A cube between two fingers of this kind, gravity along -y.
    fn pinch(kind: ContactKind) -> Grasp {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worlds/grasps/pinch.xml");
        let mut grasp = simpartner_description::xml::read_grasp(&path).unwrap();
        grasp.contacts.iter_mut().for_each(|contact| contact.kind = kind);
        grasp
    }

    #[test]
    fn what_breaks_a_grasp_is_the_part_of_the_load_beyond_what_its_contacts_can_balance() {
        // Fingers without friction carry no part of the weight: all of it breaks the grasp, without a torque.
        let scene = grasp_scene(&pinch(ContactKind::Frictionless), Section::Disc, 1.0).unwrap();
        let excess = &scene["check"]["excess"];
        let number = |part: &str, axis: usize| excess[part][axis].as_f64().unwrap();
        let weight = scene["check"]["weight"].as_array().unwrap();
        for (axis, weight) in weight.iter().enumerate() {
            assert!((number("force", axis) - weight.as_f64().unwrap()).abs() < 1e-6, "{excess}");
            assert!(number("torque", axis).abs() < 1e-6, "{excess}");
        }
    }

    #[test]
    fn without_the_excess_a_load_is_on_the_plane_of_what_can_be_balanced() {
        let mut grasp = pinch(ContactKind::Frictional { friction: 0.5 });
        grasp.torque = DVec3::new(0.7, -0.2, 0.4);
        grasp.object.pose = Pose::from_xyz_rpy(DVec3::new(3.0, 1.0, 2.0), DVec3::new(0.3, -0.7, 1.1));
        grasp.object.shape = Some(Placed { pose: Pose::IDENTITY, shape: Shape::Box { size: DVec3::splat(0.1) } });
        let statics = Statics::new(&grasp, Section::Disc).unwrap();
        let Verdict::Impossible(certificate) = check(&statics).verdict else {
            panic!("two points resist no torque about them")
        };
        let rest = statics.under(statics.load - excess_wrench(&statics, &certificate));
        assert!(certificate.gap(&statics) > 0.1 && certificate.gap(&rest).abs() < 1e-9 * statics.scale());
    }
}
