//! COLLADA: geometries, placed by the nodes of a scene.
//!
//! As in ROS, `<up_axis>` is ignored: the meshes of a robot's links are in the links' frames. Skin joints and morphs
//! are ignored; the mesh is that before their deformation.

mod material;

use std::collections::HashMap;

use bevy_math::{DAffine3, DMat4, DQuat, DVec3};
use simpartner_model::NO_CORNER;

use super::{
    look::MeshLook,
    triangles::{Corner, Mesh, MeshProblem, column_of, fan, problem, shorten, strip, unit_normal},
    work::{Work, check_size},
};
use crate::text::{
    diagnostic::Diagnostic,
    tree::{Node, child, parse as parse_tree},
};

/// Nesting depth of nodes, references included. Drawn scenes need five; a node that names itself has no end.
const MAX_DEPTH: usize = 32;

/// Reads a document.
pub(super) fn read(text: &str, beside: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Mesh, MeshProblem> {
    let parsed = parse_tree("", text).map_err(|Diagnostic { line, message, .. }| problem(Some(line), message))?;
    let root = &parsed.roots[0];
    if root.name != "COLLADA" {
        let what = format!("a COLLADA file holds a <COLLADA>, this one <{}>", shorten(&root.name));
        return Err(problem(None, what));
    }
    let mut document =
        Document { text, ids: HashMap::new(), mesh: Mesh::default(), work: Work::default(), beside: &beside };
    root.walk(&mut |node| {
        if let Some(id) = attribute(node, "id") {
            document.ids.entry(id).or_insert(node);
        }
    });
    let unit = child(root, "asset").and_then(|asset| child(asset, "unit")).and_then(|unit| attribute(unit, "meter"));
    let unit = unit.and_then(|meter| meter.parse::<f64>().ok()).filter(|meter| *meter > 0.0).unwrap_or(1.0);
    let world = DAffine3::from_scale(DVec3::splat(unit));
    let instance = child(root, "scene").and_then(|scene| child(scene, "instance_visual_scene"));
    match instance.or(child(root, "library_visual_scenes").and_then(|scenes| child(scenes, "visual_scene"))) {
        Some(scene) if scene.name == "visual_scene" => document.add_nodes(scene, world, 0)?,
        Some(instance) => document.add_nodes(document.target(instance, "url")?, world, 0)?,
        // A library of meshes without placement.
        None => {
            for geometry in child(root, "library_geometries").iter().flat_map(|library| &library.children) {
                document.add_geometry(geometry, world, &HashMap::new())?;
            }
        }
    }
    let up = child(root, "asset").and_then(|asset| child(asset, "up_axis")).map(|up| up.text.trim());
    document.mesh.remark = match up {
        Some("Y_UP") => Some("the <up_axis> Y_UP of a COLLADA file turns nothing: a mesh has its own axes, as in ROS"),
        Some("X_UP") => Some("the <up_axis> X_UP of a COLLADA file turns nothing: a mesh has its own axes, as in ROS"),
        _ => None,
    };
    Ok(document.mesh)
}

fn attribute<'n>(node: &'n Node, name: &str) -> Option<&'n str> {
    node.attributes.iter().find(|attribute| attribute.name == name).map(|attribute| attribute.value.trim())
}

fn children_named<'n>(node: &'n Node, tag: &'n str) -> impl Iterator<Item = &'n Node> {
    node.children.iter().filter(move |child| child.name == tag)
}

struct Document<'t> {
    text: &'t str,
    ids: HashMap<&'t str, &'t Node>,
    mesh: Mesh,
    work: Work,
    beside: &'t dyn Fn(&str) -> Option<Vec<u8>>,
}

impl<'t> Document<'t> {
    fn problem(&self, node: &Node, what: impl Into<String>) -> MeshProblem {
        let before = self.text.get(..node.offset).unwrap_or_default();
        problem(Some(before.matches('\n').count() + 1), what.into())
    }

    /// The element that an attribute names, as `#id`.
    fn target(&self, node: &Node, name: &str) -> Result<&'t Node, MeshProblem> {
        let url = attribute(node, name).unwrap_or_default();
        let found = url.strip_prefix('#').and_then(|id| self.ids.get(id)).copied();
        found.ok_or_else(|| self.problem(node, format!("<{}> names '{}', which is nowhere", node.name, shorten(url))))
    }

    fn numbers<T: std::str::FromStr>(&self, node: &Node) -> Result<Vec<T>, MeshProblem> {
        let number = |word: &str| {
            word.parse()
                .map_err(|_| self.problem(node, format!("<{}>: '{}' is no such number", node.name, shorten(word))))
        };
        let numbers: Vec<T> = node.text.split_ascii_whitespace().map(number).collect::<Result<_, _>>()?;
        self.work.read(numbers.len()).map_err(|wrong| self.problem(node, wrong.what))?;
        Ok(numbers)
    }

    /// Counts an element whose children are looked through.
    fn visit_node(&self, node: &Node) -> Result<(), MeshProblem> {
        self.work.visit(node.children.len()).map_err(|wrong| self.problem(node, wrong.what))
    }

    /// Adds all meshes below a node or scene.
    fn add_nodes(&mut self, parent: &'t Node, outer: DAffine3, depth: usize) -> Result<(), MeshProblem> {
        if depth > MAX_DEPTH {
            return Err(self.problem(parent, format!("nodes are nested more than {MAX_DEPTH} deep")));
        }
        self.visit_node(parent)?;
        for node in &parent.children {
            match node.name.as_str() {
                "node" => {
                    let placed = outer * self.transformation(node)?;
                    self.add_nodes(node, placed, depth + 1)?;
                }
                "instance_node" => {
                    let target = self.target(node, "url")?;
                    let placed = outer * self.transformation(target)?;
                    self.add_nodes(target, placed, depth + 1)?;
                }
                "instance_geometry" => {
                    let geometry = self.target(node, "url")?;
                    let materials = self.bound_looks(node);
                    self.add_geometry(geometry, outer, &materials)?;
                }
                "instance_controller" => {
                    let controller = self.target(node, "url")?;
                    let Some(moved) = controller.children.iter().find(|how| ["skin", "morph"].contains(&&*how.name))
                    else {
                        continue;
                    };
                    let geometry = self.target(moved, "source")?;
                    let materials = self.bound_looks(node);
                    self.add_geometry(geometry, outer, &materials)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Product of the transformations of a node, the first the outermost.
    fn transformation(&self, node: &Node) -> Result<DAffine3, MeshProblem> {
        let mut placed = DAffine3::IDENTITY;
        for element in &node.children {
            let wanted = match element.name.as_str() {
                "matrix" => 16,
                "rotate" => 4,
                "translate" | "scale" => 3,
                _ => continue,
            };
            let numbers: Vec<f64> = self.numbers(element)?;
            if numbers.len() != wanted {
                let what = format!("<{}> holds {wanted} numbers, got {}", element.name, numbers.len());
                return Err(self.problem(element, what));
            }
            placed *= match element.name.as_str() {
                "matrix" => DAffine3::from_mat4(DMat4::from_cols_slice(&numbers).transpose()),
                "translate" => DAffine3::from_translation(DVec3::from_slice(&numbers)),
                "scale" => DAffine3::from_scale(DVec3::from_slice(&numbers)),
                _ => {
                    let axis = DVec3::from_slice(&numbers).try_normalize();
                    let turn = axis.map(|axis| DQuat::from_axis_angle(axis, numbers[3].to_radians()));
                    DAffine3::from_quat(turn.unwrap_or(DQuat::IDENTITY))
                }
            };
        }
        Ok(placed)
    }

    fn add_geometry(
        &mut self,
        geometry: &'t Node,
        placed: DAffine3,
        materials: &HashMap<&str, MeshLook>,
    ) -> Result<(), MeshProblem> {
        self.visit_node(geometry)?;
        let Some(mesh) = child(geometry, "mesh") else { return Ok(()) };
        self.visit_node(mesh)?;
        let mut added = Added { placed, first_of: HashMap::new() };
        for primitive in &mesh.children {
            if !["triangles", "polylist", "polygons", "tristrips", "trifans"].contains(&&*primitive.name) {
                continue;
            }
            let Some(lists) = self.corner_lists(primitive, &mut added)? else { continue };
            let symbol = attribute(primitive, "material");
            self.mesh.begin_look(symbol.and_then(|symbol| materials.get(symbol)).copied().unwrap_or_default());
            // Seen in a mirror, counter-clockwise is clockwise.
            let is_mirrored = placed.matrix3.determinant() < 0.0;
            for polygon in self.polygons(primitive, &lists)? {
                let triangles = if primitive.name == "tristrips" { strip(&polygon) } else { fan(&polygon) };
                for [a, b, c] in triangles {
                    let corners = if is_mirrored { [a, c, b] } else { [a, b, c] };
                    let of = |kind| column_of(corners, kind);
                    self.mesh.add_triangle(of(0), of(1), of(2));
                }
                check_size(&self.mesh)?;
            }
        }
        Ok(())
    }

    /// The lists of points, normals and texture coordinates that a primitive uses. `None` without points.
    fn corner_lists(&mut self, primitive: &'t Node, added: &mut Added<'t>) -> Result<Option<[List; 3]>, MeshProblem> {
        let Some((vertices, offset)) = self.input_of(primitive, "VERTEX")? else { return Ok(None) };
        let Some((positions, _)) = self.input_of(vertices, "POSITION")? else {
            return Err(self.problem(vertices, "<vertices> lacks an <input> with the semantic POSITION"));
        };
        let points = List { offset, ..self.add_list(positions, 0, added)? };
        let mut other = |kind: usize, semantic: &str| {
            // Those of the points themselves have their indices. What is damaged counts as not there.
            let of_points = || self.input_of(vertices, semantic).ok().flatten().map(|(source, _)| (source, offset));
            let found = self.input_of(primitive, semantic).ok().flatten().or_else(of_points);
            let Some((source, offset)) = found else { return List::default() };
            let list = self.add_list(source, kind, added).unwrap_or_else(|_| {
                let id = attribute(source, "id").unwrap_or_default();
                *added.first_of.entry((id, kind)).or_default()
            });
            List { offset, ..list }
        };
        let normals = other(1, "NORMAL");
        Ok(Some([points, normals, other(2, "TEXCOORD")]))
    }

    /// Adds the elements of a source to those of the mesh, once for each placement, and returns their place.
    fn add_list(&mut self, source: &'t Node, kind: usize, added: &mut Added<'t>) -> Result<List, MeshProblem> {
        let id = attribute(source, "id").unwrap_or_default();
        if let Some(known) = added.first_of.get(&(id, kind)) {
            return Ok(*known);
        }
        let Added { placed, .. } = *added;
        let corners = &mut self.mesh.corners;
        let first = match kind {
            0 => self.mesh.vertices.len(),
            1 => corners.normals.len(),
            _ => corners.places.len(),
        } as u32;
        let elements = self.source_elements(source, if kind == 2 { 2 } else { 3 })?;
        let count = elements.len();
        let corners = &mut self.mesh.corners;
        match kind {
            0 => self.mesh.vertices.extend(elements.iter().map(|point| placed.transform_point3(*point))),
            1 => {
                let turn = placed.matrix3.inverse().transpose();
                corners.normals.extend(elements.iter().map(|normal| unit_normal(turn * *normal).unwrap_or([0.0; 3])));
            }
            _ => corners.places.extend(
                elements
                    .iter()
                    .map(|at| [at.x as f32, at.y as f32].map(|place| if place.is_finite() { place } else { 0.0 })),
            ),
        }
        check_size(&self.mesh)?;
        let list = List { first, count, offset: 0 };
        added.first_of.insert((id, kind), list);
        Ok(list)
    }

    /// The source or `<vertices>` of an input with this semantic, and which of the indices of a corner it has.
    fn input_of(&self, node: &'t Node, semantic: &str) -> Result<Option<(&'t Node, usize)>, MeshProblem> {
        let input = children_named(node, "input").find(|input| attribute(input, "semantic") == Some(semantic));
        let Some(input) = input else { return Ok(None) };
        let offset = attribute(input, "offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
        Ok(Some((self.target(input, "source")?, offset)))
    }

    /// The elements of a source, with 0 for coordinates that they lack.
    fn source_elements(&self, source: &'t Node, size: usize) -> Result<Vec<DVec3>, MeshProblem> {
        let accessor = child(source, "technique_common").and_then(|common| child(common, "accessor"));
        let array = match accessor {
            Some(accessor) => self.target(accessor, "source")?,
            None => {
                child(source, "float_array").ok_or_else(|| self.problem(source, "<source> lacks a <float_array>"))?
            }
        };
        let number = |name: &str, default: usize| {
            accessor
                .and_then(|accessor| attribute(accessor, name))
                .and_then(|text| text.parse().ok())
                .unwrap_or(default)
        };
        let (stride, offset) = (number("stride", size).max(size), number("offset", 0));
        let numbers: Vec<f64> = self.numbers(array)?;
        let elements = numbers.get(offset..).unwrap_or_default().chunks(stride);
        let vector = |part: &[f64]| DVec3::new(part[0], part[1], part.get(2).copied().unwrap_or(0.0));
        Ok(elements.filter(|part| part.len() >= size).map(|part| vector(&part[..size])).collect())
    }

    /// The corners of each polygon, strip or fan; triangles of a list are separate polygons.
    fn polygons(&self, primitive: &Node, lists: &[List; 3]) -> Result<Vec<Vec<Corner>>, MeshProblem> {
        let inputs =
            children_named(primitive, "input").filter_map(|input| attribute(input, "offset")?.parse::<usize>().ok());
        let stride = inputs.max().unwrap_or(0).saturating_add(1);
        let mut polygons = Vec::new();
        for list in
            children_named(primitive, "p").chain(children_named(primitive, "ph").filter_map(|hole| child(hole, "p")))
        {
            let indices: Vec<u32> = self.numbers(list)?;
            let corners = indices.chunks(stride).filter(|corner| corner.len() > lists[0].offset);
            let corners = corners.map(|indices| self.corner_at(primitive, indices, lists));
            polygons.push(corners.collect::<Result<Vec<Corner>, _>>()?);
        }
        match primitive.name.as_str() {
            "triangles" => Ok(polygons.iter().flat_map(|list| list.chunks_exact(3)).map(<[Corner]>::to_vec).collect()),
            "polylist" => {
                let counts: Vec<usize> =
                    child(primitive, "vcount").map_or(Ok(Vec::new()), |count| self.numbers(count))?;
                let corners: Vec<Corner> = polygons.concat();
                let mut left = &corners[..];
                let mut polygons = Vec::new();
                for count in counts {
                    let Some((polygon, others)) = left.split_at_checked(count) else {
                        return Err(self.problem(primitive, "<vcount> counts more corners than <p> has"));
                    };
                    polygons.push(polygon.to_vec());
                    left = others;
                }
                Ok(polygons)
            }
            _ => Ok(polygons),
        }
    }

    fn corner_at(&self, primitive: &Node, indices: &[u32], lists: &[List; 3]) -> Result<Corner, MeshProblem> {
        let mut corner = [NO_CORNER; 3];
        for (kind, list) in lists.iter().enumerate() {
            match indices.get(list.offset) {
                Some(index) if (*index as usize) < list.count => corner[kind] = list.first + index,
                Some(wrong) if kind == 0 => {
                    return Err(self.problem(primitive, format!("there is no point {wrong} among {}", list.count)));
                }
                // Without a normal or texture coordinate it has its point.
                _ => {}
            }
        }
        Ok(corner)
    }
}

/// Elements of a source in the mesh.
#[derive(Debug, Clone, Copy, Default)]
struct List {
    /// Index of the first one.
    first: u32,
    count: usize,
    /// Which of the indices of a corner belongs to the list.
    offset: usize,
}

/// Sources of a geometry that have been added to the mesh: those that primitives share are added once.
struct Added<'t> {
    placed: DAffine3,
    /// Key: id of the source and kind of its elements: points, normals, texture coordinates.
    first_of: HashMap<(&'t str, usize), List>,
}
