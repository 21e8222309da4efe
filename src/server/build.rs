//! Bundles the viewer's page, if Node is installed, and generates the table of its files. It never writes into the
//! sources. If the page cannot be bundled, the server is built all the same, with a page that says what is missing.
//!
//! `SIMPARTNER_VIEWER=off` leaves the page out. If npm fails, a page bundled by hand in `clients/viewer/dist` is used.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const SOURCES: &str = "../../clients/viewer";

/// Files and folders from which the bundle is made.
const BUNDLE_INPUTS: [&str; 7] =
    ["package.json", "package-lock.json", "build.mjs", "tsconfig.json", "missing.html", "missing.css", "src"];

/// The page that is used if even `missing.html` is missing.
const FALLBACK_PAGE: &str =
    "<!doctype html><title>SimPartner</title><p>The sources of this server came without clients/viewer.";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SIMPARTNER_VIEWER");
    let sources = Path::new(SOURCES);
    match sources.exists() {
        // Cargo rebuilds every time if a listed path does not exist.
        true => BUNDLE_INPUTS
            .iter()
            .filter(|part| sources.join(part).exists())
            .for_each(|part| println!("cargo::rerun-if-changed={SOURCES}/{part}")),
        false => println!("cargo::rerun-if-changed=clients"),
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let off = env::var("SIMPARTNER_VIEWER").as_deref() == Ok("off");
    let bundled = if off { Err("SIMPARTNER_VIEWER is off".to_owned()) } else { bundle(sources, &out.join("viewer")) };
    let page = bundled.unwrap_or_else(|why| {
        let by_hand = Path::new(SOURCES).join("dist");
        if !off && sources.exists() {
            // So that the next build uses a page bundled by hand.
            println!("cargo::rerun-if-changed={SOURCES}");
            if by_hand.join("index.html").exists() {
                return env::current_dir().map_or(by_hand.clone(), |root| root.join(&by_hand));
            }
            println!("cargo::warning=the server comes without its viewer page: {why}");
        }
        let page = out.join("missing");
        write_missing_page(sources, &page, &why).expect("cargo's folder can be written to");
        page
    });
    fs::write(out.join("viewer.rs"), file_table(&page)).expect("cargo's folder can be written to");
}

/// Bundles the page in a copy of its sources. Returns the folder of the bundle, or the reason for the failure.
fn bundle(sources: &Path, work: &Path) -> Result<PathBuf, String> {
    if !sources.join("package.json").exists() {
        return Err(format!("{SOURCES}/package.json is not there"));
    }
    let failed = |what: &str, error: io::Error| format!("{what}: {error}");
    fs::create_dir_all(work).map_err(|error| failed("the folder for it cannot be made", error))?;
    // Packages that were installed for the same lock file are reused.
    let lock = fs::read(sources.join("package-lock.json")).map_err(|error| failed("no package-lock.json", error))?;
    let installed = work.join("installed.lock");
    let fresh = fs::read(&installed).is_ok_and(|before| before == lock) && work.join("node_modules").exists();
    for part in BUNDLE_INPUTS {
        let (from, to) = (sources.join(part), work.join(part));
        let _ = fs::remove_dir_all(&to);
        if from.exists() {
            copy(&from, &to).map_err(|error| failed("its sources cannot be copied", error))?;
        }
    }
    if !fresh {
        let _ = fs::remove_file(&installed);
        // Without a network, npm should fail soon and not after a minute.
        let quiet = ["ci", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0", "--fetch-timeout=30000"];
        run_npm(work, &quiet)?;
        fs::write(&installed, lock).map_err(|error| failed("the folder for it cannot be written to", error))?;
    }
    run_npm(work, &["run", "build"])?;
    let dist = work.join("dist");
    dist.join("index.html").exists().then_some(dist).ok_or_else(|| "npm run build made no index.html".into())
}

fn run_npm(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let ran = Command::new(program).args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    let output = ran.map_err(|error| format!("Node's npm cannot be run ({error})"))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let reason = told.lines().find(|line| line.to_lowercase().contains("error")).unwrap_or("it gave no reason");
    Err(format!("npm {} failed: {reason}", arguments.iter().take(2).copied().collect::<Vec<_>>().join(" ")))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Writes a page that says what is missing, and why.
fn write_missing_page(sources: &Path, page: &Path, why: &str) -> io::Result<()> {
    fs::create_dir_all(page)?;
    let text = fs::read_to_string(sources.join("missing.html")).unwrap_or_else(|_| FALLBACK_PAGE.to_owned());
    let why = why.replace('&', "&amp;").replace('<', "&lt;");
    fs::write(page.join("index.html"), text.replace("{why}", &why))?;
    fs::write(page.join("missing.css"), fs::read(sources.join("missing.css")).unwrap_or_default())
}

/// Rust source of a table with the files of a folder; `index.html` has the path `/`.
fn file_table(page: &Path) -> String {
    let mut names: Vec<String> = fs::read_dir(page)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let mut text = "/// The files of the page.\nconst FILES: &[File] = &[\n".to_owned();
    for name in names {
        let path = if name == "index.html" { "/".to_owned() } else { format!("/{name}") };
        let kind = match name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            _ => "application/octet-stream",
        };
        let file = page.join(&name);
        text += &format!("    File {{ path: {path:?}, kind: {kind:?}, bytes: include_bytes!({file:?}) }},\n");
    }
    text + "];\n"
}
