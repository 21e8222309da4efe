//! Equilibrium: forces within the contacts' cones that balance the load, or a proof that there are none.
//!
//! The first program maximises the margin, the normal force that every contact has to spare (Harker 1994, section 3.2, without its
//! pyramids and its one-sided torsion). Where it is not below zero the grasp holds. Else the multipliers of the balance are a
//! twist along which the load does more work than all contacts together can take: Farkas' certificate. The second program finds the
//! forces with the smallest sum of normal forces, his objective. Both are scaled by the load and by [`Statics::length`].

use nalgebra::{DMatrix, DVector, Dyn, SVD};

use crate::{
    Section,
    conic::{Program, Row},
    statics::{ContactForce, ContactMap, Statics, Vector6},
};

/// How far, in parts of the load, forces may be from balance or from their cones: what rounding in the solver leaves.
pub(crate) const TOLERANCE: f64 = 1e-9;

/// What is known of a grasp.
#[derive(Debug, Clone)]
pub struct Equilibrium {
    /// Whether it holds.
    pub verdict: Verdict,
    /// The forces whose normal forces have the smallest sum, where it holds.
    pub least: Option<Forces>,
}

/// Whether a grasp holds.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// With these forces, which have the largest margin among those of at most 10,000 loads.
    Holds(Forces),
    /// No forces hold it, and this proves it.
    Impossible(Certificate),
    /// On the edge: neither forces nor a proof stand up to the check.
    Undecided,
}

/// Forces that balance the load.
#[derive(Debug, Clone)]
pub struct Forces {
    /// Of each contact.
    pub contacts: Vec<ContactForce>,
    /// The normal force that each contact has to spare, N.
    pub margin: f64,
    /// How far they are from balance, as a force, N.
    pub residual: f64,
}

impl Forces {
    /// The sum of the normal forces, N.
    pub fn squeeze(&self) -> f64 {
        self.contacts.iter().map(|force| force.normal).sum()
    }
}

/// A proof that no admissible forces balance the load: a twist along which the load does more than all of them can take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// The twist about the centre of mass, of size 1 with angular velocities times [`Statics::length`].
    pub twist: Vector6,
}

impl Certificate {
    /// The power of the load along the twist less the most that contacts can resist, W. Forces f that balance the load have
    /// twist.(load + sum of W f) = 0, but the second part is at least -support(-twist): above zero that cannot be.
    pub fn gap(&self, statics: &Statics) -> f64 {
        self.twist.dot(&statics.load) - statics.support(&-self.twist)
    }

    /// Whether it proves it, rounding taken into account.
    pub fn proves(&self, statics: &Statics) -> bool {
        let each = statics.contacts.iter().map(|contact| contact.support(&-self.twist).abs());
        let sizes = each.sum::<f64>() + self.twist.component_mul(&statics.load).abs().sum();
        self.gap(statics) > 1e-12 * sizes
    }
}

/// Checks a grasp: whether it holds, and with which least forces.
pub fn check(statics: &Statics) -> Equilibrium {
    let verdict = verdict(statics);
    let least = match &verdict {
        Verdict::Holds(held) => Some(least(statics, held)),
        _ => None,
    };
    Equilibrium { verdict, least }
}

/// Whether a grasp holds.
pub fn verdict(statics: &Statics) -> Verdict {
    if let Some(moderate) = moderate(statics) {
        match decide(&moderate) {
            Verdict::Holds(forces) => return Verdict::Holds(Forces::new(statics, forces.contacts)),
            Verdict::Impossible(certificate) if certificate.proves(statics) => return Verdict::Impossible(certificate),
            _ => {}
        }
    }
    decide(statics)
}

/// Forces of so many loads are looked for first: of larger ones rounding leaves more than the tolerance of their balance.
const MODERATE: f64 = 1e4;

/// The same grasp with moderate forces; `None` where they are that already.
fn moderate(statics: &Statics) -> Option<Statics> {
    let most = MODERATE * statics.scale();
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

fn decide(statics: &Statics) -> Verdict {
    let scaled = Scaled::new(statics);
    // A load that no forces at all can balance, whatever their size, needs no program.
    if let Some(certificate) = certificate(statics, scaled.missing().as_slice()) {
        return Verdict::Impossible(certificate);
    }
    let Some(solution) = scaled.largest_margin().solve() else { return Verdict::Undecided };
    if let Some(forces) = scaled.balanced(&solution.x)
        && forces.margin >= -TOLERANCE * scaled.force
    {
        return Verdict::Holds(forces);
    }
    match certificate(statics, &solution.z[..6]) {
        Some(certificate) => Verdict::Impossible(certificate),
        None => Verdict::Undecided,
    }
}

/// A twist against which no contact can push, which proves that a grasp is not force closure: forces within all cones that balance each other
/// do not exist then. `None` where they do, or where rounding leaves it open. Limits on forces do not matter.
pub(crate) fn opening(statics: &Statics) -> Option<Vector6> {
    let free = |contact: &ContactMap| ContactMap { limits: [0.0, 1.0], ..contact.clone() };
    let contacts = statics.contacts.iter().map(free).collect();
    let unloaded = Statics { contacts, load: Vector6::zeros(), ..statics.clone() };
    let scaled = Scaled::new(&unloaded);
    let solution = scaled.largest_margin().solve()?;
    if scaled.balanced(&solution.x).is_some_and(|forces| forces.margin > TOLERANCE) {
        return None;
    }
    let mut twist = Vector6::from_column_slice(&solution.z[..6]);
    twist.fixed_rows_mut::<3>(3).scale_mut(1.0 / statics.length);
    let size = statics.length_of(&twist);
    let candidates = [twist / size, twist / -size];
    let pushes = |twist: &Vector6| unloaded.contacts.iter().any(|contact| contact.unit_support(twist) > TOLERANCE);
    candidates.into_iter().find(|twist| size > 0.0 && !pushes(twist))
}

/// The two programs of a check, for who wants to time their solution alone.
pub fn programs(statics: &Statics) -> [Program; 2] {
    let moderate = moderate(statics);
    let scaled = Scaled::new(moderate.as_ref().unwrap_or(statics));
    [scaled.largest_margin(), scaled.least_squeeze()]
}

/// The certificate that the multipliers of the scaled balance are, if they are one.
fn certificate(statics: &Statics, multipliers: &[f64]) -> Option<Certificate> {
    let mut twist = Vector6::from_column_slice(multipliers);
    twist.fixed_rows_mut::<3>(3).scale_mut(1.0 / statics.length);
    let size = statics.length_of(&twist);
    if size == 0.0 {
        return None;
    }
    let candidates = [twist / size, twist / -size].map(|twist| Certificate { twist });
    candidates.into_iter().find(|candidate| candidate.proves(statics))
}

/// The forces with the smallest sum of normal forces, moved towards those of the largest margin as far as takes them into the cones.
fn least(statics: &Statics, held: &Forces) -> Forces {
    let solve = |statics: &Statics| {
        let scaled = Scaled::new(statics);
        scaled.least_squeeze().solve().and_then(|solution| scaled.balanced(&solution.x))
    };
    // Where moderate limits do not bind, they change nothing.
    let free = |statics: &Statics, forces: &Forces| {
        let mut pairs = statics.contacts.iter().zip(&forces.contacts);
        pairs.all(|(contact, force)| force.normal < 0.5 * contact.limits[1] || contact.limits[0] > 0.0)
    };
    let first = moderate(statics).and_then(|moderate| solve(&moderate).filter(|forces| free(&moderate, forces)));
    let Some(least) = first.or_else(|| solve(statics)) else { return held.clone() };
    let least = Forces::new(statics, least.contacts);
    if least.margin >= 0.0 || held.margin <= least.margin {
        return least;
    }
    // The margin is concave, so it is not below this mixture's; rounding takes a little more.
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

/// A grasp in units of its load and length, its unknowns in one row: of each contact the normal force, then tangents and torsion in parts of
/// what a unit of normal force lets them be. In these units every cone is upright, and the nearest forces are near within the cones, too.
pub(crate) struct Scaled<'a> {
    statics: &'a Statics,
    /// One unit of force, N.
    pub(crate) force: f64,
    /// The grasp map, scaled: 6 by the number of unknowns.
    map: DMatrix<f64>,
    svd: SVD<f64, Dyn, Dyn>,
    load: DVector<f64>,
}

impl<'a> Scaled<'a> {
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

    /// The smallest forces whose wrench is nearest to this one.
    fn nearest(&self, wrench: &DVector<f64>) -> Option<DVector<f64>> {
        // Directions that the map lacks are zero but for rounding.
        self.svd.solve(wrench, 1e-12 * self.svd.singular_values.max()).ok()
    }

    /// The part of the load that no forces can balance, whatever their size and direction.
    fn missing(&self) -> DVector<f64> {
        let reached = self.nearest(&self.load).map(|forces| &self.map * forces);
        let missing = reached.map_or_else(|| self.load.clone(), |reached| &self.load - reached);
        // Rounding leaves something of every load.
        if missing.norm() > TOLERANCE { missing } else { DVector::zeros(6) }
    }

    fn balance(&self, program: &mut Program) {
        let row = |row: usize| -> Row {
            let entries = self.map.row(row);
            let entries = entries.iter().enumerate().filter(|(_, value)| **value != 0.0);
            (entries.map(|(column, value)| (column, *value)).collect(), -self.load[row])
        };
        program.equal((0..6).map(row));
    }

    /// Limits and cones, each narrower by `spare` where there is such an unknown.
    fn cones(&self, program: &mut Program, spare: Option<usize>) {
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
        program.at_most(limits);
        cones.into_iter().for_each(|rows| program.in_cone(rows));
    }

    /// Maximises the normal force that every contact has to spare.
    fn largest_margin(&self) -> Program {
        let unknowns = self.map.ncols();
        let mut program = Program::new(unknowns + 1);
        program.objective[unknowns] = -1.0;
        self.balance(&mut program);
        self.cones(&mut program, Some(unknowns));
        program
    }

    /// Minimises the sum of the normal forces.
    fn least_squeeze(&self) -> Program {
        let mut program = Program::new(self.map.ncols());
        let mut at = 0;
        for contact in &self.statics.contacts {
            program.objective[at] = 1.0;
            at += contact.dimension();
        }
        self.balance(&mut program);
        self.cones(&mut program, None);
        program
    }

    /// The forces of a solution, moved to the nearest that balance the load. `None` where nothing does, or the solution is no number.
    pub(crate) fn balanced(&self, x: &[f64]) -> Option<Forces> {
        if x.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut x = DVector::from_column_slice(&x[..self.map.ncols()]);
        // Once more for what rounding left of the first.
        for _ in 0..2 {
            let residual = &self.map * &x + &self.load;
            x -= self.nearest(&residual)?;
        }
        Some(Forces::new(self.statics, self.forces(&x))).filter(|forces| forces.residual <= TOLERANCE * self.force)
    }

    /// A program whose forces are within limits and cones, and cost nothing yet.
    pub(crate) fn within_cones(&self) -> Program {
        let mut program = Program::new(self.map.ncols());
        self.cones(&mut program, None);
        program
    }

    /// The wrench of one unit of each unknown, N and N m.
    pub(crate) fn wrenches(&self) -> DMatrix<f64> {
        let scale = |row: usize| if row < 3 { self.force } else { self.force * self.statics.length };
        DMatrix::from_fn(6, self.map.ncols(), |row, column| self.map[(row, column)] * scale(row))
    }

    /// Forces of another load, moved to the nearest that balance this one.
    pub(crate) fn rebalanced(&self, forces: &[ContactForce]) -> Option<Forces> {
        let each = self.statics.contacts.iter().zip(forces).flat_map(|(contact, force)| {
            let [first, second] = force.tangent.map(|along| along / contact.friction);
            let values = [force.normal, first, second, force.torsion / contact.torsion];
            values.into_iter().take(contact.dimension()).map(|value| value / self.force)
        });
        self.balanced(&each.collect::<Vec<_>>())
    }

    /// Unknowns as forces, N and N m.
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
