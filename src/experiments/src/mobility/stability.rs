//! Static stability: how far a vehicle can be tilted before it tips over an edge of the polygon that it stands on.

use bevy_math::{DVec2, DVec3};
use serde::Serialize;

use super::vehicle::Vehicle;

/// Points nearer to the line of an edge than this, m, are on it.
const ON_EDGE: f64 = 1e-6;

/// An edge of the support polygon.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Edge {
    /// The wheels on it, by their places in the vehicle.
    pub wheels: Vec<usize>,
    /// The ends of the edge: how far ahead of the centre of mass and to the right of it they are, m.
    pub ends_m: [[f64; 2]; 2],
    /// Which way it tips over the edge: 0 ahead, a right angle to the right, rad.
    pub heading_rad: f64,
    /// From the point below the centre of mass to the edge, m; negative if it is outside.
    pub distance_m: f64,
    /// By how much the ground may be tilted towards the edge before the vehicle tips over it: atan(distance / height of the centre of mass),
    /// rad.
    pub margin_rad: f64,
}

/// Where wheels touch ground: ahead of and to the right of the centre of mass, m, and the wheel. A cylinder touches along its width.
fn feet(vehicle: &Vehicle) -> Vec<(DVec2, usize)> {
    let place = |point: DVec3| {
        let from = point - vehicle.centre;
        DVec2::new(from.dot(vehicle.forward), from.dot(vehicle.right))
    };
    let each = vehicle.wheels.iter().enumerate().flat_map(|(index, wheel)| {
        let half = if wheel.is_cylinder { 0.5 * wheel.width.unwrap_or(0.0) } else { 0.0 };
        [-half, half].map(|aside| (place(wheel.centre + vehicle.right * aside), index))
    });
    each.collect()
}

/// Corners of the convex hull, counter-clockwise where x is to the right and y up (Andrew 1979).
fn hull(mut points: Vec<DVec2>) -> Vec<DVec2> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let half = |points: &mut dyn Iterator<Item = DVec2>| {
        let mut chain: Vec<DVec2> = Vec::new();
        for point in points {
            while let [.., a, b] = chain[..] {
                if (b - a).perp_dot(point - b) > ON_EDGE * (b - a).length() {
                    break;
                }
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let mut corners = half(&mut points.iter().copied());
    corners.extend(half(&mut points.iter().rev().copied()));
    corners
}

/// The edges of the polygon that it stands on; fewer than three if it stands on a line.
pub fn edges(vehicle: &Vehicle) -> Vec<Edge> {
    let feet = feet(vehicle);
    let corners = hull(feet.iter().map(|(point, _)| *point).collect());
    let height = vehicle.centre.y - vehicle.ground;
    let each = corners.iter().enumerate().filter_map(|(k, &from)| {
        let to = corners[(k + 1) % corners.len()];
        let along = (to - from).try_normalize()?;
        let outward = DVec2::new(along.y, -along.x);
        let distance = outward.dot(from);
        let on = feet.iter().filter(|(point, _)| (outward.dot(*point) - distance).abs() < 10.0 * ON_EDGE);
        let mut wheels: Vec<usize> = on.map(|(_, wheel)| *wheel).collect();
        wheels.dedup();
        Some(Edge {
            wheels,
            ends_m: [from, to].map(|end| [end.x, end.y]),
            heading_rad: libm::atan2(outward.y, outward.x),
            distance_m: distance,
            margin_rad: libm::atan2(distance, height),
        })
    });
    each.collect()
}

/// The steepest slope on which it stands with its front uphill, rad: there the vertical through the centre of mass leaves the polygon.
pub(super) fn largest_grade(vehicle: &Vehicle) -> f64 {
    let height = vehicle.centre.y - vehicle.ground;
    let back = edges(vehicle).into_iter().filter_map(|edge| {
        let outward = -libm::cos(edge.heading_rad);
        (outward > ON_EDGE).then(|| edge.distance_m / outward)
    });
    libm::atan2(back.fold(f64::INFINITY, f64::min), height)
}
