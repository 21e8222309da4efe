//! Makes the table of the book's files: the pages of `docs/src`, with what they include, and their pictures.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

const BOOK: &str = "../../docs/src";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={BOOK}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let (pages, pictures) = (out.join("pages"), env::current_dir().expect("cargo sets it"));
    let mut paths = Vec::new();
    collect(Path::new(BOOK), &mut paths);
    paths.sort();
    let mut table = "/// The files of the book.\npub static FILES: &[File] = &[\n".to_owned();
    for path in paths {
        let name = path.strip_prefix(BOOK).expect("it is in the book").to_string_lossy().replace('\\', "/");
        let source = if name.ends_with(".md") {
            let page = pages.join(&name);
            fs::create_dir_all(page.parent().expect("it is in a folder")).expect("cargo's folder can be written to");
            fs::write(&page, expand(&path)).expect("cargo's folder can be written to");
            page
        } else {
            pictures.join(&path)
        };
        table += &format!("    File {{ path: {name:?}, bytes: include_bytes!({source:?}) }},\n");
    }
    fs::write(out.join("files.rs"), table + "];\n").expect("cargo's folder can be written to");
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the book is there").flatten() {
        match entry.path() {
            path if path.is_dir() => collect(&path, paths),
            path => paths.push(path),
        }
    }
}

/// The text of a page, with the files that its lines `{{#include PATH}}` name, as mdBook reads them.
fn expand(page: &Path) -> String {
    let text = fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    let lines = text.replace("\r\n", "\n");
    let expanded = lines.split_inclusive('\n').map(|line| {
        let Some(path) = line.trim_end().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) else {
            return line.to_owned();
        };
        let included = page.parent().expect("it is in a folder").join(path);
        println!("cargo::rerun-if-changed={}", included.display());
        let text = fs::read_to_string(&included).unwrap_or_else(|error| panic!("{}: {error}", included.display()));
        text.replace("\r\n", "\n")
    });
    expanded.collect()
}
