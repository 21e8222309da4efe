//! `<heightmap>`: terrain from an image.

use simpartner_model::Pose;

use super::{
    super::{model::Surface, scene::Terrain},
    Node, Sdf, child, shorten,
};

impl Sdf<'_, '_> {
    /// A field of heights, whose shape stands at a pose of the file's frame. Its brightest pixel is as high as its size says, black is 0.
    pub(super) fn read_heightmap(&mut self, node: &Node, pose: &Pose, surface: Surface) {
        let size = self.vector(node, "size").unwrap_or(bevy_math::DVec3::ONE);
        let at = pose.point(self.vector(node, "pos").unwrap_or_default());
        if self.terrain.is_some() || at.x != 0.0 || at.y != 0.0 || pose.rotation.w.abs() < 1.0 {
            let what = "a <heightmap> that is not the only one, flat and unturned over the origin, is left out";
            return self.notes.add(node.offset, what, "a world has one terrain, in the middle");
        }
        if !size.to_array().iter().all(|length| *length > 0.0 && *length <= 1e6) {
            return self.reading.problem(node.offset, "<heightmap>: expected a size above 0 and at most 1e6");
        }
        let Some(uri) = child(node, "uri") else {
            return self.reading.problem(node.offset, "<heightmap> lacks <uri>");
        };
        let file = self.mesh_file(uri.text.trim());
        let path = self.reading.files.beside(self.reading.path, &file, "worlds");
        let grid = match self.reading.heights(&path) {
            Ok(grid) if grid.is_image => grid,
            Ok(_) => return self.tell_lost(node, &format!("the heights of '{}' are no image", shorten(&file))),
            Err(what) => return self.tell_lost(node, &what),
        };
        let highest = grid.values.iter().copied().fold(0.0, f64::max);
        let scale = if highest > 0.0 { size.z / highest } else { 0.0 };
        // Ours begin at the smallest y, an image at the largest.
        let lines = grid.values.chunks(grid.columns).rev();
        self.terrain = Some(Terrain {
            size: [size.x, size.y],
            points: [grid.columns, grid.rows],
            heights: lines.flatten().map(|value| value * scale + at.z).collect(),
            surface,
            offset: node.offset,
        });
    }

    fn tell_lost(&self, node: &Node, what: &str) {
        self.reading.warn(node.offset, what.to_owned(), "the terrain is left out".into());
    }
}
