//! Settings of a simulation inside another program: in Python, in C, in an FMU.

use simpartner_description::Parameters;
use simpartner_embed::Options;

use super::{Config, Override, table::SETTINGS};

/// The sections, or single settings, that a simulation without a server reads.
const EMBEDDED_KEYS: [&str; 7] =
    ["physics.", "dynamics.", "rapier.", "model.", "simulation.timestep_s", "simulation.seed", "simulation.fixed_base"];

/// The settings that a simulation without a server reads.
#[derive(Debug, Clone)]
pub struct EmbeddedSettings {
    /// Timestep, seed and physics.
    pub options: Options,
    /// True if the base of an imported robot is fixed.
    pub fixed_base: bool,
    /// Values of the model's files that are replaced.
    pub parameters: Parameters,
}

impl EmbeddedSettings {
    /// The settings of these names, `section.key`, and values; the defaults for all others.
    ///
    /// # Errors
    /// A name is unknown, only a server reads it, or a value does not fit; the text names it.
    pub fn read(given: &[(String, String)]) -> Result<Self, String> {
        let overrides: Vec<Override<'_>> =
            given.iter().map(|(key, text)| Override { name: "settings", key, text }).collect();
        let config = Config::load(None, [], &overrides).map_err(|error| error.to_string())?;
        if let Some((key, _)) = given.iter().find(|(key, _)| !is_embedded(key)) {
            return Err(format!(
                "settings: {key} is for a server; a simulation in this process has those of physics, dynamics and \
                 rapier, simulation.timestep_s, simulation.seed, simulation.fixed_base, and model.PATH"
            ));
        }
        Ok(Self::of_config(&config))
    }

    /// The settings of a configuration.
    pub fn of_config(config: &Config) -> Self {
        let simulation = &config.simulation;
        let options = Options { timestep: simulation.timestep, seed: simulation.seed, physics: config.physics.clone() };
        Self { options, fixed_base: simulation.fixed_base, parameters: simulation.parameters.clone() }
    }
}

impl Config {
    /// Names and values of the settings that a simulation without a server reads, without the parameters of the model.
    /// [`EmbeddedSettings::read`] reads them.
    pub fn embedded_values(&self) -> Vec<(String, String)> {
        let all = SETTINGS.iter().zip(&self.values).map(|(setting, value)| (setting.path(), value.plain_text()));
        all.filter(|(key, _)| is_embedded(key)).collect()
    }
}

fn is_embedded(key: &str) -> bool {
    EMBEDDED_KEYS.iter().any(|known| key.starts_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_again_are_the_same_settings() {
        let given =
            [("simulation.timestep_s", "0.0003"), ("simulation.seed", "7"), ("dynamics.max_speed_m_per_s", "12.5")];
        let overrides = given.map(|(key, text)| Override { name: "test", key, text });
        let config = Config::load(None, [], &overrides).unwrap();
        let again = EmbeddedSettings::read(&config.embedded_values()).unwrap();
        assert_eq!(again.options.seed, 7);
        assert_eq!(again.options.timestep, config.simulation.timestep);
        assert_eq!(again.options.physics, config.physics);
    }

    #[test]
    fn settings_of_a_server_are_refused_by_name() {
        let error = EmbeddedSettings::read(&[("server.bind".into(), "0.0.0.0".into())]).unwrap_err();
        assert!(error.starts_with("settings: server.bind is for a server"), "{error}");
    }
}
