//! SimPartner's articulated dynamics: robots in reduced coordinates, contacts with the exact Coulomb cone.
//!
//! # The algorithm
//!
//! A world is a set of kinematic trees ([`state::tree`]). A robot is a tree; a free body is a tree of one link. A step
//! uses Moreau's midpoint scheme ([`equations::midpoint`]): everything is evaluated once, at the middle of the substep.
//! Start reading at [`stepping::world::Dynamics::advance_step`].
//!
//! | what | equation | where | source |
//! |---|---|---|---|
//! | drift | q_m = q + h/2 v | `equations::midpoint`, `state::kinematics` | Moreau 1988 |
//! | contacts at q_m | point, normal, gap; warm start from the last step | `collision` | Gilbert, Johnson and Keerthi 1988; van den Bergen 2001; Ericson 2005 |
//! | seams | shapes side by side on one rigid piece form one surface | `collision::seams` | |
//! | islands | trees connected by contacts or loop joints are solved together | `islands::island` | |
//! | free bodies | v' = v + h g, and a free rotation; no equations | `equations::free_bodies`, `equations::free_rotation` | |
//! | mass matrix, bias, factor | M(q_m), b(q_m, (v + v')/2), M + h D = Lᵀ Dg L | `equations::mass_and_bias`, `equations::mass_factor` | Featherstone 2008, chapters 5, 6, 8 |
//! | mass matrix of long trees | factor by articulated-body inertias, linear in the number of links | `equations::mass_factor::long` | Featherstone 2008, chapter 7 |
//! | motors, damping, springs, soil | implicit in D; a motor at its limit is a constant effort, at its largest power a tangent | `equations::midpoint`, `equations::motors` | |
//! | ball joints | log R, swing and twist of the child in the parent | `joints::ball_joint` | |
//! | constraints | contacts, rolling, stops, friction, loop joints as rows | `constraints` | |
//! | whitened rows | Y = Dg^(-1/2) L⁻ᵀ Jᵀ, u = J v_free + Yᵀ w, w = sum of Y l | `solvers::problem` | |
//! | impulses | block Gauss-Seidel, each contact solved exactly (`cone`); Newton's method completes it (`newton`) | `solvers::solver` | Jean and Moreau 1992; Acary et al. 2018 |
//! | lines and faces that spin | l = -N grad phi(u), phi = integral of p \|v(u)\| | `constraints::patch`, `constraints::pressure`, `solvers::patch_friction` | Goyal, Ruina and Papadopoulos 1991 |
//! | statically indeterminate loads | the least-squares impulses with the same w | `solvers::least_norm_distribution` | |
//! | non-convergent problems | homotopy: v = P(v - u - \|u_t\| n), smoothed, to zero smoothing | `solvers::homotopy` | De Saxcé and Feng 1998; Allgower and Georg 1990 |
//! | kick and drift | v' = v + M⁻¹(h (tau - b) + Jᵀ p), q' = q_m + h/2 v' | `equations::midpoint` | |
//! | penetration | pseudo-velocities that separate overlaps gradually | `solvers::position_correction`, `islands::separation` | |
//! | reactions | Newton-Euler equations with the accelerations and contact forces of the step | `equations::midpoint` | Featherstone 2008, chapter 5 |
//!
//! A tree without contacts and friction steps by Gauss's method of fourth order instead ([`gauss`]), unless the setting
//! `integrator` is `midpoint`. Loop joints are constraints of its stages ([`gauss::loops`]).
//!
//! A substep has four phases. Each reads the results of the earlier ones:
//!
//! | phase | reads | writes |
//! |---|---|---|
//! | predict | the state | the start of the substep; poses at the midpoint; contacts, islands |
//! | assemble | results of predict; motors | equations of motion, rows of constraints |
//! | solve | results of assemble | impulses, velocity changes |
//! | finish | all earlier results | the state at the end; reactions, energies |
//!
//! A substep that fails a check is repeated at half its length for the trees concerned; trees out of their reach wait
//! ([`stepping::step_validation`], [`stepping::adaptive_substepping`]). Reasons: contacts without a solution, new
//! contacts with too deep penetration, a gain of energy, joints that turn too fast, stages of long trees without
//! solution. At an impact with restitution, the substep is divided at the time of impact ([`stepping::impacts`]).
//!
//! # The folders
//!
//! Each folder imports only from folders above it in this list (`tests/it/tidy.rs`). Its `mod.rs` states inputs,
//! outputs, and what it does not depend on.
//!
//! | folder | content |
//! |---|---|
//! | [`algebra`] | spatial vectors, sparse and semidefinite linear systems |
//! | [`scheme`] | the parameters of a substep |
//! | [`solvers`] | the constraint problem and its solvers |
//! | [`joints`] | laws of joint axes and ball joints |
//! | [`state`] | trees: topology, state, workspace, kinematics |
//! | [`equations`] | equations of motion of a tree, and its midpoint step |
//! | [`soil`] | stresses under wheels and plates, ruts |
//! | [`collision`] | contacts of shapes |
//! | [`constraints`] | contacts, stops, loop joints and soil as rows of the problem |
//! | [`gauss`] | Gauss's method of fourth order |
//! | [`islands`] | a substep of an island: solve, energy bound, separation, work budget |
//! | [`stepping`] | a step of the world: substeps, impacts, checks, events, sleep |
//! | [`interface`] | build, the trait `Engine`, snapshots, edits of the world |
//!
//! # Properties
//!
//! **Order.** Second order in smooth motion, fourth order in free motion, and time-reversible, so the energy error
//! oscillates. Constant acceleration is exact. A free rotation conserves angular momentum and energy to rounding
//! ([`equations::free_rotation`]). Gauss's method closes a loop at the end of every step, the midpoint scheme in the
//! middle ([`constraints`]). The contact point of a tipping or rolling body moves with the body. An impact with
//! restitution occurs at its exact time, to rounding ([`stepping::impacts`]); an impact without restitution occurs
//! within a step, of first order in time.
//!
//! **Contact law.** Signorini and Coulomb at the velocities of the end of the step, without approximation of the cone,
//! with one coefficient or two (maximum dissipation). Newton's restitution, pair by pair or for all at once, is blended
//! with the plastic solution where it would create energy. Rolling and torsional resistance are bounded by the normal
//! force. Compliance (stiffness, damping) and slip are options of a material. Rigid contacts share a statically
//! indeterminate load by least squares ([`solvers::least_norm_distribution`]).
//!
//! **Frames.** World axes; spatial quantities about one point of their tree. **Units.** SI.
//!
//! **Energy.** If a substep still gains energy after its last division, its trees are slowed down to the energy that
//! they had and were supplied ([`islands::fallback_limits`]). Motors and external wrenches supply energy; compliant
//! surfaces and springs of loop joints return it. Separation of overlaps, and closing of couplings that start open,
//! changes heights and speeds; this energy counts as supplied. In smooth motion the energy error alternates; a tree's
//! accumulated gain is bounded ([`islands::energy_bound`]). Motors drive no axis beyond its largest rate, effort and
//! power ([`joints::axis_laws`], [`equations::motors`]).
//!
//! **Work.** A step has a budget, in sweeps over an island's constraints. All solvers, all repetitions, and their setup
//! draw from it ([`islands::work_budget`]). When it is used up, the best impulses so far are taken, the rest of the
//! step is divided into the fewest permitted parts, and an event reports residual and cost.
//!
//! **Bit determinism.** The order of every loop follows from the model, threads solve whole islands, and sines come
//! from `libm`. **Memory.** Constant data are separate from the state: [`state::topology::Topology`], the collider's
//! shapes, [`stepping::world::Model`]. Once the buffers have grown, a step allocates nothing (`tests/allocations.rs`).
//!
//! **Not modelled**: deformation of bodies, waves in impacts (Newton's law is one number), static friction above
//! sliding friction, fluids and air. A mesh has no interior: two meshes touch where their triangles do. Only free
//! bodies sleep, robots never.
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
mod scheme;
mod soil;
mod solvers;
mod state;
mod stepping;

pub use self::interface::probe::{Equations, Probe};
pub(super) use self::stepping::world::Dynamics;
