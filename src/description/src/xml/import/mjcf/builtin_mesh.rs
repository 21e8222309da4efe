//! Meshes that MuJoCo makes from a few numbers: `<mesh builtin>`.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use bevy_math::DVec3;

use super::{
    super::attributes::{attribute, list},
    importer::Mjcf,
};
use crate::{mesh::Mesh, xml::node::Node};

/// The finest resolution: that of a sphere of 4 subdivisions, and of shapes with a grid.
const MAX_SUBDIVISIONS: f64 = 4.0;
const MAX_RESOLUTION: f64 = 100.0;

impl Mjcf<'_, '_> {
    /// A mesh of this kind. Without triangles it is the convex hull of its points.
    pub(super) fn read_builtin_mesh(&self, node: &Node) -> Option<Mesh> {
        let given = list(self.reading, node, "params").unwrap_or_default();
        let number = |index: usize, most: f64| given.get(index).copied().unwrap_or(0.0).clamp(0.0, most);
        let count = |index: usize, least: usize| (number(index, MAX_RESOLUTION) as usize).max(least);
        let kind = attribute(node, "builtin").unwrap_or_default();
        let (vertices, triangles) = match kind {
            "sphere" => (sphere_points(number(0, MAX_SUBDIVISIONS) as usize), Vec::new()),
            "hemisphere" => (hemisphere_points(count(0, 0)), Vec::new()),
            "cone" => (prism_points(count(0, 3), number(1, 1.0)), Vec::new()),
            "prism" => (prism_points(count(0, 3), 1.0), Vec::new()),
            "supersphere" => supersphere_surface(count(0, 3), number(1, 100.0), number(2, 100.0)),
            "supertorus" => supertorus_surface(count(0, 3), number(1, 1.0), number(2, 100.0), number(3, 100.0)),
            "wedge" | "plate" => {
                let what = format!("a <mesh> of the kind {kind} is left out");
                self.notes.add(
                    node.offset,
                    what,
                    "it is a surface that encloses no volume; its geoms are left out, too",
                );
                return None;
            }
            _ => {
                let help = "its geoms are, too; give it a file";
                self.notes.add(node.offset, format!("a <mesh> of the kind '{kind}' is left out"), help);
                return None;
            }
        };
        Some(Mesh::new(vertices, triangles))
    }
}

/// A sine or cosine to a power, with its sign.
fn signed_power(value: f64, exponent: f64) -> f64 {
    // Zero stays zero, also with the exponent 0.
    if value.abs() < 1e-15 { 0.0 } else { libm::pow(value.abs(), exponent).copysign(value) }
}

fn polygon_points(corners: usize, radius: f64, z: f64) -> impl Iterator<Item = DVec3> {
    (0..corners).map(move |index| {
        let (sine, cosine) = libm::sincos(TAU * index as f64 / corners as f64);
        DVec3::new(radius * cosine, radius * sine, z)
    })
}

/// The points of an icosahedron whose faces are divided.
fn sphere_points(subdivisions: usize) -> Vec<DVec3> {
    let golden = 0.5 * (1.0 + 5f64.sqrt());
    let mut points = Vec::new();
    for (one, other) in [(1.0, golden), (1.0, -golden), (-1.0, golden), (-1.0, -golden)] {
        points.extend([DVec3::new(0.0, one, other), DVec3::new(one, other, 0.0), DVec3::new(other, 0.0, one)]);
    }
    let mut edge = 2.0 / DVec3::new(0.0, 1.0, golden).length();
    points.iter_mut().for_each(|point| *point = point.normalize());
    for _ in 0..subdivisions {
        // The middles of the edges, which are shorter than any other distance of two points.
        let known = points.len();
        for first in 0..known {
            for second in first + 1..known {
                if points[first].distance(points[second]) < 1.25 * edge {
                    points.push((points[first] + points[second]).normalize());
                }
            }
        }
        edge *= 0.5;
    }
    points
}

/// Rings of a half ball, with four points less in each, and the middle of its flat side.
fn hemisphere_points(resolution: usize) -> Vec<DVec3> {
    let rings = resolution + 1;
    let ring = |index: usize| {
        let (sine, cosine) = libm::sincos(FRAC_PI_2 * index as f64 / rings as f64);
        polygon_points(4 * (rings - index), cosine, sine)
    };
    [DVec3::ZERO, DVec3::Z].into_iter().chain((0..rings).flat_map(ring)).collect()
}

/// A polygon of radius 1 below, and one of another radius, or a point, above.
fn prism_points(corners: usize, radius: f64) -> Vec<DVec3> {
    polygon_points(corners, 1.0, -1.0)
        .chain(polygon_points(if radius > 0.0 { corners } else { 1 }, radius, 1.0))
        .collect()
}

/// Points and triangles.
type Surface = (Vec<DVec3>, Vec<[u32; 3]>);

fn supersphere_surface(resolution: usize, east_west: f64, north_south: f64) -> Surface {
    let mut points = vec![DVec3::NEG_Z];
    for ring in 1..resolution {
        let (sine, cosine) = libm::sincos(PI * ring as f64 / resolution as f64 - FRAC_PI_2);
        for place in 0..resolution {
            let (east, north) = libm::sincos(TAU * place as f64 / resolution as f64 - PI);
            let radius = signed_power(cosine, north_south);
            let flat = [signed_power(north, east_west), signed_power(east, east_west)];
            points.push(DVec3::new(radius * flat[0], radius * flat[1], signed_power(sine, north_south)));
        }
    }
    points.push(DVec3::Z);
    let side = resolution as u32;
    let (last, top) = (side - 2, 1 + (side - 1) * side);
    let at = |ring: u32, place: u32| 1 + ring * side + place % side;
    let mut triangles = Vec::new();
    for place in 0..side {
        triangles.extend([[0, at(0, place + 1), at(0, place)], [top, at(last, place), at(last, place + 1)]]);
        for ring in 0..last {
            let [a, b] = [at(ring, place), at(ring, place + 1)];
            let [c, d] = [at(ring + 1, place), at(ring + 1, place + 1)];
            triangles.extend([[a, b, d], [a, d, c]]);
        }
    }
    (points, triangles)
}

fn supertorus_surface(resolution: usize, radius: f64, section: f64, turn: f64) -> Surface {
    let mut points = Vec::new();
    let angle = |index: usize| libm::sincos(TAU * index as f64 / resolution as f64);
    for (east, north) in (0..resolution).map(angle) {
        for (sine, cosine) in (0..resolution).map(angle) {
            let from_axis = 1.0 + radius * signed_power(cosine, section);
            let flat = [from_axis * signed_power(north, turn), from_axis * signed_power(east, turn)];
            points.push(DVec3::new(flat[0], flat[1], radius * signed_power(sine, section)));
        }
    }
    let side = resolution as u32;
    let at = |ring: u32, place: u32| (ring % side) * side + place % side;
    let mut triangles = Vec::new();
    for (ring, place) in (0..side).flat_map(|ring| (0..side).map(move |place| (ring, place))) {
        let [a, b] = [at(ring, place), at(ring + 1, place)];
        let [c, d] = [at(ring, place + 1), at(ring + 1, place + 1)];
        triangles.extend([[a, b, d], [a, d, c]]);
    }
    (points, triangles)
}
