//! Actuators of one joint or body. `law` has the control laws.

mod law;

use bevy_math::DVec3;
use serde::{Deserialize, Serialize};
use simpartner_description::{Frame, Mount, OnTimeout, Watchdog, World};
use simpartner_dynamics::{Engine, JointState, Motor, Wrench};
use simpartner_model::{Pose, StepIndex, Timestep};
use simpartner_wire::signal::Fault;

use self::law::Driver;
pub(super) use self::law::holding_motor;
use super::{
    command_queue::{CommandQueue, QueueState},
    random::StreamSeed,
};

/// An actuator of a running simulation.
pub(super) struct Actuator {
    mount: Mount,
    driver: Driver,
    commands: CommandQueue,
}

/// State of an [`Actuator`] between steps.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ActuatorState {
    driver: law::DriverState,
    commands: QueueState,
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
            commands: CommandQueue::for_actuator(spec.watchdog, timestep, seed),
        }
    }

    /// The last command, or the default before it.
    pub(super) fn last_command(&self) -> &[f64] {
        self.driver.setting()
    }

    pub(super) fn is_powered_off(&self) -> bool {
        self.commands.is_powered_off()
    }

    pub(super) fn saved_state(&self) -> ActuatorState {
        ActuatorState { driver: self.driver.state(), commands: self.commands.saved_state() }
    }

    /// Restores the state after a step. False if the state is of another actuator; this one must then not be used any
    /// more.
    pub(super) fn restore_state(&mut self, state: ActuatorState, step: StepIndex) -> bool {
        self.commands.restore_state(state.commands, step) && self.driver.restore(state.driver)
    }

    pub(super) fn reseed_faults(&mut self, seed: StreamSeed<'_>) {
        self.commands.reseed_faults(seed);
    }

    /// Sets the step at which the actuator begins to exist.
    pub(super) fn begin_at(&mut self, step: StepIndex) {
        self.commands.begin_at(step);
    }

    /// Accepts a command before the next step, unless a fault loses or delays it.
    pub(super) fn accept_command(&mut self, values: &[f64]) {
        if let Some(values) = self.commands.accept_command(values) {
            self.driver.command(values);
        }
    }

    /// Applies a fault.
    pub(super) fn set_fault(&mut self, fault: Fault) {
        self.commands.set_fault(fault);
    }

    /// Sets the motors for the next step. Returns the watchdog if its timeout has just passed.
    pub(super) fn drive_engine(&mut self, engine: &mut dyn Engine) -> Option<Watchdog> {
        self.commands.begin_step();
        while let Some(values) = self.commands.next_due() {
            self.driver.command(&values);
        }
        match self.mount {
            Mount::Joint(joint) => {
                let measured = engine.joint(joint);
                let expired = self.commands.check_watchdog(measured.position);
                for axis in 0..3 {
                    let motor = self.motor_setting(axis, &measured);
                    engine.set_motor(joint, axis, motor);
                }
                expired
            }
            Mount::Body { body, pose } => {
                let expired = self.commands.check_watchdog([0.0; 3]);
                let has_power = !self.commands.is_powered_off()
                    && !matches!(self.commands.timed_out(), Some((OnTimeout::Zero | OnTimeout::Brake, _)));
                self.driver.turn_propeller(self.commands.step_length().seconds(), has_power);
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
        // A rotor without power runs down by itself.
        let stops_at_once = !self.driver.is_propeller();
        match (self.commands.present_fault(), self.commands.timed_out()) {
            (Fault::Off, _) | (_, Some((OnTimeout::Zero | OnTimeout::Brake, _))) if stops_at_once => None,
            (Fault::Garbage, _) => {
                let share = self.commands.random_share();
                Some((Wrench { force: wrench.force * share, torque: wrench.torque * share }, frame))
            }
            _ => Some((wrench, frame)),
        }
    }

    /// Velocity of the body's surface in the next step, after faults and the watchdog, m/s; `None` if it is no
    /// conveyor.
    fn effective_surface_velocity(&mut self) -> Option<DVec3> {
        let velocity = self.driver.surface_velocity()?;
        Some(match (self.commands.present_fault(), self.commands.timed_out()) {
            (Fault::Off, _) | (_, Some((OnTimeout::Zero | OnTimeout::Brake, _))) => DVec3::ZERO,
            (Fault::Garbage, _) => velocity * self.commands.random_share(),
            _ => velocity,
        })
    }

    /// Motor setting of an axis for the next step, after faults and the watchdog.
    fn motor_setting(&mut self, axis: usize, measured: &JointState) -> Motor {
        match self.commands.present_fault() {
            Fault::Off => return Motor::Off,
            Fault::Garbage => {
                let share = self.commands.random_share();
                let motor = Motor::Effort(share * self.driver.max_effort(axis));
                return self.driver.limit_motor(motor, axis, measured);
            }
            _ => {}
        }
        let max_effort = self.driver.max_effort(axis);
        let timestep = self.commands.step_length().seconds();
        let motor = match self.commands.timed_out() {
            None => self.driver.motor(axis, measured, timestep),
            Some((OnTimeout::Hold, place)) => holding_motor(place[axis], measured.position[axis], timestep, max_effort),
            Some((OnTimeout::Zero, _)) => Motor::Off,
            Some((OnTimeout::Brake, _)) => Motor::Velocity { target: 0.0, max_effort },
        };
        self.driver.limit_motor(motor, axis, measured)
    }
}
