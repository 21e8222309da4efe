//! Units of variables, in the words and the base units of FMI.

/// A unit: our word, FMI's word, exponents of base units, factor to them.
type Unit = (&'static str, &'static str, &'static str, f64);

/// All units of devices, and that of time. FMI's words are those of Modelica.
const KNOWN_UNITS: [Unit; 13] = [
    ("s", "s", "s=\"1\"", 1.0),
    ("m", "m", "m=\"1\"", 1.0),
    ("m/s", "m/s", "m=\"1\" s=\"-1\"", 1.0),
    ("m/s²", "m/s2", "m=\"1\" s=\"-2\"", 1.0),
    ("rad", "rad", "rad=\"1\"", 1.0),
    ("rad/s", "rad/s", "rad=\"1\" s=\"-1\"", 1.0),
    ("deg", "deg", "rad=\"1\"", std::f64::consts::PI / 180.0),
    ("N", "N", "kg=\"1\" m=\"1\" s=\"-2\"", 1.0),
    ("N m", "N.m", "kg=\"1\" m=\"2\" s=\"-2\"", 1.0),
    ("Pa", "Pa", "kg=\"1\" m=\"-1\" s=\"-2\"", 1.0),
    ("T", "T", "kg=\"1\" s=\"-2\" A=\"-1\"", 1.0),
    ("1/s", "1/s", "s=\"-1\"", 1.0),
    ("1/s²", "1/s2", "s=\"-2\"", 1.0),
];

/// FMI's word for a unit; `None` for a plain number.
pub(super) fn fmi_unit(unit: &str) -> Option<&'static str> {
    KNOWN_UNITS.iter().find(|(own, ..)| *own == unit).map(|(_, word, ..)| *word)
}

/// The element `UnitDefinitions` with these units of ours.
pub(super) fn unit_definitions(used: &[&str]) -> String {
    let mut text = String::from("  <UnitDefinitions>\n");
    for (_, word, exponents, factor) in KNOWN_UNITS.iter().filter(|(own, ..)| used.contains(own)) {
        let factor = if *factor == 1.0 { String::new() } else { format!(" factor=\"{factor}\"") };
        text += &format!("    <Unit name=\"{word}\"><BaseUnit {exponents}{factor}/></Unit>\n");
    }
    text + "  </UnitDefinitions>\n"
}

#[cfg(test)]
mod tests {
    use simpartner_wire::signal::DeviceKind;

    use super::*;

    #[test]
    fn every_unit_of_a_device_is_known() {
        for kind in DeviceKind::ALL {
            for quantity in kind.description().quantities {
                for unit in [Some(quantity.unit), quantity.linear_unit].into_iter().flatten() {
                    assert!(unit == "1" || fmi_unit(unit).is_some(), "{kind}: {unit}");
                }
            }
        }
    }
}
