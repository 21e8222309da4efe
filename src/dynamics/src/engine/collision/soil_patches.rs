//! The soil patches of all shapes: one for each shape that may sink into a ground of soil.

use simpartner_model::Soil;

use super::{geom::Geom, ground::Ground, outline::Outline};
use crate::engine::soil::{SoilPatches, SoilShapeModel};

/// Index of a shape's soil patch in each ground, among all patches; `None` for firm grounds.
pub(super) type ShapeSoilPatches = Vec<Option<usize>>;

/// Soil patches of all shapes: the patches, and the indices for each shape.
pub(super) fn build_soil_patches(
    geoms: &[Geom],
    grounds: &[Ground],
    gravity: f64,
) -> (SoilPatches, Vec<ShapeSoilPatches>) {
    let mut patches = SoilPatches::new(gravity);
    let soil = |ground: &Ground| ground.material.soil.map(|soil| (patches.add_ground(ground.is_steep_plane()), soil));
    let soils: Vec<_> = grounds.iter().map(soil).collect();
    if soils.iter().all(Option::is_none) {
        return (patches, vec![Vec::new(); geoms.len()]);
    }
    let soil_patches = geoms.iter().map(|geom| {
        let soil_patch = |soil: &Option<(usize, Soil)>| {
            let (ground, soil) = soil.filter(|_| geom.may_touch_ground())?;
            let cylinder = match geom.outline {
                Outline::Cylinder { radius, half } => Some([radius, half]),
                _ => None,
            };
            let form = SoilShapeModel { shape: &geom.shape, size: geom.size(), grousers: geom.material.grousers };
            Some(patches.add(ground, soil, &form, cylinder))
        };
        soils.iter().map(soil_patch).collect()
    });
    let soil_patches = soil_patches.collect();
    (patches, soil_patches)
}
