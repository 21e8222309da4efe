//! Odometry of vehicles: place and heading from the motion of wheels or tracks.

use bevy_math::DVec2;
use simpartner_description::Vehicle;
use simpartner_dynamics::Engine;
use simpartner_model::Timestep;

use super::{
    super::vehicle::{Kinematics, Twist, steering_coordinates, wheel_rates},
    probe::{OdometryState, Probe, ProbeState},
};

/// Largest half of a step's turn for which sin(x) / x is taken from its series, rad: the next term is below rounding.
const SMALL_TURN: f64 = 1e-4;

/// The odometry of a vehicle.
pub(super) struct Odometry {
    kinematics: Kinematics,
    /// Length of a step, s.
    h: f64,
    state: OdometryState,
}

impl Odometry {
    pub(super) fn of_vehicle(vehicle: &Vehicle, timestep: Timestep) -> Self {
        Self {
            kinematics: Kinematics::of_vehicle(vehicle),
            h: timestep.seconds(),
            state: OdometryState { place: [0.0; 2], heading: 0.0, wheels: Vec::new(), steerings: Vec::new() },
        }
    }

    /// Angles that the wheels have turned since the last step, rad, or ways of the belts, m.
    fn wheel_displacements(&self, wheels: &[f64], engine: &dyn Engine) -> Vec<f64> {
        match self.kinematics.described_vehicle().tracks.is_empty() {
            true => wheels.iter().zip(&self.state.wheels).map(|(now, before)| now - before).collect(),
            false => wheel_rates(self.kinematics.described_vehicle(), engine)
                .into_iter()
                .map(|speed| speed * self.h)
                .collect(),
        }
    }
}

fn wheel_coordinates(vehicle: &Vehicle, engine: &dyn Engine) -> Vec<f64> {
    vehicle.wheels.iter().map(|wheel| engine.joint(wheel.joint).position[wheel.coordinate]).collect()
}

impl Probe for Odometry {
    fn read(&self, engine: &dyn Engine, reading: &mut Vec<f64>) {
        let vehicle = self.kinematics.described_vehicle();
        let rates = wheel_rates(vehicle, engine);
        let Twist { velocity, omega } = self.kinematics.estimate_twist(&rates, &steering_coordinates(vehicle, engine));
        reading.extend(self.state.place);
        reading.extend([self.state.heading, velocity.x, velocity.y, omega]);
    }

    fn initialize(&mut self, engine: &dyn Engine) {
        let vehicle = self.kinematics.described_vehicle();
        self.state.wheels = wheel_coordinates(vehicle, engine);
        self.state.steerings = steering_coordinates(vehicle, engine);
    }

    fn update(&mut self, engine: &dyn Engine) {
        let vehicle = self.kinematics.described_vehicle();
        let wheels = wheel_coordinates(vehicle, engine);
        let steerings = steering_coordinates(vehicle, engine);
        let middle: Vec<f64> =
            steerings.iter().zip(&self.state.steerings).map(|(now, before)| 0.5 * (now + before)).collect();
        let moved = self.kinematics.estimate_twist(&self.wheel_displacements(&wheels, engine), &middle);
        // The way of a step is an arc: its chord points along the middle heading.
        let half = 0.5 * moved.omega;
        let chord = if half.abs() < SMALL_TURN { 1.0 - half * half / 6.0 } else { libm::sin(half) / half };
        let way = DVec2::from_angle(self.state.heading + half).rotate(moved.velocity) * chord;
        let place = DVec2::from_array(self.state.place) + way;
        self.state =
            OdometryState { place: place.to_array(), heading: self.state.heading + moved.omega, wheels, steerings };
    }

    fn state(&self) -> ProbeState {
        ProbeState::Odometry(self.state.clone())
    }

    fn restore(&mut self, state: &ProbeState) -> bool {
        let ProbeState::Odometry(state) = state else { return false };
        let wheels = self.kinematics.described_vehicle().wheels.len();
        let fits = state.wheels.len() == wheels && state.steerings.len() == wheels;
        if fits {
            self.state = state.clone();
        }
        fits
    }
}
