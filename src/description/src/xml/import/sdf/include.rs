//! `<include>`: a model of another file.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
};

use super::{
    super::{attributes::attribute, gazebo::is_true},
    importer::{MOST_NESTED, Sdf},
};
use crate::{
    limits::MAX_FILE,
    source::SourceFile,
    text::{
        numbers::shorten,
        tree::{Attribute, child},
    },
    xml::node::Node,
};

/// Environment variables with Gazebo's model paths, of its versions.
const PATH_VARIABLES: [&str; 5] =
    ["GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "SDF_PATH", "GAZEBO_MODEL_PATH", "GAZEBO_RESOURCE_PATH"];
/// Folders above the file's that are looked into.
const MAX_LEVELS_UP: usize = 8;

/// A model of another file, with the name and pose that it is included by.
pub(super) struct Included {
    pub(super) model: Node,
    /// The path of its file.
    pub(super) path: String,
    /// True if its members become those of the model around it.
    pub(super) is_merged: bool,
}

impl Sdf<'_, '_> {
    /// The model that an element includes.
    pub(super) fn include(&mut self, node: &Node) -> Option<Included> {
        let Some(uri) = child(node, "uri") else {
            self.reading.problem(node.offset, "<include> lacks <uri>");
            return None;
        };
        let text = uri.text.trim();
        let Some(path) = self.find(text) else {
            let message = format!("there is no model '{}'", shorten(text));
            let help = if text.starts_with("http") {
                "nothing is fetched: download the model, put its folder beside the file, and write model://NAME"
            } else {
                "put the model's folder beside the file's, or name the folder it is in by GZ_SIM_RESOURCE_PATH"
            };
            self.reading.problem_with_help(uri.offset, message, help);
            return None;
        };
        if self.open.contains(&path) || self.open.len() > MOST_NESTED {
            self.reading.problem(uri.offset, format!("the model '{}' includes itself", shorten(text)));
            return None;
        }
        let mut model = self.read_included(node, &path)?;
        for name in ["name", "static", "pose", "placement_frame"] {
            let Some(given) = child(node, name) else { continue };
            match name {
                "name" | "placement_frame" => {
                    model.attributes.retain(|own| own.name != name);
                    let value = given.text.trim().to_owned();
                    model.attributes.push(Attribute { name: name.into(), value, offset: given.offset });
                }
                _ => {
                    model.children.retain(|own| own.name != name);
                    model.children.push(given.clone());
                }
            }
        }
        // Additions of the element become part of the model.
        let added = ["plugin", "joint", "frame", "link"];
        model.children.extend(node.children.iter().filter(|child| added.contains(&child.name.as_str())).cloned());
        let is_merged = attribute(node, "merge").is_some_and(is_true);
        Some(Included { model, path, is_merged })
    }

    /// The root model of a file.
    fn read_included(&self, node: &Node, path: &str) -> Option<Node> {
        let text =
            self.reading.read_file(path).map_err(|problem| self.reading.problem(node.offset, problem.message)).ok()?;
        let parsed = self.reading.parse(path, &text);
        let file = Rc::new(SourceFile::new(path, text));
        let start = self.reading.source_map.include(Rc::clone(&file));
        let mut sources = self.reading.session.sources.borrow_mut();
        if !sources.iter().any(|known| known.path == path) {
            sources.push((*file).clone());
        }
        drop(sources);
        let mut roots = parsed.map_err(|problem| self.reading.push(problem)).ok()?;
        roots.iter_mut().for_each(|root| root.shift(start));
        let model = roots.iter().find_map(|root| if root.name == "model" { Some(root) } else { child(root, "model") });
        if model.is_none() {
            self.reading.problem(node.offset, format!("'{path}' holds no <model>"));
        }
        model.cloned()
    }

    /// The SDF file of a URI.
    fn find(&self, uri: &str) -> Option<String> {
        let (name, is_model) = match uri.strip_prefix("model://") {
            Some(name) => (name, true),
            None => (uri.strip_prefix("file://").unwrap_or(uri), false),
        };
        // A path out of the folder of models is not a model.
        if name.is_empty() || is_model && name.split('/').any(|part| part == "..") {
            return None;
        }
        self.folders().into_iter().find_map(|folder| self.sdf_in(&folder.join(name)))
    }

    /// The file itself, or the file of a model's folder.
    fn sdf_in(&self, path: &Path) -> Option<String> {
        let files = self.reading.files;
        let named = |path: &Path| path.to_string_lossy().into_owned();
        if path.extension().is_some_and(|ending| ["sdf", "world", "xml"].iter().any(|known| ending == *known)) {
            return Some(named(path)).filter(|path| files.has(path));
        }
        let configuration = named(&path.join("model.config"));
        let configured = if files.has(&configuration) { files.read(&configuration, MAX_FILE).ok() } else { None };
        if let Some(text) = &configured {
            let file = SourceFile::new(configuration, text.as_str());
            // Beyond the bound the run's texts are refused with the next file.
            let _ = self.reading.session.add_source(file);
        }
        let file = configured
            .as_deref()
            .and_then(|text| text.rsplit_once("</sdf>")?.0.rsplit_once('>'))
            .map(|(_, file)| file.trim().to_owned());
        let candidates = file.into_iter().chain(["model.sdf".to_owned()]);
        candidates.filter(|file| !file.contains("..")).map(|file| named(&path.join(file))).find(|path| files.has(path))
    }

    /// Folders that are searched for models: that of the file, those above it and their `models`, and those of Gazebo's
    /// variables.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for file in [self.open.last().map(String::as_str), Some(self.reading.path)].into_iter().flatten() {
            let mut folder = Path::new(file).parent().unwrap_or(Path::new("")).to_path_buf();
            for _ in 0..MAX_LEVELS_UP {
                folders.extend([folder.clone(), folder.join("models")]);
                folder = folder.join("..");
            }
        }
        let folder = |file: &SourceFile| Some(Path::new(&file.path).parent()?.parent()?.to_path_buf());
        folders.extend(self.reading.files.kept().iter().filter_map(folder));
        for variable in PATH_VARIABLES {
            let value = std::env::var_os(variable).unwrap_or_default();
            folders.extend(std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()));
        }
        folders
    }
}
