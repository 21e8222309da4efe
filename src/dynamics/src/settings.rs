//! Settings of the engines: accuracy, softness of contacts, limits that report events.

/// The available engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// SimPartner's articulated dynamics.
    Dynamics,
    /// Dimforge's rapier.
    Rapier,
}

impl EngineKind {
    /// The engine with this name in properties.toml.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "dynamics" => Some(Self::Dynamics),
            "rapier" => Some(Self::Rapier),
            _ => None,
        }
    }
}

/// The integrator of trees without contact in articulated dynamics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrator {
    /// Gauss's two-stage method of fourth order for trees without constraints, motors and friction; the midpoint scheme
    /// for all others.
    Gauss,
    /// The midpoint scheme of second order for all trees.
    Midpoint,
}

impl Integrator {
    /// The integrator with this name in properties.toml.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "gauss" => Some(Self::Gauss),
            "midpoint" => Some(Self::Midpoint),
            _ => None,
        }
    }
}

/// The law of simultaneous impacts in articulated dynamics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImpactLaw {
    /// Pair by pair, the fastest approach first, until none approaches: bodies in contact pass an impact on, as in
    /// Newton's cradle.
    Sequential,
    /// All pairs at once: each approaching pair separates with its restitution times its own approach speed.
    Newton,
}

impl ImpactLaw {
    /// The law with this name in properties.toml.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "sequential" => Some(Self::Sequential),
            "newton" => Some(Self::Newton),
            _ => None,
        }
    }
}

/// Physics settings that are not part of the world.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The engine.
    pub engine: EngineKind,
    /// Number of substeps in a timestep, at least 1.
    pub substeps: usize,
    /// Largest speed that separates penetrating bodies, m/s (ODE's contactMaxCorrectingVel). In articulated dynamics it
    /// bounds the speed of every point of a body.
    pub contact_max_correcting_velocity_m_per_s: f64,
    /// True if objects at rest sleep until touched (ODE's autoDisableFlag). Robots never sleep.
    pub auto_disable: bool,
    /// Settings of articulated dynamics.
    pub dynamics: DynamicsSettings,
    /// Settings of rapier.
    pub rapier: RapierSettings,
}

/// Settings of articulated dynamics.
#[derive(Debug, Clone, PartialEq)]
pub struct DynamicsSettings {
    /// The integrator of trees without contact.
    pub integrator: Integrator,
    /// The law of simultaneous impacts.
    pub impact_law: ImpactLaw,
    /// Work budget of a step, at least 1, in sweeps over the constraints of an island. All solvers, all repetitions of
    /// a step and their setup draw from it. When it is used up, the best solution so far is taken, and the rest of the
    /// step is divided into few parts.
    pub max_sweeps: usize,
    /// Penetration depth that is not corrected, m (ODE's contactSurfaceLayer).
    pub contact_surface_layer_m: f64,
    /// Number of threads that solve islands, at least 1. Results do not depend on it.
    pub threads: usize,
    /// Permitted rotation of a joint in a substep, rad; the step is divided where a joint turns by more than twice
    /// that. Trees that Gauss's method moves may turn twice as far.
    pub turn_per_substep_rad: f64,
    /// Speed of a body above which an event is reported, m/s.
    pub max_speed_m_per_s: f64,
    /// Penetration of rigid bodies above which an event is reported, m.
    pub max_penetration_m: f64,
    /// Opening of a loop joint above which an event is reported, m.
    pub max_joint_error_m: f64,
    /// Gain of energy in a step, in excess of the energy supplied by motors, above which an event is reported, J.
    pub max_energy_gain_j: f64,
}

/// Settings of rapier.
#[derive(Debug, Clone, PartialEq)]
pub struct RapierSettings {
    /// Number of sweeps over all constraints in a substep, at least 1. Stiff motors need tens of sweeps; their cost is
    /// small compared with the rest of the step.
    pub solver_iterations: usize,
    /// Stiffness of contacts, as the natural frequency of the contact spring, Hz.
    pub contact_frequency_hz: f64,
    /// Damping ratio of the contact spring; above 1 there is no oscillation.
    pub contact_damping_ratio: f64,
    /// Penetration depth that is not corrected, m.
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
