//! Vehicle controllers: commanded velocities of a vehicle become velocities of its wheels or tracks.
//!
//! In each step the commanded velocity passes through [`speed_profile`], which keeps its limits, and then through
//! [`kinematics`].

mod kinematics;
mod speed_profile;

use bevy_math::DVec2;
use serde::{Deserialize, Serialize};
use simpartner_description::{OnTimeout, Vehicle, Watchdog, World};
use simpartner_dynamics::{Engine, Motor};
use simpartner_model::{StepIndex, Timestep};
use simpartner_wire::signal::{DeviceKind, Fault, set_fields};

pub(super) use self::kinematics::{Kinematics, Twist};
use self::speed_profile::SpeedProfile;
use super::{
    actuator::holding_motor,
    command_queue::{CommandQueue, QueueState},
    random::StreamSeed,
};

/// A vehicle controller of a running simulation.
pub(super) struct VehicleController {
    kinematics: Kinematics,
    commands: CommandQueue,
    /// Coordinates of the wheels and of their steerings that are held until the first command, rad.
    initial: Vec<[f64; 2]>,
    motion: Motion,
}

/// The commanded motion and the motion on the way to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Motion {
    /// The last command, or zeros before it.
    setting: Vec<f64>,
    /// True until the first command.
    holding: bool,
    /// Speeds forward and to the left, and the turn rate.
    speeds: [SpeedProfile; 3],
    /// Curvature of the path of a vehicle that steers, 1/m, positive to the left.
    curvature: f64,
}

/// State of a [`VehicleController`] between steps.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct VehicleState {
    motion: Motion,
    commands: QueueState,
}

/// The setting before the first command.
pub(super) fn first_setting(vehicle: &Vehicle) -> Vec<f64> {
    vec![0.0; vehicle.kind.command_lengths().iter().copied().max().unwrap_or(0)]
}

impl VehicleController {
    pub(super) fn in_world(vehicle: &Vehicle, world: &World, timestep: Timestep, seed: StreamSeed<'_>) -> Self {
        let initial = |joint, coordinate: usize| {
            world.mechanism.joint(joint).axes[coordinate].free().map_or(0.0, |free| free.initial_position)
        };
        let wheels = vehicle.wheels.iter().map(|wheel| {
            let steering = wheel.steering.map_or(0.0, |steering| initial(steering.joint, steering.coordinate));
            [initial(wheel.joint, wheel.coordinate), steering]
        });
        Self {
            kinematics: Kinematics::of_vehicle(vehicle),
            commands: CommandQueue::for_actuator(vehicle.watchdog, timestep, seed),
            initial: wheels.collect(),
            motion: Motion {
                setting: first_setting(vehicle),
                holding: true,
                speeds: [SpeedProfile::default(); 3],
                curvature: 0.0,
            },
        }
    }

    /// The last command, or zeros before it.
    pub(super) fn last_command(&self) -> &[f64] {
        &self.motion.setting
    }

    pub(super) fn is_powered_off(&self) -> bool {
        self.commands.is_powered_off()
    }

    pub(super) fn saved_state(&self) -> VehicleState {
        VehicleState { motion: self.motion.clone(), commands: self.commands.saved_state() }
    }

    /// Restores the state after a step. False if the state is of another vehicle; this one must then not be used any
    /// more.
    pub(super) fn restore_state(&mut self, state: VehicleState, step: StepIndex) -> bool {
        let fits = state.motion.setting.len() == self.motion.setting.len();
        self.motion = state.motion;
        self.commands.restore_state(state.commands, step) && fits
    }

    pub(super) fn reseed_faults(&mut self, seed: StreamSeed<'_>) {
        self.commands.reseed_faults(seed);
    }

    /// Sets the step at which the controller begins to exist.
    pub(super) fn begin_at(&mut self, step: StepIndex) {
        self.commands.begin_at(step);
    }

    /// Applies a fault.
    pub(super) fn set_fault(&mut self, fault: Fault) {
        self.commands.set_fault(fault);
    }

    /// Accepts a command before the next step, unless a fault loses or delays it.
    pub(super) fn accept_command(&mut self, values: &[f64]) {
        if let Some(values) = self.commands.accept_command(values) {
            self.motion.set_command(values);
        }
    }

    /// Sets the motors and belts for the next step. Returns the watchdog if its timeout has just passed.
    pub(super) fn drive_engine(&mut self, engine: &mut dyn Engine) -> Option<Watchdog> {
        self.commands.begin_step();
        while let Some(values) = self.commands.next_due() {
            self.motion.set_command(&values);
        }
        let expired = self.commands.check_watchdog([0.0; 3]);
        let coordinates = steering_coordinates(self.kinematics.described_vehicle(), engine);
        let is_released = self.is_powered_off() || matches!(self.commands.timed_out(), Some((OnTimeout::Zero, _)));
        if is_released {
            // The next command begins at the speed with which the vehicle coasts.
            let rates = wheel_rates(self.kinematics.described_vehicle(), engine);
            self.motion.begin_at(self.kinematics.estimate_twist(&rates, &coordinates));
        }
        let target = if self.commands.timed_out().is_some() { None } else { Some(self.motion.commanded_speeds()) };
        let twist =
            self.motion.advance_by_step(target, &self.kinematics, &coordinates, self.commands.step_length().seconds());
        self.drive_wheels(engine, twist, &coordinates, is_released);
        self.drive_belts(engine, twist, is_released);
        expired
    }

    fn drive_wheels(&mut self, engine: &mut dyn Engine, twist: Twist, coordinates: &[f64], is_released: bool) {
        let Self { kinematics, commands, initial, motion } = self;
        let (vehicle, h) = (kinematics.described_vehicle(), commands.step_length().seconds());
        for ((wheel, coordinate), [held, held_steering]) in vehicle.wheels.iter().zip(coordinates).zip(initial) {
            let max_effort = vehicle.max_effort;
            if wheel.is_driven {
                let motor = match commands.present_fault() {
                    _ if is_released => Motor::Off,
                    Fault::Garbage => Motor::Effort(commands.random_share() * max_effort),
                    _ if motion.holding => {
                        holding_motor(*held, engine.joint(wheel.joint).position[wheel.coordinate], h, max_effort)
                    }
                    _ => Motor::Velocity { target: kinematics.wheel_rate(wheel, *coordinate, twist), max_effort },
                };
                engine.set_motor(wheel.joint, wheel.coordinate, motor);
            }
            if let Some(steering) = &wheel.steering {
                let target = match motion.holding {
                    true => *held_steering,
                    false => kinematics.steering_coordinate(wheel, steering, motion.curvature),
                };
                let motor = match holding_motor(target, *coordinate, h, max_effort) {
                    _ if is_released => Motor::Off,
                    Motor::Velocity { target, max_effort } => {
                        let most = vehicle.max_steering_rate;
                        Motor::Velocity { target: target.clamp(-most, most), max_effort }
                    }
                    other => other,
                };
                engine.set_motor(steering.joint, steering.coordinate, motor);
            }
        }
    }

    fn drive_belts(&mut self, engine: &mut dyn Engine, twist: Twist, is_released: bool) {
        let Self { kinematics, commands, .. } = self;
        for track in &kinematics.described_vehicle().tracks {
            let speed = match commands.present_fault() {
                _ if is_released => 0.0,
                Fault::Garbage => Kinematics::belt_speed(track.centre.y, twist) * commands.random_share(),
                _ => Kinematics::belt_speed(track.centre.y, twist),
            };
            engine.set_surface_velocity(track.body, track.axle * speed);
        }
    }
}

impl Motion {
    fn set_command(&mut self, values: &[f64]) {
        if set_fields(&mut self.setting, values) {
            self.holding = false;
        }
    }

    /// The commanded speeds forward and to the left, and the turn rate.
    fn commanded_speeds(&self) -> [f64; 3] {
        match self.setting[..] {
            [forward, left, omega] => [forward, left, omega],
            [forward, omega] => [forward, 0.0, omega],
            _ => [0.0; 3],
        }
    }

    fn begin_at(&mut self, twist: Twist) {
        self.speeds = [twist.velocity.x, twist.velocity.y, twist.omega].map(SpeedProfile::starting_at);
    }

    /// Approaches a command, or rest for `None`, for a step of `h` seconds. Returns the twist for this step.
    /// `coordinates` are those of the steerings.
    fn advance_by_step(
        &mut self,
        target: Option<[f64; 3]>,
        kinematics: &Kinematics,
        coordinates: &[f64],
        h: f64,
    ) -> Twist {
        let vehicle = kinematics.described_vehicle();
        let [mut forward, left, omega] = target.unwrap_or_default();
        if vehicle.kind == DeviceKind::AckermannController {
            if forward != 0.0 {
                self.curvature = kinematics.limit_curvature(omega / forward);
                // The turn rate is limited by the speed, so that the path stays.
                let most = vehicle.angular.speed / self.curvature.abs();
                forward = forward.clamp(-most, most);
            }
            self.speeds[0].approach_target(forward, &vehicle.linear, h);
            let speed = self.speeds[0].speed;
            return kinematics.without_sideslip(speed, speed * kinematics.steered_curvature(coordinates));
        }
        self.speeds[0].approach_target(forward, &vehicle.linear, h);
        self.speeds[1].approach_target(left, &vehicle.linear, h);
        self.speeds[2].approach_target(omega, &vehicle.angular, h);
        let [forward, left, omega] = self.speeds.map(|profile| profile.speed);
        match vehicle.kind {
            DeviceKind::OmnidirectionalController => Twist { velocity: DVec2::new(forward, left), omega },
            _ => kinematics.without_sideslip(forward, omega),
        }
    }
}

/// Coordinate of each wheel's steering, rad; 0 for a wheel without one.
pub(super) fn steering_coordinates(vehicle: &Vehicle, engine: &dyn Engine) -> Vec<f64> {
    let of = |wheel: &simpartner_description::VehicleWheel| {
        wheel.steering.map_or(0.0, |steering| engine.joint(steering.joint).position[steering.coordinate])
    };
    vehicle.wheels.iter().map(of).collect()
}

/// Rates of the wheels, rad/s, or speeds of the belts, m/s.
pub(super) fn wheel_rates(vehicle: &Vehicle, engine: &dyn Engine) -> Vec<f64> {
    let wheels = vehicle.wheels.iter().map(|wheel| engine.joint(wheel.joint).rate[wheel.coordinate]);
    wheels.chain(vehicle.tracks.iter().map(|track| engine.surface_velocity(track.body).dot(track.axle))).collect()
}
