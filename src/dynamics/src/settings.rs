//! How finely and how softly the engine works.

/// The engines to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Articulated dynamics of our own.
    Dynamics,
    /// Dimforge's rapier.
    Rapier,
}

impl EngineKind {
    /// The engine of this name, in properties.toml.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "dynamics" => Some(Self::Dynamics),
            "rapier" => Some(Self::Rapier),
            _ => None,
        }
    }
}

/// How articulated dynamics moves what touches nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrator {
    /// Gauss's method of two stages, of fourth order, for linkages that nothing constrains, drives or rubs; the
    /// midpoint scheme for all others.
    Gauss,
    /// The midpoint scheme, of second order, for everything.
    Midpoint,
}

impl Integrator {
    /// The scheme of this name, in properties.toml.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "gauss" => Some(Self::Gauss),
            "midpoint" => Some(Self::Midpoint),
            _ => None,
        }
    }
}

/// How bounces that happen at the same instant are solved in articulated dynamics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImpactLaw {
    /// Pair after pair, the fastest approach first, until nothing approaches: bodies that touch pass a shock on, as
    /// those of Newton's cradle do.
    Sequential,
    /// All at once: each pair that approaches leaves at once with its restitution times its own speed of approach.
    Newton,
}

impl ImpactLaw {
    /// The law of this name, in properties.toml.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "sequential" => Some(Self::Sequential),
            "newton" => Some(Self::Newton),
            _ => None,
        }
    }
}

/// Settings of the physics that are not part of the world.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which engine.
    pub engine: EngineKind,
    /// Solver substeps in a timestep, at least 1.
    pub substeps: usize,
    /// Largest speed at which penetrating bodies are pushed apart, m/s (ODE's contactMaxCorrectingVel). Articulated
    /// dynamics moves no point of a body faster for that.
    pub contact_max_correcting_velocity_m_per_s: f64,
    /// True lets objects at rest fall asleep until something touches them (ODE's autoDisableFlag). Robots never do.
    pub auto_disable: bool,
    /// What only articulated dynamics of our own needs.
    pub dynamics: DynamicsSettings,
    /// What only rapier needs.
    pub rapier: RapierSettings,
}

/// Settings of articulated dynamics of our own.
#[derive(Debug, Clone, PartialEq)]
pub struct DynamicsSettings {
    /// How what touches nothing moves.
    pub integrator: Integrator,
    /// How bounces at the same instant are solved.
    pub impact_law: ImpactLaw,
    /// Work of a step at most, at least 1: what so many sweeps over the constraints of an island cost. All methods of
    /// the solver and all repetitions of a step draw from it, and what these cost beside their solves. At its end the
    /// best solution so far is taken, and the rest of the step is made in few parts.
    pub max_sweeps: usize,
    /// Depth to which bodies may sink into each other without being pushed apart, m (ODE's contactSurfaceLayer).
    pub contact_surface_layer_m: f64,
    /// Threads that islands are shared between, at least 1. The results are the same for any number.
    pub threads: usize,
    /// Angle that a joint may turn by in a substep, rad: where one turns by more than twice that, the step is divided.
    /// What moves freely, to fourth order, may turn twice as far.
    pub turn_per_substep_rad: f64,
    /// A body faster than this gets an event, m/s.
    pub max_speed_m_per_s: f64,
    /// Rigid bodies deeper in each other than this get an event, m.
    pub max_penetration_m: f64,
    /// A joint that closes a loop and is open by more than this gets an event, m.
    pub max_joint_error_m: f64,
    /// A step in which the world gains more energy than this, beside what its motors give, gets an event, J.
    pub max_energy_gain_j: f64,
}

/// Settings of rapier.
#[derive(Debug, Clone, PartialEq)]
pub struct RapierSettings {
    /// Sweeps over all constraints in a substep, at least 1. Stiff motors need tens of them; they are cheap beside the
    /// rest.
    pub solver_iterations: usize,
    /// Stiffness of contacts as the natural frequency of the spring that pushes bodies apart, Hz.
    pub contact_frequency_hz: f64,
    /// Damping ratio of that spring; above 1 it does not swing.
    pub contact_damping_ratio: f64,
    /// Depth to which bodies may sink into each other without being pushed apart, m.
    pub contact_surface_layer_m: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            engine: EngineKind::Dynamics,
            substeps: 1,
            contact_max_correcting_velocity_m_per_s: 3.0,
            auto_disable: false,
            dynamics: DynamicsSettings::default(),
            rapier: RapierSettings::default(),
        }
    }
}

impl Default for DynamicsSettings {
    fn default() -> Self {
        Self {
            integrator: Integrator::Gauss,
            impact_law: ImpactLaw::Sequential,
            max_sweeps: 6000,
            contact_surface_layer_m: 1e-6,
            threads: 1,
            turn_per_substep_rad: 0.05,
            max_speed_m_per_s: 1000.0,
            max_penetration_m: 0.01,
            max_joint_error_m: 0.001,
            max_energy_gain_j: 1.0,
        }
    }
}

impl Default for RapierSettings {
    fn default() -> Self {
        Self {
            solver_iterations: 50,
            contact_frequency_hz: 30.0,
            contact_damping_ratio: 10.0,
            contact_surface_layer_m: 0.005,
        }
    }
}
