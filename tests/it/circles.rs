//! Inside a module, too, files use each other in one direction: none is reached again by the `use` lines that start from it.
//!
//! A `mod` line does not count: a module's own file may list, and re-export from, the files that it is made of.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The modules that are held to it, and their folders. The root of a package has no name.
const MODULES: &[(&str, &str)] = &[
    ("cli", "src/cli"),
    ("config", "src/config"),
    ("device", "src/simulation/src/device"),
    ("", "src/realtime/src"),
    ("replay", "src/replay"),
    ("run", "src/run"),
    ("sim", "src/simulation/src/sim"),
];

type Files = BTreeMap<Vec<String>, String>;

/// The text of every file below a folder, by its path as a module.
fn collect(folder: &Path, module: &[String], files: &mut Files) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        let mut inside = module.to_vec();
        if path.is_dir() {
            inside.push(name);
            collect(&path, &inside, files);
        } else if let Some(stem) = name.strip_suffix(".rs") {
            inside.extend((!matches!(stem, "mod" | "lib")).then(|| stem.to_owned()));
            let text = fs::read_to_string(path).unwrap();
            files.insert(inside, text.split("#[cfg(test)]").next().unwrap().to_owned());
        }
    }
}

/// The paths that a `use` item names, groups in braces taken apart.
fn paths(prefix: &str, item: &str, found: &mut Vec<String>) {
    let Some((head, group)) = item.split_once('{') else {
        return found.push(format!("{prefix}{}", item.split(" as ").next().unwrap().trim()));
    };
    let prefix = format!("{prefix}{}", head.trim());
    let (mut depth, mut start) = (0, 0);
    let group = group.rsplit_once('}').unwrap().0;
    for (index, character) in group.char_indices().chain([(group.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = &group[start..index];
                if !part.trim().is_empty() {
                    paths(&prefix, part.trim(), found);
                }
                start = index + 1;
            }
            _ => {}
        }
    }
}

/// The other files that a file uses.
fn used<'a>(module: &[String], text: &str, files: &'a Files) -> BTreeSet<&'a Vec<String>> {
    let mut found = Vec::new();
    let is_use = |line: &str| ["use ", "pub use "].iter().any(|start| line.trim_start().starts_with(start));
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if is_use(line) {
            let mut item = line.to_owned();
            while !item.contains(';') {
                item.push_str(lines.next().unwrap());
            }
            paths("", item.split_once("use ").unwrap().1.split(';').next().unwrap(), &mut found);
        }
    }
    let resolve = |path: &String| {
        let mut parts: Vec<&str> = path.split("::").collect();
        let mut full: Vec<String> = match parts[0] {
            "crate" => Vec::new(),
            "self" | "super" => module.to_vec(),
            _ => return None,
        };
        while matches!(parts.first(), Some(&("crate" | "self" | "super"))) {
            if parts.remove(0) == "super" {
                full.pop();
            }
        }
        full.extend(parts.into_iter().map(str::to_owned));
        // What is left behind the file's own path is an item in it.
        while !files.contains_key(&full) {
            full.pop()?;
        }
        files.get_key_value(&full).map(|(file, _)| file).filter(|file| file[..] != *module)
    };
    found.iter().filter_map(resolve).collect()
}

#[test]
fn files_of_a_module_use_each_other_in_one_direction() {
    let mut circles = Vec::new();
    for (module, folder) in MODULES {
        let mut files = Files::new();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let root: Vec<String> = if module.is_empty() { Vec::new() } else { vec![(*module).to_owned()] };
        collect(&folder, &root, &mut files);
        assert!(files.len() > 2, "{module} is not at {}", folder.display());
        // Files whose users are all taken away can be in no circle; what is left at the end is in one or leads to one.
        let mut left: BTreeMap<_, _> = files.iter().map(|(file, text)| (file, used(file, text, &files))).collect();
        loop {
            let targets: BTreeSet<_> = left.values().flatten().copied().collect();
            let before = left.len();
            left.retain(|file, _| targets.contains(file));
            if left.len() == before {
                break;
            }
        }
        circles.extend(left.into_iter().map(|(file, used)| {
            let used: Vec<String> = used.iter().map(|used| used.join("::")).collect();
            format!("{} uses {}", file.join("::"), used.join(", "))
        }));
    }
    assert!(circles.is_empty(), "files that use each other in a circle, and those below them:\n{}", circles.join("\n"));
}
