//! The library from outside: its header, programs in C, functional mock-up units in another importer.

mod fmu;
#[expect(clippy::unwrap_used, reason = "it is a file of the program's tests, which may panic")]
#[path = "../../../tests/it/needs.rs"]
mod needs;
mod programs;

use std::{
    env,
    path::{Path, PathBuf},
};

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of the programs and libraries of this build.
fn build_folder() -> PathBuf {
    let test = env::current_exe().expect("a test is a file");
    test.ancestors().nth(2).expect("tests are in target/PROFILE/deps").to_owned()
}

/// A file of this build. The test needs it, and does not build it.
fn built(name: &str) -> PathBuf {
    let path = build_folder().join(name);
    assert!(path.is_file(), "{} is missing: cargo build --workspace --bins --lib --test c", path.display());
    path
}

/// The library of this build.
fn library() -> PathBuf {
    built(&format!("{}simpartner{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX))
}

/// The header without the comments on safety, which are for callers in Rust.
fn without_safety_sections(header: &str) -> String {
    let (mut kept, mut is_safety): (Vec<&str>, bool) = (Vec::new(), false);
    for line in header.lines() {
        if line.trim() == "// # Safety" {
            is_safety = true;
            kept.truncate(kept.len() - usize::from(kept.last().is_some_and(|last| last.trim() == "//")));
        }
        is_safety &= line.trim_start().starts_with("//");
        if !is_safety {
            kept.push(line);
        }
    }
    kept.join("\n") + "\n"
}

#[test]
fn the_header_is_what_cbindgen_makes_of_the_library() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(package.join("cbindgen.toml")).expect("the file is valid");
    let sources = ["status", "simulation", "describe", "state", "edit", "image"];
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(package.join(format!("src/{source}.rs")));
    }
    let mut made = Vec::new();
    builder.generate().expect("the sources are valid").write(&mut made);
    let made = without_safety_sections(&String::from_utf8(made).expect("the sources are text"));
    let path = package.join("include/simpartner.h");
    if env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&path, &made).expect("the file can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(there == made, "include/simpartner.h is not what cbindgen makes; UPDATE_GENERATED=1 writes it");
}
