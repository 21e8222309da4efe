//! `<include>`: a model of another file.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
};

use super::{
    super::{
        attributes::attribute,
        gazebo::is_true,
        search::{self, name_in_uri},
    },
    importer::{MOST_NESTED, Scope, Sdf},
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

/// A model of another file, with the name and pose that it is included by.
pub(super) struct Included {
    pub(super) model: Node,
    /// The path of its file.
    pub(super) path: String,
    /// True if its members become those of the model around it.
    pub(super) is_merged: bool,
}

impl Sdf<'_, '_> {
    /// The model that an element includes. One that is not found is left out, with a warning.
    pub(super) fn include(&mut self, node: &Node, scope: &mut Scope) -> Option<Included> {
        let Some(uri) = child(node, "uri") else {
            self.reading.problem(node.offset, "<include> lacks <uri>");
            return None;
        };
        let text = uri.text.trim();
        let Some(path) = self.find(text) else {
            let help = if text.starts_with("http") {
                "nothing is fetched: download it into the cache (gz fuel download -u URI), or put its folder beside the file"
            } else {
                "put its folder beside the file's, or name the folder it is in by --models or GZ_SIM_RESOURCE_PATH"
            };
            let what = format!("there is no model '{}'", shorten(text));
            self.reading.warn(uri.offset, what, format!("it is left out; {help}"));
            self.lose_included(uri, node, scope);
            return None;
        };
        if self.open.contains(&path) || self.open.len() > MOST_NESTED {
            self.reading.problem(uri.offset, format!("the model '{}' includes itself", shorten(text)));
            return None;
        }
        let Some(mut model) = self.read_included(node, &path) else {
            self.lose_included(uri, node, scope);
            return None;
        };
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

    /// Takes up the name and place of a model that is left out, so that what refers to it is left out, too.
    fn lose_included(&self, uri: &Node, node: &Node, scope: &mut Scope) {
        if attribute(node, "merge").is_some_and(is_true) {
            return scope.frames.lose_some();
        }
        let name = child(node, "name").map_or_else(|| name_in_uri(uri.text.trim()), |name| name.text.trim().to_owned());
        scope.frames.lose_model(self.reading, &name, child(node, "pose"));
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
            let what = format!("'{path}' holds no <model> of SDF");
            self.reading.warn(node.offset, what, "what it includes is left out".into());
        }
        model.cloned()
    }

    /// The SDF file of a URI.
    fn find(&self, uri: &str) -> Option<String> {
        self.places_of(uri).into_iter().find_map(|path| self.sdf_in(&path))
    }

    /// Where a URI in the file that is open may lead.
    pub(super) fn places_of(&self, uri: &str) -> Vec<PathBuf> {
        search::possible_places(self.reading, self.open.last().map(String::as_str), uri)
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
}
