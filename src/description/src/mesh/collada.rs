//! COLLADA: geometries, placed by the nodes of a scene.
//!
//! As in ROS, `<up_axis>` is ignored: the meshes of a robot's links are in the links' frames. Skin joints and morphs
//! are ignored; the mesh is that before their deformation.

use std::collections::HashMap;

use bevy_math::{DAffine3, DMat4, DQuat, DVec3};
use simpartner_model::Color;

use super::{
    triangles::{Mesh, MeshProblem, fan, problem, shorten, strip},
    work::{Work, check_size},
};
use crate::text::{
    diagnostic::Diagnostic,
    tree::{Node, child, parse as parse_tree},
};

/// Nesting depth of nodes, references included. Drawn scenes need five; a node that names itself has no end.
const MAX_DEPTH: usize = 32;

/// Reads a document.
pub(super) fn read(text: &str) -> Result<Mesh, MeshProblem> {
    let parsed = parse_tree("", text).map_err(|Diagnostic { line, message, .. }| problem(Some(line), message))?;
    let root = &parsed.roots[0];
    if root.name != "COLLADA" {
        let what = format!("a COLLADA file holds a <COLLADA>, this one <{}>", shorten(&root.name));
        return Err(problem(None, what));
    }
    let mut document = Document { text, ids: HashMap::new(), mesh: Mesh::default(), work: Work::default() };
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
                    self.add_geometry(geometry, outer, &self.materials(node))?;
                }
                "instance_controller" => {
                    let controller = self.target(node, "url")?;
                    let Some(moved) = controller.children.iter().find(|how| ["skin", "morph"].contains(&&*how.name))
                    else {
                        continue;
                    };
                    let geometry = self.target(moved, "source")?;
                    self.add_geometry(geometry, outer, &self.materials(node))?;
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

    /// The colours of the materials that an instance binds, by the symbols that its geometry has for them.
    fn materials(&self, instance: &'t Node) -> HashMap<&'t str, Color> {
        let bound = child(instance, "bind_material").and_then(|bind| child(bind, "technique_common"));
        let instances = bound.into_iter().flat_map(|common| children_named(common, "instance_material"));
        instances.filter_map(|material| Some((attribute(material, "symbol")?, self.color_of(material)?))).collect()
    }

    /// Diffuse or emissive colour. A texture counts as no colour.
    fn color_of(&self, instance: &Node) -> Option<Color> {
        let material = self.target(instance, "target").ok()?;
        let effect = self.target(child(material, "instance_effect")?, "url").ok()?;
        let technique = child(child(effect, "profile_COMMON")?, "technique")?;
        let shader =
            technique.children.iter().find(|node| ["phong", "blinn", "lambert", "constant"].contains(&&*node.name));
        let color = |tag: &str| child(shader?, tag).and_then(|light| child(light, "color"));
        let numbers: Vec<f64> = self.numbers(color("diffuse").or_else(|| color("emission"))?).ok()?;
        let &[red, green, blue, ..] = &numbers[..] else { return None };
        Some(Color::from_fractions([red, green, blue, 1.0]))
    }

    fn add_geometry(
        &mut self,
        geometry: &'t Node,
        placed: DAffine3,
        materials: &HashMap<&str, Color>,
    ) -> Result<(), MeshProblem> {
        self.visit_node(geometry)?;
        let Some(mesh) = child(geometry, "mesh") else { return Ok(()) };
        self.visit_node(mesh)?;
        // Points that all primitives share are added once.
        let mut first_of: HashMap<&str, (u32, usize)> = HashMap::new();
        for primitive in &mesh.children {
            if !["triangles", "polylist", "polygons", "tristrips", "trifans"].contains(&&*primitive.name) {
                continue;
            }
            let Some((positions, offset)) = self.positions(primitive)? else { continue };
            let id = attribute(positions, "id").unwrap_or_default();
            let (first, count) = match first_of.get(id) {
                Some(known) => *known,
                None => {
                    let points = self.points(positions)?;
                    let first = self.mesh.vertices.len() as u32;
                    self.mesh.vertices.extend(points.iter().map(|point| placed.transform_point3(*point)));
                    check_size(&self.mesh)?;
                    first_of.insert(id, (first, points.len()));
                    (first, points.len())
                }
            };
            self.mesh.begin_color(attribute(primitive, "material").and_then(|symbol| materials.get(symbol)).copied());
            // Seen in a mirror, counter-clockwise is clockwise.
            let is_mirrored = placed.matrix3.determinant() < 0.0;
            for polygon in self.polygons(primitive, offset)? {
                if let Some(wrong) = polygon.iter().find(|index| **index as usize >= count) {
                    return Err(self.problem(primitive, format!("there is no point {wrong} among {count}")));
                }
                let triangles = if primitive.name == "tristrips" { strip(&polygon) } else { fan(&polygon) };
                for [a, b, c] in triangles {
                    let (b, c) = if is_mirrored { (c, b) } else { (b, c) };
                    self.mesh.triangles.push([first + a, first + b, first + c]);
                }
                check_size(&self.mesh)?;
            }
        }
        Ok(())
    }

    /// The source of a primitive's points, and which of the indices of a corner is that of its point.
    fn positions(&self, primitive: &'t Node) -> Result<Option<(&'t Node, usize)>, MeshProblem> {
        let of = |node: &'t Node, semantic: &str| {
            children_named(node, "input").find(|input| attribute(input, "semantic") == Some(semantic))
        };
        let Some(input) = of(primitive, "VERTEX") else { return Ok(None) };
        let offset = attribute(input, "offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
        let vertices = self.target(input, "source")?;
        let Some(position) = of(vertices, "POSITION") else {
            return Err(self.problem(vertices, "<vertices> lacks an <input> with the semantic POSITION"));
        };
        Ok(Some((self.target(position, "source")?, offset)))
    }

    /// The points of a source.
    fn points(&self, source: &'t Node) -> Result<Vec<DVec3>, MeshProblem> {
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
        let (stride, offset) = (number("stride", 3).max(3), number("offset", 0));
        let numbers: Vec<f64> = self.numbers(array)?;
        let points = numbers.get(offset..).unwrap_or_default().chunks(stride);
        Ok(points.filter(|point| point.len() >= 3).map(DVec3::from_slice).collect())
    }

    /// The corners of each polygon, strip or fan; triangles of a list are separate polygons.
    fn polygons(&self, primitive: &Node, offset: usize) -> Result<Vec<Vec<u32>>, MeshProblem> {
        let inputs =
            children_named(primitive, "input").filter_map(|input| attribute(input, "offset")?.parse::<usize>().ok());
        let stride = inputs.max().unwrap_or(0).saturating_add(1);
        let mut lists = Vec::new();
        for list in
            children_named(primitive, "p").chain(children_named(primitive, "ph").filter_map(|hole| child(hole, "p")))
        {
            let indices: Vec<u32> = self.numbers(list)?;
            lists.push(indices.chunks(stride).filter_map(|corner| corner.get(offset).copied()).collect::<Vec<u32>>());
        }
        match primitive.name.as_str() {
            "triangles" => Ok(lists.iter().flat_map(|list| list.chunks_exact(3)).map(<[u32]>::to_vec).collect()),
            "polylist" => {
                let counts: Vec<usize> =
                    child(primitive, "vcount").map_or(Ok(Vec::new()), |count| self.numbers(count))?;
                let corners: Vec<u32> = lists.concat();
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
            _ => Ok(lists),
        }
    }
}
