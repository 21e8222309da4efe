//! Lamps: directional, point and spot lights beside the sun.

use bevy_math::DVec3;
use simpartner_model::{Lamp, LampKind, Norm};

use crate::light::linear_brightness;

/// A lamp around a camera.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlacedLamp {
    kind: LampKind,
    color: [f32; 3],
    attenuation: [f64; 3],
    range: f64,
    pub(crate) has_shadow: bool,
}

/// Light of a lamp at a point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beam {
    /// Unit vector to the lamp.
    pub(crate) to_lamp: DVec3,
    /// Distance of the lamp, m; infinite for a directional one.
    pub(crate) distance: f64,
    /// Light on a surface that faces it, linear.
    pub(crate) color: [f32; 3],
}

impl PlacedLamp {
    /// A lamp seen from a camera's place. `None` without any light.
    pub(crate) fn of_lamp(lamp: &Lamp, eye: DVec3) -> Option<Self> {
        let kind = match lamp.kind {
            LampKind::Directional { direction } => LampKind::Directional { direction: direction.try_normalized()? },
            LampKind::Point { position } => LampKind::Point { position: position - eye },
            LampKind::Spot { position, direction, inner_angle, outer_angle } => LampKind::Spot {
                position: position - eye,
                direction: direction.try_normalized()?,
                inner_angle,
                outer_angle,
            },
        };
        let Lamp { brightness, attenuation, range, has_shadow, .. } = *lamp;
        let color = linear_brightness(brightness);
        (color != [0.0; 3]).then_some(Self { kind, color, attenuation, range, has_shadow })
    }

    /// Its light at a point from the camera; `None` where there is none.
    pub(crate) fn beam_at(&self, point: DVec3) -> Option<Beam> {
        let (position, share): (DVec3, &dyn Fn(DVec3) -> f64) = match &self.kind {
            LampKind::Directional { direction } => {
                return Some(Beam { to_lamp: -*direction, distance: f64::INFINITY, color: self.color });
            }
            LampKind::Point { position } => (*position, &|_| 1.0),
            LampKind::Spot { position, direction, inner_angle, outer_angle } => (*position, &|to_lamp: DVec3| {
                // From full light at the inner angle, it falls smoothly to none at the outer one.
                let [inner, outer] = [*inner_angle, *outer_angle].map(libm::cos);
                let cosine = -to_lamp.dot(*direction);
                match cosine >= inner {
                    true => 1.0,
                    false if cosine <= outer => 0.0,
                    false => {
                        let part = (cosine - outer) / (inner - outer);
                        part * part * (3.0 - 2.0 * part)
                    }
                }
            }),
        };
        let to = position - point;
        let distance = to.norm();
        let to_lamp = to.try_normalized().filter(|_| distance <= self.range)?;
        let [constant, linear, square] = self.attenuation;
        let share = share(to_lamp) / (constant + distance * (linear + distance * square));
        let is_light = share > 0.0 && share.is_finite();
        is_light.then(|| Beam { to_lamp, distance, color: self.color.map(|part| part * share as f32) })
    }
}
