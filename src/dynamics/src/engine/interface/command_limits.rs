//! Limits of commands: NaN becomes zero and large numbers are clamped before they reach the state.

use bevy_math::DVec3;

use crate::{Servo, Wrench, state::RUNAWAY_SPEED};

/// Largest absolute value in a command. There the next double is an eighth away, and products of several such numbers
/// are finite.
const MAX_NUMBER: f64 = 1e15;

/// Clamps a number to `most` and -`most`; NaN becomes zero.
fn bounded(number: f64, most: f64) -> f64 {
    if number.is_nan() { 0.0 } else { number.clamp(-most, most) }
}

/// Clamps a point or direction of a command.
pub(crate) fn bounded_vector(vector: DVec3) -> DVec3 {
    DVec3::from(vector.to_array().map(|number| bounded(number, MAX_NUMBER)))
}

/// Clamps the velocity of a surface to the permitted speed.
pub(crate) fn bounded_velocity(velocity: DVec3) -> DVec3 {
    DVec3::from(velocity.to_array().map(|number| bounded(number, RUNAWAY_SPEED)))
}

/// Clamps a wrench.
pub(crate) fn bounded_wrench(Wrench { force, torque }: Wrench) -> Wrench {
    Wrench { force: bounded_vector(force), torque: bounded_vector(torque) }
}

/// Clamps the numbers of a motor command.
pub(crate) fn bounded_servo(servo: Servo) -> Servo {
    let Servo { position, rate, stiffness, damping, max_effort } = servo;
    let [position, rate, stiffness, damping, max_effort] =
        [position, rate, stiffness, damping, max_effort].map(|number| bounded(number, MAX_NUMBER));
    Servo { position, rate, stiffness, damping, max_effort }
}
