//! A contact with soil in a substep: the response that is assumed, the motion found, and the brakes.

use std::ops::Range;

use bevy_math::DVec3;

use super::island_parts::IslandParts;
use crate::engine::{
    equations::damping::{MotionSubspace, Vector6},
    soil::{SoilForces, SoilResponse},
};

/// Fraction of the energy that soil may give which the search for its brake aims at: any smaller energy is acceptable.
const TARGET_ENERGY_FRACTION: f64 = 0.5;
/// Fraction of the work of the wrench along the motion that the expected brake of the next substep absorbs. With less,
/// every other substep would have to be solved again.
const EXPECTED_BRAKE_FRACTION: f64 = 0.02;
/// Largest growth of a brake in a pass, in multiples of the sum of the brake and the drag that would be needed at the
/// same speed.
const MAX_BRAKE_GROWTH: f64 = 100.0;

/// A contact with soil in this substep. Twists and wrenches are six numbers about its patch's point.
#[derive(Debug, Clone)]
pub(super) struct SoilContact {
    pub(super) contact: usize,
    pub(super) soil_patch: usize,
    /// Degrees of freedom that move its link, as a range of the tree's chains.
    pub(super) chain: Range<usize>,
    pub(super) answer: SoilResponse,
    /// True if the guess has changed since the response was computed; and if the response is good enough to be stored.
    pub(super) is_new: bool,
    pub(super) is_good: bool,
    /// Measured error of the response in this pass, for each unit of velocity from the guess, N s/m.
    pub(super) seen: Option<f64>,
    /// Twists: at the start, the guess for the end, and the one found for the end. Then the wrench that follows from
    /// it.
    pub(super) before: Vector6,
    pub(super) guess: Vector6,
    pub(super) after: Vector6,
    pub(super) wrench: Vector6,
    /// Motions that it may brake ([`Patch::limited_motions`](crate::engine::soil::Patch::limited_motions)), and their
    /// brakes.
    pub(super) motions: [MotionSubspace; 2],
    pub(super) brakes: [Brake; 2],
}

/// Brake: a part of the soil's wrench that is withheld in proportion to the mean velocity, so that soil gives no more
/// energy than it holds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Brake {
    /// Force for a unit velocity, N s/m, and the same of the pass before, with the inverse of the speed then, s/m.
    pub(super) drag: f64,
    last: Option<[f64; 2]>,
}

impl Brake {
    /// Increases the brake if the soil did more `work` than it may give, J, at a mean velocity of the length `speed` in
    /// a substep of h seconds.
    ///
    /// The brake k slows a shape to the speed 1/y. With mass and damping, y = y_1 + c (k - k_1), where c follows from
    /// the last two passes. With F the force along the motion without the brake, soil does the work h (F y - k)/y²,
    /// which shall be W.
    pub(super) fn increase_brake(&mut self, work: f64, gives: f64, speed: f64, h: f64) {
        let (power, slow) = (TARGET_ENERGY_FRACTION * gives / h, 1.0 / speed);
        let force = work / (h * speed) + self.drag * speed;
        let yields = self.last.map_or(0.0, |[drag, before]| ((slow - before) / (self.drag - drag)).max(0.0));
        // The power is quadratic: c² d² - b d - a = 0 for d = k - k_1.
        let a = (force - power * slow) * slow - self.drag;
        let b = force * yields - 1.0 - 2.0 * power * slow * yields;
        let more = 2.0 * a / ((b * b + 4.0 * power * yields * yields * a).sqrt() - b);
        self.last = Some([self.drag, slow]);
        self.drag += more.min(MAX_BRAKE_GROWTH * (self.drag + a));
    }

    /// Brake that is expected for the next substep if the motion continues as in this one, in which soil did this work
    /// with this force.
    fn expected_brake(&self, work: f64, gives: f64, [force, speed]: [f64; 2], h: f64) -> f64 {
        let more = ((work - TARGET_ENERGY_FRACTION * gives) / (h * speed) + EXPECTED_BRAKE_FRACTION * force) / speed;
        if speed > 0.0 { (self.drag + more).max(0.0) } else { 0.0 }
    }
}

impl SoilContact {
    /// Force, N, and moment, N m, for a patch of this size, m.
    pub(super) fn force_and_moment(&self, size: f64) -> (DVec3, DVec3) {
        let [x, y, z, u, v, w] = self.wrench;
        (DVec3::new(x, y, z), DVec3::new(u, v, w) * size)
    }

    /// Work of the soil on the shape's two motions with this wrench, J: of the whole wrench, and of pressure.
    pub(super) fn work_on_motions(&self, wrench: &Vector6, h: f64) -> [f64; 2] {
        let [x, y, z] = self.answer.found.pressed.to_array();
        let [all, along] = self.motions.map(|motion| motion.project(&self.mean_twist()));
        let pressed = dot(&along, &[x, y, z, 0.0, 0.0, 0.0]) - self.brakes[1].drag * dot(&along, &along);
        [h * dot(&all, wrench), h * pressed]
    }

    /// Mean twist of the substep.
    pub(super) fn mean_twist(&self) -> Vector6 {
        mean(&self.before, &self.after)
    }

    /// Brakes of both motions for the next substep, N s/m: zero for a motion to which soil can give more than enough
    /// energy.
    pub(super) fn next_drag(&self, works: [f64; 2], h: f64) -> [f64; 2] {
        let (mean, SoilForces { gives, .. }) = (self.mean_twist(), self.answer.found);
        [0, 1].map(|k| {
            if self.brakes[k].drag == 0.0 && works[k] <= TARGET_ENERGY_FRACTION * gives[k] {
                return 0.0;
            }
            let lengths = [&self.wrench, &mean].map(|six| length(&self.motions[k].project(six)));
            self.brakes[k].expected_brake(works[k], gives[k], lengths, h)
        })
    }
}

/// Contacts of an island with soil.
#[derive(Debug, Default)]
pub(super) struct SoilContacts {
    pub(super) contacts: Vec<SoilContact>,
    pub(super) searches: Vec<Search>,
}

impl SoilContacts {
    /// Finds the contacts, their initial guesses (the change of twist of the last substep), and the responses of the
    /// soil to these.
    pub(super) fn find_contacts(&mut self, parts: &IslandParts, h: f64) {
        let Self { contacts, searches } = self;
        contacts.clear();
        for &index in parts.own_contacts {
            let contact = &parts.contacts[index];
            let Some((soil_patch, tree)) = contact.soil_patch.zip(parts.tree(contact.b)) else { continue };
            let Some(chain) = tree.chain_of(contact.b.link) else { continue };
            let (patch, v, last) = (parts.soil_patches.patch(soil_patch), &tree.state.v, &tree.state.last_dv);
            let place = (patch.point, patch.size);
            let before = tree.twist_at(chain.clone(), place, |dof| v[dof]);
            let guess = tree.twist_at(chain.clone(), place, |dof| v[dof] + last[dof]);
            let mut answer = patch.compute_response(&before, &guess, h, false);
            let (mut brakes, motions) = ([Brake::default(); 2], patch.limited_motions());
            for (k, motion) in motions.iter().enumerate() {
                if patch.drag[k] > 0.0 {
                    // A brake cannot withhold more than the force there is.
                    let [force, speed] =
                        [&answer.response.wrench, &mean(&before, &guess)].map(|six| length(&motion.project(six)));
                    brakes[k].drag = patch.drag[k].min(force / speed.max(f64::MIN_POSITIVE));
                    answer.response.add_drag(brakes[k].drag, motion, [&before, &guess]);
                }
            }
            contacts.push(SoilContact {
                contact: index,
                soil_patch,
                chain,
                answer,
                is_new: false,
                is_good: true,
                seen: None,
                before,
                guess,
                after: guess,
                wrench: [0.0; 6],
                motions,
                brakes,
            });
        }
        searches.clear();
        searches.resize(contacts.len(), Search::default());
    }
}

/// Search for the twist at the end: Newton's method, bracketed between a guess at which soil pushes too much and one at
/// which it pushes too little. Pressed soil lets go within a tiny distance, where Newton's method alone would jump from
/// side to side.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Search {
    /// Guesses at which the shape rises more slowly than the solution, and faster.
    slower: Option<Vector6>,
    faster: Option<Vector6>,
}

impl Search {
    /// The next guess, after one that led to the twist `found`.
    pub(super) fn next_guess(&mut self, up: DVec3, guess: Vector6, found: Vector6) -> Vector6 {
        let rise = |six: &Vector6| up.dot(DVec3::new(six[0], six[1], six[2]));
        if rise(&found) > rise(&guess) {
            self.slower = Some(guess)
        } else {
            self.faster = Some(guess)
        }
        match (&self.slower, &self.faster) {
            (Some(slower), Some(faster)) if !(rise(slower) < rise(&found) && rise(&found) < rise(faster)) => {
                std::array::from_fn(|k| 0.5 * (slower[k] + faster[k]))
            }
            _ => found,
        }
    }
}

fn mean(one: &Vector6, other: &Vector6) -> Vector6 {
    std::array::from_fn(|k| 0.5 * (one[k] + other[k]))
}

fn dot(one: &Vector6, other: &Vector6) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

pub(super) fn length(six: &Vector6) -> f64 {
    dot(six, six).sqrt()
}
