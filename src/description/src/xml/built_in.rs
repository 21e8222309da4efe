//! The worlds, robots and grasps that are built into the program, so that it runs in any folder.
//!
//! Their paths begin with the folder [`BUILT_IN_FOLDER`], which need not exist. A file of the same path in the file
//! system takes precedence.

use std::path::{Component, Path, PathBuf};

use simpartner_wire::near;

use crate::text::diagnostic::Diagnostic;

/// A file of the program's own.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Path in a project folder, such as `worlds/flat.xml`.
    pub path: &'static str,
    /// Its content.
    pub text: &'static str,
}

impl BuiltIn {
    /// The name of its root element, from its document type; `None` for a file that is not XML.
    pub fn root(&self) -> Option<&'static str> {
        let (_, name) = self.text.split_once("<!DOCTYPE ")?;
        name.split_whitespace().next()
    }

    /// The first sentence of its first comment, without line breaks; empty without one.
    pub fn summary(&self) -> String {
        let comment = self.text.split_once("<!--").and_then(|(_, rest)| rest.split_once("-->"));
        let words: Vec<&str> = comment.map_or(Vec::new(), |(comment, _)| comment.split_whitespace().collect());
        let text = words.join(" ");
        match text.find(". ") {
            Some(end) => text[..=end].to_owned(),
            None => text,
        }
    }
}

/// The folder that the paths of built-in files begin with.
pub(super) const BUILT_IN_FOLDER: &str = "built-in";

macro_rules! files {
    ($($path:literal)*) => {
        &[$(BuiltIn { path: $path, text: include_str!(concat!("../../../../", $path)) }),*]
    };
}

/// All built-in files. A test compares the list with the folders.
pub const BUILT_IN: &[BuiltIn] = files! {
    "robots/boat.xml"
    "robots/car.xml"
    "robots/caterpillar.xml"
    "robots/circle.xml"
    "robots/circle_gamepad.xml"
    "robots/crawler.xml"
    "robots/differential_drive.xml"
    "robots/drive_until.xml"
    "robots/gears.xml"
    "robots/instruments.xml"
    "robots/mecanum.xml"
    "robots/parallel_gripper.xml"
    "robots/pole.xml"
    "robots/quadcopter.xml"
    "robots/rolking.xml"
    "robots/rover.xml"
    "robots/rover_drive.xml"
    "robots/scanner.xml"
    "robots/skidding.xml"
    "robots/stop.xml"
    "robots/straight.xml"
    "robots/suction_gripper.xml"
    "robots/terrain.xml"
    "robots/three_finger_hand.xml"
    "robots/ur10.xml"
    "robots/workpartner1.xml"
    "robots/workpartner1_camera.xml"
    "robots/workpartner1_navigation.xml"
    "robots/workpartner2.xml"
    "robots/workpartner3.xml"
    "robots/workpartner4.xml"
    "robots/workpartner_assemblies.xml"
    "worlds/air.xml"
    "worlds/balance.xml"
    "worlds/circle_gamepad.xml"
    "worlds/falling.xml"
    "worlds/flat.xml"
    "worlds/grasps/harker1.xml"
    "worlds/grasps/harker2.xml"
    "worlds/grasps/harker3.xml"
    "worlds/grasps/harker4.xml"
    "worlds/grasps/harker5.xml"
    "worlds/grasps/harker6.xml"
    "worlds/grasps/harker7.xml"
    "worlds/grasps/harker8.xml"
    "worlds/grasps/pinch.xml"
    "worlds/grasps/tasks/box.xml"
    "worlds/grasps/tasks/box_world.xml"
    "worlds/grasps/tasks/cylinder.xml"
    "worlds/grasps/tasks/cylinder_world.xml"
    "worlds/grasps/tasks/hand.xml"
    "worlds/grasps/tasks/hand_world.xml"
    "worlds/grasps/tasks/mesh.xml"
    "worlds/grasps/tasks/mesh_world.xml"
    "worlds/grasps/tasks/pear.obj"
    "worlds/grasps/tasks/pg70.xml"
    "worlds/grasps/tasks/pg70_gripper.xml"
    "worlds/grasps/tasks/pg70_world.xml"
    "worlds/grasps/tasks/suction.xml"
    "worlds/grasps/tasks/suction_world.xml"
    "worlds/heightfield.csv"
    "worlds/heightfield.xml"
    "worlds/jacksboro.asc"
    "worlds/jacksboro.xml"
    "worlds/line.xml"
    "worlds/maze.xml"
    "worlds/navigation.xml"
    "worlds/pole.xml"
    "worlds/scanner.xml"
    "worlds/slippery.xml"
    "worlds/square.xml"
    "worlds/terrain.csv"
    "worlds/terrain.xml"
    "worlds/vehicles.xml"
    "worlds/water.xml"
};

/// The path that is read for a given one: the path itself, or, if there is no such file, that of the built-in file of
/// this name.
pub fn locate(path: &Path) -> PathBuf {
    match normalized(path) {
        Some(name) if !path.exists() && find_by_path(&name).is_some() => Path::new(BUILT_IN_FOLDER).join(name),
        _ => path.to_owned(),
    }
}

/// True if this path, as written in a file or returned by [`locate`], is that of a built-in file.
pub fn is_built_in(path: &str) -> bool {
    find(path).is_some() && !Path::new(path).exists()
}

/// The built-in file of a path that begins with [`BUILT_IN_FOLDER`].
pub(super) fn find(path: &str) -> Option<&'static BuiltIn> {
    find_by_path(normalized(Path::new(path))?.strip_prefix(BUILT_IN_FOLDER)?.strip_prefix('/')?)
}

/// Adds the name of a similar built-in file to the problem of a missing file.
pub(super) fn with_help(problem: Diagnostic) -> Diagnostic {
    let path = Path::new(&problem.path);
    let same = |file: &&BuiltIn| Path::new(file.path).file_name() == path.file_name();
    if path.exists() {
        return problem;
    }
    let near = || {
        let own_name = |file: &'static str| file.rsplit('/').next().unwrap_or(file);
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        near::nearest(&problem.path, BUILT_IN.iter().map(|file| file.path)).or_else(|| {
            let near = near::nearest(&name, BUILT_IN.iter().map(|file| own_name(file.path)))?;
            BUILT_IN.iter().map(|file| file.path).find(|file| own_name(file) == near)
        })
    };
    let help = match (BUILT_IN.iter().find(same), near()) {
        (Some(file), _) => format!("a file {} is built in", file.path),
        (None, Some(near)) => format!("did you mean '{near}', which is built in? `simpartner list` names all that are"),
        (None, None) => return problem,
    };
    Diagnostic { help: Some(help.into()), ..problem }
}

fn find_by_path(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|file| file.path == name)
}

/// A relative path without `.` and `..`, with slashes; `None` for one that leaves its folder.
fn normalized(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::Prefix(_) | Component::RootDir => return None,
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_what_the_folders_hold() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = Vec::new();
        for folder in ["robots", "worlds", "worlds/grasps", "worlds/grasps/tasks"] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                // DTDs, pages and pictures are generated from these.
                if [".xml", ".csv", ".asc", ".obj"].iter().any(|ending| name.ends_with(ending)) {
                    found.push(format!("{folder}/{name}"));
                }
            }
        }
        found.sort();
        assert_eq!(found, BUILT_IN.iter().map(|file| file.path.to_owned()).collect::<Vec<_>>());
    }

    #[test]
    fn every_built_in_xml_file_has_a_root_and_a_summary() {
        for file in BUILT_IN.iter().filter(|file| file.path.ends_with(".xml")) {
            let root = file.root().unwrap_or_else(|| panic!("{} has no root", file.path));
            assert!(["world", "robot", "assemblies", "sequence", "grasp", "graspTask"].contains(&root), "{root}");
            assert!(!file.summary().is_empty(), "{} opens with no comment", file.path);
        }
    }

    #[test]
    fn a_built_in_file_is_found_however_its_path_is_written() {
        let name = |path| find(path).map(|file| file.path);
        assert_eq!(name("built-in/worlds/../robots/gears.xml"), Some("robots/gears.xml"));
        assert_eq!(name("./built-in/./worlds/flat.xml"), Some("worlds/flat.xml"));
        for path in ["worlds/flat.xml", "built-in/flat.xml", "../built-in/worlds/flat.xml", "/built-in/worlds/flat.xml"]
        {
            assert_eq!(name(path), None, "{path}");
        }
        assert_eq!(locate(Path::new("./nowhere/../worlds/flat.txt")), Path::new("./nowhere/../worlds/flat.txt"));
    }
}
