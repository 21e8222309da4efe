//! Static stability: the tilt at which a vehicle tips over an edge of its support polygon.

use bevy_math::{DVec2, DVec3};
use serde::Serialize;

use super::vehicle::Vehicle;

/// Distance from the line of an edge within which a point counts as on it, m.
const EDGE_TOLERANCE: f64 = 1e-6;

/// An edge of the support polygon.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Edge {
    /// Indices of the wheels on the edge, in the order of the vehicle's wheels.
    pub wheels: Vec<usize>,
    /// Ends of the edge, m: ahead of and to the right of the centre of mass.
    pub ends_m: [[f64; 2]; 2],
    /// Direction in which the vehicle tips over the edge, rad: 0 is ahead, a right angle is to the right.
    pub heading_rad: f64,
    /// Distance from the point below the centre of mass to the edge, m; negative if that point is outside.
    pub distance_m: f64,
    /// Tilt of the ground towards the edge at which the vehicle tips over it, rad:
    /// atan(distance / height of the centre of mass).
    pub margin_rad: f64,
}

/// Points at which wheels touch the ground, m, ahead of and to the right of the centre of mass, each with the wheel's
/// index. A cylinder has two, at the ends of its width.
fn ground_points(vehicle: &Vehicle) -> Vec<(DVec2, usize)> {
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

/// Corners of the convex hull, counter-clockwise if x is to the right and y up (Andrew 1979).
fn convex_hull(mut points: Vec<DVec2>) -> Vec<DVec2> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let half = |points: &mut dyn Iterator<Item = DVec2>| {
        let mut chain: Vec<DVec2> = Vec::new();
        for point in points {
            while let [.., a, b] = chain[..] {
                if (b - a).perp_dot(point - b) > EDGE_TOLERANCE * (b - a).length() {
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

/// Edges of the support polygon; fewer than three if the vehicle stands on a line.
pub fn edges(vehicle: &Vehicle) -> Vec<Edge> {
    let feet = ground_points(vehicle);
    let corners = convex_hull(feet.iter().map(|(point, _)| *point).collect());
    let height = vehicle.centre.y - vehicle.ground;
    let each = corners.iter().enumerate().filter_map(|(k, &from)| {
        let to = corners[(k + 1) % corners.len()];
        let along = (to - from).try_normalize()?;
        let outward = DVec2::new(along.y, -along.x);
        let distance = outward.dot(from);
        let on = feet.iter().filter(|(point, _)| (outward.dot(*point) - distance).abs() < 10.0 * EDGE_TOLERANCE);
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

/// Steepest slope on which the vehicle stands with its front uphill, rad. Beyond it the vertical through the centre of
/// mass is outside of the support polygon.
pub(super) fn largest_grade(vehicle: &Vehicle) -> f64 {
    let height = vehicle.centre.y - vehicle.ground;
    let back = edges(vehicle).into_iter().filter_map(|edge| {
        let outward = -libm::cos(edge.heading_rad);
        (outward > EDGE_TOLERANCE).then(|| edge.distance_m / outward)
    });
    libm::atan2(back.fold(f64::INFINITY, f64::min), height)
}
