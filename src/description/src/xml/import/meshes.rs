//! The meshes of an imported robot, collected in a folder beside its file.

use std::{path::Path, rc::Rc};

use super::{
    super::{files::beside, node::Node, reading::Reading},
    finish::is_image_path,
    options::MeshFile,
};
use crate::{
    limits::{MAX_IMAGE_FILE, MAX_MESH_FILE},
    mesh::Mesh,
    text::{diagnostic::Diagnostic, tree::Attribute},
};

/// The collected files, each under its own or a similar name.
pub(super) struct MeshFolder<'r> {
    reading: &'r Reading<'r>,
    /// The folder, seen from the robot file.
    name: &'r str,
    /// Original path of each mesh, and its path here.
    copies: Vec<(String, String)>,
    /// The same for images.
    images: Vec<(String, String)>,
    /// The same for decomposed meshes; without paths for a convex mesh.
    parts: Vec<(String, Vec<String>)>,
    pub(super) files: Vec<MeshFile>,
}

impl<'r> MeshFolder<'r> {
    pub(super) fn new(reading: &'r Reading<'r>, name: &'r str) -> Self {
        Self { reading, name, copies: Vec::new(), images: Vec::new(), parts: Vec::new(), files: Vec::new() }
    }

    /// Names every mesh and image in the folder. A mesh that needs other files, of materials, buffers or images, is
    /// written as an OBJ file with its images beside it.
    pub(super) fn gather(&mut self, root: &mut Node) -> Result<(), Diagnostic> {
        let mut done = Ok(());
        root.walk_mut(&mut |node| {
            let is_mesh = ["convexHull", "triangleMesh"].contains(&&*node.name);
            let is_file = |given: &Attribute| match is_mesh {
                true => given.name == "file",
                false => is_image_path(node, &given.name, &given.value),
            };
            let files: Vec<bool> = node.attributes.iter().map(is_file).collect();
            for (file, _) in node.attributes.iter_mut().zip(files).filter(|(_, is_file)| *is_file) {
                if done.is_err() || self.files.iter().any(|kept| kept.path == file.value) {
                    continue;
                }
                let copied = if is_mesh { self.copy(&file.value) } else { self.copy_image(&file.value) };
                match copied {
                    Ok(path) => file.value = path,
                    Err(problem) => done = Err(problem),
                }
            }
        });
        done
    }

    fn copy(&mut self, file: &str) -> Result<String, Diagnostic> {
        let from = self.reading.files.beside(self.reading.path, file, "robots");
        if let Some((_, path)) = self.copies.iter().find(|(known, _)| *known == from) {
            return Ok(path.clone());
        }
        let (bytes, mesh) = self.read(&from)?;
        let name = file_name(&from);
        let (name, contents) = match mesh {
            Some(mesh) => {
                let mut mesh = (*mesh).clone();
                for image in &mut mesh.images {
                    let Ok(bytes) = &image.bytes else { continue };
                    let path = self.add_image(&beside(&from, &image.name), bytes.to_vec());
                    image.name = file_name(&path);
                }
                (format!("{}.obj", stem(&name)), mesh.to_obj().into_bytes())
            }
            None => (name, bytes),
        };
        let path = self.add(&name, contents);
        self.copies.push((from, path.clone()));
        Ok(path)
    }

    fn copy_image(&mut self, file: &str) -> Result<String, Diagnostic> {
        let from = self.reading.files.beside(self.reading.path, file, "robots");
        let bytes = self.reading.files.read_bytes(&from, MAX_IMAGE_FILE)?;
        Ok(self.add_image(&from, bytes))
    }

    /// Adds an image of this path once.
    fn add_image(&mut self, from: &str, bytes: Vec<u8>) -> String {
        if let Some((_, path)) = self.images.iter().find(|(known, _)| known == from) {
            return path.clone();
        }
        let path = self.add(&file_name(from), bytes);
        self.images.push((from.to_owned(), path.clone()));
        path
    }

    /// The bytes of a mesh file, and the mesh itself if it needs other files.
    fn read(&self, from: &str) -> Result<(Vec<u8>, Option<Rc<Mesh>>), Diagnostic> {
        let bytes = self.reading.files.read_bytes(from, MAX_MESH_FILE)?;
        let known = self.reading.session.meshes.get(self.reading.files, from);
        let (mesh, takes_others) = known.map_err(|what| Diagnostic::at(from, "", 0, what))?;
        Ok((bytes, takes_others.then_some(mesh)))
    }

    /// Replaces each convex hull of a mesh by the hulls of its convex parts.
    pub(super) fn take_apart(&mut self, root: &mut Node, decompose: fn(&Mesh) -> Vec<Mesh>) -> Result<(), Diagnostic> {
        for child in &mut root.children {
            match child.attributes.iter().position(|given| given.name == "file") {
                Some(file) if child.name == "convexHull" => {
                    let parts = self.parts(&child.attributes[file].value, decompose)?;
                    if !parts.is_empty() {
                        let part = |path: &String| {
                            let mut part = Node { children: Vec::new(), ..child.clone() };
                            part.attributes[file].value.clone_from(path);
                            part
                        };
                        let mut compound = Node {
                            name: "compound".into(),
                            offset: child.offset,
                            children: child.children.clone(),
                            ..Node::default()
                        };
                        compound.children.extend(parts.iter().map(part));
                        *child = compound;
                    }
                }
                _ => self.take_apart(child, decompose)?,
            }
        }
        flatten_compounds(root);
        Ok(())
    }

    fn parts(&mut self, file: &str, decompose: fn(&Mesh) -> Vec<Mesh>) -> Result<Vec<String>, Diagnostic> {
        let from = self.reading.files.beside(self.reading.path, file, "robots");
        if let Some((_, paths)) = self.parts.iter().find(|(known, _)| *known == from) {
            return Ok(paths.clone());
        }
        let mesh = self.reading.mesh(&from).map_err(|what| Diagnostic::at(&from, "", 0, what))?;
        let parts = if mesh.triangles.is_empty() { Vec::new() } else { decompose(&mesh) };
        let parts = if parts.len() > 1 { parts } else { Vec::new() };
        let stem = stem(&file_name(&from)).to_owned();
        let add =
            |(index, part): (usize, &Mesh)| self.add(&format!("{stem}_{}.obj", index + 1), part.to_obj().into_bytes());
        let paths: Vec<String> = parts.iter().enumerate().map(add).collect();
        self.parts.push((from, paths.clone()));
        Ok(paths)
    }

    /// Adds a file with this name, or with a number before it if the name is in use.
    fn add(&mut self, name: &str, contents: Vec<u8>) -> String {
        let mut path = format!("{}/{name}", self.name);
        let mut number = 1;
        while self.files.iter().any(|taken| taken.path == path) {
            number += 1;
            path = format!("{}/{number}_{name}", self.name);
        }
        self.files.push(MeshFile { path: path.clone(), contents });
        path
    }
}

/// Moves the parts of nested compounds into the outer compound, with their poses.
fn flatten_compounds(node: &mut Node) {
    if node.name != "compound" {
        return;
    }
    let children = std::mem::take(&mut node.children);
    for child in children {
        if child.name == "compound" {
            let pose = child.children.iter().find(|inner| inner.name == "pose").cloned();
            let parts = child.children.into_iter().filter(|inner| inner.name != "pose");
            node.children.extend(parts.map(|part| Node { children: pose.clone().into_iter().collect(), ..part }));
        } else {
            node.children.push(child);
        }
    }
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or("mesh".into(), |name| name.to_string_lossy().into_owned())
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}
