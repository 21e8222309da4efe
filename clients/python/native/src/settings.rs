//! Settings by the names that a server has for them.

use simpartner::config::{Config, Override};
use simpartner_description::Parameters;
use simpartner_embed::Options;

/// The sections, or single settings, that a simulation without a server reads.
const KNOWN: [&str; 7] =
    ["physics.", "dynamics.", "rapier.", "model.", "simulation.timestep_s", "simulation.seed", "simulation.fixed_base"];

/// The settings of these names and values, the defaults for all others. The second result says that the base of an
/// imported robot is fixed, the third has the values of the model that are replaced.
///
/// # Errors
/// A name is unknown, only a server reads it, or a value does not fit; the text names it.
pub(crate) fn read_settings(given: &[(String, String)]) -> Result<(Options, bool, Parameters), String> {
    let overrides: Vec<Override<'_>> =
        given.iter().map(|(key, text)| Override { name: "settings", key, text }).collect();
    let config = Config::load(None, [], &overrides).map_err(|error| error.to_string())?;
    if let Some((key, _)) = given.iter().find(|(key, _)| !KNOWN.iter().any(|known| key.starts_with(known))) {
        return Err(format!(
            "settings: {key} is for a server; a simulation in this process has those of physics, dynamics and rapier, and model.PATH"
        ));
    }
    let simulation = &config.simulation;
    let options = Options { timestep: simulation.timestep, seed: simulation.seed, physics: config.physics.clone() };
    Ok((options, simulation.fixed_base, simulation.parameters.clone()))
}
