//! One step of a whole simulation: commands in, record out.
//!
//! It knows no clock, thread, socket or file, and so the same model, settings and commands give the same bits wherever
//! and however fast they run. Start at [`Simulation::step`].

mod balance;
mod exchange;
mod notices;
mod playback;
mod push;
mod runs;
mod schedule;
mod sequence;
mod snapshot;
mod unsupported;
mod warnings;

use std::{fmt, sync::Arc};

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{BuildError, ContactPoint, Engine, EngineIdentity, Rut, RutChanges, RutTile, Settings};
use simpartner_model::{BodyId, DeviceId, JointId, Pose, RutDepths, StepIndex, Timestep};
use simpartner_wire::{
    protocol,
    signal::{
        Action, ActuatorState, AppliedCommand, BodyInfo, BodyPlacement, Command, Contact, Event, EventKind, Layout,
        StepRecord, Target,
    },
};
use thiserror::Error;

pub use self::playback::SequenceEnd;
use self::{balance::Balance, playback::Playback, push::ActivePushes, schedule::Schedule};
use crate::{
    device::{self, Background, Device, Foreground},
    fluid::FluidForces,
};

pub use snapshot::SnapshotError;
pub use warnings::warnings;

/// Largest number of events that are kept for the next record: far more than people or programs cause between two
/// steps. Events of the physics come in addition; the engine bounds their number in a step.
pub const MAX_EVENTS: usize = 10_000;

/// A world with its engine and devices.
pub struct Simulation {
    world: Arc<World>,
    timestep: Timestep,
    settings: Settings,
    seed: u64,
    layout: Arc<Layout>,
    engine: Box<dyn Engine>,
    /// Air and water, if they act on a body.
    fluid: Option<FluidForces>,
    devices: Vec<Device>,
    background: Box<dyn Background>,
    step: StepIndex,
    epoch: u32,
    /// Commands for later steps. The sender bounds their number: the server by the memory that they reserve.
    scheduled: Schedule,
    /// The sequence with conditions that is being played.
    playback: Option<Playback>,
    /// End of the last such sequence.
    sequence_end: Option<SequenceEnd>,
    pushes: ActivePushes,
    /// Commands applied at the boundary before the next step.
    applied: Vec<AppliedCommand>,
    /// For each device, [`Command::sequence`] of its newest applied command.
    newest: Vec<u64>,
    /// Events since the last record.
    events: Vec<Event>,
    /// True after the physics has diverged, until a reset.
    diverged: bool,
    balance: Balance,
    /// True once a record belongs to the present run. The first run needs none: it begins with the simulation.
    is_recorded: bool,
    /// Initial state of the present run, until its first record; `None` if the run begins with the model.
    begins_with: Option<Arc<[u8]>>,
}

impl fmt::Debug for Simulation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Simulation")
            .field("world", &self.world.name)
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

/// Error in a sequence: a command or a condition does not fit the world.
#[derive(Debug, Error)]
#[error("{place}: {what}")]
pub struct ScheduleError {
    /// `file:line:column` of the command or the condition.
    pub place: String,
    /// Description of the error.
    pub what: String,
}

impl Simulation {
    /// Builds the world at step 0.
    ///
    /// # Errors
    /// When the engine cannot represent something in the world.
    pub fn new(world: Arc<World>, timestep: Timestep, settings: Settings) -> Result<Self, BuildError> {
        Self::seeded(world, timestep, settings, 0)
    }

    /// As [`new`](Self::new), with a seed for the devices' random numbers; `new` uses 0.
    ///
    /// # Errors
    /// When the engine cannot represent something in the world.
    pub fn seeded(world: Arc<World>, timestep: Timestep, settings: Settings, seed: u64) -> Result<Self, BuildError> {
        let engine = simpartner_dynamics::build(&world.mechanism, timestep, &settings)?;
        Self::with_engine(world, timestep, settings, seed, engine)
    }

    /// As [`seeded`](Self::seeded), with an engine that the caller has built from this world. A reset builds the engine
    /// that `settings` name.
    ///
    /// # Errors
    /// When the engine cannot represent something in the world.
    pub fn with_engine(
        world: Arc<World>,
        timestep: Timestep,
        settings: Settings,
        seed: u64,
        mut engine: Box<dyn Engine>,
    ) -> Result<Self, BuildError> {
        let infos = world.devices.iter().map(|device| device::describe(device, &world, timestep)).collect();
        let robots = world.robots().map(|(robot, port)| (robot.name.clone(), port, robot.source.clone()));
        let bodies = world.mechanism.bodies().map(|(id, body)| BodyInfo {
            name: world.mechanism.qualified_name(body),
            robot: body.robot,
            set_pose_obstacle: engine.set_pose_obstacle(id),
            is_fixed: body.fixed,
        });
        let layout = Layout::new(world.mechanism.bodies.len(), world.mechanism.joints.len(), infos)
            .with_robots(robots)
            .with_bodies(bodies.collect())
            .with_seed(seed);
        let layout = Arc::new(layout);
        unsupported::refuse_unsupported_devices(&world, &mut *engine)?;
        let mut simulation = Self {
            engine,
            fluid: FluidForces::of_world(&world, seed, timestep),
            balance: Balance::new(&world.mechanism, timestep),
            devices: Vec::new(),
            background: Box::new(Foreground),
            newest: vec![0; world.devices.len()],
            world,
            timestep,
            settings,
            seed,
            layout,
            step: StepIndex(0),
            epoch: 0,
            scheduled: Schedule::default(),
            playback: None,
            sequence_end: None,
            pushes: ActivePushes::default(),
            applied: Vec::new(),
            events: Vec::new(),
            diverged: false,
            is_recorded: true,
            begins_with: None,
        };
        simulation.devices = simulation.new_devices();
        Ok(simulation)
    }

    /// Another simulation of the same world, settings and seed, at step 0. Both share what never changes.
    ///
    /// # Errors
    /// When the engine cannot represent something in the world, although it could before.
    pub fn sibling(&self) -> Result<Self, BuildError> {
        let (world, settings) = (Arc::clone(&self.world), self.settings.clone());
        let engine = simpartner_dynamics::build_again(&*self.engine, &world.mechanism, self.timestep, &settings)?;
        let sibling = Self::with_engine(world, self.timestep, settings, self.seed, engine)?;
        Ok(Self { layout: Arc::clone(&self.layout), ..sibling })
    }

    /// Drops all commands that have not acted, pushes, and the sequence.
    fn drop_commands(&mut self) {
        self.scheduled.clear();
        self.applied.clear();
        self.pushes.end_pushes();
        (self.playback, self.sequence_end) = (None, None);
    }

    /// Creates the devices in their state before the first step.
    fn new_devices(&self) -> Vec<Device> {
        let new = |spec| Device::new(spec, &self.world, self.timestep, self.seed, &*self.engine);
        self.world.devices.iter().map(new).collect()
    }

    /// Sets the worker that computes scans from now on. Records are the same whichever thread computes scans.
    pub fn set_background(&mut self, background: Box<dyn Background>) {
        self.background = background;
    }

    /// Layout of the records.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The model of the world.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Length of a step.
    pub fn timestep(&self) -> Timestep {
        self.timestep
    }

    /// The ruts in a ground of the world, by the ground's index: the places where its soil was compressed.
    pub fn ruts(&self, ground: usize) -> Vec<Rut> {
        self.engine.ruts(ground)
    }

    /// The depths of the grounds that have ruts, with their indices.
    pub fn rut_depths(&self) -> Vec<(usize, RutDepths)> {
        let mut depths = Vec::new();
        self.engine.rut_depths(&mut depths);
        depths
    }

    /// Appends the rut tiles that have changed since the last call, up to the capacity of `into`. The call does not
    /// affect later steps.
    pub fn take_changed_ruts(&mut self, into: &mut Vec<RutTile>) -> RutChanges {
        self.engine.take_changed_ruts(into)
    }

    /// Index of the last step.
    pub fn step_index(&self) -> StepIndex {
        self.step
    }

    /// Number of resets.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// True if a fault has powered a device off.
    pub fn is_powered_off(&self, device: DeviceId) -> bool {
        self.devices[device.index()].is_powered_off()
    }

    /// Name and version of the physics engine.
    pub fn engine_identity(&self) -> EngineIdentity {
        self.engine.identity()
    }

    /// True if the physics has diverged. The clock then computes no step until a reset.
    pub fn has_diverged(&self) -> bool {
        self.diverged
    }

    /// Accepts a command at the boundary before the next step. It acts in that step, or in the later step that it
    /// names. A command for a past step is refused with an event.
    pub fn submit(&mut self, command: Command) {
        let next = self.step.after(1);
        match command.at {
            Some(at) if at < next => self.refuse_command(&command, format!("step {at} has been made already")),
            Some(at) if at > next => self.scheduled.add(at, command),
            _ => self.apply_command(command),
        }
    }

    /// Adds an event to the next record. Between two steps at most [`MAX_EVENTS`] are kept; further ones are only
    /// counted.
    pub fn note(&mut self, event: Event) {
        match self.events.len() {
            0..MAX_EVENTS => self.events.push(event),
            MAX_EVENTS => {
                let text = "more events followed than are kept while no step is made; their number is the value";
                self.events.push(Event { text: text.into(), value: Some(1.0), ..event });
            }
            _ => {
                let count = self.events[MAX_EVENTS].value.get_or_insert(0.0);
                *count += 1.0;
            }
        }
    }

    /// Removes and returns the events that are not in a record yet.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn refuse_command(&mut self, command: &Command, why: String) {
        let subject = self.target_name(command.target);
        let text = format!("'{}' was not carried out: {why}", protocol::excerpt(&command.text));
        self.note(Event { step: self.step, kind: EventKind::CommandRefused, subject, text, value: None });
    }

    fn apply_command(&mut self, command: Command) {
        let before = match (command.target, &command.action) {
            (Target::Device(device), action) => self.command_device(device, action, command.sequence),
            (Target::Body(body), Action::Place(placement)) => {
                self.place_body(body, placement, &command.text);
                ActuatorState::NONE
            }
            (Target::Body(body), Action::Push(push)) => {
                self.pushes.begin_push(body, push, &self.world.mechanism, self.timestep);
                ActuatorState::NONE
            }
            // The protocol never creates other commands for bodies.
            (Target::Body(_), _) => ActuatorState::NONE,
        };
        let order = u32::try_from(self.applied.len()).unwrap_or(u32::MAX);
        self.applied.push(AppliedCommand { order, command, before });
    }

    /// Carries out a command for a device. Returns the state of the actuator before the command.
    fn command_device(&mut self, device: DeviceId, action: &Action, sequence: u64) -> ActuatorState {
        let index = device.index();
        let before = match action {
            Action::Drive(_) => ActuatorState::new(self.devices[index].values()),
            Action::Configure(_) | Action::Fault(_) | Action::Hear | Action::Place(_) | Action::Push(_) => {
                ActuatorState::NONE
            }
        };
        if let Action::Fault(fault) = action {
            let text = match fault.value() {
                Some(value) => format!("{} {value}", fault.name()),
                None => fault.name().to_owned(),
            };
            self.note_device_event(index, EventKind::Fault, text, fault.value());
        }
        self.devices[index].command(action);
        self.newest[index] = self.newest[index].max(sequence);
        before
    }

    /// Places a body, with everything that is joined to it, at another pose and velocity. Sensors restart from there,
    /// so that they measure no motion for the jump.
    fn place_body(&mut self, body: BodyId, placement: &BodyPlacement, text: &str) {
        let now = self.engine.body(body);
        let vector = |given: Option<[f64; 3]>, now| given.map_or(now, DVec3::from_array);
        let pose = Pose {
            translation: vector(placement.position, now.pose.translation),
            rotation: placement.orientation.map_or(now.pose.rotation, DQuat::from_array),
        };
        let linear = vector(placement.linear_velocity, now.linear_velocity);
        let angular = vector(placement.angular_velocity, now.angular_velocity);
        self.engine.set_pose(body, &pose, linear, angular);
        for device in &mut self.devices {
            device.begin_anew(&*self.engine);
        }
        let (step, subject) = (self.step, self.body_name(body));
        self.note(Event { step, kind: EventKind::Place, subject, text: text.to_owned(), value: None });
    }

    fn target_name(&self, target: Target) -> String {
        match target {
            Target::Device(device) => self.layout.device_info(device).name.clone(),
            Target::Body(body) => self.body_name(body),
        }
    }

    fn body_name(&self, body: BodyId) -> String {
        self.world.mechanism.qualified_name(self.world.mechanism.body(body))
    }

    /// Adds an event about a device to the next record.
    fn note_device_event(&mut self, device: usize, kind: EventKind, text: String, value: Option<f64>) {
        let info = &self.layout.devices()[device];
        let subject = format!("{}/{}", info.robot, info.name);
        self.note(Event { step: self.step, kind, subject, text, value });
    }

    /// Advances the simulation by one step and fills `record` with the result, except for the timing.
    pub fn step(&mut self, record: &mut StepRecord) {
        let next = self.step.after(1);
        while let Some(command) = self.scheduled.take_due(next) {
            self.apply_command(command);
        }
        for index in 0..self.devices.len() {
            if let Some(watchdog) = self.devices[index].before_step(&mut *self.engine) {
                let text = format!("no command for {} s: {}", watchdog.timeout_s, watchdog.action.name());
                self.note_device_event(index, EventKind::Watchdog, text, Some(watchdog.timeout_s));
            }
        }
        self.pushes.apply_wrenches(&mut *self.engine, &self.world.mechanism, self.timestep);
        if let Some(fluid) = &self.fluid {
            fluid.apply_forces(&mut *self.engine, self.timestep.seconds_at(self.step));
        }
        self.engine.step();
        self.step = next;
        record.exposed.clear();
        record.ruts.clear();
        record.arrived.clear();
        for (index, (device, fresh)) in self.devices.iter_mut().zip(&mut record.fresh).enumerate() {
            *fresh = device.after_step(&*self.engine, next, &*self.background);
            record.exposed.extend(device.is_exposed().then_some(DeviceId::new(index)));
            record.arrived.extend((*fresh && device.is_camera()).then_some(DeviceId::new(index)));
        }
        self.write_ruts(record);
        self.add_engine_events();
        self.move_into_record(record);
        record.is_step = true;
        self.write_state(record);
        self.balance.add_events(&self.layout, self.timestep, record);
        self.advance_playback(record);
    }

    /// The record of the present state, without commands and events.
    pub fn observe(&self) -> StepRecord {
        let mut record = StepRecord::new(&self.layout);
        record.fresh.fill(true);
        for (index, device) in self.devices.iter().enumerate() {
            record.exposed.extend(device.is_exposed().then_some(DeviceId::new(index)));
            record.arrived.extend(device.is_camera().then_some(DeviceId::new(index)));
        }
        self.write_ruts(&mut record);
        self.write_state(&mut record);
        record
    }

    /// Adds the ruts to a record that cameras take an image of.
    fn write_ruts(&self, record: &mut StepRecord) {
        if !record.exposed.is_empty() {
            self.engine.rut_depths(&mut record.ruts);
        }
    }

    fn write_state(&self, record: &mut StepRecord) {
        record.world = self.layout.world();
        (record.step, record.epoch) = (self.step, self.epoch);
        record.applied.copy_from_slice(&self.newest);
        let values = &mut record.values;
        for body in (0..self.world.mechanism.bodies.len()).map(BodyId::new) {
            let state = self.engine.body(body);
            values[self.layout.pose(body)].copy_from_slice(&state.pose.to_array());
            let twist = &mut values[self.layout.twist(body)];
            twist[..3].copy_from_slice(state.linear_velocity.as_ref());
            twist[3..].copy_from_slice(state.angular_velocity.as_ref());
            let wrench = &mut values[self.layout.wrench(body)];
            wrench[..3].copy_from_slice(state.force.as_ref());
            wrench[3..].copy_from_slice(state.torque.as_ref());
        }
        for joint in (0..self.world.mechanism.joints.len()).map(JointId::new) {
            let state = self.engine.joint(joint);
            let place = &mut values[self.layout.joint(joint)];
            place[..3].copy_from_slice(state.anchor.as_ref());
            place[3..6].copy_from_slice(&state.position);
            place[6..9].copy_from_slice(&state.rate);
            place[9..12].copy_from_slice(&state.effort);
            match state.load {
                Some(load) => {
                    place[12..15].copy_from_slice(load.reaction.force.as_ref());
                    place[15..].copy_from_slice(load.reaction.torque.as_ref());
                }
                None => place[12..].fill(f64::NAN),
            }
        }
        for (index, device) in self.devices.iter().enumerate() {
            let id = DeviceId::new(index);
            match self.layout.long_reading(id).zip(device.long_reading()) {
                Some((place, reading)) => record.long_readings[place].clone_from(reading),
                None => values[self.layout.device(id)].copy_from_slice(device.values()),
            }
            record.off[index] = device.is_powered_off();
        }
        let moves = |body| !self.world.mechanism.body(body).fixed;
        record.contacts.refill(self.engine.contacts().iter().filter_map(|contact| contact_of(contact, moves)));
    }
}

/// A contact as it acts on the body of the pair that `moves`; on the second body if both move.
pub fn contact_of(point: &ContactPoint, moves: impl Fn(BodyId) -> bool) -> Option<Contact> {
    let [first, second] = point.bodies;
    let (body, other, sign) = match second.filter(|&body| moves(body)) {
        Some(second) => (second, first, 1.0),
        None => (first?, second, -1.0),
    };
    let single = |vector: DVec3| vector.to_array().map(|component| component as f32);
    Some(Contact {
        body,
        other,
        point: single(point.point),
        normal: single(sign * point.normal),
        force: single(sign * point.wrench.force),
        gap: point.gap as f32,
    })
}
