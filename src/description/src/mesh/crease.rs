//! Normals of a mesh without normals: smooth but for creases.

use std::collections::HashMap;

use bevy_math::DVec3;
use simpartner_model::{Corners, Norm};

use super::triangles::unit_normal;

/// Cosine of the angle from which an edge is a crease: 30 degrees, between the 10 degrees of the coarsest arcs that
/// programs for design write and the 45 degrees of a chamfer.
const CREASE_COSINE: f64 = 0.866;
/// Largest number of triangles about a point whose normals are averaged: work grows with its square.
const MAX_TRIANGLES_ABOUT: usize = 64;

/// Normals of the corners of triangles: the mean of those of the triangles about the corner's point, by area, without
/// those beyond a crease.
pub(crate) fn crease_normals(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Corners {
    let areas: Vec<DVec3> = triangles
        .iter()
        .map(|triangle| {
            let [a, b, c] = triangle.map(|corner| vertices[corner as usize]);
            (b - a).cross(c - a)
        })
        .collect();
    let units: Vec<DVec3> = areas.iter().map(|area| area.normalized_or_zero()).collect();
    let mut about: Vec<Vec<u32>> = vec![Vec::new(); vertices.len()];
    for (index, triangle) in triangles.iter().enumerate() {
        triangle.iter().for_each(|corner| about[*corner as usize].push(index as u32));
    }
    let mut corners = Corners::default();
    let mut known: HashMap<[u32; 3], u32> = HashMap::new();
    for (index, triangle) in triangles.iter().enumerate() {
        let own = units[index];
        let normals = triangle.map(|corner| {
            let others = &about[corner as usize];
            let is_smooth = |other: &&u32| units[**other as usize].dot(own) >= CREASE_COSINE;
            let sum: DVec3 = match others.len() <= MAX_TRIANGLES_ABOUT {
                true => others.iter().filter(is_smooth).map(|other| areas[*other as usize]).sum(),
                false => own,
            };
            let normal = unit_normal(sum).unwrap_or([0.0; 3]);
            *known.entry(normal.map(f32::to_bits)).or_insert_with(|| {
                corners.normals.push(normal);
                corners.normals.len() as u32 - 1
            })
        });
        corners.normals_of.push(normals);
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two faces of a roof, and the same roof with a flatter ridge.
    #[test]
    fn an_edge_is_smooth_below_the_angle_of_a_crease() {
        for (height, is_smooth) in [(1.0, false), (0.1, true)] {
            let at = |x: f64, y: f64, z: f64| DVec3::new(x, y, z);
            let roof = [at(-1.0, 0.0, 0.0), at(1.0, 0.0, 0.0), at(0.0, height, -1.0), at(0.0, height, 1.0)];
            let corners = crease_normals(&roof, &[[0, 3, 2], [1, 2, 3]]);
            let normal = |triangle: usize, corner: usize| {
                corners.normals[corners.normals_of[triangle][corner] as usize].map(f64::from)
            };
            let ridge = normal(0, 1);
            assert_eq!(ridge == normal(1, 2), is_smooth, "{height}");
            assert_eq!((ridge[0].abs() < 1e-6 && (ridge[1] - 1.0).abs() < 1e-6), is_smooth, "{ridge:?}");
            assert!(normal(0, 0)[0] < -0.05 && normal(1, 0)[0] > 0.05);
        }
    }
}
