//! Slip of held objects: the change of their pose in the frame of each jaw since the start, and the energy that the
//! benchmark's authors computed from it.
//!
//! For a jaw g and an object o the pose error is E = T_go(0)^-1 T_go(t), where T_go is the pose of o in g. It has a
//! displacement e_p and an angle e_theta.
//!
//! The published energy is 1/2 m v·v + 1/2 w·I w with v = (x_g - x_o - R_o c)/dt + (v_g - v_o) and w = w_g - w_o, where
//! c = x_g - x_o at the start. It has faults, all of which [`Figures::legacy_j`] keeps:
//!
//! - It rotates the offset by the object's own rotation.
//! - The angle drops out if jaw and object were aligned.
//! - v_g leaves out w_g x r.
//! - The energy falls with dt². Only here dt is a constant, [`TAU`], so that runs at several timesteps compare.
//!
//! [`Figures::corrected_j`] uses E and the relative twist in the jaw's frame instead, with the same constant.

use bevy_math::{DMat3, DVec3};
use serde::Serialize;
use simpartner_model::Pose;

/// Time by which the energies divide a pose error, s: the timestep of the published runs.
pub const TAU: f64 = 1e-3;
/// Energy of an object at which a published run counted as failed, J. For 1 kg it is a displacement of 4.5 m.
pub const LEGACY_LIMIT: f64 = 1e7;

/// Displacements whose times are reported, m.
const REPORTED_WAYS: [f64; 2] = [1e-3, 1e-2];
/// Angle whose time is reported, rad: 5 degrees.
const REPORTED_ANGLE: f64 = 5.0 * std::f64::consts::PI / 180.0;
/// Largest number of points of a curve. A plot is not wide enough to show more.
const MAX_CURVE_POINTS: f64 = 500.0;

/// Pose and velocity of a body at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    /// `world_from_body`.
    pub pose: Pose,
    /// Velocity of the body's origin, world axes, m/s.
    pub velocity: DVec3,
    /// Angular velocity, world axes, rad/s.
    pub spin: DVec3,
}

/// A held object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Object {
    /// Mass, kg.
    pub mass: f64,
    /// Inertia tensor about the body's origin, which is its centre of mass; body axes, kg m².
    pub tensor: DMat3,
}

/// Figures of a hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Observed time, s.
    pub seconds: f64,
    /// Largest descent of an object from its start, m; `None` if the jaws themselves move.
    pub drop_m: Option<f64>,
    /// Largest mean speed of an object in a jaw's frame during the second half, m/s; `None` if the hold ended before.
    pub creep_m_per_s: Option<f64>,
    /// Largest displacement of an object in a jaw's frame, m.
    pub way_m: f64,
    /// Largest rotation of an object in a jaw's frame, rad.
    pub angle_rad: f64,
    /// First time at which an object was displaced by more than 1 mm in a jaw's frame, s.
    pub reached_1_mm_s: Option<f64>,
    /// First time at which an object was displaced by more than 1 cm in a jaw's frame, s.
    pub reached_1_cm_s: Option<f64>,
    /// First time at which an object was rotated by more than 5 degrees in a jaw's frame, s.
    pub reached_5_deg_s: Option<f64>,
    /// Largest energy of all objects together by the published formula, mean over the jaws, J.
    pub legacy_j: f64,
    /// Time at which the published energy of an object exceeded the limit of 1e7 J, s.
    pub legacy_end_s: Option<f64>,
    /// Largest energy of an object by pose error and twist in the jaw's frame, mean over the jaws, J.
    pub corrected_j: f64,
    /// Largest displacement, m, over time, s.
    #[serde(skip)]
    pub curve: Vec<(f64, f64)>,
}

/// Monitor of objects between jaws.
#[derive(Debug)]
pub struct HoldMonitor {
    duration: f64,
    up: Option<DVec3>,
    objects: Vec<Object>,
    start: Vec<Motion>,
    /// `object_from_jaw` at the start, for each object and jaw.
    initial_poses: Vec<Vec<Pose>>,
    /// x_g - x_o at the start, for each object and jaw, world axes, m.
    offsets: Vec<Vec<DVec3>>,
    /// Time of the first observation in the second half, and the displacements then, for each object and jaw.
    half: Option<(f64, Vec<DVec3>)>,
    /// Time of the last observation, and the displacements then, for each object and jaw.
    last: (f64, Vec<DVec3>),
    figures: Figures,
}

impl HoldMonitor {
    /// Begins a hold that is planned to last `duration` seconds. If the jaws stand still, `gravity` gives the direction
    /// of a drop.
    pub fn new(jaws: &[Motion], objects: &[(Object, Motion)], gravity: Option<DVec3>, duration: f64) -> Self {
        let start: Vec<Motion> = objects.iter().map(|(_, motion)| *motion).collect();
        let initial_poses = |object: &Motion| jaws.iter().map(|jaw| object.pose.inverse().then(&jaw.pose)).collect();
        let offset = |object: &Motion| jaws.iter().map(|jaw| jaw.pose.translation - object.pose.translation).collect();
        let figures = Figures {
            seconds: 0.0,
            drop_m: gravity.map(|_| 0.0),
            creep_m_per_s: None,
            way_m: 0.0,
            angle_rad: 0.0,
            reached_1_mm_s: None,
            reached_1_cm_s: None,
            reached_5_deg_s: None,
            legacy_j: 0.0,
            legacy_end_s: None,
            corrected_j: 0.0,
            curve: Vec::new(),
        };
        Self {
            duration,
            up: gravity.map(|gravity| -gravity.normalize_or_zero()),
            objects: objects.iter().map(|(object, _)| *object).collect(),
            initial_poses: start.iter().map(initial_poses).collect(),
            offsets: start.iter().map(offset).collect(),
            start,
            half: None,
            last: (0.0, Vec::new()),
            figures,
        }
    }

    /// Takes the state of jaws and objects at a time in s into the figures. A state that is not finite counts as
    /// infinitely displaced.
    pub fn observe(&mut self, time: f64, jaws: &[Motion], objects: &[Motion]) {
        let (mut ways, mut way, mut angle) = (Vec::with_capacity(objects.len() * jaws.len()), 0.0, 0.0);
        let (mut legacy, mut corrected) = (0.0, 0.0);
        for (index, object) in objects.iter().enumerate() {
            if let (Some(up), Some(drop)) = (self.up, &mut self.figures.drop_m) {
                *drop = max_or_infinite(*drop, (self.start[index].pose.translation - object.pose.translation).dot(up));
            }
            let (mut own_legacy, mut own_corrected) = (0.0, 0.0);
            for (number, jaw) in jaws.iter().enumerate() {
                let now = jaw.pose.inverse().then(&object.pose);
                let error = self.initial_poses[index][number].then(&now);
                ways.push(error.translation);
                way = max_or_infinite(way, error.translation.length());
                angle = max_or_infinite(angle, rotation_vector(&error).length());
                let body = &self.objects[index];
                own_legacy += legacy_energy(body, jaw, object, self.offsets[index][number]);
                own_corrected += corrected_energy(body, jaw, object, &error);
            }
            let count = jaws.len() as f64;
            if exceeds_limit(own_legacy / count) {
                self.figures.legacy_end_s.get_or_insert(time);
            }
            legacy += own_legacy / count;
            corrected = max_or_infinite(corrected, own_corrected / count);
        }
        self.update_displacements(time, way, angle);
        let figures = &mut self.figures;
        figures.legacy_j = max_or_infinite(figures.legacy_j, legacy);
        figures.corrected_j = max_or_infinite(figures.corrected_j, corrected);
        if self.half.is_none() && time >= 0.5 * self.duration - 1e-9 {
            self.half = Some((time, ways.clone()));
        }
        self.last = (time, ways);
    }

    /// Enters the largest displacement, m, and rotation, rad, of a time into the figures.
    fn update_displacements(&mut self, time: f64, way: f64, angle: f64) {
        let figures = &mut self.figures;
        figures.seconds = time;
        figures.way_m = max_or_infinite(figures.way_m, way);
        figures.angle_rad = max_or_infinite(figures.angle_rad, angle);
        for (limit, reached) in
            REPORTED_WAYS.into_iter().zip([&mut figures.reached_1_mm_s, &mut figures.reached_1_cm_s])
        {
            if way > limit {
                reached.get_or_insert(time);
            }
        }
        if angle > REPORTED_ANGLE {
            figures.reached_5_deg_s.get_or_insert(time);
        }
        let next = figures.curve.last().map_or(0.0, |(last, _)| last + self.duration / MAX_CURVE_POINTS);
        if time >= next {
            figures.curve.push((time, way));
        }
    }

    /// True if the published energy limit was exceeded, after which the run has no meaning.
    pub fn is_lost(&self) -> bool {
        self.figures.legacy_end_s.is_some()
    }

    /// The figures so far.
    pub fn figures(&self) -> Figures {
        let creep = self.half.as_ref().filter(|(half, _)| self.last.0 > *half).map(|(half, ways)| {
            let speeds =
                ways.iter().zip(&self.last.1).map(|(then, now)| (*now - *then).length() / (self.last.0 - half));
            speeds.fold(0.0, max_or_infinite)
        });
        Figures { creep_m_per_s: creep, ..self.figures.clone() }
    }
}

/// The larger of two numbers; NaN counts as infinite.
fn max_or_infinite(a: f64, b: f64) -> f64 {
    if b.is_nan() { f64::INFINITY } else { a.max(b) }
}

fn exceeds_limit(energy: f64) -> bool {
    energy.is_nan() || energy > LEGACY_LIMIT
}

/// Rotation vector of a pose, rad.
fn rotation_vector(error: &Pose) -> DVec3 {
    let (x, y, z, w) = error.rotation.into();
    let vector = DVec3::new(x, y, z);
    let sine = vector.length();
    // q and -q are the same rotation; the one with w >= 0 has the smaller angle.
    let (sine, cosine, side) = if w < 0.0 { (sine, -w, -1.0) } else { (sine, w, 1.0) };
    if sine == 0.0 { DVec3::ZERO } else { vector * (side * 2.0 * libm::atan2(sine, cosine) / sine) }
}

/// Energy of an object by the published formula, J. `offset` is c.
fn legacy_energy(body: &Object, jaw: &Motion, object: &Motion, offset: DVec3) -> f64 {
    let delta = jaw.pose.translation - object.pose.translation;
    let v = (delta - object.pose.rotation * offset) / TAU + (jaw.velocity - object.velocity);
    let w = jaw.spin - object.spin;
    // As in the published code, the inertia is used as if its axes were the world's.
    0.5 * body.mass * v.length_squared() + 0.5 * w.dot(body.tensor * w)
}

/// Energy of an object by its pose error and relative twist in the jaw's frame, J.
fn corrected_energy(body: &Object, jaw: &Motion, object: &Motion, error: &Pose) -> f64 {
    let arm = object.pose.translation - jaw.pose.translation;
    let carried = jaw.velocity + jaw.spin.cross(arm);
    let to_object = object.pose.rotation.inverse();
    let v = error.translation / TAU + to_object * (object.velocity - carried);
    let w = rotation_vector(error) / TAU + to_object * (object.spin - jaw.spin);
    0.5 * body.mass * v.length_squared() + 0.5 * w.dot(body.tensor * w)
}

#[cfg(test)]
mod tests {
    use bevy_math::DQuat;

    use super::*;

    const BLOCK: Object = Object { mass: 2.0, tensor: DMat3::IDENTITY };

    fn at(x: f64, angle: f64) -> Motion {
        let pose = Pose { translation: DVec3::new(x, 0.0, 0.0), rotation: DQuat::from_rotation_y(angle) };
        Motion { pose, velocity: DVec3::ZERO, spin: DVec3::ZERO }
    }

    /// The motion of a body that is carried rigidly: rotated about the world's z axis by an angle, rad, at a rate,
    /// rad/s.
    fn carried(motion: Motion, angle: f64, rate: f64) -> Motion {
        let turned = Pose { translation: DVec3::ZERO, rotation: DQuat::from_rotation_z(angle) };
        let (pose, spin) = (turned.then(&motion.pose), DVec3::Z * rate);
        Motion { pose, velocity: spin.cross(pose.translation), spin }
    }

    #[test]
    fn what_a_turning_arm_holds_still_has_no_error_and_only_the_published_energy() {
        let (jaw, object) = (at(0.0, 0.0), at(0.5, 0.3));
        let mut hold = HoldMonitor::new(&[jaw], &[(BLOCK, object)], Some(DVec3::NEG_Y), 1.0);
        hold.observe(1.0, &[carried(jaw, 2.0, 3.0)], &[carried(object, 2.0, 3.0)]);
        let figures = hold.figures();
        assert!(figures.way_m < 1e-12 && figures.angle_rad < 1e-12, "{figures:?}");
        assert!(figures.corrected_j < 1e-12, "{figures:?}");
        // The formula leaves out w x r = 1.5 m/s, which makes half of 2 kg times the square of that, and it rotates the
        // offset by the object's rotation.
        assert!(figures.legacy_j > 2.25, "{figures:?}");
    }

    #[test]
    fn a_way_of_a_millimetre_and_an_angle_have_the_energy_of_going_back_within_tau() {
        let (jaw, object) = (at(0.0, 0.0), at(0.5, 0.0));
        let mut hold = HoldMonitor::new(&[jaw], &[(BLOCK, object)], Some(DVec3::NEG_X), 2.0);
        hold.observe(1.0, &[jaw], &[at(0.501, 0.1)]);
        hold.observe(2.0, &[jaw], &[at(0.503, -0.1)]);
        let figures = hold.figures();
        // Down is -x here, so it rose.
        assert_eq!((figures.drop_m, figures.reached_1_cm_s, figures.legacy_end_s), (Some(0.0), None, None));
        assert!((figures.way_m - 0.003).abs() < 1e-12 && (figures.angle_rad - 0.1).abs() < 1e-12, "{figures:?}");
        assert!((figures.creep_m_per_s.unwrap_or(0.0) - 0.002).abs() < 1e-3, "{figures:?}");
        assert_eq!((figures.reached_1_mm_s.is_some(), figures.reached_5_deg_s), (true, Some(1.0)));
        let expected = 0.5 * 2.0 * 3.0f64.powi(2) + 0.5 * (0.1f64 / 1e-3).powi(2);
        assert!((figures.corrected_j - expected).abs() < 1e-6 * expected, "{} {expected}", figures.corrected_j);
    }

    #[test]
    fn what_is_no_number_is_lost() {
        let (jaw, object) = (at(0.0, 0.0), at(0.5, 0.0));
        let mut hold = HoldMonitor::new(&[jaw], &[(BLOCK, object)], Some(DVec3::NEG_Y), 1.0);
        hold.observe(1.0, &[jaw], &[at(f64::NAN, 0.0)]);
        let figures = hold.figures();
        assert!(hold.is_lost() && figures.way_m.is_infinite() && figures.drop_m == Some(f64::INFINITY), "{figures:?}");
        assert_eq!(figures.reached_1_mm_s, Some(1.0));
    }
}
