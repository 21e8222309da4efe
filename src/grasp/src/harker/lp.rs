//! The linear program of 1994 and its chart, solved by microlp, whose answers are vertices as those of 1994 were.

use std::f64::consts::PI;

use bevy_math::{DMat3, DVec2, DVec3};
use microlp::{ComparisonOp, Error, OptimizationDirection, Problem, SolveOptions};
use simpartner_model::ContactKind;

use super::{Finger, Harker};
use crate::GraspError;

/// What the program of 1994 printed of a grasp in equilibrium.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Of each contact.
    pub contacts: Vec<ContactAnswer>,
    /// What was minimised: the sum of all edges' forces, and of the torques about normals by their weight.
    pub objective: f64,
}

/// Force and torques of a contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactAnswer {
    /// The force.
    pub force: DVec3,
    /// Its torque, (centre of mass - point) x force: the negative of what everyone else calls torque.
    pub torque: DVec3,
    /// The torque about the normal.
    pub normal_torque: DVec3,
}

/// One unknown: what one unit of it exerts.
struct Column {
    force: DVec3,
    torque: DVec3,
    contact: usize,
    is_force: bool,
    /// What one unit of it costs.
    cost: f64,
}

/// The program that is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// As it was.
    Original,
    /// As the thesis's text has it, equation 3.3: friction angles are arc tangents, torsion has both senses, and the chart 40 columns.
    /// Torsion is still bounded by the upper bound of forces alone, not by friction.
    Corrected,
}

impl Program {
    fn angle(self, friction: f64) -> f64 {
        match self {
            Self::Original => friction,
            Self::Corrected => libm::atan(friction),
        }
    }

    fn columns(self) -> usize {
        match self {
            Self::Original => 39,
            Self::Corrected => 40,
        }
    }

    /// What a torque of 1 about a normal costs beside a force of 1. The listing has lost this line. The forces printed of case 5 are the
    /// optimum with 0.593 to 0.719, and of no other case that was printed do the forces depend on it; the text counts both alike.
    fn torsion_cost(self) -> f64 {
        match self {
            Self::Original => 0.65,
            Self::Corrected => 1.0,
        }
    }
}

/// What microlp may leave of a constraint: a hundredth of the tolerance of the files.
const FEASIBILITY: f64 = 1e-8;

/// By how much, in parts of it, another solution may cost more than the best and still count as one as good.
const AS_GOOD: f64 = 1e-9;

/// Solves the linear program under a gravity: `None` where it has no solution.
///
/// # Errors
/// Where the solver gives up.
pub fn solve(case: &Harker, gravity: DVec3, program: Program) -> Result<Option<Answer>, GraspError> {
    let columns = columns(case, program);
    let Some((values, objective)) = minimise(case, gravity, &columns, |column| column.cost, None)? else {
        return Ok(None);
    };
    let nothing = ContactAnswer { force: DVec3::ZERO, torque: DVec3::ZERO, normal_torque: DVec3::ZERO };
    let mut contacts = vec![nothing; case.contacts.len()];
    for (value, column) in values.iter().zip(&columns) {
        let contact = &mut contacts[column.contact];
        contact.force += column.force * *value;
        *(if column.is_force { &mut contact.torque } else { &mut contact.normal_torque }) += column.torque * *value;
    }
    Ok(Some(Answer { contacts, objective }))
}

/// The least and the largest value of each component of each contact's force among all solutions that cost as little as the best: where they
/// differ, the forces are not unique. `None` where there is no solution.
///
/// # Errors
/// Where the solver gives up.
pub fn spread(case: &Harker, gravity: DVec3, program: Program) -> Result<Option<Vec<[DVec3; 2]>>, GraspError> {
    let columns = columns(case, program);
    let Some((_, best)) = minimise(case, gravity, &columns, |column| column.cost, None)? else { return Ok(None) };
    let most = best * (1.0 + AS_GOOD);
    let extreme = |contact: usize, axis: usize, sign: f64| {
        let cost = |column: &Column| if column.contact == contact { sign * column.force[axis] } else { 0.0 };
        let found = minimise(case, gravity, &columns, cost, Some(most))?;
        found.map(|(_, value)| sign * value).ok_or_else(|| GraspError::LinearProgram("lost its own solution".into()))
    };
    let end = |contact: usize, sign: f64| -> Result<DVec3, GraspError> {
        Ok(DVec3::new(extreme(contact, 0, sign)?, extreme(contact, 1, sign)?, extreme(contact, 2, sign)?))
    };
    let all: Result<Vec<_>, _> =
        (0..case.contacts.len()).map(|contact| Ok([end(contact, 1.0)?, end(contact, -1.0)?])).collect();
    all.map(Some)
}

/// The unknowns that balance within the tolerance and cost least, and their cost; where `most` is given, among those whose cost is at most
/// that.
fn minimise(
    case: &Harker,
    gravity: DVec3,
    columns: &[Column],
    cost: impl Fn(&Column) -> f64,
    most: Option<f64>,
) -> Result<Option<(Vec<f64>, f64)>, GraspError> {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let limits = |column: &Column| case.contacts[column.contact].limits;
    let unknowns: Vec<_> =
        columns.iter().map(|column| problem.add_var(cost(column), (0.0, limits(column)[1]))).collect();
    for axis in 0..6 {
        let of = |column: &Column| if axis < 3 { column.force[axis] } else { column.torque[axis - 3] };
        let row: Vec<_> = unknowns.iter().zip(columns).map(|(&unknown, column)| (unknown, of(column))).collect();
        let load = if axis < 3 { gravity[axis] } else { 0.0 };
        problem.add_constraint(row.as_slice(), ComparisonOp::Le, case.tolerance - load);
        problem.add_constraint(row.as_slice(), ComparisonOp::Ge, -case.tolerance - load);
    }
    for (index, finger) in case.contacts.iter().enumerate() {
        let own = unknowns.iter().zip(columns).filter(|(_, column)| column.contact == index && column.is_force);
        let row: Vec<_> = own.map(|(&unknown, _)| (unknown, 1.0)).collect();
        problem.add_constraint(row.as_slice(), ComparisonOp::Ge, finger.limits[0]);
    }
    if let Some(most) = most {
        let row: Vec<_> = unknowns.iter().zip(columns).map(|(&unknown, column)| (unknown, column.cost)).collect();
        problem.add_constraint(row.as_slice(), ComparisonOp::Le, most);
    }
    let mut options = SolveOptions::default();
    options.tolerances.feasibility = FEASIBILITY;
    let solution = match problem.solve_with(options) {
        Ok(outcome) => outcome.into_solution(),
        Err(Error::Infeasible) => return Ok(None),
        Err(error) => return Err(GraspError::LinearProgram(error.to_string())),
    };
    let Ok(solution) = solution else {
        return Err(GraspError::LinearProgram("interrupted".into()));
    };
    Ok(Some((unknowns.iter().map(|&unknown| solution.var_value(unknown)).collect(), solution.objective())))
}

/// Whether there is equilibrium under each of the 21 x 39 (corrected, 40) directions of gravity, row by row.
///
/// # Errors
/// Where gravity is zero, or the solver gives up.
pub fn chart(case: &Harker, program: Program) -> Result<Vec<Vec<bool>>, GraspError> {
    if case.gravity == DVec3::ZERO {
        return Err(GraspError::NoGravity);
    }
    let to_z = rotation_to_z(case.gravity);
    let stands = |row: usize, column: usize| {
        let tilted = about_x(to_z * case.gravity, case.tilt.to_radians() * row as f64 / 20.0);
        solve(case, to_z.transpose() * about_z(tilted, PI * column as f64 / 20.0), program)
            .map(|answer| answer.is_some())
    };
    // Without a tilt all columns are one.
    let upright = stands(0, 1)?;
    let rows = (0..21).map(|row| match row {
        0 => Ok(vec![upright; program.columns()]),
        _ => (1..=program.columns()).map(|column| stands(row, column)).collect(),
    });
    rows.collect()
}

fn columns(case: &Harker, program: Program) -> Vec<Column> {
    let mut columns = Vec::new();
    for (contact, finger) in case.contacts.iter().enumerate() {
        let normal = finger.matrix * finger.normal(finger.point);
        let mut push = |at: DVec3, force: DVec3| {
            columns.push(Column { force, torque: (case.centre - at).cross(force), contact, is_force: true, cost: 1.0 });
        };
        match finger.kind {
            ContactKind::Frictionless => push(finger.place(finger.point), normal),
            ContactKind::Frictional { friction } => {
                pyramid(normal, program.angle(friction))
                    .into_iter()
                    .for_each(|edge| push(finger.place(finger.point), edge));
            }
            ContactKind::Soft { friction, radius } => {
                for point in perimeter(finger, radius) {
                    push(finger.place(point), finger.matrix * soft_edge(finger, point, program.angle(friction)));
                }
                let senses: &[f64] = if program == Program::Original { &[1.0] } else { &[1.0, -1.0] };
                columns.extend(senses.iter().map(|sense| Column {
                    force: DVec3::ZERO,
                    torque: normal * *sense,
                    contact,
                    is_force: false,
                    cost: program.torsion_cost(),
                }));
            }
        }
    }
    columns
}

/// The four edges about a normal: it is turned to z, tilted by the friction angle, and turned back. Where it has no y
/// its x and y change places meanwhile.
fn pyramid(normal: DVec3, friction: f64) -> [DVec3; 4] {
    let exchanged = normal.y == 0.0;
    let swap = |vector: DVec3| if exchanged { DVec3::new(vector.y, vector.x, vector.z) } else { vector };
    let to_z = rotation_to_z(swap(normal));
    let upright = to_z * swap(normal);
    let edges = [
        about_x(upright, friction),
        about_x(upright, -friction),
        about_y(upright, friction),
        about_y(upright, -friction),
    ];
    edges.map(|edge| swap(to_z.transpose() * edge))
}

/// Four points of a soft finger's rim: where the normal leans most and least, and opposite. Where it leans alike everywhere, along x
/// and y.
fn perimeter(finger: &Finger, radius: f64) -> [DVec3; 4] {
    let centre = DVec2::new(finger.point.x, finger.point.y);
    let on_patch = |at: DVec2| (centre + at).extend(finger.height(centre + at));
    // Single precision, which the original compared in, does not tell lengths apart below this.
    let longer = |a: f64, b: f64| a > b * (1.0 + 1e-6);
    let (mut most, mut least) = (DVec2::new(radius, 0.0), DVec2::new(0.0, radius));
    let length = |at: DVec2| finger.normal(on_patch(at)).length();
    for sign in [-1.0, 1.0] {
        for step in -100..=100 {
            let x = radius * f64::from(step) / 100.0;
            let at = DVec2::new(x, sign * (radius * radius - x * x).max(0.0).sqrt());
            let normal = finger.normal(on_patch(at));
            let opens = at.x * normal.x >= 0.0 || at.y * normal.y >= 0.0;
            if opens && longer(length(at), length(most)) {
                most = at;
            }
            if opens && longer(length(least), length(at)) {
                least = at;
            }
        }
    }
    [most, -most, least, -least].map(on_patch)
}

/// An edge of a soft finger in the patch's frame: the normal there, which counts as that of a plane where the patch is convex, tilted away
/// from the centre by the friction angle, of unit length.
fn soft_edge(finger: &Finger, point: DVec3, friction: f64) -> DVec3 {
    let mut normal = finger.normal(point);
    for axis in [0, 1] {
        if point[axis] * normal[axis] < 0.0 {
            normal[axis] = 0.0;
        }
    }
    let across = libm::hypot(point.x, point.y);
    if across == 0.0 {
        return normal.normalize();
    }
    let (sine, cosine) = (point.x / across, point.y / across);
    let turned = DVec3::new(cosine * normal.x - sine * normal.y, sine * normal.x + cosine * normal.y, normal.z);
    let tilted = about_x(turned, friction);
    DVec3::new(cosine * tilted.x + sine * tilted.y, cosine * tilted.y - sine * tilted.x, tilted.z).normalize()
}

/// Turns a vector to z: about x first, then about y. One along x is turned about y alone; the original divided by zero there.
fn rotation_to_z(vector: DVec3) -> DMat3 {
    let (across, length) = (libm::hypot(vector.y, vector.z), vector.length());
    let DVec3 { x, y, z } = vector;
    let (sine, cosine) = if across > 0.0 { (y / across, z / across) } else { (0.0, 1.0) };
    let rows = [DVec3::new(across, -x * sine, -x * cosine) / length, DVec3::new(0.0, cosine, -sine), vector / length];
    DMat3::from_cols(rows[0], rows[1], rows[2]).transpose()
}

fn about_x(vector: DVec3, angle: f64) -> DVec3 {
    let (sine, cosine) = libm::sincos(angle);
    DVec3::new(vector.x, cosine * vector.y - sine * vector.z, sine * vector.y + cosine * vector.z)
}

fn about_y(vector: DVec3, angle: f64) -> DVec3 {
    let (sine, cosine) = libm::sincos(angle);
    DVec3::new(cosine * vector.x + sine * vector.z, vector.y, cosine * vector.z - sine * vector.x)
}

fn about_z(vector: DVec3, angle: f64) -> DVec3 {
    let (sine, cosine) = libm::sincos(angle);
    DVec3::new(cosine * vector.x - sine * vector.y, sine * vector.x + cosine * vector.y, vector.z)
}
