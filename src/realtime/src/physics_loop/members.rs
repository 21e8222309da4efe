//! Lockstep in the physics loop: the wait for members, their answers, and the reaction to a timeout.

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
    /// True while members of the lockstep have yet to answer for the present step.
    pub(super) fn waits_for_members(&self) -> bool {
        self.barrier.as_ref().is_some_and(Barrier::is_waiting)
    }

    /// Waits for an answer, and acts on a timeout.
    pub(super) fn wait_for_members(&mut self) {
        let Some(barrier) = &self.barrier else { return };
        match barrier.remaining_time(self.settings.lockstep.timeout, os::now_ns()) {
            Some(Duration::ZERO) => self.handle_timeout(),
            remaining => self.wait_for_request(remaining.map_or(LOG_CHECK, |time| time.min(LOG_CHECK))),
        }
    }

    /// Reports the members that have not answered in time, then holds, pauses or ends the run as the settings say.
    fn handle_timeout(&mut self) {
        let Some(barrier) = &mut self.barrier else { return };
        let missing = barrier.mark_overdue();
        let (step, timeout_s) = (self.simulation.step_index(), self.settings.lockstep.timeout.as_secs_f64());
        let names: Vec<&str> = missing.iter().map(|(name, _)| name.as_str()).collect();
        let why = format!("no answer for step {step} in {timeout_s} s from {}", names.join(", "));
        // Logged at once, too, because the event goes out with the next step, which may never be computed.
        tracing::warn!("lockstep: {why}");
        for (name, client) in &missing {
            let text = format!("no answer for step {step} in {timeout_s} s ({client})");
            self.log_event_of(EventKind::LockstepTimeout, name, text, Some(timeout_s));
        }
        match self.settings.lockstep.on_timeout {
            OnTimeout::Hold => {}
            OnTimeout::Pause => self.pause(Err(ControlError::WrongState(why))),
            OnTimeout::Fail => self.outcome = Some(Outcome::LockstepTimeout(why)),
        }
    }

    /// Submits a command to the simulation. A command that drives an actuator in the next step also counts as the
    /// answer of its client's member.
    pub(super) fn submit_command(&mut self, command: Command) {
        let next = self.simulation.step_index().after(1);
        if let Some(barrier) = &mut self.barrier
            && matches!(command.action, Action::Drive(_))
            && command.at.is_none_or(|at| at == next)
        {
            barrier.answer_if_pending(command.client, next);
        }
        self.simulation.submit(command);
    }

    /// Asks the members to answer for the present step.
    pub(super) fn begin_answer_round(&mut self) {
        if let Some(barrier) = &mut self.barrier {
            let simulation = &self.simulation;
            barrier.begin_round(simulation.step_index(), os::now_ns(), |member| match member {
                Member::Device(device) => simulation.is_powered_off(device),
                Member::Robot(_) => false,
            });
        }
    }

    /// Begins a new lockstep with these members.
    pub(super) fn begin_lockstep(&mut self, members: Vec<Member>) {
        self.barrier = Some(Barrier::begin(&self.members, &members, self.simulation.layout()));
        self.settings.mode = Mode::Lockstep;
    }

    /// Renumbers the members of the lockstep for the edited world. If none is left, the clock returns to real time.
    pub(super) fn renumber_members(&mut self, numbers: &Renumbering) {
        self.settings.lockstep.members.retain_mut(|member| match numbers.member(*member) {
            Some(now) => {
                *member = now;
                true
            }
            None => false,
        });
        if self.barrier.as_mut().is_some_and(|barrier| !barrier.renumber_members(numbers)) {
            self.barrier = None;
            self.settings.mode = Mode::RealTime;
        }
    }

    /// Lets a client join the lockstep for a member.
    pub(super) fn join(&mut self, slot: MemberSlot, client: ClientId) {
        let name = self.barrier.as_mut().and_then(|barrier| barrier.join(slot, client, os::now_ns()));
        if let Some(name) = name.map(str::to_owned) {
            self.log_event_of(EventKind::Lockstep, &name, format!("client {} has joined", client.0), None);
        }
    }

    /// Lets a client leave the lockstep. The clock still waits for the member, because a client may join for it again.
    pub(super) fn leave(&mut self, slot: MemberSlot, client: ClientId) {
        let name = self.barrier.as_mut().and_then(|barrier| barrier.leave(slot, client));
        if let Some(name) = name.map(str::to_owned) {
            self.log_event_of(EventKind::Lockstep, &name, format!("client {} has left", client.0), None);
        }
    }

    /// Applies a member's answer for a step, unless all steps that it answers for are over by now. Its commands act in
    /// the next step in any case.
    pub(super) fn apply_answer(&mut self, answer: Answer) {
        let Answer { client, step, epoch, next, commands, .. } = answer;
        let (present, is_same) = (self.simulation.step_index(), epoch == self.simulation.epoch());
        if let Some(barrier) = self.barrier.as_mut().filter(|_| is_same && (step == present || next > present)) {
            barrier.answer_until(client, next);
        }
        commands.into_iter().for_each(|command| self.simulation.submit(command));
    }

    /// Changes the clock mode. `members` are those of a new lockstep; they are ignored in other modes.
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
