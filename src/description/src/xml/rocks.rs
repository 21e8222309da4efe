//! Rocks that are scattered by seed.

use std::{collections::HashSet, f64::consts::FRAC_PI_6};

use bevy_math::DVec3;
use simpartner_model::{Body, Ground, Mechanism, Placed, Pose, Rock, RockField, RockSizes, Shape};

use super::{body::read_material, node::Node, reading::Reading};
use crate::limits::MAX_BODIES;

/// Random tries of a field of rocks: a tenth of a second.
const MAX_TRIES: f64 = 1e6;
/// Initial height of a loose rock above the ground, as a fraction of its diameter, because the ground may be higher
/// between its corners than below them.
const INITIAL_LIFT: f64 = 0.01;

/// Adds the rocks of every `<rocks>` to the objects of a mechanism that has its grounds.
pub(super) fn scatter(reading: &Reading, root: &Node, mechanism: &mut Mechanism) {
    let mut names: HashSet<String> = mechanism.bodies.iter().map(|body| body.name.clone()).collect();
    for node in root.children.iter().filter(|child| child.name == "rocks") {
        let Some(rocks) = read(reading, node, &mechanism.grounds) else { continue };
        if rocks.is_empty() {
            let help = "look at its place, and give it more cover or smaller rocks";
            reading.warn(node.offset, "this field has no rocks on any ground".into(), help.into());
        }
        for rock in rocks {
            if mechanism.bodies.len() == MAX_BODIES {
                let help = "make the field smaller, or the smallest rock larger";
                reading.problem_with_help(
                    node.offset,
                    format!("with these rocks there are more than {MAX_BODIES} bodies"),
                    help,
                );
                return;
            }
            if !names.insert(rock.name.clone()) {
                let message = format!("there is an object '{}' already", rock.name);
                reading.problem_with_help(
                    reading.attribute_offset(node, "name"),
                    message,
                    "give these rocks another name",
                );
                return;
            }
            mechanism.bodies.push(rock);
        }
    }
}

/// The rocks of an element.
fn read(reading: &Reading, node: &Node, grounds: &[Ground]) -> Option<Vec<Body>> {
    let real = |name| reading.attribute_real(node, name);
    let field = RockField {
        seed: reading.attribute_whole(node, "seed")? as u64,
        sizes: RockSizes { cover: real("cover")? },
        smallest: real("smallest")?,
        largest: real("largest")?,
        width: real("width")?,
        depth: real("depth")?,
    };
    if field.largest < field.smallest {
        let message =
            format!("the largest rock, {} m, is smaller than the smallest, {} m", field.largest, field.smallest);
        reading.problem(reading.attribute_offset(node, "largest"), message);
        return None;
    }
    if field.tries() > MAX_TRIES {
        let message =
            format!("this field has {:.1e} random tries of rocks, at most {MAX_TRIES:e} are made", field.tries());
        reading.problem_with_help(node.offset, message, "make it smaller, or the smallest rock larger");
        return None;
    }
    if !grounds.iter().any(|ground| !matches!(ground, Ground::Mesh(_))) {
        let message = "there is no ground for rocks to lie on";
        reading.problem_with_help(
            node.offset,
            message,
            "they lie on each <surface> and <heightfield>, not on the triangles of a <ground>",
        );
        return None;
    }
    let clear = node.children.iter().filter(|child| child.name == "clear");
    let clear: Option<Vec<[f64; 3]>> = clear
        .map(|node| {
            Some([
                reading.attribute_real(node, "x")?,
                reading.attribute_real(node, "z")?,
                reading.attribute_real(node, "radius")?,
            ])
        })
        .collect();
    let layer = Layer {
        grounds,
        middle: [real("x")?, real("z")?],
        clear: clear?,
        height_ratio: real("heightRatio")?,
        loose_below: real("looseBelow")?,
        density: real("density")?,
        like: Body { material: read_material(reading, node)?, source: reading.source(node), ..Body::default() },
    };
    Some(layer.place_field(reading.attribute_text(node, "name")?, field))
}

/// Placement of rocks on the ground.
struct Layer<'g> {
    grounds: &'g [Ground],
    /// x and z of the middle of the field.
    middle: [f64; 2],
    /// x, z and radius of the areas without rocks.
    clear: Vec<[f64; 3]>,
    height_ratio: f64,
    loose_below: f64,
    density: f64,
    /// Properties that all rocks share.
    like: Body,
}

impl Layer<'_> {
    /// The rocks of a field that have ground below them and do not overlap; at most one more than a world may have.
    fn place_field(&self, name: &str, field: RockField) -> Vec<Body> {
        // x, z and radius of the rocks placed so far.
        let mut lain: Vec<[f64; 3]> = Vec::new();
        let mut bodies = Vec::new();
        for (index, rock) in field.rocks().enumerate() {
            if bodies.len() > MAX_BODIES {
                break;
            }
            let loose = rock.diameter < self.loose_below;
            let Some((pose, corners)) = self.place_rock(&rock, loose) else { continue };
            let reach = corners.iter().map(|corner| libm::hypot(corner.x, corner.z)).fold(0.0, f64::max);
            let at = pose.translation;
            let meets = |[x, z, radius]: &[f64; 3]| libm::hypot(at.x - x, at.z - z) < radius + reach;
            if self.clear.iter().any(meets) || loose && lain.iter().any(meets) {
                continue;
            }
            if self.loose_below > 0.0 {
                lain.push([at.x, at.z, reach]);
            }
            let volume = FRAC_PI_6 * rock.diameter * rock.diameter * self.height_ratio * rock.diameter;
            let shape = Some(Placed { pose: Pose::IDENTITY, shape: Shape::ConvexHull { points: corners } });
            let mass = if loose { self.density * volume } else { 0.0 };
            bodies.push(Body {
                name: format!("{name}{}", index + 1),
                pose,
                fixed: !loose,
                mass,
                shape,
                ..self.like.clone()
            });
        }
        bodies
    }

    /// Pose of a rock and its corners; `None` without ground. A fixed rock is as deep below the ground as it is high
    /// above it, so that no part of it is in the air on a slope; a loose one stands on the highest ground below its
    /// corners.
    fn place_rock(&self, rock: &Rock, loose: bool) -> Option<(Pose, Vec<DVec3>)> {
        let [x, z] = [self.middle[0] + rock.place[0], self.middle[1] + rock.place[1]];
        let ground = self.height(x, z)?;
        let height = self.height_ratio * rock.diameter;
        let (half, middle) = (0.5 * height, DVec3::new(x, ground, z));
        if !loose {
            return Some((Pose { translation: middle, ..Pose::IDENTITY }, rock.corners(height, height)));
        }
        let corners = rock.corners(half, half);
        let over = corners.iter().map(|corner| Some(self.height(x + corner.x, z + corner.z)? - corner.y));
        let lowest = over.flatten().fold(ground, f64::max) + INITIAL_LIFT * rock.diameter;
        Some((Pose { translation: DVec3::new(x, lowest, z), ..Pose::IDENTITY }, corners))
    }

    /// The highest ground at a place.
    fn height(&self, x: f64, z: f64) -> Option<f64> {
        let heights = self.grounds.iter().filter_map(|ground| match ground {
            Ground::Plane(plane) => plane.height_at(x, z),
            Ground::Heightfield(field) => field.height_at(x, z),
            Ground::Mesh(_) => None,
        });
        heights.reduce(f64::max)
    }
}
