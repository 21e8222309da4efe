//! The ground under a vehicle, with its gravity.

use simpartner_model::Soil;

/// Ground under a vehicle.
#[derive(Debug, Clone, PartialEq)]
pub enum Ground {
    /// Firm ground. Between it and a wheel the smaller of the two coefficients of friction applies.
    Firm {
        /// Coefficient of friction.
        friction: f64,
    },
    /// Soil with rocks.
    Soil {
        /// Name of the soil.
        name: String,
        /// Parameters of the soil.
        soil: Soil,
        /// Coefficient of friction of rocks and steps.
        friction: f64,
    },
}

impl Ground {
    /// Short description of the ground.
    pub fn name(&self) -> String {
        match self {
            Self::Firm { friction } => format!("firm ground of friction {friction}"),
            Self::Soil { name, .. } => name.clone(),
        }
    }
}

/// Ground, gravity and driving speed of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Ground under the vehicle.
    pub ground: Ground,
    /// Gravity, m/s².
    pub gravity: f64,
    /// Speed of the wheels' rims, m/s. The laws of soil are valid up to about 0.2 m/s.
    pub rim_speed: f64,
}
