//! The ground under a vehicle, with its gravity.

use simpartner_model::Soil;

/// What a vehicle stands on.
#[derive(Debug, Clone, PartialEq)]
pub enum Ground {
    /// Firm, with Coulomb's coefficient; that of a wheel counts where it is smaller.
    Firm {
        /// Coefficient of friction.
        friction: f64,
    },
    /// Soil, and rocks of this friction in it.
    Soil {
        /// Its name.
        name: String,
        /// Its parameters.
        soil: Soil,
        /// Coefficient of friction of rocks and steps.
        friction: f64,
    },
}

impl Ground {
    /// A few words for it.
    pub fn name(&self) -> String {
        match self {
            Self::Firm { friction } => format!("firm ground of friction {friction}"),
            Self::Soil { name, .. } => name.clone(),
        }
    }
}

/// Where, and how fast.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// What it drives on.
    pub ground: Ground,
    /// m/s².
    pub gravity: f64,
    /// Speed of the wheels' rims, m/s. The laws of soil hold up to about 0.2.
    pub rim_speed: f64,
}
