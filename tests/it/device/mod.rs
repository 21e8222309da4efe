//! Devices: readings of sensors and their errors, faults, and motors.

mod actuators;
mod faults;
mod motion;
mod noise;
mod scans;
mod surroundings;
mod vehicles;

use std::sync::Arc;

use bevy_math::{DQuat, DVec3};
use simpartner::sim::Simulation;
use simpartner_description::{Device, DeviceSpec, World};
use simpartner_dynamics::{EngineKind, Settings};
use simpartner_model::{DeviceId, Pose, RobotId, Timestep};
use simpartner_wire::signal::{
    Action, ClientId, Command, Configuration, Event, EventKind, Fault, Port, Reservation, StepRecord,
};

use crate::scene::{self, as_robot, body, cube};

/// Length of a step, s.
const H: f64 = 1e-3;

fn pose(at: DVec3, rotation: DQuat) -> Pose {
    Pose { translation: at, rotation }
}

fn device(name: &str, spec: impl Into<DeviceSpec>) -> Device {
    Device {
        name: name.into(),
        robot: RobotId::new(0),
        port: Port::ANY,
        spec: spec.into(),
        source: "robot.xml:7".into(),
    }
}

/// A cube of 2 kg and 1 m with its middle at this height.
fn cube_at(height: f64) -> World {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("cube", 2.0, cube(1.0), DVec3::new(0.0, height, 0.0)));
    as_robot(world)
}

/// True if the tests run on the engine that supports all readings and integrates constant acceleration exactly.
fn is_exact() -> bool {
    scene::settings().engine == EngineKind::Dynamics
}

/// A simulation, its last record and all events so far.
struct Run {
    simulation: Simulation,
    record: StepRecord,
    events: Vec<Event>,
}

impl Run {
    fn of(world: World) -> Self {
        Self::seeded(world, 0)
    }

    fn seeded(world: World, seed: u64) -> Self {
        Self::with_settings(world, scene::settings(), seed)
    }

    fn with_settings(world: World, settings: Settings, seed: u64) -> Self {
        let simulation = Simulation::seeded(Arc::new(world), Timestep::MILLISECOND, settings, seed).unwrap();
        let record = simulation.observe();
        Self { simulation, record, events: Vec::new() }
    }

    fn steps(&mut self, count: u64) -> &mut Self {
        for _ in 0..count {
            self.record.commands.clear();
            self.simulation.step(&mut self.record);
            self.events.append(&mut self.record.events);
        }
        self
    }

    fn id(&self, name: &str) -> DeviceId {
        let devices = self.simulation.layout().devices();
        DeviceId::new(devices.iter().position(|info| info.name == name).unwrap())
    }

    fn read(&self, name: &str) -> Vec<f64> {
        self.record.values[self.simulation.layout().device(self.id(name))].to_vec()
    }

    fn is_fresh(&self, name: &str) -> bool {
        self.record.fresh[self.id(name).index()]
    }

    /// Bodies and joints: all that is not a device.
    fn physics(&self) -> &[f64] {
        let layout = self.simulation.layout();
        &self.record.values[..layout.len() - layout.devices().iter().map(|info| info.fields.len()).sum::<usize>()]
    }

    fn act(&mut self, name: &str, action: Action) {
        let device = self.id(name);
        let (client, text) = (ClientId(1), String::new());
        self.simulation.submit(Command {
            target: device.into(),
            at: None,
            client,
            sequence: 1,
            text,
            action,
            memory: Reservation::default(),
        });
    }

    fn drive(&mut self, name: &str, values: &[f64]) {
        self.act(name, Action::Drive(values.into()));
    }

    fn fail(&mut self, name: &str, fault: Fault) {
        self.act(name, Action::Fault(fault));
    }

    fn configure(&mut self, name: &str, parameter: Configuration) {
        self.act(name, Action::Configure(vec![parameter]));
    }

    /// Step, subject, text and value of all events of a kind.
    fn told(&self, kind: EventKind) -> Vec<(u64, &str, &str, Option<f64>)> {
        let told = self.events.iter().filter(|event| event.kind == kind);
        told.map(|event| (event.step.0, event.subject.as_str(), event.text.as_str(), event.value)).collect()
    }
}

#[track_caller]
fn near(values: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(values.len(), expected.len(), "{values:?} against {expected:?}");
    let off = values.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off <= tolerance, "{values:?} is off {expected:?} by {off:e}");
}
