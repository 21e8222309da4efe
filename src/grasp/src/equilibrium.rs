//! Equilibrium: forces within the contacts' cones that balance the load, or a proof that there are none.
//!
//! The first program maximises the margin, the normal force that every contact can lose or gain (Harker 1994, section
//! 3.2, without its pyramids and its one-sided torsion). If the margin is not negative the grasp holds. Otherwise the
//! multipliers of the balance are a twist along which the load does more work than all contacts together can resist:
//! Farkas' certificate.
//!
//! The second program finds the forces with the smallest sum of normal forces, which is Harker's objective. Both
//! programs are scaled by the load and by [`Statics::length`].

use nalgebra::{DMatrix, DVector, Dyn, SVD};

use crate::{
    Section,
    conic::{Program, Row},
    statics::{ContactForce, ContactMap, Statics, Vector6},
};

/// Largest imbalance of forces, and largest violation of their cones, as a fraction of the load. It covers the solver's
/// rounding.
pub(crate) const LOAD_TOLERANCE: f64 = 1e-9;

/// Result of a check.
#[derive(Debug, Clone)]
pub struct Equilibrium {
    /// Verdict on whether the grasp holds, with its proof.
    pub verdict: Verdict,
    /// If the grasp holds: the forces with the smallest sum of normal forces.
    pub least: Option<Forces>,
}

/// Verdict on whether a grasp holds its load.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// These forces hold the load. They have the largest margin among forces of at most 10,000 times the load.
    Holds(Forces),
    /// No forces hold the load, and this certificate proves it.
    Impossible(Certificate),
    /// A borderline case: neither forces nor a certificate pass the check.
    Undecided,
}

/// Contact forces that balance the load.
#[derive(Debug, Clone)]
pub struct Forces {
    /// The force of each contact.
    pub contacts: Vec<ContactForce>,
    /// Normal force that each contact can lose or gain ([`Statics::margin`]), N.
    pub margin: f64,
    /// Size of the wrench that the forces and the load leave unbalanced ([`Statics::size`]), N.
    pub residual: f64,
}

impl Forces {
    /// Sum of the normal forces, N.
    pub fn squeeze(&self) -> f64 {
        self.contacts.iter().map(|force| force.normal).sum()
    }
}

/// A proof that no admissible forces balance the load: a twist along which the load has more power than all contacts
/// together can resist.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// Twist about the centre of mass, of size 1 if angular velocities are multiplied by [`Statics::length`].
    pub twist: Vector6,
}

impl Certificate {
    /// Power of the load along the twist less the largest power that contacts can resist, W. A positive gap is a proof:
    /// forces f that balance the load have twist.(load + sum of W f) = 0, but the second term is at least
    /// -support(-twist).
    pub fn gap(&self, statics: &Statics) -> f64 {
        self.twist.dot(&statics.load) - statics.support(&-self.twist)
    }

    /// True if the gap is positive beyond rounding, so that no forces can balance the load.
    pub fn proves(&self, statics: &Statics) -> bool {
        let each = statics.contacts.iter().map(|contact| contact.support(&-self.twist).abs());
        let sizes = each.sum::<f64>() + self.twist.component_mul(&statics.load).abs().sum();
        self.gap(statics) > 1e-12 * sizes
    }
}

/// Checks whether a grasp holds its load, and finds the forces with the smallest sum of normal forces.
pub fn check(statics: &Statics) -> Equilibrium {
    let verdict = verdict(statics);
    let least = match &verdict {
        Verdict::Holds(held) => Some(least_forces(statics, held)),
        _ => None,
    };
    Equilibrium { verdict, least }
}

/// Checks whether a grasp holds its load.
pub fn verdict(statics: &Statics) -> Verdict {
    if let Some(moderate) = with_moderate_limits(statics) {
        match solve_verdict(&moderate) {
            Verdict::Holds(forces) => return Verdict::Holds(Forces::new(statics, forces.contacts)),
            Verdict::Impossible(certificate) if certificate.proves(statics) => return Verdict::Impossible(certificate),
            _ => {}
        }
    }
    solve_verdict(statics)
}

/// Largest normal forces that are tried first, as a multiple of the load. The rounding of larger forces exceeds the
/// tolerance of their balance.
const MODERATE_LOADS: f64 = 1e4;

/// The same grasp with largest normal forces of [`MODERATE_LOADS`]; `None` if no limit changes.
fn with_moderate_limits(statics: &Statics) -> Option<Statics> {
    let most = MODERATE_LOADS * statics.scale();
    let contacts: Vec<_> = statics
        .contacts
        .iter()
        .map(|contact| {
            let [lowest, highest] = contact.limits;
            ContactMap { limits: [lowest, highest.min(most.max(2.0 * lowest))], ..contact.clone() }
        })
        .collect();
    let changed = contacts.iter().zip(&statics.contacts).any(|(ours, theirs)| ours.limits != theirs.limits);
    changed.then(|| Statics { contacts, ..statics.clone() })
}

/// The verdict by the program of the largest margin.
fn solve_verdict(statics: &Statics) -> Verdict {
    let scaled = ScaledGrasp::new(statics);
    // A load outside of the range of the grasp map, which no forces of any size balance, needs no program.
    if let Some(certificate) = certificate_from(statics, scaled.unreachable_load().as_slice()) {
        return Verdict::Impossible(certificate);
    }
    let Some(solution) = scaled.largest_margin().solve() else { return Verdict::Undecided };
    if let Some(forces) = scaled.nearest_balanced(&solution.x)
        && forces.margin >= -LOAD_TOLERANCE * scaled.force
    {
        return Verdict::Holds(forces);
    }
    match certificate_from(statics, &solution.z[..6]) {
        Some(certificate) => Verdict::Impossible(certificate),
        None => Verdict::Undecided,
    }
}

/// A twist along which no contact can exert power, which proves that a grasp is not force closure. `None` if forces
/// inside of all cones balance each other, so that the grasp is force closure, or if rounding leaves it open. Limits on
/// forces are ignored.
pub(crate) fn unresisted_twist(statics: &Statics) -> Option<Vector6> {
    let free = |contact: &ContactMap| ContactMap { limits: [0.0, 1.0], ..contact.clone() };
    let contacts = statics.contacts.iter().map(free).collect();
    let unloaded = Statics { contacts, load: Vector6::zeros(), ..statics.clone() };
    let scaled = ScaledGrasp::new(&unloaded);
    let solution = scaled.largest_margin().solve()?;
    if scaled.nearest_balanced(&solution.x).is_some_and(|forces| forces.margin > LOAD_TOLERANCE) {
        return None;
    }
    let mut twist = Vector6::from_column_slice(&solution.z[..6]);
    twist.fixed_rows_mut::<3>(3).scale_mut(1.0 / statics.length);
    let size = statics.twist_size(&twist);
    let candidates = [twist / size, twist / -size];
    let pushes = |twist: &Vector6| unloaded.contacts.iter().any(|contact| contact.unit_support(twist) > LOAD_TOLERANCE);
    candidates.into_iter().find(|twist| size > 0.0 && !pushes(twist))
}

/// The two programs of a check, so that benchmarks can time their solution alone.
pub fn programs(statics: &Statics) -> [Program; 2] {
    let moderate = with_moderate_limits(statics);
    let scaled = ScaledGrasp::new(moderate.as_ref().unwrap_or(statics));
    [scaled.largest_margin(), scaled.least_squeeze()]
}

/// The certificate that the multipliers of the scaled balance give, or `None` if they prove nothing.
fn certificate_from(statics: &Statics, multipliers: &[f64]) -> Option<Certificate> {
    let mut twist = Vector6::from_column_slice(multipliers);
    twist.fixed_rows_mut::<3>(3).scale_mut(1.0 / statics.length);
    let size = statics.twist_size(&twist);
    if size == 0.0 {
        return None;
    }
    let candidates = [twist / size, twist / -size].map(|twist| Certificate { twist });
    candidates.into_iter().find(|candidate| candidate.proves(statics))
}

/// The forces with the smallest sum of normal forces. If rounding leaves them outside of the cones, they are moved
/// towards the forces with the largest margin (`held`) until they are inside.
fn least_forces(statics: &Statics, held: &Forces) -> Forces {
    let solve = |statics: &Statics| {
        let scaled = ScaledGrasp::new(statics);
        scaled.least_squeeze().solve().and_then(|solution| scaled.nearest_balanced(&solution.x))
    };
    // Moderate limits that are not active do not change the solution.
    let free = |statics: &Statics, forces: &Forces| {
        let mut pairs = statics.contacts.iter().zip(&forces.contacts);
        pairs.all(|(contact, force)| force.normal < 0.5 * contact.limits[1] || contact.limits[0] > 0.0)
    };
    let first =
        with_moderate_limits(statics).and_then(|moderate| solve(&moderate).filter(|forces| free(&moderate, forces)));
    let Some(least) = first.or_else(|| solve(statics)) else { return held.clone() };
    let least = Forces::new(statics, least.contacts);
    if least.margin >= 0.0 || held.margin <= least.margin {
        return least;
    }
    // The margin is concave, so that of the mixed forces is at least the same mixture of both margins, which is zero
    // here. The factor covers rounding.
    let share = (-least.margin / (held.margin - least.margin) * (1.0 + 1e-6)).clamp(0.0, 1.0);
    let mix = |a: f64, b: f64| a + share * (b - a);
    let pairs = least.contacts.iter().zip(&held.contacts);
    let contacts = pairs.map(|(a, b)| ContactForce {
        normal: mix(a.normal, b.normal),
        tangent: [mix(a.tangent[0], b.tangent[0]), mix(a.tangent[1], b.tangent[1])],
        torsion: mix(a.torsion, b.torsion),
    });
    Forces::new(statics, contacts.collect())
}

impl Forces {
    pub(crate) fn new(statics: &Statics, contacts: Vec<ContactForce>) -> Self {
        let residual = statics.size(&(statics.total(&contacts) + statics.load));
        Self { margin: statics.margin(&contacts), residual, contacts }
    }
}

/// A grasp in units of its load and length.
///
/// The unknowns of all contacts form one vector: for each contact the normal force, then the tangential forces and the
/// torsion, as fractions of their largest values at one unit of normal force. In these units all cones have the same
/// slope, so a projection onto balance changes forces little relative to their cones.
pub(crate) struct ScaledGrasp<'a> {
    statics: &'a Statics,
    /// One unit of force, N.
    pub(crate) force: f64,
    /// Scaled grasp map: 6 rows, one column for each unknown.
    map: DMatrix<f64>,
    /// Singular value decomposition of `map`.
    svd: SVD<f64, Dyn, Dyn>,
    /// Scaled load.
    load: DVector<f64>,
}

impl<'a> ScaledGrasp<'a> {
    pub(crate) fn new(statics: &'a Statics) -> Self {
        let (force, length) = (statics.scale(), statics.length);
        let columns: Vec<Vector6> = statics
            .contacts
            .iter()
            .flat_map(|contact| {
                let mut columns = contact.columns();
                columns[1] *= contact.friction;
                columns[2] *= contact.friction;
                columns[3] *= contact.torsion;
                columns.into_iter().take(contact.dimension())
            })
            .collect();
        let scale = |row: usize| if row < 3 { 1.0 } else { 1.0 / length };
        let map = DMatrix::from_fn(6, columns.len(), |row, column| columns[column][row] * scale(row));
        let load = DVector::from_fn(6, |row, _| statics.load[row] * scale(row) / force);
        let svd = map.clone().svd(true, true);
        Self { statics, force, map, svd, load }
    }

    /// The forces of least norm whose wrench is nearest to this one (least squares).
    fn least_norm_forces(&self, wrench: &DVector<f64>) -> Option<DVector<f64>> {
        // Singular values below the threshold are rounding: the map has no forces in those directions.
        self.svd.solve(wrench, 1e-12 * self.svd.singular_values.max()).ok()
    }

    /// The part of the load that no forces can balance, whatever their size and direction.
    fn unreachable_load(&self) -> DVector<f64> {
        let reached = self.least_norm_forces(&self.load).map(|forces| &self.map * forces);
        let unreachable = reached.map_or_else(|| self.load.clone(), |reached| &self.load - reached);
        // Below the tolerance the difference is rounding.
        if unreachable.norm() > LOAD_TOLERANCE { unreachable } else { DVector::zeros(6) }
    }

    /// Adds the six rows of the balance of forces and torques with the load.
    fn add_balance(&self, program: &mut Program) {
        let row = |row: usize| -> Row {
            let entries = self.map.row(row);
            let entries = entries.iter().enumerate().filter(|(_, value)| **value != 0.0);
            (entries.map(|(column, value)| (column, *value)).collect(), -self.load[row])
        };
        program.add_equal((0..6).map(row));
    }

    /// Adds the limits and friction cones of all contacts. `spare` is the index of an unknown that narrows each of
    /// them.
    fn add_cones(&self, program: &mut Program, spare: Option<usize>) {
        let with = |mut entries: Vec<(usize, f64)>| {
            entries.extend(spare.map(|column| (column, 1.0)));
            entries
        };
        let mut limits: Vec<Row> = Vec::new();
        let mut cones: Vec<Vec<Row>> = Vec::new();
        let mut at = 0;
        for contact in &self.statics.contacts {
            let [lowest, highest] = contact.limits.map(|limit| limit / self.force);
            limits.push((with(vec![(at, -1.0)]), -lowest));
            limits.push((with(vec![(at, 1.0)]), highest));
            let dimension = contact.dimension();
            match contact.section {
                _ if dimension == 1 => {}
                Section::Disc => {
                    let first = (with(vec![(at, -1.0)]), 0.0);
                    let others = (1..dimension).map(|k| (vec![(at + k, -1.0)], 0.0));
                    cones.push([first].into_iter().chain(others).collect());
                }
                Section::Polygon(edges) => {
                    let inner = libm::cos(std::f64::consts::PI / edges as f64);
                    for side in contact.sides(edges) {
                        let across = vec![(at, -1.0), (at + 1, side[0] / inner), (at + 2, side[1] / inner)];
                        let about: &[f64] = if dimension == 4 { &[1.0, -1.0] } else { &[] };
                        limits.extend(
                            about
                                .iter()
                                .map(|about| (with(across.iter().copied().chain([(at + 3, *about)]).collect()), 0.0)),
                        );
                        limits.extend(about.is_empty().then(|| (with(across.clone()), 0.0)));
                    }
                }
            }
            at += dimension;
        }
        program.add_at_most(limits);
        cones.into_iter().for_each(|rows| program.add_cone(rows));
    }

    /// The program that maximises the margin, the normal force that every contact can lose or gain.
    fn largest_margin(&self) -> Program {
        let unknowns = self.map.ncols();
        let mut program = Program::new(unknowns + 1);
        program.objective[unknowns] = -1.0;
        self.add_balance(&mut program);
        self.add_cones(&mut program, Some(unknowns));
        program
    }

    /// The program that minimises the sum of the normal forces.
    fn least_squeeze(&self) -> Program {
        let mut program = Program::new(self.map.ncols());
        let mut at = 0;
        for contact in &self.statics.contacts {
            program.objective[at] = 1.0;
            at += contact.dimension();
        }
        self.add_balance(&mut program);
        self.add_cones(&mut program, None);
        program
    }

    /// The forces of a solution, projected onto the nearest forces that balance the load. `None` if no forces balance
    /// it, or if the solution is not finite.
    pub(crate) fn nearest_balanced(&self, x: &[f64]) -> Option<Forces> {
        if x.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut x = DVector::from_column_slice(&x[..self.map.ncols()]);
        // The second pass removes the rounding of the first.
        for _ in 0..2 {
            let residual = &self.map * &x + &self.load;
            x -= self.least_norm_forces(&residual)?;
        }
        Some(Forces::new(self.statics, self.forces(&x))).filter(|forces| forces.residual <= LOAD_TOLERANCE * self.force)
    }

    /// A program with limits and friction cones alone: no balance, and an objective of zero.
    pub(crate) fn cone_program(&self) -> Program {
        let mut program = Program::new(self.map.ncols());
        self.add_cones(&mut program, None);
        program
    }

    /// Wrenches of one unit of each unknown, as columns, N and N m.
    pub(crate) fn wrenches(&self) -> DMatrix<f64> {
        let scale = |row: usize| if row < 3 { self.force } else { self.force * self.statics.length };
        DMatrix::from_fn(6, self.map.ncols(), |row, column| self.map[(row, column)] * scale(row))
    }

    /// Forces that balance another load, projected onto the nearest forces that balance this one.
    pub(crate) fn rebalanced(&self, forces: &[ContactForce]) -> Option<Forces> {
        let each = self.statics.contacts.iter().zip(forces).flat_map(|(contact, force)| {
            let [first, second] = force.tangent.map(|along| along / contact.friction);
            let values = [force.normal, first, second, force.torsion / contact.torsion];
            values.into_iter().take(contact.dimension()).map(|value| value / self.force)
        });
        self.nearest_balanced(&each.collect::<Vec<_>>())
    }

    /// The contact forces that a vector of unknowns stands for.
    pub(crate) fn forces(&self, x: &DVector<f64>) -> Vec<ContactForce> {
        let mut at = 0;
        let each = self.statics.contacts.iter().map(|contact| {
            let dimension = contact.dimension();
            let value = |k: usize| if k < dimension { x[at + k] * self.force } else { 0.0 };
            let force = ContactForce {
                normal: value(0),
                tangent: [1, 2].map(|k| value(k) * contact.friction),
                torsion: value(3) * contact.torsion,
            };
            at += dimension;
            force
        });
        each.collect()
    }
}
