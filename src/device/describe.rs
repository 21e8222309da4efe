//! The description of a device for clients, from the table of kinds and the model.

use simpartner_description::{DeviceSpec, Mount, Scanner, World};
use simpartner_model::Timestep;
use simpartner_wire::signal::{Attachment, DeviceInfo, DeviceKind, Field, Quantity};

/// The description of a device for clients.
pub fn describe(device: &simpartner_description::Device, world: &World, timestep: Timestep) -> DeviceInfo {
    let (attachment, linear) = match device.spec.mount() {
        Mount::Body { body, .. } => (Attachment::Body(world.mechanism.body(body).name.clone()), false),
        Mount::Joint(id) => {
            let joint = world.mechanism.joint(id);
            (Attachment::Joint(joint.name.clone()), joint.kind.is_linear())
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

/// Steps from one reading to the next: the whole number nearest to the rate, at least one.
pub(super) fn interval_steps(rate_hz: Option<f64>, timestep: Timestep) -> u64 {
    rate_hz.map_or(1, |rate| timestep.steps_in(1.0 / rate).max(1))
}

/// The numbers of a device's frame, in order; `linear` if its joint slides.
pub(super) fn fields(spec: &DeviceSpec, linear: bool) -> Vec<Field> {
    let quantities = spec.kind().description().quantities;
    match spec {
        DeviceSpec::Sensor(sensor) => match sensor.rays() {
            Some(rays) => {
                let distance = field(&quantities[0], quantities[0].fields[0], false);
                let names = if sensor.kind == DeviceKind::ScannerSensor {
                    ray_names(rays)
                } else {
                    vec![distance.name.clone()]
                };
                names.into_iter().map(|name| Field { name, highest: rays.range, ..distance.clone() }).collect()
            }
            None => all(quantities, linear),
        },
        DeviceSpec::Actuator(_) => {
            let mut fields = all(quantities, linear);
            if linear && spec.kind() == DeviceKind::AngleController {
                // On a joint that slides, the target is a position.
                fields.iter_mut().for_each(|field| field.name = field.name.replace("angle", "position"));
            }
            fields
        }
    }
}

/// The names of a scanner's fields: fan by fan, ray by ray.
fn ray_names(scanner: Scanner) -> Vec<String> {
    let places = (1..=scanner.layers).flat_map(|layer| (1..=scanner.rays).map(move |ray| (layer, ray)));
    let name = |(layer, ray)| match scanner.layers {
        1 => format!("distance_{ray}"),
        _ => format!("distance_{layer}_{ray}"),
    };
    places.map(name).collect()
}

fn all(quantities: &[Quantity], linear: bool) -> Vec<Field> {
    let names = quantities.iter().flat_map(|quantity| quantity.fields.iter().map(move |name| (quantity, name)));
    names.map(|(quantity, name)| field(quantity, name, linear)).collect()
}

fn field(quantity: &Quantity, name: &str, linear: bool) -> Field {
    let unit = quantity.linear_unit.filter(|_| linear).unwrap_or(quantity.unit);
    Field { name: name.to_owned(), unit, lowest: quantity.lowest, highest: quantity.highest }
}
