//! How finely and how softly the engine works.

/// The engines to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Dimforge's rapier.
    Rapier,
}

impl EngineKind {
    /// The engine of this name, in properties.toml.
    pub fn named(name: &str) -> Option<Self> {
        (name == "rapier").then_some(Self::Rapier)
    }
}

/// Settings of the physics that are not part of the world.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which engine.
    pub engine: EngineKind,
    /// Solver substeps in a timestep, at least 1.
    pub substeps: usize,
    /// Sweeps over all constraints in a substep, at least 1. Stiff motors need tens of them; they are cheap beside the rest.
    pub solver_iterations: usize,
    /// Stiffness of contacts as the natural frequency of the spring that pushes bodies apart, Hz.
    pub contact_frequency_hz: f64,
    /// Damping ratio of that spring; above 1 it does not swing.
    pub contact_damping_ratio: f64,
    /// Largest speed at which penetrating bodies are pushed apart, m/s (ODE's contactMaxCorrectingVel).
    pub contact_max_correcting_velocity_m_per_s: f64,
    /// Depth to which bodies may sink into each other without being pushed apart, m (ODE's contactSurfaceLayer).
    pub contact_surface_layer_m: f64,
    /// True lets objects at rest fall asleep until something touches them (ODE's autoDisableFlag). Robots never do.
    pub auto_disable: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            engine: EngineKind::Rapier,
            substeps: 1,
            solver_iterations: 50,
            contact_frequency_hz: 30.0,
            contact_damping_ratio: 10.0,
            contact_max_correcting_velocity_m_per_s: 3.0,
            contact_surface_layer_m: 0.005,
            auto_disable: false,
        }
    }
}
