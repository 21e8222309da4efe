//! Actuators: commands, watchdog and faults. `law` has the control laws.

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

/// Largest number of delayed commands of an actuator: some 10 MB. Further commands are lost.
const MAX_DELAYED_COMMANDS: usize = 100_000;

/// An actuator of a running simulation.
pub(super) struct Actuator {
    mount: Mount,
    driver: Driver,
    timestep: Timestep,
    /// The present step, or the last one.
    step: StepIndex,
    watchdog: Option<Watchdog>,
    /// The step in which the last command first acted; `None` before the first command.
    commanded: Option<StepIndex>,
    /// After a timeout: the watchdog's action, and the joint's coordinates at the timeout.
    timed_out: Option<(OnTimeout, [f64; 3])>,
    fault: Fault,
    fault_stream: Stream,
    /// Commands that a fault delays, each with the step in which it will act.
    under_way: VecDeque<(StepIndex, Vec<f64>)>,
}

/// State of an [`Actuator`] between steps.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ActuatorState {
    driver: law::DriverState,
    commanded: Option<StepIndex>,
    timed_out: Option<(OnTimeout, [f64; 3])>,
    fault: Fault,
    fault_stream: Stream,
    under_way: VecDeque<(StepIndex, Vec<f64>)>,
}

/// Rotates a wrench from the axes of `frame` to world axes. `mount` is `world_from_actuator`.
fn to_world_axes(wrench: Wrench, frame: Frame, mount: Pose) -> Wrench {
    match frame {
        Frame::World => wrench,
        _ => Wrench { force: mount.direction(wrench.force), torque: mount.direction(wrench.torque) },
    }
}

/// The setting before the first command.
pub(super) fn first_setting(spec: &simpartner_description::Actuator, world: &World) -> Vec<f64> {
    Driver::new(spec, initial_positions(spec, world)).setting().to_vec()
}

/// Initial coordinates of the actuator's joint, rad or m; zeros for an actuator on a body.
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

    /// Restores the state after a step. False if the state is of another actuator; this one must then not be used any
    /// more.
    pub(super) fn restore(&mut self, state: ActuatorState, step: StepIndex) -> bool {
        let ActuatorState { driver, commanded, timed_out, fault, fault_stream, under_way } = state;
        (self.step, self.commanded, self.timed_out) = (step, commanded, timed_out);
        (self.fault, self.fault_stream, self.under_way) = (fault, fault_stream, under_way);
        commanded.is_none_or(|commanded| commanded <= step.after(1)) && self.driver.restore(driver)
    }

    pub(super) fn reseed(&mut self, seed: StreamSeed<'_>) {
        self.fault_stream = seed.stream("fault");
    }

    /// Sets the step at which the actuator begins to exist.
    pub(super) fn begin_at(&mut self, step: StepIndex) {
        self.step = step;
    }

    /// Accepts a command before the next step, unless a fault loses or delays it.
    pub(super) fn command(&mut self, values: &[f64]) {
        let next = self.step.after(1);
        match self.fault {
            Fault::Off | Fault::Stuck => {}
            Fault::Intermittent(share) if self.fault_stream.happens(share) => {}
            Fault::Delayed(_) if self.under_way.len() >= MAX_DELAYED_COMMANDS => {}
            Fault::Delayed(delay) => {
                self.under_way.push_back((next.after(self.timestep.steps_in(delay)), values.to_vec()));
            }
            Fault::None | Fault::Garbage | Fault::Intermittent(_) => self.accept_command(values, next),
        }
    }

    fn accept_command(&mut self, values: &[f64], step: StepIndex) {
        self.driver.command(values);
        (self.commanded, self.timed_out) = (Some(step), None);
    }

    /// Applies a fault. If it powers the actuator off or makes it stick, delayed commands are lost.
    pub(super) fn set_fault(&mut self, fault: Fault) {
        self.fault = fault;
        if matches!(fault, Fault::Off | Fault::Stuck) {
            self.under_way.clear();
        }
    }

    /// Sets the motors for the next step. Returns the watchdog if its timeout has just passed.
    pub(super) fn drive_engine(&mut self, engine: &mut dyn Engine) -> Option<Watchdog> {
        self.step = self.step.after(1);
        while let Some((_, values)) = self.under_way.pop_front_if(|(due, _)| *due <= self.step) {
            self.accept_command(&values, self.step);
        }
        match self.mount {
            Mount::Joint(joint) => {
                let measured = engine.joint(joint);
                let expired = self.check_watchdog(&measured);
                for axis in 0..3 {
                    let motor = self.motor_setting(axis, &measured);
                    engine.set_motor(joint, axis, motor);
                }
                expired
            }
            Mount::Body { body, pose } => {
                let expired = self.check_watchdog(&JointState::ZERO);
                if let Some((wrench, frame)) = self.effective_wrench() {
                    engine.apply_wrench(
                        body,
                        pose.translation,
                        to_world_axes(wrench, frame, engine.body(body).pose.then(&pose)),
                    );
                }
                if let Some(velocity) = self.effective_surface_velocity() {
                    engine.set_surface_velocity(body, velocity);
                }
                expired
            }
        }
    }

    /// The wrench applied to the body in the next step, after faults and the watchdog, with the frame of its axes;
    /// `None` for no wrench.
    fn effective_wrench(&mut self) -> Option<(Wrench, Frame)> {
        let (wrench, frame) = self.driver.commanded_wrench()?;
        match (self.fault, self.timed_out) {
            (Fault::Off, _) | (_, Some((OnTimeout::Zero | OnTimeout::Brake, _))) => None,
            (Fault::Garbage, _) => {
                let share = 2.0 * self.fault_stream.uniform() - 1.0;
                Some((Wrench { force: wrench.force * share, torque: wrench.torque * share }, frame))
            }
            _ => Some((wrench, frame)),
        }
    }

    /// Velocity of the body's surface in the next step, after faults and the watchdog, m/s; `None` if it is no
    /// conveyor.
    fn effective_surface_velocity(&mut self) -> Option<DVec3> {
        let velocity = self.driver.surface_velocity()?;
        Some(match (self.fault, self.timed_out) {
            (Fault::Off, _) | (_, Some((OnTimeout::Zero | OnTimeout::Brake, _))) => DVec3::ZERO,
            (Fault::Garbage, _) => velocity * (2.0 * self.fault_stream.uniform() - 1.0),
            _ => velocity,
        })
    }

    /// Returns the watchdog if its timeout passes in this step. With a timeout of n steps, a command acts for n steps.
    fn check_watchdog(&mut self, measured: &JointState) -> Option<Watchdog> {
        let (watchdog, commanded) = (self.watchdog?, self.commanded?);
        let timeout_steps = self.timestep.steps_in(watchdog.timeout_s).max(1);
        if self.timed_out.is_some() || self.is_powered_off() || self.step.0 - commanded.0 < timeout_steps {
            return None;
        }
        self.timed_out = Some((watchdog.action, measured.position));
        Some(watchdog)
    }

    /// Motor setting of an axis for the next step, after faults and the watchdog.
    fn motor_setting(&mut self, axis: usize, measured: &JointState) -> Motor {
        match self.fault {
            Fault::Off => return Motor::Off,
            Fault::Garbage => {
                let share = 2.0 * self.fault_stream.uniform() - 1.0;
                let motor = Motor::Effort(share * self.driver.max_effort(axis));
                return self.driver.limit_motor(motor, axis, measured);
            }
            _ => {}
        }
        let max_effort = self.driver.max_effort(axis);
        let motor = match self.timed_out {
            None => self.driver.motor(axis, measured, self.timestep.seconds()),
            Some((OnTimeout::Hold, place)) => {
                law::holding_motor(place[axis], measured.position[axis], self.timestep.seconds(), max_effort)
            }
            Some((OnTimeout::Zero, _)) => Motor::Off,
            Some((OnTimeout::Brake, _)) => Motor::Velocity { target: 0.0, max_effort },
        };
        self.driver.limit_motor(motor, axis, measured)
    }
}
