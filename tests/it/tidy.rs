//! Rules of the codebase that the compiler does not check. Each failure names the file, the line and the rule.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Layers of the server package's own modules: a module may use only modules of lower layers, and none of its own
/// layer. Its libraries are below all of them; their manifests determine which library may use which.
const LAYERS: &[(&str, u8)] = &[("config", 1), ("run", 2), ("fmu", 3), ("replay", 3), ("sweep", 3), ("cli", 4)];

/// The libraries that the server package names as its modules.
const RE_EXPORTED: &[&str] = &[
    "analysis",
    "benchmark",
    "camera",
    "device",
    "draw",
    "grasp_batch",
    "mobility",
    "plot",
    "realtime",
    "recorder",
    "server",
    "sim",
    "verify",
];

/// The folders of the recorder: each may use only those before it.
const RECORDER: [&str; 4] = ["format", "database", "write", "read"];

/// The floors of the engine, from the lowest to the highest: each may use only those before it.
const ENGINE: [&str; 13] = [
    "algebra",
    "scheme",
    "solvers",
    "joints",
    "state",
    "equations",
    "soil",
    "collision",
    "constraints",
    "gauss",
    "islands",
    "stepping",
    "interface",
];

/// Packages below the server's own modules.
const LIBRARIES: &[&str] = &[
    "analysis",
    "book",
    "description",
    "dynamics",
    "embed",
    "experiments",
    "grasp",
    "model",
    "plot",
    "realtime",
    "recorder",
    "render",
    "server",
    "simulation",
    "terminal",
    "wire",
];

/// Names that may be used only in some places, with the reason.
const FENCES: &[(&str, &[&str], &str)] = &[
    ("rapier3d_f64", &["src/dynamics/src/rapier/"], "only the second engine knows rapier, which not every build has"),
    (
        "sqlx",
        &[
            "src/recorder/",
            "tests/it/recorder/",
            "tests/it/replay.rs",
            "tests/it/damaged.rs",
            "tests/bench/log/",
            "tests/it/cli.rs",
            "tests/it/analysis/",
        ],
        "only the recorder knows SQL",
    ),
    ("clarabel::", &["src/grasp/src/conic.rs"], "only one file knows the solver of cone programs"),
    ("microlp::", &["src/grasp/src/harker/lp.rs"], "only the program of 1994 needs vertices of linear programs"),
    ("parquet::", &["src/analysis/", "tests/it/analysis/"], "only the analysis writes files for other programs"),
    ("resvg", &["src/plot/"], "only the plots become pictures"),
    (
        "use png::",
        &["src/description/src/dem/png.rs", "src/description/src/texture.rs", "src/render/src/png_file.rs"],
        "only three files know the container of PNG: that of heights, that of textures and that of images",
    ),
    ("use jpeg_encoder::", &["src/render/src/jpeg_file.rs"], "only one file writes the container of JPEG"),
    ("use zune_jpeg::", &["src/description/src/texture.rs"], "only one file reads the container of JPEG"),
    ("use tiff::", &["src/description/src/dem/geotiff.rs"], "only one file knows the container of TIFF"),
    ("axum", &["src/server/src/web/"], "only the page's port speaks HTTP"),
    ("tokio::net", &["src/server/"], "only the server knows sockets"),
    (
        "std::net::Tcp",
        &["clients/", "tests/", "src/cli/talk.rs"],
        "only the server, and the verb that talks to it, know sockets",
    ),
    (
        "Instant::now",
        &[
            "src/realtime/src/os.rs",
            "src/recorder/",
            "src/server/src/connection.rs",
            "src/cli/benchmark.rs",
            "src/dynamics/benches/",
            "src/dynamics/tests/",
            "src/grasp/benches/",
            "src/grasp/tests/",
            "src/render/benches/",
            "clients/",
            "tests/",
        ],
        "only the clock, the log's batches, a client's deadlines and a benchmark read a clock",
    ),
    ("SystemTime::now", &["src/recorder/"], "calendar time is stamped once a run, in the recorder"),
    ("rand_pcg", &["src/model/src/random.rs"], "all that is random is a stream with a seed"),
    (
        "print!(",
        &[
            "tests/",
            "clients/gamepad/tests/",
            "src/dynamics/benches/",
            "src/dynamics/tests/",
            "src/grasp/benches/",
            "src/grasp/tests/",
            "src/render/benches/",
            "src/render/tests/",
            "src/dynamics/src/engine/solvers/homotopy.rs",
            "src/book/build.rs",
            "src/server/build.rs",
        ],
        "output goes by way of simpartner_terminal::output, which outlives its reader",
    ),
    (
        "println!(",
        &[
            "tests/",
            "clients/gamepad/tests/",
            "src/dynamics/benches/",
            "src/dynamics/tests/",
            "src/grasp/benches/",
            "src/grasp/tests/",
            "src/render/benches/",
            "src/render/tests/",
            "src/dynamics/src/engine/solvers/homotopy.rs",
            "src/book/build.rs",
            "src/server/build.rs",
        ],
        "output goes by way of simpartner_terminal::output, which outlives its reader",
    ),
    ("glam::", &[], "glam comes through bevy_math"),
];

const MAX_FILE_LINES: usize = 500;
const MAX_FUNCTION_LINES: usize = 60;
/// As wide as code; the formatter leaves comments alone.
const MAX_COMMENT_COLUMNS: usize = 120;

struct Source {
    path: String,
    text: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<Source> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "py") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for folder in ["src", "clients", "tests"] {
        walk(&root().join(folder), &mut found);
    }
    found.sort();
    assert!(found.len() > 40, "the rules are for the whole codebase, not {} files", found.len());
    found
        .into_iter()
        .map(|path| Source {
            text: fs::read_to_string(&path).unwrap(),
            path: path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/"),
        })
        .collect()
}

/// Lines that are code; comments may name anything.
fn code_lines(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source
        .text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(n, line)| (n + 1, line))
}

fn check(broken: Vec<String>) {
    assert!(broken.is_empty(), "{} rules broken:\n{}", broken.len(), broken.join("\n"));
}

fn module(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("src/")?;
    // The libraries are kept apart by their manifests.
    if LIBRARIES.iter().any(|library| inside.strip_prefix(library).is_some_and(|rest| rest.starts_with('/'))) {
        return None;
    }
    Some(inside.split('/').next()?.trim_end_matches(".rs"))
}

/// The names after each `prefix` of a text, such as `crate::`, groups in braces taken apart at their top level.
fn names_after<'a>(text: &'a str, prefix: &str) -> Vec<&'a str> {
    let mut used = Vec::new();
    for (start, _) in text.match_indices(prefix) {
        let rest = &text[start + prefix.len()..];
        let name = |from: &'_ str| from.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(from.len());
        if !rest.starts_with('{') {
            used.push(&rest[..name(rest)]);
            continue;
        }
        let (mut depth, mut at_name) = (0, false);
        for (index, character) in rest.char_indices() {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ if depth == 1 && at_name && !character.is_whitespace() => {
                    used.push(&rest[index..index + name(&rest[index..])]);
                }
                _ => {}
            }
            at_name = depth == 1 && (character == '{' || character == ',' || (at_name && character.is_whitespace()));
            if depth == 0 {
                break;
            }
        }
    }
    used
}

#[test]
fn comment_lines_are_at_most_120_columns_wide() {
    let mut broken = Vec::new();
    for source in sources() {
        for (place, line) in source.text.lines().enumerate() {
            let text = line.trim_start();
            let is_table_row = text.trim_start_matches(['/', '!', ' ']).starts_with('|');
            if text.starts_with("//") && !is_table_row && line.chars().count() > MAX_COMMENT_COLUMNS {
                broken.push(format!("{}:{}: {} columns", source.path, place + 1, line.chars().count()));
            }
        }
    }
    check(broken);
}

#[test]
fn modules_use_only_modules_below_them() {
    let layer = |module: &str| LAYERS.iter().find(|(name, _)| *name == module).map(|(_, layer)| *layer);
    let mut broken = Vec::new();
    for source in sources() {
        let Some(here) = module(&source.path) else { continue };
        if matches!(here, "lib" | "main") {
            continue;
        }
        let Some(own) = layer(here) else {
            broken.push(format!("{}: module '{here}' has no layer", source.path));
            continue;
        };
        let below = |used: &&str| *used != here && !RE_EXPORTED.contains(used);
        for used in names_after(&source.text, "crate::").into_iter().filter(below) {
            match layer(used) {
                Some(other) if other < own => {}
                Some(other) => broken.push(format!("{}: uses '{used}' (layer {other}) from layer {own}", source.path)),
                None => broken.push(format!("{}: 'crate::{used}' is no module", source.path)),
            }
        }
    }
    check(broken);
}

#[test]
fn folders_of_the_recorder_use_only_those_before_them() {
    let mut broken = Vec::new();
    for source in sources() {
        let Some(inside) = source.path.strip_prefix("src/recorder/src/") else { continue };
        let Some(own) = RECORDER.iter().position(|folder| inside.starts_with(&format!("{folder}/"))) else { continue };
        for (number, line) in code_lines(&source) {
            for later in &RECORDER[own + 1..] {
                // As a path, or in a group of imports.
                if line.contains(&format!("crate::{later}::")) || line.trim_start().starts_with(&format!("{later}::")) {
                    broken.push(format!("{}:{number}: uses '{later}' from '{}'", source.path, RECORDER[own]));
                }
            }
        }
    }
    check(broken);
}

/// Tests may build whole worlds, so they are left out.
#[test]
fn floors_of_the_engine_use_only_those_below_them() {
    let floor = |name: &str| ENGINE.iter().position(|floor| *floor == name);
    let (mut broken, mut seen) = (Vec::new(), 0);
    for source in sources() {
        let Some(inside) = source.path.strip_prefix("src/dynamics/src/engine/") else { continue };
        if inside == "mod.rs" || inside.ends_with("tests.rs") {
            continue;
        }
        let modules: Vec<&str> = inside.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
        let Some(own) = floor(modules[0]) else {
            broken.push(format!("{}: '{}' is no floor", source.path, modules[0]));
            continue;
        };
        let lines = code_lines(&source).map(|(_, line)| line).take_while(|line| !line.ends_with("mod tests {"));
        let code = lines.collect::<Vec<&str>>().join("\n");
        for used in names_after(&code, "engine::") {
            seen += 1;
            match floor(used) {
                Some(other) if other <= own => {}
                Some(_) => broken.push(format!("{}: uses '{used}' from '{}' below it", source.path, modules[0])),
                None => broken.push(format!("{}: 'engine::{used}' is no floor", source.path)),
            }
        }
        if code.contains(&"super::".repeat(modules.len())) {
            broken.push(format!("{}: leaves its floor by `super`", source.path));
        }
    }
    assert!(seen > 150, "the rule looks at the imports of the engine, and found {seen}");
    check(broken);
}

#[test]
fn names_stay_behind_their_fences() {
    let mut broken = Vec::new();
    for source in sources().iter().filter(|source| source.path != "tests/it/tidy.rs") {
        for (number, line) in code_lines(source) {
            for (name, allowed, why) in FENCES {
                if line.contains(name) && !allowed.iter().any(|prefix| source.path.starts_with(prefix)) {
                    broken.push(format!("{}:{number}: {name}: {why}", source.path));
                }
            }
        }
    }
    check(broken);
}

/// Those of glam, as it is built here, stall between AVX instructions (`simpartner_model::Norm`).
#[test]
fn the_engine_takes_lengths_by_norm() {
    const SLOW: [&str; 5] = [".length()", ".normalize()", ".try_normalize()", ".normalize_or_zero()", ".distance("];
    let (mut broken, mut seen) = (Vec::new(), 0);
    for source in sources().iter().filter(|source| source.path.starts_with("src/dynamics/src/engine/")) {
        let own = code_lines(source).take_while(|(_, line)| *line != "#[cfg(test)]");
        for (number, line) in own.filter(|_| !source.path.ends_with("/tests.rs")) {
            seen += usize::from(line.contains(".norm()"));
            let slow = SLOW.into_iter().find(|name| line.contains(name));
            broken.extend(slow.map(|name| format!("{}:{number}: {name}: `Norm` has it", source.path)));
        }
    }
    assert!(seen > 30, "the rule looks at the engine, and found {seen} lengths");
    check(broken);
}

#[test]
fn no_file_is_longer_than_a_reader_can_hold() {
    let long = sources().into_iter().filter_map(|source| {
        let lines = source.text.lines().count();
        (lines > MAX_FILE_LINES).then(|| format!("{}: {lines} lines, at most {MAX_FILE_LINES}", source.path))
    });
    check(long.collect());
}

#[test]
fn no_function_is_longer_than_a_screen() {
    let mut broken = Vec::new();
    for source in sources().iter().filter(|source| source.path.ends_with(".rs")) {
        let lines: Vec<&str> = source.text.lines().collect();
        for (start, line) in lines.iter().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let is_function =
                ["fn ", "pub fn ", "pub(super) fn ", "pub(crate) fn ", "async fn ", "pub async fn ", "const fn "]
                    .iter()
                    .any(|head| line.trim_start().starts_with(head));
            if !is_function {
                continue;
            }
            // A signature without a body, as in a trait, ends in a semicolon.
            let opening =
                lines[start..].iter().find(|line| line.ends_with('{') || line.ends_with(';') || line.ends_with('}'));
            if opening.is_none_or(|line| !line.ends_with('{')) {
                continue;
            }
            // rustfmt closes a function with a brace at its own indent.
            let end = lines[start..].iter().position(|line| *line == format!("{}}}", " ".repeat(indent)));
            if let Some(length) = end.filter(|&end| end + 1 > MAX_FUNCTION_LINES) {
                broken.push(format!(
                    "{}:{}: {} lines, at most {MAX_FUNCTION_LINES}",
                    source.path,
                    start + 1,
                    length + 1
                ));
            }
        }
    }
    check(broken);
}

#[test]
fn every_file_opens_by_saying_what_it_is_for() {
    let silent = sources().into_iter().filter(|source| source.path.ends_with(".rs") && !source.text.starts_with("//!"));
    check(silent.map(|source| format!("{}: does not open with //!", source.path)).collect());
}

#[test]
fn nothing_is_left_for_later() {
    let marks = ["todo!", "unimplemented!", "FIXME", "XXX", "#[ignore"];
    let mut broken = Vec::new();
    for source in sources().iter().filter(|source| source.path != "tests/it/tidy.rs") {
        for (number, line) in source.text.lines().enumerate() {
            for mark in marks.iter().filter(|mark| line.contains(**mark)) {
                broken.push(format!("{}:{}: {mark}", source.path, number + 1));
            }
        }
    }
    check(broken);
}

/// The packages, the Python client and the viewer are released together.
#[test]
fn all_parts_have_one_version() {
    let version = env!("CARGO_PKG_VERSION");
    for (path, line) in [
        ("clients/python/simpartner/__init__.py", format!("__version__ = \"{version}\"\n")),
        ("clients/viewer/package.json", format!("  \"version\": \"{version}\",\n")),
        ("CHANGELOG.md", format!("\n## {version}")),
    ] {
        let text = fs::read_to_string(root().join(path)).unwrap().replace("\r\n", "\n");
        assert!(text.contains(&line), "{path} is not of version {version}");
    }
}
