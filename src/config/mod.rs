//! The settings of a run, from four layers: defaults, a properties file, the environment, the caller's overrides.
//!
//! This module opens no file and reads no environment variable: the caller passes the text of the file and the list of
//! variables. Start at `table`, the list of all settings, then [`Config::load`].

mod embedded;
mod layers;
mod setting_type;
mod table;
mod text;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use layers::Layers;
use setting_type::SettingType;
use simpartner_description::Parameters;
use simpartner_dynamics::{EngineKind, ImpactLaw, Integrator};
use simpartner_model::Timestep;
use table::{SETTINGS, SettingValue};

use crate::{
    realtime::{Mode, OnOverrun, OnTimeout, Scheduling},
    recorder::{self, Database, Patterns, Thinning, WhenFull},
    server::{self, Limits, PortChoice},
};

pub use embedded::EmbeddedSettings;
pub use layers::{ConfigError, Override, Problem, PropertiesFile};
pub use text::default_properties;

/// All settings of a run, checked and converted.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// World and clock.
    pub simulation: SimulationConfig,
    /// Members of the lockstep, for which the clock waits.
    pub lockstep: LockstepConfig,
    /// Physics engine.
    pub physics: simpartner_dynamics::Settings,
    /// Log; `None` if it is disabled.
    pub log: Option<recorder::Settings>,
    /// Server and its ports.
    pub server: server::Settings,
    /// File that lists the ports of a running server; `None` if none is written.
    pub ports_file: Option<PathBuf>,
    /// Port of the viewer's page; `None` if it is disabled.
    pub viewer_port: Option<u16>,
    /// Scheduling that is requested from the operating system.
    pub realtime: Scheduling,
    /// All values as a properties file.
    effective: String,
    /// All values, in the order of the table.
    values: Vec<SettingValue>,
}

/// The section `simulation`.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulationConfig {
    /// File of the world to simulate, or of a robot in place of a world.
    pub world_file: PathBuf,
    /// True if the root of such a robot is fixed.
    pub fixed_base: bool,
    /// Values of the model's files that are replaced.
    pub parameters: Parameters,
    /// Clock mode.
    pub mode: Mode,
    /// Simulated seconds per wall second in real time.
    pub rate: f64,
    /// Length of a step.
    pub timestep: Timestep,
    /// Simulated time after which the run ends, s; `None` for no end.
    pub duration_s: Option<f64>,
    /// Seed of all noise.
    pub seed: u64,
    /// True if the clock waits for PLAY.
    pub start_paused: bool,
    /// Largest number of steps that the clock may be behind; beyond it the clock is overrun.
    pub max_catchup_steps: u64,
    /// Reaction to an overrun.
    pub on_overrun: OnOverrun,
}

/// The section `lockstep`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockstepConfig {
    /// Names of the members, as on the control port.
    pub members: Vec<String>,
    /// Time that a member has for its answer.
    pub timeout: Duration,
    /// Reaction to a timeout.
    pub on_timeout: OnTimeout,
}

/// The words that a setting accepts; none for settings of other types and for unknown paths.
pub fn choices(path: &str) -> &'static [&'static str] {
    match SETTINGS.iter().find(|setting| setting.path() == path).map(|setting| setting.setting_type) {
        Some(SettingType::Word(words)) => words,
        _ => &[],
    }
}

impl Config {
    /// Applies the layers in order, later ones win: the defaults, `file`, those of `variables` whose names begin with
    /// `SIMPARTNER_`, `overrides`. Other variables may have any bytes.
    ///
    /// # Errors
    /// All unknown keys, wrong types and values out of range, with file and line, variable or override.
    pub fn load(
        file: Option<PropertiesFile<'_>>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        overrides: &[Override<'_>],
    ) -> Result<Self, ConfigError> {
        let mut layers = Layers::defaults();
        if let Some(file) = file {
            layers.apply_file(file);
        }
        layers.apply_environment(variables);
        layers.apply_overrides(overrides);
        let (values, parameters) = layers.into_values()?;
        let mut config = Self::from_values(values, parameters).0;
        config.keep_ports(overrides);
        Ok(config)
    }

    /// The same settings with further overrides.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn with_overrides(&self, overrides: &[Override<'_>]) -> Result<Self, ConfigError> {
        let mut layers = Layers::of_values(self.values.clone(), self.simulation.parameters.clone());
        layers.apply_overrides(overrides);
        let (values, parameters) = layers.into_values()?;
        let mut config = Self::from_values(values, parameters).0;
        config.keep_ports(overrides);
        Ok(config)
    }

    /// Ports that are overridden together with the offset are not moved by it: the caller means exactly these ports.
    /// They are replaced by the ports that the offset moves onto them.
    fn keep_ports(&mut self, overrides: &[Override<'_>]) {
        let is_given = |key| overrides.iter().any(|given| given.key == key);
        if !is_given("server.port_offset") {
            return;
        }
        let ports = self.server.ports;
        if is_given("server.control_port") {
            self.server.control_port = ports.named(self.server.control_port);
        }
        if is_given("viewer.port") {
            self.viewer_port = self.viewer_port.map(|port| ports.named(port));
        }
    }

    /// The defaults and the settings of this text of a properties file. The environment is ignored.
    ///
    /// # Errors
    /// Those of [`load`](Self::load); places begin with `properties:`.
    pub fn from_text(text: &str) -> Result<Self, ConfigError> {
        Self::load(Some(PropertiesFile { path: "properties", text }), [], &[])
    }

    /// All effective values as a properties file, for the log; a token is left out.
    pub fn effective_text(&self) -> &str {
        &self.effective
    }

    /// Converts the values. The second result says for each setting whether it was read, for the test that all are.
    fn from_values(values: Vec<SettingValue>, parameters: Parameters) -> (Self, Vec<bool>) {
        let effective = text::effective_text(&values, &parameters);
        let mut accepted = AcceptedValues { read: vec![false; values.len()], values: values.clone() };
        let logged = accepted.boolean("log.enabled");
        let log = accepted.log();
        let config = Self {
            simulation: SimulationConfig { parameters, ..accepted.simulation() },
            lockstep: accepted.lockstep(),
            physics: accepted.physics(),
            log: logged.then_some(log),
            server: accepted.server(),
            ports_file: Some(accepted.text("server.ports_file")).filter(|file| !file.is_empty()).map(PathBuf::from),
            viewer_port: accepted.viewer_port(),
            realtime: accepted.realtime(),
            effective,
            values,
        };
        (config, accepted.read)
    }
}

/// Values that passed the check of their settings, before they become fields of a [`Config`].
struct AcceptedValues {
    values: Vec<SettingValue>,
    read: Vec<bool>,
}

/// Reason for which no conversion here can fail.
const ACCEPTED: &str = "the setting's type accepts only values of this type and range";

impl AcceptedValues {
    fn simulation(&mut self) -> SimulationConfig {
        SimulationConfig {
            world_file: self.text("simulation.world_file").into(),
            fixed_base: self.boolean("simulation.fixed_base"),
            parameters: Parameters::default(),
            mode: match self.text("simulation.mode").as_str() {
                "fast" => Mode::Fast,
                "lockstep" => Mode::Lockstep,
                _ => Mode::RealTime,
            },
            rate: self.real("simulation.rate"),
            timestep: Timestep::from_seconds(self.real("simulation.timestep_s")).expect(ACCEPTED),
            duration_s: Some(self.real("simulation.duration_s")).filter(|&duration| duration > 0.0),
            seed: self.count("simulation.seed"),
            start_paused: self.boolean("simulation.start_paused"),
            max_catchup_steps: self.count("simulation.max_catchup_steps"),
            on_overrun: if self.text("simulation.on_overrun") == "stop" { OnOverrun::Stop } else { OnOverrun::Slip },
        }
    }

    fn lockstep(&mut self) -> LockstepConfig {
        LockstepConfig {
            members: self.names("lockstep.members"),
            timeout: Duration::from_secs_f64(self.real("lockstep.timeout_s")),
            on_timeout: match self.text("lockstep.on_timeout").as_str() {
                "pause" => OnTimeout::Pause,
                "fail" => OnTimeout::Fail,
                _ => OnTimeout::Hold,
            },
        }
    }

    fn physics(&mut self) -> simpartner_dynamics::Settings {
        simpartner_dynamics::Settings {
            engine: EngineKind::named(&self.text("physics.engine")).expect(ACCEPTED),
            substeps: self.count("physics.substeps"),
            contact_max_correcting_velocity_m_per_s: self.real("physics.contact_max_correcting_velocity_m_per_s"),
            auto_disable: self.boolean("physics.auto_disable"),
            dynamics: simpartner_dynamics::DynamicsSettings {
                integrator: Integrator::named(&self.text("dynamics.integrator")).expect(ACCEPTED),
                impact_law: ImpactLaw::named(&self.text("dynamics.impact_law")).expect(ACCEPTED),
                max_sweeps: self.count("dynamics.max_sweeps"),
                contact_surface_layer_m: self.real("dynamics.contact_surface_layer_m"),
                threads: self.count("dynamics.threads"),
                turn_per_substep_rad: self.real("dynamics.turn_per_substep_rad"),
                max_speed_m_per_s: self.real("dynamics.max_speed_m_per_s"),
                max_penetration_m: self.real("dynamics.max_penetration_m"),
                max_joint_error_m: self.real("dynamics.max_joint_error_m"),
                max_energy_gain_j: self.real("dynamics.max_energy_gain_j"),
            },
            rapier: simpartner_dynamics::RapierSettings {
                solver_iterations: self.count("rapier.solver_iterations"),
                contact_frequency_hz: self.real("rapier.contact_frequency_hz"),
                contact_damping_ratio: self.real("rapier.contact_damping_ratio"),
                contact_surface_layer_m: self.real("rapier.contact_surface_layer_m"),
            },
        }
    }

    fn log(&mut self) -> recorder::Settings {
        let is_economical = self.text("log.detail") == "economical";
        let thinning =
            Thinning { after_s: self.real("log.thin_after_s"), every_n_steps: self.count("log.thin_to_every_n_steps") };
        recorder::Settings {
            database: Database::parse(&self.text("log.database")).expect(ACCEPTED),
            every_n_steps: self.count("log.every_n_steps"),
            bodies: Patterns::new(self.names("log.bodies")),
            joints: Patterns::new(self.names("log.joints")),
            devices: Patterns::new(self.names("log.devices")),
            thinning: is_economical.then_some(thinning),
            contacts: self.boolean("log.contacts"),
            skip_resting: is_economical,
            on_change: self.boolean("log.on_change"),
            change_tolerance: self.real("log.change_tolerance"),
            limit_mb: self.count("log.limit_mb"),
            when_full: if self.text("log.when_full") == "end_run" { WhenFull::EndRun } else { WhenFull::EndLog },
            snapshot_interval_s: Some(self.real("log.snapshot_interval_s")).filter(|&interval| interval > 0.0),
            start_without_database: self.boolean("log.start_without_database"),
            spill_folder: self.text("log.spill_folder").into(),
            spill_limit_mb: self.count("log.spill_limit_mb"),
            drain: Duration::from_secs_f64(self.real("log.drain_s")),
        }
    }

    fn server(&mut self) -> server::Settings {
        let (any_free, offset) = (self.boolean("server.free_ports"), self.count("server.port_offset"));
        let bind: std::net::IpAddr = self.text("server.bind").parse().expect(ACCEPTED);
        server::Settings {
            bind,
            spawn: match self.text("server.spawn").as_str() {
                "always" => true,
                "never" => false,
                _ => bind.is_loopback(),
            },
            logs_images: self.text("log.images") == "hash",
            control_port: self.count("server.control_port"),
            ports: if any_free { PortChoice::AnyFree } else { PortChoice::Moved(offset) },
            token: Some(self.text("server.token")).filter(|token| !token.is_empty()),
            limits: Limits {
                connections: self.count("server.connections"),
                connections_per_port: self.count("server.connections_per_port"),
                ..Limits::default()
            },
        }
    }

    fn viewer_port(&mut self) -> Option<u16> {
        let (enabled, port) = (self.boolean("viewer.enabled"), self.count("viewer.port"));
        enabled.then_some(port)
    }

    fn realtime(&mut self) -> Scheduling {
        Scheduling {
            priority: self.count("realtime.priority"),
            fast_niceness: self.count("realtime.fast_niceness"),
            lock_memory: self.boolean("realtime.lock_memory"),
        }
    }

    fn value(&mut self, path: &str) -> &SettingValue {
        let index = SETTINGS.iter().position(|setting| setting.path() == path);
        let index = index.expect("every path named here is in the table: each run reads them all");
        self.read[index] = true;
        &self.values[index]
    }

    fn boolean(&mut self, path: &str) -> bool {
        match self.value(path) {
            SettingValue::Boolean(value) => *value,
            other => unreachable!("{path} is {other:?}, but {ACCEPTED}"),
        }
    }

    fn count<T: TryFrom<i64>>(&mut self, path: &str) -> T {
        match self.value(path) {
            SettingValue::Integer(value) => T::try_from(*value).ok().expect(ACCEPTED),
            other => unreachable!("{path} is {other:?}, but {ACCEPTED}"),
        }
    }

    fn real(&mut self, path: &str) -> f64 {
        match self.value(path) {
            SettingValue::Real(value) => *value,
            other => unreachable!("{path} is {other:?}, but {ACCEPTED}"),
        }
    }

    fn names(&mut self, path: &str) -> Vec<String> {
        let text = self.text(path);
        text.split([' ', ',', '\t']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    fn text(&mut self, path: &str) -> String {
        match self.value(path) {
            SettingValue::Text(text) => text.clone(),
            other => unreachable!("{path} is {other:?}, but {ACCEPTED}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_read() {
        let (_, read) = Config::from_values(Layers::defaults().values, Parameters::default());
        let unread: Vec<String> = SETTINGS.iter().zip(read).filter(|(_, read)| !read).map(|(s, _)| s.path()).collect();
        assert_eq!(unread, Vec::<String>::new());
    }
}
