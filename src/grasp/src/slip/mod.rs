//! Slip: the fingers held still, the object let go. It moves until it rests, or drops out of a finger's reach (Harker 1994, chapter 5, which
//! never ran).
//!
//! A finger moves along its first line of force only, so its contact is where that line meets the patch, which the object carries along.
//! Contact forces of a step are those that leave the object with the least kinetic energy (Gauss's principle, as Moreau steps it): sliding
//! takes energy at once, and nothing bounces. Such friction is associated, that is, sliding at speed u also lifts the surfaces apart at mu u,
//! which a finger follows on its line; Coulomb's law, the default, takes that lift off again.
//!
//! [`world`](world()) makes the same grasp a mechanism, and [`slip_in_engine`] lets go of it in the engine of this workspace.

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
    equilibrium::Scaled,
    statics::{ContactForce, ContactMap, Statics, Vector6, halves, wrench},
    verdict,
};

/// How a slip is computed.
#[derive(Debug, Clone, Copy)]
pub struct SlipOptions {
    /// The timestep, s.
    pub timestep: f64,
    /// Simulated time after which there is no verdict, s.
    pub duration: f64,
    /// Which law of sliding.
    pub sliding: Sliding,
}

/// Which way a contact that slides moves off its normal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sliding {
    /// Sliding at speed u lifts surfaces apart at mu u: one convex program a step.
    Associated,
    /// Coulomb's: sliding is along the surface. The programs of De Saxcé and Feng (1998), each with the sliding of the one before, until
    /// they agree: two to three a step.
    Coulomb,
}

impl Default for SlipOptions {
    fn default() -> Self {
        Self { timestep: 1e-3, duration: 5.0, sliding: Sliding::Coulomb }
    }
}

/// Slower than this, in lengths of the grasp a second and in radians a second, counts as at rest.
const RESTING: f64 = 1e-5;
/// For so many steps, before equilibrium is asked for.
const RESTING_STEPS: usize = 5;
/// Programs of a step at most. Where Coulomb's law has several solutions, or none, they may go around; the last one counts then.
const PROGRAMS: usize = 50;
/// An extrapolation takes so much of a change at most, and a whole one at least: with 4 it takes as many programs, with parts of a change some
/// grasps come to another of Coulomb's solutions.
const MOST_SHARE: f64 = 20.0;
/// By how much the lifts of one program and the next may differ, in parts of the largest speed that a contact would have without forces. What
/// is left goes on into the next step; with 1e-6 random grasps come to the same times, at twice the cost.
const SAME_LIFT: f64 = 1e-4;
/// Lifts below this part of that speed are the solver's rounding of contacts that stick. A lift of that size would be enough to take all
/// squeeze out of a grasp that is jammed, and let it slip.
const STICKS: f64 = 1e-5;

/// How far a patch without a range reaches, and a finger along its line, in sizes of the object: the farther of its contacts and its radius of
/// gyration. No body is as large: a rod ends at 1.7 radii. Without that an object that falls along its patches would fall on and on.
const FAR: f64 = 10.0;

/// What becomes of the object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// It never moved.
    Holds,
    /// It moved and came to rest.
    Rests,
    /// The line of this contact's finger does not meet its patch any more.
    Misses(usize),
    /// This contact's finger is beyond its patch, or further along its line than the object is large.
    OutOfRange(usize),
    /// It still moves.
    TimeOut,
}

impl Outcome {
    /// Its word: holds, rests, fails, or undecided where time ran out.
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Rests => "rests",
            Self::Misses(_) | Self::OutOfRange(_) => "fails",
            Self::TimeOut => "undecided",
        }
    }

    /// Whether both have the same word.
    pub fn same_kind(self, other: Self) -> bool {
        self.word() == other.word()
    }
}

/// A slip.
#[derive(Debug, Clone)]
pub struct Slip {
    /// What became of it.
    pub outcome: Outcome,
    /// When, s.
    pub time: f64,
    /// Pose of the object, `world_from_object`.
    pub pose: Pose,
    /// How far its centre of mass has gone, m.
    pub path: f64,
    /// Time, and place of the centre of mass, world frame, of each step.
    pub trace: Vec<(f64, DVec3)>,
    /// Cone programs that its steps took, which is what it costs; 0 in the engine.
    pub programs: usize,
}

/// Where the fingers act: a point and the direction into the object of each, world frame.
struct Lines<'a> {
    grasp: &'a Grasp,
    each: Vec<[DVec3; 2]>,
    /// How far a finger follows at most, m.
    reach: f64,
}

impl<'a> Lines<'a> {
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
            reach: FAR * levers.fold(gyration, f64::max),
        })
    }

    /// Where the fingers touch an object that is there: in the frames of their patches, and how far along their lines; or what has become of
    /// it.
    fn touch(&self, pose: &Pose) -> Result<Vec<(DVec2, f64)>, Outcome> {
        let each = self.grasp.contacts.iter().zip(&self.each).enumerate().map(|(index, (contact, line))| {
            let inverse = pose.then(&contact.frame).inverse();
            let [point, along] = [inverse.point(line[0]), inverse.direction(line[1])];
            let way = meet(&contact.patch, point, along).ok_or(Outcome::Misses(index))?;
            let there = (point + along * way).truncate();
            // Not a number is beyond as well.
            let within = there.abs().max_element() <= contact.patch.range
                && there.distance(contact.point) <= self.reach
                && way.abs() <= self.reach;
            if within { Ok((there, way)) } else { Err(Outcome::OutOfRange(index)) }
        });
        each.collect()
    }
}

struct Motion<'a> {
    grasp: &'a Grasp,
    pose: Pose,
    centre: DVec3,
    mass: f64,
    tensor: DMat3,
    velocity: Vector6,
    lines: Lines<'a>,
    sliding: Sliding,
    /// What each finger pushes with at least, also where the surface recedes, N.
    pushes: Vec<f64>,
    /// Of each contact, how fast sliding lifts the surfaces apart in a program, which Coulomb's law takes off again, m/s: of the step before, since
    /// what slides goes on to slide.
    lifts: Vec<f64>,
    /// Programs solved so far.
    programs: usize,
}

/// Lets the object go.
///
/// # Errors
/// Where the object has no mass properties or no inertia.
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
    match squeeze(grasp, &statics, options)? {
        Squeeze::Holds(..) => return Ok(ended(Outcome::Holds, 0.0, &motion, 0.0, vec![(0.0, start)])),
        // The rail of a finger that pushes with P and is pushed back with F rubs with F - P, so it follows with 2 P - F.
        Squeeze::Slips(forces) => {
            let each = forces.iter().zip(&grasp.contacts);
            motion.pushes = each.map(|(force, contact)| (2.0 * force - contact.limits[1]).max(0.0)).collect();
        }
    }
    let (mut path, mut trace, mut resting) = (0.0, vec![(0.0, start)], 0);
    let steps = (options.duration / options.timestep).ceil() as usize;
    for step in 1..=steps {
        let contacts = match motion.contacts() {
            Ok(contacts) => contacts,
            Err(outcome) => return Ok(ended(outcome, (step - 1) as f64 * options.timestep, &motion, path, trace)),
        };
        motion.advance(&contacts, options.timestep, statics.length);
        let time = step as f64 * options.timestep;
        let place = motion.pose.point(motion.centre);
        path += trace.last().map_or(0.0, |(_, before)| before.distance(place));
        trace.push((time, place));
        let [linear, angular] = halves(&motion.velocity);
        let slow = linear.length() < RESTING * statics.length && angular.length() < RESTING;
        resting = if slow { resting + 1 } else { 0 };
        if resting >= RESTING_STEPS && motion.holds() {
            return Ok(ended(Outcome::Rests, time, &motion, path, trace));
        }
    }
    Ok(ended(Outcome::TimeOut, options.duration, &motion, path, trace))
}

/// Contacts without a least force: a finger that is let go need not push.
fn unforced(contacts: &[ContactMap]) -> Vec<ContactMap> {
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
            lines: Lines::new(grasp)?,
            sliding: Sliding::Coulomb,
            pushes: vec![0.0; grasp.contacts.len()],
            lifts: vec![0.0; grasp.contacts.len()],
            programs: 0,
        })
    }

    /// Where the fingers touch now, in the world's frame, levers from the centre of mass.
    fn contacts(&self) -> Result<Vec<ContactMap>, Outcome> {
        let centre = self.pose.point(self.centre);
        let touching = self.lines.touch(&self.pose)?.into_iter().zip(&self.pushes);
        let each = self.grasp.contacts.iter().zip(touching).map(|(contact, ((point, _), push))| {
            let now = Contact { frame: self.pose.then(&contact.frame), point, ..contact.clone() };
            let map = ContactMap::new(&now, centre, Section::Disc);
            ContactMap { limits: [*push, map.limits[1]], ..map }
        });
        Ok(each.collect())
    }

    /// Gravity and load, world frame, and what turning does to the inertia.
    fn load(&self) -> Vector6 {
        let turn = DMat3::from_quat(self.pose.rotation);
        let tensor = turn * self.tensor * turn.transpose();
        let [_, angular] = halves(&self.velocity);
        wrench(self.grasp.gravity * self.mass + self.grasp.force, self.grasp.torque - angular.cross(tensor * angular))
    }

    fn statics(&self, contacts: &[ContactMap], length: f64) -> Statics {
        Statics { contacts: contacts.to_vec(), load: self.load(), weight: self.grasp.gravity * self.mass, length }
    }

    fn holds(&self) -> bool {
        let Ok(contacts) = self.contacts() else { return false };
        let length = contacts.iter().map(|contact| contact.lever.length()).fold(f64::MIN_POSITIVE, f64::max);
        matches!(verdict(&self.statics(&contacts, length)), Verdict::Holds(_))
    }

    fn inverse_mass(&self) -> Matrix6<f64> {
        let turn = DMat3::from_quat(self.pose.rotation);
        let inverse = turn * self.tensor.inverse() * turn.transpose();
        let mut all = Matrix6::identity() / self.mass;
        all.fixed_view_mut::<3, 3>(3, 3).copy_from_slice(&inverse.to_cols_array());
        all
    }

    /// The contact forces of a step. Associated sliding: those of Gauss's principle, which leave the least kinetic energy. Coulomb's: the same
    /// of programs that know how fast sliding would lift surfaces apart, each from the sliding of the one before. `None` where the solver finds none.
    fn forces(&mut self, contacts: &[ContactMap], dt: f64, length: f64) -> Option<Vec<ContactForce>> {
        let (load, inverse) = (self.load(), self.inverse_mass());
        let free = self.velocity + inverse * load * dt;
        let statics = self.statics(contacts, length);
        let mut program = StepProgram::new(&statics, &inverse, &free, dt);
        if self.sliding == Sliding::Associated {
            self.programs += 1;
            return program.solve(&vec![0.0; contacts.len()]);
        }
        let fastest = contacts.iter().map(|contact| speed(contact, &free)).fold(0.0, f64::max);
        let mut forces = program.solve(&self.lifts)?;
        self.programs += 1;
        let (mut share, mut before) = (1.0, Vec::new());
        for _ in 1..PROGRAMS {
            let exerted: Vector6 = contacts.iter().zip(&forces).map(|(contact, force)| contact.wrench(force)).sum();
            let after = free + inverse * exerted * dt;
            let lifts: Vec<f64> = contacts.iter().map(|contact| lift(contact, &after, STICKS * fastest)).collect();
            let changes: Vec<f64> = lifts.iter().zip(&self.lifts).map(|(now, before)| now - before).collect();
            if changes.iter().all(|change| change.abs() <= SAME_LIFT * fastest) {
                self.lifts = lifts;
                break;
            }
            share = extrapolated(share, &before, &changes);
            self.lifts.iter_mut().zip(&changes).for_each(|(lift, change)| *lift = (*lift + share * change).max(0.0));
            before = changes;
            forces = program.solve(&self.lifts)?;
            self.programs += 1;
        }
        Some(forces)
    }

    /// A step: the forces of Gauss's principle, the velocity that they leave, and the mean velocity's way.
    fn advance(&mut self, contacts: &[ContactMap], dt: f64, length: f64) {
        let exerted: Vector6 = self.forces(contacts, dt, length).map_or_else(Vector6::zeros, |forces| {
            contacts.iter().zip(&forces).map(|(contact, force)| contact.wrench(force)).sum()
        });
        let (load, inverse) = (self.load(), self.inverse_mass());
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

/// The program of a step: the forces that leave the least kinetic energy.
struct StepProgram<'a> {
    contacts: &'a [ContactMap],
    scaled: Scaled<'a>,
    program: Program,
    slope: DVector<f64>,
    unit: f64,
}

impl<'a> StepProgram<'a> {
    /// The kinetic energy that is left, over dt, less what forces cannot change: x.(W' M^-1 W dt) x / 2 + (W' v).x
    fn new(statics: &'a Statics, inverse: &Matrix6<f64>, free: &Vector6, dt: f64) -> Self {
        let scaled = Scaled::new(statics);
        let columns = scaled.wrenches();
        let mut program = scaled.within_cones();
        let weight = columns.transpose() * inverse * &columns * dt;
        let unit = weight.diagonal().max().max(f64::MIN_POSITIVE);
        let (weight, slope) = (weight / unit, columns.transpose() * free / unit);
        let size = weight.ncols();
        program.quadratic =
            (0..size).flat_map(|j| (0..=j).map(move |i| (i, j))).map(|(i, j)| (i, j, weight[(i, j)])).collect();
        Self { contacts: &statics.contacts, scaled, program, slope, unit }
    }

    /// The forces where sliding lifts the surfaces of each contact apart by so much less.
    fn solve(&mut self, lifts: &[f64]) -> Option<Vec<ContactForce>> {
        self.program.objective.copy_from_slice(self.slope.as_slice());
        let mut at = 0;
        for (contact, lift) in self.contacts.iter().zip(lifts) {
            self.program.objective[at] += lift * self.scaled.force / self.unit;
            at += contact.dimension();
        }
        let solution = self.program.solve().filter(|solution| solution.x.iter().all(|value| value.is_finite()))?;
        Some(self.scaled.forces(&DVector::from_vec(solution.x)))
    }
}

/// How much of a change an iteration takes after one that took `share` of the change before it: Aitken's extrapolation for vectors (Irons and
/// Tuck, 1969). Sliding that hardly depends on the lift comes to an end in two or three programs, a jam by plain iteration in hundreds.
fn extrapolated(share: f64, before: &[f64], now: &[f64]) -> f64 {
    let differences = now.iter().zip(before).map(|(now, before)| (now - before, before));
    let (along, square) = differences.fold((0.0, 0.0), |(along, square), (difference, before)| {
        (along + before * difference, square + difference * difference)
    });
    if square > 0.0 { (-share * along / square).clamp(1.0, MOST_SHARE) } else { share }
}

/// How fast friction with the cone's slope lifts the surfaces of a contact apart that slides along a twist, m/s; 0 below the least.
fn lift(contact: &ContactMap, twist: &Vector6, least: f64) -> f64 {
    let [_, first, second, spin] = contact.powers(twist);
    let lift = libm::hypot(contact.friction * libm::hypot(first, second), contact.torsion * spin);
    if lift < least { 0.0 } else { lift }
}

/// How fast a contact goes along a twist, in any of the ways that its forces resist, m/s.
fn speed(contact: &ContactMap, twist: &Vector6) -> f64 {
    let [normal, first, second, spin] = contact.powers(twist);
    normal.abs().max(libm::hypot(first, second)).max((contact.torsion * spin).abs())
}

/// Normal forces, N, that the fingers push with when the object is let go.
enum Squeeze {
    /// Those with the largest margin that hold the object, and that margin.
    Holds(Vec<f64>, f64),
    /// Where none do: those of the first step's forces that are squeezed, and 0 of what goes on or is pushed back at once. How far fingers
    /// squeeze an object that slides between them does not follow from its motion.
    Slips(Vec<f64>),
}

fn squeeze(grasp: &Grasp, statics: &Statics, options: &SlipOptions) -> Result<Squeeze, GraspError> {
    let timestep = options.timestep;
    let unforced = Statics { contacts: unforced(&statics.contacts), ..statics.clone() };
    let within = |force: &ContactForce, contact: &ContactMap| force.normal.clamp(0.0, contact.limits[1]);
    if let Verdict::Holds(forces) = verdict(&unforced) {
        let each = forces.contacts.iter().zip(&unforced.contacts);
        let each = each.map(|(force, contact)| within(force, contact));
        return Ok(Squeeze::Holds(each.collect(), forces.margin));
    }
    let mut motion = Motion { sliding: options.sliding, ..Motion::new(grasp)? };
    let contacts = motion.contacts().unwrap_or_default();
    let Some(forces) = motion.forces(&contacts, timestep, statics.length) else {
        return Ok(Squeeze::Slips(vec![0.0; statics.contacts.len()]));
    };
    let exerted: Vector6 = contacts.iter().zip(&forces).map(|(contact, force)| contact.wrench(force)).sum();
    let (load, inverse) = (motion.load(), motion.inverse_mass());
    let (free, after) = (inverse * load * timestep, inverse * (load + exerted) * timestep);
    let fastest = contacts.iter().map(|contact| speed(contact, &free)).fold(0.0, f64::max);
    let squeezed = |(force, contact): (&ContactForce, &ContactMap)| {
        let stays = contact.powers(&after)[0].abs() < STICKS * fastest;
        if stays { within(force, contact) } else { 0.0 }
    };
    Ok(Squeeze::Slips(forces.iter().zip(&contacts).map(squeezed).collect()))
}

/// Where a line p + s d meets a patch: the s of least size.
fn meet(patch: &Patch, p: DVec3, d: DVec3) -> Option<f64> {
    let (at, along) = (DVec2::new(p.x, p.y), DVec2::new(d.x, d.y));
    let square = patch.xx * d.x * d.x + patch.yy * d.y * d.y + patch.xy * d.x * d.y;
    let linear = patch.slope(at).dot(along) - d.z;
    let constant = patch.height(at) - p.z;
    // A line along the surface, or a patch as flat as rounding leaves it.
    if square.abs() < 1e-14 {
        return (linear != 0.0).then(|| -constant / linear);
    }
    let root = linear * linear - 4.0 * square * constant;
    if root < 0.0 {
        return None;
    }
    // Without cancellation: the larger root by size from one formula, the smaller from the product.
    let large = -0.5 * (linear + root.sqrt().copysign(linear));
    if large == 0.0 {
        return Some(0.0);
    }
    let (far, near) = (large / square, constant / large);
    Some(if near.abs() <= far.abs() { near } else { far })
}
