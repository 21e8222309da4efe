//! glTF 2.0, in text or binary form: the meshes that the nodes of a scene place.
//!
//! Only the parts that a mesh needs are used. All counts and indices are checked.

use base64::{Engine, prelude::BASE64_STANDARD};
use bevy_math::{DMat4, DQuat, DVec3};
use serde::Deserialize;
use simpartner_model::Color;

use super::{
    triangles::{Mesh, MeshProblem, fan, problem, shorten, strip},
    work::{Work, check_size},
};

/// Nesting depth of nodes: glTF forbids cycles, but a file may have one.
const MAX_DEPTH: usize = 64;
/// Total size of the buffers of a file, bytes: a file of the largest permitted size beside a binary one.
const MAX_BUFFERS: usize = 128 << 20;
/// Magic number of a binary file, and the types of its two chunks.
const GLB_MAGIC: &[u8] = b"glTF";
const JSON_CHUNK: &[u8] = b"JSON";
const BINARY_CHUNK: &[u8] = b"BIN\0";
/// Component types, by the numbers of OpenGL.
const BYTE_TYPE: u32 = 5121;
const SHORT_TYPE: u32 = 5123;
const INT_TYPE: u32 = 5125;
const FLOAT_TYPE: u32 = 5126;
/// Primitives of triangles; smaller numbers are points and lines.
const TRIANGLES_MODE: u32 = 4;
const STRIP_MODE: u32 = 5;
const FAN_MODE: u32 = 6;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Document {
    scene: usize,
    scenes: Vec<Scene>,
    nodes: Vec<Node>,
    meshes: Vec<Primitives>,
    materials: Vec<Material>,
    accessors: Vec<Accessor>,
    buffer_views: Vec<View>,
    buffers: Vec<Buffer>,
}

#[derive(Deserialize)]
struct Scene {
    #[serde(default)]
    nodes: Vec<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Node {
    children: Vec<usize>,
    mesh: Option<usize>,
    matrix: Option<[f64; 16]>,
    translation: [f64; 3],
    rotation: Option<[f64; 4]>,
    scale: Option<[f64; 3]>,
}

#[derive(Deserialize)]
struct Primitives {
    primitives: Vec<Primitive>,
}

#[derive(Deserialize)]
struct Primitive {
    attributes: Attributes,
    indices: Option<usize>,
    material: Option<usize>,
    mode: Option<u32>,
}

#[derive(Deserialize)]
struct Attributes {
    #[serde(rename = "POSITION")]
    position: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    #[serde(default)]
    pbr_metallic_roughness: Surface,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Surface {
    base_color_factor: Option<[f64; 4]>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Accessor {
    buffer_view: Option<usize>,
    #[serde(default)]
    byte_offset: usize,
    component_type: u32,
    count: usize,
    #[serde(rename = "type")]
    kind: String,
    sparse: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View {
    buffer: usize,
    #[serde(default)]
    byte_offset: usize,
    byte_length: usize,
    byte_stride: Option<usize>,
}

#[derive(Deserialize)]
struct Buffer {
    uri: Option<String>,
}

/// Reads a file of either form; `beside` reads the buffer files that it names.
pub(super) fn read(bytes: &[u8], beside: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Mesh, MeshProblem> {
    let (json, mut binary) = if bytes.starts_with(GLB_MAGIC) { chunks(bytes)? } else { (bytes, None) };
    let document: Document = serde_json::from_slice(json).map_err(|error| {
        let line = (!bytes.starts_with(GLB_MAGIC)).then(|| error.line());
        problem(line, format!("not glTF: {error}"))
    })?;
    let mut buffers = Vec::new();
    let mut total = 0;
    for (index, buffer) in document.buffers.iter().enumerate() {
        let found = match &buffer.uri {
            None => binary.take().map(<[u8]>::to_vec),
            Some(uri) => match uri.split_once(";base64,") {
                Some((_, data)) => BASE64_STANDARD.decode(data).ok(),
                None => beside(uri),
            },
        };
        let from = buffer.uri.as_ref().map_or("the file itself".into(), |uri| format!("'{}'", shorten(uri)));
        let lacks = || problem(None, format!("the numbers of buffer {index} cannot be had from {from}"));
        let found = found.ok_or_else(lacks)?;
        total += found.len().max(1);
        if total > MAX_BUFFERS {
            return Err(problem(
                None,
                format!("the buffers of the file have more than {MAX_BUFFERS} bytes; simplify the mesh"),
            ));
        }
        buffers.push(found);
    }
    let mut reader = Reader { document: &document, buffers, mesh: Mesh::default(), work: Work::default() };
    for &node in document.scenes.get(document.scene).iter().flat_map(|scene| &scene.nodes) {
        reader.add_node(node, DMat4::IDENTITY, 0)?;
    }
    Ok(reader.mesh)
}

/// The two chunks of the binary form: the document, and its numbers if there are any.
fn chunks(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), MeshProblem> {
    let chunk = |at: usize, kind: &[u8]| {
        let header = bytes.get(at..at.checked_add(8)?)?;
        let length = u32::from_le_bytes(header[..4].try_into().ok()?) as usize;
        let content = bytes.get(at + 8..(at + 8).checked_add(length)?)?;
        (&header[4..] == kind).then_some(content)
    };
    let json = chunk(12, JSON_CHUNK).ok_or_else(|| problem(None, "not a whole binary glTF file".into()))?;
    Ok((json, chunk(20 + json.len(), BINARY_CHUNK)))
}

fn missing_item(what: &str, index: usize) -> MeshProblem {
    problem(None, format!("there is no {what} {index}"))
}

struct Reader<'d> {
    document: &'d Document,
    /// The bytes of each buffer.
    buffers: Vec<Vec<u8>>,
    mesh: Mesh,
    work: Work,
}

impl Reader<'_> {
    fn add_node(&mut self, index: usize, outer: DMat4, depth: usize) -> Result<(), MeshProblem> {
        if depth > MAX_DEPTH {
            return Err(problem(None, format!("nodes are nested more than {MAX_DEPTH} deep")));
        }
        let node = self.document.nodes.get(index).ok_or_else(|| missing_item("node", index))?;
        self.work.visit(node.children.len())?;
        let own = node.matrix.map_or_else(
            || {
                let scale = node.scale.map_or(DVec3::ONE, DVec3::from_array);
                let rotation = node.rotation.map_or(DQuat::IDENTITY, DQuat::from_array);
                DMat4::from_scale_rotation_translation(scale, rotation.normalize(), DVec3::from_array(node.translation))
            },
            |matrix| DMat4::from_cols_array(&matrix),
        );
        let placed = outer * own;
        if let Some(mesh) = node.mesh {
            let mesh = self.document.meshes.get(mesh).ok_or_else(|| missing_item("mesh", mesh))?;
            mesh.primitives.iter().try_for_each(|primitive| self.add_primitive(primitive, &placed))?;
        }
        node.children.iter().try_for_each(|child| self.add_node(*child, placed, depth + 1))
    }

    fn add_primitive(&mut self, primitive: &Primitive, placed: &DMat4) -> Result<(), MeshProblem> {
        self.work.visit(0)?;
        let (mode, Some(position)) = (primitive.mode.unwrap_or(TRIANGLES_MODE), primitive.attributes.position) else {
            return Ok(());
        };
        if ![TRIANGLES_MODE, STRIP_MODE, FAN_MODE].contains(&mode) {
            return Ok(());
        }
        let points = self.elements(position, "VEC3", &[(FLOAT_TYPE, 12)], |_, bytes| {
            let number =
                |at: usize| f64::from(f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
            placed.transform_point3(DVec3::new(number(0), number(4), number(8)))
        })?;
        let indices: Vec<u32> = match primitive.indices {
            Some(indices) => {
                self.elements(indices, "SCALAR", &[(BYTE_TYPE, 1), (SHORT_TYPE, 2), (INT_TYPE, 4)], |size, bytes| {
                    bytes[..size].iter().rev().fold(0, |index, byte| index << 8 | u32::from(*byte))
                })?
            }
            None => (0..points.len() as u32).collect(),
        };
        if let Some(wrong) = indices.iter().find(|index| **index as usize >= points.len()) {
            return Err(problem(None, format!("there is no point {wrong} among {}", points.len())));
        }
        let first = self.mesh.vertices.len() as u32;
        self.mesh.vertices.extend(points);
        check_size(&self.mesh)?;
        let material = primitive
            .material
            .map(|index| self.document.materials.get(index).ok_or_else(|| missing_item("material", index)));
        self.mesh.begin_color(material.transpose()?.map(color_of));
        let is_mirrored = placed.determinant() < 0.0;
        for [a, b, c] in triangles(mode, &indices) {
            let (b, c) = if is_mirrored { (c, b) } else { (b, c) };
            self.mesh.triangles.push([first + a, first + b, first + c]);
        }
        check_size(&self.mesh)
    }

    /// Elements of an accessor, each decoded from its bytes; `sizes` are the bytes of an element for each permitted
    /// component type.
    fn elements<T>(
        &self,
        index: usize,
        kind: &str,
        sizes: &[(u32, usize)],
        make: impl Fn(usize, &[u8]) -> T,
    ) -> Result<Vec<T>, MeshProblem> {
        let accessor = self.document.accessors.get(index).ok_or_else(|| missing_item("accessor", index))?;
        let size = sizes.iter().find(|(component, _)| *component == accessor.component_type).map(|(_, size)| *size);
        let Some(size) = size.filter(|_| accessor.kind == kind && accessor.sparse.is_none()) else {
            let what = format!("accessor {index} holds no plain {kind} of a type that is read here");
            return Err(problem(None, what));
        };
        self.work.read(accessor.count)?;
        self.bytes_of(accessor)
            .and_then(|(bytes, stride)| {
                let stride = stride.unwrap_or(size).max(size);
                let needed = accessor.count.checked_sub(1)?.checked_mul(stride)?.checked_add(size)?;
                bytes.get(..needed).map(|bytes| bytes.chunks(stride).map(|bytes| make(size, bytes)).collect())
            })
            .ok_or_else(|| problem(None, format!("the numbers of accessor {index} lie outside of its buffer")))
    }

    /// The bytes from an accessor's first element to the end of its view, and their stride if the view has one.
    fn bytes_of(&self, accessor: &Accessor) -> Option<(&[u8], Option<usize>)> {
        let view = self.document.buffer_views.get(accessor.buffer_view?)?;
        let bytes = self.buffers.get(view.buffer)?;
        let bytes = bytes.get(view.byte_offset..view.byte_offset.checked_add(view.byte_length)?)?;
        Some((bytes.get(accessor.byte_offset..)?, view.byte_stride))
    }
}

/// The base colour, which glTF has in linear light.
fn color_of(material: &Material) -> Color {
    let [red, green, blue, alpha] = material.pbr_metallic_roughness.base_color_factor.unwrap_or([1.0; 4]);
    // IEC 61966-2-1, with its linear part below a limit.
    let gamma = |light: f64| {
        if light <= 0.003_130_8 { 12.92 * light } else { 1.055 * libm::pow(light, 1.0 / 2.4) - 0.055 }
    };
    Color::from_fractions([gamma(red), gamma(green), gamma(blue), alpha])
}

/// The triangles of a list of indices.
fn triangles(mode: u32, indices: &[u32]) -> Vec<[u32; 3]> {
    match mode {
        STRIP_MODE => strip(indices),
        FAN_MODE => fan(indices),
        _ => indices.chunks_exact(3).map(|three| [three[0], three[1], three[2]]).collect(),
    }
}
