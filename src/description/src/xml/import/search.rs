//! Folders in which models and packages of other programs are looked for: beside and above a file, in the folders that
//! Gazebo and ROS are told of, and in the local cache of Gazebo Fuel. Nothing is fetched.
//!
//! The environment is read here alone, by the names that those programs have. A run keeps the files that it found, so
//! that a replay finds them without it.

use std::{
    cmp::Reverse,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Mutex,
};

use super::super::reading::Reading;
use crate::text::encoding::percent_decoded;

/// Environment variables with Gazebo's model paths, of its versions.
const MODEL_VARIABLES: [&str; 5] =
    ["GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "SDF_PATH", "GAZEBO_MODEL_PATH", "GAZEBO_RESOURCE_PATH"];
/// Environment variables with the cache of Fuel, and its folders below the user's own.
const CACHE_VARIABLES: [&str; 2] = ["GZ_FUEL_CACHE_PATH", "IGN_FUEL_CACHE_PATH"];
const CACHE_FOLDERS: [&str; 2] = [".gz/fuel", ".ignition/fuel"];
/// Hosts of Fuel: it has moved, and its models with it.
const FUEL_HOSTS: [&str; 2] = ["fuel.gazebosim.org", "fuel.ignitionrobotics.org"];
/// Environment variable with the folders of packages of ROS 1, and the one with the prefixes of those of ROS 2.
const PACKAGE_VARIABLE: &str = "ROS_PACKAGE_PATH";
const PREFIX_VARIABLE: &str = "AMENT_PREFIX_PATH";
/// Folders above the file's that are looked into.
const MAX_LEVELS_UP: usize = 8;

/// Folders of models that the program was given.
static GIVEN_FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Adds folders of models and packages, which are looked into before those of the environment, by everything that this
/// process reads from now on.
pub fn search_models_in(folders: &[PathBuf]) {
    GIVEN_FOLDERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend_from_slice(folders);
}

fn given_folders() -> Vec<PathBuf> {
    GIVEN_FOLDERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
}

/// The folders of an environment variable that has a list of them.
fn folders_of(variable: &str) -> Vec<PathBuf> {
    let value = std::env::var_os(variable).unwrap_or_default();
    std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// Folders that are searched for models that a file names: its own, those above it and their `models`, and those of
/// Gazebo's variables.
pub(super) fn model_folders(reading: &Reading, file: Option<&str>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for file in [file, Some(reading.path)].into_iter().flatten() {
        let mut folder = Path::new(file).parent().unwrap_or(Path::new("")).to_path_buf();
        for _ in 0..MAX_LEVELS_UP {
            folders.extend([folder.clone(), folder.join("models")]);
            folder = folder.join("..");
        }
    }
    let folder = |path: &str| Some(Path::new(path).parent()?.parent()?.to_path_buf());
    folders.extend(reading.files.kept().iter().filter_map(|file| folder(&file.path)));
    folders.extend(given_folders());
    folders.extend(MODEL_VARIABLES.into_iter().flat_map(folders_of));
    folders
}

/// Where a URI of a model or of a file in one may lead, in the order of preference. Empty for one that leads out of its
/// package.
pub(super) fn possible_places(reading: &Reading, file: Option<&str>, uri: &str) -> Vec<PathBuf> {
    let leads_out = |name: &str| name.split('/').any(|part| part == "..");
    if let Some(name) = uri.strip_prefix("model://").or_else(|| uri.strip_prefix("package://")) {
        if leads_out(name) {
            return Vec::new();
        }
        let mut found: Vec<PathBuf> =
            model_folders(reading, file).into_iter().map(|folder| folder.join(name)).collect();
        found.extend(in_packages(reading, file, name));
        return found;
    }
    if let Some(asset) = FuelAsset::of_uri(uri) {
        return if leads_out(&asset.inside) { Vec::new() } else { asset.possible_places(reading, file) };
    }
    let name = uri.strip_prefix("file://").unwrap_or(uri);
    match name {
        "" => Vec::new(),
        name => model_folders(reading, file).into_iter().map(|folder| folder.join(name)).collect(),
    }
}

/// Where `NAME/PATH` may be in a package of ROS: in one around the file whose `package.xml` has that name, or in one
/// that ROS has been told of.
pub(super) fn in_packages(reading: &Reading, file: Option<&str>, name: &str) -> Vec<PathBuf> {
    let (package, inside) = name.split_once('/').unwrap_or((name, ""));
    let files = reading.files;
    let mut roots = Vec::new();
    let mut folder = Path::new(file.unwrap_or(reading.path)).parent().unwrap_or(Path::new("")).to_path_buf();
    for _ in 0..MAX_LEVELS_UP {
        if package_name(reading, &folder).as_deref() == Some(package) {
            roots.push(folder.clone());
        }
        folder = folder.join("..");
    }
    for outer in given_folders().into_iter().chain(folders_of(PACKAGE_VARIABLE)) {
        // A path of ROS has packages in any depth; those of a repository are one folder deeper.
        roots.extend((outer.file_name() == Some(OsStr::new(package))).then(|| outer.clone()));
        let repositories = files.names_in(&outer).into_iter().map(|repository| outer.join(repository).join(package));
        roots.extend([outer.join(package)].into_iter().chain(repositories));
    }
    roots.extend(folders_of(PREFIX_VARIABLE).into_iter().map(|prefix| prefix.join("share").join(package)));
    let mut found: Vec<PathBuf> = roots.into_iter().map(|root| root.join(inside)).collect();
    // A run has kept those of the environment with their whole paths.
    let ending = format!("/{inside}");
    let kept = files.kept().iter().map(|file| &file.path);
    found.extend(kept.filter(|path| path.starts_with('/') && path.ends_with(&ending)).map(PathBuf::from));
    found
}

/// The name in the `package.xml` of a folder.
fn package_name(reading: &Reading, folder: &Path) -> Option<String> {
    /// Bytes of such a file that are read.
    const MAX_PACKAGE_FILE: usize = 1 << 20;
    let path = folder.join("package.xml").to_string_lossy().into_owned();
    let text = if reading.files.has(&path) { reading.files.read(&path, MAX_PACKAGE_FILE).ok()? } else { return None };
    Some(text.split_once("<name>")?.1.split_once("</name>")?.0.trim().to_owned())
}

/// A model on Gazebo Fuel, or a file of one.
struct FuelAsset {
    host: String,
    owner: String,
    name: String,
    /// The number of its version, unless it is the newest.
    version: Option<String>,
    /// The path of a file in it; empty for the model itself.
    inside: String,
}

impl FuelAsset {
    /// `https://HOST/1.0/OWNER/models/NAME[/VERSION][/files/PATH]`.
    fn of_uri(uri: &str) -> Option<Self> {
        let rest = ["https://", "http://", "fuel://"].into_iter().find_map(|scheme| uri.strip_prefix(scheme))?;
        let rest = percent_decoded(rest);
        let mut parts = rest.split('/').filter(|part| !part.is_empty());
        let host = parts.next()?.to_owned();
        let mut owner = parts.next()?;
        let mut kind = parts.next()?;
        if kind != "models" {
            // The version of the server's interface stands before the owner.
            (owner, kind) = (kind, parts.next()?);
        }
        let name = parts.next().filter(|_| kind == "models")?.to_owned();
        let rest: Vec<&str> = parts.collect();
        let is_version = |part: &&&str| **part == "tip" || part.parse::<u32>().is_ok();
        let version = rest.first().filter(is_version);
        let inside = &rest[usize::from(version.is_some())..];
        let inside = inside.strip_prefix(&["files"]).unwrap_or(inside).join("/");
        let version = version.filter(|version| **version != "tip").map(|version| (*version).to_owned());
        Some(Self { host, owner: owner.to_owned(), name, version, inside })
    }

    /// The folders of the caches, where names are in lower case, then folders of models that have it by its name.
    fn possible_places(&self, reading: &Reading, file: Option<&str>) -> Vec<PathBuf> {
        let files = reading.files;
        let caches = CACHE_VARIABLES.into_iter().filter_map(std::env::var_os).map(PathBuf::from);
        let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
        let below_home = home.iter().flat_map(|home| CACHE_FOLDERS.map(|folder| Path::new(home).join(folder)));
        let caches: Vec<PathBuf> = given_folders().into_iter().chain(caches).chain(below_home).collect();
        let (owner, name) = (self.owner.to_ascii_lowercase(), self.name.to_ascii_lowercase());
        let mut roots = self.kept_roots(reading, &owner, &name);
        for cache in caches {
            for host in [self.host.as_str()].into_iter().chain(FUEL_HOSTS) {
                let model = cache.join(host).join(&owner).join("models").join(&name);
                match &self.version {
                    Some(version) => roots.push(model.join(version)),
                    None => {
                        let mut versions: Vec<u32> =
                            files.names_in(&model).iter().filter_map(|name| name.parse().ok()).collect();
                        versions.sort_unstable();
                        roots.extend(versions.into_iter().rev().map(|version| model.join(version.to_string())));
                        roots.push(model);
                    }
                }
            }
        }
        let folders = model_folders(reading, file);
        roots.extend(folders.into_iter().flat_map(|folder| [folder.join(&self.name), folder.join(&name)]));
        roots.into_iter().map(|root| if self.inside.is_empty() { root } else { root.join(&self.inside) }).collect()
    }

    /// The folders of the model among the files that a run has kept, wherever the cache was.
    fn kept_roots(&self, reading: &Reading, owner: &str, name: &str) -> Vec<PathBuf> {
        let part = format!("/{owner}/models/{name}/");
        let root = |path: &str| {
            let inside = path.find(&part)? + part.len();
            let version = path[inside..].split('/').next()?;
            let number: u32 = version.parse().ok()?;
            let is_wanted = self.version.as_ref().is_none_or(|wanted| wanted == version);
            is_wanted.then(|| (number, PathBuf::from(&path[..inside + version.len()])))
        };
        let mut roots: Vec<(u32, PathBuf)> = reading.files.kept().iter().filter_map(|file| root(&file.path)).collect();
        roots.sort_by_key(|(number, _)| Reverse(*number));
        roots.into_iter().map(|(_, root)| root).collect()
    }
}

/// A path that was found, seen from the folder of the file that is read.
pub(super) fn seen_from_file(reading: &Reading, found: PathBuf) -> String {
    let own = Path::new(reading.path).parent().unwrap_or(Path::new(""));
    match found.strip_prefix(own) {
        Ok(inside) => inside.to_string_lossy().into_owned(),
        Err(_) => std::path::absolute(&found).unwrap_or(found).to_string_lossy().into_owned(),
    }
}

/// The name by which a URI calls a model: its folder's, or its file's.
pub(super) fn name_in_uri(uri: &str) -> String {
    if let Some(asset) = FuelAsset::of_uri(uri) {
        return asset.name;
    }
    let mut parts = uri.trim_end_matches('/').rsplit(['/', '\\']).filter(|part| *part != "model.sdf");
    let last = parts.next().unwrap_or(uri);
    last.strip_suffix(".sdf").unwrap_or(last).to_owned()
}
