//! The stages of long trees: Anderson's mixing of the rounds of a fixed point x = G(x) (Anderson 1965; Walker and Ni
//! 2011).
//!
//! A round evaluates G(x) and the residual f = G(x) - x. The differences dG and df between rounds predict which change
//! of x removes the residual:
//!
//! ```text
//! x' = G - sum_j (q_j · f) p_j
//! q_j orthonormal, from the df by Gram and Schmidt; p_j the same combinations of the dG
//! ```
//!
//! For a linear G this is the generalised minimal residual method (GMRES). A plain round leaves the fraction r = (h
//! w)²/12 of the error of a motion at w rad/s, a mixed round about (√(1 + r) - 1)/(√(1 + r) + 1). The transverse waves
//! of a rope of many links under tension have r of about 1 at 4 ms: plain rounds diverge there, mixed rounds reduce the
//! error by 6 each.

use std::mem;

use bevy_math::DVec3;

use super::LoopConstraints;
use crate::engine::state::{
    tree::Tree,
    workspace::{Mixing, Stage},
};

/// The stages are found when a round changes no velocity by more than this fraction of the largest: the remaining
/// change is a tenth of that or less. With ropes of 100 links at 1 and 4 ms, the measured energy error is the same with
/// 1e-10, which costs half as many rounds again.
const STAGE_TOLERANCE: f64 = 1e-6;
/// Largest number of rounds. Three suffice for a rope of 100 hinges at 1 ms, seven at 4 ms.
const MAX_ROUNDS: usize = 30;
/// Number of rounds after which the residual must have fallen to this fraction of the first; otherwise the search is
/// abandoned.
const TRIAL_ROUNDS: usize = 8;
const TRIAL_REDUCTION: f64 = 0.25;
/// Number of differences that are kept. Those of earlier rounds describe G far from where it is evaluated now.
const MAX_DIFFERENCES: usize = 6;
/// Smallest fraction of a difference that must be independent of the others. Below it, the difference counts as a
/// combination of them.
const INDEPENDENT_FRACTION: f64 = 1e-6;

impl Mixing {
    /// Starts the rounds of a step.
    fn start_rounds(&mut self) {
        self.pairs.resize_with(MAX_DIFFERENCES, Default::default);
        self.residual.clear();
        (self.count, self.next) = (0, 0);
    }

    /// Starts a round: stores x.
    fn start_round(&mut self, stages: &[Stage; 2]) {
        self.x.clear();
        self.x.extend(stages.iter().flat_map(|stage| &stage.a));
    }

    /// Ends a round: replaces G(x) in the stages by the x of the next round.
    fn set_next_iterate(&mut self, stages: &mut [Stage; 2]) {
        let is_first = self.residual.is_empty();
        self.residual.resize(self.x.len(), 0.0);
        self.image.resize(self.x.len(), 0.0);
        let [mut q, mut p] = mem::take(&mut self.pairs[self.next]);
        q.clear();
        p.clear();
        let images = stages.iter().flat_map(|stage| &stage.a).zip(&self.x);
        for ((g, x), (residual, image)) in images.zip(self.residual.iter_mut().zip(&mut self.image)) {
            q.push(g - x - *residual);
            p.push(g - *image);
            (*residual, *image) = (g - x, *g);
        }
        if is_first || !self.orthonormalise(&mut q, &mut p) {
            // A zero vector changes nothing.
            q.fill(0.0);
        }
        self.pairs[self.next] = [q, p];
        self.count = MAX_DIFFERENCES.min(self.count + 1);
        self.next = (self.next + 1) % MAX_DIFFERENCES;
        let freedom = stages[0].a.len();
        for [q, p] in &self.pairs[..self.count] {
            let share = dot(q, &self.residual);
            let (first, second) = p.split_at(freedom);
            subtract_multiple(&mut stages[0].a, share, first);
            subtract_multiple(&mut stages[1].a, share, second);
        }
    }

    /// Makes a difference orthogonal to the other pairs, and of unit length. Returns false if nothing is left of it.
    fn orthonormalise(&mut self, q: &mut [f64], p: &mut [f64]) -> bool {
        let whole = dot(q, q);
        let stays = |pair: &usize| *pair != self.next;
        for [own, image] in (0..self.count).filter(stays).map(|pair| &self.pairs[pair]) {
            let share = dot(own, q);
            subtract_multiple(q, share, own);
            subtract_multiple(p, share, image);
        }
        let left = dot(q, q);
        if !(left > INDEPENDENT_FRACTION * INDEPENDENT_FRACTION * whole) {
            return false;
        }
        let scale = 1.0 / left.sqrt();
        q.iter_mut().chain(p).for_each(|entry| *entry *= scale);
        true
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

fn subtract_multiple(from: &mut [f64], share: f64, what: &[f64]) {
    from.iter_mut().zip(what).for_each(|(entry, other)| *entry -= share * other);
}

impl Tree {
    /// [`Tree::find_stages`] of a long tree without loops.
    pub(super) fn find_stages_by_mixing(
        &mut self,
        stages: &mut [Stage; 2],
        loops: &mut LoopConstraints,
        h: f64,
        gravity: DVec3,
    ) -> bool {
        let mut mixing = mem::take(&mut self.work.long.mixing);
        mixing.start_rounds();
        let (mut first, mut found) = (f64::INFINITY, false);
        for round in 0..MAX_ROUNDS {
            mixing.start_round(stages);
            #[cfg(test)]
            {
                mixing.rounds = round + 1;
            }
            let [change, size] = self.evaluate_stages(stages, loops, h, gravity);
            found = change <= STAGE_TOLERANCE * size;
            let falls = change.is_finite() && (round != TRIAL_ROUNDS || change < TRIAL_REDUCTION * first);
            if found || !falls {
                break;
            }
            first = if round == 0 { change } else { first };
            mixing.set_next_iterate(stages);
        }
        self.work.long.mixing = mixing;
        found
    }
}

#[cfg(test)]
mod tests {
    use simpartner_model::{
        Axis, Body, BodyId, FreeAxis, Joint, JointKind, Material, Mechanism, Placed, Plane, Pose, Shape, Timestep,
        random::Stream,
    };

    use super::*;
    use crate::{
        Engine, Servo, Settings,
        engine::{equations::mass_factor::long::tests::mechanism, stepping::world::Dynamics},
    };

    fn world(mechanism: &Mechanism) -> Dynamics {
        Dynamics::build(mechanism, Timestep::MILLISECOND, &Settings::default(), None).expect("a sound world")
    }

    /// Largest distance, m, between bodies of long and of short trees after this number of steps, and the number of
    /// steps in which both moved freely.
    fn apart(model: &Mechanism, steps: usize, prepare: impl Fn(&mut Dynamics)) -> (f64, usize) {
        let mut worlds = [false, true].map(|long| {
            let mut world = world(model);
            world.trees.iter_mut().for_each(|tree| tree.force_factor(long));
            prepare(&mut world);
            world
        });
        let is_free = |tree: &Tree| tree.work.is_complete || tree.topology.freedom == 0;
        let mut free = 0;
        for _ in 0..steps {
            worlds.iter_mut().for_each(|world| world.step());
            free += usize::from(worlds.iter().all(|world| world.trees.iter().all(is_free)));
        }
        let place = |world: &Dynamics, body: usize| world.body(BodyId::new(body)).pose.translation;
        let apart = (0..model.bodies.len()).map(|body| (place(&worlds[0], body) - place(&worlds[1], body)).length());
        (apart.fold(0.0, f64::max), free)
    }

    /// Random trees move equally as long and as short ones. A step of a long tree is accurate to 1e-7 of the largest
    /// velocity, here at most 20 m/s or rad/s. Over 100 steps this adds up to 2e-4; over 0.1 s, positions differ by
    /// half of 2e-5 m.
    #[test]
    fn long_and_short_trees_move_alike() {
        let mut random = Stream::from_number(11);
        let mut steps = 0;
        for case in 0..40 {
            let links = 2 + random.below(15);
            let (apart, free) = apart(&mechanism(&mut random, links, false), 100, |_| {});
            steps += free;
            assert!(apart < 1e-5, "case {case}: {apart:.1e} m");
        }
        assert!(steps > 3900, "{steps}");
    }

    /// The same with motors, loops and a ground. Constraints are solved to 1e-9 m/s; the difference grows where bodies
    /// slide or tip over.
    #[test]
    fn long_and_short_trees_are_constrained_alike() {
        let mut random = Stream::from_number(12);
        let mut steps = 0;
        for case in 0..40 {
            let links = 2 + random.below(15);
            let mut model = mechanism(&mut random, links, case % 2 == 0);
            let lowest = model.bodies.iter().map(|body| body.pose.translation.y).fold(f64::INFINITY, f64::min);
            let material = Material { friction: 0.5, ..Material::default() };
            model.grounds = vec![Plane { normal: DVec3::Y, distance: lowest - 0.15, material }.into()];
            let servo = Servo { rate: 1.0, damping: 0.5, max_effort: 2.0, ..Servo::OFF };
            let (apart, free) = apart(&model, 250, |world| {
                for tree in world.trees.iter_mut().filter(|tree| tree.topology.links.len() > 1) {
                    let motors = tree.state.motors.iter_mut().skip(tree.topology.free_axes());
                    motors.step_by(3).for_each(|motor| *motor = servo);
                }
            });
            steps += 250 - free;
            assert!(apart < 1e-6, "case {case}: {apart:.1e} m");
        }
        assert!(steps > 5000, "{steps}");
    }

    /// A rope of links of 0.05 m, connected by hinges, released at 1 rad from its hanging position.
    fn rope(links: usize) -> Mechanism {
        let along = DVec3::new(libm::sin(1.0), -libm::cos(1.0), 0.0);
        let mut rope = Mechanism { gravity: DVec3::new(0.0, -9.81, 0.0), ..Mechanism::default() };
        rope.bodies.push(Body { name: "base".into(), fixed: true, ..Body::default() });
        for link in 0..links {
            let (begin, shape) = (along * (0.05 * link as f64), Shape::Sphere { radius: 0.01 });
            rope.bodies.push(Body {
                name: format!("l{link}"),
                mass: 0.02,
                shape: Some(Placed { pose: Pose::IDENTITY, shape }),
                pose: Pose { translation: begin + along * 0.025, ..Pose::IDENTITY },
                ..Body::default()
            });
            rope.joints.push(Joint {
                axes: [Axis::Locked, Axis::Locked, Axis::Free(FreeAxis::default())],
                ..Joint::new(JointKind::Hinge, BodyId::new(link), BodyId::new(link + 1), begin)
            });
        }
        rope
    }

    /// The cost of a step of a rope is linear in its number of links, except for one or two more rounds. The test
    /// counts links and degrees of freedom over all rounds; buffers quadratic in the length must be empty.
    #[test]
    fn the_work_of_a_step_is_linear_in_the_number_of_links() {
        let work = [100, 200, 400].map(|links| {
            let mut world = world(&rope(links));
            let mut rounds = 0;
            for _ in 0..40 {
                world.step();
                rounds += world.trees[0].work.long.mixing.rounds;
            }
            let (topology, work) = (&world.trees[0].topology, &world.trees[0].work);
            assert!(topology.is_long() && work.is_complete);
            let packed = [&work.mass, &work.factor, &work.damping].map(Vec::len);
            assert_eq!((packed, topology.freedom), ([0; 3], links));
            rounds * (topology.freedom + topology.links.len())
        });
        for (few, many) in [(0, 1), (1, 2)] {
            let ratio = work[many] as f64 / work[few] as f64;
            // A longer rope has faster waves, which costs rounds. A quadratic cost would give a factor of 4.
            assert!(ratio < 3.0, "{work:?}");
        }
    }
}
