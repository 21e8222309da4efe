//! Actuators: how commands reach them, the watchdog, faults. `law` has the control laws.

mod law;

use std::collections::VecDeque;

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};
use simpartner_description::{Frame, Mount, OnTimeout, Watchdog, World};
use simpartner_dynamics::{Engine, JointState, Motor, Wrench};
use simpartner_model::{Pose, StepIndex, Timestep, random::Stream};
use simpartner_wire::signal::Fault;

use self::law::Driver;
use super::random::StreamSeed;

/// How many delayed commands may be under way to one actuator: some 10 MB of them. Further ones are lost.
const MAX_UNDER_WAY: usize = 100_000;

/// An actuator of a running simulation.
pub(super) struct Actuator {
    mount: Mount,
    driver: Driver,
    timestep: Timestep,
    /// The step under way, or the last one.
    step: StepIndex,
    watchdog: Option<Watchdog>,
    /// The step in which the last command first acted; `None` before the first.
    commanded: Option<StepIndex>,
    /// What the watchdog makes it do since the timeout, with the joint's coordinates at that moment.
    timed_out: Option<(OnTimeout, [f64; 3])>,
    fault: Fault,
    fault_stream: Stream,
    /// Commands that a fault delays, and the step they act in.
    under_way: VecDeque<(StepIndex, Vec<f64>)>,
}

/// Its state between steps.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ActuatorState {
    driver: law::DriverState,
    commanded: Option<StepIndex>,
    timed_out: Option<(OnTimeout, [f64; 3])>,
    fault: Fault,
    fault_stream: Stream,
    under_way: VecDeque<(StepIndex, Vec<f64>)>,
}

/// A wrench in world axes.
fn in_world(wrench: Wrench, frame: Frame, mount: Pose) -> Wrench {
    match frame {
        Frame::World => wrench,
        _ => Wrench { force: mount.direction(wrench.force), torque: mount.direction(wrench.torque) },
    }
}

/// The setting before the first command.
pub(super) fn first_setting(spec: &simpartner_description::Actuator, world: &World) -> Vec<f64> {
    Driver::new(spec, initial_positions(spec, world)).setting().to_vec()
}

/// Where the joint of an actuator begins.
fn initial_positions(spec: &simpartner_description::Actuator, world: &World) -> [f64; 3] {
    let Mount::Joint(joint) = spec.mount else { return [0.0; 3] };
    world.mechanism.joint(joint).axes.map(|axis| axis.free().map_or(0.0, |free| free.initial_position))
}

impl Actuator {
    pub(super) fn new(
        spec: &simpartner_description::Actuator,
        world: &World,
        timestep: Timestep,
        seed: StreamSeed<'_>,
    ) -> Self {
        Self {
            mount: spec.mount,
            driver: Driver::new(spec, initial_positions(spec, world)),
            timestep,
            step: StepIndex(0),
            watchdog: spec.watchdog,
            commanded: None,
            timed_out: None,
            fault: Fault::None,
            fault_stream: seed.stream("fault"),
            under_way: VecDeque::new(),
        }
    }

    /// The last command, or the default before it.
    pub(super) fn setting(&self) -> &[f64] {
        self.driver.setting()
    }

    pub(super) fn is_powered_off(&self) -> bool {
        self.fault == Fault::Off
    }

    pub(super) fn state(&self) -> ActuatorState {
        ActuatorState {
            driver: self.driver.state(),
            commanded: self.commanded,
            timed_out: self.timed_out,
            fault: self.fault,
            fault_stream: self.fault_stream.clone(),
            under_way: self.under_way.clone(),
        }
    }

    /// Goes on from the state after a step. False if it is of another actuator; this one must then not be used any more.
    pub(super) fn restore(&mut self, state: ActuatorState, step: StepIndex) -> bool {
        let ActuatorState { driver, commanded, timed_out, fault, fault_stream, under_way } = state;
        (self.step, self.commanded, self.timed_out) = (step, commanded, timed_out);
        (self.fault, self.fault_stream, self.under_way) = (fault, fault_stream, under_way);
        commanded.is_none_or(|commanded| commanded <= step.after(1)) && self.driver.restore(driver)
    }

    pub(super) fn reseed(&mut self, seed: StreamSeed<'_>) {
        self.fault_stream = seed.stream("fault");
    }

    /// It has made this step.
    pub(super) fn begin_at(&mut self, step: StepIndex) {
        self.step = step;
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
        (self.commanded, self.timed_out) = (Some(step), None);
    }

    /// Applies a fault. Commands under way to an actuator that is powered off or sticks are lost.
    pub(super) fn set_fault(&mut self, fault: Fault) {
        self.fault = fault;
        if matches!(fault, Fault::Off | Fault::Stuck) {
            self.under_way.clear();
        }
    }

    /// Sets the motors for the next step. Returns the watchdog if its timeout has just passed.
    pub(super) fn drive(&mut self, engine: &mut dyn Engine) -> Option<Watchdog> {
        self.step = self.step.after(1);
        while let Some((_, values)) = self.under_way.pop_front_if(|(due, _)| *due <= self.step) {
            self.accept(&values, self.step);
        }
        match self.mount {
            Mount::Joint(joint) => {
                let measured = engine.joint(joint);
                let expired = self.check_watchdog(&measured);
                for axis in 0..3 {
                    let motor = self.motor(axis, &measured);
                    engine.drive(joint, axis, motor);
                }
                expired
            }
            Mount::Body { body, pose } => {
                let expired = self.check_watchdog(&JointState::ZERO);
                if let Some((wrench, frame)) = self.push() {
                    engine.push(body, pose.translation, in_world(wrench, frame, engine.body(body).pose.then(&pose)));
                }
                if let Some(velocity) = self.surface_velocity() {
                    engine.set_surface_velocity(body, velocity);
                }
                expired
            }
        }
    }

    /// What it pushes its body with in the next step, and the axes of that; `None` for nothing.
    fn push(&mut self) -> Option<(Wrench, Frame)> {
        let (wrench, frame) = self.driver.push()?;
        match (self.fault, self.timed_out) {
            (Fault::Off, _) | (_, Some((OnTimeout::Zero | OnTimeout::Brake, _))) => None,
            (Fault::Garbage, _) => {
                let share = 2.0 * self.fault_stream.uniform() - 1.0;
                Some((Wrench { force: wrench.force * share, torque: wrench.torque * share }, frame))
            }
            _ => Some((wrench, frame)),
        }
    }

    /// How its body's surface moves in the next step; `None` if it drives something else.
    fn surface_velocity(&mut self) -> Option<DVec3> {
        let velocity = self.driver.surface_velocity()?;
        Some(match (self.fault, self.timed_out) {
            (Fault::Off, _) | (_, Some((OnTimeout::Zero | OnTimeout::Brake, _))) => DVec3::ZERO,
            (Fault::Garbage, _) => velocity * (2.0 * self.fault_stream.uniform() - 1.0),
            _ => velocity,
        })
    }

    /// The watchdog, if its timeout passes now: with a timeout of n steps, a command acts for n steps.
    fn check_watchdog(&mut self, measured: &JointState) -> Option<Watchdog> {
        let (watchdog, commanded) = (self.watchdog?, self.commanded?);
        let timeout_steps = self.timestep.steps_in(watchdog.timeout_s).max(1);
        if self.timed_out.is_some() || self.is_powered_off() || self.step.0 - commanded.0 < timeout_steps {
            return None;
        }
        self.timed_out = Some((watchdog.action, measured.position));
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
        let motor = match self.timed_out {
            None => self.driver.motor(axis, measured, self.timestep.seconds()),
            Some((OnTimeout::Hold, place)) => Motor::Position { target: place[axis], max_effort },
            Some((OnTimeout::Zero, _)) => Motor::Off,
            Some((OnTimeout::Brake, _)) => Motor::Velocity { target: 0.0, max_effort },
        };
        self.driver.limited(motor, axis, measured)
    }
}
