//! What clients may know of a device, from the table of kinds and the model.

use simpartner_description::{DeviceSpec, Measures, Mount, World};
use simpartner_model::{JointId, Timestep};
use simpartner_wire::signal::{Attachment, DeviceInfo, DeviceKind, Field, Quantity};

use super::interval_steps;

/// What clients may know of a device.
pub fn describe(device: &simpartner_description::Device, world: &World, timestep: Timestep) -> DeviceInfo {
    let joint = |id: JointId| Attachment::Joint(world.mechanism.joint(id).name.clone());
    let (attachment, linear) = match &device.spec {
        DeviceSpec::Sensor(sensor) => {
            let attachment = match sensor.mount {
                Mount::Body { body, .. } => Attachment::Body(world.mechanism.body(body).name.clone()),
                Mount::Joint(id) => joint(id),
            };
            (attachment, sensor.is_on_slider(world))
        }
        DeviceSpec::Actuator(actuator) => {
            (joint(actuator.joint), world.mechanism.joint(actuator.joint).kind.is_linear())
        }
    };
    DeviceInfo {
        name: device.name.clone(),
        kind: device.spec.kind(),
        robot: world.mechanism.robot(device.robot).name.clone(),
        attachment,
        port: device.port,
        fields: fields(&device.spec, linear),
        interval_steps: interval_steps(device.spec.rate_hz(), timestep),
        source: device.source.clone(),
    }
}

/// The numbers of a device's frame, in order; `linear` where its joint slides.
pub(super) fn fields(spec: &DeviceSpec, linear: bool) -> Vec<Field> {
    let quantities = spec.kind().description().quantities;
    match spec {
        DeviceSpec::Sensor(sensor) => match sensor.measures {
            Measures::Scan(scanner) => (0..scanner.layers)
                .flat_map(|layer| (1..=scanner.rays).map(move |ray| (layer, ray)))
                .map(|(layer, ray)| Field {
                    name: match scanner.layers {
                        1 => format!("distance_{ray}"),
                        _ => format!("distance_{}_{ray}", layer + 1),
                    },
                    highest: scanner.range,
                    ..field(&quantities[0], quantities[0].fields[0], false)
                })
                .collect(),
            Measures::Distance { range } => {
                vec![Field { highest: range, ..field(&quantities[0], quantities[0].fields[0], false) }]
            }
            _ => all(quantities, linear),
        },
        DeviceSpec::Actuator(_) => {
            let mut fields = all(quantities, linear);
            if linear && spec.kind() == DeviceKind::AngleController {
                // What it turns by is an angle; what it slides by is a position.
                fields.iter_mut().for_each(|field| field.name = field.name.replace("angle", "position"));
            }
            fields
        }
    }
}

fn all(quantities: &[Quantity], linear: bool) -> Vec<Field> {
    let names = quantities.iter().flat_map(|quantity| quantity.fields.iter().map(move |name| (quantity, name)));
    names.map(|(quantity, name)| field(quantity, name, linear)).collect()
}

fn field(quantity: &Quantity, name: &str, linear: bool) -> Field {
    let unit = quantity.linear_unit.filter(|_| linear).unwrap_or(quantity.unit);
    Field { name: name.to_owned(), unit, lowest: quantity.lowest, highest: quantity.highest }
}
