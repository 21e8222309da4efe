//! `<asset>`: meshes and fields of heights.

use std::rc::Rc;

use bevy_math::{DQuat, DVec3};
use simpartner_model::{Pose, quickhull};

use super::{
    super::{
        attributes::{attribute, list, number, numbers},
        mass::MeshInertia,
        model::Form,
        paths::correct_spelling,
    },
    importer::{Assets, Field, MeshAsset, Mjcf},
};
use crate::{
    dem::Dem,
    limits::MAX_GRID_SIDE,
    mesh::Mesh,
    text::tree::child,
    xml::{node::Node, reading::Reading},
};

impl Mjcf<'_, '_> {
    /// All meshes and fields of the file.
    pub(super) fn read_assets(&self, root: &Node) -> Assets {
        let mut assets = Assets::default();
        let sections = root.children.iter().filter(|child| child.name == "asset");
        for node in sections.flat_map(|section| &section.children) {
            match node.name.as_str() {
                "mesh" => {
                    if let Some((name, mesh)) = self.read_mesh(&self.resolve(node, None)) {
                        assets.meshes.insert(name, Rc::new(mesh));
                    }
                }
                "hfield" => {
                    if let Some((name, field)) = self.read_field(node) {
                        assets.fields.insert(name, Rc::new(field));
                    }
                }
                "material" | "texture" => {}
                "skin" => self.notes.add(node.offset, "<skin> is left out", "only rigid bodies are simulated"),
                other => self.notes.add(node.offset, format!("<{other}> is left out"), "nothing of it is simulated"),
            }
        }
        assets.materials = self.read_materials(root);
        assets
    }

    /// An unreadable mesh is reported, and omitted from all geoms.
    fn read_mesh(&self, node: &Node) -> Option<(String, MeshAsset)> {
        let file = attribute(node, "file");
        let stem =
            || file.and_then(|file| file.rsplit(['/', '\\']).next()).map(|name| name.split('.').next().unwrap_or(name));
        let Some(name) = attribute(node, "name").or_else(stem) else {
            self.reading.problem(node.offset, "<mesh> has neither a name nor a file");
            return None;
        };
        let scale = numbers::<3>(self.reading, node, "scale").map_or(DVec3::ONE, DVec3::from_array);
        let (form, mut mesh) = match file {
            Some(file) => {
                let path = correct_spelling(self.reading, &self.compiler.mesh_path(file));
                let mesh = read_mesh_file(self.reading, node, &path)?;
                (Form::Mesh { file: path, scale }, mesh)
            }
            None => {
                let mesh = if attribute(node, "builtin").is_some_and(|kind| kind != "none") {
                    self.read_builtin_mesh(node)?
                } else {
                    self.read_inline_mesh(node)?
                };
                let points = mesh.vertices.iter().map(|point| *point * scale).collect();
                (Form::Points { points, triangles: mesh.triangles.clone() }, mesh)
            }
        };
        mesh.vertices.iter_mut().for_each(|point| *point *= scale);
        let place = numbers::<3>(self.reading, node, "refpos").map_or(DVec3::ZERO, DVec3::from_array);
        let turn = match numbers::<4>(self.reading, node, "refquat") {
            Some([w, x, y, z]) => DQuat::from_xyzw(x, y, z, w).normalize(),
            None => DQuat::IDENTITY,
        };
        let pose = Pose { translation: -(turn.inverse() * place) * scale, rotation: turn.inverse() };
        let inertia = match attribute(node, "inertia") {
            Some("exact") => MeshInertia::Exact,
            Some("shell") => MeshInertia::Shell,
            _ => MeshInertia::Legacy,
        };
        if attribute(node, "inertia") == Some("convex") || mesh.triangles.is_empty() {
            let Some((vertices, triangles)) = quickhull(&mesh.vertices) else {
                self.reading.problem(node.offset, "the points of <mesh> span no volume, so they have no convex hull");
                return None;
            };
            (mesh.vertices, mesh.triangles) = (vertices, triangles);
        }
        Some((name.to_owned(), MeshAsset { form, pose, mesh, inertia }))
    }

    fn read_inline_mesh(&self, node: &Node) -> Option<Mesh> {
        let Some(vertices) =
            list(self.reading, node, "vertex").filter(|numbers| numbers.len() >= 12 && numbers.len().is_multiple_of(3))
        else {
            if child(node, "plugin").is_some() {
                let help = "its geoms are, too: what plugins of MuJoCo do is not simulated; give it a file";
                self.notes.add(node.offset, "a <mesh> of a plugin is left out", help);
            } else {
                self.reading.problem(node.offset, "<mesh> has neither a file nor the vertices of four points or more");
            }
            return None;
        };
        let vertices: Vec<DVec3> = vertices.chunks_exact(3).map(DVec3::from_slice).collect();
        let faces = list(self.reading, node, "face").unwrap_or_default();
        if !faces.len().is_multiple_of(3)
            || faces.iter().any(|corner| corner.fract() != 0.0 || !(0.0..vertices.len() as f64).contains(corner))
        {
            self.reading.problem(
                self.reading.attribute_offset(node, "face"),
                format!("<mesh>: its faces are three indices of {} points each", vertices.len()),
            );
            return None;
        }
        let triangles = faces.chunks_exact(3).map(|face| [face[0] as u32, face[1] as u32, face[2] as u32]).collect();
        let mut mesh = Mesh::default();
        (mesh.vertices, mesh.triangles) = (vertices, triangles);
        Some(mesh)
    }

    fn read_field(&self, node: &Node) -> Option<(String, Field)> {
        let name = attribute(node, "name").or(attribute(node, "file")).unwrap_or_default();
        let Some(size) = numbers::<4>(self.reading, node, "size") else {
            self.reading.problem(node.offset, "<hfield> lacks the attribute 'size'");
            return None;
        };
        if let Some(file) = attribute(node, "file") {
            return Some((name.to_owned(), self.read_field_file(node, file, size)?));
        }
        let side = |name: &str| number(self.reading, node, name).unwrap_or(0.0);
        let (rows, columns) = (side("nrow"), side("ncol"));
        let elevation = list(self.reading, node, "elevation");
        let heights = match elevation {
            // From the largest y down to the smallest.
            Some(heights) if columns >= 1.0 => heights.chunks(columns as usize).rev().flatten().copied().collect(),
            _ => vec![0.0; (rows.clamp(0.0, 1e4) * columns.clamp(0.0, 1e4)) as usize],
        };
        let sides = 2.0..=MAX_GRID_SIDE as f64;
        if !sides.contains(&rows) || !sides.contains(&columns) || heights.len() != rows as usize * columns as usize {
            let message = format!("<hfield> has {rows} x {columns} points and {} heights", heights.len());
            self.reading.problem(node.offset, message);
            return None;
        }
        Some((name.to_owned(), Field::new(size, [rows as usize, columns as usize], heights)))
    }

    /// An image, or a file of MuJoCo's own format; an unreadable one is omitted from all geoms.
    fn read_field_file(&self, node: &Node, file: &str, size: [f64; 4]) -> Option<Field> {
        let place = self.reading.attribute_offset(node, "file");
        let path = self.reading.files.beside(self.reading.path, &self.compiler.mesh_path(file), "worlds");
        let dem = self.reading.heights(place, &path, Dem::read_of_mujoco).map_err(|what| {
            self.reading.warn(place, what, "the geoms that have this <hfield> are left out".into());
        });
        let dem = dem.ok()?;
        Some(Field::new(size, [dem.points_z, dem.points_x], dem.raster_from_south().collect()))
    }
}

impl Field {
    /// Heights from the smallest y up: MuJoCo maps the range from lowest to highest to 0 to 1.
    fn new(size: [f64; 4], [rows, columns]: [usize; 2], mut heights: Vec<f64>) -> Self {
        let (low, high) = heights
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), height| (low.min(*height), high.max(*height)));
        let range = if high > low { high - low } else { 1.0 };
        heights.iter_mut().for_each(|height| *height = (*height - low) / range);
        Self { size, rows, columns, heights }
    }
}

fn read_mesh_file(reading: &Reading, node: &Node, file: &str) -> Option<Mesh> {
    let path = reading.files.beside(reading.path, file, "robots");
    let left_out = |what| {
        reading.warn(reading.attribute_offset(node, "file"), what, "the shapes that have this mesh are left out".into())
    };
    let near =
        || reading.files.written_otherwise(&path).map_or(String::new(), |near| format!("; did you mean '{near}'?"));
    reading.mesh(&path).map(|mesh| (*mesh).clone()).map_err(|what| left_out(format!("the mesh {what}{}", near()))).ok()
}
