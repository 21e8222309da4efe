//! Air and water of a world, and the properties of bodies in them.

use bevy_math::DVec3;
use simpartner_model::{Air, Body, FluidDamping, FluidDrag, FluidProperties, Fluids, Water, Wing};

use super::{
    body::{optional_pose, vector},
    node::Node,
    reading::{Reading, is_given},
};
use crate::text::tree::child;

/// Three attributes with this prefix and the names of the axes.
fn along_axes(reading: &Reading, node: &Node, prefix: &str) -> Option<DVec3> {
    let [x, y, z] = ["X", "Y", "Z"].map(|axis| reading.attribute_real(node, &format!("{prefix}{axis}")));
    Some(DVec3::new(x?, y?, z?))
}

/// `<air>` and `<water>` of a world whose origin is at this altitude, m.
pub(super) fn read_fluids(reading: &Reading, root: &Node, altitude: f64) -> Option<Fluids> {
    let air = match child(root, "air") {
        Some(node) => Some(Air {
            density: reading.attribute_real(node, "density")?,
            altitude,
            wind: along_axes(reading, node, "wind")?,
            shear_exponent: reading.attribute_real(node, "shearExponent")?,
            reference_height: reading.attribute_real(node, "referenceHeight")?,
            gust: reading.attribute_real(node, "gust")?,
            gust_length: reading.attribute_real(node, "gustLength")?,
        }),
        None => None,
    };
    let water = match child(root, "water") {
        Some(node) => Some(Water {
            density: reading.attribute_real(node, "density")?,
            level: reading.attribute_real(node, "level")?,
            current: along_axes(reading, node, "current")?,
        }),
        None => None,
    };
    Some(Fluids { air, water })
}

/// The properties of a body in fluids; `None` if one is invalid.
pub(super) fn read_properties(reading: &Reading, node: &Node) -> Option<FluidProperties> {
    let frame = &node.context.frame;
    let mut properties = FluidProperties::default();
    for drag in node.children.iter().filter(|child| child.name == "drag") {
        properties.drags.push(FluidDrag {
            point: frame.mirror(vector(reading, drag)?),
            area: reading.attribute_real(drag, "coefficient")? * reading.attribute_real(drag, "area")?,
        });
    }
    for wing in node.children.iter().filter(|child| child.name == "wing") {
        let real = |name| reading.attribute_real(wing, name);
        properties.wings.push(Wing {
            pose: optional_pose(reading, wing)?,
            area: real("area")?,
            angle: real("angle")?,
            lift_slopes: [real("liftSlope")?, real("stalledLiftSlope")?],
            base_drag: real("baseDrag")?,
            drag_slopes: [real("dragSlope")?, real("stalledDragSlope")?],
            moment_slope: real("momentSlope")?,
            chord: real("chord")?,
            stall: real("stallAngle")?,
        });
    }
    if let Some(damping) = child(node, "fluidDamping") {
        let axes = |prefix| along_axes(reading, damping, prefix);
        properties.damping = Some(FluidDamping {
            linear: [axes("linear")?, axes("linearRotation")?],
            quadratic: [axes("quadratic")?, axes("quadraticRotation")?],
        });
    }
    if let Some(buoyancy) = child(node, "buoyancy") {
        properties.is_buoyant = true;
        if is_given(buoyancy, "volume") {
            properties.displaced_volume = Some(reading.attribute_real(buoyancy, "volume")?);
        }
    }
    Some(properties)
}

/// False, with a problem, if a property needs a shape and the body has none.
pub(super) fn check_shape(reading: &Reading, node: &Node, body: &Body) -> bool {
    let needs_volume = ["buoyancy", "fluidDamping"].into_iter().find_map(|tag| child(node, tag));
    let Some(needs_volume) = needs_volume.filter(|_| body.collision_shape().is_none()) else { return true };
    let message = format!("<{}> of '{}' has no effect without a shape", needs_volume.name, body.name);
    reading.problem_with_help(needs_volume.offset, message, "give the body a shape, which displaces the fluid");
    false
}
