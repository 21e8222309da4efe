//! No import cycles between files, in any package or in the viewer: to understand a file, only the files it uses and
//! those below them are needed.
//!
//! An arrow points from a file to each file whose names it uses, in a `use` item or in a path of an expression. A
//! re-exported name belongs to the file that defines it, so a `pub use` is no arrow, and neither is a `mod` line. Test
//! modules are excluded. Methods are not seen: a call does not name the file of its `impl`.

mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use source::{Use, code_of, paths_in, uses_in};

/// Folders that still have cycles. An entry is removed with its last cycle; none is added.
const REMAINING: &[&str] = &[];

type Module = Vec<String>;
type Arrows = BTreeMap<PathBuf, BTreeMap<PathBuf, BTreeSet<String>>>;

/// A package: its modules with their files, and the names that each module uses from others.
struct Package {
    modules: BTreeMap<Module, PathBuf>,
    uses: BTreeMap<Module, Vec<Use>>,
    code: BTreeMap<Module, String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folders below one that contain a file of this name, including itself.
fn folders_with(file: &str, folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.join(file).is_file() {
        found.push(folder.to_owned());
    }
    for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
        if path.is_dir() && !["target", "node_modules", ".git"].iter().any(|name| path.ends_with(name)) {
            folders_with(file, &path, found);
        }
    }
}

/// The modules below a source folder. Folders with their own manifest are other packages.
fn collect(folder: &Path, module: &[String], modules: &mut BTreeMap<Module, PathBuf>) {
    for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut inside = module.to_vec();
        if path.is_dir() {
            if !path.join("Cargo.toml").exists() {
                inside.push(name);
                collect(&path, &inside, modules);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests" {
            let is_root = name == "mod" || module.is_empty() && name == "lib";
            inside.extend((!is_root).then_some(name));
            modules.insert(inside, path);
        }
    }
    // A program without a library has its modules below its main file.
    if module.is_empty()
        && !modules.contains_key(&Module::new())
        && let Some(main) = modules.remove(&["main".to_owned()][..])
    {
        modules.insert(Module::new(), main);
    }
}

impl Package {
    fn read(folder: &Path) -> Self {
        let mut package = Self { modules: BTreeMap::new(), uses: BTreeMap::new(), code: BTreeMap::new() };
        collect(&folder.join("src"), &[], &mut package.modules);
        for (module, file) in &package.modules {
            let (uses, rest) = uses_in(&code_of(&fs::read_to_string(file).unwrap()));
            package.uses.insert(module.clone(), uses);
            package.code.insert(module.clone(), rest);
        }
        package
    }

    /// The module of a path, and the rest of the path behind it. `None` for another package or an unknown name.
    fn resolve(&self, from: &[String], path: &[String]) -> Option<(Module, Module)> {
        let (mut module, mut rest) = match path.first()?.as_str() {
            "crate" => (Module::new(), &path[1..]),
            "self" => (from.to_vec(), &path[1..]),
            "super" => (from.to_vec(), path),
            _ => (from.to_vec(), path),
        };
        while let Some(("super", below)) = rest.split_first().map(|(first, below)| (first.as_str(), below)) {
            module.pop()?;
            rest = below;
        }
        let is_relative = ["crate", "self", "super"].contains(&path[0].as_str());
        let mut is_known = is_relative;
        while let Some((first, below)) = rest.split_first() {
            let inner: Module = module.iter().chain([first]).cloned().collect();
            if !self.modules.contains_key(&inner) {
                break;
            }
            (module, rest, is_known) = (inner, below, true);
        }
        is_known.then(|| (module, rest.to_vec()))
    }

    /// The module that defines the first name of `rest`, following re-exports.
    fn definer(&self, mut module: Module, mut rest: Module) -> Option<(Module, Module)> {
        // As many steps as no chain of re-exports has.
        for _ in 0..16 {
            let Some(name) = rest.first() else { break };
            let handed_on = self.uses.get(&module).and_then(|uses| uses.iter().find(|item| item.name == *name));
            let Some(item) = handed_on else { break };
            let (next, mut left) = self.resolve(&module, &item.path)?;
            left.extend(rest.drain(1..));
            (module, rest) = (next, left);
        }
        Some((module, rest))
    }

    fn add_arrows(&self, arrows: &mut Arrows) {
        for (module, file) in &self.modules {
            let uses = self.uses[module].iter().filter(|item| !item.is_public).map(|item| item.path.clone());
            let named = paths_in(&self.code[module]).into_iter().map(|path| {
                // A path of an expression begins with a name that a `use` has brought, or with a module.
                match self.uses[module].iter().find(|item| item.name == path[0]) {
                    Some(item) => item.path.iter().chain(&path[1..]).cloned().collect(),
                    None => path,
                }
            });
            for path in uses.chain(named) {
                let target = self.resolve(module, &path).and_then(|(module, rest)| self.definer(module, rest));
                let Some((target, rest)) = target.filter(|(target, _)| target != module) else { continue };
                let Some(other) = self.modules.get(&target) else { continue };
                let name = rest.first().cloned().unwrap_or_default();
                arrows.entry(file.clone()).or_default().entry(other.clone()).or_default().insert(name);
            }
        }
    }
}

/// The files that the page's programs import.
fn add_arrows_of_viewer(folder: &Path, arrows: &mut Arrows) {
    for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            add_arrows_of_viewer(&path, arrows);
            continue;
        }
        if path.extension().is_none_or(|ending| ending != "ts") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let imports = text.lines().filter(|line| line.starts_with("import ") || line.starts_with("} from "));
        let imported = imports.filter_map(|line| line.split('"').nth(1)).filter(|name| name.starts_with('.'));
        for name in imported {
            let target = folder.join(format!("{name}.ts"));
            let Ok(target) = target.canonicalize() else { continue };
            let own = path.canonicalize().unwrap();
            arrows.entry(own).or_default().entry(target).or_default().insert(String::new());
        }
    }
}

/// The files that can be reached by arrows; including itself if it is in a cycle.
fn reached<'a>(arrows: &'a Arrows, file: &'a PathBuf) -> BTreeSet<&'a PathBuf> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![file]);
    while let Some(next) = open.pop() {
        let targets = arrows.get(next).into_iter().flat_map(|targets| targets.keys());
        open.extend(targets.filter(|target| seen.insert(*target)));
    }
    seen
}

/// The files in circles, each with those that it is in a circle with.
fn circles(arrows: &Arrows) -> BTreeMap<&PathBuf, BTreeSet<&PathBuf>> {
    let reached: BTreeMap<_, _> = arrows.keys().map(|file| (file, reached(arrows, file))).collect();
    let circled = reached.iter().filter(|(file, targets)| targets.contains(*file));
    let back = |file: &PathBuf, target: &PathBuf| reached.get(target).is_some_and(|targets| targets.contains(file));
    circled
        .map(|(file, targets)| (*file, targets.iter().copied().filter(|target| back(file, target)).collect()))
        .collect()
}

#[test]
fn no_file_is_in_a_circle() {
    let (mut packages, mut arrows) = (Vec::new(), Arrows::new());
    folders_with("Cargo.toml", root(), &mut packages);
    packages.retain(|folder| folder.join("src").is_dir());
    assert!(packages.len() > 9, "{packages:?}");
    packages.iter().for_each(|folder| Package::read(folder).add_arrows(&mut arrows));
    let rust = arrows.len();
    assert!(rust > 400, "only {rust} files use others");
    add_arrows_of_viewer(&root().join("clients/viewer/src"), &mut arrows);
    assert!(arrows.len() > rust + 20, "only {} files of the viewer import others", arrows.len() - rust);

    let root = root().canonicalize().unwrap();
    let shown = |file: &Path| {
        let file = file.canonicalize().unwrap();
        file.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/")
    };
    let mut broken = Vec::new();
    let mut done: BTreeSet<&str> = REMAINING.iter().copied().collect();
    for (file, circle) in circles(&arrows) {
        let from = shown(file);
        if let Some(folder) = REMAINING.iter().find(|folder| from.starts_with(**folder)) {
            done.remove(folder);
            continue;
        }
        for (target, names) in arrows[file].iter().filter(|(target, _)| circle.contains(target)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            broken.push(format!("{from} uses {} of {}", names.join(", "), shown(target)));
        }
    }
    broken.extend(done.into_iter().map(|folder| format!("{folder} has no circle any more: take it out of REMAINING")));
    assert!(broken.is_empty(), "files in circles, and what ties them:\n{}", broken.join("\n"));
}

#[test]
fn a_circle_is_found_through_names_that_are_handed_on() {
    let file = |name: &str| PathBuf::from(format!("{name}.rs"));
    let texts = [
        ("", "mod a; mod b;\npub use b::Thing;"),
        ("a", "use super::Thing;\npub fn make() -> Thing { Thing }"),
        (
            "b",
            "/// As [`crate::a`].\npub struct Thing;\nfn test() { crate::a::make(); }\n#[cfg(test)]\nmod tests { use crate::a; }",
        ),
    ];
    let arrows = |texts: &[(&str, &str)]| {
        let mut package = Package { modules: BTreeMap::new(), uses: BTreeMap::new(), code: BTreeMap::new() };
        for (name, text) in texts {
            let module: Module = if name.is_empty() { Module::new() } else { vec![(*name).to_owned()] };
            let (uses, rest) = uses_in(&code_of(text));
            package.modules.insert(module.clone(), file(name));
            package.uses.insert(module.clone(), uses);
            package.code.insert(module, rest);
        }
        let mut arrows = Arrows::new();
        package.add_arrows(&mut arrows);
        arrows
    };
    let found = arrows(&texts);
    assert_eq!(circles(&found).into_keys().collect::<Vec<_>>(), [&file("a"), &file("b")], "{found:?}");
    // Without the call there is none: comments, tests and re-exports are no arrows.
    let mut texts = texts;
    let without = texts[2].1.replace("crate::a::make();", "");
    texts[2].1 = &without;
    let found = arrows(&texts);
    assert!(circles(&found).is_empty(), "{found:?}");
}
