//! Flags that several verbs share: they determine the configuration.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint, builder::PossibleValuesParser};
use simpartner_description::{Parameter, xml};

use super::exit::CliError;
use crate::config::{self, Config, Override, PropertiesFile};

/// Default properties file. It is read if it exists.
const PROPERTIES_FILE: &str = "properties.toml";

/// Largest size of a properties file, bytes: eighty times the file with all settings and their descriptions.
const MAX_PROPERTIES_SIZE: usize = 1 << 20;

/// The words that a setting accepts, for the help, the completion and the check of its flag.
pub(super) fn choices(setting: &str) -> PossibleValuesParser {
    config::choices(setting).into()
}

/// Flags that change the configuration for one call.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct ConfigurationArguments {
    /// Properties file with settings [default: properties.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(super) properties: Option<PathBuf>,
    /// World file, or a robot file, which then stands on level ground; in SimPartner's format, URDF, MJCF or SDF
    /// [default: the setting simulation.world_file]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) world: Option<String>,
    /// Fix the root link of a robot file to the ground
    #[arg(long)]
    pub(super) fixed_base: bool,
    /// Number that is added to all ports of the world and the settings, from -64510 to 64510, so that several servers
    /// can run on one machine. A port that is given with --set stays as it is [default: 0]
    #[arg(long, value_name = "N")]
    pub(super) port_offset: Option<String>,
    /// Use any free ports in place of those of the world and the settings; --ports-file lists them
    #[arg(long)]
    pub(super) free_ports: bool,
    /// JSON file with all ports of a running server. `run` writes it, and removes it at the end; other verbs read it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) ports_file: Option<String>,
    /// Value of any other setting, as `--set section.key=value`; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Value of the world's or a robot's files that is replaced, as `--model surface.friction=0.4` or `--model
    /// 'WorkPartner.Wheel*.mass=*1.1'`; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) model: Vec<String>,
    #[command(flatten)]
    pub(super) folders: ModelArguments,
}

/// Where models and packages of other programs are looked for.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct ModelArguments {
    /// Folder with models of Gazebo, packages of ROS or a cache of Gazebo Fuel, which is searched for what files of
    /// other programs name; may be given several times
    #[arg(long = "models", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    models: Vec<PathBuf>,
}

impl ModelArguments {
    /// Lets everything that is read from now on be looked for in these folders.
    pub(super) fn search(&self) -> Result<(), CliError> {
        if let Some(missing) = self.models.iter().find(|folder| !folder.is_dir()) {
            return Err(CliError::Usage(format!("--models: there is no folder '{}'", missing.display())));
        }
        xml::search_models_in(&self.models);
        Ok(())
    }
}

impl ConfigurationArguments {
    /// Loads the configuration from all layers. `flags` are settings given by the verb's own flags.
    pub(super) fn config(&self, flags: &[Override<'_>]) -> Result<Config, CliError> {
        self.folders.search()?;
        let path = self.properties.as_deref().unwrap_or(Path::new(PROPERTIES_FILE));
        let name = path.to_string_lossy();
        // Only the default file may be missing.
        let is_there = self.properties.is_some() || path.try_exists().unwrap_or(true);
        let text = is_there.then(|| xml::read_file(&name, MAX_PROPERTIES_SIZE)).transpose();
        let text = text
            .map_err(|problem| CliError::Usage(format!("--properties: cannot read '{name}': {}", problem.message)))?;
        let file = text.as_deref().map(|text| PropertiesFile { path: &name, text });
        let mut all = overrides(&self.set)?;
        let parameters = self.model.iter().map(|given| Parameter::parse(given)).collect::<Result<Vec<_>, _>>();
        let parameters = parameters.map_err(|error| CliError::Usage(format!("--model: {error}")))?;
        let parameters: Vec<_> =
            parameters.iter().map(|given| (format!("model.{}", given.path), given.value.to_string())).collect();
        all.extend(parameters.iter().map(|(key, text)| Override { name: "--model", key, text }));
        let given = [
            ("--world", "simulation.world_file", self.world.as_deref()),
            ("--fixed-base", "simulation.fixed_base", self.fixed_base.then_some("true")),
            ("--port-offset", "server.port_offset", self.port_offset.as_deref()),
            ("--free-ports", "server.free_ports", self.free_ports.then_some("true")),
            ("--ports-file", "server.ports_file", self.ports_file.as_deref()),
        ];
        all.extend(given.into_iter().filter_map(|(name, key, text)| text.map(|text| Override { name, key, text })));
        all.extend(flags);
        Ok(Config::load(file, std::env::vars_os(), &all)?)
    }
}

/// The settings given as `--set section.key=value`.
pub(super) fn overrides(set: &[String]) -> Result<Vec<Override<'_>>, CliError> {
    let mut overrides = Vec::new();
    for given in set {
        let (key, text) = given
            .split_once('=')
            .ok_or_else(|| CliError::Usage(format!("--set: expected SECTION.KEY=VALUE, got '{given}'")))?;
        overrides.push(Override { name: "--set", key, text });
    }
    Ok(overrides)
}
