//! The linear program of 1994 and its chart, solved by microlp. Its solutions are vertices, as those of 1994 were.

use std::f64::consts::PI;

use bevy_math::{DMat3, DVec2, DVec3};
use microlp::{ComparisonOp, Error, OptimizationDirection, Problem, SolveOptions};
use simpartner_model::ContactKind;

use super::{Finger, Harker};
use crate::GraspError;

/// Solution of the linear program: what the program of 1994 printed for a grasp in equilibrium.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Force and torques of each contact.
    pub contacts: Vec<ContactAnswer>,
    /// Minimised objective: the sum of the forces of all edges and of the weighted torques about normals.
    pub objective: f64,
}

/// Force and torques of a contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactAnswer {
    /// Force on the object.
    pub force: DVec3,
    /// Torque of the force, (centre of mass - point) x force: the negative of the usual definition.
    pub torque: DVec3,
    /// Torque about the normal, of a soft finger.
    pub normal_torque: DVec3,
}

/// One unknown of the linear program: the force or torque that one unit of it exerts.
struct Column {
    force: DVec3,
    torque: DVec3,
    /// Index of the contact.
    contact: usize,
    is_force: bool,
    /// Cost of one unit.
    cost: f64,
}

/// Variant of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The program as it was, faults included.
    Original,
    /// The program as the text of the thesis describes it, equation 3.3: friction angles are arc tangents, torsion has
    /// both senses, and the chart 40 columns. Torsion is still bounded by the upper bound of forces alone, not by
    /// friction.
    Corrected,
}

impl Program {
    /// Angle of the friction pyramid's edges to the normal, rad.
    fn friction_angle(self, friction: f64) -> f64 {
        match self {
            Self::Original => friction,
            Self::Corrected => libm::atan(friction),
        }
    }

    /// Number of columns of the chart.
    fn chart_columns(self) -> usize {
        match self {
            Self::Original => 39,
            Self::Corrected => 40,
        }
    }

    /// Cost of a torque of 1 about a normal, relative to a force of 1. This line is missing from the printed listing.
    /// The printed forces of case 5 are the optimum for costs from 0.593 to 0.719; those of the other printed cases do
    /// not depend on it. The text of the thesis counts both alike.
    fn torsion_cost(self) -> f64 {
        match self {
            Self::Original => 0.65,
            Self::Corrected => 1.0,
        }
    }
}

/// Largest violation of a constraint that microlp may leave: a hundredth of the tolerance in the files.
const FEASIBILITY_TOLERANCE: f64 = 1e-8;

/// Largest relative excess of a solution's cost over the least cost at which the solution still counts as optimal.
const COST_TOLERANCE: f64 = 1e-9;

/// Solves the linear program for a direction of gravity. `None` if it has no solution.
///
/// # Errors
/// The solver fails.
pub fn solve(case: &Harker, gravity: DVec3, program: Program) -> Result<Option<Answer>, GraspError> {
    let columns = program_columns(case, program);
    let Some((values, objective)) = minimise_cost(case, gravity, &columns, |column| column.cost, None)? else {
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

/// Smallest and largest value of each component of each contact's force among all optimal solutions. If they differ,
/// the forces are not unique. `None` if there is no solution.
///
/// # Errors
/// The solver fails.
pub fn spread(case: &Harker, gravity: DVec3, program: Program) -> Result<Option<Vec<[DVec3; 2]>>, GraspError> {
    let columns = program_columns(case, program);
    let Some((_, best)) = minimise_cost(case, gravity, &columns, |column| column.cost, None)? else { return Ok(None) };
    let most = best * (1.0 + COST_TOLERANCE);
    let extreme = |contact: usize, axis: usize, sign: f64| {
        let cost = |column: &Column| if column.contact == contact { sign * column.force[axis] } else { 0.0 };
        let found = minimise_cost(case, gravity, &columns, cost, Some(most))?;
        found.map(|(_, value)| sign * value).ok_or_else(|| GraspError::LinearProgram("lost its own solution".into()))
    };
    let end = |contact: usize, sign: f64| -> Result<DVec3, GraspError> {
        Ok(DVec3::new(extreme(contact, 0, sign)?, extreme(contact, 1, sign)?, extreme(contact, 2, sign)?))
    };
    let all: Result<Vec<_>, _> =
        (0..case.contacts.len()).map(|contact| Ok([end(contact, 1.0)?, end(contact, -1.0)?])).collect();
    all.map(Some)
}

/// Values of the unknowns that balance the load within the tolerance at the least `cost`, and that cost. If `most` is
/// given, only solutions count whose [`Column::cost`] is at most that.
fn minimise_cost(
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
    options.tolerances.feasibility = FEASIBILITY_TOLERANCE;
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

/// Computes the chart: for each of the 21 x 39 (corrected: 40) directions of gravity, row by row, true if there is
/// equilibrium.
///
/// # Errors
/// Gravity is zero, or the solver fails.
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
    // Without a tilt all columns are the same direction.
    let upright = stands(0, 1)?;
    let rows = (0..21).map(|row| match row {
        0 => Ok(vec![upright; program.chart_columns()]),
        _ => (1..=program.chart_columns()).map(|column| stands(row, column)).collect(),
    });
    rows.collect()
}

/// The unknowns of the linear program.
fn program_columns(case: &Harker, program: Program) -> Vec<Column> {
    let mut columns = Vec::new();
    for (contact, finger) in case.contacts.iter().enumerate() {
        let normal = finger.matrix * finger.patch_normal(finger.point);
        let mut push = |at: DVec3, force: DVec3| {
            columns.push(Column { force, torque: (case.centre - at).cross(force), contact, is_force: true, cost: 1.0 });
        };
        match finger.kind {
            ContactKind::Frictionless => push(finger.to_object_frame(finger.point), normal),
            ContactKind::Frictional { friction } => {
                pyramid_edges(normal, program.friction_angle(friction))
                    .into_iter()
                    .for_each(|edge| push(finger.to_object_frame(finger.point), edge));
            }
            ContactKind::Soft { friction, radius } => {
                let angle = program.friction_angle(friction);
                for point in rim_points(finger, radius) {
                    push(finger.to_object_frame(point), finger.matrix * soft_edge(finger, point, angle));
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

/// The four edges of a friction pyramid: the normal is rotated to z, tilted by the friction angle, rad, and rotated
/// back. If the normal has no y component, x and y are exchanged meanwhile.
fn pyramid_edges(normal: DVec3, friction: f64) -> [DVec3; 4] {
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

/// Four points on the rim of a soft finger: where the slope of the patch is largest and smallest, and the points
/// opposite. If the slope is the same everywhere, they are along x and y.
fn rim_points(finger: &Finger, radius: f64) -> [DVec3; 4] {
    let centre = DVec2::new(finger.point.x, finger.point.y);
    let on_patch = |at: DVec2| (centre + at).extend(finger.patch_height(centre + at));
    // The original compared in single precision, which does not distinguish lengths below this difference.
    let longer = |a: f64, b: f64| a > b * (1.0 + 1e-6);
    let (mut most, mut least) = (DVec2::new(radius, 0.0), DVec2::new(0.0, radius));
    let length = |at: DVec2| finger.patch_normal(on_patch(at)).length();
    for sign in [-1.0, 1.0] {
        for step in -100..=100 {
            let x = radius * f64::from(step) / 100.0;
            let at = DVec2::new(x, sign * (radius * radius - x * x).max(0.0).sqrt());
            let normal = finger.patch_normal(on_patch(at));
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

/// An edge of a soft finger in the patch's frame, of unit length: the normal at a point of the rim, tilted away from
/// the centre by the friction angle, rad. Where the patch is convex, the normal of a plane is used.
fn soft_edge(finger: &Finger, point: DVec3, friction: f64) -> DVec3 {
    let mut normal = finger.patch_normal(point);
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

/// Rotation of a vector to z: about x first, then about y. A vector along x is rotated about y alone; the original
/// divided by zero there.
fn rotation_to_z(vector: DVec3) -> DMat3 {
    let (across, length) = (libm::hypot(vector.y, vector.z), vector.length());
    let DVec3 { x, y, z } = vector;
    let (sine, cosine) = if across > 0.0 { (y / across, z / across) } else { (0.0, 1.0) };
    let rows = [DVec3::new(across, -x * sine, -x * cosine) / length, DVec3::new(0.0, cosine, -sine), vector / length];
    DMat3::from_cols(rows[0], rows[1], rows[2]).transpose()
}

/// A vector rotated about the x axis by an angle, rad.
fn about_x(vector: DVec3, angle: f64) -> DVec3 {
    let (sine, cosine) = libm::sincos(angle);
    DVec3::new(vector.x, cosine * vector.y - sine * vector.z, sine * vector.y + cosine * vector.z)
}

/// A vector rotated about the y axis by an angle, rad.
fn about_y(vector: DVec3, angle: f64) -> DVec3 {
    let (sine, cosine) = libm::sincos(angle);
    DVec3::new(cosine * vector.x + sine * vector.z, vector.y, cosine * vector.z - sine * vector.x)
}

/// A vector rotated about the z axis by an angle, rad.
fn about_z(vector: DVec3, angle: f64) -> DVec3 {
    let (sine, cosine) = libm::sincos(angle);
    DVec3::new(cosine * vector.x - sine * vector.y, sine * vector.x + cosine * vector.y, vector.z)
}
