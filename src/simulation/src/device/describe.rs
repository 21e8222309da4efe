//! The description of a device for clients, from the table of kinds and the model.

use simpartner_description::{DeviceSpec, Mount, Scanner, World};
use simpartner_model::Timestep;
use simpartner_wire::signal::{Attachment, DeviceInfo, DeviceKind, Field, Quantity};

/// The description of a device for clients.
pub fn describe(device: &simpartner_description::Device, world: &World, timestep: Timestep) -> DeviceInfo {
    let attachment = match device.spec.mount() {
        Mount::Body { body, .. } => Attachment::Body(world.mechanism.body(body).name.clone()),
        Mount::Joint(id) => Attachment::Joint(world.mechanism.joint(id).name.clone()),
    };
    DeviceInfo {
        name: device.name.clone(),
        kind: device.spec.kind(),
        robot: world.mechanism.robot(device.robot).name.clone(),
        attachment,
        port: device.port,
        fields: device_fields(&device.spec, world),
        interval_steps: interval_steps(device.spec.rate_hz(), timestep),
        camera: match &device.spec {
            DeviceSpec::Sensor(sensor) => sensor.camera().map(|camera| camera.optics),
            DeviceSpec::Actuator(_) | DeviceSpec::Vehicle(_) => None,
        },
        source: device.source.clone(),
    }
}

/// Steps from one reading to the next: the period of the rate, rounded to a whole number of steps, at least one.
pub(super) fn interval_steps(rate_hz: Option<f64>, timestep: Timestep) -> u64 {
    rate_hz.map_or(1, |rate| timestep.steps_in(1.0 / rate).max(1))
}

/// The fields of a device's frame, in order.
pub(super) fn device_fields(spec: &DeviceSpec, world: &World) -> Vec<Field> {
    let kind = spec.joint().map(|joint| world.mechanism.joint(joint).kind);
    let linear = [0, 1, 2].map(|index| kind.is_some_and(|kind| kind.is_linear(index)));
    let quantities = spec.kind().description().quantities;
    match spec {
        DeviceSpec::Sensor(sensor) => match sensor.rays() {
            Some(rays) => {
                let distance = new_field(&quantities[0], quantities[0].fields[0], false);
                let names = if sensor.kind == DeviceKind::ScannerSensor {
                    ray_field_names(rays)
                } else {
                    vec![distance.name.clone()]
                };
                names.into_iter().map(|name| Field { name, highest: rays.range, ..distance.clone() }).collect()
            }
            None => quantity_fields(quantities, linear).collect(),
        },
        // On a sliding joint, an angle controller's target is a position.
        DeviceSpec::Actuator(_) | DeviceSpec::Vehicle(_) => quantity_fields(quantities, linear)
            .map(|field| match field.unit {
                "m" => Field { name: field.name.replace("angle", "position"), ..field },
                _ => field,
            })
            .collect(),
    }
}

/// The names of a scanner's fields: fan by fan, ray by ray.
fn ray_field_names(scanner: Scanner) -> Vec<String> {
    let places = (1..=scanner.layers).flat_map(|layer| (1..=scanner.rays).map(move |ray| (layer, ray)));
    let name = |(layer, ray)| match scanner.layers {
        1 => format!("distance_{ray}"),
        _ => format!("distance_{layer}_{ray}"),
    };
    places.map(name).collect()
}

/// All fields of some quantities. A quantity with a unit for sliding joints has a field for each of the joint's
/// coordinates; `linear` tells which coordinates slide.
fn quantity_fields(quantities: &[Quantity], linear: [bool; 3]) -> impl Iterator<Item = Field> {
    quantities.iter().flat_map(move |quantity| {
        let fields = quantity.fields.iter().enumerate();
        fields.map(move |(index, name)| new_field(quantity, name, linear.get(index).is_some_and(|linear| *linear)))
    })
}

fn new_field(quantity: &Quantity, name: &str, linear: bool) -> Field {
    let unit = quantity.linear_unit.filter(|_| linear).unwrap_or(quantity.unit);
    Field { name: name.to_owned(), unit, lowest: quantity.lowest, highest: quantity.highest }
}
