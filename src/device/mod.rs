//! Devices: sensors make readings of the physics, actuators turn commands into motor settings.
//!
//! A device knows the physics seam and simulated time. It knows nothing of ports, frames as text, clocks or the log. Start at
//! [`Device`]: its life in a step is `command` (at the step's boundary), `before_step`, `after_step`, `write`.

mod actuator;
mod sensor;

use actuator::{AngleController, JointController};
use sensor::{PositionSensor, ScannerSensor};

use crate::{
    model::{self, DeviceSpec, World},
    physics::Engine,
    signal::{Action, Attachment, Configuration, DeviceInfo, DeviceKind, Field, StepIndex, Timestep},
};

/// A device of a running simulation.
pub struct Device {
    interval_steps: u64,
    timestep: Timestep,
    instance: Instance,
}

enum Instance {
    Echo,
    Position(PositionSensor),
    Scanner(ScannerSensor),
    Joint(JointController),
    Angle(AngleController),
}

impl Device {
    /// The device of a model, in the state it has before the first command.
    pub fn new(spec: &model::Device, timestep: Timestep) -> Self {
        let instance = match &spec.spec {
            DeviceSpec::EchoSensor { .. } => Instance::Echo,
            DeviceSpec::PositionSensor { body, mount } => Instance::Position(PositionSensor::new(*body, *mount)),
            DeviceSpec::ScannerSensor { body, scanner } => Instance::Scanner(ScannerSensor::new(*body, *scanner)),
            DeviceSpec::JointController { joint } => Instance::Joint(JointController::new(*joint)),
            DeviceSpec::AngleController { joint, gains } => Instance::Angle(AngleController::new(*joint, *gains)),
        };
        Self { interval_steps: interval_steps(spec.rate_hz, timestep), timestep, instance }
    }

    /// The numbers that stand in the record for this device: a sensor's reading or an actuator's present command.
    pub fn values(&self) -> &[f64] {
        match &self.instance {
            Instance::Echo => &[],
            Instance::Position(sensor) => sensor.reading(),
            Instance::Scanner(sensor) => sensor.reading(),
            Instance::Joint(actuator) => actuator.state(),
            Instance::Angle(actuator) => actuator.state(),
        }
    }

    /// What it carries from step to step beside its values.
    pub fn memory(&self) -> Vec<f64> {
        let mut memory = vec![self.interval_steps as f64];
        match &self.instance {
            Instance::Echo | Instance::Position(_) => {}
            Instance::Scanner(sensor) => memory.push(sensor.range()),
            Instance::Joint(actuator) => memory.push(f64::from(actuator.is_holding())),
            Instance::Angle(actuator) => memory.extend(actuator.memory()),
        }
        memory
    }

    /// Takes a command at a step boundary. It has been checked against the device's fields at the door; what does not fit
    /// this device changes nothing.
    pub fn command(&mut self, action: &Action) {
        match (action, &mut self.instance) {
            (Action::Drive(values), Instance::Joint(actuator)) => actuator.command(values),
            (Action::Drive(values), Instance::Angle(actuator)) => actuator.command(values),
            (Action::Configure(parameters), _) => parameters.iter().for_each(|&parameter| self.configure(parameter)),
            (Action::Drive(_) | Action::Hear, _) => {}
        }
    }

    fn configure(&mut self, parameter: Configuration) {
        match parameter {
            Configuration::RateHz(rate) => self.interval_steps = interval_steps(Some(rate), self.timestep),
            Configuration::RangeM(range) => {
                if let Instance::Scanner(sensor) = &mut self.instance {
                    sensor.set_range(range);
                }
            }
        }
    }

    /// Sets the motors for the step to come.
    pub fn before_step(&mut self, engine: &mut dyn Engine) {
        match &mut self.instance {
            Instance::Joint(actuator) => actuator.drive(engine),
            Instance::Angle(actuator) => actuator.drive(engine, self.timestep.seconds()),
            Instance::Echo | Instance::Position(_) | Instance::Scanner(_) => {}
        }
    }

    /// Makes a fresh reading if one is due after this step, and says whether it did. An actuator's state is always fresh.
    pub fn after_step(&mut self, engine: &dyn Engine, step: StepIndex) -> bool {
        if !step.0.is_multiple_of(self.interval_steps) {
            return false;
        }
        match &mut self.instance {
            Instance::Position(sensor) => sensor.read(engine),
            Instance::Scanner(sensor) => sensor.read(engine),
            Instance::Echo | Instance::Joint(_) | Instance::Angle(_) => {}
        }
        true
    }
}

/// What clients may know of a device.
pub fn describe(device: &model::Device, world: &World, timestep: Timestep) -> DeviceInfo {
    let body = |id| Attachment::Body(world.body(id).name.clone());
    let joint = |id| Attachment::Joint(world.joint(id).name.clone());
    let (kind, attachment, fields) = match &device.spec {
        DeviceSpec::EchoSensor { body: id } => (DeviceKind::EchoSensor, body(*id), Vec::new()),
        DeviceSpec::PositionSensor { body: id, .. } => {
            (DeviceKind::PositionSensor, body(*id), sensor::position_fields())
        }
        DeviceSpec::ScannerSensor { body: id, scanner } => {
            (DeviceKind::ScannerSensor, body(*id), sensor::scanner_fields(scanner))
        }
        DeviceSpec::JointController { joint: id } => {
            (DeviceKind::JointController, joint(*id), actuator::joint_controller_fields(world.joint(*id).kind))
        }
        DeviceSpec::AngleController { joint: id, .. } => {
            (DeviceKind::AngleController, joint(*id), actuator::angle_controller_fields(world.joint(*id).kind))
        }
    };
    DeviceInfo {
        name: device.name.clone(),
        kind,
        robot: world.robot(device.robot).name.clone(),
        attachment,
        port: device.port,
        fields,
        interval_steps: interval_steps(device.rate_hz, timestep),
        source: device.source.clone(),
    }
}

/// Steps from one reading to the next: the whole number nearest to the rate asked for, at least one.
fn interval_steps(rate_hz: Option<f64>, timestep: Timestep) -> u64 {
    rate_hz.map_or(1, |rate| timestep.steps_in(1.0 / rate).max(1))
}

fn field(name: String, unit: &'static str, lowest: f64, highest: f64) -> Field {
    Field { name, unit, lowest, highest }
}
