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
//! **Memory.** What the model gives is apart from what a step changes: [`state::topology::Topology`], the collider's shapes, [`stepping::world::Model`]. Once the
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
mod scheme;
mod soil;
mod solvers;
mod state;
mod stepping;

pub use self::interface::probe::{Equations, Probe};
pub(super) use self::stepping::world::Dynamics;
