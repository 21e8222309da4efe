//! Actuators: how commands reach them, what they do with them, and what they do without.

mod law;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use simpartner_description::{OnTimeout, Watchdog};
use simpartner_dynamics::{Engine, JointState, Motor};
use simpartner_model::{JointId, StepIndex, Timestep};
use simpartner_wire::signal::Fault;

use self::law::Driver;
use super::random::{Origin, Stream};

/// How many delayed commands may be under way to one actuator. What comes on top is lost.
const MAX_UNDER_WAY: usize = 100_000;

/// An actuator of a running simulation. Its state is its last command.
pub(super) struct Actuator {
    joint: JointId,
    driver: Driver,
    timestep: Timestep,
    /// The step that is being made, or was made last.
    step: StepIndex,
    watchdog: Option<Watchdog>,
    /// The step in which the last command first acted; `None` before the first.
    commanded: Option<StepIndex>,
    /// What the watchdog has it do, with the joint's coordinates when it bit.
    lapsed: Option<(OnTimeout, [f64; 3])>,
    fault: Fault,
    fault_stream: Stream,
    /// Commands that a fault delays, and the step they act in.
    under_way: VecDeque<(StepIndex, Vec<f64>)>,
}

/// What an actuator carries from step to step.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Memory {
    driver: law::Memory,
    commanded: Option<StepIndex>,
    lapsed: Option<(OnTimeout, [f64; 3])>,
    fault: Fault,
    fault_stream: Stream,
    under_way: VecDeque<(StepIndex, Vec<f64>)>,
}

/// The state before the first command.
pub(super) fn first_state(spec: &simpartner_description::Actuator) -> Vec<f64> {
    Driver::new(spec).state().to_vec()
}

impl Actuator {
    pub(super) fn new(spec: &simpartner_description::Actuator, timestep: Timestep, origin: Origin<'_>) -> Self {
        Self {
            joint: spec.joint,
            driver: Driver::new(spec),
            timestep,
            step: StepIndex(0),
            watchdog: spec.watchdog,
            commanded: None,
            lapsed: None,
            fault: Fault::None,
            fault_stream: origin.stream("fault"),
            under_way: VecDeque::new(),
        }
    }

    pub(super) fn state(&self) -> &[f64] {
        self.driver.state()
    }

    pub(super) fn is_off(&self) -> bool {
        self.fault == Fault::Off
    }

    pub(super) fn memory(&self) -> Memory {
        Memory {
            driver: self.driver.memory(),
            commanded: self.commanded,
            lapsed: self.lapsed,
            fault: self.fault,
            fault_stream: self.fault_stream.clone(),
            under_way: self.under_way.clone(),
        }
    }

    /// Takes that up again, as it was after a step. False if it is of another actuator, and then what was taken up of it is
    /// worth nothing.
    pub(super) fn recall(&mut self, memory: Memory, step: StepIndex) -> bool {
        let Memory { driver, commanded, lapsed, fault, fault_stream, under_way } = memory;
        (self.step, self.commanded, self.lapsed) = (step, commanded, lapsed);
        (self.fault, self.fault_stream, self.under_way) = (fault, fault_stream, under_way);
        commanded.is_none_or(|commanded| commanded <= step.after(1)) && self.driver.recall(driver)
    }

    pub(super) fn reseed(&mut self, origin: Origin<'_>) {
        self.fault_stream = origin.stream("fault");
    }

    /// Takes a command before the next step, unless a fault keeps it from doing so.
    pub(super) fn command(&mut self, values: &[f64]) {
        let next = self.step.after(1);
        match self.fault {
            Fault::Off | Fault::Stuck => {}
            Fault::Intermittent(share) if self.fault_stream.happens(share) => {}
            Fault::Delayed(_) if self.under_way.len() >= MAX_UNDER_WAY => {}
            Fault::Delayed(delay) => {
                self.under_way.push_back((next.after(self.timestep.steps_in(delay)), values.to_vec()));
            }
            Fault::None | Fault::Garbage | Fault::Intermittent(_) => self.accept(values, next),
        }
    }

    fn accept(&mut self, values: &[f64], step: StepIndex) {
        self.driver.command(values);
        (self.commanded, self.lapsed) = (Some(step), None);
    }

    /// From now on this is wrong with it. Commands under way when it goes off or sticks are lost.
    pub(super) fn fail(&mut self, fault: Fault) {
        self.fault = fault;
        if matches!(fault, Fault::Off | Fault::Stuck) {
            self.under_way.clear();
        }
    }

    /// Sets the motors for the step to come. Says so if the watchdog has just bitten.
    pub(super) fn drive(&mut self, engine: &mut dyn Engine) -> Option<Watchdog> {
        self.step = self.step.after(1);
        while let Some((_, values)) = self.under_way.pop_front_if(|(due, _)| *due <= self.step) {
            self.accept(&values, self.step);
        }
        let measured = engine.joint(self.joint);
        let bite = self.watch(&measured);
        for axis in 0..3 {
            let motor = self.motor(axis, &measured);
            engine.drive(self.joint, axis, motor);
        }
        bite
    }

    /// Whether the watchdog bites now: with a timeout of n steps, a command is obeyed for n steps.
    fn watch(&mut self, measured: &JointState) -> Option<Watchdog> {
        let (watchdog, commanded) = (self.watchdog?, self.commanded?);
        let patience = self.timestep.steps_in(watchdog.timeout_s).max(1);
        if self.lapsed.is_some() || self.is_off() || self.step.0 - commanded.0 < patience {
            return None;
        }
        self.lapsed = Some((watchdog.action, measured.position));
        Some(watchdog)
    }

    fn motor(&mut self, axis: usize, measured: &JointState) -> Motor {
        match self.fault {
            Fault::Off => return Motor::Off,
            Fault::Garbage => {
                let share = 2.0 * self.fault_stream.uniform() - 1.0;
                let motor = Motor::Effort(share * self.driver.max_effort(axis));
                return self.driver.limited(motor, axis, measured);
            }
            _ => {}
        }
        let max_effort = self.driver.max_effort(axis);
        let motor = match self.lapsed {
            None => self.driver.motor(axis, measured, self.timestep.seconds()),
            Some((OnTimeout::Hold, place)) => Motor::Position { target: place[axis], max_effort },
            Some((OnTimeout::Zero, _)) => Motor::Off,
            Some((OnTimeout::Brake, _)) => Motor::Velocity { target: 0.0, max_effort },
        };
        self.driver.limited(motor, axis, measured)
    }
}
