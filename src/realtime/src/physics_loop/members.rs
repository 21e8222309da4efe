//! The loop's side of lockstep: whom it waits for, what counts as an answer, and what happens after a timeout.

use std::time::Duration;

use simpartner_wire::signal::{Action, ClientId, Command, EventKind, Member, Renumbering};

use super::{LOG_CHECK, PhysicsLoop};
use crate::{
    control::ControlError,
    lockstep::{Barrier, MemberSlot, OnTimeout},
    os,
    report::Outcome,
    request::Answer,
    settings::Mode,
};

impl PhysicsLoop {
    /// Whether members of the lockstep have yet to answer for the present step.
    pub(super) fn waits_for_members(&self) -> bool {
        self.barrier.as_ref().is_some_and(Barrier::holds)
    }

    /// Waits for an answer, and acts on a timeout.
    pub(super) fn wait_for_members(&mut self) {
        let Some(barrier) = &self.barrier else { return };
        match barrier.remaining(self.settings.lockstep.timeout, os::now_ns()) {
            Some(Duration::ZERO) => self.time_out(),
            remaining => self.wait_for_request(remaining.map_or(LOG_CHECK, |time| time.min(LOG_CHECK))),
        }
    }

    /// Reports the members that have not answered in time, and does what the settings say.
    fn time_out(&mut self) {
        let Some(barrier) = &mut self.barrier else { return };
        let missing = barrier.give_up();
        let (step, timeout_s) = (self.simulation.step_index(), self.settings.lockstep.timeout.as_secs_f64());
        let names: Vec<&str> = missing.iter().map(|(name, _)| name.as_str()).collect();
        let why = format!("no answer for step {step} in {timeout_s} s from {}", names.join(", "));
        // Also at once: the event goes out with the next step, which may never be made.
        tracing::warn!("lockstep: {why}");
        for (name, client) in &missing {
            let text = format!("no answer for step {step} in {timeout_s} s ({client})");
            self.note_of(EventKind::LockstepTimeout, name, text, Some(timeout_s));
        }
        match self.settings.lockstep.on_timeout {
            OnTimeout::Hold => {}
            OnTimeout::Pause => self.pause(Err(ControlError::WrongState(why))),
            OnTimeout::Fail => self.outcome = Some(Outcome::LockstepTimeout(why)),
        }
    }

    /// Submits a command to the simulation. If it drives an actuator in the next step, it is also its member's answer.
    pub(super) fn submit(&mut self, command: Command) {
        let next = self.simulation.step_index().after(1);
        if let Some(barrier) = &mut self.barrier
            && matches!(command.action, Action::Drive(_))
            && command.at.is_none_or(|at| at == next)
        {
            barrier.answer(command.client, next);
        }
        self.simulation.submit(command);
    }

    pub(super) fn ask_members(&mut self) {
        if let Some(barrier) = &mut self.barrier {
            let simulation = &self.simulation;
            barrier.ask(simulation.step_index(), os::now_ns(), |member| match member {
                Member::Device(device) => simulation.is_powered_off(device),
                Member::Robot(_) => false,
            });
        }
    }

    pub(super) fn begin_lockstep(&mut self, members: Vec<Member>) {
        self.barrier = Some(Barrier::begin(&self.members, &members, self.simulation.layout()));
        self.settings.mode = Mode::Lockstep;
    }

    /// Members of the lockstep go on in the next world. If all of them are gone, so is the lockstep.
    pub(super) fn carry_members_over(&mut self, numbers: &Renumbering) {
        self.settings.lockstep.members.retain_mut(|member| match numbers.member(*member) {
            Some(now) => {
                *member = now;
                true
            }
            None => false,
        });
        if self.barrier.as_mut().is_some_and(|barrier| !barrier.go_on_in(numbers)) {
            self.barrier = None;
            self.settings.mode = Mode::RealTime;
        }
    }

    /// A client joins for a member.
    pub(super) fn join(&mut self, slot: MemberSlot, client: ClientId) {
        let name = self.barrier.as_mut().and_then(|barrier| barrier.join(slot, client, os::now_ns()));
        if let Some(name) = name.map(str::to_owned) {
            self.note_of(EventKind::Lockstep, &name, format!("client {} has joined", client.0), None);
        }
    }

    /// A client leaves. The clock still waits for the member: the client may come back, or another one take its place.
    pub(super) fn leave(&mut self, slot: MemberSlot, client: ClientId) {
        let name = self.barrier.as_mut().and_then(|barrier| barrier.leave(slot, client));
        if let Some(name) = name.map(str::to_owned) {
            self.note_of(EventKind::Lockstep, &name, format!("client {} has left", client.0), None);
        }
    }

    /// A member has answered for a step, which may be over by now. Its commands act in the next one.
    pub(super) fn take_answer(&mut self, answer: Answer) {
        let Answer { client, step, epoch, next, commands, .. } = answer;
        let (present, is_same) = (self.simulation.step_index(), epoch == self.simulation.epoch());
        if let Some(barrier) = self.barrier.as_mut().filter(|_| is_same && (step == present || next > present)) {
            barrier.answer_until(client, next);
        }
        commands.into_iter().for_each(|command| self.simulation.submit(command));
    }

    pub(super) fn request_mode(&mut self, mode: Mode, members: Vec<Member>) -> Result<(), ControlError> {
        match (mode, members.is_empty()) {
            (Mode::Lockstep, true) => {
                let why = "lockstep has no members; name some, as in MODE lockstep robot/device";
                return Err(ControlError::WrongState(why.into()));
            }
            (Mode::Lockstep, false) => self.begin_lockstep(members),
            (Mode::RealTime | Mode::Fast, _) => {
                self.members.begin(&[]);
                self.barrier = None;
                self.settings.mode = mode;
            }
        }
        self.re_anchor();
        Ok(())
    }
}
