//! `simpartner fmu`: writes a world as a functional mock-up unit.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use simpartner_terminal::output::line;

use super::{
    arguments::ConfigurationArguments,
    exit::{CliError, ExitStatus},
    patience::with_notes,
};
use crate::fmu::{FmiVersion, FmuModel, FmuParameter, LIBRARY_VARIABLE, find_libraries, write_fmu};

#[derive(Debug, Args)]
pub(super) struct FmuArguments {
    /// World file, or a robot file, which then stands on level ground; in SimPartner's format, URDF, MJCF or SDF
    #[arg(value_hint = ValueHint::FilePath)]
    world: String,
    /// FMU to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Version of FMI: 3 for FMI 3.0, 2 for FMI 2.0
    #[arg(long, value_name = "VERSION", default_value = "3", value_parser = ["3", "2"])]
    fmi: String,
    /// Library libsimpartner.so, libsimpartner.dylib or simpartner.dll to put into the FMU; may be given several times,
    /// once for each platform [default: that of this machine, beside the program or in ../lib]
    #[arg(long, value_name = "FILE")]
    library: Vec<PathBuf>,
    /// Value of the world's or a robot's files that users of the FMU may change, with its value at first, as
    /// `--parameter surface.friction=0.4`; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    parameter: Vec<String>,
    /// Properties file with settings [default: properties.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    properties: Option<PathBuf>,
    /// Fix the root link of a robot file to the ground
    #[arg(long)]
    fixed_base: bool,
    /// Value of any other setting, as `--set section.key=value`; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Value of the world's or a robot's files that is replaced, as `--model surface.friction=0.4`; may be given
    /// several times
    #[arg(long, value_name = "PATH=VALUE")]
    model: Vec<String>,
}

/// Writes the FMU, and prints its variables in figures.
pub(super) fn write_unit(arguments: &FmuArguments) -> Result<ExitStatus, CliError> {
    let FmuArguments { world, output, properties, fixed_base, set, model, .. } = arguments;
    let configuration = ConfigurationArguments {
        properties: properties.clone(),
        world: Some(world.clone()),
        fixed_base: *fixed_base,
        set: set.clone(),
        model: model.clone(),
        ..ConfigurationArguments::default()
    };
    let config = configuration.config(&[])?;
    let version = if arguments.fmi == "2" { FmiVersion::Two } else { FmiVersion::Three };
    let program = std::env::current_exe().ok();
    let variable = std::env::var_os(LIBRARY_VARIABLE).map(PathBuf::from);
    let libraries = find_libraries(&arguments.library, variable, program.as_deref())?;
    let parameters = arguments.parameter.iter().map(|text| FmuParameter::parse(text)).collect::<Result<_, _>>()?;
    let model = with_notes(world, || FmuModel::of_config(&config, parameters))?;
    let summary = write_fmu(output, version, &model, &libraries, config.simulation.duration_s)?;
    let platforms: Vec<&str> = libraries.iter().map(|library| library.folder_3).collect();
    line(format_args!(
        "{}: FMI {}.0, {} inputs, {} outputs, step {} s, {}, {:.1} MB",
        output.display(),
        arguments.fmi,
        summary.inputs,
        summary.outputs,
        config.simulation.timestep.seconds(),
        platforms.join(" and "),
        summary.bytes as f64 / 1e6
    ));
    Ok(ExitStatus::Success)
}
