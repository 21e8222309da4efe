//! A simulation goes on in another world, in which a robot or an object has come or gone.

use std::sync::Arc;

use simpartner_description::World;
use simpartner_dynamics::Kept;
use simpartner_model::{BodyId, JointId, RobotId};
use simpartner_wire::{
    protocol,
    signal::{Command, DeviceId, Event, EventKind, Renumbering, StepRecord, places},
};

use super::{Schedule, Simulation};
use crate::device::{Device, Foreground};

impl Simulation {
    /// Numbers the world, which a simulation that is built has with the number 0.
    #[must_use]
    pub fn of_world(self, world: u32) -> Self {
        let layout = Arc::new((*self.layout).clone().of_world(world));
        Self { layout, ..self }
    }

    /// Whether it can [go on in another world](Self::go_on_in); the engine has to be able to.
    pub fn can_go_on(&self) -> bool {
        self.engine.as_any().is_some()
    }

    /// Goes on in another world, which has been built with the same settings and made no step: what is in both, by its name, goes on as it would have
    /// gone on without the change, and what is new begins as the model has it. `numbers` leads from this layout to the next. Commands for what is gone are
    /// refused with an event. Returns the simulation of the world before, and the [remainder](Self::take_remainder) of the run that ends with it, unless
    /// that run has neither step nor command: then its events go to the next one.
    ///
    /// # Errors
    /// The other simulation, if the engine cannot; this one is then as before.
    pub fn go_on_in(
        &mut self,
        mut next: Self,
        numbers: &Renumbering,
    ) -> Result<(Self, Option<Box<StepRecord>>), Box<Self>> {
        if !next.engine.carry_over(&*self.engine, &kept(&self.world, &next.world)) {
            return Err(Box::new(next));
        }
        let remainder = self.end_run();
        (next.step, next.epoch, next.diverged) = (self.step, self.epoch, self.diverged);
        next.events = std::mem::take(&mut self.events);
        next.background = std::mem::replace(&mut self.background, Box::new(Foreground));
        // What they see is in a world that the next state knows nothing of.
        self.devices.iter_mut().for_each(Device::finish_scan);
        next.balance.carry_over(&self.balance);
        next.carry_over_devices(self, numbers);
        next.carry_over_commands(self, numbers);
        next.playback = self.playback.take();
        next.sequence_end = self.sequence_end.take();
        (next.is_recorded, next.begins_with) = (false, Some(next.snapshot().into()));
        Ok((std::mem::replace(self, next), remainder))
    }

    fn carry_over_devices(&mut self, old: &Self, numbers: &Renumbering) {
        // Anew, since sensors measure what is there now.
        self.devices = self.new_devices();
        self.devices.iter_mut().for_each(|device| device.begin_at(self.step));
        for (index, device) in old.devices.iter().enumerate() {
            let Some(place) = numbers.device(DeviceId::new(index)) else { continue };
            let place = place.index();
            if self.devices[place].restore(device.state(), self.step) {
                self.newest[place] = old.newest[index];
            } else {
                // One of the same name, but another one: it begins as a newcomer.
                let spec = &self.world.devices[place];
                let mut device = Device::new(spec, &self.world, self.timestep, self.seed, &*self.engine);
                device.begin_at(self.step);
                self.devices[place] = device;
            }
        }
    }

    /// Commands for later steps wait on.
    fn carry_over_commands(&mut self, old: &mut Self, numbers: &Renumbering) {
        let mut waiting = std::mem::take(&mut old.scheduled);
        self.scheduled = Schedule::default();
        while let Some((step, command)) = waiting.take_next() {
            match numbers.target(command.target) {
                Some(target) => self.scheduled.add(step, Command { target, ..command }),
                None => {
                    let text = format!("'{}' was not carried out: it is gone", protocol::excerpt(&command.text));
                    let subject = old.name_of_target(command.target);
                    self.note(Event { step: self.step, kind: EventKind::CommandRefused, subject, text, value: None });
                }
            }
        }
    }
}

/// What of a world was in the one before it, by names.
fn kept(before: &World, now: &World) -> Kept {
    fn named<'w>(world: &'w World, robot: Option<RobotId>, name: &'w str) -> (Option<&'w str>, &'w str) {
        (robot.map(|robot| world.mechanism.robot(robot).name.as_str()), name)
    }
    fn bodies(world: &World) -> impl Iterator<Item = (Option<&str>, &str)> {
        world.mechanism.bodies.iter().map(|body| named(world, body.robot, &body.name))
    }
    fn joints(world: &World) -> impl Iterator<Item = (Option<&str>, &str)> {
        world.mechanism.joints.iter().map(|joint| named(world, joint.robot, &joint.name))
    }
    Kept {
        bodies: places(bodies(now), bodies(before)).into_iter().map(|place| place.map(BodyId::new)).collect(),
        joints: places(joints(now), joints(before)).into_iter().map(|place| place.map(JointId::new)).collect(),
    }
}
