//! Warnings of the physics engine as events.

use simpartner_dynamics::Guard;
use simpartner_wire::signal::{Event, EventKind};

use super::Simulation;

impl Simulation {
    /// Adds the engine's notices about the last step to the events of its record.
    pub(super) fn add_engine_events(&mut self) {
        for notice in self.engine.notices() {
            self.diverged |= notice.guard == Guard::Divergence;
            let kind = match notice.guard {
                Guard::Divergence => EventKind::Divergence,
                Guard::Substeps => EventKind::Substeps,
                Guard::Unconverged => EventKind::Unconverged,
                Guard::Speed
                | Guard::Motor
                | Guard::JointError
                | Guard::Penetration
                | Guard::Imbalance
                | Guard::Energy => EventKind::PhysicsLimit,
            };
            let subject = notice.bodies.first().map(|&body| self.body_name(body));
            let (subject, text) = (subject.unwrap_or_default(), notice.text.clone());
            self.events.push(Event { step: self.step, kind, subject, text, value: Some(notice.value) });
        }
    }
}
