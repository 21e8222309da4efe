//! Slip: the fingers stay where they are and the object is released. It moves until it rests, or until it leaves a
//! finger's reach (Harker 1994, chapter 5, whose program never ran).
//!
//! A finger moves only along its line of force at the start. Its contact is the point where that line meets the patch,
//! which moves with the object. The contact forces of a step are those that leave the object with the least kinetic
//! energy (Gauss's principle in Moreau's time stepping): sliding loses energy at once, and nothing bounces.
//!
//! Such friction is associated: sliding at speed u also separates the surfaces at speed mu u, and the finger follows
//! along its line. Coulomb's law, the default, removes that separation speed again.
//!
//! [`world`](world()) turns the same grasp into a mechanism, and [`slip_in_engine`] simulates that in the engine of
//! this workspace.

mod engine;
mod world;

use bevy_math::{DMat3, DQuat, DVec2, DVec3};
use nalgebra::{DVector, Matrix6};
use simpartner_dynamics::mass_properties;
use simpartner_model::{Contact, Grasp, Patch, Pose};

pub use self::{
    engine::{EngineSlip, slip_in_engine},
    world::{Softness, World, world},
};
use crate::{
    GraspError, Program, Section, Verdict,
    equilibrium::ScaledGrasp,
    statics::{ContactForce, ContactMap, Statics, Vector6, halves, wrench},
    verdict,
};

/// Settings of a slip.
#[derive(Debug, Clone, Copy)]
pub struct SlipOptions {
    /// Timestep, s.
    pub timestep: f64,
    /// Simulated time after which the slip ends undecided, s.
    pub duration: f64,
    /// Law of sliding.
    pub sliding: Sliding,
}

/// Law of sliding: the direction of the relative velocity at a sliding contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sliding {
    /// Sliding at speed u separates the surfaces at speed mu u: one convex program a step.
    Associated,
    /// Coulomb's law: sliding is along the surface. The programs of De Saxcé and Feng (1998) are solved, each with the
    /// sliding of the one before, until they agree: two to three programs a step.
    Coulomb,
}

impl Default for SlipOptions {
    fn default() -> Self {
        Self { timestep: 1e-3, duration: 5.0, sliding: Sliding::Coulomb }
    }
}

/// Speed below which the object counts as slow: lengths of the grasp per second, and rad/s.
const REST_SPEED: f64 = 1e-5;
/// Number of slow steps in a row before the equilibrium is checked.
const RESTING_STEPS: usize = 5;
/// Largest number of programs in a step. If Coulomb's law has several solutions or none, the iteration may cycle; the
/// last program counts then.
const MAX_PROGRAMS: usize = 50;
/// Largest relaxation factor of the extrapolation; the smallest is 1. With 4 in its place as many programs are needed.
/// With factors below 1 some grasps converge to another of Coulomb's solutions.
const MAX_RELAXATION: f64 = 20.0;
/// Largest difference between the separation speeds of two successive programs that counts as converged, as a fraction
/// of the largest speed that a contact would have without forces. The rest of the error enters the next step. With 1e-6
/// random grasps give the same times, at twice the cost.
const SEPARATION_TOLERANCE: f64 = 1e-4;
/// Separation speed, as a fraction of the same speed, below which a contact counts as sticking: it is the solver's
/// rounding. Even so small a speed would take all normal force out of a jammed grasp and let it slip.
const STICKING_SPEED: f64 = 1e-5;

/// Largest distance of a finger along its line, and from its first contact point on the patch, in sizes of the object.
/// The size is the larger of the radius of gyration and the distance of the farthest contact. No body is ten times as
/// large: a rod ends at 1.7 radii of gyration. Without this bound an object that falls along its patches would fall
/// forever.
const MAX_REACH: f64 = 10.0;

/// Outcome of a slip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The object never moved.
    Holds,
    /// The object moved and came to rest.
    Rests,
    /// The line of this contact's finger no longer meets its patch.
    Misses(usize),
    /// This contact's finger is beyond the range of its patch, or farther along its line than ten sizes of the object.
    OutOfRange(usize),
    /// The object still moves at the end of [`SlipOptions::duration`].
    TimeOut,
}

impl Outcome {
    /// The verdict as a word: `holds`, `rests`, `fails`, or `undecided` if time ran out.
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Rests => "rests",
            Self::Misses(_) | Self::OutOfRange(_) => "fails",
            Self::TimeOut => "undecided",
        }
    }

    /// True if both outcomes have the same [`Outcome::word`].
    pub fn same_kind(self, other: Self) -> bool {
        self.word() == other.word()
    }
}

/// Result of a slip.
#[derive(Debug, Clone)]
pub struct Slip {
    /// Outcome of the slip.
    pub outcome: Outcome,
    /// Time of the end, s.
    pub time: f64,
    /// Pose of the object at the end, `world_from_object`.
    pub pose: Pose,
    /// Length of the path of the object's centre of mass, m.
    pub path: f64,
    /// For each step: time, s, and position of the centre of mass, m, world frame.
    pub trace: Vec<(f64, DVec3)>,
    /// Number of cone programs that were solved, which determines the cost; 0 in the engine.
    pub programs: usize,
}

/// The lines along which the fingers can move, which are their lines of force at the start.
struct FingerLines<'a> {
    grasp: &'a Grasp,
    /// For each finger: a point of its line, and the direction into the object, world frame.
    each: Vec<[DVec3; 2]>,
    /// Largest distance of a finger along its line, m.
    reach: f64,
}

impl<'a> FingerLines<'a> {
    fn new(grasp: &'a Grasp) -> Result<Self, GraspError> {
        let pose = &grasp.object.pose;
        let line = |contact: &Contact| [pose.point(contact.position()), pose.direction(contact.normal())];
        let mass = mass_properties(&grasp.object).map_err(GraspError::Object)?;
        let moments: f64 = (0..3).map(|axis| mass.tensor.col(axis)[axis]).sum();
        let gyration = (moments / (2.0 * mass.mass)).sqrt();
        let levers = grasp.contacts.iter().map(|contact| contact.position().distance(mass.centre_of_mass));
        Ok(Self {
            grasp,
            each: grasp.contacts.iter().map(line).collect(),
            reach: MAX_REACH * levers.fold(gyration, f64::max),
        })
    }

    /// Contact points of the fingers on an object at this pose, in the frames of their patches, and their distances
    /// along the fingers' lines, m. If a finger has lost its patch, the outcome is returned as an error.
    fn contact_points(&self, pose: &Pose) -> Result<Vec<(DVec2, f64)>, Outcome> {
        let each = self.grasp.contacts.iter().zip(&self.each).enumerate().map(|(index, (contact, line))| {
            let inverse = pose.then(&contact.frame).inverse();
            let [point, along] = [inverse.point(line[0]), inverse.direction(line[1])];
            let way = distance_to_patch(&contact.patch, point, along).ok_or(Outcome::Misses(index))?;
            let there = (point + along * way).truncate();
            // NaN counts as out of range, because no comparison with it is true.
            let within = there.abs().max_element() <= contact.patch.range
                && there.distance(contact.point) <= self.reach
                && way.abs() <= self.reach;
            if within { Ok((there, way)) } else { Err(Outcome::OutOfRange(index)) }
        });
        each.collect()
    }
}

/// State of the object during a slip.
struct Motion<'a> {
    grasp: &'a Grasp,
    /// `world_from_object`.
    pose: Pose,
    /// Centre of mass, object frame, m.
    centre: DVec3,
    /// Mass, kg.
    mass: f64,
    /// Inertia about the centre of mass, object frame, kg m².
    tensor: DMat3,
    /// Velocity of the centre of mass and angular velocity, world frame.
    velocity: Vector6,
    lines: FingerLines<'a>,
    sliding: Sliding,
    /// Least normal force of each finger, N. A finger exerts it even where the surface recedes.
    pushes: Vec<f64>,
    /// For each contact: speed at which sliding separates the surfaces in the associated program, and which Coulomb's
    /// law removes, m/s. The values of the previous step are the initial guess, since what slides usually keeps
    /// sliding.
    separation_speeds: Vec<f64>,
    /// Number of programs solved so far.
    programs: usize,
}

/// Releases the object and computes its motion.
///
/// # Errors
/// The object has no mass properties or no inertia.
pub fn slip(grasp: &Grasp, options: &SlipOptions) -> Result<Slip, GraspError> {
    let statics = Statics::new(grasp, Section::Disc)?;
    let mut motion = Motion { sliding: options.sliding, ..Motion::new(grasp)? };
    let start = motion.pose.point(motion.centre);
    let ended = |outcome, time, motion: &Motion, path, trace| Slip {
        outcome,
        time,
        pose: motion.pose,
        path,
        trace,
        programs: motion.programs,
    };
    match initial_forces(grasp, &statics, options)? {
        InitialForces::Holds(..) => return Ok(ended(Outcome::Holds, 0.0, &motion, 0.0, vec![(0.0, start)])),
        // A finger pushes with P. Pushed back with F, its rail has the friction F - P. It follows a receding surface
        // with P less that friction, 2 P - F.
        InitialForces::Slips(forces) => {
            let each = forces.iter().zip(&grasp.contacts);
            motion.pushes = each.map(|(force, contact)| (2.0 * force - contact.limits[1]).max(0.0)).collect();
        }
    }
    let (mut path, mut trace, mut resting) = (0.0, vec![(0.0, start)], 0);
    let steps = (options.duration / options.timestep).ceil() as usize;
    for step in 1..=steps {
        let contacts = match motion.contact_maps() {
            Ok(contacts) => contacts,
            Err(outcome) => return Ok(ended(outcome, (step - 1) as f64 * options.timestep, &motion, path, trace)),
        };
        motion.advance(&contacts, options.timestep, statics.length);
        let time = step as f64 * options.timestep;
        let place = motion.pose.point(motion.centre);
        path += trace.last().map_or(0.0, |(_, before)| before.distance(place));
        trace.push((time, place));
        let [linear, angular] = halves(&motion.velocity);
        let slow = linear.length() < REST_SPEED * statics.length && angular.length() < REST_SPEED;
        resting = if slow { resting + 1 } else { 0 };
        if resting >= RESTING_STEPS && motion.is_held() {
            return Ok(ended(Outcome::Rests, time, &motion, path, trace));
        }
    }
    Ok(ended(Outcome::TimeOut, options.duration, &motion, path, trace))
}

/// The same contacts with a least normal force of zero, since the fingers need not push once the object is released.
fn without_least_forces(contacts: &[ContactMap]) -> Vec<ContactMap> {
    contacts.iter().map(|contact| ContactMap { limits: [0.0, contact.limits[1]], ..contact.clone() }).collect()
}

impl<'a> Motion<'a> {
    fn new(grasp: &'a Grasp) -> Result<Self, GraspError> {
        let mass = mass_properties(&grasp.object).map_err(GraspError::Object)?;
        if mass.tensor.determinant() <= 0.0 {
            return Err(GraspError::Object("it has no inertia to turn by: give it a shape or an <inertia>".into()));
        }
        Ok(Self {
            grasp,
            pose: grasp.object.pose,
            centre: mass.centre_of_mass,
            mass: mass.mass,
            tensor: mass.tensor,
            velocity: Vector6::zeros(),
            lines: FingerLines::new(grasp)?,
            sliding: Sliding::Coulomb,
            pushes: vec![0.0; grasp.contacts.len()],
            separation_speeds: vec![0.0; grasp.contacts.len()],
            programs: 0,
        })
    }

    /// Contact maps at the present pose, in the world frame, with levers from the centre of mass.
    fn contact_maps(&self) -> Result<Vec<ContactMap>, Outcome> {
        let centre = self.pose.point(self.centre);
        let touching = self.lines.contact_points(&self.pose)?.into_iter().zip(&self.pushes);
        let each = self.grasp.contacts.iter().zip(touching).map(|(contact, ((point, _), push))| {
            let now = Contact { frame: self.pose.then(&contact.frame), point, ..contact.clone() };
            let map = ContactMap::new(&now, centre, Section::Disc);
            ContactMap { limits: [*push, map.limits[1]], ..map }
        });
        Ok(each.collect())
    }

    /// Wrench of gravity, load and gyroscopic torque, world frame.
    fn total_load(&self) -> Vector6 {
        let turn = DMat3::from_quat(self.pose.rotation);
        let tensor = turn * self.tensor * turn.transpose();
        let [_, angular] = halves(&self.velocity);
        wrench(self.grasp.gravity * self.mass + self.grasp.force, self.grasp.torque - angular.cross(tensor * angular))
    }

    /// The grasp map at the present pose, with the total load. `length` is its length scale, m.
    fn statics(&self, contacts: &[ContactMap], length: f64) -> Statics {
        Statics { contacts: contacts.to_vec(), load: self.total_load(), weight: self.grasp.gravity * self.mass, length }
    }

    /// True if the fingers hold the object at the present pose.
    fn is_held(&self) -> bool {
        let Ok(contacts) = self.contact_maps() else { return false };
        let length = contacts.iter().map(|contact| contact.lever.length()).fold(f64::MIN_POSITIVE, f64::max);
        matches!(verdict(&self.statics(&contacts, length)), Verdict::Holds(_))
    }

    /// Inverse of the mass matrix about the centre of mass, world frame.
    fn inverse_mass(&self) -> Matrix6<f64> {
        let turn = DMat3::from_quat(self.pose.rotation);
        let inverse = turn * self.tensor.inverse() * turn.transpose();
        let mut all = Matrix6::identity() / self.mass;
        all.fixed_view_mut::<3, 3>(3, 3).copy_from_slice(&inverse.to_cols_array());
        all
    }

    /// Contact forces of a step. With associated sliding they are those of Gauss's principle, which leave the least
    /// kinetic energy. With Coulomb's law the separation speeds enter the program, each time from the sliding of the
    /// program before. `None` if the solver finds no forces.
    fn solve_forces(&mut self, contacts: &[ContactMap], dt: f64, length: f64) -> Option<Vec<ContactForce>> {
        let (load, inverse) = (self.total_load(), self.inverse_mass());
        let free = self.velocity + inverse * load * dt;
        let statics = self.statics(contacts, length);
        let mut program = StepProgram::new(&statics, &inverse, &free, dt);
        if self.sliding == Sliding::Associated {
            self.programs += 1;
            return program.solve(&vec![0.0; contacts.len()]);
        }
        let fastest = contacts.iter().map(|contact| contact_speed(contact, &free)).fold(0.0, f64::max);
        let mut forces = program.solve(&self.separation_speeds)?;
        self.programs += 1;
        let (mut relaxation, mut before) = (1.0, Vec::new());
        for _ in 1..MAX_PROGRAMS {
            let exerted: Vector6 = contacts.iter().zip(&forces).map(|(contact, force)| contact.wrench(force)).sum();
            let after = free + inverse * exerted * dt;
            let least = STICKING_SPEED * fastest;
            let speeds: Vec<f64> = contacts.iter().map(|contact| separation_speed(contact, &after, least)).collect();
            let pairs = speeds.iter().zip(&self.separation_speeds);
            let changes: Vec<f64> = pairs.map(|(now, before)| now - before).collect();
            if changes.iter().all(|change| change.abs() <= SEPARATION_TOLERANCE * fastest) {
                self.separation_speeds = speeds;
                break;
            }
            relaxation = relaxation_factor(relaxation, &before, &changes);
            for (speed, change) in self.separation_speeds.iter_mut().zip(&changes) {
                *speed = (*speed + relaxation * change).max(0.0);
            }
            before = changes;
            forces = program.solve(&self.separation_speeds)?;
            self.programs += 1;
        }
        Some(forces)
    }

    /// Makes a step: solves for the contact forces, updates the velocity, and moves the object with the mean of the
    /// velocities before and after.
    fn advance(&mut self, contacts: &[ContactMap], dt: f64, length: f64) {
        let exerted: Vector6 = self.solve_forces(contacts, dt, length).map_or_else(Vector6::zeros, |forces| {
            contacts.iter().zip(&forces).map(|(contact, force)| contact.wrench(force)).sum()
        });
        let (load, inverse) = (self.total_load(), self.inverse_mass());
        let after = self.velocity + inverse * (exerted + load) * dt;
        let [linear, angular] = halves(&((self.velocity + after) / 2.0));
        let centre = self.pose.point(self.centre) + linear * dt;
        let (sine, cosine) = libm::sincos(angular.length() * dt / 2.0);
        let axis = angular.normalize_or_zero() * sine;
        let rotation = (DQuat::from_xyzw(axis.x, axis.y, axis.z, cosine) * self.pose.rotation).normalize();
        self.pose = Pose { translation: centre - rotation * self.centre, rotation };
        self.velocity = after;
    }
}

/// The program of a step, whose solution is the forces that leave the least kinetic energy.
struct StepProgram<'a> {
    contacts: &'a [ContactMap],
    scaled: ScaledGrasp<'a>,
    program: Program,
    /// Linear part of the objective without separation speeds, divided by `unit`.
    slope: DVector<f64>,
    /// Largest diagonal entry of the quadratic objective, by which the objective is divided.
    unit: f64,
}

impl<'a> StepProgram<'a> {
    /// Sets up the program. Its objective is the remaining kinetic energy over dt, without the part that forces cannot
    /// change: x.(W' M^-1 W dt) x / 2 + (W' v).x
    fn new(statics: &'a Statics, inverse: &Matrix6<f64>, free: &Vector6, dt: f64) -> Self {
        let scaled = ScaledGrasp::new(statics);
        let columns = scaled.wrenches();
        let mut program = scaled.cone_program();
        let weight = columns.transpose() * inverse * &columns * dt;
        let unit = weight.diagonal().max().max(f64::MIN_POSITIVE);
        let (weight, slope) = (weight / unit, columns.transpose() * free / unit);
        let size = weight.ncols();
        program.quadratic =
            (0..size).flat_map(|j| (0..=j).map(move |i| (i, j))).map(|(i, j)| (i, j, weight[(i, j)])).collect();
        Self { contacts: &statics.contacts, scaled, program, slope, unit }
    }

    /// Solves for the contact forces. The separation speed of each contact, m/s, is subtracted from the motion along
    /// its normal.
    fn solve(&mut self, separation_speeds: &[f64]) -> Option<Vec<ContactForce>> {
        self.program.objective.copy_from_slice(self.slope.as_slice());
        let mut at = 0;
        for (contact, speed) in self.contacts.iter().zip(separation_speeds) {
            self.program.objective[at] += speed * self.scaled.force / self.unit;
            at += contact.dimension();
        }
        let solution = self.program.solve().filter(|solution| solution.x.iter().all(|value| value.is_finite()))?;
        Some(self.scaled.forces(&DVector::from_vec(solution.x)))
    }
}

/// Next relaxation factor of the iteration, from the factor and the change before and the change now: Aitken's
/// extrapolation for vectors (Irons and Tuck, 1969). Sliding that hardly depends on the separation speeds converges in
/// two or three programs. Jams would take hundreds by plain iteration.
fn relaxation_factor(factor: f64, before: &[f64], now: &[f64]) -> f64 {
    let differences = now.iter().zip(before).map(|(now, before)| (now - before, before));
    let (along, square) = differences.fold((0.0, 0.0), |(along, square), (difference, before)| {
        (along + before * difference, square + difference * difference)
    });
    if square > 0.0 { (-factor * along / square).clamp(1.0, MAX_RELAXATION) } else { factor }
}

/// Speed at which associated friction separates the surfaces of a contact that slides along a twist, m/s; 0 below
/// `least`.
fn separation_speed(contact: &ContactMap, twist: &Vector6, least: f64) -> f64 {
    let [_, first, second, spin] = contact.powers(twist);
    let speed = libm::hypot(contact.friction * libm::hypot(first, second), contact.torsion * spin);
    if speed < least { 0.0 } else { speed }
}

/// Largest speed of a contact along a twist, m/s: along the normal, along the surface, or of spin times the torsion
/// length.
fn contact_speed(contact: &ContactMap, twist: &Vector6) -> f64 {
    let [normal, first, second, spin] = contact.powers(twist);
    normal.abs().max(libm::hypot(first, second)).max((contact.torsion * spin).abs())
}

/// Normal forces of the fingers when the object is released, N.
enum InitialForces {
    /// The object is held: the forces with the largest margin, and that margin.
    Holds(Vec<f64>, f64),
    /// The object slips: the forces of the first step for fingers that stay where they are, 0 for fingers that advance
    /// or are pushed back at once. The normal forces on an object that slides between fingers do not follow from its
    /// motion.
    Slips(Vec<f64>),
}

/// Finds the normal forces of the fingers when the object is released.
fn initial_forces(grasp: &Grasp, statics: &Statics, options: &SlipOptions) -> Result<InitialForces, GraspError> {
    let timestep = options.timestep;
    let unforced = Statics { contacts: without_least_forces(&statics.contacts), ..statics.clone() };
    let within = |force: &ContactForce, contact: &ContactMap| force.normal.clamp(0.0, contact.limits[1]);
    if let Verdict::Holds(forces) = verdict(&unforced) {
        let each = forces.contacts.iter().zip(&unforced.contacts);
        let each = each.map(|(force, contact)| within(force, contact));
        return Ok(InitialForces::Holds(each.collect(), forces.margin));
    }
    let mut motion = Motion { sliding: options.sliding, ..Motion::new(grasp)? };
    let contacts = motion.contact_maps().unwrap_or_default();
    let Some(forces) = motion.solve_forces(&contacts, timestep, statics.length) else {
        return Ok(InitialForces::Slips(vec![0.0; statics.contacts.len()]));
    };
    let exerted: Vector6 = contacts.iter().zip(&forces).map(|(contact, force)| contact.wrench(force)).sum();
    let (load, inverse) = (motion.total_load(), motion.inverse_mass());
    let (free, after) = (inverse * load * timestep, inverse * (load + exerted) * timestep);
    let fastest = contacts.iter().map(|contact| contact_speed(contact, &free)).fold(0.0, f64::max);
    let squeezed = |(force, contact): (&ContactForce, &ContactMap)| {
        let stays = contact.powers(&after)[0].abs() < STICKING_SPEED * fastest;
        if stays { within(force, contact) } else { 0.0 }
    };
    Ok(InitialForces::Slips(forces.iter().zip(&contacts).map(squeezed).collect()))
}

/// Distance s, m, along the line p + s d to its intersection with a patch; d is a unit vector. Of two intersections the
/// nearer one counts, and s may be negative.
fn distance_to_patch(patch: &Patch, p: DVec3, d: DVec3) -> Option<f64> {
    let (at, along) = (DVec2::new(p.x, p.y), DVec2::new(d.x, d.y));
    let square = patch.xx * d.x * d.x + patch.yy * d.y * d.y + patch.xy * d.x * d.y;
    let linear = patch.slope(at).dot(along) - d.z;
    let constant = patch.height(at) - p.z;
    // The line runs along the surface, or the patch is flat to rounding: the equation is linear.
    if square.abs() < 1e-14 {
        return (linear != 0.0).then(|| -constant / linear);
    }
    let root = linear * linear - 4.0 * square * constant;
    if root < 0.0 {
        return None;
    }
    // This avoids cancellation: one formula gives the root of larger magnitude, the product of the roots the smaller
    // one.
    let large = -0.5 * (linear + root.sqrt().copysign(linear));
    if large == 0.0 {
        return Some(0.0);
    }
    let (far, near) = (large / square, constant / large);
    Some(if near.abs() <= far.abs() { near } else { far })
}
