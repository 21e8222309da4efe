//! Least-norm load distribution: how rigid contacts share a load that statics leave undetermined. Examples are four
//! feet, the two rims of a wheel, or a box on its corners.
//!
//! The contact laws determine the motion, and with it the whitened sum w of the impulses. Of all impulses with the same
//! w that satisfy the laws, the ones with the least sum of squares are taken. These are the forces of equally stiff
//! springs, along the surface as across it, in the limit of infinite stiffness. Where the contacts lie in a plane, this
//! is the least-squares solution for the normal forces. Timestep, order of bodies and history have no influence.
//!
//! | contact | distributed impulses |
//! |---|---|
//! | rigid, sticks | normal and tangential impulse, within its cone |
//! | rigid, slides | the normal impulse; friction follows it at the edge of the cone |
//! | rigid with slip | the normal impulse; friction follows its creep, and at the edge of the cone the normal impulse |
//!
//! Open contacts have no impulse. Stops, couplings and loop joints keep theirs. Rolling resistance follows the normal
//! impulse where it is at its bound. A step with restitution keeps the solver's impulses.
//!
//! **Rigid motors.** A motor of given velocity yields to no load below its largest effort
//! ([`Servo::is_rigid`](crate::Servo)). Its impulse is distributed like that of a contact, but has no weight in the sum
//! of squares: beside the springs of the contacts it is rigid ([`load_support`](super::load_support)). A robot that its
//! motors hold therefore stands on the ground like one body on equal springs. No wheel pushes sideways, and no motor
//! works against another, unless equilibrium or the motors' rates require it. An impulse stays within the motor's
//! largest effort and power.
//!
//! **Other influences.** Springs, dampers and motors with gains of their own determine the loads between contacts. To
//! have a load shared by physical stiffness, model it: soft tyres (a material's stiffness), sprung legs, or motors that
//! hold a position (`crate::motor`). A rigid surface more than 1e-6 m above its support bears nothing. Without rigid
//! motors, tangential forces of contacts with independent normals keep the solver's values. Motors of loop joints keep
//! theirs.
//!
//! **Method.** With S = diag(1, m, m) and m the coefficient of friction, the impulses are those nearest to zero in the
//! norm |S l|. They follow from a vector z over the unknowns of the island, l = P(S⁻² Yᵀ z), where P is the projection
//! on the cone in that norm. The equations sum of Y l = (previous sum) are the gradient of a convex function of z.
//! Newton's method solves them, in one step where no bound is met.
//!
//! **Friction that moves.** If bodies turn while they slide, friction that follows the normal impulses to other points
//! is another force, and the bodies move otherwise. Rigid surfaces allow each of these motions: Coulomb's law has a
//! family of solutions there, and the springs choose one of them. Its normal impulses are the least-norm ones, its
//! friction is at the edge of each cone, and no contact opens or closes. Both conditions are met in turn: friction
//! follows the normal impulses, and least-norm changes of the normal impulses and motors undo what that does to the
//! velocities of distributed rows ([`LeastNormDistribution::follow_friction`]). Directions of sliding change with the
//! motion, so the problem is then solved again from there ([`Distribution::FrictionChanged`]), a few times at most. The
//! next step, which starts where this one ends, does the rest.

use super::{
    cone::Mode,
    load_support::{DistributedRows, Support, add_impulse, block_columns, friction_at, rows_of},
    problem::{Block, Law, Problem, RigidMotor},
    skyline::Skyline,
};
use crate::engine::algebra::elimination::dot;

/// Islands with more contacts keep the solver's distribution, because each iteration costs as much as one of Newton's
/// method. Heaps of dozens of bodies have many equilibria anyway.
pub(crate) const MAX_CONTACTS: usize = 64;
/// Independent fraction of a normal, squared, below which the normal depends on those before it. A wheel on a sprung
/// leg has nine tenths. Feet of one body, and rims of a wheel whose normals differ by less than 0.3 rad, have a tenth
/// or less.
const INDEPENDENT_FRACTION: f64 = 0.1;
/// Shift of the diagonal, as a fraction of its largest entry, so that unknowns that no contact moves stay zero.
const DIAGONAL_SHIFT: f64 = 1e-12;
/// Tolerance of the equations, as a fraction of the velocities that the impulses cause; and the alternative one, m/s,
/// below the solver's tolerance. If neither is reached within this number of iterations, the impulses stay unchanged.
const RELATIVE_TOLERANCE: f64 = 1e-11;
const ABSOLUTE_TOLERANCE: f64 = 1e-10;
const MAX_ITERATIONS: usize = 20;
/// Relative rounding of the minimised function.
const RELATIVE_ROUNDING: f64 = 1e-14;
/// Largest number of halvings of a step.
const MAX_HALVINGS: usize = 8;
/// Largest change of a load, as a fraction of the largest load, for which loads are kept while something slides.
/// Otherwise the moved friction and the solver's rounding would respond to each other in every step.
const SETTLED_FRACTION: f64 = 1e-6;
/// Velocity change from which moved friction counts, m/s: the solver's tolerance.
const FRICTION_CHANGE: f64 = 1e-9;
/// Largest number of answers of the normal impulses to moved friction. Each leaves mu times height over track of the
/// change, a third for most robots.
const MAX_ANSWERS: usize = 20;
/// Largest ratio of the change that one answer leaves to the change before. Above it, there may be no solution.
const ANSWER_CONTRACTION: f64 = 0.9;
/// Change that the answers may leave, as a fraction of the first. Solving the problem again removes it.
const ANSWER_TOLERANCE: f64 = 1e-4;
/// Shift of the diagonal for an answer, as a fraction of its largest entry. Moved friction has parts that no
/// distributed row can answer; with a smaller shift they would drown the others in rounding. The next answer corrects
/// the error of the shift.
const ANSWER_SHIFT: f64 = 1e-8;

/// Result of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Distribution {
    /// Statics determine everything: the impulses follow from the motion.
    Determined,
    /// The motion is unchanged.
    Unchanged,
    /// Moved friction changes a velocity by this much, m/s. The problem has to be solved again.
    FrictionChanged(f64),
}

/// Buffers of the method.
#[derive(Debug, Default)]
pub(crate) struct LeastNormDistribution {
    /// Contacts in the order of the blocks, then motors.
    supports: Vec<Support>,
    contact_count: usize,
    matrix: Skyline,
    /// Shift of the diagonal.
    shift: f64,
    /// Cost of an iteration, in multiplications.
    cost: f64,
    /// Sum of the impulses that are distributed.
    target: Vec<f64>,
    /// Largest velocity that the impulses of the contacts alone cause, m/s or rad/s. Motors of unlimited effort can
    /// exert any multiple of it.
    size: f64,
    z: Vec<f64>,
    /// Residual of the equations, and the Newton step.
    defect: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
    /// Change of the whitened sum of all impulses by moved friction and the answers to it.
    moved: Vec<f64>,
    /// Impulses of all blocks, and changes and impulses of all motors, before the answers.
    unanswered: Vec<[f64; 3]>,
    /// Normal of one contact over all unknowns, and Cholesky factor of the products of normals, row by row.
    spread: Vec<f64>,
    products: Vec<f64>,
}

impl LeastNormDistribution {
    /// Distributes the loads of a solved problem, if statics leave any undetermined. Its cost, in multiplications, is
    /// subtracted from `work`.
    pub(crate) fn distribute(&mut self, problem: &mut Problem, work: &mut f64) -> Distribution {
        self.find_supports(problem);
        if !(2..=MAX_CONTACTS).contains(&self.contact_count) || !self.is_indeterminate(problem) {
            return Distribution::Determined;
        }
        self.set_target(problem);
        let slides = |support: &Support| {
            matches!(support.rows_of, DistributedRows::NormalOnly) && support.own_row(problem).compliance == [0.0; 3]
        };
        let found = self.solve(problem, work);
        if !found || self.supports.iter().any(slides) && self.is_settled(problem) {
            return Distribution::Unchanged;
        }
        let moved = self.follow_friction(problem, work);
        if moved > FRICTION_CHANGE { Distribution::FrictionChanged(moved) } else { Distribution::Unchanged }
    }

    /// Stores the impulses, lets friction follow them, and lets the normal impulses and motors answer until the
    /// velocities of distributed rows are unchanged. Without such answers, friction has followed once. Returns the
    /// largest velocity change, m/s.
    fn follow_friction(&mut self, problem: &mut Problem, work: &mut f64) -> f64 {
        self.apply_impulses(problem);
        self.moved.clone_from(&self.defect);
        let first = self.largest_change(problem);
        let mut left = self.largest_velocity(problem, &self.moved);
        let accepted = ABSOLUTE_TOLERANCE.max(ANSWER_TOLERANCE * left);
        if first <= FRICTION_CHANGE || left <= accepted {
            return first;
        }
        self.unanswered.clear();
        self.unanswered.extend(problem.blocks.iter().map(|block| block.impulse));
        self.unanswered.extend(problem.motors.iter().map(|motor| [motor.change, motor.row.impulse[0], 0.0]));
        for _ in 0..MAX_ANSWERS {
            if !self.answer_friction(problem, work) {
                break;
            }
            self.apply_impulses(problem);
            self.moved.iter_mut().zip(&self.defect).for_each(|(moved, by)| *moved += by);
            let last = std::mem::replace(&mut left, self.largest_velocity(problem, &self.moved));
            if left <= accepted {
                return self.largest_change(problem);
            }
            if left > ANSWER_CONTRACTION * last {
                break;
            }
        }
        let (blocks, motors) = self.unanswered.split_at(problem.blocks.len());
        problem.blocks.iter_mut().zip(blocks).for_each(|(block, before)| block.impulse = *before);
        for (motor, before) in problem.motors.iter_mut().zip(motors) {
            (motor.change, motor.row.impulse[0]) = (before[0], before[1]);
        }
        first
    }

    /// Largest velocity change of a block by moved friction and the answers to it, m/s.
    fn largest_change(&self, problem: &Problem) -> f64 {
        let of =
            |block: &Block| problem.velocity_from(block, &self.moved).iter().fold(0.0f64, |most, u| most.max(u.abs()));
        problem.blocks.iter().map(of).fold(0.0, f64::max)
    }

    /// Changes the distributed impulses such that the velocities of their rows lose the change by moved friction.
    /// Returns false if no impulses were found.
    fn answer_friction(&mut self, problem: &Problem, work: &mut f64) -> bool {
        self.matrix.clear();
        for support in &self.supports {
            self.matrix.add(problem, support.own_row(problem), &support.slope);
        }
        self.matrix.factorise(self.shift * (ANSWER_SHIFT / DIAGONAL_SHIFT));
        self.step.clear();
        self.step.extend(self.moved.iter().map(|moved| -moved));
        self.matrix.solve(&mut self.step);
        // The change of the sum, which impulses of the distributed rows can exert.
        self.trial.clear();
        self.trial.resize(problem.w.len(), 0.0);
        for support in &self.supports {
            let y = problem.velocity_from(support.own_row(problem), &self.step);
            let l = support.slope.map(|row| row[0] * y[0] + row[1] * y[1] + row[2] * y[2]);
            add_impulse(&mut self.trial, problem, support.own_row(problem), l);
        }
        for ((target, moved), by) in self.target.iter_mut().zip(&mut self.moved).zip(&self.trial) {
            (*target, *moved) = (*target + by, *moved + by);
        }
        self.trial.clone_from(&self.z);
        let (value, _) = self.evaluate(problem);
        self.iterate_newton(problem, work, value)
    }

    /// Finds the contacts that carry a load or could, their distributed rows, and the rigid motors.
    fn find_supports(&mut self, problem: &mut Problem) {
        self.supports.clear();
        for (place, block) in problem.blocks.iter().enumerate().filter(|(_, block)| block.law == Law::Cone) {
            if let Some(rows_of) = rows_of(problem, block) {
                self.supports.push(Support { index: place, rows_of, friction: block.friction, ..Support::default() });
            }
        }
        self.contact_count = self.supports.len();
        for index in 0..problem.motors.len() {
            let impulse = problem.motor_impulse(&problem.motors[index]);
            let row = &mut problem.motors[index].row;
            row.impulse[0] = impulse;
            if matches!(row.law, Law::Interval { low, high } if (low..=high).contains(&impulse)) {
                self.supports.push(Support { index, rows_of: DistributedRows::Motor, ..Support::default() });
            }
        }
    }

    /// True if normals depend on each other, or if motors can share tangential loads.
    fn is_indeterminate(&mut self, problem: &Problem) -> bool {
        if self.contact_count < self.supports.len() {
            return true;
        }
        self.spread.clear();
        self.spread.resize(problem.w.len(), 0.0);
        self.products.clear();
        for (place, support) in self.supports.iter().enumerate() {
            let own = block_columns(problem, support.own_row(problem));
            own.clone().for_each(|(y, i)| self.spread[i] = y[0]);
            let (row, mut other) = (self.products.len(), 0);
            for (before, second) in self.supports[..place].iter().enumerate() {
                let columns = block_columns(problem, second.own_row(problem));
                let product: f64 = columns.map(|(y, i)| y[0] * self.spread[i]).sum();
                let known = dot(&self.products[row..], &self.products[other..other + before]);
                self.products.push((product - known) * self.products[other + before]);
                other += before + 1;
            }
            let whole: f64 = own.clone().map(|(y, _)| y[0] * y[0]).sum();
            let defect = whole - dot(&self.products[row..], &self.products[row..]);
            if !(defect > INDEPENDENT_FRACTION * whole) {
                return true;
            }
            self.products.push(1.0 / defect.sqrt());
            own.for_each(|(_, i)| self.spread[i] = 0.0);
        }
        false
    }

    /// Sets the impulses to be distributed, and their whitened sum.
    fn set_target(&mut self, problem: &Problem) {
        for support in &mut self.supports {
            let l = support.own_row(problem).impulse;
            support.l = [0.0; 3];
            support.distributed_rows().for_each(|row| support.l[row] = l[row]);
        }
        self.target.clear();
        self.target.resize(problem.w.len(), 0.0);
        let (contacts, motors) = self.supports.split_at(self.contact_count);
        for support in contacts {
            add_impulse(&mut self.target, problem, support.own_row(problem), support.l);
        }
        self.size = self.largest_velocity(problem, &self.target);
        for support in motors {
            add_impulse(&mut self.target, problem, support.own_row(problem), support.l);
        }
    }

    /// Finds z and the impulses. Returns false if they were not found and have to stay unchanged.
    fn solve(&mut self, problem: &Problem, work: &mut f64) -> bool {
        self.cost = self.begin(problem);
        self.iterate_newton(problem, work, 0.0)
    }

    /// Newton's method from the present z, where the minimised function is `value`. Returns false if it does not
    /// converge.
    fn iterate_newton(&mut self, problem: &Problem, work: &mut f64, mut value: f64) -> bool {
        let (size, cost) = (self.size, self.cost);
        let (mut residual, mut linear) = (f64::INFINITY, false);
        for _ in 0..MAX_ITERATIONS {
            if cost > *work {
                break;
            }
            *work -= cost;
            if !linear {
                self.matrix.clear();
                for support in &self.supports {
                    self.matrix.add(problem, support.own_row(problem), &support.slope);
                }
                self.matrix.factorise(self.shift);
            }
            self.step.clear();
            self.step.extend(self.defect.iter().map(|defect| -defect));
            self.matrix.solve(&mut self.step);
            (value, linear) = self.take_step(problem, value);
            let last = std::mem::replace(&mut residual, self.largest_velocity(problem, &self.defect));
            // Without further progress, rounding ends the iteration.
            if residual <= RELATIVE_TOLERANCE * size || residual < ABSOLUTE_TOLERANCE && residual >= 0.5 * last {
                break;
            }
        }
        residual <= RELATIVE_TOLERANCE * size || residual < ABSOLUTE_TOLERANCE
    }

    /// Starts at z = 0, where no bound is active. Returns the cost of an iteration, in multiplications.
    fn begin(&mut self, problem: &Problem) -> f64 {
        let blocks = self.supports.iter().map(|support| support.own_row(problem));
        let mut cost = self.matrix.begin(problem, blocks);
        let mut stiffest = 0.0f64;
        for support in &mut self.supports {
            let block = support.own_row(problem);
            let columns = block.length as f64;
            cost += columns * (1.5 * columns + 12.0);
            support.slope = [[0.0; 3]; 3];
            for (row, place) in support.distributed_rows().zip([0, 3, 5]) {
                support.slope[row][row] = support.row_weight(row);
                if !support.is_motor() {
                    stiffest = stiffest.max((block.cone.a[place] - block.compliance[row]) * support.row_weight(row));
                }
            }
        }
        self.shift = DIAGONAL_SHIFT * stiffest;
        self.z.clear();
        self.z.resize(problem.w.len(), 0.0);
        self.defect.clear();
        self.defect.extend(self.target.iter().map(|sum| -sum));
        cost
    }

    /// Largest velocity of a distributed row from whitened impulses.
    fn largest_velocity(&self, problem: &Problem, whitened: &[f64]) -> f64 {
        let each = self.supports.iter().map(|support| {
            let u = problem.velocity_from(support.own_row(problem), whitened);
            support.distributed_rows().fold(0.0f64, |largest, row| largest.max(u[row].abs()))
        });
        each.fold(0.0, f64::max)
    }

    /// Takes the largest tried part of the step that makes the minimised function less than `value`. Returns the
    /// function there, and whether all slopes stayed constant.
    fn take_step(&mut self, problem: &Problem, value: f64) -> (f64, bool) {
        let (mut length, mut found) = (1.0, (0.0, false));
        for _ in 0..MAX_HALVINGS {
            self.trial.clear();
            self.trial.extend(self.z.iter().zip(&self.step).map(|(z, step)| z + length * step));
            found = self.evaluate(problem);
            if found.0 <= value + RELATIVE_ROUNDING * value.abs() {
                break;
            }
            length *= 0.5;
        }
        std::mem::swap(&mut self.z, &mut self.trial);
        found
    }

    /// Computes impulses and residual at the trial point. Returns the minimised function, and true if all slopes are
    /// unchanged.
    fn evaluate(&mut self, problem: &Problem) -> (f64, bool) {
        let (mut value, mut linear) = (0.0, true);
        self.defect.clear();
        self.defect.extend(self.target.iter().map(|sum| -sum));
        for support in &mut self.supports {
            support.y = problem.velocity_from(support.own_row(problem), &self.trial);
            let slope = support.slope;
            support.project_impulse(support.impulse_bounds(problem));
            linear &= support.slope == slope;
            let (l, y, most) = (&support.l, &support.y, support.friction * support.friction);
            let first = 1.0 / support.row_weight(0);
            value += l[0] * (y[0] - 0.5 * first * l[0]);
            value += l[1] * (y[1] - 0.5 * most * l[1]) + l[2] * (y[2] - 0.5 * most * l[2]);
            add_impulse(&mut self.defect, problem, support.own_row(problem), support.l);
        }
        value -= self.trial.iter().zip(&self.target).map(|(z, sum)| z * sum).sum::<f64>();
        (value, linear)
    }

    /// True if the contacts already have these impulses, up to a fraction of the largest load.
    fn is_settled(&self, problem: &Problem) -> bool {
        let (mut largest, mut change) = (0.0f64, 0.0f64);
        for support in &self.supports {
            let old = support.own_row(problem).impulse;
            for row in support.distributed_rows() {
                let size = if row == 0 { 1.0 } else { support.friction };
                largest = largest.max(size * old[row].abs());
                change = change.max(size * (support.l[row] - old[row]).abs());
            }
        }
        change <= SETTLED_FRACTION * largest
    }

    /// Stores the impulses in the contacts and motors, with the friction that follows them. The buffer `defect`
    /// receives the contribution of moved friction.
    fn apply_impulses(&mut self, problem: &mut Problem) {
        self.defect.fill(0.0);
        for support in &mut self.supports[self.contact_count..] {
            let RigidMotor { row, change, .. } = &mut problem.motors[support.index];
            *change += support.l[0] - row.impulse[0];
            row.impulse[0] = support.l[0];
        }
        for support in &mut self.supports[..self.contact_count] {
            let block = support.own_row(problem);
            let old = block.impulse;
            let mut new = old;
            support.distributed_rows().for_each(|row| new[row] = support.l[row]);
            support.y = [old[0], 0.0, 0.0];
            if let DistributedRows::NormalOnly = support.rows_of {
                [new[1], new[2]] = friction_at(problem, block, new[0]);
                let change = [0.0, new[1] - old[1], new[2] - old[2]];
                add_impulse(&mut self.defect, problem, block, change);
            }
            problem.blocks[support.index].impulse = new;
        }
        self.update_rolling(problem);
    }

    /// Scales the friction of a patch with its normal impulse.
    fn scale_patch(&mut self, problem: &mut Problem, place: usize, law: Law) {
        let before: f64 = problem.patch_normals(law).map(|normal| self.impulse_before(problem, normal)).sum();
        let ratio = if before > 0.0 { problem.disc_radius(law) / before } else { 1.0 };
        let old = problem.blocks[place].impulse;
        problem.blocks[place].impulse = old.map(|l| l * ratio);
        let change = old.map(|l| l * (ratio - 1.0));
        add_impulse(&mut self.defect, problem, &problem.blocks[place], change);
    }

    /// Normal impulse of a contact before the distribution.
    fn impulse_before(&self, problem: &Problem, place: usize) -> f64 {
        self.support_of(place).map_or(problem.blocks[place].impulse[0], |support| support.y[0])
    }

    /// The support of a contact, by the index of its block.
    fn support_of(&self, place: usize) -> Option<&Support> {
        let contacts = &self.supports[..self.contact_count];
        contacts.binary_search_by_key(&place, |support| support.index).ok().map(|found| &contacts[found])
    }

    /// Scales rolling and torsional resistance with the normal impulse, whose old value is `y[0]` of each support.
    fn update_rolling(&mut self, problem: &mut Problem) {
        for place in 0..problem.blocks.len() {
            let (normal, radius) = match problem.blocks[place].law {
                Law::Disc { normal, radius, .. } => (normal, radius),
                law @ Law::Patch { .. } => {
                    self.scale_patch(problem, place, law);
                    continue;
                }
                Law::Cone | Law::Interval { .. } => continue,
            };
            let Some(support) = self.support_of(normal) else { continue };
            let (before, now) = (support.y[0], problem.blocks[normal].impulse[0]);
            let block = &mut problem.blocks[place];
            let old = block.impulse;
            if block.cone.mode == Mode::Open && before > 0.0 {
                block.impulse = old.map(|l| l * (now / before));
            }
            block.project_to_bounds(radius * now);
            let change: [f64; 3] = std::array::from_fn(|row| block.impulse[row] - old[row]);
            add_impulse(&mut self.defect, problem, &problem.blocks[place], change);
        }
    }
}
