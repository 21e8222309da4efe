//! glTF 2.0, in text or binary form: the meshes that the nodes of a scene place.
//!
//! Only the parts that a mesh needs are used. All counts and indices are checked.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use bevy_math::{DMat3, DMat4, DQuat, DVec3};
use serde::Deserialize;
use simpartner_model::{Color, NO_CORNER};

use super::{
    look::{MeshImage, MeshLook, srgb_component},
    triangles::{Mesh, MeshProblem, fan, problem, shorten, strip, unit_normal},
    work::{Work, check_size},
};
use crate::texture::AlphaRule;

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
    textures: Vec<TextureSource>,
    images: Vec<Image>,
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
    #[serde(rename = "NORMAL")]
    normal: Option<usize>,
    #[serde(rename = "TEXCOORD_0")]
    first_places: Option<usize>,
    #[serde(rename = "TEXCOORD_1")]
    second_places: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Material {
    pbr_metallic_roughness: Surface,
    emissive_factor: [f64; 3],
    emissive_texture: Option<TextureUse>,
    alpha_mode: Option<String>,
    alpha_cutoff: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Surface {
    base_color_factor: Option<[f64; 4]>,
    base_color_texture: Option<TextureUse>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextureUse {
    index: usize,
    #[serde(default)]
    tex_coord: usize,
}

#[derive(Deserialize)]
struct TextureSource {
    source: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Image {
    uri: Option<String>,
    mime_type: Option<String>,
    buffer_view: Option<usize>,
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
pub(super) fn read(path: &str, bytes: &[u8], beside: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Mesh, MeshProblem> {
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
    let mut reader =
        Reader { document: &document, buffers, mesh: Mesh::default(), work: Work::default(), images: Vec::new() };
    reader.find_images(path, &beside);
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
    /// The index in the mesh of each image of the document.
    images: Vec<Option<usize>>,
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
            placed.transform_point3(DVec3::from([0, 4, 8].map(|at| float_at(bytes, at))))
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
        let material = primitive
            .material
            .map(|index| self.document.materials.get(index).ok_or_else(|| missing_item("material", index)))
            .transpose()?;
        let first = self.mesh.vertices.len() as u32;
        let count = points.len();
        self.mesh.vertices.extend(points);
        check_size(&self.mesh)?;
        let normals = self.add_normals(primitive, placed, count);
        let places = self.add_places(primitive, material, count);
        self.mesh.begin_look(material.map_or(MeshLook::default(), |material| self.look_of(material)));
        let is_mirrored = placed.determinant() < 0.0;
        let shifted = |first: Option<u32>, corners: [u32; 3]| match first {
            Some(first) => corners.map(|corner| first + corner),
            None => [NO_CORNER; 3],
        };
        for [a, b, c] in triangles(mode, &indices) {
            let corners = if is_mirrored { [a, c, b] } else { [a, b, c] };
            self.mesh.add_triangle(shifted(Some(first), corners), shifted(normals, corners), shifted(places, corners));
        }
        check_size(&self.mesh)
    }

    /// Adds the normals of a primitive, one for each point, and returns the index of the first one. `None` if it has
    /// none, or none that can be read.
    fn add_normals(&mut self, primitive: &Primitive, placed: &DMat4, count: usize) -> Option<u32> {
        let turn = DMat3::from_mat4(*placed).inverse().transpose();
        let read = self.elements(primitive.attributes.normal?, "VEC3", &[(FLOAT_TYPE, 12)], |_, bytes| {
            let normal = DVec3::from([0, 4, 8].map(|at| float_at(bytes, at)));
            unit_normal(turn * normal).unwrap_or([0.0; 3])
        });
        let read = read.ok().filter(|read| read.len() == count)?;
        let first = self.mesh.corners.normals.len() as u32;
        self.mesh.corners.normals.extend(read);
        Some(first)
    }

    /// Adds the texture coordinates of the base colour, likewise. The file counts them from the top of the image.
    fn add_places(&mut self, primitive: &Primitive, material: Option<&Material>, count: usize) -> Option<u32> {
        let used = material?.pbr_metallic_roughness.base_color_texture.as_ref()?;
        let Attributes { first_places, second_places, .. } = primitive.attributes;
        let places = if used.tex_coord == 1 { second_places } else { first_places };
        let sizes = [(FLOAT_TYPE, 8), (BYTE_TYPE, 2), (SHORT_TYPE, 4)];
        let read = self.elements(places?, "VEC2", &sizes, |size, bytes| {
            let part = |at: usize| match size {
                8 => float_at(bytes, 4 * at),
                4 => f64::from(u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]])) / 65_535.0,
                _ => f64::from(bytes[at]) / 255.0,
            };
            [part(0) as f32, (1.0 - part(1)) as f32].map(|place| if place.is_finite() { place } else { 0.0 })
        });
        let read = read.ok().filter(|read| read.len() == count)?;
        let first = self.mesh.corners.places.len() as u32;
        self.mesh.corners.places.extend(read);
        Some(first)
    }

    /// The look of a material; colours are in linear light there.
    fn look_of(&self, material: &Material) -> MeshLook {
        let surface = &material.pbr_metallic_roughness;
        let alpha = match material.alpha_mode.as_deref() {
            Some("BLEND") => AlphaRule::Blend,
            Some("MASK") => {
                AlphaRule::Cutoff((material.alpha_cutoff.unwrap_or(0.5).clamp(0.0, 1.0) * 255.0).ceil() as u8)
            }
            _ => AlphaRule::Opaque,
        };
        let [red, green, blue, opacity] = surface.base_color_factor.unwrap_or([1.0; 4]);
        let opacity = match alpha {
            AlphaRule::Blend => opacity,
            AlphaRule::Cutoff(_) | AlphaRule::Opaque => 1.0,
        };
        // An image of emitted light is left out, and with it the colour by which it is multiplied.
        let emission = Some(material.emissive_factor.map(srgb_component))
            .filter(|emission| material.emissive_texture.is_none() && emission.iter().any(|part| *part > 0.0));
        let used = surface.base_color_texture.as_ref().and_then(|used| self.document.textures.get(used.index));
        let image = used.and_then(|texture| self.images.get(texture.source?)).copied().flatten();
        MeshLook {
            color: Some(Color::from_fractions([
                srgb_component(red),
                srgb_component(green),
                srgb_component(blue),
                opacity,
            ])),
            emission: emission.map(|[red, green, blue]| Color::from_fractions([red, green, blue, 1.0])),
            image,
            alpha: if image.is_some() { alpha } else { AlphaRule::Opaque },
        }
    }

    /// All images of the document: files, or parts of a buffer, which get names of their own.
    fn find_images(&mut self, path: &str, beside: &impl Fn(&str) -> Option<Vec<u8>>) {
        let stem = path.rsplit(['/', '\\']).next().unwrap_or(path);
        for (index, image) in self.document.images.iter().enumerate() {
            let mime = |kind: &str| if kind == "image/jpeg" { "jpg" } else { "png" };
            let found = match (&image.uri, image.buffer_view) {
                (Some(uri), _) => match uri.split_once(";base64,") {
                    None => {
                        self.images.push(self.mesh.image_named(uri, beside));
                        continue;
                    }
                    Some((head, data)) => {
                        (mime(head.trim_start_matches("data:")), BASE64_STANDARD.decode(data).ok().map(Arc::from))
                    }
                },
                (None, view) => {
                    let bytes = view.and_then(|view| self.bytes_of_view(view)).map(Arc::from);
                    (mime(image.mime_type.as_deref().unwrap_or_default()), bytes)
                }
            };
            let bytes = found.1.ok_or_else(|| "its bytes lie outside of the file".to_owned());
            let name = format!("{stem}.{index}.{}", found.0);
            self.images.push(self.mesh.add_image(MeshImage { given: name.clone(), name, bytes }));
        }
    }

    fn bytes_of_view(&self, view: usize) -> Option<&[u8]> {
        let view = self.document.buffer_views.get(view)?;
        self.buffers.get(view.buffer)?.get(view.byte_offset..view.byte_offset.checked_add(view.byte_length)?)
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
        let view = accessor.buffer_view?;
        let stride = self.document.buffer_views.get(view)?.byte_stride;
        Some((self.bytes_of_view(view)?.get(accessor.byte_offset..)?, stride))
    }
}

/// The number of an element at an offset in its bytes.
fn float_at(bytes: &[u8], at: usize) -> f64 {
    f64::from(f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
}

/// The triangles of a list of indices.
fn triangles(mode: u32, indices: &[u32]) -> Vec<[u32; 3]> {
    match mode {
        STRIP_MODE => strip(indices),
        FAN_MODE => fan(indices),
        _ => indices.chunks_exact(3).map(|three| [three[0], three[1], three[2]]).collect(),
    }
}
