//! The place of a camera from which all robots and objects are in the picture.

use bevy_math::{DMat3, DVec3};
use simpartner_model::{BodyId, Mechanism, Norm, Placed, Pose, Shape};

use crate::{
    camera::{Camera, looking_at},
    scene::{Scene, SceneError},
    shape::Owner,
    solid::Ray,
    view::View,
};

/// Heights above the horizon from which a world is seen, rad, the first one that shows most of it: that of `simpartner
/// draw`, 28 degrees, and steeper ones over walls and hills.
const EYE_ELEVATIONS: [f64; 5] = [0.49, 0.7, 0.9, 1.15, 1.5];

/// Heading of the camera from the middle of the world, from x towards z, rad: 52 degrees.
const EYE_HEADING: f64 = 0.91;

/// Part of the picture, from its middle to its edge, that is filled.
const FILLED_PART: f64 = 0.92;

/// Part of the bodies that has to be in sight.
const IN_SIGHT: f64 = 0.9;

/// Size of what is shown at least, m, so that a single small body does not fill the picture.
const LEAST_SIZE: f64 = 0.5;

/// The pose, world from optical frame, of a camera that sees all bodies of a mechanism where its poses have them; or
/// its grounds, where it has no bodies.
///
/// # Errors
/// As [`View::new`].
pub fn overview(scene: &Scene, mechanism: &Mechanism, camera: &Camera) -> Result<Pose, SceneError> {
    let poses: Vec<Pose> = mechanism.bodies.iter().map(|body| body.pose).collect();
    let mut points = body_corners(mechanism);
    if points.is_empty() {
        points.extend(scene.shapes.iter().flat_map(|shape| {
            let corner = |k: usize| DVec3::from([0, 1, 2].map(|axis| shape.bounds[k >> axis & 1][axis]));
            (0..8).map(move |k| shape.pose.point(corner(k)))
        }));
    }
    if points.is_empty() {
        points.push(DVec3::ZERO);
    }
    let [low, high] = box_around(&points);
    if (high - low).max_element() < LEAST_SIZE {
        let middle = 0.5 * (low + high);
        points.extend([-0.5, 0.5].into_iter().flat_map(|k| DVec3::AXES.map(|axis| middle + k * LEAST_SIZE * axis)));
    }
    let mut best: Option<(f64, Pose)> = None;
    for elevation in EYE_ELEVATIONS {
        let pose = nearest_eye(&points, elevation, camera);
        let view = View::new(scene, &poses, *camera, pose)?;
        let part = part_in_sight(&view, mechanism);
        if best.is_none_or(|(most, _)| part > most) {
            best = Some((part, pose));
        }
        if part >= IN_SIGHT {
            break;
        }
    }
    Ok(best.map_or(Pose::IDENTITY, |(_, pose)| pose))
}

/// The middle of the box around all bodies of a mechanism at its beginning, m; the origin without any.
pub fn bodies_middle(mechanism: &Mechanism) -> DVec3 {
    let [low, high] = box_around(&body_corners(mechanism));
    if low.x <= high.x { 0.5 * (low + high) } else { DVec3::ZERO }
}

fn box_around(points: &[DVec3]) -> [DVec3; 2] {
    let fold = |start: DVec3, pick: fn(DVec3, DVec3) -> DVec3| points.iter().copied().fold(start, pick);
    [fold(DVec3::INFINITY, DVec3::min), fold(DVec3::NEG_INFINITY, DVec3::max)]
}

fn body_corners(mechanism: &Mechanism) -> Vec<DVec3> {
    let seen = mechanism.bodies.iter().flat_map(|body| body.seen().map(move |(placed, _)| (&body.pose, placed)));
    seen.flat_map(|(pose, placed)| box_corners(pose, placed)).collect()
}

/// The corners of the box of a shape, world frame, or of the boxes of its parts.
fn box_corners(world_from_body: &Pose, placed: &Placed) -> Vec<DVec3> {
    let world_from_shape = world_from_body.then(&placed.pose);
    if let Shape::Compound { parts } = &placed.shape {
        return parts.iter().flat_map(|part| box_corners(&world_from_shape, part)).collect();
    }
    let [low, high] = [-1.0, 1.0].map(|sign| DVec3::AXES.map(|axis| sign * placed.shape.reach(sign * axis)));
    let corner = |k: usize| DVec3::from([0, 1, 2].map(|axis| if k >> axis & 1 == 0 { low[axis] } else { high[axis] }));
    (0..8).map(|k| world_from_shape.point(corner(k))).collect()
}

/// The nearest place, from a direction, from which a pinhole with these focal lengths has all points in its picture.
fn nearest_eye(points: &[DVec3], elevation: f64, camera: &Camera) -> Pose {
    let ((rise, level), (side, ahead)) = (libm::sincos(elevation), libm::sincos(EYE_HEADING));
    let back = DVec3::new(level * ahead, rise, level * side);
    let pose = looking_at(back, DVec3::ZERO).unwrap_or(Pose::IDENTITY);
    let axes = DMat3::from_quat(pose.rotation);
    let optics = camera.optics();
    let slopes = [
        FILLED_PART * 0.5 * f64::from(optics.width) / optics.focal[0],
        FILLED_PART * 0.5 * f64::from(optics.height) / optics.focal[1],
    ];
    // A point at x, z of the optical axes is between the sides if |x - x0| <= slope (z - z0). The camera's x0 and z0
    // follow from the two points that touch the sides.
    let optical: Vec<DVec3> = points.iter().map(|point| axes.transpose() * *point).collect();
    let touch = |axis: usize| {
        let most = |sign: f64| {
            optical.iter().map(|at| sign * at[axis] - slopes[axis] * at.z).fold(f64::NEG_INFINITY, f64::max)
        };
        let (right, left) = (most(1.0), most(-1.0));
        (0.5 * (right - left), -0.5 * (right + left) / slopes[axis])
    };
    let ((x, near_x), (y, near_y)) = (touch(0), touch(1));
    Pose { translation: axes * DVec3::new(x, y, near_x.min(near_y)), ..pose }
}

/// Part of the bodies with shapes to whose middle nothing but bodies is in the way.
fn part_in_sight(view: &View<'_>, mechanism: &Mechanism) -> f64 {
    let eye = view.world_from_optical().translation;
    let (mut seen, mut all) = (0, 0);
    for (id, body) in mechanism.bodies().filter(|(_, body)| body.seen().next().is_some()) {
        let Some((placed, _)) = body.seen().next() else { continue };
        let middle = body.pose.point(placed.pose.translation);
        let Some(direction) = (middle - eye).try_normalized() else { continue };
        all += 1;
        let ray = Ray { origin: eye, direction, range: [0.0, (middle - eye).norm()] };
        let is_hidden = match view.first_sight(&ray).map(|met| met.owner) {
            Some(Owner::Ground(_)) => true,
            Some(Owner::Body(first)) => is_wall(mechanism, first, id),
            None => false,
        };
        seen += usize::from(!is_hidden);
    }
    if all == 0 { 1.0 } else { f64::from(seen as u32) / f64::from(all as u32) }
}

/// True for a fixed object in front of a robot's body.
fn is_wall(mechanism: &Mechanism, first: BodyId, behind: BodyId) -> bool {
    let (first, behind) = (mechanism.body(first), mechanism.body(behind));
    first.robot.is_none() && first.fixed && behind.robot.is_some()
}
