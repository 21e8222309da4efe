//! Soils: those that ship, and those of a world.

use simpartner_model::{PressureLaw, Soil};

use super::{node::Node, reading::Reading};

/// The soils that a world defines, by their names; `None` for an invalid one.
pub(super) struct Soils(pub(super) Vec<(String, Option<Soil>)>);

/// Reads every `<soil>` of a world.
pub(super) fn read(reading: &Reading, root: &Node) -> Soils {
    let nodes = root.children.iter().filter(|child| child.name == "soil");
    Soils(
        nodes
            .filter_map(|node| Some((reading.attribute_text(node, "name")?.to_owned(), read_soil(reading, node))))
            .collect(),
    )
}

fn read_soil(reading: &Reading, node: &Node) -> Option<Soil> {
    let like = Soil::named(reading.attribute_text(node, "like")?)?;
    let real = |name: &str, otherwise: f64| reading.attribute_real(node, name).unwrap_or(otherwise);
    let (cohesive, frictional) = match like.pressure {
        PressureLaw::Bekker { cohesive, frictional } | PressureLaw::Reece { cohesive, frictional } => {
            (cohesive, frictional)
        }
    };
    let reece = reading.attribute_text(node, "law") == Some("reece");
    let given = |name: &str| node.attributes.iter().any(|attribute| attribute.name == name);
    if reece && !(given("cohesionModulus") && given("frictionModulus")) {
        let message = "Reece's law has moduli without a unit, which no soil that ships has";
        reading.problem_with_help(
            reading.attribute_offset(node, "law"),
            message,
            "give cohesionModulus and frictionModulus",
        );
        return None;
    }
    let (cohesive, frictional) = (real("cohesionModulus", cohesive), real("frictionModulus", frictional));
    let soil = Soil {
        pressure: if reece {
            PressureLaw::Reece { cohesive, frictional }
        } else {
            PressureLaw::Bekker { cohesive, frictional }
        },
        exponent: real("exponent", like.exponent),
        slip_exponent: real("slipExponent", like.slip_exponent),
        cohesion: real("cohesion", like.cohesion),
        friction_angle: real("frictionAngle", like.friction_angle),
        shear_modulus: real("shearModulus", like.shear_modulus),
        density: real("density", like.density),
        peak: [real("peakAngle", like.peak[0]), real("peakAngleSlip", like.peak[1])],
        elastic_stiffness: real("elasticStiffness", like.elastic_stiffness),
        damping: real("damping", like.damping),
    };
    // Under a plate of a metre on the earth; with a zero cohesion and the first term alone, the modulus is zero.
    if soil.modulus(1.0, 9.81) <= 0.0 {
        let message =
            "this soil carries nothing: both of its moduli of pressure are zero, or multiplied by a cohesion of zero";
        reading.problem(node.offset, message);
        return None;
    }
    Some(soil)
}

impl Soils {
    /// The soil of a ground; `None` for firm ground.
    pub(super) fn of(&self, reading: &Reading, node: &Node) -> Option<Soil> {
        let name = reading.attribute_text(node, "soil")?;
        if let Some((_, own)) = self.0.iter().find(|(own, _)| own == name) {
            return *own;
        }
        let soil = Soil::named(name);
        if soil.is_none() {
            let ships = Soil::NAMED.map(|named| named.name).join(", ");
            let help = format!("it is the name of a <soil> of this world, or one of: {ships}");
            reading.problem_with_help(
                reading.attribute_offset(node, "soil"),
                format!("there is no soil '{name}'"),
                &help,
            );
        }
        soil
    }
}
