//! `<heightmap>`: terrain from an image or an elevation model.

use bevy_math::DVec3;
use simpartner_model::Pose;

use super::{
    super::{model::Surface, scene::Terrain},
    importer::Sdf,
};
use crate::{dem::Dem, text::tree::child, xml::node::Node};

impl Sdf<'_, '_> {
    /// A height map at a pose in the file's frame. Its highest point has the height of its size; without a size, an
    /// elevation model has its own extent and heights.
    pub(super) fn read_heightmap(&mut self, node: &Node, pose: &Pose, surface: Surface) {
        let given = self.vector(node, "size");
        let at = pose.point(self.vector(node, "pos").unwrap_or_default());
        if self.terrain.is_some() || at.x != 0.0 || at.y != 0.0 || pose.rotation.w.abs() < 1.0 {
            let what = "a <heightmap> that is not the only one, flat and unturned over the origin, is left out";
            return self.notes.add(node.offset, what, "a world has one terrain, in the middle");
        }
        let Some(uri) = child(node, "uri") else {
            return self.reading.problem(node.offset, "<heightmap> lacks <uri>");
        };
        let file = self.mesh_file(uri.text.trim());
        let path = self.reading.files.beside(self.reading.path, &file, "worlds");
        let dem = match self.reading.heights(node.offset, &path, Dem::read) {
            Ok(dem) => dem,
            Err(what) => return self.tell_lost(node, &what),
        };
        let highest = dem.range().map_or(0.0, |(_, highest)| highest);
        let size = given.unwrap_or_else(|| own_size(&dem, highest));
        if !size.to_array().iter().all(|length| *length > 0.0 && *length <= 1e6) {
            return self.reading.problem(node.offset, "<heightmap>: expected a size above 0 and at most 1e6");
        }
        let scale = if highest > 0.0 { size.z / highest } else { 0.0 };
        self.terrain = Some(Terrain {
            size: [size.x, size.y],
            points: [dem.points_x, dem.points_z],
            heights: dem.raster_from_south().map(|height| height * scale + at.z).collect(),
            surface,
            offset: node.offset,
        });
    }

    fn tell_lost(&self, node: &Node, what: &str) {
        self.reading.warn(node.offset, what.to_owned(), "the terrain is left out".into());
    }
}

/// Extents of an elevation model along x and z, and its highest point, m; 1 m each for a file without a spacing of its
/// samples, such as an image.
fn own_size(dem: &Dem, highest: f64) -> DVec3 {
    let extent = |cell: f64, points: usize| cell * (points - 1) as f64;
    match dem.spacing {
        Some([dx, dz]) if highest > 0.0 => DVec3::new(extent(dx, dem.points_x), extent(dz, dem.points_z), highest),
        _ => DVec3::ONE,
    }
}
