//! The mass of shapes that are filled evenly, or are shells.

use bevy_math::{DMat3, DVec3};

use super::model::Form;
use crate::mesh::Mesh;

/// Volume in m³ (area in m² for a shell), centre, and inertia tensor about the centre for a density of 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) amount: f64,
    pub(super) centre: DVec3,
    pub(super) tensor: DMat3,
}

/// Mass distribution of a mesh, as MuJoCo names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum MeshInertia {
    /// As if each triangle were seen from the middle of the surface, which counts the hollows of a mesh as if they were
    /// filled.
    #[default]
    Legacy,
    /// The enclosed volume.
    Exact,
    /// The surface alone.
    Shell,
}

/// Extent of a shape with a closed formula; `None` for the others.
pub(super) fn extent(form: &Form, is_shell: bool) -> Option<Extent> {
    use std::f64::consts::PI;
    let (amount, moments) = match (form, is_shell) {
        (Form::Box { size }, false) => {
            let volume = size.x * size.y * size.z;
            let square = *size * *size;
            (volume, (DVec3::splat(square.element_sum()) - square) * (volume / 12.0))
        }
        (Form::Box { size }, true) => box_shell(*size),
        (Form::Sphere { radius }, false) => {
            let volume = 4.0 / 3.0 * PI * radius.powi(3);
            (volume, DVec3::splat(0.4 * volume * radius * radius))
        }
        (Form::Sphere { radius }, true) => {
            let area = 4.0 * PI * radius * radius;
            (area, DVec3::splat(2.0 / 3.0 * area * radius * radius))
        }
        (Form::Cylinder { radius, length }, false) => {
            let volume = PI * radius * radius * length;
            let across = volume * (3.0 * radius * radius + length * length) / 12.0;
            (volume, DVec3::new(across, across, 0.5 * volume * radius * radius))
        }
        (Form::Cylinder { radius, length }, true) => cylinder_shell(*radius, *length),
        (Form::Capsule { radius, length }, false) => capsule(*radius, *length),
        (Form::Capsule { radius, length }, true) => capsule_shell(*radius, *length),
        (Form::Ellipsoid { radii }, false) => {
            let volume = 4.0 / 3.0 * PI * radii.x * radii.y * radii.z;
            let square = *radii * *radii;
            (volume, (DVec3::splat(square.element_sum()) - square) * (volume / 5.0))
        }
        (Form::Cone { radius, length }, false) => {
            let volume = PI * radius * radius * length / 3.0;
            let across = volume * (0.15 * radius * radius + 0.0375 * length * length);
            let tensor = DMat3::from_diagonal(DVec3::new(across, across, 0.3 * volume * radius * radius));
            // A quarter of its length above the base.
            return Some(Extent { amount: volume, centre: DVec3::NEG_Z * (0.25 * length), tensor });
        }
        (Form::Ellipsoid { .. } | Form::Cone { .. }, true) | (Form::Mesh { .. } | Form::Points { .. }, _) => {
            return None;
        }
    };
    Some(Extent { amount, centre: DVec3::ZERO, tensor: DMat3::from_diagonal(moments) })
}

/// Half balls on the ends: their centres of mass are 3/8 of the radius from the flat side.
fn capsule(radius: f64, length: f64) -> (f64, DVec3) {
    use std::f64::consts::PI;
    let (square, half) = (radius * radius, 0.5 * length);
    let (cylinder, balls) = (PI * square * length, 4.0 / 3.0 * PI * square * radius);
    let along = 0.5 * cylinder * square + 0.4 * balls * square;
    let across = cylinder * (3.0 * square + length * length) / 12.0
        + balls * (0.4 * square + half * half + 0.75 * half * radius);
    (cylinder + balls, DVec3::new(across, across, along))
}

/// Half shells have their centres half a radius from the flat side.
fn capsule_shell(radius: f64, length: f64) -> (f64, DVec3) {
    use std::f64::consts::PI;
    let (square, half) = (radius * radius, 0.5 * length);
    let (side, ends) = (2.0 * PI * radius * length, 4.0 * PI * square);
    let along = side * square + 2.0 / 3.0 * ends * square;
    let across =
        side * (6.0 * square + length * length) / 12.0 + ends * (2.0 / 3.0 * square + half * half + half * radius);
    (side + ends, DVec3::new(across, across, along))
}

fn cylinder_shell(radius: f64, length: f64) -> (f64, DVec3) {
    use std::f64::consts::PI;
    let (square, half) = (radius * radius, 0.5 * length);
    let (side, ends) = (2.0 * PI * radius * length, 2.0 * PI * square);
    let along = side * square + 0.5 * ends * square;
    let across = side * (6.0 * square + length * length) / 12.0 + ends * (0.25 * square + half * half);
    (side + ends, DVec3::new(across, across, along))
}

/// Three pairs of rectangles.
fn box_shell(size: DVec3) -> (f64, DVec3) {
    let [x, y, z] = size.to_array();
    let faces =
        [(y * z, DVec3::new(0.0, y, z), 0), (x * z, DVec3::new(x, 0.0, z), 1), (x * y, DVec3::new(x, y, 0.0), 2)];
    let (mut area, mut moments) = (0.0, DVec3::ZERO);
    for (face, flat, normal) in faces {
        let square = flat * flat;
        let away = 0.5 * size[normal];
        let mut own = (DVec3::splat(square.element_sum()) - square) / 12.0 + DVec3::splat(away * away);
        own[normal] -= away * away;
        area += 2.0 * face;
        moments += own * (2.0 * face);
    }
    (area, moments)
}

/// Extent of a mesh. `None` if it encloses no volume.
pub(super) fn mesh_extent(mesh: &Mesh, filled: MeshInertia) -> Option<Extent> {
    let corners = |triangle: &[u32; 3]| triangle.map(|corner| mesh.vertices[corner as usize]);
    let all = || mesh.triangles.iter().map(corners);
    let area = |[a, b, c]: [DVec3; 3]| 0.5 * (b - a).cross(c - a).length();
    let whole: f64 = all().map(area).sum();
    // The middle of the surface, from which a legacy mesh is seen.
    let middle = all().map(|[a, b, c]| (a + b + c) * (area([a, b, c]) / 3.0)).sum::<DVec3>() / whole;
    let signed = |[a, b, c]: [DVec3; 3], from: DVec3| (a - from).dot((b - from).cross(c - from)) / 6.0;
    let weight = |triangle: [DVec3; 3], from: DVec3| match filled {
        MeshInertia::Legacy => signed(triangle, from).abs(),
        MeshInertia::Exact => signed(triangle, from),
        MeshInertia::Shell => area(triangle),
    };
    let amount: f64 = all().map(|triangle| weight(triangle, middle)).sum();
    if !(amount.abs() > f64::MIN_POSITIVE && amount.is_finite()) {
        return None;
    }
    let tip = |[a, b, c]: [DVec3; 3]| match filled {
        MeshInertia::Shell => (a + b + c) / 3.0,
        _ => (a + b + c + middle) / 4.0,
    };
    let centre = all().map(|triangle| tip(triangle) * weight(triangle, middle)).sum::<DVec3>() / amount;
    // Second moments about the centre: of a tetrahedron with its tip there a twentieth, of a triangle a twelfth of the
    // sums.
    let share = if filled == MeshInertia::Shell { 12.0 } else { 20.0 };
    let (mut second, mut amount) = (DMat3::ZERO, 0.0);
    for triangle in all() {
        let [a, b, c] = triangle.map(|corner| corner - centre);
        let outer = |v: DVec3| DMat3::from_cols(v * v.x, v * v.y, v * v.z);
        let sum = a + b + c;
        let weight = weight(triangle, centre);
        second += (outer(a) + outer(b) + outer(c) + outer(sum)) * (weight / share);
        // The mass of a legacy mesh depends on the reference point; MuJoCo uses its centre.
        amount += weight;
    }
    let trace = second.x_axis.x + second.y_axis.y + second.z_axis.z;
    let tensor = DMat3::from_diagonal(DVec3::splat(trace)) - second;
    let sign = amount.signum();
    Some(Extent { amount: amount.abs(), centre, tensor: tensor * sign })
}

/// A tensor whose principal moments are at least `least`, and balanced if one exceeds the sum of the others: then all
/// three are their mean.
pub(super) fn bounded_tensor(tensor: &DMat3, least: f64, balances: bool) -> DMat3 {
    let [a, b, c] = [tensor.x_axis, tensor.y_axis, tensor.z_axis].map(|column| column.to_array());
    let eigen = nalgebra::Matrix3::new(a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]).symmetric_eigen();
    let mut moments = [0, 1, 2].map(|index| eigen.eigenvalues[index].max(least));
    let sum: f64 = moments.iter().sum();
    if balances && moments.iter().any(|moment| 2.0 * moment > sum) {
        moments = [sum / 3.0; 3];
    }
    let axis = |index: usize| DVec3::from_slice(eigen.eigenvectors.column(index).as_slice());
    let outer = |v: DVec3| DMat3::from_cols(v * v.x, v * v.y, v * v.z);
    outer(axis(0)) * moments[0] + outer(axis(1)) * moments[1] + outer(axis(2)) * moments[2]
}
