//! `simpartner devices`: the sensors and actuators of a world, with their ports.

use clap::Args;
use serde_json::{Value, json};
use simpartner_description::xml;
use simpartner_terminal::output::line;
use simpartner_wire::ports_file::PortsFile;
use simpartner_wire::signal::DeviceInfo;

use super::{
    arguments::ConfigurationArguments,
    exit::{CliError, ExitStatus},
    format::ReportArguments,
    ports,
};
use crate::{config::Config, device};

#[derive(Debug, Args)]
pub(super) struct DevicesArguments {
    #[command(flatten)]
    configuration: ConfigurationArguments,
    #[command(flatten)]
    report: ReportArguments,
}

/// Lists the devices of the configured world.
pub(super) fn devices(arguments: &DevicesArguments) -> Result<ExitStatus, CliError> {
    let config = arguments.configuration.config(&[])?;
    let settings = &config.simulation;
    let world = xml::read_world_or_robot(&settings.world_file, settings.fixed_base, &settings.parameters)?;
    let timestep = settings.timestep;
    let devices: Vec<DeviceInfo> = world.devices.iter().map(|spec| device::describe(spec, &world, timestep)).collect();
    let bound = BoundPorts::new(arguments, &config)?;
    let mut of_devices = Vec::new();
    for info in &devices {
        of_devices.push(bound.device(info)?);
    }
    let mut of_robots = Vec::new();
    for (robot, port) in world.robots() {
        of_robots.push(bound.robot(&robot.name, port.number())?);
    }
    if arguments.report.is_json() {
        let devices = devices.iter().zip(&of_devices).map(|(info, bound)| {
            let mut json = json_of(info);
            json["bound"] = json!(bound);
            json
        });
        let robots = world
            .robots()
            .zip(&of_robots)
            .map(|((robot, port), bound)| json!({ "name": robot.name, "port": port.number(), "bound": bound }));
        let (devices, robots): (Vec<Value>, Vec<Value>) = (devices.collect(), robots.collect());
        let json = json!({ "control": bound.control()?, "devices": devices, "robots": robots });
        line(format_args!("{json:#}"));
        return Ok(ExitStatus::Success);
    }
    let port = |bound: &Option<u16>| bound.map_or("any".to_owned(), |port| port.to_string());
    line(format_args!("{:<6} {:<16} {:<16} {:<14} {:<14} fields", "port", "device", "kind", "robot", "on"));
    for (info, bound) in devices.iter().zip(&of_devices) {
        let fields: Vec<String> = info.fields.iter().map(|field| format!("{} [{}]", field.name, field.unit)).collect();
        line(format_args!(
            "{:<6} {:<16} {:<16} {:<14} {:<14} {}",
            port(bound),
            info.name,
            info.kind.name(),
            info.robot,
            info.attachment.name(),
            fields.join(", ")
        ));
    }
    for (robot, bound) in world.mechanism.robots.iter().zip(&of_robots) {
        let (port, name) = (port(bound), &robot.name);
        line(format_args!(
            "{port:<6} {name:<16} {:<16} {name:<14} {:<14} all of its readings and commands",
            "combined port", ""
        ));
    }
    Ok(ExitStatus::Success)
}

/// Ports of devices, robots and the control port: from the ports file of a running server, otherwise from the settings.
/// `None` is any free port.
struct BoundPorts<'a> {
    config: &'a Config,
    file: Option<PortsFile>,
}

impl<'a> BoundPorts<'a> {
    fn new(arguments: &DevicesArguments, config: &'a Config) -> Result<Self, CliError> {
        // A file named by the settings exists only while a server runs. A file named by --ports-file has to exist.
        let file = match (&config.ports_file, &arguments.configuration.ports_file) {
            (Some(path), Some(_)) => Some(PortsFile::read(path)?),
            (Some(path), None) if path.exists() => Some(PortsFile::read(path)?),
            _ => None,
        };
        Ok(Self { config, file })
    }

    fn device(&self, info: &DeviceInfo) -> Result<Option<u16>, CliError> {
        match &self.file {
            Some(file) => {
                let device = file.devices.iter().find(|device| device.name == info.name && device.robot == info.robot);
                let Some(device) = device else { return Err(self.other_world(&info.name)) };
                Ok(Some(device.bound))
            }
            None => ports::opened_port(self.config, info.port.number(), &info.name),
        }
    }

    fn robot(&self, name: &str, port: u16) -> Result<Option<u16>, CliError> {
        match &self.file {
            Some(file) => match file.robots.iter().find(|robot| robot.name == name) {
                Some(robot) => Ok(Some(robot.bound)),
                None => Err(self.other_world(name)),
            },
            None => ports::opened_port(self.config, port, name),
        }
    }

    fn control(&self) -> Result<Option<u16>, CliError> {
        match &self.file {
            Some(file) => Ok(Some(file.control.port())),
            None => ports::opened_port(self.config, self.config.server.control_port, "the control port"),
        }
    }

    /// Error: the server that wrote the ports file does not have this name.
    fn other_world(&self, name: &str) -> CliError {
        let world = self.config.simulation.world_file.display();
        CliError::Input(format!(
            "--ports-file: the server that wrote it has no '{name}'; it runs another world than {world}, name it with --world"
        ))
    }
}

/// A device as JSON.
pub(super) fn json_of(info: &DeviceInfo) -> Value {
    let fields = info.fields.iter().map(
        |field| json!({ "name": field.name, "unit": field.unit, "lowest": field.lowest, "highest": field.highest }),
    );
    json!({
        "name": info.name,
        "kind": info.kind.name(),
        "robot": info.robot,
        info.attachment.noun(): info.attachment.name(),
        "port": info.port.number(),
        "interval_steps": info.interval_steps,
        "fields": fields.collect::<Vec<_>>(),
    })
}
