//! `simpartner devices`: what can be read and driven, and where.

use serde_json::{Value, json};

use super::{CliError, DevicesArguments, ExitStatus, output::line};
use crate::{device, signal::DeviceInfo, xml};

/// Lists the devices of the configured world.
pub(super) fn devices(arguments: &DevicesArguments) -> Result<ExitStatus, CliError> {
    let properties = arguments.configuration.properties(&[])?;
    let world = xml::read_world(&properties.simulation.world_file)?;
    let timestep = properties.simulation.timestep;
    let devices: Vec<DeviceInfo> = world.devices.iter().map(|spec| device::describe(spec, &world, timestep)).collect();
    if arguments.json {
        let robots =
            world.robots.iter().map(|robot| json!({ "name": robot.name, "port": robot.combined_port.number() }));
        let robots: Vec<Value> = robots.collect();
        line(format_args!(
            "{:#}",
            json!({ "devices": devices.iter().map(json_of).collect::<Vec<_>>(), "robots": robots })
        ));
        return Ok(ExitStatus::Success);
    }
    line(format_args!("{:<6} {:<16} {:<16} {:<14} {:<14} fields", "port", "device", "kind", "robot", "on"));
    for info in &devices {
        let fields: Vec<String> = info.fields.iter().map(|field| format!("{} [{}]", field.name, field.unit)).collect();
        line(format_args!(
            "{:<6} {:<16} {:<16} {:<14} {:<14} {}",
            info.port.number(),
            info.name,
            info.kind.name(),
            info.robot,
            info.attachment.name(),
            fields.join(", ")
        ));
    }
    for robot in &world.robots {
        let (port, name) = (robot.combined_port.number(), &robot.name);
        line(format_args!(
            "{port:<6} {name:<16} {:<16} {name:<14} {:<14} all of its readings and commands",
            "combined port", ""
        ));
    }
    Ok(ExitStatus::Success)
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
