//! Articulated dynamics of our own: robots in reduced coordinates, contacts with the exact Coulomb cone.
//!
//! A world is a set of kinematic trees ([`state::tree`]): a robot, or a loose body, which is a tree of one link. A step is one of
//! Moreau's midpoint scheme ([`equations::midpoint`]), the whole of it evaluated once, at the middle:
//!
//! | what | equation | where | source |
//! |---|---|---|---|
//! | drift | q_m = q + h/2 v | `equations::midpoint`, `state::kinematics` | Moreau 1988 |
//! | contacts at q_m | point, normal, gap; warm start from the last step | `collision` | Gilbert, Johnson and Keerthi 1988; van den Bergen 2001; Ericson 2005 |
//! | islands | what touches or closes loops is solved together | `islands::island` | |
//! | bodies that touch nothing | v' = v + h g, and a free turn; without equations | `equations::free_bodies`, `equations::free_rotation` | |
//! | mass matrix, bias, factor | M(q_m), b(q_m, (v + v')/2), M + h D = Lᵀ Dg L | `equations::mass_and_bias`, `equations::mass_factor` | Featherstone 2008, chapters 5, 6, 8 |
//! | the same of long trees | factor by articulated-body inertias, linear in the number of links | `equations::mass_factor::long` | Featherstone 2008, chapter 7 |
//! | motors, damping, springs, soil | implicit in D; a motor at its limit is a constant effort, at its largest power a tangent | `equations::midpoint`, `equations::motors` | |
//! | ball joints | log R, swing and twist of the child in the parent | `joints::ball_joint` | |
//! | constraints | contacts, rolling, stops, friction, loop joints as rows | `constraints` | |
//! | whitened rows | Y = Dg^(-1/2) L⁻ᵀ Jᵀ, u = J v_free + Yᵀ w, w = sum of Y l | `solvers::problem` | |
//! | impulses | block Gauss-Seidel, each contact exactly (`solvers::cone`), finished by Newton's method (`solvers::newton`, `algebra::elimination`) | `solvers::solver` | Jean and Moreau 1992; Acary et al. 2018 |
//! | loads that these leave open | least squares of the impulses with the same w | `solvers::least_norm_distribution` | |
//! | where these do not converge | homotopy: v = P(v - u - \|u_t\| n), smoothed, to zero smoothing | `solvers::homotopy` | De Saxcé and Feng 1998; Allgower and Georg 1990 |
//! | penetration | pseudo-velocities that move apart what is in each other, slowly | `solvers::position_correction`, `islands::separation` | |
//! | kick and drift | v' = v + M⁻¹(h (tau - b) + Jᵀ p), q' = q_m + h/2 v' | `equations::midpoint` | |
//! | reactions | Newton-Euler with the step's own accelerations and contact forces | `equations::midpoint` | Featherstone 2008, chapter 5 |
//!
//! What nothing touches or rubs has its step by Gauss's method of fourth order instead ([`gauss`]), unless the setting
//! `integrator` says midpoint; joints that close loops are constraints of its stages ([`gauss::loops`]).
//!
//! **Order.** Of second order in smooth motion, of fourth order in free motion, and the same backwards in time: energy swings to
//! and fro. A constant acceleration is exact, a single body that turns freely keeps angular momentum and energy to rounding
//! ([`equations::free_rotation`]). A loop is closed at the end of every step of Gauss's method, and at the middle of every other ([`constraints`]); a contact that tips or rolls moves on with it. What
//! bounces does so at the time when it arrives, to rounding ([`stepping::impacts`]); an impact without restitution is an event within a step
//! and of first order in time. **Law of contact.** Signorini and Coulomb at the
//! velocities of the end of the step, without approximation of the cone, with one coefficient or two
//! (maximum dissipation); Newton's restitution, from pair to pair or for all at once, blended with the plastic solution where it
//! would create energy. Rolling and torsional resistance are bounded by the normal force. Compliance (stiffness, damping) and slip are
//! options of a material. How rigid contacts share a load that statics leave to them: by least squares ([`solvers::least_norm_distribution`]).
//! **Frames.** World axes; spatial quantities about one point of their tree. **Units.** SI.
//!
//! A substep is four phases, each of which reads what those before it wrote: predict, assemble, solve, finish. What fails a guard in
//! it is repeated with half its length, while all that it cannot touch waits: contacts without a solution, or that sink in before
//! they can press, energy from nowhere, joints that turn too fast, stages of long trees that are not found ([`stepping::step_validation`], [`stepping::adaptive_substepping`]). Where something bounces in it, it is
//! divided there.
//!
//! | phase | reads | writes |
//! |---|---|---|
//! | predict | the state | what the substep starts from; where everything is at the midpoint; contacts, islands |
//! | assemble | that, and the motors | equations of motion, rows of constraints |
//! | solve | these | impulses, changes of velocity |
//! | finish | these | the state at the end; reactions, energies |
//!
//! **Energy.** A substep that no division mends is slowed down to the energy that its trees had and were given ([`islands::island`]):
//! motors and pushes give, and surfaces that yield and springs of loop joints give back. What takes out penetration, and closes
//! couplings that begin open, changes heights and speeds; it is counted as given. Smooth motion gains and loses by turns: what
//! a tree gains in all is bounded ([`islands::energy_bound`]). Motors drive no axis beyond its largest rate, with no more than its largest
//! effort and power ([`joints::axis_laws`], [`equations::motors`]).
//!
//! **Work.** A step has a budget, in sweeps over an island's constraints, that all methods of the solver, all repetitions, and what
//! these cost beside their solves, draw from ([`islands::work_budget`], [`stepping::adaptive_substepping`]). At its end the best impulses so far are taken, the rest of the step is made in
//! as few parts as that leaves, and an event tells how good they are and what they cost.
//!
//! **The same bits.** Every loop runs in an order that the model gives, threads share whole islands, sines come from `libm`.
//! **Memory.** What the model gives is apart from what a step changes: [`state::tree::Topology`], the collider's shapes, [`Model`]. Once the
//! buffers have grown, a step allocates nothing (`tests/allocations.rs`).
//!
//! **Not modelled**: deformation of bodies, waves in impacts (Newton's law is one number), static friction above the sliding
//! one, fluid and air. A mesh has no inside: two of them meet where their triangles do. Only objects sleep, robots never do.
//!
#![doc = include_str!("NOTATION.md")]
#![expect(clippy::needless_range_loop, reason = "several arrays run over one index of the equations")]
#![expect(clippy::neg_cmp_op_on_partial_ord, reason = "what is not a number goes where too large goes")]

mod algebra;
mod collision;
mod constraints;
mod equations;
mod gauss;
mod interface;
mod islands;
mod joints;
mod soil;
mod solvers;
mod state;
mod stepping;

use std::{any::Any, sync::Arc};

use bevy_math::DVec3;
use rayon::prelude::*;
use simpartner_model::{BodyId, JointId, Mechanism, Pose, Timestep};

pub use self::interface::probe::{Equations, Probe};
use self::{
    collision::{Collider, Contact},
    constraints::loop_joint::Closure,
    equations::external_forces::Push,
    interface::build::{self, BodyPlace, JointPlace},
    islands::{
        energy_bound,
        fallback_limits::{bounded_servo, bounded_vector, bounded_velocity, bounded_wrench},
        island::{Island, Islands},
    },
    solvers::problem::Scheme,
    state::tree::{self, Tree},
    stepping::{
        adaptive_substepping::{Groups, Part},
        impacts::Impacts,
        sleep,
        step_validation::Guards,
    },
};
use super::{
    BodyState, BuildError, ContactPoint, EnergyBalance, Engine, EngineIdentity, JointState, Kept, Notice, RayScene,
    Rut, RutChanges, RutTile, Settings, Snapshot, SnapshotError, SoilReading, Wrench,
};
use crate::motor::Gains;

/// Part of a penetration that is taken out in a substep (ODE's default of its error reduction parameter): nine tenths are gone after
/// ten of them.
const CORRECTION: f64 = 0.2;

/// A world in this engine.
pub(super) struct Dynamics {
    model: Model,
    scheme: Scheme,
    trees: Vec<Tree>,
    collider: Collider,
    closures: Vec<Closure>,
    islands: Islands,
    groups: Groups,
    impacts: Impacts,
    guards: Guards,
    /// What touched each body in the last step.
    wrenches: Vec<Wrench>,
    contacts: Vec<ContactPoint>,
    /// Trees that are pushed in the coming step.
    pushed: Vec<usize>,
    pool: Option<rayon::ThreadPool>,
}

/// What is settled when the world is built, beside what the trees ([`tree::Topology`]) and the collider have of their own.
struct Model {
    /// The timestep, and the substeps that it is made in at least.
    timestep: f64,
    substeps: usize,
    /// For each tree that may sleep, the speed below which it is at rest, m/s.
    sleepers: Vec<Option<f64>>,
    /// Where the bodies and joints of the world are.
    bodies: Vec<BodyPlace>,
    joints: Vec<JointPlace>,
    /// Trees of several links that nothing can move.
    frames: Vec<usize>,
}

impl Dynamics {
    /// Builds the world at step 0.
    pub(super) fn build(mechanism: &Mechanism, timestep: Timestep, settings: &Settings) -> Result<Self, BuildError> {
        let built = build::build(mechanism)?;
        let rest_speed = |tree| settings.auto_disable.then(|| sleep::rest_speed(built.collider.smallest_size(tree)));
        let mut sleepers: Vec<Option<f64>> = (0..built.trees.len()).map(rest_speed).collect();
        for (place, body) in built.bodies.iter().zip(&mechanism.bodies) {
            sleepers[place.tree] = sleepers[place.tree].filter(|_| body.robot.is_none());
        }
        let mut engine = Self {
            model: Model {
                timestep: timestep.seconds(),
                substeps: settings.substeps,
                sleepers,
                bodies: built.bodies,
                joints: built.joints,
                frames: (0..built.trees.len()).filter(|&tree| built.trees[tree].is_frame()).collect(),
            },
            scheme: Scheme {
                h: timestep.seconds() / settings.substeps as f64,
                share: 1.0,
                to_next: timestep.seconds() / settings.substeps as f64,
                instant: false,
                gravity: mechanism.gravity,
                correction: CORRECTION,
                correction_speed: settings.contact_max_correcting_velocity_m_per_s,
                surface_layer: settings.dynamics.contact_surface_layer_m,
                budget: settings.dynamics.max_sweeps as f64,
                fair: 1.0,
                integrator: settings.dynamics.integrator,
            },
            islands: Islands::default(),
            groups: Groups::default(),
            impacts: Impacts::new(settings.dynamics.impact_law),
            guards: Guards::new(mechanism, &settings.dynamics, &built.trees),
            wrenches: vec![Wrench::default(); mechanism.bodies.len()],
            // The copies of its lists stand one after the other, so that many trees take less time to read: as built, they grew here and there.
            trees: built.trees.clone(),
            collider: built.collider,
            closures: built.closures,
            contacts: Vec::new(),
            pushed: Vec::new(),
            pool: threads(settings.dynamics.threads),
        };
        // What flies fast is seen from the first step on.
        engine.collider.collide(&engine.trees, timestep.seconds());
        Ok(engine)
    }

    /// The second to fourth phase of every island that is not made again: equations of motion and rows, impulses, the state at
    /// the end. In the `last` attempt it is taken as it comes, and so where the work is at its end.
    fn solve(&mut self, groups: &Groups, last: bool) {
        let (scheme, contacts, closures) = (&self.scheme, &self.collider.contacts, &self.closures);
        let prints = &self.collider.soil;
        self.islands.for_each(&mut self.trees, contacts, prints, closures, self.pool.as_ref(), |island, parts| {
            if !groups.rejects(island.trees()[0]) {
                island.assemble(parts, scheme);
                island.solve(parts, scheme);
                island.is_last = last || !island.affords_halves(parts, scheme);
                island.finish(parts, scheme);
            }
        });
        let Self { islands, trees, scheme, .. } = self;
        let flies = |index: usize| islands.is_alone(index) && !groups.rejects(index);
        let fly = |tree: &mut Tree| tree.fly(scheme.h, scheme.gravity);
        match &self.pool {
            Some(pool) => pool.install(|| {
                let trees = trees.par_iter_mut().with_min_len(64).enumerate();
                trees.filter(|(index, _)| flies(*index)).for_each(|(_, tree)| fly(tree));
            }),
            None => trees.iter_mut().enumerate().filter(|(index, _)| flies(*index)).for_each(|(_, tree)| fly(tree)),
        }
    }

    /// The first phase: drifts to the midpoint, looks what touches there, wakes it, and groups what is tied together.
    fn predict(&mut self) {
        let Scheme { h, to_next, .. } = self.scheme;
        self.for_each_tree(|tree| tree.predict(h));
        self.collider.collide(&self.trees, to_next);
        self.wake_touched();
        for closure in &mut self.closures {
            closure.set_place(&self.trees);
        }
        self.islands.find(&self.trees, &self.collider.contacts, &self.closures, &self.scheme);
    }

    /// Makes the substep that was just made count where it is not made again.
    fn accept(&mut self, groups: &Groups, depth: u32) {
        let share = self.scheme.share;
        let accepted = |island: &&Island| !groups.rejects(island.trees()[0]);
        for island in self.islands.all().iter().filter(accepted) {
            let Collider { contacts, soil, .. } = &mut self.collider;
            island.write_back(contacts, soil, &mut self.closures, &self.scheme);
            energy_bound::enter_gain(island.trees(), island.gain, &mut self.trees, &self.scheme);
        }
        for (index, tree) in self.trees.iter_mut().enumerate().filter(|(index, _)| !groups.rejects(*index)) {
            if self.islands.is_alone(index) {
                energy_bound::enter_gain(&[0], tree.gain(), std::slice::from_mut(tree), &self.scheme);
            } else if !tree.is_awake() {
                continue;
            }
            tree.add_loads(share);
            self.collider.settle_soil(index);
        }
        self.add_contacts(groups, depth);
        let counts = |tree: usize| !groups.rejects(tree);
        let contacts = &self.collider.contacts;
        self.guards.after_substep(self.islands.all().iter().filter(accepted), &self.trees, contacts, counts);
    }

    /// Does the same to every tree that is awake, on all threads.
    fn for_each_tree(&mut self, work: impl Fn(&mut Tree) + Sync + Send) {
        let awake = |tree: &Tree| tree.is_awake();
        match &self.pool {
            Some(pool) => pool.install(|| {
                let trees = self.trees.par_iter_mut().with_min_len(4);
                trees.filter(|tree| awake(tree)).for_each(work);
            }),
            None => self.trees.iter_mut().filter(|tree| awake(tree)).for_each(work),
        }
    }
}

impl Engine for Dynamics {
    fn identity(&self) -> EngineIdentity {
        let features = "parry3d-f64 0.31 enhanced-determinism";
        EngineIdentity { name: "dynamics", version: env!("CARGO_PKG_VERSION"), features }
    }

    fn step(&mut self) {
        self.collider.outdate_rays();
        self.begin_loads();
        self.for_each_tree(Tree::begin_step);
        self.collider.soil.begin_step();
        self.guards.begin_step(&self.trees, &self.collider.contacts, self.model.timestep, self.model.substeps);
        let Model { timestep, substeps, .. } = self.model;
        for made in 0..substeps {
            let left = timestep * (substeps - made) as f64 / substeps as f64;
            self.advance_first(Part::whole(timestep / substeps as f64, left));
        }
        self.pushed.drain(..).for_each(|tree| self.trees[tree].clear_pushes());
        self.fall_asleep();
        self.read_closures();
        self.read_static_reactions();
        self.guards.after_step(&self.trees, &self.collider.contacts, &self.closures, &self.model.bodies);
    }

    fn body(&self, body: BodyId) -> BodyState {
        self.body_state(body)
    }

    fn joint(&self, joint: JointId) -> JointState {
        self.joint_state(joint.index())
    }

    fn drive(&mut self, joint: JointId, axis: usize, motor: super::Motor) {
        let motor = bounded_servo(motor.servo(Gains::EXACT));
        match self.model.joints[joint.index()] {
            JointPlace::Tree { tree, dofs, sign, .. } => {
                if let Some(dof) = dofs[axis] {
                    self.trees[tree].drive(dof, motor.signed(sign));
                }
            }
            JointPlace::Closure(closure) => {
                let closure = &mut self.closures[closure];
                if closure.drive(axis, motor) {
                    self.trees[closure.a.tree].wake();
                    self.trees[closure.b.tree].wake();
                }
            }
        }
    }

    fn soil(&self, body: BodyId) -> Option<SoilReading> {
        self.collider.soil_under(body)
    }

    fn ruts(&self, ground: usize) -> Vec<Rut> {
        self.collider.ruts(ground)
    }

    fn take_changed_ruts(&mut self, into: &mut Vec<RutTile>) -> RutChanges {
        self.collider.take_changed_ruts(into)
    }

    fn set_surface_velocity(&mut self, body: BodyId, velocity: DVec3) -> bool {
        if self.collider.set_surface_velocity(body, bounded_velocity(velocity)) {
            let place = self.model.bodies[body.index()].side();
            let touches = |contact: &&Contact| contact.sides().any(|side| side == place);
            for side in self.collider.contacts.iter().filter(touches).flat_map(Contact::sides) {
                self.trees[side.tree].wake();
            }
        }
        true
    }

    fn push(&mut self, body: BodyId, point: DVec3, wrench: Wrench) {
        let place = &self.model.bodies[body.index()];
        self.pushed.push(place.tree);
        let (point, wrench) = (place.frame.point(bounded_vector(point)), bounded_wrench(wrench));
        self.trees[place.tree].add_push(Push { link: place.link, point, wrench });
    }

    fn obstacle_to_placing(&self, body: BodyId) -> Option<&'static str> {
        self.held_by(body)
    }

    fn place(&mut self, body: BodyId, pose: &Pose, linear_velocity: DVec3, angular_velocity: DVec3) {
        if self.held_by(body).is_none() {
            self.put(body, pose, linear_velocity, angular_velocity);
        }
    }

    fn ray_scene(&self) -> Arc<RayScene> {
        self.collider.ray_scene(&self.trees)
    }

    fn contacts(&self) -> &[ContactPoint] {
        &self.contacts
    }

    fn energy(&self) -> Option<EnergyBalance> {
        let sum = |part: fn(&tree::Work) -> f64| self.trees.iter().map(|tree| part(&tree.work)).sum();
        Some(EnergyBalance {
            stored: sum(|work| work.energy),
            kinetic: sum(|work| work.kinetic),
            given: sum(|work| work.motor_work),
        })
    }

    fn work(&self) -> Option<f64> {
        Some(self.trees.iter().map(|tree| tree.work.spent).fold(0.0, f64::max))
    }

    fn notices(&self) -> &[Notice] {
        self.guards.notices()
    }

    fn snapshot(&self) -> Snapshot {
        self.save()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.load(snapshot)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn carry_over(&mut self, from: &dyn Engine, kept: &Kept) -> bool {
        let old = from.as_any().and_then(|engine| engine.downcast_ref::<Self>());
        old.into_iter().for_each(|old| self.go_on_from(old, kept));
        old.is_some()
    }
}

/// The threads to share islands between, the present one included; one needs none. Where the system gives no more threads
/// the same work is done on one.
fn threads(count: usize) -> Option<rayon::ThreadPool> {
    if count < 2 {
        return None;
    }
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(count).thread_name(|index| format!("island-{index}")).build();
    pool.inspect_err(|error| tracing::warn!("islands are solved on one thread: {error}")).ok()
}
