//! Figures of a model as our reader reads it, as lines of text that `readers.py` compares.

use std::{fmt::Write, path::Path};

use bevy_math::{DMat3, DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Probe, mass_properties};
use simpartner_model::{Axis, FreeAxis, JointKind, Mechanism, take_initial_positions};

/// Random states of each model.
const STATES: usize = 1_000;
/// Degrees of freedom of the largest model whose accelerations are compared: a state costs the cube of them.
const MOST_FREEDOMS: usize = 60;

/// Mass, first and second moments at the initial coordinates, limits, and accelerations at random states.
///
/// The second world is the same with a fixed root, for readers that fix it; `changed` is the change of masses and
/// inertias by the import.
pub fn text(format: &str, path: &Path, [world, hanging]: [&World; 2], changed: Option<&str>) -> String {
    let mut text = format!("file {}\nformat {format}\n", path.display());
    if let Some(changed) = changed {
        let _ = writeln!(text, "changed {changed}");
    }
    let mechanism = &world.mechanism;
    let (mass, first, second) = moments(mechanism);
    let _ = writeln!(text, "mass {mass}\nfirst {} {} {}", first.x, first.y, first.z);
    let second: Vec<String> = second.to_cols_array().iter().map(f64::to_string).collect();
    let _ = writeln!(text, "second {}", second.join(" "));
    let single = single_axes(mechanism);
    for (joint, axis) in &single {
        let FreeAxis { lower, upper, initial_position, .. } = axis;
        let _ = writeln!(text, "joint {} {lower} {upper} {initial_position}", mechanism.joints[*joint].name);
    }
    if (1..=MOST_FREEDOMS).contains(&single.len()) {
        add_states(&mut text, &bare(&hanging.mechanism), &single_axes(&hanging.mechanism));
    }
    text
}

/// The joints with a single coordinate.
fn single_axes(mechanism: &Mechanism) -> Vec<(usize, FreeAxis)> {
    let of = |(place, joint): (usize, &simpartner_model::Joint)| match (joint.kind, joint.axes[2]) {
        (JointKind::Hinge | JointKind::Slider, Axis::Free(axis)) => Some((place, axis)),
        _ => None,
    };
    mechanism.joints.iter().enumerate().filter_map(of).collect()
}

/// The mechanism without shapes and couplings; its inertia is known.
fn bare(mechanism: &Mechanism) -> Mechanism {
    let mut bare = mechanism.clone();
    for body in bare.bodies.iter_mut().filter(|body| body.inertia.is_some() || body.fixed) {
        (body.shape, body.collision) = (None, None);
    }
    bare.couplings.clear();
    bare.apart.clear();
    bare
}

/// Mass, its first moment and its inertia about the origin, of all that moves, z up.
fn moments(mechanism: &Mechanism) -> (f64, DVec3, DMat3) {
    let z_up = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    let (mut mass, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
    for body in mechanism.bodies.iter().filter(|body| !body.fixed) {
        let Ok(own) = mass_properties(body) else { continue };
        let centre = z_up * body.pose.point(own.centre_of_mass);
        let turn = DMat3::from_quat(z_up * body.pose.rotation);
        let outer = DMat3::from_cols(centre * centre.x, centre * centre.y, centre * centre.z);
        let about = (DMat3::from_diagonal(DVec3::splat(centre.length_squared())) - outer) * own.mass;
        mass += own.mass;
        first += centre * own.mass;
        second += turn * own.tensor * turn.transpose() + about;
    }
    (mass, first, second)
}

/// A small generator (Marsaglia's xorshift) is enough for states.
struct Random(u64);

impl Random {
    /// From -1 to 1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn add_states(text: &mut String, mechanism: &Mechanism, single: &[(usize, FreeAxis)]) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    // All coordinates return to 0, because each state is relative to that.
    for _ in 0..STATES {
        let mut moved = mechanism.clone();
        let mut numbers = Vec::new();
        for (place, axis) in single {
            let (low, high) = (axis.lower.max(-3.0), axis.upper.min(3.0));
            let q = 0.5 * (low + high) + 0.5 * (high - low) * random.next();
            let v = 2.0 * random.next();
            // The bodies are at the initial position already.
            let delta = q - axis.initial_position;
            moved.joints[*place].axes[2] = Axis::Free(FreeAxis {
                initial_position: delta,
                initial_rate: Some(v),
                lower: f64::NEG_INFINITY,
                upper: f64::INFINITY,
                ..*axis
            });
            numbers.extend([q, v]);
        }
        if take_initial_positions(&mut moved.bodies, &mut moved.joints).is_err() {
            return;
        }
        for ((place, axis), state) in single.iter().zip(numbers.chunks(2)) {
            if let Axis::Free(free) = &mut moved.joints[*place].axes[2] {
                (free.initial_position, free.spring_position) = (state[0], axis.spring_position);
            }
        }
        let Some(equations) = Probe::new(&moved).ok().and_then(|mut probe| probe.equations()) else { return };
        let acceleration = |joint: usize| {
            let is_own = |freedom: &Option<(simpartner_model::JointId, usize)>| {
                freedom.is_some_and(|(id, _)| id.index() == joint)
            };
            equations.freedoms.iter().position(is_own).map_or(0.0, |place| equations.acceleration[place])
        };
        numbers.extend(single.iter().map(|(place, _)| acceleration(*place)));
        let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
        let _ = writeln!(text, "state {}", numbers.join(" "));
    }
}
