//! An embedded simulation: a world, its state, and the calls that change it.

use std::{fmt, path::Path, sync::Arc};

use simpartner_description::{
    Parameters, World,
    xml::{self, Diagnostic, Diagnostics, Document},
};
use simpartner_dynamics::Settings;
use simpartner_model::{StepIndex, Timestep};
use simpartner_simulation::sim::{MAX_EVENTS, Simulation};
use simpartner_wire::{
    protocol::{self, CommandBoard, Order, Refusal},
    signal::{Action, ClientId, Event, Layout, StepRecord},
};

use crate::{Channels, EmbedError, cameras::Cameras};

/// Settings of an embedded simulation.
#[derive(Debug, Clone)]
pub struct Options {
    /// Length of a step.
    pub timestep: Timestep,
    /// Seed of all noise.
    pub seed: u64,
    /// Settings of the physics.
    pub physics: Settings,
}

impl Default for Options {
    fn default() -> Self {
        Self { timestep: Timestep::MILLISECOND, seed: 0, physics: Settings::default() }
    }
}

/// Reads a world, or a robot on level ground: ours, URDF, MJCF or SDF. With `fixed_base` the root of an imported robot
/// is fixed. `parameters` replace values of the files.
///
/// # Errors
/// All problems of the file and of those it names.
pub fn read_world(path: &Path, fixed_base: bool, parameters: &Parameters) -> Result<Arc<World>, EmbedError> {
    Ok(Arc::new(xml::read_world_or_robot(path, fixed_base, parameters)?))
}

/// Reads the text of a world, as if it stood in a file of this path; files that it names are looked for from there.
/// `parameters` replace values of the text and of these files.
///
/// # Errors
/// All problems of the text and of the files it names, or the text is no world.
pub fn read_world_text(path: &str, text: &str, parameters: &Parameters) -> Result<Arc<World>, EmbedError> {
    match xml::read_text(path, text)? {
        Document::World(world) if parameters.is_empty() => Ok(Arc::new(world)),
        Document::World(world) => Ok(Arc::new(xml::with_parameters(&world, parameters.clone())?)),
        _ => Err(Diagnostics::from(Diagnostic::at(path, text, 0, "expected a <world>")).into()),
    }
}

/// A simulation that the program steps itself.
pub struct EmbeddedSimulation {
    pub(crate) simulation: Simulation,
    /// Record of the present state.
    pub(crate) record: Box<StepRecord>,
    pub(crate) board: Arc<CommandBoard>,
    pub(crate) options: Options,
    pub(crate) cameras: Cameras,
    sensors: Channels,
    actuators: Channels,
    /// Events since the last [`take_events`](Self::take_events).
    events: Vec<Event>,
}

impl fmt::Debug for EmbeddedSimulation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.simulation.fmt(formatter)
    }
}

impl EmbeddedSimulation {
    /// Builds the world at step 0.
    ///
    /// # Errors
    /// The engine cannot represent something in the world.
    pub fn new(world: Arc<World>, options: Options) -> Result<Self, EmbedError> {
        let built = Simulation::seeded(Arc::clone(&world), options.timestep, options.physics.clone(), options.seed);
        let simulation =
            built.map_err(|error| Diagnostics::from(Diagnostic::at_place(&error.place, &world.sources, error.what)))?;
        Ok(Self::of_simulation(simulation, options))
    }

    /// Another simulation of the same world and settings, at step 0, with all sensors and actuators selected. Both
    /// share what never changes, such as terrain and hulls.
    ///
    /// # Errors
    /// When the engine cannot represent something in the world, although it could before.
    pub fn sibling(&self) -> Result<Self, EmbedError> {
        Ok(Self::of_simulation(self.simulation.sibling()?, self.options.clone()))
    }

    fn of_simulation(simulation: Simulation, options: Options) -> Self {
        let record = Box::new(simulation.observe());
        let board = Arc::new(CommandBoard::new(simulation.layout()));
        let (sensors, actuators) = all_channels(simulation.layout());
        let events = Vec::new();
        let mut new =
            Self { simulation, record, board, options, cameras: Cameras::default(), sensors, actuators, events };
        new.take_images();
        new
    }

    /// Layout of the records: bodies, joints, devices and robots.
    pub fn layout(&self) -> &Arc<Layout> {
        self.simulation.layout()
    }

    /// The model of the world.
    pub fn world(&self) -> &Arc<World> {
        self.simulation.world()
    }

    /// The record of the present state.
    pub fn record(&self) -> &StepRecord {
        &self.record
    }

    /// Index of the last step.
    pub fn step_index(&self) -> StepIndex {
        self.simulation.step_index()
    }

    /// Simulated time of the last step, s.
    pub fn time_s(&self) -> f64 {
        self.options.timestep.seconds_at(self.step_index())
    }

    /// Length of a step.
    pub fn timestep(&self) -> Timestep {
        self.options.timestep
    }

    /// Its settings, with the present seed.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Seed of all noise.
    pub fn seed(&self) -> u64 {
        self.options.seed
    }

    /// True if the physics has diverged. No step is made until a reset.
    pub fn has_diverged(&self) -> bool {
        self.simulation.has_diverged()
    }

    /// Makes a step.
    ///
    /// # Errors
    /// The physics has diverged before.
    pub fn step(&mut self) -> Result<(), EmbedError> {
        if self.simulation.has_diverged() {
            return Err(EmbedError::Diverged { step: self.step_index().0 });
        }
        self.simulation.step(&mut self.record);
        self.record.commands.clear();
        if !self.record.events.is_empty() {
            let room = MAX_EVENTS.saturating_sub(self.events.len());
            self.events.extend(self.record.events.drain(..).take(room));
        }
        if !self.record.exposed.is_empty() || !self.record.arrived.is_empty() {
            self.take_images();
        }
        Ok(())
    }

    /// Makes `count` steps.
    ///
    /// # Errors
    /// The physics diverges; the steps up to then are made.
    pub fn advance(&mut self, count: u64) -> Result<(), EmbedError> {
        (0..count).try_for_each(|_| self.step())
    }

    /// Rebuilds everything from the model: equal to a fresh start with this seed, bit for bit. Without a seed the
    /// present one stays.
    ///
    /// # Errors
    /// When the engine cannot represent something in the world, although it could before.
    pub fn reset(&mut self, seed: Option<u64>) -> Result<(), EmbedError> {
        let seed = seed.unwrap_or(self.options.seed);
        self.simulation.reset_with_seed(seed)?;
        self.options.seed = seed;
        self.show_present_state();
        Ok(())
    }

    /// The state after the last step, without commands for later steps.
    pub fn snapshot(&self) -> Vec<u8> {
        self.simulation.snapshot()
    }

    /// Restores the state from a snapshot of the same model, timestep and engine. Commands for later steps are dropped.
    ///
    /// # Errors
    /// The bytes are no such snapshot.
    pub fn restore(&mut self, snapshot: &[u8]) -> Result<(), EmbedError> {
        self.simulation.restore(snapshot)?;
        self.show_present_state();
        Ok(())
    }

    /// Hash of the state, as a server's run has it at its end. Two simulations with equal hashes continue equally.
    pub fn state_hash(&self) -> String {
        self.simulation.state_hash()
    }

    /// Replaces the record after a change that no step has made.
    pub(crate) fn show_present_state(&mut self) {
        *self.record = self.simulation.observe();
        self.board.forget_pending();
        self.take_images();
    }

    /// Replaces the channels after a world edit: all sensors and all actuators.
    pub(crate) fn select_all(&mut self) {
        (self.sensors, self.actuators) = all_channels(self.simulation.layout());
    }

    /// Channels of the readings; at first all sensors.
    pub fn sensors(&self) -> &Channels {
        &self.sensors
    }

    /// Channels of the commands; at first all actuators.
    pub fn actuators(&self) -> &Channels {
        &self.actuators
    }

    /// Selects the channels of readings and commands.
    pub fn select(&mut self, sensors: Channels, actuators: Channels) {
        (self.sensors, self.actuators) = (sensors, actuators);
    }

    /// Copies the readings of the selected sensors into an array.
    ///
    /// # Errors
    /// The array has another length than the [`sensors`](Self::sensors).
    pub fn read(&self, readings: &mut [f64]) -> Result<(), EmbedError> {
        check_length("readings", self.sensors.width(), readings.len())?;
        let mut rest = readings;
        for device in self.sensors.devices() {
            let values = self.record.device(self.simulation.layout(), *device);
            let (place, behind) = rest.split_at_mut(self.simulation.layout().device_info(*device).fields.len());
            match values.len() == place.len() {
                true => place.copy_from_slice(values),
                // A scan that has not arrived yet has no reading.
                false => place.fill(f64::NAN),
            }
            rest = behind;
        }
        Ok(())
    }

    /// Copies the present commands of the selected actuators into an array: the last ones, or those before the first.
    ///
    /// # Errors
    /// The array has another length than the [`actuators`](Self::actuators).
    pub fn present_commands(&self, commands: &mut [f64]) -> Result<(), EmbedError> {
        check_length("commands", self.actuators.width(), commands.len())?;
        let layout = self.simulation.layout();
        let values =
            self.actuators.devices().iter().flat_map(|device| self.board.values(*device, layout, &self.record));
        commands.iter_mut().zip(values).for_each(|(place, value)| *place = value);
        Ok(())
    }

    /// Commands the selected actuators from the next step on. A field that is NaN keeps its value; an actuator whose
    /// fields are all NaN gets no command.
    ///
    /// # Errors
    /// The array has another length than the [`actuators`](Self::actuators), or a number is out of its field's range.
    /// No actuator is then commanded.
    pub fn command(&mut self, commands: &[f64]) -> Result<(), EmbedError> {
        check_length("commands", self.actuators.width(), commands.len())?;
        let layout = Arc::clone(self.simulation.layout());
        let mut orders = Vec::with_capacity(self.actuators.devices().len());
        let mut rest = commands;
        for device in self.actuators.devices() {
            let info = layout.device_info(*device);
            let (values, behind) = rest.split_at(info.fields.len());
            rest = behind;
            if values.iter().all(|value| value.is_nan()) {
                continue;
            }
            protocol::check_command(info, values)
                .map_err(|refusal| Refusal::Of { device: info.name.clone(), refusal: Box::new(refusal) })?;
            let (text, action) = (String::new(), Action::Drive(values.to_vec()));
            orders.push(Order { device: *device, client: ClientId::default(), at: None, text, action });
        }
        let simulation = &mut self.simulation;
        self.board.accept_all(orders, &layout, &self.record, |accepted| {
            accepted.into_iter().for_each(|command| simulation.submit(command));
            Ok(())
        })?;
        Ok(())
    }

    /// Removes and returns the events of the steps since the last call; at most [`MAX_EVENTS`] are kept.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn take_images(&mut self) {
        self.cameras.take(&self.record, self.simulation.layout());
    }
}

fn all_channels(layout: &Layout) -> (Channels, Channels) {
    (Channels::all_sensors(layout), Channels::all_actuators(layout))
}

fn check_length(what: &'static str, expected: usize, got: usize) -> Result<(), EmbedError> {
    if expected == got { Ok(()) } else { Err(EmbedError::Length { what, expected, got }) }
}
