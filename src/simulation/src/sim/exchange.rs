//! World edits: continuing a simulation in a world to which a robot was added, or from which a robot or an object was
//! removed.

use std::sync::Arc;

use simpartner_description::World;
use simpartner_dynamics::PreviousIds;
use simpartner_model::{BodyId, JointId, RobotId};
use simpartner_wire::{
    protocol,
    signal::{Command, DeviceId, Event, EventKind, Renumbering, StepRecord, places},
};

use super::{Schedule, Simulation};
use crate::device::{Device, Foreground};

impl Simulation {
    /// Sets the world number, which is 0 in a newly built simulation.
    #[must_use]
    pub fn of_world(self, world: u32) -> Self {
        let layout = Arc::new((*self.layout).clone().of_world(world));
        Self { layout, ..self }
    }

    /// True if the engine supports continuing [in an edited world](Self::go_on_in).
    pub fn can_go_on(&self) -> bool {
        self.engine.as_any().is_some()
    }

    /// Continues in an edited world, `next`, which has the same settings and has made no step. Bodies, joints and
    /// devices with the same name in both worlds continue as they would have without the edit; new ones begin as in the
    /// model. `numbers` maps ids of this layout to ids of the next. Commands for deleted targets are refused with an
    /// event.
    ///
    /// Returns the simulation of the previous world and the [remainder](Self::take_remainder) of its run. A run with
    /// neither step nor command has no remainder; its events go to the next run.
    ///
    /// # Errors
    /// `next`, if the engine does not support this; the present simulation is then unchanged.
    pub fn go_on_in(
        &mut self,
        mut next: Self,
        numbers: &Renumbering,
    ) -> Result<(Self, Option<Box<StepRecord>>), Box<Self>> {
        if !next.engine.adopt_state(&*self.engine, &previous_ids(&self.world, &next.world)) {
            return Err(Box::new(next));
        }
        let remainder = self.end_run();
        (next.step, next.epoch, next.diverged) = (self.step, self.epoch, self.diverged);
        next.events = std::mem::take(&mut self.events);
        next.background = std::mem::replace(&mut self.background, Box::new(Foreground));
        // Scans under way see the previous world, which the state of the next world does not contain.
        self.devices.iter_mut().for_each(Device::finish_scan);
        next.balance.transfer_state(&self.balance);
        next.transfer_devices(self, numbers);
        next.transfer_commands(self, numbers);
        next.pushes = self.pushes.in_edited_world(numbers);
        next.playback = self.playback.take();
        next.sequence_end = self.sequence_end.take();
        (next.is_recorded, next.begins_with) = (false, Some(next.snapshot().into()));
        Ok((std::mem::replace(self, next), remainder))
    }

    /// Creates the devices and restores the states of those that existed before.
    fn transfer_devices(&mut self, old: &Self, numbers: &Renumbering) {
        // New devices, because sensors refer to the bodies of the edited world.
        self.devices = self.new_devices();
        self.devices.iter_mut().for_each(|device| device.begin_at(self.step));
        for (index, device) in old.devices.iter().enumerate() {
            let Some(place) = numbers.device(DeviceId::new(index)) else { continue };
            let place = place.index();
            if self.devices[place].restore(device.state(), self.step) {
                self.newest[place] = old.newest[index];
            } else {
                // A different device with the same name begins as a new device.
                let spec = &self.world.devices[place];
                let mut device = Device::new(spec, &self.world, self.timestep, self.seed, &*self.engine);
                device.begin_at(self.step);
                self.devices[place] = device;
            }
        }
    }

    /// Reschedules the commands for later steps.
    fn transfer_commands(&mut self, old: &mut Self, numbers: &Renumbering) {
        let mut waiting = std::mem::take(&mut old.scheduled);
        self.scheduled = Schedule::default();
        while let Some((step, command)) = waiting.take_next() {
            match numbers.target(command.target) {
                Some(target) => self.scheduled.add(step, Command { target, ..command }),
                None => {
                    let text = format!("'{}' was not carried out: it is gone", protocol::excerpt(&command.text));
                    let subject = old.target_name(command.target);
                    self.note(Event { step: self.step, kind: EventKind::CommandRefused, subject, text, value: None });
                }
            }
        }
    }
}

/// For each body and joint of the edited world, its id in the previous world; matched by robot and name.
fn previous_ids(before: &World, now: &World) -> PreviousIds {
    fn named<'w>(world: &'w World, robot: Option<RobotId>, name: &'w str) -> (Option<&'w str>, &'w str) {
        (robot.map(|robot| world.mechanism.robot(robot).name.as_str()), name)
    }
    fn bodies(world: &World) -> impl Iterator<Item = (Option<&str>, &str)> {
        world.mechanism.bodies.iter().map(|body| named(world, body.robot, &body.name))
    }
    fn joints(world: &World) -> impl Iterator<Item = (Option<&str>, &str)> {
        world.mechanism.joints.iter().map(|joint| named(world, joint.robot, &joint.name))
    }
    PreviousIds {
        bodies: places(bodies(now), bodies(before)).into_iter().map(|place| place.map(BodyId::new)).collect(),
        joints: places(joints(now), joints(before)).into_iter().map(|place| place.map(JointId::new)).collect(),
    }
}
