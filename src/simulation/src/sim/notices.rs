//! Warnings of the physics engine as events.

use simpartner_dynamics::StepCheck;
use simpartner_wire::signal::{Event, EventKind};

use super::Simulation;

impl Simulation {
    /// Adds the engine's exceptional events of the last step to the events of its record.
    pub(super) fn add_engine_events(&mut self) {
        for event in self.engine.step_events() {
            self.diverged |= event.check == StepCheck::Divergence;
            let kind = match event.check {
                StepCheck::Divergence => EventKind::Divergence,
                StepCheck::Substeps => EventKind::Substeps,
                StepCheck::Unconverged => EventKind::Unconverged,
                StepCheck::Speed
                | StepCheck::Motor
                | StepCheck::JointError
                | StepCheck::Penetration
                | StepCheck::Imbalance
                | StepCheck::Energy => EventKind::PhysicsLimit,
            };
            let subject = event.bodies.first().map(|&body| self.body_name(body));
            let (subject, text) = (subject.unwrap_or_default(), event.text.clone());
            self.events.push(Event { step: self.step, kind, subject, text, value: Some(event.value) });
        }
    }
}
